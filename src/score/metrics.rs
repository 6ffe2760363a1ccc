//! The papers' metrics, in integers until they are printed.
//!
//! - **exact, any, existence**: rows that are right, of those asked. Existence by class too: of the rows whose answer is there, and of
//!   those whose answer is not; the accuracy alone rewards a model that always says yes.
//! - **recall**: the sum of a judge's marks over five times the tests.
//! - **Recall@k**: mean share of the facts, and of those that the answer needs, among the retrieved sentences; and the share of rows
//!   whose sentences still answer the question.
//! - **effective length** (MLNeedle): the largest length whose accuracy is at least 75% of that at 0k; **effective window** (MLRBench): at
//!   least 70%. Compared as products of counts, so no rounding decides. Lengths between may be below.
//! - **mean long**: the mean of the accuracies at lengths from 32k on. **drop**: accuracy at 2k less that at 128k, in points; where one
//!   of them is absent, the first length above 0k less the last.
//! - **standard error**: `sqrt(p (1 - p) / s)` for `s` rows, and its curve: accuracies of seeded samples of 10, 20, .. 500 rows.

use super::run::Scored;
use crate::seed::Seed;
use serde::Serialize;
use std::collections::BTreeMap;

/// So many right, of so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Rate {
    /// Right ones, or their sum.
    pub right: u64,
    /// All of them, or the greatest sum.
    pub of: u64,
}

impl Rate {
    fn add(&mut self, right: Option<bool>) {
        if let Some(right) = right {
            self.right += u64::from(right);
            self.of += 1;
        }
    }

    /// As a fraction of 1; none of nothing.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.right as f64 / self.of as f64)
    }

    /// The binomial standard error.
    pub fn error(self) -> Option<f64> {
        let p = self.value()?;
        Some((p * (1.0 - p) / self.of as f64).sqrt())
    }

    /// Is it at least so many percent of another?
    pub fn within(self, percent: u64, of: Rate) -> bool {
        let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
        self.of > 0 && of.of > 0 && wide(self.right, of.of) * 100 >= wide(of.right, self.of) * u128::from(percent)
    }
}

/// What is counted of some rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// All rows.
    pub rows: u64,
    /// Those that no prediction is for.
    pub missing: u64,
    /// Right in the language asked for.
    pub exact: Rate,
    /// Right in any language.
    pub any: Rate,
    /// Says rightly whether the answer is there.
    pub existence: Rate,
    /// The same of the rows whose answer is there.
    pub existence_yes: Rate,
    /// The same of the rows whose answer is not there.
    pub existence_no: Rate,
    /// The sum of marks, of five a mark.
    pub recall: Rate,
    /// Rows whose retrieved sentences answer the question.
    pub answerable: Rate,
    /// Recall@k of the facts, in millionths.
    pub recall_at_k: Rate,
    /// Recall@k of the facts that the answer needs, in millionths.
    pub recall_at_k_supporting: Rate,
}

impl Counts {
    /// Counts a row; `expected` is whether its answer is there.
    pub fn add(&mut self, row: &Scored, leave_missing: bool) {
        self.rows += 1;
        self.missing += u64::from(!row.given);
        if let Some((answerable, facts, supporting)) = row.retrieved {
            self.answerable.add(Some(answerable));
            self.recall_at_k =
                Rate { right: self.recall_at_k.right + facts as u64, of: self.recall_at_k.of + 1_000_000 };
            let sum = &mut self.recall_at_k_supporting;
            *sum = Rate { right: sum.right + supporting as u64, of: sum.of + 1_000_000 };
        }
        if let Some(mark) = row.mark {
            self.recall = Rate { right: self.recall.right + u64::from(mark), of: self.recall.of + 5 };
        }
        if !row.given && leave_missing {
            return;
        }
        self.exact.add(row.verdict.exact);
        self.any.add(row.verdict.any);
        self.existence.add(row.verdict.existence);
        match row.is_there {
            Some(true) => self.existence_yes.add(row.verdict.existence),
            Some(false) => self.existence_no.add(row.verdict.existence),
            None => {}
        }
    }

    /// What the rows are foremost scored by: exactness, else existence, else a judge.
    pub fn main(&self) -> (&'static str, Rate) {
        let all = [("exact", self.exact), ("existence", self.existence), ("recall", self.recall)];
        // Rows that a judge marks are told apart by the marks: the words of a gold are a lower bound.
        let marked = self.recall.of > 0 && self.recall.of / 5 >= self.exact.of;
        let pick = if marked { Some(all[2]) } else { all.into_iter().find(|(_, rate)| rate.of > 0) };
        pick.unwrap_or(all[0])
    }

