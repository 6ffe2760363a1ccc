//! In-context recall: a needle at every depth of every length, in running text of seven languages.

use crate::support::*;
use arrow_array::RecordBatch;
use nihbuild::hash::Digest;
use nihbuild::language::Language;
use nihbuild::language::breaks::breaks;
use nihbuild::plan::slots::depths;
use nihbuild::recipe::{MODELS, Spacing};
use nihbuild::table::{self, int, read_spans, text};
use nihbuild::verify::{Depth, verify};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A recipe of this family.
pub fn recall(name: &str, more: &str) -> String {
    format!("[release]\nname = \"{name}\"\nversion = \"1.0.0\"\nseed = 9\n[source]\nkind = \"text\"\n{more}")
}

/// A grid that is quick to build.
const SMALL: &str = "[slots]\nwindow = 1600\nn_lengths = 3\nn_depths = 9\nfirst = 400\n";

fn build(bench: &Bench, recipe: &str, flags: &[&str]) -> PathBuf {
    bench.write("r.toml", recipe);
    bench.run(&[&["recipe", "r.toml"], flags].concat()).success().release(bench)
}

fn rows(release: &Path) -> Vec<(RecordBatch, usize)> {
    let mut all = Vec::new();
    for path in data_files(release) {
        for batch in batches(&release.join(path)) {
            all.extend((0..batch.num_rows()).map(|row| (batch.clone(), row)));
        }
    }
    all
}

fn sound(release: &Path) {
    let report = verify(release, Depth::Full, 2).unwrap();
    assert_eq!((report.n_findings, report.proven), (0, report.rows), "{:#?}", report.findings);
}

fn needle_of(prompt: &str, batch: &RecordBatch, row: usize) -> String {
    let span = read_spans(batch, row)[0];
    prompt[span.start as usize..span.end as usize].to_owned()
}

#[test]
fn depths_are_those_of_the_paper() {
    let sigmoid: Vec<String> = depths(Spacing::SigmoidV1, 35).iter().map(ToString::to_string).collect();
    // 100 / (1 + exp(-0.1 (x - 50))) at x = 100 i / 34; the paper names 11.3% (its section 5).
    let some =
        [(0, "0.000"), (1, "0.896"), (10, "11.316"), (16, "42.700"), (17, "50.000"), (33, "99.104"), (34, "100.000")];
    for (n, depth) in some {
        assert_eq!(sigmoid[n], depth);
    }
    let linear: Vec<String> = depths(Spacing::Linear, 5).iter().map(ToString::to_string).collect();
    assert_eq!(linear, ["0.000", "25.000", "50.000", "75.000", "100.000"]);
}

#[test]
fn the_papers_models_have_their_grids() {
    let windows: Vec<(u32, u32)> = MODELS.iter().map(|model| (model.window, model.side)).collect();
    let (llama, gpt, mistral) = ((4_096, 35), (16_385, 35), (32_768, 35));
    assert_eq!(windows, [llama, llama, llama, gpt, gpt, mistral, mistral, mistral, (128_000, 25)]);
    let bench = Bench::new();
    for model in MODELS {
        bench.write("r.toml", &recall("model", &format!("[slots]\nmodel = \"{}\"\n", model.name)));
        let json = bench.run(&["recipe", "r.toml", "--dry-run", "--json"]).success().out;
        let plan: serde_json::Value = serde_json::from_str(&json).unwrap();
        let cells = u64::from(model.side * model.side);
        assert_eq!((plan["instances"].as_u64(), plan["prompts"].as_u64()), (Some(cells), Some(3 * cells)));
        assert!(plan["recipe"].as_str().unwrap().contains(&format!("layout = \"{}\"", model.layout.name())));
    }
}

