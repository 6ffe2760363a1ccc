//! `[rag]`: prompts cut down to the sentences most like their question (the paper's section 3.3).

use crate::error::Result;
use crate::fail;
use crate::reranker::CommandSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[rag]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rag {
    /// What ranks the sentences.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub retrievers: Vec<Retriever>,
    /// How many sentences are kept.
    #[schemars(length(min = 1), inner(range(min = 1, max = 100_000)), extend("uniqueItems" = true))]
    pub top_k: Vec<u32>,
    /// Their order in the prompt.
    pub order: RagOrder,
    /// The program behind the retriever `command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reranker: Option<CommandSettings>,
}

impl Default for Rag {
    fn default() -> Self {
        Rag {
            retrievers: vec![Retriever::Embedder, Retriever::Bm25],
            top_k: vec![20, 100, 300],
            order: RagOrder::Chronological,
            reranker: None,
        }
    }
}

impl Rag {
    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some((n, k)) = self.top_k.iter().enumerate().find(|(_, k)| !(1..=100_000).contains(*k)) {
            fail!(on format!("rag.top_k[{n}]"); "rag.top_k names {k}, expected 1 to 100000 sentences");
        }
        match (&self.reranker, self.retrievers.contains(&Retriever::Command)) {
            (None, true) => {
                fail!(on "rag.retrievers"; "rag.retrievers names command, but rag.reranker does not say which program")
            }
            (Some(_), false) => {
                fail!(key "rag.reranker"; "rag.reranker does nothing: rag.retrievers does not name command")
            }
            (Some(settings), true) => settings.check().map_err(|e| e.under("rag.reranker")),
            (None, false) => Ok(()),
        }
    }
}

/// `rag.retrievers`
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Retriever {
    /// By similarity under the recipe's embedder.
    Embedder,
    /// By the words that sentence and question share.
    Bm25,
    /// By a program: any local reranking model. Its scores are pinned.
    Command,
}

impl Retriever {
    /// As recipes and columns write it.
    pub fn name(self) -> &'static str {
        match self {
            Retriever::Embedder => "embedder",
            Retriever::Bm25 => "bm25",
            Retriever::Command => "command",
        }
    }
}

/// `rag.order`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RagOrder {
    /// As they stand in the whole prompt, as the paper says.
    Chronological,
    /// Most similar first, as the paper's released prompts have them.
    Similarity,
}
