//! Mistral's Tekken files (`tekken.json`): a vocabulary of byte strings in order of rank, and a pattern.
//!
//! They are run by the `tokenizers` crate, as byte-level BPE: it neither panics on a text nor slows down on a long
//! word, and it says where words end. The reference (tiktoken) joins the two neighbours whose joint byte string has the
//! lowest rank; the crate joins listed pairs, so that every division of every token into two tokens is listed, in
//! order of the token's rank.

use super::huggingface::HuggingFace;
use crate::error::{Error, Result};
use crate::fail;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer};

/// Mistral's models put one BOS before a text; the file does not say so.
const ADDED: u32 = 1;

#[derive(Deserialize)]
struct File {
    config: Config,
    vocab: Vec<Entry>,
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    /// Tokens in use, special ones included; the file may hold more.
    default_vocab_size: usize,
    default_num_special_tokens: usize,
}

#[derive(Deserialize)]
struct Entry {
    rank: usize,
    token_bytes: String,
}

/// Reads a file's bytes; also says how many tokens the model adds around one text.
///
/// Fails if the file lacks a part, or its vocabulary lacks a rank or a byte.
pub(super) fn read(bytes: &[u8]) -> Result<(HuggingFace, u32)> {
    let help = "fetch it again: it is the file `tekken.json` of the model";
    let file: File =
        serde_json::from_slice(bytes).map_err(|e| Error::new(format!("damaged Tekken file: {e}")).help(help))?;
    let tokens = vocabulary(&file).map_err(|e| e.help(help))?;
    let split = Split::new(SplitPattern::Regex(file.config.pattern), SplitDelimiterBehavior::Isolated, false)
        .map_err(|e| Error::new(format!("damaged Tekken file: `pattern`: {e}")).help(help))?;
    let spelled = spell(&tokens);
    let vocab: Vocab = spelled.iter().cloned().zip(0..).collect();
    let model = BPE::builder()
        .vocab_and_merges(vocab, merges(&tokens, &spelled))
        .ignore_merges(true)
        .build()
        .map_err(|e| Error::new(format!("damaged Tekken file: {e}")).help(help))?;
    let mut inner = Tokenizer::new(model);
    let cutters = [PreTokenizerWrapper::from(split), ByteLevel::new(false, false, false).into()];
    inner.with_pre_tokenizer(Some(Sequence::new(cutters.into())));
    Ok((HuggingFace::new(inner)?, ADDED))
}

/// The byte strings in use, by rank: all ranks from 0 on, each once, every byte among them.
fn vocabulary(file: &File) -> Result<Vec<Vec<u8>>> {
    let Config { default_vocab_size: size, default_num_special_tokens: special, .. } = file.config;
    let Some(used) = size.checked_sub(special).filter(|&used| used <= file.vocab.len()) else {
        fail!("damaged Tekken file: {size} tokens, {special} of them special, and {} are listed", file.vocab.len());
    };
    let mut tokens = vec![Vec::new(); used];
    for entry in file.vocab.iter().filter(|entry| entry.rank < used) {
        let bytes = BASE64_STANDARD.decode(&entry.token_bytes);
        match bytes {
            Ok(bytes) if tokens[entry.rank].is_empty() => tokens[entry.rank] = bytes,
            Ok(_) => fail!("damaged Tekken file: rank {} twice", entry.rank),
            Err(e) => fail!("damaged Tekken file: bytes of rank {}: {e}", entry.rank),
        }
    }
    if let Some(rank) = tokens.iter().position(Vec::is_empty) {
        fail!("damaged Tekken file: no bytes of rank {rank}");
    }
    if let Some(byte) = (0..=u8::MAX).find(|&byte| !tokens.iter().any(|token| token[..] == [byte])) {
        fail!("damaged Tekken file: no token for the byte {byte:#04x}");
    }
    Ok(tokens)
}

/// Every division of a token into two tokens, by the rank of the whole, then of the parts.
fn merges(tokens: &[Vec<u8>], spelled: &[String]) -> Vec<(String, String)> {
    let ranks: FxHashMap<&[u8], usize> = tokens.iter().enumerate().map(|(rank, token)| (&token[..], rank)).collect();
    let mut merges = Vec::new();
    for token in tokens {
        let parts = (1..token.len()).map(|cut| token.split_at(cut));
        let mut parts: Vec<_> = parts.filter_map(|(a, b)| Some((*ranks.get(a)?, *ranks.get(b)?))).collect();
        parts.sort_unstable();
        merges.extend(parts.into_iter().map(|(a, b)| (spelled[a].clone(), spelled[b].clone())));
    }
    merges
}

/// Tokens as byte-level BPE spells them: printable Latin-1 as itself, each other byte as one of the characters from
/// U+0100 on, in order.
fn spell(tokens: &[Vec<u8>]) -> Vec<String> {
    let mut others = '\u{100}'..;
    let letter = |byte| match byte {
        b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff => char::from(byte),
        _ => others.next().unwrap_or_default(),
    };
    let alphabet: Vec<char> = (0..=u8::MAX).map(letter).collect();
    tokens.iter().map(|token| token.iter().map(|&byte| alphabet[usize::from(byte)]).collect()).collect()
}
