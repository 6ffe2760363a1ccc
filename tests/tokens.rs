//! Token counts: sums where they hold, joins everywhere, for embedded tokenizers, hand-made files and real ones.

pub mod files;
mod reading;
mod texts;

use files::{Folder, byte_level, real, sentencepiece, word_level};
use nihbuild::language::{Kind, Language, PATTERN_COUNT, PLACES};
use nihbuild::seed::Seed;
use nihbuild::tokenizer::{Joined, Piece, Tokenizer, Unit, join};
use proptest::prelude::*;
use serde_json::json;
use std::sync::LazyLock;
use texts::{Dice, units};

fn embedded() -> [Tokenizer; 2] {
    Tokenizer::EMBEDDED.map(|name| Tokenizer::embedded(name).unwrap())
}

/// Tokenizers that do not cut at line feeds.
const LINELESS: [&str; 2] = ["fixed", "unigram"];

/// Everything there is.
fn all() -> &'static [Tokenizer] {
    static ALL: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
        let folder = Folder::new();
        let mut all = embedded().to_vec();
        all.extend([
            folder.open("byte-level", &byte_level()),
            folder.open("sentencepiece", &sentencepiece()),
            folder.open("word-level", &word_level()),
            folder.open("stripping", &files::stripping()),
            folder.open("word-piece", &files::word_piece()),
            folder.open("unigram", &files::unigram()),
            folder.open("tekken-small", &files::tekken()),
            folder.open("fixed", &fixed()),
        ]);
        all.extend(real().iter().cloned());
        all
    });
    &ALL
}

fn fixed() -> serde_json::Value {
    let mut file = sentencepiece();
    file["pre_tokenizer"] = json!({"type": "FixedLength", "length": 3});
    file
}

#[test]
fn known_counts() {
    let [o200k, cl100k] = embedded();
    assert_eq!((o200k.count("hello world"), o200k.count(""), o200k.count("Mary went to the garden.\n")), (2, 0, 6));
    assert_eq!(o200k.ends("hello world"), [5, 11]);
    assert_eq!((o200k.name(), cl100k.name(), o200k.added()), ("o200k_base", "cl100k_base", 0));
    assert_ne!(o200k.digest(), cl100k.digest());
    assert!(Tokenizer::embedded("p50k_base").is_none());
}

#[test]
fn embedded_counts_are_those_of_another_implementation() {
    // tiktoken-rs merges by rank as OpenAI's own library does.
    let others = [tiktoken_rs::o200k_base().unwrap(), tiktoken_rs::cl100k_base().unwrap()];
    for text in texts::texts() {
        for (ours, other) in embedded().iter().zip(&others) {
            assert_eq!(ours.count(&text), other.encode_ordinary(&text).len(), "{}", ours.name());
        }
    }
}

#[test]
fn a_token_inside_a_character_ends_with_it() {
    // One character, several tokens: all end where it does.
    for tokenizer in all() {
        let tokens = tokenizer.tokens("\u{1f9ff}\u{10fffd}a");
        assert_eq!(tokens.len(), tokenizer.count("\u{1f9ff}\u{10fffd}a"));
        let last = tokens.ends.last().map(|&end| end as usize);
        assert!(tokens.ends.iter().all(|end| [4, 8, 9].contains(end)), "{} {:?}", tokenizer.name(), tokens.ends);
        assert_eq!(last, Some(9), "{}", tokenizer.name());
    }
}

#[test]
fn lines_add_where_they_say() {
    // Lines of every language, and noise; where every pair of characters adds, so do the counts.
    for tokenizer in all() {
        let mut dice = Dice::new("lines");
        let (mut held, mut tried) = (0, 0);
        for _ in 0..600 {
            let parts: Vec<String> = (0..6).map(|_| texts::line(&mut dice) + "\n").collect();
            let seams = parts.windows(2).map(|pair| {
                (pair[0].trim_end_matches('\n').chars().next_back().unwrap(), pair[1].chars().next().unwrap())
            });
            tried += 1;
            if tokenizer.lines_add(seams) {
                held += 1;
                let sum: usize = parts[1..].iter().map(|part| tokenizer.count_line(part)).sum();
                let whole = parts.concat();
                assert_eq!(tokenizer.count(&parts[0]) + sum, tokenizer.count(&whole), "{} {whole:?}", tokenizer.name());
            }
        }
        assert!(held * 2 > tried || LINELESS.contains(&tokenizer.name()), "{}: {held} of {tried}", tokenizer.name());
        println!("{}: lines add up in {held} of {tried} texts", tokenizer.name());
    }
}

