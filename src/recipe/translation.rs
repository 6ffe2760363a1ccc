//! `[translation]`: languages without a pack, by machine translation (the paper's section 2.4 and Table 7).

use crate::error::{Error, Result};
use crate::fail;
use crate::translator::Settings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[translation]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// The service, or the program.
    pub service: Settings,
    /// The languages, by code. One that has a pack is translated only to be compared with it.
    pub languages: BTreeMap<String, Guest>,
    /// How often a sentence is asked for, at most.
    #[serde(default = "Translation::attempts")]
    pub attempts: u32,
    /// Translate back too, to see what was lost.
    #[serde(default = "Translation::back")]
    pub back: bool,
    /// Least similarity of a sentence and its translation translated back, in thousandths, under the recipe's embedder; 0
    /// lets all pass.
    #[serde(default)]
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
        self.service.check().map_err(|e| e.at("translation.service"))?;
        if self.languages.is_empty() {
            fail!("translation.languages names no language");
        }
        if !(1..=10).contains(&self.attempts) {
            fail!("translation.attempts is {}, expected 1 to 10", self.attempts);
        }
        if self.least_similarity > 1000 {
            fail!("translation.least_similarity is {}, expected thousandths, 0 to 1000", self.least_similarity);
        }
        if self.least_similarity > 0 && !self.back {
            fail!("translation.least_similarity needs translation.back = true");
        }
        for (code, guest) in &self.languages {
            if code == "en" {
                fail!("translation.languages names en: translations are from English");
            }
            guest.check().map_err(|e| e.at(format!("translation.languages.{code}")))?;
        }
        Ok(())
    }
}

/// A language of `[translation.languages]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
                    .help("leave both lists out to keep the English names"));
            }
        }
        if self.women.is_empty() != self.men.is_empty() {
            fail!("women and men must both be given, or neither");
        }
        let all = || self.women.iter().chain(&self.men);
        for (n, name) in all().enumerate() {
            if name.trim().is_empty() || name.trim() != name || name.contains(['{', '}', '[', ']', '|']) {
                fail!("the name {name:?} cannot stand in a sentence");
            }
            if let Some(other) = all().take(n).find(|other| name.contains(*other) || other.contains(name.as_str())) {
                fail!("the names {other:?} and {name:?} cannot be told apart");
            }
        }
        Ok(())
    }
}
