//! What models scored.

use super::Material;
use super::facts::words;
use super::gather::length_order;
use super::html::{Section, table};
use super::plots::{Axes, Curve, Heat, Plot, Point, Sides, curves, grouped, heatmap, percent};
use super::scores::{Cell, Ids, Metric, PLACES, Scores, Table, Tables};
use std::collections::BTreeMap;

pub(super) fn sections(material: &Material<'_>) -> Vec<Section> {
    if material.scores.is_empty() {
        return Vec::new();
    }
    let mut section = Section::new("results", "Results", "Results");
    overview(material, &mut section);
    let mut metrics: Vec<Metric> = material.scores.iter().flat_map(Scores::metrics).collect();
    metrics.sort();
    metrics.dedup();
    for metric in metrics {
        of_metric(material, metric, &mut section);
    }
    vec![section]
}

fn ids(what: &str, ids: &Ids) -> Option<String> {
    (ids.n > 0).then(|| {
        let more = if ids.n > ids.first.len() as u64 { ", ..." } else { "" };
        format!("{} {what} ({}{more})", grouped(ids.n), ids.first.join(", "))
    })
}

/// Means and what is amiss with the ids.
fn overview(material: &Material<'_>, section: &mut Section) {
    section.say(
        "Error bars are one standard error of the mean: the binomial one where an answer is right or wrong. A judge's mark of \
         5 counts as 100%, one of 1 as 20%, as in the recall paper.",
    );
    let metrics: Vec<Metric> =
        Metric::ALL.into_iter().filter(|m| material.scores.iter().any(|s| s.tables.contains_key(m))).collect();
    let mut head = vec!["model".to_owned(), "prompts scored".to_owned()];
    head.extend(metrics.iter().map(|metric| words(metric.name())));
    let rows: Vec<Vec<String>> = material
        .scores
        .iter()
        .map(|scores| {
            let mut row =
                vec![scores.name.clone(), format!("{} of {}", grouped(scores.scored), grouped(material.all.rows))];
            row.extend(
                metrics.iter().map(|metric| scores.tables.get(metric).map_or("\u{2013}".to_owned(), |t| mean(&t.all))),
            );
            row
        })
        .collect();
    section.html(table("Means over all prompts that were scored", &head, &rows));
    for scores in &material.scores {
        let amiss = [
            ids("prompts of the release have no score", &scores.missing),
            ids("ids stand in the file more than once, of which the first counts", &scores.double),
            ids("ids are not in this release", &scores.unknown),
        ];
        let amiss: Vec<String> = amiss.into_iter().flatten().collect();
        if !amiss.is_empty() {
            section.say(&format!("{}: {}.", scores.name, amiss.join("; ")));
        }
    }
}

fn mean(cell: &Cell) -> String {
    format!("{} \u{b1} {}", percent(cell.mean()), percent(cell.error()))
}

/// Cells of a table summed over the first of its keys.
fn over_first(table: &Table) -> BTreeMap<String, Cell> {
    let mut out: BTreeMap<String, Cell> = BTreeMap::new();
    for ((_, second), cell) in table {
        out.entry(second.clone()).or_default().merge(cell);
    }
    out
}

fn point(step: usize, cell: &Cell) -> Point {
    Point { step, value: cell.mean(), error: cell.error(), rows: cell.n }
}

/// A curve over steps; steps without rows are passed over.
fn curve(label: String, steps: &[String], cell: &dyn Fn(&String) -> Option<Cell>) -> Curve {
    let points = steps.iter().enumerate().filter_map(|(n, step)| Some(point(n, &cell(step)?))).collect();
    Curve { label, points }
}

