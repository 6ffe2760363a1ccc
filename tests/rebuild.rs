//! An audit builds a release again and says what came out.

use crate::support::*;
use nihbuild::plan::Options;
use nihbuild::rebuild::{Audit, Settings, Verdict, audit};
use nihbuild::verify::read_manifest;
use std::path::{Path, PathBuf};

fn settings(bench: &Bench) -> Settings {
    Settings { options: Options { out: bench.path("scratch"), jobs: 2, ..Options::default() }, ..Settings::default() }
}

fn small_release(bench: &Bench) -> PathBuf {
    bench.write("r.toml", &small("audited", QUICK));
    bench.run(&["recipe", "r.toml", "--languages", "en,hi", "--limit", "10"]).success().release(bench)
}

fn step<'a>(audit: &'a Audit, name: &str) -> (Verdict, &'a str) {
    let step = audit.steps.iter().find(|step| step.name == name);
    let step = step.unwrap_or_else(|| panic!("no step {name} in {:#?}", audit.steps));
    (step.verdict, step.what.as_deref().unwrap_or_default())
}

fn is_clean(scratch: &Path) -> bool {
    !scratch.exists() || nihbuild::store::sorted_dir(scratch).unwrap().is_empty()
}

#[test]
fn a_sound_release_comes_out_again() {
    let bench = Bench::new();
    let release = small_release(&bench);
    let before = bytes_of(&release);
    let whole = audit(&release, &settings(&bench)).unwrap();
    assert_eq!(whole.verdict, Verdict::Reproduced, "{}", whole.text());
    assert!(whole.steps.iter().all(|step| step.verdict == Verdict::Reproduced), "{}", whole.text());
    for name in ["recipe", "packs", "sources", "select", "localize hi synthetic", "retrieve", "pins", "rows", "bytes"] {
        step(&whole, name);
    }
    // In the order of the path.
    let at = |name: &str| whole.steps.iter().position(|step| step.name == name).unwrap();
    assert!(at("select") < at("distractors") && at("distractors") < at("localize en synthetic"), "{}", whole.text());
    assert!(at("localize hi synthetic") < at("retrieve") && at("retrieve") < at("rows"));
    // Some rows alone, and others by another number.
    let some = Settings { sample: Some(7), ..settings(&bench) };
    let sampled = audit(&release, &some).unwrap();
    assert_eq!((sampled.verdict, sampled.rows), (Verdict::Reproduced, 7), "{}", sampled.text());
    let all = audit(&release, &Settings { sample: Some(1000), lot: 3, ..settings(&bench) }).unwrap();
    assert_eq!((all.verdict, all.rows), (Verdict::Reproduced, 40));
    assert_eq!(bytes_of(&release), before);
    assert!(is_clean(&bench.path("scratch")));
    // Kept, it is the same release.
    let keep = Settings { keep: Some(bench.path("kept/again")), ..settings(&bench) };
    audit(&release, &keep).unwrap();
    assert_eq!(bytes_of(&bench.path("kept/again")), before);
}

#[test]
fn a_compact_release_comes_out_again() {
    let bench = Bench::new();
    bench.write("r.toml", &small("audited", QUICK));
    let args = ["recipe", "r.toml", "--languages", "en,hi", "--limit", "10", "--layout", "compact"];
    let release = bench.run(&args).success().release(&bench);
    let whole = audit(&release, &settings(&bench)).unwrap();
    assert_eq!(whole.verdict, Verdict::Reproduced, "{}", whole.text());
    assert_eq!((step(&whole, "rows").0, step(&whole, "bytes").0), (Verdict::Reproduced, Verdict::Reproduced));
    let some = audit(&release, &Settings { sample: Some(9), ..settings(&bench) }).unwrap();
    assert_eq!((some.verdict, some.rows), (Verdict::Reproduced, 9), "{}", some.text());
    bench.run(&["diff", release.to_str().unwrap(), release.to_str().unwrap()]).failure(2, &["nihbuild materialize"]);
}

#[test]
fn what_comes_out_otherwise_is_named() {
    let bench = Bench::new();
    let release = small_release(&bench);
    // A gold that was changed, and every digest with it.
    let file = "data/hi_2k/test-00000-of-00001.parquet";
    change_list(&release.join(file), "answers", 3, &|_| vec!["x".to_owned()]);
    sign(&release);
    let whole = audit(&release, &settings(&bench)).unwrap();
    assert_eq!(whole.verdict, Verdict::Differs);
    assert_eq!(step(&whole, "rows"), (Verdict::Differs, file));
    assert_eq!(step(&whole, "retrieve").0, Verdict::Reproduced);
    let all = audit(&release, &Settings { sample: Some(40), ..settings(&bench) }).unwrap();
    assert_eq!(all.verdict, Verdict::Differs);
    let id = nihbuild::digests::read(&release).unwrap()[file].rows[3].0.clone();
    assert_eq!(all.others.len(), 1);
    assert_eq!((&all.others[0].id, &all.others[0].columns), (&id, &vec!["answers".to_owned()]));
    // Another seed in the recipe: all that is drawn.
    let release = bench.run(&["recipe", "r.toml", "--out", "b", "--languages", "en,hi", "--limit", "10"]).success();
    let release = release.release(&bench);
    let text = std::fs::read_to_string(release.join("recipe.toml")).unwrap();
    let seed = text.lines().find(|line| line.starts_with("seed = ")).unwrap();
    std::fs::write(release.join("recipe.toml"), text.replacen(seed, "seed = 4242", 1)).unwrap();
    sign(&release);
    let other = audit(&release, &settings(&bench)).unwrap();
    assert_eq!(step(&other, "select"), (Verdict::Differs, "its input, and its output"));
    assert_eq!((step(&other, "packs").0, step(&other, "rows").0), (Verdict::Reproduced, Verdict::Differs));
    // Bytes that are not those of the release are no beginning.
    change(&release.join(file), "question", 1, &|text| format!("{text}?"));
    refused(audit(&release, &settings(&bench)), &[file, "nihbuild verify"]);
    assert!(is_clean(&bench.path("scratch")));
}

