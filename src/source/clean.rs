//! The one set of rules by which text from outside becomes text of a prompt.
//!
//! | what | becomes |
//! |---|---|
//! | each control: U+0000-001F, U+007F-009F, and the separators U+2028, U+2029 (so line feed, carriage return, tab) | one space |
//! | zero-width marks without meaning: U+200B, U+2060, U+FEFF | nothing |
//! | marks of writing direction: U+061C, U+200E, U+200F, U+202A-202E, U+2066-2069 | nothing |
//! | white space at both edges, as Unicode defines it | nothing |
//! | all else | itself |
//!
//! Joiners (U+200C, U+200D) stay: Hindi and Persian spell with them. Marks of writing direction go: characters are
//! stored in the order they are read, these only steer how a screen lays them out, and letters join across them as
//! if they were not there, so no Arabic word changes; left in, they hide an answer from every search for it, and can
//! make a reviewer see another text than the model. Runs of spaces stay, and nothing is composed or decomposed: an
//! answer is found in its context by its own characters.

use std::ops::Range;

/// What a character becomes; none where it goes.
fn rule(c: char) -> Option<char> {
    match c {
        '\u{200B}' | '\u{2060}' | '\u{FEFF}' => None,
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => None,
        '\u{2028}' | '\u{2029}' => Some(' '),
        c if c.is_control() => Some(' '),
        c => Some(c),
    }
}

/// Cleans a text by the rules of this module. Cleaning twice is cleaning once.
pub fn clean(text: &str) -> String {
    let kept: String = text.chars().filter_map(rule).collect();
    let trimmed = kept.trim();
    if trimmed.len() == kept.len() { kept } else { trimmed.to_owned() }
}

/// Cleans a text, and says where `len` of its characters from character `start` on end up: a range of bytes of the
/// cleaned text, without white space at its edges. So the range holds exactly what [`clean`] makes of those
/// characters alone. What lies beyond the text is cut off.
pub fn clean_with_span(text: &str, start: usize, len: usize) -> (String, Range<usize>) {
    let end = start.saturating_add(len);
    let mut kept = String::with_capacity(text.len());
    let (mut from, mut to) = (None, None);
    for (n, c) in text.chars().enumerate() {
        if n == start {
            from = Some(kept.len());
        }
        if n == end {
            to = Some(kept.len());
        }
        kept.extend(rule(c));
    }
    let from = from.unwrap_or(kept.len());
    let to = to.unwrap_or(kept.len());
    let inside = &kept[from..to];
    let from = from + (inside.len() - inside.trim_start().len());
    let to = from + inside.trim().len();
    // Only an empty range can lie in the edges that are cut off now.
    let lead = kept.len() - kept.trim_start().len();
    let cleaned = kept.trim();
    let shift = |at: usize| at.saturating_sub(lead).min(cleaned.len());
    (cleaned.to_owned(), shift(from)..shift(to))
}

/// Is nothing left of a character by itself?
pub(crate) fn is_blank(c: char) -> bool {
    rule(c).is_none_or(char::is_whitespace)
}

/// A sign that a text was damaged before it came here, in words; none where there is none. To be asked before
/// cleaning, which makes spaces of controls. U+0085 alone is no such sign: it is also a line end.
pub fn suspicious(text: &str) -> Option<&'static str> {
    if text.contains('\u{FFFD}') {
        return Some("a replacement character stands where a character was lost");
    }
    if text.contains(|c: char| ('\u{80}'..='\u{9F}').contains(&c) && c != '\u{85}') {
        return Some("a control of U+0080-009F: text of another encoding was read as Latin-1");
    }
    if text.contains("\u{E2}\u{20AC}") {
        return Some("UTF-8 was read as Windows-1252");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_rule() {
        for (text, cleaned) in [
            ("a\r\nb\tc\u{85}d\u{2028}e\u{2029}f\u{7F}g\0h", "a  b c d e f g h"),
            ("\u{FEFF}a\u{200B}b\u{2060}c\u{FEFF}", "abc"),
            (
                "\u{200F}\u{627}\u{200E}\u{628}\u{202B}\u{62A}\u{202C}\u{2067}\u{62B}\u{2069}\u{61C}",
                "\u{627}\u{628}\u{62A}\u{62B}",
            ),
            ("\u{915}\u{94D}\u{200D}\u{937} \u{200C}x", "\u{915}\u{94D}\u{200D}\u{937} \u{200C}x"),
            // The edge is what is at the edge once the zero-width marks are gone.
            ("\u{200B} \u{3000}a\u{A0} b\u{A0}\u{FEFF}\n", "a\u{A0} b"),
            ("e\u{301} \u{E9}  \u{AD}.", "e\u{301} \u{E9}  \u{AD}."),
            (" \u{200B}\n ", ""),
            ("", ""),
        ] {
            assert_eq!(clean(text), cleaned, "{text:?}");
            assert_eq!(clean(cleaned), cleaned);
        }
    }

    #[test]
    fn spans_follow() {
        // Characters: newline, zero-width, a, zero-width, b, space, e-acute, newline, c.
        let text = "\n\u{200B}a\u{200B}b \u{E9}\nc";
        for (start, len, found) in [
            (2, 3, "ab"),
            (1, 4, "ab"),
            (4, 3, "b \u{E9}"),
            (5, 3, "\u{E9}"),
            (0, 99, "ab \u{E9} c"),
            (8, 1, "c"),
            (8, usize::MAX, "c"),
            (3, 1, ""),
            (0, 1, ""),
            (9, 1, ""),
            (70, 1, ""),
        ] {
            let (cleaned, span) = clean_with_span(text, start, len);
            assert_eq!(cleaned, "ab \u{E9} c");
            assert_eq!(&cleaned[span], found, "{start}, {len}");
        }
    }

    #[test]
    fn damage_is_seen() {
        assert!(suspicious("caf\u{FFFD}").unwrap().contains("replacement"));
        assert!(suspicious("it\u{92}s").unwrap().contains("Latin-1"));
        assert!(suspicious("it\u{E2}\u{20AC}\u{2122}s").unwrap().contains("1252"));
        assert_eq!(suspicious("caf\u{E9}, 5 \u{20AC},\u{85} \u{E2}me"), None);
    }

    proptest! {
        #[test]
        fn a_span_holds_the_cleaned_part(
            text in "[ab \\n\u{200B}\u{200F}\u{E9}\u{4E2D}\u{3000}]{0,12}",
            start in 0usize..14,
            len in 0usize..14,
        ) {
            let (cleaned, span) = clean_with_span(&text, start, len);
            prop_assert_eq!(&cleaned, &clean(&text));
            let part: String = text.chars().skip(start).take(len).collect();
            prop_assert_eq!(&cleaned[span], clean(&part));
        }
    }
}