fn of_metric(material: &Material<'_>, metric: Metric, section: &mut Section) {
    section.heading(&words(metric.name()));
    let all: Vec<(&Scores, &Tables)> =
        material.scores.iter().filter_map(|scores| Some((scores, scores.tables.get(&metric)?))).collect();
    let (key, up) = (metric.key(), metric.name());
    let lengths: Vec<String> = material
        .lengths
        .iter()
        .filter(|l| all.iter().any(|(_, t)| t.languages.keys().any(|(_, x)| x == *l)))
        .cloned()
        .collect();
    if all.len() > 1 {
        let models: Vec<Curve> = all
            .iter()
            .map(|(scores, tables)| {
                let sums = over_first(&tables.languages);
                curve(scores.name.clone(), &lengths, &|length| sums.get(length).copied())
            })
            .collect();
        let title = format!("{} by length, all languages", words(up));
        section.plot(curves(&format!("{key} by length"), &title, &sides("length", up), &lengths, &models));
        places(&format!("{key} by place"), &format!("{} by place of the needle", words(up)), metric, &all, section);
    }
    for (scores, tables) in &all {
        of_model(material, metric, scores, tables, &lengths, section);
    }
}

fn of_model(
    material: &Material<'_>,
    metric: Metric,
    scores: &Scores,
    tables: &Tables,
    lengths: &[String],
    section: &mut Section,
) {
    let (model, up) = (scores.name.as_str(), metric.name());
    let name = |what: &str| format!("{model} {} {what}", metric.key());
    let title = |what: &str| format!("{model}: {up} {what}");
    let languages = material.languages();
    let by_language: Vec<Curve> = languages
        .iter()
        .map(|language| {
            let cell = |length: &String| tables.languages.get(&(language.clone(), length.clone())).copied();
            curve(language.clone(), lengths, &cell)
        })
        .filter(|curve| !curve.points.is_empty())
        .collect();
    let what = title("by length and language");
    section.plot(curves(&name("by length and language"), &what, &sides("length", up), lengths, &by_language));
    let mut head = vec!["language".to_owned()];
    head.extend(lengths.iter().cloned());
    let rows: Vec<Vec<String>> = languages
        .iter()
        .map(|language| {
            let cell = |length: &String| tables.languages.get(&(language.clone(), length.clone())).map(mean);
            let cells = lengths.iter().map(|length| cell(length).unwrap_or("\u{2013}".to_owned()));
            [material.language(language)].into_iter().chain(cells).collect()
        })
        .collect();
    let numbers = table(&what, &head, &rows);
    section.html(format!("<details><summary>The numbers</summary>{numbers}</details>\n"));
    let firsts = |table: &Table| {
        let mut all: Vec<String> = table.keys().map(|(first, _)| first.clone()).collect();
        all.dedup();
        all
    };
    let down = if material.manifest.family == "factoid" { "needle" } else { "task" };
    let tasks = firsts(&tables.tasks);
    if tasks.len() > 1 && tables.recall.is_empty() {
        let axes = axes("length", down, up);
        let plot = heat(
            &name(&format!("{down} by length")),
            &title(&format!("by {down} and length")),
            &axes,
            &tables.tasks,
            &tasks,
            lengths,
            &words,
        );
        section.plot(plot);
    }
    if tables.pairs.keys().any(|(needle, haystack)| needle != haystack) {
        let mut haystacks: Vec<String> = tables.pairs.keys().map(|(_, haystack)| haystack.clone()).collect();
        haystacks.sort_by_key(|h| (languages.iter().position(|l| l == h).unwrap_or(usize::MAX), h.clone()));
        haystacks.dedup();
        let needles: Vec<String> =
            languages.iter().filter(|l| tables.pairs.keys().any(|(n, _)| n == *l)).cloned().collect();
        let axes = axes("haystack", "needle", up);
        let what = title("by language of needle and haystack");
        section.plot(heat(&name("needle haystack"), &what, &axes, &tables.pairs, &needles, &haystacks, &str::to_owned));
    }
    if material.scores.len() == 1 {
        places(&name("by place"), &title("by place of the needle"), metric, &[(scores, tables)], section);
    }
    match tables.recall.is_empty() {
        true => by_depth(&name("length depth"), &title("by length and place of the needle"), metric, tables, section),
        false => {
            for (needle, table) in &tables.recall {
                let what = title(&format!("of {needle} by length and depth"));
                section.plot(recall(&name(&format!("recall {needle}")), &what, up, table));
            }
        }
    }
}

