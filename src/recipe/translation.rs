//! `[translation]`: languages without a pack, by machine translation (the paper's section 2.4 and Table 7).

use crate::error::{Error, Result};
use crate::fail;
use crate::translator::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[translation]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// The service, or the program.
    pub service: Settings,
    /// The languages, by code. One that has a pack is translated only to be compared with it.
    #[schemars(extend("minProperties" = 1))]
    pub languages: BTreeMap<String, Guest>,
    /// How often a sentence is asked for, at most.
    #[serde(default = "Translation::attempts")]
    #[schemars(range(min = 1, max = 10))]
    pub attempts: u32,
    /// Translate back too, to see what was lost.
    #[serde(default = "Translation::back")]
    pub back: bool,
    /// Least similarity of a sentence and its translation translated back, in thousandths, under the recipe's embedder; 0
    /// lets all pass.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000))]
    pub least_similarity: u32,
}

impl Translation {
    fn attempts() -> u32 {
        3
    }

    fn back() -> bool {
        true
    }

    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<()> {
        self.service.check().map_err(|e| e.under("translation.service").at("translation.service"))?;
        if self.languages.is_empty() {
            fail!(on "translation.languages"; "translation.languages names no language");
        }
        if !(1..=10).contains(&self.attempts) {
            fail!(on "translation.attempts"; "translation.attempts is {}, expected 1 to 10", self.attempts);
        }
        if self.least_similarity > 1000 {
            fail!(on "translation.least_similarity"; "translation.least_similarity is {}, expected thousandths, 0 to 1000", self.least_similarity);
        }
        if self.least_similarity > 0 && !self.back {
            fail!(on "translation.least_similarity"; "translation.least_similarity needs translation.back = true");
        }
        for (code, guest) in &self.languages {
            if code == "en" {
                fail!(key "translation.languages.en"; "translation.languages names en: translations are from English");
            }
            let key = format!("translation.languages.{code}");
            guest.check().map_err(|e| e.under(&key).at(format!("translation.languages.{code}")))?;
        }
        Ok(())
    }
}

/// A language of `[translation.languages]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Guest {
    /// Its own name; its code if empty.
    pub name: String,
    /// Its English name; its code if empty.
    pub english_name: String,
    /// Names of women of its own culture, which are never translated: [`WOMEN`] of them; English ones if empty.
    pub women: Vec<String>,
    /// Names of men: [`MEN`] of them.
    pub men: Vec<String>,
    /// Does it write a capital where a sentence begins, and spaces between words?
    pub spaced: Option<bool>,
    /// A sheet with the verdicts of native reviewers, read back.
    pub review: Option<String>,
}

/// Women of a cast.
pub const WOMEN: usize = 20;

/// Men of a cast.
pub const MEN: usize = 25;

impl Guest {
    fn check(&self) -> Result<()> {
        for (key, names, wanted) in [("women", &self.women, WOMEN), ("men", &self.men, MEN)] {
            if !names.is_empty() && names.len() != wanted {
                return Err(Error::new(format!("{key} has {} names, a cast needs {wanted}", names.len()))
                    .on(key)
                    .help("leave both lists out to keep the English names"));
            }
        }
        if self.women.is_empty() != self.men.is_empty() {
            fail!(key if self.women.is_empty() { "men" } else { "women" }; "women and men must both be given, or neither");
        }
        let all = || self.women.iter().chain(&self.men);
        for (n, name) in all().enumerate() {
            let key = match n.checked_sub(self.women.len()) {
                None => format!("women[{n}]"),
                Some(n) => format!("men[{n}]"),
            };
            if name.trim().is_empty() || name.trim() != name || name.contains(['{', '}', '[', ']', '|']) {
                fail!(on key; "the name {name:?} cannot stand in a sentence");
            }
            if let Some(other) = all().take(n).find(|other| name.contains(*other) || other.contains(name.as_str())) {
                fail!(on key; "the names {other:?} and {name:?} cannot be told apart");
            }
        }
        Ok(())
    }
}
