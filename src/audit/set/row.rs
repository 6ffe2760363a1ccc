//! A row of a prompt set: the values of its columns, as what they mean.

use super::columns::{Columns, Role};
use super::input::Record;
use super::lengths::Nominal;
use crate::error::{Error, Result};
use serde_json::Value;

/// A row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// From 1.
    pub number: u64,
    /// Its id, or none.
    pub id: Option<String>,
    /// What a model is asked.
    pub prompt: String,
    /// The text that holds the answer, where a column has it.
    pub context: Option<String>,
    /// The question, where a column has it.
    pub question: Option<String>,
    /// The accepted answers, where a column has them.
    pub answers: Option<Vec<String>>,
    /// The length as its column has it.
    pub length: Option<String>,
    /// The length it should have.
    pub nominal: Option<Nominal>,
    /// A length that was not asked for by name and is none that prompts are made for, such as a count of words.
    pub measured: bool,
    /// Where a column says the gold stands.
    pub position: Option<String>,
    /// Texts that should not hold the answer, where a column has them.
    pub distractors: Option<Vec<String>>,
    /// Code of its language.
    pub language: Option<String>,
    /// Its task.
    pub task: Option<String>,
    /// It was cut from a longer prompt.
    pub cut: bool,
}

impl Row {
    /// Reads a row.
    ///
    /// # Errors
    ///
    /// A value of the wrong kind, with its column.
    pub fn of(number: u64, record: &Record, columns: &Columns) -> Result<Row> {
        let texts = |role: Role| -> Result<Vec<String>> {
            let mut all = Vec::new();
            for column in columns.of(role) {
                if let Some(value) = find(record, column) {
                    gather(value, &mut all).map_err(|kind| wrong(column, kind, "a text or a list of texts"))?;
                }
            }
            Ok(all)
        };
        let text = |role: Role| -> Result<Option<String>> {
            let mut parts = Vec::new();
            for column in columns.of(role) {
                match find(record, column) {
                    None | Some(Value::Null) => {}
                    Some(value) => parts.push(single(value).map_err(|kind| wrong(column, kind, "a text"))?),
                }
            }
            Ok((!parts.is_empty()).then(|| parts.join("\n")))
        };
        // JSON rows may differ in their keys; those asked for by name, and that of the prompt, must be there.
        if let Some(column) = columns.given().find(|column| find(record, column).is_none()) {
            return Err(absent(column, record));
        }
        let prompt = text(Role::Prompt)?;
        let context = text(Role::Context)?;
        if prompt.is_none() && context.is_none() {
            let column = columns.of(Role::Prompt).first().or(columns.of(Role::Context).first());
            return Err(absent(column.map_or("", String::as_str), record));
        }
        let question = text(Role::Question)?;
        let has = |role: Role| !columns.of(role).is_empty();
        let mut row = Row {
            number,
            id: text(Role::Id)?,
            answers: has(Role::Answers).then(|| texts(Role::Answers)).transpose()?,
            distractors: has(Role::Distractors).then(|| texts(Role::Distractors)).transpose()?,
            position: text(Role::GoldPosition)?,
            language: text(Role::Language)?.map(|language| language.trim().to_lowercase()),
            task: text(Role::Task)?,
            cut: text(Role::Cut)?.is_some_and(|text| !text.is_empty()),
            ..Row::default()
        };
        if let Some(length) = text(Role::Length)? {
            let given = columns.is_given(Role::Length);
            match Nominal::parse(&length) {
                Some(nominal) => {
                    let usual = nominal.is_none_or(|n| n.tokens % 1000 == 0 || n.tokens % 1024 == 0);
                    row.nominal = nominal.filter(|_| usual || given);
                    row.measured = !usual && !given;
                }
                None if given => {
                    return Err(Error::new(format!(
                        "the column {:?} holds {length:?}, expected a length such as 8k or 8192",
                        columns.of(Role::Length)[0]
                    )));
                }
                None => row.measured = true,
            }
            row.length = Some(length);
        }
        row.prompt = prompt
            .unwrap_or_else(|| [context.as_deref(), question.as_deref()].map(Option::unwrap_or_default).join("\n"));
        row.context = context;
        row.question = question;
        Ok(row)
    }
}

fn absent(column: &str, record: &Record) -> Error {
    let keys: Vec<&str> = record.keys().map(String::as_str).collect();
    Error::new(format!("the row has no value in the column {column:?}, only in {}", keys.join(", ")))
}

fn wrong(column: &str, kind: &str, wanted: &str) -> Error {
    Error::new(format!("the column {column:?} holds {kind}, expected {wanted}"))
}

/// The value of a column, or of a field in it.
fn find<'a>(record: &'a Record, column: &str) -> Option<&'a Value> {
    record.get(column).or_else(|| {
        let (top, rest) = column.split_once('.')?;
        rest.split('.').try_fold(record.get(top)?, |value, key| value.get(key))
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn single(value: &Value) -> std::result::Result<String, &'static str> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        other => Err(kind(other)),
    }
}

/// The texts of a value; an object with a list `text` is SQuAD's way to write answers, with `answers` our own by language.
fn gather(value: &Value, all: &mut Vec<String>) -> std::result::Result<(), &'static str> {
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter().try_for_each(|item| gather(item, all))?,
        Value::Object(fields) => match fields.get("text").or_else(|| fields.get("answers")) {
            Some(texts) => gather(texts, all)?,
            None => return Err("an object without `text`"),
        },
        Value::String(text) => match written_list(text) {
            Some(items) => all.extend(items),
            None => all.push(text.clone()),
        },
        other => all.push(single(other)?),
    }
    Ok(())
}

/// A list written out in a table's cell, in JSON or as Python prints it.
fn written_list(text: &str) -> Option<Vec<String>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    if let Ok(items) = serde_json::from_str::<Vec<Value>>(text) {
        return items.iter().map(|item| single(item).ok()).collect();
    }
    let (mut items, mut rest) = (Vec::new(), inside.trim());
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (mut item, mut chars, mut closed) = (String::new(), rest[1..].char_indices(), None);
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => item.push(chars.next()?.1),
                c if c == quote => {
                    closed = Some(at + 2);
                    break;
                }
                c => item.push(c),
            }
        }
        items.push(item);
        rest = rest[closed?..].trim_start();
        rest = match rest.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(items)
}
