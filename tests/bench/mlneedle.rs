//! MLNeedle on real text: questions of MLQA and XQuAD, passages of a parallel collection, a real model. Skipped where
//! data, model or runtime are not there.

use super::{Figures, PEAK, now};
use nihbuild::embedder::{dot, pinned};
use nihbuild::stage::embed::grams;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const LANGUAGES: [(&str, &str); 7] = [
    ("en", "english"),
    ("de", "german"),
    ("es", "spanish"),
    ("zh", "chinese"),
    ("vi", "vietnamese"),
    ("hi", "hindi"),
    ("ar", "arabic"),
];

/// Runs it.
pub fn run(figures: &mut Figures) {
    #[allow(clippy::disallowed_methods, reason = "benchmarks may look where data, model and runtime are")]
    let env = |name: &str, beside: &str| {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join(beside);
        std::env::var_os(name).map_or(beside, PathBuf::from)
    };
    let data = env("NIHBUILD_DATA", "../shared/data");
    let models = env("NIHBUILD_MODELS", "../shared/models");
    let runtime = env("ORT_DYLIB_PATH", "no runtime");
    if !data.join("xquad").is_dir() || !models.join("multilingual-e5-small-q4").is_dir() || !runtime.is_file() {
        println!("skipped: MLNeedle on real text needs data, model and ONNX Runtime (ORT_DYLIB_PATH)");
        return;
    }
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    println!("MLNeedle on real text: all pairs and multilingual, 0k to 32k, 100 questions a cell");
    let sets = [("xquad", "xquad.{language}.json"), ("mlqa", "mlqa-dev-{language}.json")];
    for (dataset, files) in sets {
        let recipe = root.path().join(format!("{dataset}.toml"));
        std::fs::write(&recipe, RECIPE.replace("DATASET", dataset).replace("FILES", files)).unwrap();
        let run = |verb: &[&str], out: &str| -> (Value, f64, f64) {
            let start = now();
            let output = Command::new("/usr/bin/env")
                .args(["python3", "-c", PEAK, env!("CARGO_BIN_EXE_nihbuild"), "recipe"])
                .arg(&recipe)
                .args(["--json", "--offline", "--data"])
                .arg(&data)
                .arg("--models")
                .arg(&models)
                .arg("--out")
                .arg(root.path().join(out))
                .args(verb)
                .output()
                .unwrap();
            let seconds = start.elapsed().as_secs_f64();
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("the build failed: {err}"));
            let peak = err.lines().rev().find_map(|l| l.strip_prefix("peak ")?.parse::<f64>().ok()).expect("the peak");
            (json, seconds, peak / 1024.0)
        };
        let (built, seconds, peak) = run(&[], "two");
        let manifest = &built["manifest"];
        let files = manifest["files"].as_array().unwrap();
        let sum = |of: &dyn Fn(&Value) -> u64| files.iter().map(of).sum::<u64>();
        let rows = sum(&|f| f["rows"].as_u64().unwrap());
        println!(
            "       {dataset}: {rows} prompts, {} tokens, {seconds:.0} s of which embed {:.0} s, peak {peak:.0} MiB",
            manifest["tokens"],
            built["seconds"]["embed"].as_f64().unwrap()
        );
        figures.check(&format!("{dataset}: prompts"), rows.to_string(), "67900", rows == 4 * 16_800 + 700);
        let over = sum(&|f| f["stats"]["over"].as_u64().unwrap());
        figures.check(&format!("{dataset}: prompts over their budget"), over.to_string(), "0", over == 0);
        let filled = files.iter().filter(|f| f["path"].as_str().unwrap().contains("_32k"));
        let (fill, n) = filled.fold((0, 0), |(fill, n), f| {
            (fill + f["stats"]["fill"].as_u64().unwrap(), n + f["rows"].as_u64().unwrap())
        });
        let fill = fill as f64 / n as f64 / 10_000.0;
        figures.check(&format!("{dataset}: mean fill at 32k"), format!("{fill:.2}%"), ">= 99%", fill >= 99.0);
        let release = PathBuf::from(built["release"].as_str().unwrap());
        let start = now();
        let verified = Command::new(env!("CARGO_BIN_EXE_nihbuild")).arg("verify").arg(&release).output().unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let sound = verified.status.success();
        figures.check(&format!("{dataset}: verify finds nothing"), format!("{seconds:.0} s"), "exit 0", sound);
        let pins = release.join("pins");
        let again = run(&["--jobs", "1", "--pins", pins.to_str().unwrap()], "one").0;
        let same = again["manifest"]["rows_digest"] == manifest["rows_digest"];
        figures.check(&format!("{dataset}: one thread gives the same rows"), same.to_string(), "true", same);
        if dataset == "xquad" {
            let drift = run(&["--rederive"], "two").0;
            let differ = drift["components_differ"].as_u64().unwrap();
            let of = drift["components"].as_u64().unwrap();
            figures.check("components that a fresh embedding changes", format!("{differ} of {of}"), "0", differ == 0);
            parallel(figures, &data, &release, manifest);
        }
    }
}

