//! What the release is: counts, tokens, depths, distractors, drops, trivial answerers, the certificate.

use super::Material;
use super::gather::{DEPTHS, length_order};
use super::html::{Part, Section, table};
use super::plots::{
    Axes, Curve, Heat, Histogram, Pair, Point, Sides, curves, dots, grouped, heatmap, histograms, percent,
};
use super::prompt::escaped;
use std::collections::BTreeMap;

/// Bins of a histogram of tokens.
const BINS: usize = 60;

/// Lengths that have a histogram of their own; of more, all are one.
const MOST_LENGTHS: usize = 12;

pub(super) fn sections(material: &Material<'_>) -> Vec<Section> {
    let mut all = vec![counts(material), tokens(material)];
    all.extend(depths(material));
    all.extend(similarity(material));
    all.push(drops(material));
    all.push(answerers(material));
    all.push(certificate(material));
    all
}

/// A word with a capital, spaces for underscores.
pub(super) fn words(key: &str) -> String {
    let text = key.replace('_', " ");
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

fn strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

/// Counts by two properties, with sums.
fn cross(
    caption: &str,
    first: &str,
    counts: &BTreeMap<(String, String), u64>,
    rows: &[(String, String)],
    columns: &[String],
) -> String {
    let mut head = vec![first.to_owned()];
    head.extend(columns.iter().cloned());
    head.push("all".to_owned());
    let mut sums = vec![0; columns.len() + 1];
    let mut body: Vec<Vec<String>> = Vec::new();
    for (key, label) in rows {
        let cells: Vec<u64> =
            columns.iter().map(|column| counts.get(&(key.clone(), column.clone())).copied().unwrap_or(0)).collect();
        let mut line = vec![label.clone()];
        line.extend(cells.iter().map(|n| if *n == 0 { "\u{2013}".to_owned() } else { grouped(*n) }));
        line.push(grouped(cells.iter().sum()));
        sums.iter_mut().zip(cells.iter().copied().chain([cells.iter().sum()])).for_each(|(sum, n)| *sum += n);
        body.push(line);
    }
    let mut last = vec!["all".to_owned()];
    last.extend(sums.into_iter().map(grouped));
    body.push(last);
    table(caption, &head, &body)
}

fn firsts(counts: &BTreeMap<(String, String), u64>) -> Vec<String> {
    let mut all: Vec<String> = counts.keys().map(|(first, _)| first.clone()).collect();
    all.dedup();
    all
}

fn counts(material: &Material<'_>) -> Section {
    let mut section = Section::new("contents", "What is in it", "Contents");
    let all = &material.all;
    let languages: Vec<(String, String)> =
        material.languages().into_iter().map(|code| (code.clone(), material.language(&code))).collect();
    let what = if material.manifest.family == "factoid" { "needle" } else { "task" };
    let tasks: Vec<(String, String)> =
        firsts(&all.tasks).into_iter().map(|task| (task.clone(), words(&task))).collect();
    section.html(cross(&format!("Prompts by {what} and length"), what, &all.tasks, &tasks, &material.lengths));
    section.html(cross("Prompts by language and length", "language", &all.languages, &languages, &material.lengths));
    if all.pairs.keys().any(|(needle, haystack)| needle != haystack) {
        let mut haystacks: Vec<String> = all.pairs.keys().map(|(_, haystack)| haystack.clone()).collect();
        haystacks.sort();
        haystacks.dedup();
        section.html(cross(
            "Prompts by language of the needle (down) and of the haystack (across)",
            "needle",
            &all.pairs,
            &languages,
            &haystacks,
        ));
    }
    if all.kinds.len() > 1 {
        let rows: Vec<Vec<String>> = all.kinds.iter().map(|(kind, n)| vec![kind.clone(), grouped(*n)]).collect();
        section.html(table("Prompts by how they ask", &strings(&["strategy, distractors, prompt", "prompts"]), &rows));
    }
    section
}

fn tokens(material: &Material<'_>) -> Section {
    let mut section = Section::new("tokens", "Tokens", "Tokens");
    let manifest = material.manifest;
    let named: Vec<&str> = manifest.tokenizers.iter().map(|facts| facts.name.as_str()).collect();
    let primary = named.first().copied().unwrap_or("the primary tokenizer");
    section.say(&format!(
        "Tokens of whole prompts under {primary}. Each histogram is as high as its own fullest bin.{}",
        if named.len() > 1 {
            format!(" The rows hold their counts under {} as well.", named[1..].join(", "))
        } else {
            String::new()
        }
    ));
    let languages = material.languages();
    let single = material.lengths.len() > MOST_LENGTHS;
    let groups: Vec<(String, Vec<&String>)> = match single {
        true => vec![("all lengths".to_owned(), material.lengths.iter().collect())],
        false => material.lengths.iter().map(|length| (length.clone(), vec![length])).collect(),
    };
    for (label, lengths) in &groups {
        let of = |language: &String| {
            let spreads = lengths.iter().filter_map(|l| material.all.tokens.get(&(language.clone(), (*l).clone())));
            spreads.collect::<Vec<_>>()
        };
        let all: Vec<_> = languages.iter().flat_map(of).collect();
        let (Some(low), Some(high)) = (all.iter().map(|s| s.least).min(), all.iter().map(|s| s.most).max()) else {
            continue;
        };
        let rows: Vec<Histogram> = languages
            .iter()
            .filter(|language| !of(language).is_empty())
            .map(|language| {
                let mut bins = vec![0; BINS];
                let (mut n, mut sum) = (0, 0);
                for spread in of(language) {
                    bins.iter_mut().zip(spread.bins(low, high, BINS)).for_each(|(sum, n)| *sum += n);
                    (n, sum) = (n + spread.n, sum + spread.sum);
                }
                Histogram { label: language.clone(), bins, note: format!("mean {}", grouped(sum / n.max(1))) }
            })
            .collect();
        let title = format!("Tokens of prompts by language, {label}");
        section.plot(histograms(&format!("tokens {label}"), &title, "tokens of a prompt", low, high, &rows));
    }
    if !single {
        let mut head = vec!["language".to_owned()];
        head.extend(material.lengths.iter().cloned());
        let rows: Vec<Vec<String>> = languages
            .iter()
            .map(|language| {
                let mut row = vec![material.language(language)];
                row.extend(material.lengths.iter().map(|length| {
                    let spread = material.all.tokens.get(&(language.clone(), length.clone()));
                    spread.map_or("\u{2013}".to_owned(), |s| {
                        format!("{} ({}\u{2013}{})", grouped(s.sum / s.n.max(1)), grouped(s.least), grouped(s.most))
                    })
                }));
                row
            })
            .collect();
        section.html(table("Tokens of prompts: mean (least\u{2013}most)", &head, &rows));
    }
    section
}

fn depths(material: &Material<'_>) -> Option<Section> {
    let depths = &material.all.depths;
    if depths.is_empty() {
        return None;
    }
    let mut section = Section::new("depths", "Where the needles stand", "Needles");
    section.say(
        "How the needles of each length are spread over the context: 0% is its beginning, 100% its end. A colour is the \
         share of that length's needles.",
    );
    let mut lengths: Vec<String> = depths.keys().cloned().collect();
    lengths.sort_by_key(|length| length_order(length));
    let bands: Vec<String> = (0..DEPTHS).map(|n| format!("{}-{}%", n * 100 / DEPTHS, (n + 1) * 100 / DEPTHS)).collect();
    let share = |length: &String, bin: usize| {
        let sum: u64 = depths[length].iter().sum();
        (depths[length][bin] * 1_000_000 / sum.max(1), depths[length][bin])
    };
    let most = lengths.iter().flat_map(|l| (0..DEPTHS).map(|bin| share(l, bin).0)).max().unwrap_or(1).max(1);
    let cell = |y: usize, x: usize| {
        let (share, n) = share(&lengths[x], y);
        let text = format!("{}", (share + 5_000) / 10_000);
        let said = format!("{}, depth {}: {} needles, {}", lengths[x], bands[y], grouped(n), percent(share));
        Some(Heat { share: share * 1_000_000 / most, text, said })
    };
    let top = percent(most);
    let axes = Axes { across: "length", down: "depth", colour: "share of the length's needles", ends: ("0%", &top) };
    section.plot(heatmap("needle depths", "Depth of needles by length", &axes, &bands, &lengths, &cell));
    Some(section)
}

/// Ranks that a curve shows.
const SHOWN_RANKS: [usize; 10] = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500];

