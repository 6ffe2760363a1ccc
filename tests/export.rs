//! `export`: the same bytes of full and compact releases, parts that nest, what is refused, and runs of the real evaluators.

use crate::mlneedle;
use crate::recall::recall;
use crate::support::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGETS: [&str; 5] = ["lm-eval", "inspect", "lighteval", "openai-evals", "jsonl"];

/// A release of stories: four languages and scripts, all strategies, rows of sentences that were retrieved.
fn stories(bench: &Bench, layout: &str) -> PathBuf {
    let more = "[grid]\nlanguages = [\"en\", \"zh\", \"hi\", \"ar\"]\nlengths = [\"0k\", \"4k\"]\n\n[distractors]\npool = 300\n\n\
        [prompt]\nstrategies = [\"zero_shot\", \"translation\", \"chain_of_thought\", \"few_shot\"]\n\n\
        [budget]\nanswer = { zero_shot = 64, translation = 64, chain_of_thought = 512, few_shot = 96 }\n\n\
        [rag]\nretrievers = [\"bm25\"]\ntop_k = [20]\n";
    bench.write("stories.toml", &small("small", more));
    bench.run(&["recipe", "stories.toml", "--layout", layout]).success().release(bench)
}

/// A release of needles and passages under both prompts.
fn passages(bench: &Bench, layout: &str) -> PathBuf {
    mlneedle::world(bench);
    let recipe = mlneedle::recipe(&(mlneedle::GRID.to_owned() + "prompts = [\"exact\", \"existence\"]\n"));
    mlneedle::build(bench, &recipe, &["--layout", layout]).success().release(bench)
}

/// A release of the recall test with a system message.
fn factoids(bench: &Bench, layout: &str) -> PathBuf {
    let more = "[grid]\nlanguages = [\"en\", \"zh\", \"ar\"]\n[slots]\nwindow = 1600\nn_lengths = 3\nn_depths = 9\nfirst = 400\n\
        [prompt]\nlayout = \"messages\"\n";
    bench.write("recall.toml", &recall("needles", more));
    bench.run(&["recipe", "recall.toml", "--layout", layout]).success().release(bench)
}

