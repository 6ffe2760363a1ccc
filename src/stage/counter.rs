//! Token counts of passages, labels and needles: what fitting a prompt of the passage family adds up.

use super::haystack::Haystack;
use crate::error::{Error, Result};
use crate::family::passage::{head, label, tail};
use crate::language::Language;
use crate::plan::Plan;
use crate::recipe::{Bound, Haystack as In, Length, PromptKind};
use crate::record::Needle;
use crate::tokenizer::Tokenizer;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A passage of the haystack in one language.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Item {
    /// The language it is printed in.
    pub language: Language,
    /// Its number.
    pub passage: u32,
}

/// Token counts of everything that does not depend on a question.
pub struct Counter<'a> {
    pub(super) tokenizer: Tokenizer,
    /// Tokens that the model itself adds, as far as they count.
    added: i64,
    /// Tokens of each passage's line without its label: space, text, line feed.
    lines: BTreeMap<Language, Vec<u32>>,
    /// Tokens more (or fewer) that a passage's line has with the blank line behind it.
    closing: BTreeMap<Language, Vec<i8>>,
    /// Tokens of the first so many labels.
    pub(super) labels: Vec<u32>,
    pub(crate) first: usize,
    /// The least tokens that each passage has in any language.
    least: Vec<u32>,
    pub(crate) haystack: &'a Haystack,
}

/// Counts of some passages, for whoever has but these.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Counted {
    lines: Vec<(Language, Vec<u32>)>,
    closing: Vec<(Language, Vec<i8>)>,
    labels: Vec<u32>,
}

/// A passage's line without its label.
pub(super) fn line(text: &str) -> String {
    format!(" {text}\n")
}

