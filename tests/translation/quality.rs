//! What is wrong with translations is found, counted and kept out of every row.

use super::service::{Ask, Service, each_word, mirror, speak, unmirror};
use super::*;
use nihbuild::language::{Kind, Language, Message, PATTERNS, Pack, Slot, pattern};
use std::collections::BTreeMap;

/// A service that says some English texts otherwise.
fn otherwise(text: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Service {
    Service::by_text(move |ask, _| (ask.from == "en").then(|| text(&ask.text)).flatten().unwrap_or_else(|| speak(ask)))
}

fn draft<'a>(service: &Service, tasks: &'a str) -> Draft<'a> {
    Draft { tasks, lengths: &["0k", "2k"], pool: 150, service: service.keys("libretranslate"), ..Draft::default() }
}

/// Lines of contexts, in all languages.
fn told(release: &Path) -> String {
    let configs = ["en_0k", "en_2k", "xx_0k", "xx_2k"];
    let all = configs.iter().flat_map(|config| rows(release, config));
    all.flat_map(|row| row.lines().into_iter().map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>().join("\n")
}

#[test]
fn two_events_with_one_translation_are_not_both_told() {
    let bench = Bench::new();
    // The service forgets which of two rooms is north of which.
    let service = otherwise(|text| {
        let same = text == "The bedroom is north of the garden." || text == "The garden is north of the bedroom.";
        same.then(|| "moordebu htronu nedragu.".to_owned())
    });
    let release = build(&bench, &draft(&service, "qa4 = 10, qa19 = 2"), &[]);
    verified(&bench, &release);
    let facts = facts(&release);
    assert_eq!(facts.dropped, [("told like another".to_owned(), 1)].into());
    assert_eq!((facts.asked_again, facts.alike), (2, 0));
    assert!(card(&release).contains("; 1 dropped (told like another)"));
    let asked = service.sent_to("xx");
    assert_eq!(asked["The bedroom is north of the garden."], 1);
    assert_eq!(asked["The garden is north of the bedroom."], 3);
    assert!(!told(&release).contains("The garden is north of the bedroom."));
}

#[test]
fn verbs_of_one_event_may_be_told_alike() {
    let bench = Bench::new();
    let alike =
        |text: &str| text.replace(" moved ", " went ").replace(" journeyed ", " went ").replace(" grabbed ", " got ");
    let service = otherwise(move |text| Some(mirror(&alike(text))));
    let tasks = "qa1 = 4, qa2 = 4, qa3 = 2, qa8 = 2, qa12 = 4, qa13 = 4, qa14 = 4";
    let release = build(&bench, &draft(&service, tasks), &[]);
    verified(&bench, &release);
    let facts = facts(&release);
    assert!(facts.alike > 100 && facts.dropped.is_empty() && facts.asked_again == 0, "{facts:?}");
    assert!(card(&release).contains(&format!("; {} sentences are told like one with another verb", facts.alike)));
    // Both verbs stand in English; here they are one, and every prompt is proven all the same.
    let told = told(&release);
    assert!(told.contains(" moved to ") && told.contains(" went to ") && !told.contains("devomu"));
    assert!(rows(&release, "xx_2k").iter().all(|row| row.certificate == "solved"));
}

#[test]
fn faults_have_names() {
    let bench = Bench::new();
    let service = otherwise(|text| {
        let right = mirror(text);
        Some(match text {
            // As it was, or in part.
            "[[F1]] travelled to the kitchen." => text.to_owned(),
            "[[M1]] went back to the bedroom." => "[[M1]] went back otu ehtu moordebu.".to_owned(),
            "[[F1]] went back to the garden." => "[[F1]] came back from garden work to nedragu.".to_owned(),
            "[[M1]] went to the office." => right.replace("eciffou", "erehtu"),
            "[[M1]] went to the kitchen." => right.replace('.', "?"),
            "[[F1]] went to the bathroom." => right.replace('.', ""),
            "[[F1]] went to the hallway." => format!("{} {}", right.repeat(8).replace("[[F1]]", ""), "[[F1]]."),
            "[[F1]] moved to the park." => right.replace('.', " (ofu {P})."),
            "[[M1]] moved to the park." => right.replace('.', ".."),
            _ => right,
        })
    });
    let release = build(&bench, &draft(&service, "qa1 = 20"), &[]);
    verified(&bench, &release);
    let facts = facts(&release);
    let expected = [
        ("leftover", 2),
        ("the answer's word is not in it", 1),
        ("final_mark", 2),
        ("length", 1),
        ("brackets", 1),
        ("debris", 1),
    ];
    let expected: BTreeMap<String, u64> = expected.into_iter().map(|(reason, n)| (reason.to_owned(), n)).collect();
    assert_eq!(facts.dropped, expected);
    let told = told(&release);
    for lost in [
        "travelled to the kitchen.",
        "went back to the bedroom.",
        "went to the office.",
        "went to the kitchen.",
        "went to the bathroom.",
        "went to the hallway.",
        "moved to the park.",
    ] {
        assert!(!told.contains(lost), "{lost}");
    }
    assert!(told.contains("went back to the garden."));
}

#[test]
fn what_comes_back_as_something_else_is_dropped() {
    let bench = Bench::new();
    let far = |ask: &Ask| ask.from == "xx" && ask.text.starts_with("[[F1]] tnewu otu ehtu");
    let strange = move |ask: &Ask, _: usize| if far(ask) { "qqq zzz".to_owned() } else { speak(ask) };
    let service = Service::by_text(strange);
    let with = |translation| Draft { translation, ..draft(&service, "qa1 = 12") };
    // Nobody minds.
    let lax = build(&bench, &with(""), &["--out", "lax"]);
    assert!(facts(&lax).dropped.is_empty());
    assert!(told(&lax).contains(" went to the "));

    let strict = build(&bench, &with("least_similarity = 500\nattempts = 2\n"), &["--out", "strict"]);
    verified(&bench, &strict);
    let reason = "far from the source, translated back";
    assert_eq!(facts(&strict).dropped.keys().collect::<Vec<_>>(), [reason]);
    let n = facts(&strict).dropped[reason];
    assert_eq!(facts(&strict).asked_again, n);
    assert!(n >= 5 && card(&strict).contains(&format!("; {n} dropped ({reason})")));
    assert!(!told(&strict).contains(" went to the "));
    assert_eq!(rows(&strict, "en_0k").len(), 12);
}

#[test]
fn similarities_stand_in_manifest_and_card() {
    let bench = Bench::new();
    // Instructions backwards; all else almost as it was.
    let like = |ask: &Ask| match ask.from.as_str() {
        "en" if ask.text.len() > 60 => mirror(&ask.text),
        "en" => each_word(&ask.text, |word| word.to_owned() + "x"),
        _ => each_word(&ask.text, |word| word.strip_suffix('x').map_or_else(|| unmirror(word), str::to_owned)),
    };
    let service = Service::by_text(move |ask, _| like(ask));
    let release = build(&bench, &draft(&service, "qa4 = 2"), &[]);
    let facts = facts(&release);
    let parts: Vec<&str> = facts.similarity.keys().map(String::as_str).collect();
    assert_eq!(parts, ["answers", "instructions", "passages", "questions"]);
    assert_eq!(facts.texts.keys().collect::<Vec<_>>(), facts.similarity.keys().collect::<Vec<_>>());
    let card = card(&release);
    let decimals = |n: u32| format!("{}.{:03}", n / 1000, n % 1000);
    for (part, (there, back)) in &facts.similarity {
        let back = back.unwrap();
        assert!(*there <= 1000 && back <= 1000);
        let row = format!("| xx | {part} | {} | {} | {} |", facts.texts[part], decimals(*there), decimals(back));
        assert!(card.contains(&row), "{row} in {card}");
    }
    let of = |part: &str| facts.similarity[part];
    // What is like its source is said to be; what is backwards is not, but comes home.
    assert!(of("instructions").0 < of("questions").0 && of("instructions").0 < of("passages").0, "{facts:?}");
    assert!(of("instructions").1.unwrap() > 900 && of("passages").1.unwrap() > 990, "{facts:?}");
}

/// A message's persons as tokens, in a language.
fn tokens(pack: &Pack, message: Message) -> String {
    let person = pack.citation(Kind::Actor, message.slots[Slot::A.index()]);
    pack.sentence(message).replace(person, if message.slots[Slot::A.index()] == 1 { "[[F1]]" } else { "[[M1]]" })
}

#[test]
fn a_pack_is_a_yardstick_and_loses_nothing_by_it() {
    let bench = Bench::new();
    let pack = |code: &str| code.parse::<Language>().unwrap().pack().unwrap();
    let (english, german) = (pack("en"), pack("de"));
    // The service knows words, and who went where, as well as the pack does.
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for place in 0..Kind::Place.count() as u8 {
        known.insert(english.citation(Kind::Place, place).to_owned(), german.citation(Kind::Place, place).to_owned());
        for verb in 0..PATTERNS[pattern("facts", "move") as usize].of {
            for person in 0..2 {
                let mut message = Message { pattern: pattern("facts", "move") + verb, slots: [0; 5] };
                (message.slots[Slot::A.index()], message.slots[Slot::P.index()]) = (person, place);
                known.insert(tokens(&english, message), tokens(&german, message));
            }
        }
    }
    let table = known.clone();
    let service = otherwise(move |text| table.get(text).cloned());
    let more = "[translation.languages.de]\n";
    let compared = Draft { languages: &["en", "de"], more, ..draft(&service, "qa1 = 4") };
    let release = build(&bench, &compared, &[]);
    verified(&bench, &release);
    let facts = &manifest(&release).translations["de"];
    let (same, of, near) = facts.compared.unwrap();
    let asked =
        service.sent_to("de").into_keys().filter(|text| text.contains("[[") && known.contains_key(text)).count();
    assert_eq!(same, asked as u64);
    assert!(of > same && near < 1000, "{facts:?}");
    assert_eq!(of, facts.texts["passages"] + facts.texts["questions"]);
    let said = format!("; beside the language pack: {same} of {of} sentences are the same, similarity 0.{near:03}");
    assert!(card(&release).contains(&said), "{}", card(&release));
    // Its other sentences are poor ones, and many were dropped: the rows are those of the pack.
    assert!(!facts.dropped.is_empty());
    let text = compared.text();
    let plain = &text[..text.find("[translation]").unwrap()];
    bench.write("plain.toml", plain);
    let alone = bench.run(&["recipe", "plain.toml", "--out", "alone"]).success().release(&bench);
    assert_eq!(manifest(&alone).rows_digest, manifest(&release).rows_digest);
    assert_eq!(
        std::fs::read(release.join("packs/de.toml")).unwrap(),
        std::fs::read(alone.join("packs/de.toml")).unwrap()
    );
}

#[test]
fn no_answer_is_empty() {
    let bench = Bench::new();
    let service = otherwise(|text| (text == "kitchen").then(String::new));
    bench.write("r.toml", &draft(&service, "qa1 = 20").text());
    run(&bench, &["recipe", "r.toml"]).failure(2, &["no story of qa1 can be told", "dropped what it needs in xx"]);
    assert!(!bench.path("build/mt/1.0.0").exists());
}

#[test]
fn yes_is_not_no() {
    let bench = Bench::new();
    let service = otherwise(|text| (text == "no").then(|| mirror("yes")));
    bench.write("r.toml", &draft(&service, "qa6 = 4").text());
    run(&bench, &["recipe", "r.toml"]).failure(2, &["answers.no", "language xx"]);
}

#[test]
fn a_word_has_no_full_stop() {
    let bench = Bench::new();
    let service = otherwise(|text| (text == "kitchen").then(|| "nehctiku.".to_owned()));
    let release = build(&bench, &draft(&service, "qa1 = 20"), &[]);
    assert!(rows(&release, "xx_0k").iter().all(|row| row.answers.iter().all(|answer| !answer.ends_with('.'))));
}

#[test]
fn unusual_spaces_and_joiners_end_no_build() {
    // French puts a no-break space before a question mark; Persian and Indic languages need joiners.
    for (found, put) in [("u?", "u\u{a0}?"), ("ehtu", "e\u{200c}htu"), ("otu", "o\u{200d}tu")] {
        let bench = Bench::new();
        let service = otherwise(move |text| Some(mirror(text).replace(found, put)));
        let release = build(&bench, &draft(&service, "qa1 = 2"), &[]);
        verified(&bench, &release);
    }
}

#[test]
fn a_sentence_is_one_line() {
    let bench = Bench::new();
    let service = otherwise(|text| {
        let broken = text.starts_with("[[F1]] went to the ");
        broken.then(|| mirror(text).replacen(' ', "\n", 1))
    });
    let release = build(&bench, &draft(&service, "qa1 = 6"), &[]);
    verified(&bench, &release);
}

#[test]
fn a_service_that_translates_nothing_is_told_so() {
    let bench = Bench::new();
    let service = otherwise(|text| Some(text.to_owned()));
    bench.write("r.toml", &draft(&service, "qa1 = 2").text());
    let failed = run(&bench, &["recipe", "r.toml"])
        .failure(2, &["language xx", "none of its sentences passed the checks", "journal"]);
    assert!(!failed.err.contains("missing key"), "{}", failed.err);
}
