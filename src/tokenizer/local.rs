//! Which ends of tokens are hard, learnt from how a tokenizer is built.

use rustc_hash::FxHashSet;
use serde_json::Value;
use tokenizers::models::bpe::BPE;
use tokenizers::{ModelWrapper, Tokenizer};
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfkc_quick};

/// What is known about a tokenizer's cuts.
pub(super) struct Local {
    /// Words are cut by what stands near the cut, not by how far the text's beginning is.
    words: bool,
    /// The normaliser may put characters together (accents): no cut before one that can join.
    joining: bool,
    /// For BPE over characters.
    pairs: Option<Pairs>,
}

impl Local {
    /// Looks at the parts of a tokenizer.
    pub(super) fn of(tokenizer: &Tokenizer) -> Local {
        let normalizers = parts(serde_json::to_value(tokenizer.get_normalizer()));
        let cutters = parts(serde_json::to_value(tokenizer.get_pre_tokenizer()));
        let words = !cutters.iter().any(|part| matches!(kind(part), "FixedLength" | "UnicodeScripts" | ""));
        let pairs = match tokenizer.get_model() {
            ModelWrapper::BPE(bpe) if words => Pairs::of(bpe, &normalizers, &cutters),
            _ => None,
        };
        let simple = |part: &Value| matches!(kind(part), "Prepend" | "Lowercase" | "Strip") || replaced(part).is_some();
        Local { words, joining: !normalizers.iter().all(simple), pairs }
    }

    /// Is the boundary at a byte of a text, where one token ends and the next begins, hard?
    pub(super) fn is_hard(&self, text: &str, at: usize, new_word: bool) -> bool {
        let (Some(left), Some(right)) = (text.get(..at), text.get(at..)) else { return false };
        let (Some(last), Some(next)) = (left.chars().next_back(), right.chars().next()) else { return false };
        if self.words && new_word {
            return !(self.joining && joins(next));
        }
        self.pairs.as_ref().is_some_and(|pairs| pairs.apart(last, next))
    }
}

/// Can a character become one with those before it under a Unicode normal form?
fn joins(char: char) -> bool {
    canonical_combining_class(char) != 0 || is_nfkc_quick(std::iter::once(char)) != IsNormalized::Yes
}

/// The steps of a normaliser or pre-tokenizer as the file writes them, sequences laid flat.
fn parts(value: serde_json::Result<Value>) -> Vec<Value> {
    match value {
        Ok(Value::Null) => Vec::new(),
        Ok(value) => match ["normalizers", "pretokenizers"].iter().find_map(|key| value.get(key)?.as_array()) {
            Some(steps) => steps.iter().flat_map(|step| parts(Ok(step.clone()))).collect(),
            None => vec![value],
        },
        // Cannot be written: a step of no kind, about which nothing is known.
        Err(_) => vec![Value::Bool(false)],
    }
}

fn kind(part: &Value) -> &str {
    part.get("type").and_then(Value::as_str).unwrap_or("")
}

/// The two characters of a step that replaces one by another everywhere.
fn replaced(part: &Value) -> Option<(char, char)> {
    let (from, to) = match kind(part) {
        "Replace" => (part.get("pattern")?.get("String")?.as_str()?, part.get("content")?.as_str()?),
        "Metaspace" => (" ", part.get("replacement")?.as_str()?),
        _ => return None,
    };
    Some((only(from)?, only(to)?))
}

fn only(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// The neighbours inside the tokens of a BPE vocabulary.
struct Pairs {
    inside: FxHashSet<(char, char)>,
    /// Characters with a token of their own.
    known: FxHashSet<char>,
    /// Unknown characters beside each other may become one token.
    fused: bool,
    /// What the tokenizer replaces before it merges, in order.
    replaced: Vec<(char, char)>,
}

impl Pairs {
    /// None where tokens are not made of the text's characters, one by one.
    fn of(bpe: &BPE, normalizers: &[Value], cutters: &[Value]) -> Option<Pairs> {
        let affix = |affix: &Option<String>| affix.as_ref().is_some_and(|affix| !affix.is_empty());
        if affix(&bpe.continuing_subword_prefix) || affix(&bpe.end_of_word_suffix) {
            return None;
        }
        let mut steps = Vec::new();
        for part in normalizers {
            match (kind(part), replaced(part)) {
                ("Prepend", _) => {}
                (_, Some(step)) => steps.push(step),
                _ => return None,
            }
        }
        if cutters.iter().any(|part| kind(part) == "ByteLevel") {
            return None;
        }
        steps.extend(cutters.iter().filter_map(replaced));
        Pairs::from_vocabulary(bpe, steps)
    }

    fn from_vocabulary(bpe: &BPE, replaced: Vec<(char, char)>) -> Option<Pairs> {
        let (mut inside, mut known, mut bytes) = (FxHashSet::default(), FxHashSet::default(), 0);
        let mut merged_bytes = false;
        for token in bpe.get_vocab().keys() {
            // Both `<0x0A>` and what merges of such would be called.
            if token.starts_with("<0x") && token.ends_with('>') {
                bytes += usize::from(token.len() == 6);
                merged_bytes |= token.len() > 6;
            }
            if let Some(char) = only(token) {
                known.insert(char);
            }
            inside.extend(token.chars().zip(token.chars().skip(1)));
        }
        // With a token for every byte, an unknown character becomes its bytes, which merge with nothing.
        let spelled = bpe.byte_fallback && bytes >= 256 && !merged_bytes;
        // Without bytes or a token for them, unknown characters vanish, and their neighbours meet.
        let gone = !spelled && bpe.unk_token.is_none();
        (!gone).then_some(Pairs { inside, known, fused: !spelled && (bpe.fuse_unk || bpe.byte_fallback), replaced })
    }

    /// Can no token hold these two characters beside each other?
    fn apart(&self, last: char, next: char) -> bool {
        let [last, next] = [last, next]
            .map(|char| self.replaced.iter().fold(char, |char, &(from, to)| if char == from { to } else { char }));
        let fuses = self.fused && !self.known.contains(&last) && !self.known.contains(&next);
        !fuses && !self.inside.contains(&(last, next))
    }
}
