//! Audits a release of our own: builds it again from its recipe, packs, sources and pins, and says what came out.
//!
//! The build begins with an empty store, in a folder of its own. With a sample only some rows are rendered and proven;
//! what stands before them on the path is made all the same. Nothing of the release is changed.

mod again;
mod sample;

use crate::compact;
use crate::diff;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::manifest::Manifest;
use crate::pipeline::{self, Drift, place};
use crate::plan::{Options, Plan};
use crate::recipe::{Recipe, SeedSource};
use crate::seed::Seed;
use crate::store::{Store, make_dir};
use crate::table::schema_of;
use crate::verify::{check_sums, read_manifest, read_recipe};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How to audit.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Rebuild so many rows, drawn by lot, not all.
    pub sample: Option<u64>,
    /// Draws other rows: part of the lot.
    pub lot: u64,
    /// Compute vectors of a model again as well, and say what that changes.
    pub rederive: bool,
    /// The file of a held-out seed.
    pub seed: Option<PathBuf>,
    /// Keep the rebuilt release in this folder.
    pub keep: Option<PathBuf>,
    /// Where sources, models and tokenizers are; `out` holds the folder of the build while it runs.
    pub options: Options,
}

/// How something came out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The same.
    Reproduced,
    /// It was not made.
    CouldNotRun,
    /// Something else: it weighs more than what was not made because of it.
    Differs,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Differs => "DIFFERS",
            Verdict::CouldNotRun => "could not run",
        }
    }
}

/// One step of the path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Step {
    /// What.
    pub name: String,
    /// How it came out.
    pub verdict: Verdict,
    /// What differs, or why it could not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
}

/// A row of a sample that came out otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Other {
    /// Path of its file.
    pub file: String,
    /// Its id in the release.
    pub id: String,
    /// The columns that differ.
    pub columns: Vec<String>,
}

/// What an audit came to.
#[derive(Clone, Debug, Serialize)]
pub struct Audit {
    /// Name and version of the release.
    pub release: String,
    /// Its rows digest.
    pub rows_digest: Digest,
    /// Version of the program that built it.
    pub built_by: String,
    /// Version of this one.
    pub audited_by: String,
    /// The steps, in the order of the path.
    pub steps: Vec<Step>,
    /// Rows that were compared.
    pub rows: u64,
    /// Those that came out otherwise, of a sample.
    pub others: Vec<Other>,
    /// What computing vectors again changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// The worst of the steps.
    pub verdict: Verdict,
}

/// Audits a release.
///
/// # Errors
///
/// When it is no release, or its bytes are not those that it was published with. That something of it does not come out
/// again is no error.
pub fn audit(folder: &Path, settings: &Settings) -> Result<Audit> {
    let manifest = read_manifest(folder)?;
    if let Some(finding) = check_sums(folder).into_iter().next() {
        return Err(Error::new(format!("{}: {} {}", folder.display(), finding.file, finding.what))
            .help("an audit begins with sound bytes: `nihbuild verify` says all that is wrong"));
    }
    if settings.sample == Some(0) {
        return Err(Error::new("--sample 0: at least one row is needed"));
    }
    let recipe = seeded(read_recipe(folder)?, &manifest, settings.seed.as_deref())?;
    let made = !settings.options.out.exists();
    make_dir(&settings.options.out)?;
    let scratch = tempfile::Builder::new().prefix("audit-").tempdir_in(&settings.options.out);
    let scratch = scratch.map_err(|e| Error::io("cannot make a folder in", &settings.options.out, e))?;
    let options = Options {
        filter: manifest.filter.clone().unwrap_or_default(),
        seed: match (&recipe.release.seed, manifest.other_seed) {
            (SeedSource::Number(n), true) => Some(*n),
            _ => None,
        },
        out: scratch.path().to_owned(),
        pins: vec![folder.join("pins")],
        packs: Some(folder.join("packs")),
        compact: compact::is_compact(folder),
        ..settings.options.clone()
    };
    let mut audit = Audit {
        release: manifest.title(),
        rows_digest: manifest.rows_digest,
        built_by: manifest.nihbuild.clone(),
        audited_by: env!("CARGO_PKG_VERSION").to_owned(),
        steps: Vec::new(),
        rows: 0,
        others: Vec::new(),
        drift: None,
        verdict: Verdict::Reproduced,
    };
    match Plan::new(recipe, options) {
        Err(e) => audit.step("recipe", Verdict::CouldNotRun, Some(e.to_string())),
        Ok(plan) => {
            let threads = crate::parallel::pool(plan.options.jobs)?;
            threads.install(|| audit.run(folder, &manifest, &plan, settings))?;
        }
    }
    drop(scratch);
    if made {
        // Empty again, unless something was to be kept there.
        let _ = std::fs::remove_dir(&settings.options.out);
    }
    audit.verdict = audit.steps.iter().map(|step| step.verdict).max().unwrap_or(Verdict::Reproduced);
    Ok(audit)
}

