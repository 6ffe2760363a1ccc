//! Steps that search and what follows: lists, their merge, and the collection that they leave.

use super::super::print;
use super::{Output, RecipeAt, sampling, start};
use crate::error::{Error, Result};
use crate::shard::apart::{self, Leaks};
use crate::shard::check::{Checked, check};
use crate::shard::narrow::{Named, write_lines};
use crate::shard::part::Parts;
use crate::shard::queries::Queries;
use crate::shard::sample::{self, Sample};
use crate::shard::stream::{Source, kind, to};
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
    /// Which shard of how many this is; what is merged then knows whether one is missing
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: Share,
    #[command(flatten)]
    output: Output,
}

pub(super) fn search(args: TopkArgs) -> Result<()> {
    start(args.output.jobs)?;
    topk::check_k(args.k)?;
    let queries = Queries::read(&Source::File(args.queries))?;
    let apart = match args.apart.is_empty() {
        true => BTreeMap::new(),
        false => Leaks::merge(&Source::all(&args.apart))?.of(queries.questions.as_deref())?,
    };
    let search = Search { queries: &queries, k: args.k, apart: &apart, share: args.part };
    let sources = Source::all(&args.passages);
    to(args.output.to.as_deref(), |out| search.run(&sources, out).map(drop))
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
    kind: Option<Kind>,
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
enum Kind {
    Topk,
    Sample,
    Leaks,
}

impl Kind {
    fn of(name: &str) -> Result<Kind> {
        match name {
            topk::NAME => Ok(Kind::Topk),
            sample::NAME => Ok(Kind::Sample),
            apart::NAME => Ok(Kind::Leaks),
            other => Err(Error::new(format!("a stream of {other} needs no merging"))
                .help("streams behind one another are read as one, and so are several that are named")),
        }
    }
}

pub(super) fn merge(args: MergeArgs) -> Result<()> {
    let jobs = start(args.output.jobs)?;
    let sources = Source::all(&args.streams);
    let whole = |parts: Option<&Parts>| if args.all { Parts::whole(parts) } else { Ok(()) };
    let told = match (args.kind, sources.first()) {
        (Some(kind), _) => Some(kind),
        // Standard input can be read but once.
        (None, Some(file @ Source::File(_))) => kind(file)?.as_deref().map(Kind::of).transpose()?,
        (None, _) => None,
    };
    let target = args.output.to.as_deref();
    match told {
        Some(Kind::Sample) => {
            let given = args.recipe.plan(jobs)?.map(|plan| sampling(&plan));
            let sample = Sample::merge(&sources, given)?;
            whole(sample.parts.as_ref())?;
            match &args.lines {
                Some(path) => {
                    let mut rows: Vec<(u32, &str)> = sample.rows().collect();
                    rows.sort_unstable();
                    to(Some(path), |out| write_lines(rows.iter().copied(), out))
                }
                None => to(target, |out| sample.write(out)),
            }
        }
        Some(Kind::Leaks) => {
            let leaks = Leaks::merge(&sources)?;
            whole(leaks.parts.as_ref())?;
            to(target, |out| leaks.write(out))
        }
        Some(Kind::Topk) | None => {
            let lists = Lists::merge(&sources, args.k)?;
            whole(lists.parts.as_ref())?;
            to(target, |out| lists.write(out))
        }
    }
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
    #[command(flatten)]
    output: Output,
}

pub(super) fn narrow(args: NarrowArgs) -> Result<()> {
    let lists = Lists::merge(&[Source::File(args.lists)], None)?;
    if lists.parts.is_some() {
        Parts::whole(lists.parts.as_ref())?;
    }
    let named = Named::by(&lists);
    drop(lists);
    let sources = Source::all(&args.passages);
    match &args.lines {
        Some(path) => to(Some(path), |out| named.lines(&sources, &args.text, out).map(drop)),
        None => to(args.output.to.as_deref(), |out| named.stream(&sources, out).map(drop)),
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
    let plan = args.recipe.needed(start(args.jobs)?)?;
    let lists = Lists::merge(&[Source::File(args.lists)], None)?;
    Parts::whole(lists.parts.as_ref())?;
    let found = check(&plan, &lists)?;
    let Checked { questions, passages } = found;
    print(&format!(
        "{questions} questions among {passages} passages: a build from them is the build from the whole collection\n"
    ))
}
