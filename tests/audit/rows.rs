//! Each check of prompt sets: a good set has no finding, each fault exactly its own.

use crate::support::Bench;
use nihbuild::audit::set::columns::Map;
use nihbuild::audit::set::lengths::Nominal;
use nihbuild::audit::{Audit, Check, set};
use nihbuild::tokenizer::Tokenizer;
use serde_json::{Value, json};
use std::path::Path;

pub fn tokenizer() -> Tokenizer {
    Tokenizer::embedded("o200k_base").unwrap()
}

pub fn audit(path: &Path, map: &str) -> nihbuild::error::Result<Audit> {
    set::audit(path, &Map::parse(map)?, &tokenizer(), None)
}

/// A made-up word, another for each number.
pub fn word(n: usize) -> String {
    const SYLLABLES: [&str; 12] = ["ba", "ko", "ri", "mu", "sel", "ta", "vin", "dor", "pe", "lu", "gan", "fos"];
    let mut n = n + 12;
    let mut out = String::new();
    while n > 0 {
        out += SYLLABLES[n % 12];
        n /= 12;
    }
    out
}

/// Thirty sound rows: the answer once in the context, at another depth each, distractors without it.
pub fn good() -> Vec<Value> {
    let row = |n: usize| {
        let (city, stone) = (word(40 + n), word(400 + n));
        let at = n * 2;
        let line = |k: usize| match k == at {
            true => format!("The famous stone of {city} is called {stone}.\n"),
            false => format!("In {} people talk about {}.\n", word(4000 + 97 * n + k), word(9000 + 89 * n + k)),
        };
        let context: String = (0..60).map(line).collect();
        let question = format!("What is the stone of {city} called?");
        let distractors: Vec<String> = (0..60).filter(|k| *k != at).take(3).map(line).collect();
        json!({ "_id": format!("r{n}"), "input": format!("{context}\n{question}"), "query": question, "outputs": [stone],
            "context": context, "length": "2k", "language": "en", "distractors": distractors, "task": "stones" })
    };
    (0..30).map(row).collect()
}

pub fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| row.to_string() + "\n").collect()
}

/// Audits rows whose lengths do not matter.
fn of(rows: &[Value]) -> Audit {
    let bench = Bench::new();
    let rows: Vec<Value> = rows.to_vec();
    let path = bench.write("set.jsonl", &lines(&rows));
    set::audit(&path, &Map::parse("").unwrap(), &tokenizer(), None).unwrap()
}

fn named(audit: &Audit) -> Vec<(Check, Option<&str>)> {
    audit.findings.iter().map(|f| (f.check, f.id.as_deref())).collect()
}

/// The good set without lengths: its rows have some hundred tokens.
fn plain() -> Vec<Value> {
    let mut rows = good();
    rows.iter_mut().for_each(|row| drop(row.as_object_mut().unwrap().remove("length")));
    rows
}

#[track_caller]
fn fault(touch: impl FnOnce(&mut Vec<Value>), expected: &[(Check, Option<&str>)]) -> Audit {
    let mut rows = plain();
    touch(&mut rows);
    let audit = of(&rows);
    assert_eq!(named(&audit), expected, "{:#?}", audit.findings);
    audit
}

fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap().to_owned()
}

#[test]
fn a_good_set_has_no_finding_and_says_what_was_looked_at() {
    let audit = fault(|_| {}, &[]);
    assert_eq!((audit.files, audit.rows), (1, 30));
    for check in [
        Check::AnswerAbsent,
        Check::AnswerInQuestion,
        Check::DistractorAnswer,
        Check::DuplicateId,
        Check::NearDuplicate,
    ] {
        assert_eq!((audit.counted(check, "set.jsonl").found, audit.counted(check, "set.jsonl").of), (0, 30), "{check}");
    }
    assert_eq!(audit.counted(Check::PositionFixed, "set.jsonl").of, 1);
    let map = "columns prompt=input,context=context,question=query,answers=outputs,id=_id,distractors=distractors,language=language,task=task (1 files)";
    assert_eq!(audit.notes[0], map);
}

