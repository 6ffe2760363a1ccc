//! Ranks the haystack for each question of MLNeedle: most similar first, by exact integer scores, ties by passage.

use super::counter::{Counter, Item};
use super::embed::Vectors;
use super::haystack::Haystack;
use super::leaks::Apart;
use crate::error::Result;
use crate::index::{self, Index};
use crate::language::Language;
use crate::plan::{Plan, pairs};
use crate::recipe::{Engine, Haystack as In, PromptKind, QuestionLanguage};
use crate::record::NeedleInstance;
use crate::report::Progress;
use std::collections::BTreeMap;

/// Raised when this stage ranks otherwise with the same vectors.
pub const VERSION: u32 = 1;

/// So many passages are ranked beyond those that fill the largest length.
const MARGIN: usize = 64;

/// Among so many nearest the recall of an engine is measured, as the paper ranks so many.
pub const RECALL_AT: usize = 300;

/// Recall is measured on the first so many questions.
const RECALL_QUERIES: usize = 100;

/// What ranking needs.
pub struct Ranker<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The questions.
    pub instances: &'a [NeedleInstance],
    /// What may not stand beside each.
    pub apart: &'a [Apart],
    /// Token counts of the passages.
    pub counter: &'a Counter<'a>,
    /// The passages.
    pub haystack: &'a Haystack,
    /// The passages' vectors, by language.
    pub passages: &'a BTreeMap<Language, Vectors>,
    /// The questions' vectors, by language: of each instance, if it exists there.
    pub questions: &'a BTreeMap<Language, (Vectors, Vec<Option<u32>>)>,
}

/// What ranking found out about its engine.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The engine's name.
    pub engine: String,
    /// Share of the exact nearest that it finds, in millionths; none for the exact one.
    pub recall: Option<u64>,
}

/// The languages in which a recipe's questions are asked.
pub fn question_languages(plan: &Plan) -> Vec<Language> {
    match plan.recipe.grid.question {
        Some(QuestionLanguage::Fixed(language)) => vec![language],
        _ => plan.packs.iter().map(|(l, _)| *l).collect(),
    }
}

/// The engine for so many passages.
pub fn engine(plan: &Plan, passages: usize) -> index::Engine {
    match plan.recipe.retrieval.engine {
        Engine::Auto => index::choose(passages),
        Engine::Exact => index::Engine::Exact,
        Engine::Hnsw => index::Engine::Hnsw,
    }
}

