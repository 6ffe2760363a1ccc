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

/// Outputs as models garble them: cut, repeated, in other letters and digits, with words of any language in between.
fn mutated(rows: &[Gold], cases: &[Case], n: usize) -> Vec<Case> {
    const BITS: [&str; 36] = [
        " ",
        "\n",
        ", ",
        ".",
        "?",
        ":",
        " or ",
        " and ",
        " not ",
        "\"",
        "{\"answer\": \"",
        "\"}",
        "**",
        "```",
        "1",
        "2",
        "٣",
        "५",
        "no",
        "yes",
        "不",
        "或",
        "、",
        "。",
        " y ",
        " und ",
        " và ",
        " या ",
        "و",
        "ال",
        "\u{200b}",
        "\u{301}",
        "<think>",
        "</think>",
        "answer is ",
        "\\u00e9",
    ];
    let mut rng = Seed::new("score test").derive("mutations", "");
    let mut made = Vec::new();
    for _ in 0..n {
        let case = &cases[rng.below(cases.len())];
        let mut text: Vec<char> = case.output.chars().collect();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(text.len() + 1);
            match rng.below(6) {
                0 if at < text.len() => {
                    text.remove(at);
                }
                1 => text.truncate(at),
                2 => {
                    let other: Vec<char> = cases[rng.below(cases.len())].output.chars().collect();
                    text.splice(at..at, other);
                }
                3 if at + 1 < text.len() => text.swap(at, at + 1),
                4 => text = text.iter().flat_map(|c| c.to_uppercase()).collect(),
                _ => {
                    text.splice(at..at, rng.pick(&BITS).chars());
                }
            }
        }
        // Half of them as an answer to any row.
        let row = if rng.chance(1, 2) { case.row } else { rng.below(rows.len()) };
        let english = rng.chance(1, 10).then(|| cases[rng.below(cases.len())].output.clone());
        made.push(Case { row, output: text.into_iter().collect(), english, want: None });
    }
    made
}

#[test]
fn mutated_outputs_in_rust_and_python() {
    let (rows, cases) = table();
    let made = mutated(&rows, &cases, 4000);
    let differ = differences(Rule::Sound, &rows, &made);
    assert!(differ.is_empty(), "{} of {}:\n{}", differ.len(), made.len(), differ[..differ.len().min(40)].join("\n"));
    // They are not all wrong, and not all right.
    let scorer = Scorer::new(Words::of_packs(&packs()).unwrap(), Rule::Sound).unwrap();
    let right = made.iter().filter(|c| {
        let v = scorer.score(&c.output, &rows[c.row], None).unwrap();
        v.exact.or(v.existence) == Some(true)
    });
    let right = right.count();
    assert!((400..3600).contains(&right), "{right} are right");
}

#[test]
fn other_rules_in_rust_and_python() {
    let (rows, mut cases) = table();
    cases.iter_mut().for_each(|case| case.want = None);
    for rule in [Rule::Contains, Rule::Released] {
        let differ = differences(rule, &rows, &cases);
        assert!(differ.is_empty(), "{}", differ.join("\n"));
    }
}

#[test]
fn normal_form_in_python() {
    let (rows, cases) = table();
    let mut texts: Vec<String> = mutated(&rows, &cases, 1500).into_iter().map(|c| c.output).collect();
    texts.extend(
        [
            "1,000 1.000 1'000 1,00,000 1.234,5 12.05.1990 3.14 0.5 007,000",
            "x² ½ ⑤5 5²",
            "hoà hòa thuý thúy quý",
            "İstanbul ILIK ıi",
            "Straße STRASSE ẞ",
            "किताबें हिन्दी हिंदी गयी गई क़लम",
            "أَهْلًا وسهلاً مسؤول ى ة",
            "中 文 「引」 ・ １２％ 5 %",
            "a\u{a0}b 1\u{a0}000 1\u{202f}000\u{202f}000",
        ]
        .map(str::to_owned),
    );
    // Every letter, mark and digit of the languages' scripts.
    for block in [
        0x20..0x250u32,
        0x300..0x370,
        0x600..0x700,
        0x900..0x980,
        0x1e00..0x1f00,
        0x2000..0x2070,
        0x3000..0x3100,
        0x4e00..0x4f00,
        0xff00..0xff70,
    ] {
        texts.extend(block.filter_map(char::from_u32).map(|c| format!("a{c}b {c} 1{c}2")));
    }
    let words = Words::of_packs(&packs()).unwrap();
    let (_, theirs) = python(&words, Rule::Sound, &rows, &[], &texts);
    let wrong: Vec<String> = texts
        .iter()
        .zip(&theirs)
        .filter(|(t, n)| normalize(t) != **n)
        .map(|(t, n)| format!("{t:?}: {:?} and {n:?}", normalize(t)))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), texts.len(), wrong[..wrong.len().min(30)].join("\n"));
}

