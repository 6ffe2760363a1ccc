//! How relevant each sentence of a prompt is to its question, by something other than the recipe's embedder.
//!
//! - [`Bm25`]: exact, by integers alone, from the words of the sentences themselves ([`terms`](mod@terms)).
//! - [`CommandReranker`]: any local model, a program that is told questions and sentences. Its scores do not come out the same
//!   elsewhere, so each is written to a journal in the store at once, and those used are published as a pin ([`pin`](mod@pin)).

pub mod bm25;
pub mod command;
pub(crate) mod memory;
pub mod pin;
pub mod terms;

pub use bm25::{Bm25, Prepared};
pub use command::{CommandReranker, CommandSettings};

use crate::error::Result;

/// Tells how relevant sentences are to a question.
pub trait Reranker {
    /// Relevance of each sentence to the question; higher is better. Scores of different questions, or of
    /// different rerankers, do not compare. Equal scores are left to the caller.
    fn scores(&mut self, question: &str, sentences: &[&str]) -> Result<Vec<i64>>;
}
