//! Pinned answers: what a build was told by a service, as a file to publish.
//!
//! Parquet with the columns `kind`, `source_language`, `target_language`, `temperature` (thousandths, of free text only),
//! `attempt`, `source` and `target`, sorted by all but the last. Its metadata holds the parameters, the digest of what
//! was asked, and a digest of all content.

use super::{Ask, Kind};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::pinfile::{self, GROUP_ROWS, canonical};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::errors::ParquetError;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use crate::pinfile::parameters_digest;

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
    let inputs = inputs_digest(entries);
    pinfile::write(folder, &inputs, parameters, encode(entries, &inputs, canonical(parameters)))
}

fn encode(entries: &Entries, inputs: &Digest, parameters: String) -> std::result::Result<Vec<u8>, ParquetError> {
    let content = content_digest(entries, &parameters);
    let properties = pinfile::properties("nihbuild answers 1", inputs, &content, parameters)?.build();
    let rows: Vec<(&Ask, &Arc<str>)> = entries.iter().collect();
    pinfile::encode(schema(), properties, rows.chunks(GROUP_ROWS).map(batch))
}

fn batch(rows: &[(&Ask, &Arc<str>)]) -> std::result::Result<RecordBatch, ArrowError> {
    let text = |of: &dyn Fn(&Ask) -> String| -> Arc<dyn Array> {
        Arc::new(StringArray::from_iter_values(rows.iter().map(|(ask, _)| of(ask))))
    };
    let temperatures = rows.iter().map(|(ask, _)| ask.temperature.map(u32::cast_signed));
    let attempts = rows.iter().map(|(ask, _)| ask.attempt.cast_signed());
    RecordBatch::try_new(
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
    )
}

/// Reads a pin: what was asked with its answers, and the parameters. Anything that is not as [`write()`] left it is an error.
pub fn read(path: &Path) -> Result<(Entries, Value)> {
    pinfile::read(path, ANEW, |mut pin| {
        pin.has(&schema())?;
        let mut entries = Entries::new();
        let mut rows = 0;
        pin.rows(|batch| {
            rows += batch.num_rows();
            read_batch(batch, &mut entries)
        })?;
        if entries.len() != rows {
            fail!("it holds {rows} rows, of which {} are different", entries.len());
        }
        pin.check(&inputs_digest(&entries), &content_digest(&entries, pin.parameters_text()?))?;
        Ok((entries, pin.parameters()?))
    })
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
