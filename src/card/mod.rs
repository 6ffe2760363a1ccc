//! What a release says of itself to people, hubs and tools: the dataset card, the licence page, the citation, and
//! descriptions in Croissant and RO-Crate. All of it comes from plan and manifest.

mod cite;
mod croissant;
mod front;
mod licences;
mod made;
mod papers;
mod ro_crate;
mod tables;

use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::recipe::{Erratum, Family};
use std::collections::BTreeMap;

/// The texts that describe a release, by name.
pub const FILES: [&str; 4] = ["README.md", "CITATION.cff", "LICENSE.md", croissant::FILE];

/// The one more that a recipe may ask for.
pub const ON_DEMAND: &str = ro_crate::FILE;

/// Makes them.
pub fn files(plan: &Plan, manifest: &Manifest) -> BTreeMap<String, String> {
    let [card, citation, licence, croissant] = FILES;
    let mut files = BTreeMap::from([
        (card.to_owned(), self::card(plan, manifest)),
        (citation.to_owned(), cite::citation(plan, manifest)),
        (licence.to_owned(), licences::page(plan, manifest)),
        (croissant.to_owned(), croissant::croissant(plan, manifest)),
    ]);
    if plan.recipe.release.ro_crate {
        files.insert(ON_DEMAND.to_owned(), ro_crate::ro_crate(plan, manifest));
    }
    files
}

/// A text in quotation marks, as JSON and YAML both read it.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text")
}

/// What the release is, in one line: the recipe's own words, or ours.
fn description(plan: &Plan, manifest: &Manifest) -> String {
    if let Some(own) = &plan.recipe.release.description {
        return own.clone();
    }
    let languages: Vec<&str> = plan.packs.iter().map(|(_, pack)| pack.english_name()).collect();
    let what = match plan.family {
        Family::Reasoning => "bAbI's reasoning tasks, retold and spread over distractors (MLRBench)",
        Family::Passage => {
            "questions whose answering passage stands among the passages most like it (Multilingual Needle in a Haystack)"
        }
        Family::Factoid => "one sentence hidden in running text and asked for, by length and depth (in-context recall)",
    };
    format!("{} frozen long-context prompts in {}: {what}.", manifest.rows, joined(&languages))
}

fn joined(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The dataset card: front matter that loaders read, then what a person wants to know first.
pub fn card(plan: &Plan, manifest: &Manifest) -> String {
    let mut text = front::front(plan, manifest);
    text += &format!("# {}\n\n{}\n\n", manifest.title(), markdown(&description(plan, manifest)));
    text += &format!(
        "{} prompts, {} tokens ({}). {}\n\n",
        manifest.rows,
        manifest.tokens,
        plan.ledger.primary().name(),
        proven(plan.family)
    );
    text += &use_it(plan, manifest);
    text += "## Scoring\n\n";
    text += scoring(plan.family);
    text += "## What is in it\n\n";
    text += &tables::counts(plan, manifest);
    text += &tables::configs(plan, manifest);
    text += &tables::tokens(plan, manifest);
    text += &tables::windows(plan, manifest);
    text += &tables::retrieved(plan, manifest);
    text += "## How it was made\n\n";
    text += &made::made(plan, manifest);
    text += "## Licence and sources\n\n";
    text += &made::sources(manifest);
    text += "## What was left out\n\n";
    text += &made::left_out(manifest);
    text += &made::answerers(manifest);
    text += "## Known limits\n\n";
    text += &made::limits(plan, manifest);
    text += "## Errata\n\n";
    text += &errata(plan, &manifest.errata);
    text += &format!(
        "## Canary\n\n`{}`\n\nKeep this line, and so this release, out of training corpora: a model that can complete it has seen them.\n\n",
        manifest.canary
    );
    text +=
        &format!("## Citation\n\n```bibtex\n{}```\n\n`CITATION.cff` says the same.\n", cite::bibtex(plan, manifest));
    text
}

fn proven(family: Family) -> &'static str {
    match family {
        Family::Reasoning => {
            "Every whole prompt was read back from its final text, in its own\nlanguage, and solved to its one gold answer."
        }
        Family::Passage => {
            "Every prompt was taken apart again: the passage\nthat answers stands there once (in a needle-free twin, `expected` No, not at all), and no other one holds an\nanswer, in any language."
        }
        Family::Factoid => {
            "Every prompt was taken apart again: its needle\nstands there once and whole, at a sentence break, and the running text around it is unchanged."
        }
    }
}

