//! Compact releases: each text once, rows as numbers; and back, byte for byte.
//!
//! A compact release is a folder like that of a release, with `compact/` in place of `data/`:
//!
//! ```text
//! manifest.json README.md recipe.toml packs/ pins/ ...   as in the full release
//! SHA256SUMS                     of this folder
//! compact/compact.json           the format, digests of the parts, how each data file is put together ([`Index`])
//! compact/SHA256SUMS             that of the full release
//! compact/rows/<config>.parquet  the columns of a data file that are no function of the rest, and a [`Recipe`] a row
//! compact/texts/<name>.parquet   passages of a pool, or a running text: id and text
//! compact/facts/<name>.parquet   what is hidden, one list an instance
//! compact/frames/<name>.parquet  what stands before and behind, one pair an instance
//! compact/rankings/<name>.parquet  passages of each instance, of which a row takes the first so many
//! ```
//!
//! All that tokenizers, models and solvers said stands in the columns that are kept, so [`materialize()`] only puts texts
//! together. It holds each file against the SHA-256 that the manifest has of it.

pub mod materialize;
mod needle;
mod part;
mod read;
mod render;
mod rows;
mod running;
mod seal;
mod story;
mod supply;

pub use materialize::materialize;
pub(crate) use materialize::write_file;
pub(crate) use needle::reach;
pub use part::{PartFile, Parts};
pub use read::Release;
pub(crate) use rows::MADE;
pub use rows::Recipe;
pub(crate) use rows::{RowsPart, shrink};
pub(crate) use seal::{check, seal, write_index};
pub(crate) use supply::Supply;

use crate::error::{Error, Result};
use crate::hash::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Format of `compact.json`.
pub const FORMAT: u32 = 1;

/// Where the index lies in a compact release.
pub const INDEX: &str = "compact/compact.json";

/// Where the full release's SHA256SUMS lie.
pub const FULL_SUMS: &str = "compact/SHA256SUMS";

/// Extension of a compact release's folder.
pub const EXTENSION: &str = "compact";

/// `compact/compact.json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Raised when the same parts are put together otherwise.
    pub format: u32,
    /// SHA-256 of each part, by path inside the release.
    pub parts: BTreeMap<String, Digest>,
    /// The data files, in the order of the manifest.
    pub files: Vec<FileIndex>,
}

/// How a data file is put together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileIndex {
    /// Path inside the full release.
    pub path: String,
    /// The part with its rows.
    pub rows: String,
    /// Rows of each of its row groups.
    pub groups: Vec<u64>,
    /// Rows hold their prompt as messages too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub messages: bool,
    /// How its prompts are put together.
    pub layout: Layout,
}

/// How prompts are put together; names are those of parts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Layout {
    /// Facts at the places of their needle spans, passages around them.
    Story {
        /// The facts.
        facts: String,
        /// Head and tail.
        frames: String,
        /// The passages.
        texts: String,
        /// Which of them; none where no row has any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ranking: Option<String>,
    },
    /// Numbered passages, one of them the needle.
    Numbered {
        /// The needles.
        facts: String,
        /// Head and tail.
        frames: String,
        /// The passages in each language.
        texts: Vec<String>,
        /// What a passage's id is followed by where it is not the haystack's language, in the order of `texts`.
        suffixes: Vec<String>,
        /// Number of the haystack's language; none where the ranking says it of each passage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own: Option<usize>,
        /// Number of the needle's language, which has what stands in the needle's place.
        needle: usize,
        /// Which passages; none where no row has any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ranking: Option<String>,
        /// The first label's number.
        first: u64,
        /// What stands before and behind a label's number.
        label: (String, String),
        /// Behind each passage.
        end: String,
        /// Behind the last.
        close: String,
    },
    /// A needle in a running text.
    Running {
        /// The needle.
        facts: String,
        /// Head and tail.
        frames: String,
        /// The text.
        texts: String,
        /// Between needle and text.
        gap: String,
        /// The same where the needle stands before the text.
        gap_at_start: String,
    },
}

impl Layout {
    /// The parts that it names.
    pub fn parts(&self) -> Vec<&str> {
        let (facts, frames, texts, ranking) = match self {
            Layout::Story { facts, frames, texts, ranking } => (facts, frames, std::slice::from_ref(texts), ranking),
            Layout::Numbered { facts, frames, texts, ranking, .. } => (facts, frames, texts.as_slice(), ranking),
            Layout::Running { facts, frames, texts, .. } => (facts, frames, std::slice::from_ref(texts), &None),
        };
        let all = [facts, frames].into_iter().chain(texts).chain(ranking);
        all.map(String::as_str).collect()
    }
}

impl Index {
    /// Reads the index of a compact release.
    pub fn read(folder: &Path) -> Result<Index> {
        let path = folder.join(INDEX);
        let bytes = std::fs::read(&path).map_err(|e| Error::io("cannot read", &path, e))?;
        let index: Index = serde_json::from_slice(&bytes).map_err(|e| Error::new(e.to_string()).at(path.display()))?;
        if index.format != FORMAT {
            let what = format!("{} has format {}, this program knows {FORMAT}", path.display(), index.format);
            return Err(Error::new(what).help("use the version of the program that the manifest names, or a later one"));
        }
        Ok(index)
    }
}

/// Is a folder a compact release?
pub fn is_compact(folder: &Path) -> bool {
    folder.join(INDEX).is_file()
}
