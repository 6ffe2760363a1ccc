//! Prompting strategies: one context, four ways to ask; worked examples that give nothing away.

use crate::support::*;
use arrow_array::Array;
use nihbuild::family::reasoning::{LocalStory, Voices, answers, question_of, template};
use nihbuild::language::{Kind, Language, Pack};
use nihbuild::recipe::{Recipe, Strategy};
use nihbuild::seed::Seed;
use nihbuild::stage::examples;
use nihbuild::story::{
    Answer, AnswerSpread, Direction, Fact, Question, Solution, SourceTask, Story, Way, simulate, solve,
};
use nihbuild::table::{column, int, text, texts};
use nihbuild::tokenizer::Tokenizer;
use nihbuild::verify::read_manifest;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const STRATEGIES: [&str; 4] = ["zero_shot", "translation", "chain_of_thought", "few_shot"];

/// Tokens left for answer and chat template, by strategy.
const RESERVES: [i64; 4] = [64 + 32, 260 + 32, 150 + 32, 64 + 32];

const RECIPE: &str = "[release]\nname = \"ways\"\nversion = \"1.0.0\"\nseed = 5\n
[stories]\ntasks = { qa1 = 2, qa3 = 2, qa5 = 4, qa6 = 3, qa7 = 3, qa8 = 3, qa10 = 3, qa11 = 2, qa16 = 2, qa19 = 2, qa20 = 4 }\n
[grid]\nlanguages = [\"en\", \"de\", \"zh\", \"ar\", \"hi\"]\nlengths = [\"0k\", \"2k\"]\n
[distractors]\npool = 400\n
[budget]\nanswer = { zero_shot = 64, translation = 260, chain_of_thought = 150, few_shot = 64 }\n
[prompt]\nstrategies = [\"zero_shot\", \"translation\", \"chain_of_thought\", \"few_shot\"]\nexamples = 2\n";

type Packs = BTreeMap<String, Pack>;

fn packs() -> Packs {
    Language::all().map(|language| (language.to_string(), language.pack().unwrap())).collect()
}

/// Voices of one language, or with the instruction in another.
fn voices<'a>(packs: &'a Packs, language: &str, guide: &str, strategy: Strategy) -> Voices<'a> {
    let (story, guide, english) = (&packs[language], &packs[guide], &packs["en"]);
    Voices { story, question: story, guide, english, strategy, template: template(strategy) }
}

/// One row.
struct Seen {
    id: String,
    instance: String,
    language: String,
    length: String,
    strategy: usize,
    prompt: String,
    question: String,
    gold: Vec<String>,
    variants: Vec<String>,
    tokens: i64,
    distractors: Vec<String>,
    /// Ids and printed answers of its worked examples; none where the columns are null.
    examples: Option<(Vec<String>, Vec<String>)>,
}

fn seen(release: &Path) -> Vec<Seen> {
    let mut all = Vec::new();
    for path in data_files(release) {
        for (batch, row) in rows(&release.join(path)) {
            let get = |name: &str| text(&batch, name, row).to_owned();
            let shown = ["examples", "example_labels"].map(|name| !column(&batch, name).is_null(row));
            assert_eq!(shown[0], shown[1]);
            all.push(Seen {
                id: get("id"),
                instance: get("instance_id"),
                language: get("language"),
                length: get("length"),
                strategy: STRATEGIES.iter().position(|name| *name == get("strategy")).unwrap(),
                prompt: get("prompt"),
                question: get("question"),
                gold: texts(&batch, "answers", row),
                variants: texts(&batch, "answer_variants", row),
                tokens: int(&batch, "n_tokens", row),
                distractors: texts(&batch, "distractor_ids", row),
                examples: shown[0].then(|| (texts(&batch, "examples", row), texts(&batch, "example_labels", row))),
            });
        }
    }
    all
}

