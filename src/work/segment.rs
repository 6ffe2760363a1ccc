//! Renders neighbouring rows of a plan, and makes them prompt rows.

use super::prompts;
use super::rows::PlannedRow;
use crate::digests::RowDigests;
use crate::error::{Error, Result};
use crate::hash::RowEncoder;
use crate::plan::{FilePlan, Plan};
use crate::recipe::Family;
use crate::report::Progress;
use crate::stage::assemble::RowPlan;
use crate::stage::ledger::AlsoCounter;
use crate::stage::render::{self, Desk, Rendered, Rows};
use crate::table;
use arrow_array::RecordBatch;

/// Prompts of a batch of prompt rows, in bytes: a batch holds more only where one prompt does.
const BATCH: usize = 4 << 20;

/// Rows of one bundle.
pub(super) struct Segment<'a> {
    /// The data files of the plan.
    pub files: &'a [FilePlan],
    /// The rows.
    pub rows: &'a [PlannedRow],
    /// Identity of the plan.
    pub identity: &'a str,
    /// Told of tokens.
    pub progress: &'a Progress,
}

impl Segment<'_> {
    /// A row's data file.
    pub fn file(&self, row: &PlannedRow) -> &FilePlan {
        &self.files[row.file as usize]
    }
}

/// What a thread keeps from segment to segment.
pub(super) struct Hand {
    also: Option<AlsoCounter>,
    encoder: RowEncoder,
}

impl Hand {
    /// An empty one.
    pub fn new(plan: &Plan) -> Hand {
        Hand { also: Some(AlsoCounter::new(&plan.ledger)), encoder: RowEncoder::default() }
    }
}

/// Renders a segment's rows; `first` is the number of the first instance that the maker has.
pub(super) fn render<R: Rows>(
    plan: &Plan,
    maker: &R,
    first: u32,
    segment: &Segment<'_>,
    hand: &mut Hand,
) -> Result<Vec<RecordBatch>> {
    let mut desk: Desk<R> = Desk::with(hand.also.take().unwrap_or_else(|| AlsoCounter::new(&plan.ledger)));
    let mut batches = Vec::new();
    let mut start = 0;
    while start < segment.rows.len() {
        let end = run(&segment.rows[start..]) + start;
        let rows = &segment.rows[start..end];
        batches.push(one(plan, maker, first, segment, rows, &mut desk, hand)?);
        start = end;
    }
    hand.also = Some(desk.counted());
    Ok(batches)
}

/// So many rows are of one file, one behind the other, and fit a batch.
fn run(rows: &[PlannedRow]) -> usize {
    let mut bytes = 0;
    for (n, row) in rows.iter().enumerate() {
        bytes += row.plan.bytes as usize;
        let goes_on = row.file == rows[0].file && row.row as usize == rows[0].row as usize + n && bytes <= BATCH;
        if n > 0 && !goes_on {
            return n;
        }
    }
    rows.len()
}

fn one<R: Rows>(
    plan: &Plan,
    maker: &R,
    first: u32,
    segment: &Segment<'_>,
    rows: &[PlannedRow],
    desk: &mut Desk<R>,
    hand: &mut Hand,
) -> Result<RecordBatch> {
    let file = segment.file(&rows[0]);
    let mut planned = Vec::with_capacity(rows.len());
    for row in rows {
        let fault =
            |what: &str| Error::new(format!("row {} of {}: {what}", row.id, file.config)).help("make the plan again");
        let instance = row.plan.instance.checked_sub(first).ok_or_else(|| fault("its bundle is of other instances"))?;
        let own = RowPlan { instance, ..row.plan };
        planned.push(own);
    }
    let Rendered { batch, stats, mut recipes, .. } =
        render::render(plan, maker, file, &planned, desk, segment.progress)?;
    for (recipe, row) in recipes.iter_mut().zip(rows) {
        // Of running texts it is the number of the needle.
        if plan.family != Family::Factoid {
            recipe.instance = row.plan.instance;
        }
    }
    for (n, (row, own)) in rows.iter().zip(&planned).enumerate() {
        let id = table::text(&batch, "id", n);
        if id != row.id || maker.slots(file, *own) != row.slots {
            return Err(Error::new(format!("row {} of {}: its parts make {id} of it", row.id, file.config))
                .help("make the plan again: its rows and its parts are not of one plan"));
        }
    }
    let digests = (0..rows.len()).map(|n| RowDigests::of(&batch, n, &mut hand.encoder).row).collect::<Vec<_>>();
    prompts::batch(segment.identity, rows, &batch, &digests, &stats, &recipes)
}
