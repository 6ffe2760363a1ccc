//! Scores the rows of a release, file by file.

use super::predictions::Predictions;
use super::rule::{Gold, Scorer, Verdict};
use crate::error::{Error, Result};
use crate::parallel;
use crate::release::Release;
use crate::table::{read_by_language, text, texts};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// A row with its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    /// Its id.
    pub id: String,
    /// Instances share their story or their question: rows of one are not independent.
    pub instance: Arc<str>,
    /// Its length, as written.
    pub length: Arc<str>,
    /// Values of the columns that rows are grouped by.
    pub by: Vec<Arc<str>>,
    /// Is there a prediction?
    pub given: bool,
    /// What its output is worth; where there is none, wrong.
    pub verdict: Verdict,
    /// A judge's mark.
    pub mark: Option<u8>,
    /// Of rows that ask whether the answer is there: is it?
    pub is_there: Option<bool>,
    /// Of rows with the best sentences of a prompt: whether they answer the question, and Recall@k of the facts and of those
    /// that the answer needs, in millionths.
    pub retrieved: Option<(bool, i64, i64)>,
}

/// What is not as it should be with predictions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Ids of rows that no prediction is for, in the release's order.
    pub missing: Vec<String>,
    /// Ids that were given more than once, and where.
    pub duplicate: Vec<(String, String)>,
    /// Ids that the release does not have, and where.
    pub unknown: Vec<(String, String)>,
}

/// Columns that cannot group rows.
fn groups(kind: &DataType, name: &str) -> bool {
    matches!(kind, DataType::Utf8 | DataType::Int64 | DataType::Boolean)
        && !matches!(name, "prompt" | "system" | "prompt_sha256")
}

/// Checks the columns that rows are to be grouped by.
pub fn check_columns(release: &Release, by: &[String]) -> Result<()> {
    let fields = release.schema().fields();
    let known: Vec<&str> =
        fields.iter().filter(|f| groups(f.data_type(), f.name())).map(|f| f.name().as_str()).collect();
    for (n, name) in by.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            return Err(Error::new(format!("--by: no column {name:?} that rows can be grouped by"))
                .help(format!("there are {}", known.join(", "))));
        }
        if by[..n].contains(name) {
            return Err(Error::new(format!("--by: {name} stands there twice")));
        }
    }
    Ok(())
}

fn cell(batch: &RecordBatch, name: &str, row: usize) -> String {
    let Some(column) = batch.column_by_name(name).filter(|column| !column.is_null(row)) else { return "-".to_owned() };
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        _ => "-".to_owned(),
    }
}

/// Texts of which a file has few.
#[derive(Default)]
struct Pool(BTreeSet<Arc<str>>);

impl Pool {
    fn get(&mut self, text: &str) -> Arc<str> {
        match self.0.get(text) {
            Some(known) => known.clone(),
            None => {
                let new: Arc<str> = text.into();
                self.0.insert(new.clone());
                new
            }
        }
    }
}

/// What a row's columns say of its gold.
pub fn gold(batch: &RecordBatch, row: usize) -> Gold {
    let of = |name: &str| text(batch, name, row).to_owned();
    Gold {
        family: of("family"),
        source_task: of("source_task"),
        language: of("language"),
        question_language: of("question_language"),
        strategy: of("strategy"),
        prompt_kind: of("prompt_kind"),
        question: of("question"),
        answers: texts(batch, "answers", row),
        answer_variants: texts(batch, "answer_variants", row),
        answers_by_language: read_by_language(batch, row),
        expected: of("expected"),
    }
}

/// Scores every row of a release, in its order.
///
/// # Errors
///
/// A data file that cannot be read.
pub fn score(
    release: &Release,
    predictions: &Predictions,
    scorer: &Scorer,
    by: &[String],
    jobs: usize,
) -> Result<(Vec<Scored>, Faults)> {
    check_columns(release, by)?;
    let mut columns: Vec<&str> = super::COLUMNS.to_vec();
    columns.extend(["id", "instance_id", "length"]);
    let retrieved = release.schema().column_with_name("retriever").is_some();
    if retrieved {
        columns.extend(["retriever", "answerable", "recall", "recall_supporting"]);
    }
    columns.extend(by.iter().map(String::as_str));
    columns.sort_unstable();
    columns.dedup();
    let files: Vec<Mutex<Vec<Scored>>> = release.files().iter().map(|_| Mutex::default()).collect();
    parallel::each(jobs, files.len(), Pool::default, |file, pool| {
        let mut rows = Vec::with_capacity(release.files()[file].rows as usize);
        release.each(file, &columns, &mut |batch, row| {
            let id = text(batch, "id", row);
            let given = predictions.by_id.get(id);
            let output = given.and_then(|p| Some((p.output.as_deref()?, p.output_en.as_deref())));
            let family = text(batch, "family", row);
            let verdict = match output {
                Some((output, english)) => scorer.score(output, &gold(batch, row), english)?,
                // What only a judge marks is not wrong for want of an output.
                None if family == "factoid" || given.is_some() => Verdict::default(),
                None => Verdict::wrong(text(batch, "prompt_kind", row)),
            };
            let number =
                |name: &str| batch.column_by_name(name).map_or(0, |c| c.as_primitive::<Int64Type>().value(row));
            let is_retrieved = retrieved && batch.column_by_name("retriever").is_some_and(|c| !c.is_null(row));
            let answerable = || batch.column_by_name("answerable").is_some_and(|c| c.as_boolean().value(row));
            rows.push(Scored {
                id: id.to_owned(),
                instance: pool.get(text(batch, "instance_id", row)),
                length: pool.get(text(batch, "length", row)),
                by: by.iter().map(|name| pool.get(&cell(batch, name, row))).collect(),
                given: given.is_some(),
                verdict,
                mark: given.and_then(|p| p.mark),
                is_there: (text(batch, "prompt_kind", row) == "existence")
                    .then(|| text(batch, "expected", row).eq_ignore_ascii_case("yes")),
                retrieved: is_retrieved.then(|| (answerable(), number("recall"), number("recall_supporting"))),
            });
            Ok(())
        })?;
        *files[file].lock().unwrap_or_else(|e| e.into_inner()) = rows;
        Ok(())
    })?;
    let rows: Vec<Scored> = files.into_iter().flat_map(|f| f.into_inner().unwrap_or_else(|e| e.into_inner())).collect();
    let faults = faults(&rows, predictions);
    Ok((rows, faults))
}

fn faults(rows: &[Scored], predictions: &Predictions) -> Faults {
    let known: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let mut unknown: Vec<_> = predictions.by_id.iter().filter(|(id, _)| !known.contains(id.as_str())).collect();
    unknown.sort_by(|a, b| (&a.1.place, a.0).cmp(&(&b.1.place, b.0)));
    let at = |place: &Option<super::Place>| place.as_ref().map_or_else(String::new, |place| predictions.at(place));
    Faults {
        missing: rows.iter().filter(|row| !row.given).map(|row| row.id.clone()).collect(),
        duplicate: predictions.duplicates.iter().map(|(id, place)| (id.clone(), predictions.at(place))).collect(),
        unknown: unknown.into_iter().map(|(id, p)| (id.clone(), at(&p.place))).collect(),
    }
}

impl Verdict {
    /// That of a row without an output.
    pub fn wrong(prompt_kind: &str) -> Verdict {
        match prompt_kind {
            "existence" => Verdict { existence: Some(false), ..Verdict::default() },
            _ => Verdict { exact: Some(false), any: Some(false), existence: None },
        }
    }
}
