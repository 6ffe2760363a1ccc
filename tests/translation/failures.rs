//! Services that fail, stray and are slow: nothing is lost, nothing is asked for twice, nothing broken is written.

use super::service::{Ask, Reply, Service, mirror, repeated, speak};
use super::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

fn spoken(asks: &[Ask]) -> Reply {
    Reply::Texts(asks.iter().map(speak).collect())
}

#[test]
fn limits_and_outages_are_waited_out() {
    let bench = Bench::new();
    let service = Service::new(|asks, n| match n {
        2 => Reply::Status(429, Some(1)),
        5 => Reply::Status(503, None),
        7 => Reply::Cut,
        _ => spoken(asks),
    });
    let draft = Draft {
        tasks: "qa1 = 1",
        translation: "back = false\n",
        service: service.keys("openai") + "parallel = 2\n",
        ..Draft::default()
    };
    let release = build(&bench, &draft, &[]);
    verified(&bench, &release);
    assert_eq!(repeated(&service.answered()), []);
    assert_eq!(service.asked().len(), service.answered().len() + 3);
    let facts = facts(&release);
    assert_eq!((facts.asked_again, facts.dropped.len()), (0, 0));
    assert!(facts.similarity.values().all(|(_, back)| back.is_none()));
    assert!(card(&release).contains("| xx | passages |"));
}

#[test]
fn what_was_answered_before_an_outage_is_not_asked_for_again() {
    let bench = Bench::new();
    let mended = Arc::new(AtomicBool::new(false));
    let shared = mended.clone();
    let service = Service::new(move |asks, n| match n < 6 || shared.load(Ordering::SeqCst) {
        true => spoken(asks),
        false => Reply::Cut,
    });
    let draft =
        Draft { service: service.keys("google") + "batch = 20\nparallel = 3\nretries = 1\n", ..Draft::default() };
    bench.write("r.toml", &draft.text());
    let failed = run(&bench, &["recipe", "r.toml"]);
    let failed = failed.failure(2, &["google: 2 tries failed in a row", "run the same command again"]);
    assert!(!failed.err.contains(KEY));
    assert!(!bench.path("build/mt/1.0.0").exists());
    let known: BTreeSet<Ask> = service.answered().into_iter().collect();
    assert!(known.len() >= 100, "only {} texts were answered", known.len());

    mended.store(true, Ordering::SeqCst);
    let before = service.asked().len();
    let release = run(&bench, &["recipe", "r.toml"]).success().release(&bench);
    verified(&bench, &release);
    let again: Vec<Ask> = service.asked()[before..].iter().filter(|ask| known.contains(ask)).cloned().collect();
    assert_eq!(again, []);
    assert_eq!(repeated(&service.answered()), []);
}

