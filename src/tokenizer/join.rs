//! Exact counts of texts put together from pieces that were tokenised before.
//!
//! A prompt is a few pieces of long texts, one after another. [`join`] tokenises nothing but a *window* of some hundred
//! bytes around each *seam*, where two pieces meet, or one is cut off inside its text.
//!
//! # Why this is exact
//!
//! Call a tokenizer *local* if it cuts a text from left to right, each cut depending only on where the cut before it
//! is and on the characters up to a little behind the cut (as a pattern without look-behind does), or on nothing but
//! the two characters at the cut. A window begins at a hard end of the left piece, before the seam. From there on, cuts
//! in the window are those of the whole text up to a little before the window's end. Where a cut of the window is also
//! one of the left piece's own text, both have come to the same state: what stands left of such a place `p` is divided
//! as in the piece's own text, what stands right of it as in the window. At a common cut `q` behind the seam, the same
//! holds the other way round. So the whole has the left piece's tokens up to `p`, the window's up to `q`, and the right
//! piece's from there on.
//!
//! `p` and `q` are the second common cut from the left, and have a third one behind them. The first one does not count
//! because what follows it may be marked as a beginning: it is the window's, the right piece's, or the end of a special
//! token that the seam cuts apart. The third one is there because a cut may depend on what follows: it could reach past
//! the seam, or to the window's end. A window in which no such places are found is made wider; one that is as wide as
//! its pieces needs none, and takes in the next seam.
//!
//! # What is only tested
//!
//! That tokenizers are local. Their patterns come from files and are not analysed: one with a look-behind over more
//! than a word, or a cut that depends on characters farther behind it than a cut, could still be counted wrongly.
//! Tokenizers known not to be local have no hard ends, and the window becomes the whole text. `tests/tokens.rs`
//! compares with the count of the whole text on random pieces of real text, for every tokenizer at hand.

use super::window::windows;
use super::{Tokenizer, Tokens};
use std::ops::Range;

/// A text tokenised once, of which prompts take pieces.
pub struct Unit {
    text: String,
    tokens: Tokens,
}

impl Unit {
    /// Tokenises a text.
    pub fn new(tokenizer: &Tokenizer, text: impl Into<String>) -> Unit {
        let text = text.into();
        let tokens = tokenizer.tokens(&text);
        Unit { text, tokens }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its tokens, as a text of its own.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Number of its tokens that end at or before a byte; none at byte 0.
    pub fn tokens_before(&self, byte: usize) -> usize {
        self.tokens.before(byte)
    }

    /// The whole text as a piece.
    pub fn whole(&self) -> Piece<'_> {
        Piece { unit: self, range: 0..self.text.len() }
    }
}

/// A part of a unit's text.
#[derive(Clone)]
pub struct Piece<'a> {
    /// The text it is a part of.
    pub unit: &'a Unit,
    /// Bytes, at character boundaries; others, or bytes past the end, are taken back to the boundary before.
    pub range: Range<usize>,
}

/// What [`join`] counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Joined {
    /// Tokens of the whole, without added special tokens.
    pub tokens: usize,
    /// Windows (most hold one seam) whose count differs from the sum of the pieces' own counts.
    pub repaired: usize,
    /// Times a window had to be made larger, or to take in another seam, because its edges did not settle.
    pub widened: usize,
    /// For each piece, the index of the first token that holds one of its bytes (see [`Tokens::ends`]).
    pub starts: Vec<usize>,
    /// For each piece, one past the index of the last token that holds one of its bytes; as `starts` if it is empty.
    pub ends: Vec<usize>,
}

/// Exact token count of the pieces' texts one after another, without tokenising long pieces again.
pub fn join(tokenizer: &Tokenizer, pieces: &[Piece<'_>]) -> Joined {
    let whole = Whole::of(pieces);
    let seams = whole.seams();
    let mut joined = Joined::default();
    let windows = windows(tokenizer, &whole, &seams, &mut joined.widened);
    // Tokens that end at or before each seam, and whether one goes across it.
    let mut at_seams = Vec::with_capacity(seams.len());
    let mut done = 0;
    for window in &windows {
        joined.tokens += whole.count(done..window.from);
        for seam in &seams[window.seams.clone()] {
            let before = window.before(seam.at);
            at_seams.push((seam.at, joined.tokens + before, !window.ends_at(seam.at)));
        }
        let count = window.before(window.to);
        joined.repaired += usize::from(count != whole.count(window.from..window.to));
        joined.tokens += count;
        done = window.to;
    }
    joined.tokens += whole.count(done..whole.len);
    place(&mut joined, &whole, pieces, &at_seams);
    joined
}

/// Finds each piece's tokens. All edges of pieces are seams, but for the whole text's ends.
fn place(joined: &mut Joined, whole: &Whole<'_>, pieces: &[Piece<'_>], at_seams: &[(usize, usize, bool)]) {
    let edge = |at: usize| match at_seams.binary_search_by_key(&at, |seam| seam.0) {
        _ if at == 0 => (0, false),
        _ if at == whole.len => (joined.tokens, false),
        Ok(i) => (at_seams[i].1, at_seams[i].2),
        Err(_) => (joined.tokens, false),
    };
    let (mut starts, mut ends) = (Vec::with_capacity(pieces.len()), Vec::with_capacity(pieces.len()));
    let mut at = 0;
    for piece in pieces {
        let start = edge(at).0;
        let len = clamped(piece).len();
        at += len;
        let (end, across) = edge(at);
        starts.push(start);
        ends.push(if len == 0 { start } else { (end + usize::from(across)).min(joined.tokens) });
    }
    (joined.starts, joined.ends) = (starts, ends);
}

