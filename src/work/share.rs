//! A job array's share: the same split of the plan's rows on every machine.

use super::folder::PlanFile;
use super::part::PartReader;
use super::render::{Namer, Worker};
use super::rows::{self, PlannedRow};
use super::spool::{Receipt, Spool};
use crate::error::{Error, Result};
use crate::remote::Place;
use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;

/// Rows that a worker is handed at once.
const ROWS: usize = 4096;

/// `i/n`: the i-th of n shares, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Which, from 1.
    pub part: u32,
    /// Of how many.
    pub of: u32,
}

impl std::str::FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Share, String> {
        let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((part, of)) if 1 <= part && part <= of => Ok(Share { part, of }),
            _ => Err(format!("{text:?} is no share: write I/N, such as 3/7, counted from 1")),
        }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

/// All batches of the plan's rows, in order; each file's bytes are checked first.
pub fn planned<'p>(plan: &'p PlanFile, parts: &'p PartReader) -> impl Iterator<Item = Result<RecordBatch>> + 'p {
    plan.rows.iter().flat_map(move |file| -> Box<dyn Iterator<Item = Result<RecordBatch>>> {
        let open = || -> Result<_> {
            let path = parts.rows(file)?;
            let file = File::open(&path).map_err(|e| Error::io("cannot open", &path, e))?;
            let builder = ParquetRecordBatchReaderBuilder::try_new(file);
            let reader = builder.and_then(|builder| builder.with_batch_size(ROWS).build());
            let reader = reader.map_err(|e| Error::new(format!("{}: {e}", path.display())))?;
            Ok(reader.map(move |batch| batch.map_err(|e| Error::new(format!("{}: {e}", path.display())))))
        };
        match open() {
            Ok(reader) => Box::new(reader),
            Err(e) => Box::new(std::iter::once(Err(e))),
        }
    })
}

/// The rows of a share: a stretch of the plan, of about the n-th part of all tokens.
fn of_share(worker: &Worker, share: Share) -> impl Iterator<Item = Result<Vec<PlannedRow>>> {
    let plan = worker.plan();
    let identity = plan.identity.to_string();
    let all = u128::from(plan.tokens().max(1));
    let mut before: u128 = 0;
    planned(plan, worker.parts()).map(move |batch| {
        let mut own = Vec::new();
        for row in rows::read(&identity, &batch?)? {
            if before * u128::from(share.of) / all == u128::from(share.part - 1) {
                own.push(row.clone());
            }
            before += u128::from(row.plan.tokens);
        }
        Ok(own)
    })
}

/// What a share came to.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Its file of prompt rows, in the folder where they are gathered; none of a share without rows.
    pub receipt: Option<Receipt>,
    /// It was there before.
    pub was_there: bool,
}

/// Makes a share of the plan's rows, unless it is there.
pub fn render(worker: &Worker, share: Share, to: &Place, compressed: bool) -> Result<Shared> {
    let plan = worker.plan();
    let (mut namer, mut all) = (Namer::new(&plan.identity), 0);
    for rows in of_share(worker, share) {
        for row in rows? {
            namer.add(&row);
            all += 1;
        }
    }
    if all == 0 {
        return Ok(Shared { receipt: None, was_there: false });
    }
    let name = namer.finish();
    if let Some(bytes) = to.size(&name)? {
        let receipt = Receipt { file: name, rows: all, bytes };
        return Ok(Shared { receipt: Some(receipt), was_there: true });
    }
    let mut out = Spool::create(to, compressed)?;
    let identity = plan.identity.to_string();
    let mut rows = of_share(worker, share)
        .filter(|rows| !matches!(rows, Ok(rows) if rows.is_empty()))
        .map(|rows| rows.and_then(|rows| rows::batch(&identity, &rows)));
    worker.run(&mut rows, &mut |batch| out.write(&batch))?;
    let receipt = out.close(&name)?;
    Ok(Shared { receipt: Some(receipt), was_there: false })
}
