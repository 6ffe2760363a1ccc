//! One row of two releases, side by side.

use super::change::{Changed, changed};
use super::columns::{Columns, json};
use super::lines::{Lines, lines};
use super::{config, open};
use crate::error::{Error, Result};
use crate::release::Release;
use crate::table::text;
use arrow_array::RecordBatch;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// A column that differs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ColumnDiff {
    /// Its name.
    pub name: String,
    /// Its value in the first release.
    pub a: Value,
    /// That in the second.
    pub b: Value,
}

/// A row of two releases.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RowDiff {
    /// Its id.
    pub id: String,
    /// The two releases: name and version, and the part of one.
    pub releases: [String; 2],
    /// Its file in each; none where the release does not have it.
    pub files: [Option<String>; 2],
    /// What changed; none where one release alone has the row, or where it is the same in both.
    pub changed: Option<Changed>,
    /// The columns that differ, but for prompts.
    pub columns: Vec<ColumnDiff>,
    /// The prompts, where they differ.
    pub prompt: Option<Lines>,
}

impl RowDiff {
    /// Is the row in both, and the same but for metadata?
    pub fn is_well(&self) -> bool {
        self.files.iter().all(Option::is_some) && !self.changed.as_ref().is_some_and(Changed::is_content)
    }
}

/// Compares one row of two releases.
pub fn row(a: &Path, b: &Path, id: &str) -> Result<RowDiff> {
    let (a, b) = open(a, b)?;
    let columns = Columns::of(&a, &b, true);
    let mut near = None;
    let found_a = find(&a, id, None, &mut near)?;
    let guess = found_a.and_then(|(file, _)| b.place(&a.files()[file].path));
    let found_b = find(&b, id, guess, &mut near)?;
    let path =
        |release: &Release, found: Option<(usize, u32)>| found.map(|(file, _)| release.files()[file].path.clone());
    let mut told = RowDiff {
        id: id.to_owned(),
        releases: [a.manifest.title(), b.manifest.title()],
        files: [path(&a, found_a), path(&b, found_b)],
        changed: None,
        columns: Vec::new(),
        prompt: None,
    };
    let (Some(at_a), Some(at_b)) = (found_a, found_b) else {
        if found_a.is_none() && found_b.is_none() {
            let near = near.map_or_else(|| "both are empty".to_owned(), |near| format!("an id is such as {near}"));
            return Err(Error::new(format!("no row {id:?} in either release")).help(near));
        }
        return Ok(told);
    };
    let (x, y) = (one(&a, at_a, &columns)?, one(&b, at_b, &columns)?);
    let mut what = changed((&x, 0), (&y, 0), &columns);
    if what.columns.is_empty() {
        return Ok(told);
    }
    for field in columns.compared().filter(|field| field.name() != "prompt" && what.columns.contains(field.name())) {
        let of = |batch: &RecordBatch| {
            batch.column_by_name(field.name()).map_or(Value::Null, |array| json(array, 0, field.data_type()))
        };
        told.columns.push(ColumnDiff { name: field.name().clone(), a: of(&x), b: of(&y) });
    }
    let (p, q) = (text(&x, "prompt", 0), text(&y, "prompt", 0));
    told.prompt = (p != q).then(|| lines(p, q));
    let configs = told.files.each_ref().map(|path| path.as_deref().map_or("", config).to_owned());
    let [mine, theirs] = configs;
    (what.moved_to, what.file) = ((mine != theirs).then_some(theirs), mine);
    told.changed = Some(what);
    Ok(told)
}

/// A row of a file, whole.
fn one(release: &Release, (file, row): (usize, u32), columns: &Columns) -> Result<RecordBatch> {
    let (batch, row) = release.rows(file, &columns.read(), &[row])?.take()?;
    Ok(batch.slice(row, 1))
}

/// File and place of a row. `guess`: the file to look into first. `near` is given some id.
fn find(release: &Release, id: &str, guess: Option<usize>, near: &mut Option<String>) -> Result<Option<(usize, u32)>> {
    let rest = (0..release.files().len()).filter(|file| Some(*file) != guess);
    for file in guess.into_iter().chain(rest) {
        let (mut found, mut at) = (None, 0);
        release.each(file, &["id"], &mut |batch, row| {
            let this = text(batch, "id", row);
            near.get_or_insert_with(|| this.to_owned());
            if this == id && found.replace(at).is_some() {
                let path = &release.files()[file].path;
                return Err(Error::new(format!("the id {id:?} stands twice in {path}")).at(release.folder.display()));
            }
            at += 1;
            Ok(())
        })?;
        if let Some(row) = found {
            return Ok(Some((file, row)));
        }
    }
    Ok(None)
}
