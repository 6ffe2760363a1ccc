//! Texts to count: real ones in seven languages, prompts put together from them, and noise.

use crate::support::FLORES;
use nihbuild::language::Language;
use nihbuild::language::breaks::breaks;
use nihbuild::language::essays::essays;
use nihbuild::seed::Seed;
use nihbuild::tokenizer::{Piece, Unit};

/// Numbers that look random, the same in every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(label: &str) -> Dice {
        Dice(
            label
                .bytes()
                .fold(0x9e37_79b9_7f4a_7c15, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Runs of characters that patterns treat alike, and characters with a life of their own.
    pub fn noise(&mut self) -> String {
        let runs = [
            "a",
            "Z",
            "7",
            " ",
            "\n",
            "\r\n",
            "\t",
            ".",
            "/",
            "'",
            "\"",
            "_",
            "\u{4e2d}",
            "\u{915}\u{94d}\u{937}",
            "\u{627}\u{64e}",
            "e\u{301}",
            "\u{1e6}",
            "\u{1f468}\u{200d}\u{1f469}",
            "\u{2581}",
            "\u{a0}",
            "\u{ac00}",
            "\u{1100}\u{1161}",
        ];
        let words = [
            "the ",
            " word",
            "don't",
            "'ll",
            "end.\n",
            "\n\n",
            " {\"a\": 1}",
            "<s>",
            "<|im_end|>",
            "</p>",
            "3.14",
            "x = y;",
            "\u{3002}",
            "\u{ff0c}",
            " \n ",
            "HTTPServer",
            "\u{48}\u{e9}llo",
            "\u{10fffd}",
            "\u{0}",
            "\u{feff}",
            "\u{fb01}",
        ];
        let mut text = String::new();
        for _ in 0..self.below(9) {
            if self.below(2) == 0 {
                let most = [2, 4, 9, 70][self.below(4)];
                text.push_str(&self.pick(&runs).repeat(1 + self.below(most)));
            } else {
                let n = 1 + self.below(3);
                (0..n).for_each(|_| text += *self.pick(&words));
            }
        }
        text
    }
}

const CODES: [&str; 7] = ["ar", "de", "en", "es", "hi", "vi", "zh"];

/// A file of real data, if it is there.
fn real(path: &str) -> Option<String> {
    std::fs::read_to_string(crate::support::real_data("counts of real text")?.join(path)).ok()
}

/// Generated essays of a language, which stand in where there is no real text.
fn made(code: &str, bytes: usize) -> String {
    let language: Language = code.parse().unwrap();
    essays(language, &language.pack().unwrap(), &Seed::new("texts"), bytes).unwrap()
}

/// Passages of a language, in the file's order.
fn passages(code: &str) -> Vec<String> {
    let Some(file) = real(&format!("xquad/xquad.{code}.json")) else {
        return made(code, 200_000).split("\n\n").map(str::to_owned).collect();
    };
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    let articles = file["data"].as_array().unwrap().iter();
    let paragraphs = articles.flat_map(|article| article["paragraphs"].as_array().unwrap());
    paragraphs.map(|paragraph| paragraph["context"].as_str().unwrap().to_owned()).collect()
}

fn sentences((code, name): (&str, &str)) -> Vec<String> {
    if let Some(file) = real(&format!("flores200/devtest/{name}.devtest")) {
        return file.lines().map(str::to_owned).collect();
    }
    let text = made(code, 60_000);
    let pack = code.parse::<Language>().unwrap().pack().unwrap();
    let breaks = breaks(&text, &pack.marks());
    breaks.windows(2).map(|pair| text[pair[0].next..pair[1].end].to_owned()).collect()
}

/// Long texts, as haystacks are.
pub fn units() -> Vec<String> {
    let mut units: Vec<String> = CODES.iter().map(|code| passages(code)[..24].join("\n\n")).collect();
    units.extend(FLORES.iter().map(|name| sentences(*name)[..60].join(" ")));
    units.extend(real("haystack/little_women_louisa_may_alcott.txt").map(|text| text.chars().take(40_000).collect()));
    units
}

/// Shorter ones, many: for comparing counts.
pub fn texts() -> Vec<String> {
    let mut texts: Vec<String> = CODES.iter().flat_map(|code| passages(code).into_iter().take(60)).collect();
    texts.extend(FLORES.iter().flat_map(|name| sentences(*name).into_iter().take(60)));
    let mut dice = Dice::new("texts");
    texts.extend((0..400).map(|_| dice.noise()));
    texts
}

/// A line without line feeds: a sentence, or noise.
pub fn line(dice: &mut Dice) -> String {
    static SENTENCES: std::sync::LazyLock<Vec<String>> =
        std::sync::LazyLock::new(|| FLORES.iter().flat_map(|name| sentences(*name)[..80].to_vec()).collect());
    if dice.below(8) > 0 {
        return dice.pick(&SENTENCES).clone();
    }
    let noise = dice.noise().replace(['\n', '\r'], "");
    if noise.is_empty() { "-".to_owned() } else { noise }
}

/// Short pieces of prompts: heads, needles in seven languages, tails, separators, noise.
pub fn small(dice: &mut Dice) -> Vec<String> {
    let mut small = vec!["\n".to_owned(), " ".to_owned(), "\n\n".to_owned(), String::new()];
    for name in FLORES {
        for sentence in &sentences(name)[80..100] {
            let (before, behind) =
                *dice.pick(&[("", ""), (" ", ""), ("", " "), ("\n", "\n"), ("", "\n"), ("\n\n", "\n\n")]);
            small.push(format!("{before}{sentence}{behind}"));
            small.push(format!("You are given a text.\n\n<context>\n{before}"));
            small.push(format!("\n</context>\n\n{sentence}\n{{\"answer\": ...}}"));
        }
    }
    small.extend((0..40).map(|_| dice.noise()));
    small
}

/// Head, part of a long text, needle, the rest of that part, tail; at times more needles.
pub fn prompt<'a>(units: &'a [Unit], small: &'a [Unit], dice: &mut Dice) -> Vec<Piece<'a>> {
    let unit = dice.pick(units);
    let mut cuts: Vec<usize> = (0..2 + dice.below(3)).map(|_| cut(unit.text(), dice)).collect();
    cuts.sort_unstable();
    // Mostly from the text's beginning, as haystacks are taken.
    if dice.below(2) == 0 {
        cuts[0] = 0;
    }
    let last = cuts.len() - 1;
    cuts[last] = cuts[last].min(cuts[0] + 6_000);
    while !unit.text().is_char_boundary(cuts[last]) {
        cuts[last] += 1;
    }
    let end = cuts[last];
    let mut pieces = vec![dice.pick(small).whole()];
    for pair in cuts.windows(2) {
        pieces.push(Piece { unit, range: pair[0].min(end)..pair[1].min(end) });
        pieces.push(dice.pick(small).whole());
    }
    pieces
}

/// Mostly behind a sentence's or line's end, at times anywhere.
fn cut(text: &str, dice: &mut Dice) -> usize {
    let mut at = dice.below(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    if dice.below(3) == 0 {
        return at;
    }
    let end = text[at..].find(['.', '\n', '\u{3002}', '\u{964}', ' ']).map_or(text.len(), |found| at + found);
    text[end..].chars().next().map_or(end, |mark| end + mark.len_utf8())
}

/// Noise and sentences in turns.
pub fn rough(dice: &mut Dice) -> String {
    let n = 2 + dice.below(20);
    (0..n).map(|_| if dice.below(2) == 0 { line(dice) } else { dice.noise() }).collect()
}

/// A random part of a unit, often up to one of its ends.
pub fn part<'a>(unit: usize, units: &'a [Unit], dice: &mut Dice) -> Piece<'a> {
    let unit = &units[unit];
    let len = unit.text().len();
    let mut ends = [0, len];
    for end in &mut ends {
        if dice.below(2) == 0 && len > 0 {
            *end = (dice.below(len)..=len).find(|&at| unit.text().is_char_boundary(at)).unwrap_or(len);
        }
    }
    ends.sort_unstable();
    Piece { unit, range: ends[0]..ends[1] }
}
