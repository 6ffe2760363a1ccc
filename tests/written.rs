//! Distractors written by a model: the prompts, and which outputs are fit.

use crate::support::{FLORES, real_data};
use nihbuild::language::{Language, Pack};
use nihbuild::stage::written::{Constraint, Prompt, Side, Written, banned, filter, prompts};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

#[derive(Deserialize)]
struct Outputs {
    sound: BTreeMap<Language, String>,
    second: BTreeMap<Language, String>,
    mended: Vec<Mended>,
    dropped: Vec<Dropped>,
}

#[derive(Deserialize)]
struct Mended {
    language: Language,
    output: String,
    text: String,
}

#[derive(Deserialize)]
struct Dropped {
    reason: String,
    #[serde(flatten)]
    outputs: BTreeMap<Language, String>,
}

static OUTPUTS: LazyLock<Outputs> = LazyLock::new(|| toml::from_str(include_str!("written/outputs.toml")).unwrap());
static PACKS: LazyLock<BTreeMap<Language, Pack>> =
    LazyLock::new(|| Language::of_the_papers().map(|language| (language, language.pack().unwrap())).collect());

fn language(code: &str) -> Language {
    code.parse().unwrap()
}

/// Judges outputs by language and key.
fn judge(outputs: &BTreeMap<Language, BTreeMap<String, String>>) -> Written {
    let side = |(language, outputs)| {
        let pack = &PACKS[language];
        (*language, Side { pack, banned: banned(pack, false), outputs })
    };
    filter(&outputs.iter().map(side).collect()).unwrap()
}

/// Outputs under the keys "a", "b" and so on, the same number in each language.
fn keyed(texts: &[(&str, &[&str])]) -> BTreeMap<Language, BTreeMap<String, String>> {
    let numbered =
        |texts: &[&str]| ('a'..).zip(texts).map(|(key, text)| (key.to_string(), (*text).to_owned())).collect();
    texts.iter().map(|(code, texts)| (language(code), numbered(texts))).collect()
}

/// The one output of a language: its text, or the reason to drop it.
fn alone(language: Language, output: &str) -> Result<String, String> {
    let written = judge(&keyed(&[(language.code(), &[output])]));
    match written.verdicts[0].reason.clone() {
        Some(reason) => Err(reason),
        None => Ok(written.kept["a"][&language].clone()),
    }
}

fn reasons(written: &Written, code: &str) -> Vec<Option<String>> {
    let of = written.verdicts.iter().filter(|verdict| verdict.language == language(code));
    of.map(|verdict| verdict.reason.clone()).collect()
}

