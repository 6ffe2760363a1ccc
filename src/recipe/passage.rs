//! Sections and keys that are about passages from outside, and models that compare them.

use super::{OneOrMany, Split};
use crate::language::Language;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[haystack]`: the passages that are no needles.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Collection {
    /// Format of the files.
    pub kind: CollectionKind,
    /// Entry of `checksums/sources.toml`; `{language}` stands for a language's code. None: whatever `--data` holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// The pin of single languages, where it is another one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub archives: BTreeMap<Language, String>,
    /// Name of the files, one a language, with `{language}`, `{name}` (the language's English name) and `{split}`.
    pub files: OneOrMany<String>,
    /// Split that `{split}` stands for.
    pub split: Split,
    /// Passages that are drawn, the same in every language. (All of a SQuAD file's are taken.)
    #[schemars(range(min = 1, max = 1_000_000))]
    pub sample: u32,
    /// What a line of a text file is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    /// May a text that is too short for a length be told again from its beginning?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<bool>,
}

impl Default for Collection {
    fn default() -> Self {
        Collection {
            kind: CollectionKind::Tsv,
            archive: None,
            archives: BTreeMap::new(),
            files: OneOrMany::One("{name}_collection.tsv".to_owned()),
            split: Split::Dev,
            sample: 10_000,
            lines: None,
            repeat: None,
        }
    }
}

/// `haystack.kind`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CollectionKind {
    /// Lines of `pid<TAB>passage`, as mMARCO has them.
    Tsv,
    /// The contexts of a SQuAD file, parallel by the ids of their questions.
    Squad,
    /// Running text: plain text or Markdown, files or folders, in the order written.
    Text,
    /// Essays of our own generator, in each language.
    Essays,
}

/// `haystack.lines`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lines {
    /// Lines of a paragraph are wrapped: a blank line ends it.
    Wrapped,
    /// Each line is a paragraph.
    Paragraphs,
}

/// `grid.positions`: where the needle is asked to stand among the passages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Before all others.
    Start,
    /// As near to the middle of their tokens as whole passages allow.
    Middle,
    /// After all others.
    End,
}

impl Position {
    /// All, in order.
    pub const ALL: [Position; 3] = [Position::Start, Position::Middle, Position::End];

    /// As columns write it.
    pub fn name(self) -> &'static str {
        match self {
            Position::Start => "start",
            Position::Middle => "middle",
            Position::End => "end",
        }
    }
}

/// `grid.choice`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// In one seeded order, those first that are in most languages, so that cells share as many as they can.
    Shared,
    /// The first rows of the needle language's file, as the paper's code takes them.
    First,
}

/// `grid.prompts`: the paper's two prompts (its appendix, Prompt Templates).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptKind {
    /// The answer is asked for.
    Exact,
    /// Whether a passage holds the answer; each with a twin that has no needle.
    Existence,
}

impl PromptKind {
    /// As columns write it.
    pub fn name(self) -> &'static str {
        match self {
            PromptKind::Exact => "exact",
            PromptKind::Existence => "existence",
        }
    }
}

/// `[embedding]`: a sentence-transformer in ONNX form.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Embedding {
    /// Name of the model's folder (under `--models`), and of its pins: `<model>/<file>`.
    pub model: String,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Put before a question.
    pub query_prefix: String,
    /// Put before a passage.
    pub passage_prefix: String,
    /// Tokens beyond this are cut off, as the model's own configuration does.
    pub max_tokens: u32,
    /// Components of its vectors.
    pub dimensions: u32,
}

impl Default for Embedding {
    fn default() -> Self {
        // The encoder of both papers. Its own configuration cuts at 128 tokens.
        Embedding {
            model: "paraphrase-multilingual-mpnet-base-v2".to_owned(),
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            max_tokens: 128,
            dimensions: 768,
        }
    }
}

/// `embedding.pooling`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// Mean over the tokens.
    Mean,
    /// The first token.
    Cls,
}

/// `prompt.middle`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Middle {
    /// As many tokens of distractors before as after.
    Tokens,
    /// As many passages, as the paper's code does.
    Count,
}

/// `prompt.last`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Last {
    /// Left out: passages are whole.
    Whole,
    /// Cut where the budget ends, as the paper's code does.
    Cut,
}
