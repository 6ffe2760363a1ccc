//! Values of the columns of a worker's input, whatever Arrow type an engine gave them.

use super::stream::Piece;
use crate::error::{Error, Result};
use crate::fail;
use crate::index::Vectors;
use crate::source::collection::number;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

impl Piece<'_> {
    /// A column, without nulls.
    pub fn column(&self, name: &str) -> Result<&ArrayRef> {
        let column = self.any(name)?;
        match (0..column.len()).find(|row| column.is_null(*row)) {
            Some(row) => Err(Error::new(format!("no {name}")).at(self.place(row))),
            None => Ok(column),
        }
    }

    /// A column, with nulls where values are missing.
    fn any(&self, name: &str) -> Result<&ArrayRef> {
        let Some(column) = self.batch.column_by_name(name) else {
            let schema = self.batch.schema();
            let all: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(Error::new(format!("{} has no column {name:?}", self.source))
                .help(format!("its columns are {}", if all.is_empty() { "none".to_owned() } else { all.join(", ") })));
        };
        Ok(column)
    }

    /// A column of texts.
    pub fn texts(&self, name: &str) -> Result<Vec<&str>> {
        self.column(name)?;
        Ok(self.maybe_texts(name)?.into_iter().flatten().collect())
    }

    /// A column of texts, some of which may be missing.
    pub fn maybe_texts(&self, name: &str) -> Result<Vec<Option<&str>>> {
        let column = self.any(name)?;
        Ok(match column.data_type() {
            DataType::Utf8 => column.as_string::<i32>().iter().collect(),
            DataType::LargeUtf8 => column.as_string::<i64>().iter().collect(),
            DataType::Utf8View => column.as_string_view().iter().collect(),
            DataType::Null => vec![None; column.len()],
            other => fail!("column {name:?} of {} is {other}, expected text", self.source),
        })
    }

    /// A column of integers.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>> {
        fn of<T: ArrowPrimitiveType>(column: &ArrayRef) -> Option<Vec<i64>>
        where
            i64: TryFrom<T::Native>,
        {
            column.as_primitive::<T>().values().iter().map(|value| i64::try_from(*value).ok()).collect()
        }
        let column = self.column(name)?;
        let values = match column.data_type() {
            DataType::Int8 => of::<Int8Type>(column),
            DataType::Int16 => of::<Int16Type>(column),
            DataType::Int32 => of::<Int32Type>(column),
            DataType::Int64 => of::<Int64Type>(column),
            DataType::UInt8 => of::<UInt8Type>(column),
            DataType::UInt16 => of::<UInt16Type>(column),
            DataType::UInt32 => of::<UInt32Type>(column),
            DataType::UInt64 => of::<UInt64Type>(column),
            other => fail!("column {name:?} of {} is {other}, expected integers", self.source),
        };
        values.ok_or_else(|| Error::new(format!("column {name:?} of {} holds a number beyond 64 bits", self.source)))
    }

    /// A column of numbers below 2^32.
    pub fn small(&self, name: &str) -> Result<Vec<u32>> {
        let all = self.integers(name)?.into_iter().enumerate();
        all.map(|(row, n)| {
            u32::try_from(n).map_err(|_| Error::new(format!("{name} {n} is no number below 2^32")).at(self.place(row)))
        })
        .collect()
    }

    /// Numbers of passages: the column `number`, or the column `id` where it holds decimal numbers.
    pub fn numbers(&self) -> Result<Vec<u32>> {
        let named = |name: &str| self.batch.column_by_name(name).map(|column| column.data_type().is_integer());
        match (named("number"), named("id")) {
            (Some(true), _) => self.small("number"),
            (None, Some(true)) => self.small("id"),
            (None, Some(false)) => {
                let all = self.texts("id")?.into_iter().enumerate();
                all.map(|(row, id)| {
                    number(id.as_bytes()).ok_or_else(|| {
                        Error::new(format!("id {id:?} is no number below 2^32"))
                            .at(self.place(row))
                            .help("passages go by their numbers here: give them in a column `number`")
                    })
                })
                .collect()
            }
            _ => self.small("number"),
        }
    }

    /// Numbers of queries: the column `query`; left out, rows are counted from 0.
    pub fn queries(&self) -> Result<Vec<u32>> {
        if self.batch.column_by_name("query").is_some() {
            return self.small("query");
        }
        let counted =
            (self.before..).take(self.batch.num_rows()).map(u32::try_from).collect::<std::result::Result<_, _>>();
        counted.map_err(|_| Error::new("2^32 queries or more cannot be counted").at(self.rows()))
    }

    /// Vectors: of bytes (one a component, two's complement), or lists of integers of 8 or 16 bits.
    pub fn vectors(&self) -> Result<Vectors> {
        let column = self.column("vector")?;
        let mut all = Vectors::default();
        let mut push = |row: usize, vector: &mut dyn Iterator<Item = i16>| -> Result<()> {
            let before = all.data.len();
            all.data.extend(vector);
            let found = all.data.len() - before;
            if row == 0 {
                all.dimensions = found;
            }
            if found != all.dimensions || found == 0 {
                return Err(Error::new(format!("a vector of {found} components, others have {}", all.dimensions))
                    .at(self.place(row)));
            }
            Ok(())
        };
        let bytes = |bytes: &[u8]| bytes.iter().map(|x| i16::from(x.cast_signed())).collect::<Vec<_>>().into_iter();
        for row in 0..column.len() {
            match column.data_type() {
                DataType::Binary => push(row, &mut bytes(column.as_binary::<i32>().value(row)))?,
                DataType::LargeBinary => push(row, &mut bytes(column.as_binary::<i64>().value(row)))?,
                DataType::BinaryView => push(row, &mut bytes(column.as_binary_view().value(row)))?,
                DataType::FixedSizeBinary(_) => push(row, &mut bytes(column.as_fixed_size_binary().value(row)))?,
                DataType::FixedSizeList(..) => {
                    push(row, &mut self.list(&column.as_fixed_size_list().value(row), row)?)?
                }
                DataType::List(_) => push(row, &mut self.list(&column.as_list::<i32>().value(row), row)?)?,
                DataType::LargeList(_) => push(row, &mut self.list(&column.as_list::<i64>().value(row), row)?)?,
                other => fail!("column \"vector\" of {} is {other}, expected bytes or lists of integers", self.source),
            }
        }
        Ok(all)
    }

    fn list(&self, values: &ArrayRef, row: usize) -> Result<std::vec::IntoIter<i16>> {
        if values.null_count() > 0 {
            return Err(Error::new("a vector without one of its components").at(self.place(row)));
        }
        let values: Vec<i16> = match values.data_type() {
            DataType::Int8 => values.as_primitive::<Int8Type>().values().iter().map(|x| i16::from(*x)).collect(),
            DataType::Int16 => values.as_primitive::<Int16Type>().values().to_vec(),
            other => fail!("column \"vector\" of {} holds lists of {other}, expected 8 or 16 bits", self.source),
        };
        Ok(values.into_iter())
    }
}
