//! Checks of a release's bytes: SHA256SUMS against the files, and both against the statement of provenance.
//!
//! A file's digest stands in two places. Where one of them and the file disagree with the other, that other one is at
//! fault: so one changed byte is one finding, about the file that it is in.

use super::Finding;
use super::layout::{is_inside, list};
use crate::card;
use crate::compact;
use crate::digests;
use crate::hash::Digest;
use crate::manifest::Manifest;
use crate::provenance;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) const SUMS: &str = "SHA256SUMS";

/// What every release holds beside data and packs.
const ALWAYS: [&str; 3] = ["README.md", "manifest.json", "recipe.toml"];

/// What every release holds since format 4.
pub(super) const SINCE_4: [&str; 3] = [provenance::FILE, digests::ROWS, digests::COLUMNS];

/// The bytes of a release.
#[derive(Default)]
pub(crate) struct Bytes {
    pub(crate) findings: Vec<Finding>,
    /// Files that are not those of the release: what they hold says nothing.
    pub(crate) damaged: BTreeSet<String>,
    /// SHA-256 and size of the files as they are.
    pub(crate) found: BTreeMap<String, (Digest, u64)>,
    /// What SHA256SUMS says.
    pub(crate) listed: BTreeMap<String, Digest>,
}

/// Every file of the release stands in SHA256SUMS with the digest it has, and nothing else is there.
pub fn check_sums(folder: &Path) -> Vec<Finding> {
    Bytes::check(folder).findings
}

impl Bytes {
    pub(crate) fn check(folder: &Path) -> Bytes {
        let mut bytes = Bytes::default();
        let mut there = Vec::new();
        list(folder, "", &mut there);
        let hash = |name: &String| {
            let path = folder.join(name);
            let regular = std::fs::symlink_metadata(&path).is_ok_and(|about| about.is_file());
            regular.then(|| Some((name.clone(), Digest::of_file(&path).ok()?))).flatten()
        };
        bytes.found = there.par_iter().with_max_len(1).filter_map(hash).collect();
        for name in &there {
            if !bytes.found.contains_key(name) {
                bytes.find(name, "is no regular file, or cannot be read");
                bytes.damaged.insert(name.clone());
            }
        }
        let Ok(text) = std::fs::read(folder.join(SUMS)) else {
            bytes.find(SUMS, "is missing or cannot be read");
            return bytes;
        };
        let mut wrong = bytes.read_sums(&text);
        let as_listed = |name: &str| bytes.found.get(name).map(|(digest, _)| digest) == bytes.listed.get(name);
        let trusted = as_listed(provenance::FILE);
        let statement = std::fs::read_to_string(folder.join(provenance::FILE)).ok();
        let mut subjects = statement.as_deref().and_then(provenance::subjects);
        // Of a compact release its index names the parts.
        if let Some(subjects) = subjects.as_mut().filter(|_| bytes.is_compact() && as_listed(compact::INDEX))
            && let Ok(index) = compact::Index::read(folder)
        {
            subjects.extend(index.parts);
        }
        bytes.compare(subjects.as_ref(), trusted, &mut wrong);
        let lines = |(name, digest): (&String, &Digest)| format!("{digest}  {name}\n");
        if wrong.is_empty() && text != bytes.listed.iter().map(lines).collect::<String>().as_bytes() {
            wrong.push("is not written as a build writes it: a line a file, sorted by path".to_owned());
        }
        if let Some(first) = wrong.first() {
            let more = if wrong.len() > 1 { format!(" (and {} more)", wrong.len() - 1) } else { String::new() };
            bytes.find(SUMS, format!("{first}{more}"));
        }
        let data = if bytes.is_compact() { "compact/" } else { "data/" };
        for name in there.iter().filter(|name| !is_known(name, data)) {
            if bytes.listed.contains_key(name) {
                bytes.find(name, "is no file of a release");
            }
        }
        bytes
    }

    fn find(&mut self, file: &str, what: impl Into<String>) {
        self.findings.push(Finding::of(file, None, what));
    }

