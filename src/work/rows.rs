//! Rows of a plan: one a prompt, as columns that any engine carries.

use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::recipe::Position;
use crate::stage::assemble::{NeedlePlan, RowPlan};
use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use std::sync::{Arc, LazyLock};

/// A row of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedRow {
    /// Number of its bundle.
    pub bundle: u32,
    /// Number of its data file.
    pub file: u32,
    /// Its place in the file.
    pub row: u32,
    /// Its id.
    pub id: String,
    /// Where what is hidden is asked to stand; see [`Rows::slots`](crate::stage::render::Rows::slots).
    pub slots: Vec<u64>,
    /// How it comes out.
    pub plan: RowPlan,
}

impl PlannedRow {
    /// Says whether the values are those that were planned: the first bytes of their digest.
    fn check(&self, identity: &str) -> i64 {
        let row = &self.plan;
        let needle = &row.needle;
        let whole = [self.bundle, self.file, self.row, row.instance, row.passages, row.tokens, row.bytes];
        let maybe = [needle.instead, needle.cut].map(|n| n.map_or(-1, i64::from));
        let numbers = whole.iter().map(|n| i64::from(*n)).chain(maybe).chain(self.slots.iter().map(|n| *n as i64));
        let numbers: Vec<u8> = numbers.flat_map(i64::to_le_bytes).collect();
        let position = needle.position.map_or("", |position| position.name());
        let digest = Digest::of_parts([identity.as_bytes(), self.id.as_bytes(), position.as_bytes(), &numbers]);
        i64::from_le_bytes(digest.0[..8].try_into().expect("eight bytes"))
    }
}

/// The columns: identity of the plan; number of the bundle, of the data file, and place in it; the row's id; number of the instance;
/// how many of its ranked passages the prompt takes (the prefix length); tokens and bytes of the prompt; where the needle is asked to stand, the
/// rank of the passage in its place and the bytes of the last passage that are kept (MLNeedle); the slots; a check of all these, since workers
/// take what stands here at its word.
pub static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let number = |name: &str, nullable| Field::new(name, DataType::Int32, nullable);
    Arc::new(Schema::new(vec![
        Field::new("plan", DataType::Utf8, false),
        number("bundle", false),
        number("file", false),
        number("row", false),
        Field::new("id", DataType::Utf8, false),
        number("instance", false),
        number("passages", false),
        Field::new("tokens", DataType::Int64, false),
        Field::new("bytes", DataType::Int64, false),
        Field::new("position", DataType::Utf8, true),
        number("instead", true),
        number("cut", true),
        Field::new("slots", DataType::List(Arc::new(Field::new("item", DataType::Int64, true))), false),
        Field::new("check", DataType::Int64, false),
    ]))
});

/// Rows as a batch.
pub fn batch(identity: &str, rows: &[PlannedRow]) -> Result<RecordBatch> {
    let numbers = |of: fn(&PlannedRow) -> u32| -> ArrayRef {
        Arc::new(rows.iter().map(|row| of(row) as i32).collect::<Int32Array>())
    };
    let maybe = |of: fn(&PlannedRow) -> Option<u32>| -> ArrayRef {
        Arc::new(rows.iter().map(|row| of(row).map(|n| n as i32)).collect::<Int32Array>())
    };
    let longs = |of: fn(&PlannedRow) -> u32| -> ArrayRef {
        Arc::new(rows.iter().map(|row| i64::from(of(row))).collect::<Int64Array>())
    };
    let mut slots = ListBuilder::new(Int64Builder::new());
    for row in rows {
        slots.append_value(row.slots.iter().map(|slot| Some(*slot as i64)));
    }
    let positions = rows.iter().map(|row| row.plan.needle.position.map(|position| position.name()));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|_| Some(identity)).collect::<StringArray>()),
        numbers(|row| row.bundle),
        numbers(|row| row.file),
        numbers(|row| row.row),
        Arc::new(rows.iter().map(|row| Some(&row.id)).collect::<StringArray>()),
        numbers(|row| row.plan.instance),
        numbers(|row| row.plan.passages),
        longs(|row| row.plan.tokens),
        longs(|row| row.plan.bytes),
        Arc::new(positions.collect::<StringArray>()),
        maybe(|row| row.plan.needle.instead),
        maybe(|row| row.plan.needle.cut),
        Arc::new(slots.finish()),
        Arc::new(rows.iter().map(|row| row.check(identity)).collect::<Int64Array>()),
    ];
    RecordBatch::try_new(SCHEMA.clone(), columns).map_err(|e| Error::new(format!("cannot build a batch: {e}")))
}