/// Rows that differ in strategy alone, in the order of [`STRATEGIES`].
fn sets(all: &[Seen]) -> Vec<Vec<&Seen>> {
    let mut sets: BTreeMap<(&str, &str, &str), Vec<&Seen>> = BTreeMap::new();
    for row in all {
        sets.entry((&row.instance, &row.language, &row.length)).or_default().push(row);
    }
    sets.values_mut().for_each(|rows| rows.sort_by_key(|row| row.strategy));
    assert!(sets.values().all(|rows| rows.iter().map(|row| row.strategy).eq(0..4)));
    sets.into_values().collect()
}

#[test]
fn strategies_ask_about_one_context_in_their_own_way() {
    let bench = Bench::new();
    bench.write("r.toml", RECIPE);
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
    let all = seen(&release);
    assert_eq!(all.len(), 30 * 5 * 2 * 4);
    let (packs, sets) = (packs(), sets(&all));
    let tokenizer = Tokenizer::embedded("o200k_base").unwrap();
    let mut longest = BTreeSet::new();
    for rows in &sets {
        let zero = rows[0];
        for row in rows {
            assert_eq!(parts(&row.prompt).1, parts(&zero.prompt).1, "{} and {}", row.id, zero.id);
            assert_eq!((&row.distractors, &row.question), (&zero.distractors, &zero.question), "{}", row.id);
            assert!(row.id.ends_with(&format!("-{}-{}-synthetic", row.length, STRATEGIES[row.strategy])), "{}", row.id);
        }
        if zero.length == "2k" {
            let needs: Vec<i64> = rows.iter().map(|row| row.tokens + RESERVES[row.strategy]).collect();
            let most = *needs.iter().max().unwrap();
            longest.extend(needs.iter().position(|n| *n == most));
            // One more passage, which has seven lines at most, would be over under the longest strategy.
            let lines = parts(&zero.prompt).1.into_iter();
            let line = lines.map(|line| tokenizer.count_line(&format!("{line}\n")) as i64).max().unwrap();
            assert!(most <= 2000 && most + 7 * line > 2000, "{}: {needs:?}", zero.id);
        }
        golds(rows, &packs);
        tails(rows);
    }
    // Which strategy is longest depends on the story: examples, or the room for a translation.
    assert_eq!(longest, BTreeSet::from([1, 3]));
    worked_examples(&all, &packs);
}

/// Under translation the gold is English; otherwise strategies have one gold.
fn golds(rows: &[&Seen], packs: &Packs) {
    let (zero, translated) = (rows[0], rows[1]);
    for row in [rows[2], rows[3]] {
        assert_eq!((&row.gold, &row.variants), (&zero.gold, &zero.variants), "{}", row.id);
    }
    let pack = &packs[zero.language.as_str()];
    let answer = answer_of(zero, pack);
    assert_eq!((zero.gold.clone(), zero.variants.clone()), answers(answer, pack));
    let expected = match answer {
        Answer::Actor(n) => {
            let (name, latin) = (pack.citation(Kind::Actor, n), pack.latin(n));
            let first = latin.first().map_or(name, String::as_str);
            assert_eq!(latin.is_empty(), !["zh", "ar", "hi"].contains(&pack.code()));
            let mut others: Vec<String> = latin.iter().map(String::as_str).chain([name]).map(str::to_owned).collect();
            others.sort();
            others.retain(|other| other != first);
            (vec![first.to_owned()], others)
        }
        _ => answers(answer, &packs["en"]),
    };
    assert_eq!((translated.gold.clone(), translated.variants.clone()), expected, "{}", translated.id);
    assert!(translated.gold[0].chars().all(|c| !c.is_alphabetic() || is_latin(c)), "{:?}", translated.gold);
}

fn is_latin(c: char) -> bool {
    c < '\u{250}' || ('\u{1e00}'..'\u{1f00}').contains(&c)
}

