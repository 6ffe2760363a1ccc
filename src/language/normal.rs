//! The form of a text in which answers are looked for: what writers vary without changing a word is made one.

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Stands for a no-break or thin space until it is known whether it groups digits. A noncharacter, so it means nothing in a text.
const GROUP: char = '\u{fdd0}';
const VIRAMA: char = '\u{94d}';
const ANUSVARA: char = '\u{902}';
/// The digit zero of the scripts in use; each is followed by one to nine.
const ZEROS: [u32; 36] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
    0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
    0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0x1e950,
];
/// Vietnamese vowels under the five tones, in one order: o a e u y.
const TONED: [[char; 5]; 5] = [
    ['\u{f2}', '\u{f3}', '\u{1ecf}', '\u{f5}', '\u{1ecd}'],
    ['\u{e0}', '\u{e1}', '\u{1ea3}', '\u{e3}', '\u{1ea1}'],
    ['\u{e8}', '\u{e9}', '\u{1ebb}', '\u{1ebd}', '\u{1eb9}'],
    ['\u{f9}', '\u{fa}', '\u{1ee7}', '\u{169}', '\u{1ee5}'],
    ['\u{1ef3}', '\u{fd}', '\u{1ef7}', '\u{1ef9}', '\u{1ef5}'],
];

/// A text as answers are compared: equal where two writers mean the same words.
///
/// - NFKC; then lower case, sharp s as `ss`, final sigma as sigma, the Turkish dotted and dotless i as `i` (a
///   text does not say whether it is Turkish, and a missed leak is worse than a clean passage dropped).
/// - Zero-width, bidi and variation marks and soft hyphens go, the two joiners too: in Hindi they choose
///   between shapes of one spelling.
/// - Arabic: no vowel signs, no tatweel; every alef one alef, hamza on waw or ya as bare hamza, alef maqsura as ya, ta
///   marbuta as ha, Persian kaf and ya as the Arabic ones.
/// - Devanagari: no nukta, chandrabindu as anusvara; a nasal joined to a stop of its own class as anusvara, and ya with
///   a long i or an e inside a word as the bare vowel, since both spellings of each are in use.
/// - Vietnamese: the tone of final oa, oe, uy stands on the second vowel.
/// - Quotes are `"` or `'`, dashes `-`, the dots inside Chinese names one dot, and any run of white space one space; none beside
///   Chinese characters or kana, where writers put it as they like, none before `%`, none at the edges.
/// - Digits are ASCII, digit groups closed up and the decimal mark a point: `1,000`, `1.000`, `1'000` and Indian `1,00,000` lose
///   their marks, `1.234,5` is `1234.5`. That reads `3.141` as 3141, in answer and passage alike: it makes two
///   different numbers equal now and then, and never parts equal ones (a list as tight as `100,200,300` reads as one number). A number that begins with 0 has no groups. Plain spaces group
///   nothing here ("page 12 345"): [`Pattern`](super::Pattern) looks for both spellings of its own numbers.
///
/// Applying it twice changes nothing.
pub fn normalize(text: &str) -> String {
    let mut chars = Vec::with_capacity(text.len());
    for c in prepared(text).into_iter().nfkc() {
        fold(c, &mut chars);
    }
    // What was dropped may have stood between a letter and its accent.
    if is_nfc_quick(chars.iter().copied()) != IsNormalized::Yes {
        chars = chars.into_iter().nfc().collect();
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        at += rewrite(&chars, at, &mut out);
    }
    out.truncate(out.trim_end_matches(' ').len());
    out
}

/// Maps what NFKC would lose: no-break spaces between digits, spacing accents used as quotes, raised digits.
fn prepared(text: &str) -> Vec<char> {
    let mut chars: Vec<char> = Vec::with_capacity(text.len());
    let (mut last_plain, mut last_raised) = (false, false);
    for c in text.chars() {
        let c = match c {
            '\0'..='\u{7f}' if c != '`' => c,
            c if invisible(c) => continue,
            '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => GROUP,
            GROUP => ' ',
            c => mark(c),
        };
        // Raised, lowered and circled digits and fractions would otherwise run on with the number beside them.
        let raised = matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{bc}'..='\u{be}' | '\u{2070}'..='\u{2089}' | '\u{2150}'..='\u{2189}'
            | '\u{2460}'..='\u{249b}');
        let plain = digit(c).is_some();
        if raised && last_plain || plain && last_raised {
            chars.push(' ');
        }
        (last_plain, last_raised) = (plain, raised);
        chars.push(c);
    }
    chars
}

