//! What is wrong with a translation, as far as that shows without knowing the language.
//!
//! Rules are strict: what they pass over a reader of the language still has to judge ([`review`](super::review)), and
//! what they find may be asked anew. Placeholders stand for names and belong to no language.

use super::languages::{self, Known};
use super::placeholder::{self, without};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use unicode_script::{Script, UnicodeScript};

/// A fault of a translation. Its sentence is its `Display`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// There is no text.
    Empty,
    /// The placeholders are not those of the source.
    Placeholder(placeholder::Fault),
    /// Words, or the whole, as the source has them.
    Leftover(String),
    /// Letters of a script that the language is not written in.
    Script(String),
    /// Much longer or shorter than the source: characters of both.
    Length {
        /// Of the source, without placeholders and white space.
        source: usize,
        /// Of the translation.
        target: usize,
    },
    /// Another source has the same translation.
    Collision(String),
    /// Characters or marks that no writer puts there.
    Debris(String),
    /// The source ends with a mark; the translation does not, or a question became a statement, or the other way round.
    FinalMark(String),
}

impl Fault {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::Empty => "empty",
            Fault::Placeholder(fault) => fault.name(),
            Fault::Leftover(_) => "leftover",
            Fault::Script(_) => "script",
            Fault::Length { .. } => "length",
            Fault::Collision(_) => "collision",
            Fault::Debris(_) => "debris",
            Fault::FinalMark(_) => "final_mark",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Empty => write!(f, "the translation is empty"),
            Fault::Placeholder(fault) => write!(f, "{fault}"),
            Fault::Leftover(text) => write!(f, "{text:?} was not translated"),
            Fault::Script(text) => write!(f, "{text:?} is not in the language's script"),
            Fault::Length { source, target } => {
                write!(f, "{target} characters are too {} for {source}", if target < source { "few" } else { "many" })
            }
            Fault::Collision(other) => write!(f, "{other:?} has the same translation"),
            Fault::Debris(text) => write!(f, "it holds {text}"),
            Fault::FinalMark(text) => write!(f, "{text}"),
        }
    }
}

/// Faults of one translation from a language into another. Without a known language, its script is not looked at.
pub fn check(from: &str, to: &str, source: &str, target: &str) -> Vec<Fault> {
    if target.trim().is_empty() {
        return vec![Fault::Empty];
    }
    let (from, to) = (languages::find(from), languages::find(to));
    let mut faults: Vec<Fault> = placeholder::check(source, target).into_iter().map(Fault::Placeholder).collect();
    // A line end keeps words on both sides of a name apart.
    let (bare_source, bare) = (without(source, "\n"), without(target, "\n"));
    faults.extend(leftover(&bare_source, &bare, to));
    faults.extend(script(&bare, to));
    faults.extend(length(&bare_source, &bare, from, to));
    faults.extend(debris(source, target).into_iter().map(Fault::Debris));
    faults.extend(final_mark(source, target, to));
    faults
}

/// Faults of all translations of a language, each with its place in the list; collisions too.
pub fn check_all(from: &str, to: &str, pairs: &[(&str, &str)]) -> Vec<(usize, Fault)> {
    let mut sources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (source, target) in pairs {
        sources.entry(target.trim()).or_default().insert(source.trim());
    }
    let mut faults = Vec::new();
    for (n, (source, target)) in pairs.iter().enumerate() {
        faults.extend(check(from, to, source, target).into_iter().map(|fault| (n, fault)));
        if target.trim().is_empty() {
            continue;
        }
        let mut others = sources[target.trim()].iter().filter(|other| **other != source.trim());
        if let Some(other) = others.next() {
            faults.push((n, Fault::Collision((*other).to_owned())));
        }
    }
    faults
}

/// A run of so many words of so many letters is no chance.
const RUN: usize = 2;
const LETTERS: usize = 4;

/// Words in lower case; an empty one where something else than a space stands between two.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (n, stretch) in text.split(|c: char| !c.is_alphanumeric() && c != ' ' && c != '\'').enumerate() {
        if n > 0 {
            words.push(String::new());
        }
        words.extend(stretch.split_whitespace().map(str::to_lowercase));
    }
    words
}

fn leftover(source: &str, target: &str, to: Option<&Known>) -> Option<Fault> {
    let lettered = source.chars().any(char::is_alphabetic);
    if lettered && source.split_whitespace().eq(target.split_whitespace()) {
        return Some(Fault::Leftover(target.trim().to_owned()));
    }
    if to.is_some_and(|to| !to.scripts.contains(&Script::Latin)) {
        let latin = run_of(target, |c| c.script() == Script::Latin)?;
        return Some(Fault::Leftover(latin));
    }
    let (source, target) = (words(source), words(target));
    let long = |run: &&[String]| run.iter().all(|word| word.chars().count() >= LETTERS);
    let known: BTreeSet<&[String]> = source.windows(RUN).filter(long).collect();
    let found = target.windows(RUN).find(|run| known.contains(run))?;
    Some(Fault::Leftover(found.join(" ")))
}

/// The first run of letters that are so.
fn run_of(text: &str, is: impl Fn(char) -> bool) -> Option<String> {
    let start = text.find(|c: char| c.is_alphabetic() && is(c))?;
    Some(text[start..].chars().take_while(|c| c.is_alphabetic() && is(*c)).collect())
}

