//! Token counts, by tokenizer: two that are embedded, and any that a file describes.
//!
//! # Hard ends
//!
//! Every tokenizer here works in two steps: it cuts the text (by a pattern, at white space, at special tokens), then
//! it divides each cut on its own. The end of a token at such a cut is *hard*: no token, and no choice between tokens,
//! reaches across it. [`Tokens`] says which ends are hard. Models that cut nothing (sentencepiece files such as
//! Llama 2's and Gemma's) merge neighbours instead; there an end is hard when no token of the vocabulary holds the two
//! characters beside it next to each other, since no merge can then ever cross it.
//!
//! Two reservations. A cut may depend on the character behind it: o200k cuts `  0` after each space, but takes two
//! spaces that end a text together. And some tokenizers put a mark in front of a text, which the same characters do
//! not get behind a hard end. Whoever adds up counts of parts must therefore ask [`Tokenizer::lines_add`] and take
//! [`Tokenizer::count_line`], or [`join()`], which looks at the parts where they meet.
//!
//! # Sums
//!
//! Counts of lines add up to the count of the whole where the end of the line feed between them is hard and they did
//! so in trials, which [`Tokenizer::lines_add`] finds out from the two characters around the line feed. Elsewhere,
//! [`join()`] counts.

#[cfg(not(feature = "hf-tokenizers"))]
mod absent;
#[cfg(feature = "hf-tokenizers")]
mod huggingface;
mod join;
mod ledger;
#[cfg(feature = "hf-tokenizers")]
mod local;
#[cfg(feature = "hf-tokenizers")]
mod tekken;
mod tokens;
mod window;

pub use join::{Joined, Piece, Unit, join};
pub use ledger::Ledger;
pub use tokens::Tokens;

use crate::error::{Error, Result};
use crate::hash::Digest;
#[cfg(not(feature = "hf-tokenizers"))]
use absent::{self as tekken, HuggingFace};
use bpe_openai::Tokenizer as Bpe;
#[cfg(feature = "hf-tokenizers")]
use huggingface::HuggingFace;
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokens::char_end;

/// A tokenizer; clones share one vocabulary.
#[derive(Clone)]
pub struct Tokenizer(Arc<Inner>);

struct Inner {
    name: String,
    digest: Digest,
    /// Size of its file; 0 for an embedded one.
    bytes: u64,
    added: u32,
    kind: Kind,
    /// Tokens of [`LINE_HEAD`].
    head: usize,
    /// Answers of [`Tokenizer::lines_add`], by the two characters.
    seams: Mutex<FxHashMap<(char, char), bool>>,
}

enum Kind {
    Embedded(&'static Bpe),
    File(Box<HuggingFace>),
}

/// Stands in for the text before a line in [`Tokenizer::count_line`].
const LINE_HEAD: &str = "a\n";

/// What may stand two characters before a line feed, and behind the character after it, in the trials of
/// [`Tokenizer::lines_add`]: letters, digits, marks, space and nothing, each of which can change how a pattern cuts.
const BEFORE: [&str; 7] = ["", "a", "a word ", "1", "a.", "a\n", "a  "];
const BEHIND: [&str; 6] = ["", "a", " word", "1", ".", "\nb"];

/// What may stand before a line feed when that is not known, in [`Tokenizer::seam_adds`].
const LAST: [char; 12] = ['a', 'Z', '0', '.', '"', ')', '>', '}', '/', ' ', '\u{e9}', '\u{3002}'];

impl Tokenizer {
    /// Names of the embedded tokenizers.
    pub const EMBEDDED: [&str; 2] = ["o200k_base", "cl100k_base"];

    /// The embedded tokenizer of a name, if there is one.
    pub fn embedded(name: &str) -> Option<Tokenizer> {
        let bpe = match name {
            "o200k_base" => bpe_openai::o200k_base(),
            "cl100k_base" => bpe_openai::cl100k_base(),
            _ => return None,
        };
        // The vocabulary comes with the crate, so that the crate's version is its identity.
        let digest = Digest::of(format!("bpe-openai 0.3 {name}"));
        Some(Tokenizer::assemble(name, digest, 0, 0, Kind::Embedded(bpe)))
    }

