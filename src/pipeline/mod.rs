//! The whole path from recipe to release, one call a stage; one module a family.

pub mod factoid;
pub mod passage;
pub mod reasoning;

use crate::card;
use crate::compact;
use crate::digests::{self, RowDigests};
use crate::error::{Error, Result};
use crate::fail;
use crate::family::factoid::JUDGE;
use crate::hash::{Digest, release_digest};
use crate::manifest::{self, FORMAT, Manifest, Match};
use crate::plan::{FilePlan, Plan};
use crate::provenance;
use crate::recipe::{EmbedderName, Family, SourceKind};
use crate::report::Stopwatch;
use crate::source::locate::{self, Locator};
use crate::stage::assemble::RowPlan;
use crate::stage::embed::{PinFile, Pins};
use crate::stage::ingest::{self, SourceFile};
use crate::stage::journal::Journal;
use crate::stage::write::{self, DataFile, FileRows, Rows};
use crate::stage::{haystack, questions, texts};
use crate::store::{Key, Lists, Lock, Store, sync_dir, write_aside};
use crate::table::SCHEMA;
use crate::tokenizer::Tokenizer;
use crate::verify::check_sums;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a build came to.
pub struct Outcome {
    /// The release.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// How it compares with the accepted digests.
    pub accepted: Match,
    /// It was there already, and its bytes are sound.
    pub was_there: bool,
    /// Wall time of each stage.
    pub watch: Stopwatch,
}

impl Outcome {
    /// A release that was built before: it must be sound and of this plan.
    fn there(plan: &Plan, identity: &Digest, folder: PathBuf, mut watch: Stopwatch) -> Result<Made> {
        let manifest = there_already(plan, identity, &folder)?;
        watch.lap("check");
        let accepted = manifest::compare(&manifest)?;
        Ok(Made::Release(Box::new(Outcome { folder, manifest, accepted, was_there: true, watch })))
    }
}

/// Builds a release.
pub fn build(plan: &Plan) -> Result<Outcome> {
    build_with(plan, &Store::new(plan.options.out.join("store")))
}

/// Builds a release with a store of the caller's, which knows afterwards what each stage came to, even where a later one
/// failed.
pub fn build_with(plan: &Plan, store: &Store) -> Result<Outcome> {
    let folder = plan.folder();
    let _lock = Lock::take(&lock_file(&folder))?;
    match make(plan, store, Goal::Release(folder))? {
        Made::Release(outcome) => Ok(*outcome),
        Made::Rows(_) => unreachable!("a release was asked for"),
    }
}

/// Rows to make: by path of their file, their places in it.
pub type Chosen = BTreeMap<String, BTreeSet<usize>>;

/// Makes a few rows of a release alone, and says what their values come to: path of the file, place in it, digests.
pub fn rows_of(plan: &Plan, store: &Store, chosen: &Chosen) -> Result<Vec<(String, usize, RowDigests)>> {
    match make(plan, store, Goal::Rows(chosen))? {
        Made::Rows(rows) => Ok(rows),
        Made::Release(_) => unreachable!("rows were asked for"),
    }
}

/// What a family's path is to come to.
enum Goal<'a> {
    /// A release in this folder.
    Release(PathBuf),
    /// These rows alone.
    Rows(&'a Chosen),
}

enum Made {
    Release(Box<Outcome>),
    Rows(Vec<(String, usize, RowDigests)>),
}

impl Made {
    /// The chosen of the rows that the path has come to.
    fn rows<R: Rows>(plan: &Plan, maker: &R, files: &[FileRows], chosen: &Chosen) -> Result<Made> {
        let mut made = Vec::new();
        for file in files {
            let path = file.file.path();
            let Some(places) = chosen.get(&path) else { continue };
            let all = file.groups.iter().flatten().enumerate();
            let (places, rows): (Vec<usize>, Vec<RowPlan>) = all.filter(|(n, _)| places.contains(n)).unzip();
            let digests = write::digests(plan, maker, &file.file, &rows)?;
            made.extend(places.into_iter().zip(digests).map(|(n, digests)| (path.clone(), n, digests)));
        }
        Ok(Made::Rows(made))
    }
}

fn make(plan: &Plan, store: &Store, goal: Goal<'_>) -> Result<Made> {
    match plan.family {
        Family::Reasoning => reasoning::build(plan, store, goal),
        Family::Passage => passage::build(plan, store, goal),
        Family::Factoid => factoid::build(plan, goal),
    }
}

/// What computing all vectors anew changes.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Drift {
    /// Components of all vectors.
    pub components: u64,
    /// Those that differ.
    pub components_differ: u64,
    /// The largest difference.
    pub largest: u64,
    /// Ranks of all lists.
    pub ranks: u64,
    /// Those that another passage holds.
    pub ranks_differ: u64,
    /// Prompts.
    pub prompts: u64,
    /// Those with other passages, or in another order.
    pub prompts_differ: u64,
}

