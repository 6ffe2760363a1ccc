//! The command line: one short function a verb.

mod audit;
mod complete;
mod diff;
mod dry;
mod export;
mod new;
mod report;
mod score;
mod shard;
mod side;
mod summary;
mod verify;
mod worker;

use self::diff::DiffArgs;
use self::summary::summary;
use crate::compact;
use crate::error::{Error, Result};
use crate::language::Language;
use crate::manifest::{Accepted, Match};
use crate::pipeline::{self, Drift};
use crate::plan::{Filter, Options, Plan};
use crate::recipe::{Length, Recipe};
use crate::report::Stopwatch;
use crate::show::show;
use crate::source::tokenizers::parse_flags;
use clap::{Args, Parser, Subcommand};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// Builds frozen multilingual long-context benchmark files, and checks them.
#[derive(Parser)]
#[command(
    name = "nihbuild",
    version,
    about,
    after_help = "Exit codes: 0 all is well; 1 the result is not as it should be; 2 the command could not be carried out."
)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Build a release from a recipe
    Recipe(RecipeArgs),
    /// Download what a recipe reads, check it against its pins, and keep it for builds without a network
    Fetch(FetchArgs),
    /// Write the full release of a compact one, byte for byte
    Materialize(MaterializeArgs),
    /// Check a release from its files alone
    Verify(verify::VerifyArgs),
    /// Build a release again and compare; or look for faults in data of others
    Audit(audit::AuditArgs),
    /// Print one prompt of a release with its needles marked
    Show(ShowArgs),
    /// Compare two releases: which rows differ, where that began, and what it does to scores
    Diff(DiffArgs),
    /// Write a release as the files of an evaluator
    Export(export::ExportArgs),
    /// Write a recipe to begin with: asks on a terminal, or takes flags
    New(new::NewArgs),
    /// Print the JSON Schema of recipes, by which editors complete and check them
    Schema,
    /// Score what models answered: the papers' metrics, by any columns
    Score(score::ScoreArgs),
    /// Write a page that shows a release, and what models scored on it
    Report(report::ReportArgs),
    /// Do one step of retrieval on a shard, for engines and job arrays: Arrow IPC streams in and out
    Worker(worker::WorkerArgs),
    /// Print a script that completes command lines, for a shell to read
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual's page of the program or of a verb, or write all of them
    Man(complete::ManArgs),
}