#[test]
fn the_papers_own_test_is_the_accepted_one() {
    let bench = Bench::new();
    let outcome = bench.run(&["recipe", "recall-paper"]).success();
    assert!(outcome.out.contains("the same as the accepted recall-paper-1.0.0"), "{}", outcome.out);
    let release = outcome.release(&bench);
    assert_eq!(rows(&release).len(), 3 * 35 * 35);
    sound(&release);
    // One needle's whole grid, and the rows of a language of the multilingual test.
    bench.run(&["recipe", "recall", "--languages", "hi"]).success();
}

#[test]
fn a_needle_stands_at_every_depth_in_seven_languages() {
    let bench = Bench::new();
    let languages = "[grid]\nlanguages = [\"en\", \"de\", \"es\", \"zh\", \"vi\", \"hi\", \"ar\"]\n";
    let release = build(&bench, &recall("seven", &[languages, SMALL].concat()), &[]);
    sound(&release);
    let all = rows(&release);
    assert_eq!(all.len(), 7 * 3 * 27);
    for (batch, row) in all {
        let get = |name: &str| text(&batch, name, row);
        let (prompt, language) = (get("prompt"), get("language"));
        let pack = language.parse::<Language>().unwrap().pack().unwrap();
        let needle = needle_of(prompt, &batch, row);
        assert_eq!(prompt.matches(&needle).count(), 1, "{}", get("id"));
        assert!(table::texts(&batch, "answers", row).iter().all(|answer| needle.contains(answer.as_str())));
        // What stands before it is a whole sentence, and the system message's line.
        let span = read_spans(&batch, row)[0];
        let document = prompt.strip_prefix(pack.system()).unwrap().strip_prefix('\n').unwrap();
        let before = prompt[..span.start as usize].trim_end();
        match get("position") {
            "0.000" => assert!(document.starts_with(&needle), "{}", get("id")),
            _ => assert!(before.ends_with(['.', '\u{3002}', '\u{964}']), "{}: {before}", get("id")),
        }
        if get("position") == "100.000" {
            let behind = prompt[span.end as usize..].trim();
            assert_eq!(behind, get("question"), "{}", get("id"));
        }
        let used = int(&batch, "n_tokens", row) + 96;
        assert!(used <= get("length").parse().unwrap(), "{}: {used}", get("id"));
        assert_eq!((int(&batch, "repeats", row), int(&batch, "n_distractors", row)), (1, 0));
    }
}

#[test]
fn needles_of_a_pair_share_text_and_slot() {
    let bench = Bench::new();
    let release = build(&bench, &recall("pair", SMALL), &[]);
    let mut pairs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut rows_of: BTreeMap<String, usize> = BTreeMap::new();
    for (batch, row) in rows(&release) {
        let prompt = text(&batch, "prompt", row);
        let pair = text(&batch, "pair_id", row);
        if pair.is_empty() {
            assert_eq!(text(&batch, "source_task", row), "pistachio_ai");
            continue;
        }
        let bare = prompt.replace(&needle_of(prompt, &batch, row), "").replace(text(&batch, "question", row), "");
        pairs.entry(pair.to_owned()).or_default().insert(bare);
        *rows_of.entry(pair.to_owned()).or_default() += 1;
    }
    assert_eq!(pairs.len(), 27);
    assert!(pairs.values().all(|texts| texts.len() == 1) && rows_of.values().all(|n| *n == 2));
}

