//! Small releases, and what a page holds.

use crate::recall::recall;
use crate::support::{Bench, QUICK, small};
use std::path::{Path, PathBuf};

/// Languages of small releases: one is written from right to left.
const GRID: &str =
    "[grid]\nlanguages = [\"en\", \"ar\", \"zh\"]\nlengths = [\"0k\", \"2k\", \"4k\"]\n\n[distractors]\npool = 600\n";

/// Stories in three languages.
pub fn stories(bench: &Bench) -> PathBuf {
    bench.write("s.toml", &small("stories", GRID));
    bench.run(&["recipe", "s.toml"]).success().release(bench)
}

/// Stories in all languages of the papers, short.
pub fn in_all_languages(bench: &Bench) -> PathBuf {
    bench.write("a.toml", &small("all", QUICK));
    bench.run(&["recipe", "a.toml", "--limit", "7"]).success().release(bench)
}

/// Questions and passages of three languages.
pub fn passages(bench: &Bench) -> PathBuf {
    crate::mlneedle::world(bench);
    let recipe = crate::mlneedle::recipe(&crate::mlneedle::GRID.replace("4k", "6k"));
    crate::mlneedle::build(bench, &recipe, &[]).success().release(bench)
}

/// Needles in running text.
pub fn needles(bench: &Bench) -> PathBuf {
    bench.write(
        "r.toml",
        &recall(
            "needles",
            "[grid]\nlanguages = [\"en\", \"ar\"]\n[slots]\nwindow = 1600\nn_lengths = 3\nn_depths = 9\nfirst = 400\n",
        ),
    );
    bench.run(&["recipe", "r.toml"]).success().release(bench)
}

/// The page of a release.
pub fn page(bench: &Bench, release: &Path, flags: &[&str]) -> String {
    let args = [&["report", release.to_str().unwrap(), "--out", "page.html"], flags].concat();
    bench.run(&args).success();
    std::fs::read_to_string(bench.path("page.html")).unwrap()
}

/// What stands between `start` and `end`, each time.
pub fn between<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    text.split(start).skip(1).map(|rest| rest.split(end).next().unwrap()).collect()
}

/// The text of HTML that the page writes.
pub fn plain(html: &str) -> String {
    let mut out = String::new();
    let mut tag = false;
    for c in html.chars() {
        match c {
            '<' => tag = true,
            '>' if tag => tag = false,
            c if !tag => out.push(c),
            _ => {}
        }
    }
    for (name, c) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")] {
        out = out.replace(name, c);
    }
    out
}

/// The cells of a table's row, by the words that head it. The table is found by its caption.
#[track_caller]
pub fn cells(page: &str, caption: &str, row: &str) -> Vec<String> {
    let table =
        page.split(&format!("<caption>{caption}</caption>")).nth(1).unwrap_or_else(|| panic!("no table {caption:?}"));
    let table = table.split("</table>").next().unwrap();
    let found = between(table, "<tr>", "</tr>")
        .into_iter()
        .find(|tr| between(tr, "<th scope=\"row\" dir=\"auto\">", "</th>").first().is_some_and(|head| *head == row));
    let found = found.unwrap_or_else(|| panic!("no row {row:?} in {table}"));
    between(found, "<td dir=\"auto\">", "</td>").into_iter().map(plain).collect()
}