/// The answer that the prompt's own text gives.
fn answer_of(row: &Seen, pack: &Pack) -> Answer {
    let (_, lines, tail) = parts(&row.prompt);
    let facts: Vec<Fact> = lines.iter().map(|line| fact(pack, line)).collect();
    let question = question_of(tail, pack).expect("a question");
    assert_eq!(pack.sentence(question.message()), row.question);
    solved(question, &facts)
}

fn fact(pack: &Pack, line: &str) -> Fact {
    Fact::of(pack.read(line).unwrap_or_else(|e| panic!("{line:?}: {e}"))).expect("a fact")
}

fn solved(question: Question, facts: &[Fact]) -> Answer {
    match solve(question, facts.iter().copied()) {
        Solution::Unique { answer, .. } => answer,
        Solution::Faulty(fault) => panic!("{fault:?}: {question:?} {facts:?}"),
    }
}

/// What is said behind the context.
fn tails(rows: &[&Seen]) {
    let tail = |n: usize| parts(&rows[n].prompt).2;
    let zero = tail(0);
    for (n, tail) in (0..4).map(tail).enumerate() {
        assert_eq!(tail.contains("\"reasoning\""), n == 2, "{}", rows[n].id);
        assert_eq!(tail.contains("<example>"), n == 3, "{}", rows[n].id);
        assert!(tail.contains("\"answer\"") && tail.contains(&rows[n].question), "{}", rows[n].id);
    }
    // English needs no translation into English.
    assert_eq!(rows[0].prompt == rows[1].prompt, rows[0].language == "en", "{}", rows[1].id);
    assert_eq!(tail(1).lines().count() - zero.lines().count(), usize::from(rows[0].language != "en"));
    assert_eq!(tail(2).lines().count() - zero.lines().count(), 1);
    // All but the examples is as without them.
    let (before, after) = tail(3).split_once("<example>").unwrap();
    let behind = after.rsplit_once("</example>").unwrap().1;
    let question = zero.strip_prefix("</context>\n\n").unwrap();
    assert_eq!((before.lines().count(), behind), (3, format!("\n\n{question}").as_str()));
}

/// A worked example: the lines of its story, its question's line, its printed answer.
fn worked(tail: &str) -> Vec<(Vec<&str>, &str, String)> {
    let one = |part| {
        let (text, _) = str::split_once(part, "\n</example>").expect("the example's end");
        let mut lines: Vec<&str> = text.lines().collect();
        let json: serde_json::Value = serde_json::from_str(lines.pop().unwrap()).unwrap();
        let question = lines.pop().unwrap();
        assert_eq!(json.as_object().unwrap().len(), 1);
        (lines, question, json["answer"].as_str().unwrap().to_owned())
    };
    tail.split("<example>\n").skip(1).map(one).collect()
}

/// Examples are true, are about other persons, and are the same in every language and length.
fn worked_examples(all: &[Seen], packs: &Packs) {
    let mut same: BTreeMap<&str, (&[String], Vec<Answer>)> = BTreeMap::new();
    for row in all {
        let Some((ids, labels)) = &row.examples else {
            assert_ne!(row.strategy, 3);
            continue;
        };
        assert_eq!((row.strategy, ids.len(), labels.len()), (3, 2, 2), "{}", row.id);
        let pack = &packs[row.language.as_str()];
        let voices = voices(packs, pack.code(), pack.code(), Strategy::FewShot);
        let (_, lines, tail) = parts(&row.prompt);
        let mut told: BTreeSet<u8> = lines.iter().flat_map(|line| persons(fact(pack, line).message())).collect();
        told.extend(persons(question_of(tail, pack).unwrap().message()));
        let shown = worked(tail);
        assert_eq!(shown.len(), 2, "{}", row.id);
        assert_ne!(shown[0], shown[1], "{}", row.id);
        let mut found = Vec::new();
        for (n, (lines, question, printed)) in shown.iter().enumerate() {
            assert!(lines.len() <= 12 && ids[n].starts_with(&format!("{}-e", row.instance.split_once('-').unwrap().0)));
            let facts: Vec<Fact> = lines.iter().map(|line| fact(pack, line)).collect();
            let question = question_of(&format!("</context>\n{question}"), pack).expect("a question");
            let answer = solved(question, &facts);
            assert_eq!(voices.gold(answer).0[0], *printed, "{}", row.id);
            assert_eq!(*printed, labels[n], "{}", row.id);
            let others = facts.iter().map(|fact| fact.message()).chain([question.message()]).flat_map(persons);
            for person in others {
                let name = pack.citation(Kind::Actor, person);
                assert!(!told.contains(&person), "{}: {name} is of the prompt too", row.id);
                assert!(told.iter().all(|other| pack.citation(Kind::Actor, *other) != name), "{}: {name}", row.id);
            }
            found.push(answer);
        }
        let first = same.entry(&row.instance).or_insert_with(|| (ids, found.clone()));
        assert_eq!(*first, (ids.as_slice(), found), "{}", row.id);
    }
    assert_eq!(same.len(), 30);
}

