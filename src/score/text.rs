//! A scored release as text for a terminal.

use super::metrics::{Counts, Rate, tokens};
use super::report::Report;
use super::run::Faults;
use std::fmt::Write as _;

impl Report {
    /// For people.
    pub fn table(&self) -> String {
        let mut out = format!("{}, rule {}\n\n", self.release, self.rule);
        let shown: Vec<&str> =
            self.all.counts.all().into_iter().filter(|(_, rate)| rate.of > 0).map(|(name, _)| name).collect();
        let rest: Vec<&String> = self.by.iter().filter(|name| *name != "length").collect();
        let mut head: Vec<String> = rest.iter().map(|name| (*name).clone()).collect();
        if head.is_empty() {
            head.push(String::new());
        }
        let keys = head.len();
        head.extend(["rows".to_owned(), "missing".to_owned()]);
        for name in &shown {
            head.push(name.replace('_', " "));
            if is_share(name) {
                head.push("se".to_owned());
            }
        }
        let mut lines = vec![head];
        let mut sums: Vec<(Vec<String>, Counts)> = vec![(Vec::new(), self.all.counts)];
        for group in &self.groups {
            let key: Vec<String> =
                self.by.iter().zip(&group.key).filter(|(name, _)| *name != "length").map(|(_, v)| v.clone()).collect();
            if key.is_empty() {
                break;
            }
            match sums.iter_mut().find(|(known, _)| *known == key) {
                Some((_, counts)) => counts.join(&group.counts),
                None => sums.push((key, group.counts)),
            }
        }
        for (key, counts) in &sums {
            let mut line = named(key, keys);
            line.extend([counts.rows.to_string(), counts.missing.to_string()]);
            for (name, rate) in counts.all().into_iter().filter(|(name, _)| shown.contains(name)) {
                line.push(percent(rate.value()));
                if is_share(name) {
                    line.push(percent(rate.error()));
                }
            }
            lines.push(line);
        }
        if self.all.counts.missing == 0 {
            lines.iter_mut().for_each(|line| {
                line.remove(keys + 1);
            });
        }
        out += &aligned(&lines, keys);
        out += &self.length_table(keys);
        out += &self.paired_table();
        out
    }

    fn length_table(&self, keys: usize) -> String {
        let mut lengths: Vec<&str> =
            self.lengths.iter().flat_map(|l| &l.curve.lengths).map(|(l, _)| l.as_str()).collect();
        lengths.sort_by_key(|l| (tokens(l), *l));
        lengths.dedup();
        if lengths.len() < 2 {
            return String::new();
        }
        // Of 35 lengths every third is read; JSON has all.
        let step = lengths.len().div_ceil(12);
        let lengths: Vec<&str> = lengths.into_iter().step_by(step).collect();
        let mut head = named(&[], keys);
        head[0] = format!("{} by length", self.lengths[0].metric);
        head.extend(lengths.iter().map(|l| (*l).to_owned()));
        head.extend(["75% to", "70% to", "mean >=32k", "drop"].map(str::to_owned));
        let mut lines = vec![head];
        for one in &self.lengths {
            let mut line = named(&one.key, keys);
            for length in &lengths {
                let rate = one.curve.lengths.iter().find(|(l, _)| l == length).map(|(_, rate)| *rate);
                line.push(percent(rate.and_then(Rate::value)));
            }
            let text = |v: &Option<String>| v.clone().unwrap_or_else(|| "-".to_owned());
            line.extend([text(&one.effective_length), text(&one.effective_window), percent(one.mean_long)]);
            line.push(one.drop.as_ref().map_or_else(|| "-".to_owned(), |d| format!("{:.1}", d.points)));
            lines.push(line);
        }
        let mut note = String::new();
        let drop = self.lengths[0].drop.as_ref();
        if let Some(d) = drop.filter(|d| (tokens(&d.from), tokens(&d.to)) != (2000, 128_000)) {
            let _ = writeln!(note, "drop: from {} to {}, where 2k and 128k are not both there", d.from, d.to);
        }
        format!("\n{}{note}", aligned(&lines, keys))
    }

