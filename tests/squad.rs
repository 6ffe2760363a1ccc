//! Questions on passages: both layouts, real and damaged files, and the joins by id.

use crate::support::real_data;
use nihbuild::source::squad::{self, File, Item};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const LANGUAGES: [&str; 7] = ["ar", "de", "en", "es", "hi", "vi", "zh"];

fn load(path: &Path) -> File {
    squad::read(&path.file_name().unwrap().to_string_lossy(), &std::fs::read(path).unwrap()).unwrap()
}

fn load_all(path: impl Fn(&str) -> std::path::PathBuf) -> Vec<(String, File)> {
    LANGUAGES.map(|code| (code.to_owned(), load(&path(code)))).into()
}

fn read(value: &Value) -> File {
    squad::read("test.json", value.to_string().as_bytes()).unwrap()
}

/// Id, context, question, and offsets with answers.
type Row<'a> = (&'a str, &'a str, &'a str, &'a [(i64, &'a str)]);

/// A file of the flattened layout.
fn flat(rows: &[Row]) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|(id, context, question, answers)| {
            let (starts, texts): (Vec<i64>, Vec<&str>) = answers.iter().copied().unzip();
            json!({"id": id, "title": "t", "context": context, "question": question, "answers": {"answer_start": starts, "text": texts}})
        })
        .collect();
    json!({"data": rows, "version": "x"})
}

/// Every answer is the text of its span, and nothing that cleaning removes is left.
#[track_caller]
fn check(item: &Item) {
    for (text, span) in &item.answers {
        assert_eq!(&item.context[span.clone()], text, "{}", item.id);
    }
    assert!(!item.answers.is_empty());
    for text in [&item.context, &item.question] {
        assert_eq!(text.trim(), text, "{}", item.id);
        assert!(!text.contains(['\n', '\t', '\u{200B}', '\u{FEFF}', '\u{200F}', '\u{200E}']), "{}", item.id);
    }
}

#[test]
fn mlqa_as_published() {
    let Some(data) = real_data("mlqa_as_published") else { return };
    let files = load_all(|code| data.join(format!("mlqa/mlqa-dev-{code}.json")));
    let counts: Vec<usize> = files.iter().map(|(_, file)| file.items.len()).collect();
    assert_eq!(counts, [517, 512, 1148, 500, 507, 511, 504]);
    for (code, file) in &files {
        assert_eq!(file.dropped, [], "{code}");
        file.items.iter().for_each(check);
        let paragraphs = squad::paragraphs(file);
        assert!(file.items.iter().all(|item| paragraphs[item.paragraph as usize] == item.context), "{code}");
    }
    assert_eq!(squad::paragraphs(&files[2].1).len(), 978);

    let joined = squad::join(&files).unwrap();
    assert_eq!(joined.counts, BTreeMap::from([(2, 65), (3, 263), (4, 820)]));
    assert!(joined.ids.is_sorted_by(|a, b| a.id < b.id));
    assert!(joined.ids.iter().all(|question| question.by_language.contains_key("en")));
    let both = |a: &str, b: &str| {
        joined.ids.iter().filter(|q| q.by_language.contains_key(a) && q.by_language.contains_key(b)).count()
    };
    assert_eq!((both("ar", "de"), both("hi", "zh")), (207, 189));
    // No question is in all seven, so no passage is parallel in all seven.
    assert_eq!(squad::parallel_paragraphs(&files), []);
}

#[test]
fn answers_with_zero_width_marks() {
    let Some(data) = real_data("answers_with_zero_width_marks") else { return };
    let path = data.join("mlqa/mlqa-dev-es.json");
    let raw: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let file = load(&path);
    let (mut contexts, mut answers) = (0, 0);
    for (raw, item) in raw["data"].as_array().unwrap().iter().zip(&file.items) {
        let answer = raw["answers"]["text"][0].as_str().unwrap();
        contexts += usize::from(raw["context"].as_str().unwrap().contains('\u{200B}'));
        answers += usize::from(answer.contains('\u{200B}'));
        assert_eq!(item.id, raw["id"].as_str().unwrap());
        assert_eq!(item.answers[0].0, answer.replace('\u{200B}', "").trim());
        // The span is the one the offset means: as many kept characters stand before it.
        let start = raw["answers"]["answer_start"][0].as_u64().unwrap() as usize;
        let before: String = raw["context"].as_str().unwrap().chars().take(start).collect();
        let before = before.replace('\u{200B}', "");
        assert_eq!(item.context[..item.answers[0].1.start].trim(), before.trim(), "{}", item.id);
    }
    assert_eq!((contexts, answers), (225, 12));
}

