//! Distractors written by a model: what is asked of it, and which of its texts are fit to stand beside a story.
//!
//! The paper's way to synthetic distractors: each fact is the seed of short passages, under four constraints and at three
//! temperatures. This module asks no model; it makes the prompts, and judges what came back. No certificate reads such
//! a text as meaning, so it is held to the rule of all text without one ([`banned`]): no actor of the stories and no
//! place or object that can be an answer. Hence the fact's object itself can never come back, and the prompts ask
//! for one of its kind.
//!
//! # What is dropped
//!
//! The first of these reasons that holds in a language, in this order:
//!
//! | reason | rule |
//! |---|---|
//! | missing | no output under the key |
//! | empty | nothing but white space and characters that nobody sees |
//! | damaged | signs of a wrong encoding |
//! | talks about the task | a refusal or a word to the reader, by the phrases of `written.toml` |
//! | markup | a list, a heading, a fence, emphasis, brackets: all that is not running text |
//! | wrong script | fewer than nine letters in ten are of the language's script |
//! | wrong language | by its function words; Latin scripts only |
//! | unfinished | does not end with the end of a sentence |
//! | too short, too long | fewer than two sentences, more than eight, or more than 1500 characters |
//! | names an actor, a place or an object of the stories | as written, whatever its case, also inside a word |
//! | duplicate, near-duplicate | of a passage of an earlier key that is kept, in the same language |
//!
//! A key is kept in all languages or in none: where one drops it, it is dropped elsewhere for that reason.

use super::distractors::holds;
use super::duplicates::Near;
use crate::error::{Error, Result};
use crate::language::breaks::breaks;
use crate::language::{Language, Message, PATTERN_COUNT, Pack, normalize};
use crate::source::clean;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

pub use super::distractors::banned;

/// The temperatures at which each prompt is sent, in thousandths.
pub const TEMPERATURES: [u32; 3] = [0, 500, 1000];

/// Sentences of a passage, as found by their breaks; three to six are asked for, and a doubtful break is no break.
const SENTENCES: std::ops::RangeInclusive<usize> = 2..=8;

/// Characters of the longest passage.
const LONGEST: usize = 1500;

/// Of a thousand letters, how many must be of the language's script. Passages of news with many foreign names come near it.
const OF_SCRIPT: usize = 900;

/// Of a hundred words, how many must be the language's function words. Of 253 passages of news in each language, the
/// poorest has 25, and none has more than 12 of another Latin-script language.
const FUNCTION_WORDS: usize = 15;

/// What a passage takes over from its fact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// What is done, once, by another and to another thing.
    SameAction,
    /// The kind of thing or place, with which something else is done.
    SameObject,
    /// What is done, again and again, with nothing said of who did it and to what in the fact.
    BareAction,
    /// The style alone.
    Unconstrained,
}

impl Constraint {
    /// All four, in the paper's order.
    pub const ALL: [Constraint; 4] =
        [Constraint::SameAction, Constraint::SameObject, Constraint::BareAction, Constraint::Unconstrained];

    /// The word for it in a key.
    pub fn word(self) -> &'static str {
        match self {
            Constraint::SameAction => "action",
            Constraint::SameObject => "object",
            Constraint::BareAction => "bare",
            Constraint::Unconstrained => "free",
        }
    }

    fn wish(self) -> &'static str {
        match self {
            Constraint::SameAction => {
                "One sentence of the passage tells of the same action as the sentence above, but somebody else acts, and the \
                 thing or the place is another one. The other sentences tell of other actions."
            }
            Constraint::SameObject => {
                "The passage is about one thing or place of the same kind as the one in the sentence above, but not about \
                 that one, and nobody does with it what is done there."
            }
            Constraint::BareAction => {
                "Every sentence of the passage tells of the kind of action that the sentence above tells of, each time by \
                 somebody else and with another thing or place. Nothing of who acts above, and on what, comes back."
            }
            Constraint::Unconstrained => {
                "What happens in the passage is up to you; it need not have anything in common with the sentence above."
            }
        }
    }
}

/// What a model is asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Prompt {
    /// `w<fact number>-<constraint>-<temperature>`, the same in every language.
    pub key: String,
    /// The whole text.
    pub prompt: String,
    /// In thousandths.
    pub temperature: u32,
}

