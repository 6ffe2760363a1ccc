//! Which passages may not stand beside which question: those that hold one of its answers, in any language in
//! which it exists, and those that are nearly its needle.

use super::duplicates::{Near, Shingles};
use super::haystack::Haystack;
use crate::error::Result;
use crate::language::{Finder, Language, Pack, Pattern, normalize};
use crate::plan::Plan;
use crate::recipe::Ranking;
use crate::record::Needle;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Raised when other passages are kept apart.
pub const VERSION: u32 = 1;

/// A question in every language in which it exists.
pub type ByLanguage = BTreeMap<Language, Needle>;

/// The passages that may not stand beside a question, ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Apart {
    /// By the passage's language.
    by_language: BTreeMap<Language, Vec<u32>>,
    /// In whatever language.
    any: Vec<u32>,
    /// Passages that hold an answer in some language.
    pub leaks: u64,
    /// Passages that are nearly the needle, and hold no answer.
    pub duplicates: u64,
}

impl Apart {
    /// Those that may not stand there in a language: with a pivoted ranking a passage is out in all languages if it is
    /// out in one, so that haystacks stay parallel.
    pub fn of(&self, plan: &Plan, language: Language) -> &[u32] {
        match plan.recipe.retrieval.ranking {
            Ranking::Pivot => &self.any,
            Ranking::PerLanguage => self.by_language.get(&language).map(Vec::as_slice).unwrap_or_default(),
        }
    }

    /// The same for a haystack of these passages alone (ascending), numbered in their order.
    pub fn among(&self, passages: &[u32]) -> Apart {
        let of = |list: &Vec<u32>| -> Vec<u32> {
            let kept = list.iter().filter_map(|n| passages.binary_search(n).ok());
            kept.map(|n| n as u32).collect()
        };
        Apart {
            by_language: self.by_language.iter().map(|(language, list)| (*language, of(list))).collect(),
            any: of(&self.any),
            ..self.clone()
        }
    }

    /// May a passage stand there?
    pub fn allows(&self, plan: &Plan, language: Language, passage: u32) -> bool {
        self.of(plan, language).binary_search(&passage).is_err()
    }
}

/// The patterns of a question's answers, as the languages' packs match them.
pub fn patterns(packs: &[(Language, Pack)], by_language: &ByLanguage) -> Vec<Pattern> {
    let mut all = Vec::new();
    for (language, pack) in packs {
        let Some(needle) = by_language.get(language) else { continue };
        for answer in &needle.answers {
            // Only the first answer's place is recorded; another is where it is first found.
            let at = match *answer == needle.context[needle.start as usize..needle.end as usize] {
                true => Some(needle.start as usize),
                false => needle.context.find(answer.as_str()),
            };
            let place = at.map(|at| (needle.context.as_str(), needle.context[..at].chars().count()));
            all.push(Pattern::new(answer, pack.matching(), place));
        }
    }
    all
}

/// Why a passage may not stand beside a question.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// It holds one of the answers.
    Answer,
    /// It is nearly the needle.
    Needle,
}

/// Compares questions with passages, of which each is judged alone: any split of them gives the same.
pub struct Comparison<'a> {
    packs: &'a [(Language, Pack)],
    finder: Finder,
    /// By pattern of the finder, the question.
    owners: Vec<u32>,
    /// By language: the questions that exist there, and their needles' wording.
    needles: BTreeMap<Language, Vec<(u32, Shingles)>>,
}