#[test]
fn questions_with_spaces_at_their_edges() {
    let Some(data) = real_data("questions_with_spaces_at_their_edges") else { return };
    let path = data.join("mlqa/mlqa-dev-vi.json");
    let raw: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let file = load(&path);
    let rows = raw["data"].as_array().unwrap().iter().map(|row| row["question"].as_str().unwrap());
    let changed = rows.clone().zip(&file.items).filter(|(raw, item)| *raw != item.question).count();
    assert_eq!(changed, 119);
    assert!(rows.zip(&file.items).all(|(raw, item)| raw.trim() == item.question));
}

#[test]
fn the_nested_layout() {
    let Some(data) = real_data("the_nested_layout") else { return };
    for (code, file) in load_all(|code| data.join(format!("mlqa/nested_sample/test-{code}.json"))) {
        assert!((1..=2).contains(&file.items.len()), "{code}");
        assert_eq!(file.dropped, []);
        file.items.iter().for_each(check);
    }
}

#[test]
fn xquad_is_parallel() {
    let Some(data) = real_data("xquad_is_parallel") else { return };
    let files = load_all(|code| data.join(format!("xquad/xquad.{code}.json")));
    for (code, file) in &files {
        assert_eq!((file.items.len(), file.dropped.len()), (1190, 0), "{code}");
        assert_eq!(squad::paragraphs(file).len(), 240, "{code}");
        file.items.iter().for_each(check);
    }
    // What is damaged in the files is named, not hidden: dashes and Vietnamese names read as Windows-1252.
    let damaged: Vec<usize> = files.iter().map(|(_, file)| file.suspicious.len()).collect();
    assert_eq!(damaged, [35, 0, 0, 0, 0, 5, 0]);
    assert_eq!(squad::join(&files).unwrap().counts, BTreeMap::from([(7, 1190)]));
    let parallel = squad::parallel_paragraphs(&files);
    assert_eq!(parallel.len(), 240);
    assert_eq!(parallel[0].id, files[0].1.items[0].id);
    for passage in &parallel {
        assert_eq!(passage.by_language.len(), 7);
        for (code, file) in &files {
            let item = file.items.iter().find(|item| item.id == passage.id).unwrap();
            assert_eq!(item.context, passage.by_language[code]);
        }
    }
    // The order and the set do not depend on a refused question.
    let mut fewer = files.clone();
    fewer[3].1.items.remove(0);
    assert_eq!(squad::parallel_paragraphs(&fewer), parallel);
    assert_eq!(squad::join(&fewer).unwrap().counts, BTreeMap::from([(6, 1), (7, 1189)]));
}

#[test]
fn both_layouts_say_the_same() {
    let nested = json!({"version": 1.1, "more": [null], "data": [{"title": " T\n", "paragraphs": [
        {"context": " Ab cd.", "document_id": 3, "qas": [
            {"id": "1", "question": "Who?", "answers": [{"answer_start": 1, "text": "Ab"}], "is_impossible": false},
            {"id": "2", "question": "What?", "answers": [{"answer_start": 4, "text": "cd"}], "plausible": {}}]}]}]});
    let flat = json!({"version": "1.1", "data": [
        {"id": "1", "title": " T\n", "context": " Ab cd.", "question": "Who?", "answers": {"answer_start": [1], "text": ["Ab"]}},
        {"id": "2", "title": " T\n", "context": " Ab cd.", "question": "What?", "answers": {"answer_start": [4], "text": ["cd"]}}]});
    let file = read(&nested);
    assert_eq!(file, read(&flat));
    assert_eq!(file.items[1].answers, [("cd".to_owned(), 3..5)]);
    assert_eq!((file.items[1].title.as_str(), file.items[1].paragraph), ("T", 0));
    let with_mark = [b"\xEF\xBB\xBF".as_slice(), flat.to_string().as_bytes()].concat();
    assert_eq!(squad::read("test.json", &with_mark).unwrap(), file);
}