fn reason(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn prompts_have_stable_keys_and_say_what_is_wanted() {
    let facts = ["Mary went to the garden.".to_owned(), "John took the milk there.".to_owned()];
    let avoid = ["Greta".to_owned(), "K\u{fc}che".to_owned()];
    let mut all: Vec<Prompt> = Vec::new();
    for constraint in Constraint::ALL {
        let some = prompts(&facts, "German", constraint, &avoid);
        assert_eq!(some.iter().map(|p| p.temperature).collect::<Vec<_>>(), [0, 500, 1000, 0, 500, 1000]);
        for prompt in &some {
            let fact = &facts[usize::from(prompt.key.starts_with("w00001"))];
            for said in [fact, "in German", "three to six sentences", "Greta, K\u{fc}che", "nothing but the passage"] {
                assert!(prompt.prompt.contains(said), "{said:?}: {}", prompt.prompt);
            }
        }
        all.extend(some);
    }
    let keys: BTreeSet<&str> = all.iter().map(|p| p.key.as_str()).collect();
    assert_eq!(keys.len(), 2 * 4 * 3);
    assert!(keys.contains("w00000-action-0") && keys.contains("w00001-free-1000") && keys.contains("w00001-bare-500"));
    let texts: BTreeSet<&str> = all.iter().map(|p| p.prompt.as_str()).collect();
    assert_eq!(texts.len(), 2 * 4, "each temperature sends the same prompt");
    assert!(!prompts(&facts, "German", Constraint::Unconstrained, &[])[0].prompt.contains("names and words"));
}

#[test]
fn sound_passages_are_kept_in_every_language() {
    let outputs: BTreeMap<_, _> = Language::of_the_papers()
        .map(|l| {
            (
                l,
                BTreeMap::from(
                    [("a", &OUTPUTS.sound), ("b", &OUTPUTS.second)].map(|(k, t)| (k.to_owned(), t[&l].clone())),
                ),
            )
        })
        .collect();
    let written = judge(&outputs);
    assert!(written.dropped.is_empty(), "{:?}", written.dropped);
    assert_eq!((written.kept["a"].clone(), written.kept["b"].clone()), (OUTPUTS.sound.clone(), OUTPUTS.second.clone()));
    assert_eq!(written.verdicts.len(), 2 * 7);
}

#[test]
fn line_breaks_and_quotation_marks_are_mended() {
    for mended in &OUTPUTS.mended {
        assert_eq!(alone(mended.language, &mended.output).as_deref(), Ok(mended.text.as_str()), "{}", mended.output);
    }
}

#[test]
fn every_reason_in_several_languages() {
    for dropped in &OUTPUTS.dropped {
        assert!(dropped.outputs.len() >= 4, "{}", dropped.reason);
        for (language, output) in &dropped.outputs {
            assert_eq!(alone(*language, output), Err(dropped.reason.clone()), "{language}: {output}");
        }
    }
    for code in ["en", "de", "zh", "ar", "hi"] {
        let sound = &OUTPUTS.sound[&language(code)];
        assert_eq!(alone(language(code), &[sound.as_str(); 3].join("\n")), Err("too long".to_owned()), "{code}");
    }
    let endless = format!("Alice went to the market{}. She came back.", " and then she went on".repeat(80));
    assert_eq!(alone(language("en"), &endless), Err("too long".to_owned()));
}

#[test]
fn with_the_other_languages_at_hand_the_nearest_must_be_its_own() {
    // Half of each: enough words of both, so that only the comparison tells.
    let mixed = "Sabine was in the town and she was going to the river. Sie ist in der Stadt. Then she went back to the museum with her brother.";
    let english = &OUTPUTS.sound[&language("en")];
    let written = judge(&keyed(&[("en", &[english]), ("de", &[mixed])]));
    assert_eq!(reasons(&written, "de"), [reason("wrong language")]);
    assert_eq!(reasons(&written, "en"), [reason("dropped in de: wrong language")]);
}

#[test]
fn a_key_is_kept_in_all_languages_or_in_none() {
    let text = |code: &str| OUTPUTS.sound[&language(code)].as_str();
    let second = |code: &str| OUTPUTS.second[&language(code)].as_str();
    let mut outputs = keyed(&[
        ("en", &[text("en"), second("en"), "", text("en")]),
        ("de", &[text("de"), "", "Sabine trug einen Korb.", text("de")]),
        ("zh", &[text("zh"), second("zh"), second("zh"), text("zh")]),
    ]);
    outputs.get_mut(&language("zh")).unwrap().remove("d");
    let written = judge(&outputs);
    assert_eq!(written.kept.keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(written.kept["a"].len(), 3);
    assert_eq!(
        reasons(&written, "en"),
        [None, reason("dropped in de: empty"), reason("empty"), reason("dropped in zh: missing")]
    );
    assert_eq!(reasons(&written, "de"), [None, reason("empty"), reason("too short"), reason("dropped in zh: missing")]);
    assert_eq!(
        reasons(&written, "zh"),
        [None, reason("dropped in de: empty"), reason("dropped in en: empty"), reason("missing")]
    );
    let counted = &written.dropped[&language("en")];
    assert_eq!(counted.values().sum::<u64>(), 3);
    assert_eq!(counted["dropped in zh: missing"], 1);
    let json = serde_json::to_string(&written).unwrap();
    assert_eq!(serde_json::from_str::<Written>(&json).unwrap(), written);
}

#[test]
fn repeats_of_a_kept_passage_are_dropped() {
    for code in ["en", "de", "es", "zh", "vi", "hi", "ar"] {
        let (first, second) = (OUTPUTS.sound[&language(code)].as_str(), OUTPUTS.second[&language(code)].as_str());
        let breaks_at = second.find(['.', '\u{3002}', '\u{964}']).unwrap();
        let mark = second[breaks_at..].chars().next().unwrap();
        let longer =
            format!("{first}{}{}", if code == "zh" { "" } else { " " }, &second[..breaks_at + mark.len_utf8()]);
        let written = judge(&keyed(&[(code, &[first, &longer, second, &format!("{first}\n"), &longer])]));
        let expected = [None, reason("near-duplicate"), None, reason("duplicate"), reason("near-duplicate")];
        assert_eq!(reasons(&written, code), expected, "{code}");
    }
}

#[test]
fn what_is_dropped_drops_no_other() {
    let text = |code: &str| OUTPUTS.sound[&language(code)].as_str();
    let second = |code: &str| OUTPUTS.second[&language(code)].as_str();
    // The first is unfit in one language, so that its copy in the other may stay; the third repeats the second in one.
    let written =
        judge(&keyed(&[("en", &[text("en"), text("en"), text("en")]), ("ar", &["", text("ar"), second("ar")])]));
    assert_eq!(reasons(&written, "en"), [reason("dropped in ar: empty"), None, reason("duplicate")]);
    assert_eq!(reasons(&written, "ar"), [reason("empty"), None, reason("dropped in en: duplicate")]);
}

/// Four sentences of news at a time, in seven languages: what the tests of language and script make of them, and of another
/// language's under its name.
#[test]
fn real_passages_are_of_their_language() {
    let Some(data) = real_data("the languages of real passages") else { return };
    let passages = |name: &str, code: &str| -> BTreeMap<String, String> {
        let text = std::fs::read_to_string(data.join(format!("flores200/devtest/{name}.devtest"))).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let join = if code == "zh" { "" } else { " " };
        lines.chunks(4).enumerate().map(|(n, four)| (format!("{n:03}"), four.join(join))).collect()
    };
    let all: Vec<_> = FLORES.iter().map(|(code, name)| (language(code), passages(name, code))).collect();
    // Each alone, so that no language drops another's.
    let count = |as_language: Language, texts: &BTreeMap<String, String>| -> BTreeMap<String, u64> {
        let written = judge(&BTreeMap::from([(as_language, texts.clone())]));
        written.dropped.get(&as_language).cloned().unwrap_or_default()
    };
    for (own, texts) in &all {
        let dropped = count(*own, texts);
        // Three passages in Chinese are mostly foreign names.
        let foreign = if own.code() == "zh" { 3 } else { 0 };
        for (reason, most) in [("wrong language", 0), ("wrong script", foreign), ("damaged", 0), ("empty", 0)] {
            assert!(dropped.get(reason).is_none_or(|n| *n <= most), "{own}: {reason}: {dropped:?}");
        }
        // So few texts that tell of other things look like a model's word to its reader, or like no running text.
        for reason in ["talks about the task", "markup"] {
            assert!(dropped.get(reason).is_none_or(|n| *n <= 20), "{own}: {reason}: {dropped:?}");
        }
        for (other, foreign) in all.iter().filter(|(other, _)| other != own) {
            let dropped = count(*own, foreign);
            let told: u64 = ["wrong language", "wrong script"].iter().filter_map(|reason| dropped.get(*reason)).sum();
            assert!(told + 30 >= foreign.len() as u64, "{own} given {other}: {dropped:?}");
        }
    }
}
