//! What a scored release comes to, as data, as a table and as CSV.

use super::metrics::{Counts, Curve, Drop, Rate, Sample, grouped, samples, tokens};
use super::paired::{Paired, compare};
use super::run::Scored;
use crate::error::{Error, Result};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// How rows are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Rows without a prediction are left out; else they are wrong.
    pub leave_missing: bool,
    /// Curves by sample size of every group, not only of all rows.
    pub samples: bool,
}

/// The rows of one group.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Group {
    /// Values of the columns, in the order of `by`; none of all rows.
    pub key: Vec<String>,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
    /// Accuracy of samples of 10 to 500 rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// Against another run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paired: Vec<Paired>,
}

/// Accuracy by length of the rows of one group.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Lengths {
    /// Values of the columns but `length`.
    pub key: Vec<String>,
    /// The metric: exact, existence or recall.
    pub metric: &'static str,
    /// By length.
    #[serde(flatten)]
    pub curve: Curve,
    /// MLNeedle: the largest length with at least 75% of the accuracy at 0k; `<2k` below the first, none without 0k.
    pub effective_length: Option<String>,
    /// MLRBench: the same with 70%.
    pub effective_window: Option<String>,
    /// The mean of the accuracies from 32k on.
    pub mean_long: Option<f64>,
    /// What is lost from 2k to 128k.
    pub drop: Option<Drop>,
}

/// A scored release.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Name and version of the release.
    pub release: String,
    /// The identity of its rows.
    pub rows_digest: String,
    /// The matching rule.
    pub rule: &'static str,
    /// Columns that rows are grouped by.
    pub by: Vec<String>,
    /// All rows.
    pub all: Group,
    /// By the columns.
    pub groups: Vec<Group>,
    /// By length: all rows first, then by the other columns.
    pub lengths: Vec<Lengths>,
}