#[test]
fn offsets_count_characters_and_are_never_repaired() {
    let context = "Đường phố 中文 ở\u{200B} Hà Nội, Hà Nội.";
    let at = |text: &str| context[..context.find(text).unwrap()].chars().count() as i64;
    let (right, bytes) = (at("Hà"), context.find("Hà").unwrap() as i64);
    let file = read(&flat(&[
        ("right", context, "Đâu?", &[(right, "Hà Nội")]),
        ("bytes", context, "Đâu?", &[(bytes, "Hà Nội")]),
        ("before", context, "Đâu?", &[(right - 1, "Hà Nội")]),
        ("after", context, "Đâu?", &[(right + 1, "Hà Nội")]),
        ("negative", context, "Đâu?", &[(-1, "Hà Nội")]),
        ("beyond", context, "Đâu?", &[(i64::MAX, "Hà Nội")]),
        // Found once elsewhere, and still refused.
        ("elsewhere", context, "Gì?", &[(0, "中文")]),
        // The mark in the passage, the answer without it; white space around the answer.
        ("cleaned", context, "Gì?", &[(at("ở"), "ở Hà")]),
        ("edges", context, "Gì?", &[(at(" 中文"), " 中文 ")]),
        ("one of two", context, "Đâu?", &[(right, "Hà Nội"), (right + 1, "Hà Nội")]),
    ]));
    let kept: Vec<&str> = file.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(kept, ["right", "cleaned", "edges"]);
    file.items.iter().for_each(check);
    assert_eq!(file.items[1].answers[0].0, "ở Hà");
    let refused: Vec<&str> = file.dropped.iter().map(|dropped| dropped.id.as_str()).collect();
    assert_eq!(refused, ["bytes", "before", "after", "negative", "beyond", "elsewhere", "one of two"]);
    assert_eq!(file.dropped_by_reason(), BTreeMap::from([("answer not at its offset", 7)]));
    assert!(file.dropped[2].detail.contains("\"à Nội,\""), "{}", file.dropped[2].detail);
}

#[test]
fn refused_with_a_reason() {
    let mut value = flat(&[
        ("good", "Ab cd.", "Who?", &[(0, "Ab"), (0, "Ab"), (3, "cd")]),
        ("none", "Ab cd.", "Who?", &[]),
        ("blank answer", "Ab cd.", "Who?", &[(2, " ")]),
        ("blank question", "Ab cd.", "\u{200B} \n", &[(0, "Ab")]),
        ("blank context", "\u{FEFF} ", "Who?", &[(0, "Ab")]),
        ("impossible", "Ab cd.", "Who?", &[(0, "Ab")]),
        ("good", "Ab cd.", "Who?", &[(0, "Ab"), (0, "Ab"), (3, "cd")]),
        ("twice", "Ab cd.", "Who?", &[(0, "Ab")]),
        ("twice", "Ab cd.", "What?", &[(3, "cd")]),
        (" ", "Ef.", "Who?", &[(0, "Ef")]),
    ]);
    value["data"][5]["is_impossible"] = json!(true);
    let file = read(&value);
    assert_eq!(file.items.len(), 1);
    assert_eq!(file.items[0].answers, [("Ab".to_owned(), 0..2), ("cd".to_owned(), 3..5)]);
    let reasons = [
        ("blank answer", 1),
        ("blank context", 1),
        ("blank id", 1),
        ("blank question", 1),
        ("duplicate id", 2),
        ("marked as not answerable", 1),
        ("no answer", 1),
        ("repeated", 1),
    ];
    assert_eq!(file.dropped_by_reason(), BTreeMap::from(reasons));
    assert_eq!(squad::paragraphs(&file), ["Ab cd.", "Ef."]);
}

