//! Arrow IPC streams in and out, batch by batch. Several streams behind one another are read as one.

use super::FINISHED;
use crate::error::{Error, Result};
pub use crate::stream::Sink;
use crate::stream::Stream;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{Field, Metadata, Schema, SchemaRef};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where rows come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// Files, or standard input where none is named.
    pub fn all(files: &[PathBuf]) -> Vec<Source> {
        match files {
            [] => vec![Source::Stdin],
            files => files.iter().cloned().map(Source::File).collect(),
        }
    }

    /// As errors name it.
    pub fn name(&self) -> String {
        match self {
            Source::Stdin => "standard input".to_owned(),
            Source::File(path) => path.display().to_string(),
        }
    }

    /// Opens it for reading.
    pub fn open(&self) -> Result<Box<dyn Read>> {
        Ok(match self {
            Source::Stdin => Box::new(std::io::stdin()),
            Source::File(path) => Box::new(File::open(path).map_err(|e| Error::io("cannot open", path, e))?),
        })
    }
}

/// What a schema says beside its columns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Notes(Metadata);

impl Notes {
    /// Notes of these keys.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Notes {
        Notes(pairs.into_iter().collect())
    }

    /// These but one.
    pub fn without(mut self, key: &str) -> Notes {
        self.0.remove(key);
        self
    }

    /// A note.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

/// A batch, and where it stands.
pub struct Piece<'a> {
    /// Its rows.
    pub batch: RecordBatch,
    /// Rows of the source before it.
    pub before: u64,
    /// The source.
    pub source: &'a str,
}

impl Piece<'_> {
    /// Where a row stands, for errors.
    pub fn place(&self, row: usize) -> String {
        format!("row {} of {}", self.before + row as u64 + 1, self.source)
    }

    /// Where all of its rows stand, for errors.
    pub fn rows(&self) -> String {
        format!("rows {} to {} of {}", self.before + 1, self.before + self.batch.num_rows() as u64, self.source)
    }

    /// Its rows in pieces of at most so many.
    pub fn pieces(&self, rows: usize) -> impl Iterator<Item = Piece<'_>> {
        (0..self.batch.num_rows()).step_by(rows).map(move |first| Piece {
            batch: self.batch.slice(first, rows.min(self.batch.num_rows() - first)),
            before: self.before + first as u64,
            source: self.source,
        })
    }
}

/// What a source holds, one after the other.
pub enum Event<'a> {
    /// A stream begins, with these columns and notes.
    Stream(&'a SchemaRef, &'a Notes),
    /// Rows of it.
    Rows(Piece<'a>),
}

/// Hands on every batch of a source, in order. At least one stream must be there, if without rows.
///
/// # Errors
///
/// No Arrow IPC stream, one that breaks off or is damaged, and what the caller says.
pub fn rows(source: &Source, mut take: impl FnMut(Piece<'_>) -> Result<()>) -> Result<()> {
    each(source, |event| match event {
        Event::Rows(piece) => take(piece),
        Event::Stream(..) => Ok(()),
    })
}

/// [`rows`], and the beginning of each stream before its rows.
pub fn each(source: &Source, mut take: impl FnMut(Event<'_>) -> Result<()>) -> Result<()> {
    let name = source.name();
    let mut input = BufReader::with_capacity(1 << 20, source.open()?);
    let mut before = 0;
    let fault = |what: String, rows: u64| Error::new(what).at(format!("row {} of {name}", rows + 1)).help(FINISHED);
    loop {
        let stream = Stream::open(&mut input).map_err(|e| fault(e, before))?;
        let schema = stream.schema();
        let notes = Notes(schema.metadata().clone());
        take(Event::Stream(&schema, &notes)).map_err(|e| e.at(&name))?;
        for batch in stream {
            let batch = batch.map_err(|e| fault(e, before))?;
            let rows = batch.num_rows() as u64;
            take(Event::Rows(Piece { batch, before, source: &name }))?;
            before += rows;
        }
        let more = input.fill_buf().map_err(|e| fault(format!("cannot be read: {e}"), before))?;
        if more.is_empty() {
            return Ok(());
        }
    }
}

/// A column of numbers, as streams have them.
pub fn integers(numbers: impl IntoIterator<Item = u32>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(numbers.into_iter().map(i64::from)))
}

/// Begins a stream of these columns and notes.
pub fn begin<'a>(out: &'a mut dyn Write, fields: Vec<Field>, notes: Notes) -> Result<Sink<'a>> {
    Sink::new(out, Arc::new(Schema::new_with_metadata(fields, notes.0)))
}

/// Fills a stream: into a file, whole or not at all, or into standard output.
pub fn to(path: Option<&Path>, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let Some(path) = path else { return fill(&mut std::io::stdout().lock()) };
    let mut failed = None;
    let written = crate::store::write_named(path, |out| {
        fill(out).map_err(|e| {
            failed = Some(e);
            std::io::Error::other("it could not be made")
        })
    });
    written.map_err(|e| failed.unwrap_or(e))
}