/// The prompts of one constraint: each fact at each temperature.
///
/// `facts` are sentences, in English or in the target language, in an order that all languages share; `language` is
/// the target language's English name; `avoid` are names and words that must not be used, as printed.
pub fn prompts(facts: &[String], language: &str, constraint: Constraint, avoid: &[String]) -> Vec<Prompt> {
    let prompt = |fact: &str| {
        let mut text = format!(
            "Here is one sentence of a simple story:\n\n{fact}\n\nWrite a short passage in {language}: three to six sentences \
             in a single paragraph, as plain in style, grammar and tone as this sentence, about other people and other \
             things. {}\n",
            constraint.wish()
        );
        if !avoid.is_empty() {
            text += &format!("\nNone of these names and words may be used, in any form: {}.\n", avoid.join(", "));
        }
        text += "\nNo title, no list, no quotation marks around the passage, no line breaks. \
                 Reply with nothing but the passage.";
        text
    };
    let of_fact = |(n, fact): (usize, &String)| {
        let text = prompt(fact);
        TEMPERATURES.map(|temperature| Prompt {
            key: format!("w{n:05}-{}-{temperature}", constraint.word()),
            prompt: text.clone(),
            temperature,
        })
    };
    facts.iter().enumerate().flat_map(of_fact).collect()
}

/// One language's part of what came back.
pub struct Side<'a> {
    /// The language's pack.
    pub pack: &'a Pack,
    /// Names and candidate answers that no passage may hold, lower-case: [`banned`], unless there is a reason for others.
    pub banned: Vec<String>,
    /// The model's outputs by key.
    pub outputs: &'a BTreeMap<String, String>,
}

/// What became of one output.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The prompt's key.
    pub key: String,
    /// The language.
    pub language: Language,
    /// Why it is dropped, in words; none if it is kept.
    pub reason: Option<String>,
}

/// The passages that are fit, and the others' reasons.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Written {
    /// By key, in all languages: one line each, without a line end.
    pub kept: BTreeMap<String, BTreeMap<Language, String>>,
    /// How many outputs of a language are dropped, by reason.
    pub dropped: BTreeMap<Language, BTreeMap<String, u64>>,
    /// One for each key and language, by key.
    pub verdicts: Vec<Verdict>,
}

/// A passage, or why there is none.
type Outcome = std::result::Result<String, &'static str>;

const MISSING: &str = "missing";
const DUPLICATE: &str = "duplicate";
const NEAR_DUPLICATE: &str = "near-duplicate";

/// Judges the outputs of all languages together.
pub fn filter(sides: &BTreeMap<Language, Side<'_>>) -> Result<Written> {
    let judges: BTreeMap<Language, Judge<'_>> = judges(sides)?;
    let keys: BTreeSet<&String> = sides.values().flat_map(|side| side.outputs.keys()).collect();
    let keys: Vec<&String> = keys.into_iter().collect();
    let judge = |key: &&String| -> Vec<Outcome> {
        sides
            .iter()
            .map(|(language, side)| side.outputs.get(*key).ok_or(MISSING).and_then(|text| judges[language].judge(text)))
            .collect()
    };
    let mut judged: Vec<Vec<Outcome>> = keys.par_iter().map(judge).collect();
    drop_repeats(&mut judged);
    let mut written = Written::default();
    for (key, outcomes) in keys.into_iter().zip(judged) {
        let languages: Vec<Language> = sides.keys().copied().collect();
        let first =
            languages.iter().zip(&outcomes).find_map(|(l, outcome)| Some((*l, outcome.as_ref().err().copied()?)));
        for (language, outcome) in languages.into_iter().zip(outcomes) {
            let reason = match (outcome, first) {
                (Err(reason), _) => Some(reason.to_owned()),
                (Ok(_), Some((other, reason))) => Some(format!("dropped in {other}: {reason}")),
                (Ok(text), None) => {
                    written.kept.entry(key.clone()).or_default().insert(language, text);
                    None
                }
            };
            if let Some(reason) = &reason {
                *written.dropped.entry(language).or_default().entry(reason.clone()).or_default() += 1;
            }
            written.verdicts.push(Verdict { key: key.clone(), language, reason });
        }
    }
    Ok(written)
}

/// Drops, in the order of keys, what repeats a passage that is kept. Only keys that are sound in all languages
/// count, so that no passage is dropped for the sake of one that goes too.
fn drop_repeats(judged: &mut [Vec<Outcome>]) {
    let sound: Vec<usize> = (0..judged.len()).filter(|n| judged[*n].iter().all(Outcome::is_ok)).collect();
    let Some(first) = sound.first() else { return };
    let sides = judged[*first].len();
    let text = |judged: &[Vec<Outcome>], n: usize, side: usize| -> String {
        judged[sound[n]][side].clone().unwrap_or_default()
    };
    let texts: Vec<Vec<String>> =
        (0..sides).map(|side| (0..sound.len()).map(|n| text(judged, n, side)).collect()).collect();
    let near: Vec<Vec<Vec<u32>>> = texts
        .iter()
        .map(|texts| {
            let index = Near::new(texts.iter().map(String::as_str));
            texts.par_iter().map(|text| index.of(text)).collect()
        })
        .collect();
    let mut kept = vec![false; sound.len()];
    for n in 0..sound.len() {
        let mut fresh = true;
        for side in 0..sides {
            let mut earlier = near[side][n].iter().map(|m| *m as usize).filter(|m| *m < n && kept[*m]).peekable();
            if earlier.peek().is_none() {
                continue;
            }
            let same = earlier.any(|m| texts[side][m] == texts[side][n]);
            judged[sound[n]][side] = Err(if same { DUPLICATE } else { NEAR_DUPLICATE });
            fresh = false;
        }
        kept[n] = fresh;
    }
}