#[test]
fn two_files_of_a_language_must_not_share_ids() {
    let a = read(&flat(&[("1", "Ab.", "Who?", &[(0, "Ab")])]));
    let b = read(&flat(&[("2", "Ab.", "Who?", &[(0, "Ab")])]));
    let of = |files: &[&File]| files.iter().map(|file| ("xx".to_owned(), (*file).clone())).collect::<Vec<_>>();
    assert_eq!(squad::join(&of(&[&a, &b])).unwrap().counts, BTreeMap::from([(1, 2)]));
    let said = squad::join(&of(&[&a, &b, &a])).unwrap_err().to_string();
    assert!(said.contains("\"1\"") && said.contains("xx") && said.contains("test.json"), "{said}");
    assert_eq!(squad::join(&[]).unwrap().ids, []);
    assert_eq!(squad::parallel_paragraphs(&[]), []);
}

#[test]
fn passages_with_other_questions_elsewhere_are_not_parallel() {
    let en = read(&flat(&[
        ("1", "One.", "Who?", &[(0, "One")]),
        ("2", "One.", "Who?", &[(0, "One")]),
        ("3", "Two.", "Who?", &[(0, "Two")]),
        ("5", "Six.", "Who?", &[(0, "Six")]),
    ]));
    // Here the questions 1 and 2 are about two passages; 4 is in no other language.
    let de = read(&flat(&[
        ("1", "Eins.", "Wer?", &[(0, "Eins")]),
        ("2", "Elf.", "Wer?", &[(0, "Elf")]),
        ("4", "Zwei.", "Wer?", &[(0, "Zwei")]),
        ("3", "Zwei.", "Wer?", &[(0, "falsch")]),
    ]));
    assert_eq!(de.items.len(), 3);
    let parallel = squad::parallel_paragraphs(&[("en".to_owned(), en), ("de".to_owned(), de)]);
    let texts: Vec<(&str, &str, &str)> =
        parallel.iter().map(|p| (p.id.as_str(), p.by_language["en"].as_str(), p.by_language["de"].as_str())).collect();
    assert_eq!(texts, [("3", "Two.", "Zwei.")]);
}

#[test]
fn faults_of_the_file_say_where() {
    let good = serde_json::to_string_pretty(&flat(&[("1", "Ab.", "Who?", &[(0, "Ab")])])).unwrap();
    for (text, said) in [
        (good[..good.len() / 2].to_owned(), vec!["truncated", "test.json, line", "download it again"]),
        (String::new(), vec!["truncated", "line 1, column 0"]),
        ("[1, 2]".to_owned(), vec!["not a file in SQuAD's format", "line 1", "expected {\"data\""]),
        ("{\"rows\": []}".to_owned(), vec!["missing field `data`", "line 1"]),
        ("{\"data\": []}".to_owned(), vec!["test.json holds no question"]),
        ("{\"data\": [{\"title\": \"t\"}]}".to_owned(), vec!["neither `paragraphs` nor `context`", "line 1"]),
        (good.replace("\"id\"", "\"di\""), vec!["no `id`", "test.json, line"]),
        (good.replace("\"Ab\"\n", "\"Ab\", \"b\"\n"), vec!["1 `answer_start` and 2 `text`", "line"]),
        (good.replace("\"Who?\"", "17"), vec!["expected a string", "line"]),
        (good.replace("Ab.", "Ab\\ud800."), vec!["hex escape", "line"]),
        (good.replace("Ab.", "Cd."), vec!["no sound question", "\"1\"", "answer not at its offset"]),
        ("1\tpassage\n".to_owned(), vec!["not a file in SQuAD's format", "line 1"]),
        ("[".repeat(100_000), vec!["test.json, line 1"]),
    ] {
        let found = squad::read("test.json", text.as_bytes()).unwrap_err().to_string();
        for word in said {
            assert!(found.contains(word), "expected {word:?} in: {found}");
        }
    }
    let found = squad::read("test.json", b"{\"data\": [{\"id\": \"\xFF\"}]}").unwrap_err().to_string();
    assert!(found.contains("unicode") && found.contains("line 1"), "{found}");
}
