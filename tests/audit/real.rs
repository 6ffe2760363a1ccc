//! The released files of MLRBench: the figures that were measured by hand, and the small copy of their form.

use super::rows::tokenizer;
use crate::support::real_data;
use nihbuild::audit::{Audit, Check, mlrbench};
use std::path::Path;

fn figures(audit: &Audit, check: Check) -> Vec<(&str, u64, u64)> {
    let all = audit.summary.get(&check).into_iter().flatten();
    all.map(|(language, count)| (language.as_str(), count.found, count.of)).collect()
}

#[test]
fn a_small_copy() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released");
    let audit = mlrbench::audit(&folder, &tokenizer()).unwrap();
    let all: Vec<_> = audit.findings.iter().map(|f| (f.file.as_str(), f.row, f.check)).collect();
    for expected in [
        ("data/zh.csv", Some(3), Check::AskedAbsent),
        ("data/zh.csv", Some(1), Check::UnknownName),
        ("data/zh.csv", Some(2), Check::SeveralNames),
        ("data/zh.csv", Some(3), Check::AnswerAbsent),
        ("data/zh.csv", Some(4), Check::BlankAnswer),
        ("data/zh.csv", Some(2), Check::DoubledMark),
        ("data/zh.csv", Some(3), Check::DoubledMark),
        ("data/zh.csv", Some(4), Check::Invisible),
        ("data/zh.csv", Some(5), Check::Misaligned),
        ("data/zh.csv", Some(6), Check::MissingRow),
        ("data/de.csv", Some(6), Check::Misaligned),
        ("data/de.csv", Some(7), Check::SurplusRow),
        ("data/en.csv", Some(4), Check::LabelWrong),
        ("data/ar.csv", None, Check::MissingLanguage),
    ] {
        assert_eq!(all.iter().filter(|found| **found == expected).count(), 1, "{expected:?} in {all:#?}");
    }
}

/// The count of a check by language, in the order ar de en es hi vi zh; a language it did not look at is left out.
#[track_caller]
fn assert_figures(audit: &Audit, check: Check, of: u64, expected: &[(&str, u64)]) {
    let expected: Vec<_> = expected.iter().map(|(language, found)| (*language, *found, of)).collect();
    assert_eq!(figures(audit, check), expected, "{check}");
}

#[test]
fn the_released_files() {
    let Some(data) = real_data("the audit of the released repository") else { return };
    let folder = data.join("mlrbench");
    if !folder.is_dir() {
        eprintln!("skipped: no released repository");
        return;
    }
    let audit = mlrbench::audit(&folder, &tokenizer()).unwrap();
    assert_eq!((audit.files, audit.rows), (6 + 14, 6 * 1000 + 14 * 100));
    let stories = |ar, de, es, vi, zh| [("ar", ar), ("de", de), ("en", 0), ("es", es), ("vi", vi), ("zh", zh)];
    assert_figures(&audit, Check::AskedAbsent, 666, &stories(0, 0, 0, 0, 135));
    assert_figures(&audit, Check::UnknownName, 666, &stories(0, 0, 0, 0, 0));
    assert_figures(&audit, Check::SeveralNames, 1000, &stories(0, 0, 0, 0, 569));
    assert_figures(&audit, Check::BlankAnswer, 1000, &stories(0, 4, 0, 0, 0));
    assert_figures(&audit, Check::DoubledMark, 1000, &stories(1000, 0, 0, 0, 999));
    assert_figures(&audit, Check::Invisible, 1000, &stories(0, 0, 3, 0, 26));
    assert_figures(&audit, Check::MissingRow, 1000, &stories(0, 0, 0, 0, 0));
    assert_figures(&audit, Check::OtherAnswer, 1000, &stories(0, 0, 0, 0, 0));
    // qa3: 10 ar, 5 es, 49 zh; qa4: 46 ar, 5 es, 46 vi, 26 zh.
    assert_figures(&audit, Check::QuestionChanged, 146, &stories(56, 0, 10, 46, 75));
    assert_figures(&audit, Check::QuestionAmbiguous, 146, &stories(0, 100, 0, 88, 0));
    assert_figures(&audit, Check::CaseNoise, 1000, &stories(0, 149, 0, 151, 0));
    let absent = [("ar", 164), ("de", 1), ("en", 0), ("es", 31), ("hi", 31), ("vi", 82), ("zh", 116)];
    let of = |language| if language == "hi" { 57 } else { 566 };
    let absent: Vec<_> = absent.iter().map(|(language, found)| (*language, *found, of(*language))).collect();
    assert_eq!(figures(&audit, Check::AnswerAbsent), absent);
    assert_figures(&audit, Check::LabelWrong, 1000, &[("en", 3)]);
    assert_figures(&audit, Check::LabelAmbiguous, 1000, &[("en", 41)]);

    let rows = |file: &str, check: Check| -> Vec<u64> {
        audit.findings.iter().filter(|f| f.file == file && f.check == check).filter_map(|f| f.row).collect()
    };
    assert_eq!(rows("data/de.csv", Check::BlankAnswer), [898, 899, 900, 901]);
    assert_eq!(rows("data/en.csv", Check::LabelWrong), [434, 904, 994]);
    assert_eq!(rows("data/zh.csv", Check::AskedAbsent)[..4], [1, 2, 5, 8]);
    assert_eq!(rows("data/es.csv", Check::Invisible), [753, 768, 782]);
    // No row of English has anything but labels that bAbI itself leaves in doubt.
    let english = audit.findings.iter().filter(|f| f.file == "data/en.csv");
    assert!(english.clone().all(|f| matches!(f.check, Check::LabelWrong | Check::LabelAmbiguous)));
    let missing = audit.findings.iter().filter(|f| f.check == Check::MissingLanguage);
    assert_eq!(missing.map(|f| f.file.as_str()).collect::<Vec<_>>(), ["data/hi.csv"]);

    let prompts = |all: [u64; 7]| ["ar", "de", "en", "es", "hi", "vi", "zh"].into_iter().zip(all).collect::<Vec<_>>();
    assert_figures(&audit, Check::OneBlock, 100, &prompts([3, 1, 3, 4, 16, 4, 100]));
    assert_figures(&audit, Check::FactMissing, 100, &prompts([0; 7]));
    assert!(figures(&audit, Check::Misaligned).iter().all(|(_, found, _)| *found == 0));
    let english = |check| audit.counted(check, "en");
    assert_eq!((english(Check::DistractorCast).found, english(Check::DistractorCast).of), (89, 100));
    assert_eq!((english(Check::DistractorNames).found, english(Check::DistractorNames).of), (80, 100));
    assert_eq!((english(Check::DistractorAsked).found, english(Check::DistractorAsked).of), (33, 67));
    // By hand 11: these three hold the plural of the answer.
    assert_eq!((english(Check::DistractorAnswer).found, english(Check::DistractorAnswer).of), (14, 57));
    let holds =
        |id: &str| audit.findings.iter().any(|f| f.check == Check::DistractorAnswer && f.id.as_deref() == Some(id));
    assert!(["306_en", "324_en", "340_en"].iter().all(|id| holds(id)));

    let unanswerable: Vec<_> = audit.unanswerable.iter().map(|(l, count)| (l.as_str(), count.found)).collect();
    assert_eq!(unanswerable, [("ar", 211), ("de", 5), ("en", 3), ("es", 41), ("vi", 113), ("zh", 430)]);
    // Every finding has a file that is there, or one that is missing.
    assert!(audit.findings.iter().all(|f| f.check == Check::MissingLanguage || folder.join(&f.file).is_file()));
}