#[test]
fn layouts_are_as_printed() {
    let system = "You are a helpful AI assistant that answers a question using only the provided information.";
    let question = "What did PistachioAI receive before its Series A?";
    let bench = Bench::new();
    let needles = "[[needles]]\nname = \"pistachio_ai\"\n[slots]\nwindow = 500\nlengths = [300]\ndepths = [50]\n";
    for (layout, head, tail) in [
        ("plain-table-6", format!("{system}\n"), format!("\n{question}")),
        ("plain-table-7", format!("{system} "), format!(" {question}")),
        ("llama-table-6", format!("<s><<SYS>>\n{system}\n<</SYS>>\n"), format!("\n[INST]{question}[/INST]")),
        ("llama-table-7", format!("<s><<SYS>>{system}<<SYS>> "), format!(" [INST]{question}[\\INST]")),
        ("mistral-table-6", format!("[INST]\n{system}\n"), format!("\n{question}\n[/INST]")),
        ("mistral-table-7", format!("[INST]{system} "), format!(" {question}[\\INST]")),
        ("messages", String::new(), format!("\n\n{question}")),
    ] {
        let release = build(&bench, &recall(layout, &format!("{needles}[prompt]\nlayout = \"{layout}\"\n")), &[]);
        sound(&release);
        let (batch, row) = rows(&release).remove(0);
        let prompt = text(&batch, "prompt", row);
        assert!(prompt.starts_with(&head) && prompt.ends_with(&tail), "{layout}: {prompt}");
        assert_eq!(text(&batch, "prompt_kind", row), layout);
        let chat = layout == "messages";
        assert_eq!(text(&batch, "system", row), if chat { system } else { "" });
        let messages = table::read_messages(&batch, row);
        let wanted = [("system", system), ("user", prompt)].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(messages, if chat { wanted.to_vec() } else { Vec::new() });
        let judge: serde_json::Value =
            serde_json::from_slice(&std::fs::read(release.join("judge.json")).unwrap()).unwrap();
        assert_eq!(judge["criteria"].as_object().unwrap().len(), 5);
    }
}

const STORY: &str = "The harbour was quiet in the morning. Two boats lay at the pier. An old man mended a net. \
    Gulls sat on the posts in a row. The first bus came at seven. A woman with a basket got off. ";

/// Running text of whole sentences, none of which stands there twice.
fn story(sentences: usize) -> String {
    (0..sentences)
        .map(|n| format!("The {} boat of the harbour had the number {n} on its side. ", ["old", "new"][n % 2]))
        .collect()
}

#[test]
fn text_comes_from_files_and_folders_in_order() {
    use std::io::Write;
    let bench = Bench::new();
    bench.write("data/z.txt", &format!("\u{feff}Opening words.\r\n\r\n{STORY}"));
    bench.write("data/more/b.md", "# A heading\n\nSecond [text](http://x.example) stands *here*.\n\n```\ncode.\n```\n");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(format!("Third text isn\u{92}t long. {}", story(200)).as_bytes()).unwrap();
    std::fs::write(bench.path("data/more/c.txt.gz"), gzip.finish().unwrap()).unwrap();
    let haystack =
        "[haystack]\nfiles = [\"z.txt\", \"more\"]\n[slots]\nwindow = 900\nlengths = [900]\ndepths = [0, 50, 100]\n";
    let release = build(&bench, &recall("files", haystack), &["--data", "data"]);
    sound(&release);
    let (batch, row) = rows(&release).pop().unwrap();
    let prompt = text(&batch, "prompt", row);
    let order: Vec<usize> =
        ["Opening words.", "The harbour was", "Second text stands here.", "Third text isn\u{2019}t long."]
            .iter()
            .map(|part| prompt.find(part).unwrap_or_else(|| panic!("{part} in {prompt}")))
            .collect();
    assert!(order.is_sorted(), "{order:?}");
    assert!(!prompt.contains("code.") && !prompt.contains('\r'));
    let manifest = nihbuild::verify::read_manifest(&release).unwrap();
    let names: Vec<&str> = manifest.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["z.txt", "more/b.md", "more/c.txt.gz"]);
    let repairs = &manifest.texts["en"].repairs;
    assert_eq!(repairs["stray Windows-1252 characters restored"], 1);
    assert_eq!(repairs["byte order marks removed"], 1);
}

