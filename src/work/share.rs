//! A job array's share: the same split of the plan's rows on every machine.

use super::folder::PlanFile;
use super::render::{Namer, Worker, prompts_of};
use super::rows::{self, PlannedRow};
use super::spool::{Receipt, Spool};
use crate::error::{Error, Result};
use crate::hash::Digest;
use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::{Path, PathBuf};

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
pub fn planned(plan: &PlanFile, folder: &Path) -> impl Iterator<Item = Result<RecordBatch>> {
    let files: Vec<(PathBuf, Digest)> = plan.rows.iter().map(|file| (folder.join(&file.path), file.sha256)).collect();
    files.into_iter().flat_map(|(path, sha256)| -> Box<dyn Iterator<Item = Result<RecordBatch>>> {
        let open = || -> Result<_> {
            let (found, _) = Digest::of_file(&path)?;
            if found != sha256 {
                return Err(Error::new(format!("{} is not as the plan was written", path.display()))
                    .help("make the plan again"));
            }
            let file = File::open(&path).map_err(|e| Error::io("cannot open", &path, e))?;
            let builder = ParquetRecordBatchReaderBuilder::try_new(file);
            builder
                .and_then(|builder| builder.with_batch_size(ROWS).build())
                .map_err(|e| Error::new(format!("{}: {e}", path.display())))
        };
        match open() {
            Ok(reader) => {
                let own = path.clone();
                Box::new(reader.map(move |batch| batch.map_err(|e| Error::new(format!("{}: {e}", own.display())))))
            }
            Err(e) => Box::new(std::iter::once(Err(e))),
        }
    })
}

/// The rows of a share: a stretch of the plan, of about the n-th part of all tokens.
fn of_share(plan: &PlanFile, folder: &Path, share: Share) -> impl Iterator<Item = Result<Vec<PlannedRow>>> {
    let identity = plan.identity.to_string();
    let all = u128::from(plan.tokens().max(1));
    let mut before: u128 = 0;
    planned(plan, folder).map(move |batch| {
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
pub fn render(worker: &Worker, folder: &Path, share: Share, to: Option<&Path>, compressed: bool) -> Result<Shared> {
    let plan = worker.plan();
    let to = to.map_or_else(|| prompts_of(folder), Path::to_owned);
    let (mut namer, mut all) = (Namer::new(&plan.identity), 0);
    for rows in of_share(plan, folder, share) {
        for row in rows? {
            namer.add(&row);
            all += 1;
        }
    }
    if all == 0 {
        return Ok(Shared { receipt: None, was_there: false });
    }
    let name = namer.finish();
    if let Ok(about) = std::fs::metadata(to.join(&name)) {
        let receipt = Receipt { file: name, rows: all, bytes: about.len() };
        return Ok(Shared { receipt: Some(receipt), was_there: true });
    }
    let mut out = Spool::create(&to, compressed)?;
    let identity = plan.identity.to_string();
    let mut rows = of_share(plan, folder, share)
        .filter(|rows| !matches!(rows, Ok(rows) if rows.is_empty()))
        .map(|rows| rows.and_then(|rows| rows::batch(&identity, &rows)));
    worker.run(&mut rows, &mut |batch| out.write(&batch))?;
    let receipt = out.close(&name)?;
    Ok(Shared { receipt: Some(receipt), was_there: false })
}
