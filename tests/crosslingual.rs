//! Story, haystack and question in languages of their own.

use crate::support::*;
use nihbuild::family::reasoning::{answers, question_of};
use nihbuild::language::{Kind, Language, Pack};
use nihbuild::plan::files;
use nihbuild::recipe::{Recipe, Variant};
use nihbuild::seed::Seed;
use nihbuild::stage::distractors;
use nihbuild::story::{Answer, AnswerSpread, Fact, Question, Solution, SourceTask, simulate, solve};
use nihbuild::table::{read_by_language, read_spans, text, texts};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn recipe(grid: &str) -> String {
    format!(
        "[release]\nname = \"mixed\"\nversion = \"1.0.0\"\nseed = 6\n\n[stories]\ntasks = {{ qa1 = 2, qa4 = 1, qa5 = 4, qa6 = 2, \
         qa7 = 1, qa8 = 2, qa10 = 1, qa11 = 2, qa19 = 1, qa20 = 2 }}\n\n[grid]\n{grid}\n\n[distractors]\npool = 600\n"
    )
}

/// Rows of [`recipe`] in each file.
const ROWS: usize = 18;

fn packs() -> BTreeMap<String, Pack> {
    Language::all().map(|language| (language.to_string(), language.pack().unwrap())).collect()
}

fn configs(release: &Path) -> Vec<String> {
    data_files(release).iter().map(|path| path.split('/').nth(1).unwrap().to_owned()).collect()
}

/// Checks each row of a release whose recipe lists these languages; the languages of story, haystack and question met.
fn check(release: &Path, listed: &[&str]) -> BTreeSet<(String, String, String)> {
    let packs = packs();
    let mut met = BTreeSet::new();
    for (batch, row) in data_files(release).iter().flat_map(|path| rows(&release.join(path))) {
        let get = |name: &str| text(&batch, name, row);
        let [story, haystack, question] = ["language", "haystack_language", "question_language"].map(get);
        met.insert((story.to_owned(), haystack.to_owned(), question.to_owned()));
        let spoken =
            if [haystack, question] == [story; 2] { story.to_owned() } else { [story, haystack, question].join(".") };
        assert_eq!(get("id"), format!("{}-{spoken}-{}-zero_shot-synthetic", get("instance_id"), get("length")));
        assert_eq!(get("needle_language"), story);
        assert_eq!(get("certificate"), "solved");
        let (told, hay) = (&packs[story], &packs[haystack]);
        let asker = packs[question].with_cast(told).unwrap();
        let (head, lines, tail) = parts(get("prompt"));
        let spans = read_spans(&batch, row);
        let mut at = head.len() as u64;
        let (mut facts, mut named, mut others) = (Vec::new(), BTreeSet::new(), Vec::new());
        for line in &lines {
            let is_needle = spans.iter().any(|span| (span.start, span.end) == (at, at + line.len() as u64));
            let pack = if is_needle { told } else { hay };
            let fact = Fact::of(pack.read(line).unwrap_or_else(|e| panic!("{}: {line:?}: {e}", get("id")))).unwrap();
            match is_needle {
                true => named.extend(persons(fact.message())),
                false => others.push(line.to_lowercase()),
            }
            facts.push(fact);
            at += line.len() as u64 + 1;
        }
        assert_eq!(lines.len() - others.len(), spans.len());
        assert_eq!(others.is_empty(), get("length") == "0k");
        // The question has the story's names.
        let asked = question_of(tail, &asker).expect("a question");
        assert_eq!(asker.sentence(asked.message()), get("question"));
        assert!(tail.contains(get("question")));
        for person in persons(asked.message()) {
            named.insert(person);
            let name = told.citation(Kind::Actor, person);
            assert!(get("question").contains(name), "{}: {:?} without {name}", get("id"), get("question"));
        }
        // No distractor names a person of the story, whatever language one reads it in.
        for pack in [told, hay] {
            let names: Vec<String> = named.iter().flat_map(|person| pack.forms_of(Kind::Actor, *person)).collect();
            let names: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
            let clash = others.iter().find(|line| distractors::holds(line, &names));
            assert_eq!(clash, None, "{}: {names:?}", get("id"));
        }
        let Solution::Unique { answer, support } = solve(asked, facts) else { panic!("{}: no answer", get("id")) };
        assert_eq!(support.len(), nihbuild::table::numbers(&batch, "supporting", row).len());
        golds(&packs, (told, &asker), answer, &texts(&batch, "answers", row), &texts(&batch, "answer_variants", row));
        let by_language = read_by_language(&batch, row);
        assert!(by_language.iter().map(|(language, _)| language.as_str()).eq(listed.iter().copied()));
        for (language, gold) in by_language {
            let own = answers(answer, &packs[&language]).0;
            let expected = match answer {
                Answer::Actor(n) if [haystack, question] != [story; 2] => {
                    vec![told.citation(Kind::Actor, n).to_owned()]
                }
                _ => own,
            };
            assert_eq!(gold, expected, "{} {language}", get("id"));
        }
    }
    met
}

