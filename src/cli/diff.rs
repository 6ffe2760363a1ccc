//! The verb `diff`: its flags, and its report for people.

use super::side::Page;
use super::{print, print_json, threads};
use crate::diff::change::{Changed, Kind};
use crate::diff::path::{Detail, Step};
use crate::diff::{self, Counts, Options, Report, Side};
use crate::error::{Error, Result};
use clap::Args;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct DiffArgs {
    /// Folder of the first release, the older one
    a: PathBuf,
    /// Folder of the second
    b: PathBuf,
    /// Print this row of both side by side
    #[arg(long, value_name = "ID")]
    row: Option<String>,
    /// Name so many changed rows, added rows, removed rows and files; of a prompt's change print so many lines
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Read every file and every prompt, also where both manifests call them equal
    #[arg(long, conflicts_with = "row")]
    full: bool,
    /// Columns of a printed line [default: the terminal's, else 100]
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Print the result as JSON, with all changed rows
    #[arg(long)]
    json: bool,
}

/// Compares two releases. True: they have the same rows.
pub(super) fn diff(args: DiffArgs) -> Result<bool> {
    let jobs = threads(args.jobs)?;
    let page = Page { width: width(args.width)?, colors: std::io::stdout().is_terminal(), most: args.limit };
    if let Some(id) = &args.row {
        let told = diff::row::row(&args.a, &args.b, id)?;
        match args.json {
            true => print_json(&told)?,
            false => print(&page.row(&told))?,
        }
        return Ok(told.is_well());
    }
    let keep = if args.json { usize::MAX } else { args.limit };
    let report = diff::diff(&args.a, &args.b, &Options { full: args.full, keep, jobs })?;
    match args.json {
        true => print_json(&report)?,
        false => print(&page.report(&report))?,
    }
    Ok(report.is_well())
}

fn width(given: Option<usize>) -> Result<usize> {
    match given {
        Some(width @ 40..=1000) => Ok(width),
        Some(width) => Err(Error::new(format!("--width {width}: expected 40 to 1000 columns"))),
        None => {
            let terminal = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
            Ok(terminal.filter(|width| (40..=1000).contains(width)).unwrap_or(100))
        }
    }
}

impl Page {
    fn report(&self, report: &Report) -> String {
        let mut out = String::new();
        let rows = &report.rows;
        let _ = writeln!(out, "A  {}", side(&report.a));
        let _ = writeln!(out, "B  {}\n", side(&report.b));
        let _ = writeln!(out, "{}  {}", self.strong(report.verdict.name()), report.reasons.join("; "));
        let _ = writeln!(out, "       version {}", report.versions.note);
        let _ = writeln!(out, "\nrows            {:>10} in A, {} in B", rows.a, rows.b);
        for (what, n, always) in [
            ("same", rows.same, true),
            ("changed", rows.changed, true),
            ("only metadata", rows.metadata, false),
            ("added", rows.added, true),
            ("removed", rows.removed, true),
            ("not in part A", rows.outside_a, false),
            ("not in part B", rows.outside_b, false),
            ("in other files", rows.moved, false),
        ] {
            if always || n > 0 {
                let _ = writeln!(out, "  {what:<14}{n:>10}");
            }
        }
        if rows.skipped_files > 0 {
            let rest = if rows.read_files == 0 { "no file was read" } else { "the others were read" };
            let _ = writeln!(
                out,
                "  {} files are equal by the SHA-256 of both manifests, {rest} (--full reads all)",
                rows.skipped_files
            );
        }
        if rows.forged > 0 {
            let _ = writeln!(out, "  {} prompts are not those of their prompt_sha256: run verify", rows.forged);
        }
        for (names, which) in [(&report.columns_only_in_a, "A"), (&report.columns_only_in_b, "B")] {
            if !names.is_empty() {
                let _ = writeln!(out, "  columns that only {which} has: {}", names.join(", "));
            }
        }
        out += &self.kinds(report);
        out += &self.table("file", &rows.files);
        out += &self.table("language", &rows.languages);
        out += &self.path(report);
        out += &self.changed(&rows.changed_rows, rows.changed + rows.metadata);
        out += &self.ids("added rows", &rows.added_ids, rows.added);
        out += &self.ids("removed rows", &rows.removed_ids, rows.removed);
        out
    }

