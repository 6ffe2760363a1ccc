//! `worker`: steps of retrieval on shards, streams in and out.

use super::build::pins_of;
use super::{print, threads};
use crate::embedder::Role;
use crate::error::{Error, Result};
use crate::language::Language;
use crate::plan::{Options, Plan};
use crate::recipe::Recipe;
use crate::shard::apart::{self, Asked, Leaks};
use crate::shard::check::{Checked, check};
use crate::shard::embed::{Embedder, Embedding, embed};
use crate::shard::narrow::{Named, write_lines};
use crate::shard::part::Parts;
use crate::shard::rows;
use crate::shard::sample::{self, Sample};
use crate::shard::stream::{Source, kind, to};
use crate::shard::topk::{self, Lists, Queries, Search};
use crate::source::collection::Sampling;
use crate::source::tokenizers::parse_flags;
use crate::work::share::Share;
use clap::{Args, Subcommand, ValueEnum};
use std::collections::BTreeMap;
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
        ShardWork::Questions(args) => questions(args),
        ShardWork::Rows(args) => lines(args),
        ShardWork::Embed(args) => embedded(args),
        ShardWork::Topk(args) => search(args),
        ShardWork::Sample(args) => drawn(args),
        ShardWork::Leaks(args) => leaks(args),
        ShardWork::Merge(args) => merge(args),
        ShardWork::Narrow(args) => narrow(args),
        ShardWork::Check(args) => checked(args),
    }
}

/// A recipe, and where what it reads is.
#[derive(Args)]
struct RecipeAt {
    /// The recipe that is built in the end: a path, or the name of one
    #[arg(long)]
    recipe: Option<String>,
    /// Another seed than the recipe's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Folder of the store and of what is downloaded
    #[arg(long, value_name = "DIR", default_value = "build")]
    out: PathBuf,
    /// Folder of source files
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder that holds the folder of the recipe's embedding model, and files of tokenizers
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// The file of a tokenizer that the recipe names
    #[arg(long = "tokenizer", value_name = "NAME=FILE")]
    tokenizers: Vec<String>,
    /// The ONNX Runtime's library [default: what ORT_DYLIB_PATH names]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// A file of further pins of sources
    #[arg(long, value_name = "FILE")]
    sources: Option<PathBuf>,
    /// Never open a socket
    #[arg(long)]
    offline: bool,
}

