//! Names swapped for tokens before a text is translated, and put back after: a service would translate or bend them.
//!
//! A token is `[[F1]]` for a woman and `[[M2]]` for a man; the number is the name's place in its list, from 1.

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;

/// What a token says of a person, for the sake of agreement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Gender {
    /// `F`
    Woman,
    /// `M`
    Man,
}

/// A name that a token stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Whose it is.
    pub gender: Gender,
}

/// A token. Its text is its `Display`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Token {
    /// Whose name it stands for.
    pub gender: Gender,
    /// Place in the list of names, from 1.
    pub number: u32,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.gender {
            Gender::Woman => 'F',
            Gender::Man => 'M',
        };
        write!(f, "[[{letter}{}]]", self.number)
    }
}

/// What is wrong with a translation's tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A token of the source is not there, in whatever form, or less often.
    Missing(Token),
    /// A token is there more often than in the source, or is none of the source's.
    Doubled(Token),
    /// Something that was a token and is none any more, as it stands there.
    Changed(String),
}

impl Fault {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::Missing(_) => "placeholder_missing",
            Fault::Doubled(_) => "placeholder_doubled",
            Fault::Changed(_) => "placeholder_changed",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Missing(token) => write!(f, "the placeholder {token} is missing"),
            Fault::Doubled(token) => write!(f, "the placeholder {token} is there too often"),
            Fault::Changed(found) => write!(f, "the placeholder {found:?} is not as it was"),
        }
    }
}

/// A stretch of a text that is a token, or looks like one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The token that is spelt here exactly, or but for spaces and full-width characters.
    token: Option<Token>,
    /// The token that it probably was.
    guess: Option<Token>,
    exact: bool,
}

/// Nothing longer, in characters, is taken for a token.
const LOOK: usize = 24;

fn is_open(c: char) -> bool {
    matches!(c, '[' | '\u{ff3b}' | '\u{3010}')
}

fn is_close(c: char) -> bool {
    matches!(c, ']' | '\u{ff3d}' | '\u{3011}')
}

/// The ASCII form of a full-width character.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

/// Reads what looks like a token at the beginning of a text, with spaces anywhere: two brackets around letters, if any, and a
/// number; or one bracket around what would be a token between two.
fn look(text: &str) -> Option<Span> {
    let dense = text.char_indices().take(LOOK).filter(|(_, c)| !c.is_whitespace());
    let chars: Vec<(usize, char)> = dense.map(|(at, c)| (at + c.len_utf8(), c)).collect();
    let run = |from: usize, most: usize, is: &dyn Fn(char) -> bool| {
        chars.iter().skip(from).take(most).take_while(|(_, c)| is(*c)).count()
    };
    let opened = run(0, 2, &is_open);
    let inner = run(opened, 8, &|c| !is_open(c) && !is_close(c));
    let closed = run(opened + inner, 2, &is_close);
    if opened == 0 || closed == 0 {
        return None;
    }
    let inside: String = chars[opened..opened + inner].iter().map(|(_, c)| narrow(*c)).collect();
    let number = inside.trim_start_matches(char::is_alphabetic);
    if number.is_empty() || !number.chars().all(char::is_numeric) {
        return None;
    }
    let twice = opened == 2 && closed == 2;
    let guess = parse(&inside.to_ascii_uppercase());
    if !twice && guess.is_none() {
        return None;
    }
    let end = chars[opened + inner + closed - 1].0;
    let token = parse(&inside).filter(|_| twice);
    let exact = token.is_some_and(|token| token.to_string() == text[..end]);
    Some(Span { start: 0, end, token, guess, exact })
}

/// `F1` or `M12`; no sign, no zero at the front.
fn parse(inside: &str) -> Option<Token> {
    let (gender, number) = match inside.strip_prefix('F') {
        Some(number) => (Gender::Woman, number),
        None => (Gender::Man, inside.strip_prefix('M')?),
    };
    let plain = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
    let number = number.parse().ok().filter(|_| plain)?;
    Some(Token { gender, number })
}

/// All stretches that are tokens or look like some.
pub(super) fn spans(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find(is_open).map(|n| at + n) {
        match look(&text[open..]) {
            Some(span) => {
                at = open + span.end;
                spans.push(Span { start: open, end: at, ..span });
            }
            None => at = open + text[open..].chars().next().map_or(1, char::len_utf8),
        }
    }
    spans
}

