//! What the verb prints and writes, and its exit codes.

use super::rows::{good, lines};
use crate::support::Bench;
use serde_json::{Value, json};

/// Rows with faults, in texts that mean something to a browser.
fn faulty() -> Vec<Value> {
    let mut rows = good();
    rows.iter_mut().for_each(|row| drop(row.as_object_mut().unwrap().remove("length")));
    for n in [3, 9, 12] {
        rows[n]["outputs"] = json!(["<script>alert('\u{645}\u{631}\u{62d}\u{628}\u{627} & \u{202e}\"x\"')</script>"]);
    }
    rows[20]["_id"] = json!("r4");
    rows
}

#[test]
fn text_and_exit_codes() {
    let bench = Bench::new();
    bench.write("good.jsonl", &lines(&faulty()[..3]));
    let out = bench.run(&["audit", "good.jsonl"]).success().out;
    assert!(out.starts_with("good.jsonl: 1 files, 3 rows, nothing found (profile generic)\n"), "{out}");
    bench.write("set.jsonl", &lines(&faulty()));
    let run = bench.run(&["audit", "set.jsonl", "--limit", "2"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    for line in [
        "set.jsonl: 1 files, 30 rows, 4 findings (profile generic)\n",
        "\nanswer not in the context                     3/30\n",
        "\nanswer not in the context (answer_absent): 3 findings\n  set.jsonl, row 4 (id r3): \u{201c}<script>",
        "\n  ... and 2 more\n",
        "\nid stands twice (duplicate_id): 1 finding\n  set.jsonl, row 21 (id r4): row 5 has the same id\n",
    ] {
        assert!(run.out.contains(line), "{line:?} in {}", run.out);
    }
    assert_eq!(run.out, bench.run(&["audit", "set.jsonl", "--limit", "2", "--jobs", "1"]).out);
}

#[test]
fn all_findings_as_json_lines_and_table() {
    let bench = Bench::new();
    bench.write("set.jsonl", &lines(&faulty()));
    let run = bench.run(&["audit", "set.jsonl", "--json", "--findings", "all.jsonl"]);
    assert_eq!(run.code, Some(1));
    let json: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&json["rows"], &json["summary"]["answer_absent"]["set.jsonl"]["found"]), (&json!(30), &json!(3)));
    let written = std::fs::read_to_string(bench.path("all.jsonl")).unwrap();
    let written: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json["findings"], json!(written));
    assert_eq!((written.len(), &written[3]["check"], &written[3]["id"]), (4, &json!("duplicate_id"), &json!("r4")));

    bench.run(&["audit", "set.jsonl", "--findings", "all.csv"]);
    let mut table = csv::Reader::from_path(bench.path("all.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[0].iter().take(4).collect::<Vec<_>>(), ["set.jsonl", "4", "r3", "answer_absent"]);
    assert_eq!(rows[0].get(5), written[0]["what"].as_str());
    // No cell is a formula.
    bench.write("cells.csv", "id,input\n=1+1,a text\n=1+1,b text\n");
    bench.run(&["audit", "cells.csv", "--findings", "all.csv"]);
    let table = std::fs::read_to_string(bench.path("all.csv")).unwrap();
    assert!(table.contains("'=1+1") && !table.contains(",=1+1"), "{table}");
}

#[test]
fn the_page_loads_nothing_and_escapes_all() {
    let bench = Bench::new();
    bench.write("set.jsonl", &lines(&faulty()));
    bench.run(&["audit", "set.jsonl", "--html", "page.html"]);
    let page = std::fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(
        page.contains("&lt;script&gt;alert(&#39;\u{645}\u{631}\u{62d}\u{628}\u{627} &amp; [U+202E]&quot;x&quot;"),
        "{page}"
    );
    for part in
        ["prefers-color-scheme:dark", "name=\"viewport\"", "<td dir=\"auto\">", "<span class=\"bad\">3</span>/30"]
    {
        assert!(page.contains(part), "{part}");
    }
    for part in ["<script", "http:", "https:", "src=", "@import", "url(", "<link", "\u{202e}"] {
        assert!(!page.contains(part), "{part}");
    }
    for tag in
        ["table", "tr", "td", "th", "thead", "tbody", "details", "summary", "div", "p", "bdi", "span", "ul", "li"]
    {
        let count = |what: String| page.matches(&what).count();
        let opened = count(format!("<{tag}>")) + count(format!("<{tag} "));
        assert_eq!(opened, count(format!("</{tag}>")), "{tag}");
    }
}

#[test]
fn the_page_counts_what_it_does_not_show() {
    let bench = Bench::new();
    let row = |n: usize| json!({ "id": n, "prompt": format!("{n}\u{ff1f}?") });
    bench.write("set.jsonl", &lines(&(0..301).map(row).collect::<Vec<_>>()));
    bench.run(&["audit", "set.jsonl", "--html", "page.html"]);
    let page = std::fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(page.contains("The first 200 of 301; 101 more are not shown."));
    assert_eq!(page.matches("<tr><td class=\"soft\">").count(), 200);
}
