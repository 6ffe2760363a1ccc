//! Relevance of sentences to questions: by words in integers, and by programs that die, lie and are asked once only.

use crate::support::{Bench, batches, refused};
use nihbuild::hash::Digest;
use nihbuild::reranker::bm25::FRACTION_BITS;
use nihbuild::reranker::pin::{self, Scored};
use nihbuild::reranker::{Bm25, CommandReranker, CommandSettings, Reranker, terms::terms};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn terms_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    terms(text, |term| found.push(term.to_owned()));
    found
}

/// BM25 as books have it, over words between spaces.
fn plain_bm25(question: &str, sentences: &[&str]) -> Vec<f64> {
    let split = |text: &str| text.to_lowercase().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = sentences.iter().map(|sentence| split(sentence)).collect();
    let n = all.len() as f64;
    let mean = all.iter().map(Vec::len).sum::<usize>() as f64 / n;
    let score = |words: &Vec<String>| {
        let part = |term: &String| {
            let with = all.iter().filter(|words| words.contains(term)).count() as f64;
            let times = words.iter().filter(|word| *word == term).count() as f64;
            let weight = ((n + 1.0) / (with + 0.5)).log2();
            let below = times + 1.2 * (1.0 - 0.75 + 0.75 * words.len() as f64 / mean);
            if times > 0.0 { weight * times * 2.2 / below } else { 0.0 }
        };
        split(question).iter().map(part).sum()
    };
    all.iter().map(score).collect()
}