#[derive(Args)]
struct RecipeArgs {
    /// A path, else a name under recipes/, else a recipe built in (mlrbench, mlrbench-babi, mlrbench-paper, mlneedle,
    /// mlneedle-existence, mlneedle-paper, recall, recall-paper, golden)
    recipe: String,
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
    /// Another seed than the recipe's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Folder of the store and of releases
    #[arg(long, value_name = "DIR", default_value = "build")]
    out: PathBuf,
    /// Folder of source files, searched with the folders directly below it; what is not there is downloaded
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Never open a socket; what would be downloaded must be there
    #[arg(long)]
    offline: bool,
    /// Folder that holds the folder of the recipe's embedding model, and files of tokenizers (NAME/tokenizer.json)
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// The file of a tokenizer that the recipe names: a Hugging Face tokenizer.json, or a Tekken file
    #[arg(long = "tokenizer", value_name = "NAME=FILE")]
    tokenizers: Vec<String>,
    /// The ONNX Runtime's library (libonnxruntime.so) [default: what ORT_DYLIB_PATH names]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// Folder of pins, such as that of a release: vectors found there are not computed again
    #[arg(long, value_name = "DIR")]
    pins: Option<PathBuf>,
    /// A file of further pins, in the form of checksums/sources.toml; its entries come first
    #[arg(long, value_name = "FILE")]
    sources: Option<PathBuf>,
    /// What the release is written as: full, or compact (each text once and rows as numbers, which `materialize` makes the
    /// full release, byte for byte)
    #[arg(long, value_name = "LAYOUT", default_value = "full")]
    layout: Written,
    /// Compute pinned vectors anew and report what that would change; build nothing
    #[arg(long, conflicts_with_all = ["dry_run", "accept"])]
    rederive: bool,
    /// Print what would be built, and what of it must be made anew; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the digests of the result to FILE, in the form that checksums/ holds
    #[arg(long, value_name = "FILE")]
    accept: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What a release is written as.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Written {
    Full,
    Compact,
}

#[derive(Args)]
struct MaterializeArgs {
    /// Folder of the compact release
    compact: PathBuf,
    /// Folder of the full release [default: beside the compact one, without .compact]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct FetchArgs {
    /// A path, else a name under recipes/, else a recipe built in
    recipe: String,
    /// Folder of the store, of the cache and of releases
    #[arg(long, value_name = "DIR", default_value = "build")]
    out: PathBuf,
    /// Folder of source files that are there already
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder that holds the folder of the recipe's embedding model
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// A file of further pins, in the form of checksums/sources.toml; its entries come first
    #[arg(long, value_name = "FILE")]
    sources: Option<PathBuf>,
    /// The file of a tokenizer that the recipe names
    #[arg(long = "tokenizer", value_name = "NAME=FILE")]
    tokenizers: Vec<String>,
    /// Another seed than the recipe's: another sample of a collection
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ShowArgs {
    /// Folder of the release
    release: PathBuf,
    /// Id of the row, such as qa3-00000-zh-8k-zero_shot-synthetic; the beginning of one lists the rows that begin so
    id: String,
    /// Print the row as JSON
    #[arg(long)]
    json: bool,
}

/// Carries out a command line. True: all is well. False: the result is not as it should be.
pub fn run(cli: Cli) -> Result<bool> {
    match cli.verb {
        Verb::Recipe(args) => recipe(args),
        Verb::Fetch(args) => fetch(args),
        Verb::Materialize(args) => materialized(args),
        Verb::Verify(args) => verify::verify_release(args),
        Verb::Audit(args) => audit::audit(args),
        Verb::Show(args) => show_row(args),
        Verb::Diff(args) => diff::diff(args),
        Verb::Export(args) => export::export(args),
        Verb::New(args) => new::new(args),
        Verb::Schema => print(&crate::recipe::schema::text()).map(|()| true),
        Verb::Completions { shell } => complete::completions(shell),
        Verb::Man(args) => complete::man(args),
        Verb::Score(args) => score::score(args),
        Verb::Report(args) => report::report(args),
        Verb::Worker(args) => worker::worker(args),
    }
}

/// Writes to stdout; a reader that went away is no fault.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::new(format!("cannot print: {e}"))),
        _ => Ok(()),
    }
}

fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print(&(serde_json::to_string_pretty(value).map_err(|e| Error::new(e.to_string()))? + "\n"))
}

fn threads(jobs: Option<usize>) -> Result<usize> {
    match jobs {
        Some(0) => Err(Error::new("--jobs 0: at least one thread is needed")),
        Some(jobs) if jobs > 1024 => Err(Error::new(format!("--jobs {jobs}: at most 1024 threads"))),
        Some(jobs) => Ok(jobs),
        None => Ok(std::thread::available_parallelism().map_or(1, |n| n.get())),
    }
}