#[test]
fn the_label_of_an_example_says_nothing_of_the_answer() {
    let bench = Bench::new();
    let recipe = "[release]\nname = \"copied\"\nversion = \"1.0.0\"\nseed = 8\n\n[stories]\ntasks = { qa6 = 300, qa10 = 300 }\n\n\
                  [grid]\nlanguages = [\"en\"]\nlengths = [\"0k\"]\n\n[distractors]\npool = 20\n\n[prompt]\nstrategies = [\"few_shot\"]\n";
    bench.write("r.toml", recipe);
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    let answerers = read_manifest(&release).unwrap().answerers;
    let all = seen(&release);
    for (task, labels) in [("qa6", 2), ("qa10", 3)] {
        let copied = answerers[&task.parse().unwrap()]["answer of an example"];
        let chance = 1_000_000 / labels;
        assert_eq!((copied.rows, copied.chance), (300, chance));
        // Six hundred examples: four times the spread of a fair coin.
        assert!(copied.score.abs_diff(chance) < 82_000, "{task}: {copied:?}");
        let of_task = all.iter().filter(|row| row.instance.starts_with(&format!("{task}-")));
        let mut spread: BTreeMap<&str, u64> = BTreeMap::new();
        let mut hits = 0;
        for row in of_task {
            let (ids, labels) = row.examples.as_ref().unwrap();
            assert_eq!(ids.len(), 2, "two, where the recipe does not say");
            hits += labels.iter().filter(|label| **label == row.gold[0]).count() as u64;
            labels.iter().for_each(|label| *spread.entry(label).or_default() += 1);
        }
        assert_eq!(copied.score, hits * 500_000 / 300, "{task}");
        assert_eq!(spread.len() as u64, labels);
        assert!(spread.values().all(|n| n.abs_diff(600 / labels) < 60), "{spread:?}");
    }
}

/// How many examples prompts of a task show.
fn shown(n: u32, task: &str) -> BTreeSet<usize> {
    let text = format!(
        "[release]\nname = \"r\"\nversion = \"1.0.0\"\nseed = 1\n[stories]\ntasks = {{ {task} = 1 }}\n\
         [prompt]\nstrategies = [\"few_shot\"]\nexamples = {n}\n"
    );
    let (recipe, seed) = (Recipe::parse("r", &text).unwrap(), Seed::new("1"));
    let pool = &examples::pool(&recipe, &seed, std::iter::empty())[&task.parse().unwrap()];
    (0..50).map(|i| examples::choose(&seed, &format!("{task}-{i:05}"), pool, n as usize, |_| 0).len()).collect()
}

#[test]
fn as_many_examples_are_shown_as_the_recipe_asks_for() {
    for n in [1, 3, 8] {
        for task in ["qa1", "qa6", "qa10"] {
            assert_eq!(shown(n, task), BTreeSet::from([n as usize]), "{task}");
        }
    }
}

#[test]
fn many_examples_are_shown_where_the_recipe_asks_for_them() {
    assert_eq!(shown(16, "qa6"), BTreeSet::from([16]));
}