/// How to load, verify and rebuild it.
fn use_it(plan: &Plan, manifest: &Manifest) -> String {
    let first = plan.files.first().map_or("", |file| file.config.as_str());
    let path = plan.files.first().map(|file| file.path()).unwrap_or_default();
    let flags = manifest.filter.as_ref().map(|filter| " ".to_owned() + &filter.flags()).unwrap_or_default();
    format!(
        "## Loading\n\n\
         ```python\n\
         from datasets import load_dataset\n\
         rows = load_dataset(\"FOLDER\", \"{first}\", split=\"test\")    # FOLDER: this folder\n\n\
         import polars\n\
         rows = polars.read_parquet(\"FOLDER/{path}\")    # also pyarrow.parquet.read_table and DuckDB's read_parquet\n\
         ```\n\n\
         `nihbuild export FOLDER --to lm-eval --out DIR` writes the tasks of an evaluator (also inspect, lighteval, openai-evals and jsonl).\n\n\
         ## Verifying\n\n\
         Rows digest: `{}`\n\n\
         It is the same for the same rows, however they are stored. `sha256sum -c SHA256SUMS` checks the bytes, `nihbuild verify FOLDER`\n\
         proves every row again from its text, `nihbuild recipe recipe.toml{flags}` builds the release again, and `nihbuild audit FOLDER`\n\
         does so and compares.\n\n",
        manifest.rows_digest
    )
}

fn scoring(family: Family) -> &'static str {
    match family {
        Family::Reasoning => {
            "A model is asked for JSON. Take the value of its `answer` (join a list with commas), cut spaces and a final\n\
             full stop, fold case, and compare it whole with `answers` and `answer_variants`. `nihbuild score` does so, and knows prose,\n\
             refusals, number words and lists.\n\n"
        }
        Family::Passage => {
            "An answer is right when it holds one of `answers_by_language`, as whole words, whatever its language; to an\n\
             existence prompt when it is `expected`. The paper decodes with temperature 0.7 and top-k 50; `nihbuild score` computes its metrics.\n\n"
        }
        Family::Factoid => {
            "A model's answer is rated from 1 to 5 against the needle by the judge's prompt in `judge.json`; recall is the sum of\n\
             the ratings / (5 x prompts). Without a judge: an answer is right when it holds one of `answers`. `length` is the asked\n\
             length in tokens, `haystack_tokens` the true one of the text with its needle; `position` is the asked depth in percent,\n\
             the needle span's `depth` the true one in millionths of the text; `moved` counts nearer sentence breaks that were passed over\n\
             because the sentence behind them points back at, or leans on, what came before. Rows of one `pair_id` ask for another\n\
             needle on the very same text at the very same place.\n\n"
        }
    }
}

fn errata(plan: &Plan, errata: &[Erratum]) -> String {
    if errata.is_empty() {
        return "None are known.\n\n".to_owned();
    }
    let mut text = "| rows | since | fixed | what is wrong |\n|---|---|---|---|\n".to_owned();
    for erratum in errata {
        let rows: Vec<String> = erratum.rows.iter().map(|id| format!("`{id}`")).collect();
        let fixed = match &erratum.fixed {
            Some(fixed) => fixed.to_string(),
            None => "open".to_owned(),
        };
        text += &format!("| {} | {} | {fixed} | {} |\n", rows.join(" "), erratum.since, markdown(&erratum.what));
    }
    let open = errata.iter().filter(|erratum| erratum.is_open(&plan.recipe.release.version));
    let rows: usize = open.map(|erratum| erratum.rows.len()).sum();
    text + &format!("\n{rows} rows of this version are wrong as said above.\n\n")
}

/// Text of a recipe's author as Markdown prints it, in a paragraph or a table.
fn markdown(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\`*_[]<>|#".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A share of two numbers with three decimals.
fn thousandths(a: u64, b: u64) -> String {
    let share = a * 1000 / b.max(1);
    format!("{}.{:03}", share / 1000, share % 1000)
}