#[test]
fn copies_and_ids() {
    fault(|rows| rows[7]["_id"] = json!("r3"), &[(Check::DuplicateId, Some("r3"))]);
    fault(
        |rows| {
            rows[9] = rows[4].clone();
            rows[9]["_id"] = json!("r9");
        },
        &[(Check::DuplicateRow, Some("r9"))],
    );
    let audit = fault(
        |rows| {
            rows[9] = rows[4].clone();
            rows[9]["_id"] = json!("r9");
            // Its context holds it, but it is another answer to the same prompt.
            rows[9]["outputs"] = json!(["people"]);
            rows[9]["distractors"] = json!([]);
        },
        &[(Check::DuplicateRow, Some("r9"))],
    );
    assert!(audit.findings[0].what.contains("row 5, with other answers"), "{:?}", audit.findings);
}

fn plain_more() -> Value {
    let text = format!("Nobody knows {}.", word(77777));
    json!({ "_id": "more", "input": text, "query": "Who?", "outputs": [word(77777)], "context": text, "language": "en" })
}

#[test]
fn copies_in_other_files() {
    let bench = Bench::new();
    let rows = plain();
    bench.write("set/a/one.jsonl", &lines(&rows));
    let more = plain_more();
    bench.write("set/b.jsonl", &lines(&[rows[3].clone(), rows[4].clone(), more]));
    bench.write("set/notes.txt", "not read");
    let found = audit(&bench.path("set"), "").unwrap();
    assert_eq!((found.files, found.rows), (2, 33));
    let all: Vec<_> = found.findings.iter().map(|f| (f.file.as_str(), f.row, f.check, f.what.as_str())).collect();
    let what = ["the same prompt as a/one.jsonl, row 4", "the same prompt as a/one.jsonl, row 5"];
    assert_eq!(
        all,
        [("b.jsonl", Some(1), Check::DuplicateRow, what[0]), ("b.jsonl", Some(2), Check::DuplicateRow, what[1])]
    );
    // A file that is another one all over is told of once.
    bench.write("set/b.jsonl", &lines(&rows[3..5]));
    let found = audit(&bench.path("set"), "").unwrap();
    let all: Vec<_> = found.findings.iter().map(|f| (f.file.as_str(), f.row, f.what.as_str())).collect();
    assert_eq!(all, [("b.jsonl", None, "all 2 prompts stand in a/one.jsonl too")]);
}

#[test]
fn near_copies() {
    let again = |rows: &mut Vec<Value>, edit: &dyn Fn(&str) -> String| {
        rows[20] = rows[6].clone();
        rows[20]["_id"] = json!("r20");
        for key in ["context", "input"] {
            rows[20][key] = json!(edit(&text(&rows[6], key)));
        }
    };
    let one_word = |text: &str| text.replacen("people", "persons", 1);
    let audit = fault(|rows| again(rows, &one_word), &[(Check::NearDuplicate, Some("r20"))]);
    assert!(audit.findings[0].what.contains("row 7"), "{:?}", audit.findings);
    // Half of another text, another question, or the gold elsewhere: another row.
    fault(|rows| again(rows, &|text| text.replacen("people talk", "nobody ever spoke a word", 30)), &[]);
    fault(
        |rows| {
            again(rows, &one_word);
            rows.iter_mut().for_each(|row| row["length"] = json!(137));
            rows[20]["length"] = json!(139);
        },
        &[],
    );
    fault(
        |rows| {
            again(rows, &one_word);
            rows[20]["query"] = json!("Which stone is it?");
        },
        &[],
    );
    fault(
        |rows| {
            let stone = format!("The famous stone of {} is called {}.\n", word(46), word(406));
            again(rows, &|text| stone.clone() + &text.replacen(&stone, "", 1));
        },
        &[],
    );
}