#[test]
fn a_text_too_short_is_told_again_only_if_the_recipe_says_so() {
    let bench = Bench::new();
    bench.write("data/a.txt", &story(30));
    let recipe = |more: &str| {
        recall(
            "short",
            &format!(
                "[haystack]\nfiles = \"a.txt\"\n{more}[slots]\nwindow = 1500\nlengths = [300, 1500]\ndepths = [0, 40, 100]\n"
            ),
        )
    };
    bench.write("r.toml", &recipe(""));
    bench
        .run(&["recipe", "r.toml", "--data", "data"])
        .failure(2, &["the text ends after", "1500 tokens in en", "haystack.repeat"]);
    assert!(!bench.path("build/short").join("1.0.0").exists());
    let release = build(&bench, &recipe("repeat = true\n"), &["--data", "data"]);
    sound(&release);
    let times: BTreeSet<(String, i64)> = rows(&release)
        .iter()
        .map(|(batch, row)| (text(batch, "length", *row).to_owned(), int(batch, "repeats", *row)))
        .collect();
    let times: Vec<(String, i64)> = times.into_iter().collect();
    assert_eq!(times[1], ("300".to_owned(), 1));
    assert!(times[0].0 == "1500" && times[0].1 >= 3, "{times:?}");
}

#[test]
fn a_sentence_that_points_back_moves_the_needle() {
    let bench = Bench::new();
    // The paper's own case (section 5): the reason would have been read as the needle's.
    let (before, behind) = (story(12), story(40).replace("boat", "barge"));
    let grid =
        "[haystack]\nfiles = \"a.txt\"\n[slots]\nwindow = 600\nlengths = [600]\nn_depths = 100\nspacing = \"linear\"\n";
    let moved_in = |opening: &str| {
        bench.write("data/a.txt", &format!("{before}{opening}, of course, is OS X. {behind}"));
        let release = build(&bench, &recall("guard", grid), &["--data", "data"]);
        sound(&release);
        let mut moved = 0;
        let mut directly = 0;
        for (batch, row) in rows(&release) {
            let prompt = text(&batch, "prompt", row);
            let needle = needle_of(prompt, &batch, row);
            moved += int(&batch, "moved", row);
            directly += i64::from(prompt.contains(&format!("{needle} {opening}")));
        }
        std::fs::remove_dir_all(bench.path("build")).unwrap();
        (moved, directly)
    };
    let (moved, directly) = moved_in("The reason");
    assert!(moved >= 3 && directly == 0, "{moved} {directly}");
    let (moved, directly) = moved_in("The system");
    assert!(moved == 0 && directly >= 3, "{moved} {directly}");
}

#[test]
fn a_text_that_holds_the_needle_is_refused() {
    let bench = Bench::new();
    bench
        .write("data/a.txt", &format!("{}PistachioAI received a patent before its Series A. {}", story(10), story(90)));
    bench.write("r.toml", &recall("known", "[haystack]\nfiles = \"a.txt\"\n[slots]\nwindow = 600\nlengths = [600]\n"));
    bench
        .run(&["recipe", "r.toml", "--data", "data"])
        .failure(2, &["already holds the needle", "pistachio_ai", "another"]);
}

