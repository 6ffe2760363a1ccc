//! Engines: whoever has Spark or Ray has the rows of a plan rendered there.
//!
//! ```text
//! plan/rows/00000.parquet -> a task of the engine -> nihbuild worker render -> plan/prompts/<digest>.arrow   (a receipt goes back)
//! plan/rows/00001.parquet -> a task of the engine -> nihbuild worker render -> the engine writes what comes back (`via` engine)
//! ```
//!
//! A driver is a Python script, since that is the language both engines are told in: `worker.py`, then `spark.py` or `ray.py`. It hands a
//! file of rows to each task, and a task hands its rows to a child. When work is done, where, and again after a failure, is the engine's to say.

use crate::error::{Error, Result};
use crate::fail;
use crate::remote::Place;
use crate::store::scratch;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An engine that there is a driver for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Apache Spark, by `mapInArrow`.
    Spark,
    /// Ray Data, by `map_batches`.
    Ray,
}

impl Engine {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Spark => "Spark",
            Engine::Ray => "Ray",
        }
    }

    /// The script that has it render a plan.
    pub fn driver(self) -> String {
        let own = match self {
            Engine::Spark => include_str!("spark.py"),
            Engine::Ray => include_str!("ray.py"),
        };
        [include_str!("worker.py"), own].concat()
    }

    /// Modules that the driver imports.
    fn modules(self) -> &'static [&'static str] {
        match self {
            Engine::Spark => &["pyspark", "pyarrow", "pandas"],
            Engine::Ray => &["ray", "pyarrow", "pandas"],
        }
    }

    /// What `pip install` is told to get them.
    fn packages(self) -> &'static str {
        match self {
            Engine::Spark => "'pyspark>=4' pyarrow pandas",
            Engine::Ray => "'ray[data]>=2.50' pyarrow pandas",
        }
    }
}

/// What writes prompt rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// Each worker, into a place that all of them see.
    Storage,
    /// The engine, from what workers hand back to it.
    Engine,
}

/// Where an engine runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Where {
    /// On this machine, so many tasks at a time.
    Here(usize),
    /// On a cluster, by the address of its master.
    Cluster(String),
}

/// A plan to be rendered on an engine.
#[derive(Clone, Debug)]
pub struct Run {
    /// The engine.
    pub engine: Engine,
    /// Where it runs.
    pub on: Where,
    /// The Python that has it.
    pub python: PathBuf,
    /// The plan, where all workers see it.
    pub plan: Place,
    /// Where prompt rows go.
    pub rows: Place,
    /// What writes them.
    pub via: Via,
    /// This program, as workers see it.
    pub program: PathBuf,
}

/// Lines of the driver's standard error that are kept.
const KEPT: usize = 20;

/// How a driver says what went wrong.
const FAILED: &str = "failed: ";

impl Run {
    /// Renders the plan. `ready` is called when the engine has started.
    ///
    /// # Errors
    ///
    /// A Python without the engine; what a worker said that failed as often as the engine allows; a driver that failed otherwise.
    pub fn carry_out(&self, ready: &mut dyn FnMut()) -> Result<()> {
        self.check()?;
        if let (Via::Engine, Some(rows)) = (self.via, self.rows.is_local()) {
            own_folder(rows)?;
        }
        // Short and of the machine's own: Ray puts sockets there, whose paths may have a hundred bytes.
        let scratch = scratch()?;
        let driver = scratch.path().join("driver.py");
        std::fs::write(&driver, self.engine.driver()).map_err(|e| Error::io("cannot write", &driver, e))?;

        let mut command = Command::new(&self.python);
        command.arg("-B").arg(&driver).args(self.flags(scratch.path())?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| self.no_python(&e))?;
        // The driver ends when this pipe does, so it does not outlive this process, whatever ends that.
        let held = child.stdin.take();
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let last = std::thread::scope(|scope| {
            let last = scope.spawn(|| err.map(last_lines).unwrap_or_default());
            for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(std::io::Result::ok) {
                if line == "ready" {
                    ready();
                }
            }
            last.join().unwrap_or_default()
        });
        let status = child.wait().map_err(|e| self.no_python(&e))?;
        drop(held);
        if status.success() { Ok(()) } else { Err(self.failed(&last, status)) }
    }

