//! The memory of answers: those of pins, and a journal that each new one is written to at once.
//!
//! A journal is `<store>/translate/<digest of parameters>.jsonl`, an answer a line.

use super::journal::Journal;
use super::{Answer, Ask, pin};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::pinfile;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of journals in a store, and of pins among pins.
pub const FOLDER: &str = "translate";

/// Answers by the digest of what was asked, and which of them were used.
pub struct Memory {
    known: FxHashMap<Digest, Arc<str>>,
    used: BTreeMap<Ask, Arc<str>>,
    journal: Journal,
}

/// A line of the journal.
#[derive(Serialize, Deserialize)]
struct Line {
    key: Digest,
    #[serde(flatten)]
    ask: Ask,
    answer: String,
}

impl Memory {
    /// Reads the pins of these parameters in the given folders, in their order, then the journal. Of two answers to the
    /// same ask the first holds. `writing` takes the lock and cuts off what is torn.
    pub fn open(store: &Path, pins: &[PathBuf], parameters: &Value, writing: bool) -> Result<Memory> {
        let digest = pin::parameters_digest(parameters);
        let mut known = FxHashMap::default();
        for path in pinfile::find(pins, FOLDER, &digest)? {
            // A pin that is damaged is no pin that is not there: to ask again costs.
            let (entries, found) = pin::read(&path)?;
            if pin::parameters_digest(&found) != digest {
                fail!("{} was made with other parameters than its name says", path.display());
            }
            for (ask, answer) in entries {
                known.entry(ask.key()).or_insert(answer);
            }
        }
        let path = store.join(FOLDER).join(format!("{digest}.jsonl"));
        let journal = Journal::open(path, writing, &mut |line| match serde_json::from_slice::<Line>(line) {
            Ok(line) if line.ask.key() == line.key => {
                known.entry(line.key).or_insert_with(|| line.answer.into());
                true
            }
            _ => false,
        })?;
        Ok(Memory { known, used: BTreeMap::new(), journal })
    }

    /// The answer to an ask.
    pub fn get(&self, ask: &Ask) -> Option<&str> {
        self.known.get(&ask.key()).map(|answer| &**answer)
    }

    /// The answer to an ask, which from now on belongs to the pin.
    pub fn take(&mut self, ask: &Ask) -> Option<Arc<str>> {
        let answer = self.known.get(&ask.key())?.clone();
        if !self.used.contains_key(ask) {
            self.used.insert(ask.clone(), answer.clone());
        }
        Some(answer)
    }

    /// Keeps new answers, on disk before it returns.
    pub fn keep(&mut self, answers: &[(&Ask, &Answer)]) -> Result<()> {
        let mut text = String::new();
        for (ask, answer) in answers {
            let line = Line { key: ask.key(), ask: (*ask).clone(), answer: answer.text().to_owned() };
            text += &serde_json::to_string(&line).map_err(|e| Error::new(format!("cannot encode an answer: {e}")))?;
            text.push('\n');
            self.known.entry(line.key).or_insert_with(|| line.answer.into());
        }
        self.journal.append(&text)
    }

    /// What was used so far, in the order of a pin's rows.
    pub fn used(&self) -> &BTreeMap<Ask, Arc<str>> {
        &self.used
    }
}
