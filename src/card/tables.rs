//! Tables of a card: counts, configs, tokens, windows, retrieved rows.

use super::thousandths;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::recipe::{Family, Length};
use crate::stage::stats::{Stats, Sums};
use crate::tokenizer::Tokenizer;
use std::collections::{BTreeMap, BTreeSet};

/// Instances by task, and prompts by language and length.
pub(super) fn counts(plan: &Plan, manifest: &Manifest) -> String {
    let mut text = String::new();
    if !manifest.instances.is_empty() {
        text += "Instances by task:\n\n| task | category | bAbI | instances |\n|---|---|---|---|\n";
        for (source, n) in &manifest.instances {
            let task = plan.counts.iter().find(|(_, known, _)| known == source).map(|(task, ..)| *task);
            let (name, category) = task.map_or(("", ""), |task| (task.name(), task.category()));
            text += &format!("| {name} | {category} | {source} | {n} |\n");
        }
        text += "\n";
    }
    let mut rows: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let mut columns: Vec<String> = Vec::new();
    for (file, data) in plan.files.iter().zip(&manifest.files) {
        let column = match plan.family {
            Family::Factoid => file.config.split_once('_').map_or("rows", |(_, needle)| needle).to_owned(),
            _ => file.length.to_string(),
        };
        let haystack = file.cell.and_then(|cell| cell.haystack).map(|h| h.to_string());
        let row = match haystack {
            Some(haystack) => format!("{} in {haystack}", file.language),
            None if !file.is_monolingual() && file.cell.is_none() => {
                format!("{} in {}, asked in {}", file.language, file.haystack, file.question)
            }
            None => file.language.to_string(),
        };
        *rows.entry(row).or_default().entry(column.clone()).or_default() += data.rows;
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let what = if plan.family == Family::Factoid { "needle" } else { "length" };
    text += &format!(
        "Prompts by language and {what}:\n\n| language | {} |\n|---|{}\n",
        columns.join(" | "),
        "---|".repeat(columns.len())
    );
    for (row, by) in &rows {
        let cells: Vec<String> =
            columns.iter().map(|column| by.get(column).map_or("-".to_owned(), u64::to_string)).collect();
        text += &format!("| {row} | {} |\n", cells.join(" | "));
    }
    text + "\n"
}

/// The data files: rows, tokens, fill.
pub(super) fn configs(plan: &Plan, manifest: &Manifest) -> String {
    let filled = plan.family != Family::Factoid;
    let mut text = "Configs, each a file:\n\n".to_owned();
    text += match filled {
        true => "| config | rows | tokens, mean | fill, mean |\n|---|---|---|---|\n",
        false => "| config | rows | tokens, mean | tokens, most |\n|---|---|---|---|\n",
    };
    for (file, data) in plan.files.iter().zip(&manifest.files) {
        let rows = data.rows.max(1);
        let fill = data.stats.fill / rows;
        let last = match (filled, file.length.0) {
            (false, _) => data.stats.tokens_max.to_string(),
            (true, 0) => "-".to_owned(),
            (true, _) => format!("{}.{:02}%", fill / 10_000, fill / 100 % 100),
        };
        text += &format!("| {} | {} | {} | {last} |\n", file.config, data.rows, data.stats.tokens / rows);
    }
    text + "\n"
}

/// What a length means in each language under each tokenizer: tokens of prompts, and tokens a character.
pub(super) fn tokens(plan: &Plan, manifest: &Manifest) -> String {
    let mut groups: Vec<(String, Stats, u64)> = Vec::new();
    for (file, data) in plan.files.iter().zip(&manifest.files).filter(|(_, data)| data.rows > 0) {
        let haystack = file.cell.and_then(|cell| cell.haystack).map_or(String::new(), |h| format!(" in {h}"));
        let length = if plan.family == Family::Factoid { "all".to_owned() } else { file.length.to_string() };
        let name = format!("{}{haystack} | {length}", file.language);
        match groups.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, stats, rows)) => {
                stats.add(&data.stats, false);
                *rows += data.rows;
            }
            None => groups.push((name, data.stats.clone(), data.rows)),
        }
    }
    let mut text = "Tokens of prompts by language, length and tokenizer:\n\n".to_owned();
    text +=
        "| language | length | tokenizer | least | mean | most | tokens a character |\n|---|---|---|---|---|---|---|\n";
    for (name, stats, rows) in &groups {
        let primary = Sums { tokens: stats.tokens, min: stats.tokens_min, max: stats.tokens_max };
        let first = (plan.ledger.primary().name(), primary);
        let also = plan.ledger.also().iter().map(Tokenizer::name);
        let also = also.map(|tokenizer| (tokenizer, stats.also.get(tokenizer).copied().unwrap_or_default()));
        for (tokenizer, sums) in std::iter::once(first).chain(also) {
            let rate = thousandths(sums.tokens, stats.chars);
            let (least, mean, most) = (sums.min, sums.tokens / rows, sums.max);
            text += &format!("| {name} | {tokenizer} | {least} | {mean} | {most} | {rate} |\n");
        }
    }
    text + "\n"
}

