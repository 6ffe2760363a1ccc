//! Counts prompts of running text: what head, needle and tail add to a text's own tokens, each learnt once.
//!
//! A tokenizer divides what is far apart independently (see [`tokenizer`](crate::tokenizer)). So the tokens of a prompt are those
//! of its text, and what three seams add: the head before the text, the needle at its place, the tail behind the end. Each is
//! counted once by [`join()`] and used in every prompt that has it; where two seams are near each other, the prompt is
//! counted by itself.

use super::slots::NeedleUnits;
use crate::tokenizer::{Joined, Piece, Tokenizer, Unit, join};
use rustc_hash::FxHashMap;
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
    /// The seams that were looked at.
    pub seams: Seams,
}

/// Seams that were looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seams {
    /// All.
    pub all: u64,
    /// Those whose count is not the sum of their parts'.
    pub repaired: u64,
    /// Windows that had to be made larger.
    pub widened: u64,
}

impl Seams {
    fn of(pieces: usize, joined: &Joined) -> Seams {
        Seams { all: pieces as u64 - 1, repaired: joined.repaired as u64, widened: joined.widened as u64 }
    }

    fn plus(self, other: Seams) -> Seams {
        Seams {
            all: self.all + other.all,
            repaired: self.repaired + other.repaired,
            widened: self.widened + other.widened,
        }
    }
}

/// One needle in one text under one tokenizer.
pub struct Splicer<'a> {
    tokenizer: &'a Tokenizer,
    text: &'a Unit,
    units: &'a NeedleUnits,
    /// Tokens that stand apart from the prompt: the system message's, and what the model itself adds.
    apart: u64,
    /// The text begins with a heading.
    heading: bool,
    head: OnceLock<Option<(u64, Seams)>>,
    needles: Mutex<FxHashMap<usize, Option<Needle>>>,
    ends: Mutex<FxHashMap<usize, Option<End>>>,
}

/// Tokens of a text up to its end, what the tail adds to them, and the seam.
type End = (u64, i64, Seams);

/// What a needle adds at a place, and its tokens in the text.
#[derive(Clone, Copy)]
struct Needle {
    adds: i64,
    span: (u64, u64),
    seams: Seams,
}

/// Counts a prompt by itself: nothing learnt before is used.
pub fn count_alone(
    tokenizer: &Tokenizer,
    text: &Unit,
    units: &NeedleUnits,
    at: usize,
    end: usize,
    apart: u64,
    heading: bool,
) -> Counted {
    let splicer = Splicer::new(tokenizer, text, units, apart, heading);
    splicer.alone(at, end)
}

fn whole(unit: &Unit) -> Piece<'_> {
    Piece { unit, range: 0..unit.text().len() }
}

impl<'a> Splicer<'a> {
    /// Nothing is counted yet.
    pub fn new(
        tokenizer: &'a Tokenizer,
        text: &'a Unit,
        units: &'a NeedleUnits,
        apart: u64,
        heading: bool,
    ) -> Splicer<'a> {
        Splicer {
            tokenizer,
            text,
            units,
            apart,
            heading,
            head: OnceLock::new(),
            needles: Mutex::default(),
            ends: Mutex::default(),
        }
    }

    /// Counts the prompt whose text ends at a byte and holds the needle at another.
    pub fn count(&self, at: usize, end: usize) -> Counted {
        // Each seam has its bytes to itself: head, needle, tail.
        if at < 2 * FAR || end - at < 2 * FAR {
            return self.alone(at, end);
        }
        let learnt = || Some((self.head()?, self.needle(at)?, self.end(end)?));
        let Some(((head, first), needle, (text, tail, last))) = learnt() else { return self.alone(at, end) };
        let document = text.saturating_add_signed(needle.adds);
        Counted {
            n_tokens: (document + head).saturating_add_signed(tail) + self.apart,
            document,
            span: (needle.span.0 + head, needle.span.1 + head),
            seams: first.plus(needle.seams).plus(last),
        }
    }

    /// What is known of a place, or is learnt now. (Two threads may learn the same at once.)
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
        lock().insert(place, learnt);
        learnt
    }

    /// Tokens of the first so many bytes of the text, as a text of its own.
    fn before(&self, end: usize) -> u64 {
        join(self.tokenizer, &[Piece { unit: self.text, range: 0..end }]).tokens as u64
    }

    /// What the head adds to a text; none where it reaches far into it.
    fn head(&self) -> Option<(u64, Seams)> {
        *self.head.get_or_init(|| {
            let near = self.text.text().ceil_char_boundary(FAR);
            let joined = join(self.tokenizer, &[whole(&self.units.head), Piece { unit: self.text, range: 0..near }]);
            let adds = (joined.tokens as u64).checked_sub(self.before(near))?;
            (joined.widened == 0).then_some((adds, Seams::of(2, &joined)))
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
                seams: Seams::of(4, joined),
            })
        })
    }

    /// Tokens of the text up to an end, and what the tail adds to it.
    fn end(&self, end: usize) -> Option<End> {
        let pieces = [Piece { unit: self.text, range: 0..end }, whole(&self.units.tail)];
        self.learn(&self.ends, end, &pieces, |joined| {
            let text = self.before(end);
            (joined.widened == 0).then_some((text, joined.tokens as i64 - text as i64, Seams::of(2, joined)))
        })
    }

    /// Counts a prompt from its own seams alone.
    fn alone(&self, at: usize, end: usize) -> Counted {
        let (before, behind) = (Piece { unit: self.text, range: 0..at }, Piece { unit: self.text, range: at..end });
        let (gap, needle) = (whole(&self.units.gap), whole(&self.units.needle));
        // Before all of the text the gap stands behind the needle.
        let (document, place) = match at {
            0 if self.heading => (vec![needle, whole(&self.units.parted), behind], 0),
            0 => (vec![needle, gap, behind], 0),
            _ => (vec![before, gap, needle, behind], 2),
        };
        let tokens = join(self.tokenizer, &document).tokens as u64;
        let mut pieces = vec![whole(&self.units.head)];
        pieces.extend(document);
        pieces.push(whole(&self.units.tail));
        let joined = join(self.tokenizer, &pieces);
        Counted {
            n_tokens: joined.tokens as u64 + self.apart,
            document: tokens,
            span: (joined.starts[place + 1] as u64, joined.ends[place + 1] as u64),
            seams: Seams::of(pieces.len(), &joined),
        }
    }
}