    /// Has the Python what the driver imports?
    fn check(&self) -> Result<()> {
        const MISSING: &str =
            "import importlib.util as u, sys; print(*(m for m in sys.argv[1:] if u.find_spec(m) is None))";
        let found = Command::new(&self.python).args(["-c", MISSING]).args(self.engine.modules()).output();
        let found = found.map_err(|e| self.no_python(&e))?;
        let missing = String::from_utf8_lossy(&found.stdout);
        if found.status.success() && missing.trim().is_empty() {
            return Ok(());
        }
        let python = self.python.display();
        let what = match found.status.success() {
            true => format!("{python} has no {}", missing.trim().replace(' ', ", ")),
            false => format!("{python} is no Python of our time"),
        };
        Err(Error::new(what).help(format!(
            "{python} -m pip install {}; another Python is named by --python or NIHBUILD_PYTHON",
            self.engine.packages()
        )))
    }

    fn no_python(&self, e: &std::io::Error) -> Error {
        Error::new(format!("cannot start {}: {e}", self.python.display()))
            .help(format!("name the Python that has {} by --python or NIHBUILD_PYTHON", self.engine.name()))
    }

    fn flags(&self, scratch: &Path) -> Result<Vec<OsString>> {
        let mut flags = vec![seen(&self.plan)?, seen(&self.rows)?];
        let mut flag = |name: &str, value: OsString| flags.extend([name.into(), value]);
        flag("--program", self.program.clone().into());
        flag("--via", if self.via == Via::Engine { "engine" } else { "storage" }.into());
        match &self.on {
            Where::Here(workers) => {
                flag("--workers", workers.to_string().into());
                flag("--scratch", scratch.into());
            }
            Where::Cluster(address) => flag("--cluster", address.into()),
        }
        flags.push("--held".into());
        Ok(flags)
    }

    /// What a driver said when it ended.
    fn failed(&self, last: &[String], status: std::process::ExitStatus) -> Error {
        let name = self.engine.name();
        let Some(n) = last.iter().rposition(|line| line.starts_with(FAILED)) else {
            let error = Error::new(format!("{name}'s driver ended with {status}"));
            return last.iter().fold(error, |error, line| error.at(format!("stderr: {line}")));
        };
        let said = &last[n][FAILED.len()..];
        if let Some(worker) = said.strip_prefix("worker: ") {
            let worker = worker.strip_prefix("error: ").unwrap_or(worker);
            return Error::new(format!("a worker failed as often as {name} allows: {worker}"));
        }
        let error =
            last[n + 1..].iter().fold(Error::new(format!("{name}: {said}")), |error, line| error.at(line.trim()));
        match said.contains("JAVA") {
            true => error.help("Spark runs on Java 17 or later: install it, or say by JAVA_HOME where it is"),
            false => error,
        }
    }
}

/// A place as processes elsewhere see it: a folder by its whole path.
fn seen(place: &Place) -> Result<OsString> {
    match place.is_local() {
        Some(folder) => {
            std::path::absolute(folder).map(OsString::from).map_err(|e| Error::io("cannot find", folder, e))
        }
        None => Ok(place.to_string().into()),
    }
}

/// An engine empties the folder that it writes: nothing else may lie there.
fn own_folder(rows: &Path) -> Result<()> {
    if !rows.is_dir() {
        return Ok(());
    }
    for path in crate::store::sorted_dir(rows)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !(name.starts_with(['.', '_']) || name.ends_with(".parquet")) {
            fail!("{} holds {name}: an engine would remove it; name an empty folder with --rows DIR", rows.display());
        }
    }
    Ok(())
}

/// The last lines of a stream.
fn last_lines(from: impl Read) -> Vec<String> {
    let mut last = VecDeque::new();
    for line in BufReader::new(from).split(b'\n').map_while(std::io::Result::ok) {
        if last.len() == KEPT {
            last.pop_front();
        }
        last.push_back(String::from_utf8_lossy(&line).into_owned());
    }
    last.into()
}
