//! Parts of a compact release: small Parquet files, written in order and read a page of rows at a time.

use crate::error::{Error, Result};
use crate::fail;
use crate::hash::{Digest, HashingWriter};
use crate::store::{make_dir, sync_dir};
use arrow_array::builder::{Int32Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A finished part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PartFile {
    /// Path inside the release.
    pub path: String,
    /// Digest of its bytes.
    pub sha256: Digest,
}

/// Instances in a page of texts, and in one of rankings, which are longer.
const PAGE: usize = 256;
const RANKED_PAGE: usize = 64;

fn list(of: DataType) -> DataType {
    DataType::List(item(of))
}

fn item(of: DataType) -> FieldRef {
    Arc::new(Field::new("item", of, true))
}

fn schema(fields: &[(&str, DataType)]) -> Arc<Schema> {
    let fields: Vec<Field> = fields.iter().map(|(name, of)| Field::new(*name, of.clone(), true)).collect();
    Arc::new(Schema::new(fields))
}

/// Columns of texts.
pub(super) static TEXTS: LazyLock<Arc<Schema>> =
    LazyLock::new(|| schema(&[("id", DataType::Utf8), ("text", DataType::Utf8)]));

/// Columns of facts.
pub(super) static FACTS: LazyLock<Arc<Schema>> = LazyLock::new(|| schema(&[("facts", list(DataType::Utf8))]));

/// Columns of frames.
pub(super) static FRAMES: LazyLock<Arc<Schema>> =
    LazyLock::new(|| schema(&[("head", DataType::Utf8), ("tail", DataType::Utf8), ("cut_head", DataType::Utf8)]));

/// Columns of rankings: passages in the order printed with the rank of each, or in the order ranked with the number of
/// each one's language.
pub(super) static RANKINGS: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let numbers = || list(DataType::Int32);
    schema(&[("passages", numbers()), ("ranks", numbers()), ("languages", numbers())])
});

/// The one set of settings.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by("nihbuild compact 1".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(9).expect("level 9 exists")))
        .set_max_row_group_row_count(None)
        .set_data_page_size_limit(1 << 20)
        // What readers could skip pages by: these parts are read whole, and small ones consist of little else.
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build()
}

/// A part that is being written: beside its place until it is whole.
pub(crate) struct PartWriter {
    writer: ArrowWriter<HashingWriter<BufWriter<File>>>,
    name: String,
    place: PathBuf,
    aside: PathBuf,
}

impl PartWriter {
    /// Begins a part of a release.
    pub fn create(folder: &Path, name: &str, schema: &Arc<Schema>) -> Result<PartWriter> {
        let place = folder.join(name);
        let aside = place.with_extension("parquet.partial");
        make_dir(place.parent().expect("a part has a folder"))?;
        let out = File::create(&aside).map_err(|e| Error::io("cannot write", &aside, e))?;
        let out = HashingWriter::new(BufWriter::new(out));
        // All columns are of kinds that Parquet has itself.
        let options = ArrowWriterOptions::new().with_properties(properties()).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(out, schema.clone(), options)
            .map_err(|e| Error::io("cannot write", &aside, e))?;
        Ok(PartWriter { writer, name: name.to_owned(), place, aside })
    }

    /// Appends rows.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|e| Error::io("cannot write", &self.aside, e))
    }

    /// Rows of the page that is open.
    pub fn open_rows(&self) -> usize {
        self.writer.in_progress_rows()
    }

    /// Ends a page.
    pub fn end_page(&mut self) -> Result<()> {
        self.writer.flush().map_err(|e| Error::io("cannot write", &self.aside, e))
    }

    /// Puts the part in its place.
    pub fn close(self) -> Result<PartFile> {
        let PartWriter { writer, name, place, aside } = self;
        let fault = |e: String| Error::io("cannot write", &aside, e);
        let (out, sha256, _) = writer.into_inner().map_err(|e| fault(e.to_string()))?.finish();
        let out = out.into_inner().map_err(|e| fault(e.to_string()))?;
        out.sync_all().map_err(|e| fault(e.to_string()))?;
        std::fs::rename(&aside, &place).map_err(|e| Error::io("cannot rename to", &place, e))?;
        sync_dir(place.parent().expect("a part has a folder"))?;
        Ok(PartFile { path: name, sha256 })
    }
}

/// What stands around the texts of an instance's prompts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Around {
    /// Before; none where no prompt has this frame.
    pub head: Option<String>,
    /// Behind.
    pub tail: Option<String>,
    /// Before the best sentences alone, where that is another.
    pub cut_head: Option<String>,
}

