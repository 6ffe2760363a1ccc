//! Which rows are looked at closer: of each task a few instances, by lot, with all their languages.

use super::gather::{Light, length_order, task_of};
use crate::hash::Digest;
use std::collections::{BTreeMap, BTreeSet};

/// Where a row stands: a data file, and the row in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The data file.
    pub file: usize,
    /// The row in it.
    pub row: u32,
}

/// Instances of a task that are kept while the release is read.
const KEPT: usize = 6;

/// What a candidate's row is, as far as samples go by it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Kind {
    /// Its length.
    pub length: String,
    /// Strategy, kind of distractors, position, prompt, and retrieval.
    pub rest: String,
    /// Its languages: of needle, haystack and question.
    pub languages: Languages,
}

/// The languages of a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Languages {
    /// Of story or needle.
    pub needle: String,
    /// Of the haystack; that of the needle where there is none.
    pub haystack: String,
    /// Of the question.
    pub question: String,
}

/// A row that may be shown.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub place: Place,
    /// Tokens of its prompt.
    pub tokens: u64,
    /// Number of its distractors.
    pub distractors: u64,
}

/// Instances by lot, as a pass over all rows leaves them: of each task those with the least digests.
#[derive(Default)]
pub struct Candidates {
    /// What makes the lot another one for another release.
    pub seed: String,
    by_task: BTreeMap<String, BTreeMap<Digest, (String, Vec<Candidate>)>>,
}

impl Candidates {
    /// Meets a row.
    pub fn see(&mut self, row: &Light<'_>, place: Place) {
        let lot = Digest::of_parts([b"report sample".as_slice(), self.seed.as_bytes(), row.instance.as_bytes()]);
        let task = task_of(row);
        if !self.by_task.contains_key(task) {
            self.by_task.insert(task.to_owned(), BTreeMap::new());
        }
        let kept = self.by_task.get_mut(task).expect("it was put in");
        // What lies behind the kept ones never comes back, so what is kept is always complete.
        if kept.len() >= KEPT && kept.last_key_value().is_some_and(|(last, _)| *last < lot) {
            return;
        }
        let rest = [row.strategy, row.kind, row.position, row.prompt_kind, &row.retrieved];
        let rest: Vec<&str> = rest.into_iter().filter(|part| !part.is_empty()).collect();
        let haystack = if row.haystack.is_empty() { row.language } else { row.haystack };
        let languages = Languages {
            needle: row.language.to_owned(),
            haystack: haystack.to_owned(),
            question: row.question.to_owned(),
        };
        let kind = Kind { length: row.length.to_owned(), rest: rest.join(", "), languages };
        let candidate = Candidate { kind, place, tokens: row.tokens, distractors: row.distractors };
        kept.entry(lot).or_insert_with(|| (row.instance.to_owned(), Vec::new())).1.push(candidate);
        if kept.len() > KEPT {
            kept.pop_last();
        }
    }

    /// Of each task, the kept instances with their rows: those in most languages first, then by lot.
    pub fn instances(&self) -> BTreeMap<&str, Vec<(&str, &[Candidate])>> {
        self.by_task
            .iter()
            .map(|(task, kept)| {
                let mut all: Vec<(&str, &[Candidate])> =
                    kept.values().map(|(id, rows)| (id.as_str(), rows.as_slice())).collect();
                let variety =
                    |rows: &[Candidate]| rows.iter().map(|r| &r.kind.languages).collect::<BTreeSet<_>>().len();
                all.sort_by_key(|(_, rows)| std::cmp::Reverse(variety(rows)));
                (task.as_str(), all)
            })
            .collect()
    }
}

/// The same instance at one length, asked in one way, in several languages.
pub struct Group<'a> {
    /// Its task.
    pub task: &'a str,
    /// Its instance.
    pub instance: &'a str,
    /// Its length.
    pub length: &'a str,
    /// How it is asked.
    pub rest: &'a str,
    /// The prompts are whole, not excerpts.
    pub whole: bool,
    /// One row a combination of languages.
    pub rows: Vec<&'a Candidate>,
}

/// Tokens up to which a prompt is shown whole.
const WHOLE: u64 = 2600;

/// Combinations of languages of one group that are shown.
pub const VARIANTS: usize = 60;

/// What is shown: of one instance a task the shortest length, the first with a haystack, and the longest one, each asked
/// in the first way that its rows have.
pub fn groups(candidates: &Candidates) -> Vec<Group<'_>> {
    let mut out = Vec::new();
    for (task, instances) in candidates.instances() {
        let Some((instance, rows)) = instances.first() else { continue };
        let mut lengths: Vec<&str> = rows.iter().map(|row| row.kind.length.as_str()).collect();
        lengths.sort_by_key(|length| length_order(length));
        lengths.dedup();
        let mut chosen: Vec<&str> = lengths.iter().copied().take(2).collect();
        chosen.extend(lengths.last().filter(|last| !chosen.contains(last)));
        for length in chosen {
            let here = || rows.iter().filter(|row| row.kind.length == length);
            let Some(rest) = here().map(|row| row.kind.rest.as_str()).min_by_key(|rest| first_way(rest)) else {
                continue;
            };
            let mut group: Vec<&Candidate> = here().filter(|row| row.kind.rest == rest).collect();
            group.sort_by_key(|row| (row.place, &row.kind.languages));
            group.dedup_by_key(|row| &row.kind.languages);
            group.truncate(VARIANTS);
            let whole = group.iter().all(|row| row.tokens <= WHOLE);
            out.push(Group { task, instance, length, rest, whole, rows: group });
        }
    }
    out
}

/// Zero-shot before the other strategies, the middle before the ends, whole prompts before the best sentences alone.
fn first_way(rest: &str) -> (usize, bool, &str) {
    (rest.matches(", ").count(), !(rest.contains("zero_shot") || rest.contains("middle")), rest)
}
