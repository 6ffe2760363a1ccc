//! Checks of a release as a whole: its files, what recipe and manifest say of them, and of themselves.

use super::{Checker, Finding};
use crate::embedder::pinned;
use crate::hash::Digest;
use crate::manifest::{Manifest, Match, canary, compare};
use crate::plan::{Cell, FilePlan, counts, files};
use crate::recipe::{EmbedderName, Family, Length, PromptKind, Ranking};
use crate::stage::select::fixed_order;
use crate::stage::write::{DataFile, Stats};
use crate::store::sorted_dir;
use crate::story::SourceTask;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

const SUMS: &str = "SHA256SUMS";

/// What every release holds beside data and packs.
const ALWAYS: [&str; 3] = ["README.md", "manifest.json", "recipe.toml"];

/// Every file of the release stands in SHA256SUMS with the digest it has, and nothing else is there.
pub fn check_sums(folder: &Path) -> Vec<Finding> {
    let finding = |file: &str, what: String| Finding { file: file.to_owned(), row: None, what };
    let Ok(text) = std::fs::read_to_string(folder.join(SUMS)) else {
        return vec![finding(SUMS, "is missing or cannot be read".to_owned())];
    };
    let mut findings = Vec::new();
    let mut listed = BTreeMap::new();
    for line in text.lines() {
        match line.split_once("  ").and_then(|(hex, name)| Some((name, Digest::parse(hex)?))) {
            Some((name, digest)) if is_inside(name) => drop(listed.insert(name.to_owned(), digest)),
            Some((name, _)) => findings.push(finding(SUMS, format!("names {name:?}, which is not inside the release"))),
            None => findings.push(finding(SUMS, format!("line {line:?} is not `<SHA-256>  <path>`"))),
        }
    }
    let mut there = Vec::new();
    list(folder, "", &mut there);
    for name in &there {
        if name != SUMS && !listed.contains_key(name) {
            findings.push(finding(name, "is not listed in SHA256SUMS".to_owned()));
        }
    }
    for name in ALWAYS {
        if !listed.contains_key(name) {
            findings.push(finding(name, "is not listed in SHA256SUMS".to_owned()));
        }
    }
    let listed: Vec<(String, Digest)> = listed.into_iter().collect();
    let wrong = listed.par_iter().filter_map(|(name, digest)| {
        let path = folder.join(name);
        let regular = std::fs::symlink_metadata(&path).is_ok_and(|about| about.is_file());
        match regular.then(|| Digest::of_file(&path)) {
            Some(Ok((found, _))) if found == *digest => None,
            Some(Ok((found, bytes))) => {
                Some(finding(name, format!("its {bytes} bytes have SHA-256 {found}, SHA256SUMS says {digest}")))
            }
            _ => Some(finding(name, "is listed in SHA256SUMS but cannot be read".to_owned())),
        }
    });
    findings.extend(wrong.collect::<Vec<_>>());
    findings
}

/// Is it a path below the release, without a way out of it?
pub fn is_inside(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Names of the files below a folder.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    for path in sorted_dir(folder).unwrap_or_default() {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && !path.is_symlink() {
            list(&path, &format!("{prefix}{name}/"), names);
        } else {
            names.push(format!("{prefix}{name}"));
        }
    }
}

