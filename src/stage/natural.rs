//! Natural distractors of the reasoning family: passages of running text, parallel in all languages of the recipe.
//!
//! The paper's third kind. A passage that names an actor of the stories, or a place or an object that can be an
//! answer, in any language, stands beside no story at all: so the gold cannot be told by what is missing. Yes, no,
//! maybe and numbers are no names, and stay.

use super::distractors::{banned, holds};
use super::haystack;
use super::ingest::SourceFile;
use crate::error::Result;
use crate::fail;
use crate::hash::Digest;
use crate::language::Language;
use crate::manifest::PassageFacts;
use crate::plan::Plan;
use crate::source::locate::Locator;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The passages that are left, the same in every language.
pub struct Natural {
    /// By language, in the order of their numbers.
    texts: BTreeMap<Language, Vec<String>>,
    /// The files they come from.
    pub files: Vec<SourceFile>,
    /// What was dropped.
    pub facts: PassageFacts,
    /// Digest of all of it.
    pub digest: Digest,
}

impl Natural {
    /// Passages that are ready: in every language the same numbers.
    pub fn of(texts: BTreeMap<Language, Vec<String>>, files: Vec<SourceFile>, facts: PassageFacts) -> Natural {
        let parts: Vec<&[u8]> = texts.values().flatten().map(String::as_bytes).collect();
        let digest = Digest::of_parts(parts);
        Natural { texts, files, facts, digest }
    }

    /// The passages in a language, a line each.
    pub fn lines(&self, language: Language) -> Vec<String> {
        self.texts[&language].iter().map(|text| format!("{text}\n")).collect()
    }
}

/// Reads and filters the passages.
pub fn read(plan: &Plan) -> Result<Natural> {
    let haystack = haystack::read(plan, &Locator::new(plan)?)?;
    let names: BTreeMap<Language, Vec<String>> =
        plan.packs.iter().map(|(l, pack)| (*l, banned(pack, plan.tells_late()))).collect();
    let reason = |n: usize| -> Option<String> {
        haystack.texts.iter().find_map(|(language, texts)| {
            let text = &texts[n];
            if text.chars().next().is_none_or(|c| !plan.ledger.primary().seam_adds(c)) {
                return Some("begins with a slash".to_owned());
            }
            holds(text, &names[language])
                .then(|| format!("names an actor, a place or an object of the stories in {language}"))
        })
    };
    let reasons: Vec<Option<String>> = (0..haystack.ids.len()).into_par_iter().map(reason).collect();
    let mut facts = haystack.facts;
    for reason in reasons.iter().flatten() {
        *facts.dropped.entry("passages".to_owned()).or_default().entry(reason.clone()).or_default() += 1;
    }
    let keep = |texts: Vec<String>| -> Vec<String> {
        texts.into_iter().zip(&reasons).filter(|(_, reason)| reason.is_none()).map(|(text, _)| text).collect()
    };
    let texts: BTreeMap<Language, Vec<String>> =
        haystack.texts.into_iter().map(|(l, texts)| (l, keep(texts))).collect();
    facts.passages = texts.values().next().map_or(0, |texts| texts.len() as u64);
    if facts.passages == 0 {
        fail!("every passage names somebody or something of the stories: none is left as a distractor");
    }
    Ok(Natural::of(texts, haystack.files, facts))
}
