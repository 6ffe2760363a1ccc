//! Any local model: a program that reads questions with their sentences as JSON Lines and writes scores as JSON Lines.
//!
//! It is started once. It gets `{"id":1,"question":"..","sentences":["..",".."]}` a line on its standard input, and answers
//! `{"id":1,"scores":[0.93,-2.5]}` a line, in any order; higher is better. At the end its input is closed, and it should end too.

use super::Reranker;
use super::memory::Memory;
use super::pin::{self, FOLDER};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::pinfile::parameters_digest;
use crate::translator::program::{Program, Talk, unlike};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program that scores.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CommandSettings {
    /// The program and its arguments.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Which model it runs, with its version: for people, and so that another model is another pin.
    #[schemars(length(min = 1))]
    pub model: String,
    /// Sentences a line at most: what is answered line by line is kept line by line.
    #[schemars(range(min = 1, max = 100_000))]
    pub batch: u32,
    /// A silent program is given up after so long.
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_seconds: u32,
}

impl Default for CommandSettings {
    fn default() -> Self {
        CommandSettings { command: Vec::new(), model: String::new(), batch: 256, timeout_seconds: 600 }
    }
}

/// Raised when the same settings come to mean other scores.
const VERSION: u32 = 1;

impl CommandSettings {
    /// Refuses what makes no sense; the error begins with the key.
    pub fn check(&self) -> Result<()> {
        if self.command.first().is_none_or(|program| program.trim().is_empty()) {
            fail!(on "command"; "command: a reranker needs a program, such as command = [\"./rerank\", \"--fast\"]");
        }
        if self.model.trim().is_empty() {
            fail!(on "model"; "model: say which model the program runs, such as model = \"name, version\"");
        }
        for (key, value, range) in
            [("batch", self.batch, 1..=100_000), ("timeout_seconds", self.timeout_seconds, 1..=86_400)]
        {
            if !range.contains(&value) {
                fail!(on key; "{key}: {value} is not in {} to {} of a reranker", range.start(), range.end());
            }
        }
        Ok(())
    }

    /// Everything that shapes a score, and nothing else.
    pub fn parameters(&self) -> Value {
        json!({ "version": VERSION, "reranker": "command", "command": self.command, "model": self.model })
    }
}

/// A program with the memory of its scores, which are in millionths.
pub struct CommandReranker {
    settings: CommandSettings,
    memory: Memory,
    /// Started at the first ask: what is known needs no program.
    program: Option<Program>,
    offline: bool,
}

const WHO: &str = "reranker";

impl CommandReranker {
    /// Opens the memory: pins in the folder `rerank` of each of `pins`, then the journal in the store. Starts nothing yet.
    pub fn open(settings: CommandSettings, store: &Path, pins: &[PathBuf], offline: bool) -> Result<CommandReranker> {
        settings.check()?;
        let memory = Memory::open(store, pins, &settings.parameters(), !offline)?;
        Ok(CommandReranker { settings, memory, program: None, offline })
    }

    /// Sentences that [`Reranker::scores`] would have to ask for.
    pub fn unknown(&self, question: &str, sentences: &[&str]) -> usize {
        let digests: Vec<Digest> = sentences.iter().map(Digest::of).collect();
        self.missing(&Digest::of(question), &digests).len()
    }

    /// Writes all scores used so far to `<folder>/pins/rerank/`. Gives the path below the folder, and size and digest of the
    /// file; nothing if no score was used.
    pub fn pin(&self, folder: &Path) -> Result<Option<(String, u64, Digest)>> {
        let rows = self.memory.used();
        if rows.is_empty() {
            return Ok(None);
        }
        let below = format!("pins/{FOLDER}");
        let (name, bytes, digest) = pin::write(&folder.join(&below), &rows, &self.settings.parameters())?;
        Ok(Some((format!("{below}/{name}"), bytes, digest)))
    }

    /// Places of the sentences without a score, equal ones once.
    fn missing(&self, question: &Digest, sentences: &[Digest]) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        let missing = |n: &usize| !self.memory.has(question, &sentences[*n]) && seen.insert(sentences[*n]);
        (0..sentences.len()).filter(missing).collect()
    }

    fn ask(&mut self, question: &str, sentences: &[&str], digests: &[Digest], missing: &[usize]) -> Result<()> {
        if self.offline {
            return Err(self.refuse(question, sentences.len(), missing.len()));
        }
        let mut program = match self.program.take() {
            Some(program) => program,
            None => Program::start(WHO, &self.settings.command, None)?,
        };
        let asked = Digest::of(question);
        let talk = Batches { question, batches: missing.chunks(self.settings.batch as usize).collect(), sentences };
        let limit = Duration::from_secs(self.settings.timeout_seconds.into());
        let memory = &mut self.memory;
        // After a fault the program is not asked again.
        program.talk(&talk, limit, &mut |answers| {
            let digests_of = |n: usize| talk.batches[n].iter().map(|place| digests[*place]).collect();
            memory.keep(&asked, answers.into_iter().map(|(n, scores)| (digests_of(n), scores)).collect())
        })?;
        self.program = Some(program);
        Ok(())
    }

    fn refuse(&self, question: &str, all: usize, missing: usize) -> Error {
        Error::new(format!(
            "{WHO}: the scores of {missing} of {all} sentences are not known, and --offline forbids asking"
        ))
        .at(format!("the question {:?}", crate::translator::cut(question, 60)))
        .at(format!("scores with the parameters {}", parameters_digest(&self.settings.parameters())))
        .help("give the folder of the release's pins with --pins DIR, or run once without --offline")
    }
}

