//! `plan.json`: what a plan is, and the digests of all that it consists of.

use super::FORMAT;
use super::part::PartReader;
use crate::compact::Layout;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::language::Pack;
use crate::manifest::Manifest;
use crate::plan::{Filter, Options, Plan};
use crate::recipe::Recipe;
use crate::remote::Place;
use crate::stage::embed::PinFile;
use crate::stage::write::Shape;
use crate::store::{make_dir, write_aside};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where a plan is written, and how it is cut.
#[derive(Clone, Debug)]
pub struct Target {
    /// The folder.
    pub folder: PathBuf,
    /// Tokens in a file of rows, at most about: a unit of work. All units are about equal.
    pub unit: u64,
}

impl Target {
    /// Tokens in a file of rows, unless told otherwise: some seconds of a core, beside which the start of a worker is little.
    pub const UNIT: u64 = 64_000_000;

    /// The plan of a release stands beside it: `<name>/<version>.plan`.
    pub fn of(plan: &Plan) -> Target {
        Target { folder: crate::pipeline::beside(&plan.folder(), "plan"), unit: Target::UNIT }
    }
}

/// What the command line narrowed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Narrowed {
    /// Instances, languages, lengths.
    pub filter: Filter,
    /// Another seed than the recipe's.
    pub seed: Option<u64>,
    /// The release is to be compact.
    pub compact: bool,
}

/// A data file of the plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedFile {
    /// Name of its config.
    pub config: String,
    /// Rows and tokens of each of its row groups.
    pub groups: Vec<(u64, u64)>,
    /// Digest of its rows' ids, in order.
    pub ids: Digest,
}

/// A file of rows: a unit of work.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsFile {
    /// Path inside the plan folder.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Tokens of their prompts.
    pub tokens: u64,
    /// Digest of its bytes.
    pub sha256: Digest,
}

/// A part that rows of some instances need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// The part.
    pub part: Digest,
    /// Its size.
    pub bytes: u64,
    /// The first instance (or language) that it is of.
    pub first: u32,
    /// Rows that need it.
    pub rows: u64,
}

/// The texts of a compact release, which need no worker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactParts {
    /// How each data file is put together.
    pub layouts: Vec<Layout>,
    /// The parts, by path inside the release.
    pub parts: BTreeMap<String, Digest>,
}

/// `plan.json`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// Raised when workers would make other rows of the same folder.
    pub format: u32,
    /// Version of the builder: workers and seal must have the same.
    pub nihbuild: String,
    /// Identity of the build: prompt rows bear it.
    pub identity: Digest,
    /// Digest of everything the plan says.
    pub plan: Digest,
    /// The recipe, every default printed; of a held-out seed, where it is read from.
    pub recipe: String,
    /// What the command line narrowed.
    pub narrowed: Narrowed,
    /// Parts: the language packs, by language.
    pub packs: BTreeMap<String, Digest>,
    /// Parts: files of tokenizers, by name.
    pub tokenizers: BTreeMap<String, Digest>,
    /// Part: further pins of sources that the command line named.
    pub sources: Option<Digest>,
    /// Parts that many rows need, by name, with their sizes.
    pub shared: BTreeMap<String, (Digest, u64)>,
    /// Parts that few rows need.
    pub bundles: Vec<Bundle>,
    /// The data files, in order.
    pub files: Vec<PlannedFile>,
    /// The rows, cut into units of work.
    pub rows: Vec<RowsFile>,
    /// The manifest, without files and what they come to.
    pub manifest: Manifest,
    /// Pins that are published with the release; their bytes are parts.
    pub pins: Vec<PinFile>,
    /// The texts of a compact release.
    pub compact: Option<CompactParts>,
}

/// Name of the file.
pub const NAME: &str = "plan.json";

