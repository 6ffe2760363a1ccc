//! Reads the data files of the released MLRBench repository: `data/<language>.csv`, a question with its passage a row.
//!
//! The English file is read as stories. The others are translations by a service; they are only compared
//! ([`differences()`]), and nothing of them reaches a release.

mod differences;

pub use differences::{Compared, Differences, FAULTS, Fault, LabelFault, Missing, differences, markdown};
pub(crate) use differences::{asked, compare, labels, names_its_answer, names_of, printed, stands_in};

use super::babi::{asks, label_of};
use crate::error::{Error, Result};
use crate::language::{Message, Pack};
use crate::story::{Answer, Fact, Question, SourceTask, Story};
use std::collections::BTreeSet;
use std::path::Path;

/// A row of the English file.
#[derive(Clone, Debug)]
pub struct ReleasedItem {
    /// The file's own index of the row.
    pub index: String,
    /// The row, from 1; the header is none.
    pub row: usize,
    /// Facts and question.
    pub story: Story,
    /// The file's answer; none where it is not one the question can have.
    pub label: Option<Answer>,
    /// The file's answer as printed.
    pub label_text: String,
    /// The question as printed.
    pub question_text: String,
}

/// Names of the columns; the first is also empty.
const COLUMNS: [&str; 6] = ["Unnamed: 0", "passage", "question", "question_type", "input_lang", "target"];

/// A row as printed.
pub(crate) struct Row {
    /// From 1.
    pub number: usize,
    /// Line of the file it begins in, from 1.
    line: u64,
    pub index: String,
    pub passage: String,
    pub question: String,
    question_type: String,
    input_lang: String,
    pub target: String,
}

/// Reads the English stories of a copy of the repository. `pack` is the English pack.
pub fn read(folder: &Path, pack: &Pack) -> Result<Vec<ReleasedItem>> {
    let path = folder.join("data/en.csv");
    let bytes = std::fs::read(&path).map_err(|e| {
        Error::io("cannot read", &path, e).help("the folder must be a copy of the released repository, with its data/")
    })?;
    parse(&path.display().to_string(), &bytes, pack)
}

/// Parses the English file, in its order. `pack` is the English pack; `name` stands in errors.
pub fn parse(name: &str, bytes: &[u8], pack: &Pack) -> Result<Vec<ReleasedItem>> {
    let rows = rows(name, bytes)?;
    let mut seen = BTreeSet::new();
    let item = |row: Row| {
        if !seen.insert(row.index.clone()) {
            return Err(row.fault(name, COLUMNS[0], format!("the index {:?} stands twice", row.index)));
        }
        row.item(name, pack)
    };
    rows.into_iter().map(item).collect()
}

impl Row {
    fn fault(&self, name: &str, column: &str, what: impl Into<String>) -> Error {
        Error::new(what).at(format!("{name}, row {} (line {}), column {column:?}", self.number, self.line))
    }

    fn item(self, name: &str, pack: &Pack) -> Result<ReleasedItem> {
        let fault = |column: &str, what: String| self.fault(name, column, what);
        if self.index.is_empty() {
            return Err(fault(COLUMNS[0], "the index is empty".to_owned()));
        }
        let task: SourceTask = self.question_type.parse().map_err(|e| fault("question_type", e))?;
        if task.is_late() {
            return Err(fault("question_type", format!("{task}, expected qa1 to qa10")));
        }
        if self.input_lang != pack.code() {
            return Err(fault("input_lang", format!("{:?}, expected {:?}", self.input_lang, pack.code())));
        }
        let read = |column: &str, sentence: &str| -> Result<Message> {
            pack.read(sentence).map_err(|e| fault(column, format!("{e}: {sentence:?}")))
        };
        let fact = |sentence: String| {
            let fact = Fact::of(read("passage", &sentence)?);
            fact.ok_or_else(|| fault("passage", format!("a question among the facts: {sentence:?}")))
        };
        let facts = sentences(&self.passage).map(fact).collect::<Result<Vec<Fact>>>()?;
        let question = Question::of(read("question", &self.question)?).ok_or_else(|| {
            fault("question", format!("a statement where a question is expected: {:?}", self.question))
        })?;
        if !asks(task, question) {
            return Err(fault("question", format!("not a question of {task}: {:?}", self.question)));
        }
        if self.target.is_empty() {
            return Err(fault("target", "the answer is empty".to_owned()));
        }
        Ok(ReleasedItem {
            story: Story { task, facts, question },
            label: label_of(&self.target, question, pack),
            label_text: self.target,
            question_text: self.question,
            index: self.index,
            row: self.number,
        })
    }
}

/// The sentences of a passage, which single spaces join. Whatever else stands between two of them is left to one of
/// them, and no pattern writes it.
fn sentences(passage: &str) -> impl Iterator<Item = String> {
    let mut pieces = passage.split(". ").peekable();
    std::iter::from_fn(move || {
        let piece = pieces.next()?;
        Some(if pieces.peek().is_some() { format!("{piece}.") } else { piece.to_owned() })
    })
}

/// The rows of a file; `name` stands in errors.
pub(crate) fn rows(name: &str, bytes: &[u8]) -> Result<Vec<Row>> {
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader.headers().map_err(|e| malformed(name, &e))?.clone();
    let known = |(n, column): (usize, &str)| COLUMNS.get(n) == Some(&column) || n == 0 && column.is_empty();
    if header.len() != COLUMNS.len() || !header.iter().enumerate().all(known) {
        return Err(Error::new(format!(
            "the columns are {:?}, expected {COLUMNS:?} (the first may be empty)",
            header.iter().collect::<Vec<_>>()
        ))
        .at(format!("{name}, line 1")));
    }
    let mut rows = Vec::new();
    for (n, record) in reader.into_records().enumerate() {
        let record = record.map_err(|e| malformed(name, &e))?;
        let line = record.position().map_or(0, csv::Position::line);
        let mut fields = record.iter().map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        rows.push(Row {
            number: n + 1,
            line,
            index: next(),
            passage: next(),
            question: next(),
            question_type: next(),
            input_lang: next(),
            target: next(),
        });
    }
    if rows.is_empty() {
        return Err(Error::new("the file holds no rows").at(name));
    }
    if bytes.last() != Some(&b'\n') {
        return Err(Error::new("the file is truncated: its last line has no line end")
            .at(format!("{name}, row {}", rows.len()))
            .help("fetch it again"));
    }
    Ok(rows)
}

/// What is wrong with the bytes of a file, and where.
fn malformed(name: &str, cause: &csv::Error) -> Error {
    let place = |position: &csv::Position| match position.record() {
        // The header counts as a record.
        0 => format!("{name}, line {}", position.line()),
        row => format!("{name}, row {row} (line {})", position.line()),
    };
    let (what, position) = match cause.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            (format!("a row of {len} fields, expected {expected_len}"), pos.as_ref())
        }
        csv::ErrorKind::Utf8 { pos, err } => {
            let column = COLUMNS.get(err.field()).copied().unwrap_or("?");
            (format!("column {column:?} is not UTF-8"), pos.as_ref())
        }
        _ => (cause.to_string(), cause.position()),
    };
    let error = Error::new(what);
    match position {
        Some(position) => error.at(place(position)),
        None => error.at(name),
    }
}
