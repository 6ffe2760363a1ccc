//! The last steps of a compact build: the index, the proof that it gives every row again, and the sums; and their check.

use super::{FULL_SUMS, FileIndex, INDEX, Index, Layout, Parts, Release, RowsPart};
use crate::digests::RowDigests;
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::{Digest, RowEncoder, RowsHasher};
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::report::Progress;
use crate::stage::journal::{ASIDE, Journal};
use crate::stage::stats::DataFile;
use crate::stage::write::Shape;
use crate::store::write_aside;
use crate::table::{self, FileConstants};
use crate::verify::{Bytes, Finding, list};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const SUMS: &str = "SHA256SUMS";

/// Writes the texts and the index of a compact build, and proves that they give every row again.
pub(crate) fn write_index(
    plan: &Plan,
    files: &[Shape],
    journal: &Journal,
    texts: impl FnOnce(&mut Parts) -> Result<Vec<Layout>>,
) -> Result<()> {
    let mut parts = Parts::new(&journal.folder);
    journal.rows().into_iter().for_each(|part| parts.enter(part));
    let layouts = texts(&mut parts)?;
    let files = files.iter().zip(layouts).map(|(shape, layout)| FileIndex {
        path: shape.file.path(),
        rows: RowsPart::path(&shape.file.config),
        groups: shape.groups.iter().map(|(rows, _)| *rows).collect(),
        messages: FileConstants::of(plan, &shape.file).messages,
        layout,
    });
    let index = Index { format: super::FORMAT, files: files.collect(), parts: parts.finish() };
    let json = serde_json::to_string_pretty(&index).expect("plain data") + "\n";
    write_aside(&journal.folder.join(INDEX), |out| out.write_all(json.as_bytes()))?;
    prove(&journal.folder, &journal.done())
}

/// Puts every row together again, and holds the rows digest of each file against the one that was written.
pub(crate) fn prove(folder: &Path, files: &BTreeMap<String, DataFile>) -> Result<()> {
    let release = Release::open(folder, crate::manifest::FORMAT)?;
    let progress = Progress::new("prove", files.values().map(|file| file.rows).sum(), "rows");
    let check = |index: &FileIndex| -> Result<()> {
        let file = release.file(index)?;
        let (mut rows, mut encoder, mut desk) = (RowsHasher::default(), RowEncoder::default(), Default::default());
        for group in 0..index.groups.len() {
            let batch = file.group(group, &mut desk)?;
            for row in 0..batch.num_rows() {
                let prompt = Digest::of(table::text(&batch, "prompt", row)).to_string();
                if prompt != table::text(&batch, "prompt_sha256", row) {
                    fail!("the prompt of {} is put together otherwise", table::text(&batch, "id", row));
                }
                rows.push(&RowDigests::of(&batch, row, &mut encoder).row);
            }
            progress.add(batch.num_rows() as u64);
            desk.reclaim(batch);
        }
        if files.get(&index.path).is_none_or(|file| file.rows_digest != rows.finish()) {
            fail!("the compact form gives other rows");
        }
        Ok(())
    };
    let place =
        |index: &FileIndex| check(index).map_err(|e| e.at(&index.path).help("this is a bug: no release was written"));
    release.index.files.par_iter().with_max_len(1).try_for_each(place)?;
    progress.finish();
    Ok(())
}

/// Makes the folder of a release whose data lies in parts a compact one: the full release's sums become a part of it, and it
/// gets its own.
pub(crate) fn seal(folder: &Path) -> Result<()> {
    let (sums, full) = (folder.join(SUMS), folder.join(FULL_SUMS));
    std::fs::rename(&sums, &full).map_err(|e| Error::io("cannot rename to", &full, e))?;
    let mut names = Vec::new();
    list(folder, "", &mut names);
    // The journal, and what it keeps.
    names.retain(|name| !name.starts_with(ASIDE));
    names.sort();
    let mut lines = String::new();
    for name in names {
        lines += &format!("{}  {name}\n", Digest::of_file(&folder.join(&name))?.0);
    }
    write_aside(&sums, |out| out.write_all(lines.as_bytes()))
}

/// Digests by path, as a file of sums lists them.
fn read_sums(path: &Path) -> Result<BTreeMap<String, Digest>> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io("cannot read", path, e))?;
    let line = |line: &str| {
        let (hex, name) = line.split_once("  ")?;
        Some((name.to_owned(), Digest::parse(hex)?))
    };
    text.lines()
        .map(|text| line(text).ok_or_else(|| Error::new(format!("{}: line {text:?} is no sum", path.display()))))
        .collect()
}

/// What is wrong with a compact release as a set of files, beside what is wrong with its bytes: its index names all parts
/// and no others, and the full release's sums agree with it and with the manifest.
pub(crate) fn check(folder: &Path, manifest: &Manifest, bytes: &Bytes) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let known = |file: &str| bytes.findings.iter().any(|finding| finding.file == file);
    let mut find = |file: &str, what: String| {
        if !known(file) && !findings.iter().any(|finding| finding.file == file) {
            findings.push(Finding::of(file, None, what));
        }
    };
    let index = match Index::read(folder) {
        Ok(index) => index,
        Err(e) => {
            find(INDEX, e.to_string());
            return findings;
        }
    };
    let full = match read_sums(&folder.join(FULL_SUMS)) {
        Ok(full) => full,
        Err(e) => {
            find(FULL_SUMS, e.to_string());
            return findings;
        }
    };
    let own: BTreeMap<String, Digest> = bytes.found.iter().map(|(name, (digest, _))| (name.clone(), *digest)).collect();
    let is_part = |name: &str| name.starts_with("compact/") && name != INDEX && name != FULL_SUMS;
    for (name, digest) in own.iter().filter(|(name, _)| is_part(name)) {
        match index.parts.get(name) {
            Some(said) if said == digest => {}
            Some(said) => find(name, format!("has SHA-256 {digest}, {INDEX} says {said}")),
            None => find(name, format!("is no part that {INDEX} names")),
        }
    }
    let rows = index.files.iter().map(|file| file.rows.as_str());
    let named: Vec<&str> = rows.chain(index.files.iter().flat_map(|file| file.layout.parts())).collect();
    for name in index.parts.keys().map(String::as_str).chain(named) {
        if !is_part(name) || !own.contains_key(name) {
            find(INDEX, format!("names the part {name:?}, which is not there"));
        }
    }
    if !index.files.iter().map(|file| &file.path).eq(manifest.files.iter().map(|file| &file.path)) {
        find(INDEX, "its data files are not those of the manifest".to_owned());
    }
    for (index, file) in index.files.iter().zip(&manifest.files) {
        if index.groups.iter().fold(0, |sum: u64, n| sum.saturating_add(*n)) != file.rows {
            find(INDEX, format!("the groups of {} are not the {} rows of the manifest", file.path, file.rows));
        }
    }
    let expected = bytes.full(manifest);
    // Where SHA256SUMS or a file of it are at fault, that was said.
    if bytes.findings.is_empty() && expected != full {
        let differs = |(name, digest): &(&String, &Digest)| full.get(*name) != Some(*digest);
        let first = expected.iter().find(differs).map(|(name, _)| name);
        let first = first.or_else(|| full.keys().find(|name| !expected.contains_key(*name)));
        let first = first.map_or("", String::as_str);
        find(FULL_SUMS, format!("is not what manifest and files give, first in {first:?}"));
    }
    findings
}
