//! `worker`: one step of work that an engine or a job array hands out.

use super::shard::{self, ShardWork};
use crate::error::Result;
use clap::{Args, Subcommand};

#[derive(Args)]
pub(super) struct WorkerArgs {
    #[command(subcommand)]
    work: Work,
}

#[derive(Subcommand)]
enum Work {
    #[command(flatten)]
    Shard(ShardWork),
}

pub(super) fn worker(args: WorkerArgs) -> Result<bool> {
    match args.work {
        Work::Shard(work) => shard::run(work),
    }
}