#[test]
fn wrong_recipes_are_said_to_be_wrong() {
    let bench = Bench::new();
    for (more, said) in [
        ("[grid]\nlengths = [\"8k\"]\n", "grid.lengths does nothing"),
        ("[stories]\nanswers = \"balanced\"\n", "stories does nothing"),
        ("[slots]\nwindow = 10\n", "slots.window is 10"),
        ("[slots]\ndepths = [101]\n", "`101` is no depth"),
        ("[slots]\ndepths = [50, 10]\n", "must ascend"),
        ("[slots]\nlengths = [500]\nfirst = 400\n", "slots.first does nothing"),
        ("[slots]\nmodel = \"gpt_9\"\n", "expected one of llama_2_13b_chat"),
        ("[slots]\nwindw = 900\n", "unknown field `windw`"),
        ("[haystack]\nkind = \"tsv\"\n", "must be \"text\" or \"essays\""),
        ("[haystack]\nkind = \"text\"\n", "haystack.files is missing"),
        ("[[needles]]\nname = \"mine\"\n", "no needle of this name"),
        (
            "[[needles]]\nname = \"mine\"\nneedle = \"No mark\"\nquestion = \"Q?\"\nanswers = [\"No\"]\n",
            "sentence mark",
        ),
        (
            "[[needles]]\nname = \"mine\"\nneedle = \"A b.\"\nquestion = \"Q?\"\nanswers = [\"c\"]\n",
            "must each stand in the needle",
        ),
        (
            "[[needles]]\nname = \"mine\"\nneedle = \"A b.\"\nquestion = \"Is it b?\"\nanswers = [\"b\"]\n",
            "already holds the answer",
        ),
        (
            "[grid]\nlanguages = [\"en\", \"de\"]\n[[needles]]\nname = \"m\"\nneedle = \"A b.\"\nquestion = \"Q?\"\nanswers = [\"b\"]\n",
            "its language is missing",
        ),
        ("[tokens]\nprimary = \"llama3_1\"\n", "--tokenizer llama3_1=FILE"),
        ("[tokens]\nalso = [\"o200k_base\"]\n", "twice"),
        ("[tokens.files.x]\nfile = \"x.json\"\n", "tokens.files.x does nothing"),
        ("[haystack]\nfiles = \"nowhere.txt\"\n", "nowhere.txt"),
    ] {
        bench.write("r.toml", &recall("wrong", more));
        bench.run(&["recipe", "r.toml", "--offline"]).failure(2, &[said]);
    }
    bench.write("r.toml", &recall("flags", SMALL));
    bench.run(&["recipe", "r.toml", "--lengths", "8k"]).failure(2, &["slots.lengths", "--limit"]);
}

#[test]
fn parts_are_nested_and_threads_do_not_matter() {
    let bench = Bench::new();
    let recipe = recall("parts", &format!("[grid]\nlanguages = [\"en\", \"hi\"]\n{SMALL}"));
    let whole = build(&bench, &recipe, &["--jobs", "1"]);
    let ids = |release: &Path| -> BTreeSet<(String, String)> {
        rows(release)
            .iter()
            .map(|(batch, row)| (text(batch, "id", *row).to_owned(), text(batch, "prompt_sha256", *row).to_owned()))
            .collect()
    };
    let (ten, four) = (build(&bench, &recipe, &["--limit", "10"]), build(&bench, &recipe, &["--limit", "4"]));
    assert_eq!((ids(&ten).len(), ids(&four).len()), (60, 24));
    assert!(ids(&ten).is_superset(&ids(&four)) && ids(&whole).is_superset(&ids(&ten)));
    sound(&ten);
    let hindi = build(&bench, &recipe, &["--languages", "hi"]);
    let file = "data/hi_san_francisco/test-00000-of-00001.parquet";
    assert_eq!(std::fs::read(whole.join(file)).unwrap(), std::fs::read(hindi.join(file)).unwrap());
    let other = Bench::new();
    let again = build(&other, &recipe, &["--jobs", "2"]);
    assert_eq!(bytes_of(&whole), bytes_of(&again));
}

