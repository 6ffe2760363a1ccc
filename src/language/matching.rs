//! Does a passage contain an answer? Whole words, with the clitics and endings of the answer's language.
//!
//! A [`Pattern`] is one answer made ready, a [`Finder`] looks for many at once in [normalised](super::normalize()) text.
//!
//! # The rule
//!
//! A match begins where a word begins, or after a proclitic; it ends where a word ends, or before an ending that itself ends
//! the word. Proclitics and endings are the pack's (`[matching]`) where answer and passage share their
//! language. Elsewhere the answer is a foreign word in the passage, and takes only what the passage's language puts on
//! those (`endings_on_foreign`): "Einsteins" in German holds the English answer "Einstein", "Arten" does not hold "art".
//!
//! Letters of different scripts, and letters and digits, are different words; Chinese characters and kana begin and end a word each.
//! A number is matched whole: "40" is in "40th", "40%" and "40 km", and neither in "1940" nor in "40.5"; "1990" is in
//! the date "12.05.1990", since a number with two marks is no decimal one.
//!
//! An answer that breaks the rule at its own place in its needle (cut out of a compound, say) is free on that side everywhere.
//! So every answer is found in its own needle.

use super::file::Matching;
use super::normal::{in_word, joined, normalize};
use crate::error::{Error, Result};
use crate::fail;
use aho_corasick::{AhoCorasick, MatchKind};

/// What one language puts before and after its words; texts are normalised.
#[derive(Clone, Debug)]
pub struct Rules {
    language: String,
    articles: Vec<String>,
    /// As written, and normalised.
    joined_articles: Vec<(String, String)>,
    proclitics: Vec<String>,
    endings: Vec<String>,
    /// An ending of an answer, and what else may stand for it.
    changes: Vec<(String, Vec<String>)>,
    endings_on_foreign: Vec<String>,
}

impl Rules {
    /// Checks a pack's section. An error names the key at fault.
    pub(super) fn new(language: &str, file: &Matching) -> Result<Rules> {
        let list = |key: &str, words: &[String]| -> Result<Vec<String>> {
            let all: Vec<String> = words.iter().map(|word| normalize(word)).collect();
            match all.iter().position(|word| word.is_empty() || word.contains(' ')) {
                Some(n) => fail!("matching.{key}: {:?} is no single word or part of one", words[n]),
                None => Ok(all),
            }
        };
        let changes = file.changes.iter().map(|(from, to)| {
            let from = list("changes", std::slice::from_ref(from))?.concat();
            Ok((from, list("changes", to)?))
        });
        let joined = list("joined_articles", &file.joined_articles)?;
        Ok(Rules {
            language: language.to_owned(),
            articles: list("articles", &file.articles)?,
            joined_articles: file.joined_articles.iter().cloned().zip(joined).collect(),
            proclitics: list("proclitics", &file.proclitics)?,
            endings: list("endings", &file.endings)?,
            changes: changes.collect::<Result<_>>()?,
            endings_on_foreign: list("endings_on_foreign", &file.endings_on_foreign)?,
        })
    }

    /// ISO 639-1 code of the language.
    pub fn language(&self) -> &str {
        &self.language
    }

