//! Languages without a pack: machine translation as a pinned stage, from the recipe to the card.

mod failures;
mod memory;
mod quality;
mod recipes;
mod review;
mod service;
mod whole;

use crate::support::*;
use nihbuild::manifest::Manifest;
use nihbuild::stage::translate::TranslationFacts;
use nihbuild::table::{text, texts};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One story of each task.
const ALL: &str = "qa1 = 1, qa2 = 1, qa3 = 1, qa4 = 1, qa5 = 1, qa6 = 1, qa7 = 1, qa8 = 1, qa9 = 1, qa10 = 1, qa11 = 1, \
qa12 = 1, qa13 = 1, qa14 = 1, qa15 = 1, qa16 = 1, qa17 = 1, qa18 = 1, qa19 = 1, qa20 = 1";

/// A recipe in its parts.
struct Draft<'a> {
    tasks: &'a str,
    languages: &'a [&'a str],
    lengths: &'a [&'a str],
    pool: u32,
    /// Keys of `[translation]`.
    translation: &'a str,
    /// Keys of `[translation.service]`.
    service: String,
    /// Further tables.
    more: &'a str,
}

impl Default for Draft<'_> {
    /// As small as it gets.
    fn default() -> Self {
        Draft {
            tasks: "qa1 = 2",
            languages: &["en", "xx"],
            lengths: &["0k"],
            pool: 10,
            translation: "",
            service: String::new(),
            more: "[translation.languages.xx]\n",
        }
    }
}

impl Draft<'_> {
    fn text(&self) -> String {
        let Draft { tasks, languages, lengths, pool, translation, service, more } = self;
        format!(
            "[release]\nname = \"mt\"\nversion = \"1.0.0\"\nseed = 5\n\n[stories]\ntasks = {{ {tasks} }}\n\n\
             [grid]\nlanguages = {languages:?}\nlengths = {lengths:?}\n\n[distractors]\npool = {pool}\n\n\
             [translation]\n{translation}\n[translation.service]\n{service}\n{more}"
        )
    }
}

/// Nobody may see it.
const KEY: &str = "the-key-that-nobody-may-see";

/// A command with the key in its environment.
fn keyed(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bench.command(args);
    command.env("MT_TEST_KEY", KEY);
    command
}

fn run(bench: &Bench, args: &[&str]) -> Outcome {
    Outcome::of(keyed(bench, args).output().unwrap())
}

/// Builds a draft into the folder `out`, and gives the release.
#[track_caller]
fn build(bench: &Bench, draft: &Draft<'_>, args: &[&str]) -> PathBuf {
    bench.write("r.toml", &draft.text());
    run(bench, &[&["recipe", "r.toml"], args].concat()).success().release(bench)
}

#[track_caller]
fn verified(bench: &Bench, release: &Path) {
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
}

fn manifest(release: &Path) -> Manifest {
    nihbuild::verify::read_manifest(release).unwrap()
}

/// What the manifest says of the language xx.
fn facts(release: &Path) -> TranslationFacts {
    manifest(release).translations["xx"].clone()
}

fn card(release: &Path) -> String {
    std::fs::read_to_string(release.join("README.md")).unwrap()
}

/// What tests look at in a row.
struct Row {
    instance: String,
    task: String,
    prompt: String,
    question: String,
    answers: Vec<String>,
    certificate: String,
}

impl Row {
    /// The sentences of the context.
    fn lines(&self) -> Vec<&str> {
        let context = self.prompt.split("<context>\n").nth(1).unwrap().split("</context>").next().unwrap();
        context.lines().collect()
    }
}

/// The rows of a config.
fn rows(release: &Path, config: &str) -> Vec<Row> {
    let mut all = Vec::new();
    for batch in batches(&release.join(format!("data/{config}/test-00000-of-00001.parquet"))) {
        for row in 0..batch.num_rows() {
            let get = |name| text(&batch, name, row).to_owned();
            all.push(Row {
                instance: get("instance_id"),
                task: get("source_task"),
                prompt: get("prompt"),
                question: get("question"),
                answers: texts(&batch, "answers", row),
                certificate: get("certificate"),
            });
        }
    }
    all
}

/// All prompts of a release.
fn all_prompts(release: &Path) -> Vec<String> {
    let files = data_files(release);
    files.iter().flat_map(|file| prompts(&release.join(file))).map(|(_, prompt)| prompt).collect()
}

/// Is there Python? Else a word on stderr that the test is skipped.
fn python(test: &str) -> bool {
    let there = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: no python3 for {test}");
    }
    there
}