/// The gold is in the question's language, persons keep the story's names; what the story's language says is accepted.
fn golds(packs: &BTreeMap<String, Pack>, voices: (&Pack, &Pack), answer: Answer, gold: &[String], variants: &[String]) {
    let (story, asker) = voices;
    let question = &packs[asker.code()];
    let expected = match answer {
        Answer::Actor(n) => vec![story.citation(Kind::Actor, n).to_owned()],
        _ => answers(answer, question).0,
    };
    assert_eq!(gold, expected);
    let mut accepted: Vec<String> = match answer {
        Answer::Actor(_) => Vec::new(),
        _ => answers(answer, question).1,
    };
    if story.code() != asker.code() {
        let (own, others) = answers(answer, story);
        accepted.extend(own.into_iter().chain(others));
    }
    for form in accepted {
        assert!(form == gold[0] || variants.contains(&form), "{form:?} for {gold:?} among {variants:?}");
    }
    assert!(variants.is_sorted() && !variants.contains(&gold[0]));
}

#[test]
fn story_haystack_and_question_speak_their_languages() {
    let bench = Bench::new();
    // Bruno is of German stories, and of Spanish distractors.
    let grid = "languages = [\"en\", \"de\", \"es\", \"zh\"]\nlengths = [\"0k\", \"2k\"]\nstory = [\"de\", \"zh\"]\n\
                haystack = [\"es\", \"de\"]\nquestion = \"en\"";
    bench.write("r.toml", &recipe(grid));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    let expected = ["de_en_0k", "zh_en_0k", "de_es_en_2k", "de_de_en_2k", "zh_es_en_2k", "zh_de_en_2k"];
    assert_eq!(configs(&release), expected);
    assert!(data_files(&release).iter().all(|path| rows(&release.join(path)).len() == ROWS));
    let met = check(&release, &["en", "de", "es", "zh"]);
    let expected = ["de.de.en", "zh.zh.en", "de.es.en", "zh.es.en", "zh.de.en"].map(|spoken| {
        let [story, haystack, question] = spoken.split('.').collect::<Vec<_>>()[..] else { panic!() };
        (story.to_owned(), haystack.to_owned(), question.to_owned())
    });
    assert_eq!(met, BTreeSet::from(expected));
    let sound = Sound::new(release.clone());
    let packs = packs();
    let pool = distractors::synthetic(&Seed::new("6"), Variant::Unconstrained, 600);
    let bruno = |m: &nihbuild::language::Message| packs["es"].sentence(*m).contains("Bruno");
    assert!(pool.iter().any(|passage| passage.sentences.iter().any(bruno)), "the pool has what must be left out");
    // The same stories and passages, whoever speaks.
    let ids = |config: &str| -> Vec<Vec<String>> {
        let path = release.join(format!("data/{config}/test-00000-of-00001.parquet"));
        rows(&path).iter().map(|(batch, row)| texts(batch, "distractor_ids", *row)).collect()
    };
    for (a, b) in ids("de_es_en_2k").iter().zip(ids("zh_es_en_2k")) {
        let [a, b]: [BTreeSet<&String>; 2] = [a.iter().collect(), b.iter().collect()];
        assert!(a.is_subset(&b) || b.is_subset(&a));
    }
    // Parts of the grid.
    let part = bench.run(&["recipe", "r.toml", "--languages", "en,de,es"]).success().release(&bench);
    assert_eq!(configs(&part), ["de_en_0k", "de_es_en_2k", "de_de_en_2k"]);
    touched(&sound, &packs);
}

