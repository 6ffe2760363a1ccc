//! MLNeedle end to end, on questions and passages of our own making: three languages, planted leaks and faults.

use crate::fetching::{Server, sound, tarred, zipped};
use crate::support::{Bench, Outcome, batches, bytes_of, data_files, real_data, reseal};
use arrow_array::RecordBatch;
use nihbuild::hash::Digest;
use nihbuild::table::{int, read_by_language, read_spans, text, texts};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const LANGUAGES: [&str; 3] = ["en", "de", "zh"];
const NAMES: [&str; 3] = ["english", "german", "chinese"];

/// Words that stand for nothing: each language's own, so that passages differ.
fn word(language: usize, n: usize) -> String {
    let stems = [
        ["river", "stone", "market", "letter", "winter", "garden", "copper", "window"],
        ["Fluss", "Stein", "Markt", "Brief", "Winter", "Garten", "Kupfer", "Fenster"],
        [
            "\u{6cb3}\u{6d41}",
            "\u{77f3}\u{5934}",
            "\u{5e02}\u{573a}",
            "\u{4fe1}\u{4ef6}",
            "\u{51ac}\u{5929}",
            "\u{82b1}\u{56ed}",
            "\u{94dc}\u{5668}",
            "\u{7a97}\u{6237}",
        ],
    ];
    stems[language][n % 8].to_owned()
}

pub fn passage(language: usize, n: usize, length: usize) -> String {
    let words: Vec<String> =
        (0..length).map(|i| word(language, n / 8usize.pow((i % 4) as u32) + i * (1 + n % 5))).collect();
    let (join, end) = if language == 2 { ("", "\u{3002}") } else { (" ", ".") };
    words.join(join) + end
}

/// The answer to question `n`: a name that nothing else holds.
fn answer(language: usize, n: usize) -> String {
    let name = ["Arlo", "Bex", "Cyra", "Dorn", "Elke", "Finn", "Gita", "Hale", "Ines", "Jarl", "Kito", "Lund"][n];
    match language {
        0 => format!("{name} Quill"),
        1 => format!("{name} Feder"),
        _ => format!(
            "{}\u{7fbd}\u{6bdb}{}",
            ["\u{7532}", "\u{4e59}", "\u{4e19}", "\u{4e01}"][n % 4],
            ["\u{5b50}", "\u{4e11}", "\u{5bc5}"][n / 4]
        ),
    }
}

const QUESTIONS: usize = 12;
const PASSAGES: usize = 160;

/// Files of questions and passages in a folder. Question 11 is not there in Chinese. Passage 7 holds the German answer
/// to question 3 in its German text alone, passage 9 the English one to question 4 in all languages, and passage 5 is
/// question 2's needle with its answer taken out.
pub fn world(bench: &Bench) {
    for (l, (code, name)) in LANGUAGES.iter().zip(NAMES).enumerate() {
        let mut data = Vec::new();
        for n in 0..QUESTIONS - usize::from(l == 2) {
            let (context, start) = needle(l, n);
            let asked = ["Who kept the bridge", "Wer bewachte die Br\u{fc}cke", "\u{8c01}\u{5b88}\u{7740}\u{6865}"][l];
            data.push(serde_json::json!({
                "title": "t", "paragraphs": [{ "context": context, "qas": [{
                    "id": format!("id{n:02}"), "question": format!("{asked} {n}?"),
                    "answers": [{ "text": answer(l, n), "answer_start": start }],
                }]}],
            }));
        }
        let json = serde_json::json!({ "version": "1.1", "data": data });
        bench.write(&format!("data/made-{code}.json"), &json.to_string());
        let mut tsv = String::new();
        for n in 0..PASSAGES {
            let mut text = passage(l, n, 20 + n % 17);
            if n == 7 && l == 1 {
                text += &format!(" Das war {}.", answer(1, 3));
            }
            if n == 9 {
                text += &format!(" {}", answer(0, 4).to_uppercase());
            }
            if n == 5 {
                text = needle(l, 2).0.replace(&answer(l, 2), "");
            }
            tsv += &format!("{}\t{text}\n", n * 3);
        }
        bench.write(&format!("data/{name}_collection.tsv"), &tsv);
    }
}

/// A needle, and where its answer begins in characters.
fn needle(l: usize, n: usize) -> (String, usize) {
    let before = passage(l, 1000 + 31 * n, 12 + n);
    let space = if l == 2 { "" } else { " " };
    let context = format!("{before}{space}{}{space}{}", answer(l, n), passage(l, 2000 + 17 * n, 9));
    let start = before.chars().count() + space.len();
    (context, start)
}

pub fn recipe(more: &str) -> String {
    format!(
        "[release]\nname = \"made\"\nversion = \"1.0.0\"\nseed = 5\n\n[source]\nkind = \"squad\"\ndataset = \"made\"\n\
         files = \"made-{{language}}.json\"\n\n[budget]\nanswer = 20\ntemplate = 12\nunit = 500\n\n[retrieval]\nembedder = \"ngram\"\n\n{more}"
    )
}

pub const GRID: &str =
    "[grid]\nlanguages = [\"en\", \"de\", \"zh\"]\nlengths = [\"0k\", \"2k\", \"4k\"]\nsamples = 6\n";

pub fn build(bench: &Bench, recipe: &str, args: &[&str]) -> Outcome {
    bench.write("made.toml", recipe);
    bench.run(&[&["recipe", "made.toml", "--data", "data"], args].concat())
}

fn rows(release: &Path) -> Vec<(RecordBatch, usize)> {
    let files = data_files(release);
    let all = files.iter().flat_map(|file| batches(&release.join(file)));
    all.flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch.clone(), row))).collect()
}