/// Quotation marks of the packs, and what stands between them.
fn quoted(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut open: Option<(usize, char)> = None;
    for (at, c) in text.char_indices() {
        match (open, c) {
            (None, '\u{201c}') => open = Some((at + 3, '\u{201d}')),
            (None, '\u{201e}') => open = Some((at + 3, '\u{201c}')),
            (None, '\u{ab}') => open = Some((at + 2, '\u{bb}')),
            (Some((from, close)), _) if c == close => {
                all.push(text[from..at].to_owned());
                open = None;
            }
            _ => {}
        }
    }
    assert_eq!(open, None, "{text:?}");
    all
}

/// The labels that a task's instruction names at its end, in a pack's words.
fn labels(task: u8, pack: &Pack) -> Vec<String> {
    let all = match task {
        6 | 9 | 17 | 18 => vec![Answer::Yes, Answer::No],
        10 => vec![Answer::Yes, Answer::No, Answer::Maybe],
        7 => vec![Answer::Count(0)],
        8 => vec![Answer::Objects(0)],
        19 => Direction::ALL.map(|direction| Answer::Path(Way::of(&[direction]).unwrap())).to_vec(),
        20 => (0..Kind::Motive.count() as u8).map(Answer::Motive).collect(),
        _ => Vec::new(),
    };
    all.into_iter().map(|answer| answers(answer, pack).0.remove(0)).collect()
}

fn story(task: u8, n: usize) -> Story {
    let task = SourceTask::of(task).unwrap();
    simulate(task, n, AnswerSpread::Balanced, &Seed::new("1"), |_| true).expect("a story")
}

/// The labels named last in the instruction of a guide for answers in another language, and those that should be.
fn named(packs: &Packs, task: u8, guide: &str, language: &str, strategy: Strategy) -> (Vec<String>, Vec<String>) {
    let voices = voices(packs, language, guide, strategy);
    let answered = if strategy == Strategy::Translation { "en" } else { language };
    let expected = labels(task, &packs[answered]);
    let found = quoted(&LocalStory::new(&story(task, 0), &voices, &[]).head);
    (found[found.len().saturating_sub(expected.len())..].to_vec(), expected)
}

const LABELLED: [u8; 8] = [6, 7, 8, 9, 10, 17, 18, 20];

/// Cases that the test below is about.
fn is_ambiguous(guide: &str, language: &str, task: u8) -> bool {
    guide != language && task == 7 && ["vi", "id"].contains(&guide)
}

#[test]
fn instructions_name_the_labels_of_the_answers_language() {
    let packs = packs();
    for guide in packs.keys() {
        for task in LABELLED {
            for language in packs.keys().filter(|language| !is_ambiguous(guide, language, task)) {
                let (found, expected) = named(&packs, task, guide, language, Strategy::ZeroShot);
                assert_eq!(found, expected, "qa{task}, told what to do in {guide}, answered in {language}");
            }
            if !is_ambiguous(guide, "en", task) {
                let (found, expected) = named(&packs, task, guide, guide, Strategy::Translation);
                assert_eq!(found, expected, "qa{task}, translated from {guide}");
            }
        }
    }
}

#[test]
fn a_word_that_stands_for_two_labels_is_exchanged_for_the_right_one() {
    let packs = packs();
    for guide in ["vi", "id"] {
        let (found, expected) = named(&packs, 7, guide, guide, Strategy::Translation);
        assert_eq!(found, expected, "qa7, translated from {guide}");
    }
}

#[test]
fn directions_are_named_in_the_answers_language() {
    let packs = packs();
    for guide in packs.keys() {
        let voices = voices(&packs, guide, guide, Strategy::Translation);
        let head = LocalStory::new(&story(19, 0), &voices, &[]).head;
        for direction in labels(19, &packs["en"]) {
            assert!(head.contains(&direction), "{guide}: no {direction:?} in {head:?}");
        }
    }
}