fn similarity(material: &Material<'_>) -> Option<Section> {
    if material.manifest.family == "factoid" {
        return None;
    }
    let similar = &material.similar;
    let mut section = Section::new("distractors", "How near the distractors are", "Distractors");
    if let Some(why) = &similar.nothing {
        section.say(why);
        return Some(section);
    }
    section.say(&format!(
        "Cosine similarity of each distractor to what it was ranked by, most similar first: computed again with {} on {} \
         rows of {} drawn by lot. A rank is shown where at least half of a language's rows have so many distractors.",
        similar.by, similar.rows, similar.length
    ));
    let all: Vec<Curve> = material
        .languages()
        .into_iter()
        .chain(["multilingual".to_owned()])
        .filter_map(|language| {
            let ranks = similar.ranks.get(&language)?;
            let rows = ranks.first()?.1;
            let point = |(step, rank): (usize, &usize)| {
                let (sum, n) = ranks.get(rank - 1).copied().filter(|(_, n)| 2 * n >= rows)?;
                Some(Point { step, value: (sum / n as i64).max(0) as u64, error: 0, rows: n })
            };
            Some(Curve { label: language, points: SHOWN_RANKS.iter().enumerate().filter_map(point).collect() })
        })
        .collect();
    let used = all.iter().flat_map(|c| c.points.iter().map(|p| p.step + 1)).max().unwrap_or(1);
    let steps: Vec<String> = SHOWN_RANKS[..used].iter().map(usize::to_string).collect();
    let title = format!("Similarity of distractors by rank, {}", similar.length);
    let sides = Sides { across: "rank of the distractor", up: "cosine similarity", percent: false };
    section.plot(curves("distractor similarity", &title, &sides, &steps, &all));
    Some(section)
}