/// A recipe with the seed that its release holds out.
fn seeded(mut recipe: Recipe, manifest: &Manifest, file: Option<&Path>) -> Result<Recipe> {
    let Some(path) = file else { return Ok(recipe) };
    if !matches!(recipe.release.seed, SeedSource::HeldOut { .. }) {
        return Err(Error::new("--seed-file: this release's seed is not held out, it stands in its recipe"));
    }
    let text = std::fs::read_to_string(path).map_err(|e| Error::io("cannot read the seed from", path, e))?;
    if Seed::new(text.trim()).digest() != manifest.seed_digest {
        return Err(Error::new(format!("{} is not the seed of this release: its digest is another", path.display())));
    }
    recipe.release.seed = SeedSource::File { file: path.display().to_string() };
    Ok(recipe)
}

impl Audit {
    fn step(&mut self, name: &str, verdict: Verdict, what: Option<String>) {
        self.steps.push(Step { name: name.to_owned(), verdict, what });
    }

    /// A step that is the same, or names those that are not.
    fn same(&mut self, name: &str, differing: Vec<String>) {
        match differing.is_empty() {
            true => self.step(name, Verdict::Reproduced, None),
            false => self.step(name, Verdict::Differs, Some(shortened(&differing))),
        }
    }

    fn run(&mut self, folder: &Path, manifest: &Manifest, plan: &Plan, settings: &Settings) -> Result<()> {
        let written = Digest::of(std::fs::read(folder.join("recipe.toml")).unwrap_or_default());
        let resolved = if Digest::of(plan.resolved()) == written { vec![] } else { vec!["recipe.toml".to_owned()] };
        self.same("recipe", resolved);
        let packs = plan.packs.iter().filter(|(l, pack)| manifest.packs.get(l.code()) != Some(&pack.digest()));
        let packs = packs.map(|(l, _)| format!("packs/{l}.toml")).collect();
        self.same("packs", packs);
        let store = Store::new(plan.options.out.join("store"));
        if let Some(n) = settings.sample {
            let chosen = sample::lot(manifest, n, settings.lot);
            let made = pipeline::rows_of(plan, &store, &chosen);
            self.walked(manifest, &store, made.is_err());
            match made {
                Ok(rows) => self.sample(folder, &chosen, &rows)?,
                Err(e) => self.step("rows", Verdict::CouldNotRun, Some(e.to_string())),
            }
            return Ok(());
        }
        match pipeline::build_with(plan, &store) {
            Err(e) => {
                self.walked(manifest, &store, true);
                self.step("rows", Verdict::CouldNotRun, Some(e.to_string()));
            }
            Ok(outcome) => {
                self.stages(manifest, &outcome.manifest);
                self.files(folder, manifest, &outcome.folder, &outcome.manifest, plan.options.jobs)?;
                if let Some(keep) = &settings.keep {
                    keep_release(&outcome.folder, keep)?;
                }
            }
        }
        if settings.rederive {
            self.rederive(plan);
            let ranked = plan.recipe.rag.as_ref().is_some_and(|rag| rag.reranker.is_some());
            if ranked || plan.recipe.translation.is_some() || plan.recipe.written.is_some() {
                self.ask_again(folder, manifest, plan)?;
            }
        }
        Ok(())
    }

    /// The stages that a store has seen, by their keys; where the path broke off, those that it has not.
    fn walked(&mut self, then: &Manifest, store: &Store, broke_off: bool) {
        let mut names: Vec<&String> = then.stages.keys().collect();
        names.sort_by_key(|name| place(name));
        for name in names {
            match (store.output(&then.stages[name]), then.outputs.get(name)) {
                (Some(now), Some(then)) if now != *then => {
                    self.step(name, Verdict::Differs, Some("other output of the same input".to_owned()));
                }
                (Some(_), _) => self.step(name, Verdict::Reproduced, None),
                (None, _) if broke_off => self.step(name, Verdict::CouldNotRun, None),
                (None, _) => {}
            }
        }
    }

