//! Pinned scores: what a model made of the sentences of a build, as a file to publish.
//!
//! Parquet with the columns `question_sha256`, `sentence_sha256` (of their UTF-8) and `score` (millionths), sorted by the first
//! two. Its metadata holds the parameters, the digest of all pairs, and a digest of all content.

use crate::error::{Error, Result};
use crate::fail;
use crate::hash::{Digest, HashingWriter};
use crate::pinfile::{self, GROUP_ROWS, canonical, parameters_digest};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::errors::ParquetError;
use serde_json::Value;
use std::io::{Sink, Write, sink};
use std::path::Path;
use std::sync::Arc;

/// The folder of journals in a store, and of pins among pins.
pub const FOLDER: &str = "rerank";

/// One score. Its order is that of a pin's rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Scored {
    /// SHA-256 of the question.
    pub question: Digest,
    /// SHA-256 of the sentence.
    pub sentence: Digest,
    /// Relevance, in millionths.
    pub score: i64,
}

/// Long groups with dictionaries: the same sentences come with question after question, and a digest does not compress.
const LONG_GROUP: usize = 1 << 20;
const DICTIONARY_BYTES: usize = 32 << 20;

const ANEW: &str = "fetch the file again, or remove it to have its sentences scored anew";

/// The two digests of a pin, row by row.
struct Digests {
    inputs: HashingWriter<Sink>,
    content: HashingWriter<Sink>,
}

impl Digests {
    fn new(parameters: &str) -> Digests {
        let mut content = HashingWriter::new(sink());
        // The length keeps parameters and rows apart; rows are all of one length. A sink takes everything.
        let _ = content.write_all(b"nihbuild scores v1");
        let _ = content.write_all(&(parameters.len() as u64).to_le_bytes());
        let _ = content.write_all(parameters.as_bytes());
        Digests { inputs: HashingWriter::new(sink()), content }
    }

    fn add(&mut self, row: &Scored) {
        for part in [&row.question.0, &row.sentence.0] {
            let _ = self.inputs.write_all(part);
            let _ = self.content.write_all(part);
        }
        let _ = self.content.write_all(&row.score.to_le_bytes());
    }

    fn finish(self) -> (Digest, Digest) {
        (self.inputs.finish().1, self.content.finish().1)
    }
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("question_sha256", DataType::Utf8, false),
        Field::new("sentence_sha256", DataType::Utf8, false),
        Field::new("score", DataType::Int64, false),
    ]))
}

/// Writes a pin of rows, sorted and without two of one pair, into a folder under a name of its own. Gives that name, and
/// size and digest of the file's bytes.
pub fn write(folder: &Path, rows: &[Scored], parameters: &Value) -> Result<(String, u64, Digest)> {
    let spelt = canonical(parameters);
    let mut digests = Digests::new(&spelt);
    rows.iter().for_each(|row| digests.add(row));
    let (inputs, content) = digests.finish();
    pinfile::write(folder, &inputs, parameters, encode(rows, &inputs, &content, spelt))
}

fn encode(
    rows: &[Scored],
    inputs: &Digest,
    content: &Digest,
    parameters: String,
) -> std::result::Result<Vec<u8>, ParquetError> {
    let properties = pinfile::properties("nihbuild scores 1", inputs, content, parameters)?
        .set_max_row_group_row_count(Some(LONG_GROUP))
        .set_write_batch_size(1024)
        .set_column_dictionary_enabled("question_sha256".into(), true)
        .set_column_dictionary_enabled("sentence_sha256".into(), true)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .build();
    pinfile::encode(schema(), properties, rows.chunks(GROUP_ROWS).map(batch))
}

fn batch(rows: &[Scored]) -> std::result::Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(
        schema(),
        vec![
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.question.to_string()))),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.sentence.to_string()))),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.score))),
        ],
    )
}

/// Reads a pin of these parameters; each row goes to `take`. Anything that is not as [`write()`] left it is an error.
pub fn read(path: &Path, parameters: &Digest, take: &mut dyn FnMut(&Scored)) -> Result<()> {
    pinfile::read(path, ANEW, |mut pin| {
        pin.has(&schema())?;
        if parameters_digest(&pin.parameters()?) != *parameters {
            fail!("it was made with other parameters than its name says");
        }
        let mut digests = Digests::new(pin.parameters_text()?);
        let mut before: Option<Scored> = None;
        pin.rows(|batch| {
            read_batch(batch, &mut |row| {
                if before.is_some_and(|b| (b.question, b.sentence) >= (row.question, row.sentence)) {
                    fail!("its rows are not sorted");
                }
                before = Some(row);
                digests.add(&row);
                take(&row);
                Ok(())
            })
        })?;
        let (inputs, content) = digests.finish();
        pin.check(&inputs, &content)
    })
}

fn read_batch(batch: &RecordBatch, take: &mut dyn FnMut(Scored) -> Result<()>) -> Result<()> {
    if batch.columns().iter().any(|column| column.null_count() > 0) {
        fail!("it holds nulls");
    }
    let digest = |column: usize, row: usize| {
        let hex = batch.column(column).as_string::<i32>().value(row);
        Digest::parse(hex).ok_or_else(|| Error::new(format!("{hex:?} is no digest")))
    };
    let scores = batch.column(2).as_primitive::<Int64Type>();
    for row in 0..batch.num_rows() {
        take(Scored { question: digest(0, row)?, sentence: digest(1, row)?, score: scores.value(row) })?;
    }
    Ok(())
}