    /// Its lists, for programs that apply the rule themselves: all texts are normalised.
    pub(crate) fn lists(&self) -> RuleLists<'_> {
        RuleLists {
            articles: &self.articles,
            joined_articles: &self.joined_articles,
            proclitics: &self.proclitics,
            endings: &self.endings,
            changes: &self.changes,
            endings_on_foreign: &self.endings_on_foreign,
        }
    }

    /// The answer's words without what is not part of it: punctuation at the edges, then a leading article.
    fn core(&self, answer: &str) -> String {
        let whole = normalize(answer);
        let text = strip(&whole);
        if text.is_empty() {
            return whole;
        }
        for article in &self.articles {
            let rest = text.strip_prefix(article.as_str()).and_then(|rest| rest.strip_prefix(' ')).map(strip);
            if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
                return rest.to_owned();
            }
        }
        // Compared as written: normalised, the first letters of "Germany" are an article in Arabic. Two letters are no word.
        let written = answer.trim_start_matches(|c: char| !c.is_alphanumeric());
        for (article, plain) in &self.joined_articles {
            let rest = text.strip_prefix(plain.as_str()).filter(|_| written.starts_with(article.as_str()));
            if let Some(rest) = rest.filter(|rest| rest.chars().take_while(|c| in_word(*c)).count() > 2) {
                return rest.to_owned();
            }
        }
        text.to_owned()
    }

    /// The answer's words in the other forms that their last one takes.
    fn inflected(&self, core: &str) -> Vec<String> {
        let mut all = Vec::new();
        for (from, to) in &self.changes {
            let stem = core.strip_suffix(from.as_str()).filter(|stem| stem.chars().rev().take(2).all(in_word));
            if let Some(stem) = stem.filter(|stem| stem.chars().nth(1).is_some()) {
                all.extend(to.iter().map(|ending| normalize(&format!("{stem}{ending}"))));
            }
        }
        all
    }
}

/// The lists of [`Rules`].
pub(crate) struct RuleLists<'a> {
    pub articles: &'a [String],
    pub joined_articles: &'a [(String, String)],
    pub proclitics: &'a [String],
    pub endings: &'a [String],
    pub changes: &'a [(String, Vec<String>)],
    pub endings_on_foreign: &'a [String],
}

/// Without punctuation at the edges; signs that belong to a number or a name stay.
pub(crate) fn strip(text: &str) -> &str {
    let sign = |c: char| matches!(c, '%' | '+' | '#' | '\u{b0}' | '\u{2030}' | '$' | '\u{a2}'..='\u{a5}' | '\u{20a0}'..='\u{20cf}');
    text.trim_matches(|c: char| !in_word(c) && !sign(c))
}

/// One answer, ready to be looked for.
#[derive(Clone, Debug)]
pub struct Pattern {
    language: String,
    /// Distinct; the answer itself first.
    forms: Vec<String>,
    /// Forms that must end their word, and count in the answer's own language only.
    inflected: Vec<String>,
    /// Left and right: is any place fine?
    open: [bool; 2],
}

impl Pattern {
    /// Prepares an answer: `needle` is the passage it was cut from and its place there, in characters.
    ///
    /// With a needle that holds the answer, at that place or else anywhere, the pattern is found in it. An answer
    /// of which normalising leaves nothing, alone or in its needle, is found nowhere: [`text`](Pattern::text) is empty.
    pub fn new(answer: &str, rules: &Rules, needle: Option<(&str, usize)>) -> Pattern {
        let core = rules.core(answer);
        let mut pattern = Pattern {
            language: rules.language.clone(),
            forms: vec![core.clone()],
            inflected: rules.inflected(&core),
            open: [false; 2],
        };
        pattern.forms.extend(spellings(&core));
        // With its article too: in a passage of another language a joined one is no clitic, but part of the word.
        let whole = normalize(answer);
        pattern.forms.push(strip(&whole).to_owned());
        if let Some((text, (from, to))) = needle.and_then(|(text, at)| Some((text, place(text, answer, at)?))) {
            pattern.fit(&text[..from], text, &text[to..], rules);
        }
        let mut seen: Vec<String> = Vec::new();
        pattern.forms.retain(|form| {
            let new = !form.is_empty() && !seen.contains(form);
            seen.extend(new.then(|| form.clone()));
            new
        });
        pattern.inflected.retain(|form| {
            let new = !form.is_empty() && !seen.contains(form);
            seen.extend(new.then(|| form.clone()));
            new
        });
        pattern
    }

