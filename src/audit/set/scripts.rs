//! Which script a text is written in, and which one its language is.

use unicode_script::{Script, UnicodeScript};

/// Letters looked at in a text, spread over it.
const LOOKED_AT: usize = 20_000;
/// With fewer letters a text says nothing of its script.
const LEAST: u32 = 30;
/// Below this share in percent, a text is not in its language's script: an instruction in another may stand around it.
const SHARE: u32 = 10;

/// The scripts that a language is written in; none where that is not known here.
pub fn of_language(code: &str) -> Option<&'static [Script]> {
    Some(match code {
        "en" | "de" | "es" | "fr" | "it" | "pt" | "nl" | "vi" | "id" | "ms" | "tr" | "pl" | "cs" | "sv" | "da"
        | "no" | "nb" | "fi" | "hu" | "ro" | "hr" | "sw" | "tl" | "ca" | "et" | "lv" | "lt" | "sk" | "sl" => {
            &[Script::Latin]
        }
        "zh" => &[Script::Han],
        "ja" => &[Script::Han, Script::Hiragana, Script::Katakana],
        "ko" => &[Script::Hangul, Script::Han],
        "hi" | "mr" | "ne" => &[Script::Devanagari],
        "ar" | "fa" | "ur" => &[Script::Arabic],
        "ru" | "uk" | "bg" | "be" => &[Script::Cyrillic],
        "el" => &[Script::Greek],
        "he" => &[Script::Hebrew],
        "th" => &[Script::Thai],
        "bn" => &[Script::Bengali],
        "ta" => &[Script::Tamil],
        "te" => &[Script::Telugu],
        "ka" => &[Script::Georgian],
        "hy" => &[Script::Armenian],
        _ => return None,
    })
}

/// The letters of a text by script, the most first.
pub struct Scripts(Vec<(Script, u32)>);

impl Scripts {
    /// Counts them, in a long text a sample spread over it.
    pub fn of(text: &str) -> Scripts {
        // Chinese and its like have three bytes a letter; the sample is then smaller, not larger.
        let step = text.len() / LOOKED_AT + 1;
        let mut counts: Vec<(Script, u32)> = Vec::new();
        for c in text.chars().step_by(step).filter(|c| c.is_alphabetic()) {
            let script = c.script();
            match counts.iter_mut().find(|(known, _)| *known == script) {
                Some((_, n)) => *n += 1,
                None if matches!(script, Script::Common | Script::Inherited | Script::Unknown) => {}
                None => counts.push((script, 1)),
            }
        }
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.short_name().cmp(b.0.short_name())));
        Scripts(counts)
    }

    fn total(&self) -> u32 {
        self.0.iter().map(|(_, n)| n).sum()
    }

    /// The script of most letters; none where there are too few.
    pub fn most(&self) -> Option<Script> {
        let (script, _) = self.0.first()?;
        (self.total() >= LEAST).then_some(*script)
    }

    /// Is hardly a letter in these scripts?
    pub fn lacks(&self, scripts: &[Script]) -> bool {
        let own: u32 = self.0.iter().filter(|(script, _)| scripts.contains(script)).map(|(_, n)| n).sum();
        self.total() >= LEAST && own * 100 < SHARE * self.total()
    }
}
