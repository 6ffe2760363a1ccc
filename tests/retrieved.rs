//! Rows with the best sentences of a prompt alone: which they are, what was lost, and that it is seen when they are touched.

use crate::support::*;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BooleanArray, Int64Array, RecordBatch};
use nihbuild::embedder::dot;
use nihbuild::family::reasoning::{answers, question_of};
use nihbuild::language::{Language, Pack};
use nihbuild::record::NeedleSpan;
use nihbuild::reranker::{Bm25, Reranker};
use nihbuild::stage::embed::grams;
use nihbuild::story::{Answer, Fact, Question, Solution, solve};
use nihbuild::table::{column, int, numbers, read_spans, text, texts};
use nihbuild::tokenizer::Tokenizer;
use nihbuild::verify::read_manifest;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn recipe(grid: &str, kinds: &str, more: &str) -> String {
    format!(
        "[release]\nname = \"cut\"\nversion = \"1.0.0\"\nseed = 9\n\n[stories]\ntasks = {{ qa1 = 3, qa2 = 2, qa5 = 2, qa6 = 2, \
         qa8 = 2, qa11 = 4, qa17 = 1 }}\n\n[grid]\n{grid}\nlengths = [\"0k\", \"2k\"]\n\n\
         [distractors]\npool = 300\nkind = {kinds}\n\n{more}"
    )
}

/// Scores a sentence by its length.
const PROGRAM: &str = "import json, sys\n\nfor line in sys.stdin:\n    asked = json.loads(line)\n    \
                       scores = [len(sentence) / 4 for sentence in asked[\"sentences\"]]\n    \
                       print(json.dumps({\"id\": asked[\"id\"], \"scores\": scores}), flush=True)\n";

const COMMAND: &str = "\n[rag.reranker]\ncommand = [\"python3\", \"rerank.py\"]\nmodel = \"lengths, 1\"\n";

fn has_python(test: &str) -> bool {
    let output = std::process::Command::new("python3").arg("--version").output();
    let there = output.is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: no python3 for {test}");
    }
    there
}

/// How much a retriever makes of each line.
fn scores(retriever: &str, question: &str, lines: &[&str]) -> Vec<i64> {
    match retriever {
        "bm25" => Bm25::new().scores(question, lines).unwrap(),
        "embedder" => {
            let (asked, lines) = (grams(&[question]), grams(lines));
            (0..lines.data.len() / lines.dimensions).map(|n| i64::from(dot(lines.of(n), asked.of(0)))).collect()
        }
        "command" => lines.iter().map(|line| line.chars().count() as i64).collect(),
        other => panic!("{other}"),
    }
}

/// Numbers of the lines that are kept, as they are printed.
fn kept(scores: &[i64], k: usize, chronological: bool) -> Vec<usize> {
    let mut left: Vec<usize> = (0..scores.len()).collect();
    let mut all = Vec::new();
    while all.len() < k && !left.is_empty() {
        let best = left.iter().map(|n| scores[*n]).max().unwrap();
        let place = left.iter().position(|n| scores[*n] == best).unwrap();
        all.push(left.remove(place));
    }
    if chronological {
        all.sort_unstable();
    }
    all
}

/// What a line says; none of noise.
fn says(line: &str, packs: [&Pack; 2]) -> Option<Fact> {
    packs.into_iter().find_map(|pack| pack.read(line).ok()).map(|message| Fact::of(message).expect("a fact"))
}

fn is_answerable(question: Question, facts: &[Option<Fact>], gold: Answer) -> bool {
    let torn = facts.windows(2).any(|pair| pair[0].is_none() && pair[1].is_some_and(Fact::leans));
    let solution = solve(question, facts.iter().flatten().copied());
    !torn && matches!(solution, Solution::Unique { answer, .. } if answer == gold)
}

/// What the rows of a release come to.
#[derive(Default)]
struct Came {
    rows: usize,
    answerable: usize,
    /// Rows that lost a fact, and that lost every supporting one.
    lost: usize,
    empty: usize,
}

