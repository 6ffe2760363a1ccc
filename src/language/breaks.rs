//! Where between two sentences of running text another sentence may be put.
//!
//! Unicode's sentence boundaries (UAX 29) are the candidates, and most rules here take some away: a break inside a
//! sentence spoils a benchmark, a missing one costs nothing. A boundary stays if
//!
//! - the sentence before it ends with a mark that ends sentences, so no heading or line of verse without one;
//! - nothing that was opened in the paragraph is open, and, inside a paragraph, the mark stands behind what was closed:
//!   in `"Really!" Jo said.` it does not end the sentence;
//! - a full stop there belongs to no abbreviation, initial, ordinal or ellipsis;
//! - what follows can begin a sentence: a capital, a letter of a script without case, or a quotation.
//!
//! The text is expected in the form [`source::running`](crate::source::running) gives it, paragraphs parted by an empty
//! line; any other text is answered too, with no promise but that positions are characters of it.

use super::quotes::{Quotes, is_dash, may_open, opens_aside};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Raised when the same text has other breaks.
pub const VERSION: u32 = 1;

/// What a language says about its sentences.
#[derive(Debug, Clone, Copy)]
pub struct Marks<'a> {
    /// Abbreviations after which a sentence goes on, as printed, with their full stop; of one that is printed with
    /// spaces, each part counts. A name with another mark at its end, such as `Yahoo!`, may stand here too.
    pub abbreviations: &'a [String],
    /// Beginnings of sentences that point back at the sentence before, in any case.
    pub openings: &'a [String],
    /// Beginnings that lean on what came before, but do not speak of the sentence before: persons, additions, times.
    pub soft: &'a [String],
    /// Are sentences and words parted by spaces? Not so in Chinese.
    pub spaced: bool,
}

/// A place between two sentences, or behind the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Break {
    /// The byte after the sentence's last mark and what closes behind it, before the white space.
    pub end: usize,
    /// The first byte of the next sentence; the text's length at its end.
    pub next: usize,
    /// Does a paragraph end here?
    pub paragraph: bool,
    /// Does the next sentence open by pointing back? Then nothing may be put before it.
    pub guarded: bool,
    /// Does it lean on what came before? Then nothing is put before it where a better place is near.
    pub soft: bool,
}

/// The breaks of a text, in ascending order. Takes time in proportion to the text, and never fails.
pub fn breaks(text: &str, marks: &Marks<'_>) -> Vec<Break> {
    let words = Words::of(marks);
    let ranges = paragraphs(text);
    let mut found = Vec::new();
    for (n, range) in ranges.iter().enumerate() {
        let after = ranges.get(n + 1).map_or(text.len(), |next| next.start);
        let paragraph = Paragraph::of(&text[range.clone()], &words);
        let moved = |at: Break| Break { end: range.start + at.end, next: range.start + at.next, ..at };
        found.extend(paragraph.inner().into_iter().map(moved));
        found.extend(paragraph.last(&text[after..]).map(|end| Break {
            end: range.start + end,
            next: after,
            paragraph: true,
            guarded: words.points_back(&text[after..]),
            soft: words.leans(&text[after..]),
        }));
    }
    found
}

/// Does a sentence open by pointing back at the one before it, by the openings of a language?
///
/// Quotation marks, brackets and dashes before the first word do not matter, nor does case. In a spaced language an
/// opening has to be followed by the end of a word.
pub fn points_back(sentence: &str, marks: &Marks<'_>) -> bool {
    Words::of(marks).points_back(sentence)
}

/// The paragraphs of a text, without white space at their edges, and none empty.
fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for part in text.split("\n\n") {
        let start = at + (part.len() - part.trim_start().len());
        let end = start + part.trim().len();
        if start < end {
            found.push(start..end);
        }
        at += part.len() + 2;
    }
    found
}

/// The words of a language, ready to be looked up.
struct Words {
    abbreviations: BTreeSet<String>,
    /// In lower case; none is empty.
    openings: Vec<String>,
    /// The same.
    soft: Vec<String>,
    spaced: bool,
}

fn lowered(openings: &[String]) -> Vec<String> {
    openings.iter().map(|opening| opening.trim().to_lowercase()).filter(|opening| !opening.is_empty()).collect()
}

impl Words {
    fn of(marks: &Marks<'_>) -> Words {
        let parts = marks.abbreviations.iter().flat_map(|abbreviation| abbreviation.split_whitespace());
        let is_written = |part: &&str| part.ends_with(is_mark);
        let abbreviations = parts.filter(is_written).map(str::to_owned).collect();
        Words { abbreviations, openings: lowered(marks.openings), soft: lowered(marks.soft), spaced: marks.spaced }
    }