    /// Opens the sides on which the answer breaks the rule at its own place.
    fn fit(&mut self, before: &str, needle: &str, after: &str, rules: &Rules) {
        let text = normalize(needle);
        // What stands between the needle's two other parts; a character more where normalising joined across the cut.
        let before = normalize(before);
        let common = text.char_indices().zip(before.chars()).find(|((_, a), b)| a != b);
        let from = common.map_or(before.len().min(text.len()), |((at, _), _)| at);
        let after = normalize(after);
        let tail: usize =
            text.chars().rev().zip(after.chars().rev()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
        let to = text.len().saturating_sub(tail);
        let near = |form: &String| {
            let places = text.match_indices(form.as_str()).map(|(at, _)| (at, at + form.len()));
            places.filter(|_| !form.is_empty()).min_by_key(|(at, _)| at.abs_diff(from))
        };
        let (start, end) = match near(&self.forms[0]).or_else(|| self.forms.iter().find_map(near)) {
            Some(found) => found,
            None if from < to => {
                // The cut runs through what is one character or one number when normalised: the needle's own text counts too.
                let own =
                    Some(strip(&text[from..to])).filter(|own| !own.is_empty()).unwrap_or(&text[from..to]).to_owned();
                self.forms.push(own.clone());
                match near(&own) {
                    Some(found) => found,
                    None => return,
                }
            }
            // Nothing of it is left there, as of a lone accent that its letter takes in.
            None => {
                self.forms.clear();
                self.inflected.clear();
                return;
            }
        };
        let words = Words { proclitics: &rules.proclitics, endings: &rules.endings };
        self.open = [!words.begins(&text, start), !words.ends(&text, end)];
    }

    /// Is the answer whole words at its own place, so that the rule holds on both sides?
    pub fn is_whole(&self) -> bool {
        !self.open[0] && !self.open[1]
    }

    /// ISO 639-1 code of the answer's language.
    pub fn language(&self) -> &str {
        &self.language
    }

    /// The normalised words that are looked for; empty only if nothing is left of the answer.
    pub fn text(&self) -> &str {
        self.forms.first().map_or("", String::as_str)
    }
}

/// Where the answer stands, in bytes: at its place, or at the nearest other one.
fn place(text: &str, answer: &str, at: usize) -> Option<(usize, usize)> {
    let at = text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
    let found = text.match_indices(answer).filter(|_| !answer.is_empty()).map(|(at, _)| at);
    // Overlapping places are not all listed, so the given one is looked at first.
    let given = text[at..].starts_with(answer).then_some(at);
    given.or_else(|| found.min_by_key(|found| found.abs_diff(at))).map(|at| (at, at + answer.len()))
}

/// Other ways to write the numbers of a normalised answer: digit groups parted by plain spaces, and such groups closed up.
pub(crate) fn spellings(core: &str) -> [String; 2] {
    let pieces: Vec<&str> = core.split(' ').collect();
    let digits = |piece: &str, sizes: std::ops::RangeInclusive<usize>| {
        sizes.contains(&piece.len()) && piece.bytes().all(|b| b.is_ascii_digit())
    };
    let (mut closed, mut n) = (String::new(), 0);
    while n < pieces.len() {
        closed += if n > 0 { " " } else { "" };
        closed += pieces[n];
        let lead = digits(pieces[n], 1..=3) && !pieces[n].starts_with('0');
        n += 1;
        while lead && n < pieces.len() && digits(pieces[n], 3..=3) {
            closed += pieces[n];
            n += 1;
        }
    }
    let mut parted = String::new();
    let bytes = closed.as_bytes();
    let digit_at = |n: usize| bytes.get(n).is_some_and(u8::is_ascii_digit);
    for (n, c) in closed.char_indices() {
        if n > 0 && digit_at(n) && digit_at(n - 1) {
            let rest = (n..).take_while(|n| digit_at(*n)).count();
            // Digits behind a decimal point are not grouped.
            let first = (0..n).rev().take_while(|n| digit_at(*n)).last().unwrap_or(n);
            if rest.is_multiple_of(3) && (first == 0 || bytes[first - 1] != b'.') {
                parted.push(' ');
            }
        }
        parted.push(c);
    }
    [closed, parted]
}

/// What may stand at the edges of a match.
struct Words<'a> {
    proclitics: &'a [String],
    endings: &'a [String],
}