#[test]
fn what_could_not_run_says_why() {
    let bench = Bench::new();
    let recipe = small("held", QUICK);
    let seed = recipe.lines().find(|line| line.starts_with("seed = ")).unwrap();
    bench.write("seed.txt", "correct horse battery staple");
    bench.write("r.toml", &recipe.replacen(seed, "seed = { file = \"seed.txt\" }", 1));
    let release = bench.run(&["recipe", "r.toml", "--languages", "en", "--limit", "4"]).success().release(&bench);
    let held = audit(&release, &settings(&bench)).unwrap();
    assert_eq!(held.verdict, Verdict::CouldNotRun);
    assert!(step(&held, "recipe").1.contains("seed is held out"), "{}", held.text());
    let known = Settings { seed: Some(bench.path("seed.txt")), ..settings(&bench) };
    let whole = audit(&release, &known).unwrap();
    assert_eq!(whole.verdict, Verdict::Reproduced, "{}", whole.text());
    bench.write("other.txt", "correct horse battery stapler");
    let other = Settings { seed: Some(bench.path("other.txt")), ..settings(&bench) };
    refused(audit(&release, &other), &["is not the seed of this release"]);
    refused(audit(&bench.path("none"), &settings(&bench)), &["manifest.json"]);
    refused(audit(&release, &Settings { sample: Some(0), ..settings(&bench) }), &["--sample 0"]);
}

#[test]
fn a_program_is_asked_again() {
    if !std::process::Command::new("python3").arg("--version").output().is_ok_and(|out| out.status.success()) {
        eprintln!("skipped: no python3 for a_program_is_asked_again");
        return;
    }
    let bench = Bench::new();
    let program = |sign: &str| {
        let text = format!(
            "import json, sys\n\nfor line in sys.stdin:\n    asked = json.loads(line)\n    \
             print(json.dumps({{\"id\": asked[\"id\"], \"scores\": [{sign}len(s) for s in asked[\"sentences\"]]}}), flush=True)\n"
        );
        bench.write("rerank.py", &text)
    };
    let path = program("");
    let rag = "[rag]\nretrievers = [\"command\"]\ntop_k = [5]\n\n[rag.reranker]\ncommand = [\"python3\", \"rerank.py\"]\n\
        model = \"lengths, 1\"\n";
    bench.write("r.toml", &format!("{}{rag}", small("asked", QUICK)));
    let release = bench.run(&["recipe", "r.toml", "--languages", "en", "--limit", "4"]).success().release(&bench);
    let release = release.to_str().unwrap();
    let said = |code: i32, said: &str| {
        let run = bench.run(&["audit", release, "--rederive", "--out", "scratch"]);
        assert_eq!(run.code, Some(code), "{} {}", run.out, run.err);
        assert!(run.out.contains(said), "{}", run.out);
    };
    said(0, "rederive answers       reproduced  rows 0 of 12, pins 0 of 1");
    // Other scores: the pins give the release, the program of today does not.
    program("-");
    said(1, "rederive answers       DIFFERS  rows 4 of 12, pins 1 of 1");
    std::fs::remove_file(path).unwrap();
    said(2, "rederive answers       could not run");
}

#[test]
fn sources_that_are_gone_stop_what_needs_them() {
    let Some(data) = real_data("sources_that_are_gone_stop_what_needs_them") else { return };
    let bench = Bench::new();
    let text = small("babi", QUICK).replacen("[stories]", "[source]\nkind = \"babi\"\n\n[stories]", 1);
    bench.write("r.toml", &text.replacen("answers = \"balanced\"", "answers = \"official\"", 1));
    let data = data.join("babi");
    let args = ["recipe", "r.toml", "--languages", "en", "--limit", "5", "--data", data.to_str().unwrap()];
    let release = bench.run(&args).success().release(&bench);
    let offline = Options { offline: true, out: bench.path("scratch"), jobs: 2, ..Options::default() };
    let gone = audit(&release, &Settings { options: offline.clone(), ..Settings::default() }).unwrap();
    assert_eq!(gone.verdict, Verdict::CouldNotRun, "{}", gone.text());
    assert_eq!(step(&gone, "select").0, Verdict::CouldNotRun);
    assert!(!step(&gone, "rows").1.is_empty());
    let there = Options { data: Some(data), ..offline };
    let whole = audit(&release, &Settings { options: there, ..Settings::default() }).unwrap();
    assert_eq!(whole.verdict, Verdict::Reproduced, "{}", whole.text());
    assert_eq!(step(&whole, "sources").0, Verdict::Reproduced);
}

#[test]
fn a_release_of_an_older_format_comes_out_in_the_columns_it_has() {
    let bench = Bench::new();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases/strategies-1.0.0");
    assert_eq!(read_manifest(&old).unwrap().format, 3);
    let whole = audit(&old, &settings(&bench)).unwrap();
    assert_eq!(step(&whole, "rows").0, Verdict::Reproduced, "{}", whole.text());
    assert_eq!(step(&whole, "bytes").0, Verdict::CouldNotRun, "{}", whole.text());
    let some = audit(&old, &Settings { sample: Some(20), ..settings(&bench) }).unwrap();
    assert_eq!(some.verdict, Verdict::Reproduced, "{}", some.text());
}
