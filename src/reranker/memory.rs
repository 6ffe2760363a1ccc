//! The memory of scores: those of pins, and a journal that each new one is written to at once.
//!
//! A journal is `<store>/rerank/<digest of parameters>.jsonl`, a question with some of its sentences a line.

use super::pin::{self, FOLDER, Scored};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::pinfile::{self, parameters_digest};
use crate::translator::journal::Journal;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Scores by the digests of question and sentence, and which of them were used.
pub struct Memory {
    scores: Scores,
    /// Questions and sentences by number, in the order of their first use.
    used: Vec<(u32, u32)>,
    journal: Journal,
}

/// There are millions of pairs of few texts: a text is a number here.
#[derive(Default)]
pub struct Scores {
    numbers: FxHashMap<Digest, u32>,
    digests: Vec<Digest>,
    /// By the question's number, then the sentence's.
    known: FxHashMap<u32, FxHashMap<u32, Known>>,
}

struct Known {
    score: i64,
    used: bool,
}

/// A line of the journal.
#[derive(Serialize, Deserialize)]
struct Line {
    /// Of all that follows.
    key: Digest,
    question: Digest,
    sentences: Vec<Digest>,
    scores: Vec<i64>,
}

impl Line {
    fn key(&self) -> Digest {
        let head = [b"nihbuild scores of a question v1".as_slice(), &self.question.0];
        let scores: Vec<[u8; 8]> = self.scores.iter().map(|score| score.to_le_bytes()).collect();
        let rows = self.sentences.iter().map(|sentence| sentence.0.as_slice());
        Digest::of_parts(head.into_iter().chain(rows).chain(scores.iter().map(<[u8; 8]>::as_slice)))
    }

    fn is_sound(&self) -> bool {
        self.sentences.len() == self.scores.len() && self.key() == self.key
    }
}

impl Scores {
    /// The pins of these parameters in the given folders, in their order.
    pub fn of_pins(pins: &[PathBuf], parameters: &Digest) -> Result<Scores> {
        let mut scores = Scores::default();
        for path in pinfile::find(pins, FOLDER, parameters)? {
            // A pin that is damaged is no pin that is not there: to ask again takes long and may come out otherwise.
            pin::read(&path, parameters, &mut |row| scores.keep(&row.question, &row.sentence, row.score))?;
        }
        Ok(scores)
    }

    /// The score of a pair, where it is known.
    pub fn get(&self, question: &Digest, sentence: &Digest) -> Option<i64> {
        let number = |digest| self.numbers.get(digest);
        Some(self.known.get(number(question)?)?.get(number(sentence)?)?.score)
    }

    fn number(&mut self, digest: &Digest) -> u32 {
        let next = self.digests.len() as u32;
        let number = *self.numbers.entry(*digest).or_insert(next);
        if number == next {
            self.digests.push(*digest);
        }
        number
    }

    /// Of two scores of one pair the first holds.
    fn keep(&mut self, question: &Digest, sentence: &Digest, score: i64) {
        let (question, sentence) = (self.number(question), self.number(sentence));
        let known = self.known.entry(question).or_default();
        known.entry(sentence).or_insert(Known { score, used: false });
    }
}

impl Memory {
    /// Reads the pins of these parameters in the given folders, in their order, then the journal. `writing` takes the lock
    /// and cuts off what is torn.
    pub fn open(store: &Path, pins: &[PathBuf], parameters: &Value, writing: bool) -> Result<Memory> {
        let digest = parameters_digest(parameters);
        let mut scores = Scores::of_pins(pins, &digest)?;
        let path = store.join(FOLDER).join(format!("{digest}.jsonl"));
        let journal = Journal::open(path, writing, &mut |line| match serde_json::from_slice::<Line>(line) {
            Ok(line) if line.is_sound() => {
                let rows = line.sentences.iter().zip(&line.scores);
                rows.for_each(|(sentence, score)| scores.keep(&line.question, sentence, *score));
                true
            }
            _ => false,
        })?;
        Ok(Memory { scores, used: Vec::new(), journal })
    }

    /// Is the score of a pair known?
    pub fn has(&self, question: &Digest, sentence: &Digest) -> bool {
        self.scores.get(question, sentence).is_some()
    }

    /// The score of a pair, which from now on belongs to the pin.
    pub fn take(&mut self, question: &Digest, sentence: &Digest) -> Option<i64> {
        let question = *self.scores.numbers.get(question)?;
        let sentence = *self.scores.numbers.get(sentence)?;
        let known = self.scores.known.get_mut(&question)?.get_mut(&sentence)?;
        if !known.used {
            known.used = true;
            self.used.push((question, sentence));
        }
        Some(known.score)
    }

    /// Keeps new scores of a question's sentences, on disk before it returns.
    pub fn keep(&mut self, question: &Digest, answers: Vec<(Vec<Digest>, Vec<i64>)>) -> Result<()> {
        let mut text = String::new();
        for (sentences, scores) in answers {
            let mut line = Line { key: *question, question: *question, sentences, scores };
            line.key = line.key();
            text += &serde_json::to_string(&line).map_err(|e| Error::new(format!("cannot encode scores: {e}")))?;
            text.push('\n');
            for (sentence, score) in line.sentences.iter().zip(&line.scores) {
                self.scores.keep(question, sentence, *score);
            }
        }
        self.journal.append(&text)
    }

    /// What was used so far, in the order of a pin's rows.
    pub fn used(&self) -> Vec<Scored> {
        let Scores { digests, known, .. } = &self.scores;
        let row = |(question, sentence): &(u32, u32)| Scored {
            question: digests[*question as usize],
            sentence: digests[*sentence as usize],
            score: known[question][sentence].score,
        };
        let mut rows: Vec<Scored> = self.used.iter().map(row).collect();
        rows.sort_unstable();
        rows
    }
}
