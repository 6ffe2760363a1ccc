//! The answer in an output: of its JSON, behind what announces it, or all of it.

use super::find::in_word;
use super::words::Words;
use crate::language::{edge, normalize};

/// The texts of an output's answer, lower case. `chain`: its reasoning was asked for, so that of free text the last line counts.
pub(super) fn extract(output: &str, words: &Words, chain: bool) -> Vec<String> {
    let lower = output.to_lowercase();
    let text = match (lower.rfind("</think>"), lower.find("<think>")) {
        (Some(at), _) => &lower[at + "</think>".len()..],
        (None, Some(at)) => &lower[..at],
        (None, None) => &lower[..],
    };
    let cut = until_question(text, &words.questions);
    if let Some(found) = [cut, text].into_iter().find_map(|part| json_answer(part, &words.keys)) {
        return found;
    }
    if let Some(found) = boxed(cut) {
        return vec![found];
    }
    let plain: String = cut.chars().filter(|c| !matches!(c, '*' | '`' | '#')).collect();
    if let Some(found) = after_marker(&plain, &words.markers) {
        return vec![found];
    }
    if chain {
        return plain.split('\n').rfind(|line| line.chars().any(in_word)).map(str::to_owned).into_iter().collect();
    }
    vec![plain]
}

/// The text before a line that begins a further question.
fn until_question<'a>(text: &'a str, questions: &[String]) -> &'a str {
    let (mut at, mut seen) = (0, false);
    for line in text.split('\n') {
        let begin = line.trim_start_matches([' ', '\t', '\r', '*', '#', '>']);
        // Not the whole line is copied: it may be long.
        let begin: String = begin.chars().take(24).map(|c| if c == '\u{ff1a}' { ':' } else { c }).collect();
        if seen && questions.iter().any(|q| begin.starts_with(q.as_str())) {
            return &text[..at];
        }
        seen |= !line.trim_matches([' ', '\t', '\r']).is_empty();
        at += line.len() + 1;
    }
    text
}

/// What a quote that opens a string may be closed by.
fn closing(c: char) -> Option<&'static [char]> {
    Some(match c {
        '"' => &['"', '\u{201d}'],
        '\'' => &['\''],
        '\u{201c}' => &['\u{201d}', '"'],
        '\u{2018}' => &['\u{2019}', '\''],
        '\u{300c}' => &['\u{300d}'],
        '\u{201e}' => &['\u{201c}', '\u{201d}', '"'],
        _ => return None,
    })
}

fn is_quote(c: char) -> bool {
    closing(c).is_some() || matches!(c, '\u{201d}' | '\u{2019}' | '`')
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// The characters of a text, read from any place.
struct Reader {
    chars: Vec<char>,
}

impl Reader {
    fn get(&self, at: usize) -> Option<char> {
        self.chars.get(at).copied()
    }

    fn is(&self, at: usize, set: &[char]) -> bool {
        self.get(at).is_some_and(|c| set.contains(&c))
    }

    fn space(&self, mut at: usize) -> usize {
        while self.is(at, &SPACES) {
            at += 1;
        }
        at
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.chars.get(at..at + 4)?;
        // Of lower case: the text was made so.
        digits.iter().try_fold(0, |n, c| Some(n * 16 + c.to_digit(16).filter(|_| !c.is_ascii_uppercase())?))
    }

    /// A string that opens at `at`, and where it ends: at a quote that can end a JSON value, or with the text.
    fn string(&self, at: usize) -> (String, usize) {
        let closing = closing(self.chars[at]).expect("it is a quote");
        let mut out = String::new();
        let mut n = at + 1;
        while let Some(c) = self.get(n) {
            if let Some(escaped) = self.get(n + 1).filter(|_| c == '\\') {
                if let Some(code) = self.hex(n + 2).filter(|_| escaped == 'u') {
                    n += 6;
                    let low = self.hex(n + 2).filter(|_| self.get(n) == Some('\\') && self.get(n + 1) == Some('u'));
                    let low = low.filter(|low| (0xd800..0xdc00).contains(&code) && (0xdc00..0xe000).contains(low));
                    let code = match low {
                        Some(low) => {
                            n += 6;
                            0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                        }
                        None => code,
                    };
                    out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                    continue;
                }
                out.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' | 'f' => ' ',
                    other => other,
                });
                n += 2;
                continue;
            }
            if closing.contains(&c) {
                let after = self.space(n + 1);
                if after >= self.chars.len() || self.is(after, &['}', ']', ',', ':', '`', '\u{ff0c}']) {
                    return (out, n + 1);
                }
            }
            out.push(c);
            n += 1;
        }
        let rest = out.trim_end_matches([' ', '\t', '\r', '\n', '}', ']', '`', '"', '\'', '\u{201d}']);
        (rest.to_owned(), self.chars.len())
    }

    /// The texts of a JSON value that begins at `at`, and where it ends.
    fn value(&self, at: usize, depth: u32) -> (Vec<String>, usize) {
        let mut at = self.space(at);
        let Some(c) = self.get(at).filter(|_| depth <= 8) else { return (Vec::new(), self.chars.len()) };
        if closing(c).is_some() {
            let (value, end) = self.string(at);
            return (vec![value], end);
        }
        if matches!(c, '[' | '{') {
            let mut values = Vec::new();
            at += 1;
            loop {
                while self.is(at, &[' ', '\t', '\r', '\n', ',', '\u{ff0c}']) {
                    at += 1;
                }
                match self.get(at) {
                    None => return (values, at),
                    Some(']' | '}') => return (values, at + 1),
                    Some(_) => {}
                }
                let begin = at;
                let (mut inner, end) = self.value(at, depth + 1);
                at = end;
                let after = self.space(at);
                if c == '{' && self.is(after, &[':', '\u{ff1a}']) {
                    (inner, at) = self.value(after + 1, depth + 1);
                }
                values.extend(inner);
                if at == begin {
                    at += 1;
                }
            }
        }
        let mut end = at;
        while let Some(c) = self.get(end).filter(|c| !matches!(c, '}' | ']' | '\n')) {
            if matches!(c, ',' | '\u{ff0c}') {
                let after = self.space(end + 1);
                if depth > 0 || self.get(after).is_some_and(is_quote) {
                    break;
                }
            }
            if depth > 0 && matches!(c, ':' | '\u{ff1a}') {
                break;
            }
            end += 1;
        }
        let word: String = self.chars[at..end].iter().collect();
        let word = word.trim_matches([' ', '\t', '\r', '\n', '`']);
        (if word == "null" { Vec::new() } else { vec![word.to_owned()] }, end)
    }
}

