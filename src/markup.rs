//! Text inside HTML and SVG.

use std::fmt::Write;

/// Text between tags or in an attribute. Characters that markup gives no meaning are for `other` to write.
pub(crate) fn escaped_by(text: &str, mut other: impl FnMut(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => other(c, &mut out),
        }
    }
    out
}

/// A character as its number, where it would turn or hide what stands around it.
pub(crate) fn number(c: char, out: &mut String) {
    write!(out, "[U+{:04X}]", u32::from(c)).expect("strings take all");
}