/// The tokens of a text, in their order.
pub fn tokens(text: &str) -> Vec<Token> {
    spans(text).iter().filter(|span| span.exact).filter_map(|span| span.token).collect()
}

/// A text with everything that is a token, or looks like one, replaced.
pub(super) fn without(text: &str, by: &str) -> String {
    let mut plain = String::new();
    let mut from = 0;
    for span in spans(text) {
        plain += &text[from..span.start];
        plain += by;
        from = span.end;
    }
    plain + &text[from..]
}

/// Puts tokens in place of names, where they stand as words of their own; of two that fit the longer.
pub fn swap(text: &str, names: &[Name]) -> String {
    let mut order: Vec<usize> = (0..names.len()).filter(|n| !names[*n].text.is_empty()).collect();
    order.sort_by_key(|n| std::cmp::Reverse(names[*n].text.len()));
    let mut swapped = String::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let free = !text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
        let fits = |n: &&usize| {
            let rest = text[at..].strip_prefix(names[**n].text.as_str());
            rest.is_some_and(|rest| !rest.chars().next().is_some_and(char::is_alphanumeric))
        };
        match order.iter().find(|n| free && fits(n)) {
            Some(n) => {
                swapped += &Token { gender: names[*n].gender, number: *n as u32 + 1 }.to_string();
                at += names[*n].text.len();
            }
            None => {
                swapped.push(next);
                at += next.len_utf8();
            }
        }
    }
    swapped
}

/// Compares the tokens of a translation with those of its source. Each fault is said once.
pub fn check(source: &str, target: &str) -> Vec<Fault> {
    let mut balance: BTreeMap<Token, i64> = BTreeMap::new();
    for token in tokens(source) {
        *balance.entry(token).or_default() -= 1;
    }
    let mut faults = Vec::new();
    // Brackets that are no tokens in the source either are the text's own.
    let own: Vec<&str> = spans(source).iter().filter(|s| !s.exact).map(|s| &source[s.start..s.end]).collect();
    for span in spans(target) {
        let found = &target[span.start..span.end];
        match span.token.filter(|_| span.exact) {
            Some(token) => *balance.entry(token).or_default() += 1,
            None if own.contains(&found) => {}
            None => {
                // It is there, if not as it was.
                if let Some(token) = span.guess.filter(|token| balance.contains_key(token)) {
                    *balance.entry(token).or_default() += 1;
                }
                let fault = Fault::Changed(found.to_owned());
                if !faults.contains(&fault) {
                    faults.push(fault);
                }
            }
        }
    }
    for (token, n) in balance {
        match n {
            ..0 => faults.push(Fault::Missing(token)),
            0 => {}
            1.. => faults.push(Fault::Doubled(token)),
        }
    }
    faults
}

/// Mends what cannot be anything else: two brackets, of whatever width, and a token of the source with spaces inside or
/// full-width characters. Case, single brackets, other letters and digits stay as they are.
pub fn repair(source: &str, target: &str) -> String {
    let known = tokens(source);
    let mut mended = String::new();
    let mut from = 0;
    for span in spans(target) {
        mended += &target[from..span.start];
        match span.token.filter(|token| known.contains(token)) {
            Some(token) => mended += &token.to_string(),
            None => mended += &target[span.start..span.end],
        }
        from = span.end;
    }
    mended + &target[from..]
}

/// Puts names back. An error if a token is none of theirs, or is not as it was.
pub fn restore(target: &str, names: &[Name]) -> Result<String> {
    let mut restored = String::new();
    let mut from = 0;
    for span in spans(target) {
        restored += &target[from..span.start];
        from = span.end;
        let Some(token) = span.token.filter(|_| span.exact) else {
            restored += &target[span.start..span.end];
            continue;
        };
        let name = names.get((token.number as usize).wrapping_sub(1)).filter(|name| name.gender == token.gender);
        let name = name.ok_or_else(|| {
            Error::new(format!("the placeholder {token} stands for none of {} names", names.len())).at(target)
        })?;
        restored += &name.text;
    }
    Ok(restored + &target[from..])
}
