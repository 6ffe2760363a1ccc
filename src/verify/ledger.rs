//! What digests say of each other: those of rows and columns, of files, of the release, and of the manifest.

use super::bytes::{Bytes, SINCE_4};
use super::{Checker, Finding, Report, locate};
use crate::card;
use crate::digests::{self, Digests, FileDigests};
use crate::hash::{Digest, release_digest};
use crate::manifest::Manifest;
use crate::provenance;
use crate::stage::stats::DataFile;
use crate::table::schema_of;
use std::collections::BTreeSet;
use std::path::Path;

/// The digests that a release publishes, and what is wrong with them.
pub(super) fn read(folder: &Path, manifest: &Manifest, bytes: &Bytes) -> (Digests, Vec<Finding>) {
    let (rows, columns) = (digests::ROWS, digests::COLUMNS);
    if manifest.format < 4 || [rows, columns].iter().any(|name| bytes.damaged.contains(*name)) {
        return (Digests::new(), Vec::new());
    }
    match digests::read(folder) {
        Ok(digests) => (digests, Vec::new()),
        Err(e) => (Digests::new(), vec![Finding::of(rows, None, e.to_string())]),
    }
}

impl Bytes {
    /// Says of damaged data files where they are damaged.
    pub(super) fn place(&mut self, folder: &Path, manifest: &Manifest, digests: &Digests) {
        let damaged =
            |finding: &Finding| self.damaged.contains(&finding.file) && self.found.contains_key(&finding.file);
        let of_data = |finding: &Finding| finding.file.starts_with("data/") && finding.file.ends_with(".parquet");
        let place = |finding: Finding| match damaged(&finding) && of_data(&finding) {
            true => locate::locate(folder, &finding.file, manifest.format, digests.get(&finding.file), finding.what),
            false => finding,
        };
        self.findings = std::mem::take(&mut self.findings).into_iter().map(place).collect();
    }
}

/// The report of a look at bytes and digests alone.
pub(super) fn quick(manifest: &Manifest, digests: &Digests, bytes: Bytes) -> Report {
    let mut report = Report {
        release: manifest.title(),
        files: manifest.files.len() as u64,
        rows: manifest.rows,
        unchecked: vec!["what the rows say (--quick)".to_owned()],
        compact: bytes.is_compact(),
        ..Report::default()
    };
    let sum = release_digest(manifest.files.iter().map(|file| (file.path.as_str(), file.rows_digest)));
    report.rows_digest = Some(sum);
    bytes.findings.iter().for_each(|finding| report.add(finding.clone()));
    let mut more = Vec::new();
    let mut find = |file: &str, what: String| more.push(Finding::of(file, None, what));
    if sum != manifest.rows_digest {
        find("manifest.json", format!("its files' rows digests come to {sum}, it says {}", manifest.rows_digest));
    }
    // Of a compact release they are put together when they are read.
    for file in manifest.files.iter().filter(|_| !bytes.is_compact()) {
        same_bytes(&bytes, &file.path, file.sha256, file.bytes, &mut find);
    }
    for pin in &manifest.pins {
        same_bytes(&bytes, &pin.path, pin.sha256, pin.bytes, &mut find);
    }
    consistent(manifest, digests, &bytes, &mut find);
    let whole = |finding: &Finding| !bytes.damaged.contains(&finding.file);
    more.into_iter().filter(whole).for_each(|finding| report.add(finding));
    report.findings.sort_by(|a, b| (&a.file, &a.row, &a.what).cmp(&(&b.file, &b.row, &b.what)));
    report
}

fn same_bytes(bytes: &Bytes, path: &str, sha256: Digest, size: u64, find: &mut dyn FnMut(&str, String)) {
    match bytes.found.get(path) {
        Some(found) if *found == (sha256, size) => {}
        Some(_) => find(path, "the manifest gives another size or SHA-256".to_owned()),
        None => find(path, "the manifest names it, and it is not there".to_owned()),
    }
}

