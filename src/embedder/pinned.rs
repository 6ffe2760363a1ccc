//! Pinned embeddings: vectors that another machine would not make again bit for bit, as a file to publish.
//!
//! A pin is Parquet with the columns `id`, `text_sha256` and `vector` (one byte a component, two's
//! complement). Its metadata holds the parameters the vectors were made with, the digest of the list of
//! texts, and a digest of all content, so that no change of a pin goes unseen.

use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::store::{sorted_dir, write_aside};
use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use serde_json::Value;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Vectors and what they were made with.
#[derive(Clone, PartialEq, Debug)]
pub struct Pinned {
    /// Components of a vector.
    pub dimensions: usize,
    /// The vectors one after another, each component -127 to 127.
    pub vectors: Vec<i8>,
    /// What they were made with, such as `onnx::Identity::parameters`.
    pub parameters: Value,
}

/// A vector has at most so many components.
pub const MOST_DIMENSIONS: u32 = 1 << 16;

/// Rows of a row group, and of a batch handed to the writer: other numbers would give other bytes.
const GROUP_ROWS: usize = 1 << 14;

const PARAMETERS: &str = "nihbuild.parameters";
const INPUTS: &str = "nihbuild.inputs";
const CONTENT: &str = "nihbuild.content";

/// What to do about a pin that cannot be used.
const ANEW: &str = "fetch the file again, or remove it and embed anew";

/// Name of the pin of some inputs under some parameters.
pub fn file_name(inputs: &Digest, parameters: &Digest) -> String {
    format!("{inputs}-{parameters}.parquet")
}

/// Digest of a list of texts, from the SHA-256 of each.
pub fn inputs_digest(texts: &[Digest]) -> Digest {
    Digest::of_parts(texts.iter().map(|text| text.0.as_slice()))
}

/// Digest of parameters, whatever the order of their keys.
pub fn parameters_digest(parameters: &Value) -> Digest {
    Digest::of(canonical(parameters))
}

/// JSON with sorted keys. (A feature of `serde_json` that any crate may switch on keeps them as inserted.)
fn canonical(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}

/// Digest of everything in a pin.
fn content_digest(ids: &[String], texts: &[Digest], vectors: &[u8], dimensions: usize, parameters: &str) -> Digest {
    let head = [b"nihbuild pin v1".as_slice(), parameters.as_bytes()];
    let rows = ids.iter().zip(texts).zip(vectors.chunks_exact(dimensions));
    let rows = rows.flat_map(|((id, text), vector)| [id.as_bytes(), text.0.as_slice(), vector]);
    Digest::of_parts(head.into_iter().chain(rows))
}

fn schema(dimensions: usize) -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("text_sha256", DataType::Utf8, false),
        Field::new("vector", DataType::FixedSizeBinary(dimensions as i32), false),
    ]))
}

/// Writes a pin: `texts` are the SHA-256 of each embedded text. Gives the digest of the file's bytes, which are the same on every run.
///
/// Fails if the numbers of ids, texts and vectors differ, if a component is -128, or if the file cannot be written.
pub fn write(path: &Path, ids: &[String], texts: &[Digest], pinned: &Pinned) -> Result<Digest> {
    let dimensions = pinned.dimensions;
    if dimensions == 0 || dimensions > MOST_DIMENSIONS as usize {
        fail!("vectors of {dimensions} dimensions cannot be pinned: 1 to {MOST_DIMENSIONS} are possible");
    }
    if texts.len() != ids.len() || pinned.vectors.len() != ids.len() * dimensions {
        let vectors = pinned.vectors.len() as f64 / dimensions as f64;
        fail!("{} ids, {} texts and {vectors} vectors cannot be pinned together", ids.len(), texts.len());
    }
    if let Some(at) = pinned.vectors.iter().position(|x| *x == i8::MIN) {
        fail!("the vector of {:?} holds -128; components are -127 to 127", ids[at / dimensions]);
    }
    let bytes = encode(ids, texts, pinned).map_err(|e| Error::new(format!("cannot encode: {e}")).at(path.display()))?;
    write_aside(path, |out| out.write_all(&bytes))?;
    Ok(Digest::of(&bytes))
}