/// What is in another language than its row says is found.
fn touched(sound: &Sound, packs: &BTreeMap<String, Pack>) {
    let file = "data/de_es_en_2k/test-00000-of-00001.parquet";
    for (column, value, what) in [
        ("haystack_language", "de", "haystack_language is \"de\", expected \"es\""),
        ("question_language", "de", "question_language is \"de\", expected \"en\""),
        ("needle_language", "es", "needle_language is \"es\", expected \"de\""),
        ("language", "zh", "the row belongs into another file"),
    ] {
        sound.finds(file, what, |path| change(path, column, 1, &|_| value.to_owned()));
    }
    // A distractor in the story's language.
    sound.finds(file, "", |path| {
        let prompt = prompts(path).remove(1).1;
        let line = parts(&prompt).1.into_iter().find(|line| packs["es"].read(line).is_ok()).unwrap().to_owned();
        let told = packs["de"].sentence(packs["es"].read(&line).unwrap());
        forge(path, 1, &|prompt| prompt.replacen(&format!("{line}\n"), &format!("{told}\n"), 1));
    });
    // What the story's language says is no gold.
    sound.finds(file, "the context's answer is", |path| {
        change_list(path, "answers", 1, &|gold| gold.iter().map(|gold| format!("{gold}o")).collect());
    });
    sound.finds(file, "answer_variants are not those", |path| {
        change_list(path, "answer_variants", 1, &|variants| variants.into_iter().skip(1).collect());
    });
}

#[test]
fn the_question_may_follow_the_haystack() {
    let bench = Bench::new();
    let grid = "languages = [\"en\", \"hi\", \"ar\"]\nlengths = [\"0k\", \"2k\"]\nhaystack = [\"hi\", \"en\", \"ar\"]\n\
                question = \"haystack\"\npairs = [\"en-hi\", \"ar-en\", \"ar-ar\"]";
    bench.write("r.toml", &recipe(grid));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    assert_eq!(configs(&release), ["en_0k", "hi_0k", "ar_0k", "en_hi_hi_2k", "ar_en_en_2k", "ar_2k"]);
    check(&release, &["en", "hi", "ar"]);
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
}

#[test]
fn pairs_leave_what_they_name() {
    let planned = |more: &str| {
        let grid = "languages = [\"en\", \"de\", \"zh\"]\nlengths = [\"2k\"]\nhaystack = [\"zh\", \"en\"]\n";
        let recipe = Recipe::parse("r", &recipe(&format!("{grid}{more}"))).unwrap();
        files(&recipe).into_iter().map(|file| file.config).collect::<Vec<String>>()
    };
    assert_eq!(planned(""), ["en_zh_en_2k", "en_2k", "de_zh_de_2k", "de_en_de_2k", "zh_2k", "zh_en_zh_2k"]);
    assert_eq!(planned("pairs = \"all\"\nquestion = \"story\""), planned(""));
    assert_eq!(planned("pairs = \"monolingual\""), ["en_2k", "zh_2k"]);
    assert_eq!(planned("pairs = \"needle-varies\""), ["en_2k", "de_en_de_2k", "zh_en_zh_2k"]);
    assert_eq!(planned("pairs = \"haystack-varies\""), ["en_zh_en_2k", "en_2k"]);
    assert_eq!(planned("pairs = [\"de-zh\"]\nquestion = \"haystack\""), ["de_zh_zh_2k"]);
    assert_eq!(planned("story = [\"zh\"]\npairs = [\"zh-en\"]\nquestion = \"de\""), ["zh_en_de_2k"]);
}

#[test]
fn languages_that_make_no_sense_are_refused() {
    let bench = Bench::new();
    let refused = |grid: &str, said: &[&str]| {
        bench.write("r.toml", &recipe(&format!("languages = [\"en\", \"de\"]\nlengths = [\"0k\", \"2k\"]\n{grid}")));
        bench.run(&["recipe", "r.toml", "--dry-run"]).failure(2, said);
    };
    refused("haystack = [\"en\", \"multilingual\"]", &["grid.haystack names multilingual, which is MLNeedle's alone"]);
    for (key, value) in [("story", "[\"zh\"]"), ("haystack", "[\"en\", \"zh\"]"), ("question", "\"zh\"")] {
        let said = format!("grid.{key} names zh, which grid.languages does not");
        refused(&format!("{key} = {value}"), &[&said, "add it to grid.languages"]);
    }
    refused("story = [\"xx\"]", &["unknown language `xx`"]);
    refused("story = [\"en\", \"en\"]", &["grid.story names en twice"]);
    refused("haystack = [\"en\", \"en\"]", &["grid.haystack names en twice"]);
    refused("pairs = \"monolingual\"", &["grid.pairs does nothing", "without grid.haystack"]);
    refused("story = [\"de\"]\nhaystack = [\"en\"]\npairs = \"monolingual\"", &["grid.pairs leaves no pair"]);
    refused("haystack = [\"en\"]\npairs = \"some\"", &["`some` is not known", "haystack-varies"]);
    refused("haystack = [\"en\"]\npairs = [\"en\"]", &["`en` is no pair"]);
    refused("needle = [\"en\"]", &["grid.needle does nothing"]);
}

