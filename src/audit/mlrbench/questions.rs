//! Questions that do not ask what the English row asks, by the wordings of `questions.toml`.

use crate::error::{Error, Result};
use crate::story::Question;
use serde::Deserialize;

/// How a wording misses the question.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// It asks something else.
    Changed,
    /// It can be read in two ways.
    Ambiguous,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wording {
    language: String,
    kind: Kind,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    WhatIsOf,
    WhereBefore,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    wording: Vec<Wording>,
}

/// The known wordings.
pub(super) struct Wordings(Vec<Wording>);

impl Wordings {
    pub(super) fn read() -> Result<Wordings> {
        let file: File = toml::from_str(include_str!("questions.toml"))
            .map_err(|e| Error::new(e.to_string()).at("embedded mlrbench/questions.toml"))?;
        Ok(Wordings(file.wording))
    }

    /// Does a language have wordings for a kind of question?
    pub(super) fn judges(question: Question) -> bool {
        kind(question).is_some()
    }

    /// What is wrong with a printed question that should ask this.
    pub(super) fn verdict(&self, language: &str, question: Question, printed: &str) -> Option<Verdict> {
        let kind = kind(question)?;
        let holds = |words: &[String]| words.iter().any(|word| printed.contains(word.as_str()));
        let known = |w: &&Wording| {
            w.language == language && w.kind == kind && (w.has.is_empty() || holds(&w.has)) && !holds(&w.lacks)
        };
        self.0.iter().find(known).map(|wording| wording.verdict)
    }
}

fn kind(question: Question) -> Option<Kind> {
    match question {
        Question::WhatIsOf { .. } => Some(Kind::WhatIsOf),
        Question::WhereBefore { .. } => Some(Kind::WhereBefore),
        _ => None,
    }
}
