//! Scoring 56,000 predictions of the default release.

use super::{Figures, build, now};
use arrow_array::cast::AsArray;
use nihbuild::release::Release;
use nihbuild::seed::Seed;
use nihbuild::table::{text, texts};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::Command;

/// Builds the default release, answers it as a model might, and scores that, also from its compact form.
pub fn run(figures: &mut Figures) {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let full = build(root.path(), "two", &["--jobs", "2"]);
    let compact = build(root.path(), "two", &["--layout", "compact", "--jobs", "2"]);
    let lines = predictions(&Release::open(&full.folder).unwrap());
    let path = root.path().join("predictions.jsonl");
    std::fs::write(&path, &lines).unwrap();
    println!("score, two threads, {:.1} MB of predictions", lines.len() as f64 / 1e6);
    let mut reports: Vec<Value> = Vec::new();
    for (layout, folder) in [("full", &full.folder), ("compact", &compact.folder)] {
        let start = now();
        let scored = Command::new(env!("CARGO_BIN_EXE_nihbuild"))
            .args(["score", "--json", "--jobs", "2"])
            .arg(folder)
            .arg(&path)
            .output()
            .unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let report: Value = serde_json::from_slice(&scored.stdout)
            .unwrap_or_else(|_| panic!("not scored: {}", String::from_utf8_lossy(&scored.stderr)));
        let rows = report["score"]["all"]["rows"].clone();
        figures.check(&format!("rows scored, {layout}"), rows.to_string(), "56000", rows == 56000);
        figures.check(&format!("seconds to score them, {layout}"), format!("{seconds:.1}"), "<= 5", seconds <= 5.0);
        reports.push(report);
    }
    figures.check("both layouts", "scores".to_owned(), "the same", reports[0] == reports[1]);
    let exact = &reports[0]["score"]["all"]["exact"];
    let share = exact["right"].as_f64().unwrap() / exact["of"].as_f64().unwrap();
    figures.check("right ones", format!("{:.0}%", 100.0 * share), "about 50%", (0.4..0.65).contains(&share));
}

/// Half right, half another row's answer; as JSON, prose, reasoning, or bare.
fn predictions(release: &Release) -> String {
    let mut rng = Seed::new("bench").derive("predictions", "");
    let mut out = String::new();
    let mut last = String::from("?");
    for file in 0..release.files().len() {
        let columns = ["id", "question", "answers", "language", "answer_variants"];
        let each = &mut |batch: &arrow_array::RecordBatch, row: usize| {
            let gold = texts(batch, "answers", row).swap_remove(0);
            let variants = batch.column_by_name("answer_variants").unwrap().as_list::<i32>().value(row);
            let variants = variants.as_string::<i32>();
            let own = match variants.is_empty() || rng.chance(1, 2) {
                true => gold.clone(),
                false => variants.value(rng.below(variants.len())).to_owned(),
            };
            let said = if rng.chance(1, 2) { own } else { std::mem::replace(&mut last, gold) };
            let question = text(batch, "question", row);
            let output = match rng.below(5) {
                0 => said,
                1 => format!("{{\"answer\": {}}}", json!(said)),
                2 => format!("```json\n{{\n  \"answer\": {}\n}}\n```", json!(said)),
                3 => {
                    let thought = format!("{question} {} ", said).repeat(12);
                    format!("{{\"reasoning\": {}, \"answer\": {}}}", json!(thought), json!(said))
                }
                _ => format!("{question} {said}."),
            };
            let _ = writeln!(out, "{}", json!({"id": text(batch, "id", row), "output": output}));
            Ok(())
        };
        release.each(file, &columns, each).unwrap();
    }
    out
}
