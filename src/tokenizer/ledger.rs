//! The tokenizers of a recipe: the one that sets lengths, and those that are counted beside it.

use super::Tokenizer;
use crate::manifest::TokenizerFacts;
use crate::recipe::{Fit, Special};

/// The tokenizers of a recipe, the primary one first.
#[derive(Clone)]
pub struct Ledger {
    all: Vec<Tokenizer>,
    fit: Fit,
    special: Special,
}

impl Ledger {
    /// A ledger; `all` begins with the primary tokenizer.
    ///
    /// # Panics
    ///
    /// Without any.
    pub fn new(all: Vec<Tokenizer>, fit: Fit, special: Special) -> Ledger {
        assert!(!all.is_empty(), "a recipe has a primary tokenizer");
        Ledger { all, fit, special }
    }

    /// The tokenizer of `n_tokens`.
    pub fn primary(&self) -> &Tokenizer {
        &self.all[0]
    }

    /// All, the primary one first.
    pub fn all(&self) -> &[Tokenizer] {
        &self.all
    }

    /// Those that are counted beside the primary one.
    pub fn also(&self) -> &[Tokenizer] {
        &self.all[1..]
    }

    /// Those under which a prompt must fit its length.
    pub fn bounding(&self) -> &[Tokenizer] {
        match self.fit {
            Fit::Primary => &self.all[..1],
            Fit::All => &self.all,
        }
    }

    /// As a manifest names them.
    pub fn facts(&self) -> Vec<TokenizerFacts> {
        let facts = |t: &Tokenizer| TokenizerFacts { name: t.name().to_owned(), digest: t.digest(), added: t.added() };
        self.all.iter().map(facts).collect()
    }

    /// Tokens that the model itself adds to a prompt, as far as the recipe counts them.
    pub fn added(&self, tokenizer: &Tokenizer) -> u32 {
        match self.special {
            Special::Ignored => 0,
            Special::Counted => tokenizer.added(),
        }
    }
}
