//! Reads the questions of MLNeedle, joins them across languages, and decides which become instances.
//!
//! Each is judged alone: against its own texts, the recipe's full grid, and the haystack. The fixed order of the
//! admitted ones gives them their numbers; a cell takes the first of them that exist in its languages.

use super::counter::{Counter, NeedleSizes};
use super::haystack::{Haystack, count_dropped, json_file};
use super::ingest::SourceFile;
use super::leaks::{self, Apart, ByLanguage};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::language::Language;
use crate::manifest::PassageFacts;
use crate::plan::{Plan, pairs};
use crate::recipe::{Choice, Haystack as In, Length, PromptKind, QuestionLanguage};
use crate::record::{Needle, NeedleInstance};
use crate::source::locate::{Locator, fill};
use crate::source::squad;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Raised when other questions are admitted, or in another order, from the same files.
pub const VERSION: u32 = 1;

/// How the reason begins for which a question is refused that a larger haystack might do for.
pub const TOO_FEW: &str = "with too few passages";

/// The questions as they were read.
pub struct Questions {
    /// Joined across languages, by the source's ids.
    joined: Vec<(String, ByLanguage)>,
    /// Row of each id in its language's files.
    rows: BTreeMap<(Language, String), u32>,
    /// Questions that are not sound in every language in which they exist, by reason.
    refused: BTreeMap<String, u64>,
    /// The files.
    pub files: Vec<SourceFile>,
    /// What was dropped.
    pub facts: PassageFacts,
}

impl Questions {
    /// Those that are sound in every language in which they exist, by the source's ids, in the source's order.
    pub fn joined(&self) -> &[(String, ByLanguage)] {
        &self.joined
    }

    /// Where a question stands in the fixed order: those in most languages first, so that cells share as many as they can; else
    /// in a seeded order.
    pub fn place(&self, plan: &Plan, n: usize) -> impl Ord + use<> {
        let (id, by_language) = &self.joined[n];
        (std::cmp::Reverse(by_language.len()), plan.seed.derive("questions", id).bits(), id.clone())
    }
}

/// Reads a recipe's files of questions.
pub fn read(plan: &Plan, locator: &Locator<'_>) -> Result<Questions> {
    let source = &plan.recipe.source;
    let mut facts = PassageFacts::default();
    let mut files = Vec::new();
    let mut rows = BTreeMap::new();
    let mut faulty: BTreeMap<String, Language> = BTreeMap::new();
    let mut read: Vec<(String, squad::File)> = Vec::new();
    for (language, pack) in &plan.packs {
        for split in &source.splits {
            let names = source.files.iter().flat_map(|files| files.list());
            let names: Vec<String> = names.map(|name| fill(&name, *language, pack, *split)).collect();
            let id = source.archive.as_ref().map(|id| id.replace("{language}", language.code()));
            let pin = id.map(|id| locator.pins.find(&id).map_err(|e| e.at("source.archive"))).transpose()?;
            let (name, bytes) = json_file(locator, pin, &names)?;
            files.push(SourceFile { name: name.clone(), bytes: bytes.len() as u64, sha256: Digest::of(&bytes) });
            let file = squad::read(&name, &bytes)?;
            count_dropped(&mut facts, &name, &file);
            // What looks damaged is not printed.
            let damaged: BTreeMap<&String, &String> = file.suspicious.iter().map(|(id, sign)| (id, sign)).collect();
            for sign in damaged.values() {
                let reason = format!("damaged text: {sign}");
                *facts.dropped.entry(name.clone()).or_default().entry(reason).or_default() += 1;
            }
            faulty.extend(damaged.into_keys().map(|id| (id.clone(), *language)));
            let faults = file.dropped.iter().filter(|dropped| dropped.reason != squad::REPEATED);
            faulty.extend(faults.map(|dropped| (dropped.id.clone(), *language)));
            for item in &file.items {
                rows.insert((*language, item.id.clone()), rows.len() as u32);
            }
            read.push((language.to_string(), file));
        }
    }
    let mut joined = Vec::new();
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    for question in squad::join(&read)?.ids {
        // An answer that is unknown in one language could not be kept out of passages in it: so it is refused in all.
        if let Some(language) = faulty.get(&question.id) {
            *refused.entry(format!("faulty in {language}")).or_default() += 1;
            continue;
        }
        let mut by_language = BTreeMap::new();
        for (code, item) in question.by_language {
            let language = code.parse().map_err(Error::new)?;
            let Some((_, span)) = item.answers.first() else { continue };
            let needle = Needle {
                question: item.question,
                context: item.context,
                start: span.start as u32,
                end: span.end as u32,
                answers: item.answers.into_iter().map(|(answer, _)| answer).collect(),
            };
            by_language.insert(language, needle);
        }
        *facts.questions_by_languages.entry(by_language.len() as u32).or_default() += 1;
        joined.push((question.id, by_language));
    }
    if joined.is_empty() {
        fail!("the files of questions hold none that is sound");
    }
    Ok(Questions { joined, rows, refused, files, facts })
}

