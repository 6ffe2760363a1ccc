//! Arrow IPC streams in and out, batch by batch. Several streams behind one another are read as one.

use super::FINISHED;
use crate::error::{Error, Result};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Metadata, Schema, SchemaRef};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What ends a stream. One that breaks off between two batches has no such end, and is else like a whole one.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

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
    /// What the stream's schema says.
    pub notes: &'a Notes,
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
            notes: self.notes,
        })
    }
}

/// Remembers the last bytes that passed.
struct Tail<R> {
    inner: R,
    last: [u8; 8],
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        let keep = n.min(8);
        self.last.rotate_left(keep);
        self.last[8 - keep..].copy_from_slice(&buffer[n - keep..n]);
        Ok(n)
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
    let mut tail = Tail { inner: BufReader::with_capacity(1 << 20, source.open()?), last: [0; 8] };
    let mut before = 0;
    let fault = |what: String, rows: u64| Error::new(what).at(format!("row {} of {name}", rows + 1)).help(FINISHED);
    loop {
        let opened = guarded(|| StreamReader::try_new(&mut tail, None).map_err(|e| e.to_string()));
        let mut reader = opened.map_err(|e| fault(format!("no Arrow IPC stream: {e}"), before))?;
        let schema = reader.schema();
        let notes = Notes(schema.metadata().clone());
        take(Event::Stream(&schema, &notes)).map_err(|e| e.at(&name))?;
        loop {
            let next = guarded(|| reader.next().transpose().map_err(|e| e.to_string()));
            let Some(batch) = next.map_err(|e| fault(format!("the Arrow IPC stream is damaged: {e}"), before))? else {
                break;
            };
            let rows = batch.num_rows() as u64;
            take(Event::Rows(Piece { batch, before, source: &name, notes: &notes }))?;
            before += rows;
        }
        drop(reader);
        if tail.last != END {
            return Err(fault("the Arrow IPC stream breaks off".to_owned(), before));
        }
        let more = tail.inner.fill_buf().map_err(|e| fault(format!("cannot be read: {e}"), before))?;
        if more.is_empty() {
            return Ok(());
        }
    }
}

/// What a source says it holds, in the notes of its first stream.
pub fn kind(source: &Source) -> Result<Option<String>> {
    let reader = BufReader::new(source.open()?);
    let opened = guarded(|| StreamReader::try_new(reader, None).map_err(|e| e.to_string()));
    let reader =
        opened.map_err(|e| Error::new(format!("no Arrow IPC stream: {e}")).at(source.name()).help(FINISHED))?;
    Ok(reader.schema().metadata().get(super::KIND).cloned())
}

/// The reader may fail in its own ways on bytes that were made to break it.
fn guarded<T>(read: impl FnOnce() -> std::result::Result<T, String>) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("it breaks the reader".to_owned()))
}

/// A stream that is written.
pub struct Sink<'a> {
    schema: SchemaRef,
    writer: StreamWriter<BufWriter<&'a mut dyn Write>>,
}

impl<'a> Sink<'a> {
    /// Begins a stream.
    pub fn new(out: &'a mut dyn Write, fields: Vec<Field>, notes: Notes) -> Result<Sink<'a>> {
        let schema = Arc::new(Schema::new_with_metadata(fields, notes.0));
        let writer = StreamWriter::try_new(BufWriter::with_capacity(1 << 18, out), &schema).map_err(unwritten)?;
        Ok(Sink { schema, writer })
    }

    /// Writes rows, and does not wait for more.
    pub fn write(&mut self, columns: Vec<arrow_array::ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(unwritten)?;
        self.writer.write(&batch).map_err(unwritten)?;
        self.writer.flush().map_err(unwritten)
    }

    /// Ends the stream. What is not ended is not whole for whoever reads it.
    pub fn finish(mut self) -> Result<()> {
        self.writer.finish().map_err(unwritten)?;
        self.writer.flush().map_err(unwritten)
    }
}

fn unwritten(cause: impl std::fmt::Display) -> Error {
    Error::new(format!("cannot write the Arrow IPC stream: {cause}"))
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
