//! Answers in passages: found wherever a reader would find them, and nowhere inside other words. And near-duplicates.

use crate::support::real_data;
use nihbuild::language::{Finder, Language, Pack, Pattern, Rules, normalize};
use nihbuild::stage::duplicates::{Near, Shingles};
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;

fn rules(code: &str) -> Rules {
    code.parse::<Language>().unwrap().pack().unwrap().matching().clone()
}

/// Is an answer of one language found in a text of another?
fn across(language: &str, answer: &str, of_text: &str, text: &str) -> bool {
    let finder = Finder::new(&[Pattern::new(answer, &rules(language), None)]).unwrap();
    !finder.find(&normalize(text), &rules(of_text)).is_empty()
}

#[track_caller]
fn found(language: &str, answer: &str, texts: &[&str]) {
    for text in texts {
        assert!(across(language, answer, language, text), "{language}: {answer:?} is in {text:?}");
    }
}

#[track_caller]
fn missing(language: &str, answer: &str, texts: &[&str]) {
    for text in texts {
        assert!(!across(language, answer, language, text), "{language}: {answer:?} is not in {text:?}");
    }
}

#[test]
fn english() {
    found(
        "en",
        "art",
        &["Modern art.", "the ART of war", "art's end", "(art)", "the arts", "art-house", "art\u{a0}work", "a\u{ad}rt"],
    );
    missing("en", "art", &["a party", "artist", "smart", "heart", "article", "ar t"]);
    found("en", "the Eiffel Tower", &["An Eiffel Tower replica", "Eiffel\n  Tower", "Two Eiffel Towers"]);
    found("en", "\"city.\"", &["many cities", "city-state"]);
    found("en", "the", &["over the hill"]);
    found("en", "U.S.", &["in the U.S. Army"]);
    found("en", "C++", &["a C++ compiler", "C++."]);
    missing("en", "C++", &["vitamin C"]);
    found("en", "40\u{2013}50 km", &["some 40-50 km away", "\u{201c}40\u{2014}50\u{a0}km\u{201d}"]);
    found("en", "?!", &["what?!"]);
    missing("en", "", &["", "anything"]);
    missing("en", " \u{200b} ", &["", "any thing"]);
}

#[test]
fn german() {
    found("de", "Hund", &["des Hundes", "die Hunde", "den Hunden", "Hunds-"]);
    missing("de", "Hund", &["Hundert", "Schäferhund", "Hundehütte"]);
    found("de", "die Straße", &["der STRASSE", "viele Straßen", "Strasse", "GRO\u{1e9e}E STRA\u{1e9e}E"]);
    found("de", "Einstein", &["Einsteins Theorie"]);
    found("de", "das Museum", &["in den Museen", "des Museums"]);
    found("de", "Herz", &["des Herzens"]);
    found("de", "deutsch", &["die deutschen", "deutscher", "deutschem", "deutsche"]);
    found("de", "neue Brücke", &["Neue Bru\u{308}cken"]);
    missing("de", "Brücke", &["Brucke", "Brückenkopf", "Zugbrücke"]);
    missing("de", "Art", &["Partei", "Artikel", "Start"]);
    assert!(across("en", "Einstein", "de", "Einsteins Theorie"), "a name takes the genitive of the text's language");
    assert!(!across("en", "art", "de", "viele Arten"), "a foreign word takes no German plural");
}

#[test]
fn spanish() {
    found("es", "el perro", &["los perros", "un perro.", "al perro", "¿Perro?", "«perro»"]);
    found("es", "la nación", &["las naciones", "LA NACIÓN", "nacio\u{301}n"]);
    found("es", "El Cairo", &["al Cairo"]);
    found("es", "luz", &["las luces"]);
    found("es", "francés", &["los franceses"]);
    missing("es", "sol", &["solo", "girasol", "soldado"]);
    missing("es", "año", &["ano", "extraño"]);
}

#[test]
fn chinese() {
    found("zh", "北京", &["他在北京市", "北 京", "北\u{200b}京"]);
    found("zh", "1990年", &["於1990 年", "１９９０年", "始于1990年。"]);
    missing("zh", "1990年", &["21990年"]);
    found("zh", "Python", &["使用Python语言", "用 python 写", "ＰＹＴＨＯＮ语言"]);
    missing("zh", "art", &["party派对"]);
    found("zh", "乔治·华盛顿", &["乔治・华盛顿", "乔治•华盛顿是"]);
    found("zh", "《红楼梦》", &["小说红楼梦", "「红楼梦」"]);
    missing("zh", "北京", &["北方的京城"]);
}

