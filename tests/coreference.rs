//! All of bAbI's tasks in every language; a pronoun stands right behind the sentence that says whom it means.

use crate::support::*;
use nihbuild::family::reasoning::{answers, question_of};
use nihbuild::language::{Language, Pack, pronoun};
use nihbuild::recipe::Task;
use nihbuild::story::{Fact, Solution, SourceTask, bind, solve};
use nihbuild::table::{read_spans, text, texts};
use nihbuild::tokenizer::Tokenizer;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn all_tasks(name: &str, seed: &str, n: u32, more: &str) -> String {
    let tasks: Vec<String> = SourceTask::all().map(|task| format!("{task} = {n}")).collect();
    format!(
        "[release]\nname = \"{name}\"\nversion = \"1.0.0\"\nseed = {seed}\n\n[stories]\ntasks = {{ {} }}\n\n\
         [grid]\nlengths = [\"0k\", \"2k\"]\n{more}\n\n[distractors]\npool = 400\n",
        tasks.join(", ")
    )
}

/// What the lines of a context say.
fn facts(pack: &Pack, lines: &[&str]) -> Vec<Fact> {
    let fact = |line: &&str| Fact::of(pack.read(line).unwrap_or_else(|e| panic!("{line:?}: {e}"))).expect("a fact");
    lines.iter().map(fact).collect()
}

#[test]
fn every_task_is_told_in_every_language() {
    let bench = Bench::new();
    let languages: Vec<String> = Language::all().map(|language| format!("\"{language}\"")).collect();
    bench.write("r.toml", &all_tasks("all", "4", 2, &format!("languages = [{}]", languages.join(", "))));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    let verified = bench.run(&["verify", "--full", release.to_str().unwrap(), "--json"]).success();
    let report: serde_json::Value = serde_json::from_str(&verified.out).unwrap();
    let all = 20 * 2 * languages.len() as u64 * 2;
    assert_eq!((report["rows"].as_u64(), report["rederived"].as_u64()), (Some(all), Some(all)));
    let packs: BTreeMap<String, Pack> = Language::all().map(|l| (l.to_string(), l.pack().unwrap())).collect();
    // Facts with a pronoun, by task and language.
    let mut leaning: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut tasks = BTreeSet::new();
    for (batch, row) in data_files(&release).iter().flat_map(|path| rows(&release.join(path))) {
        let get = |name: &str| text(&batch, name, row);
        let (prompt, pack) = (get("prompt"), &packs[get("language")]);
        let task: SourceTask = get("source_task").parse().unwrap();
        assert_eq!(get("task"), Task::of_source(task).name());
        assert_eq!(get("category"), Task::of_source(task).category());
        tasks.insert((task, get("language").to_owned(), get("length").to_owned()));
        let (head, lines, tail) = parts(prompt);
        let mut told = facts(pack, &lines);
        // Where each line begins, and the needles among the lines.
        let mut starts = vec![head.len() as u64];
        lines.iter().for_each(|line| starts.push(starts[starts.len() - 1] + line.len() as u64 + 1));
        let needles: Vec<usize> =
            read_spans(&batch, row).iter().map(|span| starts.binary_search(&span.start).unwrap()).collect();
        let pronouns: Vec<usize> = (0..told.len()).filter(|n| told[*n].leans()).collect();
        for n in &pronouns {
            let place = needles.binary_search(n).expect("pronouns are of stories alone");
            assert_eq!(needles[place - 1], n - 1, "{}: {:?} does not lean on {:?}", get("id"), lines[*n], lines[n - 1]);
            assert!(told[n - 1].movers().count() > 0, "{}: {:?} names nobody", get("id"), lines[n - 1]);
        }
        *leaning.entry((task.to_string(), get("language").to_owned())).or_default() += pronouns.len();
        assert_eq!(bind(&mut told), Ok(()), "{}", get("id"));
        let question = question_of(tail, pack).expect("a question");
        let Solution::Unique { answer, .. } = solve(question, told) else { panic!("{}", get("id")) };
        assert_eq!((texts(&batch, "answers", row), texts(&batch, "answer_variants", row)), answers(answer, pack));
    }
    assert_eq!(tasks.len(), 20 * languages.len() * 2);
    for ((task, language), n) in leaning {
        let few = if ["qa11", "qa13"].contains(&task.as_str()) { n >= 4 } else { n == 0 };
        assert!(few, "{task} {language}: {n} pronouns");
    }
}

