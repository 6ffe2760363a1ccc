//! Asks a service what is not known yet.

use super::memory::{FOLDER, Memory};
use super::{Ask, Engine, Kind, Settings, openai, pin};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::report::Progress;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A service with its memory.
pub struct Translator {
    settings: Settings,
    memory: Memory,
    /// Made ready at the first ask: what is known needs no key and no network.
    engine: Option<Box<dyn Engine>>,
    offline: bool,
    /// Characters answered for in this build.
    characters: u64,
}

/// What is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Estimate {
    /// Texts that would be asked for.
    pub texts: u64,
    /// Characters that count for the price. Of a chat model also those of the prompt and, guessed, of the answer.
    pub characters: u64,
    /// In millionths of the money's unit.
    pub cost: u64,
}

/// Characters of a token of free text, at most, for an estimate.
const TOKEN: u64 = 4;
/// Tokens of free text where the settings say nothing, for an estimate.
const TOKENS: u64 = 500;

impl Translator {
    /// Opens the memory: pins in the folder `translate` of each of `pins`, then the journal in the store. Asks nothing yet.
    pub fn open(settings: Settings, store: &Path, pins: &[PathBuf], offline: bool) -> Result<Translator> {
        settings.check()?;
        let memory = Memory::open(store, pins, &settings.parameters(), !offline)?;
        Ok(Translator { settings, memory, engine: None, offline, characters: 0 })
    }

    /// Texts in another language, in their order. Equal texts are asked once; a text of white space alone is not asked.
    /// A failed answer is an empty text: a higher `attempt` asks anew.
    pub fn translate(
        &mut self,
        from: &str,
        to: &str,
        texts: &[&str],
        attempt: u32,
        label: &str,
    ) -> Result<Vec<String>> {
        let asks = texts.iter().map(|text| translation(from, to, text, attempt)).collect();
        self.answers(asks, label)
    }

    /// Free text after prompts, each with its temperature in thousandths, in their order.
    pub fn complete(&mut self, prompts: &[(&str, u32)]) -> Result<Vec<String>> {
        self.complete_again(prompts, 0)
    }

    /// [`Translator::complete`] anew: another attempt, another text.
    pub fn complete_again(&mut self, prompts: &[(&str, u32)], attempt: u32) -> Result<Vec<String>> {
        let engine = self.settings.engine.record();
        if !engine.completes {
            let able: Vec<&str> = super::ENGINES.iter().filter(|e| e.completes).map(|e| e.word).collect();
            return Err(self
                .settings
                .error("this engine writes no free text")
                .help(format!("use {}", able.join(" or "))));
        }
        let asks = prompts.iter().map(|(prompt, temperature)| completion(prompt, *temperature, attempt)).collect();
        self.answers(asks, "writing")
    }

    /// What [`Translator::translate`] would ask for.
    pub fn estimate(&self, from: &str, to: &str, texts: &[&str], attempt: u32) -> Estimate {
        let asks: Vec<Ask> = texts.iter().map(|text| translation(from, to, text, attempt)).collect();
        self.reckon(&self.unknown(&asks))
    }

    /// What [`Translator::complete_again`] would ask for.
    pub fn estimate_completions(&self, prompts: &[(&str, u32)], attempt: u32) -> Estimate {
        let asks: Vec<Ask> = prompts.iter().map(|(prompt, t)| completion(prompt, *t, attempt)).collect();
        self.reckon(&self.unknown(&asks))
    }

    /// Spent in this build so far, as far as the price tells, in millionths of the money's unit.
    pub fn spent(&self) -> u64 {
        self.settings.cost(self.characters)
    }

