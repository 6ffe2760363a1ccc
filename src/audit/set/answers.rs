//! Does a text hold an answer? By the project's own matching; and which answers no text needs to hold.

use crate::language::{Finder, Language, Pattern, Rules, normalize};
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
        let mut part = false;
        for answer in answers {
            match one(answer, text, rules) {
                Looked::Absent => {}
                Looked::Part => part = true,
                whole => return whole,
            }
        }
        for answer in answers {
            let items = items(answer);
            if items.len() > 1 && items.iter().all(|item| one(item, text, rules).is_whole()) {
                return Looked::Whole(None);
            }
        }
        if part { Looked::Part } else { Looked::Absent }
    }

    /// As whole words?
    pub fn is_whole(self) -> bool {
        matches!(self, Looked::Whole(_))
    }
}

fn one(answer: &str, text: &str, rules: &Rules) -> Looked {
    let pattern = Pattern::new(answer, rules, None);
    if pattern.text().is_empty() {
        return Looked::Absent;
    }
    let found = Finder::new(std::slice::from_ref(&pattern)).is_ok_and(|finder| !finder.find(text, rules).is_empty());
    let places = || memmem::find_iter(text.as_bytes(), pattern.text().as_bytes());
    match (found, places().next()) {
        (false, None) => Looked::Absent,
        (false, Some(_)) => Looked::Part,
        (true, at) => {
            let millionths = |at: usize| (at as u64 * 1_000_000 / text.len().max(1) as u64) as u32;
            Looked::Whole(at.filter(|_| places().nth(1).is_none()).map(millionths))
        }
    }
}

/// The items of an answer that may be a list.
fn items(answer: &str) -> Vec<&str> {
    let comma = |c: char| matches!(c, ',' | ';' | '\u{60c}' | '\u{61b}' | '\u{3001}' | '\u{ff0c}');
    answer.split(comma).map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// Words that answer without standing in a text: yes, no, maybe, nothing, numbers up to ten, in every language.
static WORDS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let packs = Language::all().filter_map(|language| language.pack().ok());
    let mut all: BTreeSet<String> = packs
        .flat_map(|pack| {
            let words = pack.answers();
            let counts = words.count.iter().flatten();
            let lists = words.yes.iter().chain(&words.no).chain(&words.maybe).chain(&words.nothing).chain(counts);
            lists.map(|word| normalize(word)).collect::<Vec<_>>()
        })
        .collect();
    all.extend(["true", "false", "unknown", "unanswerable", "not mentioned"].map(str::to_owned));
    all
});

/// Is an answer a choice rather than words of the text: yes, no, a small number, the letter of an option?
pub fn is_choice(answer: &str) -> bool {
    let text = normalize(answer);
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