    /// Reads a Hugging Face `tokenizer.json` or a Mistral Tekken file (told apart by content) and calls it `name`.
    ///
    /// Truncation, padding and dropout are switched off. Fails if the file cannot be read, is neither of the two, is
    /// damaged, or has no token for unknown words (its counts would then depend on luck).
    pub fn open(name: &str, path: &Path) -> Result<Tokenizer> {
        let bytes = std::fs::read(path).map_err(|e| Error::io("cannot read", path, e))?;
        let (model, added) = read(&bytes).map_err(|e| e.at(path.display()))?;
        Ok(Tokenizer::assemble(name, Digest::of(&bytes), bytes.len() as u64, added, Kind::File(Box::new(model))))
    }

    fn assemble(name: &str, digest: Digest, bytes: u64, added: u32, kind: Kind) -> Tokenizer {
        let head = kind.count(LINE_HEAD);
        Tokenizer(Arc::new(Inner { name: name.to_owned(), digest, bytes, added, kind, head, seams: Mutex::default() }))
    }

    /// As columns write it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Identity of the vocabulary: SHA-256 of the file's bytes; for an embedded one, of its crate's version and name.
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// Size of its file in bytes; 0 for an embedded one.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Special tokens that the model's own post-processor puts around one text (BOS, EOS); no count includes them.
    pub fn added(&self) -> u32 {
        self.0.added
    }

    /// Tokens of a text, without added special tokens; those spelled in the text count as the library counts them.
    pub fn count(&self, text: &str) -> usize {
        self.0.kind.count(text)
    }

    /// Where each token of a text ends, and which ends are hard.
    pub fn tokens(&self, text: &str) -> Tokens {
        match &self.0.kind {
            Kind::Embedded(bpe) => embedded_tokens(bpe, text),
            Kind::File(model) => model.tokens(text),
        }
    }

    /// Where each token of a text ends, in bytes; see [`Tokens::ends`].
    pub fn ends(&self, text: &str) -> Vec<usize> {
        self.tokens(text).ends.iter().map(|&end| end as usize).collect()
    }

    /// Tokens of a text that stands right behind a line feed in a longer text: without the mark that some tokenizers
    /// put in front of a text. Exact where the line feed's end is hard (see [`Tokenizer::lines_add`]).
    pub fn count_line(&self, line: &str) -> usize {
        match &self.0.kind {
            // These put nothing in front of a text.
            Kind::Embedded(_) => self.count(line),
            Kind::File(model) => model.count(&[LINE_HEAD, line].concat()).saturating_sub(self.0.head),
        }
    }

    /// Where each token of a text that stands right behind a line feed ends, in bytes of the text; see
    /// [`Tokenizer::count_line`].
    pub fn line_ends(&self, line: &str) -> Vec<usize> {
        let ends = self.ends(&[LINE_HEAD, line].concat());
        let before = ends.partition_point(|end| *end <= LINE_HEAD.len());
        ends[before..].iter().map(|end| end - LINE_HEAD.len()).collect()
    }

    /// Do the counts of a text that ends with a line feed and of a line that begins with `next` add up, whatever
    /// stands before the line feed?
    pub fn seam_adds(&self, next: char) -> bool {
        match &self.0.kind {
            Kind::Embedded(_) => !next.is_whitespace() && next != '/',
            Kind::File(_) => self.lines_add(LAST.map(|last| (last, next))),
        }
    }

    /// Do counts of lines add up at each of these line feeds: the first by [`Tokenizer::count`], each other by
    /// [`Tokenizer::count_line`]? A pair holds the last character before the line feed (another line feed, after an
    /// empty line) and the first one behind it. White space behind it never adds up: patterns take runs of it together.
    pub fn lines_add(&self, seams: impl IntoIterator<Item = (char, char)>) -> bool {
        seams.into_iter().all(|seam| {
            if let Kind::Embedded(_) = self.0.kind {
                // Nothing that stands before the line feed matters: a property test holds this.
                return !seam.0.is_whitespace() && self.seam_adds(seam.1);
            }
            if let Some(&known) = self.seams().get(&seam) {
                return known;
            }
            // Not under the lock: other threads need not wait, and a probe made twice gives the same answer.
            let adds = self.probe(seam);
            self.seams().insert(seam, adds);
            adds
        })
    }

