//! Where prompt rows come from: files and folders of all kinds, brought here and made such that any row can be looked up.

use super::prompts::{self, FILE, ROW};
use super::spool::{self, Spool};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::remote::Place;
use crate::report::Progress;
use crate::table;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that a batch of a copy holds, in bytes of prompts.
const BATCH: usize = 8 << 20;

/// All files of rows in these places, and what they are called; those behind a network are brought to the folder `beside`.
pub(super) fn all(rows: &[Place], beside: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    for place in rows {
        match place.is_local() {
            Some(path) => gather(path, &mut files)?,
            None => fetched(place, beside, &mut files)?,
        }
    }
    Ok(files)
}

/// Files of rows below a path, by name, and what they are called.
fn gather(path: &Path, files: &mut Vec<(PathBuf, String)>) -> Result<()> {
    if !path.exists() {
        return Err(Error::new(format!("{} is not there", path.display()))
            .help("give the folder that the prompt rows were written to"));
    }
    if !path.is_dir() {
        files.push((path.to_owned(), path.display().to_string()));
        return Ok(());
    }
    for (name, _) in Place::of(path).list("")?.into_iter().filter(|(name, _)| is_of_rows(name)) {
        let file = path.join(name);
        files.push((file.clone(), file.display().to_string()));
    }
    Ok(())
}

/// Brings files of rows from behind a network.
fn fetched(place: &Place, beside: &Path, files: &mut Vec<(PathBuf, String)>) -> Result<()> {
    let all = place.list("")?;
    let own = all.iter().filter(|(name, _)| is_of_rows(name));
    let progress = Arc::new(Progress::new("fetch", own.clone().map(|(_, bytes)| bytes).sum(), "bytes"));
    let told = place.clone().told(progress);
    for (name, bytes) in own {
        let to = beside.join(format!("{}.fetched", Digest::of(format!("{bytes} {place}/{name}"))));
        if !to.is_file() {
            told.fetch(name, &to, None)?;
        }
        files.push((to, format!("{place}/{name}")));
    }
    Ok(())
}

/// Does a name inside a folder look like one of a file of rows? What is being written, and what engines put beside their rows, does not.
fn is_of_rows(name: &str) -> bool {
    let plain = name.split('/').all(|part| !part.starts_with(['.', '_']));
    plain && [".arrow", ".arrows", ".parquet"].iter().any(|end| name.ends_with(end))
}

/// Copies rows so that they can be looked up: each batch holds rows of one data file, one behind the other.
pub(super) fn copy(path: &Path, beside: &Path) -> Result<PathBuf> {
    let mut out = Spool::create(&Place::of(beside), false)?;
    for batch in spool::batches(path)? {
        let batch = conform(&batch?).map_err(|e| e.at(path.display()))?;
        let files = batch.column_by_name(FILE).expect("conformed").as_primitive::<Int32Type>().values();
        let rows = batch.column_by_name(ROW).expect("conformed").as_primitive::<Int32Type>().values();
        let mut start = 0;
        while start < batch.num_rows() {
            let mut bytes = 0;
            let goes_on = |n: &usize| {
                bytes += table::text(&batch, "prompt", *n).len();
                let place = i64::from(rows[start]) + (*n - start) as i64;
                *n == start || files[*n] == files[start] && i64::from(rows[*n]) == place && bytes <= BATCH
            };
            let n = (start..batch.num_rows()).take_while(goes_on).count();
            out.write(&batch.slice(start, n))?;
            start += n;
        }
    }
    let name = format!("{}.arrow", Digest::of(path.as_os_str().as_encoded_bytes()));
    out.close(&name)?;
    Ok(beside.join(name))
}

/// The columns of prompt rows, in our types: engines have other names for the elements of lists, and other binaries.
fn conform(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = prompts::SCHEMA.fields().iter().map(|field| {
        let column = batch.column_by_name(field.name()).ok_or_else(|| {
            Error::new(format!("the prompt rows have no column {:?}", field.name()))
                .help("hand on all columns that `nihbuild worker render` gives")
        })?;
        if column.data_type() == field.data_type() {
            return Ok(column.clone());
        }
        arrow_cast::cast(column, field.data_type())
            .map_err(|e| Error::new(format!("the column {:?} is {}: {e}", field.name(), column.data_type())))
    });
    RecordBatch::try_new(prompts::SCHEMA.clone(), columns.collect::<Result<_>>()?)
        .map_err(|e| Error::new(format!("these are no prompt rows: {e}")))
}