impl Checker<'_> {
    pub(super) fn sums(&self) {
        for finding in check_sums(self.folder) {
            self.find(&finding.file, None, finding.what);
        }
    }

    /// What the manifest says of packs, seed and itself.
    pub(super) fn about(&self, manifest: &Manifest) {
        let find = |what: String| self.find("manifest.json", None, what);
        let languages: BTreeSet<String> = self.recipe.grid.languages.iter().map(ToString::to_string).collect();
        if !manifest.packs.keys().eq(languages.iter()) {
            find("its packs are not those of the recipe's languages".to_owned());
        }
        for (language, digest) in &manifest.packs {
            let name = format!("packs/{language}.toml");
            match self.packs.get(language) {
                None => self.find(&name, None, "is missing"),
                Some(pack) if pack.digest() != *digest => {
                    self.find(&name, None, format!("has SHA-256 {}, the manifest says {digest}", pack.digest()))
                }
                Some(_) => {}
            }
        }
        if self.recipe.release.name.0 != manifest.name || self.recipe.release.version.0 != manifest.version {
            self.find("recipe.toml", None, "is of another release than the manifest");
        }
        if manifest.licence != self.recipe.release.licence || manifest.date != self.recipe.release.date {
            find("licence or date are not the recipe's".to_owned());
        }
        if manifest.canary != canary(&manifest.name, &manifest.version) {
            find("the canary is not that of this name and version".to_owned());
        }
        if self.seed.as_ref().is_some_and(|seed| seed.digest() != manifest.seed_digest) {
            find("seed_digest is not that of the recipe's seed".to_owned());
        }
        let tokens: u64 = manifest.files.iter().map(|f| f.stats.tokens).sum();
        let rows: u64 = manifest.files.iter().map(|f| f.rows).sum();
        if (tokens, rows) != (manifest.tokens, manifest.rows) {
            find("tokens or rows are not the sums over its files".to_owned());
        }
        if manifest.family != self.recipe.family().name() {
            find(format!("family is {:?}, the recipe's is {:?}", manifest.family, self.recipe.family().name()));
        }
        let mut instances: BTreeMap<SourceTask, u64> = BTreeMap::new();
        for (source, _) in self.order(manifest) {
            *instances.entry(source).or_default() += 1;
        }
        if self.recipe.family() == Family::Reasoning && instances != manifest.instances {
            find("instances are not those that recipe and filter give".to_owned());
        }
    }

    /// The data files that recipe and filter give, with what the manifest says of each.
    pub(super) fn layout<'m>(&self, manifest: &'m Manifest) -> Vec<(&'m DataFile, FilePlan)> {
        let filter = manifest.filter.clone().unwrap_or_default();
        let expected: Vec<FilePlan> = files(self.recipe).into_iter().filter(|file| filter.keeps(file)).collect();
        for file in &manifest.files {
            if !expected.iter().any(|plan| plan.path() == file.path) {
                self.find("manifest.json", None, format!("{:?} is no file of this recipe and filter", file.path));
            }
        }
        let mut there = Vec::new();
        list(&self.folder.join("data"), "data/", &mut there);
        for name in there {
            if !expected.iter().any(|plan| plan.path() == name) {
                self.find(&name, None, "is no file of this recipe and filter");
            }
        }
        let mut plans = Vec::new();
        for plan in expected {
            match manifest.files.iter().find(|file| file.path == plan.path()) {
                Some(file) => plans.push((file, plan)),
                None => {
                    self.find(&plan.path(), None, "recipe and filter give this file, the manifest does not have it")
                }
            }
        }
        plans
    }

    /// The instances of the release, in the fixed order: source task and id.
    fn order(&self, manifest: &Manifest) -> Vec<(SourceTask, String)> {
        let order = fixed_order(&counts(self.recipe));
        let limit = manifest.filter.as_ref().and_then(|f| f.limit).map_or(order.len(), |n| n as usize);
        order.into_iter().take(limit).map(|(_, source, n)| (source, format!("{source}-{n:05}"))).collect()
    }

    /// A file holds the instances of the release in the fixed order, but for tasks that begin later.
    pub(super) fn instances(&self, file: &DataFile, ids: &[String], plan: &FilePlan, manifest: &Manifest) {
        self.bytes(file, ids.len() as u64);
        if let Some(cell) = plan.cell {
            return self.cell(file, ids, plan, cell, manifest);
        }
        let starts = |source: &SourceTask| manifest.starts.get(source).and_then(|start| start.parse::<Length>().ok());
        let holds = |source: &SourceTask| plan.length.0 == 0 || starts(source).is_none_or(|start| plan.length >= start);
        let order = self.order(manifest);
        let expected = order.iter().filter(|(source, _)| holds(source)).map(|(_, id)| id);
        if !expected.clone().eq(ids) {
            let n = expected.count();
            self.find(&file.path, None, format!("its {} rows are not the {n} instances in their order", ids.len()));
        }
    }

    /// What the manifest says of a file's size.
    fn bytes(&self, file: &DataFile, rows: u64) {
        if rows != file.rows {
            self.find(&file.path, None, format!("has {rows} rows, the manifest says {}", file.rows));
        }
        match Digest::of_file(&self.folder.join(&file.path)) {
            Ok((digest, bytes)) if (digest, bytes) == (file.sha256, file.bytes) => {}
            _ => self.find(&file.path, None, "the manifest gives another size or SHA-256"),
        }
    }

    /// A cell's file holds its questions in order, each at every position, each with its twin: the same questions as
    /// every other file of its needle and question language.
    fn cell(&self, file: &DataFile, ids: &[String], plan: &FilePlan, cell: Cell, manifest: &Manifest) {
        let positions = cell.haystack.map_or(1, |_| self.recipe.grid.positions.as_ref().map_or(1, Vec::len));
        let each = positions * if cell.prompt == PromptKind::Existence { 2 } else { 1 };
        let samples = self.recipe.grid.samples.unwrap_or_default();
        let limit = manifest.filter.as_ref().and_then(|f| f.limit).unwrap_or(samples).min(samples) as usize;
        let questions: Vec<String> = ids.iter().step_by(each).cloned().collect();
        let whole = ids.chunks(each).all(|chunk| chunk.len() == each && chunk.iter().all(|id| *id == chunk[0]));
        if !whole || questions.len() != limit {
            let what = format!("its {} rows are not {limit} questions at each position", ids.len());
            self.find(&file.path, None, what);
        }
        let key = format!("{} {}", plan.language, cell.question);
        let mut shared = self.shared.lock().expect("no thread panics");
        let (first, other) = shared.cells.entry(key).or_insert_with(|| (questions.clone(), file.path.clone()));
        if *first != questions {
            let what = format!("its questions are not those of {other}");
            drop(shared);
            self.find(&file.path, None, what);
        }
    }

    /// Pinned vectors are those that the manifest names, and can be read.
    pub(super) fn pins(&self, manifest: &Manifest) {
        for pin in &manifest.pins {
            let path = self.folder.join(&pin.path);
            let sound = is_inside(&pin.path) && pin.path.starts_with("pins/");
            match sound.then(|| Digest::of_file(&path)) {
                Some(Ok((digest, bytes))) if (digest, bytes) == (pin.sha256, pin.bytes) => {}
                _ => {
                    self.find(&pin.path, None, "is missing, or not the file that the manifest names");
                    continue;
                }
            }
            if let Err(e) = pinned::read(&path) {
                self.find(&pin.path, None, e.to_string());
            }
        }
        let mut there = Vec::new();
        list(&self.folder.join("pins"), "pins/", &mut there);
        for name in there.iter().filter(|name| !manifest.pins.iter().any(|pin| pin.path == **name)) {
            self.find(name, None, "is no pin of the manifest");
        }
    }

    /// Every ranking that rows show is in the order of the pinned vectors' scores.
    pub(super) fn ranked(&self) {
        let orders = std::mem::take(&mut self.shared.lock().expect("no thread panics").orders);
        if self.recipe.retrieval.embedder != EmbedderName::Onnx || self.recipe.retrieval.ranking != Ranking::Pivot {
            return;
        }
        let Some(scores) = Scores::read(self) else { return };
        for (instance, order) in orders {
            let values: Vec<Option<i64>> = order.iter().map(|id| scores.of(&instance, id)).collect();
            let sorted = values.windows(2).zip(order.windows(2)).all(|(v, ids)| match (v[0], v[1]) {
                // Ties go by passage number.
                (Some(a), Some(b)) => a > b || a == b && number(&ids[0]) < number(&ids[1]),
                _ => false,
            });
            if !sorted {
                self.find("data", None, format!("the distractors of {instance} are not in the order of their scores"));
            }
        }
    }

    /// What the manifest says of a file's rows. (Answerers over contexts are not counted again.)
    pub(super) fn stats(&self, file: &DataFile, found: &Stats) {
        let said = Stats { rarest: BTreeMap::new(), commonest: BTreeMap::new(), ..file.stats.clone() };
        if said != *found {
            self.find(&file.path, None, format!("its rows come to {found:?}, the manifest says {said:?}"));
        }
    }

    /// A release under an accepted name and version is the accepted one.
    pub(super) fn accepted(&self, manifest: &Manifest) {
        match compare(manifest) {
            Ok(Match::Differs(_)) => {
                let what = format!("is not the accepted {} {}", manifest.name, manifest.version);
                self.find("manifest.json", None, what);
            }
            Ok(_) => {}
            Err(e) => self.find("manifest.json", None, e.to_string()),
        }
    }
}