/// Reads a batch of rows, as engines hand it on: the columns that are asked for, in any order, with others beside them.
///
/// # Errors
///
/// A column that is missing or of another type, a value that no plan has, or a row of another plan than `identity`.
pub fn read(identity: &str, batch: &RecordBatch) -> Result<Vec<PlannedRow>> {
    let column = |name: &str| -> Result<ArrayRef> {
        let column = batch.column_by_name(name).ok_or_else(|| {
            Error::new(format!("the rows of the plan have no column {name:?}"))
                .help("hand on the rows of PLAN/rows as they are")
        })?;
        let wanted = SCHEMA.field_with_name(name).expect("a column of ours").data_type();
        if column.data_type() == wanted {
            return Ok(column.clone());
        }
        arrow_cast::cast(column, wanted)
            .map_err(|e| Error::new(format!("the column {name:?} of the plan's rows is {}: {e}", column.data_type())))
    };
    let all = ["bundle", "file", "row", "instance", "passages", "instead", "cut"].map(column);
    let [bundle, file, row, instance, passages, instead, cut] = all;
    let (plans, ids, positions) = (column("plan")?, column("id")?, column("position")?);
    let (tokens, bytes, slots, checks) = (column("tokens")?, column("bytes")?, column("slots")?, column("check")?);
    let (plans, ids, positions) = (plans.as_string::<i32>(), ids.as_string::<i32>(), positions.as_string::<i32>());
    let numbers = [bundle?, file?, row?, instance?, passages?, instead?, cut?];
    let numbers = numbers.each_ref().map(|column| column.as_primitive::<Int32Type>());
    let [bundle, file, row, instance, passages, instead, cut] = numbers;
    let (tokens, bytes) = (tokens.as_primitive::<Int64Type>(), bytes.as_primitive::<Int64Type>());
    let (slots, checks) = (slots.as_list::<i32>(), checks.as_primitive::<Int64Type>());
    let mut rows = Vec::with_capacity(batch.num_rows());
    for n in 0..batch.num_rows() {
        if plans.is_null(n) || plans.value(n) != identity {
            return Err(Error::new(format!("row {} is of another plan", ids.value(n)))
                .help("give the folder of the plan that the rows come from"));
        }
        let id = ids.value(n);
        let small = |column: &Int32Array| -> Result<u32> {
            match u32::try_from(column.value(n)) {
                Ok(value) if column.is_valid(n) => Ok(value),
                _ => fail!("row {id}: a number of the plan is missing or negative"),
            }
        };
        let maybe =
            |column: &Int32Array| -> Result<Option<u32>> { column.is_valid(n).then(|| small(column)).transpose() };
        let long = |column: &Int64Array| -> Result<u32> {
            let fault = |_| Error::new(format!("row {id}: a size of the plan is out of range"));
            u32::try_from(column.value(n)).map_err(fault)
        };
        let position = match positions.is_valid(n) {
            true => Some(
                Position::ALL
                    .into_iter()
                    .find(|p| p.name() == positions.value(n))
                    .ok_or_else(|| Error::new(format!("row {id}: no position {:?}", positions.value(n))))?,
            ),
            false => None,
        };
        let slots = slots.value(n);
        let slots = slots.as_primitive::<Int64Type>().values().iter().map(|slot| *slot as u64).collect();
        let needle = NeedlePlan { position, instead: maybe(instead)?, cut: maybe(cut)? };
        let row = PlannedRow {
            bundle: small(bundle)?,
            file: small(file)?,
            row: small(row)?,
            id: id.to_owned(),
            slots,
            plan: RowPlan {
                instance: small(instance)?,
                passages: small(passages)?,
                tokens: long(tokens)?,
                bytes: long(bytes)?,
                needle,
            },
        };
        if row.check(identity) != checks.value(n) {
            return Err(Error::new(format!("row {id}: its values are not those of the plan"))
                .help("hand on the rows of PLAN/rows as they are"));
        }
        rows.push(row);
    }
    Ok(rows)
}