#[test]
fn vietnamese() {
    found("vi", "hoa", &["Hoa hồng", "bông hoa."]);
    missing("vi", "hoa", &["hoà bình", "hoan hô", "hóa", "khoa"]);
    found("vi", "hòa bình", &["hoà bình", "HÒA BÌNH", "hoa\u{300} bi\u{300}nh"]);
    missing("vi", "hòa", &["hòan", "hoàn"]);
    found("vi", "Việt Nam", &["vie\u{323}\u{302}t nam", "(VIỆT NAM)"]);
    missing("vi", "an", &["ăn", "lan", "anh"]);
}

#[test]
fn hindi() {
    found("hi", "लड़का", &["लड़के ने", "लड़कों को", "एक लड\u{93c}का", "लडका।"]);
    missing("hi", "लड़का", &["लड़कपन"]);
    found("hi", "घर", &["घरों में", "घर।"]);
    missing("hi", "घर", &["घराना", "अजायबघर", "घरेलू"]);
    found("hi", "किताब", &["किताबें", "किताबों"]);
    found("hi", "भाषा", &["भाषाएँ", "भाषाओं", "भाषाएं", "भाषायें"]);
    found("hi", "नदी", &["नदियाँ", "नदियों", "नदियां"]);
    found("hi", "हिन्दी", &["हिंदी में"]);
    found("hi", "सम्बन्ध", &["संबंध", "संबंधों"]);
    found("hi", "रुपया", &["दस रुपये", "दस रुपए"]);
    found("hi", "नयी दिल्ली", &["नई दिल्ली"]);
    found("hi", "क्षत्रिय", &["क्\u{200d}षत्रिय", "क्\u{200c}षत्रिय"]);
    found("hi", "1947", &["१९४७ में"]);
    found("hi", "२५ लाख", &["25 लाख"]);
    missing("hi", "राम", &["रामायण", "आराम"]);
}

#[test]
fn arabic() {
    found(
        "ar",
        "القاهرة",
        &["والقاهرة", "بالقاهرة", "للقاهرة", "قاهرة", "القاهره", "القَاهِرَة", "القـــاهرة", "وللقاهرة،"],
    );
    found("ar", "مصر", &["ومصر", "بمصر", "لمصر", "فمصر", "مصر؟"]);
    missing("ar", "مصر", &["مصرف", "عنصر", "انتصار"]);
    found("ar", "كتاب", &["الكتاب", "كتابه", "كتاباً", "للكتاب", "وكتابها"]);
    missing("ar", "كتاب", &["اكتتاب", "كتب"]);
    found("ar", "حديقة", &["حديقتها", "الحديقة", "وحديقتهم"]);
    found("ar", "أحمد", &["احمد", "وأحمد", "لأحمد"]);
    found("ar", "بالقاهرة", &["القاهرة", "في القاهرة", "بالقاهرة"]);
    found("ar", "والدته", &["والدته"]);
    found("ar", "مستشفى", &["المستشفي"]);
    found("ar", "أصدقاء", &["أصدقاؤه", "أصدقائها", "الأصدقاء"]);
    found("ar", "مسؤول", &["مسئول", "المسؤولين"]);
    missing("ar", "ألمانيا", &["مانيا"]);
    found("ar", "ألمانيا", &["بألمانيا", "المانيا"]);
    found("ar", "1940", &["عام ١٩٤٠", "و1940", "۱۹۴۰"]);
    found("ar", "Microsoft", &["شركةMicrosoft", "وMicrosoft"]);
    found("ar", "40%", &["٤٠٪", "40 %"]);
}

