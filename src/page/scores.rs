//! Scores of models, as `score --rows` writes them, met with the rows of the release.

use super::gather::{Light, task_of};
use crate::error::{Error, Result};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// What a row is scored by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Metric {
    /// A gold answer in the language asked for.
    Exact,
    /// In any language.
    Any,
    /// Whether the needle is there.
    Existence,
    /// A judge's mark, 1 to 5; five is all.
    Mark,
}

impl Metric {
    /// All, in order.
    pub const ALL: [Metric; 4] = [Metric::Exact, Metric::Any, Metric::Existence, Metric::Mark];

    /// Its name in titles.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Exact => "exact accuracy",
            Metric::Any => "accuracy in any language",
            Metric::Existence => "existence accuracy",
            Metric::Mark => "recall by judge marks",
        }
    }

    /// Its name in names of files.
    pub fn key(self) -> &'static str {
        match self {
            Metric::Exact => "exact",
            Metric::Any => "any",
            Metric::Existence => "existence",
            Metric::Mark => "mark",
        }
    }
}

/// A line of a file of scores. What does not apply is absent.
#[derive(Deserialize)]
struct Line {
    id: String,
    #[serde(default, deserialize_with = "right")]
    exact: Option<bool>,
    #[serde(default, deserialize_with = "right")]
    any: Option<bool>,
    #[serde(default, deserialize_with = "right")]
    existence: Option<bool>,
    mark: Option<u64>,
}

/// True or false, or 1 or 0 as the scorer in Python has it.
fn right<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<bool>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected true or false")]
    enum Right {
        Said(bool),
        Number(u8),
    }
    match Option::<Right>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Right::Said(right)) => Ok(Some(right)),
        Some(Right::Number(n @ 0..=1)) => Ok(Some(n == 1)),
        Some(Right::Number(_)) => Err(serde::de::Error::custom("expected true or false")),
    }
}

impl Line {
    /// By metric, in millionths.
    fn values(&self) -> [Option<u32>; 4] {
        let whole = |right: Option<bool>| right.map(|right| u32::from(right) * 1_000_000);
        [whole(self.exact), whole(self.any), whole(self.existence), self.mark.map(|mark| mark as u32 * 200_000)]
    }
}

/// Scores of some rows.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Rows.
    pub n: u64,
    sum: u64,
    squares: u128,
}

impl Cell {
    fn add(&mut self, value: u32) {
        self.n += 1;
        self.sum += u64::from(value);
        self.squares += u128::from(value) * u128::from(value);
    }

    /// Takes other rows in.
    pub fn merge(&mut self, other: &Cell) {
        self.n += other.n;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Their mean, in millionths.
    pub fn mean(&self) -> u64 {
        (self.sum + self.n / 2) / self.n.max(1)
    }

    /// Its standard error, in millionths: of right and wrong alone, the binomial one.
    pub fn error(&self) -> u64 {
        let n = u128::from(self.n.max(1));
        let spread = (n * self.squares).saturating_sub(u128::from(self.sum) * u128::from(self.sum));
        (spread / (n * n * n)).isqrt() as u64
    }
}

/// Scores by two of a row's properties.
pub type Table = BTreeMap<(String, String), Cell>;

/// Scores of one metric.
#[derive(Default)]
pub struct Tables {
    /// All.
    pub all: Cell,
    /// By language and length.
    pub languages: Table,
    /// By task and length; of the recall test the needle stands for the task.
    pub tasks: Table,
    /// By language of needle and haystack.
    pub pairs: Table,
    /// By length and place of the needle. The length is empty for all of them.
    pub places: Table,
    /// Of the recall test: by needle, then by asked length and depth.
    pub recall: BTreeMap<String, Table>,
}

/// Problems with ids: how many, and the first of them.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Ids {
    /// How many.
    pub n: u64,
    /// The first.
    pub first: Vec<String>,
}

/// Ids that are named.
const NAMED: usize = 5;

impl Ids {
    fn add(&mut self, id: &str) {
        self.n += 1;
        if self.first.len() < NAMED {
            self.first.push(id.to_owned());
        }
    }
}

/// The scores of one model.
pub struct Scores {
    /// Its name.
    pub name: String,
    /// By metric: only those that are there.
    pub tables: BTreeMap<Metric, Tables>,
    /// Rows that have a score.
    pub scored: u64,
    /// Rows of the release that have none.
    pub missing: Ids,
    /// Ids that stand in the file more than once; the first counts.
    pub double: Ids,
    /// Ids that the release does not have.
    pub unknown: Ids,
    by_id: FxHashMap<String, Held>,
}

struct Held {
    values: [Option<u32>; 4],
    line: u32,
    seen: bool,
}

/// Bins of depth in curves.
pub const PLACES: u64 = 10;

