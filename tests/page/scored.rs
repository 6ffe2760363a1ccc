//! Pages with scores: means, error bars, matrices, heatmaps, and ids that do not fit.

use super::support::*;
use crate::support::*;
use nihbuild::table::text;
use std::path::Path;

/// Every row of a release as a line of scores, or none.
pub fn lines(release: &Path, of: &mut dyn FnMut(&arrow_array::RecordBatch, usize) -> Option<String>) -> String {
    let mut out = String::new();
    for file in data_files(release) {
        for (batch, row) in rows(&release.join(file)) {
            if let Some(score) = of(&batch, row) {
                out += &format!("{{\"id\": {:?}, {score}}}\n", text(&batch, "id", row));
            }
        }
    }
    out
}

#[test]
fn accuracy_is_counted_by_length_language_and_task() {
    let bench = Bench::new();
    let release = stories(&bench);
    // Arabic at 4k: every fourth row is right, 5 of 20; all else is right, but for counting, which is wrong.
    let mut n = 0;
    let scores = lines(&release, &mut |batch, row| {
        let (language, length) = (text(batch, "language", row), text(batch, "length", row));
        let exact = match (language, length, text(batch, "task", row)) {
            ("ar", "4k", _) => {
                n += 1;
                n % 4 == 0
            }
            (_, _, "counting") => false,
            _ => true,
        };
        Some(format!("\"exact\": {exact}, \"any\": true"))
    });
    bench.write("a.jsonl", &scores);
    let html = page(&bench, &release, &["--scores", "Model A=a.jsonl"]);
    let table = "Model A: exact accuracy by length and language";
    // sqrt(0.25 * 0.75 / 20) = 9.68 points; sqrt(0.9 * 0.1 / 20) = 6.7 points.
    assert_eq!(cells(&html, table, "Arabic (ar)"), ["90.0% \u{b1} 6.7%", "90.0% \u{b1} 6.7%", "25.0% \u{b1} 9.7%"]);
    assert_eq!(cells(&html, table, "English (en)")[2], "90.0% \u{b1} 6.7%");
    let means = cells(&html, "Means over all prompts that were scored", "Model A");
    // 5 + 8 * 18 of 180.
    assert_eq!(means, ["180 of 180", "82.8% \u{b1} 2.8%", "100.0% \u{b1} 0.0%"]);
    let heat = html.split("Model A: exact accuracy by task and length</figcaption>").nth(1).unwrap();
    assert!(heat.contains("<title>Counting, 2k: 0.0%, 6 rows</title>"));
    assert!(html.contains("Model A: exact accuracy by place of the needle"));
    assert!(html.contains("Model A: exact accuracy by length and place of the needle"));
    // Two models stand in one plot.
    bench.write("b.jsonl", &scores.replace("true", "false"));
    let html = page(&bench, &release, &["--scores", "Model A=a.jsonl", "--scores", "b.jsonl"]);
    let both = html.split("<figcaption>Exact accuracy by length, all languages</figcaption>").nth(1).unwrap();
    let both = both.split("</svg>").next().unwrap();
    assert!(both.contains("<title>Model A, 4k: 68.3%") && both.contains("<title>b, 4k: 0.0%"), "{both}");
}

#[test]
fn needle_and_haystack_make_a_matrix() {
    let bench = Bench::new();
    let release = passages(&bench);
    let scores = lines(&release, &mut |batch, row| match text(batch, "prompt_kind", row) {
        "existence" => Some("\"existence\": true".to_owned()),
        _ => Some(format!(
            "\"exact\": {}",
            text(batch, "language", row) == text(batch, "haystack_language", row)
                && text(batch, "position", row) != "middle"
        )),
    });
    bench.write("a.jsonl", &scores);
    let html = page(&bench, &release, &["--scores", "a.jsonl"]);
    let matrix = html.split("a: exact accuracy by language of needle and haystack</figcaption>").nth(1).unwrap();
    let matrix = matrix.split("</svg>").next().unwrap();
    for (cell, value) in [("de, de", "66.7%"), ("de, zh", "0.0%"), ("zh, zh", "66.7%")] {
        assert!(matrix.contains(&format!("<title>{cell}: {value}, ")), "{cell}: {matrix}");
    }
    let places = html.split("a: exact accuracy by place of the needle</figcaption>").nth(1).unwrap();
    let places = places.split("</svg>").next().unwrap();
    for (place, right) in [("start", true), ("middle", false), ("end", true)] {
        let said = between(places, &format!("<title>a, {place}: "), "%");
        assert_eq!(said[0] != "0.0", right, "{place}: {said:?}");
    }
}

