//! `plan`, `worker render`, `seal`, and a job array's share: one build on many machines.

use super::build::BuildArgs;
use super::{print, print_json, threads};
use crate::error::{Error, Result};
use crate::pipeline;
use crate::plan::Plan;
use crate::remote::Place;
use crate::report::size;
use crate::store::Store;
use crate::stream::{Sink, Stream};
use crate::work::render::{Worker, prompts_of};
use crate::work::seal::{Sealing, seal};
use crate::work::send::send;
use crate::work::share::{self, Share, Shared};
use crate::work::spool::{Receipt, Spool};
use crate::work::{Target, prompts};
use arrow_array::RecordBatch;
use clap::Args;
use std::io::BufReader;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    build: BuildArgs,
    /// Where the plan goes: a folder, or an address such as s3://BUCKET/PREFIX [default: beside the release,
    /// NAME/VERSION.plan]
    #[arg(long, value_name = "PLACE")]
    to: Option<String>,
    /// Tokens of prompts in a file of rows, at most about: what an engine hands to a worker at once
    #[arg(long, value_name = "TOKENS", default_value_t = Target::UNIT)]
    unit: u64,
    /// Print what would be built, and what of it must be made anew; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Does all of a build but its rows, and writes a plan of those.
pub(super) fn plan(args: PlanArgs) -> Result<bool> {
    let plan = args.build.plan()?;
    let pool = crate::parallel::pool(plan.options.jobs)?;
    if args.dry_run {
        return pool.install(|| super::dry::dry_run(&plan, args.json)).map(|()| true);
    }
    let mut target = Target::of(&plan);
    target.unit = args.unit.max(1);
    let to = args.to.as_deref().map(Place::parse).transpose()?;
    if let Some(folder) = to.as_ref().and_then(Place::is_local) {
        target.folder = folder.to_owned();
    }
    to.iter().try_for_each(|to| to.allowed(plan.options.offline))?;
    let store = Store::new(plan.options.out.join("store"));
    let file = pool.install(|| pipeline::plan_rows(&plan, &store, &target))?;
    let place = match to {
        Some(to) if to.is_local().is_none() => {
            send(&target.folder, &to)?;
            to
        }
        _ => Place::of(&target.folder),
    };
    let bytes = file.part_bytes();
    if args.json {
        print_json(&serde_json::json!({
            "plan": place.to_string(), "identity": file.identity, "rows": file.count(), "tokens": file.tokens(),
            "units": file.rows.len(), "parts": bytes.0, "part_bytes": bytes.1,
        }))?;
        return Ok(true);
    }
    print(&format!(
        "{place}\n  {} rows, {} tokens, in {} units of work; {} parts, {}\n  \
         next: nihbuild run {place} --on here|spark|ray, or nihbuild worker render; then nihbuild seal {place}\n",
        file.count(),
        file.tokens(),
        file.rows.len(),
        bytes.0,
        size(bytes.1)
    ))?;
    Ok(true)
}