/// What one language's outputs are held to.
struct Judge<'a> {
    pack: &'a Pack,
    banned: &'a [String],
    script: Script,
    /// None where the script alone tells the language.
    words: Option<BTreeSet<String>>,
    /// The function words of the other languages of this script.
    others: Vec<BTreeSet<String>>,
    opens: Vec<String>,
    tells: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrases {
    opens: Vec<String>,
    holds: Vec<String>,
}

fn judges<'a>(sides: &'a BTreeMap<Language, Side<'_>>) -> Result<BTreeMap<Language, Judge<'a>>> {
    let phrases: BTreeMap<String, Phrases> = toml::from_str(include_str!("written.toml"))
        .map_err(|e| Error::new(e.to_string()).at("embedded written.toml"))?;
    let latin = |pack: &Pack| Script::of_pack(pack) == Script::Latin;
    let words: BTreeMap<Language, BTreeSet<String>> =
        sides.iter().filter(|(_, side)| latin(side.pack)).map(|(l, side)| (*l, function_words(side.pack))).collect();
    let judge = |(language, side): (&Language, &'a Side<'_>)| {
        let own = [side.pack.code(), "en"];
        let all = |list: fn(&Phrases) -> &Vec<String>| -> Vec<String> {
            let mut all: Vec<String> =
                own.iter().filter_map(|code| phrases.get(*code)).flat_map(list).map(|text| normalize(text)).collect();
            all.sort();
            all.dedup();
            all
        };
        let others = words.iter().filter(|(other, _)| *other != language && words.contains_key(language));
        let judge = Judge {
            pack: side.pack,
            banned: &side.banned,
            script: Script::of_pack(side.pack),
            words: words.get(language).cloned(),
            others: others.map(|(_, words)| words.clone()).collect(),
            opens: all(|phrases| &phrases.opens),
            tells: all(|phrases| &phrases.holds),
        };
        (*language, judge)
    };
    Ok(sides.iter().map(judge).collect())
}

impl Judge<'_> {
    /// The passage of an output, or why it is none.
    fn judge(&self, output: &str) -> Outcome {
        if clean::suspicious(output).is_some() {
            return Err("damaged");
        }
        let folded = fold(output, self.pack.writes_spaces());
        let text = unquote(&folded);
        if text.is_empty() {
            return Err("empty");
        }
        let plain = normalize(text);
        if self.opens.iter().any(|phrase| stands_at(&plain, phrase, 0))
            || self.tells.iter().any(|p| stands_in(&plain, p))
        {
            return Err("talks about the task");
        }
        if has_markup(output) {
            return Err("markup");
        }
        if !self.is_of_script(text) {
            return Err("wrong script");
        }
        if self.words.as_ref().is_some_and(|own| !self.speaks(text, own)) {
            return Err("wrong language");
        }
        let ends = breaks(text, &self.pack.marks());
        if ends.last().is_none_or(|last| last.end != text.len()) {
            return Err("unfinished");
        }
        if ends.len() < *SENTENCES.start() {
            return Err("too short");
        }
        if ends.len() > *SENTENCES.end() || text.chars().count() > LONGEST {
            return Err("too long");
        }
        if holds(text, self.banned) {
            return Err("names an actor, a place or an object of the stories");
        }
        Ok(text.to_owned())
    }

    /// Are its letters those of the language? A foreign word among Chinese characters counts once, since each of them is
    /// about a word too.
    fn is_of_script(&self, text: &str) -> bool {
        let (mut own, mut all, mut in_foreign) = (0, 0, false);
        for c in text.chars() {
            let foreign = c.is_alphabetic() && Script::of(c) != self.script;
            own += usize::from(c.is_alphabetic() && !foreign);
            all += usize::from(c.is_alphabetic() && !(in_foreign && foreign && self.script == Script::Han));
            in_foreign = foreign;
        }
        own * 1000 >= all * OF_SCRIPT
    }

    /// Enough of the language's function words, and more than of any other's?
    fn speaks(&self, text: &str, own: &BTreeSet<String>) -> bool {
        let all = words(text);
        let count = |of: &BTreeSet<String>| all.iter().filter(|word| of.contains(*word)).count();
        let mine = count(own);
        mine * 100 >= all.len() * FUNCTION_WORDS && self.others.iter().all(|other| count(other) < mine)
    }
}

