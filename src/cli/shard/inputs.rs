//! Steps that make what is searched: questions, rows, vectors, samples, and what must be kept apart.

use super::{Output, RecipeAt, on, sampling};
use crate::embedder::Role;
use crate::error::{Error, Result};
use crate::language::Language;
use crate::shard::apart::{self, Asked};
use crate::shard::embed::{Embedder, Embedding, embed};
use crate::shard::rows;
use crate::shard::sample::{self, Sample};
use crate::shard::stream::{Source, to};
use crate::work::share::Share;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub(in crate::cli) struct QuestionsArgs {
    #[command(flatten)]
    recipe: RecipeAt,
    /// Only the first N of the order in which a build chooses, of which it takes as many as its cells need and passes over those that
    /// it refuses [default: all]
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    #[command(flatten)]
    output: Output,
}

pub(super) fn questions(args: QuestionsArgs) -> Result<()> {
    on(args.output.jobs, |jobs| {
        let plan = args.recipe.needed(jobs)?;
        let asked = Asked::read(&plan)?;
        let numbers = asked.first(&plan, args.first)?;
        to(args.output.to.as_deref(), |out| asked.write(&plan, &numbers, out))
    })
}

#[derive(Args)]
pub(in crate::cli) struct RowsArgs {
    /// A file of lines `number<TAB>passage`, ascending by number; of several languages as CODE=FILE, each
    #[arg(long, value_name = "[CODE=]FILE", required = true)]
    lines: Vec<String>,
    /// Write a part of how many, by the remainder of the numbers; later steps carry it on [default: all rows, and no part is noted]
    #[arg(long, value_name = "I/N")]
    part: Option<Share>,
    /// Where the stream is written [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

pub(super) fn lines(args: RowsArgs) -> Result<()> {
    let file = |named: &String| match named.split_once('=').map(|(code, file)| (code.parse::<Language>(), file)) {
        Some((Ok(language), file)) => (format!("text_{language}"), PathBuf::from(file)),
        _ => ("text".to_owned(), PathBuf::from(named)),
    };
    let files: Vec<(String, PathBuf)> = args.lines.iter().map(file).collect();
    if let Some((column, _)) = files.iter().enumerate().find_map(|(n, f)| files[..n].iter().find(|e| e.0 == f.0)) {
        return Err(Error::new(format!("two files would be the column {column}"))
            .help("write --lines CODE=FILE, each language once"));
    }
    let mut dropped = Vec::new();
    to(args.to.as_deref(), |out| rows::write(&files, args.part, out).map(|lines| dropped = lines))?;
    for (path, reason, n, first) in dropped {
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
pub(in crate::cli) struct EmbedArgs {
    /// Streams of texts [default: standard input]
    texts: Vec<PathBuf>,
    /// What the texts are
    #[arg(long, value_name = "SIDE", default_value = "passage")]
    role: Side,
    /// Columns of text; of several the vectors are summed, as a ranking for all languages at once has them [default: text, and all that
    /// begin with text_]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    text: Vec<String>,
    /// Which part of how many the rows are [default: what their notes say]
    #[arg(long, value_name = "I/N")]
    part: Option<Share>,
    /// Without one, the embedder that is part of the program
    #[command(flatten)]
    recipe: RecipeAt,
    #[command(flatten)]
    output: Output,
}

pub(super) fn embedded(args: EmbedArgs) -> Result<()> {
    on(args.output.jobs, |jobs| {
        let embedder = match args.recipe.plan(jobs)? {
            Some(plan) => Embedder::of(&plan)?,
            None => Embedder::ngram(),
        };
        let role = match args.role {
            Side::Passage => Role::Passage,
            Side::Query => Role::Query,
        };
        let embedding = Embedding { embedder: &embedder, role, columns: args.text, share: args.part };
        let sources = Source::all(&args.texts);
        to(args.output.to.as_deref(), |out| embed(&sources, embedding, out))
    })
}

#[derive(Args)]
pub(in crate::cli) struct SampleArgs {
    /// Streams of passages [default: standard input]
    passages: Vec<PathBuf>,
    /// A collection's file of lines `number<TAB>passage`, of which the part is read
    #[arg(long, value_name = "FILE", conflicts_with = "passages")]
    lines: Option<PathBuf>,
    /// Which part of how many this is: of the file's bytes, or what the rows are [default: all of the file; what the rows' notes say]
    #[arg(long, value_name = "I/N")]
    part: Option<Share>,
    #[command(flatten)]
    recipe: RecipeAt,
    #[command(flatten)]
    output: Output,
}

pub(super) fn drawn(args: SampleArgs) -> Result<()> {
    on(args.output.jobs, |jobs| {
        let sampling = sampling(&args.recipe.needed(jobs)?);
        let drawn = match &args.lines {
            Some(path) => sample::lines(path, args.part, &sampling)?,
            None => sample::stream(&Source::all(&args.passages), args.part, &sampling)?,
        };
        let part = args.part.map(|part| format!(" {part}")).unwrap_or_default();
        for (reason, (n, first)) in &drawn.dropped {
            eprintln!("sample{part}: {n} of {} refused: {reason}, first {first}", drawn.lines);
        }
        let sample = Sample::of(drawn, sampling);
        to(args.output.to.as_deref(), |out| sample.write(out))
    })
}

#[derive(Args)]
pub(in crate::cli) struct LeaksArgs {
    /// Streams of passages [default: standard input]
    passages: Vec<PathBuf>,
    /// Columns of text by language, such as de=text_de
    #[arg(long, value_name = "CODE=COLUMN", value_delimiter = ',', required = true)]
    text: Vec<String>,
    /// Only the first N questions, as of `worker questions`
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    /// Which shard of how many this is [default: what the notes of the rows say]
    #[arg(long, value_name = "I/N")]
    part: Option<Share>,
    #[command(flatten)]
    recipe: RecipeAt,
    #[command(flatten)]
    output: Output,
}

pub(super) fn leaks(args: LeaksArgs) -> Result<()> {
    on(args.output.jobs, |jobs| {
        let plan = args.recipe.needed(jobs)?;
        let column = |text: &String| -> Result<(Language, String)> {
            let (code, column) = text.split_once('=').unwrap_or((text, "text"));
            Ok((code.parse().map_err(|e: String| Error::new(format!("--text: {e}")))?, column.to_owned()))
        };
        let columns = args.text.iter().map(column).collect::<Result<Vec<_>>>()?;
        let asked = Asked::read(&plan)?;
        let numbers = asked.first(&plan, args.first)?;
        let sources = Source::all(&args.passages);
        to(args.output.to.as_deref(), |out| apart::find(&sources, &plan, &asked, &numbers, &columns, args.part, out))
    })
}