fn agree(question: &str, sentences: &[&str]) {
    let found = Bm25::new().scores(question, sentences).unwrap();
    let plain = plain_bm25(question, sentences);
    assert_eq!(found.len(), sentences.len());
    for (a, x) in plain.iter().enumerate() {
        for (b, y) in plain.iter().enumerate() {
            if x - y > 1e-6 {
                assert!(found[a] > found[b], "{question:?}: {:?} {x} {:?} {y}", sentences[a], sentences[b]);
            }
        }
        let float = found[a] as f64 / 2_f64.powi(FRACTION_BITS as i32);
        assert!((float - x).abs() < 1e-6, "{float} {x}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn integers_order_as_floats_do(
        sentences in prop::collection::vec("([a-f] ){0,12}[a-z]?", 1..60),
        question in "([a-h] ){0,8}",
    ) {
        let sentences: Vec<&str> = sentences.iter().map(String::as_str).collect();
        agree(&question, &sentences);
    }
}

#[test]
fn integers_order_as_floats_do_in_a_long_prompt() {
    let sentences: Vec<String> = (0..3000_usize)
        .map(|n| {
            let word = |k: usize| format!("w{}", (n * 7919 + k * 104_729 + n * n * k) % (10 + 40 * k));
            (0..3 + n % 17).map(word).collect::<Vec<_>>().join(" ")
        })
        .collect();
    let mut sentences: Vec<&str> = sentences.iter().map(String::as_str).step_by(3).collect();
    sentences.push("Where is the Ivory key");
    agree("where is w3 W3 w17 w120 ivory key nowhere", &sentences);
}

#[test]
fn words_decide_whatever_their_case_and_composition() {
    let sentences = ["Mary went to the kitchen.", "The caf\u{e9} is closed.", "John left.", ""];
    let mut bm25 = Bm25::new();
    let scores = bm25.scores("Is the CAFE\u{301} open?", &sentences).unwrap();
    assert!(scores[1] > scores[0] && scores[0] > scores[2], "{scores:?}");
    assert_eq!(scores[2..], [0, 0]);
    assert_eq!(terms_of("Don't stop, 3.5 times!  "), ["don't", "stop", "3.5", "times"]);
    // No words, no relevance.
    for question in ["", "  ", "?!", "unknown"] {
        assert_eq!(bm25.scores(question, &sentences).unwrap(), [0; 4]);
    }
    assert!(bm25.scores("Mary", &[]).unwrap().is_empty());
    assert_eq!(bm25.scores("Mary", &["", "..."]).unwrap(), [0, 0]);
}

#[test]
fn chinese_is_characters_and_pairs() {
    // Bedroom, kitchen; "Mary is in the kitchen", "John is in the bedroom", "the room is big", "kitchen3".
    assert_eq!(terms_of("\u{5367}\u{5ba4}"), ["\u{5367}", "\u{5ba4}", "\u{5367}\u{5ba4}"]);
    assert_eq!(
        terms_of("\u{53a8}\u{623f}\u{3002}\u{5927} 3\u{4e2a}"),
        ["\u{53a8}", "\u{623f}", "\u{53a8}\u{623f}", "\u{5927}", "3", "\u{4e2a}"]
    );
    let sentences = [
        "\u{739b}\u{4e3d}\u{5728}\u{53a8}\u{623f}\u{91cc}\u{3002}",
        "\u{7ea6}\u{7ff0}\u{5728}\u{5367}\u{5ba4}\u{91cc}\u{3002}",
        "\u{623f}\u{95f4}\u{5f88}\u{5927}\u{3002}",
        "\u{623f}\u{53a8}\u{5f88}\u{5927}\u{3002}",
    ];
    let scores = Bm25::new().scores("\u{8c01}\u{5728}\u{53a8}\u{623f}\u{ff1f}", &sentences).unwrap();
    // Both characters in the other order are less than the word.
    assert!(scores[0] > scores[3] && scores[3] > scores[2] && scores[2] > 0, "{scores:?}");
    assert!(scores[0] > scores[1] && scores[1] > 0);
    // Katakana runs are words, Thai is cut as Chinese is.
    assert_eq!(terms_of("\u{30ab}\u{30e1}\u{30e9}"), ["\u{30ab}\u{30e1}\u{30e9}"]);
    assert_eq!(
        terms_of("\u{e1a}\u{e49}\u{e32}\u{e19}").len(),
        2 * terms_of("\u{e1a}\u{e49} \u{e32} \u{e19}").len() - 1
    );
}

#[test]
fn arabic_is_words() {
    // "Where is Maryam?", "Maryam went to the kitchen", "John is in the garden", "the kitchen is big".
    let sentences = [
        "\u{630}\u{647}\u{628}\u{62a} \u{645}\u{631}\u{64a}\u{645} \u{625}\u{644}\u{649} \u{627}\u{644}\u{645}\u{637}\u{628}\u{62e}.",
        "\u{62c}\u{648}\u{646} \u{641}\u{64a} \u{627}\u{644}\u{62d}\u{62f}\u{64a}\u{642}\u{629}.",
        "\u{627}\u{644}\u{645}\u{637}\u{628}\u{62e} \u{643}\u{628}\u{64a}\u{631}\u{60c}",
    ];
    let mut bm25 = Bm25::new();
    let scores = bm25.scores("\u{623}\u{64a}\u{646} \u{645}\u{631}\u{64a}\u{645}\u{61f}", &sentences).unwrap();
    assert!(scores[0] > 0, "{scores:?}");
    assert_eq!(scores[1..], [0, 0]);
    // Alef with hamza, in one character or two.
    let scores = bm25.scores("\u{627}\u{655}\u{644}\u{649}", &sentences).unwrap();
    assert!(scores[0] > 0 && scores[1] == 0, "{scores:?}");
}

#[test]
fn repeated_sentences_count_each_time_and_are_read_once() {
    let mut bm25 = Bm25::new();
    let a = bm25.prepare("the red key");
    let b = bm25.prepare("the blue door");
    assert_eq!(bm25.prepare("the red key"), a);
    let once = bm25.rank("red door", &[a, b]);
    assert_eq!(once[0], once[1]);
    // A word of three sentences of four says less than that of one.
    let often = bm25.rank("red door", &[a, b, a, a]);
    assert!(often[0] == often[2] && often[0] == often[3] && often[0] < often[1], "{often:?}");
    agree("red door", &["the red key", "the blue door", "the red key", "the red key"]);
    // What else was prepared, and in what order, does not matter.
    let mut other = Bm25::new();
    other.prepare("a door, another door, a red one");
    assert_eq!(other.scores("red door", &["the red key", "the blue door"]).unwrap(), once);
    // A word asked twice counts twice.
    let twice = bm25.rank("red red", &[a, b]);
    assert_eq!(twice, bm25.rank("red", &[a, b]).iter().map(|score| 2 * score).collect::<Vec<_>>());
}

/// A program of the shell.
fn program(bench: &Bench, script: &str) -> CommandSettings {
    let path = bench.write("rerank.sh", script);
    let command = vec!["sh".to_owned(), path.to_string_lossy().into_owned()];
    CommandSettings { command, model: "lengths 1".to_owned(), batch: 2, timeout_seconds: 60 }
}

/// Scores a sentence by its length, less a quarter; what it was asked goes to a file.
const LENGTHS: &str = r#"
while read -r line; do
    id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    question=$(printf %s "$line" | sed 's/.*"question":"\([^"]*\)".*/\1/')
    list=$(printf %s "$line" | sed 's/.*"sentences":\["\([^]]*\)"\].*/\1/')
    printf '%s: %s\n' "$question" "$list" >> "$0.asked"
    scores=$(printf '%s\n' "$list" | awk -F '","' '{ for (i = 1; i <= NF; i++) printf "%s%s", (i > 1 ? "," : ""), length($i) - 0.25 }')
    printf '{"id":%s,"scores":[%s]}\n' "$id" "$scores"
done
"#;

/// What [`LENGTHS`] was asked.
fn asked(bench: &Bench) -> Vec<String> {
    let text = std::fs::read_to_string(bench.path("rerank.sh.asked")).unwrap_or_default();
    text.lines().map(|line| line.replace("\",\"", "+")).collect()
}

#[track_caller]
fn open(bench: &Bench, settings: &CommandSettings) -> CommandReranker {
    CommandReranker::open(settings.clone(), &bench.path("store"), &[], false).unwrap_or_else(|e| panic!("{e}"))
}

fn digest_of(settings: &CommandSettings) -> Digest {
    nihbuild::embedder::pinned::parameters_digest(&settings.parameters())
}

fn journal(bench: &Bench, settings: &CommandSettings) -> PathBuf {
    bench.path("store").join("rerank").join(format!("{}.jsonl", digest_of(settings)))
}

#[test]
fn settings_are_read_and_checked() {
    let good: CommandSettings = toml::from_str("command = [\"./rerank\", \"--fast\"]\nmodel = \"m\"").unwrap();
    good.check().unwrap();
    assert!(toml::from_str::<CommandSettings>("programme = [\"x\"]").is_err());
    for (settings, said) in [
        (CommandSettings { command: vec![], ..good.clone() }, "command: "),
        (CommandSettings { command: vec![" ".to_owned()], ..good.clone() }, "command: "),
        (CommandSettings { model: String::new(), ..good.clone() }, "model: "),
        (CommandSettings { batch: 0, ..good.clone() }, "batch: "),
        (CommandSettings { timeout_seconds: 0, ..good.clone() }, "timeout_seconds: "),
    ] {
        assert!(refused(settings.check(), &[said]).starts_with(said));
    }
    // Pace shapes no score.
    assert_eq!(digest_of(&good), digest_of(&CommandSettings { batch: 9, timeout_seconds: 9, ..good.clone() }));
    assert_ne!(digest_of(&good), digest_of(&CommandSettings { model: "n".to_owned(), ..good.clone() }));
    assert_ne!(digest_of(&good), digest_of(&CommandSettings { command: vec!["x".to_owned()], ..good }));
}

#[test]
fn a_pair_is_asked_once_and_order_is_kept() {
    let bench = Bench::new();
    let settings = program(&bench, LENGTHS);
    let mut reranker = open(&bench, &settings);
    let sentences = ["ccc", "a", "ccc", "", "bb"];
    let scores = [2_750_000, 750_000, 2_750_000, -250_000, 1_750_000];
    assert_eq!(reranker.unknown("q", &sentences), 4);
    assert_eq!(reranker.scores("q", &sentences).unwrap(), scores);
    assert_eq!(asked(&bench), ["q: ccc+a", "q: +bb"]);
    // A question's known sentences are not sent again; those of another question are.
    assert_eq!(reranker.scores("q", &["bb", "dddd", "a"]).unwrap(), [1_750_000, 3_750_000, 750_000]);
    reranker.scores("r", &["a"]).unwrap();
    assert_eq!(asked(&bench)[2..], ["q: dddd", "r: a"]);
    assert!(reranker.scores("q", &[]).unwrap().is_empty());
    // Known to another build, which a lock keeps apart.
    refused(CommandReranker::open(settings.clone(), &bench.path("store"), &[], false), &["another build"]);
    drop(reranker);
    assert_eq!(open(&bench, &settings).scores("q", &sentences).unwrap(), scores);
    assert_eq!(asked(&bench).len(), 4);
}

#[test]
fn lines_are_answered_in_any_order() {
    let bench = Bench::new();
    let script = r#"
read -r a; read -r b; read -r c
printf '%s\n' "$b" > "$0.line"
printf '{"id":3,"scores":[5e-7]}\n{"id":1,"scores":[1,-0.0000015]}\n{"scores":[7.5,0],"id":2}\n'
read -r line
"#;
    let mut reranker = open(&bench, &program(&bench, script));
    let question = "who said \"no\"?\n";
    assert_eq!(reranker.scores(question, &["a", "b", "c", "d", "e"]).unwrap(), [1_000_000, -2, 7_500_000, 0, 1]);
    let line = std::fs::read_to_string(bench.path("rerank.sh.line")).unwrap();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line, serde_json::json!({ "id": 2, "question": question, "sentences": ["c", "d"] }));
}

