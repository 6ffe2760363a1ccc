//! Scores what models answered to the prompts of a release.

mod words;

pub use words::{KINDS, LanguageWords, Words};

use crate::error::{Error, Result};
use crate::release::Release;

/// The matching rule as a Python module, for evaluators: needs nothing but Python 3.9.
pub const PYTHON: &str = include_str!("nihbuild_score.py");

/// Columns that the matching rule reads.
pub const COLUMNS: [&str; 12] = [
    "family",
    "task",
    "source_task",
    "language",
    "question_language",
    "strategy",
    "prompt_kind",
    "question",
    "answers",
    "answer_variants",
    "answers_by_language",
    "expected",
];

/// The word lists of a release that [`PYTHON`] needs, as JSON.
pub fn words(release: &Release) -> Result<serde_json::Value> {
    serde_json::to_value(Words::of(release)?).map_err(|e| Error::new(e.to_string()))
}