/// Quotes, dashes and the dots in names, each as one character.
fn mark(c: char) -> char {
    match c {
        '`'
        | '\u{b4}'
        | '\u{2b9}'
        | '\u{2bb}'..='\u{2bd}'
        | '\u{2c8}'
        | '\u{2018}'..='\u{201b}'
        | '\u{2032}'
        | '\u{2035}'
        | '\u{2039}'
        | '\u{203a}'
        | '\u{ff07}'
        | '\u{ff40}' => '\'',
        '\u{ab}'
        | '\u{bb}'
        | '\u{201c}'..='\u{201f}'
        | '\u{2033}'
        | '\u{2036}'
        | '\u{3008}'..='\u{300f}'
        | '\u{301d}'..='\u{301f}'
        | '\u{fe41}'..='\u{fe44}'
        | '\u{ff02}'
        | '\u{ff62}'
        | '\u{ff63}' => '"',
        '\u{2010}'..='\u{2015}'
        | '\u{2043}'
        | '\u{2212}'
        | '\u{2e3a}'
        | '\u{2e3b}'
        | '\u{fe31}'
        | '\u{fe32}'
        | '\u{fe58}'
        | '\u{fe63}'
        | '\u{ff0d}' => '-',
        '\u{2022}' | '\u{2027}' | '\u{2219}' | '\u{22c5}' | '\u{30fb}' | '\u{ff65}' => '\u{b7}',
        c => c,
    }
}

fn invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0100}'..='\u{e01ef}')
}

/// The ASCII digit of a decimal digit of any script.
fn digit(c: char) -> Option<char> {
    if c.is_ascii() || ('\u{ff10}'..='\u{ff19}').contains(&c) {
        let c = if c.is_ascii() { c } else { char::from((c as u32 - 0xff10) as u8 + b'0') };
        return c.is_ascii_digit().then_some(c);
    }
    let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&(c as u32)))?;
    Some(char::from(b'0' + (c as u32 - zero) as u8))
}

/// Appends what one character is compared as.
fn fold(c: char, out: &mut Vec<char>) {
    match c {
        c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
        c if c.is_whitespace() || c.is_control() => {
            // A plain space beside a no-break one makes that a plain one too.
            match out.last_mut() {
                None | Some(' ') => {}
                Some(last) if *last == GROUP => *last = ' ',
                Some(_) => out.push(' '),
            }
        }
        GROUP => {
            if !matches!(out.last(), None | Some(' ' | &GROUP)) {
                out.push(GROUP);
            }
        }
        '\u{df}' | '\u{1e9e}' => out.extend(['s', 's']),
        '\u{3c2}' => out.push('\u{3c3}'),
        '\u{130}' | '\u{131}' => out.push('i'),
        // The dot of a dotted i in decomposed Turkish.
        '\u{307}' if out.last() == Some(&'i') => {}
        // Vowel signs and signs of recitation; tatweel.
        '\u{610}'..='\u{61a}'
        | '\u{640}'
        | '\u{64b}'..='\u{65f}'
        | '\u{670}'
        | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}'
        | '\u{6e7}'
        | '\u{6e8}'
        | '\u{6ea}'..='\u{6ed}' => {}
        '\u{622}' | '\u{623}' | '\u{625}' | '\u{671}'..='\u{673}' => out.push('\u{627}'),
        '\u{624}' | '\u{626}' => out.push('\u{621}'),
        '\u{649}' | '\u{6cc}' => out.push('\u{64a}'),
        '\u{629}' | '\u{6c0}'..='\u{6c3}' | '\u{6be}' | '\u{6d5}' => out.push('\u{647}'),
        '\u{6a9}' => out.push('\u{643}'),
        '\u{66a}' => out.push('%'),
        '\u{66b}' => out.push('.'),
        '\u{66c}' => out.push(','),
        '\u{93c}' => {}
        '\u{929}' | '\u{931}' | '\u{934}' => out.extend(char::from_u32(c as u32 - 1)),
        '\u{901}' => out.push(ANUSVARA),
        c => match digit(c) {
            Some(c) => out.push(c),
            // Some marks come to light in NFKC only, as a raised minus.
            None => out.extend(mark(c).to_lowercase()),
        },
    }
}

/// Writes what stands at a place of the folded text, and tells how many characters that took.
fn rewrite(chars: &[char], at: usize, out: &mut String) -> usize {
    let c = chars[at];
    let next = |n: usize| chars.get(at + n).copied().unwrap_or(' ');
    let last = out.chars().next_back();
    match c {
        '0'..='9' => return number(&chars[at..], out),
        ' ' | GROUP => {
            let percent = next(1) == '%' && last.is_some_and(|c| c.is_ascii_digit());
            if !percent && !ideograph(next(1)) && !last.is_some_and(ideograph) {
                out.push(' ');
            }
        }
        '\u{919}' | '\u{91e}' | '\u{923}' | '\u{928}' | '\u{92e}' if next(1) == VIRAMA && same_class(c, next(2)) => {
            out.push(ANUSVARA);
            return 2;
        }
        '\u{92f}' if matches!(next(1), '\u{940}' | '\u{947}') && last.is_some_and(|c| devanagari(c) && c != VIRAMA) => {
            out.push(if next(1) == '\u{940}' { '\u{908}' } else { '\u{90f}' });
            return 2;
        }
        c => {
            let ends = |c: char| !c.is_alphabetic() && !is_combining_mark(c);
            if let Some(vowels) = second_vowel(c, next(1)).filter(|_| ends(next(2))) {
                out.extend(vowels);
                return 2;
            }
            out.push(c);
        }
    }
    1
}