#[derive(Args)]
pub(super) struct RenderArgs {
    /// The plan: a folder or an address
    plan: String,
    /// Write the prompt rows to a file in this place (a folder or an address), and a receipt of it to standard output
    #[arg(long, value_name = "PLACE")]
    to: Option<String>,
    /// Read nothing: make the I-th of N shares of the plan's rows, in a file in --to [default: in the plan's prompts/]
    #[arg(long, value_name = "I/N")]
    part: Option<Share>,
    /// Compress that file: smaller, and slower
    #[arg(long)]
    compress: bool,
    /// Folder that keeps parts which are fetched; many workers may share it
    #[arg(long, value_name = "DIR", default_value_os_t = cache())]
    cache: PathBuf,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// Makes prompt rows.
pub(super) fn render(args: &RenderArgs) -> Result<()> {
    let place = Place::parse(&args.plan)?;
    let to = args.to.as_deref().map(Place::parse).transpose()?;
    if args.compress && to.is_none() && args.part.is_none() {
        return Err(Error::new("--compress is of files: give --to PLACE as well"));
    }
    let worker = Worker::open(&place, &args.cache, threads(args.jobs)?)?;
    if let Some(share) = args.part {
        let shared = share::render(&worker, share, &to.unwrap_or_else(|| prompts_of(&place)), args.compress)?;
        return said(&place, share, &shared, false);
    }
    let fault = |e: String| {
        Error::new(format!("what came on standard input is no stream of rows of a plan: {e}"))
            .help("hand on rows of PLAN/rows/*.parquet as an Arrow IPC stream")
    };
    let input = Stream::open(BufReader::with_capacity(1 << 20, std::io::stdin().lock())).map_err(fault)?;
    let mut rows = input.map(|batch| batch.map_err(fault));
    let mut stdout = std::io::stdout().lock();
    let schema = if to.is_some() { Receipt::schema() } else { prompts::SCHEMA.clone() };
    let mut out = Sink::new(&mut stdout, schema)?;
    match &to {
        None => drop(worker.run(&mut rows, &mut |batch| out.batch(&batch))?),
        Some(to) => {
            if let Some(receipt) = written(&worker, rows, to, args.compress)? {
                out.batch(&receipt.batch()?)?;
            }
        }
    }
    out.finish()
}

/// Rows of a plan that are looked at before the first is made: some 100 MB of them.
const AHEAD: usize = 1 << 19;

/// Prompt rows of a stream in a file, which the rows name; none of no rows. A file that is there, as of a run that failed later on, is
/// not made again.
fn written(
    worker: &Worker,
    mut rows: impl Iterator<Item = Result<RecordBatch>>,
    to: &Place,
    compress: bool,
) -> Result<Option<Receipt>> {
    let (mut ahead, mut seen, mut ended) = (Vec::new(), 0, false);
    while seen < AHEAD && !ended {
        match rows.next() {
            Some(batch) => {
                let batch = batch?;
                seen += batch.num_rows();
                ahead.push(batch);
            }
            None => ended = true,
        }
    }
    if ended {
        let name = worker.name_of(&ahead)?;
        if let Some(bytes) = to.size(&name)? {
            return Ok(Some(Receipt { file: name, rows: seen as u64, bytes }));
        }
    }
    let mut out = Spool::create(to, compress)?;
    let mut rows = ahead.into_iter().map(Ok).chain(rows);
    let done = worker.run(&mut rows, &mut |batch| out.write(&batch))?;
    if done.rows == 0 {
        return Ok(None);
    }
    out.close(&done.name).map(Some)
}

/// Makes a share of a build's rows. The plan is made by whoever comes first.
pub(super) fn part(plan: &Plan, share: Share, json: bool) -> Result<bool> {
    let target = Target::of(plan);
    let store = Store::new(plan.options.out.join("store"));
    crate::parallel::pool(plan.options.jobs)?.install(|| pipeline::planned(plan, &store, &target))?;
    let place = Place::of(&target.folder);
    let worker = Worker::open(&place, &cache(), plan.options.jobs)?;
    let shared = share::render(&worker, share, &prompts_of(&place), false)?;
    said(&place, share, &shared, json).map(|()| true)
}

/// Says what a share came to.
fn said(place: &Place, share: Share, shared: &Shared, json: bool) -> Result<()> {
    if json {
        return print_json(&serde_json::json!({
            "plan": place.to_string(), "part": share.to_string(), "was_there": shared.was_there, "receipt": shared.receipt,
        }));
    }
    let said = match &shared.receipt {
        None => "no rows: there are more parts than rows".to_owned(),
        Some(receipt) => {
            let was = if shared.was_there { ", which were there before" } else { "" };
            format!("{} rows in {}, {}{was}", receipt.rows, receipt.file, size(receipt.bytes))
        }
    };
    print(&format!("{place}\n  part {share}: {said}\n  when all parts are done: nihbuild seal {place}\n"))
}

/// Where fetched parts are kept, unless told otherwise.
pub(super) fn cache() -> PathBuf {
    std::env::temp_dir().join("nihbuild-parts")
}

#[derive(Args)]
pub(super) struct SealArgs {
    /// The plan: a folder or an address
    plan: String,
    /// Files of prompt rows (Arrow IPC or Parquet), or folders and addresses that hold them [default: the plan's prompts/]
    #[arg(long, value_name = "PLACE", num_args = 1..)]
    rows: Vec<String>,
    /// Folder that keeps parts which are fetched
    #[arg(long, value_name = "DIR", default_value_os_t = cache())]
    cache: PathBuf,
    /// Folder of releases
    #[arg(long, value_name = "DIR", default_value = "build")]
    out: PathBuf,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Makes the release of a plan from prompt rows.
pub(super) fn sealed(args: SealArgs) -> Result<bool> {
    let plan = Place::parse(&args.plan)?;
    let rows = match args.rows.is_empty() {
        true => vec![prompts_of(&plan)],
        false => args.rows.iter().map(|place| Place::parse(place)).collect::<Result<_>>()?,
    };
    let sealing = Sealing { plan, rows, cache: args.cache, out: args.out, jobs: threads(args.jobs)? };
    let (plan, outcome) = crate::parallel::pool(sealing.jobs)?.install(|| seal(&sealing))?;
    super::told(&plan, &outcome, args.json)
}