impl std::fmt::Display for Drift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "components {} of {} differ (by at most {}), ranks {} of {}, prompts {} of {}",
            self.components_differ,
            self.components,
            self.largest,
            self.ranks_differ,
            self.ranks,
            self.prompts_differ,
            self.prompts
        )
    }
}

impl Drift {
    fn components(&mut self, pinned: &Pins<'_>, fresh: &Pins<'_>) {
        for (a, b) in pinned.seen().iter().zip(fresh.seen()) {
            self.components += a.data.len() as u64;
            for (x, y) in a.data.iter().zip(&b.data).filter(|(x, y)| x != y) {
                self.components_differ += 1;
                self.largest = self.largest.max(u64::from(x.abs_diff(*y)));
            }
        }
    }

    fn lists(&mut self, pinned: &Lists, fresh: &Lists) -> Result<()> {
        for n in 0..pinned.len() {
            let (a, b) = (pinned.get(n)?, fresh.get(n)?);
            self.ranks += a.len() as u64;
            self.ranks_differ += (0..a.len()).filter(|rank| b.get(*rank) != Some(&a[*rank])).count() as u64;
        }
        Ok(())
    }

    fn prompt(&mut self, same: bool) {
        self.prompts += 1;
        self.prompts_differ += u64::from(!same);
    }
}

/// Computes all pinned vectors anew and says what that would change. Writes no release.
pub fn rederive(plan: &Plan) -> Result<Drift> {
    if plan.recipe.retrieval.embedder != EmbedderName::Onnx {
        return Err(Error::new("--rederive: this recipe has no pinned stage, all of it is exact"));
    }
    let store = Store::new(plan.options.out.join("store"));
    match plan.family {
        Family::Reasoning => reasoning::drift(plan, &store),
        Family::Passage => passage::drift(plan, &store),
        Family::Factoid => fail!("--rederive: this recipe has no pinned stage, all of it is exact"),
    }
}

/// Downloads what a recipe reads, checks it, and keeps what builds need: archives in the cache, samples of collections
/// in the store.
pub fn fetch(plan: &Plan) -> Result<Vec<SourceFile>> {
    // The plan has opened them, and downloaded what was not here.
    let files = plan.ledger.all().iter().filter(|tokenizer| tokenizer.bytes() > 0);
    let named =
        |t: &Tokenizer| SourceFile { name: format!("tokenizer {}", t.name()), bytes: t.bytes(), sha256: t.digest() };
    let mut sources: Vec<SourceFile> = files.map(named).collect();
    if plan.family == Family::Factoid {
        sources.extend(texts::read(plan)?.files);
    } else if plan.recipe.reads_passages() || plan.recipe.source.kind != SourceKind::Simulate {
        let locator = Locator::new(plan)?;
        match plan.family {
            Family::Passage => sources.extend(questions::read(plan, &locator)?.files),
            _ => sources.extend(ingest::ingest(plan)?.files),
        }
        if plan.recipe.reads_passages() {
            sources.extend(haystack::read(plan, &locator)?.files);
        }
    }
    if plan.recipe.retrieval.embedder == EmbedderName::Onnx {
        let folder = locate::model(plan)?;
        for name in locate::MODEL_FILES {
            let (sha256, bytes) = Digest::of_file(&folder.join(name))?;
            sources.push(SourceFile { name: format!("{}/{name}", plan.recipe.embedding.model), bytes, sha256 });
        }
    }
    Ok(sources)
}

/// Keys of the store entries of a plan, by name of the stage, in the order of the path.
pub type Stages = Vec<(String, Key)>;

/// Where a stage stands on the path, by its name in a manifest; what is not known comes last.
pub fn place(stage: &str) -> usize {
    const PATH: [&str; 9] =
        ["texts", "haystack", "choose", "select", "distractors", "examples", "localize", "embed", "retrieve"];
    let first = stage.split(' ').next().unwrap_or_default();
    PATH.iter().position(|name| *name == first).unwrap_or(PATH.len())
}

/// Identity of a build: two builds of one folder must agree in it to share their files. Pinned vectors are part of
/// it: other vectors, another build.
fn identity(plan: &Plan, stages: &Stages, pins: &Pins<'_>) -> Digest {
    let mut parts = vec![plan.digest()];
    parts.extend(stages.iter().map(|(_, key)| key.digest()));
    parts.extend(pins.files().map(|pin| pin.sha256));
    Digest::of_parts(parts.iter().map(|digest| digest.0.as_slice()))
}

pub(crate) fn beside(folder: &Path, extension: &str) -> PathBuf {
    let name = folder.file_name().expect("a release has a name").to_string_lossy();
    folder.with_file_name(format!("{name}.{extension}"))
}