impl Reranker for CommandReranker {
    fn scores(&mut self, question: &str, sentences: &[&str]) -> Result<Vec<i64>> {
        let asked = Digest::of(question);
        let digests: Vec<Digest> = sentences.iter().map(Digest::of).collect();
        let missing = self.missing(&asked, &digests);
        if !missing.is_empty() {
            self.ask(question, sentences, &digests, &missing)?;
        }
        let score = |digest| self.memory.take(&asked, digest);
        let scores: Option<Vec<i64>> = digests.iter().map(score).collect();
        scores.ok_or_else(|| Error::new(format!("{WHO}: no score came to a sentence")))
    }
}

/// The sentences of one question, some a line.
struct Batches<'a> {
    question: &'a str,
    /// Places among the sentences.
    batches: Vec<&'a [usize]>,
    sentences: &'a [&'a str],
}

/// What the program writes.
#[derive(Deserialize)]
struct Said {
    id: u64,
    scores: Vec<Value>,
}

impl Talk for Batches<'_> {
    type Said = Said;
    type Answer = Vec<i64>;

    fn count(&self) -> usize {
        self.batches.len()
    }

    fn noun(&self) -> &'static str {
        "lines"
    }

    fn line(&self, n: usize, id: u64) -> Value {
        let sentences: Vec<&str> = self.batches[n].iter().map(|place| self.sentences[*place]).collect();
        json!({ "id": id, "question": self.question, "sentences": sentences })
    }

    fn read(&self, line: &[u8]) -> std::result::Result<(u64, Said), String> {
        let said: Said = serde_json::from_slice(line).map_err(|e| {
            let mut what = unlike("{\"id\":..,\"scores\":[..]}", line);
            let text = String::from_utf8_lossy(line);
            // Neither is JSON, but some writers of JSON write them.
            if text.contains("NaN") || text.contains("Infinity") || e.to_string().contains("out of range") {
                what += " (a score must be a finite number)";
            }
            what
        })?;
        Ok((said.id, said))
    }

    fn understand(&self, n: usize, said: Said) -> std::result::Result<Vec<i64>, String> {
        let Said { id, scores } = said;
        let expected = self.batches[n].len();
        if scores.len() != expected {
            return Err(format!("answered id {id} with {} scores for {expected} sentences", scores.len()));
        }
        let score = |(n, score): (usize, &Value)| {
            let number = score
                .as_number()
                .ok_or_else(|| format!("answered id {id} with a score that is no number, the {}.: {score}", n + 1))?;
            millionths(number)
                .ok_or_else(|| format!("answered id {id} with a score that is too large, the {}.: {score}", n + 1))
        };
        scores.iter().enumerate().map(score).collect()
    }
}

/// A number in millionths, half a millionth rounded away from zero; nothing if it is too large.
///
/// It is the shortest decimal of the number that is rounded, digit by digit: a float times a million would be rounded twice.
fn millionths(number: &Number) -> Option<i64> {
    if let Some(whole) = number.as_i64() {
        return whole.checked_mul(1_000_000);
    }
    let text = number.as_f64().filter(|float| float.is_finite())?.to_string();
    let (sign, text) = text.strip_prefix('-').map_or((1, text.as_str()), |text| (-1, text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digit = |n: usize| fraction.as_bytes().get(n).map_or(0, |digit| i64::from(digit - b'0'));
    let below = (0..6).fold(0, |sum, n| 10 * sum + digit(n)) + i64::from(digit(6) >= 5);
    let whole = whole.parse::<i64>().ok()?.checked_mul(1_000_000)?;
    Some(sign * whole.checked_add(below)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_rounded_half_away_from_zero() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("3", Some(3_000_000)),
            ("-3.25", Some(-3_250_000)),
            ("0.0000005", Some(1)),
            ("-5e-7", Some(-1)),
            ("0.00000049999", Some(0)),
            ("1.2345675", Some(1_234_568)),
            ("-1.2345675", Some(-1_234_568)),
            ("0.9999996", Some(1_000_000)),
            ("1.5e3", Some(1_500_000_000)),
            ("1e-300", Some(0)),
            ("9223372036854", Some(9_223_372_036_854_000_000)),
            ("9223372036855", None),
            ("18446744073709551615", None),
            ("1e300", None),
        ] {
            assert_eq!(millionths(&serde_json::from_str(text).unwrap()), expected, "{text}");
        }
    }
}
