//! A collection narrowed to the passages that lists name: what a build then reads in its place.
//!
//! The first of a question's list are the same among these passages as among all: a build that reads no further than the lists
//! reach makes the same prompts from the narrowed collection.

use super::PARTS;
use super::stream::{Event, Sink, Source, begin, each, rows};
use super::topk::Lists;
use crate::error::{Error, Result};
use arrow_array::BooleanArray;
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// The passages that lists name.
pub struct Named {
    numbers: BTreeSet<u32>,
}

impl Named {
    /// By these lists.
    pub fn by(lists: &Lists) -> Named {
        Named { numbers: lists.lists.values().flatten().map(|(_, number)| *number).collect() }
    }

    /// Writes those rows of a part (`number`, or an `id` of digits, and any columns) that are named, as they are.
    ///
    /// # Errors
    ///
    /// Streams with other columns than the first one.
    pub fn stream(&self, passages: &[Source], out: &mut dyn Write) -> Result<()> {
        let mut out = Some(out);
        let mut sink: Option<Sink<'_>> = None;
        let mut first: Option<SchemaRef> = None;
        for source in passages {
            each(source, |event| match event {
                Event::Stream(schema, notes) => {
                    let first = first.get_or_insert_with(|| schema.clone());
                    if columns(first) != columns(schema) {
                        let [one, other] = [first, schema].map(|schema| columns(schema).join(", "));
                        return Err(Error::new(format!("the columns are {other}; those of the first stream {one}"))
                            .help("give all shards the same columns in the same order, or narrow each alone"));
                    }
                    if let Some(out) = out.take() {
                        let fields = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
                        // What is left is no part of the collection.
                        sink = Some(begin(out, fields, notes.clone().without(PARTS))?);
                    }
                    Ok(())
                }
                Event::Rows(piece) => {
                    let Some(sink) = &mut sink else { return Ok(()) };
                    let named: BooleanArray =
                        piece.numbers()?.iter().map(|number| Some(self.numbers.contains(number))).collect();
                    let batch = filter_record_batch(&piece.batch, &named)
                        .map_err(|e| Error::new(e.to_string()).at(piece.rows()))?;
                    match batch.num_rows() {
                        0 => Ok(()),
                        _ => sink.write(batch.columns().to_vec()).map_err(|e| e.at(piece.rows())),
                    }
                }
            })?;
        }
        sink.map_or(Ok(()), Sink::finish)
    }

    /// Writes all named passages as a collection: lines `number<TAB>passage`, by number.
    ///
    /// # Errors
    ///
    /// One that is nowhere, and one with two texts.
    pub fn lines(&self, passages: &[Source], column: &str, out: &mut dyn Write) -> Result<()> {
        let mut texts: BTreeMap<u32, String> = BTreeMap::new();
        for source in passages {
            rows(source, |piece| {
                for (row, (number, text)) in piece.numbers()?.into_iter().zip(piece.texts(column)?).enumerate() {
                    if !self.numbers.contains(&number) {
                        continue;
                    }
                    match texts.get(&number) {
                        None => drop(texts.insert(number, text.to_owned())),
                        Some(own) if own == text => {}
                        Some(_) => {
                            return Err(Error::new(format!("passage {number} has two texts")).at(piece.place(row)));
                        }
                    }
                }
                Ok(())
            })?;
        }
        let missing: Vec<&u32> = self.numbers.iter().filter(|number| !texts.contains_key(number)).collect();
        if let Some(first) = missing.first() {
            let n = missing.len();
            return Err(Error::new(format!("{n} passages that the lists name are nowhere: the first is {first}"))
                .help("name the streams of all shards"));
        }
        write_lines(texts.iter().map(|(number, text)| (*number, text.as_str())), out)
    }
}

/// Names and types, in order.
fn columns(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| format!("{} ({})", field.name(), field.data_type())).collect()
}

/// Writes a collection: lines `number<TAB>passage`. A passage is cleaned first, so it has no line feed.
pub fn write_lines<'a>(passages: impl Iterator<Item = (u32, &'a str)>, out: &mut dyn Write) -> Result<()> {
    for (number, text) in passages {
        writeln!(out, "{number}\t{}", crate::source::clean::clean(text))
            .map_err(|e| Error::new(format!("cannot write the collection: {e}")))?;
    }
    Ok(())
}
