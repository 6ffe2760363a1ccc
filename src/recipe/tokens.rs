//! `[tokens]`: whose tokens are counted, and which models' windows the card compares with.

use super::{Layout, Name};
use crate::hash::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[tokens]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// The tokenizer that lengths are counted with: an embedded one (`o200k_base`, `cl100k_base`), or any name that
    /// `files` explains, or whose file lies under `--models`.
    pub primary: Name,
    /// Tokenizers that every row is counted with as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Name>,
    /// Are the special tokens counted that a model itself puts around a prompt, such as a beginning of sequence?
    #[serde(skip_serializing_if = "Special::is_ignored")]
    pub special: Special,
    /// Where the files of tokenizers are that are not embedded.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<Name, TokenizerFile>,
    /// Models of [`MODELS`] whose windows the card compares with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelName>,
}

impl Default for Tokens {
    fn default() -> Self {
        Tokens {
            primary: Name("o200k_base".to_owned()),
            also: Vec::new(),
            special: Special::Ignored,
            files: BTreeMap::new(),
            models: Vec::new(),
        }
    }
}

impl Tokens {
    /// All names, the primary one first.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        std::iter::once(&self.primary).chain(&self.also)
    }
}

/// `tokens.special`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Special {
    /// Only the prompt's own tokens.
    #[default]
    Ignored,
    /// Those too that the tokenizer's own file says are added around a text.
    Counted,
}

impl Special {
    fn is_ignored(&self) -> bool {
        *self == Special::Ignored
    }
}

/// `[tokens.files.<name>]`: a Hugging Face `tokenizer.json`, or a Tekken file of Mistral's.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TokenizerFile {
    /// Its path: under `--models` or `--data`, or as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Entry of `checksums/sources.toml` that pins it, for downloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// SHA-256 that the file must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
}

/// `budget.fit`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// A prompt fits its length under the primary tokenizer.
    #[default]
    Primary,
    /// Under every tokenizer of the recipe.
    All,
}

impl Fit {
    pub(super) fn is_primary(&self) -> bool {
        *self == Fit::Primary
    }
}

/// `budget.by`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Each language's prompts are as long as the length allows: cheap languages hold more distractors.
    #[default]
    Tokens,
    /// The same distractors in every language: the dearest one sets them.
    Content,
}

impl By {
    pub(super) fn is_tokens(&self) -> bool {
        *self == By::Tokens
    }
}

/// A model whose window is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Model {
    /// As recipes write it.
    pub name: &'static str,
    /// As the paper writes it.
    pub title: &'static str,
    /// Its context window, in tokens.
    pub window: u32,
    /// The layout of its prompts.
    pub layout: Layout,
    /// Lengths, and as many depths, that the paper tested it with.
    pub side: u32,
    /// The name under which its own tokenizer is looked for in a recipe's ledger.
    pub tokenizer: &'static str,
}

const fn model(
    name: &'static str,
    title: &'static str,
    window: u32,
    layout: Layout,
    side: u32,
    tokenizer: &'static str,
) -> Model {
    Model { name, title, window, layout, side, tokenizer }
}

/// The nine models of "LLM In-Context Recall is Prompt Dependent": windows of its Table 1, layouts of its appendix A,
/// 35 x 35 cells but for the dearest (section 3.1).
pub const MODELS: [Model; 9] = [
    model("llama_2_13b_chat", "Llama 2 13B Chat", 4_096, Layout::LlamaTable6, 35, "llama2"),
    model("llama_2_70b_chat", "Llama 2 70B Chat", 4_096, Layout::LlamaTable6, 35, "llama2"),
    model("wizardlm_70b", "WizardLM 70B", 4_096, Layout::LlamaTable6, 35, "llama2"),
    model("gpt_3_5_turbo_1106", "GPT-3.5-Turbo-1106", 16_385, Layout::PlainTable6, 35, "cl100k_base"),
    model("gpt_3_5_turbo_0125", "GPT-3.5-Turbo-0125", 16_385, Layout::PlainTable6, 35, "cl100k_base"),
    model("mistral_7b_instruct_v0_1", "Mistral 7B Instruct v0.1", 32_768, Layout::MistralTable6, 35, "mistral"),
    model("mistral_7b_instruct_v0_2", "Mistral 7B Instruct v0.2", 32_768, Layout::MistralTable6, 35, "mistral"),
    model("mixtral_8x7b_instruct_v0_1", "Mixtral 8x7B Instruct v0.1", 32_768, Layout::MistralTable6, 35, "mistral"),
    model("gpt_4_turbo_0125", "GPT-4 Turbo 0125", 128_000, Layout::PlainTable6, 25, "cl100k_base"),
];

/// The name of one of [`MODELS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelName(pub &'static Model);

impl Serialize for ModelName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name)
    }
}

impl<'de> Deserialize<'de> for ModelName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = MODELS.iter().find(|model| model.name == text);
        known.map(ModelName).ok_or_else(|| {
            let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
            serde::de::Error::custom(format!("`{text}` is no model known here, expected one of {}", names.join(", ")))
        })
    }
}
