//! The digests of a release's rows and columns, published beside its data so that a fault can be placed.
//!
//! The identity of a release is a tree of SHA-256 digests over values, not over Parquet:
//!
//! ```text
//! cell     the encoded value (see [`RowEncoder`]); of `prompt` the 32 bytes of its `prompt_sha256` stand in for the text
//! row      the encoded values of its cells, one behind the other, in the order of the schema
//! file     the digests of its rows, one behind the other                     -> `rows_digest` of a file in manifest.json
//! release  the sorted lines `<hex of the file>  <path>\n` of all data files  -> `rows_digest` of manifest.json
//! column   the digests of its cells in a file, one behind the other
//! ```
//!
//! `digests/rows.parquet` holds `file`, `id` and `digest` of every row in order, `digests/columns.parquet` holds `file`,
//! `column` and `digest`. A row and a column that differ meet in the cell that was changed.

use crate::error::{Error, Result};
use crate::hash::{Digest, RowEncoder, RowsHasher};
use crate::store::{make_dir, write_aside};
use crate::table;
use arrow_array::builder::{FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Digest of every row.
pub const ROWS: &str = "digests/rows.parquet";

/// Digest of every column of every data file.
pub const COLUMNS: &str = "digests/columns.parquet";

/// Rows that are written or read at once.
const CHUNK: usize = 8192;

/// The digests of one row.
#[derive(Clone, Debug)]
pub struct RowDigests {
    /// Its id.
    pub id: String,
    /// Of the row.
    pub row: Digest,
    /// Of each of its values, in the order of the schema.
    pub cells: Vec<Digest>,
}

impl RowDigests {
    /// Those of a row of a batch that has the schema.
    pub fn of(batch: &RecordBatch, row: usize, encoder: &mut RowEncoder) -> RowDigests {
        let prompt = Digest::parse(table::text(batch, "prompt_sha256", row)).unwrap_or(Digest([0; 32]));
        RowDigests::with(batch, row, prompt, encoder)
    }

    /// The same with a SHA-256 of the prompt that was just taken.
    pub fn with(batch: &RecordBatch, row: usize, prompt: Digest, encoder: &mut RowEncoder) -> RowDigests {
        let mut cells = Vec::with_capacity(batch.num_columns());
        let digest = table::row_digest(batch, row, &prompt, encoder, &mut |cell| cells.push(cell));
        RowDigests { id: table::text(batch, "id", row).to_owned(), row: digest, cells }
    }
}

/// Gathers the digests of a file's rows, in order.
#[derive(Default)]
pub struct Gathered {
    rows: Vec<(String, Digest)>,
    columns: Vec<RowsHasher>,
}

impl Gathered {
    /// The next row.
    pub fn push(&mut self, row: RowDigests) {
        self.columns.resize_with(row.cells.len(), RowsHasher::default);
        self.columns.iter_mut().zip(&row.cells).for_each(|(column, cell)| column.push(cell));
        self.rows.push((row.id, row.row));
    }

    /// What they come to. A file without rows has columns all the same.
    pub fn finish(mut self, columns: usize) -> FileDigests {
        self.columns.resize_with(columns, RowsHasher::default);
        let columns = self.columns.into_iter().map(RowsHasher::finish).collect();
        FileDigests { rows: self.rows, columns }
    }
}

/// The digests of one data file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FileDigests {
    /// Id and digest of each row, in order.
    pub rows: Vec<(String, Digest)>,
    /// Digest of each column, in the order of the schema.
    pub columns: Vec<Digest>,
}

impl FileDigests {
    /// Those of a data file as it stands; of its prompts the text counts, whatever the rows say of it.
    pub fn of(builder: ParquetRecordBatchReaderBuilder<File>) -> Result<FileDigests> {
        let fault = |e: &dyn std::fmt::Display| Error::new(e.to_string());
        let columns = builder.schema().fields().len();
        let mut gathered = Gathered::default();
        let mut encoder = RowEncoder::default();
        for batch in builder.with_batch_size(16).build().map_err(|e| fault(&e))? {
            let batch = batch.map_err(|e| fault(&e))?;
            for row in 0..batch.num_rows() {
                let prompt = Digest::of(table::text(&batch, "prompt", row));
                gathered.push(RowDigests::with(&batch, row, prompt, &mut encoder));
            }
        }
        Ok(gathered.finish(columns))
    }

