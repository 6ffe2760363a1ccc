//! Does a text hold an answer? By the project's own matching; and which answers no text needs to hold.

use crate::language::{Finder, Kind, Language, Pattern, Rules, normalize};
use memchr::memmem;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Where the answers of a row were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looked {
    /// Nowhere.
    Absent,
    /// Only inside longer words.
    Part,
    /// As whole words. The place in millionths of the text, if it stands there just once.
    Whole(Option<u32>),
}

impl Looked {
    /// Looks for any of the answers, or for all items of one that is a list.
    pub fn for_in(answers: &[&str], text: &str, rules: &Rules) -> Looked {
        Looked::in_normal(answers, &normalize(text), rules)
    }

    /// The same in a text that is [normalised](normalize()) already.
    pub fn in_normal(answers: &[&str], text: &str, rules: &Rules) -> Looked {
        let patterns: Vec<Pattern> = answers.iter().map(|answer| Pattern::new(answer, rules, None)).collect();
        let places = |pattern: &Pattern| {
            let word = pattern.text().to_owned();
            let found: Vec<usize> = memmem::find_iter(text.as_bytes(), word.as_bytes()).take(2).collect();
            if word.is_empty() { Vec::new() } else { found }
        };
        if let Some(first) = found(&patterns, text, rules).first() {
            let millionths = |at: usize| (at as u64 * 1_000_000 / text.len().max(1) as u64) as u32;
            let places = places(&patterns[*first as usize]);
            return Looked::Whole(places.first().filter(|_| places.len() == 1).map(|at| millionths(*at)));
        }
        let lists: Vec<Vec<&str>> = answers.iter().map(|answer| items(answer)).filter(|all| all.len() > 1).collect();
        let distinct: BTreeSet<&str> = lists.iter().flatten().copied().collect();
        let each: Vec<Pattern> = distinct.iter().map(|item| Pattern::new(item, rules, None)).collect();
        let there: BTreeSet<&str> = {
            let there = found(&each, text, rules);
            distinct.into_iter().zip(0u32..).filter(|(_, n)| there.contains(n)).map(|(item, _)| item).collect()
        };
        if lists.iter().any(|list| list.iter().all(|item| there.contains(item))) {
            return Looked::Whole(None);
        }
        match patterns.iter().any(|pattern| !places(pattern).is_empty()) {
            true => Looked::Part,
            false => Looked::Absent,
        }
    }

    /// As whole words?
    pub fn is_whole(self) -> bool {
        matches!(self, Looked::Whole(_))
    }
}

/// Numbers of the patterns that a text holds; none for more text than can be looked for.
fn found(patterns: &[Pattern], text: &str, rules: &Rules) -> Vec<u32> {
    Finder::new(patterns).map_or(Vec::new(), |finder| finder.find(text, rules))
}

/// The items of an answer that may be a list.
fn items(answer: &str) -> Vec<&str> {
    let comma = |c: char| matches!(c, ',' | ';' | '\u{60c}' | '\u{61b}' | '\u{3001}' | '\u{ff0c}');
    answer.split(comma).map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// Words that answer without standing in a text: yes, no, maybe, nothing, numbers up to ten, directions and motives, in every
/// language.
static WORDS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut all: Vec<String> = ["true", "false", "unknown", "unanswerable", "not mentioned"].map(str::to_owned).into();
    for pack in Language::all().filter_map(|language| language.pack().ok()) {
        let words = pack.answers();
        all.extend([&words.yes, &words.no, &words.maybe, &words.nothing].into_iter().flatten().cloned());
        all.extend(words.count.iter().chain(&words.directions).flatten().cloned());
        for motive in 0..Kind::Motive.count() as u8 {
            all.push(pack.citation(Kind::Motive, motive).to_owned());
            all.extend(pack.variants(Kind::Motive, motive));
        }
    }
    all.iter().map(|word| normalize(word)).collect()
});

/// Is an answer a choice rather than words of the text: yes, no, a small number, the letter of an option, a way in directions?
pub fn is_choice(answer: &str) -> bool {
    let items = items(answer);
    !items.is_empty() && items.iter().all(|item| is_choice_word(item))
}

fn is_choice_word(item: &str) -> bool {
    let text = normalize(item);
    let bare = text.trim_matches(|c: char| c.is_ascii_punctuation() || c.is_whitespace());
    let short = bare.chars().count();
    WORDS.contains(bare)
        || short == 1 && bare.chars().all(|c| c.is_ascii_alphanumeric())
        || (1..=2).contains(&short) && bare.bytes().all(|b| b.is_ascii_digit())
}

/// The matching rules of every embedded language.
static RULES: LazyLock<Vec<(&'static str, Rules)>> = LazyLock::new(|| {
    let of = |language: Language| Some((language.code(), language.pack().ok()?.matching().clone()));
    Language::all().filter_map(of).collect()
});

/// The rules of a language, English ones where it has none of its own.
pub fn rules(code: &str) -> &'static Rules {
    let own = RULES.iter().find(|(known, _)| *known == code);
    &own.or(RULES.first()).expect("English is embedded").1
}
