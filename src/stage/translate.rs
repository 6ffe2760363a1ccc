//! Makes the packs of languages that have none, by machine translation, and says how good it is (the paper's Table 7).
//!
//! Each distinct text is asked for once; the answers are a pinned stage. A sentence that fails a check is asked for again,
//! then dropped with its reason: no story or distractor that needs it is written in any language.

use super::embed::{Pins, Texts};
use super::guest::pack;
use super::units::{Unit, What, names, told, units};
use crate::embedder::{Role, dot};
use crate::error::{Error, Result};
use crate::language::{Language, Message, PATTERNS, Pack, Slot, event, is_forbidden, is_joiner, pattern};
use crate::plan::Plan;
use crate::recipe::Translation;
use crate::record::Passage;
use crate::translator::quality::{self, Fault};
use crate::translator::{Estimate, Translator, placeholder, review};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use unicode_normalization::UnicodeNormalization;

/// What a manifest says of a translated language.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TranslationFacts {
    /// Texts that were translated, by part: passages, questions, answers, instructions.
    pub texts: BTreeMap<String, u64>,
    /// Texts that were asked for more than once.
    pub asked_again: u64,
    /// Texts that were dropped, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
    /// Sentences that are told like another one with another verb.
    pub alike: u64,
    /// By part: mean similarity of source and translation, and of source and translation back, in thousandths under the
    /// recipe's embedder (the paper's Table 7).
    pub similarity: BTreeMap<String, (u32, Option<u32>)>,
    /// Where a pack exists: sentences that are the pack's, of how many, and their mean similarity to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<(u64, u64, u32)>,
    /// Verdicts of native reviewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Reviewed>,
}

/// What native reviewers said of a seeded sample.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Reviewed {
    /// Sentences of the sample.
    pub sampled: u64,
    /// Those found good.
    pub ok: u64,
    /// Ids of those found wrong.
    pub wrong: Vec<String>,
    /// Those of which the reviewer was not sure.
    pub unsure: u64,
    /// Those without a verdict that counts.
    pub missing: u64,
}

/// What translating came to.
pub struct Told {
    /// The packs that were made.
    pub packs: Vec<(Language, Pack)>,
    /// What is to be said of each language.
    pub facts: BTreeMap<String, TranslationFacts>,
    /// Holds the answers that were used.
    pub translator: Translator,
    /// The sheets for reviewers.
    pub sheets: Vec<PathBuf>,
}

/// A translated unit.
pub(super) struct Done {
    pub(super) unit: Unit,
    pub(super) target: String,
    back: String,
}

/// `looking` asks nothing, takes no lock and writes nothing.
fn open(plan: &Plan, looking: bool) -> Result<Translator> {
    let translation = plan.recipe.translation.as_ref().ok_or_else(|| Error::new("nothing is to be translated"))?;
    let store = plan.options.out.join("store");
    Translator::open(translation.service.clone(), &store, &plan.pin_folders(), looking || plan.options.offline)
}

/// What is still to be asked for, by language; a sentence that fails is asked for again, which no estimate knows.
pub fn estimate(plan: &Plan, pool: &[Passage]) -> Result<BTreeMap<String, Estimate>> {
    let Some(translation) = &plan.recipe.translation else { return Ok(BTreeMap::new()) };
    let units = units(&plan.english, &plan.tasks(), pool);
    Ok(unasked(translation, &open(plan, true)?, &units))
}

fn unasked(translation: &Translation, translator: &Translator, units: &[Unit]) -> BTreeMap<String, Estimate> {
    let texts: Vec<&str> = units.iter().map(|unit| unit.source.as_str()).collect();
    let of = |code: &String| {
        let mut all = translator.estimate("en", code, &texts, 0);
        if translation.back {
            // About as much again, from translations that are not there yet.
            let back = translator.settings().cost(all.characters);
            (all.texts, all.characters, all.cost) = (all.texts * 2, all.characters * 2, all.cost + back);
        }
        (code.clone(), all)
    };
    translation.languages.keys().map(of).collect()
}

