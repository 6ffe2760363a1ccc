//! Token counts: parts add up at the seams that budgets rely on.

use nihbuild::language::{Kind, Language, PATTERN_COUNT, PLACES};
use nihbuild::recipe::TokenizerName;
use nihbuild::seed::Seed;
use nihbuild::tokenizer::Tokenizer;
use proptest::prelude::*;

fn tokenizers() -> [Tokenizer; 2] {
    [TokenizerName::O200kBase, TokenizerName::Cl100kBase].map(Tokenizer::new)
}

#[test]
fn lines_add_up_in_every_language() {
    for language in Language::all() {
        let pack = language.pack().unwrap();
        let mut rng = Seed::new("tokens").derive("lines", language.code());
        for tokenizer in tokenizers() {
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

proptest! {
    /// Any text: a line feed at the end of a part is a seam where counts add up, if `seam_adds` says so.
    #[test]
    fn a_line_feed_is_a_seam(left in "[\\PC\n]{0,30}", right in "\\PC{1,30}") {
        let left = left + "\n";
        for tokenizer in tokenizers() {
            if tokenizer.seam_adds(right.chars().next().unwrap()) {
                prop_assert_eq!(tokenizer.count(&left) + tokenizer.count(&right), tokenizer.count(&(left.clone() + &right)));
            }
        }
    }
}

#[test]
fn other_seams_do_not_add_up() {
    // Why the rule is what it is: with a slash, or the line feed on the other side, sums are wrong.
    let tokenizer = tokenizers()[0];
    let sum = |a: &str, b: &str| tokenizer.count(a) + tokenizer.count(b);
    assert!(!tokenizer.seam_adds('/') && !tokenizer.seam_adds(' ') && tokenizer.seam_adds('<'));
    assert_ne!(sum("end.", "\nNext"), tokenizer.count("end.\nNext"));
}

#[test]
fn known_counts() {
    let tokenizer = tokenizers()[0];
    assert_eq!(tokenizer.count("hello world"), 2);
    assert_eq!(tokenizer.count(""), 0);
    assert_eq!(tokenizer.count("Mary went to the garden.\n"), 6);
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
            for (ours, other) in tokenizers().iter().zip(&others) {
                assert_eq!(ours.count(&prompt), other.encode_ordinary(&prompt).len(), "{id} {}", ours.name());
                compared += 1;
            }
        }
    }
    assert!(compared >= 150, "only {compared} counts were compared");
}
