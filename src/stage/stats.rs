//! What the rows of a data file come to, in integers that add up in any order.

use crate::hash::Digest;
use crate::story::SourceTask;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A finished data file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DataFile {
    /// Path inside the release.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Bytes of its columns before compression; 0 up to format 4.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub data_bytes: u64,
    /// Digest of its bytes.
    pub sha256: Digest,
    /// Its rows.
    pub rows: u64,
    /// Digest of its rows, independent of Parquet.
    pub rows_digest: Digest,
    /// What its rows come to.
    pub stats: Stats,
}

/// Sums over the rows of a file. All are integers, so the order of adding does not matter.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Tokens of all prompts.
    pub tokens: u64,
    /// Of the shortest.
    pub tokens_min: u64,
    /// Of the longest.
    pub tokens_max: u64,
    /// Bytes of all prompts.
    pub prompt_bytes: u64,
    /// Characters of all prompts; 0 in releases of format 1.
    #[serde(default)]
    pub chars: u64,
    /// Tokens under each tokenizer beside the primary one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, Sums>,
    /// Prompts that, with answer and chat template, exceed a model's window.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub over_window: BTreeMap<String, u64>,
    /// Sum of (n_tokens + allowance + template) / length, in millionths; 0 at 0k.
    pub fill: u64,
    /// The least of these.
    pub fill_min: u64,
    /// Rows over their budget.
    pub over: u64,
    /// Lines of all contexts, each read back.
    pub lines: u64,
    /// Lines that repeat an earlier one of their prompt.
    pub repeated: u64,
    /// Seams of prompts whose counts were put together, under all tokenizers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seams: u64,
    /// Those of them whose count is not the sum of their parts'.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seams_repaired: u64,
    /// Windows around seams that had to be made larger.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub windows_widened: u64,
    /// Score of answering with the candidate that the whole context names least, by source task: credit in
    /// millionths and number of rows. Counted in the recipe's first language.
    pub rarest: BTreeMap<SourceTask, (u64, u64)>,
    /// The same for the candidate that it names most.
    pub commonest: BTreeMap<SourceTask, (u64, u64)>,
    /// Of rows with the best sentences alone: those that can be answered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub answerable: u64,
    /// Sum of their recalls of all facts, in millionths.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recall: u64,
    /// Sum of their recalls of the supporting facts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recall_supporting: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Tokens of prompts under one tokenizer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sums {
    /// Of all.
    pub tokens: u64,
    /// Of the shortest.
    pub min: u64,
    /// Of the longest.
    pub max: u64,
}

impl Sums {
    /// Of one prompt.
    pub fn of(tokens: u64) -> Sums {
        Sums { tokens, min: tokens, max: tokens }
    }

    fn add(&mut self, other: Sums) {
        self.tokens += other.tokens;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

impl Stats {
    /// Adds the sums of other rows; `first` while there are none yet.
    pub(crate) fn add(&mut self, other: &Stats, first: bool) {
        self.tokens += other.tokens;
        self.tokens_min = if first { other.tokens_min } else { self.tokens_min.min(other.tokens_min) };
        self.tokens_max = self.tokens_max.max(other.tokens_max);
        self.prompt_bytes += other.prompt_bytes;
        self.chars += other.chars;
        self.seams += other.seams;
        self.seams_repaired += other.seams_repaired;
        self.windows_widened += other.windows_widened;
        self.answerable += other.answerable;
        self.recall += other.recall;
        self.recall_supporting += other.recall_supporting;
        for (name, sums) in &other.also {
            self.also.entry(name.clone()).and_modify(|mine| mine.add(*sums)).or_insert(*sums);
        }
        for (model, n) in &other.over_window {
            *self.over_window.entry(model.clone()).or_default() += n;
        }
        self.fill += other.fill;
        self.fill_min = if first { other.fill_min } else { self.fill_min.min(other.fill_min) };
        self.over += other.over;
        self.lines += other.lines;
        self.repeated += other.repeated;
        for (mine, theirs) in [(&mut self.rarest, &other.rarest), (&mut self.commonest, &other.commonest)] {
            for (task, (credit, n)) in theirs {
                let entry = mine.entry(*task).or_default();
                entry.0 += credit;
                entry.1 += n;
            }
        }
    }
}