fn drops(material: &Material<'_>) -> Section {
    let mut section = Section::new("drops", "What was dropped, and why", "Drops");
    let manifest = material.manifest;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (task, reasons) in &manifest.refused {
        rows.extend(reasons.iter().map(|(reason, n)| vec![task.to_string(), reason.clone(), grouped(u64::from(*n))]));
    }
    if let Some(facts) = &manifest.passages {
        for (file, reasons) in &facts.dropped {
            rows.extend(reasons.iter().map(|(reason, n)| vec![file.clone(), reason.clone(), grouped(*n)]));
        }
        rows.extend(facts.refused.iter().map(|(why, n)| vec!["questions".to_owned(), why.clone(), grouped(*n)]));
        rows.extend(
            facts.kept_apart.iter().map(|(why, n)| vec!["pairs kept apart".to_owned(), why.clone(), grouped(*n)]),
        );
    }
    for (language, facts) in &manifest.translations {
        let of = format!("translations into {language}");
        rows.extend(facts.dropped.iter().map(|(why, n)| vec![of.clone(), why.clone(), grouped(*n)]));
    }
    for (language, facts) in &manifest.texts {
        rows.extend(
            facts
                .repairs
                .iter()
                .map(|(what, n)| vec![format!("text in {language}"), format!("repaired: {what}"), grouped(*n)]),
        );
    }
    match rows.is_empty() {
        true => section.say("Nothing was dropped."),
        false => section.html(table("Dropped while building", &strings(&["of", "reason", "number"]), &rows)),
    }
    if !manifest.starts.is_empty() {
        let rows: Vec<Vec<String>> =
            manifest.starts.iter().map(|(task, length)| vec![task.to_string(), length.clone()]).collect();
        section.say(
            "Some stories are longer than the shortest lengths, so their tasks begin later (and are whole at 0k).",
        );
        section.html(table("Tasks that begin later", &strings(&["task", "first length"]), &rows));
    }
    section
}

