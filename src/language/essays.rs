//! Running text of our own: essays drawn from patterns, a file of them a language, so that a haystack needs no download.
//!
//! A pattern is a sentence with groups of alternatives, `{a|b|c}`, of which any may stand beside any. Patterns stand under
//! themes. An essay has a theme's title and paragraphs of its sentences; no sentence is told twice in a text. No sentence
//! opens by pointing back at another, so that a needle may stand before each.

use super::{Language, Pack};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::seed::{Rng, Seed};
use rustc_hash::FxHashSet;

/// Raised when the same seed gives other essays of the same patterns.
pub const VERSION: u32 = 1;

/// Paragraphs of an essay, and sentences of a paragraph: at least, and how many more there may be.
const PARAGRAPHS: (usize, usize) = (3, 3);
const SENTENCES: (usize, usize) = (4, 3);

/// How often a pattern is drawn before its sentences count as told.
const TRIES: usize = 12;

/// Digest of the patterns of a language.
pub fn digest(language: Language) -> Digest {
    Digest::of(format!("{VERSION}\n{}", language.essays()))
}

struct Theme {
    title: &'static str,
    patterns: Vec<Vec<Part>>,
}

enum Part {
    Fixed(&'static str),
    Group(Vec<&'static str>),
}

/// A text of at least so many bytes: whole essays, the first of one seeded sequence, so that a longer text begins with a
/// shorter one. An error where the patterns have told all their sentences.
pub fn essays(language: Language, pack: &Pack, seed: &Seed, bytes: usize) -> Result<String> {
    match essays_or_all(language, pack, seed, bytes)? {
        (text, false) => Ok(text),
        (text, true) => Err(Error::new(format!("the generated essays in {language} end after {} bytes", text.len()))
            .help("shorten slots.window, allow haystack.repeat, or give other text with haystack.files")),
    }
}

/// The same; where the patterns have told all their sentences before, all of it, and true.
pub fn essays_or_all(language: Language, pack: &Pack, seed: &Seed, bytes: usize) -> Result<(String, bool)> {
    let themes = themes(language.essays())?;
    let mut rng = seed.derive("essays", language.code());
    let mut told: FxHashSet<String> = FxHashSet::default();
    let mut text = String::with_capacity(bytes + 8192);
    let space = if pack.writes_spaces() { " " } else { "" };
    let mut order: Vec<usize> = Vec::new();
    while text.len() < bytes {
        let before = told.len();
        if order.is_empty() {
            // Each theme once before any comes again.
            order = (0..themes.len()).collect();
            rng.shuffle(&mut order);
        }
        let theme = &themes[order.pop().expect("just filled")];
        let sentences = essay(theme, &mut rng, &mut told);
        if told.len() == before {
            return Ok((text, true));
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(theme.title);
        for paragraph in sentences {
            text.push_str("\n\n");
            text.push_str(&paragraph.join(space));
        }
    }
    Ok((text, false))
}

/// Paragraphs of sentences that were not told before.
fn essay(theme: &Theme, rng: &mut Rng, told: &mut FxHashSet<String>) -> Vec<Vec<String>> {
    let mut order: Vec<usize> = (0..theme.patterns.len()).collect();
    rng.shuffle(&mut order);
    let mut next = order.into_iter();
    let mut paragraphs = Vec::new();
    for _ in 0..PARAGRAPHS.0 + rng.below(PARAGRAPHS.1) {
        let mut paragraph = Vec::new();
        for _ in 0..SENTENCES.0 + rng.below(SENTENCES.1) {
            // A pattern stands in an essay once: its sentences are too much alike.
            let fresh = next.by_ref().find_map(|n| {
                let tries = (0..TRIES).map(|_| sentence(&theme.patterns[n], rng)).collect::<Vec<_>>();
                tries.into_iter().find(|sentence| !told.contains(sentence))
            });
            let Some(sentence) = fresh else { break };
            told.insert(sentence.clone());
            paragraph.push(sentence);
        }
        if !paragraph.is_empty() {
            paragraphs.push(paragraph);
        }
    }
    paragraphs
}

fn sentence(pattern: &[Part], rng: &mut Rng) -> String {
    let mut text = String::new();
    for part in pattern {
        match part {
            Part::Fixed(fixed) => text.push_str(fixed),
            Part::Group(alternatives) => text.push_str(rng.pick(alternatives)),
        }
    }
    text
}

fn themes(file: &'static str) -> Result<Vec<Theme>> {
    let mut themes: Vec<Theme> = Vec::new();
    for (n, line) in file.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let fault = |what: &str| Error::new(what.to_owned()).at(format!("essay patterns, line {}", n + 1));
        match (line.strip_prefix("# "), themes.last_mut()) {
            (Some(title), _) => themes.push(Theme { title, patterns: Vec::new() }),
            (None, Some(theme)) => theme.patterns.push(parts(line).ok_or_else(|| fault("braces do not balance"))?),
            (None, None) => return Err(fault("a pattern stands before the first theme")),
        }
    }
    Ok(themes)
}

fn parts(line: &'static str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some((fixed, more)) = rest.split_once('{') {
        let (group, behind) = more.split_once('}')?;
        if fixed.contains('}') || group.contains('{') {
            return None;
        }
        parts.push(Part::Fixed(fixed));
        parts.push(Part::Group(group.split('|').collect()));
        rest = behind;
    }
    parts.push(Part::Fixed(rest));
    (!rest.contains('}')).then_some(parts)
}
