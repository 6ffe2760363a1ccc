//! Counts a finished prompt under the tokenizers beside the primary one, from the counts of its parts.
//!
//! A family says where the parts of a prompt end. Counts of parts add up where both sides of each seam are tokenised
//! apart, which is asked of the tokenizer for the characters that meet there; a prompt with any other seam is counted whole.

use crate::record::{AlsoTokens, NeedleSpan};
use crate::tokenizer::{Ledger, Tokenizer, first_token, last_token};
use rustc_hash::FxHashMap;

/// Parts beyond this number are forgotten, so that memory stays bounded.
const KNOWN: usize = 200_000;

/// Characters that a seam is asked about, on either side.
const AROUND: usize = 3;

/// Counts prompts under the tokenizers beside the primary one; one a thread.
pub struct AlsoCounter {
    each: Vec<One>,
}

struct One {
    tokenizer: Tokenizer,
    added: u64,
    /// Tokens of a part that stands first, and of one behind another.
    known: FxHashMap<(bool, String), u32>,
    seams: FxHashMap<(String, String), bool>,
}

impl AlsoCounter {
    /// For the tokenizers of a ledger beside its primary one.
    pub fn new(ledger: &Ledger) -> AlsoCounter {
        let one = |tokenizer: &Tokenizer| One {
            tokenizer: tokenizer.clone(),
            added: u64::from(ledger.added(tokenizer)),
            known: FxHashMap::default(),
            seams: FxHashMap::default(),
        };
        AlsoCounter { each: ledger.also().iter().map(one).collect() }
    }

    /// Counts a prompt whose parts end at these bytes.
    pub fn count(&mut self, prompt: &str, ends: &[u32], spans: &[NeedleSpan]) -> Vec<AlsoTokens> {
        self.each.iter_mut().map(|one| one.count(prompt, ends, spans)).collect()
    }
}

impl One {
    fn count(&mut self, prompt: &str, ends: &[u32], spans: &[NeedleSpan]) -> AlsoTokens {
        if self.known.len() > KNOWN {
            self.known.clear();
        }
        let adds = ends.iter().all(|end| *end as usize == prompt.len() || self.is_seam(prompt, *end as usize));
        if !adds || ends.is_empty() {
            return whole(&self.tokenizer, prompt, spans, self.added);
        }
        let mut sums = Vec::with_capacity(ends.len() + 1);
        sums.push(0);
        let mut from = 0;
        for end in ends {
            let part = &prompt[from..*end as usize];
            let key = (from == 0, part.to_owned());
            let tokens = match self.known.get(&key) {
                Some(tokens) => *tokens,
                None => {
                    let tokens = match from {
                        0 => self.tokenizer.count(part),
                        _ => self.tokenizer.count_line(part),
                    } as u32;
                    self.known.insert(key, tokens);
                    tokens
                }
            };
            sums.push(sums[sums.len() - 1] + u64::from(tokens));
            from = *end as usize;
        }
        let place = |byte: u64, last: bool| {
            // The part that holds the byte, or that ends there.
            let n = match last {
                false => ends.partition_point(|end| u64::from(*end) <= byte),
                true => ends.partition_point(|end| u64::from(*end) < byte),
            };
            let from = if n == 0 { 0 } else { ends[n - 1] as usize };
            let Some(&end) = ends.get(n) else { return sums[ends.len()] };
            if last && byte == u64::from(end) {
                return sums[n + 1];
            }
            let part = &prompt[from..end as usize];
            sums[n] + self.inside(part, from == 0, byte as usize - from, last)
        };
        let spans = spans.iter().map(|span| (place(span.start, false), place(span.end, true))).collect();
        AlsoTokens { n_tokens: sums[ends.len()] + self.added, spans }
    }

    /// Tokens of a part before a byte: whole ones (the first of a span), or those that begin before it (the last).
    fn inside(&self, part: &str, first: bool, byte: usize, last: bool) -> u64 {
        if byte == 0 {
            return 0;
        }
        let ends = if first { self.tokenizer.ends(part) } else { self.tokenizer.line_ends(part) };
        (if last { last_token(&ends, byte) } else { first_token(&ends, byte) }) as u64
    }

    /// Are both sides of a place tokenised apart?
    fn is_seam(&mut self, prompt: &str, at: usize) -> bool {
        let left = prompt[..at].char_indices().rev().take(AROUND).last().map_or(0, |(n, _)| n);
        let right = prompt[at..].char_indices().nth(AROUND).map_or(prompt.len(), |(n, _)| at + n);
        let key = (prompt[left..at].to_owned(), prompt[at..right].to_owned());
        if let Some(hard) = self.seams.get(&key) {
            return *hard;
        }
        let hard = self.tokenizer.seam_is_hard(&key.0, &key.1);
        self.seams.insert(key, hard);
        hard
    }
}

/// Counts a prompt whole.
pub fn whole(tokenizer: &Tokenizer, prompt: &str, spans: &[NeedleSpan], added: u64) -> AlsoTokens {
    let ends = tokenizer.ends(prompt);
    let first = |byte: u64| first_token(&ends, byte as usize) as u64;
    let last = |byte: u64| last_token(&ends, byte as usize) as u64;
    let spans = spans.iter().map(|span| (first(span.start), last(span.end))).collect();
    AlsoTokens { n_tokens: ends.len() as u64 + added, spans }
}
