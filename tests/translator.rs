//! Services asked for text: servers and programs that refuse, drop, mangle and lie; and the memory that never asks twice.

use crate::support::{Bench, refused};
use nihbuild::hash::Digest;
use nihbuild::seed::Seed;
use nihbuild::translator::memory::Memory;
use nihbuild::translator::placeholder::{self, Gender, Name};
use nihbuild::translator::{Ask, ENGINES, EngineName, Estimate, Kind, Settings, Translator, quality, review};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[track_caller]
fn open(bench: &Bench, settings: &Settings) -> Translator {
    Translator::open(settings.clone(), &bench.path("store"), &[], false).unwrap_or_else(|e| panic!("{e}"))
}

fn digest_of(settings: &Settings) -> Digest {
    nihbuild::translator::pin::parameters_digest(&settings.parameters())
}

fn journal(bench: &Bench, settings: &Settings) -> PathBuf {
    bench.path("store").join("translate").join(format!("{}.jsonl", digest_of(settings)))
}

/// A program of the shell: each line of its script sees one line of input.
fn program(bench: &Bench, script: &str) -> Settings {
    let path = bench.write("program.sh", script);
    let command = vec!["sh".to_owned(), path.to_string_lossy().into_owned()];
    Settings { engine: EngineName::Command, command, timeout_seconds: 60, ..Settings::default() }
}

/// Answers every line with the text in capitals; the ids it was asked go to a file.
const CAPITALS: &str = r#"
while read -r line; do
    id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    text=$(printf %s "$line" | sed 's/.*"text":"\([^"]*\)".*/\1/')
    printf '%s\n' "$text" >> "$0.asked"
    printf '{"id":%s,"text":"%s"}\n' "$id" "$(printf %s "$text" | tr a-z A-Z)"
done
"#;