/// The ranked passages of an instance.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ranked {
    /// Their numbers.
    pub passages: Vec<u32>,
    /// The rank of each, where they stand in the order printed.
    pub ranks: Option<Vec<u32>>,
    /// The number of the language of each, where they have several.
    pub languages: Option<Vec<u32>>,
}

/// The parts that a build adds beside its rows.
pub struct Parts {
    folder: PathBuf,
    done: BTreeMap<String, Digest>,
}

impl Parts {
    /// Parts go into the folder of a release in progress.
    pub fn new(folder: &Path) -> Parts {
        Parts { folder: folder.to_owned(), done: BTreeMap::new() }
    }

    /// The folder of the release in progress.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Enters a part that is there.
    pub fn enter(&mut self, part: PartFile) {
        self.done.insert(part.path, part.sha256);
    }

    /// Digests of all parts.
    pub fn finish(self) -> BTreeMap<String, Digest> {
        self.done
    }

    /// Writes texts with their ids; its path.
    pub fn texts<'t>(
        &mut self,
        name: &str,
        all: impl Iterator<Item = (Option<String>, Option<&'t str>)>,
    ) -> Result<String> {
        let path = format!("compact/texts/{name}.parquet");
        let mut writer = PartWriter::create(&self.folder, &path, &TEXTS)?;
        let mut all = all.peekable();
        // Many are read at once: pages keep memory small here.
        while all.peek().is_some() {
            let (mut ids, mut texts) = (StringBuilder::new(), StringBuilder::new());
            for (id, text) in all.by_ref().take(16 * PAGE) {
                ids.append_option(id);
                texts.append_option(text);
            }
            self.page(&mut writer, &TEXTS, vec![Arc::new(ids.finish()), Arc::new(texts.finish())])?;
        }
        self.close(writer)
    }

    /// Writes what is hidden, by instance; its path.
    pub fn facts(&mut self, name: &str, n: usize, of: impl Fn(usize) -> Result<Vec<String>> + Sync) -> Result<String> {
        let path = format!("compact/facts/{name}.parquet");
        let mut writer = PartWriter::create(&self.folder, &path, &FACTS)?;
        for facts in pages(n, PAGE, of) {
            let mut lists = ListBuilder::new(StringBuilder::new()).with_field(item(DataType::Utf8));
            for facts in facts? {
                lists.append_value(facts.iter().map(Some));
            }
            self.page(&mut writer, &FACTS, vec![Arc::new(lists.finish())])?;
        }
        self.close(writer)
    }

    /// Writes what stands around, by instance; its path.
    pub fn frames(&mut self, name: &str, n: usize, of: impl Fn(usize) -> Result<Around> + Sync) -> Result<String> {
        let path = format!("compact/frames/{name}.parquet");
        let mut writer = PartWriter::create(&self.folder, &path, &FRAMES)?;
        for frames in pages(n, PAGE, of) {
            let frames = frames?;
            let column = |of: fn(&Around) -> &Option<String>| -> ArrayRef {
                Arc::new(frames.iter().map(|frame| of(frame).as_deref()).collect::<StringArray>())
            };
            self.page(&mut writer, &FRAMES, vec![column(|f| &f.head), column(|f| &f.tail), column(|f| &f.cut_head)])?;
        }
        self.close(writer)
    }

    /// Writes ranked passages, by instance; its path.
    pub fn rankings(&mut self, name: &str, n: usize, of: impl Fn(usize) -> Result<Ranked> + Sync) -> Result<String> {
        let path = format!("compact/rankings/{name}.parquet");
        let mut writer = PartWriter::create(&self.folder, &path, &RANKINGS)?;
        for lists in pages(n, RANKED_PAGE, of) {
            let lists = lists?;
            let column = |of: &dyn Fn(&Ranked) -> Option<&Vec<u32>>| -> ArrayRef {
                let mut builder = ListBuilder::new(Int32Builder::new()).with_field(item(DataType::Int32));
                for ranked in &lists {
                    match of(ranked) {
                        Some(numbers) => builder.append_value(numbers.iter().map(|n| Some(*n as i32))),
                        None => builder.append_null(),
                    }
                }
                Arc::new(builder.finish())
            };
            let columns =
                vec![column(&|r| Some(&r.passages)), column(&|r| r.ranks.as_ref()), column(&|r| r.languages.as_ref())];
            self.page(&mut writer, &RANKINGS, columns)?;
        }
        self.close(writer)
    }

    fn page(&self, writer: &mut PartWriter, schema: &Arc<Schema>, columns: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(schema.clone(), columns)
            .map_err(|e| Error::new(format!("cannot build a batch: {e}")))?;
        writer.write(&batch)?;
        writer.end_page()
    }