/// What manifest, statement and digests say of each other.
pub(super) fn check(checker: &Checker<'_>, manifest: &Manifest) {
    consistent(manifest, &checker.digests, &checker.bytes, &mut |file, what| checker.find(file, None, what));
}

fn consistent(manifest: &Manifest, digests: &Digests, bytes: &Bytes, find: &mut dyn FnMut(&str, String)) {
    let since_4 = manifest.recipe_sha256.is_some() || !manifest.outputs.is_empty();
    let sized = manifest.files.iter().any(|file| file.data_bytes > 0);
    let since_5 = sized || !manifest.source_licences.is_empty() || !manifest.errata.is_empty();
    if since_4 && manifest.format < 4 || since_5 && manifest.format < 5 {
        find("manifest.json", format!("has keys that format {} does not have", manifest.format));
    }
    if manifest.format < 4 {
        return;
    }
    let five: &[&str] = if manifest.format < 5 { &[] } else { &card::FILES };
    for (names, since) in [(SINCE_4.as_slice(), 4), (five, 5)] {
        for name in names {
            if !bytes.found.contains_key(*name) && !bytes.damaged.contains(*name) {
                find(name, format!("is missing: releases have it since format {since}"));
            }
        }
    }
    let recipe = bytes.found.get("recipe.toml").map(|(digest, _)| *digest);
    if manifest.recipe_sha256.is_none() || manifest.recipe_sha256 != recipe {
        find("recipe.toml", "has another SHA-256 than the manifest gives it".to_owned());
    }
    let sums = bytes.full(manifest);
    let said = bytes.found.get(provenance::FILE).map(|(digest, _)| *digest);
    // Where other files are damaged or unlisted, those who list them have told it.
    if bytes.findings.is_empty() && said.is_some_and(|said| said != Digest::of(provenance::statement(manifest, &sums)))
    {
        find(provenance::FILE, "is not the statement that this release makes of itself".to_owned());
    }
    if digests.is_empty() && !manifest.files.is_empty() {
        return;
    }
    for file in &manifest.files {
        let known = digests.get(&file.path);
        let columns = known.map_or(0, |known| known.columns.len());
        if known.is_none_or(|known| known.rows_digest() != file.rows_digest) && !(known.is_none() && file.rows == 0) {
            find(digests::ROWS, format!("its digests of {} do not come to the manifest's", file.path));
        }
        if columns != schema_of(manifest.format).fields().len() {
            find(digests::COLUMNS, format!("has {columns} columns of {}", file.path));
        }
    }
    for path in digests.keys().filter(|path| !manifest.files.iter().any(|file| file.path == **path)) {
        find(digests::ROWS, format!("names {path:?}, which is no file of the release"));
    }
}

/// Holds the digests of a file's rows and columns against those published. `faulty` rows were found to be wrong already.
pub(super) fn compare(checker: &Checker<'_>, file: &DataFile, found: &FileDigests, faulty: &BTreeSet<usize>) {
    let Some(known) = checker.digests.get(&file.path) else { return };
    let differ: Vec<usize> = (0..found.rows.len())
        .filter(|n| {
            known.rows.get(*n).is_none_or(|(id, digest)| (id, digest) != (&found.rows[*n].0, &found.rows[*n].1))
        })
        .collect();
    let names = schema_of(checker.format).fields().iter();
    let columns = names.zip(found.columns.iter().zip(&known.columns)).filter(|(_, (a, b))| a != b);
    let columns: Vec<&str> = columns.map(|(name, _)| name.name().as_str()).collect();
    let column = (!columns.is_empty()).then(|| columns.join(", "));
    for n in differ.iter().filter(|n| !faulty.contains(*n)) {
        let what = format!("is not the row whose digest {} gives", digests::ROWS);
        checker.found(Finding { column: column.clone(), ..Finding::of(&file.path, Some(&found.rows[*n].0), what) });
    }
    if differ.is_empty() && !columns.is_empty() {
        let what = format!("other digests than its rows come to, of {}: {}", file.path, columns.join(", "));
        checker.find(digests::COLUMNS, None, what);
    }
}
