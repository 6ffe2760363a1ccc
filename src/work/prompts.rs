//! Prompt rows: what workers make of rows of the plan. All columns of a release, and what sealing needs beside them.

use super::rows::PlannedRow;
use crate::compact::Recipe;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::stage::stats::Stats;
use crate::table;
use arrow_array::{ArrayRef, BinaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use std::sync::{Arc, LazyLock};

/// Identity of the plan, number of the data file, place in it.
pub const PLAN: &str = "_plan";
/// Number of the data file.
pub const FILE: &str = "_file";
/// Place in the data file.
pub const ROW: &str = "_row";
/// Digest of the row's values, as the worker had them.
pub const DIGEST: &str = "_digest";
/// What the row comes to ([`Stats`], as JSON).
pub const STATS: &str = "_stats";
/// What its prompt is put together from, in a compact release.
pub const RECIPE: &str = "_recipe";

/// The columns: those of a release, then these.
pub static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let own = [
        Field::new(PLAN, DataType::Utf8, false),
        Field::new(FILE, DataType::Int32, false),
        Field::new(ROW, DataType::Int32, false),
        Field::new(DIGEST, DataType::Binary, false),
        Field::new(STATS, DataType::Binary, false),
        Field::new(RECIPE, DataType::Binary, true),
    ];
    let fields = table::SCHEMA.fields().iter().cloned().chain(own.into_iter().map(Arc::new));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
});

/// A batch of prompt rows.
pub fn batch(
    identity: &str,
    rows: &[PlannedRow],
    batch: &RecordBatch,
    digests: &[Digest],
    stats: &[Stats],
    recipes: &[Recipe],
) -> Result<RecordBatch> {
    let numbers = |of: fn(&PlannedRow) -> u32| -> ArrayRef {
        Arc::new(rows.iter().map(|row| of(row) as i32).collect::<Int32Array>())
    };
    let stats = stats.iter().map(|stats| serde_json::to_vec(stats).expect("plain data")).collect::<Vec<_>>();
    let recipes = recipes.iter().map(super::encode).collect::<Result<Vec<_>>>()?;
    let recipes = rows.iter().enumerate().map(|(n, _)| recipes.get(n).map(Vec::as_slice));
    let mut columns = batch.columns().to_vec();
    columns.push(Arc::new(rows.iter().map(|_| Some(identity)).collect::<StringArray>()));
    columns.push(numbers(|row| row.file));
    columns.push(numbers(|row| row.row));
    columns.push(Arc::new(digests.iter().map(|digest| Some(digest.0.as_slice())).collect::<BinaryArray>()));
    columns.push(Arc::new(stats.iter().map(|stats| Some(stats.as_slice())).collect::<BinaryArray>()));
    columns.push(Arc::new(recipes.collect::<BinaryArray>()));
    RecordBatch::try_new(SCHEMA.clone(), columns).map_err(|e| Error::new(format!("cannot build a batch: {e}")))
}
