//! Words in a normalised text: where they stand, and what parts its clauses.

use crate::error::{Error, Result};
use crate::language::{class_number, edge};
use aho_corasick::{AhoCorasick, MatchKind};

/// A word that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hit {
    /// In bytes.
    pub start: usize,
    pub end: usize,
    /// What the word means.
    pub class: i32,
    /// Which of the forms.
    pub form: u32,
}

/// What may join a word: nothing, what stands before it, or that and endings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clitics {
    Bare,
    Before,
    Both,
}

/// Forms to look for, each with what it means. Of equal forms the first counts.
pub(super) struct Forms {
    automaton: Option<AhoCorasick>,
    forms: Vec<(String, i32, Clitics)>,
}

impl Forms {
    pub fn new(forms: Vec<(String, i32, Clitics)>) -> Result<Forms> {
        let automaton = match forms.is_empty() {
            true => None,
            false => {
                let texts = forms.iter().map(|(form, ..)| form.as_str());
                let built = AhoCorasick::builder().match_kind(MatchKind::Standard).build(texts);
                Some(built.map_err(|e| Error::new(format!("too many words to look for: {e}")))?)
            }
        };
        Ok(Forms { automaton, forms })
    }

    /// All of one meaning.
    pub fn bare(words: &[String], class: i32, clitics: Clitics) -> Result<Forms> {
        Forms::new(words.iter().map(|w| (w.clone(), class, clitics)).collect())
    }

    /// The text of a form.
    pub fn form(&self, hit: &Hit) -> &str {
        &self.forms[hit.form as usize].0
    }

    /// Every place of every form, as whole words.
    pub fn find(&self, text: &str, proclitics: &[String], endings: &[String]) -> Vec<Hit> {
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let mut hits = Vec::new();
        for found in automaton.find_overlapping_iter(text) {
            let (start, end, form) = (found.start(), found.end(), found.pattern().as_usize());
            let (_, class, clitics) = self.forms[form];
            let before = if clitics == Clitics::Bare { &[] } else { proclitics };
            let behind = if clitics == Clitics::Both { endings } else { &[] };
            if begins(text, start, before) && ends(text, end, behind) {
                hits.push(Hit { start, end, class, form: form as u32 });
            }
        }
        hits
    }
}

/// Does a word begin here, or behind a proclitic?
pub(super) fn begins(text: &str, at: usize, proclitics: &[String]) -> bool {
    let behind = |p: &String| text[..at].ends_with(p.as_str()) && edge(text, at - p.len());
    edge(text, at) || proclitics.iter().any(behind)
}

/// Does a word end here, or before an ending?
pub(super) fn ends(text: &str, at: usize, endings: &[String]) -> bool {
    let before = |e: &String| text[at..].starts_with(e.as_str()) && edge(text, at + e.len());
    edge(text, at) || endings.iter().any(before)
}

/// Every place of one form, in bytes.
pub(super) fn places<'a>(text: &'a str, form: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(form)?;
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
        Some((at, at + form.len()))
    })
    .filter(move |_| !form.is_empty())
}

/// Is a form there as a whole word?
pub(super) fn holds(text: &str, form: &str, proclitics: &[String], endings: &[String]) -> bool {
    places(text, form).any(|(start, end)| begins(text, start, proclitics) && ends(text, end, endings))
}

/// From left to right the longest of the hits that overlap; of equal ones the first form.
pub(super) fn longest(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end), hit.form));
    let mut end = 0;
    hits.retain(|hit| {
        let keeps = hit.start >= end;
        if keeps {
            end = hit.end;
        }
        keeps
    });
    hits
}

/// Is it part of a word?
pub(super) fn in_word(c: char) -> bool {
    class_number(c) != 0
}

pub(super) fn is_ideograph(c: char) -> bool {
    class_number(c) == 2
}

/// Does the character that begins at this byte part clauses?
pub(super) fn bounds(text: &str, at: usize) -> bool {
    let c = text[at..].chars().next().unwrap_or(' ');
    let before = text[..at].chars().next_back();
    let after = text[at + c.len_utf8()..].chars().next();
    let both = |is: fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    match c {
        '.' | ',' => !both(|c| c.is_ascii_digit()),
        '\'' => !both(|c| class_number(c) >= 10),
        ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '/' | '|' | '=' | '<' | '>' => true,
        '\u{3002}' | '\u{3001}' | '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{964}' | '\u{965}' | '\u{6d4}'
        | '\u{2026}' | '\u{2192}' => true,
        '-' => {
            let open = |c: Option<char>| c.is_none_or(|c| c == ' ' || is_ideograph(c));
            open(before) || open(after)
        }
        _ => false,
    }
}

/// A text without the marks that part its clauses.
pub(super) fn bare(text: &str) -> String {
    let plain: String = text.char_indices().map(|(at, c)| if bounds(text, at) { ' ' } else { c }).collect();
    let words: Vec<&str> = plain.split(' ').filter(|w| !w.is_empty()).collect();
    words.join(" ")
}
