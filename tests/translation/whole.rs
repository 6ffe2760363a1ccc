//! A whole release with languages that have no pack.

use super::service::{Service, repeated};
use super::*;
use nihbuild::language::{Kind, Language, PATTERNS, Pack, Slot, is_woman};
use std::collections::BTreeSet;

/// Names that no other language here has, none within another.
fn given(first: &[&str], last: &[&str]) -> Vec<String> {
    first.iter().flat_map(|a| last.iter().map(move |b| format!("{a}{b}"))).collect()
}

fn women() -> Vec<String> {
    given(&["Fa", "Fe", "Fi", "Fo", "Fu"], &["lama", "lebe", "limi", "loro"])
}

fn men() -> Vec<String> {
    given(&["Ba", "Be", "Bi", "Bo", "Bu"], &["kapo", "keto", "kimu", "kono", "kuf"])
}

fn cast(pack: &Pack) -> Vec<String> {
    (0..Kind::Actor.count() as u8).map(|n| pack.citation(Kind::Actor, n).to_owned()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The two languages' facts and answers are the same, sentence by sentence.
fn assert_parallel(release: &Path, english: &Pack, language: &str) {
    let pack = Pack::parse(&std::fs::read_to_string(release.join(format!("packs/{language}.toml"))).unwrap()).unwrap();
    assert!(pack.is_translated());
    let (ours, theirs) = (rows(release, "en_0k"), rows(release, &format!("{language}_0k")));
    let tasks: BTreeSet<&str> = theirs.iter().map(|row| row.task.as_str()).collect();
    assert_eq!((ours.len(), theirs.len(), tasks.len()), (20, 20, 20));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let id = &theirs.instance;
        assert_eq!((&ours.instance, ours.lines().len()), (id, theirs.lines().len()));
        for (ours, theirs) in ours.lines().iter().zip(theirs.lines()) {
            let message = english.read(ours).unwrap();
            assert_eq!(pack.read(theirs), Ok(message), "{id}: {ours} / {theirs}");
            let name = &PATTERNS[message.pattern as usize];
            for slot in [Slot::A, Slot::B].into_iter().filter(|slot| name.has(*slot)) {
                let person = pack.citation(Kind::Actor, slot.entity(&message.slots));
                assert!(words(theirs).any(|word| word == person), "{id}: {theirs} does not name {person}");
            }
        }
        assert_eq!(pack.read(&theirs.question), Ok(english.read(&ours.question).unwrap()), "{id}");
        // What can be copied in English can be copied here.
        assert_eq!(ours.answers.len(), theirs.answers.len(), "{id}");
        let stands = |row: &Row, n: usize| row.lines().join("\n").contains(&row.answers[n]);
        for n in 0..ours.answers.len() {
            assert!(!theirs.answers[n].is_empty(), "{id}: an empty answer");
            assert!(!stands(ours, n) || stands(theirs, n), "{id}: {:?} is not in the context", theirs.answers[n]);
        }
        assert_eq!(theirs.certificate, "solved");
    }
    let ids = |config: String| rows(release, &config).into_iter().map(|row| row.instance).collect::<Vec<_>>();
    assert_eq!(ids("en_2k".to_owned()), ids(format!("{language}_2k")));
}

#[test]
fn all_twenty_tasks_are_told() {
    let bench = Bench::new();
    let service = Service::sound();
    let own = format!(
        "[translation.languages.xx]\nname = \"Uxu\"\nenglish_name = \"Mirrored\"\nwomen = {:?}\nmen = {:?}\n\
         [translation.languages.yy]\n",
        women(),
        men()
    );
    let draft = Draft {
        tasks: ALL,
        languages: &["en", "xx", "yy"],
        lengths: &["0k", "2k"],
        pool: 300,
        service: service.keys("libretranslate"),
        more: &own,
        ..Draft::default()
    };
    let release = build(&bench, &draft, &[]);
    verified(&bench, &release);
    crate::compact::compacts(&bench, &["recipe", "r.toml"], &release);

    let english = "en".parse::<Language>().unwrap().pack().unwrap();
    assert_parallel(&release, &english, "xx");
    assert_parallel(&release, &english, "yy");

    // One language has its own names, the other those of English.
    let pack = |code: &str| {
        Pack::parse(&std::fs::read_to_string(release.join(format!("packs/{code}.toml"))).unwrap()).unwrap()
    };
    let (xx, yy) = (pack("xx"), pack("yy"));
    assert_eq!((xx.name(), xx.english_name(), yy.name()), ("Uxu", "Mirrored", "yy"));
    let of_sex = |woman: bool| {
        let mut names = cast(&xx).into_iter().enumerate().filter(|(n, _)| is_woman(*n as u8) == woman);
        let mut found: Vec<String> = names.by_ref().map(|(_, name)| name).collect();
        found.sort();
        found
    };
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!((of_sex(true), of_sex(false)), (sorted(women()), sorted(men())));
    assert_eq!(cast(&yy), cast(&english));
    let names: BTreeSet<String> = cast(&english).into_iter().collect();
    for row in rows(&release, "xx_2k") {
        assert!(!words(&row.prompt).any(|word| names.contains(word)), "an English name: {}", row.prompt);
    }

    // Each text was asked for once in each direction, and no name was among them.
    assert_eq!(repeated(&service.asked()), []);
    assert!(service.sent_to("xx").len() > 1000);
    assert_eq!(service.sent_to("xx"), service.sent_to("yy"));
    let everyone: BTreeSet<String> = names.into_iter().chain(women()).chain(men()).collect();
    for ask in service.asked() {
        assert!(!words(&ask.text).any(|word| everyone.contains(word)), "a name went out: {}", ask.text);
    }

    // The key was sent, and stands nowhere.
    assert!(service.heard(KEY));
    let holds = |bytes: &[u8]| bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
    for (name, bytes) in bytes_of(bench.dir.path()) {
        assert!(!holds(&bytes), "the key is in {name}");
    }
}

#[test]
fn one_and_two_threads_write_the_same_bytes() {
    let bench = Bench::new();
    let service = Service::sound();
    let draft = Draft {
        tasks: ALL,
        lengths: &["0k", "2k"],
        pool: 300,
        // Answers come in another order each time.
        service: service.keys("google") + "batch = 40\nparallel = 4\n",
        ..Draft::default()
    };
    let one = build(&bench, &draft, &["--jobs", "1", "--out", "one"]);
    let two = build(&bench, &draft, &["--jobs", "2", "--out", "two"]);
    assert_eq!(bytes_of(&one), bytes_of(&two));
    assert_eq!(bytes_of(&bench.path("one/review")), bytes_of(&bench.path("two/review")));
}

#[test]
fn few_tasks_need_few_texts() {
    // Of the ten tasks that have no motives the instructions still quote them.
    let bench = Bench::new();
    let service = Service::sound();
    let release = build(&bench, &Draft { service: service.keys("libretranslate"), ..Draft::default() }, &[]);
    verified(&bench, &release);
    assert_eq!(rows(&release, "xx_0k").len(), 2);
    let asked = service.sent_to("xx");
    assert!(asked.contains_key("[[F1]] went to the kitchen."));
    assert!(!asked.keys().any(|text| text.contains("afraid of") && text.contains("[[")), "of a task that is not told");
}
