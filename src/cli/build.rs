//! What a build is given on the command line.

use super::threads;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::language::Language;
use crate::plan::{Filter, Options, Plan};
use crate::recipe::{Length, Recipe};
use crate::remote::{Place, is_remote, pull};
use crate::source::tokenizers::parse_flags;
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct BuildArgs {
    /// A path, else a name under recipes/, else a recipe built in (mlrbench, mlrbench-babi, mlrbench-paper, mlneedle,
    /// mlneedle-existence, mlneedle-paper, recall, recall-paper, golden)
    recipe: String,
    #[command(flatten)]
    flags: BuildFlags,
}

/// All but the recipe.
#[derive(Clone, Args)]
pub(super) struct BuildFlags {
    /// Only the first N instances of the fixed order: balanced over the tasks, 10 within 100; of MLNeedle the
    /// first N questions of each cell; of the recall test N cells of length and depth
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Only these languages; of MLNeedle those of needle and haystack (a multilingual haystack stays)
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    languages: Option<Vec<String>>,
    /// Only these lengths, such as 0k,8k
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
    lengths: Option<Vec<Length>>,
    #[command(flatten)]
    pub(super) sources: SourceFlags,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<usize>,
    /// Never open a socket; what would be downloaded must be there
    #[arg(long)]
    offline: bool,
    /// The ONNX Runtime's library (libonnxruntime.so) [default: what ORT_DYLIB_PATH names]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// Pins, such as those of a release (its folder or address): vectors found there are not computed again
    #[arg(long, value_name = "PLACE")]
    pins: Option<PathBuf>,
    /// What the release is written as: full, or compact (each text once and rows as numbers, which `materialize` makes the
    /// full release, byte for byte)
    #[arg(long, value_name = "LAYOUT", default_value = "full")]
    layout: Written,
}

/// What a recipe reads, and where it is.
#[derive(Args, Clone)]
pub(super) struct SourceFlags {
    /// Another seed than the recipe's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Folder of the store, of what is downloaded, and of releases
    #[arg(long, value_name = "DIR", default_value = "build")]
    pub(super) out: PathBuf,
    /// Folder of source files, searched with the folders directly below it; what is not there is downloaded
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder that holds the folder of the recipe's embedding model, and files of tokenizers (NAME/tokenizer.json)
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// The file of a tokenizer that the recipe names: a Hugging Face tokenizer.json, or a Tekken file
    #[arg(long = "tokenizer", value_name = "NAME=FILE")]
    tokenizers: Vec<String>,
    /// A file of further pins, in the form of checksums/sources.toml; its entries come first
    #[arg(long, value_name = "FILE")]
    sources: Option<PathBuf>,
}

impl SourceFlags {
    /// Options that say so, and nothing else.
    pub(super) fn options(self) -> Result<Options> {
        Ok(Options {
            seed: self.seed,
            out: self.out,
            data: self.data,
            models: self.models,
            sources: self.sources,
            tokenizers: parse_flags(&self.tokenizers)?,
            ..Options::default()
        })
    }
}

impl BuildArgs {
    /// The plan of the build.
    pub(super) fn plan(self) -> Result<Plan> {
        self.flags.plan(&self.recipe)
    }
}

impl BuildFlags {
    /// The plan of a recipe's build.
    pub(super) fn plan(self, recipe: &str) -> Result<Plan> {
        let (name, recipe) = Recipe::find(recipe)?;
        let pins = self.pins.map(|pins| brought(pins, &self.sources.out, self.offline)).transpose()?;
        let pins = pins_of(pins, &name)?;
        let options = Options {
            filter: Filter { limit: self.limit, languages: languages(self.languages)?, lengths: self.lengths },
            jobs: threads(self.jobs)?,
            offline: self.offline,
            runtime: self.runtime,
            pins,
            compact: self.layout == Written::Compact,
            ..self.sources.options()?
        };
        Plan::new(recipe, options)
    }

    /// Of a plan that is made already only the folder of releases and threads can be said.
    pub(super) fn none_but_out_and_jobs(&self, folder: &str) -> Result<()> {
        let BuildFlags { sources, jobs: _, limit, languages, lengths, offline, runtime, pins, layout } = self;
        let SourceFlags { out: _, seed, data, models, tokenizers, sources } = sources;
        let given = [
            ("--limit", limit.is_some()),
            ("--languages", languages.is_some()),
            ("--lengths", lengths.is_some()),
            ("--seed", seed.is_some()),
            ("--data", data.is_some()),
            ("--offline", *offline),
            ("--models", models.is_some()),
            ("--tokenizer", !tokenizers.is_empty()),
            ("--runtime", runtime.is_some()),
            ("--pins", pins.is_some()),
            ("--sources", sources.is_some()),
            ("--layout", *layout != Written::Full),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Error::new(format!("{flag}: {folder} is a plan already"))
                .help("narrow the recipe when it is planned: nihbuild plan RECIPE, or nihbuild run RECIPE")),
            None => Ok(()),
        }
    }
}

/// What a release is written as.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Written {
    Full,
    Compact,
}

/// Languages as flags name them; a recipe may have brought some of its own.
fn languages(named: Option<Vec<String>>) -> Result<Option<Vec<Language>>> {
    let parse = |code: &String| {
        code.parse().map_err(|e: String| {
            let error = Error::new(format!("--languages: {e}"));
            crate::recipe::near::help(&e).into_iter().fold(error, Error::help)
        })
    };
    named.map(|all| all.iter().map(parse).collect()).transpose()
}

/// The folder of pins that are given; those of a release behind a network are brought, each held against the release's sums.
fn brought(pins: PathBuf, out: &Path, offline: bool) -> Result<PathBuf> {
    let Some(address) = pins.to_str().filter(|text| is_remote(text)) else { return Ok(pins) };
    let place = Place::parse(address)?;
    place.allowed(offline)?;
    let folder = out.join("cache").join("pins").join(&Digest::of(address).to_string()[..16]);
    pull::pins(&place, &folder).map_err(|e| e.at("--pins"))?;
    Ok(folder)
}

/// Folders of pins: in the one given (a release, its pins/, or a folder of the kind), and beside the recipe, where it is a release's.
pub(super) fn pins_of(given: Option<PathBuf>, recipe: &str) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    if let Some(given) = given {
        const KINDS: [&str; 3] = ["embed", "translate", "rerank"];
        let holds = |folder: &PathBuf| KINDS.iter().any(|kind| folder.join(kind).is_dir());
        let found = [given.join("pins"), given.clone()].into_iter().find(holds);
        folders.push(found.ok_or_else(|| {
            Error::new(format!("--pins: {} holds no pins (a folder {})", given.display(), KINDS.join(" or ")))
                .help("give the folder of a release, or its folder pins")
        })?);
    }
    let beside = std::path::Path::new(recipe).parent().map(|folder| folder.join("pins"));
    folders.extend(beside.filter(|folder| folder.is_dir()));
    Ok(folders)
}
