//! What pins have in common, of vectors and of answers: Parquet without statistics, whose metadata holds the parameters, the
//! digest of what was asked, and a digest of all content.

use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::store::{sorted_dir, write_aside};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{Fields, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use serde_json::Value;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a batch, and usually of a row group: other numbers would give other bytes.
pub const GROUP_ROWS: usize = 1 << 14;

const PARAMETERS: &str = "nihbuild.parameters";
const INPUTS: &str = "nihbuild.inputs";
const CONTENT: &str = "nihbuild.content";

/// Name of the pin of some inputs under some parameters.
pub fn file_name(inputs: &Digest, parameters: &Digest) -> String {
    format!("{inputs}-{parameters}.parquet")
}

/// Digest of parameters, whatever the order of their keys.
pub fn parameters_digest(parameters: &Value) -> Digest {
    Digest::of(canonical(parameters))
}

/// Parameters as a pin's metadata spells them, with sorted keys. (A feature of `serde_json` that any crate may switch on
/// keeps them as inserted.)
pub fn canonical(parameters: &Value) -> String {
    let mut sorted = parameters.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

/// How a pin is written, with its metadata.
pub fn properties(
    created_by: &str,
    inputs: &Digest,
    content: &Digest,
    parameters: String,
) -> std::result::Result<WriterPropertiesBuilder, ParquetError> {
    let metadata = [(CONTENT, content.to_string()), (INPUTS, inputs.to_string()), (PARAMETERS, parameters)];
    Ok(WriterProperties::builder()
        .set_created_by(created_by.to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_write_batch_size(64)
        .set_data_page_size_limit(1 << 20)
        .set_key_value_metadata(Some(metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value)).to_vec())))
}

/// The bytes of a file of these batches.
pub fn encode(
    schema: SchemaRef,
    properties: WriterProperties,
    batches: impl Iterator<Item = std::result::Result<RecordBatch, arrow_schema::ArrowError>>,
) -> std::result::Result<Vec<u8>, ParquetError> {
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), schema, options)?;
    for batch in batches {
        writer.write(&batch?)?;
    }
    writer.into_inner()
}

/// Writes encoded bytes into a folder under the name of their inputs and parameters. Gives that name, and size and digest.
pub fn write(
    folder: &Path,
    inputs: &Digest,
    parameters: &Value,
    bytes: std::result::Result<Vec<u8>, ParquetError>,
) -> Result<(String, u64, Digest)> {
    let name = file_name(inputs, &parameters_digest(parameters));
    let path = folder.join(&name);
    let bytes = bytes.map_err(|e| Error::new(format!("cannot encode: {e}")).at(path.display()))?;
    write_aside(&path, |out| out.write_all(&bytes))?;
    Ok((name, bytes.len() as u64, Digest::of(&bytes)))
}

/// The pins of these parameters in the folder `below` of each of `pins`: folders in order, files in each by name.
pub fn find(pins: &[PathBuf], below: &str, parameters: &Digest) -> Result<Vec<PathBuf>> {
    let ending = format!("-{parameters}.parquet");
    let mut found = Vec::new();
    for folder in pins.iter().map(|folder| folder.join(below)).filter(|folder| folder.is_dir()) {
        let named =
            |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(|n| n.ends_with(&ending));
        found.extend(sorted_dir(&folder)?.into_iter().filter(named));
    }
    Ok(found)
}

/// A pin that is being read.
pub struct Pin {
    about: Arc<FileMetaData>,
    reader: ParquetRecordBatchReader,
}

/// Opens a pin and reads it; faults tell the path and the way out.
pub fn read<T>(path: &Path, anew: &str, read: impl FnOnce(Pin) -> Result<T>) -> Result<T> {
    // Parquet's reader may fail in its own ways on bytes that were made to break it.
    let done = catch_unwind(AssertUnwindSafe(|| read(Pin::open(path)?)));
    let done = done.unwrap_or_else(|_| Err(Error::new("it breaks the Parquet reader")));
    done.map_err(|e| e.at(path.display()).help(anew))
}

impl Pin {
    fn open(path: &Path) -> Result<Pin> {
        let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(|e| Error::new(format!("no pin, for it is no Parquet: {e}")))?;
        let about = Arc::new(builder.metadata().file_metadata().clone());
        let reader = builder.with_batch_size(GROUP_ROWS).build();
        Ok(Pin { about, reader: reader.map_err(|e| Error::new(format!("cannot be read: {e}")))? })
    }

    /// Its columns.
    pub fn fields(&self) -> Fields {
        self.reader.schema().fields().clone()
    }

    /// Fails if it has other columns than these.
    pub fn has(&self, schema: &SchemaRef) -> Result<()> {
        let fields = self.fields();
        if fields != *schema.fields() {
            let spelt = |fields: &Fields| {
                let all: Vec<String> = fields.iter().map(|f| format!("{}: {}", f.name(), f.data_type())).collect();
                all.join(", ")
            };
            fail!(
                "no pin of this kind, for its columns are {}; {} are expected",
                spelt(&fields),
                spelt(schema.fields())
            );
        }
        Ok(())
    }

    /// Hands on all rows. Fails unless there are as many as the metadata says.
    pub fn rows(&mut self, mut take: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let mut rows = 0;
        for batch in &mut self.reader {
            let batch = batch.map_err(|e| Error::new(format!("cannot be read: {e}")))?;
            rows += batch.num_rows() as i64;
            take(&batch)?;
        }
        if rows != self.about.num_rows() {
            fail!("it holds {rows} rows, its metadata says {}", self.about.num_rows());
        }
        Ok(())
    }

    /// Compares the digests found with those of the metadata.
    pub fn check(&self, inputs: &Digest, content: &Digest) -> Result<()> {
        self.same(INPUTS, inputs)?;
        self.same(CONTENT, content)
    }

    /// Fails unless its metadata says that it is of these inputs.
    pub fn check_inputs(&self, inputs: &Digest) -> Result<()> {
        self.same(INPUTS, inputs)
    }

    fn same(&self, key: &str, found: &Digest) -> Result<()> {
        let said = self.value(key)?;
        if found.to_string() != said {
            fail!("its {key} is {found}, its metadata says {said}");
        }
        Ok(())
    }

    /// The parameters, as they are spelt.
    pub fn parameters_text(&self) -> Result<&str> {
        self.value(PARAMETERS)
    }

    /// The parameters.
    pub fn parameters(&self) -> Result<Value> {
        serde_json::from_str(self.value(PARAMETERS)?)
            .map_err(|e| Error::new(format!("its {PARAMETERS} is no JSON: {e}")))
    }

    fn value(&self, key: &str) -> Result<&str> {
        let pairs = self.about.key_value_metadata().into_iter().flatten();
        let found = pairs.filter(|pair| pair.key == key).find_map(|pair| pair.value.as_deref());
        found.ok_or_else(|| Error::new(format!("no pin, for its metadata lacks {key}")))
    }
}