fn recipe(args: RecipeArgs) -> Result<bool> {
    let (name, recipe) = Recipe::find(&args.recipe)?;
    let options = Options {
        filter: Filter { limit: args.limit, languages: languages(args.languages)?, lengths: args.lengths },
        seed: args.seed,
        out: args.out,
        data: args.data,
        jobs: threads(args.jobs)?,
        offline: args.offline,
        models: args.models,
        runtime: args.runtime,
        pins: pins_of(args.pins, &name)?,
        sources: args.sources,
        tokenizers: parse_flags(&args.tokenizers)?,
        packs: None,
        compact: args.layout == Written::Compact,
    };
    let plan = Plan::new(recipe, options)?;
    let pool = crate::parallel::pool(plan.options.jobs)?;
    if args.dry_run {
        return pool.install(|| dry::dry_run(&plan, args.json)).map(|()| true);
    }
    if args.rederive {
        return rederived(&pool.install(|| pipeline::rederive(&plan))?, args.json);
    }
    let outcome = pool.install(|| pipeline::build(&plan))?;
    let mut well = !matches!(outcome.accepted, Match::Differs(_));
    if let Some(path) = &args.accept {
        if plan.is_narrowed() {
            return Err(Error::new("--accept: a part of a release cannot be its accepted digests")
                .help("build it whole, without --limit, --languages and --lengths"));
        }
        let json = serde_json::to_string_pretty(&Accepted::of(&outcome.manifest)).expect("plain data") + "\n";
        std::fs::write(path, json).map_err(|e| Error::io("cannot write", path, e))?;
        well = true;
    }
    if args.json {
        let seconds = seconds(&outcome.watch);
        print_json(&serde_json::json!({
            "release": outcome.folder, "was_there": outcome.was_there, "accepted": outcome.accepted, "seconds": seconds,
            "manifest": outcome.manifest,
        }))?;
    } else {
        print(&summary(&plan, &outcome))?;
    }
    Ok(well)
}

/// Seconds by stage.
fn seconds(watch: &Stopwatch) -> serde_json::Map<String, serde_json::Value> {
    watch.laps().iter().map(|(stage, time)| ((*stage).to_owned(), time.as_secs_f64().into())).collect()
}

fn materialized(args: MaterializeArgs) -> Result<bool> {
    let made = compact::materialize(&args.compact, args.out.as_deref(), threads(args.jobs)?)?;
    let manifest = &made.manifest;
    if args.json {
        print_json(&serde_json::json!({
            "release": made.folder, "was_there": made.was_there, "seconds": seconds(&made.watch),
            "rows_digest": manifest.rows_digest, "rows": manifest.rows, "files": manifest.files.len(),
        }))?;
        return Ok(true);
    }
    let said = if made.was_there { "was there before and is sound" } else { "every file is the one of the manifest" };
    let bytes: u64 = manifest.files.iter().map(|f| f.bytes).sum();
    let (rows, files) = (manifest.rows, manifest.files.len());
    print(&format!("{}\n  {rows} rows in {files} files, {} MB: {said}\n", made.folder.display(), bytes / 1_000_000))?;
    Ok(true)
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

/// Folders of pins: in the one given (a release, its pins/, or a folder of the kind), and beside the recipe, where it is a release's.
fn pins_of(given: Option<PathBuf>, recipe: &str) -> Result<Vec<PathBuf>> {
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

fn rederived(drift: &Drift, json: bool) -> Result<bool> {
    let well = drift.prompts_differ == 0;
    if json {
        return print_json(drift).map(|()| well);
    }
    print(&format!("{drift}\n"))?;
    Ok(well)
}

fn fetch(args: FetchArgs) -> Result<bool> {
    let (_, recipe) = Recipe::find(&args.recipe)?;
    let options = Options {
        seed: args.seed,
        out: args.out,
        data: args.data,
        jobs: threads(None)?,
        models: args.models,
        sources: args.sources,
        tokenizers: parse_flags(&args.tokenizers)?,
        ..Options::default()
    };
    let plan = Plan::new(recipe, options)?;
    let fetched = pipeline::fetch(&plan)?;
    if args.json {
        return print_json(&fetched).map(|()| true);
    }
    let mut out = String::new();
    for source in &fetched {
        out += &format!("{}  {} bytes  sha256 {}\n", source.name, source.bytes, source.sha256);
    }
    if fetched.is_empty() {
        out += "this recipe reads nothing from outside\n";
    }
    print(&out)?;
    Ok(true)
}

fn show_row(args: ShowArgs) -> Result<bool> {
    let shown = show(&args.release, &args.id, !args.json && std::io::stdout().is_terminal())?;
    match args.json {
        true => print_json(&shown.json)?,
        false => print(&shown.text)?,
    }
    Ok(true)
}
