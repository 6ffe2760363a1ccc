//! The terms of a text: what a retriever by words counts.

use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};
use unicode_segmentation::UnicodeSegmentation;

/// Hands on each term of a text, in NFC and lower case.
///
/// A term is a Unicode word (UAX #29) with a letter or a digit. In scripts that write no spaces it is each character, and each
/// two that stand side by side: words of two characters are the most common ones there, and no word list is needed.
pub fn terms(text: &str, mut take: impl FnMut(&str)) {
    let text = text.nfc().collect::<String>().to_lowercase();
    // The character before and what it belongs to are one stretch of the text.
    let mut before: Option<usize> = None;
    for (at, word) in text.split_word_bound_indices() {
        if !word.contains(char::is_alphanumeric) {
            before = None;
            continue;
        }
        take(word);
        if word.starts_with(writes_no_spaces) {
            if let Some(start) = before {
                take(&text[start..at + word.len()]);
            }
            before = Some(at);
        } else {
            before = None;
        }
    }
}

/// Does the character belong to a script without spaces whose words UAX #29 leaves to dictionaries? It cuts those scripts at
/// each character; not so Katakana, whose runs are words.
fn writes_no_spaces(c: char) -> bool {
    matches!(
        c.script(),
        Script::Han
            | Script::Hiragana
            | Script::Thai
            | Script::Lao
            | Script::Khmer
            | Script::Myanmar
            | Script::Tai_Tham
    )
}