#[test]
fn every_touch_is_found() {
    let bench = Bench::new();
    let release = build(&bench, &recall("touch", SMALL), &[]);
    let original = bytes_of(&release);
    let file = release.join("data/en_san_francisco/test-00000-of-00001.parquet");
    type Touch = (&'static str, Box<dyn Fn(&str) -> String>, &'static str);
    let needle = "The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day.";
    let moved = move |prompt: &str| {
        let without = prompt.replace(&format!(" {needle}"), "");
        without.replacen(". ", &format!(". {needle} "), 1)
    };
    let touches: Vec<Touch> = vec![
        ("prompt", Box::new(move |p| p.replace(needle, "")), "prompt_sha256 is not"),
        ("position", Box::new(|_| "7.000".to_owned()), "position is"),
        ("length", Box::new(|_| "999".to_owned()), "length is"),
        ("question", Box::new(|q| q.replace("best", "worst")), "question is"),
        ("pair_id", Box::new(|p| p.replace("l00", "l01")), "pair_id is"),
        ("certificate", Box::new(|_| "trusted".to_owned()), "certificate is"),
        ("id", Box::new(|id| id.replace("san", "saint")), "id is"),
        ("instance_id", Box::new(|_| "l09d99".to_owned()), "instance_id is"),
    ];
    for (column, with, said) in touches {
        change(&file, column, 4, &*with);
        reseal(&release);
        let report = verify(&release, Depth::Sampled, 2).unwrap();
        assert!(report.findings.iter().any(|f| f.what.contains(said)), "{column}: {:#?}", report.findings);
        for (name, bytes) in &original {
            std::fs::write(release.join(name), bytes).unwrap();
        }
    }
    let touched = |prompt: &str| {
        let (system, rest) = prompt.split_once('\n').unwrap();
        format!("{system}\n{}", rest.replacen(' ', "  ", 1))
    };
    // A prompt with the digest that it has: the needle elsewhere, the text around it changed.
    type Wrong<'a> = (&'a dyn Fn(&str) -> String, &'static str);
    let wrong: [Wrong<'_>; 3] = [
        (&moved, "its depth asks for"),
        (&touched, "is not that of the other rows"),
        (&|p: &str| p.replace(needle, &format!("{needle} {needle}")), "more than once"),
    ];
    for (with, said) in wrong {
        let prompt = text(&batches(&file)[0], "prompt", 4).to_owned();
        change(&file, "prompt", 4, with);
        change(&file, "prompt_sha256", 4, &|_| Digest::of(with(&prompt)).to_string());
        reseal(&release);
        let report = verify(&release, Depth::Sampled, 2).unwrap();
        assert!(report.findings.iter().any(|f| f.what.contains(said)), "{said}: {:#?}", report.findings);
        for (name, bytes) in &original {
            std::fs::write(release.join(name), bytes).unwrap();
        }
    }
    sound(&release);
}

/// What a forger may write alike in recipe, rows and manifest is found too.
#[test]
fn forgeries_are_found() {
    let bench = Bench::new();
    let release = build(&bench, &recall("forged", SMALL), &[]);
    let original = bytes_of(&release);
    let recipe = std::fs::read_to_string(release.join("recipe.toml")).unwrap();
    let with = |file: &str, text: String, said: &str| {
        std::fs::write(release.join(file), text).unwrap();
        reseal(&release);
        let report = verify(&release, Depth::Sampled, 2).unwrap();
        assert!(report.findings.iter().any(|f| f.what.contains(said)), "{file} {said}: {:#?}", report.findings);
        for (name, bytes) in &original {
            std::fs::write(release.join(name), bytes).unwrap();
        }
        if !original.iter().any(|(name, _)| name == file) {
            std::fs::remove_file(release.join(file)).unwrap();
        }
    };
    with("recipe.toml", recipe.replace("sigmoid-v1", "linear"), "leave one of the two out");
    with("recipe.toml", recipe.replace("first = 400", "first = 500"), "leave one of the two out");
    with("recipe.toml", recipe.replace("\"a patent\"", "\"a trademark\""), "must each stand in the needle");
    with("judge.json", "{}".to_owned(), "is not the judge's prompt");
    with("evil.py", "1".to_owned(), "is no file of a release");
    let manifest = std::fs::read_to_string(release.join("manifest.json")).unwrap();
    with("manifest.json", manifest.replace("\"patterns\"", "\"other\""), "does not name the patterns of its essays");
    sound(&release);
}

/// Essays that have told all they can begin again, where the recipe allows that.
#[test]
fn essays_end_and_begin_again() {
    let bench = Bench::new();
    let recipe = |repeat: bool| {
        recall(
            "long",
            &format!(
                "[haystack]\nrepeat = {repeat}\n[slots]\nwindow = 2400000\nlengths = [2400000]\ndepths = [50]\n[[needles]]\nname = \"pistachio_ai\"\n"
            ),
        )
    };
    bench.write("r.toml", &recipe(false));
    bench.run(&["recipe", "r.toml"]).failure(2, &["the text ends after", "haystack.repeat"]);
    let release = build(&bench, &recipe(true), &[]);
    let report = verify(&release, Depth::Sampled, 2).unwrap();
    assert_eq!((report.n_findings, report.proven), (0, 1), "{:#?}", report.findings);
    let (batch, row) = rows(&release).remove(0);
    assert!(int(&batch, "repeats", row) > 1);
}