    fn points_back(&self, sentence: &str) -> bool {
        self.opens(sentence, &self.openings)
    }

    fn leans(&self, sentence: &str) -> bool {
        self.opens(sentence, &self.soft)
    }

    /// Does a sentence open with one of these?
    fn opens(&self, sentence: &str, openings: &[String]) -> bool {
        let first = sentence.trim_start_matches(|c: char| c.is_whitespace() || precedes_word(c) || is_dash(c));
        // Two characters more than the longest opening has are enough to see where its last word ends.
        let longest = openings.iter().map(|opening| opening.chars().count()).max().unwrap_or(0);
        let lower: String = first.chars().take(longest + 2).flat_map(char::to_lowercase).collect();
        openings.iter().any(|opening| {
            let rest = lower.strip_prefix(opening.as_str());
            rest.is_some_and(|rest| !self.spaced || ends_word(opening, rest))
        })
    }

    /// Is a token, with its mark, a known abbreviation, be it with the capital of a sentence's beginning?
    fn is_abbreviation(&self, token: &str) -> bool {
        let mut rest = token.chars();
        let first = rest.next();
        let lowered = || first.into_iter().flat_map(char::to_lowercase).chain(rest).collect::<String>();
        self.abbreviations.contains(token) || self.abbreviations.contains(&lowered())
    }

    /// Does a mark of exclamation or question after `before` likely stand inside a sentence? So it does behind a name,
    /// which capitals show where no list has it (`Yahoo!`, `Mamma Mia!`), and behind an interjection (`Oh!`).
    fn is_inside(&self, before: &str, marks: &str) -> bool {
        let core = self.last_word(before);
        let interjection = self.spaced && marks == "!" && core.graphemes(true).nth(3).is_none();
        interjection || core.starts_with(char::is_uppercase) || self.is_abbreviation(&format!("{core}{marks}"))
    }

    /// What stands before the end of a text without white space, or, in an unspaced language, without an ideograph.
    /// No token of interest is longer than the limit, which keeps the time in proportion to the text.
    fn last_token<'t>(&self, text: &'t str) -> &'t str {
        let goes_on = |c: char| !c.is_whitespace() && (self.spaced || !is_wide(c));
        let token = text.char_indices().rev().take(64).take_while(|(_, c)| goes_on(*c)).last();
        token.map_or("", |(at, _)| &text[at..])
    }

    /// Does a full stop after `before`, the text up to it, do something else than end a sentence?
    fn is_taken(&self, before: &str) -> bool {
        let core = self.last_word(before);
        let last = core.rsplit(parts_token).next().unwrap_or(core);
        if core.is_empty() {
            // In an unspaced language an ideograph stands before the mark, or else a symbol.
            return self.spaced || !before.ends_with(is_wide);
        }
        last.is_empty() || self.is_shortened(core) || is_label(last) || lacks_vowel(last)
    }

    /// Is a token without its mark an abbreviation, by the list or by a full stop inside?
    fn is_shortened(&self, core: &str) -> bool {
        let known = |part: &str| self.is_abbreviation(&format!("{part}."));
        let after = |parts: fn(char) -> bool| core.rsplit(parts).next().is_some_and(known);
        core.contains(is_full_stop) || known(core) || after(is_apostrophe) || after(parts_token)
    }

    /// The last token, from its first letter or digit on.
    fn last_word<'t>(&self, text: &'t str) -> &'t str {
        self.last_token(text).trim_start_matches(|c: char| !c.is_alphanumeric())
    }
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}

/// Does a character part a token of which the last part alone may be shortened, as in `Jean-P.`?
fn parts_token(c: char) -> bool {
    !is_apostrophe(c) && (c.is_ascii_punctuation() || matches!(c, '\u{2010}'..='\u{205E}' | '\u{60C}' | '\u{61B}'))
}