fn script(target: &str, to: Option<&Known>) -> Option<Fault> {
    let scripts = to?.scripts;
    let latin = scripts.contains(&Script::Latin);
    let foreign = |c: char| match c.script() {
        Script::Common | Script::Inherited => false,
        // Said to be left over already.
        Script::Latin if !latin => false,
        script => !scripts.contains(&script),
    };
    run_of(target, foreign).map(Fault::Script)
}

/// Texts of fewer characters, in English's measure, may differ more.
const SHORT: usize = 20;
/// How many times longer or shorter than expected a text may be.
const TIMES: usize = 3;
const TIMES_SHORT: usize = 6;

fn length(source: &str, target: &str, from: Option<&Known>, to: Option<&Known>) -> Option<Fault> {
    let count = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let per_thousand = |known: Option<&Known>| known.map_or(1000, |known| known.length as usize);
    let (source, target) = (count(source), count(target));
    // Both in English's measure.
    let (s, t) = (source * 1000 / per_thousand(from), target * 1000 / per_thousand(to));
    let times = if s < SHORT { TIMES_SHORT } else { TIMES };
    // A word or two of a very short text decide nothing.
    let fits = t <= s * times + 3 && s <= t * times + 3;
    if source == 0 || fits { None } else { Some(Fault::Length { source, target }) }
}

/// Marks that are never doubled, whatever their width, by kind.
const MARKS: [&str; 4] =
    ["?\u{ff1f}\u{61f}", "!\u{ff01}", ",\u{ff0c}\u{3001}\u{60c}", ".\u{3002}\u{ff0e}\u{964}\u{6d4}"];

/// Invisible characters that no text needs: joiners between letters are others.
fn is_debris(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffd}')
        || c.is_control() && c != '\n' && c != '\t'
}

fn debris(source: &str, target: &str) -> Vec<String> {
    let mut found = Vec::new();
    let strange: BTreeSet<char> = target.chars().filter(|c| is_debris(*c) && !source.contains(*c)).collect();
    found.extend(strange.into_iter().map(|c| format!("the invisible or broken character U+{:04X}", u32::from(c))));
    for marks in MARKS {
        if let Some(run) = doubled(target, marks)
            && doubled(source, marks).is_none()
        {
            found.push(format!("the marks {run:?}"));
        }
    }
    for entity in ["&amp;", "&quot;", "&lt;", "&gt;", "&nbsp;", "&#"] {
        if target.contains(entity) && !source.contains(entity) {
            found.push(format!("the entity {entity}"));
        }
    }
    found
}

/// Two marks of a kind together. Three or more full stops are an ellipsis.
fn doubled(text: &str, marks: &str) -> Option<String> {
    let mut rest = text;
    while let Some(start) = rest.find(|c| marks.contains(c)) {
        let run: String = rest[start..].chars().take_while(|c| marks.contains(*c)).collect();
        let ellipsis = run.len() >= 3 && run.bytes().all(|b| b == b'.');
        if run.chars().count() > 1 && !ellipsis {
            return Some(run);
        }
        rest = &rest[start + run.len()..];
    }
    None
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Question,
    /// A full stop, an exclamation mark: languages differ.
    Stop,
    None,
}

/// The mark at the end, behind quotation marks and brackets.
fn mark(text: &str) -> Mark {
    let closing = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\''
                    | ')'
                    | '\u{201c}'
                    | '\u{201d}'
                    | '\u{2019}'
                    | '\u{bb}'
                    | '\u{ab}'
                    | '\u{300d}'
                    | '\u{300f}'
                    | '\u{ff09}'
                    | '\u{300b}'
            )
    };
    match text.trim_end_matches(closing).chars().next_back() {
        // The Greek one looks like a semicolon.
        Some('?' | '\u{ff1f}' | '\u{61f}' | '\u{37e}' | '\u{55e}' | '\u{1367}') => Mark::Question,
        Some(
            '.' | '!' | '\u{2026}' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' | '\u{ff01}' | '\u{964}' | '\u{965}'
            | '\u{6d4}' | '\u{589}' | '\u{1362}' | '\u{104b}' | '\u{17d4}' | '\u{17d5}' | '\u{55c}',
        ) => Mark::Stop,
        _ => Mark::None,
    }
}

fn final_mark(source: &str, target: &str, to: Option<&Known>) -> Option<Fault> {
    let (asked, mut got) = (mark(source), mark(target));
    if to.is_some_and(|to| !to.ends) {
        return None;
    }
    // Greek asks with a semicolon, Armenian with a mark inside the word.
    let asks = match to.map(|to| to.code) {
        Some("el") => target.trim_end().ends_with(';'),
        Some("hy") => target.contains('\u{55e}'),
        _ => false,
    };
    if asks {
        got = Mark::Question;
    }
    let text = match (asked, got) {
        (Mark::Question, Mark::None) | (Mark::Stop, Mark::None) => "the mark at the end is missing",
        (Mark::Question, Mark::Stop) => "the question mark at the end is another mark",
        (Mark::Stop, Mark::Question) => "it ends as a question",
        _ => return None,
    };
    Some(Fault::FinalMark(text.to_owned()))
}