/// Checks every cut row against the whole prompt that it was cut from.
fn check(release: &Path, chronological: bool) -> Came {
    let packs: BTreeMap<String, Pack> = Language::all().map(|l| (l.to_string(), l.pack().unwrap())).collect();
    let tokenizer = Tokenizer::embedded("o200k_base").unwrap();
    let mut came = Came::default();
    let mut whole: BTreeMap<String, (RecordBatch, usize)> = BTreeMap::new();
    for file in read_manifest(release).unwrap().files {
        let (mut answerable, mut sums) = (0, [0, 0]);
        let is_cut = file.path.contains("_rag_");
        for (batch, row) in rows(&release.join(&file.path)) {
            let get = |name: &str| text(&batch, name, row).to_owned();
            let (id, prompt, question) = (get("id"), get("prompt"), get("question"));
            let own = ["retriever", "top_k", "answerable", "recall", "recall_supporting"];
            assert!(own.iter().all(|name| column(&batch, name).is_null(row) != is_cut), "{id}");
            if !is_cut {
                whole.insert(id, (batch.clone(), row));
                continue;
            }
            came.rows += 1;
            let (retriever, k) = (get("retriever"), int(&batch, "top_k", row) as usize);
            let config = file.path.split('/').nth(1).unwrap();
            assert!(config.ends_with(&format!("_rag_{retriever}_{k}")), "{config}");
            let (from, at) =
                &whole[id.strip_suffix(&format!("-{retriever}-{k}")).expect("retriever and number end an id")];
            let same =
                ["instance_id", "task", "language", "haystack_language", "length", "strategy", "distractor_kind"];
            assert!(same.iter().all(|name| get(name) == text(from, name, *at)), "{id}");
            for list in ["answers", "answer_variants"] {
                assert_eq!(texts(&batch, list, row), texts(from, list, *at), "{id}");
            }
            assert_eq!((get("certificate"), question.as_str()), ("retrieved".to_owned(), text(from, "question", *at)));
            // The lines.
            let whole_prompt = text(from, "prompt", *at);
            let source = parts(whole_prompt);
            let (head, lines, tail) = parts(&prompt);
            // In another order than things happened, the instruction does not say that they stand in it.
            let heads = if chronological { head == source.0 } else { head.len() <= source.0.len() };
            assert!(heads && tail == source.2, "{id}");
            let chosen = kept(&scores(&retriever, &question, &source.1), k, chronological);
            assert_eq!(lines.len(), k.min(source.1.len()), "{id}");
            assert_eq!(lines, chosen.iter().map(|n| source.1[*n]).collect::<Vec<_>>(), "{id}");
            // The facts among them.
            let mut starts = vec![source.0.len() as u64];
            source.1.iter().for_each(|line| starts.push(starts[starts.len() - 1] + line.len() as u64 + 1));
            let facts: BTreeMap<usize, NeedleSpan> = read_spans(from, *at)
                .into_iter()
                .map(|span| (starts.binary_search(&span.start).expect("a line's start"), span))
                .collect();
            let held: Vec<NeedleSpan> = chosen.iter().filter_map(|n| facts.get(n)).copied().collect();
            let spans = read_spans(&batch, row);
            assert_eq!(spans.len(), held.len(), "{id}");
            let before = tokenizer.count(head) as u64;
            let context = lines.iter().map(|line| tokenizer.count_line(&format!("{line}\n")) as u64).sum::<u64>();
            for (span, old) in spans.iter().zip(&held) {
                let (from, to) = (span.start as usize, span.end as usize);
                assert_eq!(&prompt[from..to], &whole_prompt[old.start as usize..old.end as usize], "{id}");
                assert_eq!(span.supporting, old.supporting, "{id}");
                assert_eq!(prompt[..from].chars().count() as u64, span.char_start, "{id}");
                assert_eq!(span.token_start, tokenizer.count(&prompt[..from]) as u64, "{id}");
                assert_eq!(span.depth, (span.token_start - before) * 1_000_000 / context.max(1), "{id}");
            }
            assert_eq!(int(&batch, "n_tokens", row), tokenizer.count(&prompt) as i64, "{id}");
            let supporting = numbers(&batch, "supporting", row);
            assert_eq!(supporting, numbers(from, "supporting", *at), "{id}");
            // What was lost.
            let share = |part: usize, of: usize| if of == 0 { 1_000_000 } else { part as i64 * 1_000_000 / of as i64 };
            let recall = share(held.len(), facts.len());
            let helping = held.iter().filter(|span| span.supporting).count();
            let recall_supporting = share(helping, supporting.len());
            assert_eq!(int(&batch, "recall", row), recall, "{id}");
            assert_eq!(int(&batch, "recall_supporting", row), recall_supporting, "{id}");
            let [story, hay, asked] = ["language", "haystack_language", "question_language"].map(get);
            let (told, hay) = (&packs[&story], &packs[&hay]);
            let asker = packs[&asked].with_cast(told).unwrap();
            let question = question_of(tail, &asker).expect("a question");
            let all: Vec<Option<Fact>> = source.1.iter().map(|line| says(line, [told, hay])).collect();
            let Solution::Unique { answer: gold, .. } = solve(question, all.iter().flatten().copied()) else {
                panic!("{id}")
            };
            let left: Vec<Option<Fact>> = chosen.iter().map(|n| all[*n]).collect();
            let found = column(&batch, "answerable").as_boolean().value(row);
            assert_eq!(found, is_answerable(question, &left, gold), "{id}");
            if get("strategy") == "zero_shot" && asked == story {
                assert_eq!(texts(&batch, "answers", row), answers(gold, told).0, "{id}");
            }
            assert!(texts(&batch, "distractor_ids", row).is_empty() && int(&batch, "n_distractors", row) == 0);
            answerable += u64::from(found);
            sums = [sums[0] + recall as u64, sums[1] + recall_supporting as u64];
            came.answerable += usize::from(found);
            came.lost += usize::from(held.len() < facts.len());
            came.empty += usize::from(helping == 0 && !supporting.is_empty() && !found);
        }
        let stats = &file.stats;
        assert_eq!(
            (stats.answerable, stats.recall, stats.recall_supporting),
            (answerable, sums[0], sums[1]),
            "{}",
            file.path
        );
        assert_eq!(stats.over, 0);
    }
    came
}

