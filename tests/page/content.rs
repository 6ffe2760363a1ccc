//! What a page says is what the rows say, whatever the family, format and layout.

use super::support::*;
use crate::support::*;
use nihbuild::hash::Digest;
use nihbuild::page::svg::COLOURS;
use nihbuild::page::{SCRIPT, STYLE};
use nihbuild::record::NeedleSpan;
use nihbuild::table::{read_spans, text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Rows of a release by id: prompt and needles.
fn by_id(release: &Path) -> BTreeMap<String, (String, Vec<NeedleSpan>)> {
    let files = data_files(release);
    let all = files.iter().flat_map(|file| rows(&release.join(file)));
    all.map(|(batch, row)| {
        let value = (text(&batch, "prompt", row).to_owned(), read_spans(&batch, row));
        (text(&batch, "id", row).to_owned(), value)
    })
    .collect()
}

/// Every article says its prompt: whole ones all of it, excerpts nothing that is not in it; every needle is marked. Gives the
/// number of whole ones and of excerpts.
#[track_caller]
fn articles(page: &str, release: &Path) -> (usize, usize) {
    let known = by_id(release);
    let (mut whole, mut excerpts) = (0, 0);
    for sample in between(page, "<details class=\"sample\"", "</details>") {
        let cut = sample.contains(", excerpt</span>");
        for article in between(sample, "<article ", "</article>") {
            let id = plain(between(article, "<code>", "</code>")[0]);
            let (prompt, spans) = &known[&id];
            let shown = article.split("class=\"prompt\"").nth(1).unwrap();
            let lines = between(shown, "<p", "</p>");
            let lines: Vec<&str> = lines
                .iter()
                .filter(|line| !line.starts_with(" class=\"sys\"") && !line.starts_with(" class=\"cut\""))
                .map(|line| line.split_once('>').unwrap().1)
                .collect();
            let marked: String = spans
                .iter()
                .filter(|s| !spans.iter().any(|o| o != *s && o.start <= s.start && s.end <= o.end))
                .map(|s| &prompt[s.start as usize..s.end as usize])
                .collect();
            let marks: String = lines
                .iter()
                .flat_map(|line| between(line, "<mark", "</mark>"))
                .map(|m| plain(m.split_once('>').unwrap().1))
                .collect();
            assert_eq!(marks, marked, "{id}");
            if cut {
                excerpts += 1;
                for line in &lines {
                    for part in line.split("<span class=\"cut\"") {
                        let part = part.split_once("left out</span>").map_or(part, |(_, rest)| rest);
                        assert!(prompt.contains(&plain(part)), "{id}: {part}");
                    }
                }
            } else {
                whole += 1;
                let all: Vec<&str> = prompt.lines().filter(|line| !line.is_empty()).collect();
                assert_eq!(lines.iter().map(|line| plain(line)).collect::<Vec<_>>(), all, "{id}");
            }
        }
    }
    (whole, excerpts)
}

/// Nothing is loaded or carried out but the script that the policy names; drawings have words.
#[track_caller]
fn sound(page: &str) {
    for (text, kind) in
        [(between(page, "<script>", "</script>")[0], "script"), (between(page, "<style>", "</style>")[0], "style")]
    {
        use base64::Engine;
        let digest = base64::engine::general_purpose::STANDARD.encode(Digest::of(text).0);
        assert!(page.contains(&format!("{kind}-src 'sha256-{digest}'")), "the policy does not name the {kind}");
    }
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.contains("default-src 'none'"));
    let urls: Vec<&str> = page.match_indices("://").map(|(at, _)| &page[at.saturating_sub(10)..at + 20]).collect();
    assert!(urls.iter().all(|url| url.contains("http://www.w3.org/2000")), "{urls:?}");
    for bad in [" style=", " src=", " onload=", " onclick=", "@import", "url("] {
        let body = page.replace(SCRIPT, "");
        let tags: Vec<&str> = between(&body, "<", ">").into_iter().filter(|tag| tag.contains(bad)).collect();
        assert!(tags.is_empty(), "{bad}: {tags:?}");
    }
    let drawings = between(page, "<svg ", "</svg>");
    assert!(!drawings.is_empty());
    for svg in drawings {
        assert!(svg.contains("role=\"img\"") && svg.contains("aria-labelledby="), "{}", &svg[..200]);
        let ids = between(svg, "aria-labelledby=\"", "\"")[0];
        for id in ids.split(' ') {
            assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
        }
    }
    let ids = between(page, " id=\"", "\"");
    assert_eq!(ids.len(), ids.iter().collect::<std::collections::BTreeSet<_>>().len(), "ids differ");
    assert_eq!(page.matches("<h1>").count(), 1);
    for link in between(page, "href=\"#", "\"") {
        assert!(ids.contains(&link), "{link}");
    }
}

