//! A page of text: its width, and one row of two releases printed on it side by side.

use crate::diff::lines::{Hunk, In, Lines};
use crate::diff::row::{ColumnDiff, RowDiff};
use serde_json::Value;
use std::fmt::Write as _;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns of a line that the name of a column takes.
const NAME: usize = 20;

/// A cell has at most so many lines.
const CELL: usize = 8;

/// A line of a prompt is printed on at most so many.
const FOLDED: usize = 6;

/// How text is printed.
pub(super) struct Page {
    /// Columns of a line.
    pub width: usize,
    /// Terminal colours.
    pub colors: bool,
    /// At most so many items of a list.
    pub most: usize,
}

impl Page {
    pub(super) fn strong(&self, text: &str) -> String {
        self.colored(text, "1")
    }

    fn colored(&self, text: &str, code: &str) -> String {
        match self.colors && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    /// A text in lines that leave so many columns free.
    pub(super) fn wrapped(&self, text: &str, free: usize) -> Vec<String> {
        if text.is_empty() {
            return Vec::new();
        }
        fold(text, self.width.saturating_sub(free).max(20), CELL)
    }

    /// A row of two releases.
    pub(super) fn row(&self, row: &RowDiff) -> String {
        let mut out = format!("{}\n", self.strong(&row.id));
        for (which, (release, file)) in ["A", "B"].iter().zip(row.releases.iter().zip(&row.files)) {
            let _ = writeln!(out, "  {which}  {release}  {}", file.as_deref().unwrap_or("has no such row"));
        }
        let Some(changed) = &row.changed else {
            let same = row.files.iter().all(Option::is_some);
            return out + if same { "\nthe same in both\n" } else { "" };
        };
        let kinds: Vec<&str> = changed.kinds.iter().map(|kind| kind.name()).collect();
        let _ = writeln!(out, "\nchanged: {}", kinds.join(", "));
        if !row.columns.is_empty() {
            let half = self.half();
            let _ = writeln!(out, "\n{}", self.strong(&format!("{:<NAME$}{:<half$}  B", "column", "A")));
            row.columns.iter().for_each(|column| out += &self.column(column));
        }
        if let Some(prompt) = &row.prompt {
            out += &self.prompt(prompt);
        }
        out
    }

    /// Columns of each of two cells.
    fn half(&self) -> usize {
        (self.width - NAME - 2) / 2
    }

    fn column(&self, column: &ColumnDiff) -> String {
        let half = self.half();
        let mut out = String::new();
        let mut name = column.name.as_str();
        let (shown, left) = cells(&column.a, &column.b, self.most);
        for (a, b) in shown {
            let (a, b) = (fold(&a, half, CELL), fold(&b, half, CELL));
            for n in 0..a.len().max(b.len()) {
                let (a, b) = (a.get(n).map_or("", String::as_str), b.get(n).map_or("", String::as_str));
                let gap = half.saturating_sub(a.width());
                let line = format!("{name:<NAME$}{}{:gap$}  {}", isolated(a), "", isolated(b));
                let _ = writeln!(out, "{}", line.trim_end());
                name = "";
            }
        }
        if left > 0 {
            let _ = writeln!(out, "{name:<NAME$}... and {left} more (--limit N, --json)");
        }
        out
    }

    fn prompt(&self, prompt: &Lines) -> String {
        let mut out = format!(
            "\n{}  {} lines in A, {} in B, {} in both\n",
            self.strong("prompt"),
            prompt.a,
            prompt.b,
            prompt.same
        );
        for hunk in &prompt.hunks {
            out += &self.hunk(hunk);
        }
        out
    }

    fn hunk(&self, hunk: &Hunk) -> String {
        let mut out = self.colored(&format!("@ line {} in A, {} in B", hunk.a, hunk.b), "36") + "\n";
        for run in hunk.lines.chunk_by(|x, y| x.0 == y.0) {
            let (mark, color) = match run[0].0 {
                In::Both => (' ', ""),
                In::A => ('-', "31"),
                In::B => ('+', "32"),
            };
            for (_, line) in run.iter().take(self.most) {
                for (n, part) in fold(line, self.width - 2, FOLDED).iter().enumerate() {
                    let line = format!("{} {}", if n == 0 { mark } else { ' ' }, isolated(part));
                    let line = line.trim_end();
                    let _ =
                        writeln!(out, "{}", if color.is_empty() { line.to_owned() } else { self.colored(line, color) });
                }
            }
            if run.len() > self.most {
                let _ = writeln!(out, "{mark} ... and {} more lines (--limit N, --json)", run.len() - self.most);
            }
        }
        out
    }
}

/// Lines of two cells, at most so many, and how many more there are. Of lists, what differs.
fn cells(a: &Value, b: &Value, most: usize) -> (Vec<(String, String)>, usize) {
    let (Value::Array(x), Value::Array(y)) = (a, b) else { return (vec![(plain(a), plain(b))], 0) };
    if x.iter().chain(y).any(Value::is_object) {
        // Structs belong together by their place.
        let at = |list: &[Value], n: usize| list.get(n).cloned().unwrap_or(Value::Null);
        let pairs = (0..x.len().max(y.len())).map(|n| (n, at(x, n), at(y, n))).filter(|(_, a, b)| a != b);
        let mut told: Vec<(String, String)> = pairs.map(|(n, a, b)| fields(n, &a, &b)).collect();
        let left = told.len().saturating_sub(most);
        told.truncate(most);
        return (told, left);
    }
    let head = (count(x.len()), count(y.len()));
    let [mut gone, mut come] = [only(x, y), only(y, x)];
    if gone.is_empty() && come.is_empty() {
        // The same in another order.
        let at = (0..x.len()).find(|n| x.get(*n) != y.get(*n)).unwrap_or(0);
        let from = |list: &[Value]| {
            format!("in order from {}: {}", at + 1, list[at..].iter().take(8).map(plain).collect::<Vec<_>>().join(" "))
        };
        return (vec![head, (from(x), from(y))], 0);
    }
    let left = gone.len().max(come.len()).saturating_sub(most);
    gone.truncate(most);
    come.truncate(most);
    let line = |list: &[String]| list.join(" | ");
    (vec![head, (line(&gone), line(&come))], left)
}

fn count(n: usize) -> String {
    if n == 1 { "1 item; only here:".to_owned() } else { format!("{n} items; only here:") }
}

/// Elements of the first list that the second has not, or not so often.
fn only(a: &[Value], b: &[Value]) -> Vec<String> {
    let mut left: rustc_hash::FxHashMap<String, usize> = Default::default();
    b.iter().for_each(|value| *left.entry(plain(value)).or_default() += 1);
    let mut only = Vec::new();
    for value in a.iter().map(plain) {
        match left.get_mut(&value) {
            Some(n) if *n > 0 => *n -= 1,
            _ => only.push(value),
        }
    }
    only
}

/// Fields that say what a struct is about, and stand first.
const ABOUT: [&str; 3] = ["language", "tokenizer", "role"];

/// Two structs at one place of a list: the fields that differ.
fn fields(n: usize, a: &Value, b: &Value) -> (String, String) {
    let told = |mine: &Value, other: &Value| match mine {
        Value::Object(_) => format!("{}. {}", n + 1, object(mine, &|name| mine.get(name) != other.get(name))),
        _ => "(none)".to_owned(),
    };
    (told(a, b), told(b, a))
}

/// A struct as text: what it is about, then those of its other fields that are wanted, if they hold anything.
fn object(value: &Value, wanted: &dyn Fn(&str) -> bool) -> String {
    let about: Vec<&str> = ABOUT.iter().filter_map(|name| value.get(*name)?.as_str()).collect();
    let rest =
        value.as_object().into_iter().flatten().filter(|(name, _)| !ABOUT.contains(&name.as_str()) && wanted(name));
    let rest: Vec<(&String, String)> =
        rest.map(|(name, value)| (name, plain(value))).filter(|(_, text)| !text.is_empty()).collect();
    let rest = match (&about[..], &rest[..]) {
        // A name and one value need no third word.
        ([_], [(_, only)]) => only.clone(),
        _ => rest.iter().map(|(name, text)| format!("{name} {text}")).collect::<Vec<_>>().join(", "),
    };
    if about.is_empty() { rest } else { format!("{}: {rest}", about.join(" ")) }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "(null)".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(" | "),
        Value::Object(_) => object(value, &|_| true),
        other => other.to_string(),
    }
}

