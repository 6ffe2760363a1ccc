//! `worker`: steps of retrieval on shards, streams in and out.

use super::threads;
use crate::error::{Error, Result};
use crate::shard::part::Part;
use crate::shard::stream::{Source, to};
use crate::shard::topk;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct WorkerArgs {
    #[command(subcommand)]
    work: Work,
}

#[derive(Subcommand)]
enum Work {
    /// The nearest passages of every query among those of a shard: Arrow IPC (number or id, vector) to (query, score, number)
    Topk(TopkArgs),
    /// Merge what workers wrote of shards: lists of the nearest
    Merge(MergeArgs),
}

/// Carries out a step. A worker's error is one line, for logs of many.
pub(super) fn worker(args: WorkerArgs) -> Result<bool> {
    let done = match args.work {
        Work::Topk(args) => search(args),
        Work::Merge(args) => merge(args),
    };
    done.map_err(|e| Error::new(e.to_string().lines().map(str::trim).collect::<Vec<_>>().join("; ")))
}

#[derive(Args)]
pub(super) struct TopkArgs {
    /// Streams of passages [default: standard input]
    passages: Vec<PathBuf>,
    /// The stream of all queries: query (left out: counted from 0), vector
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// Passages of a list
    #[arg(short, value_name = "N")]
    k: usize,
    /// Which shard of how many this is; what is merged then knows whether one is missing
    #[arg(long, value_name = "N/OF", default_value = "1/1")]
    part: Part,
    /// Where the stream is written [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

pub(super) fn search(args: TopkArgs) -> Result<bool> {
    let passages = Source::all(&args.passages);
    let pool = crate::parallel::pool(threads(args.jobs)?)?;
    let queries = topk::Queries::read(&Source::File(args.queries))?;
    topk::check_k(args.k)?;
    let run = |out: &mut dyn std::io::Write| topk::search(&passages, &queries, args.k, args.part, out).map(drop);
    to(args.to.as_deref(), |out| run(out)).map(|()| true)
}

#[derive(Args)]
pub(super) struct MergeArgs {
    /// Streams that workers wrote [default: standard input]
    streams: Vec<PathBuf>,
    /// Passages of a list, where the streams have lost their notes
    #[arg(short, value_name = "N")]
    k: Option<usize>,
    /// Where the stream is written [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

pub(super) fn merge(args: MergeArgs) -> Result<bool> {
    let lists = topk::Lists::merge(&Source::all(&args.streams), args.k)?;
    to(args.to.as_deref(), |out| lists.write(out)).map(|()| true)
}
