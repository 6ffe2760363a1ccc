//! Rows of the reasoning family: rendered from an instance and its ranking, proven by solving them again.

use super::assemble::{Material, RowPlan, Sizes, render, row_id};
use super::certify::{Certifier, Seen, certificate, split};
use super::localize::Lines;
use super::render::{FileRows, Made, Rows};
use super::retrieved::{Cut, Retrievers};
use super::stats::Stats;
use crate::compact::{Layout, Parts, Recipe};
use crate::error::Result;
use crate::family::reasoning::Example;
use crate::language::Language;
use crate::plan::{FilePlan, Plan, Voice};
use crate::recipe::{Kind, Length, RagOrder, Retriever};
use crate::record::{Instance, LocalPool, Row};
use crate::report::Progress;
use crate::store::Lists;
use crate::story::{self, ANSWERERS, Answer, Mentions, SourceTask, credit, guesses};
use std::collections::BTreeMap;

/// The ranked passages of each instance.
pub enum Ranked {
    /// From retrieval.
    Lists(Lists),
    /// Noise has no ranking: each instance begins at a place of its own and goes round.
    Round {
        /// Passages of the pool.
        size: u32,
        /// Those that hold a name of a story in another language; none where there is no such story.
        barred: Vec<bool>,
    },
}

impl Ranked {
    /// The ranking of an instance.
    pub fn get(&self, plan: &Plan, index: usize, instance: &Instance) -> Result<Vec<u32>> {
        match self {
            Ranked::Lists(lists) => lists.get(index),
            Ranked::Round { size, barred } => {
                let first = plan.seed.derive("noise order", &instance.id).below(*size as usize) as u32;
                let fine = |n: &u32| !barred.get(*n as usize).is_some_and(|barred| *barred);
                Ok((first..*size).chain(0..first).filter(fine).collect())
            }
        }
    }
}

/// Haystacks of one language and kind, ready for writing.
pub struct Side<'a> {
    /// The haystack's language.
    pub language: Language,
    /// The kind of distractors.
    pub kind: Kind,
    /// Its passages.
    pub pool: &'a LocalPool,
    /// What each of their lines says.
    pub lines: &'a Lines<'a>,
    /// The rankings.
    pub ranked: &'a Ranked,
}

/// Everything that rows are made of.
pub struct Inputs<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The instances, in order.
    pub instances: &'a [Instance],
    /// Number of the first of them in the build: workers hold but some.
    pub first: usize,
    /// Token counts of each instance's parts, by voice.
    pub sizes: &'a BTreeMap<Voice, Vec<Sizes>>,
    /// Worked examples of each instance; none without a few-shot strategy.
    pub examples: &'a [Vec<Example>],
    /// Languages and kinds.
    pub sides: &'a [Side<'a>],
    /// What ranks sentences, where rows hold the best alone.
    pub retrievers: Option<&'a Retrievers<'a>>,
}

impl<'a> Rows for Inputs<'a> {
    type Desk = BTreeMap<(Voice, Language, Kind), Certifier<'a>>;

    fn row(&self, certifiers: &mut Self::Desk, file: &FilePlan, planned: RowPlan, prompt: &mut String) -> Result<Made> {
        let plan = self.plan;
        let side = self
            .sides
            .iter()
            .find(|s| (s.language, s.kind) == (file.haystack, file.kind))
            .expect("every file's language and kind are prepared");
        let voice = file.voice();
        let certifier = certifiers
            .entry((voice, file.haystack, file.kind))
            .or_insert_with(|| Certifier::new(plan.voices(voice), side.lines));
        // Answerers that look at whole contexts are counted once.
        let first = &plan.grid[0];
        let counts_mentions =
            file.language == first.language && file.haystack == first.haystack && file.strategy == first.strategy;
        let index = planned.instance as usize;
        let instance = &self.instances[index];
        let ranking = side.ranked.get(plan, index, instance)?;
        let sizes = &self.sizes[&voice][index];
        let examples = self.examples.get(index).map_or(&[][..], Vec::as_slice);
        let material = Material { file, examples, pool: side.pool };
        let (mut row, mut parts) = render(plan, &material, instance, sizes, planned, &ranking, prompt);
        let mut mentions = Mentions::default();
        let Seen { lines, repeated } = certifier
            .certify(prompt, &row.answers[0], counts_mentions.then_some(&mut mentions))
            .map_err(|e| e.at(format!("row {}", row.id)).help("this is a bug: no release was written"))?;
        row.certificate = certificate(file.kind);
        let mut stats = Stats { lines, repeated, ..Stats::default() };
        if let Some(rag) = file.rag {
            parts = self.cut(certifier, file, rag, index, &mut row, prompt)?;
            let found = row.retrieved.as_ref().expect("it was just cut");
            stats = Stats {
                lines: prompt_lines(prompt)?,
                answerable: u64::from(found.answerable),
                recall: found.recall,
                recall_supporting: found.recall_supporting,
                ..Stats::default()
            };
        } else if counts_mentions {
            let task = instance.source_task();
            if let Some(rare) = credit(&guesses(&instance.story, &mentions)[ANSWERERS.len() - 1], instance.answer) {
                stats.rarest.insert(task, (u64::from(rare), 1));
            }
            if let Some(common) = commonest(instance, &mentions) {
                stats.commonest.insert(task, (u64::from(common), 1));
            }
        }
        Ok(Made { row, stats, parts })
    }