/// One line: each line cleaned, joined as the language joins sentences, no two spaces in a row.
fn fold(text: &str, spaced: bool) -> String {
    let lines: Vec<String> = text.lines().map(clean::clean).filter(|line| !line.is_empty()).collect();
    let joined = lines.join(if spaced { " " } else { "" });
    joined.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

const QUOTES: [(char, char); 7] = [
    ('"', '"'),
    ('\'', '\''),
    ('\u{201c}', '\u{201d}'),
    ('\u{201e}', '\u{201c}'),
    ('\u{2018}', '\u{2019}'),
    ('\u{ab}', '\u{bb}'),
    ('\u{300c}', '\u{300d}'),
];

/// Without quotation marks around the whole. A text that begins and ends with what somebody says keeps its own.
fn unquote(text: &str) -> &str {
    let inside = |(open, close): (char, char)| {
        let inside = text.strip_prefix(open)?.strip_suffix(close)?;
        (!inside.contains([open, close])).then(|| inside.trim())
    };
    QUOTES.into_iter().find_map(inside).unwrap_or(text)
}

/// Is there anything but running text? Asked of the lines as they came.
fn has_markup(text: &str) -> bool {
    let numbered = |line: &str| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.len() && rest.starts_with(['.', ')', '\u{3001}', '\u{ff0e}', '\u{ff09}'])
    };
    let marked = |line: &str| line.starts_with(['#', '\u{2022}', '*']) || line.starts_with("- ") || numbered(line);
    text.contains(['`', '<', '>', '{', '}', '[', ']', '|'])
        || text.contains("**")
        || text.contains("__")
        || text.lines().any(|line| marked(line.trim()))
}

/// Does a phrase stand here as whole words? Both are normalised.
fn stands_at(text: &str, phrase: &str, at: usize) -> bool {
    let Some(rest) = text[at..].strip_prefix(phrase) else { return false };
    let apart = |a: Option<char>, b: Option<char>| match (a, b) {
        (Some(a), Some(b)) => !(a.is_alphanumeric() && b.is_alphanumeric()) || Script::of(a) == Script::Han,
        _ => true,
    };
    apart(text[..at].chars().next_back(), phrase.chars().next())
        && apart(phrase.chars().next_back(), rest.chars().next())
}

fn stands_in(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| stands_at(text, phrase, at))
}

/// The words of a text, without marks at their edges, lower-case.
fn words(text: &str) -> Vec<String> {
    let word = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    text.split_whitespace().map(word).filter(|word| !word.is_empty()).collect()
}

/// The words by which a language is told: those of its instructions, of the beginnings of its sentences, and
/// what its story sentences say whoever and whatever they name.
fn function_words(pack: &Pack) -> BTreeSet<String> {
    let guide = pack.instructions();
    let texts = [
        &guide.opening,
        &guide.order,
        &guide.place,
        &guide.giving,
        &guide.yes_no,
        &guide.chain,
        &guide.relations,
        &guide.count,
        &guide.list,
        &guide.maybe,
    ];
    let marks = pack.marks();
    let mut all: BTreeSet<String> =
        texts.into_iter().chain(marks.openings).chain(marks.soft).flat_map(|text| words(text)).collect();
    for pattern in 0..PATTERN_COUNT as u8 {
        let said =
            |slots| -> BTreeSet<String> { words(&pack.sentence(Message { pattern, slots })).into_iter().collect() };
        all.extend(said([0, 1, 0, 0, 1]).intersection(&said([2, 3, 1, 2, 3])).cloned());
    }
    all
}

/// What letters look like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Arabic,
    Devanagari,
    Han,
    Other,
}

impl Script {
    fn of(c: char) -> Script {
        match c {
            'a'..='z' | 'A'..='Z' | '\u{aa}' | '\u{ba}' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => {
                Script::Latin
            }
            // Marks that stand on Latin letters where they are not composed.
            '\u{300}'..='\u{36f}' => Script::Latin,
            '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' => Script::Arabic,
            '\u{900}'..='\u{97f}' => Script::Devanagari,
            '\u{3005}' | '\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => {
                Script::Han
            }
            _ => Script::Other,
        }
    }

    /// The script of a pack: that of the letters it draws noise from.
    fn of_pack(pack: &Pack) -> Script {
        pack.noise().first().map_or(Script::Other, |c| Script::of(*c))
    }
}