#[test]
fn other_seams_do_not_add_up() {
    // Why the rule is what it is: with a slash, or the line feed on the other side, sums are wrong.
    let [tokenizer, _] = embedded();
    let sum = |a: &str, b: &str| tokenizer.count(a) + tokenizer.count(b);
    assert!(!tokenizer.seam_adds('/') && !tokenizer.seam_adds(' ') && tokenizer.seam_adds('<'));
    assert_ne!(sum("end.", "\nNext"), tokenizer.count("end.\nNext"));
    assert!(tokenizer.lines_add([('.', 'N')]) && !tokenizer.lines_add([('.', 'N'), ('.', '/')]));
    assert!(!tokenizer.lines_add([('a', ' ')]));
    assert!(tokenizer.seam_is_hard("end.\n", "Next") && !tokenizer.seam_is_hard("end.", "\nNext"));
    for tokenizer in all().iter().filter(|tokenizer| !LINELESS.contains(&tokenizer.name())) {
        assert!(tokenizer.seam_adds('N') && !tokenizer.seam_adds('\n'), "{}", tokenizer.name());
    }
}

fn check(tokenizer: &Tokenizer, pieces: &[Piece<'_>]) -> Joined {
    let texts: Vec<&str> = pieces.iter().map(|piece| &piece.unit.text()[piece.range.clone()]).collect();
    let whole = texts.concat();
    let joined = join(tokenizer, pieces);
    assert_eq!(joined.tokens, tokenizer.count(&whole), "{} {:?}", tokenizer.name(), shortened(&texts));
    let tokens = tokenizer.tokens(&whole);
    let mut at = 0;
    for (i, text) in texts.iter().enumerate() {
        let start = tokens.before(at);
        at += text.len();
        let across = tokens.ends.get(tokens.before(at).wrapping_sub(1)).is_none_or(|&end| (end as usize) < at);
        let end = (tokens.before(at) + usize::from(across)).min(tokens.len());
        if at < whole.len() {
            let end = if text.is_empty() { start } else { end };
            assert_eq!((joined.starts[i], joined.ends[i]), (start, end), "{} piece {i} {texts:?}", tokenizer.name());
        }
    }
    joined
}

fn shortened<'a>(texts: &[&'a str]) -> Vec<String> {
    let chars = |text: &'a str| text.chars().collect::<Vec<_>>();
    let short = |text: Vec<char>| match text.len() {
        0..=120 => text.iter().collect::<String>(),
        n => format!("{} ... {}", String::from_iter(&text[..60]), String::from_iter(&text[n - 60..])),
    };
    texts.iter().map(|text| short(chars(text))).collect()
}

#[test]
fn joins_are_exact_on_prompts() {
    for tokenizer in all() {
        let (mut windows, mut repaired, mut widened, mut dice) = (0, 0, 0, Dice::new("prompts"));
        let units: Vec<Unit> = units().iter().map(|text| Unit::new(tokenizer, text.as_str())).collect();
        let small: Vec<Unit> = texts::small(&mut dice).into_iter().map(|text| Unit::new(tokenizer, text)).collect();
        let n = 500;
        for _ in 0..n {
            let pieces = texts::prompt(&units, &small, &mut dice);
            let joined = check(tokenizer, &pieces);
            windows += pieces.len() - 1;
            repaired += joined.repaired;
            widened += joined.widened;
        }
        println!("{}: {n} prompts, {windows} seams, {repaired} repaired, {widened} widened", tokenizer.name());
    }
}

#[test]
fn joins_are_exact_on_noise() {
    // Runs of one class of characters across seams, marks, digits, unknown characters; pieces are mostly longer than
    // windows, and cut out of longer texts.
    for tokenizer in all() {
        let (mut repaired, mut widened, mut dice) = (0, 0, Dice::new("noise"));
        let units: Vec<Unit> = (0..60).map(|_| Unit::new(tokenizer, texts::rough(&mut dice))).collect();
        for _ in 0..400 {
            let pieces: Vec<_> =
                (0..1 + dice.below(5)).map(|_| texts::part(dice.below(60), &units, &mut dice)).collect();
            let joined = check(tokenizer, &pieces);
            repaired += joined.repaired;
            widened += joined.widened;
        }
        println!("{}: 400 noisy joins, {repaired} repaired, {widened} widened", tokenizer.name());
    }
}