#[test]
fn rows_hold_the_lines_that_their_retriever_ranks_first() {
    let bench = Bench::new();
    let more = "[rag]\ntop_k = [6, 60]\n";
    bench.write("r.toml", &recipe("languages = [\"en\", \"zh\"]", "\"synthetic\"", more));
    let one = bench.run(&["recipe", "r.toml", "--jobs", "1", "--out", "one"]).success().release(&bench);
    let two = bench.run(&["recipe", "r.toml", "--jobs", "2", "--out", "two"]).success().release(&bench);
    assert_eq!(bytes_of(&one), bytes_of(&two));
    bench.run(&["verify", "--full", one.to_str().unwrap()]).success();
    let came = check(&one, true);
    assert_eq!(came.rows, 16 * 2 * 2 * 2);
    // Some lost what they need; that is what they are for.
    assert!(came.answerable > 20 && came.answerable < came.rows - 10, "{} of {}", came.answerable, came.rows);
    assert!(came.lost > 20 && came.empty > 0, "{} {}", came.lost, came.empty);
    // The cut rows of a part are those of the whole.
    let part = bench.run(&["recipe", "r.toml", "--languages", "zh", "--lengths", "2k", "--out", "one"]).success();
    let part = part.release(&bench);
    assert_eq!(data_files(&part).len(), 5);
    for path in data_files(&part) {
        assert_eq!(std::fs::read(part.join(&path)).unwrap(), std::fs::read(one.join(&path)).unwrap(), "{path}");
    }
    touched(&Sound::new(part));
}