#[test]
fn a_part_without_files_is_refused() {
    let bench = Bench::new();
    let grid = "languages = [\"en\", \"de\"]\nlengths = [\"0k\"]\nstory = [\"de\"]\nquestion = \"en\"";
    bench.write("r.toml", &recipe(grid));
    bench.run(&["recipe", "r.toml", "--languages", "de"]).failure(2, &["--languages"]);
}

#[test]
fn pairs_and_lists_that_do_nothing_are_refused() {
    let bench = Bench::new();
    for grid in [
        "haystack = [\"en\"]\npairs = [\"de-en\", \"en-de\"]",
        "haystack = [\"en\"]\npairs = [\"de-en\", \"zh-en\"]",
        "haystack = [\"en\"]\npairs = [\"de-en\", \"de-multilingual\"]",
        "haystack = [\"en\"]\npairs = [\"de-en\", \"de-en\"]",
        "story = []",
        "haystack = []",
    ] {
        bench.write("r.toml", &recipe(&format!("languages = [\"en\", \"de\"]\nlengths = [\"0k\"]\n{grid}")));
        bench.run(&["recipe", "r.toml", "--dry-run"]).failure(2, &["grid."]);
    }
}

#[test]
fn every_language_asks_about_stories_of_every_other() {
    let packs = packs();
    let stories: Vec<_> = SourceTask::all()
        .flat_map(|task| {
            (0..12).filter_map(move |n| simulate(task, n, AnswerSpread::Balanced, &Seed::new("2"), |_| true))
        })
        .collect();
    for question in packs.values() {
        for story in packs.values().filter(|story| story.code() != question.code()) {
            let asker = question.with_cast(story).unwrap();
            assert_ne!(asker.digest(), question.digest());
            for told in &stories {
                let message = told.question.message();
                let sentence = asker.sentence(message);
                let read = asker.read(&sentence).ok().and_then(Question::of);
                assert_eq!(read, Some(told.question), "{} of {}: {sentence:?}", question.code(), story.code());
            }
        }
    }
}

#[test]
fn few_passages_are_lost_to_names_of_other_languages() {
    let packs = packs();
    let pool = distractors::synthetic(&Seed::new("1"), Variant::Unconstrained, 1000);
    for hay in packs.values() {
        let texts: Vec<String> =
            pool.iter().map(|passage| passage.sentences.iter().map(|m| hay.sentence(*m) + "\n").collect()).collect();
        for story in packs.values().filter(|story| story.code() != hay.code()) {
            let names: Vec<String> = distractors::story_actors()
                .flat_map(|actor| story.forms_of(Kind::Actor, actor))
                .map(|name| name.to_lowercase())
                .collect();
            let lost = texts.iter().filter(|text| distractors::holds(text, &names)).count();
            assert!(lost < 150, "{} stories lose {lost} of 1000 passages in {}", story.code(), hay.code());
        }
    }
}

#[test]
fn noise_names_nobody_of_a_story_in_another_language() {
    let packs = packs();
    let names: Vec<String> = distractors::story_actors()
        .flat_map(|actor| packs["en"].forms_of(Kind::Actor, actor))
        .map(|name| name.to_lowercase())
        .collect();
    // Some passages of the pool do: else the rows would show nothing.
    let pool = distractors::noise(&Seed::new("6"), &packs["de"], 6000, false);
    assert!(pool.iter().any(|text| distractors::holds(text, &names)));
    let bench = Bench::new();
    let grid = "languages = [\"en\", \"de\"]\nlengths = [\"32k\"]\nstory = [\"en\"]\nhaystack = [\"de\"]";
    bench.write("r.toml", &recipe(grid).replace("pool = 600", "pool = 6000\nkind = \"noise\""));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    let mut others = 0;
    for (batch, row) in data_files(&release).iter().flat_map(|path| rows(&release.join(path))) {
        let (head, lines, _) = parts(text(&batch, "prompt", row));
        let spans = read_spans(&batch, row);
        let mut at = head.len() as u64;
        for line in &lines {
            if !spans.iter().any(|span| span.start == at) {
                assert!(!distractors::holds(line, &names), "{line:?}");
                others += 1;
            }
            at += line.len() as u64 + 1;
        }
    }
    assert!(others > 1000, "{others}");
}

