//! What streams say of themselves: gathered where they are merged, and handed on where each becomes another.

use super::part::Parts;
use super::stream::Notes;
use super::{EMBEDDER, K, KEY, KIND, PARTS, QUERIES, QUESTIONS, SIZE};
use crate::error::{Error, Result};
use crate::work::share::Share;
use std::collections::BTreeMap;

/// What the streams of a merge say, each of which must say the same but for its parts.
pub struct Said {
    kind: Option<&'static str>,
    keys: &'static [&'static str],
    values: BTreeMap<&'static str, String>,
    parts: Option<Parts>,
    /// Do the parts not depend on what streams say: are they known, or did one not say its own?
    settled: bool,
}

impl Said {
    /// Nothing yet, of streams of a kind and of these keys.
    pub fn new(kind: Option<&'static str>, keys: &'static [&'static str]) -> Said {
        Said { kind, keys, values: BTreeMap::new(), parts: None, settled: false }
    }

    /// What is known beforehand: streams that say otherwise are refused.
    pub fn with(mut self, key: &'static str, value: Option<String>) -> Said {
        self.values.extend(value.map(|value| (key, value)));
        self
    }

    /// The parts, whatever streams say.
    pub fn with_parts(self, parts: Option<Parts>) -> Said {
        Said { parts, settled: true, ..self }
    }

    /// [`Said::with_parts`] of a share, if there is one.
    pub fn of(self, share: Option<Share>) -> Said {
        match share {
            Some(share) => self.with_parts(Some(Parts::of(share))),
            None => self,
        }
    }

    /// Adds what a stream says. Who knows all parts must know those of every stream: one that does not say it makes them unknown for good.
    ///
    /// # Errors
    ///
    /// Another kind, another value, parts of another whole.
    pub fn add(&mut self, notes: &Notes) -> Result<()> {
        if let (Some(own), Some(other)) = (self.kind, notes.get(KIND))
            && own != other
        {
            return Err(Error::new(format!("a stream of {other} where one of {own} is expected"))
                .help("merge streams of one kind alone; --lines is for samples"));
        }
        for key in self.keys {
            match (self.values.get(key), notes.get(key)) {
                (Some(one), Some(other)) if one != other => return Err(differ(key, one, other)),
                (None, Some(said)) => drop(self.values.insert(key, said.to_owned())),
                _ => {}
            }
        }
        if self.settled {
            return Ok(());
        }
        let Some(parts) = notes.get(PARTS) else {
            (self.parts, self.settled) = (None, true);
            return Ok(());
        };
        let own: Parts = parts.parse()?;
        self.parts = Some(match self.parts.take() {
            Some(before) => before.with(own)?,
            None => own,
        });
        Ok(())
    }

    /// What they say under a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// The parts that are in; none where a stream does not say it.
    pub fn parts(&self) -> Option<&Parts> {
        self.parts.as_ref()
    }

    /// As notes of what was made of the streams.
    pub fn notes(&self) -> Notes {
        let kind = self.kind.map(|kind| (KIND, kind.to_owned()));
        let parts = self.parts.as_ref().map(|parts| (PARTS, parts.to_string()));
        Notes::new(self.values.iter().map(|(key, value)| (*key, value.clone())).chain(kind).chain(parts))
    }
}

fn differ(key: &str, one: &str, other: &str) -> Error {
    let (what, help) = match key {
        K => {
            return Error::new(format!("lists of {one} and of {other} passages cannot be merged"))
                .help("search all shards with the same -k");
        }
        QUERIES => ("the shards were searched for other queries", "search all shards with the same file of queries"),
        QUESTIONS => ("the streams are of other questions", "make all of them by the same recipe, from the same files"),
        EMBEDDER => (
            "the vectors are not of the same embedder",
            "embed queries and all shards by the same recipe (--recipe), with the same model and runtime",
        ),
        SIZE | KEY => ("the samples were drawn otherwise", "draw all of them by the same recipe and seed"),
        _ => ("the streams do not belong together", "make all of them by the same recipe"),
    };
    Error::new(format!("{what}: {other} is not {one}")).help(help)
}

/// Notes that an output hands on of its input. It begins with the first stream, before the others are known: so all must say the same.
pub struct Handed {
    keys: &'static [&'static str],
    first: Option<Notes>,
}

impl Handed {
    /// Of these keys.
    pub fn new(keys: &'static [&'static str]) -> Handed {
        Handed { keys, first: None }
    }

    /// Takes what a stream says; gives what is handed on with the first one.
    pub fn add(&mut self, notes: &Notes) -> Result<Option<Vec<(&'static str, String)>>> {
        let Some(first) = &self.first else {
            self.first = Some(notes.clone());
            return Ok(Some(self.keys.iter().filter_map(|key| Some((*key, notes.get(key)?.to_owned()))).collect()));
        };
        match self.keys.iter().find(|key| first.get(key) != notes.get(key)) {
            None => Ok(None),
            Some(key) => {
                let of = |notes: &Notes| notes.get(key).unwrap_or("unknown").to_owned();
                let (what, help) = match *key {
                    PARTS => ("parts", "take each part alone, or say with --part I/N which one they are together"),
                    _ => ("questions", "take the streams of each recipe alone"),
                };
                let (one, other) = (of(first), of(notes));
                Err(Error::new(format!("a stream of other {what} than the first one: {other} is not {one}")).help(help))
            }
        }
    }
}