/// Every change to a cut row is found.
fn touched(sound: &Sound) {
    let file = "data/zh_2k_rag_bm25_6/test-00000-of-00001.parquet";
    let not_these = "the sentences are not those that its retriever ranks first";
    let prompt = prompts(&sound.release.join(file)).remove(2).1;
    let (_, lines, _) = parts(&prompt);
    let whole = prompts(&sound.release.join("data/zh_2k/test-00000-of-00001.parquet")).remove(2).1;
    let (_, all, _) = parts(&whole);
    let other = all.iter().find(|line| !lines.contains(line)).unwrap();
    let line = |n: usize| format!("{}\n", lines[n]);
    let swap = |old: &str, new: &str, what: &str| {
        let (old, new) = (old.to_owned(), new.to_owned());
        sound.finds(file, what, |path| forge(path, 2, &|prompt| prompt.replacen(&old, &new, 1)));
    };
    let (no_line, inserted) = ("no such line in the whole prompt, or out of order", line(1) + other + "\n");
    swap(&line(1), "", not_these);
    swap(&(line(1) + &line(2)), &(line(2) + &line(1)), no_line);
    swap(&line(1), "No line of it.\n", no_line);
    // Where it stands in the whole prompt says whether it is in order.
    let at = |line: &str| all.iter().position(|l| *l == line).unwrap();
    let ordered = |before: &str, after: &str| at(before) < at(other) && at(other) < at(after);
    swap(&line(1), &format!("{other}\n"), if ordered(lines[0], lines[2]) { not_these } else { no_line });
    swap(&line(1), &inserted, if ordered(lines[1], lines[2]) { not_these } else { no_line });
    let not_so = "retriever, top_k, answerable or recall are not what the sentences come to";
    let count = |by: i64| {
        move |values: &arrow_array::ArrayRef| -> arrow_array::ArrayRef {
            let values = values.as_primitive::<Int64Type>().values();
            Arc::new(
                values
                    .iter()
                    .enumerate()
                    .map(|(n, value)| if n == 2 { value + by } else { *value })
                    .collect::<Int64Array>(),
            )
        }
    };
    for name in ["recall", "recall_supporting", "top_k"] {
        sound.finds(file, not_so, |path| replace(path, name, &count(1)));
    }
    sound.finds(file, not_so, |path| change(path, "retriever", 2, &|_| "embedder".to_owned()));
    sound.finds(file, not_so, |path| {
        replace(path, "answerable", &|values| {
            let flip = |(n, value): (usize, Option<bool>)| value.map(|value| value != (n == 2));
            Arc::new(values.as_boolean().iter().enumerate().map(flip).collect::<BooleanArray>())
        });
    });
    sound.finds(file, "tokens, recorded are", |path| replace(path, "n_tokens", &count(1)));
    sound.finds(file, "the certificate is \"solved\"", |path| change(path, "certificate", 2, &|_| "solved".to_owned()));
    sound.finds(file, "answers are not those of the whole prompt", |path| {
        change_list(path, "answers", 2, &|_| vec!["x".to_owned()]);
    });
    sound.finds(file, "it does not stand beside the whole prompt", |path| {
        change(path, "instance_id", 2, &|_| "qa1-00002".to_owned());
    });
    sound.finds(file, "the needles are not where they are recorded", |path| {
        let held: Vec<usize> = rows(path).iter().map(|(batch, row)| read_spans(batch, *row).len()).collect();
        let row = held.iter().position(|n| *n > 0).expect("a row with a fact");
        change_spans(path, row, &|_, name, value| if name == "depth" { value + 1 } else { value });
    });
    // Without the whole prompts nothing can be cut from them.
    std::fs::remove_file(sound.release.join("data/zh_2k/test-00000-of-00001.parquet")).unwrap();
    reseal(&sound.release);
    let report = nihbuild::verify::verify(&sound.release, nihbuild::verify::Depth::Sampled, 2).unwrap();
    found(&report, file, "the prompts it was cut from cannot be read");
}