#[test]
fn a_killed_build_goes_on_where_it_was() {
    let bench = Bench::new();
    let gate = Arc::new((Mutex::new(true), Condvar::new()));
    let shared = gate.clone();
    // The fifth request hangs until the build is dead.
    let service = Service::new(move |asks, n| {
        let (shut, opened) = &*shared;
        let mut shut = shut.lock().unwrap();
        while n == 4 && *shut {
            shut = opened.wait(shut).unwrap();
        }
        drop(shut);
        if n == 4 { Reply::Cut } else { spoken(asks) }
    });
    let draft = Draft { service: service.keys("libretranslate") + "batch = 30\nparallel = 1\n", ..Draft::default() };
    bench.write("r.toml", &draft.text());
    let mut child = keyed(&bench, &["recipe", "r.toml"]).spawn().unwrap();
    let journal = || {
        let files = nihbuild::store::sorted_dir(&bench.path("build/store/translate")).unwrap_or_default();
        let journal = files.into_iter().find(|path| path.extension().is_some_and(|e| e == "jsonl"));
        journal.map_or(0, |path| std::fs::read_to_string(path).unwrap().lines().count())
    };
    while service.requests() < 5 || journal() < service.answered().len() {
        assert!(child.try_wait().unwrap().is_none(), "the build ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (shut, opened) = &*gate;
    *shut.lock().unwrap() = false;
    opened.notify_all();

    let known: BTreeSet<Ask> = service.answered().into_iter().collect();
    let before = service.asked().len();
    let release = run(&bench, &["recipe", "r.toml"]).success().release(&bench);
    verified(&bench, &release);
    assert!(known.len() > 60 && service.asked().len() > before);
    assert!(service.asked()[before..].iter().all(|ask| !known.contains(ask)));
    assert_eq!(repeated(&service.answered()), []);

    // A build that was never killed writes the same.
    let calm = build(&bench, &draft, &["--out", "calm"]);
    assert_eq!(bytes_of(&release), bytes_of(&calm));
}

/// Mangles some sentences, some of them for ever.
fn stray(ask: &Ask, times: usize) -> String {
    let right = speak(ask);
    if ask.from != "en" {
        return right;
    }
    match (ask.text.as_str(), times) {
        ("[[F1]] went to the kitchen.", _) => right.replace("[[F1]]", "she"),
        ("[[M1]] moved to the office.", _) => " \n".to_owned(),
        ("[[M1]] went to the office.", 0) => right.replace("[[M1]]", "[[m1]]"),
        ("[[F1]] moved to the garden.", 0) => String::new(),
        ("[[F1]] went to the garden.", 0..=1) => format!("[[F1]] {right}"),
        ("[[M1]] went to the garden.", 0) => right.replace("[[M1]]", "[[X1]]"),
        // A token that can be nothing else is mended without asking.
        ("[[F1]] moved to the kitchen.", _) => right.replace("[[F1]]", "\u{ff3b}[ F1 ]\u{ff3d}"),
        _ => right,
    }
}

#[test]
fn strays_are_asked_for_again_and_dropped_in_every_language() {
    let bench = Bench::new();
    let draft = |service: &Service| Draft {
        tasks: "qa1 = 12, qa2 = 6",
        lengths: &["0k", "2k"],
        pool: 150,
        service: service.keys("libretranslate"),
        more: "[translation.languages.xx]\n[prompt]\nstrategies = [\"zero_shot\", \"few_shot\"]\n",
        ..Draft::default()
    };
    let sound = Service::sound();
    let whole = build(&bench, &draft(&sound), &["--out", "whole"]);
    let service = Service::by_text(stray);
    let release = build(&bench, &draft(&service), &[]);
    verified(&bench, &release);

    let told = facts(&release);
    let dropped = [("empty".to_owned(), 1), ("placeholder_missing".to_owned(), 1)];
    assert_eq!(told.dropped, dropped.into());
    assert_eq!(told.asked_again, 2 + 2 + 1 + 1 + 2 + 1);
    let card = card(&release);
    assert!(card.contains("- xx: 9 texts asked for again"), "{card}");
    assert!(card.contains("; 1 dropped (empty); 1 dropped (placeholder_missing)"), "{card}");
    let asked = service.sent_to("xx");
    for (text, times) in [
        ("[[F1]] went to the kitchen.", 3),
        ("[[M1]] moved to the office.", 3),
        ("[[M1]] went to the office.", 2),
        ("[[F1]] moved to the garden.", 2),
        ("[[F1]] went to the garden.", 3),
        ("[[M1]] went to the garden.", 2),
        ("[[F1]] moved to the kitchen.", 1),
        ("[[F1]] went to the hallway.", 1),
    ] {
        assert_eq!(asked[text], times, "{text}");
    }

    // Where one sex cannot be told, nobody is; what came right in the end is told.
    let says = |prompts: &[String], text: &str| prompts.iter().any(|prompt| prompt.contains(text));
    let (before, after) = (all_prompts(&whole), all_prompts(&release));
    for lost in ["went to the kitchen.", "moved to the office."] {
        for text in [lost.to_owned(), mirror(lost)] {
            assert!(says(&before, &text), "no proof: {text}");
            assert!(!says(&after, &text), "{text}");
        }
    }
    for kept in ["moved to the kitchen.", "went to the office.", "went to the garden.", "moved to the garden."] {
        assert!(says(&after, kept) && says(&after, &mirror(kept)), "{kept}");
    }
    assert!(!after.iter().any(|prompt| prompt.contains("[[")));
    assert_eq!(all_prompts(&whole).len(), after.len());
}

#[test]
fn an_instruction_that_cannot_be_translated_ends_the_build() {
    let bench = Bench::new();
    let service = Service::by_text(|ask, _| {
        let quotes = ask.from == "en" && ask.text.contains('\u{201c}') && ask.text.contains("[[M1]]");
        if quotes { speak(ask).replace("[[M1]]", "[[M]]") } else { speak(ask) }
    });
    let draft = Draft { translation: "attempts = 2\n", service: service.keys("libretranslate"), ..Draft::default() };
    bench.write("r.toml", &draft.text());
    let said = ["cannot be translated: placeholder_", "instructions.", "language xx", "raise translation.attempts"];
    run(&bench, &["recipe", "r.toml"]).failure(2, &said);
    assert!(!bench.path("build/mt/1.0.0").exists());
    assert!(service.sent_to("xx").values().all(|times| *times <= 2));
}

/// A program that answers in the order of its environment's choice, and may die; it writes down what it answered.
const PROGRAM: &str = r#"
import json, os, queue, re, sys, threading
def words(text, f):
    return re.sub(r'\[\[[FM]\d\]\]|[A-Za-z]+', lambda m: m[0] if m[0][0] == '[' else f(m[0]), text)
def there(word):
    return word[::-1].lower() + 'u'
def home(word):
    return (word[:-1] if word.endswith('u') else word)[::-1]
lines = queue.Queue()
def read():
    for line in sys.stdin:
        lines.put(line)
    lines.put(None)
threading.Thread(target=read, daemon=True).start()
die = int(os.environ.get('DIE', '0'))
done = 0
end = False
while not end:
    batch = [lines.get()]
    try:
        while len(batch) < 40:
            batch.append(lines.get(timeout=0.02))
    except queue.Empty:
        pass
    end = batch[-1] is None
    batch = [json.loads(line) for line in batch if line is not None]
    if 'REVERSED' in os.environ:
        batch.reverse()
    for ask in batch:
        text = words(ask['text'], there if ask['source'] == 'en' else home)
        print(json.dumps({'id': ask['id'], 'text': text}), flush=True)
        with open('answered.txt', 'a') as log:
            log.write(json.dumps([ask['source'], ask['attempt'], ask['text']]) + '\n')
        done += 1
        if done == die:
            sys.exit('out of breath')
"#;

#[test]
fn programs_may_answer_in_any_order_and_die() {
    if !python("programs_may_answer_in_any_order_and_die") {
        return;
    }
    let bench = Bench::new();
    bench.write("speak.py", PROGRAM);
    let service = "engine = \"command\"\ncommand = [\"python3\", \"speak.py\"]\n".to_owned();
    bench.write("r.toml", &Draft { service, ..Draft::default() }.text());
    let answered = || {
        let text = std::fs::read_to_string(bench.path("answered.txt")).unwrap();
        let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
        all.sort();
        all
    };
    let straight = bench.run(&["recipe", "r.toml", "--out", "straight"]).success().release(&bench);
    let first = answered();
    std::fs::remove_file(bench.path("answered.txt")).unwrap();

    let with = |name: &str, value: &str| {
        let mut command = bench.command(&["recipe", "r.toml"]);
        Outcome::of(command.env(name, value).output().unwrap())
    };
    with("DIE", "150").failure(2, &["command: ", "python3", "out of breath", "unanswered"]);
    assert_eq!(answered().len(), 150);
    let release = with("REVERSED", "1").success().release(&bench);
    verified(&bench, &release);
    // In both builds together each text was answered once, and the order shows nowhere.
    assert_eq!(answered(), first);
    assert_eq!(bytes_of(&release), bytes_of(&straight));
}