    /// Writes all answers used so far to `<folder>/pins/translate/`. Gives the path below the folder, and size and digest of
    /// the file; nothing if no answer was used.
    pub fn pin(&self, folder: &Path) -> Result<Option<(String, u64, Digest)>> {
        if self.memory.used().is_empty() {
            return Ok(None);
        }
        let below = format!("pins/{FOLDER}");
        let (name, bytes, digest) = pin::write(&folder.join(&below), self.memory.used(), &self.settings.parameters())?;
        Ok(Some((format!("{below}/{name}"), bytes, digest)))
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn answers(&mut self, asks: Vec<Ask>, label: &str) -> Result<Vec<String>> {
        let unknown = self.unknown(&asks);
        if !unknown.is_empty() {
            self.ask(&unknown, label)?;
        }
        let mut answers = Vec::with_capacity(asks.len());
        for ask in &asks {
            answers.push(match self.memory.take(ask) {
                Some(answer) => answer.to_string(),
                None if is_blank(ask) => String::new(),
                None => return Err(self.settings.error(format!("no answer came to {:?}", super::cut(&ask.text, 60)))),
            });
        }
        Ok(answers)
    }

    /// Those without an answer, each once, in their order.
    fn unknown(&self, asks: &[Ask]) -> Vec<Ask> {
        let mut seen = BTreeSet::new();
        let unknown = asks.iter().filter(|ask| !is_blank(ask) && self.memory.get(ask).is_none() && seen.insert(*ask));
        unknown.cloned().collect()
    }

    fn ask(&mut self, asks: &[Ask], label: &str) -> Result<()> {
        if self.offline {
            return Err(self.missing(asks));
        }
        self.afford(&self.reckon(asks))?;
        let engine = match &mut self.engine {
            Some(engine) => engine,
            None => {
                let start = self.settings.engine.record().start;
                self.engine.insert(start(&self.settings)?)
            }
        };
        let progress = Progress::new(label, asks.len() as u64, "texts");
        let (memory, characters, settings) = (&mut self.memory, &mut self.characters, &self.settings);
        let done = engine.ask(asks, &mut |answers| {
            let kept: Vec<_> = answers.iter().filter_map(|(n, answer)| Some((asks.get(*n)?, answer))).collect();
            *characters += kept.iter().map(|(ask, answer)| billed(settings, ask, Some(answer.text()))).sum::<u64>();
            progress.add(kept.len() as u64);
            memory.keep(&kept)
        });
        progress.finish();
        done
    }

    /// # Errors
    ///
    /// When what is estimated would, with what was spent, cost more than `max_cost`.
    pub fn afford(&self, estimate: &Estimate) -> Result<()> {
        let Settings { max_cost, .. } = self.settings;
        let total = self.settings.cost(self.characters.saturating_add(estimate.characters));
        if max_cost == 0 || total <= max_cost {
            return Ok(());
        }
        let what = format!(
            "{} more texts of {} characters would cost about {}, and {} were spent: more than max_cost = {max_cost}",
            estimate.texts,
            estimate.characters,
            estimate.cost,
            self.spent()
        );
        Err(self
            .settings
            .error(what)
            .help("raise `max_cost`, ask for less, or correct `price`; nothing more was asked"))
    }

    fn reckon(&self, unknown: &[Ask]) -> Estimate {
        let characters = unknown.iter().map(|ask| billed(&self.settings, ask, None)).sum();
        Estimate { texts: unknown.len() as u64, characters, cost: self.settings.cost(characters) }
    }

    fn missing(&self, asks: &[Ask]) -> Error {
        let pairs: BTreeSet<(Kind, &str, &str)> =
            asks.iter().map(|a| (a.kind, a.from.as_str(), a.to.as_str())).collect();
        let count = |pair: &(Kind, &str, &str)| {
            let (kind, from, to) = *pair;
            let n = asks.iter().filter(|a| (a.kind, a.from.as_str(), a.to.as_str()) == *pair).count();
            match kind {
                Kind::Translate => format!("{n} translations from {from} to {to}"),
                Kind::Complete => format!("{n} texts of free writing"),
            }
        };
        let counts: Vec<String> = pairs.iter().map(count).collect();
        self.settings
            .error(format!("{} are not known, and --offline forbids asking", counts.join(", ")))
            .at(format!("answers with the parameters {}", pin::parameters_digest(&self.settings.parameters())))
            .help("give the folder of the release's pins with --pins DIR, or run once without --offline")
    }
}

fn translation(from: &str, to: &str, text: &str, attempt: u32) -> Ask {
    let (from, to) = (from.to_owned(), to.to_owned());
    Ask { kind: Kind::Translate, from, to, temperature: None, attempt, text: text.to_owned() }
}

fn completion(prompt: &str, temperature: u32, attempt: u32) -> Ask {
    let (from, to) = (String::new(), String::new());
    Ask { kind: Kind::Complete, from, to, temperature: Some(temperature), attempt, text: prompt.to_owned() }
}

fn is_blank(ask: &Ask) -> bool {
    ask.text.trim().is_empty()
}

/// Characters that count for the price; without an answer a guess at its length is taken.
fn billed(settings: &Settings, ask: &Ask, answer: Option<&str>) -> u64 {
    let count = |text: &str| text.chars().count() as u64;
    if ask.kind == Kind::Translate && !settings.engine.record().chat {
        return count(&ask.text);
    }
    let guess = || match (ask.kind, settings.max_tokens) {
        (Kind::Translate, _) => count(&ask.text),
        (Kind::Complete, 0) => TOKENS * TOKEN,
        (Kind::Complete, tokens) => u64::from(tokens) * TOKEN,
    };
    count(&openai::prompt(settings, ask)) + answer.map_or_else(guess, count)
}