#[test]
fn the_most_similar_come_first_where_asked_and_noise_says_nothing() {
    let bench = Bench::new();
    let more = "[rag]\nretrievers = [\"bm25\", \"embedder\"]\ntop_k = [40, 100000]\norder = \"similarity\"\n";
    bench.write("r.toml", &recipe("languages = [\"de\"]", "[\"synthetic\", \"noise\"]", more));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
    let came = check(&release, false);
    assert_eq!(came.rows, 16 * 2 * 2 * 2);
    assert!(came.answerable > 0 && came.answerable < came.rows);
    let chronological = more.replace("similarity", "chronological");
    bench.write("c.toml", &recipe("languages = [\"de\"]", "\"noise\"", &chronological).replace("\"cut\"", "\"noise\""));
    let release = bench.run(&["recipe", "c.toml"]).success().release(&bench);
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
    check(&release, true);
    // All lines in their order are the whole prompt, which has an answer.
    for name in ["bm25", "embedder"] {
        let path = release.join(format!("data/de_2k_rag_{name}_100000/test-00000-of-00001.parquet"));
        let whole = prompts(&release.join("data/de_2k/test-00000-of-00001.parquet"));
        for ((batch, row), (_, prompt)) in rows(&path).into_iter().zip(whole) {
            assert_eq!(text(&batch, "prompt", row), prompt);
            assert!(column(&batch, "answerable").as_boolean().value(row));
        }
    }
}

#[test]
fn sentences_of_several_languages_and_strategies_are_ranked() {
    let bench = Bench::new();
    let grid = "languages = [\"en\", \"de\", \"hi\"]\nstory = [\"en\"]\nhaystack = [\"de\"]\nquestion = \"hi\"";
    let more = "[tokens]\nprimary = \"o200k_base\"\nalso = [\"cl100k_base\"]\n\n[prompt]\nstrategies = [\"zero_shot\", \
                \"translation\", \"few_shot\"]\n\n[rag]\ntop_k = [12]\n";
    bench.write("r.toml", &recipe(grid, "\"synthetic\"", more));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
    let came = check(&release, true);
    assert_eq!(came.rows, 16 * 3 * 2);
}

#[test]
fn a_program_ranks_and_its_scores_are_pinned() {
    if !has_python("a_program_ranks_and_its_scores_are_pinned") {
        return;
    }
    let bench = Bench::new();
    let program = bench.write("rerank.py", PROGRAM);
    let more = format!("[rag]\nretrievers = [\"command\"]\ntop_k = [10, 30]\n{COMMAND}");
    bench.write("r.toml", &recipe("languages = [\"en\", \"ar\"]", "\"synthetic\"", &more));
    bench.run(&["recipe", "r.toml", "--offline", "--out", "none"]).failure(2, &["reranker", "--offline", "--pins"]);
    let release = bench.run(&["recipe", "r.toml", "--jobs", "1"]).success().release(&bench);
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
    assert_eq!(check(&release, true).rows, 16 * 2 * 2);
    let pins = read_manifest(&release).unwrap().pins;
    assert_eq!(pins.len(), 1);
    assert!(pins[0].path.starts_with("pins/rerank/") && release.join(&pins[0].path).is_file(), "{}", pins[0].path);
    // The pins do without the program, and without the store.
    std::fs::remove_file(program).unwrap();
    bench.run(&["recipe", "r.toml", "--out", "none"]).failure(2, &["reranker"]);
    let from = release.join("pins");
    let pinned = ["recipe", "r.toml", "--offline", "--pins", from.to_str().unwrap(), "--out", "other", "--jobs", "2"];
    let other = bench.run(&pinned).success().release(&bench);
    assert_eq!(bytes_of(&release), bytes_of(&other));
    // So do those beside the recipe of a release, and the store.
    let own = release.join("recipe.toml");
    let third = bench.run(&["recipe", own.to_str().unwrap(), "--offline", "--out", "third"]).success().release(&bench);
    assert_eq!(bytes_of(&release), bytes_of(&third));
    let part = bench.run(&["recipe", "r.toml", "--languages", "ar", "--lengths", "2k"]).success().release(&bench);
    let sound = Sound::new(part);
    let file = "data/ar_2k_rag_command_10/test-00000-of-00001.parquet";
    let prompt = prompts(&sound.release.join(file)).remove(1).1;
    let (_, lines, _) = parts(&prompt);
    let line = |n: usize| format!("{}\n", lines[n]);
    for (what, old, new) in [
        ("the sentences are not those that its retriever ranks first", line(1), String::new()),
        ("or out of order", line(1) + &line(2), line(2) + &line(1)),
        ("no such line in the whole prompt", line(1), "No line of it.\n".to_owned()),
    ] {
        sound.finds(file, what, |path| forge(path, 1, &|prompt| prompt.replacen(&old, &new, 1)));
    }
}

