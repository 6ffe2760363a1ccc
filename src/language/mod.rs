//! The languages: one pack of data each, written and read back by one set of patterns.
//!
//! [`Message`] is a sentence's meaning as the packs see it: a pattern's number and the entities in
//! its slots. A [`Pack`] writes a message as a sentence and reads a sentence back to messages.
//! To add a language: put a pack file beside this one and its essays below, and add its code to `languages!`.

pub mod breaks;
pub mod essays;
mod file;
mod matching;
mod names;
mod normal;
mod pack;
mod pattern;
mod quotes;
mod reader;

pub use matching::{Finder, Pattern, Rules};
pub use names::*;
pub use normal::normalize;
pub use pack::Pack;
pub use reader::ReadError;

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

struct Entry {
    code: &'static str,
    file: &'static str,
    essays: &'static str,
}

macro_rules! languages {
    ($($code:literal),* $(,)?) => {
        /// Every embedded pack, in the order in which releases list them.
        const LANGUAGES: &[Entry] = &[$(Entry {
            code: $code,
            file: include_str!(concat!($code, ".toml")),
            essays: include_str!(concat!("essays/", $code, ".txt")),
        }),*];
    };
}

// The papers' seven stay first.
languages!["en", "de", "es", "zh", "vi", "hi", "ar", "id"];

/// A language with an embedded pack, by its place in the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language(u8);

impl Language {
    /// All languages, in the table's order.
    pub fn all() -> impl Iterator<Item = Language> {
        (0..LANGUAGES.len() as u8).map(Language)
    }

    /// The languages of the papers, in their order: those of a recipe that names none.
    pub fn of_the_papers() -> impl Iterator<Item = Language> {
        Language::all().take(7)
    }

    /// ISO 639-1 code.
    pub fn code(self) -> &'static str {
        LANGUAGES[self.0 as usize].code
    }

    /// The text of the embedded pack.
    pub fn file(self) -> &'static str {
        LANGUAGES[self.0 as usize].file
    }

    /// The patterns of its generated essays.
    pub(crate) fn essays(self) -> &'static str {
        LANGUAGES[self.0 as usize].essays
    }

    /// The embedded pack.
    pub fn pack(self) -> Result<Pack> {
        let place = |e: Error| e.at(format!("embedded pack {}.toml", self.code()));
        let pack = Pack::parse(self.file()).map_err(place)?;
        if pack.code() != self.code() {
            return Err(place(Error::new(format!("code is {:?}, expected {:?}", pack.code(), self.code()))));
        }
        Ok(pack)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(code: &str) -> std::result::Result<Self, String> {
        Language::all().find(|l| l.code() == code.trim()).ok_or_else(|| {
            let known: Vec<_> = Language::all().map(Language::code).collect();
            format!("unknown language `{code}`, expected one of {}", known.join(", "))
        })
    }
}

impl Serialize for Language {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Language {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A sentence's meaning: which pattern, and which entity stands in each slot (0 where the pattern has no such slot).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Index into [`PATTERNS`].
    pub pattern: u8,
    /// Entities in the slots A, B (actors), O (object), P, Q (places).
    pub slots: [u8; 5],
}
