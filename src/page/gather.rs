//! One pass over the light columns of a release: counts, histograms, and the rows to look at closer.

use super::sample::{Candidates, Place};
use super::scores::Scores;
use crate::error::Result;
use crate::release::Release;
use crate::report::Progress;
use crate::table::{int, read_spans, text};
use arrow_array::{Array, RecordBatch};
use std::collections::BTreeMap;

/// Bins of the depth of needles.
pub const DEPTHS: usize = 20;

/// Different numbers that a [`Spread`] holds before it halves its precision.
const PRECISE: usize = 2048;

/// How numbers are spread: exact while they are few, else in steps of a power of two. What it holds does not depend on
/// the order in which numbers come.
#[derive(Clone, Default, Debug)]
pub struct Spread {
    counts: BTreeMap<u64, u64>,
    shift: u32,
    /// How many.
    pub n: u64,
    /// Their sum.
    pub sum: u64,
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
}

impl Spread {
    /// Takes a number in.
    pub fn add(&mut self, value: u64) {
        *self.counts.entry(value >> self.shift).or_default() += 1;
        while self.counts.len() > PRECISE {
            self.shift += 1;
            let before = std::mem::take(&mut self.counts);
            before.into_iter().for_each(|(value, n)| *self.counts.entry(value >> 1).or_default() += n);
        }
        self.least = if self.n == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.n += 1;
        self.sum += value;
    }

    /// Counts in `bins` equal bins from `low` to `high`, both within.
    pub fn bins(&self, low: u64, high: u64, bins: usize) -> Vec<u64> {
        let mut out = vec![0; bins];
        let wide = (high - low + 1).max(1);
        for (value, n) in &self.counts {
            let value = (value << self.shift).clamp(low, high);
            out[((value - low) * bins as u64 / wide) as usize] += n;
        }
        out
    }
}

/// What a row says of itself, but for its prompt.
pub struct Light<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its instance.
    pub instance: &'a str,
    /// Its task.
    pub task: &'a str,
    /// bAbI's task, the set of questions, or the needle.
    pub source_task: &'a str,
    /// Language of story or needle.
    pub language: &'a str,
    /// Language of the haystack; empty where there is none.
    pub haystack: &'a str,
    /// Language of the question.
    pub question: &'a str,
    /// Its length, as it is called.
    pub length: &'a str,
    /// How it is asked.
    pub strategy: &'a str,
    /// Its kind of distractors.
    pub kind: &'a str,
    /// Where its needle is asked to stand.
    pub position: &'a str,
    /// Which prompt, or which layout.
    pub prompt_kind: &'a str,
    /// Of a row with the best sentences alone, how they were chosen, such as `lexical 20`.
    pub retrieved: String,
    /// Tokens of the prompt.
    pub tokens: u64,
    /// Number of distractors.
    pub distractors: u64,
    /// Depths of its needles in millionths: of those that the gold rests on, else of all.
    pub depths: Vec<u64>,
}

const COLUMNS: [&str; 17] = [
    "id",
    "instance_id",
    "task",
    "source_task",
    "language",
    "haystack_language",
    "question_language",
    "length",
    "strategy",
    "distractor_kind",
    "position",
    "prompt_kind",
    "n_tokens",
    "n_distractors",
    "needle_spans",
    "certificate",
    "retriever",
];

/// What the pass comes to.
#[derive(Default)]
pub struct Gathered {
    /// Rows.
    pub rows: u64,
    /// Rows by task and length.
    pub tasks: BTreeMap<(String, String), u64>,
    /// Rows by language and length.
    pub languages: BTreeMap<(String, String), u64>,
    /// Rows by language of needle and haystack.
    pub pairs: BTreeMap<(String, String), u64>,
    /// Rows by strategy, kind of distractors, kind of prompt and retrieval, where more than one is there.
    pub kinds: BTreeMap<String, u64>,
    /// Tokens of prompts by language and length.
    pub tokens: BTreeMap<(String, String), Spread>,
    /// Needles by length and depth.
    pub depths: BTreeMap<String, [u64; DEPTHS]>,
    /// Rows by what their certificate says.
    pub certificates: BTreeMap<String, u64>,
    /// Tokens of all prompts.
    pub all_tokens: u64,
    /// Rows from which samples are taken.
    pub candidates: Candidates,
}

/// A length as a number, for its place among others: `8k` is 8000, and what is no number stands last.
pub fn length_order(length: &str) -> (u64, String) {
    let (digits, factor) = match length.strip_suffix('k') {
        Some(digits) => (digits, 1000),
        None => (length, 1),
    };
    (digits.parse::<u64>().map_or(u64::MAX, |n| n.saturating_mul(factor)), length.to_owned())
}

