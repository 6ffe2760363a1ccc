//! Pinned embeddings: vectors that another machine would not make again bit for bit, as a file to publish.
//!
//! A pin is Parquet with the columns `id`, `text_sha256` and `vector` (one byte a component, two's
//! complement). Its metadata holds the parameters the vectors were made with, the digest of the list of
//! texts, and a digest of all content, so that no change of a pin goes unseen.

use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::pinfile::{self, GROUP_ROWS, Pin, canonical};
use crate::store::{sorted_dir, write_aside};
use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnPath;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crate::pinfile::{file_name, parameters_digest};

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

/// What to do about a pin that cannot be used.
const ANEW: &str = "fetch the file again, or remove it and embed anew";

/// Digest of a list of texts, from the SHA-256 of each.
pub fn inputs_digest(texts: &[Digest]) -> Digest {
    Digest::of_parts(texts.iter().map(|text| text.0.as_slice()))
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

fn encode(ids: &[String], texts: &[Digest], pinned: &Pinned) -> std::result::Result<Vec<u8>, ParquetError> {
    let dimensions = pinned.dimensions;
    let parameters = canonical(&pinned.parameters);
    let vectors: Vec<u8> = pinned.vectors.iter().map(|x| x.cast_unsigned()).collect();
    let content = content_digest(ids, texts, &vectors, dimensions, &parameters);
    let properties = pinfile::properties("nihbuild pins 1", &inputs_digest(texts), &content, parameters)?
        .set_column_data_page_size_limit(ColumnPath::from("vector"), 1 << 20)
        .build();
    let schema = schema(dimensions);
    let batches = ids.chunks(GROUP_ROWS).enumerate().map(|(n, ids)| -> std::result::Result<_, ArrowError> {
        let first = n * GROUP_ROWS;
        let texts = texts[first..first + ids.len()].iter().map(Digest::to_string);
        let mut column = FixedSizeBinaryBuilder::with_capacity(ids.len(), dimensions as i32);
        for vector in vectors[first * dimensions..].chunks_exact(dimensions).take(ids.len()) {
            column.append_value(vector)?;
        }
        RecordBatch::try_new(
            schema.clone(),
            vec![
                Arc::new(StringArray::from_iter_values(ids)),
                Arc::new(StringArray::from_iter_values(texts)),
                Arc::new(column.finish()),
            ],
        )
    });
    pinfile::encode(schema.clone(), properties, batches)
}

/// Components of a pin's vectors. Fails if it is no pin of vectors.
fn dimensions(pin: &Pin) -> Result<usize> {
    let dimensions = match pin.fields().last().map(|field| field.data_type()) {
        Some(DataType::FixedSizeBinary(n)) if (1..=MOST_DIMENSIONS as i32).contains(n) => *n as usize,
        _ => fail!("no pin, for its last column is not a vector"),
    };
    pin.has(&schema(dimensions))?;
    Ok(dimensions)
}

/// Reads a pin: ids, digests of the texts, and vectors. Anything that is not as [`write()`] left it is an error.
pub fn read(path: &Path) -> Result<(Vec<String>, Vec<Digest>, Pinned)> {
    pinfile::read(path, ANEW, |mut pin| {
        let dimensions = dimensions(&pin)?;
        let (mut ids, mut texts, mut vectors) = (Vec::new(), Vec::new(), Vec::<u8>::new());
        pin.rows(|batch| {
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
            Ok(())
        })?;
        let content = content_digest(&ids, &texts, &vectors, dimensions, pin.parameters_text()?);
        pin.check(&inputs_digest(&texts), &content)?;
        let vectors: Vec<i8> = vectors.into_iter().map(u8::cast_signed).collect();
        if let Some(at) = vectors.iter().position(|x| *x == i8::MIN) {
            fail!("the vector of row {} holds -128; components are -127 to 127", at / dimensions + 1);
        }
        Ok((ids, texts, Pinned { dimensions, vectors, parameters: pin.parameters()? }))
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
            let parameters = pinfile::read(&path, ANEW, |pin| {
                dimensions(&pin)?;
                pin.check_inputs(inputs)?;
                pin.parameters()
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