fn distractors(row: &(RecordBatch, usize)) -> Vec<String> {
    texts(&row.0, "distractor_ids", row.1)
}

fn verified(bench: &Bench, release: &Path) {
    let found = bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
    assert!(found.out.contains("verified"), "{}", found.out);
}

#[test]
fn the_default_grid_is_the_papers() {
    let bench = Bench::new();
    for (name, each, alone) in
        [("mlneedle", 16_800, 700), ("mlneedle-paper", 16_800, 700), ("mlneedle-existence", 33_600, 1_400)]
    {
        let plan = bench.run(&["recipe", name, "--dry-run"]).success().out;
        for length in ["4k", "8k", "16k", "32k"] {
            assert!(plan.contains(&format!("# prompts       {each} of {length}\n")), "{name}: {plan}");
        }
        assert!(plan.contains(&format!("# prompts       {alone} of 0k\n")), "{name}: {plan}");
        assert!(plan.contains("paraphrase-multilingual-mpnet-base-v2"), "{plan}");
    }
}

#[test]
fn the_papers_prompts_word_for_word() {
    let bench = Bench::new();
    world(&bench);
    let both = GRID.replace("samples = 6", "samples = 2\nprompts = [\"exact\", \"existence\"]");
    let release = build(&bench, &recipe(&both), &["--lengths", "0k", "--languages", "en"]).success().release(&bench);
    verified(&bench, &release);
    let mut seen = BTreeSet::new();
    for row in rows(&release) {
        let get = |name: &str| text(&row.0, name, row.1).to_owned();
        let n: usize = get("source_id")[2..].parse().unwrap();
        let (context, question) = (needle(0, n).0, format!("Who kept the bridge {n}?"));
        let kind = get("id").rsplit('-').next().unwrap().to_owned();
        let wanted = match kind.as_str() {
            "exact" => format!(
                "Write a high-quality answer for the given question using only the provided passages (some of which might be irrelevant).\n\n\
                 ### Passages\n[1] {context}\n\nQuestion: {question}\n\nAnswer:"
            ),
            "existence" => format!(
                "Read the following list of passages and indicate whether any of the passages contain the right answer for the given question. \
                 Format your output strictly as 'Yes' or 'No'.\n\n### Passages\n[1] {context}\n\nQuestion: {question}\n\nAnswer [Yes/No]:"
            ),
            _ => {
                assert_eq!((kind.as_str(), get("expected").as_str(), distractors(&row).len()), ("absent", "No", 1));
                assert!(!get("prompt").contains(&answer(0, n)));
                seen.insert(kind);
                continue;
            }
        };
        assert_eq!(get("prompt"), wanted);
        seen.insert(kind);
    }
    assert_eq!(seen.len(), 3);
}

#[test]
fn every_cell_has_the_same_questions_and_the_same_passages() {
    let bench = Bench::new();
    world(&bench);
    let outcome = build(&bench, &recipe(GRID), &[]).success();
    let release = outcome.release(&bench);
    verified(&bench, &release);
    let rows = rows(&release);
    // 3 needles x 4 haystacks x 3 positions x 6 questions at two lengths, and 18 needles alone.
    assert_eq!(rows.len(), 3 * 4 * 3 * 6 * 2 + 18);
    let mut cells: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut orders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut languages: BTreeMap<String, usize> = BTreeMap::new();
    let mut met = BTreeSet::new();
    for row in &rows {
        let get = |name: &str| text(&row.0, name, row.1).to_owned();
        let cell = ["needle_language", "haystack_language", "position", "length"].map(get).join(" ");
        cells.entry(cell).or_default().push(get("instance_id"));
        let multilingual = get("haystack_language") == "multilingual";
        let ids = distractors(row);
        for id in ids.iter().filter(|_| multilingual) {
            *languages.entry(id.rsplit('-').next().unwrap().to_owned()).or_default() += 1;
        }
        let bare: Vec<String> = ids.iter().map(|id| id.split('-').next().unwrap().to_owned()).collect();
        let longest = orders.entry(get("instance_id")).or_default();
        let common = longest.len().min(bare.len());
        assert_eq!(longest[..common], bare[..common], "{}", get("id"));
        if bare.len() > longest.len() {
            *longest = bare.clone();
        }
        // The planted leaks stand beside other questions, in no language beside their own.
        for (question, pid) in [("id03", "21"), ("id04", "27"), ("id02", "15")] {
            let there = bare.iter().any(|id| id == pid);
            assert!(!(there && get("source_id") == question), "{}: {pid}", get("id"));
            met.extend(there.then_some(pid));
        }
        // Whole passages only, numbered from 1, the answer where it is recorded.
        let prompt = get("prompt");
        let spans = read_spans(&row.0, row.1);
        let own = &prompt[spans[1].start as usize..spans[1].end as usize];
        let gold = read_by_language(&row.0, row.1);
        assert_eq!(gold.iter().find(|(l, _)| *l == get("needle_language")).unwrap().1, [own.to_owned()]);
        assert_eq!(texts(&row.0, "answers", row.1), [own.to_owned()]);
        let list = prompt.split_once("### Passages\n").unwrap().1.split_once("\n\n").unwrap().0;
        for (n, line) in list.lines().enumerate() {
            assert!(line.starts_with(&format!("[{}] ", n + 1)), "{line}");
        }
        let at = list.lines().position(|line| line.contains(own)).unwrap();
        let (last, place) = (list.lines().count() - 1, get("position"));
        match place.as_str() {
            "start" => assert_eq!(at, 0),
            "end" => assert_eq!(at, last),
            "middle" => assert!((400_000..600_000).contains(&spans[0].depth), "{}: {}", get("id"), spans[0].depth),
            _ => assert_eq!((get("length").as_str(), last), ("0k", 0)),
        }
        let most = match get("length").as_str() {
            "2k" => 1000,
            "4k" => 2000,
            _ => u64::MAX,
        };
        assert!(int(&row.0, "n_tokens", row.1) as u64 + 32 <= most, "{}", get("id"));
    }
    let first = cells.values().next().unwrap();
    assert!(cells.values().all(|ids| ids == first), "{cells:?}");
    assert_eq!(met.len(), 3, "the planted passages are good beside other questions");
    let (least, most) = (languages.values().min().unwrap(), languages.values().max().unwrap());
    assert!(languages.len() == 3 && most - least <= most / 10, "{languages:?}");
    let manifest = nihbuild::verify::read_manifest(&release).unwrap().passages.unwrap();
    assert_eq!((manifest.passages, manifest.questions), (160, 12));
    assert_eq!(manifest.questions_by_languages, BTreeMap::from([(2, 1), (3, 11)]));
    assert!(manifest.kept_apart["the passage is nearly the needle"] >= 1, "{:?}", manifest.kept_apart);
    assert_eq!(manifest.shared["de zh"], 6);
    assert!(outcome.out.contains("160 passages in the haystack"), "{}", outcome.out);
}

