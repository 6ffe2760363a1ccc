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
pub(crate) use matching::{edge, spellings, strip};
pub use names::*;
pub(crate) use normal::class_number;
pub use normal::normalize;
pub use pack::{Pack, is_forbidden, is_joiner};
pub use reader::ReadError;

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::RwLock;

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

/// A language: one with an embedded pack, by its place in the table, or a guest, whose pack a recipe has made by machine
/// translation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Language(u8);

/// Codes of guests, in the order of their coming; their order among themselves is that of their codes.
static GUESTS: RwLock<Vec<&'static str>> = RwLock::new(Vec::new());

impl Ord for Language {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |l: &Language| if l.is_guest() { (LANGUAGES.len(), l.code()) } else { (l.0 as usize, "") };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Language {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Language {
    /// All languages, in the table's order.
    pub fn all() -> impl Iterator<Item = Language> {
        (0..LANGUAGES.len() as u8).map(Language)
    }

    /// The languages of the papers, in their order: those of a recipe that names none.
    pub fn of_the_papers() -> impl Iterator<Item = Language> {
        Language::all().take(7)
    }

    /// Makes a language known that has no embedded pack; one that has is itself.
    ///
    /// # Errors
    ///
    /// A code that is none: two or three lower-case letters, perhaps with a region or script behind a hyphen.
    pub fn guest(code: &str) -> Result<Language> {
        let (bare, rest) = code.split_once('-').unwrap_or((code, "x"));
        let letters = (2..=3).contains(&bare.len()) && bare.bytes().all(|b| b.is_ascii_lowercase());
        if !letters || rest.is_empty() || rest.len() > 8 || !rest.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(Error::new(format!("{code:?} is no code of a language"))
                .help("write its ISO 639 code, such as fr, or with a region, such as pt-BR"));
        }
        if let Some(known) = Language::find(code) {
            return Ok(known);
        }
        let mut guests = GUESTS.write().unwrap_or_else(|e| e.into_inner());
        let n = match guests.iter().position(|known| *known == code) {
            Some(n) => n,
            None => {
                guests.push(Box::leak(code.to_owned().into_boxed_str()));
                guests.len() - 1
            }
        };
        let number = u8::try_from(LANGUAGES.len() + n).map_err(|_| Error::new("too many languages"))?;
        Ok(Language(number))
    }

    /// Has it no embedded pack?
    pub fn is_guest(self) -> bool {
        self.0 as usize >= LANGUAGES.len()
    }

    fn find(code: &str) -> Option<Language> {
        Language::all().find(|l| l.code() == code).or_else(|| {
            let guests = GUESTS.read().unwrap_or_else(|e| e.into_inner());
            guests.iter().position(|known| *known == code).map(|n| Language((LANGUAGES.len() + n) as u8))
        })
    }

    /// ISO 639-1 code.
    pub fn code(self) -> &'static str {
        match self.is_guest() {
            false => LANGUAGES[self.0 as usize].code,
            true => GUESTS.read().unwrap_or_else(|e| e.into_inner())[self.0 as usize - LANGUAGES.len()],
        }
    }

    /// The text of the embedded pack; none of a guest's.
    pub fn file(self) -> &'static str {
        LANGUAGES.get(self.0 as usize).map_or("", |entry| entry.file)
    }

    /// The patterns of its generated essays; none of a guest's.
    pub(crate) fn essays(self) -> &'static str {
        LANGUAGES.get(self.0 as usize).map_or("", |entry| entry.essays)
    }

    /// The embedded pack.
    pub fn pack(self) -> Result<Pack> {
        if self.is_guest() {
            return Err(Error::new(format!("no language pack {self} is embedded"))
                .help("name it under [translation.languages], or add a pack"));
        }
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
        Language::find(code.trim()).ok_or_else(|| {
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
