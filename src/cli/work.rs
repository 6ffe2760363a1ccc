//! `plan`, `worker render`, `seal`, and a job array's share: one build on many machines.

use super::build::BuildArgs;
use super::{print, print_json, threads};
use crate::error::{Error, Result};
use crate::pipeline;
use crate::plan::Plan;
use crate::store::Store;
use crate::work::part::kilobytes;
use crate::work::render::Worker;
use crate::work::seal::{Sealing, seal};
use crate::work::share::{self, Share};
use crate::work::spool::{Receipt, Spool};
use crate::work::whole::Watched;
use crate::work::{Target, prompts};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
use clap::{Args, Subcommand};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    build: BuildArgs,
    /// Folder of the plan [default: beside the release, <name>/<version>.plan]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Tokens of prompts in a file of rows, about: what an engine hands to a worker at once
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
    target.folder = args.to.unwrap_or(target.folder);
    let store = Store::new(plan.options.out.join("store"));
    let file = pool.install(|| pipeline::plan_rows(&plan, &store, &target))?;
    let bytes = file.part_bytes();
    if args.json {
        print_json(&serde_json::json!({
            "plan": target.folder, "identity": file.identity, "rows": file.count(), "tokens": file.tokens(),
            "units": file.rows.len(), "parts": bytes.0, "part_bytes": bytes.1,
        }))?;
        return Ok(true);
    }
    let folder = target.folder.display();
    print(&format!(
        "{folder}\n  {} rows, {} tokens, in {} units of work; {} parts, {}\n  \
         next: nihbuild run {folder} --on here|spark|ray, or nihbuild worker render; then nihbuild seal {folder}\n",
        file.count(),
        file.tokens(),
        file.rows.len(),
        bytes.0,
        kilobytes(bytes.1)
    ))?;
    Ok(true)
}

#[derive(Subcommand)]
pub(super) enum Work {
    /// Make prompt rows: reads rows of a plan as an Arrow IPC stream on standard input, writes prompt rows to standard output
    Render(RenderArgs),
}

#[derive(Args)]
pub(super) struct RenderArgs {
    /// Folder of the plan
    plan: PathBuf,
    /// Write the prompt rows to a file in this folder, and a receipt of it to standard output
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Compress that file: smaller, and slower
    #[arg(long, requires = "to")]
    compress: bool,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// Carries out a step of a worker. What goes wrong is one line, for logs of many.
pub(super) fn worker(work: Work) -> Result<bool> {
    std::panic::set_hook(Box::new(|panic| {
        let line = panic.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        eprintln!("{line}");
    }));
    let Work::Render(args) = work;
    render(&args).map(|()| true).map_err(one_line)
}

/// An error as one line.
pub(super) fn one_line(e: Error) -> Error {
    Error::new(e.to_string().lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; "))
}

fn render(args: &RenderArgs) -> Result<()> {
    let worker = Worker::open(&args.plan, threads(args.jobs)?)?;
    let fault = |e: &dyn std::fmt::Display| {
        Error::new(format!("what came on standard input is no stream of rows of a plan: {e}"))
            .help("hand on rows of PLAN/rows/*.parquet as an Arrow IPC stream")
    };
    let (input, ended) = Watched::new(std::io::stdin().lock());
    let input = StreamReader::try_new(BufReader::with_capacity(1 << 20, input), None);
    let rows = input.map_err(|e| fault(&e))?.map(|batch| batch.map_err(|e| fault(&e)));
    // Once it is out of rows.
    let end = std::iter::from_fn(move || (!ended.whole()).then(|| Err(fault(&"it broke off"))));
    let rows = rows.chain(end.take(1));
    match &args.to {
        None => {
            let mut out = Sink::new(&prompts::SCHEMA)?;
            let mut rows = rows;
            worker.run(&mut rows, &mut |batch| out.write(&batch))?;
            out.finish()
        }
        Some(to) => {
            let mut out = Sink::new(&Receipt::schema())?;
            if let Some(receipt) = written(&worker, rows, to, args.compress)? {
                out.write(&receipt.batch()?)?;
            }
            out.finish()
        }
    }
}

/// Prompt rows of a stream in a file, which the rows name; none of no rows.
fn written(
    worker: &Worker,
    rows: impl Iterator<Item = Result<RecordBatch>>,
    to: &Path,
    compress: bool,
) -> Result<Option<Receipt>> {
    let mut out = Spool::create(to, compress)?;
    let mut rows = rows;
    let done = worker.run(&mut rows, &mut |batch| out.write(&batch))?;
    if done.rows == 0 {
        return Ok(None);
    }
    out.close(&done.name).map(Some)
}

/// A stream on standard output.
struct Sink(StreamWriter<BufWriter<std::io::StdoutLock<'static>>>);

impl Sink {
    fn new(schema: &Schema) -> Result<Sink> {
        let out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
        StreamWriter::try_new(out, schema).map(Sink).map_err(|e| Sink::fault(&e))
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(|e| Sink::fault(&e))
    }

    fn finish(mut self) -> Result<()> {
        self.0.finish().and_then(|()| Ok(self.0.get_mut().flush()?)).map_err(|e| Sink::fault(&e))
    }

    fn fault(e: &dyn std::fmt::Display) -> Error {
        Error::new(format!("cannot write to standard output: {e}"))
    }
}

/// Makes a share of a build's rows. The plan is made by whoever comes first.
pub(super) fn part(plan: &Plan, share: Share, json: bool) -> Result<bool> {
    let target = Target::of(plan);
    let store = Store::new(plan.options.out.join("store"));
    crate::parallel::pool(plan.options.jobs)?.install(|| pipeline::planned(plan, &store, &target))?;
    let worker = Worker::open(&target.folder, plan.options.jobs)?;
    let shared = share::render(&worker, &target.folder, share, None, false)?;
    let folder = target.folder.display();
    if json {
        print_json(&serde_json::json!({
            "plan": target.folder, "part": share.to_string(), "was_there": shared.was_there, "receipt": shared.receipt,
        }))?;
        return Ok(true);
    }
    let said = match &shared.receipt {
        None => "no rows: there are more parts than rows".to_owned(),
        Some(receipt) => {
            let was = if shared.was_there { ", which were there before" } else { "" };
            format!("{} rows in {}, {}{was}", receipt.rows, receipt.file, kilobytes(receipt.bytes))
        }
    };
    print(&format!("{folder}\n  part {share}: {said}\n  when all parts are done: nihbuild seal {folder}\n"))?;
    Ok(true)
}

#[derive(Args)]
pub(super) struct SealArgs {
    /// Folder of the plan
    plan: PathBuf,
    /// Files of prompt rows (Arrow IPC or Parquet), or folders of them [default: what workers put into the plan's folder]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    rows: Vec<PathBuf>,
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
    let rows = if args.rows.is_empty() { vec![args.plan.join("prompts")] } else { args.rows };
    let sealing = Sealing { plan: args.plan, rows, out: args.out, jobs: threads(args.jobs)? };
    let (plan, outcome) = crate::parallel::pool(sealing.jobs)?.install(|| seal(&sealing))?;
    super::told(&plan, &outcome, args.json)
}