/// A text in lines of at most so many columns, broken at spaces where there are any, never inside a character that a
/// reader sees as one. Beyond `most` lines it is cut, and says so.
fn fold(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        let mut wide = 0;
        for word in paragraph.split_word_bounds() {
            let safe = safe(word);
            let whole = safe.width();
            if wide + whole > width && wide > 0 {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
                wide = 0;
            }
            if wide == 0 && !lines.is_empty() && word.trim().is_empty() {
                continue;
            }
            for piece in safe.graphemes(true) {
                if wide + piece.width() > width {
                    lines.push(std::mem::take(&mut line));
                    wide = 0;
                }
                line.push_str(piece);
                wide += piece.width();
            }
            if lines.len() >= most {
                lines.truncate(most);
                lines.push(format!("... ({} characters in all)", text.chars().count()));
                return lines;
            }
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// Without characters that move the cursor or speak to the terminal.
fn safe(text: &str) -> std::borrow::Cow<'_, str> {
    match text.chars().any(char::is_control) {
        true => text
            .chars()
            .map(|c| if c.is_control() { format!("\\u{{{:x}}}", c as u32) } else { c.to_string() })
            .collect(),
        false => text.into(),
    }
}

/// Text that is written from right to left is set apart (FIRST STRONG ISOLATE), so that it does not turn around what
/// stands beside it on the line.
fn isolated(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}');
    match text.chars().any(turns) {
        true => format!("\u{2068}{text}\u{2069}"),
        false => text.to_owned(),
    }
}