/// Translates what a plan needs; nothing where its recipe has no `[translation]`.
pub fn translate(plan: &Plan, pool: &[Passage], pins: &mut Pins<'_>) -> Result<Option<Told>> {
    let Some(translation) = &plan.recipe.translation else { return Ok(None) };
    let mut told =
        Told { packs: Vec::new(), facts: BTreeMap::new(), translator: open(plan, false)?, sheets: Vec::new() };
    let units = units(&plan.english, &plan.tasks(), pool);
    // Of all languages together, as the dry run prints it: who cannot pay for it pays for nothing.
    if !plan.options.offline {
        let all = unasked(translation, &told.translator, &units).into_values().reduce(|a, b| Estimate {
            texts: a.texts + b.texts,
            characters: a.characters + b.characters,
            cost: a.cost + b.cost,
        });
        told.translator.afford(&all.unwrap_or_default())?;
    }
    for (code, guest) in &translation.languages {
        let language = Language::guest(code)?;
        let mut work = Work { plan, code, units: &units, facts: TranslationFacts::default() };
        let done = work.ask(&mut told.translator, pins)?;
        let near = work.similar(&done, pins)?;
        let item = |(n, done): (usize, &Done)| work.item(done, near.get(n).copied());
        let items: Vec<review::Item> = done.iter().enumerate().map(item).collect();
        let title = &plan.recipe.release;
        let sheet = plan.options.out.join("review").join(format!("{}-{}-{code}.csv", title.name.0, title.version.0));
        // What a reviewer has filled in is never written over.
        let blank = match sheet.exists() {
            false => true,
            true => review::read(&sheet, &items, &plan.seed, code).is_ok_and(|read| {
                read.ok + read.wrong.len() + read.unsure.len() + read.changed.len() + read.strange.len() == 0
            }),
        };
        if blank {
            review::write(&sheet, &items, &plan.seed, code)?;
        }
        told.sheets.push(sheet);
        if let Some(path) = &guest.review {
            let read = review::read(path.as_ref(), &items, &plan.seed, code)?;
            work.facts.review = Some(Reviewed {
                sampled: read.sampled as u64,
                ok: read.ok as u64,
                wrong: read.wrong.iter().map(|wrong| wrong.id.clone()).collect(),
                unsure: read.unsure.len() as u64,
                missing: (read.missing.len() + read.changed.len() + read.strange.len()) as u64,
            });
        }
        if language.is_guest() {
            let made = pack(plan, code, guest, &done)?;
            if plan.recipe.grid.languages.contains(&language) {
                told.packs.push((language, made));
            }
        } else {
            work.compare(&language.pack()?, &done, pins)?;
        }
        told.facts.insert(code.clone(), work.facts);
    }
    Ok(Some(told))
}

/// One language in work.
struct Work<'a> {
    plan: &'a Plan,
    code: &'a str,
    units: &'a [Unit],
    facts: TranslationFacts,
}