#[test]
fn examples_and_translations_follow_story_and_question() {
    let bench = Bench::new();
    let grid = "languages = [\"en\", \"de\", \"hi\"]\nlengths = [\"2k\"]\nstory = [\"hi\"]\nhaystack = [\"en\"]\nquestion = \"de\"";
    let more = "\n[prompt]\nstrategies = [\"few_shot\", \"translation\"]\ninstruction_language = \"question\"\n";
    bench.write("r.toml", &(recipe(grid) + more));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    assert_eq!(configs(&release), ["hi_en_de_2k_few_shot", "hi_en_de_2k_translation"]);
    bench.run(&["verify", "--full", release.to_str().unwrap()]).success();
    let packs = packs();
    let (told, hay) = (&packs["hi"], &packs["en"]);
    let asker = packs["de"].with_cast(told).unwrap();
    let [few, translated] = ["few_shot", "translation"]
        .map(|name| rows(&release.join(format!("data/hi_en_de_2k_{name}/test-00000-of-00001.parquet"))));
    assert_eq!((few.len(), translated.len()), (ROWS, ROWS));
    for ((few, row), (translated, other)) in few.iter().zip(&translated) {
        let (prompt, id) = (text(few, "prompt", *row), text(few, "id", *row));
        let (head, lines, tail) = parts(prompt);
        assert_eq!(lines, parts(text(translated, "prompt", *other)).1, "{id}");
        // Told what to do in German.
        assert!(head.contains("Aussagen") && tail.contains("Antworte mit JSON"), "{id}");
        let persons_of = |pack: &Pack, line: &str| pack.read(line).map(persons).unwrap_or_default();
        let asked = question_of(tail, &asker).unwrap();
        let of_story = || lines.iter().flat_map(|line| persons_of(told, line)).chain(persons(asked.message()));
        let named: BTreeSet<u8> = of_story().collect();
        let english: BTreeSet<&str> =
            lines.iter().flat_map(|line| persons_of(hay, line)).map(|n| hay.citation(Kind::Actor, n)).collect();
        let shown: Vec<&str> = tail.split("<example>\n").skip(1).collect();
        assert_eq!(shown.len(), 2, "{id}");
        for (n, example) in shown.into_iter().enumerate() {
            let lines: Vec<&str> = example.split_once("\n</example>").unwrap().0.lines().collect();
            let (facts, [question, printed]) = lines.split_at(lines.len() - 2) else { panic!("{example:?}") };
            let question = question_of(&format!("</context>\n{question}"), &asker).unwrap();
            let facts: Vec<Fact> = facts.iter().map(|line| Fact::of(told.read(line).unwrap()).unwrap()).collect();
            for person in facts.iter().flat_map(|fact| persons(fact.message())).chain(persons(question.message())) {
                assert!(!named.contains(&person) && !english.contains(told.citation(Kind::Actor, person)), "{id}");
            }
            let Solution::Unique { answer, .. } = solve(question, facts) else { panic!("{id}") };
            let gold = match answer {
                Answer::Actor(n) => told.citation(Kind::Actor, n).to_owned(),
                _ => answers(answer, &packs["de"]).0.remove(0),
            };
            let json: serde_json::Value = serde_json::from_str(printed).unwrap();
            assert_eq!((json["answer"].as_str(), &texts(few, "example_labels", *row)[n]), (Some(gold.as_str()), &gold));
        }
        let needles = read_spans(few, *row);
        let facts = needles.iter().map(|span| &prompt[span.start as usize..span.end as usize]);
        let facts: Vec<Fact> = facts.map(|line| Fact::of(told.read(line).unwrap()).unwrap()).collect();
        let Solution::Unique { answer, .. } = solve(asked, facts) else { panic!("{id}") };
        let (gold, variants) = (texts(translated, "answers", *other), texts(translated, "answer_variants", *other));
        match answer {
            Answer::Actor(n) => {
                assert_eq!(gold, told.latin(n)[..1]);
                assert!(variants.contains(&told.citation(Kind::Actor, n).to_owned()), "{variants:?}");
            }
            _ => assert_eq!((gold, variants), answers(answer, &packs["en"]), "{id}"),
        }
    }
}
