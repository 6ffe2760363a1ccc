//! The command line: one short function a verb.

mod audit;
mod build;
mod complete;
mod diff;
mod dry;
mod export;
mod new;
mod place;
mod report;
mod run;
mod score;
mod shard;
mod side;
mod summary;
mod verify;
mod work;
mod worker;

use self::build::{BuildArgs, SourceFlags};
use self::diff::DiffArgs;
use self::summary::summary;
use crate::compact;
use crate::error::{Error, Result};
use crate::manifest::{Accepted, Match};
use crate::pipeline::{self, Drift, Outcome};
use crate::plan::{Options, Plan};
use crate::recipe::Recipe;
use crate::report::Stopwatch;
use crate::show::show;
use crate::work::share::Share;
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
    /// Do all of a build but its rows, and write a plan of those, for workers on many machines
    Plan(work::PlanArgs),
    /// Plan a build, have its rows made by Spark, Ray or this process, and make the release
    Run(run::RunArgs),
    /// Make the release of a plan from the rows that its workers made
    Seal(work::SealArgs),
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
    /// Send a release to a bucket or a folder: claimed first, whole or not at all
    Push(place::PushArgs),
    /// Bring a release from a bucket, a web server or a folder, and check it
    Pull(place::PullArgs),
    /// Write a recipe to begin with: asks on a terminal, or takes flags
    New(new::NewArgs),
    /// Print the JSON Schema of recipes, by which editors complete and check them
    Schema,
    /// Score what models answered: the papers' metrics, by any columns
    Score(score::ScoreArgs),
    /// Write a page that shows a release, and what models scored on it
    Report(report::ReportArgs),
    /// Do one step of work that an engine or a job array hands out: rows of a plan, or retrieval on a shard
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
    #[command(flatten)]
    build: BuildArgs,
    /// Make only the I-th of N shares of the rows (counted from 1), for `seal`: the same split on every machine
    #[arg(long, value_name = "I/N", conflicts_with_all = ["accept", "rederive", "dry_run"])]
    part: Option<Share>,
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
    #[command(flatten)]
    sources: SourceFlags,
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
        Verb::Plan(args) => work::plan(args),
        Verb::Run(args) => run::run(args),
        Verb::Seal(args) => work::sealed(args),
        Verb::Fetch(args) => fetch(args),
        Verb::Materialize(args) => materialized(args),
        Verb::Verify(args) => verify::verify_release(args),
        Verb::Audit(args) => audit::audit(args),
        Verb::Show(args) => show_row(args),
        Verb::Diff(args) => diff::diff(args),
        Verb::Export(args) => export::export(args),
        Verb::Push(args) => place::push(args),
        Verb::Pull(args) => place::pull(args),
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
    let plan = args.build.plan()?;
    if let Some(share) = args.part {
        return work::part(&plan, share, args.json);
    }
    let pool = crate::parallel::pool(plan.options.jobs)?;
    if args.dry_run {
        return pool.install(|| dry::dry_run(&plan, args.json)).map(|()| true);
    }
    if args.rederive {
        return rederived(&pool.install(|| pipeline::rederive(&plan))?, args.json);
    }
    let outcome = pool.install(|| pipeline::build(&plan))?;
    if let Some(path) = &args.accept {
        if plan.is_narrowed() {
            return Err(Error::new("--accept: a part of a release cannot be its accepted digests")
                .help("build it whole, without --limit, --languages and --lengths"));
        }
        let json = serde_json::to_string_pretty(&Accepted::of(&outcome.manifest)).expect("plain data") + "\n";
        std::fs::write(path, json).map_err(|e| Error::io("cannot write", path, e))?;
    }
    told(&plan, &outcome, args.json).map(|well| well || args.accept.is_some())
}

/// Prints what a build came to; false where that is not what was accepted.
fn told(plan: &Plan, outcome: &Outcome, json: bool) -> Result<bool> {
    if json {
        let seconds = seconds(&outcome.watch);
        print_json(&serde_json::json!({
            "release": outcome.folder, "was_there": outcome.was_there, "accepted": outcome.accepted, "seconds": seconds,
            "manifest": outcome.manifest,
        }))?;
    } else {
        print(&summary(plan, outcome))?;
    }
    Ok(!matches!(outcome.accepted, Match::Differs(_)))
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
    let plan = Plan::new(recipe, Options { jobs: threads(None)?, ..args.sources.options()? })?;
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
