//! The command over releases of every format and layout.

use crate::support::{Bench, QUICK, data_files, rows, small};
use nihbuild::table::text;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn released(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases").join(name)
}

/// Lines of JSON that answer every row by what `of` makes of its columns.
fn predict(release: &Path, of: &dyn Fn(usize, &nihbuild::score::Gold) -> Value) -> String {
    let mut lines = String::new();
    let mut n = 0;
    for file in data_files(release) {
        for (batch, row) in rows(&release.join(file)) {
            let mut line = of(n, &nihbuild::score::gold(&batch, row));
            n += 1;
            if line.is_object() {
                line["id"] = json!(text(&batch, "id", row));
                lines += &format!("{line}\n");
            }
        }
    }
    lines
}

fn gold(gold: &nihbuild::score::Gold) -> String {
    match gold.prompt_kind.as_str() {
        "existence" => gold.expected.clone(),
        _ => gold.answers[0].clone(),
    }
}

fn scored(bench: &Bench, release: &Path, more: &[&str]) -> (Value, Option<i32>) {
    let run = bench.run(&[&["score", release.to_str().unwrap(), "p.jsonl", "--json"], more].concat());
    let json = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}{}", run.out, run.err));
    (json, run.code)
}

#[test]
fn golds_are_right_in_every_old_release() {
    for name in ["first-1.0.0", "needle-1.0.0", "ledger-1.0.0", "strategies-1.0.0", "hidden-1.0.0"] {
        let bench = Bench::new();
        let release = released(name);
        bench.write(
            "p.jsonl",
            &predict(&release, &|_, row| json!({"output": format!("{{\"answer\": {}}}", json!(gold(row)))})),
        );
        let (report, code) = scored(&bench, &release, &["--rows", "rows.jsonl"]);
        let all = &report["score"]["all"];
        assert_eq!(code, Some(0), "{name}: {}", report["faults"]);
        for metric in ["exact", "any", "existence"] {
            assert_eq!(all[metric]["right"], all[metric]["of"], "{name} {metric}");
        }
        let asked = all["exact"]["of"].as_u64().unwrap() + all["existence"]["of"].as_u64().unwrap();
        assert_eq!(asked, all["rows"].as_u64().unwrap(), "{name}: each row is asked one thing");
        // The rows' results, in the release's order.
        let lines = std::fs::read_to_string(bench.path("rows.jsonl")).unwrap();
        let ids: Vec<String> = lines
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap()["id"].as_str().unwrap().to_owned())
            .collect();
        let order = data_files(&release).into_iter().flat_map(|file| rows(&release.join(file)));
        assert_eq!(ids, order.map(|(batch, row)| text(&batch, "id", row).to_owned()).collect::<Vec<_>>(), "{name}");
        for line in lines.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            assert!(
                row["existence"] == json!(true) || row["exact"] == json!(true) && row["any"] == json!(true),
                "{line}"
            );
        }
    }
}

#[test]
fn both_classes_of_existence() {
    let bench = Bench::new();
    let release = released("needle-1.0.0");
    bench.write("p.jsonl", &predict(&release, &|_, _| json!({"output": "Yes"})));
    let (report, _) = scored(&bench, &release, &["--by", "needle_language,haystack_language"]);
    let all = &report["score"]["all"];
    assert!(all["existence_yes"]["of"].as_u64().unwrap() > 0 && all["existence_no"]["of"].as_u64().unwrap() > 0);
    assert_eq!(all["existence_yes"]["right"], all["existence_yes"]["of"]);
    assert_eq!(all["existence_no"]["right"], 0);
    assert_eq!(all["exact"]["right"], 0);
    assert!(report["score"]["groups"].as_array().unwrap().len() > 3);
}

#[test]
fn marks_of_a_judge() {
    let bench = Bench::new();
    let release = released("hidden-1.0.0");
    let marks = predict(&release, &|n, _| json!({"mark": 1 + n % 5}));
    let n = marks.lines().count() as u64;
    bench.write("p.jsonl", &marks);
    let sum: u64 = (0..n).map(|n| 1 + n % 5).sum();
    let (report, code) = scored(&bench, &release, &[]);
    assert_eq!(code, Some(0));
    assert_eq!(report["score"]["all"]["recall"], json!({"right": sum, "of": 5 * n}));
    assert_eq!(report["score"]["by"], json!(["source_task", "language", "length"]));
    assert_eq!(report["score"]["all"]["exact"]["of"], 0, "without outputs nothing is wrong");
    // Outputs in a file of their own are joined to the marks.
    bench.write("o.jsonl", &predict(&release, &|_, row| json!({"output": gold(row)})));
    let (report, code) = scored(&bench, &release, &["o.jsonl", "--rows", "rows.jsonl"]);
    assert_eq!(code, Some(0));
    assert_eq!(report["score"]["all"]["exact"], json!({"right": n, "of": n}));
    let first = std::fs::read_to_string(bench.path("rows.jsonl")).unwrap();
    assert!(first.lines().next().unwrap().ends_with("\"exact\":true,\"any\":true,\"mark\":1}"), "{first}");
}

