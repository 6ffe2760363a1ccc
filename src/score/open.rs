//! Answers of passages and hidden sentences: any words, which a text must hold.

use super::find::{bare, in_word};
use super::rule::{Gold, Scorer};
use super::tongue::Tongue;
use crate::language::{normalize, spellings, strip};

impl Scorer {
    pub(super) fn open(&self, text: &str, gold: &Gold) -> (bool, bool) {
        let asked = if gold.question_language.is_empty() { &gold.language } else { &gold.question_language };
        let holds = |golds: &[String], code: &str| self.holds(text, golds, code, asked);
        let exact = holds(&gold.answers, &gold.language) || holds(&gold.answer_variants, &gold.language);
        (exact, exact || gold.answers_by_language.iter().any(|(code, given)| holds(given, code)))
    }

    pub(super) fn open_in(&self, text: &str, gold: &Gold, code: &str) -> bool {
        gold.answers_by_language.iter().any(|(c, given)| c == code && self.holds(text, given, code, code))
    }

    /// Does a text hold one of the answers, as whole words?
    fn holds(&self, text: &str, golds: &[String], code: &str, asked: &str) -> bool {
        let bare = bare(text);
        golds.iter().any(|gold| {
            self.forms(gold, code).iter().any(|(form, inflected)| {
                [text, &bare].iter().any(|whole| {
                    [code, asked]
                        .iter()
                        .any(|reader| self.tongue(reader).holds(whole, form, *reader == code, *inflected))
                })
            })
        })
    }

    /// Forms of an open answer; whether they are inflected.
    fn forms(&self, gold: &str, code: &str) -> Vec<(String, bool)> {
        let tongue = self.tongue(code);
        let whole = normalize(gold);
        let core = core(gold, &whole, tongue);
        let mut forms = vec![core.clone()];
        forms.extend(spellings(&core));
        forms.push(strip(&whole).to_owned());
        let plain: Vec<String> = forms.iter().map(|form| bare(form)).collect();
        forms.extend(plain);
        for numbers in &tongue.words.count {
            let words = || numbers.iter().filter(|form| !form.contains(' '));
            if words().any(|form| *form == core) {
                forms.extend(words().filter(|form| !tongue.words.weak_numbers.contains(form)).cloned());
            }
        }
        let mut all: Vec<(String, bool)> = forms.into_iter().map(|form| (form, false)).collect();
        for (before, after) in &tongue.words.changes {
            let stem = core.strip_suffix(before.as_str()).unwrap_or_default();
            let last: Vec<char> = stem.chars().rev().take(2).collect();
            if last.len() == 2 && last.into_iter().all(in_word) {
                all.extend(after.iter().map(|ending| (normalize(&format!("{stem}{ending}")), true)));
            }
        }
        all.retain(|(form, _)| !form.is_empty());
        all
    }
}

/// The answer's words without punctuation at the edges and a leading article.
fn core(gold: &str, whole: &str, tongue: &Tongue) -> String {
    let text = strip(whole);
    if text.is_empty() {
        return whole.to_owned();
    }
    for article in &tongue.words.articles {
        let rest = text.strip_prefix(article.as_str()).and_then(|rest| rest.strip_prefix(' ')).map(strip);
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            return rest.to_owned();
        }
    }
    let written = gold.trim_start_matches(|c: char| !c.is_alphanumeric());
    for (article, plain) in &tongue.words.joined_articles {
        let rest = text.strip_prefix(plain.as_str()).filter(|_| written.starts_with(article.as_str()));
        if let Some(rest) = rest.filter(|rest| rest.chars().take_while(|c| in_word(*c)).count() > 2) {
            return rest.to_owned();
        }
    }
    text.to_owned()
}