/// The bin of a depth in millionths.
pub fn depth_bin(depth: u64) -> usize {
    (depth.min(999_999) * DEPTHS as u64 / 1_000_000) as usize
}

fn light<'a>(batch: &'a RecordBatch, row: usize) -> Light<'a> {
    let spans = read_spans(batch, row);
    let factoid = text(batch, "family", row) == "factoid";
    let supporting: Vec<u64> = spans.iter().filter(|s| s.supporting && !factoid).map(|s| s.depth).collect();
    let all = || spans.iter().map(|s| s.depth).collect();
    let retriever = match batch.column_by_name("retriever") {
        Some(column) if !column.is_null(row) => {
            format!("{} {}", text(batch, "retriever", row), int(batch, "top_k", row))
        }
        _ => String::new(),
    };
    Light {
        id: text(batch, "id", row),
        instance: text(batch, "instance_id", row),
        task: text(batch, "task", row),
        source_task: text(batch, "source_task", row),
        language: text(batch, "language", row),
        haystack: text(batch, "haystack_language", row),
        question: text(batch, "question_language", row),
        length: text(batch, "length", row),
        strategy: text(batch, "strategy", row),
        kind: text(batch, "distractor_kind", row),
        position: text(batch, "position", row),
        prompt_kind: text(batch, "prompt_kind", row),
        retrieved: retriever,
        tokens: int(batch, "n_tokens", row).max(0) as u64,
        distractors: int(batch, "n_distractors", row).max(0) as u64,
        depths: if supporting.is_empty() { all() } else { supporting },
    }
}

/// Reads the whole release once.
pub fn gather(release: &Release, all: &mut Gathered, scores: &mut [Scores]) -> Result<()> {
    let bar = Progress::new("read", release.manifest.rows, "rows");
    let there = |name: &&str| release.schema().column_with_name(name).is_some();
    let columns: Vec<&str> = COLUMNS.iter().copied().chain(["family", "top_k"]).filter(|name| there(name)).collect();
    for file in 0..release.files().len() {
        let mut at = 0;
        for batch in release.batches(file, &columns, None)? {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let light = light(&batch, row);
                all.add(&light, text(&batch, "certificate", row), &read_spans(&batch, row));
                all.candidates.see(&light, Place { file, row: at });
                scores.iter_mut().for_each(|scores| scores.see(&light));
                at += 1;
            }
            bar.add(batch.num_rows() as u64);
        }
    }
    bar.finish();
    Ok(())
}

impl Gathered {
    fn add(&mut self, row: &Light<'_>, certificate: &str, spans: &[crate::record::NeedleSpan]) {
        let count = |map: &mut BTreeMap<(String, String), u64>, a: &str, b: &str| {
            *map.entry((a.to_owned(), b.to_owned())).or_default() += 1;
        };
        self.rows += 1;
        self.all_tokens += row.tokens;
        count(&mut self.tasks, task_of(row), row.length);
        count(&mut self.languages, row.language, row.length);
        if !row.haystack.is_empty() {
            count(&mut self.pairs, row.language, row.haystack);
        }
        let kinds = [row.strategy, row.kind, row.prompt_kind, &row.retrieved];
        let kinds: Vec<&str> = kinds.into_iter().filter(|kind| !kind.is_empty()).collect();
        *self.kinds.entry(kinds.join(", ")).or_default() += 1;
        self.tokens.entry((row.language.to_owned(), row.length.to_owned())).or_default().add(row.tokens);
        *self.certificates.entry(certificate.to_owned()).or_default() += 1;
        if row.length != "0k" && !spans.is_empty() {
            let bins = self.depths.entry(row.length.to_owned()).or_default();
            // Of a needle with its answer inside, the needle is counted.
            let inner = |n: usize| (0..n).any(|m| spans[m].start <= spans[n].start && spans[n].end <= spans[m].end);
            (0..spans.len()).filter(|n| !inner(*n)).for_each(|n| bins[depth_bin(spans[n].depth)] += 1);
        }
    }

    /// Lengths, shortest first.
    pub fn lengths(&self) -> Vec<String> {
        let mut all: Vec<String> = self.tokens.keys().map(|(_, length)| length.clone()).collect();
        all.sort_by_key(|length| length_order(length));
        all.dedup();
        all
    }
}

/// What a row's task is called here: of the recall test it is the needle.
pub fn task_of<'a>(row: &Light<'a>) -> &'a str {
    match row.task {
        "in_context_recall" => row.source_task,
        task => task,
    }
}