#[test]
fn another_line_than_the_pinned_scores_give_is_found() {
    if !has_python("another_line_than_the_pinned_scores_give_is_found") {
        return;
    }
    let bench = Bench::new();
    bench.write("rerank.py", PROGRAM);
    let more = format!("[rag]\nretrievers = [\"command\"]\ntop_k = [10]\n{COMMAND}");
    bench.write("r.toml", &recipe("languages = [\"en\"]", "\"synthetic\"", &more));
    let sound = Sound::new(bench.run(&["recipe", "r.toml"]).success().release(&bench));
    let (file, whole) =
        ("data/en_2k_rag_command_10/test-00000-of-00001.parquet", "data/en_2k/test-00000-of-00001.parquet");
    let (prompt, whole) =
        (prompts(&sound.release.join(file)).remove(1).1, prompts(&sound.release.join(whole)).remove(1).1);
    let (lines, all) = (parts(&prompt).1, parts(&whole).1);
    // A line of the whole prompt between two that were kept.
    let first = all.iter().position(|line| *line == lines[0]).unwrap();
    let second = all.iter().position(|line| *line == lines[1]).unwrap();
    let (old, new) = (format!("{}\n", lines[0]), format!("{}\n", all[first + 1]));
    assert!(first + 1 < second);
    let report = sound.touched(file, |path| forge(path, 1, &|prompt| prompt.replacen(&old, &new, 1)));
    found(&report, file, "the sentences are not those that its retriever ranks first");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let bench = Bench::new();
    let refused = |rag: &str, said: &[&str]| {
        bench.write("r.toml", &recipe("languages = [\"en\"]", "\"synthetic\"", &format!("[rag]\n{rag}\n")));
        bench.run(&["recipe", "r.toml", "--dry-run"]).failure(2, said);
    };
    refused("top_k = [5, 0]", &["rag.top_k names 0, expected 1 to 100000 sentences"]);
    refused("top_k = [100001]", &["rag.top_k names 100001"]);
    refused("top_k = []", &["rag.top_k is empty"]);
    refused("top_k = [5, 5]", &["rag.top_k names 5 twice"]);
    refused("retrievers = []", &["rag.retrievers is empty"]);
    refused("retrievers = [\"bm25\", \"bm25\"]", &["rag.retrievers names", "twice"]);
    refused("retrievers = [\"bm26\"]", &["bm26", "embedder", "command"]);
    refused("order = \"ranked\"", &["ranked", "chronological", "similarity"]);
    refused("retrievers = [\"command\"]", &["rag.reranker does not say which program"]);
    refused(COMMAND.trim(), &["rag.reranker does nothing: rag.retrievers does not name command"]);
    let command = "retrievers = [\"command\"]\n[rag.reranker]\n";
    refused(&format!("{command}command = []\nmodel = \"m\""), &["command: a reranker needs a program"]);
    refused(&format!("{command}command = [\"x\"]"), &["model: say which model the program runs"]);
    bench.write("p.toml", "[release]\nname = \"r\"\nversion = \"1.0.0\"\nseed = 1\n[source]\nkind = \"text\"\n[rag]\n");
    bench.run(&["recipe", "p.toml", "--dry-run"]).failure(2, &["rag does nothing", "factoid"]);
}

#[test]
fn nothing_to_retrieve_from_is_refused() {
    let bench = Bench::new();
    let only = recipe("languages = [\"en\"]", "\"synthetic\"", "[rag]\n").replace("\"0k\", \"2k\"", "\"0k\"");
    bench.write("r.toml", &only);
    bench.run(&["recipe", "r.toml", "--dry-run"]).failure(2, &["rag"]);
}