/// Hidden, so that no pattern such as `1.0.0+*` takes it for a release.
pub(crate) fn lock_file(folder: &Path) -> PathBuf {
    let name = folder.file_name().expect("a release has a name").to_string_lossy();
    folder.with_file_name(format!(".{name}.lock"))
}

/// A finished release is never written over: it is sound and of this plan, or that is an error.
fn there_already(plan: &Plan, identity: &Digest, folder: &Path) -> Result<Manifest> {
    let path = folder.join("manifest.json");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io("cannot read", &path, e))?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|e| Error::new(e.to_string()).at(path.display()))?;
    if manifest.plan != *identity {
        let what = "another release of this name and version: of another recipe, other sources, or another version of this program";
        return Err(Error::new(format!("{} holds {what}", folder.display()))
            .help("raise release.version, build elsewhere with --out DIR, or remove that folder"));
    }
    if let Some(finding) = check_sums(folder).into_iter().next() {
        let what = format!("{} was changed since it was built: {} {}", folder.display(), finding.file, finding.what);
        return Err(Error::new(what).help("remove the folder and build again"));
    }
    if !plan.files.iter().map(FilePlan::path).eq(manifest.files.iter().map(|f| f.path.clone())) {
        return Err(Error::new(format!("{} was changed since it was built: it holds other files", folder.display()))
            .help("remove the folder and build again"));
    }
    Ok(manifest)
}

/// What a finished build says of itself in every family.
struct Finished<'a> {
    plan: &'a Plan,
    stages: Stages,
    /// Digests of stages' outputs.
    outputs: BTreeMap<String, Digest>,
    pins: Pins<'a>,
    sources: Vec<SourceFile>,
    identity: Digest,
    /// Pins beside the vectors, which are in the release's folder already.
    more_pins: Vec<PinFile>,
}

impl Finished<'_> {
    /// The manifest, with what only one family has left empty.
    fn describe(&self, journal: &Journal) -> Result<Manifest> {
        let plan = self.plan;
        let done = journal.done();
        let files: Vec<DataFile> = plan.files.iter().map(|file| done[&file.path()].clone()).collect();
        if let Some(file) = files.iter().find(|file| file.stats.over > 0) {
            fail!(
                "{} holds {} prompts over their budget: this is a bug, no release was written",
                file.path,
                file.stats.over
            );
        }
        let release = &plan.recipe.release;
        let filter = plan.is_narrowed().then(|| {
            let mut filter = plan.options.filter.clone();
            filter.limit = (plan.instances() < plan.total()).then_some(plan.instances());
            filter
        });
        Ok(Manifest {
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
            rows_digest: release_digest(files.iter().map(|f| (f.path.as_str(), f.rows_digest))),
            rows: files.iter().map(|f| f.rows).sum(),
            tokens: files.iter().map(|f| f.stats.tokens).sum(),
            files,
            sources: self.sources.clone(),
            source_licences: plan.licences.clone(),
            errata: plan.recipe.errata.clone(),
            packs: plan.packs.iter().map(|(l, pack)| (l.to_string(), pack.digest())).collect(),
            stages: self.stages.iter().map(|(name, key)| (name.clone(), key.digest())).collect(),
            pins: self.pins.files().chain(&self.more_pins).cloned().collect(),
            outputs: self.outputs.clone(),
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
        })
    }

    /// Publishes, and says what the build came to.
    fn outcome(
        &self,
        manifest: Manifest,
        journal: &Journal,
        partial: &Path,
        folder: PathBuf,
        mut watch: Stopwatch,
    ) -> Result<Made> {
        self.publish(&manifest, journal, partial, &folder)?;
        watch.lap("publish");
        let accepted = manifest::compare(&manifest)?;
        Ok(Made::Release(Box::new(Outcome { folder, manifest, accepted, was_there: false, watch })))
    }

    /// Errata of this version name rows that it has; a part of a release holds but some of them.
    fn errata(&self, journal: &Journal) -> Result<()> {
        let recipe = &self.plan.recipe;
        let open: Vec<&String> = recipe
            .errata
            .iter()
            .filter(|erratum| erratum.is_open(&recipe.release.version))
            .flat_map(|erratum| &erratum.rows)
            .collect();
        if open.is_empty() || self.plan.is_narrowed() || self.plan.options.seed.is_some() {
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
    fn publish(&self, manifest: &Manifest, journal: &Journal, partial: &Path, folder: &Path) -> Result<()> {
        let plan = self.plan;
        self.errata(journal)?;
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
        for pin in self.pins.files() {
            self.pins.publish(pin, partial)?;
            sums.insert(pin.path.clone(), pin.sha256);
        }
        for pin in &self.more_pins {
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