/// Is the stop of the class (velar, palatal, retroflex, dental, labial) whose nasal this is?
fn same_class(nasal: char, stop: char) -> bool {
    (nasal as u32 - 4..nasal as u32).contains(&(stop as u32))
}

fn second_vowel(first: char, second: char) -> Option<[char; 2]> {
    let (row, plain, other) = match second {
        'a' => (0, 'o', 1),
        'e' => (0, 'o', 2),
        'y' => (3, 'u', 4),
        _ => return None,
    };
    let tone = TONED[row].iter().position(|c| *c == first)?;
    Some([plain, TONED[other][tone]])
}

/// Writes a number that begins here with its groups closed up, and tells how many characters it took.
fn number(chars: &[char], out: &mut String) -> usize {
    let run = |from: usize| chars[from..].iter().take_while(|c| c.is_ascii_digit()).count();
    let mut groups = vec![(0, run(0))];
    let mut marks: Vec<char> = Vec::new();
    let mut end = groups[0].1;
    while end < chars.len() {
        let mark = chars[end];
        let length = if end + 1 < chars.len() { run(end + 1) } else { 0 };
        let goes_on = match mark {
            '.' | ',' => length > 0,
            // These only ever group, so what does not group ends the number.
            '\'' | GROUP => length == 3 && marks.iter().all(|m| *m == mark) && grouped(&groups, true),
            _ => false,
        };
        if !goes_on {
            break;
        }
        marks.push(mark);
        groups.push((end + 1, length));
        end += 1 + length;
    }
    let alike = |marks: &[char]| marks.iter().all(|m| *m == marks[0]);
    let whole = |count: usize| groups[..count].iter().flat_map(|&(from, length)| &chars[from..from + length]);
    let n = groups.len();
    if n == 1 {
        out.extend(whole(1));
    } else if alike(&marks) && grouped(&groups, false) && chars[0] != '0' {
        out.extend(whole(n));
    } else if n == 2
        || alike(&marks[..n - 2]) && marks[n - 2] != marks[0] && grouped(&groups[..n - 1], false) && chars[0] != '0'
    {
        out.extend(whole(n - 1));
        out.push('.');
        out.extend(&chars[groups[n - 1].0..end]);
    } else {
        // A date, a version, a list.
        out.extend(&chars[..end]);
    }
    end
}

/// One to three digits, then groups of three, or of two and at last three as in India.
fn grouped(groups: &[(usize, usize)], begun: bool) -> bool {
    let length = |n: usize| groups[n].1;
    let last = groups.len() - 1;
    let inner = |size: usize| (1..last).all(|n| length(n) == size);
    length(0) <= 3 && (begun && last == 0 || last > 0 && length(last) == 3 && (inner(3) || inner(2) && length(0) <= 2))
}

pub(super) fn devanagari(c: char) -> bool {
    matches!(c, '\u{900}'..='\u{963}' | '\u{971}'..='\u{97f}')
}

/// Chinese characters, kana and bopomofo: written without spaces, so that each may begin and end a word.
pub(super) fn ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{3035}'
        | '\u{3040}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Does the text's character continue the word that the one before it belongs to?
///
/// A word is letters of one script, or digits: "Python" in a Chinese or Arabic sentence ends where the script does, and "40"
/// ends before "th".
pub(super) fn joined(before: char, after: char) -> bool {
    match (class(before), class(after)) {
        (Class::Gap | Class::Ideograph, _) => false,
        (_, Class::Mark) | (Class::Digit, Class::Digit) => true,
        (Class::Mark, Class::Letter(_)) => true,
        (Class::Letter(a), Class::Letter(b)) => a == b,
        _ => false,
    }
}

/// Does a word hold this character?
pub(super) fn in_word(c: char) -> bool {
    class(c) != Class::Gap
}

/// What a character is to words, as a number: 0 parts them, 1 a digit, 2 an ideograph, 3 a mark, 10 and above the letters of a
/// script.
pub(crate) fn class_number(c: char) -> u8 {
    match class(c) {
        Class::Gap => 0,
        Class::Digit => 1,
        Class::Ideograph => 2,
        Class::Mark => 3,
        Class::Letter(script) => 10 + script,
    }
}

#[derive(PartialEq)]
enum Class {
    Gap,
    Digit,
    Ideograph,
    Mark,
    Letter(u8),
}

fn class(c: char) -> Class {
    match c {
        '0'..='9' => Class::Digit,
        'a'..='z' | 'A'..='Z' => Class::Letter(0),
        '\0'..='\u{7f}' => Class::Gap,
        c if ideograph(c) => Class::Ideograph,
        c if devanagari(c) => Class::Letter(3),
        '\u{300}'..='\u{36f}' => Class::Mark,
        '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}' if c.is_alphabetic() => Class::Letter(2),
        c if is_combining_mark(c) => Class::Mark,
        c if !c.is_alphanumeric() => Class::Gap,
        '\u{80}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{2c60}'..='\u{2c7f}' | '\u{a720}'..='\u{a7ff}' => {
            Class::Letter(0)
        }
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Class::Letter(4),
        '\u{400}'..='\u{52f}' => Class::Letter(5),
        _ => Class::Letter(1),
    }
}