    fn close(&mut self, writer: PartWriter) -> Result<String> {
        let part = writer.close()?;
        let path = part.path.clone();
        self.enter(part);
        Ok(path)
    }
}

/// What instances have, page by page, each made in parallel.
fn pages<T: Send>(
    n: usize,
    page: usize,
    of: impl Fn(usize) -> Result<T> + Sync,
) -> impl Iterator<Item = Result<Vec<T>>> {
    let starts = (0..n).step_by(page);
    starts.map(move |start| (start..n.min(start + page)).into_par_iter().map(&of).collect())
}

/// Pages that were read, the last ones used, for all threads and files: several files have the same rankings, and several row
/// groups lie in one page of rows.
#[derive(Default)]
pub(super) struct Pages(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// By part and page: when it was last used, its bytes in memory, the page.
    pages: BTreeMap<(PathBuf, usize), (u64, usize, RecordBatch)>,
    bytes: usize,
    clock: u64,
}

/// Pages hold at most so many bytes of memory.
const KEPT: usize = 96 << 20;

impl Pages {
    fn get(&self, key: &(PathBuf, usize)) -> Option<RecordBatch> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let now = kept.clock;
        kept.pages.get_mut(key).map(|(used, _, page)| {
            *used = now;
            page.clone()
        })
    }

    fn put(&self, key: (PathBuf, usize), page: &RecordBatch) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, size) = (kept.clock, page.get_array_memory_size());
        if let Some((_, old, _)) = kept.pages.insert(key, (now, size, page.clone())) {
            kept.bytes -= old;
        }
        kept.bytes += size;
        while kept.bytes > KEPT
            && let Some(oldest) = kept.pages.iter().min_by_key(|(_, (used, ..))| *used).map(|(key, _)| key.clone())
            && let Some((_, size, _)) = kept.pages.remove(&oldest)
        {
            kept.bytes -= size;
        }
    }
}

/// A part that is read a page at a time.
pub(super) struct Paged {
    path: PathBuf,
    pages: Arc<Pages>,
    about: ArrowReaderMetadata,
    /// The first row of each page, and one past the last.
    starts: Vec<u64>,
}

impl Paged {
    /// Opens a part that must have these columns.
    pub fn open(path: &Path, schema: &Schema, pages: &Arc<Pages>) -> Result<Paged> {
        let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
        let about = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default())
            .map_err(|e| Error::io("cannot read", path, e))?;
        if about.schema().fields() != schema.fields() {
            return Err(Error::new(format!("{} has other columns than a part of its kind", path.display())));
        }
        let mut starts = vec![0];
        for group in about.metadata().row_groups() {
            starts.push(starts[starts.len() - 1] + u64::try_from(group.num_rows()).unwrap_or(0));
        }
        Ok(Paged { path: path.to_owned(), pages: pages.clone(), about, starts })
    }

    /// Rows of all pages.
    pub fn rows(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Rows `first..first + n`, which must lie in one page.
    pub fn slice(&self, first: u64, n: u64) -> Result<RecordBatch> {
        let (start, page) = self.page(first)?;
        if n > start + page.num_rows() as u64 - first {
            fail!("{} has no page with the rows {first} to {}", self.path.display(), first.saturating_add(n));
        }
        Ok(page.slice((first - start) as usize, n as usize))
    }

    /// The page that holds a row, and its first row.
    pub fn page(&self, row: u64) -> Result<(u64, RecordBatch)> {
        if row >= self.rows() {
            fail!("{} has {} rows, row {row} is asked for", self.path.display(), self.rows());
        }
        let page = self.starts.partition_point(|start| *start <= row) - 1;
        let key = (self.path.clone(), page);
        if let Some(kept) = self.pages.get(&key) {
            return Ok((self.starts[page], kept));
        }
        let read = self.read(page)?;
        self.pages.put(key, &read);
        Ok((self.starts[page], read))
    }

    fn read(&self, page: usize) -> Result<RecordBatch> {
        let fault = |e: &dyn std::fmt::Display| Error::io("cannot read", &self.path, e);
        let n = self.starts[page + 1] - self.starts[page];
        let file = File::open(&self.path).map_err(|e| fault(&e))?;
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.about.clone())
            .with_row_groups(vec![page])
            .with_batch_size(n as usize);
        let mut batches = reader.build().map_err(|e| fault(&e))?;
        let batch = batches.next().ok_or_else(|| fault(&"rows are missing"))?.map_err(|e| fault(&e))?;
        if batch.num_rows() as u64 != n {
            return Err(fault(&"rows are missing"));
        }
        Ok(batch)
    }
}
