//! Some rows of a release, drawn by lot and compared cell by cell.

use super::{Audit, Other, Verdict};
use crate::compact;
use crate::digests::{self, RowDigests};
use crate::error::{Error, Result};
use crate::hash::{Digest, RowEncoder};
use crate::manifest::Manifest;
use crate::pipeline::Chosen;
use crate::seed::Seed;
use crate::table::SCHEMA;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

impl Audit {
    /// Holds the rows that were made against those of the release.
    pub(super) fn sample(
        &mut self,
        folder: &Path,
        chosen: &Chosen,
        rows: &[(String, usize, RowDigests)],
    ) -> Result<()> {
        self.rows = chosen.values().map(|places| places.len() as u64).sum();
        let names: Vec<String> = SCHEMA.fields().iter().map(|field| field.name().clone()).collect();
        let mut missing = self.rows;
        // The rows of a compact release are known by their digests alone.
        let known = compact::is_compact(folder).then(|| digests::read(folder)).transpose()?;
        for (path, place, now) in rows {
            missing -= 1;
            if let Some(known) = &known {
                let then = known.get(path).and_then(|file| file.rows.get(*place));
                if then.is_none_or(|(_, digest)| *digest != now.row) {
                    let id = then.map_or(&now.id, |(id, _)| id).clone();
                    self.others.push(Other { file: path.clone(), id, columns: vec!["of its columns some".to_owned()] });
                }
                continue;
            }
            let (id, then) = row_of(&folder.join(path), *place)?;
            let differs = |(name, cell): (&String, &Digest)| {
                let same = then.get(name).is_none_or(|then| then == cell);
                (!same).then(|| name.clone())
            };
            let columns: Vec<String> = names.iter().zip(&now.cells).filter_map(differs).collect();
            if !columns.is_empty() {
                self.others.push(Other { file: path.clone(), id, columns });
            }
        }
        let mut what: Vec<String> =
            self.others.iter().map(|o| format!("{} ({})", o.id, o.columns.join(", "))).collect();
        if missing > 0 {
            what.push(format!("{missing} rows were not made at all"));
        }
        self.same("rows", what);
        if let Some(rows) = self.steps.last_mut().filter(|step| step.verdict == Verdict::Reproduced) {
            rows.what =
                Some(format!("{} of the rows; manifest and card are compared in a whole audit alone", self.rows));
        }
        Ok(())
    }
}

/// Draws rows: by the release's digest and a number, so that an auditor can say which.
pub(super) fn lot(manifest: &Manifest, n: u64, lot: u64) -> Chosen {
    let total = manifest.rows;
    let n = n.min(total);
    let seed = Seed::new(&format!("audit {} {lot}", manifest.rows_digest));
    let mut draw = seed.derive("lot", "");
    let mut numbers = BTreeSet::new();
    while (numbers.len() as u64) < n {
        numbers.insert(draw.below(total as usize) as u64);
    }
    let mut chosen = Chosen::new();
    let mut first = 0;
    for file in &manifest.files {
        let own = numbers.range(first..first + file.rows).map(|number| (number - first) as usize);
        let own: BTreeSet<usize> = own.collect();
        if !own.is_empty() {
            chosen.insert(file.path.clone(), own);
        }
        first += file.rows;
    }
    chosen
}

/// A row of a data file: its id, and the digests of its values by column.
fn row_of(path: &Path, place: usize) -> Result<(String, BTreeMap<String, Digest>)> {
    let fault = |e: &dyn std::fmt::Display| Error::new(format!("row {place} cannot be read: {e}")).at(path.display());
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| fault(&e))?;
    let mut batches = builder.with_offset(place).with_limit(1).build().map_err(|e| fault(&e))?;
    let batch = batches.next().ok_or_else(|| fault(&"it is not there"))?.map_err(|e| fault(&e))?;
    let digests = RowDigests::of(&batch, 0, &mut RowEncoder::default());
    let columns = batch.schema_ref().fields().iter().zip(digests.cells);
    // A column of another type than today's cannot be compared.
    let columns =
        columns.filter(|(field, _)| SCHEMA.field_with_name(field.name()).is_ok_and(|now| now == field.as_ref()));
    Ok((digests.id, columns.map(|(field, cell)| (field.name().clone(), cell)).collect()))
}
