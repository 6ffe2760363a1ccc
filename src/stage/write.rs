//! Writes the data files: row groups in parallel, appended in order. Where a group's rows come from does not matter: they are
//! rendered here, or were rendered by workers.
//!
//! A finished file is the unit of resume: it is written aside, synced, renamed, and only then entered
//! in the journal with its digests.

use super::journal::Journal;
use super::render::{Desk, FileRows, Rendered, Rows, reclaim, render};
use super::stats::{DataFile, Stats};
use crate::compact::{self, PartFile, RowsPart};
use crate::digests::{FileDigests, Gathered, RowDigests};
use crate::error::{Error, Result};
use crate::hash::{HashingWriter, RowEncoder};
use crate::parallel;
use crate::plan::{FilePlan, Plan};
use crate::report::Progress;
use crate::store::{make_dir, sync_dir};
use crate::table::{self, SCHEMA};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::file::writer::SerializedFileWriter;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

struct Group {
    chunks: Vec<ArrowColumnChunk>,
    digests: Vec<RowDigests>,
    stats: Stats,
    /// Its rows in a compact build.
    compact: Option<RecordBatch>,
}

/// A data file that is being written: the bytes of a compact build's are only digested.
pub type Sink = SerializedFileWriter<HashingWriter<Out>>;

/// Where a data file's bytes go.
pub enum Out {
    /// Into a file.
    File(BufWriter<File>),
    /// Nowhere.
    Nowhere,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Out::File(file) => file.write(bytes),
            Out::Nowhere => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Out::File(file) => file.flush(),
            Out::Nowhere => Ok(()),
        }
    }
}

#[derive(Default)]
struct Open {
    writer: Option<Sink>,
    compact: Option<RowsPart>,
    next: usize,
    pending: BTreeMap<usize, Group>,
    rows: Gathered,
    count: u64,
    stats: Stats,
}

/// A data file as it is planned: rows and tokens of each of its groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The file.
    pub file: FilePlan,
    /// Its groups.
    pub groups: Vec<(u64, u64)>,
}

impl Shape {
    /// Of planned rows.
    pub fn of(rows: &FileRows) -> Shape {
        let tokens = |group: &Vec<_>| group.iter().map(|row: &super::assemble::RowPlan| u64::from(row.tokens)).sum();
        let groups = rows.groups.iter().map(|group| (group.len() as u64, tokens(group))).collect();
        Shape { file: rows.file.clone(), groups }
    }
}

/// Where groups of proven rows come from.
pub trait Source: Sync {
    /// What a thread keeps from group to group.
    type Desk;

    /// A desk for a thread.
    fn desk(&self) -> Self::Desk;

    /// The rows of a group, by places of file and group in the list of shapes.
    fn group(&self, desk: &mut Self::Desk, file: usize, group: usize, progress: &Progress) -> Result<Rendered>;

    /// Takes back the memory of a group that was written.
    fn reclaim(&self, _desk: &mut Self::Desk, _batch: RecordBatch) {}
}

/// Rows that are rendered in this process.
pub struct Here<'a, R> {
    /// The plan.
    pub plan: &'a Plan,
    /// The family's way.
    pub rows: &'a R,
    /// The planned rows.
    pub files: &'a [FileRows],
}

impl<R: Rows> Source for Here<'_, R> {
    type Desk = Desk<R>;

    fn desk(&self) -> Desk<R> {
        Desk::new(self.plan)
    }

    fn group(&self, desk: &mut Desk<R>, file: usize, group: usize, progress: &Progress) -> Result<Rendered> {
        let FileRows { file, groups } = &self.files[file];
        render(self.plan, self.rows, file, &groups[group], desk, progress)
    }

    fn reclaim(&self, desk: &mut Desk<R>, batch: RecordBatch) {
        desk.values = reclaim(batch);
    }
}