/// Is a character of the scripts that put no spaces between words, or of their punctuation?
fn is_wide(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{ABFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE6F}'
        | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Is a word what a full stop makes an initial, an ordinal, or the label of an item?
fn is_label(word: &str) -> bool {
    let digits = word.chars().all(char::is_numeric) && word.chars().count() <= 3;
    let roman = word.chars().all(|c| "IVXLCDM".contains(c));
    digits || roman || is_initial(word)
}

/// Is a word one letter, or what stands for one in a name: two Latin letters with one capital (`Ya.`), two Arabic ones?
fn is_initial(word: &str) -> bool {
    let doubled = word.chars().all(is_arabic)
        || word.is_ascii()
            && word.starts_with(char::is_uppercase)
            && word.chars().nth(1).is_some_and(char::is_lowercase);
    word.graphemes(true).nth(if doubled { 2 } else { 1 }).is_none()
}

fn is_arabic(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{6FF}')
}

/// Does text begin with a short token and a full stop, or with a lone Arabic letter? Then it is likely the next
/// initial of a name.
fn continues_initials(text: &str) -> bool {
    let short = text.char_indices().take(8).find(|(_, c)| c.is_whitespace());
    let token = short.map_or(text, |(end, _)| &text[..end]);
    let lone = token.starts_with(is_arabic) && token.chars().nth(1).is_none();
    short.is_some() && (lone || token.ends_with(is_full_stop) && token.graphemes(true).nth(4).is_none())
}

/// Is a word of Latin letters without a vowel? No such word is written, so it was shortened: `Hrsg.`, `Ltd.`, `km.`
fn lacks_vowel(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_alphabetic() && !"aeiouyAEIOUY".contains(c))
}

/// Does a word end between two strings? Vowel signs and joiners go on with it.
fn ends_word(word: &str, rest: &str) -> bool {
    let Some(next) = rest.chars().next() else { return true };
    let pair: String = word.chars().next_back().into_iter().chain([next]).collect();
    !next.is_alphanumeric() && pair.graphemes(true).nth(1).is_some()
}

/// Full stops that also shorten words.
fn is_full_stop(c: char) -> bool {
    matches!(c, '.' | '\u{FF0E}')
}

/// Marks of exclamation and question, which may stand several together.
fn is_exclamation(c: char) -> bool {
    "!?\u{61F}\u{203C}\u{203D}\u{2047}\u{2048}\u{2049}\u{FE56}\u{FE57}\u{FF01}\u{FF1F}".contains(c)
}

/// Full stops that do nothing else: Armenian, Urdu, Syriac, Indian, Burmese, Ethiopic, Khmer and Chinese ones.
fn is_end(c: char) -> bool {
    "\u{589}\u{6D4}\u{700}\u{701}\u{702}\u{964}\u{965}\u{104A}\u{104B}".contains(c)
        || "\u{1362}\u{1367}\u{1368}\u{17D4}\u{17D5}\u{3002}\u{FF61}".contains(c)
}

/// The marks that end sentences. Unicode has more, of other scripts: without them a text has fewer breaks.
fn is_mark(c: char) -> bool {
    is_full_stop(c) || is_exclamation(c) || is_end(c)
}

/// What may stand before the first word of a sentence and belongs to it.
fn precedes_word(c: char) -> bool {
    may_open(c) || opens_aside(c) || matches!(c, '\u{BF}' | '\u{A1}')
}

/// How a sentence ends, in bytes of its paragraph.
struct Ending {
    /// Where its marks begin.
    mark: usize,
    /// Where what closes behind them ends.
    end: usize,
    /// Does anything close behind them?
    closes: bool,
}

/// One paragraph. All positions are bytes of it.
struct Paragraph<'a> {
    text: &'a str,
    quotes: Quotes,
    words: &'a Words,
    bounds: Vec<usize>,
}

