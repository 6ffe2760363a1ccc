//! Pinned answers: what a build was told by a service, as a file to publish.
//!
//! Parquet with the columns `kind`, `source_language`, `target_language`, `temperature` (thousandths, of free text only),
//! `attempt`, `source` and `target`, sorted by all but the last. Its metadata holds the parameters, the digest of what
//! was asked, and a digest of all content.

use super::{Ask, Kind};
use crate::embedder::pinned::file_name;
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::store::write_aside;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{FileMetaData, KeyValue};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

pub use crate::embedder::pinned::parameters_digest;

/// Rows of a row group, and of a batch handed to the writer: other numbers would give other bytes.
const GROUP_ROWS: usize = 1 << 14;

const PARAMETERS: &str = "nihbuild.parameters";
const INPUTS: &str = "nihbuild.inputs";
const CONTENT: &str = "nihbuild.content";

const ANEW: &str = "fetch the file again, or remove it to have its texts asked for anew";

/// What was asked, and the answer to each.
pub type Entries = BTreeMap<Ask, Arc<str>>;

fn inputs_digest(entries: &Entries) -> Digest {
    let keys: Vec<Digest> = entries.keys().map(Ask::key).collect();
    Digest::of_parts(keys.iter().map(|key| key.0.as_slice()))
}

fn content_digest(entries: &Entries, parameters: &str) -> Digest {
    let keys: Vec<Digest> = entries.keys().map(Ask::key).collect();
    let rows = keys.iter().zip(entries.values()).flat_map(|(key, answer)| [key.0.as_slice(), answer.as_bytes()]);
    Digest::of_parts([b"nihbuild answers v1".as_slice(), parameters.as_bytes()].into_iter().chain(rows))
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("kind", DataType::Utf8, false),
        Field::new("source_language", DataType::Utf8, false),
        Field::new("target_language", DataType::Utf8, false),
        Field::new("temperature", DataType::Int32, true),
        Field::new("attempt", DataType::Int32, false),
        Field::new("source", DataType::Utf8, false),
        Field::new("target", DataType::Utf8, false),
    ]))
}

/// Writes a pin into a folder under a name of its own. Gives that name, and size and digest of the file's bytes.
pub fn write(folder: &Path, entries: &Entries, parameters: &Value) -> Result<(String, u64, Digest)> {
    let mut sorted = parameters.clone();
    sorted.sort_all_objects();
    let inputs = inputs_digest(entries);
    let name = file_name(&inputs, &parameters_digest(parameters));
    let path = folder.join(&name);
    let bytes = encode(entries, &inputs, sorted.to_string())
        .map_err(|e| Error::new(format!("cannot encode: {e}")).at(path.display()))?;
    write_aside(&path, |out| out.write_all(&bytes))?;
    Ok((name, bytes.len() as u64, Digest::of(&bytes)))
}

fn encode(
    entries: &Entries,
    inputs: &Digest,
    parameters: String,
) -> std::result::Result<Vec<u8>, parquet::errors::ParquetError> {
    let metadata = [
        (CONTENT, content_digest(entries, &parameters).to_string()),
        (INPUTS, inputs.to_string()),
        (PARAMETERS, parameters),
    ];
    let properties = WriterProperties::builder()
        .set_created_by("nihbuild answers 1".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_write_batch_size(64)
        .set_data_page_size_limit(1 << 20)
        .set_key_value_metadata(Some(metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value)).to_vec()))
        .build();
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), schema(), options)?;
    let rows: Vec<(&Ask, &Arc<str>)> = entries.iter().collect();
    for rows in rows.chunks(GROUP_ROWS) {
        let text = |of: &dyn Fn(&Ask) -> String| -> Arc<dyn Array> {
            Arc::new(StringArray::from_iter_values(rows.iter().map(|(ask, _)| of(ask))))
        };
        let temperatures = rows.iter().map(|(ask, _)| ask.temperature.map(u32::cast_signed));
        let attempts = rows.iter().map(|(ask, _)| ask.attempt.cast_signed());
        writer.write(&RecordBatch::try_new(
            schema(),
            vec![
                text(&|ask| ask.kind.word().to_owned()),
                text(&|ask| ask.from.clone()),
                text(&|ask| ask.to.clone()),
                Arc::new(Int32Array::from_iter(temperatures)),
                Arc::new(Int32Array::from_iter_values(attempts)),
                text(&|ask| ask.text.clone()),
                Arc::new(StringArray::from_iter_values(rows.iter().map(|(_, answer)| &**answer))),
            ],
        )?)?;
    }
    writer.into_inner()
}