#[test]
fn the_same_bytes_for_any_number_of_threads_and_in_parts() {
    let bench = Bench::new();
    world(&bench);
    let one = build(&bench, &recipe(GRID), &["--jobs", "1", "--out", "one"]).success().release(&bench);
    let two = build(&bench, &recipe(GRID), &["--jobs", "2", "--out", "two"]).success().release(&bench);
    assert!(bytes_of(&one) == bytes_of(&two));
    let files: BTreeMap<String, Vec<u8>> = bytes_of(&one).into_iter().collect();
    let part = build(&bench, &recipe(GRID), &["--languages", "de,zh", "--lengths", "4k"]).success().release(&bench);
    verified(&bench, &part);
    let kept = data_files(&part);
    // Two needles in German, Chinese and multilingual haystacks.
    assert_eq!(kept.len(), 6);
    for (name, bytes) in bytes_of(&part).iter().filter(|(name, _)| name.starts_with("data/")) {
        assert!(files[name] == *bytes, "{name}");
    }
    // Fewer questions: the first of each cell.
    let few = build(&bench, &recipe(GRID), &["--limit", "2"]).success().release(&bench);
    verified(&bench, &few);
    let prompts = |release: &Path| -> BTreeMap<String, String> {
        let all = rows(release).into_iter();
        all.map(|(batch, row)| (text(&batch, "id", row).to_owned(), text(&batch, "prompt", row).to_owned())).collect()
    };
    let (all, few) = (prompts(&one), prompts(&few));
    assert_eq!(few.len() * 3, all.len());
    assert!(few.iter().all(|(id, prompt)| all[id] == *prompt));
}

#[test]
fn existence_prompts_have_needle_free_twins() {
    let bench = Bench::new();
    world(&bench);
    let grid = GRID.to_owned() + "prompts = [\"existence\"]\n";
    let release = build(&bench, &recipe(&grid), &[]).success().release(&bench);
    verified(&bench, &release);
    let mut pairs: BTreeMap<String, Vec<(RecordBatch, usize)>> = BTreeMap::new();
    for row in rows(&release) {
        pairs.entry(text(&row.0, "pair_id", row.1).to_owned()).or_default().push(row);
    }
    assert_eq!(pairs.len(), 3 * 4 * 3 * 6 * 2 + 18);
    for (id, pair) in pairs {
        let get = |n: usize, name: &str| text(&pair[n].0, name, pair[n].1).to_owned();
        assert_eq!((get(0, "expected").as_str(), get(1, "expected").as_str(), pair.len()), ("Yes", "No", 2), "{id}");
        assert_eq!(texts(&pair[1].0, "answers", pair[1].1), ["No"]);
        assert!(read_spans(&pair[1].0, pair[1].1).is_empty());
        for (_, answers) in read_by_language(&pair[0].0, pair[0].1) {
            assert!(!get(1, "prompt").contains(&answers[0]), "{id}");
        }
        // The same passages in the same places, and one more in the needle's.
        let lines = |n: usize| -> Vec<String> {
            let prompt = get(n, "prompt");
            prompt
                .split_once("### Passages\n")
                .unwrap()
                .1
                .split_once("\n\n")
                .unwrap()
                .0
                .lines()
                .map(str::to_owned)
                .collect()
        };
        let bare = |lines: Vec<String>| -> Vec<String> {
            lines.into_iter().map(|line| line.split_once("] ").unwrap().1.to_owned()).collect()
        };
        let (with, without) = (bare(lines(0)), bare(lines(1)));
        // A long needle leaves room for more, never for less.
        assert!(without.len() >= with.len(), "{id}");
        let gold = &read_by_language(&pair[0].0, pair[0].1);
        let own = &gold.iter().find(|(l, _)| *l == get(0, "needle_language")).unwrap().1[0];
        let kept: Vec<&String> = with.iter().filter(|line| !line.contains(own.as_str())).collect();
        let mut rest = without.iter();
        assert!(kept.iter().all(|line| rest.any(|other| other == *line)), "{id}");
        let lengths = (int(&pair[0].0, "n_tokens", pair[0].1), int(&pair[1].0, "n_tokens", pair[1].1));
        assert!(get(0, "length") == "0k" || lengths.0.abs_diff(lengths.1) < 130, "{id}: {lengths:?}");
        let most = if get(0, "length") == "2k" { 1000 } else { 2000 };
        assert!(int(&pair[1].0, "n_tokens", pair[1].1) + 32 <= most, "{id}");
    }
}

