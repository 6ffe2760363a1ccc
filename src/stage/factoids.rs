//! Renders a row of the factoid family, and proves it from its final text.

use super::assemble::{NeedlePlan, RowPlan};
use super::slots::{Counted, Placed, Prepared, count_document, count_prompt};
use super::texts::{Running, Texts};
use super::write::{Made, Rows, Stats};
use crate::error::Result;
use crate::fail;
use crate::family::factoid::gap;
use crate::language::Language;
use crate::plan::{FilePlan, Plan};
use crate::record::{AlsoTokens, NeedleSpan, Row};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// How rows of this family are proven.
pub const CERTIFICATE: &str = "inserted";

/// What rows are made of.
pub struct Inputs<'a> {
    plan: &'a Plan,
    texts: &'a Texts,
    /// By the needle's place in the recipe.
    needles: BTreeMap<u32, Prepared>,
    /// By language: its cells in order.
    placed: &'a BTreeMap<Language, Vec<Placed>>,
    /// By language: seams, those that were repaired, and windows that were widened.
    seams: Mutex<BTreeMap<Language, (u64, u64, u64)>>,
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
        needles: BTreeMap<u32, Prepared>,
        placed: &'a BTreeMap<Language, Vec<Placed>>,
    ) -> Self {
        Inputs { plan, texts, needles, placed, seams: Mutex::default() }
    }

    /// Plans the rows of a file: one a cell.
    pub fn rows(&self, file: &FilePlan) -> Vec<RowPlan> {
        let needle = self.needle(file);
        let around = needle.frame.head.len() + needle.frame.tail.len() + needle.text.len() + 1;
        let cells = self.placed[&file.language].iter().enumerate();
        let row = |(n, placed): (usize, &Placed)| RowPlan {
            instance: n as u32,
            passages: 0,
            // For progress and for sharing out the work alone.
            tokens: placed.depth_tokens.1 as u32,
            bytes: (placed.end + around) as u32,
            needle: NeedlePlan::default(),
        };
        cells.map(row).collect()
    }

    fn needle(&self, file: &FilePlan) -> &Prepared {
        &self.needles[&file.needle.expect("a file of this family has a needle")]
    }

    /// By language: seams of all prompts, those whose counts are not the sum of their parts', windows that were widened.
    pub fn seams(&self) -> BTreeMap<Language, (u64, u64, u64)> {
        self.seams.lock().expect("no thread panics").clone()
    }

    fn count(&self, running: &Running, needle: &Prepared, placed: &Placed) -> Vec<Counted> {
        let each = self.plan.ledger.all().iter().zip(running.units.iter().zip(&needle.units));
        each.map(|(tokenizer, (text, units))| {
            let added = u64::from(self.plan.ledger.added(tokenizer));
            count_prompt(tokenizer, text, units, placed.at, placed.end, added)
        })
        .collect()
    }
}

impl Rows for Inputs<'_> {
    /// Haystack tokens of a cell, which needles of one length share.
    type Desk = FxHashMap<(Language, usize, u32), u64>;

    fn row(&self, _desk: &mut Self::Desk, file: &FilePlan, planned: RowPlan, prompt: &mut String) -> Result<Made> {
        let placed = &self.placed[&file.language][planned.instance as usize];
        let needle = self.needle(file);
        let running = &self.texts.by_language[&file.language];
        let counted = self.count(running, needle, placed);
        for counted in &counted {
            let mut seams = self.seams.lock().expect("no thread panics");
            let sums = seams.entry(file.language).or_default();
            *sums = (sums.0 + counted.seams.0, sums.1 + counted.seams.1, sums.2 + counted.seams.2);
        }
        let span = write(running.text(), needle, placed, gap(self.plan.pack(file.language).writes_spaces()), prompt);
        let row = self.render(file, needle, running, placed, &counted, span);
        self.certify(file, needle, running, placed, &row, prompt)
            .map_err(|e| e.at(format!("row {}", row.id)).help("this is a bug: no release was written"))?;
        Ok(Made { row, stats: Stats { lines: 1, ..Stats::default() }, parts: Vec::new() })
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
        let primary = self.plan.ledger.primary();
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
            haystack_tokens: Some(count_document(primary, &running.units[0], &needle.units[0], placed.at, placed.end)),
            moved: Some(placed.moved),
            repeats: Some(running.repeats(placed.end)),
            certificate: CERTIFICATE,
            ..Row::default()
        }
    }

    /// Proves a row from its final text: the needle stands there once, whole, at a sentence break, and what is around it
    /// is the running text, unchanged.
    fn certify(
        &self,
        file: &FilePlan,
        needle: &Prepared,
        running: &Running,
        placed: &Placed,
        row: &Row,
        prompt: &str,
    ) -> Result<()> {
        let Some(document) = needle.frame.document(prompt) else { fail!("the layout is not around the text") };
        let mut found = document.match_indices(needle.text.as_str()).map(|(at, _)| at);
        let (Some(at), None) = (found.next(), found.next()) else {
            fail!("the needle does not stand there once: the text holds it already, or lost it");
        };
        let span = &row.needle_spans[0];
        if (at + needle.frame.head.len()) as u64 != span.start || span.end - span.start != needle.text.len() as u64 {
            fail!("the needle does not stand where it is recorded");
        }
        let gap = gap(self.plan.pack(file.language).writes_spaces());
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
