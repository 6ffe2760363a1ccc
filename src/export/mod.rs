//! A release as the files of an evaluator: its tasks, its data, and the reference scorer beside them.
//!
//! Every export is a folder that needs nothing but the evaluator: `export.json` (what it is, and each config's settings),
//! the data, the evaluator's own files, `nihbuild_score.py` with `words.json`, a README with the commands, SHA256SUMS.
//! It is written aside and renamed whole. Its bytes depend on the release's rows and the options alone, not on the
//! layout of the release.

mod config;
mod data;
mod folder;
mod inspect;
mod lighteval;
mod lm_eval;
mod openai_evals;
mod pick;
mod readme;
mod row;

use crate::error::Result;
use crate::family::factoid::JUDGE;
use crate::recipe::Family;
use crate::release::Release;
use crate::report::Progress;
use crate::verify::read_recipe;
use config::{Config, Context};
use folder::Folder;
use pick::Picked;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Python code with the lines that all targets find the reference scorer by.
fn with_scorer(code: &str) -> String {
    code.replacen("# scorer.py stands here in an export.\n", include_str!("scorer.py"), 1)
}

/// What an export is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum To {
    /// EleutherAI's lm-evaluation-harness: YAML tasks and groups over Parquet.
    LmEval,
    /// Inspect AI: a task file over JSON Lines.
    Inspect,
    /// lighteval: custom tasks over Parquet.
    Lighteval,
    /// OpenAI evals: a registry over JSON Lines.
    OpenaiEvals,
    /// JSON Lines, one file a config, for any program.
    Jsonl,
}

impl To {
    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            To::LmEval => "lm-eval",
            To::Inspect => "inspect",
            To::Lighteval => "lighteval",
            To::OpenaiEvals => "openai-evals",
            To::Jsonl => "jsonl",
        }
    }

    /// Are its data Parquet files?
    pub fn is_parquet(self) -> bool {
        matches!(self, To::LmEval | To::Lighteval)
    }
}

/// How a model is asked to decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Decoding {
    /// The likeliest token each time.
    #[default]
    Greedy,
    /// The settings of the family's paper: MLNeedle's temperature 0.7 and top-k 50.
    Paper,
}

/// What a command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The evaluator.
    pub to: To,
    /// The folder that is written.
    pub out: PathBuf,
    /// Only these configs.
    pub configs: Option<Vec<String>>,
    /// Only these languages, by code.
    pub languages: Option<Vec<String>>,
    /// Only these lengths, as rows write them.
    pub lengths: Option<Vec<String>>,
    /// Only the first so many instances of the release's fixed order.
    pub limit: Option<u32>,
    /// How models decode.
    pub decoding: Decoding,
    /// Stop sequences in place of the family's own.
    pub stop: Option<Vec<String>>,
    /// Tokens of an answer in place of the recipe's allowance.
    pub max_tokens: Option<u32>,
    /// Parquet files are links to those of the release.
    pub link: bool,
}

/// What became of an export.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The folder.
    pub folder: PathBuf,
    /// The very same export was there already.
    pub was_there: bool,
    /// For which evaluator.
    pub to: &'static str,
    /// Its configs.
    pub configs: usize,
    /// Rows of all configs.
    pub rows: u64,
    /// Bytes of all files; of links those they lead to.
    pub bytes: u64,
}

/// Writes a release, or a part of it, for an evaluator.
///
/// # Errors
///
/// The release cannot be read or is damaged, nothing is left of it, the options do not go together, or the folder holds
/// what is not an export.
pub fn export(release: &Path, options: &Options) -> Result<Outcome> {
    let release = Release::open(release)?;
    // Languages made by translation are known once the recipe is read.
    let recipe = read_recipe(&release.folder)?;
    let context = Context::new(&release, &recipe, options)?;
    let picked = pick::pick(&release, &recipe, options)?;
    let configs: Vec<Config> = picked.iter().map(|picked| context.config(picked)).collect();
    let folder = Folder::begin(&options.out, &release.folder)?;
    let progress = Progress::new("export", configs.iter().map(|config| config.rows).sum(), "rows");
    for (picked, config) in picked.iter().zip(&configs) {
        write_data(&release, picked, config, options, &folder, &progress)?;
    }
    progress.finish();
    folder.text("export.json", &context.describe(&release, &configs)?)?;
    folder.text("nihbuild_score.py", crate::score::PYTHON)?;
    folder.json("words.json", &crate::score::words(&release)?)?;
    if recipe.family() == Family::Factoid {
        folder.text("judge.json", JUDGE)?;
    }
    match options.to {
        To::LmEval => lm_eval::write(&folder, &context, &configs)?,
        To::Inspect => inspect::write(&folder, &configs)?,
        To::Lighteval => lighteval::write(&folder)?,
        To::OpenaiEvals => openai_evals::write(&folder, &context, &configs)?,
        To::Jsonl => {}
    }
    folder.text("README.md", &readme::readme(&release, &context, &configs))?;
    let (was_there, bytes) = folder.finish()?;
    let rows = configs.iter().map(|config| config.rows).sum();
    let (folder, to) = (options.out.clone(), options.to.name());
    Ok(Outcome { folder, was_there, to, configs: configs.len(), rows, bytes })
}

fn write_data(
    release: &Release,
    picked: &Picked,
    config: &Config,
    options: &Options,
    folder: &Folder,
    progress: &Progress,
) -> Result<()> {
    match options.to.is_parquet() {
        true => data::parquet(release, picked, &config.data, options.link, folder)?,
        false => {
            let shape = |row: row::Row| row.shaped(options.to);
            data::json_lines(release, picked, &config.data, folder, &shape)?;
        }
    }
    progress.add(config.rows);
    Ok(())
}