impl Work<'_> {
    /// Asks until every unit is sound or was asked for often enough. Words come first: sentences are checked for them.
    fn ask(&mut self, translator: &mut Translator, pins: &mut Pins<'_>) -> Result<Vec<Done>> {
        let translation = self.plan.recipe.translation.as_ref().expect("it was just opened");
        let mut done: Vec<Done> = Vec::new();
        for sentences in [false, true] {
            let mine = |unit: &&Unit| matches!(unit.what, What::Sentence(_)) == sentences;
            let mut open: Vec<&Unit> = self.units.iter().filter(mine).collect();
            for attempt in 0..translation.attempts {
                if open.is_empty() {
                    break;
                }
                let texts: Vec<&str> = open.iter().map(|unit| unit.source.as_str()).collect();
                let label = format!("translate {}", self.code);
                let answers = translator.translate("en", self.code, &texts, attempt, &label)?;
                let targets: Vec<String> = open.iter().zip(answers).map(|(unit, text)| mend(unit, &text)).collect();
                let backs = match translation.back {
                    true => {
                        let texts: Vec<&str> = targets.iter().map(String::as_str).filter(|t| !t.is_empty()).collect();
                        let label = format!("translate {} back", self.code);
                        let mut given = translator.translate(self.code, "en", &texts, 0, &label)?.into_iter();
                        let back = |target: &String| match target.is_empty() {
                            true => String::new(),
                            false => given.next().unwrap_or_default(),
                        };
                        targets.iter().map(back).collect()
                    }
                    false => vec![String::new(); targets.len()],
                };
                let least = translation.least_similarity;
                let near = match least {
                    0 => Vec::new(),
                    _ => self.near(open.iter().map(|unit| unit.source.as_str()).collect(), &backs, "back", pins)?,
                };
                let faults = self.faults(&open, &targets, &done);
                let mut again = Vec::new();
                for (n, (target, back)) in targets.into_iter().zip(backs).enumerate() {
                    let fault = faults[n].clone().or_else(|| {
                        near.get(n)
                            .filter(|near| **near < least)
                            .map(|_| "far from the source, translated back".to_owned())
                    });
                    match fault {
                        None => done.push(Done { unit: open[n].clone(), target, back }),
                        Some(reason) if attempt + 1 == translation.attempts => {
                            if matches!(open[n].what, What::Phrase(_)) {
                                return Err(Error::new(format!(
                                    "{} cannot be translated: {reason}",
                                    open[n].what.name()
                                ))
                                .at(format!("language {}", self.code))
                                .help("raise translation.attempts, or ask another service; of a program that was mended, change `model`: its old answers are kept"));
                            }
                            *self.facts.dropped.entry(reason).or_default() += 1;
                        }
                        Some(_) => again.push(open[n]),
                    }
                }
                self.facts.asked_again += again.len() as u64;
                open = again;
            }
        }
        done.sort_by(|a, b| a.unit.what.cmp(&b.unit.what));
        for done in &done {
            *self.facts.texts.entry(done.unit.what.part().to_owned()).or_default() += 1;
        }
        Ok(done)
    }

    /// What is wrong with each target, if anything is.
    fn faults(&mut self, open: &[&Unit], targets: &[String], done: &[Done]) -> Vec<Option<String>> {
        // Who has said a text already. Sentences that tell of one event may be told alike.
        let mut said: BTreeMap<&str, Vec<&What>> = BTreeMap::new();
        for (what, text) in done.iter().map(|done| (&done.unit.what, done.target.as_str())) {
            said.entry(text).or_default().push(what);
        }
        let words: Vec<(&What, Vec<String>)> = done
            .iter()
            .filter(|done| matches!(done.unit.what, What::Word(..)))
            .map(|done| (&done.unit.what, stems(&done.target)))
            .collect();
        let mut all = Vec::with_capacity(open.len());
        for (unit, target) in open.iter().zip(targets) {
            let fault = self.fault(unit, target, &words).or_else(|| {
                let others = said.entry(target.as_str()).or_default();
                let same = others.iter().find(|other| !is_same(&unit.what, other));
                let found = same.map(|_| "told like another".to_owned());
                if found.is_none() {
                    let other_verb = |other: &&What| match (&unit.what, other) {
                        (What::Sentence(a), What::Sentence(b)) => a.pattern != b.pattern,
                        _ => false,
                    };
                    self.facts.alike += u64::from(others.iter().any(other_verb));
                    others.push(&unit.what);
                }
                found
            });
            all.push(fault);
        }
        all
    }

    fn fault(&self, unit: &Unit, target: &str, words: &[(&What, Vec<String>)]) -> Option<String> {
        let strict = matches!(unit.what, What::Sentence(_));
        let bare = placeholder::tokens(target)
            .iter()
            .fold(target.to_owned(), |text, token| text.replace(&token.to_string(), ""));
        let counts = |fault: &Fault| match fault {
            // Words and short texts may be the same in both languages, and quotes change with them.
            Fault::Leftover(_) | Fault::Length { .. } | Fault::FinalMark(_) => strict,
            _ => true,
        };
        if let Some(fault) = quality::check("en", self.code, &unit.source, target).into_iter().find(counts) {
            return Some(fault.name().to_owned());
        }
        if strict && bare.contains(['{', '}', '[', ']', '|', '<', '>']) {
            return Some("brackets".to_owned());
        }
        if target.chars().any(|c| is_forbidden(c) && !is_joiner(c)) {
            return Some("invisible characters".to_owned());
        }
        if let What::Sentence(message) = unit.what
            && let Some(missing) = missing(message, target, words)
        {
            return Some(missing);
        }
        None
    }

    /// Similarities in thousandths, pair by pair.
    fn near(&self, sources: Vec<&str>, targets: &[String], what: &str, pins: &mut Pins<'_>) -> Result<Vec<u32>> {
        let mut texts = |what: String, texts: Vec<&str>| {
            let ids = (0..texts.len()).map(|n| n.to_string()).collect();
            pins.vectors(&Texts { what, role: Role::Passage, ids, texts })
        };
        let a = texts(format!("translated from {} {what}", self.code), sources)?;
        let b = texts(format!("translated to {} {what}", self.code), targets.iter().map(String::as_str).collect())?;
        Ok((0..targets.len()).map(|n| thousandths(a.of(n), b.of(n))).collect())
    }

    /// The paper's Table 7; and the similarity of each source and its translation back.
    fn similar(&mut self, done: &[Done], pins: &mut Pins<'_>) -> Result<Vec<u32>> {
        let back = self.plan.recipe.translation.as_ref().is_some_and(|t| t.back);
        let sources = || done.iter().map(|done| done.unit.source.as_str()).collect::<Vec<&str>>();
        let targets: Vec<String> = done.iter().map(|done| done.target.clone()).collect();
        let there = self.near(sources(), &targets, "all", pins)?;
        let returned: Vec<String> = done.iter().map(|done| done.back.clone()).collect();
        let home = if back { self.near(sources(), &returned, "all back", pins)? } else { Vec::new() };
        let mut sums: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
        for (n, done) in done.iter().enumerate() {
            let sum = sums.entry(done.unit.what.part()).or_default();
            *sum = (sum.0 + u64::from(there[n]), sum.1 + home.get(n).map_or(0, |n| u64::from(*n)), sum.2 + 1);
        }
        let mean = |(there, home, n): (u64, u64, u64)| ((there / n) as u32, back.then_some((home / n) as u32));
        self.facts.similarity = sums.into_iter().map(|(part, sum)| (part.to_owned(), mean(sum))).collect();
        Ok(home)
    }

    /// Machine translation beside a pack of the same language.
    fn compare(&mut self, pack: &Pack, done: &[Done], pins: &mut Pins<'_>) -> Result<()> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for done in done {
            let What::Sentence(message) = done.unit.what else { continue };
            let ours = pack.sentence(told(message));
            let roles = told(message);
            let name = |slot: Slot| pack.citation(crate::language::Kind::Actor, roles.slots[slot.index()]);
            let known = &PATTERNS[message.pattern as usize];
            let texts = [Slot::A, Slot::B].map(|slot| if known.has(slot) { name(slot) } else { "" });
            let theirs = placeholder::restore(&done.target, &names(message, &self.plan.english, Some(texts)))?;
            pairs.push((ours, theirs));
        }
        let same = pairs.iter().filter(|(ours, theirs)| ours == theirs).count() as u64;
        let theirs: Vec<String> = pairs.iter().map(|(_, theirs)| theirs.clone()).collect();
        let near = self.near(pairs.iter().map(|(ours, _)| ours.as_str()).collect(), &theirs, "pack", pins)?;
        let mean = near.iter().map(|n| u64::from(*n)).sum::<u64>() / (near.len() as u64).max(1);
        self.facts.compared = Some((same, pairs.len() as u64, mean as u32));
        Ok(())
    }

    fn item(&self, done: &Done, similarity: Option<u32>) -> review::Item {
        review::Item {
            id: done.unit.what.name(),
            source: done.unit.source.clone(),
            target: done.target.clone(),
            back_translation: done.back.clone(),
            similarity,
        }
    }
}

