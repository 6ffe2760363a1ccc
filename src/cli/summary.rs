//! The summary of a build.

use crate::manifest::{Manifest, Match, PassageFacts};
use crate::pipeline::Outcome;
use crate::plan::Plan;
use crate::recipe::Family;
use crate::stage::stats::Stats;
use crate::story::SourceTask;

/// A share in millionths as a percentage.
fn percent(millionths: u64) -> String {
    format!("{}.{:02}%", millionths / 10_000, millionths / 100 % 100)
}

/// What a build came to, for people.
pub(super) fn summary(plan: &Plan, outcome: &Outcome) -> String {
    use std::fmt::Write as _;
    let manifest = &outcome.manifest;
    let mut out = String::new();
    let _ = writeln!(out, "{}", outcome.folder.display());
    if outcome.was_there {
        let _ = writeln!(out, "  was built before and is sound");
    }
    let bytes: u64 = manifest.files.iter().map(|f| f.bytes).sum();
    let _ = writeln!(
        out,
        "  {} prompts in {} files, {} tokens ({}), {} MB",
        manifest.rows,
        manifest.files.len(),
        manifest.tokens,
        plan.ledger.primary().name(),
        bytes / 1_000_000
    );
    let proven = match plan.family {
        Family::Factoid => {
            "in every prompt the needle stands once and whole, at a sentence break; none is over its length"
        }
        _ if plan.recipe.rag.is_some() => {
            "every whole prompt proven answerable from its final text; none over its budget; what was retrieved may not be (see the card)"
        }
        _ => "every prompt proven answerable from its final text; none over its budget",
    };
    let _ = writeln!(out, "  {proven}");
    let _ = writeln!(out, "  rows digest {}", manifest.rows_digest);
    let _ = match &outcome.accepted {
        Match::Same => writeln!(out, "  the same as the accepted {}-{}", manifest.name, manifest.version),
        Match::Differs(files) => writeln!(
            out,
            "  NOT the accepted {}-{}: {} files differ, first {}",
            manifest.name,
            manifest.version,
            files.len(),
            files.first().map_or("in number", String::as_str)
        ),
        Match::NotComparable => {
            writeln!(out, "  another seed, or narrowed by --limit: not comparable with the accepted digests")
        }
        Match::Unknown => writeln!(
            out,
            "  no accepted digests are known for {}-{} (--accept FILE writes them)",
            manifest.name, manifest.version
        ),
    };
    if plan.family == Family::Factoid {
        out += &recall(plan, manifest);
        laps(outcome);
        return out;
    }
    let _ = writeln!(out, "\n  length      rows   tokens, mean   fill, mean   fill, least   repeated sentences");
    for length in plan.recipe.grid.lengths.iter() {
        let files: Vec<_> =
            plan.files.iter().zip(&manifest.files).filter(|(f, _)| f.length == *length).map(|(_, f)| f).collect();
        let rows: u64 = files.iter().map(|f| f.rows).sum();
        if rows == 0 {
            continue;
        }
        let tokens: u64 = files.iter().map(|f| f.stats.tokens).sum();
        let fill: u64 = files.iter().map(|f| f.stats.fill).sum();
        let least = files.iter().map(|f| f.stats.fill_min).min().unwrap_or(0);
        let lines: u64 = files.iter().map(|f| f.stats.lines).sum::<u64>().max(1);
        let repeated: u64 = files.iter().map(|f| f.stats.repeated).sum();
        let (fill, least) = match length.0 {
            0 => ("-".to_owned(), "-".to_owned()),
            _ => (percent(fill / rows), percent(least)),
        };
        let _ = writeln!(
            out,
            "  {:<6} {rows:>9}   {:>12}   {fill:>10}   {least:>11}   {:>18}",
            length.to_string(),
            tokens / rows,
            percent(repeated * 1_000_000 / lines)
        );
    }
    if let Some(facts) = &manifest.passages {
        out += &passage_facts(facts);
    }
    if let Some(n) = manifest.distinct_sentences.values().max() {
        let _ = writeln!(out, "\n  {n} distinct sentences in the pool of {} passages", plan.recipe.distractors.pool);
    }
    if !manifest.answerers.is_empty() {
        let _ = writeln!(out, "\n  trivial answerers over the stories: score (chance); of few stories it says little");
    }
    for (task, rules) in &manifest.answerers {
        let scores: Vec<String> =
            rules.iter().map(|(rule, s)| format!("{rule} {}% ({}%)", s.score / 10_000, s.chance / 10_000)).collect();
        let _ = writeln!(out, "  {:<5} {}", task.to_string(), scores.join(", "));
    }
    out += &context_answerers(plan, manifest);
    if !manifest.refused.is_empty() {
        let _ = writeln!(out, "\n  refused candidates");
        for (task, reasons) in &manifest.refused {
            let reasons: Vec<String> = reasons.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
            let _ = writeln!(out, "  {:<5} {}", task.to_string(), reasons.join(", "));
        }
    }
    for (task, length) in &manifest.starts {
        let _ = writeln!(out, "  {task} begins at {length}: too many of its stories do not fit the lengths before");
    }
    laps(outcome);
    out
}

