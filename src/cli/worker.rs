//! `worker`: one step of work that an engine or a job array hands out.

use super::shard::{self, ShardWork};
use super::work::{RenderArgs, render};
use crate::error::{Error, Result};
use clap::{Args, Subcommand};

#[derive(Args)]
pub(super) struct WorkerArgs {
    #[command(subcommand)]
    work: Work,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of it")]
enum Work {
    /// Make prompt rows: reads rows of a plan as an Arrow IPC stream on standard input, writes prompt rows to standard output
    Render(RenderArgs),
    #[command(flatten)]
    Shard(ShardWork),
}

/// Carries out a step. What goes wrong is one line, for logs of many.
pub(super) fn worker(args: WorkerArgs) -> Result<bool> {
    std::panic::set_hook(Box::new(|panic| {
        let line = panic.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        eprintln!("{line}");
    }));
    let done = match args.work {
        Work::Render(args) => render(&args),
        Work::Shard(work) => shard::run(work),
    };
    let lines =
        |e: &Error| e.to_string().lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    done.map(|()| true).map_err(|e| Error::new(lines(&e)))
}