impl<'a> Counter<'a> {
    /// Counters of every tokenizer that bounds a prompt, the primary one first.
    pub fn all(plan: &Plan, haystack: &'a Haystack) -> Result<Vec<Counter<'a>>> {
        plan.ledger.bounding().iter().map(|tokenizer| Counter::new(plan, tokenizer, haystack)).collect()
    }

    /// Counts a haystack's passages.
    fn new(plan: &Plan, tokenizer: &Tokenizer, haystack: &'a Haystack) -> Result<Counter<'a>> {
        check_seams(tokenizer, haystack)?;
        let first = first_label(plan);
        let mut lines: BTreeMap<Language, Vec<u32>> = BTreeMap::new();
        let mut closing = BTreeMap::new();
        for (language, texts) in &haystack.texts {
            let counts: Vec<(u32, i8)> = texts.par_iter().map(|text| count_line(tokenizer, text)).collect();
            let (tokens, close): (Vec<u32>, Vec<i8>) = counts.into_iter().unzip();
            lines.insert(*language, tokens);
            closing.insert(*language, close);
        }
        let least = |n: usize| lines.values().map(|tokens| tokens[n]).min().unwrap_or(0);
        let least = (0..haystack.ids.len()).map(least).collect();
        // One needle, all passages.
        let mut labels = vec![0];
        for n in 0..=haystack.ids.len() {
            labels.push(labels[n] + tokenizer.count_line(&label(first + n)) as u32);
        }
        let added = i64::from(plan.ledger.added(tokenizer));
        Ok(Counter { tokenizer: tokenizer.clone(), added, lines, closing, labels, first, least, haystack })
    }

    /// The counts of some passages, and of as many labels as they and a needle can have.
    pub fn counted(&self, passages: &[u32]) -> Counted {
        fn of<T: Copy>(all: &BTreeMap<Language, Vec<T>>, passages: &[u32]) -> Vec<(Language, Vec<T>)> {
            all.iter().map(|(l, each)| (*l, passages.iter().map(|n| each[*n as usize]).collect())).collect()
        }
        Counted {
            lines: of(&self.lines, passages),
            closing: of(&self.closing, passages),
            labels: self.labels[..passages.len() + 2].to_vec(),
        }
    }

    /// The primary tokenizer's counter of a haystack whose passages were counted before.
    pub fn again(plan: &Plan, haystack: &'a Haystack, counted: Counted) -> Counter<'a> {
        let tokenizer = plan.ledger.primary();
        let lines: BTreeMap<Language, Vec<u32>> = counted.lines.into_iter().collect();
        let least = |n: usize| lines.values().map(|tokens| tokens[n]).min().unwrap_or(0);
        Counter {
            tokenizer: tokenizer.clone(),
            added: i64::from(plan.ledger.added(tokenizer)),
            least: (0..haystack.ids.len()).map(least).collect(),
            lines,
            closing: counted.closing.into_iter().collect(),
            labels: counted.labels,
            first: first_label(plan),
            haystack,
        }
    }

    /// Tokens of each passage's line in a haystack; in a multilingual one the least over the languages.
    pub fn tokens_in(&self, haystack: In) -> &[u32] {
        match haystack {
            In::In(language) => &self.lines[&language],
            In::Multilingual => &self.least,
        }
    }

    /// Tokens that what is bounded may have at a length.
    pub fn limit(&self, plan: &Plan, length: Length) -> u64 {
        let budget = &plan.recipe.budget;
        match budget.counts {
            Bound::Prompt => budget.tokens(length).saturating_sub(budget.reserve(crate::recipe::Strategy::ZeroShot)),
            Bound::Passages => budget.tokens(length),
        }
    }

    pub(super) fn text(&self, item: Item) -> &'a str {
        &self.haystack.texts[&item.language][item.passage as usize]
    }

    pub(super) fn tokens(&self, item: Item) -> i64 {
        i64::from(self.lines[&item.language][item.passage as usize])
    }

    pub(super) fn closing(&self, item: Item) -> i64 {
        i64::from(self.closing[&item.language][item.passage as usize])
    }
}

/// Number of the first label.
fn first_label(plan: &Plan) -> usize {
    plan.recipe.prompt.first_label.unwrap_or(1) as usize
}

/// Counts of labels, lines and tail are added: the tokenizer must tokenise them apart.
fn check_seams(tokenizer: &Tokenizer, haystack: &Haystack) -> Result<()> {
    let texts = || haystack.texts.values().flatten();
    let lasts: BTreeSet<char> = texts().filter_map(|text| text.chars().next_back()).collect();
    let firsts: BTreeSet<char> = texts().filter_map(|text| text.chars().next()).collect();
    // A label begins with a bracket, the tail with a letter.
    let lines = tokenizer.lines_add(lasts.iter().flat_map(|last| ['[', 'Q'].map(|first| (*last, first))));
    if lines && firsts.iter().all(|first| tokenizer.seam_is_hard("[12]", &format!(" {first}"))) {
        return Ok(());
    }
    Err(Error::new(format!(
        "the tokenizer {} joins passages and what stands around them: their counts do not add up",
        tokenizer.name()
    ))
    .help("name it under tokens.also with budget.fit = \"primary\", where whole prompts are counted"))
}

/// Tokens of a passage's line, and how many more it has with the blank line behind it.
pub(super) fn count_line(tokenizer: &Tokenizer, text: &str) -> (u32, i8) {
    let tokens = tokenizer.count_line(&line(text));
    let closed = tokenizer.count_line(&format!(" {text}\n\n"));
    (tokens as u32, (closed as i64 - tokens as i64) as i8)
}

/// Token and byte counts of a needle under one prompt.
#[derive(Clone, Copy, Debug)]
pub struct NeedleSizes {
    pub(super) fixed: i64,
    pub(super) fixed_bytes: usize,
    pub(super) line: i64,
    pub(super) closing: i64,
    pub(super) bytes: usize,
}

impl NeedleSizes {
    /// Counts them.
    pub fn of(counter: &Counter<'_>, needle: &Needle, prompt: PromptKind, question: &str) -> NeedleSizes {
        let (line, closing) = count_line(&counter.tokenizer, &needle.context);
        let tail = tail(prompt, question);
        NeedleSizes {
            fixed: (counter.tokenizer.count(head(prompt)) + counter.tokenizer.count_line(&tail)) as i64 + counter.added,
            // The blank line is one byte.
            fixed_bytes: head(prompt).len() + 1 + tail.len(),
            line: i64::from(line),
            closing: i64::from(closing),
            bytes: needle.context.len() + 2,
        }
    }

    /// Tokens of a prompt that has no other passage.
    pub fn alone(&self, counter: &Counter<'_>) -> u64 {
        (self.fixed + i64::from(counter.labels[1]) + self.line + self.closing) as u64
    }
}
