//! Rows of a compact release: a data file's columns without those that are put together, and the recipe of each prompt.

use super::part::{PartFile, PartWriter};
use crate::error::{Error, Result};
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Columns that are put together again.
pub(crate) const MADE: [&str; 3] = ["prompt", "messages", "distractor_ids"];

/// What a prompt is put together from. Which of it counts depends on the file's [`Layout`](super::Layout).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Recipe {
    /// The row of facts and frames.
    pub instance: u32,
    /// Bytes of the prompt; filled in by the writer.
    pub bytes: u64,
    /// So many of the ranked passages.
    pub passages: u32,
    /// So many of them before the needle; in running text the byte before which it stands.
    pub at: Option<u64>,
    /// In running text the byte that it ends at.
    pub end: Option<u64>,
    /// Rank of the passage in the needle's place.
    pub instead: Option<u32>,
    /// Bytes of the last passage that are kept.
    pub cut: Option<u32>,
    /// The lines that are kept, in order: numbers of the pool's distinct lines (sorted), or `-1 - fact`.
    pub lines: Option<Vec<i32>>,
}

/// The columns of recipes.
pub(super) const RECIPE: [&str; 8] = [
    "prompt_instance",
    "prompt_bytes",
    "prompt_passages",
    "prompt_at",
    "prompt_end",
    "prompt_instead",
    "prompt_cut",
    "prompt_lines",
];

/// The columns of rows, where those of a data file have a schema.
pub(super) fn schema(full: &Schema) -> Arc<Schema> {
    let kept = full.fields().iter().filter(|field| !MADE.contains(&field.name().as_str())).cloned();
    let lines = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    let recipe = RECIPE.iter().map(|name| {
        let of = if *name == "prompt_lines" { lines.clone() } else { DataType::Int64 };
        Arc::new(Field::new(*name, of, true))
    });
    Arc::new(Schema::new(kept.chain(recipe).collect::<Vec<_>>()))
}

/// A data file's batch with its prompts as recipes.
pub(crate) fn shrink(batch: &RecordBatch, recipes: &[Recipe]) -> Result<RecordBatch> {
    let full = batch.schema();
    let kept = full.fields().iter().zip(batch.columns());
    let kept = kept.filter(|(field, _)| !MADE.contains(&field.name().as_str())).map(|(_, column)| column.clone());
    let numbers = |of: &dyn Fn(&Recipe) -> Option<u64>| -> ArrayRef {
        Arc::new(recipes.iter().map(|recipe| of(recipe).map(|n| n as i64)).collect::<Int64Array>())
    };
    let mut lines = ListBuilder::new(Int32Builder::new());
    recipes.iter().for_each(|recipe| match &recipe.lines {
        Some(all) => lines.append_value(all.iter().map(|n| Some(*n))),
        None => lines.append_null(),
    });
    let made: [ArrayRef; RECIPE.len()] = [
        numbers(&|r| Some(u64::from(r.instance))),
        numbers(&|r| Some(r.bytes)),
        numbers(&|r| Some(u64::from(r.passages))),
        numbers(&|r| r.at),
        numbers(&|r| r.end),
        numbers(&|r| r.instead.map(u64::from)),
        numbers(&|r| r.cut.map(u64::from)),
        Arc::new(lines.finish()),
    ];
    RecordBatch::try_new(schema(&full), kept.chain(made).collect())
        .map_err(|e| Error::new(format!("cannot build a batch: {e}")))
}

/// Rows in a page, at least: pages end where groups of the data file do.
const PAGE: usize = 1024;

/// The rows of a data file that is being written.
pub(crate) struct RowsPart(PartWriter);

impl RowsPart {
    /// Begins the rows of a config.
    pub fn create(folder: &Path, config: &str) -> Result<RowsPart> {
        let schema = schema(&crate::table::SCHEMA);
        PartWriter::create(folder, &RowsPart::path(config), &schema).map(RowsPart)
    }

    /// Path of a config's rows inside the release.
    pub fn path(config: &str) -> String {
        format!("compact/rows/{config}.parquet")
    }

    /// Appends a group.
    pub fn write(&mut self, group: &RecordBatch) -> Result<()> {
        self.0.write(group)?;
        if self.0.open_rows() >= PAGE { self.0.end_page() } else { Ok(()) }
    }

    /// Puts the part in its place.
    pub fn close(self) -> Result<PartFile> {
        self.0.close()
    }
}