#[test]
fn the_papers_released_choices_by_recipe() {
    let bench = Bench::new();
    world(&bench);
    let paper = recipe(&(GRID.to_owned() + "choice = \"first\"\n"))
        .replace("unit = 500", "unit = 500\ncounts = \"passages\"")
        .replace("embedder = \"ngram\"", "embedder = \"ngram\"\nranking = \"per_language\"")
        + "\n[prompt]\nfirst_label = 0\nmiddle = \"count\"\nlast = \"cut\"\n";
    let release = build(&bench, &paper, &[]).success().release(&bench);
    verified(&bench, &release);
    let (mut over, mut cut) = (0, 0);
    let whole: BTreeSet<String> = NAMES
        .iter()
        .flat_map(|name| {
            let tsv = std::fs::read_to_string(bench.path(&format!("data/{name}_collection.tsv"))).unwrap();
            tsv.lines().map(|line| line.split_once('\t').unwrap().1.to_owned()).collect::<Vec<_>>()
        })
        .collect();
    for row in rows(&release) {
        let get = |name: &str| text(&row.0, name, row.1).to_owned();
        // The first six rows of each language's file.
        assert!(get("source_id").as_str() < "id06", "{}", get("source_id"));
        let prompt = get("prompt");
        let list = prompt.split_once("### Passages\n").unwrap().1.split_once("\n\n").unwrap().0;
        assert!(list.starts_with("[0] "));
        over += usize::from(get("length") == "2k" && int(&row.0, "n_tokens", row.1) > 1000);
        let passages = list.lines().map(|line| line.split_once("] ").unwrap().1);
        let odd: Vec<&str> = passages.filter(|text| !whole.contains(*text)).collect();
        assert!(odd.len() <= 2, "the needle and the one that is cut: {odd:?}");
        cut += usize::from(odd.len() == 2);
        if get("position") == "middle" {
            let n = list.lines().count() - 1;
            let answers = texts(&row.0, "answers", row.1);
            assert_eq!(list.lines().position(|line| line.contains(&answers[0])), Some(n / 2));
        }
    }
    assert!(over > 0 && cut > 0, "{over} {cut}");
}

#[test]
fn pairs_positions_and_question_languages() {
    let bench = Bench::new();
    world(&bench);
    let configs = |more: &str| -> Vec<String> {
        let grid = GRID.replace("\"2k\", ", "") + more;
        let release = build(&bench, &recipe(&grid), &["--limit", "1"]).success().release(&bench);
        verified(&bench, &release);
        let names = data_files(&release).into_iter().map(|path| path.split('/').nth(1).unwrap().to_owned());
        let names = names.filter(|name| name.ends_with("4k")).collect();
        std::fs::remove_dir_all(bench.path("build/made")).unwrap();
        names
    };
    assert_eq!(configs("pairs = \"monolingual\"\n"), ["en_en_4k", "de_de_4k", "zh_zh_4k"]);
    assert_eq!(configs("pairs = \"needle-varies\"\n"), ["en_en_4k", "de_en_4k", "zh_en_4k"]);
    assert_eq!(
        configs("pairs = \"haystack-varies\"\npositions = [\"end\"]\n"),
        ["en_en_4k", "en_de_4k", "en_zh_4k", "en_multilingual_4k"]
    );
    assert_eq!(
        configs("pairs = [\"de-multilingual\", \"zh-de\"]\nquestion = \"needle\"\n"),
        ["de_multilingual_4k", "zh_de_4k"]
    );
    assert_eq!(
        configs("haystack = [\"de\"]\nneedle = [\"en\", \"zh\"]\nquestion = \"haystack\"\n"),
        ["en_de_4k", "zh_de_4k"]
    );
    let refused = |more: &str, said: &[&str]| {
        build(&bench, &recipe(&(GRID.to_owned() + more)), &[]).failure(2, said);
    };
    refused("pairs = \"some\"\n", &["`some` is not known", "monolingual"]);
    refused("pairs = [\"de-fr\"]\n", &["unknown language `fr`"]);
    refused("needle = [\"es\"]\n", &["grid.needle names es", "grid.languages"]);
    refused("pairs = [\"de-en\"]\nhaystack = [\"de\"]\n", &["de-en", "grid.haystack"]);
    refused("positions = []\n", &["grid.positions is empty"]);
    refused("\n[stories]\nanswers = \"balanced\"\n", &["stories does nothing", "passage family"]);
    refused("\n[prompt]\norder = \"ranked\"\n", &["prompt.order does nothing"]);
}

#[test]
fn the_graph_gives_what_exact_search_gives_and_says_its_recall() {
    let bench = Bench::new();
    world(&bench);
    let exact = build(&bench, &recipe(GRID), &["--out", "exact"]).success().release(&bench);
    let hnsw = recipe(GRID).replace("embedder = \"ngram\"", "embedder = \"ngram\"\nengine = \"hnsw\"");
    let release = build(&bench, &hnsw, &[]).success().release(&bench);
    verified(&bench, &release);
    let facts = |release: &Path| nihbuild::verify::read_manifest(release).unwrap().passages.unwrap();
    let (recall, at) = facts(&release).recall.unwrap();
    assert!(recall >= 990_000 && at == 300, "{recall} {at}");
    assert_eq!((facts(&release).engine.as_str(), facts(&exact).engine.as_str()), ("hnsw", "exact"));
    assert_eq!(facts(&exact).recall, None);
    for file in data_files(&exact) {
        assert!(std::fs::read(exact.join(&file)).unwrap() == std::fs::read(release.join(&file)).unwrap(), "{file}");
    }
    // The same facts where the rankings come from the store.
    std::fs::remove_dir_all(&release).unwrap();
    let again = build(&bench, &hnsw, &[]).success().release(&bench);
    assert_eq!(facts(&again).recall, Some((recall, at)));
}

