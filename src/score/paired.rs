//! Two runs on the same rows: which is better, and is it chance?
//!
//! McNemar's test in its exact form: of the rows that only one run got right, is the split that of a fair coin? And the interval of the
//! difference by a paired bootstrap: whole instances are drawn with replacement, since an instance's rows (in other languages and
//! lengths) rise and fall together.

use super::run::Scored;
use crate::seed::Seed;
use serde::Serialize;
use std::collections::BTreeMap;

/// Draws of the bootstrap.
pub const DRAWS: usize = 1000;

/// How two runs differ by one metric; differences are this run's less the other's, in points of a hundred.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Paired {
    /// The metric.
    pub metric: String,
    /// Rows that both have.
    pub rows: u64,
    /// Rows that only this run got right.
    pub only_this: u64,
    /// Rows that only the other run got right.
    pub only_other: u64,
    /// The difference of the accuracies.
    pub difference: f64,
    /// Of 1,000 draws of instances, the 25th difference from below.
    pub low: f64,
    /// The 25th from above.
    pub high: f64,
    /// Two-sided, of the exact McNemar test; none of marks.
    pub p: Option<f64>,
}

/// Compares by one metric, with a row's value of it as a number up to `most`.
pub fn compare(
    this: &[&Scored],
    other: &BTreeMap<&str, &Scored>,
    metric: &str,
    name: &str,
    most: u64,
    value: fn(&Scored) -> Option<i64>,
) -> Option<Paired> {
    let (mut rows, mut only_this, mut only_other) = (0, 0, 0);
    let mut instances: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for row in this {
        let Some(against) = other.get(row.id.as_str()) else { continue };
        let (Some(a), Some(b)) = (value(row), value(against)) else { continue };
        rows += 1;
        only_this += u64::from(a > b);
        only_other += u64::from(a < b);
        let sum = instances.entry(&row.instance).or_default();
        *sum = (sum.0 + a - b, sum.1 + 1);
    }
    if rows == 0 {
        return None;
    }
    let sums: Vec<(i64, i64)> = instances.into_values().collect();
    let mut rng = Seed::new("score").derive("bootstrap", &format!("{metric} {name}"));
    let mut drawn: Vec<(i64, i64)> = (0..DRAWS)
        .map(|_| {
            (0..sums.len()).map(|_| sums[rng.below(sums.len())]).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
        })
        .collect();
    drawn.sort_by(|a, b| (i128::from(a.0) * i128::from(b.1)).cmp(&(i128::from(b.0) * i128::from(a.1))));
    let points = |(sum, n): (i64, i64)| 100.0 * sum as f64 / (n as f64 * most as f64);
    let all = sums.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    Some(Paired {
        metric: metric.to_owned(),
        rows,
        only_this,
        only_other,
        difference: points(all),
        low: points(drawn[DRAWS / 40 - 1]),
        high: points(drawn[DRAWS - DRAWS / 40]),
        p: (most == 1).then(|| mcnemar(only_this, only_other)),
    })
}

/// The two-sided p of the exact McNemar test: twice the chance of so uneven a split of a fair coin's throws, at most 1.
pub fn mcnemar(b: u64, c: u64) -> f64 {
    let (n, k) = (b + c, b.min(c));
    if b == c {
        return 1.0;
    }
    // The chance of exactly k, then those below it by their ratios.
    let log = (0..k).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()).sum::<f64>() - n as f64 * std::f64::consts::LN_2;
    let (mut term, mut sum) = (1.0, 1.0);
    for i in (1..=k).rev() {
        term *= i as f64 / (n - i + 1) as f64;
        sum += term;
        if term < 1e-18 * sum {
            break;
        }
    }
    (2.0 * log.exp() * sum).min(1.0)
}