/// Exports; the folder.
#[track_caller]
fn export(bench: &Bench, release: &Path, to: &str, out: &str, flags: &[&str]) -> PathBuf {
    let release = release.to_str().unwrap();
    bench.run(&[&["export", release, "--to", to, "--out", out], flags].concat()).success();
    bench.path(out)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Rows of an export to JSON Lines, by config.
fn lines(folder: &Path) -> BTreeMap<String, Vec<Value>> {
    let told = json(&folder.join("export.json"));
    let configs = told["configs"].as_array().unwrap();
    let rows = |config: &Value| {
        let text = std::fs::read_to_string(folder.join(config["data"].as_str().unwrap())).unwrap();
        let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(config["rows"], rows.len());
        rows
    };
    configs.iter().map(|config| (config["config"].as_str().unwrap().to_owned(), rows(config))).collect()
}

fn ids(folder: &Path) -> BTreeSet<String> {
    lines(folder).values().flatten().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Exports of a full release and of its compact one are the same, whole and narrowed, for every evaluator.
#[track_caller]
fn alike(bench: &Bench, full: &Path, compact: &Path, narrowed: &[&str]) {
    for to in TARGETS {
        for (part, flags) in [("whole", &[][..]), ("part", narrowed)] {
            let (a, b) = (format!("{to}-{part}"), format!("{to}-{part}-of-compact"));
            let one = bytes_of(&export(bench, full, to, &a, flags));
            let other = bytes_of(&export(bench, compact, to, &b, flags));
            let names = |all: &[(String, Vec<u8>)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            assert_eq!(names(&one), names(&other));
            for ((name, one), (_, other)) in one.iter().zip(&other) {
                assert!(one == other, "{to} {part}: {name} differs: {} and {} bytes", one.len(), other.len());
            }
            let sums = String::from_utf8(one.iter().find(|(name, _)| name == "SHA256SUMS").unwrap().1.clone()).unwrap();
            for (name, bytes) in one.iter().filter(|(name, _)| name != "SHA256SUMS") {
                assert!(sums.contains(&format!("{}  {name}\n", nihbuild::hash::Digest::of(bytes))), "{name}");
            }
            assert_eq!(sums.lines().count(), one.len() - 1);
        }
    }
    let release = data_files(full);
    for to in ["lm-eval", "lighteval"] {
        for file in &release {
            let (copy, own) = (bench.path(&format!("{to}-whole")).join(file), full.join(file));
            assert!(std::fs::read(copy).unwrap() == std::fs::read(own).unwrap(), "{to}: {file}");
        }
    }
}

#[test]
fn full_and_compact_releases_export_alike() {
    let bench = Bench::new();
    let (full, compact) = (stories(&bench, "full"), stories(&bench, "compact"));
    alike(&bench, &full, &compact, &["--limit", "7", "--languages", "zh,en", "--lengths", "4k"]);
    let bench = Bench::new();
    let (full, compact) = (passages(&bench, "full"), passages(&bench, "compact"));
    alike(&bench, &full, &compact, &["--limit", "2", "--languages", "de", "--decoding", "paper", "--stop", "\n"]);
    let bench = Bench::new();
    let (full, compact) = (factoids(&bench, "full"), factoids(&bench, "compact"));
    alike(&bench, &full, &compact, &["--limit", "5", "--languages", "ar", "--max-tokens", "9"]);
}

#[test]
fn json_lines_hold_what_the_release_holds() {
    let bench = Bench::new();
    for (n, release) in [stories(&bench, "full"), passages(&bench, "full"), factoids(&bench, "full")].iter().enumerate()
    {
        let folder = export(&bench, release, "jsonl", &format!("lines{n}"), &[]);
        let exported = lines(&folder);
        let files = data_files(release);
        assert_eq!(exported.len(), files.len());
        for file in &files {
            let config = file.split('/').nth(1).unwrap();
            let (held, exported) = (rows(&release.join(file)), &exported[config]);
            assert_eq!(held.len(), exported.len());
            for ((batch, row), line) in held.iter().zip(exported) {
                let text = |name: &str| nihbuild::table::text(batch, name, *row);
                for name in ["id", "prompt", "question", "language", "length", "task", "prompt_sha256"] {
                    assert_eq!(line[name], text(name), "{name}");
                }
                let texts = |name: &str| nihbuild::table::texts(batch, name, *row);
                assert_eq!(line["answers"], Value::from(texts("answers")));
                let mut messages = vec![serde_json::json!({ "role": "user", "content": text("prompt") })];
                if !text("system").is_empty() {
                    messages.insert(0, serde_json::json!({ "role": "system", "content": text("system") }));
                    let span = nihbuild::table::read_spans(batch, *row)[0];
                    assert_eq!(line["reference"], text("prompt")[span.start as usize..span.end as usize]);
                }
                assert_eq!(line["messages"], Value::from(messages));
                let expected = text("expected");
                assert_eq!(line["expected"].as_str().unwrap_or_default(), expected);
                let by = nihbuild::table::read_by_language(batch, *row);
                assert_eq!(line["answers_by_language"].as_array().unwrap().len(), by.len());
            }
        }
        assert_eq!(folder.join("judge.json").exists(), n == 2);
        let settings = &json(&folder.join("export.json"))["configs"][0];
        let said = ["metrics", "answer_format", "stop", "max_tokens"].map(|key| settings[key].to_string());
        let expected = [
            ["[\"exact\",\"any\"]", "\"json\"", "[]", "64"],
            ["[\"exact\",\"any\"]", "\"text\"", "[\"\\n### Passages\",\"\\nQuestion:\"]", "20"],
            ["[\"exact\"]", "\"text\"", "[]", "64"],
        ];
        assert_eq!(said, expected[n], "{settings}");
    }
    let told = json(&bench.path("lines0/export.json"));
    let of = |config: &str| {
        told["configs"].as_array().unwrap().iter().find(|c| c["config"] == config).unwrap_or_else(|| panic!("{config}"))
    };
    let chain = of("zh_4k_chain_of_thought");
    assert_eq!((&chain["answer_format"], &chain["max_tokens"]), (&"json_reasoning".into(), &512.into()));
    assert_eq!(
        (&of("hi_0k_few_shot")["stop"][0], &of("ar_0k_few_shot")["max_tokens"]),
        (&"<example>".into(), &96.into())
    );
    let told = json(&bench.path("lines1/export.json"));
    let existence = told["configs"].as_array().unwrap().iter().filter(|c| c["prompt_kind"] == "existence");
    let existence: Vec<&Value> = existence.collect();
    assert!(!existence.is_empty());
    assert!(existence.iter().all(|c| c["metrics"][0] == "existence" && c["answer_format"] == "yes_no"));
}

#[test]
fn a_limit_is_balanced_and_nested_and_that_of_a_build() {
    let bench = Bench::new();
    let release = stories(&bench, "full");
    let of = |n: &str| ids(&export(&bench, &release, "jsonl", &format!("first{n}"), &["--limit", n]));
    let (seven, fourteen) = (of("7"), of("14"));
    assert!(seven.len() == 7 * 48 && fourteen.len() == 14 * 48 && seven.is_subset(&fourteen));
    // Seven of twenty: of each task its share within one.
    let rows = lines(&bench.path("first7"));
    let mut tasks: BTreeMap<&str, i64> = BTreeMap::new();
    rows["zh_4k_zero_shot"].iter().for_each(|row| *tasks.entry(row["task"].as_str().unwrap()).or_default() += 1);
    let shares = [("basic_factoid", 4), ("yes_no", 4), ("fact_chaining", 4), ("counting", 2), ("indefinite", 2)];
    for (task, n) in shares {
        assert!((20 * tasks.get(task).copied().unwrap_or(0) - 7 * n).abs() < 20, "{tasks:?}");
    }
    // The same rows as a build of that part has.
    let flags = ["--limit", "7", "--languages", "hi,zh", "--lengths", "0k"];
    let part = bench.run(&[&["recipe", "stories.toml"], &flags[..]].concat()).success().release(&bench);
    let narrowed = export(&bench, &release, "lm-eval", "narrowed", &flags);
    let files = data_files(&part);
    assert_eq!(files.len(), 8);
    for file in files {
        let digests = |path: &Path| nihbuild::digests::FileDigests::read(path).unwrap().rows_digest();
        assert_eq!(digests(&narrowed.join(&file)), digests(&part.join(&file)), "{file}");
    }
    // Of a part, less of it.
    assert_eq!(ids(&export(&bench, &part, "jsonl", "less", &["--limit", "3"])).len(), 3 * 8);
    let bench = Bench::new();
    let release = passages(&bench, "full");
    let of = |n: &str| ids(&export(&bench, &release, "jsonl", &format!("first{n}"), &["--limit", n]));
    let (two, four) = (of("2"), of("4"));
    assert!(two.len() * 2 == four.len() && two.is_subset(&four));
    let part = mlneedle::build(&bench, &std::fs::read_to_string(bench.path("made.toml")).unwrap(), &["--limit", "2"]);
    assert_eq!(ids(&export(&bench, &part.success().release(&bench), "jsonl", "built", &[])), two);
    let bench = Bench::new();
    let release = factoids(&bench, "full");
    let of = |n: &str| ids(&export(&bench, &release, "jsonl", &format!("first{n}"), &["--limit", n]));
    let (four, eleven) = (of("4"), of("11"));
    assert!(four.len() == 4 * 9 && eleven.len() == 11 * 9 && four.is_subset(&eleven));
    let part = bench.run(&["recipe", "recall.toml", "--limit", "4"]).success().release(&bench);
    assert_eq!(ids(&export(&bench, &part, "jsonl", "built", &[])), four);
    let one = ids(&export(&bench, &release, "jsonl", "one", &["--lengths", "1000", "--configs", "zh_san_francisco"]));
    assert_eq!(one, (0..9).map(|depth| format!("san_francisco-zh-l01d{depth:02}")).collect());
}

#[test]
fn releases_of_every_format_are_exported() {
    let bench = Bench::new();
    let releases = nihbuild::store::sorted_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases")).unwrap();
    let mut formats = BTreeSet::new();
    for release in releases {
        let name = release.file_name().unwrap().to_str().unwrap();
        let manifest = nihbuild::verify::read_manifest(&release).unwrap();
        formats.insert(manifest.format);
        let folder = export(&bench, &release, "jsonl", &format!("jsonl-{name}"), &[]);
        assert_eq!(lines(&folder).values().map(Vec::len).sum::<usize>() as u64, manifest.rows);
        for to in &TARGETS[..4] {
            export(&bench, &release, to, &format!("{to}-{name}"), &[]);
        }
        let told = json(&bench.path(&format!("lm-eval-{name}")).join("export.json"));
        let columns: Vec<&str> = told["columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
        assert_eq!(columns.contains(&"retriever"), manifest.format > 2, "{name}");
    }
    assert!(formats.len() > 2, "{formats:?}");
}

#[test]
fn what_cannot_be_exported_is_refused_and_nothing_is_lost() {
    let bench = Bench::new();
    bench.write("r.toml", &small("small", QUICK));
    let release = bench.run(&["recipe", "r.toml", "--languages", "en,zh", "--limit", "8"]).success().release(&bench);
    let release = release.to_str().unwrap();
    let run = |to: &str, out: &str, flags: &[&str]| {
        bench.run(&[&["export", release, "--to", to, "--out", out], flags].concat())
    };
    let refused: [(&str, &[&str], &[&str]); 12] = [
        ("jsonl", &["--configs", "xx_8k"], &["no config \"xx_8k\"", "it has en_0k, zh_0k, en_2k, zh_2k"]),
        ("jsonl", &["--languages", "de,qq"], &["the release has no \"qq\"", "it has en, de"]),
        ("jsonl", &["--languages", "de"], &["nothing is left", "en_0k, zh_0k"]),
        ("jsonl", &["--lengths", "64k"], &["the release has no 64k"]),
        ("jsonl", &["--lengths", "long"], &["`long` is not a length"]),
        ("jsonl", &["--limit", "0"], &["--limit 0 leaves no instance"]),
        ("jsonl", &["--decoding", "paper"], &["only MLNeedle's gives decoding settings"]),
        ("jsonl", &["--link"], &["no Parquet files to link"]),
        ("lm-eval", &["--link", "--limit", "2"], &["is cut to some rows", "leave --link out"]),
        ("jsonl", &["--max-tokens", "0"], &["a model must be allowed to answer"]),
        ("jsonl", &["--stop", ""], &["an empty text stops a model"]),
        ("nobody", &[], &["invalid value 'nobody'", "lm-eval, inspect, lighteval, openai-evals, jsonl"]),
    ];
    for (to, flags, said) in refused {
        run(to, "out", flags).failure(2, said);
        assert!(!bench.path("out").exists() && !bench.path("out.partial").exists(), "{flags:?}");
    }
    bench.run(&["export", "nowhere", "--to", "jsonl", "--out", "out"]).failure(2, &["cannot read", "manifest.json"]);
    let inside = format!("{release}/out");
    run("jsonl", &inside, &[]).failure(2, &["lie inside each other"]);
    run("jsonl", "build/small", &[]).failure(2, &["lie inside each other"]);

    // Folders of others stay as they are.
    bench.write("notes/mine.txt", "mine");
    run("jsonl", "notes", &[]).failure(2, &["it is no export", "say with --out"]);
    run("jsonl", "r.toml", &[]).failure(2, &["it is no folder"]);
    assert_eq!(std::fs::read_to_string(bench.path("notes/mine.txt")).unwrap(), "mine");
    bench.write("left.partial/mine.txt", "mine");
    run("jsonl", "left", &[]).failure(2, &["left.partial is there", "half written"]);
    assert_eq!(std::fs::read_to_string(bench.path("left.partial/mine.txt")).unwrap(), "mine");

    // An export is replaced by another, unless somebody put something into it.
    let first = run("jsonl", "out", &[]).success();
    assert!(first.out.contains("32 rows in 4 configs for jsonl"), "{}", first.out);
    let before = bytes_of(&bench.path("out"));
    assert!(run("jsonl", "out", &[]).success().out.contains("was there before"));
    assert!(bytes_of(&bench.path("out")) == before);
    bench.write("out/__pycache__/x.pyc", "x");
    run("inspect", "out", &["--limit", "3"]).success();
    assert!(bench.path("out/tasks.py").exists() && !bench.path("out.old").exists());
    bench.write("out/results.json", "{}");
    run("jsonl", "out", &[]).failure(2, &["it holds results.json, which no export wrote"]);
    assert!(bench.path("out/tasks.py").exists() && !bench.path("out.partial").exists());

    // A damaged file is no data of an export.
    let file = Path::new(release).join("data/zh_2k/test-00000-of-00001.parquet");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[1000] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    for flags in [&[][..], &["--link"]] {
        run("lm-eval", "damaged", flags).failure(2, &["is not the file that the manifest names", "run verify"]);
    }
    assert!(!bench.path("damaged").exists() && !bench.path("damaged.partial").exists());
    run("jsonl", "damaged", &[]).failure(2, &["data/zh_2k"]);

    // The order of a release with a held-out seed is not known.
    bench.write("seed.txt", "held out and long enough");
    let more = "[slots]\nwindow = 1600\nn_lengths = 2\nn_depths = 3\nfirst = 400\n";
    bench.write("held.toml", &recall("held", more).replace("seed = 9", "seed = { file = \"seed.txt\" }"));
    let held = bench.run(&["recipe", "held.toml"]).success().release(&bench);
    let flags = ["export", held.to_str().unwrap(), "--to", "jsonl", "--out", "held", "--limit", "2"];
    bench.run(&flags).failure(2, &["is held out", "leave --limit out"]);
    bench.run(&flags[..6]).success();
}

#[test]
fn links_lead_to_the_release() {
    let bench = Bench::new();
    bench.write("r.toml", &small("small", QUICK));
    let release = bench.run(&["recipe", "r.toml", "--languages", "en", "--limit", "8"]).success().release(&bench);
    let folder = export(&bench, &release, "lm-eval", "linked", &["--link"]);
    let copied = export(&bench, &release, "lm-eval", "copied", &[]);
    let file = "data/en_2k/test-00000-of-00001.parquet";
    assert_eq!(std::fs::read_link(folder.join(file)).unwrap(), std::fs::canonicalize(release.join(file)).unwrap());
    assert!(!copied.join(file).is_symlink());
    let sums = |folder: &Path| std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    let of = |folder: &Path| sums(folder).lines().find(|line| line.ends_with(file)).unwrap().to_owned();
    assert_eq!(of(&folder), of(&copied));
    // Copies take the place of links.
    let again = export(&bench, &release, "lm-eval", "linked", &[]);
    assert!(!again.join(file).is_symlink());
}

/// The program of an evaluator's virtual environment, or a word on stderr that its runs are skipped.
fn python(evaluator: &str) -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods, reason = "tests may look where evaluators are")]
    let folder = std::env::var_os("NIHBUILD_EVALUATORS").map(PathBuf::from);
    let python = folder.map(|folder| folder.join(evaluator).join("bin/python")).filter(|python| python.exists());
    if python.is_none() {
        eprintln!(
            "skipped: runs of the real {evaluator} (.ci/evaluators DIR installs it, NIHBUILD_EVALUATORS=DIR names it)"
        );
    }
    python
}

/// Exports a release for an evaluator, moves the folder, and has the evaluator run every config of it.
#[track_caller]
fn runs(bench: &Bench, python: &Path, release: &Path, to: &str, flags: &[&str]) {
    let reference = export(bench, release, "jsonl", "reference", flags);
    let made = export(bench, release, to, "made", flags);
    let moved = bench.path("elsewhere/moved");
    std::fs::create_dir_all(moved.parent().unwrap()).unwrap();
    let _ = std::fs::remove_dir_all(&moved);
    std::fs::rename(made, &moved).unwrap();
    let script = format!("tests/export/{}_runs.py", to.replace('-', "_"));
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script)).args([&moved, &reference]);
    // Nothing may come from a network, and nothing of an earlier run.
    for (name, value) in [("HF_HUB_OFFLINE", "1"), ("HF_DATASETS_OFFLINE", "1"), ("TRANSFORMERS_OFFLINE", "1")] {
        command.env(name, value);
    }
    command
        .env("HF_HOME", bench.path("hf"))
        .env("XDG_DATA_HOME", bench.path("xdg"))
        .env("XDG_CACHE_HOME", bench.path("xdg"));
    command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(bench.dir.path());
    let ran = Outcome::of(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{to}: {}\n{}", ran.out, ran.err);
    let said: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    let configs = lines(&reference);
    assert_eq!(said["configs"], configs.len());
    assert_eq!(said["rows"], configs.values().map(Vec::len).sum::<usize>());
    eprintln!("{to}: {said}");
    // Running it changed nothing in it.
    let sums = std::fs::read_to_string(moved.join("SHA256SUMS")).unwrap();
    for line in sums.lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        assert_eq!(nihbuild::hash::Digest::of_file(&moved.join(name)).unwrap().0.to_string(), digest, "{name}");
    }
}

/// Every config of a release of each family; of MLNeedle also with the paper's decoding.
#[track_caller]
fn every_family(to: &str, evaluator: &str, stories_flags: &[&str]) {
    let Some(python) = python(evaluator) else { return };
    let bench = Bench::new();
    runs(&bench, &python, &stories(&bench, "compact"), to, stories_flags);
    let bench = Bench::new();
    runs(&bench, &python, &passages(&bench, "full"), to, &["--decoding", "paper"]);
    let bench = Bench::new();
    runs(&bench, &python, &factoids(&bench, "compact"), to, &[]);
}

#[test]
fn lm_eval_runs_every_config() {
    every_family("lm-eval", "lm-eval", &[]);
}

#[test]
fn inspect_runs_every_config() {
    every_family("inspect", "inspect", &[]);
}

#[test]
fn lighteval_runs_every_family() {
    every_family("lighteval", "lighteval", &["--limit", "5"]);
}

#[test]
fn openai_evals_runs_every_family() {
    every_family("openai-evals", "openai-evals", &["--limit", "5"]);
}
