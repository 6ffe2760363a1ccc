//! A release as others read it, full or compact: what it says of itself, and its rows in small batches.

use crate::compact::{self, MADE};
use crate::error::{Error, Result};
use crate::manifest::Manifest;
use crate::stage::stats::DataFile;
use crate::table::{has_columns, schema_of};
use crate::verify::{is_inside, read_manifest};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};
use std::collections::BTreeSet;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Rows in a batch with prompts, which may hold most of a megabyte.
const BATCH: usize = 16;

/// Rows in a batch without them.
const LIGHT: usize = 1024;

/// A release that is read.
pub struct Release {
    /// Its folder.
    pub folder: PathBuf,
    /// What it says of itself.
    pub manifest: Manifest,
    /// Puts the data files of a compact one together.
    compact: Option<compact::Release>,
}

impl Release {
    /// Opens a release, full or compact; every data file that its manifest names must be there.
    pub fn open(folder: &Path) -> Result<Release> {
        let manifest = read_manifest(folder)?;
        let compact = match compact::is_compact(folder) {
            true => Some(compact::Release::open(folder, manifest.format)?),
            false => None,
        };
        let mut seen = BTreeSet::new();
        for file in &manifest.files {
            let fault = |what: &str| {
                Error::new(format!("the manifest names {:?}, {what}", file.path))
                    .at(folder.join("manifest.json").display())
            };
            if !is_inside(&file.path) {
                return Err(fault("which is not inside the release"));
            }
            if !seen.insert(&file.path) {
                return Err(fault("twice"));
            }
            let is_there = match &compact {
                Some(compact) => compact.index.files.iter().any(|known| known.path == file.path),
                None => folder.join(&file.path).is_file(),
            };
            if !is_there {
                return Err(fault("which is missing").help("the release is not whole: fetch it or build it again"));
            }
        }
        Ok(Release { folder: folder.to_owned(), manifest, compact })
    }

    /// Its data files.
    pub fn files(&self) -> &[DataFile] {
        &self.manifest.files
    }

    /// The place of a data file in the manifest.
    pub fn place(&self, path: &str) -> Option<usize> {
        self.files().iter().position(|file| file.path == path)
    }

    /// Is it a compact one?
    pub fn is_compact(&self) -> bool {
        self.compact.is_some()
    }

