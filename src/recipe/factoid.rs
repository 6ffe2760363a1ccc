//! Sections and keys of the factoid family: "LLM In-Context Recall is Prompt Dependent".

use super::{ModelName, Name};
use crate::language::Language;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[slots]`: the grid of lengths and depths.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Slots {
    /// One of the paper's models: gives window, numbers of lengths and depths, and layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// The longest length, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 100_000_000))]
    pub window: Option<u32>,
    /// What a length bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_of: Option<LengthOf>,
    /// So many lengths, evenly spaced from `first` to `window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub n_lengths: Option<u32>,
    /// The shortest of them, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 50, max = 100_000_000))]
    pub first: Option<u32>,
    /// The lengths themselves, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), inner(range(min = 50)), extend("uniqueItems" = true))]
    pub lengths: Option<Vec<u32>>,
    /// So many depths.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub n_depths: Option<u32>,
    /// How they are spaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
    /// The depths themselves, in percent with at most three decimals.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub depths: Option<Vec<Percent>>,
}

/// `slots.length_of`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LengthOf {
    /// The running text with its needle, as in the paper: prompts come out longer.
    Haystack,
    /// The whole prompt, the answer and the chat template.
    Prompt,
}

/// `slots.spacing`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Spacing {
    /// Close together near both ends (the paper's section 3.1): 100 / (1 + exp(-0.1 (x - 50))) for evenly spaced x from 0
    /// to 100, rounded to three decimals, the ends kept at 0 and 100.
    #[serde(rename = "sigmoid-v1")]
    SigmoidV1,
    /// Evenly, rounded to three decimals.
    #[serde(rename = "linear")]
    Linear,
}

/// A percentage in thousandths; written as a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Percent(pub u32);

impl Percent {
    /// The share in millionths.
    pub fn millionths(self) -> u64 {
        u64::from(self.0) * 10
    }
}

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

impl Serialize for Percent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 1000.0)
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        let thousandths = (number * 1000.0).round();
        if !(0.0..=100_000.0).contains(&thousandths) || (number * 1000.0 - thousandths).abs() > 1e-6 {
            let what =
                format!("`{number}` is no depth, expected a percentage from 0 to 100 with at most three decimals");
            return Err(serde::de::Error::custom(what));
        }
        Ok(Percent(thousandths as u32))
    }
}

/// One of `[[needles]]`: a sentence that is hidden, and the question for it. What is left out is the language pack's own
/// of that name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factoid {
    /// Its name; the same in each language.
    pub name: Name,
    /// The language it is written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// One whole sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needle: Option<String>,
    /// What is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The words of the needle that answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub answers: Option<Vec<String>>,
    /// Needles of one pair differ in one thing, such as a known and an invented place: their rows are joined by `pair_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<Name>,
}

/// `prompt.layout`: how system message, document and question make a prompt. The paper prints its templates twice, in
/// Table 6 with a line a part, in Table 7 (examples) with spaces and other tags; both are kept as printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Layout {
    /// The paper's "OpenAI template", Table 6: a line a part.
    #[serde(rename = "plain-table-6")]
    PlainTable6,
    /// Table 7: a space between parts.
    #[serde(rename = "plain-table-7")]
    PlainTable7,
    /// Llama's, Table 6.
    #[serde(rename = "llama-table-6")]
    LlamaTable6,
    /// Llama's, Table 7: the system tag is not closed, the last tag has a backslash.
    #[serde(rename = "llama-table-7")]
    LlamaTable7,
    /// Mistral's, Table 6.
    #[serde(rename = "mistral-table-6")]
    MistralTable6,
    /// Mistral's, Table 7: the last tag has a backslash.
    #[serde(rename = "mistral-table-7")]
    MistralTable7,
    /// For chat models: system message apart; document and question, a blank line between them, as the user's.
    #[serde(rename = "messages")]
    Messages,
}

impl Layout {
    /// All, in order.
    pub const ALL: [Layout; 7] = [
        Layout::PlainTable6,
        Layout::PlainTable7,
        Layout::LlamaTable6,
        Layout::LlamaTable7,
        Layout::MistralTable6,
        Layout::MistralTable7,
        Layout::Messages,
    ];

    /// As recipes and columns write it.
    pub fn name(self) -> &'static str {
        match self {
            Layout::PlainTable6 => "plain-table-6",
            Layout::PlainTable7 => "plain-table-7",
            Layout::LlamaTable6 => "llama-table-6",
            Layout::LlamaTable7 => "llama-table-7",
            Layout::MistralTable6 => "mistral-table-6",
            Layout::MistralTable7 => "mistral-table-7",
            Layout::Messages => "messages",
        }
    }
}
