//! Tokenizers that a Hugging Face `tokenizer.json` describes, run by the `tokenizers` crate.

use super::local::Local;
use super::tokens::{Tokens, char_end};
use crate::error::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokenizers::{Encoding, ModelWrapper, PostProcessor, PostProcessorWrapper, Tokenizer};

/// A tokenizer of the `tokenizers` crate, reduced to what counts need.
pub(super) struct HuggingFace {
    inner: Tokenizer,
    local: Local,
}

/// Letters of no script, a private one, an unassigned one, a mark: no vocabulary of words knows them.
const UNKNOWN: &str = "a \u{10fffd}\u{e000}\u{378} \u{1f9ff}b\n";

impl HuggingFace {
    /// Reads a file's bytes; also says how many tokens its post-processor adds around one text.
    ///
    /// Fails if the crate refuses the file, or the tokenizer refuses words that it does not know.
    pub(super) fn read(bytes: &[u8]) -> Result<(HuggingFace, u32)> {
        // The crate indexes by what a damaged file says in a few places, so that a bad one can make it panic.
        let inner = catch_unwind(|| Tokenizer::from_bytes(bytes));
        let inner = inner.unwrap_or_else(|_| Err("its parts contradict each other".into())).map_err(|e| {
            Error::new(format!("damaged tokenizer file: {e}")).help("fetch it again, or take another of its versions")
        })?;
        let added = inner.get_post_processor().map_or(0, |post| post.added_tokens(false));
        Ok((HuggingFace::new(inner)?, u32::try_from(added).unwrap_or(u32::MAX)))
    }

    /// Takes a tokenizer, switches off all that is not counting, and learns which of its ends are hard.
    pub(super) fn new(mut inner: Tokenizer) -> Result<HuggingFace> {
        inner.with_padding(None);
        // Only a length that is too short can be refused, not none.
        let _ = inner.with_truncation(None);
        // It would move offsets: some leave out the space before a word.
        inner.with_post_processor(None::<PostProcessorWrapper>);
        if let ModelWrapper::BPE(bpe) = inner.get_model()
            && bpe.dropout.is_some()
        {
            // Dropout is for training: it makes counts random.
            let mut bpe = bpe.clone();
            bpe.dropout = None;
            inner.with_model(bpe);
        }
        let local = Local::of(&inner);
        let model = HuggingFace { inner, local };
        if model.guarded(|inner| inner.encode(UNKNOWN, false)).is_none() {
            return Err(Error::new(
                "the tokenizer has no token for words it does not know, so it cannot count any text",
            )
            .help("add its unknown token (`unk_token`) to the vocabulary, or take another file"));
        }
        Ok(model)
    }

    /// Tokens of a text.
    pub(super) fn count(&self, text: &str) -> usize {
        // The fast way leaves out offsets; it gives the same tokens.
        let encoding = self.guarded(|inner| inner.encode_fast(text, false));
        encoding.map_or_else(|| text.chars().count(), |encoding| encoding.len())
    }

    /// Where each token of a text ends.
    pub(super) fn tokens(&self, text: &str) -> Tokens {
        match self.guarded(|inner| inner.encode(text, false)) {
            Some(encoding) => self.ends(text, &encoding),
            None => characters(text),
        }
    }

    fn ends(&self, text: &str, encoding: &Encoding) -> Tokens {
        let (offsets, words) = (encoding.get_offsets(), encoding.get_word_ids());
        let mut tokens = Tokens::default();
        let mut end = 0;
        for (i, &(_, own)) in offsets.iter().enumerate() {
            // Ascending even where a mark without bytes reports those of its neighbour.
            end = char_end(text, own.max(end));
            let Some(&(next, _)) = offsets.get(i + 1) else { break };
            let parted = next >= end;
            end = char_end(text, next.max(end));
            tokens.push(end, parted && self.local.is_hard(text, end, words.get(i) != words.get(i + 1)));
        }
        if !offsets.is_empty() {
            tokens.push(text.len(), true);
        }
        tokens
    }

    /// Runs the crate, which must not bring the program down: none if it refuses the text or panics.
    ///
    /// Neither is known to happen once the tokenizer has taken [`UNKNOWN`]. A count then falls back to characters.
    fn guarded(&self, run: impl Fn(&Tokenizer) -> tokenizers::Result<Encoding>) -> Option<Encoding> {
        // Nothing in the tokenizer changes while it runs but a cache of whole words.
        catch_unwind(AssertUnwindSafe(|| run(&self.inner))).ok()?.ok()
    }
}

/// A token a character; only the text's end is hard.
fn characters(text: &str) -> Tokens {
    let mut tokens = Tokens::default();
    for (at, char) in text.char_indices() {
        tokens.push(at + char.len_utf8(), false);
    }
    tokens.harden();
    tokens
}
