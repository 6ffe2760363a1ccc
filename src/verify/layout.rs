//! Checks of a release as a whole: its files, what recipe and manifest say of them, and of themselves.

use super::Checker;
use crate::family::factoid::JUDGE;
use crate::hash::Digest;
use crate::manifest::{Manifest, Match, canary, compare};
use crate::plan::{Cell, FilePlan, counts, files, slots};
use crate::recipe::{Choice, Family, Length, Position, PromptKind};
use crate::seed::Seed;
use crate::stage::factoids::cell_id;
use crate::stage::needles::{id_kind, row_id};
use crate::stage::select::order_of;
use crate::stage::stats::{DataFile, Stats};
use crate::store::sorted_dir;
use crate::story::SourceTask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Component, Path};

/// Is it a path below the release, without a way out of it?
pub fn is_inside(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Names of the files below a folder.
pub(crate) fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) {
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
        if manifest.errata != self.recipe.errata {
            find("errata are not the recipe's".to_owned());
        }
        if manifest.canary != canary(&manifest.name, &manifest.version) {
            find("the canary is not that of this name and version".to_owned());
        }
        if self.seed.as_ref().is_some_and(|seed| seed.digest() != manifest.seed_digest) {
            find("seed_digest is not that of the recipe's seed".to_owned());
        }
        self.resolved(manifest);
        if manifest.format > 1 {
            let named = manifest.tokenizers.iter().map(|t| t.name.as_str());
            if !named.eq(self.recipe.tokens.names().map(|name| name.0.as_str())) {
                find("its tokenizers are not the recipe's".to_owned());
            }
            for facts in self.ledger.facts().iter().filter(|facts| !manifest.tokenizers.contains(facts)) {
                let said = manifest.tokenizers.iter().find(|t| t.name == facts.name);
                let said = said.map_or_else(|| "none".to_owned(), |t| t.digest.to_string());
                find(format!(
                    "the tokenizer {} at hand is another one than the release's: it has SHA-256 {}, the release was counted \
                     with {said} (give that file with --tokenizer {}=FILE)",
                    facts.name, facts.digest, facts.name
                ));
            }
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

    /// A release's recipe has every default written out, and passes the checks of a build; what else it holds is known.
    fn resolved(&self, manifest: &Manifest) {
        if self.recipe.family() != Family::Factoid {
            return;
        }
        let mut again = self.recipe.clone();
        match slots::fill(&mut again) {
            Ok(()) if again.to_toml() == self.recipe.to_toml() => {}
            Ok(()) => self.find("recipe.toml", None, "is not the recipe that it resolves to: defaults are missing"),
            Err(e) => self.find("recipe.toml", None, e.to_string()),
        }
        if manifest.texts.keys().ne(manifest.packs.keys()) {
            self.find("manifest.json", None, "texts are not those of the recipe's languages");
        }
        match std::fs::read_to_string(self.folder.join("judge.json")) {
            Ok(text) if text == JUDGE => {}
            _ => self.find("judge.json", None, "is not the judge's prompt of this program"),
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
        let limit = manifest.filter.as_ref().and_then(|f| f.limit).map_or(usize::MAX, |n| n as usize);
        order_of(self.recipe, &counts(self.recipe), limit)
            .into_iter()
            .map(|(_, source, n)| (source, format!("{source}-{n:05}")))
            .collect()
    }

    /// A file holds the instances of the release in the fixed order, but for tasks that begin later.
    pub(super) fn instances(
        &self,
        file: &DataFile,
        ids: &[String],
        row_ids: &[String],
        plan: &FilePlan,
        manifest: &Manifest,
    ) {
        self.bytes(file, ids.len() as u64);
        if let Some(cell) = plan.cell {
            return self.cell(file, ids, row_ids, plan, cell, manifest);
        }
        if plan.needle.is_some() {
            return self.cells(file, ids, manifest);
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

    /// A file of the factoid family holds the cells of the release in the order of the grid.
    fn cells(&self, file: &DataFile, ids: &[String], manifest: &Manifest) {
        let all = slots::cells(self.recipe);
        let limit = manifest.filter.as_ref().and_then(|f| f.limit).unwrap_or(all).min(all);
        let expected = match &self.seed {
            Some(seed) => slots::chosen(self.recipe, seed, limit),
            // The seed is held out: which cells a part holds cannot be known.
            None if limit < all && ids.len() == limit as usize && ids.is_sorted() => return,
            None => slots::chosen(self.recipe, &Seed::new(""), all),
        };
        if !expected.iter().map(|(length, depth)| cell_id(*length, *depth)).eq(ids.iter().cloned()) {
            let what = format!("its {} rows are not the {} cells of the grid in order", ids.len(), expected.len());
            self.find(&file.path, None, what);
        }
    }

    /// What the manifest says of a file's size.
    fn bytes(&self, file: &DataFile, rows: u64) {
        if rows != file.rows {
            self.find(&file.path, None, format!("has {rows} rows, the manifest says {}", file.rows));
        }
        let put_together = || Digest::of_file(&self.folder.join(&file.path)).ok();
        match self.bytes.found.get(&file.path).copied().or_else(put_together) {
            Some(found) if found == (file.sha256, file.bytes) => {}
            _ => self.find(&file.path, None, "the manifest gives another size or SHA-256"),
        }
        let path = self.folder.join(&file.path);
        // Of a compact release the file is not there.
        let before = File::open(&path).ok().and_then(|file| ParquetRecordBatchReaderBuilder::try_new(file).ok());
        let before =
            before.map(|file| file.metadata().row_groups().iter().map(|g| g.total_byte_size() as u64).sum::<u64>());
        if self.format > 4 && before.is_some_and(|bytes| bytes != file.data_bytes) {
            self.find("manifest.json", None, format!("gives {} another size before compression", file.path));
        }
    }

    /// A cell's file holds its questions in order, each at every position, each with its twin: the same questions as
    /// every other file of its needle and question language.
    fn cell(
        &self,
        file: &DataFile,
        ids: &[String],
        row_ids: &[String],
        plan: &FilePlan,
        cell: Cell,
        manifest: &Manifest,
    ) {
        let positions: Vec<Option<Position>> = match (cell.haystack, &self.recipe.grid.positions) {
            (Some(_), Some(positions)) => positions.iter().copied().map(Some).collect(),
            _ => vec![None],
        };
        let twins: &[bool] = if cell.prompt == PromptKind::Existence { &[false, true] } else { &[false] };
        let each = positions.len() * twins.len();
        let samples = self.recipe.grid.samples.unwrap_or_default();
        let limit = manifest.filter.as_ref().and_then(|f| f.limit).unwrap_or(samples).min(samples) as usize;
        let questions: Vec<String> = ids.iter().step_by(each).cloned().collect();
        let expected = questions.iter().flat_map(|question| {
            let kinds = positions.iter().flat_map(|position| twins.iter().map(move |twin| (*position, *twin)));
            kinds.map(move |(position, twin)| row_id(question, plan, cell, position, id_kind(cell.prompt, twin)))
        });
        if questions.len() != limit || !expected.eq(row_ids.iter().cloned()) {
            let what =
                format!("its {} rows are not {limit} questions, each at every position (and with its twin)", ids.len());
            self.find(&file.path, None, what);
        }
        // Numbers go by the fixed order, which cells keep (but where they take the first rows of a file).
        let dataset = self.recipe.source.dataset.as_ref().map(|name| name.0.clone()).unwrap_or_default();
        let number = |id: &String| {
            let digits = id.strip_prefix(&dataset)?.strip_prefix('-')?;
            digits.parse::<u32>().ok().filter(|n| format!("{n:05}") == digits)
        };
        let numbers: Option<Vec<u32>> = questions.iter().map(number).collect();
        let ordered = numbers.is_some_and(|mut numbers| {
            let ascending = numbers.is_sorted_by(|a, b| a < b);
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len() == questions.len() && (ascending || self.recipe.grid.choice == Some(Choice::First))
        });
        if !ordered {
            self.find(&file.path, None, "its questions are not numbered in their order");
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

    /// What the manifest says of a file's rows. (Answerers over contexts are not counted again.)
    pub(super) fn stats(&self, file: &DataFile, found: &Stats) {
        let said = Stats {
            rarest: BTreeMap::new(),
            commonest: BTreeMap::new(),
            // How a build counted is its own affair.
            seams: 0,
            seams_repaired: 0,
            windows_widened: 0,
            ..file.stats.clone()
        };
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