#[test]
fn a_forged_prompt_is_found() {
    let bench = Bench::new();
    world(&bench);
    let release = build(&bench, &recipe(GRID), &["--limit", "3"]).success().release(&bench);
    let path = release.join("data/de_en_4k/test-00000-of-00001.parquet");
    let batch = batches(&path).remove(0);
    let prompt = text(&batch, "prompt", 0).to_owned();
    let gold = texts(&batch, "answers", 0)[0].clone();
    let english = read_by_language(&batch, 0).into_iter().find(|(l, _)| l == "en").unwrap().1[0].clone();
    let last = prompt.split("\n\nQuestion").next().unwrap().rsplit("] ").next().unwrap().to_owned();
    for (from, to, said) in [
        // An answer in another language than the needle's, without care for case.
        (last.as_str(), format!("{last} {}", english.to_lowercase()), "holds an answer"),
        (gold.as_str(), "x".repeat(gold.len()), "the answer does not stand at its span"),
        ("[2] ", "[4] ".to_owned(), "does not begin with [2]"),
        ("Answer:", "Answer now:".to_owned(), "does not end as its kind does"),
    ] {
        let forged = forge(&batch, 0, "prompt", &prompt.replacen(from, &to, 1));
        write(&path, &forged);
        reseal(&release);
        let found = bench.run(&["verify", release.to_str().unwrap()]).failure(1, &[]);
        let of_row: Vec<&str> = found.out.lines().filter(|line| line.contains("row made-")).collect();
        assert_eq!(of_row.len(), 1, "one row is forged: {}", found.out);
        assert!(found.out.contains(said) || of_row[0].contains("prompt_sha256"), "{said}: {}", found.out);
        // With its digest put right, the text itself is what is found.
        let sound = nihbuild::hash::Digest::of(prompt.replacen(from, &to, 1)).to_string();
        let forged = forge(&forged, 0, "prompt_sha256", &sound);
        let tokens = nihbuild::tokenizer::Tokenizer::embedded("o200k_base").unwrap();
        let forged = recount(&forged, tokens.count(&prompt.replacen(from, &to, 1)) as i64);
        write(&path, &forged);
        reseal(&release);
        bench.run(&["verify", release.to_str().unwrap()]).failure(1, &[said]);
    }
}

#[test]
fn forged_rows_of_a_cell_are_found() {
    let bench = Bench::new();
    world(&bench);
    let grid = GRID.to_owned() + "prompts = [\"existence\"]\n";
    let release = build(&bench, &recipe(&grid), &["--limit", "3"]).success().release(&bench);
    let path = release.join("data/de_en_4k/test-00000-of-00001.parquet");
    let batch = batches(&path).remove(0);
    let n = batch.num_rows();
    let found = |rows: &[usize], said: &str| {
        let indices: arrow_array::UInt32Array = rows.iter().map(|row| *row as u32).collect();
        let columns = batch.columns().iter().map(|column| arrow_select::take::take(column, &indices, None).unwrap());
        write(&path, &RecordBatch::try_new(batch.schema(), columns.collect()).unwrap());
        reseal(&release);
        bench.run(&["verify", release.to_str().unwrap()]).failure(1, &[said]);
    };
    // A position twice, a mate in place of its twin, two questions exchanged.
    let whole: Vec<usize> = (0..n).collect();
    let with = |at: usize, row: usize| whole.iter().map(|n| if *n == at { row } else { *n }).collect::<Vec<_>>();
    found(&with(2, 0), "each at every position");
    found(&with(1, 0), "each at every position");
    let third = n / 3;
    let swapped: Vec<usize> = (third..2 * third).chain(0..third).chain(2 * third..n).collect();
    found(&swapped, "not numbered in their order");
    // A twin that is another's.
    write(&path, &batch);
    let twin = text(&batch, "prompt", 3).to_owned();
    let forged = forge(&batch, 1, "prompt", &twin);
    let forged = forge(&forged, 1, "prompt_sha256", &Digest::of(&twin).to_string());
    write(&path, &forged);
    reseal(&release);
    bench.run(&["verify", release.to_str().unwrap()]).failure(1, &[&format!("row {}: ", text(&batch, "id", 1))]);
    // The needle in its own twin.
    let mate = text(&batch, "prompt", 0).to_owned();
    let forged = forge(&batch, 1, "prompt", &mate);
    let forged = forge(&forged, 1, "prompt_sha256", &Digest::of(&mate).to_string());
    write(&path, &forged);
    reseal(&release);
    bench.run(&["verify", release.to_str().unwrap()]).failure(1, &["holds an answer"]);
}

#[test]
fn each_language_for_itself_with_twins_and_a_cut() {
    let bench = Bench::new();
    world(&bench);
    let own = recipe(&(GRID.to_owned() + "prompts = [\"existence\"]\n"))
        .replace("embedder = \"ngram\"", "embedder = \"ngram\"\nranking = \"per_language\"");
    let release = build(&bench, &own, &[]).success().release(&bench);
    verified(&bench, &release);
    let cut = recipe(GRID) + "\n[prompt]\nlast = \"cut\"\n";
    let release = build(&bench, &cut, &["--out", "cut"]).success().release(&bench);
    verified(&bench, &release);
}

#[test]
fn what_is_in_the_store_does_not_change_what_is_built() {
    let bench = Bench::new();
    world(&bench);
    // English haystacks alone, which need fewer passages than those of all languages.
    let one = recipe(&(GRID.to_owned() + "pairs = \"monolingual\"\nneedle = [\"en\"]\n"))
        .replace("\"made\"\nversion", "\"one\"\nversion");
    let all = recipe(&(GRID.to_owned() + "pairs = \"monolingual\"\n"));
    let fresh = build(&bench, &all, &["--out", "fresh"]).success().release(&bench);
    build(&bench, &one, &[]).success();
    let after = build(&bench, &all, &[]).success().release(&bench);
    assert!(bytes_of(&fresh) == bytes_of(&after));
}