#[test]
fn stories_are_counted_drawn_and_shown() {
    let bench = Bench::new();
    let release = stories(&bench);
    let page = page(&bench, &release, &[]);
    sound(&page);
    // 20 instances, three languages, three lengths.
    let counts = "Prompts by language and length";
    for language in ["English (en)", "Arabic (ar)", "Chinese (zh)"] {
        assert_eq!(cells(&page, counts, language), ["20", "20", "20", "60"]);
    }
    assert_eq!(cells(&page, counts, "all"), ["60", "60", "60", "180"]);
    assert_eq!(cells(&page, "Prompts by task and length", "Counting"), ["6", "6", "6", "18"]);
    assert_eq!(cells(&page, "Prompts by task and length", "all"), ["60", "60", "60", "180"]);
    assert_eq!(cells(&page, "Rows by their certificate", "solved"), ["180"]);
    // The tokens are those of the rows.
    let tokens: Vec<i64> = rows(&release.join("data/ar_2k/test-00000-of-00001.parquet"))
        .iter()
        .map(|(batch, row)| nihbuild::table::int(batch, "n_tokens", *row))
        .collect();
    let mean = tokens.iter().sum::<i64>() / tokens.len() as i64;
    let cell = &cells(&page, "Tokens of prompts: mean (least\u{2013}most)", "Arabic (ar)")[1];
    let grouped = |n: i64| nihbuild::page::plots::grouped(n as u64);
    let (least, most) = (tokens.iter().min().unwrap(), tokens.iter().max().unwrap());
    assert_eq!(*cell, format!("{} ({}\u{2013}{})", grouped(mean), grouped(*least), grouped(*most)));
    for title in [
        "Tokens of prompts by language, 0k",
        "Tokens of prompts by language, 4k",
        "Depth of needles by length",
        "Similarity of distractors by rank, 4k",
        "The best trivial answerer of each task, beside chance",
    ] {
        assert!(page.contains(&format!("<figcaption>{title}</figcaption>")), "{title}");
    }
    // Seven tasks: 0k and 2k whole, 4k as an excerpt, each in three languages.
    assert_eq!(articles(&page, &release), (42, 21));
    assert!(page.contains("class=\"ctx\" lang=\"ar\" dir=\"rtl\""));
    assert!(page.contains("class=\"n\" lang=\"ar\" dir=\"rtl\""));
    assert!(page.contains("class=\"ctx\" lang=\"zh\" dir=\"ltr\""));
}

#[test]
fn similarities_fall_with_the_rank_and_are_those_of_the_embedder() {
    let bench = Bench::new();
    let page = page(&bench, &stories(&bench), &[]);
    let said = between(&page, "Similarity of distractors by rank", "</svg>");
    let points = between(said.last().unwrap(), "<title>en, ", " +-");
    let values: Vec<f64> =
        points.iter().map(|p| p.split(": ").nth(1).unwrap().trim_end_matches('%').parse().unwrap()).collect();
    assert!(values.len() >= 4, "{points:?}");
    assert!(values.windows(2).all(|pair| pair[0] >= pair[1]), "{values:?}");
    assert!(values[0] > 5.0 && values[0] < 100.0, "{values:?}");
}

#[test]
fn other_families_are_shown_as_well() {
    let bench = Bench::new();
    let release = passages(&bench);
    let html = page(&bench, &release, &[]);
    sound(&html);
    assert!(html.contains("Prompts by language of the needle (down) and of the haystack (across)"));
    let (whole, excerpts) = articles(&html, &release);
    assert!(whole > 0 && excerpts > 0, "{whole} {excerpts}");
    let bench = Bench::new();
    let release = needles(&bench);
    let html = page(&bench, &release, &[]);
    sound(&html);
    // 3 lengths, 9 depths, 3 needles, 2 languages.
    assert_eq!(cells(&html, "Prompts by language and length", "Arabic (ar)").last().unwrap(), "81");
    assert!(!html.contains("How near the distractors are"));
    let (whole, excerpts) = articles(&html, &release);
    assert_eq!(whole + excerpts, 6);
}

