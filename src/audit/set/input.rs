//! Opens a file of rows by its ending: JSON Lines, CSV or TSV, Parquet. Rows come one at a time, as JSON values.

use super::columns::Columns;
use crate::error::{Error, Result};
use crate::store::sorted_dir;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A row: values by column.
pub type Record = Map<String, Value>;

/// Endings of files that are read.
pub const ENDINGS: [&str; 6] = ["jsonl", "ndjson", "json", "csv", "tsv", "parquet"];

/// Rows of a Parquet file that are decoded at once: prompts may be long.
const BATCH: usize = 8;

fn ending(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// The files of a path: itself, or all below it that can be read, by name.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        if !path.is_file() {
            return Err(Error::new(format!("there is no {}", path.display())).help("name a file or a folder of files"));
        }
        if !ENDINGS.contains(&ending(path).as_str()) {
            return Err(Error::new(format!("{}: its ending names no format that is read", path.display()))
                .help(format!("endings are {}", ENDINGS.join(", "))));
        }
        return Ok(vec![path.to_owned()]);
    }
    let mut all = Vec::new();
    walk(path, &mut all)?;
    match all.is_empty() {
        true => Err(Error::new(format!("{} holds no file of rows", path.display()))
            .help(format!("endings are {}", ENDINGS.join(", ")))),
        false => Ok(all),
    }
}

fn walk(folder: &Path, all: &mut Vec<PathBuf>) -> Result<()> {
    for path in sorted_dir(folder)? {
        // A link may lead back up.
        if path.is_dir() && !path.is_symlink() {
            walk(&path, all)?;
        } else if path.is_file() && ENDINGS.contains(&ending(&path).as_str()) {
            all.push(path);
        }
    }
    Ok(())
}

/// Reads a file: `columns` is told which columns are there and says which are needed, then `take` gets each row with its number,
/// from 1.
pub fn read(
    path: &Path,
    columns: impl FnOnce(&[String]) -> Result<Columns>,
    take: &mut dyn FnMut(u64, Record) -> Result<()>,
) -> Result<()> {
    let name = path.display().to_string();
    match ending(path).as_str() {
        "csv" => table(path, &name, b',', columns, take),
        "tsv" => table(path, &name, b'\t', columns, take),
        "parquet" => parquet(path, &name, columns, take),
        _ => lines(path, &name, columns, take),
    }
}

fn empty(name: &str) -> Error {
    Error::new("the file holds no rows").at(name)
}

fn lines(
    path: &Path,
    name: &str,
    columns: impl FnOnce(&[String]) -> Result<Columns>,
    take: &mut dyn FnMut(u64, Record) -> Result<()>,
) -> Result<()> {
    let mut reader =
        BufReader::with_capacity(1 << 20, File::open(path).map_err(|e| Error::io("cannot open", path, e))?);
    let (mut line, mut bytes, mut row) = (0u64, Vec::new(), 0u64);
    let mut columns = Some(columns);
    loop {
        bytes.clear();
        line += 1;
        if reader.read_until(b'\n', &mut bytes).map_err(|e| Error::io("cannot read", path, e))? == 0 {
            return if row == 0 { Err(empty(name)) } else { Ok(()) };
        }
        let place = |row: u64| format!("{name}, row {row} (line {line})");
        let text = std::str::from_utf8(&bytes).map_err(|e| {
            Error::new(format!("not UTF-8, from byte {} of the line on", e.valid_up_to())).at(place(row + 1))
        })?;
        let text = if line == 1 { text.trim_start_matches('\u{feff}') } else { text };
        if text.trim().is_empty() {
            continue;
        }
        row += 1;
        let record = match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(record)) => record,
            Ok(_) => {
                return Err(Error::new("a row is a JSON object, this line holds something else")
                    .at(place(row))
                    .help("write one object a line"));
            }
            Err(e) if line == 1 && text.trim_start().starts_with('[') => {
                return Err(Error::new(format!("a JSON array, expected one object a line ({e})")).at(place(row)));
            }
            Err(e) if e.is_eof() && !text.ends_with('\n') => {
                return Err(Error::new(format!("the file is truncated: {e}")).at(place(row)));
            }
            Err(e) => return Err(Error::new(format!("no sound JSON: {e}")).at(place(row))),
        };
        if let Some(columns) = columns.take() {
            let there: Vec<String> = record.keys().cloned().collect();
            columns(&there)?;
        }
        take(row, record).map_err(|e| e.at(place(row)))?;
    }
}