#[test]
fn a_program_that_fails_says_why_and_keeps_what_it_answered() {
    let first = r#"read -r a; read -r b; printf '{"id":1,"scores":[0.75,1.75]}\n'; "#;
    for (rest, said) in [
        ("echo 'no model here' >&2; exit 3", &["ended (exit status: 3) with 1 lines", "stderr: no model here"][..]),
        ("kill -9 $$", &["ended (signal: 9", "with 1 lines unanswered"]),
        ("echo 'hello you'; read -r c", &["wrote a line that is not {\"id\":..,\"scores\":[..]}", "hello you"]),
        (r#"echo '{"id":2,"scores":[]}'; read -r c"#, &["answered id 2 with 0 scores for 1 sentences"]),
        (r#"echo '{"id":2,"scores":[1,2]}'; read -r c"#, &["answered id 2 with 2 scores for 1 sentences"]),
        (r#"echo '{"id":2,"scores":[NaN]}'; read -r c"#, &["must be a finite number"]),
        (r#"echo '{"id":2,"scores":[-Infinity]}'; read -r c"#, &["must be a finite number"]),
        (r#"echo '{"id":2,"scores":[1e999]}'; read -r c"#, &["must be a finite number"]),
        (r#"echo '{"id":2,"scores":[1e20]}'; read -r c"#, &["too large"]),
        (r#"echo '{"id":2,"scores":[null]}'; read -r c"#, &["no number", "null"]),
        (r#"echo '{"id":2,"scores":["1"]}'; read -r c"#, &["no number"]),
        (r#"echo '{"id":1,"scores":[1,2]}'; read -r c"#, &["answered id 1 twice"]),
        (r#"echo '{"id":9,"scores":[1]}'; read -r c"#, &["answered id 9, which was not asked"]),
        ("echo 'still loading' >&2; read -r c", &["was silent for 3 s", "stderr: still loading"]),
    ] {
        let bench = Bench::new();
        // Long enough for a busy machine to answer the first.
        let timeout_seconds = if said[0].starts_with("was silent") { 3 } else { 60 };
        let settings = CommandSettings { timeout_seconds, ..program(&bench, &format!("{first}{rest}")) };
        let mut reranker = open(&bench, &settings);
        refused(reranker.scores("q", &["a", "bb", "ccc"]), said);
        drop(reranker);
        assert_eq!(std::fs::read_to_string(journal(&bench, &settings)).unwrap().lines().count(), 1, "{rest}");
        // The same command line, mended.
        std::fs::write(bench.path("rerank.sh"), LENGTHS).unwrap();
        let mut reranker = open(&bench, &settings);
        assert_eq!(reranker.scores("q", &["a", "bb", "ccc"]).unwrap(), [750_000, 1_750_000, 2_750_000]);
        assert_eq!(asked(&bench), ["q: ccc"]);
    }
    let bench = Bench::new();
    let settings = CommandSettings { command: vec!["./not-there".to_owned()], ..program(&bench, "") };
    refused(open(&bench, &settings).scores("q", &["a"]), &["reranker: cannot start", "not-there"]);
}

#[test]
fn a_torn_or_damaged_journal_costs_its_line() {
    let bench = Bench::new();
    let settings = program(&bench, LENGTHS);
    let sentences = ["a", "bb", "ccc", "dddd", "eeeee"];
    open(&bench, &settings).scores("q", &sentences).unwrap();
    let path = journal(&bench, &settings);
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 7]).unwrap();
    let reader = CommandReranker::open(settings.clone(), &bench.path("store"), &[], true).unwrap();
    assert_eq!(reader.unknown("q", &sentences), 1);
    open(&bench, &settings).scores("q", &sentences).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
    // A changed score is none.
    std::fs::write(&path, whole.replace("[750000,1750000]", "[750000,1750001]")).unwrap();
    assert_eq!(open(&bench, &settings).unknown("q", &sentences), 2);
}

#[test]
fn a_pin_is_read_offline() {
    let bench = Bench::new();
    let settings = program(&bench, LENGTHS);
    let mut reranker = open(&bench, &settings);
    assert_eq!(reranker.pin(&bench.path("release")).unwrap(), None);
    reranker.scores("q", &["not in the pin"]).unwrap();
    drop(reranker);
    let mut reranker = open(&bench, &settings);
    reranker.scores("q", &["bb", "a", "bb"]).unwrap();
    reranker.scores("r", &["a"]).unwrap();
    let (name, bytes, digest) = reranker.pin(&bench.path("release")).unwrap().unwrap();
    let path = bench.path("release").join(&name);
    assert!(name.starts_with("pins/rerank/") && name.ends_with(&format!("-{}.parquet", digest_of(&settings))));
    assert_eq!(Digest::of_file(&path).unwrap(), (digest, bytes));
    let batch = batches(&path).remove(0);
    let rows: BTreeMap<(String, String), ()> = (0..batch.num_rows())
        .map(|row| {
            let text = |column: &str| nihbuild::table::text(&batch, column, row).to_owned();
            ((text("question_sha256"), text("sentence_sha256")), ())
        })
        .collect();
    let pair = |question: &str, sentence: &str| (Digest::of(question).to_string(), Digest::of(sentence).to_string());
    assert!(batch.num_rows() == 3 && rows.len() == 3);
    assert!(
        rows.contains_key(&pair("q", "bb")) && rows.contains_key(&pair("q", "a")) && rows.contains_key(&pair("r", "a"))
    );
    // The same whatever the order of use, from the pin alone, without the program.
    std::fs::remove_file(bench.path("rerank.sh")).unwrap();
    let elsewhere = Bench::new();
    let pins = [bench.path("nowhere"), bench.path("release").join("pins")];
    let offline =
        |settings: &CommandSettings| CommandReranker::open(settings.clone(), &elsewhere.path("store"), &pins, true);
    let mut again = offline(&settings).unwrap();
    assert_eq!(again.scores("r", &["a"]).unwrap(), [750_000]);
    assert_eq!(again.scores("q", &["a", "bb"]).unwrap(), [750_000, 1_750_000]);
    assert_eq!(again.pin(&elsewhere.path("release")).unwrap(), Some((name, bytes, digest)));
    assert!(!elsewhere.path("store").exists());
    refused(again.scores("q", &["a", "x", "y", "x"]), &["2 of 4 sentences", "--offline", "\"q\"", "--pins"]);
    let other = CommandSettings { model: "lengths 2".to_owned(), ..settings.clone() };
    refused(offline(&other).unwrap().scores("q", &["a"]), &["1 of 1 sentences"]);
    // A pin that is another's by its name, and a damaged one, are errors.
    let misnamed = path.with_file_name(format!("x-{}.parquet", digest_of(&other)));
    std::fs::copy(&path, &misnamed).unwrap();
    refused(offline(&other), &["other parameters", &misnamed.to_string_lossy()]);
    let mut damaged = std::fs::read(&path).unwrap();
    let middle = damaged.len() / 3;
    damaged[middle] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    refused(offline(&settings), &[&path.to_string_lossy(), "help: fetch"]);
}

#[test]
fn pins_come_before_the_journal_and_hold_many_rows() {
    let bench = Bench::new();
    let settings = program(&bench, LENGTHS);
    open(&bench, &settings).scores("q", &["a"]).unwrap();
    let mut rows: Vec<Scored> = (0..40_000_i64)
        .map(|n| Scored {
            question: Digest::of(format!("question {}", n / 10_000)),
            sentence: Digest::of(format!("sentence {}", n % 10_000)),
            score: n - 20_000,
        })
        .collect();
    rows.push(Scored { question: Digest::of("q"), sentence: Digest::of("a"), score: -7 });
    rows.sort();
    let folder = bench.path("pins/rerank");
    let (name, bytes, _) = pin::write(&folder, &rows, &settings.parameters()).unwrap();
    // Digests are written once, not with every row.
    assert!(bytes < 40 * rows.len() as u64, "{bytes}");
    let mut back = Vec::new();
    pin::read(&folder.join(&name), &digest_of(&settings), &mut |row| back.push(*row)).unwrap();
    assert_eq!(back, rows);
    let mut reranker =
        CommandReranker::open(settings.clone(), &bench.path("store"), &[bench.path("pins")], false).unwrap();
    assert_eq!(reranker.scores("q", &["a"]).unwrap(), [-7]);
    assert_eq!(reranker.scores("question 3", &["sentence 9"]).unwrap(), [10_009]);
    assert_eq!(asked(&bench).len(), 1);
    // Rows of one pair twice are refused.
    rows.push(*rows.last().unwrap());
    let (name, ..) = pin::write(&folder, &rows, &settings.parameters()).unwrap();
    refused(pin::read(&folder.join(&name), &digest_of(&settings), &mut |_| ()), &["not sorted"]);
}
