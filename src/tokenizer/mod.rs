//! Token counts, by tokenizer.
//!
//! Counts of parts add up to the count of the whole where each part ends with a line feed and the
//! next begins with neither whitespace nor a slash: both embedded tokenizers split their input by a pattern
//! before they merge, a run of marks takes the line feeds (and slashes) after it, and nothing else
//! reaches across a line feed. A property test holds this for every pack.

use crate::hash::Digest;
use crate::recipe::TokenizerName;
use bpe_openai::Tokenizer as Bpe;

/// A tokenizer, by name.
#[derive(Clone, Copy)]
pub struct Tokenizer {
    name: TokenizerName,
}

impl Tokenizer {
    /// The tokenizer of a name.
    pub fn new(name: TokenizerName) -> Self {
        Tokenizer { name }
    }

    /// As columns write it.
    pub fn name(self) -> &'static str {
        match self.name {
            TokenizerName::O200kBase => "o200k_base",
            TokenizerName::Cl100kBase => "cl100k_base",
        }
    }

    /// Identity of the vocabulary: here the crate that carries it.
    pub fn digest(self) -> Digest {
        Digest::of(format!("bpe-openai 0.3 {}", self.name()))
    }

    fn bpe(self) -> &'static Bpe {
        match self.name {
            TokenizerName::O200kBase => bpe_openai::o200k_base(),
            TokenizerName::Cl100kBase => bpe_openai::cl100k_base(),
        }
    }

    /// Tokens of a text, without special tokens.
    pub fn count(self, text: &str) -> usize {
        // Not the crate's incremental counters: they skip the pattern and give other numbers.
        let bpe = self.bpe();
        bpe.split(text).map(|piece| bpe.bpe.count(piece.as_bytes())).sum()
    }

    /// Where each token of a text ends, in bytes.
    pub fn ends(self, text: &str) -> Vec<usize> {
        let bpe = self.bpe();
        let mut ends = Vec::new();
        let mut at = 0;
        for piece in bpe.split(text) {
            for token in bpe.bpe.encode_via_backtracking(piece.as_bytes()) {
                at += bpe.bpe.token_len(token);
                ends.push(at);
            }
        }
        ends
    }

    /// Do the counts of `left` (which ends with a line feed) and a text that begins with `next` add up?
    pub fn seam_adds(self, next: char) -> bool {
        !next.is_whitespace() && next != '/'
    }
}