#[test]
fn words_of_the_context_are_not_exchanged() {
    // What negations look like in the context's sentences; the answers are English.
    let packs = packs();
    for guide in packs.keys() {
        let negations = |strategy| {
            let voices = voices(&packs, guide, guide, strategy);
            let mut found = quoted(&LocalStory::new(&story(6, 0), &voices, &[]).head);
            found.truncate(found.len() - 2);
            found
        };
        assert_eq!(negations(Strategy::Translation), negations(Strategy::ZeroShot), "{guide}");
    }
}

#[test]
fn under_translation_all_that_is_accepted_is_english() {
    let packs = packs();
    for (code, pack) in &packs {
        let voices = voices(&packs, code, code, Strategy::Translation);
        for task in 1..=20 {
            for n in 0..24 {
                let Solution::Unique { answer, .. } = story(task, n).solve() else { panic!("qa{task} {n}") };
                let (gold, variants) = voices.gold(answer);
                let Answer::Actor(person) = answer else {
                    assert_eq!((gold, variants), answers(answer, &packs["en"]), "{code}");
                    continue;
                };
                let name = pack.citation(Kind::Actor, person).to_owned();
                assert!(gold[0].chars().all(|c| !c.is_alphabetic() || is_latin(c)), "{code}: {gold:?}");
                assert!(gold[0] == name || variants.contains(&name), "{code}: {gold:?} {variants:?}");
                assert!(!variants.contains(&gold[0]) && variants.is_sorted());
            }
        }
    }
}

#[test]
fn templates_of_a_recipe_are_used() {
    let bench = Bench::new();
    let head = "[release]\nname = \"own\"\nversion = \"1.0.0\"\nseed = 5\n\n[stories]\ntasks = { qa1 = 1, qa6 = 1 }\n\n\
                [grid]\nlanguages = [\"en\", \"de\"]\nlengths = [\"0k\", \"1k\"]\n\n[distractors]\npool = 200\n";
    let own = "[prompt]\nstrategies = [\"zero_shot\", \"few_shot\"]\nexamples = 1\n\n[prompt.templates]\n\
               zero_shot = \"Hi {\\\"a\\\": 1} {A}\\n{translate}\\n<context>\\n{context}</context>\\n{think}\\n{question}\\n{json_reasoning} !\\n\"\n\
               few_shot = \"<context>\\n{context}</context>\\nLook:\\n{examples}\\nNow:\\n{question}\"\n";
    bench.write("r.toml", &format!("{head}\n{own}"));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
    let all = seen(&release);
    assert_eq!(all.len(), 2 * 2 * 2 * 2);
    let think = |german: bool| match german {
        true => "Denke Schritt f\u{fc}r Schritt nach und gib dann die Antwort.\nFrage: ",
        false => "Think step by step, then give the answer.\nQuestion: ",
    };
    for row in &all {
        let (head, _, tail) = parts(&row.prompt);
        let german = row.language == "de";
        if row.strategy == 0 {
            let translate = "\u{dc}bersetze zuerst den Kontext ins Englische und antworte dann auf Englisch.\n";
            assert_eq!(head, format!("Hi {{\"a\": 1}} {{A}}\n{}<context>\n", if german { translate } else { "" }));
            let start = format!("</context>\n{}{}\n", think(german), row.question);
            assert!(tail.starts_with(&start) && tail.ends_with(" !\n") && tail.contains("\"reasoning\""), "{tail:?}");
        } else {
            assert_eq!(head, "<context>\n");
            let question = think(german).split_once('\n').unwrap().1;
            assert!(tail.starts_with("</context>\nLook:\n"), "{tail:?}");
            assert!(tail.ends_with(&format!("</example>\nNow:\n{question}{}", row.question)), "{tail:?}");
            assert_eq!(worked(tail).len(), 1);
        }
    }
}