#[test]
fn numbers() {
    found(
        "en",
        "40",
        &["40th", "40%", "40 km", "40km", "$40", "1939-40", "12.40.1990", "40.", "at 3, 40, 5", "\u{664}\u{660}", "४०"],
    );
    missing("en", "40", &["1940", "401", "40.5", "40,5", "3.40", "1,940", "40,000", "40\u{66b}5"]);
    for thousand in [
        "1000",
        "1,000",
        "1.000",
        "1'000",
        "1\u{2019}000",
        "1\u{202f}000",
        "1\u{a0}000",
        "1 000",
        "\u{661}\u{66c}\u{660}\u{660}\u{660}",
    ] {
        found("en", thousand, &["1000", "1,000 m", "1.000", "1 000", "(1\u{a0}000)", "१,०००"]);
        missing("en", thousand, &["11,000", "1000.5", "10000", "1,000,000"]);
    }
    found("de", "1.234.567,8", &["1,234,567.8", "1234567.8", "1 234 567,8"]);
    found("hi", "1,00,000", &["100000", "100,000", "१,००,०००"]);
    found("en", "3.5", &["3,5", "3.5%"]);
    missing("en", "3.5", &["35", "13.5", "3.55"]);
    found("en", "1990", &["12.05.1990", "1990,", "12/5/1990"]);
    found("en", "5", &["m\u{b2}5", "1990\u{b2} 5"]);
    found("en", "1990", &["in 1990\u{b2}"]);
    found("en", "345", &["page 12 345"]);
}

#[test]
fn letter_case() {
    assert_eq!(normalize("STRASSE Straße STRA\u{1e9e}E"), "strasse strasse strasse");
    assert_eq!(normalize("\u{130}stanbul I\u{307}stanbul istanbul"), "istanbul istanbul istanbul");
    assert_eq!(normalize("DIYARBAKIR Diyarbak\u{131}r"), "diyarbakir diyarbakir");
    assert_eq!(normalize("ΟΔΟΣ οδος οδοσ"), "οδοσ οδοσ οδοσ");
    assert_eq!(normalize("Ｆｕｌｌ　ｗｉｄｔｈ１２３"), "full width123");
    assert_eq!(normalize("\u{feff} a\u{200b}b\t\r\n c \u{3000}"), "ab c");
    assert_eq!(
        normalize("\u{fb01}n \u{201c}x\u{201d} \u{2018}y\u{2019} \u{b4}z` \u{ab}q\u{bb} 1\u{2212}2"),
        "fin \"x\" 'y' 'z' \"q\" 1-2"
    );
    assert_eq!(normalize("\u{fefb} \u{fdf2}"), "\u{644}\u{627} \u{627}\u{644}\u{644}\u{647}", "presentation forms");
}

#[test]
fn a_faulty_section_names_its_key() {
    let english = "en".parse::<Language>().unwrap().file();
    for (from, to, key) in [
        ("endings = [\"s\", \"es\"]", "endings = [\"\"]", "matching.endings"),
        ("\"the\"", "\"of the\"", "matching.articles"),
        ("y = [\"ies\"]", "y = [\" \"]", "matching.changes"),
        ("endings_on_foreign =", "endings_abroad =", "endings_abroad"),
    ] {
        let start = english.find("[matching]").unwrap();
        let section = &english[start..];
        assert!(section.contains(from), "{from}");
        let error = Pack::parse(&format!("{}{}", &english[..start], section.replace(from, to))).err().unwrap();
        assert!(error.to_string().contains(key), "{error}");
    }
}