impl RecipeAt {
    fn plan(self, jobs: usize) -> Result<Option<Plan>> {
        let Some(name) = self.recipe else { return Ok(None) };
        let (name, recipe) = Recipe::find(&name)?;
        let options = Options {
            seed: self.seed,
            out: self.out,
            data: self.data,
            jobs,
            offline: self.offline,
            models: self.models,
            runtime: self.runtime,
            pins: pins_of(None, &name)?,
            sources: self.sources,
            tokenizers: parse_flags(&self.tokenizers)?,
            ..Options::default()
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

#[derive(Args)]
pub(super) struct QuestionsArgs {
    #[command(flatten)]
    recipe: RecipeAt,
    /// Only the first N of the order in which a build chooses, of which it takes as many as its cells need and passes over those that
    /// it refuses [default: all]
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    #[command(flatten)]
    output: Output,
}

fn questions(args: QuestionsArgs) -> Result<()> {
    let plan = args.recipe.needed(threads(args.output.jobs)?)?;
    let asked = Asked::read(&plan)?;
    let numbers = asked.first(&plan, args.first)?;
    to(args.output.to.as_deref(), |out| asked.write(&plan, &numbers, out))
}

#[derive(Args)]
pub(super) struct RowsArgs {
    /// A file of lines `number<TAB>passage`, ascending by number; of several languages as CODE=FILE, each
    #[arg(long, value_name = "[CODE=]FILE", required = true)]
    lines: Vec<String>,
    /// Which part of how many this is, by the remainder of the numbers
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: Share,
    /// Where the stream is written [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

fn lines(args: RowsArgs) -> Result<()> {
    let file = |named: &String| match named.split_once('=').map(|(code, file)| (code.parse::<Language>(), file)) {
        Some((Ok(language), file)) => (format!("text_{language}"), PathBuf::from(file)),
        _ => ("text".to_owned(), PathBuf::from(named)),
    };
    let files: Vec<(String, PathBuf)> = args.lines.iter().map(file).collect();
    if let Some((column, _)) = files.iter().enumerate().find_map(|(n, f)| files[..n].iter().find(|e| e.0 == f.0)) {
        return Err(Error::new(format!("two files would be the column {column}"))
            .help("write --lines CODE=FILE, each language once"));
    }
    let mut made = None;
    to(args.to.as_deref(), |out| rows::write(&files, args.part, out).map(|rows| made = Some(rows)))?;
    for (path, reason, n, first) in made.into_iter().flat_map(|made| made.dropped) {
        eprintln!("{}: {n} lines refused: {reason}, first {first}", path.display());
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Side {
    Passage,
    Query,
}

#[derive(Args)]
pub(super) struct EmbedArgs {
    /// Streams of texts [default: standard input]
    texts: Vec<PathBuf>,
    /// What the texts are
    #[arg(long, value_name = "SIDE", default_value = "passage")]
    role: Side,
    /// Columns of text; of several the vectors are summed, as a ranking for all languages at once has them [default: text, and all that
    /// begin with text_]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    text: Vec<String>,
    /// Without one, the embedder that is part of the program
    #[command(flatten)]
    recipe: RecipeAt,
    #[command(flatten)]
    output: Output,
}

fn embedded(args: EmbedArgs) -> Result<()> {
    let jobs = threads(args.output.jobs)?;
    let embedder = match args.recipe.plan(jobs)? {
        Some(plan) => Embedder::of(&plan)?,
        None => Embedder::ngram(),
    };
    let role = match args.role {
        Side::Passage => Role::Passage,
        Side::Query => Role::Query,
    };
    let embedding = Embedding { embedder: &embedder, role, columns: args.text };
    let sources = Source::all(&args.texts);
    pooled(jobs, args.output.to, |out| embed(&sources, embedding, out).map(drop))
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
    /// A stream of leaks: passages that may not be in the list of a question
    #[arg(long, value_name = "FILE")]
    apart: Vec<PathBuf>,
    /// Which shard of how many this is; what is merged then knows whether one is missing
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: Share,
    #[command(flatten)]
    output: Output,
}

fn search(args: TopkArgs) -> Result<()> {
    topk::check_k(args.k)?;
    let queries = Queries::read(&Source::File(args.queries))?;
    let apart = match args.apart.is_empty() {
        true => BTreeMap::new(),
        false => Leaks::merge(&Source::all(&args.apart))?.of(queries.questions.as_deref())?,
    };
    let search = Search { queries: &queries, k: args.k, apart: &apart, share: args.part };
    let sources = Source::all(&args.passages);
    pooled(threads(args.output.jobs)?, args.output.to, |out| search.run(&sources, out).map(drop))
}

#[derive(Args)]
pub(super) struct SampleArgs {
    /// Streams of passages [default: standard input]
    passages: Vec<PathBuf>,
    /// A collection's file of lines `number<TAB>passage`, of which the part is read
    #[arg(long, value_name = "FILE", conflicts_with = "passages")]
    lines: Option<PathBuf>,
    /// Which part of how many this is
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: Share,
    #[command(flatten)]
    recipe: RecipeAt,
    #[command(flatten)]
    output: Output,
}

fn drawn(args: SampleArgs) -> Result<()> {
    let sampling = sampling(&args.recipe.needed(threads(args.output.jobs)?)?);
    let drawn = match &args.lines {
        Some(path) => sample::lines(path, args.part, &sampling)?,
        None => sample::stream(&Source::all(&args.passages), &sampling)?,
    };
    for (reason, (n, first)) in &drawn.dropped {
        eprintln!("sample {}: {n} of {} refused: {reason}, first {first} of the part", args.part, drawn.lines);
    }
    let sample = Sample::of(drawn, args.part, sampling);
    to(args.output.to.as_deref(), |out| sample.write(out))
}

fn sampling(plan: &Plan) -> Sampling {
    let key = plan.seed.derive("collection", "").bits();
    Sampling { size: plan.recipe.haystack.sample, ..Sampling::new(key) }
}

#[derive(Args)]
pub(super) struct LeaksArgs {
    /// Streams of passages [default: standard input]
    passages: Vec<PathBuf>,
    /// Columns of text by language, such as de=text_de
    #[arg(long, value_name = "CODE=COLUMN", value_delimiter = ',', required = true)]
    text: Vec<String>,
    /// Only the first N questions, as of `worker questions`
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    /// Which shard of how many this is
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: Share,
    #[command(flatten)]
    recipe: RecipeAt,
    #[command(flatten)]
    output: Output,
}

fn leaks(args: LeaksArgs) -> Result<()> {
    let jobs = threads(args.output.jobs)?;
    let plan = args.recipe.needed(jobs)?;
    let column = |text: &String| -> Result<(Language, String)> {
        let (code, column) = text.split_once('=').unwrap_or((text, "text"));
        Ok((code.parse().map_err(|e: String| Error::new(format!("--text: {e}")))?, column.to_owned()))
    };
    let columns = args.text.iter().map(column).collect::<Result<Vec<_>>>()?;
    let asked = Asked::read(&plan)?;
    let numbers = asked.first(&plan, args.first)?;
    let sources = Source::all(&args.passages);
    pooled(jobs, args.output.to, |out| {
        apart::find(&sources, &plan, &asked, &numbers, &columns, args.part, out).map(drop)
    })
}

#[derive(Args)]
pub(super) struct MergeArgs {
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

fn merge(args: MergeArgs) -> Result<()> {
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
            let given = args.recipe.plan(threads(args.output.jobs)?)?.map(|plan| sampling(&plan));
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
pub(super) struct NarrowArgs {
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

fn narrow(args: NarrowArgs) -> Result<()> {
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
pub(super) struct CheckArgs {
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

fn checked(args: CheckArgs) -> Result<()> {
    let plan = args.recipe.needed(threads(args.jobs)?)?;
    let lists = Lists::merge(&[Source::File(args.lists)], None)?;
    Parts::whole(lists.parts.as_ref())?;
    let found = check(&plan, &lists)?;
    let Checked { questions, passages } = found;
    print(&format!(
        "{questions} questions among {passages} passages: a build from them is the build from the whole collection\n"
    ))
}

/// Writes a stream with so many threads at work: a worker is a process of its own, and takes one step.
fn pooled(
    jobs: usize,
    target: Option<PathBuf>,
    fill: impl FnOnce(&mut dyn std::io::Write) -> Result<()>,
) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global();
    pool.map_err(|e| Error::new(format!("cannot start threads: {e}")))?;
    to(target.as_deref(), fill)
}