#[test]
fn templates_that_cannot_work_are_refused() {
    let bench = Bench::new();
    let context = "<context>\\n{context}</context>\\n";
    let refused = |prompt: &str, said: &[&str]| {
        let recipe = "[release]\nname = \"own\"\nversion = \"1.0.0\"\nseed = 5\n\n[grid]\nlanguages = [\"en\"]\n";
        bench.write("r.toml", &format!("{recipe}\n[prompt]\n{prompt}\n"));
        bench.run(&["recipe", "r.toml", "--dry-run"]).failure(2, said);
    };
    let zero = |template: &str, said: &str| {
        let key = "prompt.templates.zero_shot";
        refused(&format!("templates.zero_shot = \"{template}\""), &[key, said]);
    };
    zero(&format!("{{foo}}{context}{{question}}"), "unknown placeholder {foo}");
    zero("{instruction}\\n{question}\\n{json}", "the context must stand as");
    zero("<context>{context}</context>\\n{question}", "the context must stand as");
    zero(&format!("{context}{{question}}\\n{context}{{question}}"), "stands there twice");
    zero(&format!("<context>\\n</context>\\n{context}{{question}}"), "the tags of the context stand there twice");
    zero(&format!("{context}{{question}}\\n{{json}}\\n{{json}}"), "{json} stands there twice");
    zero(&format!("{context}Please: {{question}}"), "on a line of its own");
    zero(&format!("{{question}}\\n{context}"), "on a line of its own");
    zero(context, "on a line of its own");
    zero(&format!("{context}{{examples}}\\n{{question}}"), "{examples} belongs to few_shot alone");
    let few = |template: &str| {
        let template = format!("strategies = [\"few_shot\"]\ntemplates.few_shot = \"{template}\"");
        let said = "{examples} must stand between context and question, on a line of its own";
        refused(&template, &["prompt.templates.few_shot", said]);
    };
    few(&format!("{context}{{question}}\\n{{examples}}"));
    few(&format!("{{examples}}\\n{context}{{question}}"));
    few(&format!("{context}See {{examples}}\\n{{question}}"));
    few(&format!("{context}{{question}}"));
    refused(
        &format!("templates.few_shot = \"{context}{{examples}}\\n{{question}}\""),
        &["prompt.templates.few_shot does nothing", "does not name few_shot"],
    );
    refused("templates.four_shot = \"x\"", &["four_shot", "few_shot"]);
    refused("strategies = [\"four_shot\"]", &["four_shot", "chain_of_thought"]);
    refused("strategies = []", &["prompt.strategies is empty"]);
    refused("strategies = [\"zero_shot\", \"zero_shot\"]", &["prompt.strategies names", "twice"]);
    refused("examples = 2", &["prompt.examples does nothing", "few_shot"]);
    for n in [0, 17] {
        let said = format!("prompt.examples is {n}, expected 1 to 16");
        refused(&format!("strategies = [\"few_shot\"]\nexamples = {n}"), &[said.as_str()]);
    }
    refused(
        "strategies = [\"zero_shot\", \"translation\"]\n\n[budget]\nanswer = { zero_shot = 64 }",
        &["budget.answer has no number for the strategy translation"],
    );
}

