//! A row as JSON: its messages, and what the scorer reads of it.

use super::To;
use super::config::{COLUMNS, PROMPT};
use crate::table::{int, read_by_language, read_messages, read_spans, text, texts};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use serde_json::{Map, Value, json};

/// What is read of a row.
pub(super) struct Row {
    prompt: String,
    system: Option<String>,
    messages: Value,
    /// The columns by name.
    columns: Map<String, Value>,
}

/// Columns that [`Row::read`] reads; those that a format lacks are null.
pub(super) fn columns() -> Vec<&'static str> {
    [&PROMPT[..], &COLUMNS[..], &["needle_spans"]].concat()
}

fn message(role: &str, content: &str) -> Value {
    json!({ "role": role, "content": content })
}

impl Row {
    pub fn read(batch: &RecordBatch, row: usize) -> Row {
        let is_there = |name: &str| batch.column_by_name(name).is_some_and(|column| !column.is_null(row));
        let prompt = text(batch, "prompt", row).to_owned();
        let system = is_there("system").then(|| text(batch, "system", row).to_owned());
        let messages = match is_there("messages") {
            true => read_messages(batch, row).iter().map(|(role, content)| message(role, content)).collect(),
            false => {
                let system = system.iter().map(|system| message("system", system));
                system.chain([message("user", &prompt)]).collect()
            }
        };
        let mut columns: Map<String, Value> = COLUMNS
            .iter()
            .map(|&name| {
                let value = if is_there(name) { value(batch, name, row) } else { Value::Null };
                (name.to_owned(), value)
            })
            .collect();
        if text(batch, "family", row) == "factoid"
            && let Some(needle) = read_spans(batch, row).first()
        {
            // What a judge compares an answer with.
            let reference = prompt.get(needle.start as usize..needle.end as usize);
            columns.insert("reference".to_owned(), reference.into());
        }
        Row { prompt, system, messages, columns }
    }

    /// What evaluators show as the right answers.
    fn targets(&self) -> Value {
        match &self.columns["expected"] {
            Value::Null => self.columns["answers"].clone(),
            expected => json!([expected]),
        }
    }

    /// As a line of an evaluator's data.
    pub fn shaped(self, to: To) -> Value {
        let (id, targets) = (self.columns["id"].clone(), self.targets());
        match to {
            To::Inspect => {
                json!({ "id": id, "input": self.messages, "target": targets, "metadata": self.columns })
            }
            To::OpenaiEvals => {
                json!({ "input": self.messages, "ideal": targets, "id": id, "row": self.columns })
            }
            To::Jsonl | To::LmEval | To::Lighteval => {
                let mut line = Map::new();
                line.insert("id".to_owned(), id);
                line.insert("messages".to_owned(), self.messages);
                line.insert("prompt".to_owned(), self.prompt.into());
                line.insert("system".to_owned(), self.system.into());
                line.extend(self.columns.into_iter().filter(|(name, _)| name != "id"));
                Value::Object(line)
            }
        }
    }
}

/// A value that is not null.
fn value(batch: &RecordBatch, name: &str, row: usize) -> Value {
    match name {
        "answers" | "answer_variants" => texts(batch, name, row).into(),
        "n_tokens" | "top_k" => int(batch, name, row).into(),
        "answerable" => batch[name].as_boolean().value(row).into(),
        "answers_by_language" => read_by_language(batch, row)
            .into_iter()
            .map(|(language, answers)| json!({ "language": language, "answers": answers }))
            .collect(),
        _ => text(batch, name, row).into(),
    }
}