    /// Every metric by name.
    pub fn all(&self) -> [(&'static str, Rate); 9] {
        [
            ("exact", self.exact),
            ("any", self.any),
            ("existence", self.existence),
            ("existence_yes", self.existence_yes),
            ("existence_no", self.existence_no),
            ("recall", self.recall),
            ("answerable", self.answerable),
            ("recall_at_k", self.recall_at_k),
            ("recall_at_k_supporting", self.recall_at_k_supporting),
        ]
    }
}

/// Tokens of a length as written: `8k`, or a count.
pub fn tokens(length: &str) -> u64 {
    match length.strip_suffix('k') {
        Some(n) => n.parse::<u64>().map_or(u64::MAX, |n| n.saturating_mul(1000)),
        None => length.parse().unwrap_or(u64::MAX),
    }
}

/// Accuracy by length.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Curve {
    /// Length as written, and its rate; shortest first.
    pub lengths: Vec<(String, Rate)>,
}

/// The difference between two lengths.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Drop {
    /// The shorter one.
    pub from: String,
    /// The longer one.
    pub to: String,
    /// In points of a hundred.
    pub points: f64,
}

impl Curve {
    /// Sorts lengths.
    pub fn new(mut lengths: Vec<(String, Rate)>) -> Curve {
        lengths.retain(|(_, rate)| rate.of > 0);
        lengths.sort_by(|a, b| (tokens(&a.0), &a.0).cmp(&(tokens(&b.0), &b.0)));
        Curve { lengths }
    }

    /// The largest length whose accuracy is at least so many percent of the baseline's. None without a baseline (0k); the inner
    /// none where no length is.
    pub fn effective(&self, percent: u64) -> Option<Option<&str>> {
        let (_, baseline) = self.lengths.iter().find(|(length, _)| tokens(length) == 0)?;
        let mut longer = self.lengths.iter().rev().filter(|(length, _)| tokens(length) > 0);
        Some(longer.find(|(_, rate)| rate.within(percent, *baseline)).map(|(length, _)| length.as_str()))
    }

    /// The mean of the accuracies from 32k on.
    pub fn mean_long(&self) -> Option<f64> {
        let long: Vec<f64> =
            self.lengths.iter().filter(|(l, _)| tokens(l) >= 32_000).filter_map(|(_, rate)| rate.value()).collect();
        (!long.is_empty()).then(|| long.iter().sum::<f64>() / long.len() as f64)
    }

    /// How much accuracy is lost from 2k to 128k, or between the lengths that come next to them.
    pub fn drop(&self) -> Option<Drop> {
        let of = |length: u64| self.lengths.iter().find(|(l, _)| tokens(l) == length);
        let mut longer = self.lengths.iter().filter(|(l, _)| tokens(l) > 0);
        let (from, to) = match (of(2000), of(128_000)) {
            (Some(from), Some(to)) => (from, to),
            _ => (longer.next()?, longer.next_back()?),
        };
        let points = (from.1.value()? - to.1.value()?) * 100.0;
        Some(Drop { from: from.0.clone(), to: to.0.clone(), points })
    }
}

/// Accuracy in a sample.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sample {
    /// Rows in it.
    pub samples: u64,
    /// Right ones of them.
    pub right: u64,
    /// The accuracy.
    pub accuracy: f64,
    /// Its binomial standard error.
    pub standard_error: f64,
}

/// Accuracies of samples of 10, 20, .. 500 rows, as far as there are so many: the first rows of one seeded order, which a
/// name tells from others.
pub fn samples(right: &[bool], name: &str) -> Vec<Sample> {
    let mut order: Vec<usize> = (0..right.len()).collect();
    Seed::new("score").derive("samples", name).shuffle(&mut order);
    let mut all = Vec::new();
    let mut sum = 0;
    for (n, row) in order.into_iter().enumerate().take(500) {
        sum += u64::from(right[row]);
        let s = n as u64 + 1;
        if s.is_multiple_of(10) {
            let rate = Rate { right: sum, of: s };
            let accuracy = rate.value().unwrap_or(0.0);
            all.push(Sample { samples: s, right: sum, accuracy, standard_error: rate.error().unwrap_or(0.0) });
        }
    }
    all
}

/// Rows by the values of some of the columns they are grouped by: `columns` are their numbers.
pub fn grouped<'a>(rows: &'a [Scored], columns: &[usize]) -> Vec<(Vec<String>, Vec<&'a Scored>)> {
    let mut groups: BTreeMap<Vec<&str>, Vec<&Scored>> = BTreeMap::new();
    let mut order: Vec<Vec<&str>> = Vec::new();
    for row in rows {
        let key: Vec<&str> = columns.iter().map(|n| &*row.by[*n]).collect();
        let group = groups.entry(key.clone()).or_default();
        if group.is_empty() {
            order.push(key);
        }
        group.push(row);
    }
    // In the release's order; lengths, of which a file has one, from short to long.
    order
        .into_iter()
        .map(|key| (key.iter().map(|v| (*v).to_owned()).collect(), groups.remove(&key).unwrap_or_default()))
        .collect()
}