#[test]
fn touched_strategies_are_found() {
    let bench = Bench::new();
    bench.write("r.toml", RECIPE);
    let some = ["recipe", "r.toml", "--limit", "9", "--languages", "en,zh", "--lengths", "2k"];
    let sound = Sound::new(bench.run(&some).success().release(&bench));
    // The rows of fewer instances, from a store of their own, are the same.
    let fewer = ["recipe", "r.toml", "--limit", "4", "--languages", "zh", "--lengths", "2k", "--out", "fewer"];
    let fewer = bench.run(&fewer).success().release(&bench);
    for path in data_files(&fewer) {
        assert_eq!(prompts(&fewer.join(&path))[..], prompts(&sound.release.join(&path))[..4], "{path}");
    }
    let file = |strategy: &str| format!("data/zh_2k_{strategy}/test-00000-of-00001.parquet");
    let few = file("few_shot");
    // Two examples in the other order: all of the prompt is still true.
    let swapped = |prompt: &str| {
        let (before, rest) = prompt.split_once("<example>\n").unwrap();
        let (first, rest) = rest.split_once("<example>\n").unwrap();
        let (second, behind) = rest.split_once("</example>").unwrap();
        let first = first.trim_end().trim_end_matches("</example>");
        format!("{before}<example>\n{second}</example>\n<example>\n{first}</example>{behind}")
    };
    sound.finds(&few, "the text around the context is not that of pack and task", |path| forge(path, 2, &swapped));
    // An example of another row.
    let report = sound.touched(&few, |path| {
        let all = prompts(path);
        let place = |prompt: &str| (prompt.find("<example>").unwrap(), prompt.rfind("</example>").unwrap());
        let (from, to) = place(&all[3].1);
        forge(path, 2, &|prompt| {
            let (start, end) = place(prompt);
            format!("{}{}{}", &prompt[..start], &all[3].1[from..to], &prompt[end..])
        });
    });
    assert!(report.findings.iter().any(|f| f.row.is_some() && f.file == few), "{:#?}", report.findings);
    let not_these = "the examples are not those that seed and similarity give";
    sound.finds(&few, not_these, |path| {
        change_list(path, "example_labels", 1, &|labels| labels.into_iter().rev().chain(["x".to_owned()]).collect())
    });
    sound.finds(&few, not_these, |path| {
        change_list(path, "example_labels", 1, &|mut labels| {
            labels[0].push('x');
            labels
        })
    });
    sound.finds(&few, not_these, |path| change_list(path, "examples", 1, &|ids| ids.into_iter().rev().collect()));
    // Two lines of a distractor change places under one strategy alone: the answer stays, the context is another.
    let turned = |path: &Path| {
        let (batch, _) = rows(path).remove(4);
        let spans = nihbuild::table::read_spans(&batch, 4);
        let prompt = text(&batch, "prompt", 4).to_owned();
        let mut at = parts(&prompt).0.len();
        let lines = parts(&prompt).1;
        let pair = lines.windows(2).find(|pair| {
            let (start, end) = (at, at + pair[0].len() + 1 + pair[1].len());
            at += pair[0].len() + 1;
            pair[0] != pair[1] && !spans.iter().any(|span| (start..end).contains(&(span.start as usize)))
        });
        let pair = pair.expect("two lines between needles");
        let (old, new) = (format!("{}\n{}\n", pair[0], pair[1]), format!("{}\n{}\n", pair[1], pair[0]));
        forge(path, 4, &|prompt| prompt.replacen(&old, &new, 1));
    };
    for strategy in ["zero_shot", "translation", "few_shot"] {
        // Either of two rows may be met first.
        found(&sound.touched(&file(strategy), turned), "data/zh_2k_", "which differs in strategy alone");
    }
}

#[test]
fn a_native_gold_under_translation_is_found() {
    let bench = Bench::new();
    let recipe = "[release]\nname = \"golds\"\nversion = \"1.0.0\"\nseed = 5\n\n[stories]\ntasks = { qa1 = 2, qa5 = 3, qa6 = 2 }\n\n\
                  [grid]\nlanguages = [\"en\", \"hi\"]\nlengths = [\"0k\"]\n\n[distractors]\npool = 20\n\n\
                  [prompt]\nstrategies = [\"zero_shot\", \"translation\"]\n";
    bench.write("r.toml", recipe);
    let sound = Sound::new(bench.run(&["recipe", "r.toml"]).success().release(&bench));
    let [native, file] = ["zero_shot", "translation"].map(|s| format!("data/hi_0k_{s}/test-00000-of-00001.parquet"));
    for (n, (batch, row)) in rows(&sound.release.join(&native)).into_iter().enumerate() {
        let gold = texts(&batch, "answers", row);
        sound.finds(&file, "the context's answer is", |path| change_list(path, "answers", n, &|_| gold.clone()));
    }
}
