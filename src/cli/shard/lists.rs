//! Steps that search and what follows: lists, their merge, and the collection that they leave.

use super::super::print;
use super::{Output, RecipeAt, on, sampling};
use crate::error::{Error, Result};
use crate::shard::QUESTIONS;
use crate::shard::apart::Leaks;
use crate::shard::check::{Checked, check};
use crate::shard::merge::{Given, Kind, Merged};
use crate::shard::narrow::{Named as Narrowing, write_lines};
use crate::shard::part::Parts;
use crate::shard::queries::Queries;
use crate::shard::stream::{Source, to};
use crate::shard::topk::{self, Lists, Search};
use crate::work::share::Share;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Args)]
pub(in crate::cli) struct TopkArgs {
    /// Streams of passages [default: standard input]
    passages: Vec<PathBuf>,
    /// The stream of all queries: query (left out: counted from 0), vector
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// Passages of a list
    #[arg(short, value_name = "N")]
    k: usize,
    /// A stream of leaks: passages that may not be in the list of a question
    #[arg(long, value_name = "FILE")]
    apart: Vec<PathBuf>,
    /// Which shard of how many this is, for what is merged to know whether one is missing [default: what the notes of the vectors say]
    #[arg(long, value_name = "I/N")]
    part: Option<Share>,
    #[command(flatten)]
    output: Output,
}

pub(super) fn search(args: TopkArgs) -> Result<()> {
    topk::check_k(args.k)?;
    on(args.output.jobs, |_| {
        let queries = Queries::read(&Source::File(args.queries))?;
        let apart = match args.apart.is_empty() {
            true => BTreeMap::new(),
            false => Leaks::merge(&Source::all(&args.apart))?.of(queries.said.get(QUESTIONS))?,
        };
        let search = Search { queries: &queries, k: args.k, apart: &apart, share: args.part };
        let sources = Source::all(&args.passages);
        to(args.output.to.as_deref(), |out| search.run(&sources, out))
    })
}

#[derive(Args)]
pub(in crate::cli) struct MergeArgs {
    /// Streams that workers wrote [default: standard input]
    streams: Vec<PathBuf>,
    /// The last merge: fail if a shard is missing
    #[arg(long)]
    all: bool,
    /// What they are, where the streams have lost their notes
    #[arg(long, value_name = "KIND")]
    kind: Option<Named>,
    /// Passages of a list, where the streams have lost their notes
    #[arg(short, value_name = "N")]
    k: Option<usize>,
    /// Write a sample as a collection's file of lines `number<TAB>passage`, for a build to read
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    lines: Option<PathBuf>,
    /// How a sample was drawn, where the streams have lost their notes
    #[command(flatten)]
    recipe: RecipeAt,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Named {
    Topk,
    Sample,
    Leaks,
}

pub(super) fn merge(args: MergeArgs) -> Result<()> {
    let kind = match args.kind {
        Some(Named::Topk | Named::Leaks) if args.lines.is_some() => {
            return Err(Error::new("--lines is for samples, which are collections; leave it out, or --kind"));
        }
        // Nothing else becomes lines: other streams are then refused.
        None if args.lines.is_some() => Some(Kind::Sample),
        named => named.map(|named| match named {
            Named::Topk => Kind::Topk,
            Named::Sample => Kind::Sample,
            Named::Leaks => Kind::Leaks,
        }),
    };
    on(args.output.jobs, |jobs| {
        let sampling = args.recipe.plan(jobs)?.map(|plan| sampling(&plan));
        let merged = Merged::read(&Source::all(&args.streams), Given { kind, k: args.k, sampling })?;
        if args.all {
            merged.whole()?;
        }
        match (&args.lines, &merged) {
            (Some(path), Merged::Sample(sample)) => {
                let mut rows: Vec<(u32, &str)> = sample.rows().collect();
                rows.sort_unstable();
                to(Some(path), |out| write_lines(rows.iter().copied(), out))
            }
            _ => to(args.output.to.as_deref(), |out| merged.write(out)),
        }
    })
}

#[derive(Args)]
pub(in crate::cli) struct NarrowArgs {
    /// Streams of passages [default: standard input]
    passages: Vec<PathBuf>,
    /// The merged lists
    #[arg(long, value_name = "FILE")]
    lists: PathBuf,
    /// Write a collection's file of lines `number<TAB>passage`, and fail if a passage of a list is not among those that were read
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    lines: Option<PathBuf>,
    /// Column of text of those lines
    #[arg(long, value_name = "COLUMN", default_value = "text")]
    text: String,
    /// Where the stream is written [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

pub(super) fn narrow(args: NarrowArgs) -> Result<()> {
    let lists = Lists::merge(&[Source::File(args.lists)])?;
    if lists.said.parts().is_some() {
        Parts::whole(lists.said.parts())?;
    }
    let named = Narrowing::by(&lists);
    drop(lists);
    let sources = Source::all(&args.passages);
    match &args.lines {
        Some(path) => to(Some(path), |out| named.lines(&sources, &args.text, out)),
        None => to(args.to.as_deref(), |out| named.stream(&sources, out)),
    }
}

#[derive(Args)]
pub(in crate::cli) struct CheckArgs {
    /// The merged lists
    #[arg(long, value_name = "FILE")]
    lists: PathBuf,
    /// The recipe, and with --data the narrowed collection
    #[command(flatten)]
    recipe: RecipeAt,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

pub(super) fn checked(args: CheckArgs) -> Result<()> {
    on(args.jobs, |jobs| {
        let plan = args.recipe.needed(jobs)?;
        let lists = Lists::merge(&[Source::File(args.lists)])?;
        Parts::whole(lists.said.parts())?;
        let Checked { questions, passages } = check(&plan, &lists)?;
        print(&format!(
            "{questions} questions among {passages} passages: a build from them is the build from the whole collection\n"
        ))
    })
}