/// Moves the first sentence with a pronoun of a row behind a distractor further on, with all that its row says of where it
/// stands: behind any, or behind one that names somebody whom the pronoun could stand for. False if there is none.
fn move_pronoun(path: &Path, row: usize, pack: &Pack, agreeing: bool) -> bool {
    let tokenizer = Tokenizer::embedded("o200k_base").unwrap();
    let (batch, _) = rows(path).remove(row);
    let prompt = text(&batch, "prompt", row).to_owned();
    let (head, lines, _) = parts(&prompt);
    let spans = read_spans(&batch, row);
    let told = facts(pack, &lines);
    let is_needle = |n: usize| {
        let start = head.len() + lines[..n].iter().map(|line| line.len() + 1).sum::<usize>();
        spans.iter().position(|span| span.start == start as u64)
    };
    // A distractor behind it, without another needle on the way.
    let behind = |n: usize| {
        let Fact::Then { who, .. } = told[n] else { return None };
        let agrees = |m: &usize| {
            let movers: Vec<u8> = told[*m].movers().collect();
            !agreeing || !movers.is_empty() && pronoun(&movers) & who != 0
        };
        (n + 1..told.len()).take_while(|m| is_needle(*m).is_none()).find(agrees).map(|m| (n, m))
    };
    let Some((n, m)) = (0..told.len()).find_map(behind) else { return false };
    let needle = is_needle(n).expect("it is a needle");
    let over: String = lines[n + 1..=m].iter().map(|line| format!("{line}\n")).collect();
    let (old, new) = (format!("{}\n{over}", lines[n]), format!("{over}{}\n", lines[n]));
    forge(path, row, &|prompt| prompt.replacen(&old, &new, 1));
    let count =
        |lines: &[&str]| lines.iter().map(|line| tokenizer.count_line(&format!("{line}\n"))).sum::<usize>() as i64;
    let (bytes, chars, tokens) = (over.len() as i64, over.chars().count() as i64, count(&lines[n + 1..=m]));
    let before = spans[needle].token_start as i64 + tokens - tokenizer.count(head) as i64;
    change_spans(path, row, &|span, name, value| match name {
        _ if span != needle => value,
        "start" | "end" => value + bytes,
        "char_start" | "char_end" => value + chars,
        "token_start" | "token_end" => value + tokens,
        "depth" => before * 1_000_000 / count(&lines),
        other => panic!("{other}"),
    });
    true
}

/// Moves a pronoun in every row of a release that has one; how many rows, and which of them are not found.
fn moved(sound: &Sound, agreeing: bool) -> (usize, Vec<String>) {
    let file = "data/en_2k/test-00000-of-00001.parquet";
    let pack = "en".parse::<Language>().unwrap().pack().unwrap();
    let (mut tried, mut missed) = (0, Vec::new());
    for (row, (id, _)) in prompts(&sound.release.join(file)).into_iter().enumerate() {
        let mut has_one = false;
        let report = sound.touched(file, |path| {
            has_one = move_pronoun(path, row, &pack, agreeing);
            if !has_one {
                forge(path, row, &|prompt| format!("{prompt} "));
            }
        });
        let found: Vec<&str> =
            report.findings.iter().filter(|f| f.row.as_ref() == Some(&id)).map(|f| f.what.as_str()).collect();
        // It is what the sentence says that is wrong: where it stands was written down anew.
        assert!(!has_one || found.iter().all(|what| !what.contains("recorded")), "{found:?}");
        tried += usize::from(has_one);
        missed.extend((has_one && found.is_empty()).then_some(id));
    }
    (tried, missed)
}

const PRONOUNS: &str = "[stories]\ntasks = { qa11 = 4, qa13 = 4 }\n\n[grid]\nlanguages = [\"en\"]\nlengths = [\"2k\"]\n\n\
                        [distractors]\npool = 300\n";

fn built(seed: &str) -> (Bench, Sound) {
    let bench = Bench::new();
    bench.write("seed.txt", "a seed that nobody knows");
    bench.write("r.toml", &format!("[release]\nname = \"moved\"\nversion = \"1.0.0\"\nseed = {seed}\n\n{PRONOUNS}"));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    (bench, Sound::new(release))
}

#[test]
fn a_pronoun_that_was_moved_is_found() {
    let (_bench, sound) = built("4");
    for (agreeing, least) in [(false, 6), (true, 3)] {
        let (tried, missed) = moved(&sound, agreeing);
        assert!(tried >= least && missed.is_empty(), "{agreeing}: {missed:?} of {tried}");
    }
}

#[test]
fn a_pronoun_that_was_moved_is_found_without_the_seed() {
    let (_bench, sound) = built("{ file = \"seed.txt\" }");
    let (tried, missed) = moved(&sound, false);
    assert!(tried >= 6 && missed.is_empty(), "{missed:?} of {tried}");
}

#[test]
fn a_pronoun_that_was_moved_behind_another_person_is_found_without_the_seed() {
    let (_bench, sound) = built("{ file = \"seed.txt\" }");
    let (tried, missed) = moved(&sound, true);
    assert!(tried >= 3 && missed.is_empty(), "{missed:?} of {tried}");
}

#[test]
fn unknown_tasks_are_refused_with_the_known_ones() {
    let bench = Bench::new();
    for task in ["qa21", "qa0", "QA1", "coreference", "qa"] {
        bench.write("r.toml", &all_tasks("r", "1", 1, "").replace("qa20 = 1", &format!("{task} = 1")));
        let said = format!("unknown task `{task}`, expected one of basic_factoid, yes_no");
        bench
            .run(&["recipe", "r.toml", "--dry-run"])
            .failure(2, &[&said, "compound_coreference", "path_finding", "qa1 to qa20"]);
    }
    bench.write("r.toml", &all_tasks("r", "1", 0, ""));
    bench.run(&["recipe", "r.toml", "--dry-run"]).failure(2, &["stories.tasks asks for no instance"]);
    // A source task comes on top of its share of a task.
    let recipe = all_tasks("r", "1", 1, "languages = [\"en\"]")
        .replace("qa20 = 1", "qa20 = 1, agent_motivations = 2, basic_factoid = 3");
    bench.write("r.toml", &recipe);
    let dry = bench.run(&["recipe", "r.toml", "--dry-run"]).success();
    assert!(dry.out.contains("25"), "{}", dry.out);
}

#[test]
fn a_task_has_one_spelling() {
    for spelling in ["qa01", "qa+1", "qa001"] {
        assert!(spelling.parse::<SourceTask>().is_err(), "{spelling}");
    }
}
