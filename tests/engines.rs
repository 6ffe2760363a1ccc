//! The drivers of Spark and Ray: whatever the engine does, the release is the local one; and `run`, which starts them.

mod real;

use crate::support::*;
use crate::work::{fed, planned, row_files, same, stream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// A bench with a small recipe of stories.
fn stories() -> Bench {
    let bench = Bench::new();
    let more = "[grid]\nlanguages = [\"en\", \"zh\"]\nlengths = [\"0k\", \"2k\"]\n\n[distractors]\npool = 300\n";
    bench.write("r.toml", &small("engines", more));
    bench
}

/// A program of its own in the bench's folder.
fn program(bench: &Bench, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = bench.write(name, &format!("#!/bin/sh\n{text}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn this_process_makes_the_same_release() {
    let bench = stories();
    let full = bench.run(&["recipe", "r.toml", "--out", "local"]).success().release(&bench);
    let ran = bench.run(&["run", "r.toml", "--on", "here", "--unit", "20000"]).success();
    same(&ran.release(&bench), &full);
    // What it was made of is there for another run, the prompts are not.
    assert!(bench.path("build/engines/1.0.0.plan/plan.json").is_file());
    assert!(!bench.path("build/engines/1.0.0.plan/prompts").exists());
    assert!(bench.run(&["run", "r.toml", "--on", "here"]).success().out.contains("was built before and is sound"));
    // From a plan, in two steps, with the prompts in a place of their own.
    let (plan, _) = planned(&bench, &["recipe", "r.toml"], "20000", "plan");
    let plan = plan.to_str().unwrap();
    let flags = ["run", plan, "--on", "here", "--workers", "1", "--rows", "rows", "--no-seal"];
    assert!(bench.run(&flags).success().out.contains("next: nihbuild seal"));
    let seal = bench.run(&["seal", plan, "--rows", "rows", "--out", "sealed"]).success();
    same(&seal.release(&bench), &full);
    let ran = bench.run(&["run", plan, "--on", "here", "--rows", "rows", "--out", "again"]).success();
    same(&ran.release(&bench), &full);
    assert!(bench.path("rows").is_dir(), "a folder that was named stays");
}

#[test]
fn flags_that_mean_nothing_together_are_refused() {
    let bench = stories();
    let (plan, _) = planned(&bench, &["recipe", "r.toml"], "20000", "plan");
    let plan = plan.to_str().unwrap();
    bench.run(&["run", plan, "--on", "here", "--limit", "3"]).failure(2, &["--limit", "is a plan already"]);
    bench.run(&["run", plan, "--on", "here", "--layout", "compact"]).failure(2, &["--layout"]);
    bench.run(&["run", plan, "--on", "here", "--cluster", "auto"]).failure(2, &["--cluster", "--on spark"]);
    bench.run(&["run", plan, "--on", "here", "--via", "engine"]).failure(2, &["--via engine"]);
    bench.run(&["run", plan, "--on", "ray", "--workers", "0"]).failure(2, &["at least one worker"]);
    bench
        .run(&["run", plan, "--on", "ray", "--workers", "2", "--cluster", "auto"])
        .failure(2, &["cannot be used with"]);
    bench.run(&["run", "--on", "ray"]).failure(2, &["RECIPE|PLAN"]);
    bench.run(&["run", "nowhere", "--on", "here"]).failure(2, &["nowhere"]);
}

#[test]
fn drivers_are_short_and_can_be_taken_along() {
    let bench = Bench::new();
    for (engine, call) in [("spark", "mapInArrow"), ("ray", "map_batches")] {
        let driver = bench.run(&["run", "--on", engine, "--print-driver"]).success().out;
        assert!(driver.contains(call) && driver.lines().count() < 150, "{engine}: {} lines", driver.lines().count());
        assert!(driver.lines().all(|line| line.len() <= 120));
    }
    bench.run(&["run", "--on", "here", "--print-driver"]).failure(2, &["--on here has no engine"]);
}

#[test]
fn a_python_without_the_engine_is_told_what_to_install() {
    let bench = stories();
    let run = |python: &Path| {
        let flags = ["run", "r.toml", "--on", "spark", "--workers", "1", "--python", python.to_str().unwrap()];
        bench.run(&flags)
    };
    run(Path::new("no/python")).failure(2, &["cannot start no/python", "NIHBUILD_PYTHON"]);
    let bare = program(&bench, "bare", "echo pyspark pandas");
    run(&bare).failure(2, &["has no pyspark, pandas", "pip install 'pyspark>=4' pyarrow pandas"]);
    let old = program(&bench, "old", "exit 1");
    run(&old).failure(2, &["is no Python of our time"]);
    let has = "[ \"$1\" = -c ] && exit 0\n";
    // A driver that breaks off: its last lines.
    let breaks = program(&bench, "breaks", &format!("{has}echo first >&2; echo no such cluster >&2; exit 7"));
    run(&breaks).failure(2, &["Spark's driver ended with exit status: 7", "no such cluster"]);
    let java = "failed: PySparkRuntimeError: [JAVA_GATEWAY_EXITED] Java gateway process exited";
    let java = program(&bench, "java", &format!("{has}echo noise >&2; echo '{java}' >&2; exit 1"));
    let said = run(&java).failure_text(&["Spark: PySparkRuntimeError", "Java 17 or later"]);
    assert!(!said.contains("noise"), "{said}");
    // What a worker said is one line.
    let worker = "failed: worker: error: the answer is not there; at row qa1-00000-en; help: this is a bug";
    let worker = program(&bench, "worker", &format!("{has}echo noise >&2; echo '{worker}' >&2; exit 1"));
    let said = run(&worker).failure_text(&["row qa1-00000-en"]);
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    // One that does nothing leaves rows missing.
    run(&program(&bench, "idle", &format!("{has}echo ready"))).failure(2, &["prompts"]);
    // An engine's folder is emptied: what else lies there is not.
    bench.write("mine/thesis.tex", "");
    let idle = bench.path("idle");
    let flags = ["run", "r.toml", "--on", "ray", "--via", "engine", "--rows", "mine", "--python"];
    bench.run(&[&flags[..], &[idle.to_str().unwrap()]].concat()).failure(2, &["thesis.tex", "would remove it"]);
}

impl Outcome {
    /// A failure's standard error.
    #[track_caller]
    fn failure_text(self, said: &[&str]) -> String {
        let text = self.err.clone();
        self.failure(2, said);
        text
    }
}

/// Whatever ends the program, its driver sees it.
#[test]
fn a_driver_ends_with_the_program_that_started_it() {
    let bench = stories();
    let has = "[ \"$1\" = -c ] && exit 0\n";
    let python = program(&bench, "python", &format!("{has}echo ready; touch started; cat >/dev/null; touch ended"));
    let args = ["run", "r.toml", "--on", "ray", "--workers", "1", "--python", python.to_str().unwrap()];
    let mut command = bench.command(&args);
    // What is left of it goes with the bench.
    command.env("TMPDIR", bench.dir.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let comes = |name: &str| {
        let there = || bench.path(name).exists();
        (0..600).any(|_| {
            there() || {
                std::thread::sleep(Duration::from_millis(100));
                there()
            }
        })
    };
    assert!(comes("started"));
    assert!(!bench.path("ended").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(comes("ended"));
}

/// Where whoever fed a worker was killed, the rows that came do not pass for all of them.
#[test]
fn a_stream_that_breaks_off_is_no_shorter_stream() {
    let bench = stories();
    let (plan, _) = planned(&bench, &["recipe", "r.toml"], "20000", "plan");
    let rows = stream(&batches(&row_files(&plan)[0]));
    for to in [None, Some("prompts")] {
        let args =
            [&["worker", "render", plan.to_str().unwrap()][..], &to.map_or(vec![], |to| vec!["--to", to])].concat();
        assert!(fed(bench.command(&args), &rows).status.success());
        let files = || to.map_or(0, |to| bytes_of(&bench.path(to)).len());
        let before = files();
        for end in [8, 9, 100] {
            let output = fed(bench.command(&args), &rows[..rows.len() - end]);
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.code() == Some(2) && said.contains("no stream of rows"), "{end}: {said}");
        }
        assert_eq!(files(), before);
    }
}
