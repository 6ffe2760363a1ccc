//! Scores of model output: one table of cases for the rule in Rust and in Python, the papers' tables, and the command.

#[path = "score/command.rs"]
mod command;
#[path = "score/metrics.rs"]
mod metrics;

use nihbuild::family::reasoning::answers;
use nihbuild::language::{ANIMALS, COLOURS, Kind, Language, MOTIVES, OBJECTS, PLACES, Pack, normalize};
use nihbuild::score::{Gold, PYTHON, Rule, Scorer, Verdict, Words};
use nihbuild::seed::Seed;
use nihbuild::story::{Answer, Direction, Way};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

fn packs() -> BTreeMap<String, Pack> {
    Language::all().map(|l| (l.code().to_owned(), l.pack().unwrap())).collect()
}

fn answer(text: &str, task: &str) -> Answer {
    let at = |ids: &[&str], name: &str| ids.iter().position(|id| *id == name).map(|n| n as u8);
    let objects = |text: &str| {
        text.split('+')
            .map(|name| 1u64 << at(&OBJECTS, name).unwrap_or_else(|| panic!("no object {name}")))
            .sum::<u64>()
    };
    match (task, text) {
        (_, "yes") => Answer::Yes,
        (_, "no") => Answer::No,
        (_, "maybe") => Answer::Maybe,
        ("qa7", n) => Answer::Count(n.parse().unwrap()),
        ("qa8", "nothing") => Answer::Objects(0),
        ("qa8", list) => Answer::Objects(objects(list)),
        ("qa19", way) => {
            let step = |name: &str| match name {
                "north" => Direction::North,
                "south" => Direction::South,
                "east" => Direction::East,
                "west" => Direction::West,
                other => panic!("no direction {other}"),
            };
            Answer::Path(Way::of(&way.split(',').map(step).collect::<Vec<_>>()).unwrap())
        }
        (_, name) => {
            if let Some(n) = name.strip_prefix("actor:") {
                return Answer::Actor(n.parse().unwrap());
            }
            let kinds: [(Kind, &[&str]); 5] = [
                (Kind::Place, &PLACES),
                (Kind::Object, &OBJECTS),
                (Kind::Animal, &ANIMALS),
                (Kind::Colour, &COLOURS),
                (Kind::Motive, &MOTIVES),
            ];
            let found = kinds.iter().find_map(|(kind, ids)| Some(Answer::entity(*kind, at(ids, name)?)));
            found.unwrap_or_else(|| panic!("no entity {name}"))
        }
    }
}

/// The row of a story, as a release has it: `zh qa1 garden`, with a strategy behind it if it is not zero_shot.
fn story(text: &str, question: &str, packs: &BTreeMap<String, Pack>) -> Gold {
    let words: Vec<&str> = text.split(' ').collect();
    let [language, task, gold] = words[..3] else { panic!("{text}") };
    let strategy = words.get(3).copied().unwrap_or("zero_shot");
    let answer = answer(gold, task);
    let own = &packs[language];
    let (mut golds, mut variants) = answers(answer, if strategy == "translation" { &packs["en"] } else { own });
    if let (Answer::Actor(n), "translation") = (answer, strategy) {
        let (first, others) = own.latin(n).split_first().unwrap();
        golds = vec![first.clone()];
        variants = others.to_vec();
        variants.push(own.citation(Kind::Actor, n).to_owned());
    }
    Gold {
        family: "reasoning".to_owned(),
        source_task: task.to_owned(),
        language: language.to_owned(),
        question_language: language.to_owned(),
        strategy: strategy.to_owned(),
        question: question.to_owned(),
        answers: golds,
        answer_variants: variants,
        answers_by_language: packs.iter().map(|(code, pack)| (code.clone(), answers(answer, pack).0)).collect(),
        ..Gold::default()
    }
}

fn row_of(json: &Value) -> Gold {
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    let texts = |v: &Value| {
        v.as_array().map(|a| a.iter().map(|t| t.as_str().unwrap().to_owned()).collect()).unwrap_or_default()
    };
    Gold {
        family: text("family"),
        source_task: text("source_task"),
        language: text("language"),
        question_language: text("question_language"),
        strategy: "zero_shot".to_owned(),
        prompt_kind: text("prompt_kind"),
        question: text("question"),
        answers: texts(&json["answers"]),
        answer_variants: texts(&json["answer_variants"]),
        answers_by_language: json["answers_by_language"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| (pair[0].as_str().unwrap().to_owned(), texts(&pair[1])))
            .collect(),
        expected: text("expected"),
    }
}

