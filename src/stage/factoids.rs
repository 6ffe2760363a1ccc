//! Renders a row of the factoid family, and proves it from its final text.

use super::assemble::{NeedlePlan, RowPlan};
use super::render::{FileRows, Made, Rows};
use super::slots::{InText, Placed, Prepared};
use super::splice::Counted;
use super::stats::Stats;
use super::texts::{PARTED, Running, Texts};
use crate::compact::{Layout as FileLayout, Parts, Recipe};
use crate::error::Result;
use crate::fail;
use crate::family::factoid::gap;
use crate::language::Language;
use crate::plan::{FilePlan, Plan};
use crate::record::{AlsoTokens, NeedleSpan, Row};
use memchr::memmem::Finder;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// How rows of this family are proven.
pub const CERTIFICATE: &str = "inserted";

/// What rows are made of.
pub struct Inputs<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) texts: &'a Texts,
    /// By the needle's place in the recipe.
    pub(crate) needles: BTreeMap<u32, InText<'a>>,
    /// By language: its cells in order.
    pub(crate) placed: &'a BTreeMap<Language, Vec<Placed>>,
}

/// Id of a cell: `l03d12`, counted from 0.
pub fn cell_id(length: usize, depth: usize) -> String {
    format!("l{length:02}d{depth:02}")
}

/// Id of a row: needle, language, cell.
pub fn row_id(name: &str, language: &str, cell: &str) -> String {
    format!("{name}-{language}-{cell}")
}

/// What the rows of a pair of needles have in common: text and slot.
pub fn pair_id(pair: &str, language: &str, cell: &str) -> String {
    format!("{pair}-{language}-{cell}")
}

impl<'a> Inputs<'a> {
    /// Puts them together.
    pub fn new(
        plan: &'a Plan,
        texts: &'a Texts,
        needles: BTreeMap<u32, InText<'a>>,
        placed: &'a BTreeMap<Language, Vec<Placed>>,
    ) -> Self {
        Inputs { plan, texts, needles, placed }
    }

    /// Plans the rows of a file: one a cell.
    pub fn rows(&self, file: &FilePlan) -> Vec<RowPlan> {
        let needle = self.needle(file).needle;
        let around = needle.frame.head.len() + needle.frame.tail.len() + needle.text.len() + 1;
        let cells = self.placed[&file.language].iter().enumerate();
        let row = |(n, placed): (usize, &Placed)| RowPlan {
            instance: n as u32,
            passages: 0,
            // For progress and for sharing out the work alone.
            tokens: placed.depth_tokens.1 as u32,
            bytes: (placed.end + around + 1) as u32,
            needle: NeedlePlan::default(),
        };
        cells.map(row).collect()
    }

    /// What stands between a needle and the text: before a heading, what parts paragraphs.
    fn gap(&self, file: &FilePlan, running: &Running, placed: &Placed) -> &'static str {
        match placed.at == 0 && running.heading {
            true => PARTED,
            false => gap(self.plan.pack(file.language).writes_spaces()),
        }
    }

    fn needle(&self, file: &FilePlan) -> &InText<'a> {
        &self.needles[&file.needle.expect("a file of this family has a needle")]
    }
}

/// What looks for each needle.
type Finders = FxHashMap<u32, Finder<'static>>;

impl Rows for Inputs<'_> {
    type Desk = Finders;

    fn row(&self, finders: &mut Finders, file: &FilePlan, planned: RowPlan, prompt: &mut String) -> Result<Made> {
        let placed = &self.placed[&file.language][planned.instance as usize];
        let InText { needle, splicers } = self.needle(file);
        let running = &self.texts.by_language[&file.language];
        let counted: Vec<Counted> = splicers.iter().map(|splicer| splicer.count(placed.at, placed.end)).collect();
        let span = write(running.text(), needle, placed, self.gap(file, running, placed), prompt);
        let row = self.render(file, needle, running, placed, &counted, span);
        let finder =
            finders.entry(file.needle.unwrap_or_default()).or_insert_with(|| Finder::new(&needle.text).into_owned());
        self.certify(file, needle, finder, running, placed, &row, prompt)
            .map_err(|e| e.at(format!("row {}", row.id)).help("this is a bug: no release was written"))?;
        let mut stats = Stats { lines: 1, ..Stats::default() };
        for counted in &counted {
            stats.seams += counted.seams.all;
            stats.seams_repaired += counted.seams.repaired;
            stats.windows_widened += counted.seams.widened;
        }
        Ok(Made { row, stats, parts: Vec::new() })
    }

    fn id(&self, file: &FilePlan, planned: RowPlan) -> String {
        let placed = &self.placed[&file.language][planned.instance as usize];
        let name = &self.needle(file).needle.factoid.name.0;
        row_id(name, &file.language.to_string(), &cell_id(placed.length, placed.depth))
    }

    fn slots(&self, file: &FilePlan, planned: RowPlan) -> Vec<u64> {
        let placed = &self.placed[&file.language][planned.instance as usize];
        vec![placed.at as u64, placed.end as u64]
    }

    fn compact(&self, file: &FilePlan, planned: RowPlan, _: &Row, _: &str) -> Result<Recipe> {
        Ok(self.compact_row(file, planned))
    }

    fn parts(&self, files: &[FileRows], parts: &mut Parts) -> Result<Vec<FileLayout>> {
        self.compact_parts(files, parts)
    }
}

