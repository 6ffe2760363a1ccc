//! What two releases have in common in columns, and values under it: releases of older formats lack some.

use crate::hash::{Digest, RowEncoder};
use crate::release::Release;
use crate::table::{encode, fields_of, text};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use serde_json::Value;
use std::sync::Arc;

/// Parts of a needle's span that say where its tokens are, and so depend on the tokenizer.
const SPAN_TOKENS: [&str; 3] = ["token_start", "token_end", "also"];

/// The columns that both releases have.
pub struct Columns {
    /// Name and kind of each, in order; of structs, the fields that both have.
    pub shared: Vec<FieldRef>,
    /// Columns, and fields of them, that only the first release has.
    pub only_a: Vec<String>,
    /// Those that only the second has.
    pub only_b: Vec<String>,
    /// Where needles stand, without what depends on the tokenizer.
    pub places: DataType,
    /// What of the needles' places depends on the tokenizer.
    pub tokens: DataType,
    /// The prompts themselves are compared, not only the digests that their rows give.
    pub prompts: bool,
}

impl Columns {
    /// Those of two releases.
    pub fn of(a: &Release, b: &Release, prompts: bool) -> Columns {
        let (a, b) = (DataType::Struct(a.schema().fields.clone()), DataType::Struct(b.schema().fields.clone()));
        let DataType::Struct(shared) = both(&a, &b).unwrap_or(DataType::Struct(Fields::empty())) else {
            unreachable!("two structs have a struct in common")
        };
        let spans = shared.find("needle_spans").map_or(DataType::Null, |(_, field)| field.data_type().clone());
        let (mut only_a, mut only_b) = (Vec::new(), Vec::new());
        only("", &a, &b, &mut only_a);
        only("", &b, &a, &mut only_b);
        Columns {
            places: only_fields(&spans, &|name| !SPAN_TOKENS.contains(&name)),
            tokens: only_fields(&spans, &|name| SPAN_TOKENS.contains(&name)),
            shared: shared.iter().cloned().collect(),
            only_a,
            only_b,
            prompts,
        }
    }

    /// Names of the columns that are read. A row's digest of its prompt stands in for the text.
    pub fn read(&self) -> Vec<&str> {
        self.compared().map(|field| field.name().as_str()).collect()
    }

    /// The columns that are compared.
    pub fn compared(&self) -> impl Iterator<Item = &FieldRef> {
        self.shared.iter().filter(|field| self.prompts || field.name() != "prompt")
    }

    /// Digest of what a row holds in the columns that both releases have.
    pub fn digest(&self, batch: &RecordBatch, row: usize, encoder: &mut RowEncoder) -> u128 {
        encoder.clear();
        for field in self.compared() {
            match batch.column_by_name(field.name()) {
                None => encoder.null(),
                Some(_) if field.name() == "prompt" => encoder.digest(&Digest::of(text(batch, "prompt", row))),
                Some(array) => encode(array, row, field.data_type(), encoder),
            }
        }
        let digest = encoder.finish().0;
        u128::from_le_bytes(std::array::from_fn(|i| digest[i]))
    }
}

/// What two types have in common; none where they hold other things.
fn both(a: &DataType, b: &DataType) -> Option<DataType> {
    match (a, b) {
        (DataType::List(x), DataType::List(y)) => {
            let item = both(x.data_type(), y.data_type())?;
            Some(DataType::List(Arc::new(Field::new("item", item, true))))
        }
        (DataType::Struct(x), DataType::Struct(y)) => {
            let shared = x.iter().filter_map(|field| {
                let (_, other) = y.find(field.name())?;
                Some(Field::new(field.name(), both(field.data_type(), other.data_type())?, true))
            });
            Some(DataType::Struct(shared.collect()))
        }
        _ => (a == b).then(|| a.clone()),
    }
}

/// Names of what only the first type has.
fn only(prefix: &str, a: &DataType, b: &DataType, names: &mut Vec<String>) {
    match (a, b) {
        (DataType::List(x), DataType::List(y)) => only(prefix, x.data_type(), y.data_type(), names),
        (DataType::Struct(x), DataType::Struct(y)) => {
            for field in x {
                let name = if prefix.is_empty() { field.name().clone() } else { format!("{prefix}.{}", field.name()) };
                match y.find(field.name()) {
                    Some((_, other)) => only(&name, field.data_type(), other.data_type(), names),
                    None => names.push(name),
                }
            }
        }
        _ => names.extend((a != b).then(|| prefix.to_owned())),
    }
}

/// A list of structs with some of their fields alone.
fn only_fields(list: &DataType, keep: &dyn Fn(&str) -> bool) -> DataType {
    let DataType::List(item) = list else { return DataType::Null };
    let DataType::Struct(fields) = item.data_type() else { return DataType::Null };
    let kept: Fields = fields.iter().filter(|field| keep(field.name())).cloned().collect();
    DataType::List(Arc::new(Field::new("item", DataType::Struct(kept), true)))
}

/// Do two values hold the same, as far as this type goes?
pub fn equal(a: (&ArrayRef, usize), b: (&ArrayRef, usize), kind: &DataType) -> bool {
    let ((x, i), (y, j)) = (a, b);
    if x.is_null(i) || y.is_null(j) {
        return x.is_null(i) && y.is_null(j);
    }
    match kind {
        DataType::Utf8 => x.as_string::<i32>().value(i) == y.as_string::<i32>().value(j),
        DataType::Int64 => x.as_primitive::<Int64Type>().value(i) == y.as_primitive::<Int64Type>().value(j),
        DataType::Boolean => x.as_boolean().value(i) == y.as_boolean().value(j),
        DataType::List(item) => {
            let (x, y) = (x.as_list::<i32>().value(i), y.as_list::<i32>().value(j));
            x.len() == y.len() && (0..x.len()).all(|n| equal((&x, n), (&y, n), item.data_type()))
        }
        DataType::Struct(fields) => {
            fields_of(fields, x).zip(fields_of(fields, y)).all(|((f, x), (_, y))| equal((x, i), (y, j), f.data_type()))
        }
        _ => true,
    }
}

/// A value as JSON, as far as this type goes.
pub fn json(array: &ArrayRef, row: usize, kind: &DataType) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match kind {
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::List(item) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len()).map(|n| json(&items, n, item.data_type())).collect()
        }
        DataType::Struct(fields) => {
            let of =
                |(field, column): (&FieldRef, &ArrayRef)| (field.name().clone(), json(column, row, field.data_type()));
            Value::Object(fields_of(fields, array).map(of).collect())
        }
        _ => Value::Null,
    }
}