fn encode(
    ids: &[String],
    texts: &[Digest],
    pinned: &Pinned,
) -> std::result::Result<Vec<u8>, parquet::errors::ParquetError> {
    let dimensions = pinned.dimensions;
    let parameters = canonical(&pinned.parameters);
    let vectors: Vec<u8> = pinned.vectors.iter().map(|x| x.cast_unsigned()).collect();
    let metadata = [
        (CONTENT, content_digest(ids, texts, &vectors, dimensions, &parameters).to_string()),
        (INPUTS, inputs_digest(texts).to_string()),
        (PARAMETERS, parameters),
    ];
    let vector = ColumnPath::from("vector");
    let properties = WriterProperties::builder()
        .set_created_by("nihbuild pins 1".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_write_batch_size(64)
        .set_data_page_size_limit(1 << 20)
        .set_column_data_page_size_limit(vector, 1 << 20)
        .set_key_value_metadata(Some(metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value)).to_vec()))
        .build();
    let schema = schema(dimensions);
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), schema.clone(), options)?;
    for (n, ids) in ids.chunks(GROUP_ROWS).enumerate() {
        let first = n * GROUP_ROWS;
        let texts = texts[first..first + ids.len()].iter().map(Digest::to_string);
        let mut column = FixedSizeBinaryBuilder::with_capacity(ids.len(), dimensions as i32);
        for vector in vectors[first * dimensions..].chunks_exact(dimensions).take(ids.len()) {
            column.append_value(vector)?;
        }
        writer.write(&RecordBatch::try_new(
            schema.clone(),
            vec![
                Arc::new(StringArray::from_iter_values(ids)),
                Arc::new(StringArray::from_iter_values(texts)),
                Arc::new(column.finish()),
            ],
        )?)?;
    }
    writer.into_inner()
}

/// What a pin's metadata says.
struct Head {
    parameters: String,
    inputs: Digest,
    content: Digest,
    dimensions: usize,
}

/// Runs a reader of foreign bytes: Parquet's may fail in its own ways on those that were made to break it.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let done = catch_unwind(AssertUnwindSafe(read));
    let done = done.unwrap_or_else(|_| Err(Error::new("it breaks the Parquet reader")));
    done.map_err(|e| e.at(path.display()).help(ANEW))
}

fn open(path: &Path) -> Result<(ParquetRecordBatchReaderBuilder<File>, Head)> {
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|e| Error::new(format!("no pin, for it is no Parquet: {e}")))?;
    let fields = builder.schema().fields();
    let dimensions = match fields.last().map(|field| field.data_type()) {
        Some(DataType::FixedSizeBinary(n)) if (1..=MOST_DIMENSIONS as i32).contains(n) => *n as usize,
        _ => fail!("no pin, for its last column is not a vector"),
    };
    if fields != schema(dimensions).fields() {
        let found: Vec<String> = fields.iter().map(|f| format!("{}: {}", f.name(), f.data_type())).collect();
        fail!(
            "no pin, for its columns are {}; id, text_sha256 and vector are expected, without nulls",
            found.join(", ")
        );
    }
    let pairs = builder.metadata().file_metadata().key_value_metadata();
    let value = |key: &str| -> Result<&str> {
        let mut found =
            pairs.into_iter().flatten().filter(|pair| pair.key == key).filter_map(|pair| pair.value.as_deref());
        found.next().ok_or_else(|| Error::new(format!("no pin, for its metadata lacks {key}")))
    };
    let digest = |key: &str| -> Result<Digest> {
        Digest::parse(value(key)?).ok_or_else(|| Error::new(format!("its {key} is no digest")))
    };
    let head = Head {
        parameters: value(PARAMETERS)?.to_owned(),
        inputs: digest(INPUTS)?,
        content: digest(CONTENT)?,
        dimensions,
    };
    Ok((builder, head))
}

