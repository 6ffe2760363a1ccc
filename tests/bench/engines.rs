//! What an engine costs: a build of 200 M tokens here, and the same on Spark and Ray with two workers.

use super::{Figures, now};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tokens of the build, at least.
const TOKENS: u64 = 200_000_000;

/// Each in a store of its own, so that every one of them does the whole work. What an engine takes to start is put aside, as it is the
/// same for a build of any size: the start and the rows of a build that is next to nothing.
pub fn run(figures: &mut Figures) {
    #[allow(clippy::disallowed_methods, reason = "a benchmark may look where engines are")]
    let folder = std::env::var_os("NIHBUILD_ENGINES").map(PathBuf::from);
    let Some(python) = folder.map(|folder| folder.join("bin/python")).filter(|python| python.exists()) else {
        println!("skipped: engines (.ci/engines DIR installs them, NIHBUILD_ENGINES=DIR names them)");
        return;
    };
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    println!("engines, two workers, all lengths of 115 instances in seven languages");
    // By turns, and the better of two: the same disk and the same neighbours for all of them.
    let mut best = [f64::MAX; 3];
    let mut sums: Vec<String> = Vec::new();
    for _ in 0..2 {
        for (n, on) in [None, Some("spark"), Some("ray")].into_iter().enumerate() {
            let (wall, json) = once(root.path(), on, &python, &["--limit", "115"]);
            let aside = on.map_or(0.0, |_| {
                std::fs::remove_dir_all(root.path().join("tiny")).unwrap_or_default();
                let (_, json) = once(&root.path().join("tiny"), on, &python, &TINY);
                stage(&json, "start") + stage(&json, "render")
            });
            let seconds = wall - aside;
            best[n] = best[n].min(seconds);
            let tokens = json["manifest"]["tokens"].as_u64().unwrap();
            let stages: Vec<String> = json["seconds"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(stage, seconds)| format!("{stage} {:.1}", seconds.as_f64().unwrap()))
                .collect();
            let on = on.unwrap_or("here");
            println!("       {on:<6} {seconds:5.1} s, and {aside:4.1} s to start: {}", stages.join(", "));
            if sums.is_empty() {
                let found = format!("{:.0} M", tokens as f64 / 1e6);
                figures.check("tokens of the build", found, ">= 200 M", tokens >= TOKENS);
            }
            let release = Path::new(json["release"].as_str().unwrap());
            sums.push(std::fs::read_to_string(release.join("SHA256SUMS")).unwrap());
            std::fs::remove_dir_all(root.path().join("out")).unwrap();
        }
    }
    let same = sums.iter().all(|other| *other == sums[0]);
    figures.check("bytes of all these builds", sums.len().to_string(), "the same", same);
    for (n, on) in [(1, "Spark"), (2, "Ray")] {
        let ratio = best[n] / best[0];
        figures.check(&format!("{on}, two workers / here"), format!("{ratio:.2}"), "<= 1.5", ratio <= 1.5);
    }
}

/// A few short prompts, in several units of work.
const TINY: [&str; 8] = ["--limit", "8", "--lengths", "0k", "--languages", "en,de", "--unit", "1000"];

/// Seconds of a stage.
fn stage(json: &Value, stage: &str) -> f64 {
    json["seconds"][stage].as_f64().unwrap()
}

/// One build from nothing: its time, and what it said.
fn once(root: &Path, on: Option<&str>, python: &Path, flags: &[&str]) -> (f64, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nihbuild"));
    command.arg(if on.is_some() { "run" } else { "recipe" });
    command.args(["mlrbench", "--jobs", "2", "--json", "--out"]).arg(root.join("out")).args(flags);
    if let Some(on) = on {
        command.args(["--on", on, "--workers", "2", "--python"]).arg(python);
    }
    let start = now();
    let made = command.output().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let json: Value = serde_json::from_slice(&made.stdout)
        .unwrap_or_else(|_| panic!("not built: {}", String::from_utf8_lossy(&made.stderr)));
    (seconds, json)
}
