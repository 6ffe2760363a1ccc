//! Where a recipe was read from: turns the key that an error is about into line, column and a caret.

use crate::error::{Error, Key};
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};
use unicode_width::UnicodeWidthChar;

/// Most columns of a line that are shown.
const SHOWN: usize = 120;

/// A recipe's name and text; empty where it was not read from a text.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    name: String,
    text: Arc<str>,
}

impl Origin {
    pub(super) fn new(name: &str, text: &str) -> Origin {
        Origin { name: name.to_owned(), text: text.into() }
    }

    /// Adds to an error where in the recipe its key stands, or just which recipe it is.
    pub(crate) fn point(&self, error: Error) -> Error {
        if self.name.is_empty() {
            return error;
        }
        let near = if error.has_help() { None } else { super::near::help(error.what()) };
        let error = match near {
            Some(help) => error.help(help),
            None => error,
        };
        match error.key().and_then(|key| self.find(key)) {
            Some(span) => self.mark(error, span),
            None => error.at(format!("recipe {}", self.name)),
        }
    }

    /// What the reader of TOML found.
    pub(super) fn fault(&self, e: &toml::de::Error) -> Error {
        let error = Error::new(e.message().trim_end());
        let error = match e.span() {
            Some(span) => {
                let span = self.narrow(span, error.what());
                self.mark(error, span)
            }
            None => error.at(format!("recipe {}", self.name)),
        };
        match super::near::help(error.what()) {
            Some(help) => error.help(help),
            None => error,
        }
    }

    /// Of a list or table in braces the word that the message is about, if it stands there.
    fn narrow(&self, span: Range<usize>, what: &str) -> Range<usize> {
        let Some(written) = self.text.get(span.clone()).filter(|written| written.starts_with(['[', '{'])) else {
            return span;
        };
        let Some(word) = what.split('`').nth(1).filter(|word| !word.is_empty()) else { return span };
        let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let alone = |at: &usize| {
            let (before, behind) = (&written[..*at], &written[at + word.len()..]);
            !before.ends_with(plain) && !behind.starts_with(plain)
        };
        let Some(at) = written.match_indices(word).map(|(at, _)| at).find(alone) else { return span };
        let quote = written[..at].chars().next_back().filter(|c| "\"'".contains(*c));
        let quotes = usize::from(quote.is_some_and(|quote| written[at + word.len()..].starts_with(quote)));
        span.start + at - quotes..span.start + at + word.len() + quotes
    }

    /// Line, column, the line itself and carets under the span.
    fn mark(&self, error: Error, span: Range<usize>) -> Error {
        let floor =
            |at: usize| (0..=at.min(self.text.len())).rev().find(|n| self.text.is_char_boundary(*n)).unwrap_or(0);
        let (start, end) = (floor(span.start), floor(span.end));
        let begins = self.text[..start].rfind('\n').map_or(0, |n| n + 1);
        let line = self.text[begins..].lines().next().unwrap_or_default();
        let number = self.text[..start].matches('\n').count() + 1;
        let column = self.text[begins..start].chars().count() + 1;
        let error = error.at(format!("recipe {}, line {number}, column {column}", self.name));
        error.excerpt(excerpt(number, line, start - begins, end.saturating_sub(start)))
    }

    /// The bytes of a key, or of its value; of the nearest table around it where it is not written down.
    fn find(&self, key: &Key) -> Option<Range<usize>> {
        let table = DeTable::parse(&self.text).ok()?;
        let steps = steps(&key.path);
        let mut found = None;
        let mut here = At::Table(table.get_ref());
        for (n, step) in steps.iter().enumerate() {
            let last = n + 1 == steps.len();
            let value = match (here, step) {
                (At::Table(table), Step::Key(name)) => {
                    let Some((written, value)) = table.iter().find(|(k, _)| k.get_ref() == name) else { break };
                    // A table's own place is its header: the key in it is shorter.
                    let itself =
                        last && key.itself || value.get_ref().is_table() && is_header(&self.text, &value.span());
                    found = Some(if itself { written.span() } else { value.span() });
                    value
                }
                (At::List(list), Step::Place(n)) => {
                    let Some(value) = list.get(*n) else { break };
                    found = Some(value.span());
                    value
                }
                _ => break,
            };
            here = match value.get_ref() {
                DeValue::Table(table) => At::Table(table),
                DeValue::Array(list) => At::List(list),
                _ => At::Leaf,
            };
        }
        found
    }
}

/// Is a table opened by a line of its own, rather than by a brace?
fn is_header(text: &str, span: &Range<usize>) -> bool {
    !text.get(span.clone()).is_some_and(|written| written.starts_with('{'))
}

#[derive(Clone, Copy)]
enum At<'t, 'i> {
    Table(&'t DeTable<'i>),
    List(&'t toml::de::DeArray<'i>),
    Leaf,
}

enum Step {
    Key(String),
    Place(usize),
}

/// `grid.lengths[2]` in its steps.
fn steps(path: &str) -> Vec<Step> {
    let mut all = Vec::new();
    for part in path.split('.') {
        let (name, places) = part.split_at(part.find('[').unwrap_or(part.len()));
        all.push(Step::Key(name.to_owned()));
        let places = places.split(['[', ']']).filter_map(|n| n.parse().ok());
        all.extend(places.map(Step::Place));
    }
    all
}

/// A line with carets below so many of its bytes. Of a long line the part around them is shown.
fn excerpt(number: usize, line: &str, from: usize, bytes: usize) -> String {
    // A tab has no width of its own.
    let width = |c: char| if c == '\t' { 1 } else { c.width().unwrap_or(0) };
    let shown = |text: &str| -> usize { text.chars().map(width).sum() };
    let from = from.min(line.len());
    let to = (from + bytes).clamp(from, line.len());
    let (mut before, mut marked, mut after) = (&line[..from], line[from..to].trim_end(), &line[to..]);
    let (mut head, mut tail) = ("", "");
    while shown(before) > SHOWN / 2 {
        head = "...";
        before = &before[before.chars().next().map_or(0, char::len_utf8)..];
    }
    while shown(before) + shown(marked) + shown(after) > SHOWN && !after.is_empty() {
        tail = "...";
        after = &after[..after.char_indices().next_back().map_or(0, |(n, _)| n)];
    }
    while shown(before) + shown(marked) > SHOWN && !marked.is_empty() {
        tail = "...";
        marked = &marked[..marked.char_indices().next_back().map_or(0, |(n, _)| n)];
    }
    let plain = |text: &str| text.replace(|c: char| c == '\t' || c.is_control(), " ");
    let number = number.to_string();
    let margin = " ".repeat(number.len());
    let carets = "^".repeat(shown(marked).clamp(1, SHOWN));
    let space = " ".repeat(head.len() + shown(before));
    let text = format!("{head}{}{}{}{tail}", plain(before), plain(marked), plain(after));
    format!("  {margin} |\n  {number} | {}\n  {margin} | {space}{carets}", text.trim_end())
}