impl Ranker<'_> {
    /// One vector a question: the sum over the languages in which it is asked.
    fn queries(&self) -> index::Vectors {
        let dimensions = self.passages.values().next().map_or(0, |v| v.dimensions);
        let mut data = vec![0i16; dimensions * self.instances.len()];
        for (vectors, rows) in self.questions.values() {
            for (sum, row) in data.chunks_mut(dimensions.max(1)).zip(rows) {
                let Some(row) = row else { continue };
                sum.iter_mut().zip(vectors.of(*row as usize)).for_each(|(sum, c)| *sum += i16::from(*c));
            }
        }
        index::Vectors { dimensions, data }
    }

    /// One vector a passage: the sum over the languages.
    fn summed(&self) -> index::Vectors {
        let dimensions = self.passages.values().next().map_or(0, |v| v.dimensions);
        let mut data = vec![0i16; dimensions * self.haystack.ids.len()];
        for vectors in self.passages.values() {
            data.iter_mut().zip(&vectors.data).for_each(|(sum, c)| *sum += i16::from(*c));
        }
        index::Vectors { dimensions, data }
    }

    /// One vector a passage and language, by number x languages + language; or of one language alone.
    fn each(&self, haystack: In) -> index::Vectors {
        let dimensions = self.passages.values().next().map_or(0, |v| v.dimensions);
        let chosen: Vec<&Vectors> = match haystack {
            In::In(language) => vec![&self.passages[&language]],
            In::Multilingual => self.plan.packs.iter().map(|(l, _)| &self.passages[l]).collect(),
        };
        let mut data = Vec::with_capacity(dimensions * self.haystack.ids.len() * chosen.len());
        for n in 0..self.haystack.ids.len() {
            chosen.iter().for_each(|vectors| data.extend(vectors.of(n).iter().map(|c| i16::from(*c))));
        }
        index::Vectors { dimensions, data }
    }

    /// The languages in which a passage of the pivoted ranking may be printed, and what adds its tokens to a sum for each of them.
    fn pivoted(&self) -> (Vec<Language>, impl Fn(u32, &mut Vec<u64>)) {
        let haystacks: Vec<In> = pairs(&self.plan.recipe).into_iter().map(|(_, haystack)| haystack).collect();
        let multilingual = haystacks.contains(&In::Multilingual);
        let all: Vec<Language> = self.plan.packs.iter().map(|(l, _)| *l).collect();
        // A passage may be printed in any of these; in a multilingual haystack, in the one that has the fewest tokens.
        let languages: Vec<Language> =
            all.into_iter().filter(|l| multilingual || haystacks.contains(&In::In(*l))).collect();
        let own = languages.clone();
        let tokens = move |number: u32, sums: &mut Vec<u64>| {
            sums.resize(own.len() + 1, 0);
            let mut least = u64::MAX;
            for (sum, language) in sums.iter_mut().zip(&own) {
                let tokens = u64::from(self.counter.tokens_in(In::In(*language))[number as usize]);
                *sum += tokens;
                least = least.min(tokens);
            }
            // The last sum is the multilingual haystack's least.
            let last = own.len();
            sums[last] += if multilingual { least } else { u64::from(u32::MAX) };
        };
        (languages, tokens)
    }

    /// Does the pivoted ranking of a question take no more than these, its nearest passages in order?
    pub fn is_enough(&self, instance: usize, nearest: &[u32]) -> bool {
        let (languages, tokens) = self.pivoted();
        let allowed = |number: u32| self.apart[instance].allows(self.plan, languages[0], number);
        !self.ranks_all() && self.head(nearest.iter().copied(), &tokens, &allowed).1
    }

    /// The passages of a list that a question takes: as many as fill the largest length, and a margin; whether the list holds so many.
    fn head(
        &self,
        nearest: impl Iterator<Item = u32>,
        tokens: &dyn Fn(u32, &mut Vec<u64>),
        allowed: &dyn Fn(u32) -> bool,
    ) -> (Vec<u32>, bool) {
        let need = self.plan.recipe.budget.tokens(self.plan.largest());
        let whole = self.ranks_all();
        let (mut kept, mut sums, mut beyond) = (Vec::new(), Vec::new(), 0);
        for number in nearest.filter(|number| allowed(*number)) {
            kept.push(number);
            tokens(number, &mut sums);
            beyond += usize::from(sums.iter().all(|sum| *sum > need));
            if beyond > MARGIN && !whole {
                break;
            }
        }
        (kept, beyond > MARGIN)
    }

    /// With needle-free twins all passages are ranked, since the next that fits in the needle's place may be far down.
    fn ranks_all(&self) -> bool {
        self.plan.recipe.grid.prompts.iter().flatten().any(|p| *p == PromptKind::Existence)
    }

    /// The pivoted ranking: one list a question for every haystack.
    pub fn pivot(&self, push: &mut dyn FnMut(&[u32]) -> Result<()>) -> Result<About> {
        let (languages, tokens) = self.pivoted();
        let first = languages[0];
        let allowed = |instance: usize, number: u32| self.apart[instance].allows(self.plan, first, number);
        self.lists("retrieve", &self.summed(), &tokens, &allowed, push)
    }

    /// The ranking of one haystack for itself.
    pub fn own(&self, haystack: In, push: &mut dyn FnMut(&[u32]) -> Result<()>) -> Result<About> {
        let languages: Vec<Language> = match haystack {
            In::In(language) => vec![language],
            In::Multilingual => self.plan.packs.iter().map(|(l, _)| *l).collect(),
        };
        let n = languages.len() as u32;
        let item = |number: u32| Item { language: languages[(number % n) as usize], passage: number / n };
        let tokens = |number: u32, sums: &mut Vec<u64>| {
            sums.resize(1, 0);
            let item = item(number);
            sums[0] += u64::from(self.counter.tokens_in(In::In(item.language))[item.passage as usize]);
        };
        let allowed = |instance: usize, number: u32| {
            let item = item(number);
            self.apart[instance].allows(self.plan, item.language, item.passage)
        };
        self.lists(&format!("retrieve {haystack}"), &self.each(haystack), &tokens, &allowed, push)
    }

    /// Each question's list: the head of its nearest.
    fn lists(
        &self,
        label: &str,
        base: &index::Vectors,
        tokens: &dyn Fn(u32, &mut Vec<u64>),
        allowed: &dyn Fn(usize, u32) -> bool,
        push: &mut dyn FnMut(&[u32]) -> Result<()>,
    ) -> Result<About> {
        let queries = self.queries();
        let engine = engine(self.plan, base.len());
        let index = Index::build(engine, base)?;
        let mut done: Vec<Option<Vec<u32>>> = vec![None; self.instances.len()];
        let progress = Progress::new(label, self.instances.len() as u64, "questions");
        let mut k = if self.ranks_all() { base.len() } else { (4 * RECALL_AT).min(base.len()) };
        loop {
            let open: Vec<usize> = (0..done.len()).filter(|n| done[*n].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let mut data = Vec::with_capacity(open.len() * queries.dimensions);
            open.iter().for_each(|n| data.extend_from_slice(queries.row(*n)));
            let asked = index::Vectors { dimensions: queries.dimensions, data };
            index.top(&asked, k, |n, list| {
                let nearest = list.iter().map(|(_, number)| *number);
                let (kept, enough) = self.head(nearest, tokens, &|number| allowed(open[n], number));
                if enough || k == base.len() {
                    done[open[n]] = Some(kept);
                    progress.add(1);
                }
            })?;
            // More of the list: its head is the same.
            k = (2 * k).min(base.len());
        }
        progress.finish();
        for list in done.into_iter().flatten() {
            push(&list)?;
        }
        let recall = match engine {
            index::Engine::Exact => None,
            index::Engine::Hnsw => {
                let few = queries.dimensions * self.instances.len().min(RECALL_QUERIES);
                let some = index::Vectors { dimensions: queries.dimensions, data: queries.data[..few].to_vec() };
                Some(u64::from(index::recall(&index, base, &some, RECALL_AT)?))
            }
        };
        Ok(About { engine: engine.name().to_owned(), recall })
    }
}
