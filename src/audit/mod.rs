//! Audits data of others: prompt sets and the released files of a benchmark. Reads only.
//!
//! A [`Finding`] is a row that fails a [`Check`], with its file, number and id; an [`Audit`] holds all of them and, for each check
//! and group (a language or a file), how many rows could have failed. [`mlrbench`] knows one benchmark's files and compares them
//! with the stories they tell; [`set`] knows nothing but a map of columns. Both say the same kind of thing, so that one
//! [`text`](mod@text), one [`html`](mod@html) page and one [`files`] writer serve them.

mod checks;
pub mod files;
pub mod html;
pub mod mlrbench;
pub mod set;
pub mod text;

pub use checks::Check;

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A row, a file or a language that fails a check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The file, inside the folder that is audited.
    pub file: String,
    /// The row, from 1; a header is none. None where the finding is about the file.
    pub row: Option<u64>,
    /// The row's id, where it has one.
    pub id: Option<String>,
    /// The check.
    pub check: Check,
    /// Which rows it is counted with: a language, or a file.
    pub group: String,
    /// What is wrong, with the words at fault.
    pub what: String,
}

/// How many of those looked at failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Count {
    /// Rows that failed.
    pub found: u64,
    /// Rows that could have failed: those the check looked at.
    pub of: u64,
}

/// What was looked at, and what was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Audit {
    /// What was audited.
    pub path: String,
    /// By which rules.
    pub profile: String,
    /// Its files.
    pub files: u64,
    /// Their rows.
    pub rows: u64,
    /// By check and group.
    pub summary: BTreeMap<Check, BTreeMap<String, Count>>,
    /// By group: rows that cannot be answered as printed, whatever the cause. Empty where the profile cannot tell.
    pub unanswerable: BTreeMap<String, Count>,
    /// What else was measured, and what was not checked.
    pub notes: Vec<String>,
    /// All findings, by file and row.
    pub findings: Vec<Finding>,
}

impl Audit {
    /// Nothing is found yet.
    pub fn new(path: &Path, profile: &str) -> Audit {
        Audit { path: path.display().to_string(), profile: profile.to_owned(), ..Audit::default() }
    }

    /// A check looked at `n` more rows.
    pub fn looked(&mut self, check: Check, group: &str, n: u64) {
        self.count(check, group).of += n;
    }

    /// A row failed; [`looked`](Audit::looked) counts those that could.
    pub fn add(&mut self, finding: Finding) {
        self.count(finding.check, &finding.group).found += 1;
        self.findings.push(finding);
    }

    fn count(&mut self, check: Check, group: &str) -> &mut Count {
        let groups = self.summary.entry(check).or_default();
        if !groups.contains_key(group) {
            groups.insert(group.to_owned(), Count::default());
        }
        groups.get_mut(group).expect("it was put there")
    }

    /// What one check and group came to.
    pub fn counted(&self, check: Check, group: &str) -> Count {
        self.summary.get(&check).and_then(|groups| groups.get(group)).copied().unwrap_or_default()
    }

    /// Every group, in order.
    pub fn groups(&self) -> Vec<&str> {
        let all: BTreeSet<&str> = self.summary.values().flat_map(|groups| groups.keys().map(String::as_str)).collect();
        all.into_iter().collect()
    }

    /// Findings in the order of files, rows and checks.
    pub fn sort(&mut self) {
        self.findings.sort_by(|a, b| (&a.file, a.row, a.check, &a.what).cmp(&(&b.file, b.row, b.check, &b.what)));
    }

    /// The findings of each check, in the table's order; checks without any are left out.
    pub fn by_check(&self) -> Vec<(Check, Vec<&Finding>)> {
        let of = |check: &Check| {
            let all: Vec<&Finding> = self.findings.iter().filter(|f| f.check == *check).collect();
            (!all.is_empty()).then_some((*check, all))
        };
        Check::ALL.iter().filter_map(of).collect()
    }
}

/// Words of the data in quotes, cut to so many characters. Nothing in them is escaped: each output does that in its own way.
pub(crate) fn quoted(text: &str, most: usize) -> String {
    format!("\u{201c}{}\u{201d}", cut(text, most))
}

/// Characters that no output may pass on: controls, and those that turn the direction of all that follows.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text cut to so many characters, for a finding.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
        None => text.to_owned(),
    }
}
