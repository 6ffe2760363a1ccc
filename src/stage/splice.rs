//! Counts prompts of running text: what head, needle and tail add to a text's own tokens, each learnt once.
//!
//! A tokenizer divides what is far apart independently (see [`tokenizer`](crate::tokenizer)). So the tokens of a prompt are those
//! of its text, and what three seams add: the head before the text, the needle at its place, the tail behind the end. Each is
//! counted once by [`join()`] and used in every prompt that has it; where two seams are near each other, the prompt is
//! counted by itself.

use super::slots::NeedleUnits;
use crate::tokenizer::{Joined, Piece, Tokenizer, Unit, join};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Bytes between two seams that surely keep them apart: several times the window that [`join()`] looks at.
const FAR: usize = 512;

/// What a prompt comes to under one tokenizer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Tokens of system message and prompt.
    pub n_tokens: u64,
    /// Tokens of the text with its needle, as a text of its own.
    pub document: u64,
    /// First token of the needle in the prompt, and one past its last.
    pub span: (u64, u64),
}

/// Seams of prompts, those whose count is not the sum of their parts', and windows that were made larger.
pub type Seams = (u64, u64, u64);

/// One needle in one text under one tokenizer.
pub struct Splicer<'a> {
    tokenizer: &'a Tokenizer,
    text: &'a Unit,
    units: &'a NeedleUnits,
    /// Tokens that stand apart from the prompt: the system message's, and what the model itself adds.
    apart: u64,
    head: OnceLock<Option<u64>>,
    needles: Mutex<FxHashMap<usize, Option<Needle>>>,
    ends: Mutex<FxHashMap<usize, Option<(u64, i64)>>>,
    seams: Mutex<Seams>,
}

/// What a needle adds at a place, and its tokens in the text.
#[derive(Clone, Copy)]
struct Needle {
    adds: i64,
    span: (u64, u64),
}

/// Counts a prompt by itself: nothing learnt before is used.
pub fn count_alone(
    tokenizer: &Tokenizer,
    text: &Unit,
    units: &NeedleUnits,
    at: usize,
    end: usize,
    apart: u64,
) -> Counted {
    let splicer = Splicer::new(tokenizer, text, units, apart);
    splicer.alone(at, end)
}

fn whole(unit: &Unit) -> Piece<'_> {
    Piece { unit, range: 0..unit.text().len() }
}

impl<'a> Splicer<'a> {
    /// Nothing is counted yet.
    pub fn new(tokenizer: &'a Tokenizer, text: &'a Unit, units: &'a NeedleUnits, apart: u64) -> Splicer<'a> {
        Splicer {
            tokenizer,
            text,
            units,
            apart,
            head: OnceLock::new(),
            needles: Mutex::default(),
            ends: Mutex::default(),
            seams: Mutex::default(),
        }
    }

    /// Counts the prompt whose text ends at a byte and holds the needle at another.
    pub fn count(&self, at: usize, end: usize) -> Counted {
        // Each seam has its bytes to itself: head, needle, tail.
        if at < 2 * FAR || end - at < 2 * FAR {
            return self.alone(at, end);
        }
        let learnt = || Some((self.head()?, self.needle(at)?, self.end(end)?));
        let Some((head, needle, (text, tail))) = learnt() else { return self.alone(at, end) };
        let document = text.saturating_add_signed(needle.adds);
        Counted {
            n_tokens: (document + head).saturating_add_signed(tail) + self.apart,
            document,
            span: (needle.span.0 + head, needle.span.1 + head),
        }
    }

    /// What was counted so far.
    pub fn seams(&self) -> Seams {
        *self.seams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to what was counted.
    fn note(&self, pieces: usize, joined: &Joined) {
        let mut seams = self.seams.lock().unwrap_or_else(PoisonError::into_inner);
        seams.0 += pieces as u64 - 1;
        seams.1 += joined.repaired as u64;
        seams.2 += joined.widened as u64;
    }

    /// What is known of a place, or is learnt now. Two threads may learn the same at once: it is noted once.
    fn learn<T: Copy>(
        &self,
        known: &Mutex<FxHashMap<usize, T>>,
        place: usize,
        pieces: &[Piece<'_>],
        learn: impl FnOnce(&Joined) -> T,
    ) -> T {
        let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&place) {
            return *known;
        }
        let joined = join(self.tokenizer, pieces);
        let learnt = learn(&joined);
        match lock().entry(place) {
            Entry::Occupied(_) => {}
            Entry::Vacant(entry) => {
                entry.insert(learnt);
                self.note(pieces.len(), &joined);
            }
        }
        learnt
    }

    /// Tokens of the first so many bytes of the text, as a text of its own.
    fn before(&self, end: usize) -> u64 {
        join(self.tokenizer, &[Piece { unit: self.text, range: 0..end }]).tokens as u64
    }

    /// What the head adds to a text; none where it reaches far into it.
    fn head(&self) -> Option<u64> {
        *self.head.get_or_init(|| {
            let near = self.text.text().ceil_char_boundary(FAR);
            let joined = join(self.tokenizer, &[whole(&self.units.head), Piece { unit: self.text, range: 0..near }]);
            self.note(2, &joined);
            (joined.widened == 0).then(|| (joined.tokens as u64).checked_sub(self.before(near))).flatten()
        })
    }

    fn needle(&self, at: usize) -> Option<Needle> {
        let near = self.text.text().ceil_char_boundary(at + FAR);
        let pieces = [
            Piece { unit: self.text, range: 0..at },
            whole(&self.units.gap),
            whole(&self.units.needle),
            Piece { unit: self.text, range: at..near },
        ];
        self.learn(&self.needles, at, &pieces, |joined| {
            (joined.widened == 0).then(|| Needle {
                adds: joined.tokens as i64 - self.before(near) as i64,
                span: (joined.starts[2] as u64, joined.ends[2] as u64),
            })
        })
    }

    /// Tokens of the text up to an end, and what the tail adds to it.
    fn end(&self, end: usize) -> Option<(u64, i64)> {
        let pieces = [Piece { unit: self.text, range: 0..end }, whole(&self.units.tail)];
        self.learn(&self.ends, end, &pieces, |joined| {
            let text = self.before(end);
            (joined.widened == 0).then_some((text, joined.tokens as i64 - text as i64))
        })
    }

    /// Counts a prompt from its own seams alone.
    fn alone(&self, at: usize, end: usize) -> Counted {
        let (before, behind) = (Piece { unit: self.text, range: 0..at }, Piece { unit: self.text, range: at..end });
        let (gap, needle) = (whole(&self.units.gap), whole(&self.units.needle));
        // Before all of the text the gap stands behind the needle.
        let (document, place) = match at {
            0 => (vec![needle, gap, behind], 0),
            _ => (vec![before, gap, needle, behind], 2),
        };
        let tokens = join(self.tokenizer, &document).tokens as u64;
        let mut pieces = vec![whole(&self.units.head)];
        pieces.extend(document);
        pieces.push(whole(&self.units.tail));
        let joined = join(self.tokenizer, &pieces);
        self.note(pieces.len(), &joined);
        Counted {
            n_tokens: joined.tokens as u64 + self.apart,
            document: tokens,
            span: (joined.starts[place + 1] as u64, joined.ends[place + 1] as u64),
        }
    }
}