/// A translation as it is kept: composed, trimmed, with mended tokens.
fn mend(unit: &Unit, text: &str) -> String {
    // One line, with plain spaces between words.
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c == '\u{a0}' || c == '\u{202f}').collect();
    let text: String = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").nfc().collect();
    let text = match unit.what {
        // A word is no sentence.
        What::Word(..) | What::Label(_) => text.trim_end_matches(['.', '\u{3002}']).to_owned(),
        _ => text,
    };
    placeholder::repair(&unit.source, &text)
}

/// May two units have one text? One event told with several verbs, or a pronoun that stands for several sorts of persons.
fn is_same(a: &What, b: &What) -> bool {
    match (a, b) {
        (What::Sentence(a), What::Sentence(b)) => {
            let bare = |m: &Message| {
                let mut slots = m.slots;
                if PATTERNS[m.pattern as usize].has(Slot::G) {
                    slots[Slot::G.index()] = 0;
                }
                (event(m.pattern), slots)
            };
            bare(a) == bare(b)
        }
        (What::Word(a, _), What::Word(b, _)) => a != b,
        (What::Label(a), What::Label(b)) => {
            let group = |key: &str| match key {
                "yes" | "no" | "maybe" => "truth".to_owned(),
                key => key.split('.').next().unwrap_or_default().to_owned(),
            };
            group(a) != group(b)
        }
        (What::Sentence(_), _) | (_, What::Sentence(_)) => false,
        _ => true,
    }
}