#[test]
fn answers_and_texts() {
    let stone = word(405);
    fault(|rows| rows[5]["outputs"] = json!(["nowhere"]), &[(Check::AnswerAbsent, Some("r5"))]);
    fault(|rows| rows[5]["outputs"] = json!([&stone[..stone.len() - 1]]), &[(Check::AnswerPart, Some("r5"))]);
    // Any accepted answer will do, in any case; an item of a list each.
    fault(|rows| rows[5]["outputs"] = json!(["nowhere", stone.to_uppercase()]), &[]);
    fault(|rows| rows[5]["outputs"] = json!(format!("{stone}, people")), &[]);
    fault(|rows| rows[5]["outputs"] = json!(["yes"]), &[]);
    fault(|rows| rows[5]["outputs"] = json!(["north, west", "first north"]), &[]);
    fault(|rows| rows[5]["outputs"] = json!(["12"]), &[]);
    fault(|rows| rows[5]["outputs"] = json!(["1234"]), &[(Check::AnswerAbsent, Some("r5"))]);
    fault(|rows| rows[5]["outputs"] = json!([" "]), &[(Check::BlankAnswer, Some("r5"))]);
    fault(|rows| rows[5]["query"] = json!("Is it named"), &[]);
    let asked = format!("Is {stone} the stone?");
    fault(|rows| rows[5]["query"] = json!(asked), &[(Check::AnswerInQuestion, Some("r5"))]);
    fault(|rows| rows[5]["query"] = json!("  "), &[(Check::BlankText, Some("r5"))]);
    let leak = format!("They say {stone} is heavy.");
    fault(|rows| rows[5]["distractors"][1] = json!(leak), &[(Check::DistractorAnswer, Some("r5"))]);
    fault(|rows| rows[5]["query"] = json!("What\u{ff1f}?"), &[(Check::DoubledMark, Some("r5"))]);
    fault(|rows| rows[5]["query"] = json!("Wh\u{200b}at?"), &[(Check::Invisible, Some("r5"))]);
}

#[test]
fn without_columns_of_their_own() {
    let mut rows = plain();
    for row in &mut rows {
        let (context, query) = (text(row, "context"), text(row, "query"));
        row["input"] = json!(format!("Answer in a word.\n<context>\n{context}</context>\n{query}"));
        for key in ["context", "query"] {
            row.as_object_mut().unwrap().remove(key);
        }
    }
    assert_eq!(named(&of(&rows)), []);
    // What stands around the context holds no answer.
    rows[8]["outputs"] = json!(["word"]);
    assert_eq!(named(&of(&rows)), [(Check::AnswerAbsent, Some("r8"))]);
}

#[test]
fn scripts() {
    let arabic = "\u{643}\u{62a}\u{628} ".repeat(40);
    let foreign = |rows: &mut Vec<Value>| {
        rows[11]["context"] = json!(format!("{arabic}{}", word(411)));
        rows[11]["distractors"] = json!([]);
    };
    let audit = fault(foreign, &[(Check::ScriptMix, Some("r11"))]);
    assert!(audit.findings[0].what.contains("Arabic"), "{:?}", audit.findings);
    let without_language = |rows: &mut Vec<Value>| {
        foreign(rows);
        rows.iter_mut().for_each(|row| drop(row.as_object_mut().unwrap().remove("language")));
    };
    fault(without_language, &[(Check::ScriptMix, Some("r11"))]);
    let known = |rows: &mut Vec<Value>| {
        foreign(rows);
        rows[11]["language"] = json!("ar");
    };
    fault(known, &[]);
}