/// The instances of a recipe, and which of them each cell takes.
pub struct Chosen {
    /// Those that any cell of the full grid takes, in the fixed order.
    pub instances: Vec<NeedleInstance>,
    /// By needle and question language: indices into `instances`, as many as the recipe asks for.
    pub cells: BTreeMap<(Language, Language), Vec<u32>>,
    /// By instance: the passages that may not stand beside it.
    pub apart: Vec<Apart>,
    /// Admitted questions.
    pub questions: u64,
    /// Refused ones, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Questions that needle languages share.
    pub shared: BTreeMap<String, u64>,
}

/// Judges and orders the questions.
pub fn choose(plan: &Plan, questions: &Questions, haystack: &Haystack, counters: &[Counter<'_>]) -> Result<Chosen> {
    let all: Vec<&ByLanguage> = questions.joined.iter().map(|(_, by_language)| by_language).collect();
    let verdicts: Vec<std::result::Result<Apart, String>> = leaks::apart(plan, &all, haystack)?
        .into_par_iter()
        .zip(&all)
        .map(|(apart, by_language)| judge(plan, by_language, apart, haystack, counters))
        .collect();
    let mut refused = questions.refused.clone();
    let mut admitted: Vec<(usize, Apart)> = Vec::new();
    for (n, verdict) in verdicts.into_iter().enumerate() {
        match verdict {
            Ok(apart) => admitted.push((n, apart)),
            Err(reason) => *refused.entry(reason).or_default() += 1,
        }
    }
    admitted.sort_by_cached_key(|(n, _)| questions.place(plan, *n));
    let dataset = plan.recipe.source.dataset.as_ref().expect("the plan demands it");
    let needed: BTreeSet<(Language, Language)> =
        plan.grid.iter().filter_map(|file| Some((file.language, file.cell?.question))).collect();
    let samples = plan.total() as usize;
    let mut cells: BTreeMap<(Language, Language), Vec<usize>> = BTreeMap::new();
    for &(needle, question) in &needed {
        let exists = |n: usize| {
            let by_language = &questions.joined[n].1;
            by_language.contains_key(&needle) && by_language.contains_key(&question)
        };
        let mut ranks: Vec<usize> = (0..admitted.len()).filter(|rank| exists(admitted[*rank].0)).collect();
        if plan.recipe.grid.choice == Some(Choice::First) {
            ranks.sort_by_key(|rank| questions.rows[&(needle, questions.joined[admitted[*rank].0].0.clone())]);
        }
        if ranks.len() < samples {
            let reasons: Vec<String> = refused.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
            return Err(Error::new(format!(
                "{} sound questions have a needle in {needle} and are asked in {question}, the recipe wants {samples} (refused of all: {})",
                ranks.len(),
                if reasons.is_empty() { "none".to_owned() } else { reasons.join(", ") }
            ))
            .help("lower grid.samples, shorten grid.lengths in the recipe (--lengths and --limit do not change what is selected), add a split to source.splits, or give a larger haystack"));
        }
        ranks.truncate(samples);
        cells.insert((needle, question), ranks);
    }
    let mut shared = BTreeMap::new();
    for ((a, _), one) in &cells {
        for ((b, _), other) in cells.iter().filter(|((b, _), _)| b >= a) {
            let both = one.iter().filter(|rank| other.contains(rank)).count() as u64;
            shared.insert(format!("{a} {b}"), both);
        }
    }
    let used: Vec<usize> = cells.values().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let questions_admitted = admitted.len() as u64;
    let mut instances = Vec::new();
    let mut apart = Vec::new();
    for &rank in &used {
        let (n, kept) = std::mem::take(&mut admitted[rank]);
        let (source_id, by_language) = questions.joined[n].clone();
        instances.push(NeedleInstance { id: format!("{dataset}-{rank:05}"), source_id, by_language });
        apart.push(kept);
    }
    let place = |rank: usize| used.binary_search(&rank).expect("used") as u32;
    let cells = cells.into_iter().map(|(cell, ranks)| (cell, ranks.into_iter().map(place).collect())).collect();
    Ok(Chosen { instances, cells, apart, questions: questions_admitted, refused, shared })
}

/// Why a question cannot be an instance; else what must be kept apart from it.
fn judge(
    plan: &Plan,
    by_language: &BTreeMap<Language, Needle>,
    apart: Apart,
    haystack: &Haystack,
    counters: &[Counter<'_>],
) -> std::result::Result<Apart, String> {
    for (language, needle) in by_language {
        if needle.answers.iter().any(|answer| answer.chars().all(|c| !c.is_alphanumeric())) {
            return Err(format!("with an answer without a letter or digit in {language}"));
        }
    }
    let Some(smallest) = plan.smallest() else { return Ok(apart) };
    let largest = plan.largest();
    for (&language, needle) in by_language {
        for (question, text) in by_language.iter().map(|(l, n)| (*l, &n.question)) {
            if plan.recipe.grid.question.is_some_and(|q| matches!(q, QuestionLanguage::Fixed(l) if l != question)) {
                continue;
            }
            for prompt in [PromptKind::Exact, PromptKind::Existence] {
                let over = |counter: &Counter<'_>| {
                    NeedleSizes::of(counter, needle, prompt, text).alone(counter) > counter.limit(plan, smallest)
                };
                if counters.iter().any(over) {
                    return Err(format!("too long for {smallest} in {language}"));
                }
            }
        }
    }
    if !enough(plan, &apart, haystack, &counters[0], largest) {
        return Err(format!("{TOO_FEW} to fill {largest}"));
    }
    Ok(apart)
}

/// Do the passages that may stand beside a question fill a length in every language of the haystack?
fn enough(plan: &Plan, apart: &Apart, haystack: &Haystack, counter: &Counter<'_>, length: Length) -> bool {
    let need = plan.recipe.budget.tokens(length);
    let haystacks: BTreeSet<In> = pairs(&plan.recipe).into_iter().map(|(_, haystack)| haystack).collect();
    haystacks.into_iter().all(|asked| {
        let tokens = counter.tokens_in(asked);
        let gone: BTreeSet<u32> = match asked {
            In::In(language) => apart.of(plan, language).iter().copied().collect(),
            In::Multilingual => plan.packs.iter().flat_map(|(l, _)| apart.of(plan, *l).iter().copied()).collect(),
        };
        let all: u64 = tokens.iter().map(|n| u64::from(*n)).sum();
        let held: u64 = gone.iter().map(|n| u64::from(tokens[*n as usize])).sum();
        // A passage that fills the last gap, and one that takes the needle's place.
        all - held > need && haystack.ids.len() > gone.len() + 2
    })
}
