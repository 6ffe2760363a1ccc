//! The dataset card: what a person wants to know of a release first, from its manifest.

use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::recipe::{EmbedderName, Family, Length};
use crate::source::released;
use crate::stage::write::{Stats, Sums};
use crate::tokenizer::Tokenizer;
use std::collections::{BTreeMap, BTreeSet};

/// What the rows were made of and compared with.
fn made(plan: &Plan, manifest: &Manifest) -> String {
    let mut text = String::new();
    if !manifest.sources.is_empty() {
        let files: Vec<String> =
            manifest.sources.iter().map(|file| format!("{} (SHA-256 {})", file.name, file.sha256.short())).collect();
        text += &format!("Sources: {}.\n\n", files.join(", "));
    }
    for (language, facts) in &manifest.texts {
        text += &format!(
            "The text in {language}: {} bytes, {} tokens, {} sentence breaks of which {} stand before a sentence that points back.\n",
            facts.bytes, facts.tokens, facts.breaks.0, facts.breaks.1
        );
        text += &format!(
            "- needles stand within {} percent of their asked depths; {} cells are equal to another\n",
            thousandths(facts.depth_off, 10_000),
            facts.equal_cells
        );
        for (needle, n) in &facts.answers_in_text {
            text += &format!("- an answer of {needle} also stands in the text, {n} times\n");
        }
        for (what, n) in &facts.repairs {
            text += &format!("- {n} {what}\n");
        }
    }
    if plan.family == Family::Factoid {
        return text + "\n";
    }
    let embedding = &plan.recipe.embedding;
    text += &match plan.recipe.retrieval.embedder {
        EmbedderName::Ngram => "Passages were ranked by hashed character n-grams.\n\n".to_owned(),
        EmbedderName::Onnx => format!(
            "Passages were ranked by {} ({:?} pooling, prefixes {:?} and {:?}, texts cut at {} tokens); its vectors, and\n\
             what made them, are in `pins/`.\n\n",
            embedding.model, embedding.pooling, embedding.query_prefix, embedding.passage_prefix, embedding.max_tokens
        ),
    };
    text
}

/// The dataset card: front matter that loaders read, then what a person wants to know first.
pub fn card(plan: &Plan, manifest: &Manifest) -> String {
    let mut text = String::from("---\n");
    text += &format!("pretty_name: {}\nlicense: {}\nlanguage:\n", manifest.name, manifest.licence.to_lowercase());
    for (language, _) in &plan.packs {
        text += &format!("- {language}\n");
    }
    let size = match manifest.rows {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        _ => "100K<n<1M",
    };
    text += &format!("size_categories:\n- {size}\ntask_categories:\n- question-answering\nconfigs:\n");
    for file in &plan.files {
        text += &format!("- config_name: {}\n  data_files:\n  - split: test\n    path: {}\n", file.config, file.path());
    }
    text += "---\n\n";
    let proven = match plan.family {
        Family::Reasoning => {
            "Every whole prompt was read back from its final text, in its own\nlanguage, and solved to its one gold answer."
        }
        Family::Passage => {
            "Every prompt was taken apart again: the passage\nthat answers stands there once (in a needle-free twin, `expected` No, not at all), and no other one holds an\nanswer, in any language."
        }
        Family::Factoid => {
            "Every prompt was taken apart again: its needle\nstands there once and whole, at a sentence break, and the running text around it is unchanged."
        }
    };
    text += &format!(
        "# {}\n\n{} prompts, {} tokens ({}). {proven}\n\n",
        manifest.title(),
        manifest.rows,
        manifest.tokens,
        plan.ledger.primary().name()
    );
    text += &format!("Rows digest: `{}`\n\nCanary: `{}`\n\n", manifest.rows_digest, manifest.canary);
    let flags = manifest.filter.as_ref().map(|filter| " ".to_owned() + &filter.flags()).unwrap_or_default();
    text += &format!("Verify with `nihbuild verify FOLDER`; rebuild with `nihbuild recipe recipe.toml{flags}`.\n\n");
    text += match plan.family {
        Family::Reasoning => {
            "A model is asked for JSON. Take the value of its `answer` (join a list with commas), cut spaces and a final\n\
             full stop, fold case, and compare it whole with `answers` and `answer_variants`.\n\n"
        }
        Family::Passage => {
            "An answer is right when it holds one of `answers_by_language`, as whole words, whatever its language; to an\n\
             existence prompt when it is `expected`.\n\n"
        }
        Family::Factoid => {
            "A model's answer is rated from 1 to 5 against the needle by the judge's prompt in `judge.json`; recall is the sum of\n\
             the ratings / (5 x prompts). Without a judge: an answer is right when it holds one of `answers`. `length` is the asked\n\
             length in tokens, `haystack_tokens` the true one of the text with its needle; `position` is the asked depth in percent,\n\
             the needle span's `depth` the true one in millionths of the text; `moved` counts nearer sentence breaks that were passed over\n\
             because the sentence behind them points back at, or leans on, what came before. Rows of one `pair_id` ask for another\n\
             needle on the very same text at the very same place.\n\n"
        }
    };
    if let Some(facts) = &manifest.passages
        && !facts.shared.is_empty()
    {
        let own = |pair: &str| pair.split(' ').next() == pair.split(' ').nth(1);
        let all: Vec<String> =
            facts.shared.iter().filter(|(pair, _)| !own(pair)).map(|(pair, n)| format!("{pair} {n}")).collect();
        text += &format!(
            "{} passages stand in the haystack, the same in every language. Questions that two needle languages share\n\
             in their cells: {}.\n\n",
            facts.passages,
            if all.is_empty() { "there is one needle language".to_owned() } else { all.join(", ") }
        );
    }
    text += &made(plan, manifest);
    if let Some(differences) = &manifest.differences {
        text += "The stories are those of the released MLRBench files, in their order; the languages are written anew. What the\n\
                 released files differ in, by language:\n\n";
        text += &released::markdown(differences);
        text += "\n";
    }
    text += &translations(manifest);
    text += &retrieved(plan, manifest);
    text += &configs(plan, manifest);
    text += &token_table(plan, manifest);
    text += &windows(plan, manifest);
    if !manifest.starts.is_empty() {
        text += "\nSome stories of these tasks are longer than the shortest lengths, so the tasks begin later:\n\n";
        for (task, length) in &manifest.starts {
            text += &format!("- {task} begins at {length} (and is whole at 0k)\n");
        }
    }
    text
}

