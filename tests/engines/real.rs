//! Runs on the real engines, where NIHBUILD_ENGINES names a Python environment that has them.

use super::{program, stories};
use crate::support::*;
use crate::work::{planned, row_files, same};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The Python of the environment, or a word on stderr that runs are skipped.
fn python(engine: &str) -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods, reason = "tests may look where engines are")]
    let folder = std::env::var_os("NIHBUILD_ENGINES").map(PathBuf::from);
    let python = folder.map(|folder| folder.join("bin/python")).filter(|python| python.exists());
    if python.is_none() {
        eprintln!("skipped: runs on the real {engine} (.ci/engines DIR installs it, NIHBUILD_ENGINES=DIR names it)");
    }
    python
}

/// Runs a recipe or plan on an engine with two workers.
fn run(bench: &Bench, what: &str, engine: &str, python: &Path, more: &[&str]) -> Outcome {
    let flags = ["run", what, "--on", engine, "--workers", "2", "--python", python.to_str().unwrap()];
    Outcome::of(bench.command(&[&flags, more].concat()).env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap())
}

/// A worker that is killed as soon as its file of prompts has begun, once; all others live.
fn killed_once(bench: &Bench, rows: &Path) -> PathBuf {
    let worker = env!("CARGO_BIN_EXE_nihbuild");
    let (bench_dir, rows) = (bench.dir.path().display(), rows.display());
    let text = format!(
        "mkdir {bench_dir}/first 2>/dev/null && exec {worker} \"$@\"
mkdir {bench_dir}/second 2>/dev/null || exec {worker} \"$@\"
{worker} \"$@\" <&0 &
while kill -0 $! 2>/dev/null; do
    ls {rows}/.*.partial >/dev/null 2>&1 && kill -9 $!
done
kill -9 $$"
    );
    program(bench, "killed-once", &text)
}

/// The same bytes, with a worker killed amid its work; through storage and through the engine.
#[track_caller]
fn the_same_bytes(engine: &str) {
    let Some(python) = python(engine) else { return };
    let bench = stories();
    let full = bench.run(&["recipe", "r.toml", "--out", "local"]).success().release(&bench);
    let rows = bench.path("build/engines/1.0.0.plan/prompts");
    let worker = killed_once(&bench, &rows);
    let flags = ["--unit", "20000", "--program", worker.to_str().unwrap()];
    let ran = run(&bench, "r.toml", engine, &python, &flags).success();
    assert!(bench.path("second").exists(), "a worker was killed");
    same(&ran.release(&bench), &full);
    assert!(row_files(&bench.path("build/engines/1.0.0.plan")).len() > 2);

    let flags = ["--via", "engine", "--out", "other", "--json"];
    let ran = run(&bench, "build/engines/1.0.0.plan", engine, &python, &flags).success();
    let said: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(said["seconds"]["start"].as_f64().unwrap() > 0.0);
    same(&bench.path(said["release"].as_str().unwrap()), &full);
}

/// The plan and its prompts lie in a bucket: neither folder is seen by workers.
#[cfg(feature = "cloud")]
#[test]
fn ray_works_on_a_plan_in_a_bucket() {
    use crate::remote::server::{Server, variables};
    let Some(python) = python("ray") else { return };
    let bench = stories();
    let server = Server::start(&bench.path("server"));
    let full = bench.run(&["recipe", "r.toml", "--out", "local"]).success().release(&bench);
    let through = |args: &[&str]| {
        let mut command = bench.command(args);
        command.envs(variables(&server.address)).env("TMPDIR", bench.dir.path());
        Outcome::of(command.output().unwrap())
    };
    let place = "s3://suite/plans/engines";
    through(&["plan", "r.toml", "--unit", "20000", "--to", place]).success();
    let flags = ["run", place, "--on", "ray", "--workers", "2", "--python", python.to_str().unwrap(), "--out", "far"];
    same(&through(&flags).success().release(&bench), &full);
    assert!(!bench.path("build/engines/1.0.0.plan/prompts").exists());
}

/// A worker that fails as often as the engine allows says which row, in one line.
#[track_caller]
fn a_failing_row_is_named(engine: &str) {
    let Some(python) = python(engine) else { return };
    let bench = stories();
    let (plan, _) = planned(&bench, &["recipe", "r.toml"], "20000", "plan");
    // A row that the plan asks for otherwise than its parts give it.
    let file = &row_files(&plan)[1];
    let batches: Vec<RecordBatch> = batches(file);
    let batch = &batches[0];
    let (place, n) = (batch.schema().index_of("tokens").unwrap(), batch.num_rows() / 2);
    let id = nihbuild::table::text(batch, "id", n).to_owned();
    let tokens = batch.column(place).as_primitive::<Int64Type>().values().iter().enumerate();
    let tokens: Int64Array = tokens.map(|(row, tokens)| tokens + i64::from(row == n)).collect();
    let mut columns = batch.columns().to_vec();
    columns[place] = Arc::new(tokens);
    let touched = RecordBatch::try_new(batch.schema(), columns).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(file).unwrap(), batch.schema(), None).unwrap();
    writer.write(&touched).unwrap();
    writer.close().unwrap();
    let failed = run(&bench, "plan", engine, &python, &[]);
    assert_eq!((failed.code, failed.out.as_str()), (Some(2), ""), "{}", failed.err);
    assert_eq!(failed.err.trim_end().lines().count(), 1, "{}", failed.err);
    assert!(failed.err.contains(&id) && failed.err.contains("a worker failed"), "{}", failed.err);
}

#[test]
fn spark_makes_the_same_bytes() {
    the_same_bytes("spark");
}

#[test]
fn ray_makes_the_same_bytes() {
    the_same_bytes("ray");
}

#[test]
fn spark_names_a_failing_row() {
    a_failing_row_is_named("spark");
}

#[test]
fn ray_names_a_failing_row() {
    a_failing_row_is_named("ray");
}
