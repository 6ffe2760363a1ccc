//! The whole path from recipe to release, one call a stage; one module a family. From fitted rows on, all families go the same
//! way: the rows are rendered and the release is sealed, here or by workers elsewhere.

pub mod factoid;
pub mod passage;
pub mod reasoning;
mod seal;

pub(crate) use seal::Ending;

use crate::compact::Parts;
use crate::digests::RowDigests;
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::manifest::{self, Manifest, Match};
use crate::plan::{FilePlan, Plan};
use crate::recipe::{EmbedderName, Family, SourceKind};
use crate::remote::Place;
use crate::report::Stopwatch;
use crate::source::locate::{self, Locator};
use crate::stage::assemble::RowPlan;
use crate::stage::embed::Pins;
use crate::stage::ingest::{self, SourceFile};
use crate::stage::render::{self, FileRows, Rows};
use crate::stage::write::{Here, Shape};
use crate::stage::{haystack, questions, texts};
use crate::store::{Key, Lists, Lock, Store};
use crate::tokenizer::Tokenizer;
use crate::verify::check_sums;
use crate::work::{self, Divided};
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

/// A release that is there already: it must be sound and of this plan.
pub(crate) fn there(plan: &Plan, identity: &Digest, folder: PathBuf, watch: Stopwatch) -> Result<Outcome> {
    match Outcome::there(plan, identity, folder, watch)? {
        Made::Release(outcome) => Ok(*outcome),
        _ => unreachable!("a release is there"),
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
        _ => unreachable!("a release was asked for"),
    }
}

/// Does all of a build that comes before its rows, and writes what workers make them of.
///
/// # Errors
///
/// As [`build`]; and where the folder holds another plan.
pub fn plan_rows(plan: &Plan, store: &Store, target: &work::Target) -> Result<work::PlanFile> {
    let _lock = work::make::lock(&target.folder)?;
    plan_alone(plan, store, target)
}

/// The plan of the folder where it is there, else as [`plan_rows`]: of many that begin at once, one makes it.
pub fn planned(plan: &Plan, store: &Store, target: &work::Target) -> Result<work::PlanFile> {
    let _lock = work::make::lock(&target.folder)?;
    if target.folder.join(work::folder::NAME).is_file() {
        let there = work::PlanFile::read(&Place::of(&target.folder))?;
        if there.plan == plan.digest() {
            return Ok(there);
        }
    }
    plan_alone(plan, store, target)
}

fn plan_alone(plan: &Plan, store: &Store, target: &work::Target) -> Result<work::PlanFile> {
    match make(plan, store, Goal::Plan(target))? {
        Made::Plan(file) => Ok(*file),
        _ => unreachable!("a plan was asked for"),
    }
}

/// Rows to make: by path of their file, their places in it.
pub type Chosen = BTreeMap<String, BTreeSet<usize>>;

/// Makes a few rows of a release alone, and says what their values come to: path of the file, place in it, digests.
pub fn rows_of(plan: &Plan, store: &Store, chosen: &Chosen) -> Result<Vec<(String, usize, RowDigests)>> {
    match make(plan, store, Goal::Rows(chosen))? {
        Made::Rows(rows) => Ok(rows),
        _ => unreachable!("rows were asked for"),
    }
}

/// What a family's path is to come to.
enum Goal<'a> {
    /// A release in this folder.
    Release(PathBuf),
    /// These rows alone.
    Rows(&'a Chosen),
    /// A plan folder, for workers.
    Plan(&'a work::Target),
}

enum Made {
    Release(Box<Outcome>),
    Rows(Vec<(String, usize, RowDigests)>),
    Plan(Box<work::PlanFile>),
}

/// Comes to the goal from rows that are fitted.
fn reach<R: Divided>(
    plan: &Plan,
    rows: &R,
    files: &[FileRows],
    ending: Ending,
    goal: Goal<'_>,
    watch: Stopwatch,
) -> Result<Made> {
    match goal {
        Goal::Rows(chosen) => chosen_rows(plan, rows, files, chosen).map(Made::Rows),
        Goal::Plan(target) => work::make::write(plan, rows, files, &ending, target).map(|f| Made::Plan(Box::new(f))),
        Goal::Release(folder) => {
            let shapes: Vec<Shape> = files.iter().map(Shape::of).collect();
            let here = Here { plan, rows, files };
            let texts = |parts: &mut Parts| rows.parts(files, parts);
            ending.seal(plan, &here, &shapes, texts, folder, watch).map(|outcome| Made::Release(Box::new(outcome)))
        }
    }
}

/// The chosen of the rows that a path has come to.
fn chosen_rows<R: Rows>(
    plan: &Plan,
    maker: &R,
    files: &[FileRows],
    chosen: &Chosen,
) -> Result<Vec<(String, usize, RowDigests)>> {
    let mut made = Vec::new();
    for file in files {
        let path = file.file.path();
        let Some(places) = chosen.get(&path) else { continue };
        let all = file.groups.iter().flatten().enumerate();
        let (places, rows): (Vec<usize>, Vec<RowPlan>) = all.filter(|(n, _)| places.contains(n)).unzip();
        let digests = render::digests(plan, maker, &file.file, &rows)?;
        made.extend(places.into_iter().zip(digests).map(|(n, digests)| (path.clone(), n, digests)));
    }
    Ok(made)
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