/// How many rows exceed which model's window.
pub(super) fn windows(plan: &Plan, manifest: &Manifest) -> String {
    if plan.models().next().is_none() {
        return String::new();
    }
    let mut text = "Prompts that, with answer and chat template, exceed a model's window:\n\n".to_owned();
    text += "| model | window | counted with | prompts over it |\n|---|---|---|---|\n";
    for model in plan.models() {
        let over: u64 = manifest.files.iter().filter_map(|file| file.stats.over_window.get(model.name)).sum();
        let own = plan.ledger.all().iter().find(|tokenizer| tokenizer.name() == model.tokenizer);
        let with = own.map_or_else(
            || format!("{} (its own, {}, is not in the ledger)", plan.ledger.primary().name(), model.tokenizer),
            |own| own.name().to_owned(),
        );
        text += &format!("| {} | {} | {with} | {over} of {} |\n", model.title, model.window, manifest.rows);
    }
    text + "\n"
}

/// Means of the rows with the best sentences alone: by kind, retriever, number kept and length.
pub(super) fn retrieved(plan: &Plan, manifest: &Manifest) -> String {
    // Recall, recall of the supporting, answerable: in millionths; and rows.
    type Means = BTreeMap<Length, [u64; 4]>;
    let mut sums: BTreeMap<(String, u32), Means> = BTreeMap::new();
    for (file, data) in plan.files.iter().zip(&manifest.files) {
        let Some((retriever, k)) = file.rag else { continue };
        let name = match plan.kinds.len() {
            1 => retriever.name().to_owned(),
            _ => format!("{}, {} distractors", retriever.name(), file.kind.name()),
        };
        let sum = sums.entry((name, k)).or_default().entry(file.length).or_default();
        let stats = &data.stats;
        let more = [stats.recall, stats.recall_supporting, stats.answerable * 1_000_000, data.rows];
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    if sums.is_empty() {
        return String::new();
    }
    let lengths: BTreeSet<Length> = sums.values().flat_map(|by| by.keys().copied()).collect();
    let columns: Vec<String> = lengths.iter().map(Length::to_string).collect();
    let mut text =
        "Rows with the best sentences alone prove nothing: facts may be lost, which is what they measure. Means:\n\n"
            .to_owned();
    text += &format!(
        "| retriever | top-k | mean of | {} |\n|---|---|---|{}\n",
        columns.join(" | "),
        "---|".repeat(columns.len())
    );
    for ((name, k), by) in &sums {
        for (what, of) in [("recall of all facts", 0), ("recall of supporting facts", 1), ("answerable", 2)] {
            let cell = |length: &Length| {
                by.get(length).map_or("-".to_owned(), |sum| thousandths(sum[of] / sum[3].max(1), 1_000_000))
            };
            let cells: Vec<String> = lengths.iter().map(cell).collect();
            text += &format!("| {name} | {k} | {what} | {} |\n", cells.join(" | "));
        }
    }
    text + "\n"
}
