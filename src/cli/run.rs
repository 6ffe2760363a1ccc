//! `run`: plan, work and seal in one command, with the work on an engine.

use super::build::BuildFlags;
use super::work::cache;
use super::{print, threads, told};
use crate::engine::{Engine, Run, Via, Where};
use crate::error::{Error, Result};
use crate::pipeline;
use crate::remote::Place;
use crate::report::Stopwatch;
use crate::store::Store;
use crate::work::render::{Worker, prompts_of};
use crate::work::seal::{Sealing, seal};
use crate::work::share::{self, Share};
use crate::work::{Target, folder};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct RunArgs {
    /// A recipe, as `recipe` takes it, or a plan, as `plan` writes it: its folder or address
    #[arg(value_name = "RECIPE|PLAN", required_unless_present = "print_driver")]
    what: Option<String>,
    /// What hands rows to workers
    #[arg(long, value_name = "ENGINE")]
    on: On,
    /// Workers at a time, on this machine [default: one a core]
    #[arg(long, value_name = "N", conflicts_with = "cluster")]
    workers: Option<usize>,
    /// The cluster: the address of Spark's master (spark://HOST:7077, yarn, k8s://...), or of Ray's head (auto: that of the cluster
    /// which this machine is a node of)
    #[arg(long, value_name = "ADDRESS")]
    cluster: Option<String>,
    /// What writes prompt rows: each worker into a place that all of them see, or the engine, into Parquet
    #[arg(long, value_enum, default_value_t = Writer::Storage)]
    via: Writer,
    /// Where prompt rows go, a folder or an address [default: the plan's prompts/; a folder is removed when the release is made]
    #[arg(long, value_name = "PLACE")]
    rows: Option<String>,
    /// The Python that has the engine
    #[arg(long, value_name = "PYTHON", env = "NIHBUILD_PYTHON", default_value = "python3")]
    python: PathBuf,
    /// This program, as workers see it [default: where it is on this machine]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Tokens of prompts in a unit of work, at most about, where a recipe is planned
    #[arg(long, value_name = "TOKENS", default_value_t = Target::UNIT)]
    unit: u64,
    /// Make no release of the prompt rows
    #[arg(long)]
    no_seal: bool,
    /// Print the engine's driver, for spark-submit or `ray job submit`, and do nothing
    #[arg(long)]
    print_driver: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    build: BuildFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum On {
    /// This process
    Here,
    /// Apache Spark
    Spark,
    /// Ray Data
    Ray,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Writer {
    /// Each worker
    Storage,
    /// The engine
    Engine,
}

impl On {
    fn engine(self) -> Option<Engine> {
        match self {
            On::Here => None,
            On::Spark => Some(Engine::Spark),
            On::Ray => Some(Engine::Ray),
        }
    }
}

/// Plans where a recipe is named, has the rows made, and seals them.
pub(super) fn run(args: RunArgs) -> Result<bool> {
    args.agrees()?;
    if args.print_driver {
        return print(&args.on.engine().map(Engine::driver).unwrap_or_default()).map(|()| true);
    }
    let (jobs, out) = (threads(args.build.jobs)?, args.build.sources.out.clone());
    let what = args.what.as_deref().unwrap_or_default();
    let mut watch = Stopwatch::start();
    let pool = crate::parallel::pool(jobs)?;
    let planned = |place: &Place| place.is_local().is_none_or(|at| at.join(folder::NAME).is_file());
    let place = if let Some(place) = Place::parse(what).ok().filter(planned) {
        args.build.none_but_out_and_jobs(what)?;
        place
    } else {
        let plan = args.build.clone().plan(what)?;
        if plan.folder().exists() {
            // It is looked through, and nothing is made.
            return told(&plan, &pool.install(|| pipeline::build(&plan))?, args.json);
        }
        let mut target = Target::of(&plan);
        target.unit = args.unit.max(1);
        let store = Store::new(plan.options.out.join("store"));
        pool.install(|| pipeline::planned(&plan, &store, &target))?;
        watch.lap("plan");
        Place::of(&target.folder)
    };
    let rows = args.rows.as_deref().map_or_else(|| Ok(prompts_of(&place)), Place::parse)?;
    match args.on.engine() {
        None => {
            let worker = Worker::open(&place, &cache(), args.workers.unwrap_or(jobs))?;
            share::render(&worker, Share { part: 1, of: 1 }, &rows, false)?;
        }
        Some(engine) => args.driven(engine, &place, &rows)?.carry_out(&mut || watch.lap("start"))?,
    }
    watch.lap("render");
    if args.no_seal {
        return print(&format!("{rows}\n  next: nihbuild seal {place} --rows {rows}\n")).map(|()| true);
    }
    let sealing = Sealing { plan: place, rows: vec![rows.clone()], cache: cache(), out, jobs };
    let (resolved, mut outcome) = pool.install(|| seal(&sealing))?;
    outcome.watch = watch.then(&outcome.watch);
    if let (None, Some(rows)) = (&args.rows, rows.is_local()) {
        std::fs::remove_dir_all(rows).map_err(|e| Error::io("cannot remove", rows, e))?;
    }
    told(&resolved, &outcome, args.json)
}

impl RunArgs {
    /// Flags that mean nothing together are refused.
    fn agrees(&self) -> Result<()> {
        if self.workers == Some(0) {
            return Err(Error::new("--workers 0: at least one worker is needed"));
        }
        let engine = [
            ("--cluster", self.cluster.is_some()),
            ("--via engine", self.via == Writer::Engine),
            ("--print-driver", self.print_driver),
        ];
        match engine.into_iter().find(|(_, given)| *given && self.on == On::Here) {
            Some((flag, _)) => {
                Err(Error::new(format!("{flag}: --on here has no engine")).help("take --on spark or --on ray"))
            }
            None => Ok(()),
        }
    }

    fn driven(&self, engine: Engine, plan: &Place, rows: &Place) -> Result<Run> {
        let own = || {
            std::env::current_exe()
                .map_err(|e| Error::new(format!("cannot find this program: {e}")).help("name it with --program FILE"))
        };
        Ok(Run {
            engine,
            on: match &self.cluster {
                Some(address) => Where::Cluster(address.clone()),
                None => Where::Here(threads(self.workers)?),
            },
            python: self.python.clone(),
            plan: plan.clone(),
            rows: rows.clone(),
            via: if self.via == Writer::Engine { Via::Engine } else { Via::Storage },
            program: self.program.clone().map_or_else(own, Ok)?,
        })
    }
}
