//! All findings as a file: JSON Lines or CSV.

use super::{Audit, Finding};
use crate::error::{Error, Result};
use crate::store::write_aside;
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes all findings; the file's ending says how: `.jsonl` or `.csv`.
pub fn write(audit: &Audit, path: &Path) -> Result<()> {
    let path = &beside(path);
    match path.extension().and_then(|e| e.to_str()) {
        Some("jsonl" | "ndjson") => write_aside(path, |out| audit.findings.iter().try_for_each(|f| line(out, f))),
        Some("csv") => write_aside(path, |out| table(out, &audit.findings)),
        _ => Err(refused(path)),
    }
}

/// Is the file one that [`write()`] can write? Asked before the work.
pub fn check(path: &Path) -> Result<()> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("jsonl" | "ndjson" | "csv") => Ok(()),
        _ => Err(refused(path)),
    }
}

fn refused(path: &Path) -> Error {
    Error::new(format!("--findings {}: the ending says no format that is written", path.display()))
        .help("end it with .jsonl or .csv")
}

/// A bare name is a file in the current folder.
pub(super) fn beside(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => path.to_owned(),
        _ => Path::new(".").join(path),
    }
}

fn line(out: &mut dyn Write, finding: &Finding) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, finding)?;
    out.write_all(b"\n")
}

/// A cell that no spreadsheet takes for a formula.
fn plain(cell: &str) -> Cow<'_, str> {
    match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{cell}")),
        false => Cow::Borrowed(cell),
    }
}

fn table(out: &mut dyn Write, findings: &[Finding]) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(["file", "row", "id", "check", "group", "what"])?;
    for Finding { file, row, id, check, group, what } in findings {
        let row = row.map_or(String::new(), |row| row.to_string());
        let id = id.as_deref().unwrap_or("");
        writer.write_record([&*plain(file), &row, &plain(id), check.key(), &plain(group), &plain(what)])?;
    }
    writer.flush()
}