/// What [`CAPITALS`] was asked.
fn asked(bench: &Bench) -> Vec<String> {
    let text = std::fs::read_to_string(bench.path("program.sh.asked")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn settings_are_read_and_checked() {
    let settings: Settings =
        toml::from_str("engine = \"openai\"\nendpoint = \"http://localhost:1/v1/\"\nmodel = \"m\"").unwrap();
    settings.check().unwrap();
    assert_eq!(settings.address(), "http://localhost:1/v1");
    assert!(toml::from_str::<Settings>("enigne = \"openai\"").is_err());
    let back: Settings = toml::from_str(&toml::to_string(&settings).unwrap()).unwrap();
    assert_eq!(back, settings);
    Settings::default().check().unwrap();
    for engine in ENGINES {
        assert_eq!(engine.name.record().word, engine.word);
        let named: Settings = toml::from_str(&format!("engine = \"{}\"", engine.word)).unwrap();
        assert_eq!(named.engine, engine.name);
    }
    let google = Settings::default;
    let chat = || settings.clone();
    let command = || Settings { engine: EngineName::Command, command: vec!["x".to_owned()], ..Settings::default() };
    let libre = || Settings { engine: EngineName::LibreTranslate, ..Settings::default() };
    let text = str::to_owned;
    for (settings, said) in [
        (Settings { model: text(""), ..chat() }, "model: "),
        (Settings { endpoint: text(""), ..chat() }, "endpoint: "),
        (Settings { endpoint: text("localhost:1"), ..chat() }, "endpoint: "),
        (Settings { endpoint: text("https://user:word@host/"), ..chat() }, "endpoint: "),
        (Settings { endpoint: text("https://host/?key=1"), ..chat() }, "endpoint: "),
        (Settings { prompt: text("{target_language}"), ..chat() }, "prompt: it lacks {text}"),
        (Settings { prompt: text("{text} {target_language} {tone}"), ..chat() }, "prompt: unknown field {tone}"),
        (Settings { batch: 2, ..chat() }, "batch: "),
        (Settings { command: vec![text("x")], ..chat() }, "command: "),
        (Settings { temperature: 3000, ..chat() }, "temperature: "),
        (Settings { temperature: 300, ..google() }, "temperature: "),
        (Settings { prompt: text("{text} {target_language}"), ..google() }, "prompt: "),
        (Settings { max_tokens: 5, ..google() }, "max_tokens: "),
        (Settings { batch: 129, ..google() }, "batch: "),
        (Settings { parallel: 0, ..google() }, "parallel: "),
        (Settings { timeout_seconds: 0, ..google() }, "timeout_seconds: "),
        (Settings { max_cost: 5, ..google() }, "max_cost: "),
        (Settings { key_env: text("sk-live-1234"), ..google() }, "key_env: "),
        (libre(), "endpoint: "),
        (Settings { endpoint: text("http://h"), model: text("m"), ..libre() }, "model: "),
        (Settings { command: vec![], ..command() }, "command: "),
        (Settings { endpoint: text("http://h"), ..command() }, "endpoint: "),
        (Settings { per_minute: 5, ..command() }, "per_minute: "),
    ] {
        let told = refused(settings.check(), &[said]);
        assert!(told.starts_with(said) && !told.contains("sk-live") && !told.contains("word@"), "{told}");
    }
}

#[test]
fn parameters_are_what_shapes_an_answer() {
    let base = Settings {
        engine: EngineName::OpenAi,
        endpoint: "https://host/v1".to_owned(),
        model: "m".to_owned(),
        ..Settings::default()
    };
    let same = Settings {
        endpoint: "http://host/v1/".to_owned(),
        key_env: "OTHER".to_owned(),
        parallel: 9,
        per_minute: 7,
        retries: 1,
        timeout_seconds: 5,
        price: 12,
        max_cost: 13,
        ..base.clone()
    };
    assert_eq!(digest_of(&base), digest_of(&same));
    assert!(!same.parameters().to_string().contains("OTHER"));
    for other in [
        Settings { endpoint: "https://host/v2".to_owned(), ..base.clone() },
        Settings { model: "n".to_owned(), ..base.clone() },
        Settings { prompt: "{text} in {target_language}".to_owned(), ..base.clone() },
        Settings { temperature: 1, ..base.clone() },
        Settings { max_tokens: 1, ..base.clone() },
        Settings { engine: EngineName::Google, model: String::new(), ..base.clone() },
    ] {
        assert_ne!(digest_of(&base), digest_of(&other), "{other:?}");
    }
    // Braces in a text are the text's.
    let settings = Settings { prompt: "{a {target_language}: {text}".to_owned(), ..base };
    assert_eq!(settings.render("English", "French", "say {text}"), "{a French: say {text}");
}

#[test]
fn equal_texts_are_asked_once_and_order_is_kept() {
    let bench = Bench::new();
    let settings = program(&bench, CAPITALS);
    let mut translator = open(&bench, &settings);
    let texts = ["b", "a", "  ", "b", "c"];
    assert_eq!(translator.translate("en", "fr", &texts, 0, "x").unwrap(), ["B", "A", "", "B", "C"]);
    assert_eq!(asked(&bench), ["b", "a", "c"]);
    // Another language and another attempt are other asks; the rest is known.
    translator.translate("en", "de", &["a"], 0, "x").unwrap();
    translator.translate("en", "fr", &["a"], 1, "x").unwrap();
    translator.translate("en", "fr", &texts, 0, "x").unwrap();
    assert_eq!(asked(&bench), ["b", "a", "c", "a", "a"]);
    assert!(translator.translate("en", "fr", &[], 0, "x").unwrap().is_empty());
    // Known to another build, which a lock keeps apart.
    refused(Translator::open(settings.clone(), &bench.path("store"), &[], false), &["another build"]);
    drop(translator);
    open(&bench, &settings).translate("en", "fr", &["c", "b"], 0, "x").unwrap();
    assert_eq!(asked(&bench).len(), 5);
}

#[test]
fn a_command_answers_in_any_order() {
    let bench = Bench::new();
    // Three lines, answered last first; then free text.
    let settings = program(
        &bench,
        r#"
read -r a; read -r b; read -r c
printf '{"id":3,"text":"three"}\n{"id":1,"text":" one\\n"}\n{"id":2,"text":null}\n'
read -r line
printf '%s\n' "$line" > "$0.line"
printf '{"id":4,"text":"free"}\n'
read -r line
"#,
    );
    let mut translator = open(&bench, &settings);
    assert_eq!(translator.translate("en", "fr", &["1", "2", "3"], 0, "x").unwrap(), ["one", "", "three"]);
    assert_eq!(translator.complete(&[("write", 700)]).unwrap(), ["free"]);
    let line: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path("program.sh.line")).unwrap()).unwrap();
    assert_eq!(
        line,
        serde_json::json!({ "id": 4, "prompt": "write", "temperature": 700, "max_tokens": 0, "attempt": 0 })
    );
}