    fn paired_table(&self) -> String {
        let all = std::iter::once(&self.all).chain(&self.groups);
        let mut lines = vec![
            ["against the other run", "metric", "rows", "only this", "only other", "difference", "95%", "p"]
                .map(str::to_owned)
                .to_vec(),
        ];
        for group in all {
            for p in &group.paired {
                let key = if group.key.is_empty() { "all".to_owned() } else { group.key.join(" ") };
                lines.push(vec![
                    key,
                    p.metric.clone(),
                    p.rows.to_string(),
                    p.only_this.to_string(),
                    p.only_other.to_string(),
                    format!("{:+.2}", p.difference),
                    format!("{:+.2} to {:+.2}", p.low, p.high),
                    p.p.map_or_else(|| "-".to_owned(), probability),
                ]);
            }
        }
        if lines.len() == 1 { String::new() } else { format!("\n{}", aligned(&lines, 2)) }
    }
}

impl Counts {
    fn join(&mut self, other: &Counts) {
        let add = |a: &mut Rate, b: Rate| *a = Rate { right: a.right + b.right, of: a.of + b.of };
        self.rows += other.rows;
        self.missing += other.missing;
        add(&mut self.exact, other.exact);
        add(&mut self.any, other.any);
        add(&mut self.existence, other.existence);
        add(&mut self.existence_yes, other.existence_yes);
        add(&mut self.existence_no, other.existence_no);
        add(&mut self.recall, other.recall);
        add(&mut self.answerable, other.answerable);
        add(&mut self.recall_at_k, other.recall_at_k);
        add(&mut self.recall_at_k_supporting, other.recall_at_k_supporting);
    }
}

/// Is it a share of rows, with a binomial error?
fn is_share(name: &str) -> bool {
    matches!(name, "exact" | "existence")
}

fn named(key: &[String], keys: usize) -> Vec<String> {
    let mut line = if key.is_empty() { vec!["all".to_owned()] } else { key.to_vec() };
    line.resize(keys, String::new());
    line
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{:.1}", v * 100.0))
}

fn probability(p: f64) -> String {
    if p < 1e-3 { format!("{p:.1e}") } else { format!("{p:.3}") }
}

/// Columns beside each other: the first ones to the left, the others to the right.
fn aligned(lines: &[Vec<String>], left: usize) -> String {
    let width = |n: usize| lines.iter().map(|line| line[n].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let mut text = String::new();
        for (n, cell) in line.iter().enumerate() {
            let gap = if n == 0 { "" } else { "  " };
            let w = widths[n];
            let _ = if n < left { write!(text, "{gap}{cell:<w$}") } else { write!(text, "{gap}{cell:>w$}") };
        }
        out += text.trim_end();
        out.push('\n');
    }
    out
}

impl Faults {
    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.duplicate.is_empty() && self.unknown.is_empty()
    }

    /// For people: how many, and the first ones.
    pub fn text(&self, most: usize) -> String {
        let mut out = String::new();
        let mut list = |what: &str, all: Vec<String>| {
            if all.is_empty() {
                return;
            }
            let _ = writeln!(out, "{} {what}", all.len());
            all.iter().take(most).for_each(|one| {
                let _ = writeln!(out, "  {one}");
            });
            if all.len() > most {
                let _ = writeln!(out, "  ... and {} more (--limit N, --json)", all.len() - most);
            }
        };
        let placed = |all: &[(String, String)]| all.iter().map(|(id, at)| format!("{id}  at {at}")).collect();
        list("rows without a prediction:", self.missing.clone());
        list("predictions given again, of which the first counts:", placed(&self.duplicate));
        list("predictions for no row of the release:", placed(&self.unknown));
        out
    }
}