/// Counts scored rows; `other` is another run on the same release.
pub fn report(
    head: (String, String, &'static str),
    by: &[String],
    rows: &[Scored],
    other: Option<&[Scored]>,
    options: Options,
) -> Report {
    let by_id: BTreeMap<&str, &Scored> =
        other.unwrap_or_default().iter().filter(|row| row.given).map(|row| (row.id.as_str(), row)).collect();
    let group = |key: Vec<String>, of: &[&Scored], sampled: bool| {
        let mut counts = Counts::default();
        of.iter().for_each(|row| counts.add(row, options.leave_missing));
        let name = key.join(" ");
        let main = counts.main().0;
        let right: Vec<bool> =
            of.iter().filter(|row| row.given || !options.leave_missing).filter_map(|row| right(row, main)).collect();
        Group {
            samples: if sampled { samples(&right, &name) } else { Vec::new() },
            paired: if other.is_some() { paired(of, &by_id, &name) } else { Vec::new() },
            counts,
            key,
        }
    };
    let every: Vec<&Scored> = rows.iter().collect();
    let columns: Vec<usize> = (0..by.len()).collect();
    let mut groups: Vec<Group> =
        grouped(rows, &columns).into_par_iter().map(|(key, of)| group(key, &of, options.samples)).collect();
    if let Some(length) = by.iter().position(|name| name == "length") {
        // Files stand by name, 128k before 16k.
        let mut firsts: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        let rest = |key: &[String]| [&key[..length], &key[length + 1..]].concat();
        groups.iter().enumerate().for_each(|(n, g)| {
            firsts.entry(rest(&g.key)).or_insert(n);
        });
        groups.sort_by_key(|g| (firsts[&rest(&g.key)], tokens(&g.key[length])));
    }
    let mut lengths = vec![by_length(Vec::new(), &every, options)];
    let columns: Vec<usize> = columns.into_iter().filter(|n| by[*n] != "length").collect();
    if !columns.is_empty() {
        lengths.extend(grouped(rows, &columns).into_iter().map(|(key, of)| by_length(key, &of, options)));
    }
    let (release, rows_digest, rule) = head;
    Report { release, rows_digest, rule, by: by.to_vec(), all: group(Vec::new(), &every, true), groups, lengths }
}

fn right(row: &Scored, metric: &str) -> Option<bool> {
    match metric {
        "existence" => row.verdict.existence,
        "recall" => row.mark.map(|mark| mark == 5),
        _ => row.verdict.exact,
    }
}

fn paired(rows: &[&Scored], other: &BTreeMap<&str, &Scored>, name: &str) -> Vec<Paired> {
    let rows: Vec<&Scored> = rows.iter().copied().filter(|row| row.given).collect();
    type Value = fn(&Scored) -> Option<i64>;
    let metrics: [(&str, u64, Value); 4] = [
        ("exact", 1, |row| row.verdict.exact.map(i64::from)),
        ("any", 1, |row| row.verdict.any.map(i64::from)),
        ("existence", 1, |row| row.verdict.existence.map(i64::from)),
        ("recall", 5, |row| row.mark.map(i64::from)),
    ];
    metrics.into_iter().filter_map(|(metric, most, value)| compare(&rows, other, metric, name, most, value)).collect()
}

fn by_length(key: Vec<String>, rows: &[&Scored], options: Options) -> Lengths {
    let mut all = Counts::default();
    let mut lengths: BTreeMap<&str, Counts> = BTreeMap::new();
    for row in rows {
        all.add(row, options.leave_missing);
        lengths.entry(&row.length).or_default().add(row, options.leave_missing);
    }
    let metric = all.main().0;
    let rate = |counts: &Counts| {
        counts.all().into_iter().find(|(name, _)| *name == metric).map_or(Rate::default(), |(_, r)| r)
    };
    let curve = Curve::new(lengths.iter().map(|(length, counts)| ((*length).to_owned(), rate(counts))).collect());
    let first = curve.lengths.iter().find(|(length, _)| tokens(length) > 0).map(|(length, _)| length.clone());
    let effective = |percent: u64| match (curve.effective(percent)?, &first) {
        (Some(length), _) => Some(length.to_owned()),
        (None, Some(first)) => Some(format!("<{first}")),
        (None, None) => None,
    };
    Lengths {
        effective_length: effective(75),
        effective_window: effective(70),
        mean_long: curve.mean_long(),
        drop: curve.drop(),
        key,
        metric,
        curve,
    }
}

/// Writes the rows' results as JSON Lines, in the release's order: `{"id", "exact", "any", "existence", "mark"}`, absent where
/// a row is not asked that. Rows of which nothing is known are not written.
pub fn write_rows(path: &Path, rows: &[Scored], options: Options) -> Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        exact: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        any: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        existence: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mark: Option<u8>,
    }
    crate::store::write_named(path, |out| {
        for row in rows.iter().filter(|row| row.given || !options.leave_missing) {
            let v = row.verdict;
            let line = Line { id: &row.id, exact: v.exact, any: v.any, existence: v.existence, mark: row.mark };
            if v.exact.is_some() || v.existence.is_some() || row.mark.is_some() {
                serde_json::to_writer(&mut *out, &line)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    })
}

impl Report {
    /// One line a group and metric.
    pub fn csv(&self) -> Result<String> {
        let fault = |e: csv::Error| Error::new(format!("cannot write CSV: {e}"));
        let mut out = csv::Writer::from_writer(Vec::new());
        let mut head: Vec<&str> = self.by.iter().map(String::as_str).collect();
        head.extend(["metric", "right", "of", "value", "standard_error"]);
        out.write_record(&head).map_err(fault)?;
        for group in std::iter::once(&self.all).chain(&self.groups) {
            let mut key = group.key.clone();
            key.resize(self.by.len(), String::new());
            for (name, rate) in group.counts.all().into_iter().filter(|(_, rate)| rate.of > 0) {
                let error = rate.error().map_or_else(String::new, |e| format!("{e:.6}"));
                let value = rate.value().map_or_else(String::new, |v| format!("{v:.6}"));
                let numbers = [name.to_owned(), rate.right.to_string(), rate.of.to_string(), value, error];
                out.write_record(key.iter().chain(&numbers)).map_err(fault)?;
            }
            for p in &group.paired {
                let by_name =
                    [("difference", p.difference), ("low", p.low), ("high", p.high), ("p", p.p.unwrap_or(f64::NAN))];
                for (what, value) in by_name.into_iter().filter(|(_, v)| !v.is_nan()) {
                    let numbers = [
                        format!("{}_{what}", p.metric),
                        String::new(),
                        p.rows.to_string(),
                        number(value),
                        String::new(),
                    ];
                    out.write_record(key.iter().chain(&numbers)).map_err(fault)?;
                }
            }
            for s in &group.samples {
                let numbers = [
                    format!("samples_{}", s.samples),
                    s.right.to_string(),
                    s.samples.to_string(),
                    format!("{:.6}", s.accuracy),
                    format!("{:.6}", s.standard_error),
                ];
                out.write_record(key.iter().chain(&numbers)).map_err(fault)?;
            }
        }
        for lengths in &self.lengths {
            let mut values = lengths.key.iter();
            let key: Vec<String> = self
                .by
                .iter()
                .map(|name| if name == "length" { None } else { values.next() }.cloned().unwrap_or_default())
                .collect();
            let rows = [
                ("effective_length", lengths.effective_length.clone()),
                ("effective_window", lengths.effective_window.clone()),
                ("mean_long", lengths.mean_long.map(|v| format!("{v:.6}"))),
                ("drop_points", lengths.drop.as_ref().map(|d| format!("{:.4}", d.points))),
            ];
            for (name, value) in rows.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                let numbers = [name.to_owned(), String::new(), String::new(), value, String::new()];
                out.write_record(key.iter().chain(&numbers)).map_err(fault)?;
            }
        }
        let bytes = out.into_inner().map_err(|e| Error::new(format!("cannot write CSV: {e}")))?;
        String::from_utf8(bytes).map_err(|e| Error::new(e.to_string()))
    }
}

fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 { format!("{value:.3e}") } else { format!("{value:.6}") }
}