fn answerers(material: &Material<'_>) -> Section {
    let mut section = Section::new("answerers", "What trivial answerers score", "Trivial answerers");
    let manifest = material.manifest;
    if manifest.answerers.is_empty() {
        section.say("The manifest of this release holds no trivial answerers: they are a check of stories with few possible answers.");
        return section;
    }
    section.say(
        "Rules that read nothing or next to nothing, beside what guessing among the possible answers scores. A rule far \
         above chance would mean that a task can be answered without understanding it.",
    );
    let mut rules: Vec<String> = manifest.answerers.values().flat_map(|rules| rules.keys().cloned()).collect();
    rules.sort();
    rules.dedup();
    let best: Vec<Pair> = manifest
        .answerers
        .iter()
        .filter_map(|(task, rules)| {
            let above = |score: &crate::manifest::Score| score.score as i64 - score.chance as i64;
            let (rule, score) = rules.iter().max_by_key(|(_, score)| above(score))?;
            Some(Pair { label: format!("{task}: {rule}"), value: score.score, beside: score.chance })
        })
        .collect();
    let what = ("the rule farthest above chance", "chance");
    section.plot(dots("trivial answerers", "The best trivial answerer of each task, beside chance", what, &best));
    let mut head = vec!["task".to_owned()];
    head.extend(rules.iter().cloned());
    let rows: Vec<Vec<String>> = manifest
        .answerers
        .iter()
        .map(|(task, scores)| {
            let mut row = vec![task.to_string()];
            row.extend(rules.iter().map(|rule| {
                scores
                    .get(rule)
                    .map_or("\u{2013}".to_owned(), |s| format!("{} ({})", percent(s.score), percent(s.chance)))
            }));
            row
        })
        .collect();
    section.html(table("Score of each rule over the stories alone (chance)", &head, &rows));
    let mut whole: BTreeMap<String, [(u64, u64); 2]> = BTreeMap::new();
    for file in &manifest.files {
        for (which, scores) in [&file.stats.commonest, &file.stats.rarest].into_iter().enumerate() {
            for (task, (credit, rows)) in scores {
                let sum = &mut whole.entry(task.to_string()).or_default()[which];
                *sum = (sum.0 + credit, sum.1 + rows);
            }
        }
    }
    if !whole.is_empty() {
        let share = |(credit, rows): (u64, u64)| credit.checked_div(rows).map_or("\u{2013}".to_owned(), percent);
        let rows: Vec<Vec<String>> =
            whole.into_iter().map(|(task, both)| vec![task, share(both[0]), share(both[1])]).collect();
        let head = strings(&["task", "named most", "named least"]);
        section.html(table("Answering with the candidate that the whole context names most, or least", &head, &rows));
    }
    section
}

fn certificate(material: &Material<'_>) -> Section {
    let mut section = Section::new("certificate", "What was proven", "Certificate");
    let manifest = material.manifest;
    section.say(match manifest.family.as_str() {
        "reasoning" => {
            "Every whole prompt was read back from its final text, in its own language, and solved to its one gold answer. \
             Rows that hold the best sentences of a prompt alone are cut from a proven one, and say what was lost."
        }
        "passage" => {
            "Every prompt was taken apart again: the passage that answers stands there once (in a needle-free twin not at \
             all), and no other passage holds an answer, in any language."
        }
        "factoid" => {
            "Every prompt was taken apart again: its needle stands there once and whole, at a sentence break, and the running \
             text around it is unchanged."
        }
        _ => "See the card of the release.",
    });
    let rows: Vec<Vec<String>> = material
        .all
        .certificates
        .iter()
        .map(|(what, n)| vec![if what.is_empty() { "none".to_owned() } else { what.clone() }, grouped(*n)])
        .collect();
    section.html(table("Rows by their certificate", &strings(&["certificate", "rows"]), &rows));
    let flags = manifest.filter.as_ref().map_or(String::new(), |filter| " ".to_owned() + &filter.flags());
    section.parts.push(Part::Html(format!(
        "<p>These claims need no trust. To check bytes, rows and every certificate, or to build the release again:</p>\n\
         <pre tabindex=\"0\"><code>nihbuild verify FOLDER\nnihbuild recipe FOLDER/recipe.toml{}</code></pre>\n<dl class=\"facts\">\n\
         <dt>Rows digest</dt><dd><code>{}</code></dd>\n<dt>Canary</dt><dd><code>{}</code></dd>\n</dl>\n",
        escaped(&flags),
        manifest.rows_digest,
        escaped(&manifest.canary)
    )));
    if !manifest.sources.is_empty() {
        let rows: Vec<Vec<String>> =
            manifest.sources.iter().map(|file| vec![file.name.clone(), file.sha256.to_string()]).collect();
        section.html(table("Files read from outside", &strings(&["file", "SHA-256"]), &rows));
    }
    section
}