    fn seams(&self) -> std::sync::MutexGuard<'_, FxHashMap<(char, char), bool>> {
        self.0.seams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn probe(&self, (last, first): (char, char)) -> bool {
        if first.is_whitespace() {
            return false;
        }
        // Nothing but white space is no line before.
        let heads = BEFORE.iter().filter(|before| !(before.is_empty() && last.is_whitespace()));
        let heads: Vec<_> =
            heads.map(|before| format!("{before}{last}\n")).map(|head| (self.count(&head), head)).collect();
        let lines = BEHIND.map(|behind| format!("{first}{behind}")).map(|line| (self.count_line(&line), line));
        let adds = |(a, head): &(usize, String), (b, line): &(usize, String)| {
            let whole = self.tokens(&[head.as_str(), line].concat());
            whole.is_hard_at(head.len()) && whole.len() == a + b
        };
        heads.iter().all(|head| lines.iter().all(|line| adds(head, line)))
    }

    /// Is the boundary between these two texts hard when they stand together? Tokenises both.
    pub fn seam_is_hard(&self, before: &str, after: &str) -> bool {
        before.is_empty() || after.is_empty() || self.tokens(&[before, after].concat()).is_hard_at(before.len())
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tokenizer({})", self.name())
    }
}

/// The first token that holds the byte at a place, of tokens that end at `ends`.
pub fn first_token(ends: &[usize], byte: usize) -> usize {
    ends.partition_point(|end| *end <= byte)
}

/// One past the last token that holds a byte before a place. Tokens that are parts of one character all end where it does.
pub fn last_token(ends: &[usize], byte: usize) -> usize {
    let ended = ends.partition_point(|end| *end <= byte);
    match ended.checked_sub(1).map(|last| ends[last]) {
        Some(end) if end == byte => ended,
        _ => (ended + 1).min(ends.len()),
    }
}

/// The model of a file's bytes, and how many tokens it adds around a text.
fn read(bytes: &[u8]) -> Result<(HuggingFace, u32)> {
    #[derive(serde::Deserialize)]
    struct Keys {
        model: Option<serde::de::IgnoredAny>,
        config: Option<serde::de::IgnoredAny>,
        vocab: Option<serde::de::IgnoredAny>,
    }
    let keys: Keys = match serde_json::from_slice(bytes) {
        Ok(keys) => keys,
        Err(e) => return Err(Error::new(format!("not a tokenizer file: it is no JSON object ({e})")).help(WANTED)),
    };
    match keys {
        Keys { model: Some(_), .. } => HuggingFace::read(bytes),
        Keys { config: Some(_), vocab: Some(_), .. } => tekken::read(bytes),
        _ => Err(Error::new("not a tokenizer file: neither `model` nor `config` and `vocab` are in it").help(WANTED)),
    }
}

const WANTED: &str = "name the model's `tokenizer.json` (Hugging Face) or `tekken.json` (Mistral); \
                      a sentencepiece `.model` file cannot be read";

impl Kind {
    fn count(&self, text: &str) -> usize {
        match self {
            // Not the crate's incremental counters: they skip the pattern and give other numbers.
            Kind::Embedded(bpe) => bpe.split(text).map(|piece| bpe.bpe.count(piece.as_bytes())).sum(),
            Kind::File(model) => model.count(text),
        }
    }
}

fn embedded_tokens(bpe: &Bpe, text: &str) -> Tokens {
    let mut tokens = Tokens::default();
    let mut at = 0;
    for piece in bpe.split(text) {
        for token in bpe.bpe.encode_via_backtracking(piece.as_bytes()) {
            at += bpe.bpe.token_len(token);
            tokens.push(char_end(text, at), false);
        }
        tokens.harden();
    }
    tokens
}
