//! The end of every path: data files become a release.

use super::{Outcome, Stages, beside};
use crate::card;
use crate::compact::{self, Layout, Parts};
use crate::digests;
use crate::error::{Error, Result};
use crate::fail;
use crate::family::factoid::JUDGE;
use crate::hash::{Digest, release_digest};
use crate::manifest::{self, FORMAT, Manifest};
use crate::plan::Plan;
use crate::provenance;
use crate::recipe::Family;
use crate::report::Stopwatch;
use crate::stage::embed::PinFile;
use crate::stage::ingest::SourceFile;
use crate::stage::journal::Journal;
use crate::stage::stats::DataFile;
use crate::stage::write::{Shape, Source, write};
use crate::store::{sync_dir, write_aside};
use crate::table::SCHEMA;
use crate::work::make::digest_of_ids;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What all families say of a build before its rows are made.
pub(super) struct Described<'a> {
    pub plan: &'a Plan,
    pub stages: &'a Stages,
    /// Digests of stages' outputs.
    pub outputs: BTreeMap<String, Digest>,
    /// Pins, and where their bytes are.
    pub pins: &'a [(PinFile, PathBuf)],
    pub sources: Vec<SourceFile>,
    pub identity: Digest,
}

impl Described<'_> {
    /// The manifest, with what only one family has left empty, and without files and what they come to.
    pub fn manifest(self) -> Manifest {
        let plan = self.plan;
        let release = &plan.recipe.release;
        let filter = plan.is_narrowed().then(|| {
            let mut filter = plan.options.filter.clone();
            filter.limit = (plan.instances() < plan.total()).then_some(plan.instances());
            filter
        });
        Manifest {
            format: FORMAT,
            name: release.name.0.clone(),
            version: release.version.0.clone(),
            family: plan.family.name().to_owned(),
            nihbuild: env!("CARGO_PKG_VERSION").to_owned(),
            date: release.date.clone(),
            licence: release.licence.clone(),
            canary: manifest::canary(&release.name.0, &release.version.0),
            plan: self.identity,
            seed_digest: plan.seed.digest(),
            other_seed: plan.options.seed.is_some(),
            filter,
            rows_digest: Digest([0; 32]),
            rows: 0,
            tokens: 0,
            files: Vec::new(),
            sources: self.sources,
            source_licences: plan.licences.clone(),
            errata: plan.recipe.errata.clone(),
            packs: plan.packs.iter().map(|(l, pack)| (l.to_string(), pack.digest())).collect(),
            stages: self.stages.iter().map(|(name, key)| (name.clone(), key.digest())).collect(),
            pins: self.pins.iter().map(|(pin, _)| pin.clone()).collect(),
            outputs: self.outputs,
            recipe_sha256: Some(Digest::of(plan.resolved())),
            instances: BTreeMap::new(),
            refused: BTreeMap::new(),
            starts: BTreeMap::new(),
            answerers: BTreeMap::new(),
            distinct_sentences: BTreeMap::new(),
            tokenizers: plan.ledger.facts(),
            texts: BTreeMap::new(),
            passages: None,
            differences: None,
            translations: BTreeMap::new(),
        }
    }
}

/// What sealing a release needs beside its rows.
pub struct Ending {
    /// The manifest, without files and what they come to.
    pub manifest: Manifest,
    /// Pins to publish, and where their bytes are.
    pub pins: Vec<(PinFile, PathBuf)>,
    /// Of rows from elsewhere: digest of the ids of each data file, by config.
    pub ids: Option<BTreeMap<String, Digest>>,
}

impl Ending {
    /// Writes the data files, and makes them a release. `texts` writes the texts of a compact one.
    pub fn seal<S: Source>(
        mut self,
        plan: &Plan,
        source: &S,
        shapes: &[Shape],
        texts: impl FnOnce(&mut Parts) -> Result<Vec<Layout>>,
        folder: PathBuf,
        mut watch: Stopwatch,
    ) -> Result<Outcome> {
        let partial = beside(&folder, "partial");
        let journal = Journal::open(&partial, &self.manifest.plan)?;
        write(plan, source, shapes, &journal)?;
        if plan.options.compact {
            compact::write_index(plan, shapes, &journal, texts)?;
        }
        watch.lap("write");
        self.count(plan, &journal)?;
        self.publish(plan, &journal, &partial, &folder)?;
        watch.lap("publish");
        let accepted = manifest::compare(&self.manifest)?;
        Ok(Outcome { folder, manifest: self.manifest, accepted, was_there: false, watch })
    }