/// Writes the files that the journal does not hold yet.
pub fn write<S: Source>(plan: &Plan, source: &S, files: &[Shape], journal: &Journal) -> Result<()> {
    let done = journal.done();
    let mut open: Vec<Mutex<Open>> = Vec::new();
    open.resize_with(files.len(), Default::default);
    let mut work: Vec<(usize, usize)> = Vec::new();
    for (f, file) in files.iter().enumerate().filter(|(_, file)| !done.contains_key(&file.file.path())) {
        work.extend((0..file.groups.len()).map(|g| (f, g)));
        if file.groups.is_empty() {
            // No story is long enough or short enough for this file: it still exists, without rows.
            let mut open = open[f].lock().expect("no thread panics");
            finish(plan, &file.file, &mut open, journal)?;
        }
    }
    let tokens = |&(f, g): &(usize, usize)| files[f].groups[g].1;
    // The dearest files first, so that no thread is left alone with one at the end; a file's groups stay in order.
    let cost = |f: usize| (0..files[f].groups.len()).map(|g| tokens(&(f, g))).sum::<u64>();
    work.sort_by_cached_key(|&(f, g)| (std::cmp::Reverse(cost(f)), f, g));
    let progress = Progress::new("write", work.iter().map(tokens).sum(), "tokens");
    let done = parallel::each(
        plan.options.jobs,
        work.len(),
        || source.desk(),
        |n, desk| {
            let (f, g) = work[n];
            let made = group(plan, source, desk, (f, g), &progress)?;
            append(plan, &files[f], &open[f], g, made, journal)
        },
    );
    progress.finish();
    done
}

fn factory(schema: &SchemaRef) -> Result<ArrowRowGroupWriterFactory> {
    // The factory wants a writer to take schema and settings from; this one writes nowhere.
    let writer = sink(std::io::sink(), schema)?;
    Ok(ArrowRowGroupWriterFactory::new(&writer, schema.clone()))
}

/// A writer of data files with the one set of settings.
pub fn sink<W: Write + Send>(out: W, schema: &SchemaRef) -> Result<SerializedFileWriter<W>> {
    let schema = ArrowSchemaConverter::new().convert(schema).map_err(parquet_fault)?;
    SerializedFileWriter::new(out, schema.root_schema_ptr(), Arc::new(table::writer_properties()))
        .map_err(parquet_fault)
}

fn parquet_fault(e: parquet::errors::ParquetError) -> Error {
    Error::new(format!("cannot write Parquet: {e}"))
}

/// Gets and encodes one group.
fn group<S: Source>(
    plan: &Plan,
    source: &S,
    desk: &mut S::Desk,
    (file, group): (usize, usize),
    progress: &Progress,
) -> Result<Group> {
    let Rendered { batch, stats: each, recipes, digests: proven } = source.group(desk, file, group, progress)?;
    let mut stats = Stats::default();
    each.iter().enumerate().for_each(|(n, row)| stats.add(row, n == 0));
    let mut encoder = RowEncoder::default();
    let digests: Vec<RowDigests> = (0..batch.num_rows()).map(|row| RowDigests::of(&batch, row, &mut encoder)).collect();
    if let Some(row) = proven.and_then(|proven| digests.iter().zip(proven).find(|(row, proven)| row.row != *proven)) {
        return Err(Error::new(format!("row {} is not the one that was proven: it was changed on the way", row.0.id))
            .help("have it made again"));
    }
    let chunks = encode(&batch)?;
    let compact = plan.options.compact.then(|| compact::shrink(&batch, &recipes)).transpose()?;
    source.reclaim(desk, batch);
    Ok(Group { chunks, digests, stats, compact })
}

/// Encodes a batch as a row group.
pub fn encode(batch: &RecordBatch) -> Result<Vec<ArrowColumnChunk>> {
    let schema = batch.schema();
    let mut writers = factory(&schema)?.create_column_writers(0).map_err(parquet_fault)?.into_iter();
    let mut chunks = Vec::new();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        for leaf in compute_leaves(field, array).map_err(parquet_fault)? {
            let mut writer = writers.next().expect("one writer a leaf");
            writer.write(&leaf).map_err(parquet_fault)?;
            chunks.push(writer.close().map_err(parquet_fault)?);
        }
    }
    Ok(chunks)
}