#[test]
fn places_of_the_gold() {
    let same_place = |rows: &mut Vec<Value>| {
        for (n, row) in rows.iter_mut().enumerate() {
            let gold = format!("The famous stone of {} is called {}.\n", word(40 + n), word(400 + n));
            row["context"] = json!(gold.clone() + &text(row, "context").replacen(&gold, "", 1));
        }
    };
    let audit = fault(same_place, &[(Check::PositionFixed, None)]);
    assert!(audit.findings[0].what.contains("rows the answer stands near 1% of the context"), "{:?}", audit.findings);
    // A column says where it is, and is believed.
    fault(
        |rows| {
            same_place(rows);
            rows.iter_mut().enumerate().for_each(|(n, row)| row["depth"] = json!(n % 5));
        },
        &[],
    );
    fault(|rows| rows.iter_mut().for_each(|row| row["depth"] = json!(50)), &[(Check::PositionFixed, None)]);

    // A file a depth is a design.
    let bench = Bench::new();
    for (file, depth) in [("a", 10), ("b", 90)] {
        let mut rows = plain();
        rows.iter_mut().for_each(|row| row["depth"] = json!(depth));
        rows.iter_mut().for_each(|row| row["input"] = json!(format!("{depth} {}", text(row, "input"))));
        bench.write(&format!("set/{file}.jsonl"), &lines(&rows));
    }
    assert_eq!(named(&audit_of(&bench)), []);
}

fn audit_of(bench: &Bench) -> Audit {
    audit(&bench.path("set"), "").unwrap()
}

#[test]
fn balance_of_labels() {
    let with = |labels: &'static [&'static str]| {
        move |rows: &mut Vec<Value>| {
            rows.iter_mut().enumerate().for_each(|(n, row)| row["outputs"] = json!([labels[n % labels.len()]]))
        }
    };
    fault(with(&["yes", "no"]), &[]);
    fault(with(&["yes", "no", "maybe", "no", "yes"]), &[]);
    let audit = fault(with(&["Yes"]), &[(Check::LabelsSkewed, None)]);
    assert_eq!(audit.findings[0].what, "stones: all 30 rows have the answer \u{201c}yes\u{201d}");
    let audit = fault(with(&["no", "no", "no", "no", "yes"]), &[(Check::LabelsSkewed, None)]);
    assert_eq!(audit.findings[0].what, "stones: 24 of 30 rows have the answer \u{201c}no\u{201d}, of 2 answers");
}

#[test]
fn lengths() {
    let count = tokenizer().count(good()[0]["input"].as_str().unwrap()) as u64;
    assert!((600..800).contains(&count), "{count}");
    let bench = Bench::new();
    let path = bench.write("set.jsonl", &lines(&good()[..3]));
    let with = |nominal| set::audit(&path, &Map::parse("").unwrap(), &tokenizer(), Nominal::exactly(nominal)).unwrap();
    let checks = |audit: &Audit| audit.findings.iter().map(|f| f.check).collect::<Vec<_>>();
    assert_eq!(checks(&with(count + 40)), []);
    assert_eq!(checks(&with(count / 2)), [Check::OverLength; 3]);
    assert_eq!(checks(&with(count * 2)), [Check::ShortLength; 3]);
    assert!(with(count / 2).findings[0].what.starts_with(&format!("{count} tokens of o200k_base")));
    // A column of lengths; one of counts that nobody aims at is left alone unless asked for.
    let mut rows = good();
    rows.truncate(3);
    rows.iter_mut().for_each(|row| row["length"] = json!(1000 * (count / 1000 + 1) * 2));
    let path = bench.write("long.jsonl", &lines(&rows));
    assert_eq!(checks(&audit(&path, "").unwrap()), [Check::ShortLength; 3]);
    rows.iter_mut().for_each(|row| row["length"] = json!(137));
    let path = bench.write("words.jsonl", &lines(&rows));
    let found = audit(&path, "").unwrap();
    assert!(found.findings.is_empty() && found.notes.iter().any(|note| note.contains("--map length=COLUMN")));
    assert_eq!(checks(&audit(&path, "length=length").unwrap()), [Check::OverLength; 3]);
}