fn sides<'a>(across: &'a str, up: &'a str) -> Sides<'a> {
    Sides { across, up, percent: true }
}

fn axes<'a>(across: &'a str, down: &'a str, colour: &'a str) -> Axes<'a> {
    Axes { across, down, colour, ends: ("0%", "100%") }
}

/// Means by the two keys of a table.
fn heat(
    name: &str,
    title: &str,
    axes: &Axes<'_>,
    table: &Table,
    rows: &[String],
    columns: &[String],
    label: &dyn Fn(&str) -> String,
) -> Plot {
    let labels: Vec<String> = rows.iter().map(|row| label(row)).collect();
    let cell = |y: usize, x: usize| {
        let cell = table.get(&(rows[y].clone(), columns[x].clone()))?;
        let said = format!("{}, {}: {}, {} rows", labels[y], columns[x], percent(cell.mean()), grouped(cell.n));
        let text = format!("{}", (cell.mean() + 5_000) / 10_000);
        Some(Heat { share: cell.mean(), text, said })
    };
    heatmap(name, title, axes, &labels, columns, &cell)
}

/// Places of needles in order: words, or tenths of the context.
fn place_names(tables: &[&Tables]) -> Vec<String> {
    let tenths = (0..PLACES).map(|n| format!("{}-{}%", n * 10, n * 10 + 10));
    let all = ["start", "middle", "end"].into_iter().map(str::to_owned).chain(tenths);
    all.filter(|place| tables.iter().any(|t| t.places.contains_key(&(String::new(), place.clone())))).collect()
}

fn places(name: &str, title: &str, metric: Metric, all: &[(&Scores, &Tables)], section: &mut Section) {
    let tables: Vec<&Tables> = all.iter().map(|(_, tables)| *tables).collect();
    let steps = place_names(&tables);
    if steps.len() < 2 {
        return;
    }
    let lines = all
        .iter()
        .map(|(scores, tables)| {
            let cell = |place: &String| tables.places.get(&(String::new(), place.clone())).copied();
            curve(scores.name.clone(), &steps, &cell)
        })
        .collect::<Vec<_>>();
    section.plot(curves(name, title, &sides("place of the needle in the context", metric.name()), &steps, &lines));
}

fn by_depth(name: &str, title: &str, metric: Metric, tables: &Tables, section: &mut Section) {
    let rows = place_names(&[tables]);
    let mut lengths: Vec<String> =
        tables.places.keys().map(|(length, _)| length.clone()).filter(|l| !l.is_empty()).collect();
    lengths.sort_by_key(|length| length_order(length));
    lengths.dedup();
    if rows.len() < 2 || lengths.is_empty() {
        return;
    }
    let turned: Table =
        tables.places.iter().map(|((length, place), cell)| ((place.clone(), length.clone()), *cell)).collect();
    let axes = axes("length", "place of the needle", metric.name());
    section.plot(heat(name, title, &axes, &turned, &rows, &lengths, &str::to_owned));
}

/// The recall paper's heatmap: asked lengths across, asked depths down.
fn recall(name: &str, title: &str, up: &str, table: &Table) -> Plot {
    let mut lengths: Vec<String> = table.keys().map(|(length, _)| length.clone()).collect();
    lengths.sort_by_key(|length| length_order(length));
    lengths.dedup();
    let mut depths: Vec<String> = table.keys().map(|(_, depth)| depth.clone()).collect();
    // Thousandths of a percent, as rows write them.
    depths.sort_by_key(|depth| (depth.replace('.', "").parse::<u64>().unwrap_or(u64::MAX), depth.clone()));
    depths.dedup();
    let turned: Table = table.iter().map(|((length, depth), cell)| ((depth.clone(), length.clone()), *cell)).collect();
    let axes = axes("length in tokens", "depth", up);
    heat(name, title, &axes, &turned, &depths, &lengths, &|depth| format!("{depth}%"))
}