impl PlanFile {
    /// Reads the plan of a folder.
    ///
    /// # Errors
    ///
    /// A folder without one, or with one that another version of the program made.
    pub fn read(place: &Place) -> Result<PlanFile> {
        let path = place.join(NAME);
        let bytes = place.get(NAME)?.ok_or_else(|| {
            Error::new(format!("{path} is not there"))
                .help("give the folder of a plan, as `nihbuild plan RECIPE` writes it")
        })?;
        #[derive(Deserialize)]
        struct Head {
            format: u32,
            nihbuild: String,
        }
        let fault = |e: serde_json::Error| Error::new(e.to_string()).at(&path);
        let head: Head = serde_json::from_slice(&bytes).map_err(fault)?;
        let own = env!("CARGO_PKG_VERSION");
        if head.format != FORMAT || head.nihbuild != own {
            let what = format!("a plan of format {} by version {}", head.format, head.nihbuild);
            return Err(Error::new(format!("{path} is {what}, this is format {FORMAT} and version {own}"))
                .help("use the same version for plan, workers and seal: other versions may make other rows"));
        }
        serde_json::from_slice(&bytes).map_err(fault)
    }

    /// Rows of all data files.
    pub fn count(&self) -> u64 {
        self.rows.iter().map(|file| file.rows).sum()
    }

    /// Tokens of all prompts.
    pub fn tokens(&self) -> u64 {
        self.rows.iter().map(|file| file.tokens).sum()
    }

    /// Number of parts, and their bytes, but for packs, tokenizers and pins.
    pub fn part_bytes(&self) -> (usize, u64) {
        let bundles = self.bundles.iter().map(|bundle| (bundle.part, bundle.bytes));
        let all: BTreeMap<Digest, u64> = self.shared.values().copied().chain(bundles).collect();
        (all.len(), all.values().sum())
    }

    /// The shape of each data file of the resolved plan.
    pub fn shapes(&self, plan: &Plan) -> Result<Vec<Shape>> {
        if !plan.files.iter().map(|file| &file.config).eq(self.files.iter().map(|file| &file.config)) {
            return Err(Error::new("the data files of the plan are not those of its recipe: it was changed")
                .help("make the plan again"));
        }
        let shape = |(file, planned): (&crate::plan::FilePlan, &PlannedFile)| Shape {
            file: file.clone(),
            groups: planned.groups.clone(),
        };
        Ok(plan.files.iter().zip(&self.files).map(shape).collect())
    }

    /// Resolves the recipe again, with the packs and tokenizers of the plan. `scratch` is a folder for what must lie in
    /// files by name.
    ///
    /// # Errors
    ///
    /// What makes the result another plan than the one that was written: another program, a changed part, another seed.
    pub fn resolve(&self, parts: &PartReader, scratch: &Path, options: Options) -> Result<Plan> {
        let folder = scratch.join("packs");
        make_dir(&folder)?;
        let mut made = Vec::new();
        for (language, digest) in &self.packs {
            let bytes = parts.get(digest)?;
            write_aside(&folder.join(format!("{language}.toml")), |out| out.write_all(&bytes))?;
            made.push((language, bytes));
        }
        let tokenizers = self.tokenizers.iter().map(|(name, digest)| Ok((name.clone(), parts.file(digest)?)));
        let options = Options {
            filter: self.narrowed.filter.clone(),
            seed: self.narrowed.seed,
            compact: self.narrowed.compact,
            offline: true,
            packs: Some(folder),
            tokenizers: tokenizers.collect::<Result<_>>()?,
            sources: self.sources.map(|digest| parts.file(&digest)).transpose()?,
            ..options
        };
        let recipe = Recipe::parse(NAME, &self.recipe)?;
        let mut plan = Plan::new(recipe, options)?;
        let mut complete = Vec::new();
        for language in plan.unwritten() {
            let bytes = made.iter().find(|(code, _)| **code == language.to_string()).map(|(_, bytes)| bytes);
            let bytes = bytes.ok_or_else(|| Error::new(format!("the plan has no pack of {language}")))?;
            let text = std::str::from_utf8(bytes).map_err(|e| Error::new(e.to_string()).at("the plan's packs"))?;
            complete.push((language, Pack::parse(text)?));
        }
        if !complete.is_empty() {
            plan.complete(complete)?;
        }
        if plan.digest() != self.plan {
            return Err(Error::new("the plan's recipe comes to another plan than the one that was written")
                .help("use the same program for plan, workers and seal, and the same held-out seed"));
        }
        Ok(plan)
    }
}
