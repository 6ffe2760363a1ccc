//! What is known of languages here: names for prompts, scripts and length for checks.

use unicode_script::Script;

/// A language.
pub struct Known {
    /// Its code, lower-case.
    pub code: &'static str,
    /// Its English name.
    pub name: &'static str,
    /// The scripts of its letters.
    pub scripts: &'static [Script],
    /// Characters of a text where English has a thousand, roughly.
    pub length: u32,
    /// Do its sentences end with a mark?
    pub ends: bool,
}

const LATIN: &[Script] = &[Script::Latin];
const CYRILLIC: &[Script] = &[Script::Cyrillic];
const ARABIC: &[Script] = &[Script::Arabic];
const DEVANAGARI: &[Script] = &[Script::Devanagari];
const HAN: &[Script] = &[Script::Han];

const fn known(code: &'static str, name: &'static str, scripts: &'static [Script]) -> Known {
    Known { code, name, scripts, length: 1000, ends: true }
}

const fn dense(code: &'static str, name: &'static str, scripts: &'static [Script], length: u32) -> Known {
    Known { code, name, scripts, length, ends: true }
}

/// Languages whose names and scripts are known. Others can be asked for too.
static LANGUAGES: [Known; 78] = [
    known("af", "Afrikaans", LATIN),
    known("am", "Amharic", &[Script::Ethiopic]),
    known("ar", "Arabic", ARABIC),
    known("az", "Azerbaijani", LATIN),
    known("be", "Belarusian", CYRILLIC),
    known("bg", "Bulgarian", CYRILLIC),
    known("bn", "Bengali", &[Script::Bengali]),
    known("bs", "Bosnian", LATIN),
    known("ca", "Catalan", LATIN),
    known("cs", "Czech", LATIN),
    known("cy", "Welsh", LATIN),
    known("da", "Danish", LATIN),
    known("de", "German", LATIN),
    known("el", "Greek", &[Script::Greek]),
    known("en", "English", LATIN),
    known("es", "Spanish", LATIN),
    known("et", "Estonian", LATIN),
    known("eu", "Basque", LATIN),
    known("fa", "Persian", ARABIC),
    known("fi", "Finnish", LATIN),
    known("fil", "Filipino", LATIN),
    known("fr", "French", LATIN),
    known("ga", "Irish", LATIN),
    known("gl", "Galician", LATIN),
    known("gu", "Gujarati", &[Script::Gujarati]),
    known("ha", "Hausa", LATIN),
    known("he", "Hebrew", &[Script::Hebrew]),
    known("hi", "Hindi", DEVANAGARI),
    known("hr", "Croatian", LATIN),
    known("hu", "Hungarian", LATIN),
    known("hy", "Armenian", &[Script::Armenian]),
    known("id", "Indonesian", LATIN),
    known("is", "Icelandic", LATIN),
    known("it", "Italian", LATIN),
    dense("ja", "Japanese", &[Script::Han, Script::Hiragana, Script::Katakana], 450),
    known("jv", "Javanese", LATIN),
    known("ka", "Georgian", &[Script::Georgian]),
    known("kk", "Kazakh", CYRILLIC),
    Known { code: "km", name: "Khmer", scripts: &[Script::Khmer], length: 1000, ends: false },
    known("kn", "Kannada", &[Script::Kannada]),
    dense("ko", "Korean", &[Script::Hangul], 500),
    Known { code: "lo", name: "Lao", scripts: &[Script::Lao], length: 1000, ends: false },
    known("lt", "Lithuanian", LATIN),
    known("lv", "Latvian", LATIN),
    known("mk", "Macedonian", CYRILLIC),
    known("ml", "Malayalam", &[Script::Malayalam]),
    known("mr", "Marathi", DEVANAGARI),
    known("ms", "Malay", LATIN),
    known("my", "Burmese", &[Script::Myanmar]),
    known("ne", "Nepali", DEVANAGARI),
    known("nl", "Dutch", LATIN),
    known("no", "Norwegian", LATIN),
    known("pa", "Punjabi", &[Script::Gurmukhi]),
    known("pl", "Polish", LATIN),
    known("pt", "Portuguese", LATIN),
    known("ro", "Romanian", LATIN),
    known("ru", "Russian", CYRILLIC),
    known("si", "Sinhala", &[Script::Sinhala]),
    known("sk", "Slovak", LATIN),
    known("sl", "Slovenian", LATIN),
    known("so", "Somali", LATIN),
    known("sq", "Albanian", LATIN),
    known("sr", "Serbian", &[Script::Cyrillic, Script::Latin]),
    known("sv", "Swedish", LATIN),
    known("sw", "Swahili", LATIN),
    known("ta", "Tamil", &[Script::Tamil]),
    known("te", "Telugu", &[Script::Telugu]),
    Known { code: "th", name: "Thai", scripts: &[Script::Thai], length: 1000, ends: false },
    known("tr", "Turkish", LATIN),
    known("uk", "Ukrainian", CYRILLIC),
    known("ur", "Urdu", ARABIC),
    known("uz", "Uzbek", &[Script::Latin, Script::Cyrillic]),
    known("vi", "Vietnamese", LATIN),
    known("yo", "Yoruba", LATIN),
    dense("zh", "Chinese", HAN, 350),
    dense("zh-hant", "Traditional Chinese", HAN, 350),
    dense("zh-tw", "Traditional Chinese", HAN, 350),
    known("zu", "Zulu", LATIN),
];

/// A language by its code: that very code, else its part before the first hyphen.
pub fn find(code: &str) -> Option<&'static Known> {
    let code = code.to_ascii_lowercase().replace('_', "-");
    let exact = |code: &str| LANGUAGES.iter().find(|known| known.code == code);
    exact(&code).or_else(|| exact(code.split('-').next().unwrap_or_default()))
}

/// What a model is told: the English name, with the code where that says more; the code alone of an unknown language.
pub fn name(code: &str) -> String {
    match find(code) {
        Some(known) if known.code.eq_ignore_ascii_case(code) => known.name.to_owned(),
        Some(known) => format!("{} ({code})", known.name),
        None => code.to_owned(),
    }
}