/// A row as Parquet readers give it to Python.
fn dict(gold: &Gold) -> Value {
    let by: Vec<Value> = gold.answers_by_language.iter().map(|(l, a)| json!({"language": l, "answers": a})).collect();
    let maybe = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
    json!({
        "family": gold.family, "source_task": gold.source_task, "language": gold.language,
        "question_language": gold.question_language, "strategy": gold.strategy, "prompt_kind": maybe(&gold.prompt_kind),
        "question": gold.question, "answers": gold.answers, "answer_variants": gold.answer_variants,
        "answers_by_language": by, "expected": maybe(&gold.expected), "task": null,
    })
}

struct Case {
    row: usize,
    output: String,
    english: Option<String>,
    want: Option<Verdict>,
}

fn table() -> (Vec<Gold>, Vec<Case>) {
    let packs = packs();
    let groups: Vec<Value> = serde_json::from_str(include_str!("score/cases.json")).unwrap();
    let (mut rows, mut cases) = (Vec::new(), Vec::new());
    for group in groups {
        let question = group["question"].as_str().unwrap_or_default();
        let row = match group["row"].as_str() {
            Some(text) => story(text, question, &packs),
            None => row_of(&group["row"]),
        };
        for case in group["cases"].as_array().unwrap() {
            let is = |n: usize| Some(case[n].as_i64().unwrap() == 1);
            let want = match row.prompt_kind.as_str() {
                "existence" => {
                    Verdict { existence: is(if case.get(3).is_some() { 2 } else { 1 }), ..Verdict::default() }
                }
                _ => Verdict { exact: is(1), any: is(2), existence: None },
            };
            cases.push(Case {
                row: rows.len(),
                output: case[0].as_str().unwrap().to_owned(),
                english: case[3].as_str().map(str::to_owned),
                want: Some(want),
            });
        }
        rows.push(row);
    }
    (rows, cases)
}

fn python(words: &Words, rule: Rule, rows: &[Gold], cases: &[Case], texts: &[String]) -> (Vec<Verdict>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("nihbuild_score.py"), PYTHON).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/score/run.py");
    let given = json!({
        "words": words, "rule": rule.name(), "rows": rows.iter().map(dict).collect::<Vec<_>>(), "texts": texts,
        "cases": cases.iter().map(|c| json!([c.row, c.output, c.english])).collect::<Vec<_>>(),
    });
    let mut child = Command::new("python3")
        .args(["-B", script])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is there");
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(given.to_string().as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "the Python port fails");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = said["results"].as_array().unwrap().iter().map(|one| {
        let of = |key: &str| one.get(key).map(|v| v.as_i64().unwrap() == 1);
        Verdict { exact: of("exact"), any: of("any"), existence: of("existence") }
    });
    let normal = said["normal"].as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect();
    (results.collect(), normal)
}

/// Scores cases in both programs; lists where they differ from each other or from what is wanted.
fn differences(rule: Rule, rows: &[Gold], cases: &[Case]) -> Vec<String> {
    let words = Words::of_packs(&packs()).unwrap();
    let scorer = Scorer::new(words.clone(), rule).unwrap();
    let (theirs, _) = python(&words, rule, rows, cases, &[]);
    assert_eq!(theirs.len(), cases.len());
    let mut all = Vec::new();
    for (case, theirs) in cases.iter().zip(theirs) {
        let row = &rows[case.row];
        let ours = scorer.score(&case.output, row, case.english.as_deref()).unwrap();
        let what = format!("{} {} {:?}: {:?}", row.language, row.source_task, row.answers, case.output);
        if let Some(want) = case.want.filter(|want| *want != ours) {
            all.push(format!("{what} is {ours:?}, expected {want:?}"));
        }
        if theirs != ours {
            all.push(format!("{what} is {ours:?} in Rust and {theirs:?} in Python"));
        }
    }
    all
}

#[test]
fn cases_in_rust_and_python() {
    let (rows, cases) = table();
    assert!(cases.len() >= 600);
    for language in Language::all() {
        assert!(rows.iter().filter(|row| row.language == language.code()).count() >= 4, "{language} has too few rows");
    }
    let differ = differences(Rule::Sound, &rows, &cases);
    assert!(differ.is_empty(), "{} of {}:\n{}", differ.len(), cases.len(), differ.join("\n"));
}