    /// Reads SHA256SUMS; what is wrong with its lines.
    fn read_sums(&mut self, text: &[u8]) -> Vec<String> {
        let mut wrong = Vec::new();
        if text.is_empty() {
            wrong.push("lists nothing".to_owned());
        }
        for (n, line) in text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
            let line = String::from_utf8_lossy(line);
            let at = n + 1;
            let digest = |hex: &str| Digest::parse(hex).filter(|digest| digest.to_string() == hex);
            match line.split_once("  ").and_then(|(hex, name)| Some((name, digest(hex)?))) {
                Some((name, digest)) if is_inside(name) => {
                    if self.listed.insert(name.to_owned(), digest).is_some() {
                        wrong.push(format!("line {at} names {name:?} once more"));
                    }
                }
                Some((name, _)) => wrong.push(format!("line {at} names {name:?}, which is not inside the release")),
                None => wrong.push(format!("line {at} is not `<SHA-256>  <path>`: {line:?}")),
            }
        }
        wrong
    }

    fn compare(&mut self, subjects: Option<&BTreeMap<String, Digest>>, trusted: bool, wrong: &mut Vec<String>) {
        // Where all that it says holds, the statement itself is one that is only not listed.
        let holds = |(name, digest): (&String, &Digest)| self.found.get(name).is_some_and(|(found, _)| found == digest);
        let vouched = subjects.is_some_and(|subjects| subjects.iter().all(holds));
        let own = self
            .found
            .get(provenance::FILE)
            .map(|(found, _)| *found)
            .filter(|_| vouched && !self.listed.contains_key(provenance::FILE));
        let second = |name: &str| match name == provenance::FILE {
            true => own,
            false => subjects.and_then(|subjects| subjects.get(name).copied()),
        };
        let mut names: BTreeSet<String> = self.listed.keys().chain(self.found.keys()).cloned().collect();
        // The statement of a compact release is that of the full one, whose data it has in other form.
        let is_here = |name: &&String| !(self.is_compact() && name.starts_with("data/"));
        names.extend(subjects.into_iter().flat_map(BTreeMap::keys).filter(is_here).cloned());
        names.extend(ALWAYS.map(str::to_owned));
        names.remove(SUMS);
        let mut strange = Vec::new();
        // With a line that cannot be right, a file without one is that line's.
        let unlisted = self.found.keys().any(|name| name != SUMS && !self.listed.contains_key(name));
        let unsure = !wrong.is_empty() || self.listed.keys().any(|name| !self.found.contains_key(name));
        for name in names {
            let (first, second) = (self.listed.get(&name).copied(), second(&name));
            match (self.found.get(&name).copied(), first, second) {
                (Some((found, _)), Some(first), second) if found == first => {
                    if trusted && second.is_some_and(|second| second != found) {
                        strange.push(name);
                    }
                }
                (Some((found, _)), Some(_), Some(second)) if found == second => {
                    wrong.push(format!(
                        "gives {name} another SHA-256 than it has, and than {} gives it",
                        provenance::FILE
                    ));
                }
                (Some((found, size)), Some(first), _) => {
                    self.find(&name, format!("its {size} bytes have SHA-256 {found}, SHA256SUMS says {first}"));
                    self.damaged.insert(name);
                }
                (Some((found, _)), None, Some(second)) if found == second => {
                    wrong.push(format!("has no line for {name}"));
                }
                (Some(_), None, None) if unsure => wrong.push(format!("has no line for {name}")),
                (Some(_), None, _) => self.find(&name, "is not listed in SHA256SUMS"),
                (None, Some(_), None) if unlisted || subjects.is_some() && name != provenance::FILE => {
                    wrong.push(format!(
                        "names {name:?}, which is not there and which {} does not name",
                        provenance::FILE
                    ));
                }
                // Told already where it is there and no regular file.
                (None, Some(_), _) if self.damaged.contains(&name) => {}
                (None, Some(_), _) => {
                    self.find(&name, "is listed in SHA256SUMS but cannot be read");
                    self.damaged.insert(name);
                }
                (None, None, Some(_)) => self.find(&name, format!("is missing, and {} names it", provenance::FILE)),
                (None, None, None) => self.find(&name, "is missing"),
            }
        }
        if let Some(first) = strange.first() {
            let what =
                format!("gives {} files another SHA-256 than they have and SHA256SUMS says: {first}", strange.len());
            self.find(provenance::FILE, what);
        }
    }

    /// Is it a compact release?
    pub(crate) fn is_compact(&self) -> bool {
        self.found.contains_key(compact::INDEX)
    }

    /// Every file of the full release with its SHA-256, but SHA256SUMS.
    pub(crate) fn full(&self, manifest: &Manifest) -> BTreeMap<String, Digest> {
        let own = self.listed.iter().filter(|(name, _)| !name.starts_with("compact/"));
        let mut full: BTreeMap<String, Digest> = own.map(|(name, digest)| (name.clone(), *digest)).collect();
        if self.is_compact() {
            full.extend(manifest.files.iter().map(|file| (file.path.clone(), file.sha256)));
        }
        full
    }

    /// Files without which nothing can be said of the others.
    pub(super) fn beyond(&self) -> Option<&String> {
        self.damaged.iter().find(|name| {
            ["manifest.json", "recipe.toml"].contains(&name.as_str())
                || ["packs/", "compact/"].iter().any(|folder| name.starts_with(folder))
        })
    }
}

fn is_known(name: &str, data: &str) -> bool {
    let folders = [data, "packs/", "pins/"];
    name == SUMS
        || name == "judge.json"
        || ALWAYS.contains(&name)
        || SINCE_4.contains(&name)
        || card::FILES.contains(&name)
        || name == card::ON_DEMAND
        || folders.iter().any(|folder| name.starts_with(folder))
}
