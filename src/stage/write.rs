//! Renders, proves and writes the data files: row groups in parallel, appended in order.
//!
//! A finished file is the unit of resume: it is written aside, synced, renamed, and only then entered
//! in the journal with its digests.

use super::assemble::RowPlan;
use super::journal::Journal;
use super::ledger::AlsoCounter;
use crate::compact::{self, Layout, PartFile, Parts, Recipe, RowsPart};
use crate::digests::{FileDigests, Gathered, RowDigests};
use crate::error::{Error, Result};
use crate::hash::{Digest, HashingWriter, RowEncoder};
use crate::parallel;
use crate::plan::{FilePlan, Plan, exceeds};
use crate::recipe::{Bound, Fit};
use crate::record::{NeedleSpan, Row};
use crate::report::Progress;
use crate::store::{make_dir, sync_dir};
use crate::story::SourceTask;
use crate::table::{self, FileConstants, GROUP_BYTES, SCHEMA};
use crate::tokenizer::Tokenizer;
use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::file::writer::SerializedFileWriter;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A finished data file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DataFile {
    /// Path inside the release.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Bytes of its columns before compression; 0 up to format 4.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub data_bytes: u64,
    /// Digest of its bytes.
    pub sha256: Digest,
    /// Its rows.
    pub rows: u64,
    /// Digest of its rows, independent of Parquet.
    pub rows_digest: Digest,
    /// What its rows come to.
    pub stats: Stats,
}

/// Sums over the rows of a file. All are integers, so the order of adding does not matter.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Tokens of all prompts.
    pub tokens: u64,
    /// Of the shortest.
    pub tokens_min: u64,
    /// Of the longest.
    pub tokens_max: u64,
    /// Bytes of all prompts.
    pub prompt_bytes: u64,
    /// Characters of all prompts; 0 in releases of format 1.
    #[serde(default)]
    pub chars: u64,
    /// Tokens under each tokenizer beside the primary one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, Sums>,
    /// Prompts that, with answer and chat template, exceed a model's window.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub over_window: BTreeMap<String, u64>,
    /// Sum of (n_tokens + allowance + template) / length, in millionths; 0 at 0k.
    pub fill: u64,
    /// The least of these.
    pub fill_min: u64,
    /// Rows over their budget.
    pub over: u64,
    /// Lines of all contexts, each read back.
    pub lines: u64,
    /// Lines that repeat an earlier one of their prompt.
    pub repeated: u64,
    /// Seams of prompts whose counts were put together, under all tokenizers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seams: u64,
    /// Those of them whose count is not the sum of their parts'.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seams_repaired: u64,
    /// Windows around seams that had to be made larger.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub windows_widened: u64,
    /// Score of answering with the candidate that the whole context names least, by source task: credit in
    /// millionths and number of rows. Counted in the recipe's first language.
    pub rarest: BTreeMap<SourceTask, (u64, u64)>,
    /// The same for the candidate that it names most.
    pub commonest: BTreeMap<SourceTask, (u64, u64)>,
    /// Of rows with the best sentences alone: those that can be answered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub answerable: u64,
    /// Sum of their recalls of all facts, in millionths.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recall: u64,
    /// Sum of their recalls of the supporting facts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recall_supporting: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Tokens of prompts under one tokenizer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sums {
    /// Of all.
    pub tokens: u64,
    /// Of the shortest.
    pub min: u64,
    /// Of the longest.
    pub max: u64,
}

impl Sums {
    /// Of one prompt.
    pub fn of(tokens: u64) -> Sums {
        Sums { tokens, min: tokens, max: tokens }
    }