    /// Rows by kind of change, with the columns of each.
    fn kinds(&self, report: &Report) -> String {
        let rows = &report.rows;
        if rows.kinds.is_empty() {
            return String::new();
        }
        let mut out = String::from("\nwhat changed          rows\n");
        for (kind, n) in &rows.kinds {
            let moves = rows.distractors;
            let more = match kind {
                Kind::PromptOnly => {
                    "of these: question, answers, distractors and positions are what they were".to_owned()
                }
                Kind::Distractors => {
                    format!(
                        "{} ids added, {} removed; reordered in {} rows",
                        moves.added, moves.removed, moves.reordered
                    )
                }
                Kind::Prompt => String::new(),
                _ => {
                    let of = |(name, n): (&String, &u64)| (kind.has(name)).then(|| format!("{name} {n}"));
                    rows.columns.iter().filter_map(of).collect::<Vec<_>>().join(", ")
                }
            };
            let line = format!("  {:<14}{n:>10}   {more}", kind.name());
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }

    fn table(&self, what: &str, counts: &BTreeMap<String, Counts>) -> String {
        if counts.is_empty() {
            return String::new();
        }
        let wide = counts.keys().map(String::len).max().unwrap_or(0).max(14);
        let mut out = format!("\n{what:<wide$}       changed   metadata      added    removed\n");
        for (name, c) in counts.iter().take(self.most) {
            let numbers = [c.changed, c.metadata, c.added, c.removed].map(|n| match n {
                0 => format!("{:>11}", "-"),
                n => format!("{n:>11}"),
            });
            let _ = writeln!(out, "  {name:<wide$} {}", numbers.concat());
        }
        out + &more(counts.len(), self.most, "")
    }

    /// The steps of the path: the first that differs, and what differs in each.
    fn path(&self, report: &Report) -> String {
        let walk = &report.path;
        let mut out = String::from("\npath\n");
        let first = walk.steps.iter().find(|step| step.differs());
        for step in walk.steps.iter().filter(|step| !step.is_stage && step.name != "rows") {
            let state = match (step.differs(), step.details.is_empty()) {
                (true, _) => "differs",
                (false, false) => "same in what makes rows",
                (false, true) => "same",
            };
            let mark = if first.is_some_and(|first| first == step) { "   <- the first difference" } else { "" };
            let _ = writeln!(out, "  {:<12}{state}{}", step.name, self.strong(mark));
            step.details.iter().take(self.most).for_each(|detail| out += &self.detail(detail));
            out += &more(step.details.len(), self.most, "    ");
        }
        let stages: Vec<&Step> = walk.steps.iter().filter(|step| step.is_stage).collect();
        let differ: Vec<&str> = stages.iter().filter(|step| step.differs()).map(|step| step.name.as_str()).collect();
        let by = if walk.stages_by == "key" { "what goes into them" } else { "their output" };
        let state = match differ.len() {
            0 => format!("same by {by}"),
            n => format!("{n} of {} differ by {by}, the first is {}", stages.len(), differ[0]),
        };
        let mark = if first.is_some_and(|first| first.is_stage) { "   <- the first difference" } else { "" };
        let _ = writeln!(out, "  {:<12}{state}{}", "stages", self.strong(mark));
        for line in self.wrapped(&differ.join(", "), 4) {
            let _ = writeln!(out, "    {line}");
        }
        let state = match first {
            Some(step) if step.name == "rows" => {
                "differ, though all that the manifests name is the same: made by another program, or edited"
            }
            _ if walk.steps.last().is_some_and(Step::differs) => "differ",
            _ => "same",
        };
        let _ = writeln!(out, "  {:<12}{state}", "rows");
        out
    }

    fn detail(&self, detail: &Detail) -> String {
        let short = |value: &Option<String>| match value.as_deref() {
            None => "(none)".to_owned(),
            Some(hex) if hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()) => hex[..8].to_owned(),
            Some(value) => value.to_owned(),
        };
        let cause = if detail.cause { "" } else { "   (no cause)" };
        let line = format!("{}: {} -> {}{cause}", detail.key, short(&detail.a), short(&detail.b));
        self.wrapped(&line, 6)
            .iter()
            .enumerate()
            .map(|(n, line)| format!("{}{line}\n", if n == 0 { "    " } else { "      " }))
            .collect()
    }

    fn changed(&self, rows: &[Changed], all: u64) -> String {
        if rows.is_empty() {
            return String::new();
        }
        let mut out = String::from("\nchanged rows\n");
        let wide = rows.iter().map(|row| row.id.len()).max().unwrap_or(0);
        for row in rows {
            let kinds =
                row.kinds.iter().filter(|kind| **kind != Kind::Prompt || !row.kinds.contains(&Kind::PromptOnly));
            let kinds: Vec<String> = kinds
                .map(|kind| match (kind, row.distractors) {
                    (Kind::Distractors, Some(moves)) => {
                        let order = if moves.reordered > 0 { ", reordered" } else { "" };
                        format!("distractors (+{} -{}{order})", moves.added, moves.removed)
                    }
                    (Kind::Other, _) => {
                        row.columns.iter().filter(|name| Kind::Other.has(name)).cloned().collect::<Vec<_>>().join(", ")
                    }
                    _ => kind.name().to_owned(),
                })
                .collect();
            let _ = writeln!(out, "  {:<wide$}  {}", row.id, kinds.join(", "));
        }
        out + &more(all as usize, rows.len(), "")
    }

    fn ids(&self, what: &str, ids: &[String], all: u64) -> String {
        if ids.is_empty() {
            return String::new();
        }
        let list: String = ids.iter().map(|id| format!("  {id}\n")).collect();
        format!("\n{what}\n{list}{}", more(all as usize, ids.len(), ""))
    }
}

/// A line that says how many are not shown.
fn more(all: usize, shown: usize, indent: &str) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        n => format!("{indent}  ... and {n} more (--limit N, --json)\n"),
    }
}

fn side(side: &Side) -> String {
    let part = side.part.as_ref().map_or_else(String::new, |flags| format!(" (part: {flags})"));
    format!("{} {}{part}, format {}, {}", side.name, side.version, side.format, side.folder)
}