/// The batch with another text in one row of a column.
fn forge(batch: &RecordBatch, row: usize, column: &str, value: &str) -> RecordBatch {
    use arrow_array::cast::AsArray;
    let index = batch.schema().index_of(column).unwrap();
    let old = batch.column(index).as_string::<i32>();
    let new: arrow_array::StringArray =
        (0..batch.num_rows()).map(|n| Some(if n == row { value } else { old.value(n) })).collect();
    let mut columns = batch.columns().to_vec();
    columns[index] = std::sync::Arc::new(new);
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

/// The batch with another number of tokens in its first row.
fn recount(batch: &RecordBatch, tokens: i64) -> RecordBatch {
    let index = batch.schema().index_of("n_tokens").unwrap();
    let new: arrow_array::Int64Array =
        (0..batch.num_rows()).map(|n| Some(if n == 0 { tokens } else { int(batch, "n_tokens", n) })).collect();
    let mut columns = batch.columns().to_vec();
    columns[index] = std::sync::Arc::new(new);
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

fn write(path: &Path, batch: &RecordBatch) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn faulty_sources_are_refused_or_dropped_with_reasons() {
    let bench = Bench::new();
    world(&bench);
    let refused = |said: &[&str]| {
        let outcome = build(&bench, &recipe(GRID), &[]).failure(2, said);
        assert!(!bench.path("build/made/1.0.0").exists());
        outcome
    };
    let german = std::fs::read_to_string(bench.path("data/made-de.json")).unwrap();
    bench.write("data/made-de.json", &german[..german.len() - 40]);
    refused(&["made-de.json", "line 1"]);
    bench.write("data/made-de.json", "{\"rows\": []}");
    refused(&["made-de.json"]);
    std::fs::remove_file(bench.path("data/made-de.json")).unwrap();
    refused(&["made-de.json", "--data DIR"]);
    // An answer that is not where it should be: that question is dropped, and the rest is as before.
    let mut json: serde_json::Value = serde_json::from_str(&german).unwrap();
    json["data"][1]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] = 3.into();
    // One that stands there twice is none the worse for it.
    let again = json["data"][2].clone();
    json["data"].as_array_mut().unwrap().push(again);
    bench.write("data/made-de.json", &json.to_string());
    let tsv = std::fs::read_to_string(bench.path("data/german_collection.tsv")).unwrap();
    let faulty = format!("no tab here\nx\tno number\n{tsv}9999\t \n");
    bench.write("data/german_collection.tsv", &faulty.replacen("30\t", "31\t", 1));
    let release = build(&bench, &recipe(GRID), &[]).success().release(&bench);
    verified(&bench, &release);
    let facts = nihbuild::verify::read_manifest(&release).unwrap().passages.unwrap();
    // What is faulty in one language is refused in all: its answer there could not be kept out of passages.
    assert_eq!(facts.questions_by_languages, BTreeMap::from([(2, 1), (3, 10)]));
    assert_eq!(facts.refused, BTreeMap::from([("faulty in de".to_owned(), 1)]));
    let dropped = format!("{:?}", facts.dropped);
    for reason in ["answer not at its offset", "repeated", "pid missing", "line 1", "line 2"] {
        assert!(dropped.contains(reason), "{reason}: {dropped}");
    }
    assert_eq!(facts.passages, 159, "pid 30 is not there in German");
    std::fs::remove_dir_all(bench.path("build")).unwrap();
    bench.write("data/german_collection.tsv", "");
    refused(&["german_collection.tsv"]);
    // Too few passages for the length, too few questions for the cells.
    bench.write("data/german_collection.tsv", &tsv);
    let long = GRID.replace("\"4k\"", "\"200k\"");
    build(&bench, &recipe(&long), &[])
        .failure(2, &["with too few passages to fill 200k", "shorten grid.lengths", "larger haystack"]);
    let many = GRID.replace("samples = 6", "samples = 50");
    build(&bench, &recipe(&many), &[]).failure(2, &["the recipe wants 50", "grid.samples"]);
}

#[test]
fn a_model_that_is_not_there_is_an_error_that_helps() {
    let bench = Bench::new();
    world(&bench);
    let onnx = recipe(GRID)
        .replace("embedder = \"ngram\"", "embedder = \"onnx\"\n\n[embedding]\nmodel = \"nowhere\"\ndimensions = 384\n");
    bench.write("made.toml", &onnx);
    let run = |args: &[&str]| {
        let mut command = bench.command(&[&["recipe", "made.toml", "--data", "data", "--offline"], args].concat());
        Outcome::of(command.env_remove("ORT_DYLIB_PATH").output().unwrap())
    };
    if cfg!(feature = "embed") {
        run(&[]).failure(2, &["ONNX Runtime", "onnxruntime", "--runtime"]);
        run(&["--runtime", "made.toml"]).failure(2, &["made.toml", "onnxruntime"]);
        run(&["--runtime", "/nowhere/lib.so"]).failure(2, &["/nowhere/lib.so", "onnxruntime"]);
    }
    build(&bench, &onnx, &["--pins", "data"]).failure(2, &["data holds no pins", "folder of a release"]);
    if cfg!(feature = "embed") {
        build(&bench, &onnx.replace("\"nowhere\"", "\"../x\""), &[]).failure(2, &["no name of a folder"]);
    }
    build(&bench, &recipe(GRID), &["--rederive"]).failure(2, &["no pinned stage"]);
}

/// Everything over HTTP: a zip of questions, collections as they are and in a tar.gz; then all of it without a network.
#[test]
fn sources_are_downloaded_once_and_kept() {
    let bench = Bench::new();
    world(&bench);
    let read = |name: &str| std::fs::read(bench.path(&format!("data/{name}"))).unwrap();
    let members: Vec<(String, Vec<u8>)> =
        LANGUAGES.iter().map(|code| (format!("set/made-{code}.json"), read(&format!("made-{code}.json")))).collect();
    let zip = bench.path("set.zip");
    let parts: Vec<(&str, &[u8])> = members.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    zipped(&zip, &parts);
    let tar = tarred(&[
        ("queries.tsv", tar::EntryType::Regular, b"1\tq\n"),
        ("collection.tsv", tar::EntryType::Regular, &read("english_collection.tsv")),
    ]);
    let files: BTreeMap<&'static str, Vec<u8>> = BTreeMap::from([
        ("/set.zip", std::fs::read(&zip).unwrap()),
        ("/en.tar.gz", tar),
        ("/german_collection.tsv", read("german_collection.tsv")),
        ("/chinese_collection.tsv", read("chinese_collection.tsv")),
    ]);
    let served = files.clone();
    let server = Server::new(move |asked, n| {
        let mut reply = sound(&served[asked.path.as_str()], "v1", asked);
        // Every other connection breaks.
        if n % 2 == 0 && reply.body.len() > 2000 {
            reply.drop_after = Some(reply.body.len() / 2);
        }
        reply
    });
    let pin = |id: &str, path: &str, wrong: bool| {
        let bytes = &files[path];
        let digest = if wrong { Digest::of("other") } else { Digest::of(bytes) };
        let url = server.url(path);
        format!(
            "[[source]]\nid = \"{id}\"\nurls = [\"{url}\"]\nbytes = {}\nsha256 = \"{digest}\"\nlicence = \"CC0-1.0\"\n",
            bytes.len()
        )
    };
    let pins = |wrong: bool| {
        [
            pin("set", "/set.zip", false),
            pin("c-en", "/en.tar.gz", wrong),
            pin("c-de", "/german_collection.tsv", false),
            pin("c-zh", "/chinese_collection.tsv", false),
        ]
        .concat()
    };
    let remote = recipe(GRID)
        .replace("files = \"made-{language}.json\"", "files = \"set/made-{language}.json\"\narchive = \"set\"")
        + "\n[haystack]\narchive = \"c-{language}\"\nfiles = [\"{name}_collection.tsv\", \"collection.tsv\"]\n";
    bench.write("made.toml", &remote);
    bench.write("pins.toml", &pins(true));
    let run = |args: &[&str]| bench.run(&[args, &["--sources", "pins.toml"]].concat());
    run(&["recipe", "made.toml", "--offline"]).failure(2, &["set", "offline"]);
    assert!(server.seen().is_empty(), "offline opens no socket");
    run(&["recipe", "made.toml"]).failure(2, &["c-en", "SHA-256", &Digest::of("other").to_string()]);
    bench.write("pins.toml", &pins(false));
    let fetched = run(&["fetch", "made.toml"]).success();
    assert!(fetched.out.contains("german_collection.tsv"), "{}", fetched.out);
    let asked = server.seen().len();
    assert!(
        server.seen().iter().any(|(request, _)| format!("{request:?}").contains("range")),
        "broken off, and gone on"
    );
    let release = run(&["recipe", "made.toml", "--offline"]).success().release(&bench);
    verified(&bench, &release);
    assert_eq!(server.seen().len(), asked, "nothing is downloaded twice");
    let local = build(&bench, &recipe(GRID), &["--out", "local"]).success().release(&bench);
    for file in data_files(&local) {
        assert!(std::fs::read(local.join(&file)).unwrap() == std::fs::read(release.join(&file)).unwrap(), "{file}");
    }
    // No copy of a collection is kept.
    let cached: Vec<String> = bytes_of(&bench.path("build/cache")).into_iter().map(|(name, _)| name).collect();
    assert!(
        cached.iter().any(|name| name.ends_with("set.zip")) && !cached.iter().any(|name| name.contains("collection")),
        "{cached:?}"
    );
}

