//! A prompt as marked text: its instruction, its context with needles and distractors, its question.

use super::plots::grouped;
use crate::audit::is_unsafe;
use crate::family::reasoning::{CONTEXT, CONTEXT_END};
use crate::markup::{escaped_by, number};
use crate::record::NeedleSpan;
use std::ops::Range;

use super::sample::Languages;

/// Codes of languages that are written from right to left.
const RIGHT_TO_LEFT: [&str; 16] =
    ["ar", "arc", "ary", "arz", "azb", "ckb", "dv", "fa", "he", "nqo", "pnb", "ps", "sd", "ug", "ur", "yi"];

/// `rtl` or `ltr`; a script in the code decides, where it names one.
pub fn direction(language: &str) -> &'static str {
    let mut parts = language.split(['-', '_']);
    let first = parts.next().unwrap_or_default();
    match parts.next() {
        Some("Arab" | "Hebr" | "Thaa" | "Nkoo" | "Syrc") => "rtl",
        Some(script) if script.len() == 4 => "ltr",
        _ if RIGHT_TO_LEFT.contains(&first) => "rtl",
        _ => "ltr",
    }
}

/// Text that means nothing to a browser; what would turn or hide the text around it is shown as its number.
pub fn escaped(text: &str) -> String {
    escaped_by(text, |c, out| match c {
        '\t' => out.push(' '),
        '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}' => number(c, out),
        c if is_unsafe(c) => number(c, out),
        c => out.push(c),
    })
}

/// Characters of a stretch without a mark that an excerpt keeps at either end.
const KEPT: usize = 150;

/// Where the context of a prompt lies.
fn context(prompt: &str, family: &str, question: &str) -> Range<usize> {
    match family {
        "reasoning" => {
            let start = prompt.find(CONTEXT).map(|at| at + CONTEXT.len());
            let end = prompt.rfind(CONTEXT_END);
            start.zip(end).filter(|(start, end)| start <= end).map_or(0..0, |(start, end)| start..end)
        }
        "passage" => {
            let mut at = 0;
            let mut found: Option<Range<usize>> = None;
            for line in prompt.split_inclusive('\n') {
                let label = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
                if label.is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
                    let start = found.map_or(at, |found| found.start);
                    found = Some(start..at + line.len());
                }
                at += line.len();
            }
            found.unwrap_or(0..0)
        }
        _ => 0..prompt.rfind(question).filter(|_| !question.is_empty()).unwrap_or(prompt.len()),
    }
}

/// A prompt with what is known of it.
pub struct Prompt<'a> {
    /// Its text.
    pub text: &'a str,
    /// The family.
    pub family: &'a str,
    /// The question as printed.
    pub question: &'a str,
    /// Its needles, by bytes.
    pub spans: &'a [NeedleSpan],
    /// Its languages.
    pub languages: &'a Languages,
    /// Show all of it.
    pub whole: bool,
}

impl Prompt<'_> {
    /// As paragraphs of HTML, one a line of the prompt.
    pub fn html(&self) -> String {
        let context = context(self.text, self.family, self.question);
        // Spans that do not fit the prompt are for `verify` to report.
        let fits = |s: &&NeedleSpan| s.start < s.end && self.text.get(s.start as usize..s.end as usize).is_some();
        let spans: Vec<&NeedleSpan> = self.spans.iter().filter(fits).collect();
        let mut out = String::new();
        let mut inside = false;
        let mut left: (u64, u64) = (0, 0);
        let lines = lines(self.text);
        let touched =
            |line: &Range<usize>| spans.iter().any(|s| (s.start as usize) < line.end && line.start < s.end as usize);
        for (n, line) in lines.iter().enumerate() {
            if line.is_empty() {
                continue;
            }
            let here = context.contains(&line.start);
            if here != inside {
                cut(&mut left, &mut out);
                match here {
                    true => out += &self.opening(),
                    false => out += "</div>",
                }
                inside = here;
            }
            let near = || {
                touched(line)
                    || n.checked_sub(1).is_some_and(|n| touched(&lines[n]))
                    || lines.get(n + 1).is_some_and(touched)
            };
            if here && !self.whole && !near() {
                left = (left.0 + 1, left.1 + self.text[line.clone()].chars().count() as u64);
                continue;
            }
            cut(&mut left, &mut out);
            out += &match (here, touched(line)) {
                (false, _) => format!("<p lang=\"{}\" dir=\"auto\">", escaped(&self.languages.question)),
                (true, false) => "<p>".to_owned(),
                (true, true) => {
                    let needle = &self.languages.needle;
                    format!("<p class=\"n\" lang=\"{}\" dir=\"{}\">", escaped(needle), direction(needle))
                }
            };
            self.line(line, &spans, &mut out);
            out += "</p>";
        }
        cut(&mut left, &mut out);
        out += if inside { "</div>" } else { "" };
        out
    }

    fn opening(&self) -> String {
        let haystack = &self.languages.haystack;
        // A haystack may hold passages of all languages: each then finds its own direction.
        match haystack.as_str() {
            "multilingual" => "<div class=\"ctx mix\">".to_owned(),
            _ => format!("<div class=\"ctx\" lang=\"{}\" dir=\"{}\">", escaped(haystack), direction(haystack)),
        }
    }

    fn line(&self, line: &Range<usize>, spans: &[&NeedleSpan], out: &mut String) {
        let mut edges = vec![line.start, line.end];
        for span in spans {
            edges.extend([span.start as usize, span.end as usize].into_iter().filter(|at| line.contains(at)));
        }
        edges.sort_unstable();
        edges.dedup();
        for part in edges.windows(2) {
            let over = spans.iter().filter(|s| s.start as usize <= part[0] && part[1] <= s.end as usize);
            let (mut any, mut supporting) = (false, false);
            over.for_each(|s| (any, supporting) = (true, supporting || s.supporting));
            let text = &self.text[part[0]..part[1]];
            match (any, supporting) {
                (false, _) => self.plain(text, out),
                (true, false) => *out += &format!("<mark class=\"fact\">{}</mark>", escaped(text)),
                (true, true) => *out += &format!("<mark>{}</mark>", escaped(text)),
            }
        }
    }

    /// Text without a mark: of an excerpt, its ends.
    fn plain(&self, text: &str, out: &mut String) {
        let long = || text.chars().count();
        if self.whole || text.len() <= 3 * KEPT || long() <= 3 * KEPT {
            *out += &escaped(text);
            return;
        }
        let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
        let (first, last) = (at(KEPT), at(long() - KEPT));
        let between = text[first..last].chars().count() as u64;
        *out += &format!(
            "{}<span class=\"cut\" lang=\"en\" dir=\"ltr\">{} characters left out</span>{}",
            escaped(&text[..first]),
            grouped(between),
            escaped(&text[last..])
        );
    }
}

/// The lines of a text, without their ends.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut out = Vec::new();
    for line in text.split('\n') {
        out.push(at..at + line.len());
        at += line.len() + 1;
    }
    out
}

/// Says what is left out, if there is something.
fn cut(left: &mut (u64, u64), out: &mut String) {
    let (lines, characters) = std::mem::take(left);
    if lines > 0 {
        let s = if lines == 1 { "" } else { "s" };
        *out += &format!(
            "<p class=\"cut\" lang=\"en\" dir=\"ltr\">{} line{s} left out ({} characters)</p>",
            grouped(lines),
            grouped(characters)
        );
    }
}