/// Languages by machine translation, and how good it is (the paper's Table 7).
fn translations(manifest: &Manifest) -> String {
    if manifest.translations.is_empty() {
        return String::new();
    }
    let mut text =
        "Machine translation, pinned in `pins/translate`. Similarity is the cosine of source and translation, and of\n\
                    source and translation back, under the embedder that ranked the passages:\n\n\
                    | language | part | texts | similarity | translated back |\n|---|---|---|---|---|\n"
            .to_owned();
    for (language, facts) in &manifest.translations {
        for (part, (there, back)) in &facts.similarity {
            let texts = facts.texts.get(part).copied().unwrap_or(0);
            let back = back.map_or("-".to_owned(), |back| thousandths(u64::from(back), 1000));
            text += &format!("| {language} | {part} | {texts} | {} | {back} |\n", thousandths(u64::from(*there), 1000));
        }
    }
    text += "\n";
    for (language, facts) in &manifest.translations {
        text += &format!("- {language}: {} texts asked for again", facts.asked_again);
        text += &format!("; {} sentences are told like one with another verb", facts.alike);
        for (reason, n) in &facts.dropped {
            text += &format!("; {n} dropped ({reason})");
        }
        if let Some((same, of, near)) = facts.compared {
            let near = thousandths(u64::from(near), 1000);
            text += &format!("; beside the language pack: {same} of {of} sentences are the same, similarity {near}");
        }
        match &facts.review {
            Some(review) => {
                text += &format!(
                    "; native reviewers: {} of {} sampled texts good, {} wrong, {} unsure, {} without a verdict",
                    review.ok,
                    review.sampled,
                    review.wrong.len(),
                    review.unsure,
                    review.missing
                );
                for id in &review.wrong {
                    text += &format!("\n  - wrong: {id}");
                }
            }
            None => text += "; no native reviewer has read it",
        }
        text += "\n";
    }
    text + "\n"
}

/// Means of the rows with the best sentences alone: by kind, retriever, number kept and length.
fn retrieved(plan: &Plan, manifest: &Manifest) -> String {
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

/// The data files: rows, tokens, fill.
fn configs(plan: &Plan, manifest: &Manifest) -> String {
    let filled = plan.family != Family::Factoid;
    let mut text = match filled {
        true => "| config | rows | tokens, mean | fill, mean |\n|---|---|---|---|\n".to_owned(),
        false => "| config | rows | tokens, mean | tokens, most |\n|---|---|---|---|\n".to_owned(),
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
    text
}

/// A share of two numbers with three decimals.
fn thousandths(a: u64, b: u64) -> String {
    let share = a * 1000 / b.max(1);
    format!("{}.{:03}", share / 1000, share % 1000)
}

/// What a length means in each language under each tokenizer: tokens of prompts, and tokens a character.
fn token_table(plan: &Plan, manifest: &Manifest) -> String {
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
    let mut text = "\nTokens of prompts by language, length and tokenizer:\n\n".to_owned();
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
    text
}

/// How many rows exceed which model's window.
fn windows(plan: &Plan, manifest: &Manifest) -> String {
    if plan.models().next().is_none() {
        return String::new();
    }
    let mut text = "\nPrompts that, with answer and chat template, exceed a model's window:\n\n".to_owned();
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
    text
}