#[test]
fn overlapping_answers_are_all_found() {
    let en = rules("en");
    let answers = ["New York", "York", "York City", "New York City", "New", "1990", "1990", "city"];
    let patterns: Vec<Pattern> = answers.iter().map(|a| Pattern::new(a, &en, None)).collect();
    let finder = Finder::new(&patterns).unwrap();
    assert_eq!(finder.find(&normalize("In 1990 New York City"), &en), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(finder.find(&normalize("Newcastle, Yorkshire"), &en), [0u32; 0]);
    assert_eq!(Finder::new(&[]).unwrap().find("text", &en), [0u32; 0]);
}

#[test]
fn a_cut_answer_is_free_where_it_was_cut() {
    let de = rules("de");
    let needle = "Der Haustürschlüssel lag da.";
    let cut = Pattern::new("tür", &de, Some((needle, 8)));
    assert!(!cut.is_whole());
    let finder =
        Finder::new(&[cut, Pattern::new("Haus", &de, Some((needle, 4))), Pattern::new("lag", &de, Some((needle, 21)))])
            .unwrap();
    assert_eq!(finder.find(&normalize(needle), &de), [0, 1, 2]);
    assert_eq!(finder.find(&normalize("Autotüren und Hausboot"), &de), [0, 1]);
    assert_eq!(finder.find(&normalize("Das Wirtshaus erlag"), &de), [0u32; 0], "the other sides still hold");
    // The place decides, not the first look-alike.
    let twice = Pattern::new("art", &rules("en"), Some(("party art", 6)));
    assert!(twice.is_whole());
    // Cuts through what is one when normalised.
    for (language, needle, answer, at) in [
        ("en", "about 1,940 men", "940", 8),
        ("en", "about 1,2,3 men", "2,3", 8),
        ("hi", "हिन्दी में", "हिन", 0),
        ("hi", "गयी थी", "यी", 1),
        ("vi", "e\u{301}m", "\u{301}m", 1),
        ("en", "so 40.5 m", "5", 6),
        ("en", "so x\u{b2}", "\u{b2}", 4),
    ] {
        let rules = rules(language);
        let pattern = Pattern::new(answer, &rules, Some((needle, at)));
        assert_eq!(
            Finder::new(&[pattern]).unwrap().find(&normalize(needle), &rules),
            [0],
            "{language}: {answer} in {needle}"
        );
    }
}

proptest! {
    #[test]
    fn any_piece_of_any_text_is_found_there(text in "[a-zA-Z0-9 .,'%\\-éßıİ²½\u{a0}\u{200b}\u{301}\u{307}न्हदियीेँ़कاأةىالوب١٢،ـَ北京のò o]{1,40}", from in 0usize..40, length in 1usize..12) {
        let chars: Vec<char> = text.chars().collect();
        let from = from % chars.len();
        let answer: String = chars[from..(from + length).min(chars.len())].iter().collect();
        let normal = normalize(&text);
        prop_assert_eq!(normalize(&normal), normal.clone());
        for language in Language::of_the_papers() {
            let rules = language.pack().unwrap().matching().clone();
            let pattern = Pattern::new(&answer, &rules, Some((&text, from)));
            let empty = pattern.text().is_empty();
            let hits = Finder::new(&[pattern]).unwrap().find(&normal, &rules);
            prop_assert!(empty || hits == [0], "{}: {:?} in {:?}", language, answer, text);
        }
    }

    #[test]
    fn no_text_is_too_strange(text in any::<String>(), answer in any::<String>()) {
        let normal = normalize(&text);
        prop_assert_eq!(normalize(&normal), normal.clone());
        let rules = rules("ar");
        let pattern = Pattern::new(&answer, &rules, Some((&text, 3)));
        Finder::new(&[pattern]).unwrap().find(&normal, &rules);
        let near = Near::new([text.as_str()].into_iter()).of(&text);
        prop_assert_eq!(near.is_empty(), normal.is_empty());
    }
}

/// One question's answer in one language.
struct Row {
    context: String,
    answer: String,
    at: usize,
    /// Rows of one paragraph or id are related.
    group: String,
}

fn answer(answers: &Value) -> (String, usize) {
    (answers["text"].as_str().unwrap().to_owned(), answers["answer_start"].as_u64().unwrap() as usize)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn mlqa(data: &Path, language: &str) -> Vec<Row> {
    let all = json(&data.join(format!("mlqa/mlqa-dev-{language}.json")));
    let rows = all["data"].as_array().unwrap().iter().flat_map(|row| {
        let texts = row["answers"]["text"].as_array().unwrap().iter();
        texts.zip(row["answers"]["answer_start"].as_array().unwrap()).map(|(text, at)| Row {
            context: row["context"].as_str().unwrap().to_owned(),
            answer: text.as_str().unwrap().to_owned(),
            at: at.as_u64().unwrap() as usize,
            group: row["id"].as_str().unwrap().to_owned(),
        })
    });
    rows.collect()
}

fn xquad(data: &Path, language: &str) -> Vec<Row> {
    let all = json(&data.join(format!("xquad/xquad.{language}.json")));
    let mut rows = Vec::new();
    for (n, article) in all["data"].as_array().unwrap().iter().enumerate() {
        for paragraph in article["paragraphs"].as_array().unwrap() {
            for question in paragraph["qas"].as_array().unwrap() {
                let (answer, at) = answer(&question["answers"][0]);
                let context = paragraph["context"].as_str().unwrap().to_owned();
                rows.push(Row { context, answer, at, group: n.to_string() });
            }
        }
    }
    rows
}

#[test]
fn every_real_answer_is_found_in_its_own_needle() {
    let Some(data) = real_data("answers in their needles") else { return };
    for language in Language::of_the_papers() {
        let rules = rules(language.code());
        for (name, rows) in [("MLQA", mlqa(&data, language.code())), ("XQuAD", xquad(&data, language.code()))] {
            let patterns: Vec<Pattern> =
                rows.iter().map(|r| Pattern::new(&r.answer, &rules, Some((&r.context, r.at)))).collect();
            let finder = Finder::new(&patterns).unwrap();
            let mut found = 0;
            for (n, row) in (0u32..).zip(&rows) {
                let hit = finder.find(&normalize(&row.context), &rules).contains(&n);
                assert!(hit, "{name} {language} {}: {:?}", row.group, row.answer);
                found += 1;
            }
            let whole = patterns.iter().filter(|p| p.is_whole()).count();
            println!(
                "{name} {language}: {found} of {} found, {whole} ({:.1}%) as whole words",
                rows.len(),
                100.0 * whole as f64 / rows.len() as f64
            );
            assert!(whole * 10 >= rows.len() * 9, "{name} {language}: {whole} of {}", rows.len());
        }
    }
}

/// Does a text hold an answer between spaces, brackets or its own ends? A plain look, to compare with.
fn stands_alone(answer: &str, text: &str) -> bool {
    let free = |c: Option<char>| c.is_none_or(|c| matches!(c, ' ' | '(' | ')' | '"'));
    let mut places = text.match_indices(answer).map(|(at, _)| (at, at + answer.len()));
    places.any(|(from, to)| free(text[..from].chars().next_back()) && free(text[to..].chars().next()))
}

#[test]
fn translations_hold_their_answers_and_strangers_seldom_do() {
    let Some(data) = real_data("answers in translations and elsewhere") else { return };
    let languages: Vec<(Language, Rules)> = Language::of_the_papers().map(|l| (l, rules(l.code()))).collect();
    let rows: Vec<Vec<Row>> = languages.iter().map(|(l, _)| xquad(&data, l.code())).collect();
    let count = rows[0].len();
    let patterns: Vec<Pattern> = (0..languages.len())
        .flat_map(|l| rows[l].iter().map(move |r| (l, r)))
        .map(|(l, r)| Pattern::new(&r.answer, &languages[l].1, Some((&r.context, r.at))))
        .collect();
    let finder = Finder::new(&patterns).unwrap();
    let (mut checked, mut elsewhere) = (0, 0);
    for (l, (language, rules)) in languages.iter().enumerate() {
        let (mut false_hits, mut pairs, mut naive) = (0usize, 0usize, 0usize);
        for (n, row) in rows[l].iter().enumerate() {
            let new = n == 0 || rows[l][n - 1].context != row.context;
            if !new {
                continue;
            }
            let text = normalize(&row.context);
            let hits = finder.find(&text, rules);
            let lower = row.context.to_lowercase();
            for (m, other) in rows[l].iter().enumerate() {
                let hit = hits.binary_search(&((l * count + m) as u32)).is_ok();
                assert!(
                    hit || !stands_alone(&other.answer.to_lowercase(), &lower),
                    "{language}: {:?} in {}",
                    other.answer,
                    row.context
                );
                if other.context == row.context {
                    assert!(hit, "{language}: {:?}", other.answer);
                    checked += 1;
                } else if other.group != row.group {
                    pairs += 1;
                    false_hits += usize::from(hit);
                    naive += usize::from(text.contains(patterns[l * count + m].text()));
                }
            }
            elsewhere += hits.len();
        }
        println!(
            "XQuAD {language}: {false_hits} of {pairs} unrelated pairs hit ({:.3}%), {naive} by substring",
            100.0 * false_hits as f64 / pairs as f64
        );
        assert!(false_hits * 100 < pairs * 2, "{language}");
        assert!(false_hits < naive, "{language}");
    }
    println!("{checked} answers found in their own language's paragraph, {elsewhere} hits over all languages");
    assert_eq!(checked, 1190 * 7);
}

#[test]
fn many_passages_and_answers_take_seconds() {
    let Some(data) = real_data("speed of matching") else { return };
    let en = rules("en");
    let mut patterns = Vec::new();
    let mut passages = Vec::new();
    for language in Language::of_the_papers() {
        let rules = rules(language.code());
        for row in mlqa(&data, language.code()) {
            patterns.push(Pattern::new(&row.answer, &rules, Some((&row.context, row.at))));
            passages.push((row.context.chars().take(400).collect::<String>(), rules.clone()));
        }
    }
    let finder = Finder::new(&patterns).unwrap();
    #[allow(clippy::disallowed_methods, reason = "a test may look at the clock")]
    let start = std::time::Instant::now();
    let (mut done, mut hits, mut bytes) = (0usize, 0usize, 0usize);
    for (text, rules) in passages.iter().cycle().take(20_000) {
        hits += finder.find(&normalize(text), rules).len();
        bytes += text.len();
        done += 1;
    }
    println!(
        "{} answers in {done} passages ({bytes} bytes): {:?} on one thread, {hits} hits",
        patterns.len(),
        start.elapsed()
    );
    assert!(hits > done / 2, "most passages are some answer's needle");
    assert!(finder.find("", &en).is_empty());
}

#[test]
fn near_duplicates_share_their_wording() {
    let base = "The quick brown fox jumps over the lazy dog near the river bank while two old men play chess under a tree, and \
                nobody in the village remembers who won the last game or when it was that the two of them first met.";
    let edited = base.replace("quick brown", "slow BROWN").replace("two old men", "two  old women");
    let other = "Photosynthesis turns light into chemical energy; plants, algae and some bacteria store it in sugars that are \
                 made from carbon dioxide and water, and give off the oxygen on which most other forms of life depend.";
    let near =
        Near::new([base, other, &edited, "two old men play chess", "", "chess", &base.to_uppercase()].into_iter());
    assert_eq!(near.of(base), [0, 2, 3, 6]);
    assert_eq!(near.of(other), [1]);
    assert_eq!(near.of("Two old men play chess"), [0, 3, 6]);
    assert_eq!(near.of("CHESS"), [5], "short of a shingle, only the same text counts");
    assert_eq!(near.of(""), [0u32; 0]);
    assert!(Shingles::of(base).similar(&Shingles::of(&edited)));
    assert!(!Shingles::of(base).similar(&Shingles::of(other)));
    // Half of it in the other, half of it new.
    let half = format!("{} {}", &base[..110], &other[..90]);
    assert!(Shingles::of(&half).similar(&Shingles::of(base)));
}

#[test]
fn real_passages_are_near_themselves_alone() {
    let Some(data) = real_data("near-duplicates") else { return };
    for language in ["en", "zh", "ar"] {
        let mut texts: Vec<String> = xquad(&data, language).into_iter().map(|row| row.context).collect();
        texts.dedup();
        let near = Near::new(texts.iter().map(String::as_str));
        let all: Vec<Shingles> = texts.iter().map(|text| Shingles::of(text)).collect();
        for (n, text) in (0u32..).zip(&texts) {
            let by_pairs: Vec<u32> =
                (0u32..).zip(&all).filter(|(_, s)| s.similar(&all[n as usize])).map(|(m, _)| m).collect();
            assert_eq!(near.of(text), by_pairs);
            assert_eq!(by_pairs, [n], "{language}: {text}");
            let chars: Vec<char> = text.chars().collect();
            let tail: String = chars[chars.len() / 3..].iter().collect();
            assert_eq!(near.of(&tail), [n], "{language}: {tail}");
        }
    }
}

/// A joined article belongs to the word where the passage is in another language.
#[test]
fn an_answer_with_its_joined_article_stands_in_foreign_passages() {
    use nihbuild::language::{Finder, Language, Pattern, normalize};
    let pack = |code: &str| code.parse::<Language>().unwrap().pack().unwrap();
    let (arabic, english) = (pack("ar"), pack("en"));
    let pattern = Pattern::new("\u{627}\u{644}\u{642}\u{627}\u{647}\u{631}\u{629}", arabic.matching(), None);
    let finder = Finder::new(&[pattern]).unwrap();
    let text = normalize("The city is written \u{627}\u{644}\u{642}\u{627}\u{647}\u{631}\u{629} in Arabic script.");
    assert_eq!(finder.find(&text, english.matching()), [0]);
    let text =
        normalize("\u{632}\u{627}\u{631} \u{642}\u{627}\u{647}\u{631}\u{629} \u{627}\u{644}\u{645}\u{639}\u{632}");
    assert_eq!(finder.find(&text, arabic.matching()), [0]);
}