/// What the released scorer gets wrong, and ours does not.
#[test]
fn faults_of_the_released_rule() {
    let packs = packs();
    let words = Words::of_packs(&packs).unwrap();
    let by = |rule| Scorer::new(words.clone(), rule).unwrap();
    let (ours, released) = (by(Rule::Sound), by(Rule::Released));
    let exact =
        |scorer: &Scorer, row: &str, output: &str| scorer.score(output, &story(row, "", &packs), None).unwrap().exact;
    for (row, output, right) in [
        ("en qa6 no", "I don't know", false),
        ("en qa7 1", "none", false),
        ("en qa7 1", "1", true),
        ("en qa8 apple+football", "football,apple", true),
        ("en qa8 apple+football", "football, apple", true),
    ] {
        assert_eq!(exact(&ours, row, output), Some(right), "{row}: {output}");
        assert_eq!(exact(&released, row, output), Some(!right), "{row}: {output}");
    }
    // A blank target is in any text.
    let blank = Gold { answers: vec![String::new()], ..story("de qa1 kitchen", "", &packs) };
    assert_eq!(ours.score("Unsinn", &blank, None).unwrap().exact, Some(false));
    assert_eq!(released.score("Unsinn", &blank, None).unwrap().exact, Some(true));
}

/// A language without words of ours is scored by its pack.
#[test]
fn a_guest_by_its_pack_alone() {
    let text = "es".parse::<Language>().unwrap().file().replacen("code = \"es\"", "code = \"ca\"", 1);
    let mut packs = BTreeMap::from([("ca".to_owned(), Pack::parse(&text).unwrap())]);
    packs.insert("en".to_owned(), "en".parse::<Language>().unwrap().pack().unwrap());
    let scorer = Scorer::new(Words::of_packs(&packs).unwrap(), Rule::Sound).unwrap();
    let exact = |row: &str, output: &str| scorer.score(output, &story(row, "", &packs), None).unwrap().exact.unwrap();
    for (row, output) in [
        ("ca qa1 garden", "{\"answer\": \"el jardín\"}"),
        ("ca qa6 no", "No."),
        ("ca qa7 2", "dos"),
        ("ca qa7 2", "2"),
        ("ca qa8 apple+milk", "leche y manzana"),
        ("ca qa19 north,west", "al norte, luego al oeste"),
    ] {
        assert!(exact(row, output), "{row}: {output}");
    }
    for (row, output) in
        [("ca qa1 garden", "cocina"), ("ca qa6 no", "sí"), ("ca qa7 2", "3"), ("ca qa8 apple+milk", "leche")]
    {
        assert!(!exact(row, output), "{row}: {output}");
    }
}

/// The words of a language say one thing each.
#[test]
fn words_are_at_one() {
    for (code, words) in Words::of_packs(&packs()).unwrap().languages {
        let labels = [&words.yes, &words.no, &words.maybe];
        for (n, list) in labels.iter().enumerate() {
            for word in list.iter() {
                assert!(labels[n + 1..].iter().all(|other| !other.contains(word)), "{code}: {word} is two labels");
            }
        }
        for (n, forms) in words.count.iter().enumerate() {
            for form in forms {
                assert!(
                    words.count[n + 1..].iter().all(|other| !other.contains(form)),
                    "{code}: {form} is two numbers"
                );
                assert!(!words.more_numbers.contains(form), "{code}: {form} is two numbers");
            }
        }
        for word in words.weak.iter() {
            assert!(labels.iter().any(|list| list.contains(word)), "{code}: {word} is weak and no label");
        }
        for word in &words.weak_numbers {
            assert!(words.count.iter().any(|forms| forms.contains(word)), "{code}: {word} is weak and no number");
        }
        for word in words.refusals.iter() {
            assert!(!labels.iter().any(|list| list.contains(word)), "{code}: {word} is an answer");
        }
        assert!(
            words.refusals.len() >= 30 && !words.negations.is_empty() && !words.or.is_empty(),
            "{code} has too few words"
        );
    }
}