impl<'a> Paragraph<'a> {
    fn of(text: &'a str, words: &'a Words) -> Paragraph<'a> {
        let bounds = text.split_sentence_bound_indices().map(|(at, sentence)| at + sentence.len()).collect();
        Paragraph { text, quotes: Quotes::of(text), words, bounds }
    }

    /// The breaks inside the paragraph.
    fn inner(&self) -> Vec<Break> {
        // A paragraph that opens with a dash is speech; in it dashes, not quotation marks, part who speaks.
        if self.text.starts_with(is_dash) {
            return Vec::new();
        }
        let starts = std::iter::once(&0).chain(&self.bounds);
        let inner = self.bounds.iter().filter(|bound| **bound < self.text.len());
        starts.zip(inner).filter_map(|(start, bound)| self.break_at(*start, *bound)).collect()
    }

    fn break_at(&self, start: usize, bound: usize) -> Option<Break> {
        let before = self.text[..bound].trim_end();
        let gap = &self.text[before.len()..bound];
        // Unicode leaves an opening mark with the sentence before it where no space stands between.
        let next = if gap.is_empty() { self.before_openings(bound) } else { bound };
        let ending = self.ending(start, next - gap.len())?;
        let mark = self.text[ending.mark..].chars().next()?;
        let parted = match gap.chars().next() {
            None => !self.words.spaced && is_wide(mark),
            Some(space) => !matches!(space, '\u{A0}' | '\u{2007}' | '\u{202F}'),
        };
        let rest = &self.text[next..];
        let good = parted
            && !ending.closes
            && self.quotes.closed_at(ending.end)
            && begins_well(rest, mark)
            && !self.goes_on(&ending, rest);
        good.then(|| Break {
            end: ending.end,
            next,
            paragraph: false,
            guarded: self.words.points_back(rest),
            soft: self.words.leans(rest),
        })
    }

    /// Does the sentence that seems to end rather go on with `rest`?
    fn goes_on(&self, ending: &Ending, rest: &str) -> bool {
        let marks = &self.text[ending.mark..ending.end];
        let name = marks.starts_with(is_exclamation) && self.words.is_inside(&self.text[..ending.mark], marks);
        name || marks.starts_with(is_full_stop) && continues_initials(rest)
    }

    /// Where the last sentence ends, if it does and `following` can begin another.
    fn last(&self, following: &str) -> Option<usize> {
        let start = self.bounds.iter().rev().nth(1).copied().unwrap_or(0);
        let ending = self.ending(start, self.text.len())?;
        let good = self.quotes.closed_at(ending.end) && (following.is_empty() || paragraph_begins_well(following));
        good.then_some(ending.end)
    }

    fn before_openings(&self, bound: usize) -> usize {
        self.back_while(bound, |at, _| self.quotes.opens_at(at))
    }

    /// The position from which on all characters up to `end` are of a kind.
    fn back_while(&self, end: usize, is_kind: impl Fn(usize, char) -> bool) -> usize {
        let run = self.text[..end].char_indices().rev().take_while(|(at, c)| is_kind(*at, *c)).last();
        run.map_or(end, |(at, _)| at)
    }

    /// How the sentence from `start` to `end`, which has no white space behind it, ends; none if by no mark.
    fn ending(&self, start: usize, end: usize) -> Option<Ending> {
        let marks_end = self.back_while(end, |at, _| self.quotes.closes_at(at));
        let mark = self.back_while(marks_end, |_, c| is_mark(c));
        let has_words = self.text.get(start..mark)?.contains(char::is_alphabetic);
        let good = has_words && self.ends_well(mark, &self.text[mark..marks_end]);
        good.then_some(Ending { mark, end, closes: marks_end < end })
    }

    /// Do the marks from byte `mark` on end a sentence?
    fn ends_well(&self, mark: usize, marks: &str) -> bool {
        let before = &self.text[..mark];
        let (Some(last), Some(first)) = (before.chars().next_back(), marks.chars().next()) else { return false };
        let alone = marks.chars().nth(1).is_none();
        if matches!(last, '\u{2026}' | ':') || !alone && !marks.chars().all(is_exclamation) {
            return false;
        }
        if last.is_whitespace() {
            // So Hindi and French are often typed; three full stops with spaces are an ellipsis.
            return matches!(first, '\u{964}' | '\u{965}') || is_exclamation(first) && last != ' ';
        }
        match first {
            _ if self.quotes.closes_at(mark - last.len_utf8()) => true,
            // Texts whose full stops were exchanged for this mark have it behind abbreviations too.
            '\u{964}' => !self.words.is_shortened(self.words.last_word(before)),
            _ => !is_full_stop(first) || !self.words.is_taken(before),
        }
    }
}

/// Can text after a sentence that ended with `mark`, inside a paragraph, begin another?
fn begins_well(text: &str, mark: char) -> bool {
    let mut chars = text.chars().skip_while(|c| may_open(*c) || matches!(c, '\u{BF}' | '\u{A1}'));
    // An aside in brackets is on the sentence before it; a number may stand after an unknown abbreviation.
    chars.next().is_some_and(|c| can_begin(c) || c.is_numeric() && !is_full_stop(mark))
}

/// Can a paragraph that begins so begin a sentence?
fn paragraph_begins_well(text: &str) -> bool {
    let spoken = text.strip_prefix(is_dash).unwrap_or(text);
    let first = spoken.chars().find(|c| !precedes_word(*c));
    first.is_some_and(|c| can_begin(c) || c.is_numeric())
}

/// Can a sentence begin with a character? Lower case says that one goes on.
fn can_begin(c: char) -> bool {
    c.is_alphabetic() && !c.is_lowercase()
}
