//! Finds the place of a fault in a data file whose bytes were changed: the row and the column.

use super::Finding;
use crate::digests::FileDigests;
use crate::table::has_columns;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Where a damaged file differs from what its release says of it. `known` are the digests published with it; none in
/// releases before format 4.
pub(super) fn locate(folder: &Path, file: &str, format: u32, known: Option<&FileDigests>, bytes: String) -> Finding {
    let path = folder.join(file);
    let place = catch_unwind(AssertUnwindSafe(|| read(&path, format)));
    let mut finding = Finding::of(file, None, &bytes);
    let mut say = |what: String| finding.what = format!("{what} ({bytes})");
    match place {
        Err(_) => say("cannot be read: it breaks the Parquet reader".to_owned()),
        Ok(Place::Whole(what)) => say(what),
        Ok(Place::Column(row, column, what)) => {
            say(format!("the values cannot be read: {what}"));
            finding.column = Some(column);
            finding.row = known.and_then(|known| known.rows.get(row)).map(|(id, _)| id.clone());
        }
        Ok(Place::Values(rows, names)) => {
            let Some(known) = known else { return finding };
            let differ = rows.rows.iter().zip(&known.rows).filter(|(a, b)| a.1 != b.1);
            let differ: Vec<&String> = differ.map(|(_, (id, _))| id).collect();
            let columns = names.iter().zip(rows.columns.iter().zip(&known.columns)).filter(|(_, (a, b))| a != b);
            let columns: Vec<&str> = columns.map(|(name, _)| name.as_str()).collect();
            if rows.rows.len() != known.rows.len() {
                say(format!("it has {} rows, not {}", rows.rows.len(), known.rows.len()));
            } else if differ.is_empty() && columns.is_empty() {
                say("its rows are the same: what was changed are Parquet's own records".to_owned());
            } else {
                say(format!("{} of its rows have other values", differ.len()));
            }
            finding.row = differ.first().map(|id| (*id).clone());
            finding.column = (!columns.is_empty()).then(|| columns.join(", "));
        }
    }
    finding
}

enum Place {
    /// Nothing of it can be read, or it is another table.
    Whole(String),
    /// From this row on, this column cannot be read.
    Column(usize, String, String),
    /// All of it can be read.
    Values(FileDigests, Vec<String>),
}

fn read(path: &Path, format: u32) -> Place {
    let open = || -> Result<ParquetRecordBatchReaderBuilder<File>, String> {
        let file = File::open(path).map_err(|e| e.to_string())?;
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| e.to_string())
    };
    let builder = match open() {
        Ok(builder) => builder,
        Err(e) => return Place::Whole(format!("is not Parquet: {e}")),
    };
    if !has_columns(builder.schema(), format) {
        return Place::Whole("has other columns than a release".to_owned());
    }
    let names: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    // A reader that breaks is one that cannot read some column.
    if let Ok(Ok(found)) = catch_unwind(AssertUnwindSafe(|| FileDigests::of(builder))) {
        return Place::Values(found, names);
    }
    // Some column cannot be read: which, and from where on, shows when they are read one by one.
    for name in names {
        let Ok(builder) = open() else { break };
        let mask = ProjectionMask::columns(builder.parquet_schema(), [name.as_str()]);
        let mut rows = 0;
        let walk = || -> Result<(), String> {
            for batch in builder.with_projection(mask).with_batch_size(1).build().map_err(|e| e.to_string())? {
                rows += batch.map_err(|e| e.to_string())?.num_rows();
            }
            Ok(())
        };
        let fault = match catch_unwind(AssertUnwindSafe(walk)) {
            Ok(Ok(())) => continue,
            Ok(Err(e)) => e,
            Err(_) => "it breaks the Parquet reader".to_owned(),
        };
        return Place::Column(rows, name, fault);
    }
    Place::Whole("its columns cannot be read together".to_owned())
}