/// Writes a prompt; the needle's bytes in it.
fn write(text: &str, needle: &Prepared, placed: &Placed, gap: &str, prompt: &mut String) -> (u64, u64) {
    prompt.push_str(&needle.frame.head);
    prompt.push_str(&text[..placed.at]);
    if placed.at > 0 {
        prompt.push_str(gap);
    }
    let start = prompt.len() as u64;
    prompt.push_str(&needle.text);
    let end = prompt.len() as u64;
    if placed.at == 0 {
        prompt.push_str(gap);
    }
    prompt.push_str(&text[placed.at..placed.end]);
    prompt.push_str(&needle.frame.tail);
    (start, end)
}

impl Inputs<'_> {
    fn render(
        &self,
        file: &FilePlan,
        needle: &Prepared,
        running: &Running,
        placed: &Placed,
        counted: &[Counted],
        (start, end): (u64, u64),
    ) -> Row {
        let slots = &self.plan.recipe.slots;
        let cell = cell_id(placed.length, placed.depth);
        let language = file.language.to_string();
        let factoid = &needle.factoid;
        let answers = factoid.answers.clone().unwrap_or_default();
        let (token_start, token_end) = counted[0].span;
        let (before, whole) = placed.depth_tokens;
        let depth = before * 1_000_000 / whole.max(1);
        let span = NeedleSpan { start, end, token_start, token_end, depth, supporting: true, ..NeedleSpan::default() };
        let also = counted[1..].iter().map(|c| AlsoTokens { n_tokens: c.n_tokens, spans: vec![c.span] });
        Row {
            id: row_id(&factoid.name.0, &language, &cell),
            pair_id: factoid.pair.as_ref().map(|pair| pair_id(&pair.0, &language, &cell)),
            answers_by_language: vec![(language, answers.clone())],
            instance_id: cell,
            task: "in_context_recall",
            category: "retrieval",
            source_task: factoid.name.0.clone(),
            position: slots.depths.as_ref().map(|depths| depths[placed.depth].to_string().into()),
            length: slots.lengths.as_ref().map(|lengths| lengths[placed.length].to_string()),
            system: needle.frame.system.clone(),
            question: factoid.question.clone().unwrap_or_default(),
            answers,
            n_tokens: counted[0].n_tokens,
            also: also.collect(),
            needle_spans: vec![span],
            supporting: vec![0],
            haystack_tokens: Some(counted[0].document),
            moved: Some(placed.moved),
            repeats: Some(running.repeats(placed.end)),
            certificate: CERTIFICATE,
            ..Row::default()
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    /// Proves a row from its final text: the needle stands there once, whole, at a sentence break, and what is around it
    /// is the running text, unchanged.
    fn certify(
        &self,
        file: &FilePlan,
        needle: &Prepared,
        finder: &Finder<'_>,
        running: &Running,
        placed: &Placed,
        row: &Row,
        prompt: &str,
    ) -> Result<()> {
        let Some(document) = needle.frame.document(prompt) else { fail!("the layout is not around the text") };
        let mut found = finder.find_iter(document.as_bytes());
        let (Some(at), None) = (found.next(), found.next()) else {
            fail!("the needle does not stand there once: the text holds it already, or lost it");
        };
        let span = &row.needle_spans[0];
        if (at + needle.frame.head.len()) as u64 != span.start || span.end - span.start != needle.text.len() as u64 {
            fail!("the needle does not stand where it is recorded");
        }
        let gap = self.gap(file, running, placed);
        let (before, behind) = (&document[..at], &document[at + needle.text.len()..]);
        let text = running.text();
        let sound = match placed.at {
            0 => before.is_empty() && behind.strip_prefix(gap) == Some(&text[..placed.end]),
            at => before.strip_suffix(gap) == Some(&text[..at]) && behind == &text[at..placed.end],
        };
        if !sound {
            fail!("the running text around the needle was changed");
        }
        let is_break = |byte: usize| running.breaks.binary_search_by_key(&byte, |b| b.end).is_ok();
        if placed.at > 0 && !is_break(placed.at) || !is_break(placed.end) {
            fail!("the needle, or the end of the text, is not at a sentence break");
        }
        if let Some(answer) = row.answers.iter().find(|answer| !needle.text.contains(answer.as_str())) {
            fail!("the needle does not hold the answer {answer:?}");
        }
        Ok(())
    }
}