fn table(
    path: &Path,
    name: &str,
    delimiter: u8,
    columns: impl FnOnce(&[String]) -> Result<Columns>,
    take: &mut dyn FnMut(u64, Record) -> Result<()>,
) -> Result<()> {
    let fault = |e: csv::Error| {
        let what = match e.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("a row of {len} fields, expected {expected_len}")
            }
            csv::ErrorKind::Utf8 { err, .. } => format!("not UTF-8, in field {}", err.field() + 1),
            _ => e.to_string(),
        };
        Error::new(what).at(match e.position() {
            Some(at) if at.record() > 0 => format!("{name}, row {} (line {})", at.record(), at.line()),
            Some(at) => format!("{name}, line {}", at.line()),
            None => name.to_owned(),
        })
    };
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_path(path).map_err(fault)?;
    let header: Vec<String> =
        reader.headers().map_err(fault)?.iter().map(|h| h.trim_start_matches('\u{feff}').to_owned()).collect();
    if header.is_empty() {
        return Err(empty(name));
    }
    if let Some(twice) = header.iter().enumerate().find(|(n, column)| header[..*n].contains(column)) {
        return Err(Error::new(format!("the column {:?} stands twice", twice.1)).at(format!("{name}, line 1")));
    }
    let columns = columns(&header)?;
    let mut row = 0;
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(fault)? {
        row += 1;
        let used = header.iter().zip(record.iter()).filter(|(column, _)| columns.uses(column));
        let values = used.map(|(column, text)| (column.clone(), Value::String(text.to_owned()))).collect();
        let line = record.position().map_or(0, csv::Position::line);
        take(row, values).map_err(|e| e.at(format!("{name}, row {row} (line {line})")))?;
    }
    if row == 0 { Err(empty(name)) } else { Ok(()) }
}

fn parquet(
    path: &Path,
    name: &str,
    columns: impl FnOnce(&[String]) -> Result<Columns>,
    take: &mut dyn FnMut(u64, Record) -> Result<()>,
) -> Result<()> {
    let fault = |e: &dyn std::fmt::Display, place: String| {
        Error::new(format!("no sound Parquet: {e}")).at(place).help("it may be truncated: fetch it again")
    };
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| fault(&e, name.to_owned()))?;
    let there: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let columns = columns(&there)?;
    let used = there.iter().enumerate().filter(|(_, column)| columns.uses(column)).map(|(n, _)| n);
    let mask = ProjectionMask::roots(builder.parquet_schema(), used);
    let reader =
        builder.with_batch_size(BATCH).with_projection(mask).build().map_err(|e| fault(&e, name.to_owned()))?;
    let mut row = 0;
    for batch in reader {
        let batch: RecordBatch = batch.map_err(|e| fault(&e, format!("{name}, row {} or near it", row + 1)))?;
        for n in 0..batch.num_rows() {
            row += 1;
            let place = || format!("{name}, row {row}");
            let mut record = Record::new();
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                let value = value(column, n).map_err(|kind| {
                    Error::new(format!("the column {:?} holds {kind}, which is not read", field.name())).at(place())
                })?;
                record.insert(field.name().clone(), value);
            }
            take(row, record).map_err(|e| e.at(place()))?;
        }
    }
    if row == 0 { Err(empty(name)) } else { Ok(()) }
}

/// A cell as JSON; the error names its kind.
fn value(array: &ArrayRef, n: usize) -> std::result::Result<Value, DataType> {
    if array.is_null(n) {
        return Ok(Value::Null);
    }
    macro_rules! number {
        ($kind:ty) => {
            Value::from(array.as_primitive::<$kind>().value(n))
        };
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Utf8 => array.as_string::<i32>().value(n).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(n).into(),
        DataType::Utf8View => array.as_string_view().value(n).into(),
        DataType::Boolean => array.as_boolean().value(n).into(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        DataType::List(_) => list(&array.as_list::<i32>().value(n))?,
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(n))?,
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(n))?,
        DataType::Struct(fields) => {
            let columns = array.as_struct();
            let of =
                |(field, column): (&arrow_schema::FieldRef, &ArrayRef)| Ok((field.name().clone(), value(column, n)?));
            Value::Object(fields.iter().zip(columns.columns()).map(of).collect::<std::result::Result<_, DataType>>()?)
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let keys = dictionary.normalized_keys();
            value(dictionary.values(), keys[n])?
        }
        other => return Err(other.clone()),
    })
}

fn list(items: &ArrayRef) -> std::result::Result<Value, DataType> {
    (0..items.len()).map(|n| value(items, n)).collect::<std::result::Result<Vec<Value>, DataType>>().map(Value::Array)
}