fn parse(parameters: &str) -> Result<Value> {
    serde_json::from_str(parameters).map_err(|e| Error::new(format!("its {PARAMETERS} is no JSON: {e}")))
}

/// Reads a pin: ids, digests of the texts, and vectors. Anything that is not as [`write()`] left it is an error.
pub fn read(path: &Path) -> Result<(Vec<String>, Vec<Digest>, Pinned)> {
    guarded(path, || {
        let (builder, head) = open(path)?;
        let said = builder.metadata().file_metadata().num_rows();
        let batches = builder.with_batch_size(GROUP_ROWS).build();
        let batches = batches.map_err(|e| Error::new(format!("cannot be read: {e}")))?;
        let (mut ids, mut texts, mut vectors) = (Vec::new(), Vec::new(), Vec::<u8>::new());
        for batch in batches {
            let batch = batch.map_err(|e| Error::new(format!("cannot be read: {e}")))?;
            if batch.columns().iter().any(|column| column.null_count() > 0) {
                fail!("it holds nulls");
            }
            ids.extend(batch.column(0).as_string::<i32>().iter().flatten().map(str::to_owned));
            for hex in batch.column(1).as_string::<i32>().iter().flatten() {
                let text = Digest::parse(hex).ok_or_else(|| Error::new(format!("text_sha256 {hex:?} is no digest")));
                texts.push(text.map_err(|e| e.at(format!("row {}", texts.len() + 1)))?);
            }
            let column = batch.column(2).as_fixed_size_binary();
            (0..column.len()).for_each(|row| vectors.extend(column.value(row)));
        }
        if said != ids.len() as i64 || texts.len() != ids.len() || vectors.len() != ids.len() * head.dimensions {
            fail!("it holds {} rows, its metadata says {said}", ids.len());
        }
        let inputs = inputs_digest(&texts);
        if inputs != head.inputs {
            fail!("its texts have the digest {inputs}, its metadata says {}", head.inputs);
        }
        let content = content_digest(&ids, &texts, &vectors, head.dimensions, &head.parameters);
        if content != head.content {
            fail!("its content has the digest {content}, its metadata says {}", head.content);
        }
        let vectors: Vec<i8> = vectors.into_iter().map(u8::cast_signed).collect();
        if let Some(at) = vectors.iter().position(|x| *x == i8::MIN) {
            fail!("the vector of row {} holds -128; components are -127 to 127", at / head.dimensions + 1);
        }
        let parameters = parse(&head.parameters)?;
        Ok((ids, texts, Pinned { dimensions: head.dimensions, vectors, parameters }))
    })
}

/// The first pin of these inputs whose parameters are accepted: folders in order, files in each by name.
///
/// Only metadata is read, so [`read`] may still refuse the file. A folder that does not exist holds nothing; a
/// file that is no pin is named on stderr and passed over.
pub fn find(folders: &[PathBuf], inputs: &Digest, accept: impl Fn(&Value) -> bool) -> Result<Option<PathBuf>> {
    let start = format!("{inputs}-");
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for path in sorted_dir(folder)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !name.starts_with(&start) || !name.ends_with(".parquet") {
                continue;
            }
            let parameters = guarded(&path, || {
                let (_, head) = open(&path)?;
                if head.inputs != *inputs {
                    fail!("it is of other texts than its name says, of {}", head.inputs);
                }
                parse(&head.parameters)
            });
            match parameters {
                Ok(parameters) if accept(&parameters) => return Ok(Some(path)),
                Ok(_) => {}
                Err(e) => eprintln!("warning: a pin is passed over: {e}"),
            }
        }
    }
    Ok(None)
}
