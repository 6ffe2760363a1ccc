//! `worker`: steps of retrieval on shards, streams in and out.

mod inputs;
mod lists;

use self::inputs::{EmbedArgs, LeaksArgs, QuestionsArgs, RowsArgs, SampleArgs};
use self::lists::{CheckArgs, MergeArgs, NarrowArgs, TopkArgs};
use super::build::{SourceFlags, pins_of};
use super::threads;
use crate::error::{Error, Result};
use crate::parallel;
use crate::plan::{Options, Plan};
use crate::recipe::Recipe;
use crate::source::collection::Sampling;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Subcommand)]
pub(super) enum ShardWork {
    /// Write the questions of a recipe: (query, id, text_en, ...)
    Questions(QuestionsArgs),
    /// Write the lines of a collection's files as rows: (number, text), or (number, text_en, text_de, ...) of several languages
    Rows(RowsArgs),
    /// Embed texts: Arrow IPC (query, or number or id; text) to (query or number, vector)
    Embed(EmbedArgs),
    /// The nearest passages of every query among those of a shard: (number or id, vector) to (query, score, number)
    Topk(TopkArgs),
    /// Draw the sample of a part of a collection: (number or id, text), or lines of a file, to (number, text, part)
    Sample(SampleArgs),
    /// Find the passages of a shard that may not stand beside questions: (number or id, text) to (question, number, language, reason)
    Leaks(LeaksArgs),
    /// Merge what workers wrote of shards: lists of the nearest, samples, or leaks
    Merge(MergeArgs),
    /// Keep the passages of a shard that lists name: a collection for a build to read
    Narrow(NarrowArgs),
    /// Check that a build from the narrowed collection is the build from all of it
    Check(CheckArgs),
}

/// Carries out a step.
pub(super) fn run(work: ShardWork) -> Result<()> {
    match work {
        ShardWork::Questions(args) => inputs::questions(args),
        ShardWork::Rows(args) => inputs::lines(args),
        ShardWork::Embed(args) => inputs::embedded(args),
        ShardWork::Topk(args) => lists::search(args),
        ShardWork::Sample(args) => inputs::drawn(args),
        ShardWork::Leaks(args) => inputs::leaks(args),
        ShardWork::Merge(args) => lists::merge(args),
        ShardWork::Narrow(args) => lists::narrow(args),
        ShardWork::Check(args) => lists::checked(args),
    }
}

/// A recipe, and where what it reads is.
#[derive(Args)]
struct RecipeAt {
    /// The recipe that is built in the end: a path, or the name of one
    #[arg(long)]
    recipe: Option<String>,
    #[command(flatten)]
    sources: SourceFlags,
    /// The ONNX Runtime's library [default: what ORT_DYLIB_PATH names]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// Never open a socket
    #[arg(long)]
    offline: bool,
}

impl RecipeAt {
    fn plan(self, jobs: usize) -> Result<Option<Plan>> {
        let Some(name) = self.recipe else { return Ok(None) };
        let (name, recipe) = Recipe::find(&name)?;
        let options = Options {
            jobs,
            offline: self.offline,
            runtime: self.runtime,
            pins: pins_of(None, &name)?,
            ..self.sources.options()?
        };
        Plan::new(recipe, options).map(Some)
    }

    fn needed(self, jobs: usize) -> Result<Plan> {
        self.plan(jobs)?.ok_or_else(|| Error::new("this needs --recipe: a path, or the name of one"))
    }
}

/// Where a stream is written, and by how many threads.
#[derive(Args)]
struct Output {
    /// Where the stream is written [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// Does a step on so many threads.
fn on<T: Send>(jobs: Option<usize>, step: impl FnOnce(usize) -> Result<T> + Send) -> Result<T> {
    let jobs = threads(jobs)?;
    parallel::pool(jobs)?.install(|| step(jobs))
}

fn sampling(plan: &Plan) -> Sampling {
    let key = plan.seed.derive("collection", "").bits();
    Sampling { size: plan.recipe.haystack.sample, ..Sampling::new(key) }
}