    fn add(&mut self, other: Sums) {
        self.tokens += other.tokens;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

impl Stats {
    /// Adds the sums of other rows; `first` while there are none yet.
    pub(crate) fn add(&mut self, other: &Stats, first: bool) {
        self.tokens += other.tokens;
        self.tokens_min = if first { other.tokens_min } else { self.tokens_min.min(other.tokens_min) };
        self.tokens_max = self.tokens_max.max(other.tokens_max);
        self.prompt_bytes += other.prompt_bytes;
        self.chars += other.chars;
        self.seams += other.seams;
        self.seams_repaired += other.seams_repaired;
        self.windows_widened += other.windows_widened;
        self.answerable += other.answerable;
        self.recall += other.recall;
        self.recall_supporting += other.recall_supporting;
        for (name, sums) in &other.also {
            self.also.entry(name.clone()).and_modify(|mine| mine.add(*sums)).or_insert(*sums);
        }
        for (model, n) in &other.over_window {
            *self.over_window.entry(model.clone()).or_default() += n;
        }
        self.fill += other.fill;
        self.fill_min = if first { other.fill_min } else { self.fill_min.min(other.fill_min) };
        self.over += other.over;
        self.lines += other.lines;
        self.repeated += other.repeated;
        for (mine, theirs) in [(&mut self.rarest, &other.rarest), (&mut self.commonest, &other.commonest)] {
            for (task, (credit, n)) in theirs {
                let entry = mine.entry(*task).or_default();
                entry.0 += credit;
                entry.1 += n;
            }
        }
    }
}

/// A file's rows, in groups.
pub struct FileRows {
    /// The file.
    pub file: FilePlan,
    /// Its groups of rows.
    pub groups: Vec<Vec<RowPlan>>,
}

impl FileRows {
    /// Cuts rows into groups whose prompts hold at most [`GROUP_BYTES`] each.
    pub fn new(file: FilePlan, rows: Vec<RowPlan>) -> FileRows {
        FileRows::in_groups(file, rows, GROUP_BYTES)
    }

    /// The same, with groups of at most so many bytes.
    pub fn in_groups(file: FilePlan, rows: Vec<RowPlan>, most: usize) -> FileRows {
        let mut groups: Vec<Vec<RowPlan>> = Vec::new();
        let mut bytes = usize::MAX;
        for row in rows {
            if bytes.saturating_add(row.bytes as usize) > most {
                groups.push(Vec::new());
                bytes = 0;
            }
            bytes += row.bytes as usize;
            groups.last_mut().expect("one was just pushed").push(row);
        }
        FileRows { file, groups }
    }
}

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

/// One family's way of making rows.
pub trait Rows: Sync {
    /// What a thread keeps from row to row.
    type Desk: Default;

    /// Renders a planned row into the emptied buffer and proves it from its final text.
    fn row(&self, desk: &mut Self::Desk, file: &FilePlan, planned: RowPlan, prompt: &mut String) -> Result<Made>;

    /// What a rendered row's prompt is put together from, in a compact release.
    fn compact(&self, file: &FilePlan, planned: RowPlan, row: &Row, prompt: &str) -> Result<Recipe>;

    /// Writes the texts of a compact release; how each file is put together from them.
    fn parts(&self, files: &[FileRows], parts: &mut Parts) -> Result<Vec<Layout>>;
}

/// What a thread keeps from row to row.
struct Desk<R: Rows> {
    rows: R::Desk,
    also: AlsoCounter,
    /// Memory for the prompts of a group.
    values: Vec<u8>,
}

impl<R: Rows> Desk<R> {
    fn new(plan: &Plan) -> Self {
        Desk { rows: R::Desk::default(), also: AlsoCounter::new(&plan.ledger), values: Vec::new() }
    }
}

/// A row, proven.
pub struct Made {
    /// The row.
    pub row: Row,
    /// What it adds to the sums; the writer fills in what it can count itself.
    pub stats: Stats,
    /// Where the parts of its prompt end, whose token counts may be added; empty where the row holds all counts already.
    pub parts: Vec<u32>,
}

/// Writes the files that the journal does not hold yet.
pub fn write<R: Rows>(plan: &Plan, rows: &R, files: &[FileRows], journal: &Journal) -> Result<()> {
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
    let tokens = |&(f, g): &(usize, usize)| files[f].groups[g].iter().map(|row| u64::from(row.tokens)).sum::<u64>();
    // The dearest files first, so that no thread is left alone with one at the end; a file's groups stay in order.
    let cost = |f: usize| (0..files[f].groups.len()).map(|g| tokens(&(f, g))).sum::<u64>();
    work.sort_by_cached_key(|&(f, g)| (std::cmp::Reverse(cost(f)), f, g));
    let progress = Progress::new("write", work.iter().map(tokens).sum(), "tokens");
    let done = parallel::each(
        plan.options.jobs,
        work.len(),
        || Desk::new(plan),
        |n, desk| {
            let (f, g) = work[n];
            let made = group(plan, rows, &files[f].file, &files[f].groups[g], desk, &progress)?;
            append(plan, &files[f], &open[f], g, made, journal)
        },
    );
    progress.finish();
    done?;
    match plan.options.compact {
        true => compact::write_index(plan, rows, files, journal),
        false => Ok(()),
    }
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

/// Renders and proves rows of a file one by one, for what their values come to.
pub fn digests<R: Rows>(plan: &Plan, maker: &R, file: &FilePlan, rows: &[RowPlan]) -> Result<Vec<RowDigests>> {
    let mut desk = Desk::new(plan);
    let progress = Progress::new("write", rows.iter().map(|row| u64::from(row.tokens)).sum(), "tokens");
    let mut encoder = RowEncoder::default();
    let mut digests = Vec::new();
    for row in rows {
        let (batch, ..) = render(plan, maker, file, std::slice::from_ref(row), &mut desk, &progress)?;
        digests.push(RowDigests::of(&batch, 0, &mut encoder));
        desk.values = reclaim(batch);
    }
    progress.finish();
    Ok(digests)
}

/// Renders, proves and encodes one group.
fn group<R: Rows>(
    plan: &Plan,
    maker: &R,
    file: &FilePlan,
    rows: &[RowPlan],
    desk: &mut Desk<R>,
    progress: &Progress,
) -> Result<Group> {
    let (batch, stats, recipes) = render(plan, maker, file, rows, desk, progress)?;
    let mut encoder = RowEncoder::default();
    let digests = (0..batch.num_rows()).map(|row| RowDigests::of(&batch, row, &mut encoder)).collect();
    let chunks = encode(&batch)?;
    let compact = plan.options.compact.then(|| compact::shrink(&batch, &recipes)).transpose()?;
    desk.values = reclaim(batch);
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

/// Renders and proves one group.
fn render<R: Rows>(
    plan: &Plan,
    maker: &R,
    file: &FilePlan,
    rows: &[RowPlan],
    desk: &mut Desk<R>,
    progress: &Progress,
) -> Result<(RecordBatch, Stats, Vec<Recipe>)> {
    let reserve = plan.recipe.budget.reserve(file.strategy);
    let budget = plan.budget(file.length, file.strategy);
    let mut made = Vec::with_capacity(rows.len());
    let mut digests = Vec::with_capacity(rows.len());
    let mut recipes = Vec::new();
    let mut stats = Stats::default();
    // The buffer of the group before is used again: fresh memory of this size is dear.
    let mut values = std::mem::take(&mut desk.values);
    values.clear();
    values.reserve_exact(rows.iter().map(|row| row.bytes as usize).sum());
    let mut ends = Vec::with_capacity(rows.len());
    let mut prompt = String::new();
    for (n, &planned) in rows.iter().enumerate() {
        prompt.clear();
        prompt.reserve(planned.bytes as usize);
        let Made { mut row, stats: mut this, parts } = maker.row(&mut desk.rows, file, planned, &mut prompt)?;
        if !parts.is_empty() {
            row.also = desk.also.count(&prompt, &parts, &row.needle_spans);
        }
        this.chars = count_chars(&prompt, &mut row.needle_spans);
        let counts = std::iter::once(row.n_tokens).chain(row.also.iter().map(|also| also.n_tokens));
        let counts: Vec<(&str, u64)> = plan.ledger.all().iter().map(Tokenizer::name).zip(counts).collect();
        for (name, tokens) in &counts[1..] {
            this.also.insert((*name).to_owned(), Sums::of(*tokens));
        }
        for model in plan.models() {
            this.over_window.insert(model.name.to_owned(), u64::from(exceeds(model, &counts, reserve)));
        }
        (this.tokens, this.tokens_min, this.tokens_max) = (row.n_tokens, row.n_tokens, row.n_tokens);
        this.prompt_bytes = prompt.len() as u64;
        if let Some(budget) = budget {
            // Where the passages alone are bounded, they were when they were fitted.
            let bounded = plan.recipe.budget.counts == Bound::Prompt;
            this.fill = (row.n_tokens + reserve) * 1_000_000 / plan.recipe.budget.tokens(file.length);
            this.fill_min = this.fill;
            let all = plan.recipe.budget.fit == Fit::All;
            let most = counts.iter().take(if all { counts.len() } else { 1 }).map(|(_, n)| *n).max();
            this.over = u64::from(bounded && most > Some(budget));
        }
        if plan.options.compact {
            recipes.push(Recipe { bytes: prompt.len() as u64, ..maker.compact(file, planned, &row, &prompt)? });
        }
        stats.add(&this, n == 0);
        progress.add(row.n_tokens);
        digests.push(Digest::of(&prompt));
        values.extend_from_slice(prompt.as_bytes());
        ends.push(prompt.len());
        made.push(row);
    }
    drop(prompt);
    let prompts = StringArray::try_new(OffsetBuffer::from_lengths(ends), Buffer::from_vec(values), None)
        .map_err(|e| Error::new(format!("cannot hold the prompts: {e}")))?;
    let batch = table::batch(&made, prompts, &digests, &FileConstants::of(plan, file))?;
    Ok((batch, stats, recipes))
}

/// The memory of a batch's prompts, if nothing else holds it.
fn reclaim(batch: RecordBatch) -> Vec<u8> {
    let Some(prompts) = batch.column_by_name("prompt").and_then(|column| column.as_string_opt::<i32>()).cloned() else {
        return Vec::new();
    };
    drop(batch);
    prompts.into_parts().1.into_vec().unwrap_or_default()
}

/// Characters of a prompt; fills in where its spans stand in characters.
pub fn count_chars(prompt: &str, spans: &mut [NeedleSpan]) -> u64 {
    let mut edges: Vec<u64> = spans.iter().flat_map(|span| [span.start, span.end]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut chars = Vec::with_capacity(edges.len());
    let (mut at, mut count) = (0, 0);
    for edge in &edges {
        count += prompt[at..*edge as usize].chars().count() as u64;
        chars.push(count);
        at = *edge as usize;
    }
    let place = |byte: u64| chars[edges.binary_search(&byte).expect("every edge is there")];
    for span in spans {
        (span.char_start, span.char_end) = (place(span.start), place(span.end));
    }
    count + prompt[at..].chars().count() as u64
}

/// Hands a group to its file; writes what is next in order, and closes the file after the last group.
fn append(
    plan: &Plan,
    file: &FileRows,
    open: &Mutex<Open>,
    number: usize,
    made: Group,
    journal: &Journal,
) -> Result<()> {
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