#[test]
fn natural_distractors_of_stories() {
    let bench = Bench::new();
    let mut tsv = [String::new(), String::new()];
    for n in 0..400 {
        for (l, tsv) in tsv.iter_mut().enumerate() {
            let mut text = passage(l, n, 18 + n % 23).replace("garden", "harbour").replace("Garten", "Hafen");
            if n == 11 && l == 1 {
                text += " Alles lag in der K\u{fc}che.";
            }
            if n == 12 && l == 0 {
                text += " It was in the office.";
            }
            *tsv += &format!("{n}\t{text}\n");
        }
    }
    bench.write("data/english_collection.tsv", &tsv[0]);
    bench.write("data/german_collection.tsv", &tsv[1]);
    let recipe = crate::support::small(
        "natural",
        "[grid]\nlanguages = [\"en\", \"de\"]\nlengths = [\"0k\", \"2k\"]\n\n[distractors]\nkind = [\"natural\", \"noise\"]\npool = 300\n",
    );
    let release = build(&bench, &recipe, &[]).success().release(&bench);
    verified(&bench, &release);
    crate::compact::compacts(&bench, &["recipe", "made.toml", "--data", "data"], &release);
    let facts = nihbuild::verify::read_manifest(&release).unwrap().passages.unwrap();
    assert_eq!(facts.passages, 398);
    let reasons = format!("{:?}", facts.dropped);
    assert!(reasons.contains("stories in de\": 1") && reasons.contains("stories in en\": 1"), "{reasons}");
    let mut sets: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for row in rows(&release).iter().filter(|row| text(&row.0, "distractor_kind", row.1) == "natural") {
        let get = |name: &str| text(&row.0, name, row.1).to_owned();
        assert_eq!(get("certificate"), "contained");
        if get("length") == "2k" {
            assert!(int(&row.0, "n_distractors", row.1) > 10);
            sets.entry(get("instance_id")).or_default().insert(get("language"), distractors(row));
        }
    }
    // Parallel: the shorter list's passages are all in the longer one.
    for (id, by_language) in sets {
        let sets: Vec<BTreeSet<&String>> = by_language.values().map(|ids| ids.iter().collect()).collect();
        assert!(sets[0].is_subset(&sets[1]) || sets[1].is_subset(&sets[0]), "{id}");
    }
}

