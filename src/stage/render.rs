//! Renders planned rows and proves each from its final text: the same work in this process and in a worker elsewhere.

use super::assemble::RowPlan;
use super::ledger::AlsoCounter;
use super::stats::{Stats, Sums};
use crate::compact::{Layout, Parts, Recipe};
use crate::digests::RowDigests;
use crate::error::{Error, Result};
use crate::hash::{Digest, RowEncoder};
use crate::plan::{FilePlan, Plan, exceeds};
use crate::recipe::{Bound, Fit};
use crate::record::{NeedleSpan, Row};
use crate::report::Progress;
use crate::table::{self, FileConstants, GROUP_BYTES};
use crate::tokenizer::Tokenizer;
use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer};

/// A file's rows, in groups.
pub struct FileRows {
    /// The file.
    pub file: FilePlan,
    /// Its groups of rows.
    pub groups: Vec<Vec<RowPlan>>,
}

impl FileRows {
    /// Cuts rows into groups whose prompts hold at most [`GROUP_BYTES`] each.
    pub fn new(file: FilePlan, rows: Vec<RowPlan>) -> FileRows {
        FileRows::in_groups(file, rows, GROUP_BYTES)
    }

    /// The same, with groups of at most so many bytes.
    pub fn in_groups(file: FilePlan, rows: Vec<RowPlan>, most: usize) -> FileRows {
        let mut groups: Vec<Vec<RowPlan>> = Vec::new();
        let mut bytes = usize::MAX;
        for row in rows {
            if bytes.saturating_add(row.bytes as usize) > most {
                groups.push(Vec::new());
                bytes = 0;
            }
            bytes += row.bytes as usize;
            groups.last_mut().expect("one was just pushed").push(row);
        }
        FileRows { file, groups }
    }
}

/// One family's way of making rows.
pub trait Rows: Sync {
    /// What a thread keeps from row to row.
    type Desk: Default;

    /// Renders a planned row into the emptied buffer and proves it from its final text.
    fn row(&self, desk: &mut Self::Desk, file: &FilePlan, planned: RowPlan, prompt: &mut String) -> Result<Made>;

    /// Id of a planned row.
    fn id(&self, file: &FilePlan, planned: RowPlan) -> String;

    /// Where what is hidden is asked to stand: depths of facts in millionths, the rank of the passage in a needle's place, or the
    /// bytes of a running text at which the needle stands and the text ends.
    fn slots(&self, file: &FilePlan, planned: RowPlan) -> Vec<u64>;

    /// What a rendered row's prompt is put together from, in a compact release.
    fn compact(&self, file: &FilePlan, planned: RowPlan, row: &Row, prompt: &str) -> Result<Recipe>;

    /// Writes the texts of a compact release; how each file is put together from them.
    fn parts(&self, files: &[FileRows], parts: &mut Parts) -> Result<Vec<Layout>>;
}

/// What a thread keeps from row to row.
pub struct Desk<R: Rows> {
    rows: R::Desk,
    also: AlsoCounter,
    /// Memory for the prompts of a group.
    pub(super) values: Vec<u8>,
}

impl<R: Rows> Desk<R> {
    /// An empty desk.
    pub fn new(plan: &Plan) -> Self {
        Desk::with(AlsoCounter::new(&plan.ledger))
    }

    /// A desk with what was counted before.
    pub fn with(also: AlsoCounter) -> Self {
        Desk { rows: R::Desk::default(), also, values: Vec::new() }
    }

    /// What was counted, for the next desk.
    pub fn counted(self) -> AlsoCounter {
        self.also
    }
}

/// Rows, rendered and proven.
pub struct Rendered {
    /// With all columns.
    pub batch: RecordBatch,
    /// What each comes to.
    pub stats: Vec<Stats>,
    /// What the prompt of each is put together from; empty where the release is not compact.
    pub recipes: Vec<Recipe>,
    /// Of rows from elsewhere: what each one's values came to when it was proven.
    pub digests: Option<Vec<Digest>>,
}

/// A row, proven.
pub struct Made {
    /// The row.
    pub row: Row,
    /// What it adds to the sums; the writer fills in what it can count itself.
    pub stats: Stats,
    /// Where the parts of its prompt end, whose token counts may be added; empty where the row holds all counts already.
    pub parts: Vec<u32>,
}

/// Renders and proves rows of a file one by one, for what their values come to.
pub fn digests<R: Rows>(plan: &Plan, maker: &R, file: &FilePlan, rows: &[RowPlan]) -> Result<Vec<RowDigests>> {
    let mut desk = Desk::new(plan);
    let progress = Progress::new("write", rows.iter().map(|row| u64::from(row.tokens)).sum(), "tokens");
    let mut encoder = RowEncoder::default();
    let mut digests = Vec::new();
    for row in rows {
        let Rendered { batch, .. } = render(plan, maker, file, std::slice::from_ref(row), &mut desk, &progress)?;
        digests.push(RowDigests::of(&batch, 0, &mut encoder));
        desk.values = reclaim(batch);
    }
    progress.finish();
    Ok(digests)
}