#[test]
fn recall_at_k_and_groups_by_retriever() {
    let bench = Bench::new();
    let release = released("strategies-1.0.0");
    bench.write("p.jsonl", &predict(&release, &|_, row| json!({"output": gold(row)})));
    let (report, _) = scored(&bench, &release, &[]);
    let by: Vec<&str> = report["score"]["by"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    assert_eq!(by, ["language", "length", "strategy", "retriever", "top_k"]);
    let (mut facts, mut supporting, mut answerable, mut n) = (0, 0, 0, 0);
    for file in data_files(&release) {
        for (batch, row) in rows(&release.join(file)) {
            if !text(&batch, "retriever", row).is_empty() {
                n += 1;
                facts += nihbuild::table::int(&batch, "recall", row);
                supporting += nihbuild::table::int(&batch, "recall_supporting", row);
                let column = arrow_array::cast::AsArray::as_boolean(nihbuild::table::column(&batch, "answerable"));
                answerable += i64::from(column.value(row));
            }
        }
    }
    assert!(n > 0 && facts > 0);
    let all = &report["score"]["all"];
    assert_eq!(all["recall_at_k"], json!({"right": facts, "of": n * 1_000_000}));
    assert_eq!(all["recall_at_k_supporting"], json!({"right": supporting, "of": n * 1_000_000}));
    assert_eq!(all["answerable"], json!({"right": answerable, "of": n}));
}

#[test]
fn missing_duplicate_and_unknown_ids() {
    let bench = Bench::new();
    let release = released("ledger-1.0.0");
    let whole = predict(&release, &|n, row| if n < 2 { Value::Null } else { json!({"output": gold(row)}) });
    let again = whole.lines().nth(3).unwrap();
    bench.write("p.jsonl", &format!("{whole}\n{again}\n{{\"id\": \"qa1-99999\", \"output\": \"x\", \"model\": 3}}\n"));
    let lines = whole.lines().count();
    let path = release.to_str().unwrap();
    let run = bench.run(&["score", path, "p.jsonl"]);
    run.failure(
        1,
        &[
            "2 rows without a prediction",
            "given again",
            &format!("p.jsonl:{}", lines + 2),
            "qa1-99999",
            &format!("p.jsonl:{}", lines + 3),
        ],
    );
    let (report, code) = scored(&bench, &release, &["--allow-missing", "--allow-unknown", "--allow-duplicates"]);
    assert_eq!(code, Some(0));
    let all = &report["score"]["all"];
    assert_eq!((&all["missing"], &all["exact"]["right"]), (&json!(2), &all["exact"]["of"]));
    let (report, code) = scored(&bench, &release, &["--allow-unknown", "--allow-duplicates"]);
    assert_eq!(code, Some(1), "missing rows are a fault");
    let exact = &report["score"]["all"]["exact"];
    assert_eq!(exact["of"].as_u64().unwrap() - exact["right"].as_u64().unwrap(), 2, "and wrong");
    assert_eq!(report["faults"]["missing"].as_array().unwrap().len(), 2);
}

#[test]
fn lines_that_are_no_predictions() {
    let release = released("ledger-1.0.0");
    let path = release.to_str().unwrap();
    for (line, said) in [
        ("{\"id\": \"a\", \"output\": \"x\"", "this line is no prediction"),
        ("[1]", "this line is no prediction"),
        ("{\"id\": \"a\"}", "neither output nor mark"),
        ("{\"id\": \"\", \"output\": \"x\"}", "the id is empty"),
        ("{\"output\": \"x\"}", "missing field `id`"),
        ("{\"id\": \"a\", \"mark\": 6}", "mark 6, expected 1 to 5"),
        ("{\"id\": \"a\", \"mark\": 0}", "mark 0, expected 1 to 5"),
        ("{\"id\": \"a\", \"mark\": 2.5}", "this line is no prediction"),
        ("{\"id\": \"a\", \"output\": 3}", "this line is no prediction"),
    ] {
        let bench = Bench::new();
        bench.write("p.jsonl", &format!("\u{feff}{{\"id\": \"b\", \"output\": null}}\r\n\n{line}\n"));
        bench.run(&["score", path, "p.jsonl"]).failure(2, &[said, "p.jsonl:3", "help: a line is"]);
    }
    let bench = Bench::new();
    std::fs::write(bench.path("p.jsonl"), b"{\"id\": \"a\", \"output\": \"\xff\"}").unwrap();
    bench.run(&["score", path, "p.jsonl"]).failure(2, &["no UTF-8", "p.jsonl:1"]);
    bench.run(&["score", path, "absent.jsonl"]).failure(2, &["cannot read", "absent.jsonl"]);
    bench.run(&["score", path, "-", "-"]).failure(2, &["once only"]);
    bench.run(&["score", path, "p.jsonl", "--by", "colour"]).failure(2, &["no column \"colour\"", "source_task"]);
    bench.run(&["score", path, "p.jsonl", "--by", "prompt"]).failure(2, &["no column \"prompt\""]);
    bench
        .run(&["score", path, "p.jsonl", "--rule", "mine"])
        .failure(2, &["unknown rule `mine`", "sound, contains, released"]);
}

#[test]
fn against_another_run() {
    let bench = Bench::new();
    let release = released("ledger-1.0.0");
    bench.write("p.jsonl", &predict(&release, &|_, row| json!({"output": gold(row)})));
    bench.write(
        "q.jsonl",
        &predict(&release, &|n, row| json!({"output": if n % 4 == 0 { "???".to_owned() } else { gold(row) }})),
    );
    let (report, code) = scored(&bench, &release, &["--against", "q.jsonl"]);
    assert_eq!(code, Some(0));
    let all = &report["score"]["all"];
    let paired = &all["paired"][0];
    let rows = all["rows"].as_u64().unwrap();
    let worse = rows.div_ceil(4);
    assert_eq!((paired["metric"].as_str(), paired["rows"].as_u64()), (Some("exact"), Some(rows)));
    assert_eq!((paired["only_this"].as_u64(), paired["only_other"].as_u64()), (Some(worse), Some(0)));
    let near = |a: &Value, b: f64| assert!((a.as_f64().unwrap() - b).abs() < 1e-9, "{a} is not {b}");
    near(&paired["difference"], 100.0 * worse as f64 / rows as f64);
    near(&paired["p"], 2.0 * 0.5f64.powi(worse as i32));
    assert!(paired["low"].as_f64().unwrap() <= paired["difference"].as_f64().unwrap());
    assert!(paired["high"].as_f64().unwrap() >= paired["difference"].as_f64().unwrap());
    let (same, _) = scored(&bench, &release, &["--against", "q.jsonl", "--jobs", "1"]);
    assert_eq!(same, report, "on one thread as on many");
    let (turned, _) = scored(&bench, &release, &["--against", "p.jsonl"]);
    near(&turned["score"]["all"]["paired"][0]["difference"], 0.0);
    near(&turned["score"]["all"]["paired"][0]["p"], 1.0);
}

#[test]
fn table_csv_and_standard_input() {
    let bench = Bench::new();
    let release = released("ledger-1.0.0");
    let lines = predict(&release, &|n, row| json!({"output": if n % 2 == 0 { "?".to_owned() } else { gold(row) }}));
    bench.write("p.jsonl", &lines);
    let path = release.to_str().unwrap();
    let table = bench.run(&["score", path, "p.jsonl", "--by", "language,length,task"]).success().out;
    for word in ["rule sound", "language", "exact", "se", "any", "0k", "2k", "75% to", "70% to", "drop"] {
        assert!(table.contains(word), "{word} in {table}");
    }
    let csv = bench.run(&["score", path, "p.jsonl", "--csv"]).success().out;
    assert!(csv.starts_with("language,length,metric,right,of,value,standard_error\n,,exact,"), "{csv}");
    for line in ["en,0k,exact,", "zh,2k,any,", ",,samples_10,", ",,effective_length,", "en,,effective_window,"] {
        assert!(csv.contains(&format!("\n{line}")), "{line} in {csv}");
    }
    let mut child = bench
        .command(&["score", path, "-", "--csv"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap(), csv);
}

#[test]
fn compact_as_full() {
    let bench = Bench::new();
    bench.write("small.toml", &small("small", QUICK));
    let build = |layout: &str| {
        let run = bench.run(&["recipe", "small.toml", "--languages", "en,zh", "--out", "out", "--layout", layout]);
        run.success().release(&bench)
    };
    let (full, compact) = (build("full"), build("compact"));
    let lines = predict(&full, &|n, row| json!({"output": if n % 3 == 0 { "no".to_owned() } else { gold(row) }}));
    bench.write("p.jsonl", &lines);
    let (a, _) = scored(&bench, &full, &["--rows", "a.jsonl", "--by", "language,length,task,n_tokens"]);
    let (b, _) = scored(&bench, &compact, &["--rows", "b.jsonl", "--by", "language,length,task,n_tokens"]);
    assert_eq!(a, b);
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    assert_eq!(read("a.jsonl"), read("b.jsonl"));
    // The module and the words of the release, as files.
    bench.run(&["score", compact.to_str().unwrap(), "--python", "py"]).success();
    assert_eq!(String::from_utf8(read("py/nihbuild_score.py")).unwrap(), nihbuild::score::PYTHON);
    let words: Value = serde_json::from_slice(&read("py/words.json")).unwrap();
    assert!(words["languages"]["zh"]["kinds"]["place"].as_array().unwrap().len() > 8);
}