fn value<'a>(about: &'a FileMetaData, key: &str) -> Result<&'a str> {
    let pairs = about.key_value_metadata().into_iter().flatten();
    let found = pairs.filter(|pair| pair.key == key).find_map(|pair| pair.value.as_deref());
    found.ok_or_else(|| Error::new(format!("no pin, for its metadata lacks {key}")))
}

/// Reads a pin: what was asked with its answers, and the parameters. Anything that is not as [`write()`] left it is an error.
pub fn read(path: &Path) -> Result<(Entries, Value)> {
    // Parquet's reader may fail in its own ways on bytes that were made to break it.
    let done = catch_unwind(AssertUnwindSafe(|| read_unguarded(path)));
    let done = done.unwrap_or_else(|_| Err(Error::new("it breaks the Parquet reader")));
    done.map_err(|e| e.at(path.display()).help(ANEW))
}

fn read_unguarded(path: &Path) -> Result<(Entries, Value)> {
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|e| Error::new(format!("no pin, for it is no Parquet: {e}")))?;
    if builder.schema().fields() != schema().fields() {
        let found: Vec<String> = builder.schema().fields().iter().map(|f| f.name().clone()).collect();
        fail!("no pin of answers, for its columns are {}", found.join(", "));
    }
    let about = builder.metadata().file_metadata().clone();
    let batches = builder.with_batch_size(GROUP_ROWS).build();
    let mut entries = Entries::new();
    let mut rows = 0;
    for batch in batches.map_err(|e| Error::new(format!("cannot be read: {e}")))? {
        let batch = batch.map_err(|e| Error::new(format!("cannot be read: {e}")))?;
        rows += batch.num_rows() as i64;
        read_batch(&batch, &mut entries)?;
    }
    if rows != about.num_rows() || entries.len() as i64 != rows {
        fail!("it holds {} different rows, its metadata says {}", entries.len(), about.num_rows());
    }
    for (key, found) in
        [(INPUTS, inputs_digest(&entries)), (CONTENT, content_digest(&entries, value(&about, PARAMETERS)?))]
    {
        let said = value(&about, key)?;
        if found.to_string() != said {
            fail!("its {key} is {found}, its metadata says {said}");
        }
    }
    let parameters = serde_json::from_str(value(&about, PARAMETERS)?)
        .map_err(|e| Error::new(format!("its {PARAMETERS} is no JSON: {e}")))?;
    Ok((entries, parameters))
}

fn read_batch(batch: &RecordBatch, entries: &mut Entries) -> Result<()> {
    let text = |column: usize, row: usize| batch.column(column).as_string::<i32>().value(row).to_owned();
    let number = |column: usize, row: usize| -> Result<u32> {
        let number = batch.column(column).as_primitive::<Int32Type>().value(row);
        u32::try_from(number).map_err(|_| Error::new(format!("it holds the number {number}")))
    };
    if (0..7).any(|column| column != 3 && batch.column(column).null_count() > 0) {
        fail!("it holds nulls");
    }
    for row in 0..batch.num_rows() {
        let kind = text(0, row);
        let Some(kind) = Kind::parse(&kind) else { fail!("it holds the unknown kind {kind:?}") };
        let temperature = if batch.column(3).is_null(row) { None } else { Some(number(3, row)?) };
        let ask = Ask {
            kind,
            from: text(1, row),
            to: text(2, row),
            temperature,
            attempt: number(4, row)?,
            text: text(5, row),
        };
        entries.insert(ask, text(6, row).into());
    }
    Ok(())
}