    /// The same of the file at a path.
    pub fn read(path: &Path) -> Result<FileDigests> {
        let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| Error::new(e.to_string()));
        builder.and_then(FileDigests::of).map_err(|e| e.at(path.display()))
    }

    /// Digest of the rows.
    pub fn rows_digest(&self) -> Digest {
        let mut hasher = RowsHasher::default();
        self.rows.iter().for_each(|(_, digest)| hasher.push(digest));
        hasher.finish()
    }
}

/// Of all data files, by path.
pub type Digests = BTreeMap<String, FileDigests>;

fn schema(second: &str) -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    Arc::new(Schema::new(vec![text("file"), text(second), Field::new("digest", DataType::FixedSizeBinary(32), false)]))
}

/// Writes both files into a release, and says what SHA256SUMS says of them. `names` are those of the columns.
pub fn write(folder: &Path, digests: &Digests, names: &[String]) -> Result<BTreeMap<String, Digest>> {
    let rows =
        digests.iter().flat_map(|(file, d)| d.rows.iter().map(move |(id, row)| (file.as_str(), id.as_str(), row)));
    let columns = digests
        .iter()
        .flat_map(|(file, d)| names.iter().zip(&d.columns).map(move |(name, c)| (file.as_str(), name.as_str(), c)));
    make_dir(&folder.join("digests"))?;
    let rows = write_one(&folder.join(ROWS), "id", rows)?;
    let columns = write_one(&folder.join(COLUMNS), "column", columns)?;
    Ok([(ROWS.to_owned(), rows), (COLUMNS.to_owned(), columns)].into())
}

fn write_one<'a>(
    path: &Path,
    second: &str,
    entries: impl Iterator<Item = (&'a str, &'a str, &'a Digest)>,
) -> Result<Digest> {
    let fault = |e: &dyn std::fmt::Display| Error::new(format!("cannot be written: {e}")).at(path.display());
    let schema = schema(second);
    let mut entries = entries.peekable();
    // Some forty bytes a row.
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, schema.clone(), Some(table::writer_properties())).map_err(|e| fault(&e))?;
    while entries.peek().is_some() {
        let (mut files, mut names) = (StringBuilder::new(), StringBuilder::new());
        let mut values = FixedSizeBinaryBuilder::new(32);
        for (file, name, value) in entries.by_ref().take(CHUNK) {
            files.append_value(file);
            names.append_value(name);
            values.append_value(value.0).map_err(|e| fault(&e))?;
        }
        let columns: Vec<arrow_array::ArrayRef> =
            vec![Arc::new(files.finish()), Arc::new(names.finish()), Arc::new(values.finish())];
        let batch = RecordBatch::try_new(schema.clone(), columns).map_err(|e| fault(&e))?;
        writer.write(&batch).map_err(|e| fault(&e))?;
    }
    writer.close().map_err(|e| fault(&e))?;
    write_aside(path, |out| out.write_all(&bytes))?;
    Ok(Digest::of(&bytes))
}

/// Reads both files of a release.
pub fn read(folder: &Path) -> Result<Digests> {
    let mut digests = Digests::new();
    read_one(&folder.join(ROWS), "id", |file, id, digest| {
        digests.entry(file.to_owned()).or_default().rows.push((id.to_owned(), digest));
    })?;
    read_one(&folder.join(COLUMNS), "column", |file, _, digest| {
        digests.entry(file.to_owned()).or_default().columns.push(digest);
    })?;
    Ok(digests)
}

fn read_one(path: &Path, second: &str, mut entry: impl FnMut(&str, &str, Digest)) -> Result<()> {
    let fault = |e: &dyn std::fmt::Display| Error::new(format!("cannot be read: {e}")).at(path.display());
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| fault(&e))?;
    if builder.schema().fields() != schema(second).fields() {
        return Err(fault(&format!("it has other columns than file, {second}, digest")));
    }
    for batch in builder.with_batch_size(CHUNK).build().map_err(|e| fault(&e))? {
        let batch = batch.map_err(|e| fault(&e))?;
        let (files, names) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
        let values = batch.column(2).as_fixed_size_binary();
        for n in 0..values.len() {
            let value: [u8; 32] = values.value(n).try_into().map_err(|e| fault(&e))?;
            entry(files.value(n), names.value(n), Digest(value));
        }
    }
    Ok(())
}