    /// The columns of its format.
    pub fn schema(&self) -> &'static Schema {
        schema_of(self.manifest.format)
    }

    /// A text file of the release.
    pub fn text(&self, name: &str) -> Result<String> {
        let path = self.folder.join(name);
        std::fs::read_to_string(&path).map_err(|e| Error::io("cannot read", &path, e))
    }

    fn path(&self, file: usize) -> PathBuf {
        self.folder.join(&self.files()[file].path)
    }

    /// Batches of some columns of a data file, in order; with `rows`, which ascend, of those rows only. A compact release
    /// may give more columns than are asked for.
    pub fn batches<'a>(&'a self, file: usize, columns: &[&str], rows: Option<&[u32]>) -> Result<Batches<'a>> {
        match &self.compact {
            Some(compact) => self.put_together(compact, file, columns, rows),
            None => self.parquet(file, columns, rows),
        }
    }

    fn parquet(&self, file: usize, columns: &[&str], rows: Option<&[u32]>) -> Result<Batches<'_>> {
        let path = self.path(file);
        let fault = |e: &dyn std::fmt::Display| damaged(&path, e);
        let mut batches = sound(&path, || {
            let opened = File::open(&path).map_err(|e| Error::io("cannot open", &path, e))?;
            let builder = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|e| fault(&e))?;
            if !has_columns(builder.schema(), self.manifest.format) {
                let what = format!("it has other columns than a release of format {}", self.manifest.format);
                return Err(fault(&what));
            }
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            let mut builder = builder.with_projection(mask).with_batch_size(batch_size(columns));
            if let Some(rows) = rows {
                builder = builder.with_row_selection(selection(rows));
            }
            builder.build().map_err(|e| fault(&e))
        })?;
        let next = move || sound(&path, || batches.next().transpose().map_err(|e| damaged(&path, &e))).transpose();
        Ok(Box::new(std::iter::from_fn(next)))
    }

    fn put_together<'a>(
        &'a self,
        compact: &'a compact::Release,
        file: usize,
        columns: &[&str],
        rows: Option<&[u32]>,
    ) -> Result<Batches<'a>> {
        let path = &self.files()[file].path;
        let index = compact.index.files.iter().find(|known| known.path == *path).expect("seen when it was opened");
        let reader = compact.file(index)?;
        if !columns.iter().any(|name| MADE.contains(name)) {
            return Ok(match rows {
                None => Box::new(reader.into_kept(None)),
                Some(rows) => Box::new(reader.into_kept(Some(rows.to_vec()))),
            });
        }
        let rows: Box<dyn Iterator<Item = u64>> = match rows {
            None => Box::new(0..self.files()[file].rows),
            Some(rows) => Box::new(Vec::from(rows).into_iter().map(u64::from)),
        };
        Ok(Box::new(reader.into_rows(rows)))
    }

    /// Puts a data file of a compact release together below a folder, where the full one has it, and holds it against the
    /// manifest.
    pub(crate) fn put(&self, file: usize, folder: &Path) -> Result<()> {
        let data = &self.files()[file];
        let Some(compact) = &self.compact else {
            return Err(Error::new("a full release has its data files already"));
        };
        let index = compact.index.files.iter().find(|known| known.path == data.path).expect("seen when it was opened");
        compact::write_file(compact, index, data, folder)
    }

    /// Reads a data file row by row. `each` is given a batch and the place in it.
    pub fn each(
        &self,
        file: usize,
        columns: &[&str],
        each: &mut dyn FnMut(&RecordBatch, usize) -> Result<()>,
    ) -> Result<()> {
        for batch in self.batches(file, columns, None)? {
            let batch = batch?;
            (0..batch.num_rows()).try_for_each(|row| each(&batch, row))?;
        }
        Ok(())
    }

    /// Some rows of a data file, which ascend, one after the other.
    pub fn rows<'a>(&'a self, file: usize, columns: &[&str], rows: &[u32]) -> Result<Picked<'a>> {
        let batches = self.batches(file, columns, Some(rows))?;
        Ok(Picked { path: self.path(file), batches, batch: None, next: 0 })
    }
}

/// Batches of a data file.
pub type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>;

/// Rows of a data file that were asked for.
pub struct Picked<'a> {
    path: PathBuf,
    batches: Batches<'a>,
    batch: Option<RecordBatch>,
    next: usize,
}

impl Picked<'_> {
    /// The next row: a batch, and the place in it.
    pub fn take(&mut self) -> Result<(RecordBatch, usize)> {
        loop {
            match &self.batch {
                Some(batch) if self.next < batch.num_rows() => {
                    self.next += 1;
                    return Ok((batch.clone(), self.next - 1));
                }
                _ => {
                    let batch = self
                        .batches
                        .next()
                        .unwrap_or_else(|| Err(damaged(&self.path, &"a row is gone that was there")))?;
                    (self.batch, self.next) = (Some(batch), 0);
                }
            }
        }
    }
}

fn batch_size(columns: &[&str]) -> usize {
    match columns.iter().any(|name| MADE.contains(name)) {
        true => BATCH,
        false => LIGHT,
    }
}

fn selection(rows: &[u32]) -> RowSelection {
    let mut selectors = Vec::new();
    let mut at = 0;
    for row in rows {
        let row = *row as usize;
        selectors.extend((row > at).then(|| RowSelector::skip(row - at)));
        selectors.push(RowSelector::select(1));
        at = row + 1;
    }
    selectors.into()
}

fn damaged(path: &Path, what: &dyn std::fmt::Display) -> Error {
    Error::io("cannot read", path, what).help("the file is damaged, or no data file of a release: run verify on it")
}

/// A reader of Parquet may fail in its own ways on bytes that were made to break it.
fn sound<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(damaged(path, &"it breaks the Parquet reader")))
}