/// How often the passage most like one in another language is its translation.
fn parallel(figures: &mut Figures, data: &Path, release: &Path, manifest: &Value) {
    let mut neural: BTreeMap<String, (usize, Vec<i8>)> = BTreeMap::new();
    for pin in manifest["pins"].as_array().unwrap() {
        if let Some(language) = pin["what"].as_str().unwrap().strip_prefix("passages ") {
            let (_, _, pinned) = pinned::read(&release.join(pin["path"].as_str().unwrap())).unwrap();
            neural.insert(language.to_owned(), (pinned.dimensions, pinned.vectors));
        }
    }
    let grams: BTreeMap<String, (usize, Vec<i8>)> = LANGUAGES
        .iter()
        .map(|(code, name)| {
            let path = data.join("mmarco_layout").join(format!("{name}_collection.tsv"));
            let text = std::fs::read_to_string(path).unwrap();
            let texts: Vec<&str> = text.lines().map(|line| line.split_once('\t').unwrap().1).collect();
            let vectors = grams(&texts);
            ((*code).to_owned(), (vectors.dimensions, vectors.data))
        })
        .collect();
    for (what, vectors, least) in [("e5", neural, Some(0.95)), ("n-grams", grams, None)] {
        let (d, english) = &vectors["en"];
        let mut mean = 0.0;
        let mut each = Vec::new();
        for (code, _) in &LANGUAGES[1..] {
            let (_, other) = &vectors[*code];
            let n = other.len() / d;
            let right = (0..n).filter(|row| {
                let score = |e: usize| dot(&other[row * d..(row + 1) * d], &english[e * d..(e + 1) * d]);
                (0..n).max_by_key(|e| (score(*e), std::cmp::Reverse(*e))) == Some(*row)
            });
            let share = right.count() as f64 / n as f64;
            mean += share / 6.0;
            each.push(format!("{code} {share:.3}"));
        }
        println!("       {what}: {}", each.join(", "));
        let (bound, holds) = least.map_or(("(for comparison)".to_owned(), true), |l| (format!(">= {l}"), mean >= l));
        figures.check(&format!("top-1 of the parallel passage, {what}"), format!("{mean:.3}"), &bound, holds);
    }
}

const RECIPE: &str = r#"
[release]
name = "DATASET-real"
version = "1.0.0"
seed = 20240819
licence = "CC-BY-SA-4.0"

[source]
kind = "squad"
dataset = "DATASET"
splits = ["dev"]
files = "FILES"

[grid]
lengths = ["0k", "4k", "8k", "16k", "32k"]

[retrieval]
embedder = "onnx"

[embedding]
model = "multilingual-e5-small-q4"
query_prefix = "query: "
passage_prefix = "passage: "
max_tokens = 512
dimensions = 384
"#;