#[test]
fn pieces_need_not_be_tidy() {
    let [tokenizer, _] = embedded();
    let unit = Unit::new(&tokenizer, "\u{1f9ff} and \u{e9}");
    let piece = |range| Piece { unit: &unit, range };
    // Inside a character, past the end, empty: no panic, and the boundary before.
    assert_eq!(join(&tokenizer, &[piece(2..900)]).tokens, tokenizer.count(unit.text()));
    assert_eq!(
        join(&tokenizer, &[piece(usize::MAX..usize::MAX), piece(5..5)]),
        Joined { starts: vec![0; 2], ends: vec![0; 2], ..Joined::default() }
    );
    assert_eq!(join(&tokenizer, &[]), Joined::default());
    assert_eq!(unit.tokens_before(0), 0);
    assert_eq!(unit.tokens_before(4), unit.tokens().before(5) - usize::from(unit.tokens().ends.contains(&5)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text: a line feed at the end of a part is a seam where counts add up, if `seam_adds` says so.
    #[test]
    fn a_line_feed_is_a_seam(left in "[\\PC\n]{0,30}", right in "\\PC{1,30}") {
        let left = left + "\n";
        let next = right.chars().next().unwrap();
        for tokenizer in embedded() {
            if tokenizer.seam_adds(next) {
                let sum = tokenizer.count(&left) + tokenizer.count(&right);
                prop_assert_eq!(sum, tokenizer.count(&(left.clone() + &right)));
            }
        }
        for tokenizer in all() {
            let last = left.trim_end_matches('\n').chars().next_back();
            if left.matches('\n').count() == 1 && last.is_some_and(|last| tokenizer.lines_add([(last, next)])) {
                let sum = tokenizer.count(&left) + tokenizer.count_line(&right);
                prop_assert_eq!(sum, tokenizer.count(&(left.clone() + &right)), "{}", tokenizer.name());
            }
        }
    }

    /// Any text, any cut.
    #[test]
    fn joins_are_exact(parts in prop::collection::vec("[\\PC\n ]{0,12}|[a-z0-9 .\n/']{0,40}|\\s{0,9}", 1..5)) {
        for tokenizer in all() {
            let units: Vec<Unit> = parts.iter().map(|part| Unit::new(tokenizer, part.as_str())).collect();
            check(tokenizer, &units.iter().map(Unit::whole).collect::<Vec<_>>());
        }
    }

    /// What stands behind a hard end is tokenised as if it stood alone (but for a mark before a text); what stands
    /// before it too, but where white space looks ahead.
    #[test]
    fn hard_ends_are_independent(text in "[\\PC\n ]{0,30}|[a-zA-Z0-9 .,\n/'_-]{0,60}") {
        for tokenizer in all() {
            let tokens = tokenizer.tokens(&text);
            prop_assert_eq!(tokens.len(), tokenizer.count(&text), "{}", tokenizer.name());
            let marks = tokenizer.count("\u{10fffd}") != tokenizer.count_line("\u{10fffd}");
            for (i, &end) in tokens.ends.iter().enumerate().filter(|&(i, _)| tokens.is_hard(i)) {
                let (left, right) = text.split_at(end as usize);
                if !left.ends_with(char::is_whitespace) && !right.starts_with(char::is_whitespace) {
                    prop_assert_eq!(tokenizer.count(left), i + 1, "{} {:?}", tokenizer.name(), left);
                }
                if !marks {
                    prop_assert_eq!(tokenizer.count(right), tokens.len() - i - 1, "{} {:?}", tokenizer.name(), right);
                }
            }
        }
    }
}

#[test]
fn windows_grow_where_nothing_settles() {
    // Digits go three by three from the first one on: a seam moves every cut up to the last digit.
    for tokenizer in embedded() {
        let head = Unit::new(&tokenizer, "No. 1");
        let digits =
            Unit::new(&tokenizer, "1234567".repeat(200) + " ends here, and a few words follow.\n".repeat(9).as_str());
        let joined = check(&tokenizer, &[head.whole(), digits.whole(), head.whole()]);
        assert!(joined.widened > 0 && joined.repaired == 1, "{joined:?}");
    }
}

#[test]
fn a_tokenizer_is_shared_by_threads() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    all().iter().for_each(shared);
}

#[test]
fn lines_add_up_in_every_language() {
    for language in Language::all() {
        let pack = language.pack().unwrap();
        let mut rng = Seed::new("tokens").derive("lines", language.code());
        for tokenizer in embedded() {
            for _ in 0..40 {
                // Head, lines and tail as in a prompt; sentences of every pattern, and noise.
                let mut parts =
                    vec![format!("{}\n\n<context>\n", pack.citation(Kind::Place, rng.below(PLACES.len()) as u8))];
                for _ in 0..200 {
                    let all = super::languages::messages(rng.below(PATTERN_COUNT) as u8);
                    parts.push(pack.sentence(all[rng.below(all.len())]) + "\n");
                    let noise: String = (0..1 + rng.below(30)).map(|_| rng.pick(pack.noise())).collect();
                    parts.push(noise + "\n");
                }
                parts.push("</context>\n\n?\n{\"answer\": ...}".to_owned());
                let sum: usize = parts.iter().map(|part| tokenizer.count(part)).sum();
                assert_eq!(sum, tokenizer.count(&parts.concat()), "{language} {}", tokenizer.name());
            }
        }
    }
}

#[test]
fn counts_are_those_of_another_implementation() {
    // tiktoken-rs merges by rank as OpenAI's own library does; whole prompts of every language, both vocabularies.
    let bench = crate::support::Bench::new();
    bench.write("r.toml", &crate::support::small("counts", crate::support::QUICK));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    let others = [tiktoken_rs::o200k_base().unwrap(), tiktoken_rs::cl100k_base().unwrap()];
    let mut compared = 0;
    for path in crate::support::data_files(&release) {
        for (id, prompt) in crate::support::prompts(&release.join(&path)).into_iter().step_by(3) {
            for (ours, other) in embedded().iter().zip(&others) {
                assert_eq!(ours.count(&prompt), other.encode_ordinary(&prompt).len(), "{id} {}", ours.name());
                compared += 1;
            }
        }
    }
    assert!(compared >= 150, "only {compared} counts were compared");
}