#[test]
fn old_formats_are_shown() {
    let bench = Bench::new();
    for name in ["first", "ledger", "strategies", "needle", "hidden"] {
        let release = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/releases/{name}-1.0.0"));
        let html = page(&bench, &release, &[]);
        sound(&html);
        let rows = nihbuild::verify::read_manifest(&release).unwrap().rows;
        let all = cells(&html, "Prompts by language and length", "all");
        assert_eq!(*all.last().unwrap(), nihbuild::page::plots::grouped(rows), "{name}");
        let (whole, excerpts) = articles(&html, &release);
        assert!(whole + excerpts > 0, "{name}");
    }
}

#[test]
fn layout_and_threads_change_nothing() {
    let bench = Bench::new();
    let release = stories(&bench);
    let html = page(&bench, &release, &[]);
    let compact: PathBuf = bench.run(&["recipe", "s.toml", "--layout", "compact"]).success().release(&bench);
    assert_eq!(page(&bench, &compact, &[]).replace(", compact, built", ", built"), html);
    for threads in ["1", "4"] {
        let args =
            ["report", release.to_str().unwrap(), "--out", "page.html", "--plots", threads, "--format", "svg,png"];
        Outcome::of(bench.command(&args).env("RAYON_NUM_THREADS", threads).output().unwrap()).success();
        assert!(std::fs::read_to_string(bench.path("page.html")).unwrap() == html);
    }
    let (one, four) = (bytes_of(&bench.path("1")), bytes_of(&bench.path("4")));
    assert_eq!(one.len(), 2 * html.matches("<svg ").count());
    assert!(one == four);
}

#[test]
fn a_part_says_that_it_is_one() {
    let bench = Bench::new();
    bench.write("s.toml", &small("stories", QUICK));
    let release = bench.run(&["recipe", "s.toml", "--languages", "hi", "--lengths", "2k"]).success().release(&bench);
    let html = page(&bench, &release, &[]);
    assert!(html.contains("(part: --languages hi --lengths 2k)"));
    assert_eq!(cells(&html, "Prompts by language and length", "Hindi (hi)"), ["20", "20"]);
    assert!(!html.contains("id=\"pick\""), "one language needs no choice");
}

#[test]
fn plots_are_files_that_stand_alone() {
    let bench = Bench::new();
    let release = stories(&bench);
    let json =
        bench.run(&["report", release.to_str().unwrap(), "--plots", "p", "--format", "svg,png", "--json"]).success();
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert!(bench.path("report.html").is_file());
    let files = bytes_of(&bench.path("p"));
    let mut named: Vec<&str> = json["files"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    named.sort_unstable();
    assert_eq!(files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), named);
    assert!(files.len() >= 12);
    for (name, bytes) in &files {
        match name.ends_with(".svg") {
            true => {
                let svg = std::str::from_utf8(bytes).unwrap();
                assert!(svg.starts_with("<svg ") && !svg.contains("var(") && svg.contains("#ffffff"), "{name}");
            }
            false => {
                assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n", "{name}");
                let width = u32::from_be_bytes(bytes[16..20].try_into().unwrap());
                assert_eq!(width, 1440, "{name}");
            }
        }
    }
}

#[cfg(feature = "png")]
#[test]
fn pictures_have_letters_of_their_own() {
    let of = |text: &str| {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"80\" height=\"20\" font-family=\"system-ui,sans-serif\">\
             <text x=\"2\" y=\"14\" font-size=\"12\">{text}</text></svg>"
        );
        nihbuild::page::png::picture(&svg).unwrap()
    };
    assert_ne!(of("qa1 128k"), of(""));
    assert_ne!(of("en"), of("de"));
}

/// The contrast of two colours, as accessibility guidelines reckon it.
fn contrast(a: &str, b: &str) -> f64 {
    let light = |colour: &str| {
        let part = |n: usize| {
            let value = f64::from(u8::from_str_radix(&colour[n..n + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    };
    let (a, b) = (light(a), light(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn colours_can_be_read_on_both_grounds() {
    // Back, card, mark and fact of the style sheet.
    for (grounds, dark) in
        [(["#ffffff", "#f5f6f8", "#ffe08a", "#d6e9ff"], false), (["#14161a", "#1d2026", "#6a5200", "#17406b"], true)]
    {
        for ground in &grounds[1..] {
            assert!(STYLE.contains(ground), "{ground}");
        }
        for (name, on_light, on_dark) in COLOURS {
            let colour = if dark { on_dark } else { on_light };
            let bound = match name {
                "line" => continue,
                "ink" | "soft" => 4.5,
                _ => 3.0,
            };
            let of = if name == "ink" { &grounds[..] } else { &grounds[..2] };
            for ground in of {
                assert!(contrast(colour, ground) >= bound, "{name} {colour} on {ground}: {}", contrast(colour, ground));
            }
        }
    }
}