impl Words<'_> {
    fn begins(&self, text: &str, at: usize) -> bool {
        let before = |proclitic: &String| text[..at].ends_with(proclitic.as_str()) && edge(text, at - proclitic.len());
        edge(text, at) || self.proclitics.iter().any(before)
    }

    fn ends(&self, text: &str, at: usize) -> bool {
        let after = |ending: &String| text[at..].starts_with(ending.as_str()) && edge(text, at + ending.len());
        edge(text, at) || self.endings.iter().any(after)
    }
}

/// Does one word end here, or none go on?
pub(crate) fn edge(text: &str, at: usize) -> bool {
    match (text[..at].chars().next_back(), text[at..].chars().next()) {
        (Some(before), Some(after)) => !joined(before, after) && number_ends(text, at),
        _ => true,
    }
}

/// Is this place outside of any decimal number? With two marks or more it is a date, a version or a list: its parts stand alone.
fn number_ends(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let digit = |n: usize| bytes.get(n).is_some_and(u8::is_ascii_digit);
    let mark = |n: usize| matches!(bytes.get(n), Some(b'.' | b',')) && n > 0 && digit(n - 1) && digit(n + 1);
    if !(mark(at) || at > 0 && mark(at - 1)) {
        return true;
    }
    let right = (at..bytes.len()).take_while(|n| digit(*n) || mark(*n)).filter(|n| mark(*n)).take(2).count();
    let left = (0..at).rev().take_while(|n| digit(*n) || mark(*n)).filter(|n| mark(*n)).take(2).count();
    left + right > 1
}

/// Looks for many answers at once.
pub struct Finder {
    /// None if there is nothing to look for.
    automaton: Option<AhoCorasick>,
    /// Of each form looked for: its pattern, and whether it is inflected.
    forms: Vec<(u32, bool)>,
    /// Of each pattern: its language, and its open sides.
    patterns: Vec<(usize, [bool; 2])>,
    languages: Vec<String>,
}

impl Finder {
    /// Compiles patterns; they are numbered as they come. Fails only for more text than an automaton can hold (gigabytes).
    pub fn new(patterns: &[Pattern]) -> Result<Finder> {
        let mut finder = Finder { automaton: None, forms: Vec::new(), patterns: Vec::new(), languages: Vec::new() };
        let mut texts: Vec<&str> = Vec::new();
        for (n, pattern) in patterns.iter().enumerate() {
            let language = finder.languages.iter().position(|l| *l == pattern.language).unwrap_or_else(|| {
                finder.languages.push(pattern.language.clone());
                finder.languages.len() - 1
            });
            finder.patterns.push((language, pattern.open));
            for (forms, inflected) in [(&pattern.forms, false), (&pattern.inflected, true)] {
                texts.extend(forms.iter().map(String::as_str));
                finder.forms.extend(forms.iter().map(|_| (n as u32, inflected)));
            }
        }
        if !texts.is_empty() {
            let built = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&texts);
            finder.automaton = Some(built.map_err(|e| Error::new(format!("too many answers to look for: {e}")))?);
        }
        Ok(finder)
    }

    /// Numbers of the patterns that a text contains, ascending. The text is [normalised](super::normalize()), `rules` are those of its language.
    pub fn find(&self, text: &str, rules: &Rules) -> Vec<u32> {
        let mut found = Vec::new();
        let Some(automaton) = &self.automaton else { return found };
        let own = self.languages.iter().position(|l| *l == rules.language);
        let at_home = Words { proclitics: &rules.proclitics, endings: &rules.endings };
        let bare = Words { proclitics: &rules.proclitics, endings: &[] };
        let abroad = Words { proclitics: &[], endings: &rules.endings_on_foreign };
        for hit in automaton.find_overlapping_iter(text) {
            let (number, inflected) = self.forms[hit.pattern().as_usize()];
            let (language, open) = self.patterns[number as usize];
            if found.last() == Some(&number) {
                continue;
            }
            let words = match (own == Some(language), inflected) {
                (true, false) => &at_home,
                (true, true) => &bare,
                (false, false) => &abroad,
                (false, true) => continue,
            };
            if (open[0] || words.begins(text, hit.start())) && (open[1] && !inflected || words.ends(text, hit.end())) {
                found.push(number);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