/// A build that was killed between two files ends with the same bytes.
#[test]
fn a_resumed_build_is_the_same() {
    let bench = Bench::new();
    let whole = build(&bench, &recall("resumed", SMALL), &["--jobs", "1"]);
    let expected = bytes_of(&whole);
    // As if it had been killed after the first file.
    let partial = bench.path("build/resumed/1.0.0.partial");
    std::fs::rename(&whole, &partial).unwrap();
    let manifest: serde_json::Value =
        serde_json::from_slice(&std::fs::read(partial.join("manifest.json")).unwrap()).unwrap();
    let plan = manifest["plan"].as_str().unwrap();
    let first = &manifest["files"][0];
    bench.write("build/resumed/1.0.0.partial/journal.jsonl", &format!("{{\"plan\":\"{plan}\"}}\n{first}\n"));
    for name in ["manifest.json", "README.md", "SHA256SUMS", "recipe.toml", "judge.json"] {
        std::fs::remove_file(partial.join(name)).unwrap();
    }
    let again = build(&bench, &recall("resumed", SMALL), &[]);
    let differ: Vec<String> =
        bytes_of(&again).into_iter().zip(&expected).filter(|(a, b)| a != *b).map(|((name, _), _)| name).collect();
    assert!(differ.is_empty(), "{differ:?}");
}

/// Real text of a language: XQuAD's passages, but for damaged ones.
fn xquad(data: &Path, code: &str) -> String {
    let file: serde_json::Value =
        serde_json::from_slice(&std::fs::read(data.join(format!("xquad/xquad.{code}.json"))).unwrap()).unwrap();
    let paragraphs = file["data"].as_array().unwrap().iter().flat_map(|a| a["paragraphs"].as_array().unwrap());
    let texts = paragraphs.map(|p| p["context"].as_str().unwrap().replace('\n', " "));
    let damaged = |text: &String| text.contains('\u{fffd}') || text.contains("\u{e2}\u{20ac}");
    texts.filter(|text| !damaged(text)).collect::<Vec<_>>().join("\n")
}

/// In real text of seven languages no needle stands inside a sentence, and none farther from its depth than the break
/// next to it on the other side, but for those that the guard moved.
#[test]
fn in_real_text_needles_stand_at_sentence_breaks_near_their_depths() {
    let Some(data) = real_data("needles in real text") else { return };
    let bench = Bench::new();
    for (code, name) in FLORES {
        bench.write(&format!("data/{code}-xquad.txt"), &xquad(&data, code));
        let lines = std::fs::read_to_string(data.join(format!("flores200/devtest/{name}.devtest"))).unwrap();
        bench.write(&format!("data/{code}-flores.txt"), &lines);
    }
    let novel = std::fs::read_to_string(data.join("haystack/little_women_louisa_may_alcott.txt")).unwrap();
    bench.write("data/en-novel.txt", &novel);
    let seven = "languages = [\"en\", \"de\", \"es\", \"zh\", \"vi\", \"hi\", \"ar\"]";
    let sets = [
        ("xquad", seven, "paragraphs", 24_000),
        ("flores", seven, "paragraphs", 24_000),
        ("novel", "languages = [\"en\"]", "wrapped", 32_768),
    ];
    for (set, languages, lines, window) in sets {
        let recipe = recall(
            set,
            &format!(
                "[grid]\n{languages}\n[haystack]\nfiles = \"{{language}}-{set}.txt\"\nlines = \"{lines}\"\n[slots]\nwindow = {window}\n"
            ),
        );
        let release = build(&bench, &recipe, &["--data", "data"]);
        let report = verify(&release, Depth::Sampled, 2).unwrap();
        assert_eq!((report.n_findings, report.proven), (0, report.rows), "{set}: {:#?}", report.findings);
        let (mut cells, mut moved, mut far) = (0, 0, 0);
        let mut texts: BTreeMap<String, Text> = BTreeMap::new();
        let all = rows(&release);
        // The last row of a file has the longest text. All needles of a language share their slots: one is enough.
        for (batch, row) in all.iter().rev().filter(|(batch, row)| text(batch, "source_task", *row) == "pistachio_ai") {
            let known = texts.entry(text(batch, "language", *row).to_owned()).or_insert_with(|| Text::of(batch, *row));
            let away = known.sentences_away(batch, *row);
            cells += 1;
            moved += u64::from(int(batch, "moved", *row) > 0);
            far += u64::from(away > 1);
            assert!(away == 0 || int(batch, "moved", *row) > 0, "{}: {away} breaks between", text(batch, "id", *row));
        }
        println!(
            "{set}: {cells} cells, {moved} not at the nearest break, {far} more than one sentence from the asked depth"
        );
        assert!(far * 1000 <= cells * 2, "the guard moved {far} of {cells} needles beyond the next sentence");
        if set == "flores" {
            inside_no_line(&release);
        }
    }
}

