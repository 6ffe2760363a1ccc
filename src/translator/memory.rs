//! The memory of answers: those of pins, and a journal that each new one is written to at once.
//!
//! A journal is `<store>/translate/<digest of parameters>.jsonl`, an answer a line. Only whole lines count: what a killed
//! build left half is cut off. A `.lock` beside it is held by the build that may write.

use super::{Answer, Ask, pin};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::store::{make_dir, sorted_dir, sync_dir};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of journals in a store, and of pins among pins.
pub const FOLDER: &str = "translate";

/// Answers by the digest of what was asked, and which of them were used.
pub struct Memory {
    known: FxHashMap<Digest, Arc<str>>,
    used: BTreeMap<Ask, Arc<str>>,
    path: PathBuf,
    /// Open where this build may write.
    journal: Option<File>,
    /// Held until the end.
    _lock: Option<File>,
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
        let path = store.join(FOLDER).join(format!("{digest}.jsonl"));
        let mut memory =
            Memory { known: FxHashMap::default(), used: BTreeMap::new(), path, journal: None, _lock: None };
        for folder in pins.iter().map(|folder| folder.join(FOLDER)).filter(|folder| folder.is_dir()) {
            memory.read_pins(&folder, &digest)?;
        }
        if writing {
            make_dir(&store.join(FOLDER))?;
            memory._lock = Some(lock(&memory.path.with_extension("lock"))?);
        }
        memory.read_journal(writing)?;
        Ok(memory)
    }

    fn read_pins(&mut self, folder: &Path, parameters: &Digest) -> Result<()> {
        let ending = format!("-{parameters}.parquet");
        for path in sorted_dir(folder)? {
            if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(&ending)) {
                // A pin that is damaged is no pin that is not there: to ask again costs.
                let (entries, found) = pin::read(&path)?;
                if pin::parameters_digest(&found) != *parameters {
                    fail!("{} was made with other parameters than its name says", path.display());
                }
                for (ask, answer) in entries {
                    self.known.entry(ask.key()).or_insert(answer);
                }
            }
        }
        Ok(())
    }

    fn read_journal(&mut self, writing: bool) -> Result<()> {
        let path = self.path.clone();
        let mut bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(Error::io("cannot read", &path, e)),
        };
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
        let torn = whole < bytes.len();
        bytes.truncate(whole);
        for (n, line) in bytes.split(|b| *b == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
            match serde_json::from_slice::<Line>(line) {
                Ok(line) if line.ask.key() == line.key => {
                    self.known.entry(line.key).or_insert_with(|| line.answer.into());
                }
                _ => {
                    crate::report::warn(&format!("line {} of {} is damaged and passed over", n + 1, path.display()));
                }
            }
        }
        if writing {
            let fault = |e| Error::io("cannot open", &path, e);
            let file = File::options().create(true).append(true).open(&path).map_err(fault)?;
            if torn {
                file.set_len(whole as u64)
                    .and_then(|()| file.sync_all())
                    .map_err(|e| Error::io("cannot cut", &path, e))?;
            }
            self.journal = Some(file);
            sync_dir(path.parent().unwrap_or(&path))?;
        }
        Ok(())
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
        let Some(file) = &mut self.journal else { fail!("{} is not open for writing", self.path.display()) };
        let fault = |e| Error::io("cannot write", &self.path, e);
        let before = file.metadata().map_err(fault)?.len();
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(|e| {
            // Half a line would spoil the next one.
            let _ = file.set_len(before);
            fault(e)
        })
    }

    /// What was used so far, in the order of a pin's rows.
    pub fn used(&self) -> &BTreeMap<Ask, Arc<str>> {
        &self.used
    }
}

fn lock(path: &Path) -> Result<File> {
    let file = File::options().create(true).append(true).open(path).map_err(|e| Error::io("cannot open", path, e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Error::new(format!("another build is asking the same service ({})", path.display()))
                .help("wait for it to end: what it asks is then known here too"))
        }
        Err(TryLockError::Error(e)) => Err(Error::io("cannot lock", path, e)),
    }
}