#[test]
fn marks_make_the_recall_papers_heatmap() {
    let bench = Bench::new();
    let release = needles(&bench);
    let scores = lines(&release, &mut |batch, row| {
        let mark = if text(batch, "position", row).starts_with("50.") { 1 } else { 4 };
        Some(format!("\"mark\": {mark}"))
    });
    bench.write("judged.jsonl", &scores);
    let html = page(&bench, &release, &["--scores", "judged.jsonl"]);
    assert_eq!(cells(&html, "Means over all prompts that were scored", "judged")[0], "162 of 162");
    for needle in ["pistachio_ai", "san_francisco", "thornfield_hollow"] {
        let title = format!("judged: recall by judge marks of {needle} by length and depth</figcaption>");
        let heat = html.split(&title).nth(1).unwrap_or_else(|| panic!("{title}")).split("</svg>").next().unwrap();
        assert_eq!(between(heat, "<title>50.000%, ", ",").iter().filter(|said| said.ends_with("20.0%")).count(), 3);
        // Nine depths, three lengths; two languages in each.
        assert_eq!(heat.matches(", 2 rows</title>").count(), 27);
    }
}

#[test]
fn ids_that_do_not_fit_are_said() {
    let bench = Bench::new();
    let release = stories(&bench);
    let mut n = 0;
    let mut scores = lines(&release, &mut |_, _| {
        n += 1;
        (n > 3).then(|| "\"exact\": true".to_owned())
    });
    let again = scores.lines().next().unwrap().replace("true", "false");
    scores += &format!("{again}\n\n{{\"id\": \"nobody-1\", \"exact\": true}}\n");
    bench.write("a.jsonl", &scores);
    let args = ["report", release.to_str().unwrap(), "--scores", "a.jsonl"];
    let said = bench
        .run(&args)
        .failure(1, &["3 rows without a score", "1 ids more than once", "1 ids not in the release, such as nobody-1"]);
    assert!(said.out.contains("177 rows scored, exact 100.0%"), "the first of a double counts: {}", said.out);
    let html = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(html.contains("a: 3 prompts of the release have no score ("));
    assert!(html.contains("1 ids are not in this release (nobody-1)"));
    assert_eq!(cells(&html, "Means over all prompts that were scored", "a")[0], "177 of 180");
}

#[test]
fn broken_scores_are_refused_and_nothing_is_written() {
    let bench = Bench::new();
    let release = stories(&bench);
    let release = release.to_str().unwrap();
    for (line, said) in [
        ("{\"id\": \"x\", \"mark\": 6}", "not 1 to 5"),
        ("{\"id\": \"x\", \"mark\": 0}", "not 1 to 5"),
        ("{\"id\": \"x\"}", "has no score"),
        ("{\"id\": \"x\", \"exact\": 2}", "line 1"),
        ("[1]", "line 1"),
        ("", "holds no scores"),
        ("{\"id\": \"x\", \"exact\": true}", "none of the ids"),
    ] {
        bench.write("bad.jsonl", &format!("{line}\n"));
        bench.run(&["report", release, "--scores", "bad.jsonl"]).failure(2, &[said]);
    }
    bench
        .run(&["report", release, "--scores", "nothing.jsonl"])
        .failure(2, &["cannot open", "score RELEASE PREDICTIONS"]);
    bench.run(&["report", release, "--scores", "=bad.jsonl"]).failure(2, &["no name"]);
    let twice = ["report", release, "--scores", "a=bad.jsonl", "--scores", "a=bad.jsonl"];
    bench.run(&twice).failure(2, &["two files of scores are named \"a\""]);
    bench.run(&["report", release, "--format", "png"]).failure(2, &["--plots"]);
    bench.run(&["report", "nowhere"]).failure(2, &["manifest.json"]);
    assert!(!bench.path("report.html").exists());
}