/// Renders and proves rows of one file.
pub fn render<R: Rows>(
    plan: &Plan,
    maker: &R,
    file: &FilePlan,
    rows: &[RowPlan],
    desk: &mut Desk<R>,
    progress: &Progress,
) -> Result<Rendered> {
    let reserve = plan.recipe.budget.reserve(file.strategy);
    let budget = plan.budget(file.length, file.strategy);
    let mut made = Vec::with_capacity(rows.len());
    let mut digests = Vec::with_capacity(rows.len());
    let mut recipes = Vec::new();
    let mut stats = Vec::with_capacity(rows.len());
    // The buffer of the group before is used again: fresh memory of this size is dear.
    let mut values = std::mem::take(&mut desk.values);
    values.clear();
    values.reserve_exact(rows.iter().map(|row| row.bytes as usize).sum());
    let mut ends = Vec::with_capacity(rows.len());
    let mut prompt = String::new();
    for &planned in rows {
        prompt.clear();
        prompt.reserve(planned.bytes as usize);
        let Made { mut row, stats: mut this, parts } = maker.row(&mut desk.rows, file, planned, &mut prompt)?;
        if !parts.is_empty() {
            row.also = desk.also.count(&prompt, &parts, &row.needle_spans);
        }
        this.chars = count_chars(&prompt, &mut row.needle_spans);
        let counts = std::iter::once(row.n_tokens).chain(row.also.iter().map(|also| also.n_tokens));
        let counts: Vec<(&str, u64)> = plan.ledger.all().iter().map(Tokenizer::name).zip(counts).collect();
        for (name, tokens) in &counts[1..] {
            this.also.insert((*name).to_owned(), Sums::of(*tokens));
        }
        for model in plan.models() {
            this.over_window.insert(model.name.to_owned(), u64::from(exceeds(model, &counts, reserve)));
        }
        (this.tokens, this.tokens_min, this.tokens_max) = (row.n_tokens, row.n_tokens, row.n_tokens);
        this.prompt_bytes = prompt.len() as u64;
        if let Some(budget) = budget {
            // Where the passages alone are bounded, they were when they were fitted.
            let bounded = plan.recipe.budget.counts == Bound::Prompt;
            this.fill = (row.n_tokens + reserve) * 1_000_000 / plan.recipe.budget.tokens(file.length);
            this.fill_min = this.fill;
            let all = plan.recipe.budget.fit == Fit::All;
            let most = counts.iter().take(if all { counts.len() } else { 1 }).map(|(_, n)| *n).max();
            this.over = u64::from(bounded && most > Some(budget));
        }
        if plan.options.compact {
            recipes.push(Recipe { bytes: prompt.len() as u64, ..maker.compact(file, planned, &row, &prompt)? });
        }
        stats.push(this);
        progress.add(row.n_tokens);
        digests.push(Digest::of(&prompt));
        values.extend_from_slice(prompt.as_bytes());
        ends.push(prompt.len());
        made.push(row);
    }
    drop(prompt);
    let prompts = StringArray::try_new(OffsetBuffer::from_lengths(ends), Buffer::from_vec(values), None)
        .map_err(|e| Error::new(format!("cannot hold the prompts: {e}")))?;
    let batch = table::batch(&made, prompts, &digests, &FileConstants::of(plan, file))?;
    Ok(Rendered { batch, stats, recipes, digests: None })
}

/// The memory of a batch's prompts, if nothing else holds it.
pub fn reclaim(batch: RecordBatch) -> Vec<u8> {
    let Some(prompts) = batch.column_by_name("prompt").and_then(|column| column.as_string_opt::<i32>()).cloned() else {
        return Vec::new();
    };
    drop(batch);
    prompts.into_parts().1.into_vec().unwrap_or_default()
}

/// Characters of a prompt; fills in where its spans stand in characters.
pub fn count_chars(prompt: &str, spans: &mut [NeedleSpan]) -> u64 {
    let mut edges: Vec<u64> = spans.iter().flat_map(|span| [span.start, span.end]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut chars = Vec::with_capacity(edges.len());
    let (mut at, mut count) = (0, 0);
    for edge in &edges {
        count += prompt[at..*edge as usize].chars().count() as u64;
        chars.push(count);
        at = *edge as usize;
    }
    let place = |byte: u64| chars[edges.binary_search(&byte).expect("every edge is there")];
    for span in spans {
        (span.char_start, span.char_end) = (place(span.start), place(span.end));
    }
    count + prompt[at..].chars().count() as u64
}