    fn id(&self, file: &FilePlan, planned: RowPlan) -> String {
        row_id(&self.instances[planned.instance as usize].id, file)
    }

    fn slots(&self, _: &FilePlan, planned: RowPlan) -> Vec<u64> {
        self.instances[planned.instance as usize].depths.iter().map(|depth| u64::from(*depth)).collect()
    }

    fn compact(&self, file: &FilePlan, planned: RowPlan, row: &Row, prompt: &str) -> Result<Recipe> {
        self.compact_row(file, planned, row, prompt)
    }

    fn parts(&self, files: &[FileRows], parts: &mut Parts) -> Result<Vec<Layout>> {
        self.compact_parts(files, parts)
    }
}

/// Lines of a prompt's context.
fn prompt_lines(prompt: &str) -> Result<u64> {
    Ok(split(prompt)?.0.lines().count() as u64)
}

impl Inputs<'_> {
    /// Asks a program that ranks sentences for all that the files need, before any is written.
    pub fn ask(&self, files: &[FileRows]) -> Result<()> {
        // Files that differ in top_k alone are cut from the same prompts.
        let first = self.plan.recipe.rag.as_ref().and_then(|rag| rag.top_k.first());
        let one = first.map(|k| (Retriever::Command, *k));
        let asked: Vec<&FileRows> = files.iter().filter(|file| one.is_some() && file.file.rag == one).collect();
        let rows = || asked.iter().flat_map(|file| file.groups.iter().flatten().map(move |row| (&file.file, row)));
        let progress = Progress::new("rerank", rows().count() as u64, "prompts");
        let mut prompt = String::new();
        let mut desk = <Self as Rows>::Desk::default();
        for (file, planned) in rows() {
            let whole = FilePlan { rag: None, ..file.clone() };
            prompt.clear();
            let made = self.row(&mut desk, &whole, *planned, &mut prompt)?;
            let retrievers = self.retrievers.expect("a recipe with retrieved rows has retrievers");
            let lines: Vec<&str> = split(&prompt)?.0.lines().collect();
            let (voice, side) = ((file.language, file.question), (file.haystack, file.kind));
            let index = planned.instance as usize;
            retrievers.scores(Retriever::Command, voice, side, self.first + index, &made.row.question, &lines)?;
            progress.add(1);
        }
        progress.finish();
        Ok(())
    }

    /// Cuts a certified row down to its best sentences.
    fn cut(
        &self,
        certifier: &Certifier<'_>,
        file: &FilePlan,
        rag: (Retriever, u32),
        index: usize,
        row: &mut Row,
        prompt: &mut String,
    ) -> Result<Vec<u32>> {
        let (plan, instance) = (self.plan, &self.instances[index]);
        let retrievers = self.retrievers.expect("a recipe with retrieved rows has retrievers");
        let scores = {
            let lines: Vec<&str> = split(prompt)?.0.lines().collect();
            let voice = (file.language, file.question);
            retrievers.scores(rag.0, voice, (file.haystack, file.kind), self.first + index, &row.question, &lines)?
        };
        let voices = plan.voices(file.voice());
        let tokenizer = plan.ledger.primary();
        let cut = Cut {
            voices: &voices,
            rag,
            order: plan.recipe.rag.as_ref().map_or(RagOrder::Chronological, |rag| rag.order),
            question: instance.story.question,
            gold: instance.answer,
            facts: instance.story.facts.len(),
            tokenizer,
            added: plan.ledger.added(tokenizer),
        };
        cut.apply(row, prompt, &scores, |line| certifier.says(line))
    }
}

/// Credit of answering with the candidate that the context names most.
fn commonest(instance: &Instance, mentions: &Mentions) -> Option<u32> {
    let kind = instance.story.question.answered_by()?;
    let all = story::commonest(&mentions.counts[kind as usize]).map(|n| Answer::entity(kind, n));
    credit(&Some(all.collect()), instance.answer)
}

/// Which instances a length holds: all, but those whose task begins later.
pub fn holds(starts: &BTreeMap<SourceTask, Length>, instance: &Instance, length: Length) -> bool {
    length.0 == 0 || starts.get(&instance.source_task()).is_none_or(|start| length >= *start)
}