fn number(id: &str) -> Option<u64> {
    id.trim_start_matches('p').parse().ok()
}

/// Sums of the pinned vectors over the languages, by id.
struct Scores {
    passages: BTreeMap<String, Vec<i32>>,
    questions: BTreeMap<String, Vec<i32>>,
}

impl Scores {
    fn read(checker: &Checker<'_>) -> Option<Scores> {
        let manifest = super::read_manifest(checker.folder).ok()?;
        let mut scores = Scores { passages: BTreeMap::new(), questions: BTreeMap::new() };
        for pin in &manifest.pins {
            let side = match pin.what.split(' ').next() {
                Some("passages") => &mut scores.passages,
                Some("questions") => &mut scores.questions,
                _ => continue,
            };
            // A pin that cannot be read is a finding elsewhere.
            let (ids, _, pinned) = pinned::read(&checker.folder.join(&pin.path)).ok()?;
            for (id, vector) in ids.into_iter().zip(pinned.vectors.chunks(pinned.dimensions.max(1))) {
                let sum = side.entry(id).or_insert_with(|| vec![0; pinned.dimensions]);
                sum.iter_mut().zip(vector).for_each(|(sum, c)| *sum += i32::from(*c));
            }
        }
        Some(scores)
    }

    fn of(&self, instance: &str, passage: &str) -> Option<i64> {
        let (a, b) = (self.questions.get(instance)?, self.passages.get(passage)?);
        Some(a.iter().zip(b).map(|(x, y)| i64::from(*x) * i64::from(*y)).sum())
    }
}