/// The running text of a language.
struct Text {
    ends: Vec<usize>,
    breaks: Vec<usize>,
}

/// A prompt's text without its needle, and where that stands in it.
fn bare(batch: &RecordBatch, row: usize) -> (String, usize) {
    let get = |name: &str| text(batch, name, row);
    let pack = get("language").parse::<Language>().unwrap().pack().unwrap();
    let span = read_spans(batch, row)[0];
    let (prompt, head) = (get("prompt"), pack.system().len() + 1);
    let before = prompt[head..span.start as usize].trim_end();
    let behind = &prompt[span.end as usize..prompt.len() - get("question").len() - 1];
    let behind = if before.is_empty() { behind.trim_start() } else { behind };
    ([before, behind].concat(), before.len())
}

impl Text {
    fn of(batch: &RecordBatch, row: usize) -> Text {
        let pack = text(batch, "language", row).parse::<Language>().unwrap().pack().unwrap();
        let (text, _) = bare(batch, row);
        let ends = nihbuild::tokenizer::Tokenizer::embedded("o200k_base").unwrap().ends(&text);
        Text { ends, breaks: breaks(&text, &pack.marks()).iter().map(|b| b.end).collect() }
    }

    /// Sentence breaks between the asked place and the needle: none where it is within a sentence of it.
    fn sentences_away(&self, batch: &RecordBatch, row: usize) -> usize {
        let (text, at) = bare(batch, row);
        let tokens = self.ends.partition_point(|end| *end <= text.len());
        let asked = table::text(batch, "position", row).parse::<f64>().unwrap() / 100.0 * tokens as f64;
        // The asked place may lie inside a token.
        let (low, high) = (self.end(asked.floor()), self.end(asked.ceil()));
        let between = |place: &&usize| (high < **place && **place < at) || (at < **place && **place < low);
        self.breaks.iter().filter(between).count()
    }

    fn end(&self, tokens: f64) -> usize {
        if tokens < 1.0 { 0 } else { self.ends[(tokens as usize).min(self.ends.len()) - 1] }
    }
}

/// A line of FLORES is a sentence; where a needle stands inside one, a person found two sentences there.
fn inside_no_line(release: &Path) {
    for (batch, row) in rows(release) {
        let prompt = text(&batch, "prompt", row);
        let span = read_spans(&batch, row)[0];
        let behind = &prompt[span.end as usize..];
        let inside = !behind.starts_with("\n");
        let before = prompt[..span.start as usize].trim_end();
        if inside && text(&batch, "position", row) != "0.000" {
            assert!(
                before.ends_with(['.', '!', '?', '\u{3002}', '\u{964}', '\u{61f}', '\u{ff01}', '\u{ff1f}']),
                "{}",
                text(&batch, "id", row)
            );
        }
    }
}