/// Hands a group to its file; writes what is next in order, and closes the file after the last group.
fn append(plan: &Plan, file: &Shape, open: &Mutex<Open>, number: usize, made: Group, journal: &Journal) -> Result<()> {
    let mut open = open.lock().expect("no thread panics");
    open.pending.insert(number, made);
    while let Some(group) = {
        let next = open.next;
        open.pending.remove(&next)
    } {
        if open.writer.is_none() {
            open.writer = Some(create(plan, journal, &file.file)?);
        }
        if let Some(rows) = &group.compact {
            if open.compact.is_none() {
                open.compact = Some(RowsPart::create(&journal.folder, &file.file.config)?);
            }
            open.compact.as_mut().expect("just made").write(rows)?;
        }
        let first = open.count == 0;
        open.stats.add(&group.stats, first);
        open.count += group.digests.len() as u64;
        group.digests.into_iter().for_each(|row| open.rows.push(row));
        let writer = open.writer.as_mut().expect("just made");
        let mut out = writer.next_row_group().map_err(parquet_fault)?;
        for chunk in group.chunks {
            chunk.append_to_row_group(&mut out).map_err(|e| write_fault(journal, &file.file, e))?;
        }
        out.close().map_err(|e| write_fault(journal, &file.file, e))?;
        open.next += 1;
    }
    if open.next == file.groups.len() {
        finish(plan, &file.file, &mut open, journal)?;
    }
    Ok(())
}

fn aside(journal: &Journal, file: &FilePlan) -> PathBuf {
    journal.folder.join(file.path()).with_extension("parquet.partial")
}

fn write_fault(journal: &Journal, file: &FilePlan, e: parquet::errors::ParquetError) -> Error {
    Error::io("cannot write", &aside(journal, file), e)
}

fn create(plan: &Plan, journal: &Journal, file: &FilePlan) -> Result<Sink> {
    if plan.options.compact {
        return sink(HashingWriter::new(Out::Nowhere), &SCHEMA);
    }
    let path = aside(journal, file);
    make_dir(path.parent().expect("a data file has a folder"))?;
    let out = File::create(&path).map_err(|e| Error::io("cannot write", &path, e))?;
    sink(HashingWriter::new(Out::File(BufWriter::with_capacity(1 << 20, out))), &SCHEMA)
}

fn finish(plan: &Plan, file: &FilePlan, open: &mut Open, journal: &Journal) -> Result<()> {
    let writer = match open.writer.take() {
        Some(writer) => writer,
        None => create(plan, journal, file)?,
    };
    let fault = |e: String| Error::io("cannot write", &aside(journal, file), e);
    let data_bytes = writer.flushed_row_groups().iter().map(|group| group.total_byte_size() as u64).sum();
    let hashing = writer.into_inner().map_err(|e| fault(e.to_string()))?;
    let (out, sha256, bytes) = hashing.finish();
    let rows: Option<PartFile> = match out {
        Out::Nowhere => {
            let made = open.compact.take().map_or_else(|| RowsPart::create(&journal.folder, &file.config), Ok)?;
            Some(made.close()?)
        }
        Out::File(out) => {
            let out = out.into_inner().map_err(|e| fault(e.to_string()))?;
            out.sync_all().map_err(|e| fault(e.to_string()))?;
            let place = journal.folder.join(file.path());
            std::fs::rename(aside(journal, file), &place).map_err(|e| Error::io("cannot rename to", &place, e))?;
            sync_dir(place.parent().expect("a data file has a folder"))?;
            None
        }
    };
    let digests: FileDigests = std::mem::take(&mut open.rows).finish(SCHEMA.fields().len());
    let rows_digest = digests.rows_digest();
    let stats = std::mem::take(&mut open.stats);
    let file = DataFile { path: file.path(), bytes, data_bytes, sha256, rows: open.count, rows_digest, stats };
    journal.enter(file, rows, Some(digests))
}
