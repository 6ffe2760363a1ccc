//! Which passages may not stand beside which question: those that hold one of its answers, in any language in
//! which it exists, and those that are nearly its needle.

use super::duplicates::Near;
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
#[derive(Clone, Default, Serialize, Deserialize)]
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

/// Compares every question with every passage.
pub fn apart(plan: &Plan, questions: &[&ByLanguage], haystack: &Haystack) -> Result<Vec<Apart>> {
    let mut all: Vec<Pattern> = Vec::new();
    let mut owners: Vec<u32> = Vec::new();
    for (n, by_language) in questions.iter().enumerate() {
        let own = patterns(&plan.packs, by_language);
        owners.extend(own.iter().map(|_| n as u32));
        all.extend(own);
    }
    let finder = Finder::new(&all)?;
    let mut apart = vec![Apart::default(); questions.len()];
    for (language, texts) in &haystack.texts {
        let rules = plan.pack(*language).matching();
        let normal: Vec<String> = texts.par_iter().map(|text| normalize(text)).collect();
        let hits: Vec<Vec<u32>> = normal.par_iter().map(|text| finder.find(text, rules)).collect();
        for (passage, hits) in hits.iter().enumerate() {
            for hit in hits {
                let list = apart[owners[*hit as usize] as usize].by_language.entry(*language).or_default();
                // Several answers of a question may stand in one passage.
                if list.last() != Some(&(passage as u32)) {
                    list.push(passage as u32);
                }
            }
        }
        for one in &mut apart {
            let list = one.by_language.entry(*language).or_default();
            one.any.extend(list.iter());
        }
        let near = Near::new(normal.iter().map(String::as_str));
        let twins: Vec<Vec<u32>> = questions
            .par_iter()
            .map(|by_language| match by_language.get(language) {
                Some(needle) => near.of(&normalize(&needle.context)),
                None => Vec::new(),
            })
            .collect();
        for (one, twins) in apart.iter_mut().zip(twins) {
            let list = one.by_language.entry(*language).or_default();
            list.extend(twins);
            list.sort_unstable();
            list.dedup();
        }
    }
    for one in &mut apart {
        one.any.sort_unstable();
        one.any.dedup();
        one.leaks = one.any.len() as u64;
        one.any.extend(one.by_language.values().flatten());
        one.any.sort_unstable();
        one.any.dedup();
        one.duplicates = one.any.len() as u64 - one.leaks;
    }
    Ok(apart)
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