    /// Enters the finished files into the manifest.
    fn count(&mut self, plan: &Plan, journal: &Journal) -> Result<()> {
        let done = journal.done();
        let files: Vec<DataFile> = plan.files.iter().map(|file| done[&file.path()].clone()).collect();
        if let Some(file) = files.iter().find(|file| file.stats.over > 0) {
            fail!(
                "{} holds {} prompts over their budget: this is a bug, no release was written",
                file.path,
                file.stats.over
            );
        }
        let digests = journal.digests();
        for file in plan.files.iter().filter(|_| self.ids.is_some()) {
            let rows = digests.get(&file.path()).map(|file| &file.rows);
            let ids: Vec<&String> = rows.into_iter().flatten().map(|(id, _)| id).collect();
            if self.ids.as_ref().and_then(|ids| ids.get(&file.config)) != Some(&digest_of_ids(&ids)) {
                fail!("{} holds other rows than the plan", file.path());
            }
        }
        drop(digests);
        self.manifest.rows_digest = release_digest(files.iter().map(|f| (f.path.as_str(), f.rows_digest)));
        self.manifest.rows = files.iter().map(|f| f.rows).sum();
        self.manifest.tokens = files.iter().map(|f| f.stats.tokens).sum();
        self.manifest.files = files;
        Ok(())
    }

    /// Errata of this version name rows that it has; a part of a release holds but some of them.
    fn errata(&self, plan: &Plan, journal: &Journal) -> Result<()> {
        let recipe = &plan.recipe;
        let open: Vec<&String> = recipe
            .errata
            .iter()
            .filter(|erratum| erratum.is_open(&recipe.release.version))
            .flat_map(|erratum| &erratum.rows)
            .collect();
        if open.is_empty() || plan.is_narrowed() || plan.options.seed.is_some() {
            return Ok(());
        }
        let digests = journal.digests();
        let known: BTreeSet<&String> = digests.values().flat_map(|file| file.rows.iter().map(|(id, _)| id)).collect();
        match open.iter().find(|id| !known.contains(*id)) {
            Some(id) => Err(Error::new(format!("errata.rows names {id:?}, and the release has no such row"))
                .at("[[errata]]")
                .help("mend the id; or, where this version no longer has the row, say so with fixed = \"VERSION\"")),
            None => Ok(()),
        }
    }

    /// Adds what is not data, then makes the folder a release by renaming it.
    fn publish(&self, plan: &Plan, journal: &Journal, partial: &Path, folder: &Path) -> Result<()> {
        let manifest = &self.manifest;
        self.errata(plan, journal)?;
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        texts.insert("recipe.toml".to_owned(), plan.resolved());
        texts.extend(card::files(plan, manifest));
        if plan.family == Family::Factoid {
            texts.insert("judge.json".to_owned(), JUDGE.to_owned());
        }
        let json = serde_json::to_string_pretty(manifest).expect("a manifest is plain data");
        texts.insert("manifest.json".to_owned(), json + "\n");
        for (language, pack) in &plan.packs {
            texts.insert(format!("packs/{language}.toml"), pack.file().to_owned());
        }
        if !plan.packs.iter().any(|(l, _)| l.code() == "en") {
            // English reads bAbI and may give the instructions.
            texts.insert("packs/en.toml".to_owned(), plan.english.file().to_owned());
        }
        let mut sums: BTreeMap<String, Digest> = manifest.files.iter().map(|f| (f.path.clone(), f.sha256)).collect();
        for (name, text) in &texts {
            sums.insert(name.clone(), Digest::of(text));
        }
        for (pin, from) in &self.pins {
            let bytes = std::fs::read(from).map_err(|e| Error::io("cannot read", from, e))?;
            write_aside(&partial.join(&pin.path), |out| out.write_all(&bytes))?;
            sums.insert(pin.path.clone(), pin.sha256);
        }
        let names: Vec<String> = SCHEMA.fields().iter().map(|field| field.name().clone()).collect();
        sums.extend(digests::write(partial, &journal.digests(), &names)?);
        let statement = provenance::statement(manifest, &sums);
        sums.insert(provenance::FILE.to_owned(), Digest::of(&statement));
        texts.insert(provenance::FILE.to_owned(), statement);
        let lines: String = sums.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
        texts.insert("SHA256SUMS".to_owned(), lines);
        for (name, text) in &texts {
            write_aside(&partial.join(name), |out| out.write_all(text.as_bytes()))?;
        }
        if plan.options.compact {
            compact::seal(partial)?;
        }
        journal.remove()?;
        sync_dir(partial)?;
        std::fs::rename(partial, folder).map_err(|e| Error::io("cannot rename to", folder, e))?;
        sync_dir(folder.parent().expect("a release has a parent"))
    }
}