/// A real model: its vectors are published, and rebuild the release elsewhere without it.
#[test]
#[cfg(feature = "embed")]
fn pinned_vectors_rebuild_a_release_without_the_model() {
    #[allow(clippy::disallowed_methods, reason = "tests may look where model and runtime are")]
    let runtime = std::env::var_os("ORT_DYLIB_PATH");
    let models = crate::support::models();
    let (Some(_), Some(models)) = (runtime, models) else {
        eprintln!("skipped: no model or no ONNX Runtime for pinned_vectors_rebuild_a_release_without_the_model");
        return;
    };
    let bench = Bench::new();
    world(&bench);
    let onnx = recipe(GRID).replace(
        "embedder = \"ngram\"",
        "embedder = \"onnx\"\n\n[embedding]\nmodel = \"multilingual-e5-small-q4\"\nquery_prefix = \"query: \"\n\
         passage_prefix = \"passage: \"\nmax_tokens = 512\ndimensions = 384\n",
    );
    let models = models.to_str().unwrap();
    let first = build(&bench, &onnx, &["--models", models, "--jobs", "2"]).success().release(&bench);
    verified(&bench, &first);
    let manifest = nihbuild::verify::read_manifest(&first).unwrap();
    let what: Vec<&str> = manifest.pins.iter().map(|pin| pin.what.as_str()).collect();
    assert_eq!(what, ["passages en", "passages de", "passages zh", "questions en"]);
    let drift = build(&bench, &onnx, &["--models", models, "--jobs", "1", "--rederive"]).success();
    assert!(drift.out.starts_with("components 0 of "), "{}", drift.out);
    // From the release's own recipe and pins, without model and runtime.
    let own = first.join("recipe.toml");
    let mut again = bench.command(&["recipe", own.to_str().unwrap(), "--data", "data", "--out", "again", "--offline"]);
    let again = Outcome::of(again.env_remove("ORT_DYLIB_PATH").output().unwrap()).success().release(&bench);
    assert!(bytes_of(&first) == bytes_of(&again));
    // From the pins of a release in a bucket.
    #[cfg(feature = "cloud")]
    {
        use crate::remote::server::{Server, variables};
        let server = Server::start(&bench.path("server"));
        let run = |args: &[&str]| {
            let mut command = bench.command(args);
            command.envs(variables(&server.address)).env_remove("ORT_DYLIB_PATH");
            Outcome::of(command.output().unwrap())
        };
        let args = ["recipe", "made.toml", "--data", "data", "--out", "far", "--pins", "s3://suite/made"];
        run(&args).failure(2, &["--pins", "holds no release"]);
        run(&["push", first.to_str().unwrap(), "s3://suite/made"]).success();
        run(&[&args[..], &["--offline"]].concat()).failure(2, &["--offline"]);
        let far = run(&args).success().release(&bench);
        assert!(bytes_of(&first) == bytes_of(&far));
    }
    // A pin with one changed bit is neither used nor overlooked.
    let pin = again.join(&manifest.pins[0].path);
    let mut bytes = std::fs::read(&pin).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&pin, bytes).unwrap();
    bench.run(&["verify", again.to_str().unwrap()]).failure(1, &[&manifest.pins[0].path]);
}

/// Sums of parts are the whole's tokens, and all else holds, on text that nobody made for it.
#[test]
fn real_questions_in_real_passages() {
    let Some(data) = real_data("real_questions_in_real_passages") else { return };
    let bench = Bench::new();
    let sets = [("xquad", "xquad.{language}.json", "o200k_base"), ("mlqa", "mlqa-dev-{language}.json", "cl100k_base")];
    for (dataset, files, tokenizer) in sets {
        let recipe = format!(
            "[release]\nname = \"{dataset}\"\nversion = \"1.0.0\"\nseed = 5\n\n[source]\nkind = \"squad\"\ndataset = \"{dataset}\"\nsplits = [\"dev\"]\n\
             files = \"{files}\"\n\n[retrieval]\nembedder = \"ngram\"\n\n[grid]\nlengths = [\"0k\", \"4k\"]\nsamples = 4\nprompts = [\"exact\", \"existence\"]\n\n\
             [tokens]\nprimary = \"{tokenizer}\"\n"
        );
        bench.write("real.toml", &recipe);
        let outcome = bench.run(&["recipe", "real.toml", "--data", data.to_str().unwrap()]).success();
        let release = outcome.release(&bench);
        verified(&bench, &release);
        let facts = nihbuild::verify::read_manifest(&release).unwrap().passages.unwrap();
        match dataset {
            "xquad" => {
                assert_eq!(facts.questions_by_languages, BTreeMap::from([(7, 1150)]));
                // Damaged text.
                assert_eq!((facts.refused["faulty in ar"], facts.refused["faulty in vi"]), (35, 5));
            }
            _ => assert_eq!(facts.questions_by_languages, BTreeMap::from([(2, 65), (3, 263), (4, 820)])),
        }
        assert_eq!(facts.passages, 521);
    }
}