/// Says on stderr how long each stage took.
fn laps(outcome: &Outcome) {
    if outcome.was_there {
        return;
    }
    let laps: Vec<String> =
        outcome.watch.laps().iter().map(|(stage, time)| format!("{stage} {:.1} s", time.as_secs_f64())).collect();
    eprintln!("{} (total {:.1} s)", laps.join(", "), outcome.watch.total().as_secs_f64());
}

/// What a build of the factoid family came to: its files, and the texts that hold its needles.
fn recall(plan: &Plan, manifest: &Manifest) -> String {
    use std::fmt::Write as _;
    let mut out = String::from("\n  needle                                rows   tokens, mean   tokens, most\n");
    for (file, data) in plan.files.iter().zip(&manifest.files) {
        let mean = data.stats.tokens / data.rows.max(1);
        let _ = writeln!(out, "  {:<34} {:>7}   {mean:>12}   {:>12}", file.config, data.rows, data.stats.tokens_max);
    }
    let sum = |of: fn(&Stats) -> u64| manifest.files.iter().map(|file| of(&file.stats)).sum::<u64>();
    let (seams, repaired) = (sum(|s| s.seams), sum(|s| s.seams_repaired));
    let _ = writeln!(
        out,
        "\n  token counts: {repaired} of {seams} seams repaired ({}), {} windows widened",
        percent(repaired * 1_000_000 / seams.max(1)),
        sum(|s| s.windows_widened)
    );
    for (language, facts) in &manifest.texts {
        let _ = writeln!(
            out,
            "\n  the text in {language}: {} tokens, {} sentence breaks, {} before a sentence that points back\n  \
             needles stand within {} of their depths; {} cells are equal to another (short texts have few breaks)",
            facts.tokens,
            facts.breaks.0,
            facts.breaks.1,
            percent(facts.depth_off),
            facts.equal_cells
        );
        for (needle, n) in &facts.answers_in_text {
            let _ = writeln!(out, "  an answer of {needle} also stands in the text, {n} times");
        }
        for (what, n) in &facts.repairs {
            let _ = writeln!(out, "  {n} {what}");
        }
    }
    out
}

/// What is to be known of questions and passages from outside.
fn passage_facts(facts: &PassageFacts) -> String {
    use std::fmt::Write as _;
    let mut out = String::from("\n");
    let counted = |counts: &std::collections::BTreeMap<String, u64>| -> String {
        counts.iter().map(|(what, n)| format!("{n} {what}")).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(out, "  {} passages in the haystack, the same in every language", facts.passages);
    if facts.questions > 0 {
        let by: Vec<String> =
            facts.questions_by_languages.iter().map(|(l, n)| format!("{n} in {l} languages")).collect();
        let _ = writeln!(out, "  {} questions admitted (sound ones: {})", facts.questions, by.join(", "));
    }
    if !facts.refused.is_empty() {
        let _ = writeln!(out, "  refused questions: {}", counted(&facts.refused));
    }
    for (file, dropped) in facts.dropped.iter().filter(|(_, dropped)| !dropped.is_empty()) {
        let _ = writeln!(out, "  dropped from {file}: {}", counted(dropped));
    }
    if !facts.kept_apart.is_empty() {
        let _ = writeln!(
            out,
            "  pairs of a passage and a question of the cells kept apart: {}",
            counted(&facts.kept_apart)
        );
    }
    if !facts.engine.is_empty() {
        let recall = facts.recall.map_or(String::new(), |(recall, at)| format!(", recall@{at} {}", percent(recall)));
        let _ = writeln!(out, "  nearest passages: {}{recall}", facts.engine);
    }
    out
}

/// Trivial answerers that count what the whole context names, at the longest length that was built.
fn context_answerers(plan: &Plan, manifest: &Manifest) -> String {
    let longest = plan.files.iter().zip(&manifest.files).filter(|(_, f)| !f.stats.rarest.is_empty());
    let Some((file, data)) = longest.max_by_key(|(file, _)| file.length) else { return String::new() };
    let share = |(credit, rows): (u64, u64)| credit / rows.max(1) / 10_000;
    let line = |(task, rarest): (&SourceTask, &(u64, u64))| {
        let commonest = data.stats.commonest.get(task).copied().unwrap_or_default();
        format!("{task} {}%/{}%", share(*rarest), share(commonest))
    };
    let tasks: Vec<String> = data.stats.rarest.iter().map(line).collect();
    format!("  over the whole context of {}: rarest/most frequent candidate {}\n", file.config, tasks.join(", "))
}