    fn stages(&mut self, then: &Manifest, now: &Manifest) {
        let source = |m: &Manifest| m.sources.iter().map(|s| (s.name.clone(), s.sha256)).collect::<BTreeMap<_, _>>();
        self.same("sources", unequal(&source(then), &source(now)));
        let all: BTreeSet<&String> = then.stages.keys().chain(then.outputs.keys()).chain(now.stages.keys()).collect();
        let mut names: Vec<&String> = all.into_iter().collect();
        names.sort_by_key(|name| place(name));
        for name in names {
            let key = |m: &Manifest| m.stages.get(name).copied();
            let output = |m: &Manifest| m.outputs.get(name).copied();
            let (verdict, what) = match (output(then), output(now)) {
                (Some(a), Some(b)) if a == b => (Verdict::Reproduced, None),
                (Some(_), Some(_)) if key(then) == key(now) => {
                    (Verdict::Differs, Some("other output of the same input"))
                }
                (Some(_), Some(_)) => (Verdict::Differs, Some("its input, and its output")),
                _ if key(then) == key(now) => (Verdict::Reproduced, Some("its input; the output is not published")),
                _ => (Verdict::Differs, Some("its input")),
            };
            self.step(name, verdict, what.map(str::to_owned));
        }
        self.same("pins", unequal(&pins(then), &pins(now)));
    }

    fn files(&mut self, folder: &Path, then: &Manifest, rebuilt: &Path, now: &Manifest, jobs: usize) -> Result<()> {
        let rows = |m: &Manifest| m.files.iter().map(|f| (f.path.clone(), f.rows_digest)).collect::<BTreeMap<_, _>>();
        let differing = match schema_of(then.format) == schema_of(now.format) {
            true => unequal(&rows(then), &rows(now)),
            // Other columns give other digests: what both have is compared.
            false => {
                let options = diff::Options { full: false, keep: 0, jobs };
                let diff::Rows { a, b, same, changed, metadata, added, removed, .. } =
                    diff::diff(folder, rebuilt, &options)?.rows;
                let what = format!("{} rows changed, {added} added, {removed} removed", changed + metadata);
                if a == same && b == same { Vec::new() } else { vec![what] }
            }
        };
        self.rows = now.rows;
        self.same("rows", differing);
        let sums = |folder: &Path| -> Result<BTreeMap<String, String>> {
            let path = folder.join("SHA256SUMS");
            let text = std::fs::read_to_string(&path).map_err(|e| Error::io("cannot read", &path, e))?;
            Ok(text.lines().filter_map(|l| l.split_once("  ")).map(|(d, n)| (n.to_owned(), d.to_owned())).collect())
        };
        if then.format == now.format {
            self.same("bytes", unequal(&sums(folder)?, &sums(rebuilt)?));
        } else {
            let what = format!("a release of format {}, this program writes {}", then.format, now.format);
            self.step("bytes", Verdict::CouldNotRun, Some(what));
        }
        Ok(())
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", self.release);
        if self.built_by != self.audited_by {
            out += &format!("  built by nihbuild {}, audited by {}\n", self.built_by, self.audited_by);
        }
        let width = self.steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
        for Step { name, verdict, what } in &self.steps {
            let what = what.as_ref().map_or(String::new(), |what| format!("  {what}"));
            out += &format!("  {name:width$}  {}{what}\n", verdict.name());
        }
        out += &format!("{} rows compared: {}\nrows digest {}\n", self.rows, self.verdict.name(), self.rows_digest);
        out
    }
}

fn pins(manifest: &Manifest) -> BTreeMap<String, Digest> {
    manifest.pins.iter().map(|pin| (pin.path.clone(), pin.sha256)).collect()
}

fn shortened(all: &[String]) -> String {
    let more = if all.len() > 5 { format!(" and {} more", all.len() - 5) } else { String::new() };
    all.iter().take(5).cloned().collect::<Vec<_>>().join(", ") + &more
}

/// Names that are not the same in both.
fn unequal<T: PartialEq>(a: &BTreeMap<String, T>, b: &BTreeMap<String, T>) -> Vec<String> {
    let mut names: Vec<&String> = a.keys().chain(b.keys()).filter(|name| a.get(*name) != b.get(*name)).collect();
    names.sort();
    names.dedup();
    names.into_iter().cloned().collect()
}

/// Moves the rebuilt release to where it is wanted.
fn keep_release(rebuilt: &Path, keep: &Path) -> Result<()> {
    if keep.exists() {
        return Err(Error::new(format!("--keep: {} is there already", keep.display())));
    }
    if let Some(above) = keep.parent().filter(|above| !above.as_os_str().is_empty()) {
        make_dir(above)?;
    }
    std::fs::rename(rebuilt, keep)
        .map_err(|e| Error::io("cannot rename to", keep, e).help("give a folder on the same file system as --out"))
}