/// A piece's bytes at character boundaries.
fn clamped(piece: &Piece<'_>) -> Range<usize> {
    let text = &piece.unit.text;
    let floor = |byte: usize| (0..=byte.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let start = floor(piece.range.start);
    start..floor(piece.range.end).max(start)
}

/// A piece that is not empty, in the whole text.
pub(super) struct Span<'a> {
    pub(super) unit: &'a Unit,
    /// Where it begins: in its unit, and in the whole.
    pub(super) from: usize,
    pub(super) at: usize,
    len: usize,
}

impl Span<'_> {
    pub(super) fn end(&self) -> usize {
        self.at + self.len
    }

    /// A byte of the whole, in the unit.
    pub(super) fn inside(&self, at: usize) -> usize {
        at - self.at + self.from
    }

    pub(super) fn is_hard(&self, at: usize) -> bool {
        self.unit.tokens.is_hard_at(self.inside(at))
    }
}

/// A byte of the whole where pieces meet, or where the first or last one is cut off.
pub(super) struct Seam {
    pub(super) at: usize,
    /// Indices of the spans beside it; none at the whole text's ends.
    pub(super) left: Option<usize>,
    pub(super) right: Option<usize>,
}

/// The pieces one after another.
pub(super) struct Whole<'a> {
    pub(super) spans: Vec<Span<'a>>,
    pub(super) len: usize,
}

impl<'a> Whole<'a> {
    fn of(pieces: &[Piece<'a>]) -> Whole<'a> {
        let mut spans = Vec::with_capacity(pieces.len());
        let mut at = 0;
        for piece in pieces {
            let range = clamped(piece);
            if !range.is_empty() {
                spans.push(Span { unit: piece.unit, from: range.start, at, len: range.len() });
                at += range.len();
            }
        }
        Whole { spans, len: at }
    }

    fn seams(&self) -> Vec<Seam> {
        let mut seams = Vec::with_capacity(self.spans.len() + 1);
        if self.spans.first().is_some_and(|first| first.from > 0) {
            seams.push(Seam { at: 0, left: None, right: Some(0) });
        }
        let between = |right: usize| Seam { at: self.spans[right].at, left: Some(right - 1), right: Some(right) };
        seams.extend((1..self.spans.len()).map(between));
        if let Some(last) = self.spans.last()
            && last.from + last.len < last.unit.text.len()
        {
            seams.push(Seam { at: self.len, left: Some(self.spans.len() - 1), right: None });
        }
        seams
    }

    /// The spans that share bytes with a range of the whole, and those bytes.
    fn parts(&self, range: Range<usize>) -> impl Iterator<Item = (&Span<'a>, Range<usize>)> {
        let first = self.spans.partition_point(|span| span.end() <= range.start);
        let spans = self.spans[first..].iter().take_while(move |span| span.at < range.end);
        spans.map(move |span| (span, range.start.max(span.at)..range.end.min(span.end())))
    }

    pub(super) fn text(&self, range: Range<usize>) -> String {
        let mut text = String::with_capacity(range.len());
        for (span, part) in self.parts(range) {
            // Always there, up to the 4 GiB that ends of tokens reach to.
            text.push_str(span.unit.text.get(span.inside(part.start)..span.inside(part.end)).unwrap_or_default());
        }
        text
    }

    /// Tokens of a range by the units' own counts.
    fn count(&self, range: Range<usize>) -> usize {
        let count = |(span, part): (&Span<'_>, Range<usize>)| {
            span.unit.tokens_before(span.inside(part.end)) - span.unit.tokens_before(span.inside(part.start))
        };
        self.parts(range).map(count).sum()
    }
}
