//! An audit as text for a terminal.

use super::{Audit, Count, Finding, is_unsafe};
use std::fmt::Write as _;

/// Groups stand side by side up to this many; more stand one a line.
const WIDE: usize = 9;

/// Notes that are shown.
const NOTES: usize = 24;

/// The summary table, then at most `limit` findings, an equal share of them for each check.
pub fn text(audit: &Audit, limit: usize) -> String {
    let n = audit.findings.len();
    let mut out = format!(
        "{}: {} files, {} rows, {} (profile {})\n",
        audit.path,
        audit.files,
        audit.rows,
        findings(n),
        audit.profile
    );
    out += "\n";
    out += &table(audit);
    for note in audit.notes.iter().take(NOTES) {
        writeln!(out, "note: {note}").expect("strings take all");
    }
    if audit.notes.len() > NOTES {
        writeln!(out, "note: ... and {} more with --json", audit.notes.len() - NOTES).expect("strings take all");
    }
    let checks = audit.by_check();
    let each = limit.div_ceil(checks.len().max(1));
    let mut left = limit;
    for (check, all) in &checks {
        let shown = each.min(left).min(all.len());
        left -= shown;
        writeln!(out, "\n{} ({}): {}", check.words(), check.key(), findings(all.len())).expect("strings take all");
        for finding in &all[..shown] {
            writeln!(out, "  {}", line(finding)).expect("strings take all");
        }
        if all.len() > shown {
            writeln!(out, "  ... and {} more", all.len() - shown).expect("strings take all");
        }
    }
    out
}

fn findings(n: usize) -> String {
    match n {
        0 => "nothing found".to_owned(),
        1 => "1 finding".to_owned(),
        n => format!("{n} findings"),
    }
}

/// A finding on a line.
fn line(finding: &Finding) -> String {
    let place = match (finding.row, &finding.id) {
        (Some(row), Some(id)) => format!("{}, row {row} (id {id})", finding.file),
        (Some(row), None) => format!("{}, row {row}", finding.file),
        (None, _) => finding.file.clone(),
    };
    // One line each, whatever the data holds.
    let safe = |c: char| match c {
        '\n' | '\r' | '\t' => " ".to_owned(),
        c if is_unsafe(c) => format!("[U+{:04X}]", u32::from(c)),
        c => c.to_string(),
    };
    format!("{place}: {}", finding.what).chars().map(safe).collect()
}

/// Checks down, groups across; with many groups a line for each check and group that found something.
fn table(audit: &Audit) -> String {
    let groups = audit.groups();
    let cell = |count: &Count| format!("{}/{}", count.found, count.of);
    let mut rows: Vec<Vec<String>> = Vec::new();
    if groups.len() <= WIDE {
        rows.push(std::iter::once("check".to_owned()).chain(groups.iter().map(|g| (*g).to_owned())).collect());
        let mut line = |name: &str, of: &std::collections::BTreeMap<String, Count>| {
            let cells = groups.iter().map(|group| of.get(*group).map_or("-".to_owned(), cell));
            rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
        };
        for (check, of) in &audit.summary {
            line(check.words(), of);
        }
        if !audit.unanswerable.is_empty() {
            line("UNANSWERABLE, any cause", &audit.unanswerable);
        }
    } else {
        rows.push(vec!["check".to_owned(), "found/of".to_owned(), "where".to_owned()]);
        for (check, of) in &audit.summary {
            let sum = of.values().fold(Count::default(), |a, b| Count { found: a.found + b.found, of: a.of + b.of });
            rows.push(vec![check.words().to_owned(), cell(&sum), format!("all {}", of.len())]);
            let failed = of.iter().filter(|(_, count)| count.found > 0);
            rows.extend(failed.map(|(group, count)| vec![String::new(), cell(count), group.clone()]));
        }
    }
    aligned(&rows)
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |n: usize| rows.iter().filter_map(|row| row.get(n)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        out += cells.collect::<Vec<_>>().join("  ").trim_end();
        out.push('\n');
    }
    out
}
