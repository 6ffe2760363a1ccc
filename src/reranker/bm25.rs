//! Okapi BM25 (k1 = 1.2, b = 0.75) by integers alone, so that it is the same on every machine.
//!
//! The score of a sentence is the sum over the terms of the question, each as often as it is there, of
//!
//! ```text
//! log2((N + 1) / (n + 1/2))  *  tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length))
//! ```
//!
//! with N sentences in the call, n of them with the term, tf times in this one; lengths count [`terms`](super::terms). This logarithm is
//! the one that stays positive for terms of more than half of the sentences. It is in fixed point; all else is one fraction, rounded down.

use super::Reranker;
use super::terms::terms;
use crate::error::Result;
use rustc_hash::FxHashMap;

/// Bits after the point of a score and of a logarithm.
pub const FRACTION_BITS: u32 = 32;

/// A sentence that [`Bm25::prepare`] has read; means nothing to another [`Bm25`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Prepared(u32);

/// Retrieval by the words that question and sentence share. It keeps every sentence it was given, read once.
#[derive(Default)]
pub struct Bm25 {
    words: FxHashMap<Box<str>, u32>,
    sentences: FxHashMap<Box<str>, Prepared>,
    read: Vec<Sentence>,
    /// Terms of all sentences, those of one side by side: the term, and how often.
    counts: Vec<(u32, u32)>,
    /// Reused.
    buffer: Vec<u32>,
}

struct Sentence {
    /// Where its terms are in `counts`.
    start: usize,
    end: usize,
    /// Terms, counted as often as they are there.
    length: u32,
}

/// A term of the question.
#[derive(Clone, Copy, Default)]
struct Asked {
    /// Times in the question.
    times: u64,
    /// Sentences of the call with it.
    sentences: u64,
    /// Its logarithm.
    weight: u64,
}

/// A term of the question found in a sentence of the call.
struct Hit {
    sentence: usize,
    asked: usize,
    times: u32,
}

impl Bm25 {
    /// How many distinct sentences it has read.
    pub fn len(&self) -> usize {
        self.read.len()
    }

    /// Has it read none?
    pub fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    /// Knows no sentence yet.
    pub fn new() -> Bm25 {
        Bm25::default()
    }

    /// Reads a sentence, once: the same text gives the same value.
    pub fn prepare(&mut self, sentence: &str) -> Prepared {
        if let Some(prepared) = self.sentences.get(sentence) {
            return *prepared;
        }
        let (words, found) = (&mut self.words, &mut self.buffer);
        found.clear();
        terms(sentence, |word| {
            let next = words.len() as u32;
            found.push(match words.get(word) {
                Some(term) => *term,
                None => *words.entry(word.into()).or_insert(next),
            });
        });
        found.sort_unstable();
        let start = self.counts.len();
        self.counts.extend(found.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)));
        self.read.push(Sentence { start, end: self.counts.len(), length: found.len() as u32 });
        let prepared = Prepared(self.read.len() as u32 - 1);
        self.sentences.insert(sentence.into(), prepared);
        prepared
    }

    /// Relevance of each sentence to the question, in units of 2^-[`FRACTION_BITS`]. The sentences of this call, repeated
    /// ones each time, are the collection that terms are counted in.
    ///
    /// # Panics
    ///
    /// If a sentence was prepared by another `Bm25` with more of them.
    pub fn rank(&self, question: &str, sentences: &[Prepared]) -> Vec<i64> {
        let mut scores = vec![0_i64; sentences.len()];
        let (slots, mut asked) = self.asked(question);
        let mut hits = Vec::new();
        let mut total = 0;
        for (n, prepared) in sentences.iter().enumerate() {
            let Sentence { start, end, length } = self.read[prepared.0 as usize];
            total += u128::from(length);
            for (term, times) in &self.counts[start..end] {
                let slot = slots[*term as usize];
                if slot > 0 {
                    let asked_at = slot as usize - 1;
                    asked[asked_at].sentences += 1;
                    hits.push(Hit { sentence: n, asked: asked_at, times: *times });
                }
            }
        }
        let count = sentences.len() as u64;
        for asked in &mut asked {
            asked.weight = log2(2 * count + 2) - log2(2 * asked.sentences + 1);
        }
        for Hit { sentence, asked: at, times } in hits {
            let Asked { times: in_question, weight, .. } = asked[at];
            let length = u128::from(self.read[sentences[sentence].0 as usize].length);
            // tf (k1 + 1) / (tf + k1 (1 - b) + k1 b length / mean), above and below times 10 and the total length.
            let tf = u128::from(times) * total;
            let below = 10 * tf + 3 * total + 9 * length * u128::from(count);
            let part = u128::from(weight) * 22 * tf / below;
            let part = i64::try_from(part * u128::from(in_question)).unwrap_or(i64::MAX);
            scores[sentence] = scores[sentence].saturating_add(part);
        }
        scores
    }

    /// For each known term its place among those of the question plus one, or zero; and those of the question.
    fn asked(&self, question: &str) -> (Vec<u32>, Vec<Asked>) {
        let mut slots = vec![0_u32; self.words.len()];
        let mut asked: Vec<Asked> = Vec::new();
        terms(question, |word| {
            // What no sentence holds counts for none.
            let Some(term) = self.words.get(word) else { return };
            let slot = &mut slots[*term as usize];
            if *slot == 0 {
                asked.push(Asked::default());
                *slot = asked.len() as u32;
            }
            asked[*slot as usize - 1].times += 1;
        });
        (slots, asked)
    }
}

impl Reranker for Bm25 {
    fn scores(&mut self, question: &str, sentences: &[&str]) -> Result<Vec<i64>> {
        let prepared: Vec<Prepared> = sentences.iter().map(|sentence| self.prepare(sentence)).collect();
        Ok(self.rank(question, &prepared))
    }
}

/// The logarithm of a positive number to the base 2, in units of 2^-[`FRACTION_BITS`], rounded down; 0 of 0.
fn log2(n: u64) -> u64 {
    let Some(whole) = n.checked_ilog2() else { return 0 };
    // The number scaled to 1 to 2, with 63 bits after the point. Squared, it tells the next bit of the logarithm.
    let mut scaled = n << (63 - whole);
    let mut log = u64::from(whole);
    for _ in 0..FRACTION_BITS {
        let square = (u128::from(scaled) * u128::from(scaled)) >> 63;
        let bit = square >> 64;
        scaled = (square >> bit) as u64;
        log = log << 1 | bit as u64;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_as_floats_have_them() {
        for n in (1..5000).chain([u64::MAX, 1 << 40, (1 << 40) - 1, 123_456_789_012]) {
            let float = (n as f64).log2() * f64::from(1 << 16).powi(2);
            assert!((log2(n) as f64 - float).abs() <= 1.0 + float * 1e-15, "{n}: {} {float}", log2(n));
        }
        assert_eq!(log2(1 << 40), 40 << FRACTION_BITS);
        assert_eq!((log2(0), log2(1)), (0, 0));
    }
}
