//! The windows of [`super::join()`]: small stretches of text around seams, tokenised anew.

use super::join::{Seam, Span, Whole};
use super::{Tokenizer, Tokens};
use std::ops::Range;

/// At least so many bytes, and hard ends, on each side of a seam are in its first window.
const REACH: usize = 48;
const HARD_ENDS: usize = 5;

/// A stretch of the whole text tokenised anew; its tokens hold between `from` and `to`.
pub(super) struct Window {
    /// Indices of the seams in it.
    pub(super) seams: Range<usize>,
    /// Bytes to look at on either side.
    reach: (usize, usize),
    /// Where its text begins, and the tokens of that text.
    at: usize,
    tokens: Tokens,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Which edge of a window does not settle, and what to do about it.
enum Unsettled {
    /// Look farther left: so many bytes before the first seam did not suffice.
    Left(usize),
    /// The window before reaches up to here: be one with it.
    Previous,
    Right(usize),
    /// The right piece is too short: take in the next seam.
    Next,
}

impl Window {
    /// Tokens between `from` and a byte of the whole.
    pub(super) fn before(&self, at: usize) -> usize {
        self.tokens.before(at - self.at) - self.tokens.before(self.from - self.at)
    }

    /// Does a token end there?
    pub(super) fn ends_at(&self, at: usize) -> bool {
        let before = self.tokens.before(at - self.at);
        before > 0 && self.tokens.ends[before - 1] as usize == at - self.at
    }
}

/// Tokenises a window around each seam, larger where need be; ascending, and none overlaps another's settled part.
pub(super) fn windows(tokenizer: &Tokenizer, whole: &Whole<'_>, seams: &[Seam], widened: &mut usize) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    let mut next = 0;
    while next < seams.len() {
        let mut range = next..next + 1;
        let mut reach = (REACH, REACH);
        loop {
            let low = windows.last().map_or(0, |window| window.to);
            match settle(tokenizer, whole, seams, range.clone(), reach, low) {
                Ok(window) => break windows.push(window),
                Err(Unsettled::Left(tried)) => reach.0 = 2 * tried,
                Err(Unsettled::Right(tried)) => reach.1 = 2 * tried,
                Err(Unsettled::Next) => {
                    // Not worth a figure: pieces shorter than a window are common.
                    range.end += 1;
                    reach.1 = REACH;
                    continue;
                }
                Err(Unsettled::Previous) => {
                    if let Some(previous) = windows.pop() {
                        range.start = previous.seams.start;
                        reach.0 = previous.reach.0;
                    }
                }
            }
            *widened += 1;
        }
        next = range.end;
    }
    windows
}

/// Tokenises the window of some seams and finds the places where it agrees with the pieces beside it.
///
/// `low` is where the window before ends: up to there all is settled.
fn settle(
    tokenizer: &Tokenizer,
    whole: &Whole<'_>,
    seams: &[Seam],
    range: Range<usize>,
    reach: (usize, usize),
    low: usize,
) -> Result<Window, Unsettled> {
    let (first, last) = (&seams[range.start], &seams[range.end - 1]);
    let left = first.left.map(|i| &whole.spans[i]);
    let right = last.right.map(|i| &whole.spans[i]);
    let begin = left.and_then(|left| begin(left, first.at, reach.0, low)).unwrap_or(low);
    let end = right.and_then(|right| end(right, last.at, reach.1));
    if end.is_none() && range.end < seams.len() {
        return Err(Unsettled::Next);
    }
    let end = end.unwrap_or(whole.len);
    let tokens = tokenizer.tokens(&whole.text(begin..end));
    let cuts: Vec<usize> = tokens.cuts().map(|at| begin + at).collect();
    let from = match left {
        Some(left) if begin > 0 => {
            let common = cuts.iter().filter(|&&at| begin < at && at <= first.at && left.is_hard(at));
            let wider = if begin > low { Unsettled::Left(first.at - begin) } else { Unsettled::Previous };
            second_of_three(common).ok_or(wider)?
        }
        _ => 0,
    };
    let to = match right {
        Some(right) if end < whole.len => {
            let common = cuts.iter().filter(|&&at| last.at < at && at < end && right.is_hard(at));
            second_of_three(common).ok_or(Unsettled::Right(end - last.at))?
        }
        _ => whole.len,
    };
    Ok(Window { seams: range, reach, at: begin, tokens, from, to })
}

/// The second place, if there are three.
fn second_of_three<'a>(places: impl Iterator<Item = &'a usize>) -> Option<usize> {
    let mut places = places.skip(1);
    let second = places.next()?;
    places.next().map(|_| *second)
}

/// Where a window begins left of a seam: at a hard end of the left piece's unit, above `low`; none if there is none.
fn begin(span: &Span<'_>, seam: usize, reach: usize, low: usize) -> Option<usize> {
    let tokens = &span.unit.tokens();
    let mut hard = 0;
    for i in (0..tokens.before(span.inside(seam))).rev() {
        // Before the piece's first byte there is another text.
        let at = (tokens.ends[i] as usize).checked_sub(span.from)? + span.at;
        if at <= low {
            return None;
        }
        if tokens.is_hard(i) && at < seam {
            hard += 1;
            if hard >= HARD_ENDS && at + reach <= seam {
                return Some(at);
            }
        }
    }
    None
}

/// Where a window ends right of a seam: at a hard end inside the right piece; none if there is none.
fn end(span: &Span<'_>, seam: usize, reach: usize) -> Option<usize> {
    let tokens = &span.unit.tokens();
    let mut hard = 0;
    for i in tokens.before(span.inside(seam))..tokens.len() {
        let at = (tokens.ends[i] as usize).checked_sub(span.from)? + span.at;
        if at >= span.end() {
            return None;
        }
        if tokens.is_hard(i) && at > seam {
            hard += 1;
            if hard >= HARD_ENDS && at >= seam + reach {
                return Some(at);
            }
        }
    }
    None
}