impl<'a> Comparison<'a> {
    /// Of these questions.
    pub fn new(packs: &'a [(Language, Pack)], questions: &[&ByLanguage]) -> Result<Comparison<'a>> {
        let mut all: Vec<Pattern> = Vec::new();
        let mut owners: Vec<u32> = Vec::new();
        for (n, by_language) in questions.iter().enumerate() {
            let own = patterns(packs, by_language);
            owners.extend(own.iter().map(|_| n as u32));
            all.extend(own);
        }
        let needles = packs.iter().map(|(language, _)| {
            let own = questions.par_iter().enumerate();
            let own = own.filter_map(|(n, question)| Some((n as u32, Shingles::of(&question.get(language)?.context))));
            (*language, own.collect())
        });
        Ok(Comparison { packs, finder: Finder::new(&all)?, owners, needles: needles.collect() })
    }

    /// Question, place among `texts`, and why, of passages in a language of the packs: ascending, each once.
    pub fn found<T: AsRef<str> + Sync>(&self, language: Language, texts: &[T]) -> Vec<(u32, u32, Reason)> {
        let pack = self.packs.iter().find(|(own, _)| *own == language);
        let (Some((_, pack)), Some(needles)) = (pack, self.needles.get(&language)) else { return Vec::new() };
        let rules = pack.matching();
        let normal: Vec<String> = texts.par_iter().map(|text| normalize(text.as_ref())).collect();
        let hits: Vec<Vec<u32>> = normal.par_iter().map(|text| self.finder.find(text, rules)).collect();
        let hits = (0u32..).zip(hits).flat_map(|(passage, hits)| hits.into_iter().map(move |hit| (hit, passage)));
        let mut all: Vec<_> = hits.map(|(hit, passage)| (self.owners[hit as usize], passage, Reason::Answer)).collect();
        let near = Near::among(normal.into_par_iter().map(Shingles::of_normal).collect());
        let twins: Vec<(u32, Vec<u32>)> =
            needles.par_iter().map(|(question, needle)| (*question, near.like(needle))).collect();
        for (question, twins) in twins {
            all.extend(twins.into_iter().map(|passage| (question, passage, Reason::Needle)));
        }
        all.par_sort_unstable();
        // Several answers of a question may stand in one passage.
        all.dedup();
        all
    }
}

/// Gathers what keeps passages apart, of all questions, in any order.
pub struct Gathered {
    apart: Vec<Apart>,
}

impl Gathered {
    /// Nothing yet, of so many questions and of passages in these languages.
    pub fn new(questions: usize, languages: impl IntoIterator<Item = Language>) -> Gathered {
        let by_language: BTreeMap<_, _> = languages.into_iter().map(|language| (language, Vec::new())).collect();
        Gathered { apart: vec![Apart { by_language, ..Apart::default() }; questions] }
    }

    /// A passage that may not stand beside a question.
    pub fn add(&mut self, question: u32, language: Language, passage: u32, reason: Reason) {
        let one = &mut self.apart[question as usize];
        one.by_language.entry(language).or_default().push(passage);
        if reason == Reason::Answer {
            one.any.push(passage);
        }
    }

    /// By question.
    pub fn all(mut self) -> Vec<Apart> {
        for one in &mut self.apart {
            one.by_language.values_mut().for_each(ascending);
            ascending(&mut one.any);
            one.leaks = one.any.len() as u64;
            one.any.extend(one.by_language.values().flatten());
            ascending(&mut one.any);
            one.duplicates = one.any.len() as u64 - one.leaks;
        }
        self.apart
    }
}

fn ascending(list: &mut Vec<u32>) {
    list.sort_unstable();
    list.dedup();
}

/// Compares every question with every passage.
pub fn apart(plan: &Plan, questions: &[&ByLanguage], haystack: &Haystack) -> Result<Vec<Apart>> {
    let comparison = Comparison::new(&plan.packs, questions)?;
    let mut gathered = Gathered::new(questions.len(), haystack.texts.keys().copied());
    for (language, texts) in &haystack.texts {
        for (question, passage, reason) in comparison.found(*language, texts) {
            gathered.add(question, *language, passage, reason);
        }
    }
    Ok(gathered.all())
}

/// Finds one question's answers in any text: what certifying and cutting need.
pub struct Guard {
    finder: Finder,
}

impl Guard {
    /// A guard over a question's answers.
    pub fn new(patterns: &[Pattern]) -> Result<Guard> {
        Ok(Guard { finder: Finder::new(patterns)? })
    }

    /// Does a text in a language hold one of the answers?
    pub fn holds(&self, text: &str, pack: &Pack) -> bool {
        !self.finder.find(&normalize(text), pack.matching()).is_empty()
    }
}