/// The place of a needle, as curves name it: a word of MLNeedle's, else a tenth of the context.
pub fn place_of(row: &Light<'_>) -> Option<String> {
    if row.length == "0k" {
        return None;
    }
    if matches!(row.position, "start" | "middle" | "end") {
        return Some(row.position.to_owned());
    }
    let sum: u64 = row.depths.iter().sum();
    let mean = sum.checked_div(row.depths.len() as u64)?;
    let bin = mean.min(999_999) * PLACES / 1_000_000;
    Some(format!("{}-{}%", bin * 10, bin * 10 + 10))
}

impl Scores {
    /// Reads a file of scores, one JSON object a line.
    ///
    /// Fails where the file cannot be read, a line is none of `score`'s, or a mark is not 1 to 5.
    pub fn read(name: &str, path: &Path) -> Result<Scores> {
        let file = File::open(path).map_err(|e| {
            Error::io("cannot open", path, e)
                .help("give the file that `nihbuild score RELEASE PREDICTIONS --rows FILE` writes")
        })?;
        let mut scores = Scores {
            name: name.to_owned(),
            tables: BTreeMap::new(),
            scored: 0,
            missing: Ids::default(),
            double: Ids::default(),
            unknown: Ids::default(),
            by_id: FxHashMap::default(),
        };
        for (n, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(|e| Error::io("cannot read", path, e))?;
            if line.trim().is_empty() {
                continue;
            }
            let fault = |what: String| {
                Error::new(what).at(format!("{}, line {}", path.display(), n + 1)).help(
                    "a line is {\"id\": \"..\", \"exact\": true}, with any of exact, any, existence (true or false) and mark (1 to 5)",
                )
            };
            let line = line.trim_start_matches('\u{feff}');
            let line: Line = serde_json::from_str(line).map_err(|e| fault(e.to_string()))?;
            if line.mark.is_some_and(|mark| !(1..=5).contains(&mark)) {
                return Err(fault(format!("the mark of {:?} is not 1 to 5", line.id)));
            }
            let values = line.values();
            if values.iter().all(Option::is_none) {
                return Err(fault(format!("{:?} has no score", line.id)));
            }
            match scores.by_id.get(&line.id) {
                Some(_) => scores.double.add(&line.id),
                None => {
                    scores.by_id.insert(line.id, Held { values, line: n as u32, seen: false });
                }
            }
        }
        if scores.by_id.is_empty() {
            return Err(Error::new("it holds no scores").at(path.display()));
        }
        Ok(scores)
    }

    /// Meets a row of the release.
    pub fn see(&mut self, row: &Light<'_>) {
        let Some(held) = self.by_id.get_mut(row.id) else { return self.missing.add(row.id) };
        held.seen = true;
        self.scored += 1;
        let place = place_of(row);
        for (metric, value) in Metric::ALL.into_iter().zip(held.values) {
            let Some(value) = value else { continue };
            let tables = self.tables.entry(metric).or_default();
            tables.all.add(value);
            let add = |table: &mut Table, a: &str, b: &str| {
                table.entry((a.to_owned(), b.to_owned())).or_default().add(value);
            };
            add(&mut tables.languages, row.language, row.length);
            add(&mut tables.tasks, task_of(row), row.length);
            if !row.haystack.is_empty() {
                add(&mut tables.pairs, row.language, row.haystack);
            }
            if let Some(place) = &place {
                add(&mut tables.places, row.length, place);
                add(&mut tables.places, "", place);
            }
            if row.task == "in_context_recall" {
                add(tables.recall.entry(row.source_task.to_owned()).or_default(), row.length, row.position);
            }
        }
    }

    /// All rows were met: what is left is unknown. Frees the ids.
    pub fn close(&mut self) {
        let by_id = std::mem::take(&mut self.by_id);
        let mut left: Vec<(u32, String)> =
            by_id.into_iter().filter(|(_, held)| !held.seen).map(|(id, held)| (held.line, id)).collect();
        left.sort_unstable();
        left.iter().for_each(|(_, id)| self.unknown.add(id));
    }

    /// The metric that plots of one metric show.
    pub fn metrics(&self) -> Vec<Metric> {
        self.tables.keys().copied().filter(|metric| *metric != Metric::Any).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Cell;

    #[test]
    fn error_is_the_binomial_one() {
        let mut cell = Cell::default();
        (0..100).for_each(|n| cell.add(if n < 20 { 1_000_000 } else { 0 }));
        // sqrt(0.2 * 0.8 / 100) = 0.04
        assert_eq!((cell.mean(), cell.error()), (200_000, 40_000));
        let mut marks = Cell::default();
        [200_000, 1_000_000].into_iter().for_each(|value| marks.add(value));
        // Spread 0.4, of two: 0.4 / sqrt(2)
        assert_eq!((marks.mean(), marks.error()), (600_000, 282_842));
    }
}