/// The texts of the last JSON answer; none where there is none.
fn json_answer(text: &str, keys: &[String]) -> Option<Vec<String>> {
    let mut places: Vec<(usize, usize)> = Vec::new();
    for key in keys {
        for (at, _) in super::find::places(text, key) {
            let end = at + key.len();
            let opens = text[..at].chars().next_back().is_some_and(is_quote);
            let closes = text[end..].chars().next().filter(|c| is_quote(*c));
            let quoted = opens && closes.is_some();
            let rest = &text[end + closes.filter(|_| quoted).map_or(0, char::len_utf8)..];
            let colon = rest.trim_start_matches(SPACES);
            let Some(mark) = colon.chars().next().filter(|c| matches!(c, ':' | '\u{ff1a}')) else { continue };
            if quoted || text[..at].trim_end_matches(SPACES).ends_with('{') {
                places.push((at, text.len() - colon.len() + mark.len_utf8()));
            }
        }
    }
    places.sort_unstable();
    for (_, at) in places.into_iter().rev() {
        let rest = &text[at..];
        let (values, _) = Reader { chars: rest.chars().collect() }.value(0, 0);
        let given = values.iter().any(|v| !v.trim_matches(SPACES).is_empty());
        if given || !rest.trim_start_matches(SPACES).is_empty() {
            return Some(values);
        }
    }
    None
}

fn boxed(text: &str) -> Option<String> {
    let from = text.rfind("\\boxed{")? + "\\boxed{".len();
    let mut depth = 1;
    let end = text[from..].char_indices().find(|(_, c)| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    });
    let mut inner = text[from..end.map_or(text.len(), |(at, _)| from + at)].to_owned();
    for wrap in ["\\text{", "\\textbf{", "\\mathrm{", "\\mathbf{"] {
        inner = inner.replace(wrap, "");
    }
    Some(inner.replace('}', ""))
}

/// What stands behind the last thing that announces an answer: the rest of its line, or the next line.
fn after_marker(text: &str, markers: &[String]) -> Option<String> {
    let mut places: Vec<usize> = Vec::new();
    for marker in markers {
        let (word, needs_colon) = marker.strip_suffix(':').map_or((marker.as_str(), false), |word| (word, true));
        for (at, end) in super::find::places(text, word) {
            if !edge(text, at) || !edge(text, end) {
                continue;
            }
            let rest = text[end..].trim_start_matches([' ', '\t']);
            let colon = rest.chars().next().filter(|c| matches!(c, ':' | '\u{ff1a}'));
            if colon.is_some() || !needs_colon {
                places.push(text.len() - rest.len() + colon.map_or(0, char::len_utf8));
            }
        }
    }
    places.sort_unstable();
    let line = |at: &usize| text[*at..].split('\n').find(|line| line.chars().any(in_word)).map(str::to_owned);
    places.iter().rev().find_map(line)
}

/// The texts of an answer as one normalised text, in which `|` parts lines and texts.
pub(super) fn clean(parts: &[String]) -> String {
    let text: String = parts.join("\n").chars().filter(|c| !matches!(c, '*' | '`')).collect();
    let text = text.replace(['_', '\\'], " ");
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.iter().filter(|line| item(line).is_some()).count() > 1 {
        lines.iter_mut().for_each(|line| *line = item(line).unwrap_or(line));
    }
    normalize(&lines.join(" | "))
}

/// The text of a numbered line.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start_matches([' ', '\t', '\r']);
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == line.len() {
        return None;
    }
    let rest = rest.strip_prefix(['.', ')'])?;
    rest.strip_prefix([' ', '\t'])
}
