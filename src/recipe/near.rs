//! "Did you mean": the known word that is nearest to an unknown one.

use crate::language::Language;
use crate::translator::languages;

/// The way out of an error that names an unknown word and says which are known.
pub(crate) fn help(what: &str) -> Option<String> {
    let unknown = unknown(what)?;
    if what.starts_with("unknown language") {
        return language(&unknown, what);
    }
    if let Some(known) = known(what).and_then(|known| nearest(&unknown, &known)) {
        return Some(format!("did you mean `{known}`?"));
    }
    if !what.starts_with("unknown field") {
        return None;
    }
    let homes = super::schema::homes(&unknown);
    (!homes.is_empty()).then(|| format!("`{unknown}` is a key of {}", homes.join(" and of ")))
}

/// The word that is not known: the first in backticks.
fn unknown(what: &str) -> Option<String> {
    let mut parts = what.split('`');
    let before = parts.next()?;
    let word = parts.next()?;
    let said = before.starts_with("unknown ") || before.is_empty();
    (said && parts.next().is_some()).then(|| word.to_owned())
}

/// The words that are.
fn known(what: &str) -> Option<Vec<&str>> {
    let (_, list) = what.split_once("expected ")?;
    let words =
        list.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).filter(|word| !word.is_empty());
    Some(words.filter(|word| !["one", "of", "or", "a", "an", "such", "as", "list", "to"].contains(word)).collect())
}

/// The nearest word, if it is near.
pub(crate) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let plain = |text: &str| text.trim().to_lowercase().replace('-', "_");
    let word = plain(word);
    let far = |known: &str| strsim::damerau_levenshtein(&word, &plain(known));
    let best = known.iter().copied().map(|known| (far(known), known)).min()?;
    // Two letters alone are near to everything.
    (best.0 <= word.chars().count() / 3).then_some(best.1)
}

/// A language by its English name, or one that could be translated.
fn language(unknown: &str, what: &str) -> Option<String> {
    let code = Language::all().map(Language::code).find(|code| {
        code.eq_ignore_ascii_case(unknown.trim()) || languages::name(code).eq_ignore_ascii_case(unknown.trim())
    });
    if let Some(code) = code {
        return Some(format!("did you mean `{code}`?"));
    }
    if languages::find(unknown).is_some_and(|known| known.code == unknown) {
        let name = languages::name(unknown);
        return Some(format!("{name} has no pack: [translation.languages.{unknown}] has it translated"));
    }
    known(what).and_then(|known| nearest(unknown, &known)).map(|known| format!("did you mean `{known}`?"))
}