/// How much of a word's beginning must stand in a sentence, of ten characters: languages bend the rest.
const STEM: usize = 6;

/// The beginnings of a word's parts, lower-case.
fn stems(word: &str) -> Vec<String> {
    let part = |part: &str| {
        let chars: Vec<char> = part.to_lowercase().chars().collect();
        let keep = (chars.len() * STEM).div_ceil(10).max(chars.len().min(2));
        chars[..keep].iter().collect::<String>()
    };
    word.split_whitespace().filter(|part| part.chars().count() > 2 || !part.is_ascii()).map(part).collect()
}

/// A place or thing whose answer's word does not stand in a sentence that names it.
fn missing(message: Message, target: &str, words: &[(&What, Vec<String>)]) -> Option<String> {
    if message.pattern == pattern("facts", "afraid") {
        // Kinds stand in the plural there, which many languages form within the word.
        return None;
    }
    let text = target.to_lowercase();
    for slot in PATTERNS[message.pattern as usize].used() {
        let what = What::Word(slot.kind(), slot.entity(&message.slots));
        let Some((_, stems)) = words.iter().find(|(known, _)| **known == what) else { continue };
        if !stems.is_empty() && !stems.iter().any(|stem| text.contains(stem.as_str())) {
            return Some("the answer's word is not in it".to_owned());
        }
    }
    None
}

/// The cosine of two vectors in thousandths, by integers.
fn thousandths(a: &[i8], b: &[i8]) -> u32 {
    let (aa, bb) = (i64::from(dot(a, a)), i64::from(dot(b, b)));
    let norm = ((aa * bb) as u64).isqrt() as i64;
    if norm == 0 { 0 } else { (i64::from(dot(a, b)) * 1000 / norm).clamp(0, 1000) as u32 }
}