#[test]
fn a_command_that_fails_says_why_and_keeps_what_it_answered() {
    let first = r#"read -r a; read -r b; printf '{"id":1,"text":"one"}\n'; "#;
    for (rest, said) in [
        ("echo 'no model here' >&2; exit 3", &["ended (exit status: 3) with 1 texts", "stderr: no model here"][..]),
        ("echo 'hello you'; read -r c", &["wrote a line that is not", "hello you"]),
        (r#"printf '{"id":1,"text":"one"}\n'; read -r c"#, &["answered id 1 twice"]),
        (r#"printf '{"id":9,"text":"one"}\n'; read -r c"#, &["answered id 9, which was not asked"]),
        ("echo 'still loading' >&2; read -r c", &["was silent for 3 s", "stderr: still loading"]),
    ] {
        let bench = Bench::new();
        // Long enough for a busy machine to answer the first.
        let timeout_seconds = if said[0].starts_with("was silent") { 3 } else { 60 };
        let settings = Settings { timeout_seconds, ..program(&bench, &format!("{first}{rest}")) };
        let mut translator = open(&bench, &settings);
        refused(translator.translate("en", "fr", &["1", "2"], 0, "x"), said);
        drop(translator);
        assert_eq!(std::fs::read_to_string(journal(&bench, &settings)).unwrap().lines().count(), 1, "{rest}");
        // The same command line, mended.
        std::fs::write(bench.path("program.sh"), CAPITALS).unwrap();
        let mut translator = open(&bench, &settings);
        assert_eq!(translator.translate("en", "fr", &["1", "2"], 0, "x").unwrap(), ["one", "2"]);
        assert_eq!(asked(&bench), ["2"]);
    }
    let bench = Bench::new();
    let settings = Settings { command: vec!["./not-there".to_owned()], ..program(&bench, "") };
    refused(open(&bench, &settings).translate("en", "fr", &["1"], 0, "x"), &["cannot start", "not-there"]);
}

#[test]
fn a_command_that_reads_all_before_it_writes_is_no_deadlock() {
    let bench = Bench::new();
    // Much more than a pipe holds, both ways.
    let script = r#"
head -n 3000 > "$0.all"
awk '{ printf "{\"id\":%d,\"text\":\"%0200d\"}\n", NR, NR }' "$0.all"
read -r line
"#;
    let mut translator = open(&bench, &program(&bench, script));
    let texts: Vec<String> = (0..3000).map(|n| format!("{n:0200}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let answers = translator.translate("en", "fr", &texts, 0, "x").unwrap();
    assert!(answers.iter().enumerate().all(|(n, a)| *a == format!("{:0200}", n + 1)));
}

#[test]
fn a_torn_journal_loses_its_last_line_only() {
    let bench = Bench::new();
    let settings = program(&bench, CAPITALS);
    open(&bench, &settings).translate("en", "fr", &["a", "b", "c"], 0, "x").unwrap();
    let path = journal(&bench, &settings);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 7]).unwrap();
    // Who only reads cuts nothing: another build may be writing.
    let reader = Translator::open(settings.clone(), &bench.path("store"), &[], true).unwrap();
    assert_eq!(reader.estimate("en", "fr", &["a", "b", "c"], 0).texts, 1);
    assert_eq!(std::fs::read(&path).unwrap().len(), whole.len() - 7);
    let mut translator = open(&bench, &settings);
    assert_eq!(translator.translate("en", "fr", &["a", "b", "c"], 0, "x").unwrap(), ["A", "B", "C"]);
    assert_eq!(asked(&bench), ["a", "b", "c", "c"]);
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    drop(translator);
    // A damaged line costs that line; one that was changed is none.
    let text = String::from_utf8(whole).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[0] = "\u{0}\u{0}".to_owned();
    lines[1] = lines[1].replace("\"text\":\"b\"", "\"text\":\"d\"");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    assert_eq!(open(&bench, &settings).estimate("en", "fr", &["a", "b", "c", "d"], 0).texts, 3);
}

#[test]
fn a_pin_is_read_offline() {
    let bench = Bench::new();
    let settings = program(&bench, CAPITALS);
    let mut translator = open(&bench, &settings);
    assert_eq!(translator.pin(&bench.path("release")).unwrap(), None);
    translator.translate("en", "fr", &["not in the pin"], 0, "x").unwrap();
    drop(translator);
    let mut translator = open(&bench, &settings);
    translator.translate("en", "fr", &["b", "a"], 0, "x").unwrap();
    translator.translate("fr", "en", &["a"], 2, "x").unwrap();
    let (name, bytes, digest) = translator.pin(&bench.path("release")).unwrap().unwrap();
    let path = bench.path("release").join(&name);
    assert!(name.starts_with("pins/translate/") && name.ends_with(&format!("-{}.parquet", digest_of(&settings))));
    assert_eq!(Digest::of_file(&path).unwrap(), (digest, bytes));
    let batch = crate::support::batches(&path).remove(0);
    let column = |n: &str| (0..3).map(|row| nihbuild::table::text(&batch, n, row).to_owned()).collect::<Vec<_>>();
    assert_eq!(column("source_language"), ["en", "en", "fr"]);
    assert_eq!(
        (column("source"), column("target")),
        (vec!["a".into(), "b".into(), "a".into()], vec!["A".into(), "B".into(), "A".into()])
    );
    let (_, parameters) = nihbuild::translator::pin::read(&path).unwrap();
    assert_eq!(parameters, settings.parameters());
    // The same whatever the order of use, and from the pin alone.
    let elsewhere = Bench::new();
    let pins = [bench.path("nowhere"), bench.path("release").join("pins")];
    let offline = |settings: &Settings| Translator::open(settings.clone(), &elsewhere.path("store"), &pins, true);
    let mut again = offline(&settings).unwrap();
    assert_eq!(again.translate("fr", "en", &["a"], 2, "x").unwrap(), ["A"]);
    assert_eq!(again.translate("en", "fr", &["a", "b"], 0, "x").unwrap(), ["A", "B"]);
    assert_eq!(again.pin(&elsewhere.path("release")).unwrap(), Some((name, bytes, digest)));
    assert!(!elsewhere.path("store").exists());
    // What is not in it is counted.
    let asks = ["a", "x", "y", "x"];
    refused(again.translate("en", "fr", &asks, 0, "x"), &["2 translations from en to fr", "--offline", "--pins"]);
    refused(again.complete(&[("write", 500)]), &["1 texts of free writing"]);
    let other = Settings { temperature: 100, ..settings.clone() };
    refused(offline(&other).unwrap().translate("en", "fr", &["a"], 0, "x"), &["1 translations"]);
    // A damaged pin is an error, also where its texts could be asked again.
    let mut damaged = std::fs::read(&path).unwrap();
    let middle = damaged.len() / 3;
    damaged[middle] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    refused(offline(&settings), &[&path.to_string_lossy(), "help: fetch"]);
}

#[test]
fn pins_come_before_the_journal() {
    let bench = Bench::new();
    let settings = program(&bench, CAPITALS);
    let mut translator = open(&bench, &settings);
    translator.translate("en", "fr", &["a"], 0, "x").unwrap();
    let ask = Ask {
        kind: Kind::Translate,
        from: "en".into(),
        to: "fr".into(),
        temperature: None,
        attempt: 0,
        text: "a".into(),
    };
    let entries = BTreeMap::from([(ask.clone(), "from the pin".into())]);
    nihbuild::translator::pin::write(&bench.path("pins/translate"), &entries, &settings.parameters()).unwrap();
    let memory = Memory::open(&bench.path("store"), &[bench.path("pins")], &settings.parameters(), false).unwrap();
    assert_eq!(memory.get(&ask), Some("from the pin"));
}

#[test]
fn costs_are_reckoned_before_anything_is_asked() {
    let bench = Bench::new();
    // A unit a hundred thousand characters: ten millionths each.
    let settings = Settings { price: 10_000_000, max_cost: 100, ..program(&bench, CAPITALS) };
    let mut translator = open(&bench, &settings);
    let estimate = translator.estimate("en", "fr", &["abc", "de", "abc", " "], 0);
    assert_eq!(estimate, Estimate { texts: 2, characters: 5, cost: 50 });
    translator.translate("en", "fr", &["abc", "de"], 0, "x").unwrap();
    assert_eq!(translator.spent(), 50);
    assert_eq!(translator.estimate("en", "fr", &["abc", "de"], 0), Estimate::default());
    // 60 more would be too much; 50 are not.
    refused(
        translator.translate("en", "fr", &["fghijk"], 0, "x"),
        &["1 more texts of 6", "60", "50 were spent", "max_cost = 100"],
    );
    assert_eq!(asked(&bench), ["abc", "de"]);
    translator.translate("en", "fr", &["fghij", "abc"], 0, "x").unwrap();
    refused(translator.translate("en", "fr", &["k"], 0, "x"), &["max_cost"]);
    let free = translator.estimate_completions(&[("write", 500)], 0);
    assert_eq!((free.texts, free.characters), (1, 5 + 2000));
}

#[test]
fn a_mangled_placeholder_is_caught_and_asked_again() {
    let bench = Bench::new();
    let script = r#"
read -r line; printf '{"id":1,"text":"[F1] va dans la cuisine."}\n'
read -r line
case "$line" in *'"attempt":1'*) printf '{"id":2,"text":"[[ F1 ]] va dans la cuisine."}\n' ;; esac
read -r line
"#;
    let names = [Name { text: "Mary".to_owned(), gender: Gender::Woman }];
    let source = placeholder::swap("Mary went to the kitchen.", &names);
    assert_eq!(source, "[[F1]] went to the kitchen.");
    let mut translator = open(&bench, &program(&bench, script));
    let mut attempt = 0;
    let target = loop {
        let target = translator.translate("en", "fr", &[&source], attempt, "x").unwrap().remove(0);
        let target = placeholder::repair(&source, &target);
        if placeholder::check(&source, &target).is_empty() {
            break target;
        }
        attempt += 1;
    };
    assert_eq!(attempt, 1);
    assert_eq!(placeholder::restore(&target, &names).unwrap(), "Mary va dans la cuisine.");
    // Both attempts are in the pin.
    let (name, ..) = translator.pin(&bench.path("out")).unwrap().unwrap();
    assert_eq!(nihbuild::translator::pin::read(&bench.path("out").join(name)).unwrap().0.len(), 2);
}

#[test]
fn placeholders_are_told_apart() {
    let faults = |source: &str, target: &str| -> Vec<String> {
        placeholder::check(source, target).iter().map(ToString::to_string).collect()
    };
    let source = "[[F1]] gave it to [[M2]].";
    let fine = "[[M2]] got it from [[F1]].";
    assert!(placeholder::check(source, fine).is_empty());
    for (target, said) in [
        ("[[M2]] got it.", "[[F1]] is missing"),
        ("[[M2]] got it from [[M2]] and [[F1]].", "[[M2]] is there too often"),
        ("[[M2]] got it from [[F1]] and [[F3]].", "[[F3]] is there too often"),
        ("[[M2]] got it from [[ F1 ]].", "\"[[ F1 ]]\" is not as it was"),
        ("[[M2]] got it from [F1].", "\"[F1]\" is not as it was"),
        ("[[M2]] got it from [[f1]].", "\"[[f1]]\" is not as it was"),
        ("[[M2]] got it from [[F1].", "\"[[F1]\" is not as it was"),
        ("[[M2]] got it from \u{ff3b}\u{ff3b}F1\u{ff3d}\u{ff3d}.", "is not as it was"),
    ] {
        let found = faults(source, target);
        assert!(found.len() == 1 && found[0].contains(said), "{target}: {found:?}");
    }
    // A letter of another script is a token that is lost.
    assert_eq!(faults(source, "[[M2]] [[\u{424}1]]").len(), 2);
    // A swapped gender is two faults.
    assert_eq!(
        faults(source, "[[M2]] [[M1]]"),
        ["the placeholder [[F1]] is missing", "the placeholder [[M1]] is there too often"]
    );
    // Brackets of the text's own are none.
    assert!(placeholder::check("see [1] and [a] and [[F1]]", "voir [1] et [a] et [[F1]]").is_empty());
    assert!(placeholder::check("see [[1]]", "voir [[1]]").is_empty());

    let repaired = |target: &str| placeholder::repair(source, target);
    assert_eq!(repaired("\u{ff3b}\u{ff3b}F1\u{ff3d}\u{ff3d} \u{3010}\u{3010}M2\u{3011}\u{3011}"), "[[F1]] [[M2]]");
    assert_eq!(repaired("a [[ F 1 ]] b [ [M2] ] c [[\u{ff26}\u{ff11}]]"), "a [[F1]] b [[M2]] c [[F1]]");
    for left in ["[F1]", "[[f1]]", "[[F3]] x [[ M1 ]]", "[[F1]", "[[F01]]", fine] {
        assert_eq!(repaired(left), left);
    }
    let name = |text: &str, gender| Name { text: text.to_owned(), gender };
    let names = [name("Ann", Gender::Woman), name("Anna Maria", Gender::Woman), name("Bo", Gender::Man)];
    let swapped = placeholder::swap("Anna Maria, Ann's friend, met Bo. Anna and Bob did not.", &names);
    assert_eq!(swapped, "[[F2]], [[F1]]'s friend, met [[M3]]. Anna and Bob did not.");
    assert_eq!(placeholder::restore("[[M3]] [[F2]] [1]", &names).unwrap(), "Bo Anna Maria [1]");
    refused(placeholder::restore("[[M1]]", &names), &["[[M1]] stands for none"]);
    refused(placeholder::restore("[[F4]]", &names), &["[[F4]]"]);
}

#[track_caller]
fn judged(to: &str, source: &str, target: &str, expected: &[&str]) {
    let found = quality::check("en", to, source, target);
    let names: Vec<&str> = found.iter().map(quality::Fault::name).collect();
    assert_eq!(names, expected, "{source} -> {target}: {found:?}");
}

#[test]
fn good_translations_pass() {
    judged("fr", "[[F1]] went to the kitchen.", "[[F1]] est all\u{e9}e \u{e0} la cuisine.", &[]);
    judged("zh", "[[F1]] went to the kitchen.", "[[F1]]\u{53bb}\u{4e86}\u{53a8}\u{623f}\u{3002}", &[]);
    judged(
        "hi",
        "Is the box big?",
        "\u{915}\u{94d}\u{92f}\u{93e} \u{921}\u{93f}\u{92c}\u{94d}\u{92c}\u{93e} \u{92c}\u{921}\u{93c}\u{93e} \u{939}\u{948}?",
        &[],
    );
    judged("ar", "Where is the milk?", "\u{623}\u{64a}\u{646} \u{627}\u{644}\u{62d}\u{644}\u{64a}\u{628}\u{61f}", &[]);
    judged("de", "He said \"No.\"", "Er sagte: \u{201e}Nein.\u{201c}", &[]);
    judged("th", "He left.", "\u{e40}\u{e02}\u{e32}\u{e44}\u{e1b}\u{e41}\u{e25}\u{e49}\u{e27}", &[]);
    judged("el", "Where is it?", "\u{3a0}\u{3bf}\u{3cd} \u{3b5}\u{3af}\u{3bd}\u{3b1}\u{3b9};", &[]);
    judged("es", "Wait...", "Espera...", &[]);
    judged("xx", "One sentence.", "\u{3a9}\u{3a9}\u{3a9} qwe.", &[]);
    judged("zh-TW", "The milk.", "\u{725b}\u{5976}\u{3002}", &[]);
}

#[test]
fn faults_have_names() {
    judged("fr", "One.", " ", &["empty"]);
    judged("fr", "[[F1]] left.", "Elle partit.", &["placeholder_missing"]);
    judged("fr", "He took the apple.", "He took the apple.", &["leftover"]);
    judged("fr", "He took the green apple there.", "Il prit la green apple.", &["leftover"]);
    // One word may be the same; two that a name parts are no run.
    judged("fr", "He took the orange there.", "Il prit l'orange.", &[]);
    judged("fr", "Garage [[F1]] central tonight.", "Ce garage [[F1]] central, ce soir.", &[]);
    judged("zh", "The milk.", "\u{725b}\u{5976}milk\u{3002}", &["leftover"]);
    judged("fr", "The milk.", "Le \u{43b}ait.", &["script"]);
    judged("zh", "The milk.", "\u{725b}\u{43b}\u{5976}\u{3002}", &["script"]);
    judged("fr", "He took the green apple from the table.", "Il prit.", &["length"]);
    judged("zh", "He went.", &("\u{53bb}".repeat(60) + "\u{3002}"), &["length"]);
    judged("fr", "Where is it?", "O\u{f9} est-il\u{200b}?", &["debris"]);
    judged("zh", "Where is it?", "\u{5b83}\u{5728}\u{54ea}\u{91cc}\u{ff1f}?", &["debris"]);
    judged("fr", "It's here.", "C&#39;est ici.", &["debris"]);
    judged("fr", "He left.", "Il partit..", &["debris"]);
    judged("fr", "He left.", "Il partit", &["final_mark"]);
    judged("fr", "Did he leave?", "Il partit.", &["final_mark"]);
    judged("fr", "He left.", "Il partit?", &["final_mark"]);
    let pairs = [
        ("He took it.", "Il le prit."),
        ("He got it.", "Il le prit."),
        ("He took it.", "Il le prit."),
        ("No.", "Non."),
    ];
    let found = quality::check_all("en", "fr", &pairs);
    let places: Vec<(usize, &str)> = found.iter().map(|(n, fault)| (*n, fault.name())).collect();
    assert_eq!(places, [(0, "collision"), (1, "collision"), (2, "collision")]);
    assert!(found.iter().all(|(_, fault)| !fault.to_string().is_empty()));
}

fn items(n: usize) -> Vec<review::Item> {
    let item = |n: usize| review::Item {
        id: format!("s{n}"),
        source: format!("Sentence \"{n}\", with a comma."),
        target: format!("Satz\n{n}; mit Komma."),
        back_translation: String::new(),
        similarity: n.is_multiple_of(2).then_some(987),
    };
    (0..n).map(item).collect()
}

#[test]
fn a_review_sheet_comes_back() {
    let bench = Bench::new();
    let (items, seed, path) = (items(191), Seed::new("7"), bench.path("review/de.csv"));
    assert_eq!(review::write(&path, &items, &seed, "de").unwrap(), 10);
    let ids = |sample: Vec<&review::Item>| sample.iter().map(|i| i.id.clone()).collect::<Vec<_>>();
    let sampled = ids(review::sample(&items, &seed, "de"));
    assert_ne!(sampled, ids(review::sample(&items, &seed, "fr")));
    assert_ne!(sampled, ids(review::sample(&items, &Seed::new("8"), "de")));
    let blank = review::read(&path, &items, &seed, "de").unwrap();
    assert_eq!((blank.sampled, blank.ok, blank.missing.len(), blank.is_complete()), (10, 0, 10, false));

    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("\u{feff}id,source,"));
    let mut reader = csv::Reader::from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let mut rows: Vec<Vec<String>> =
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
    let order: Vec<String> = rows.iter().map(|row| row[0].clone()).collect();
    for (n, verdict) in ["ok", "OK ", "Wrong", "unsure", "fine", "", "ok", "ok", "ok", "ok"].into_iter().enumerate() {
        rows[n][6] = verdict.to_owned();
    }
    rows[2][5] = "dative".to_owned();
    rows[6][2] += " changed";
    rows[7][0] = "s999".to_owned();
    rows[9] = rows[8].clone();
    // As a spreadsheet of another country saves it.
    let save = |rows: &[Vec<String>]| {
        let mut writer = csv::WriterBuilder::new().delimiter(b';').from_path(&path).unwrap();
        writer
            .write_record(["Id", "source", "target", "back_translation", "similarity", "comment", "verdict"])
            .unwrap();
        rows.iter().for_each(|row| writer.write_record(row).unwrap());
        writer.write_record([""; 7]).unwrap();
        writer.flush().unwrap();
    };
    save(&rows);
    let read = review::read(&path, &items, &seed, "de").unwrap();
    assert_eq!(read.ok, 3);
    assert_eq!(read.wrong, [review::Wrong { id: order[2].clone(), comment: "dative".to_owned() }]);
    assert_eq!(read.unsure, [order[3].clone()]);
    assert_eq!(read.strange, [(order[4].clone(), "fine".to_owned())]);
    assert_eq!(read.changed, [order[6].clone()]);
    assert_eq!(read.unknown, ["s999"]);
    assert_eq!(read.repeated, [order[8].clone()]);
    let mut missing = vec![order[5].clone(), order[7].clone(), order[9].clone()];
    missing.sort();
    assert_eq!((read.missing.clone(), read.is_complete()), (missing, false));
    std::fs::write(&path, "id,source\n1,2\n").unwrap();
    refused(review::read(&path, &items, &seed, "de"), &["lacks the columns target", "de.csv"]);
}

#[cfg(feature = "fetch")]
mod http;
