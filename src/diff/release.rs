//! A release as it is compared: what it says of itself, and its data files in small batches.

use crate::compact;
use crate::error::{Error, Result};
use crate::manifest::Manifest;
use crate::stage::write::DataFile;
use crate::table::{has_columns, schema_of};
use crate::verify::{is_inside, read_manifest};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use std::collections::BTreeSet;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Rows in a batch: prompts may hold most of a megabyte, and other columns tens of kilobytes.
const BATCH: usize = 16;

/// One of the two releases.
pub struct Release {
    /// Its folder.
    pub folder: PathBuf,
    /// What it says of itself.
    pub manifest: Manifest,
}

impl Release {
    /// Opens a release; every data file that its manifest names must be there.
    pub fn open(folder: &Path) -> Result<Release> {
        let manifest = read_manifest(folder)?;
        if compact::is_compact(folder) {
            return Err(Error::new(format!("{} is a compact release: its rows are not written out", folder.display()))
                .help(format!("write the full one first: nihbuild materialize {}", folder.display())));
        }
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
            if !folder.join(&file.path).is_file() {
                return Err(fault("which is missing").help("the release is not whole: fetch it or build it again"));
            }
        }
        Ok(Release { folder: folder.to_owned(), manifest })
    }

    /// Its data files.
    pub fn files(&self) -> &[DataFile] {
        &self.manifest.files
    }

    /// The place of a data file in the manifest.
    pub fn place(&self, path: &str) -> Option<usize> {
        self.files().iter().position(|file| file.path == path)
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

    /// Some columns of a data file; with `rows`, which ascend, only those.
    fn batches(&self, file: usize, columns: &[&str], rows: Option<&[u32]>) -> Result<ParquetRecordBatchReader> {
        let path = self.path(file);
        let fault = |e: &dyn std::fmt::Display| damaged(&path, e);
        let opened = File::open(&path).map_err(|e| Error::io("cannot open", &path, e))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|e| fault(&e))?;
        if !has_columns(builder.schema(), self.manifest.format) {
            let what = format!("it has other columns than a release of format {}", self.manifest.format);
            return Err(fault(&what));
        }
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        let mut builder = builder.with_projection(mask).with_batch_size(BATCH);
        if let Some(rows) = rows {
            builder = builder.with_row_selection(selection(rows));
        }
        builder.build().map_err(|e| fault(&e))
    }

    /// Reads a data file row by row. `each` is given a batch and the place in it.
    pub fn each(
        &self,
        file: usize,
        columns: &[&str],
        each: &mut dyn FnMut(&RecordBatch, usize) -> Result<()>,
    ) -> Result<()> {
        let path = self.path(file);
        sound(&path, || {
            for batch in self.batches(file, columns, None)? {
                let batch = batch.map_err(|e| damaged(&path, &e))?;
                (0..batch.num_rows()).try_for_each(|row| each(&batch, row))?;
            }
            Ok(())
        })
    }

    /// Some rows of a data file, which ascend, one after the other.
    pub fn rows<'a>(&'a self, file: usize, columns: &[&str], rows: &[u32]) -> Result<Picked<'a>> {
        let batches = sound(&self.path(file), || self.batches(file, columns, Some(rows)))?;
        Ok(Picked { release: self, file, batches, batch: None, next: 0 })
    }
}

/// Rows of a data file that were asked for.
pub struct Picked<'a> {
    release: &'a Release,
    file: usize,
    batches: ParquetRecordBatchReader,
    batch: Option<RecordBatch>,
    next: usize,
}

impl Picked<'_> {
    /// The next row: a batch, and the place in it.
    pub fn next(&mut self) -> Result<(RecordBatch, usize)> {
        let path = self.release.path(self.file);
        loop {
            match &self.batch {
                Some(batch) if self.next < batch.num_rows() => {
                    self.next += 1;
                    return Ok((batch.clone(), self.next - 1));
                }
                _ => {
                    let batch = sound(&path, || match self.batches.next() {
                        Some(batch) => batch.map_err(|e| damaged(&path, &e)),
                        None => Err(damaged(&path, &"a row is gone that was there")),
                    })?;
                    (self.batch, self.next) = (Some(batch), 0);
                }
            }
        }
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
