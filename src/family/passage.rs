//! The passage family: an instruction, numbered passages, a question.
//!
//! The two prompts are those of the MLNeedle paper (arXiv 2408.10151, appendix "Prompt Templates"), word for word.
//!
//! Token counts: the head ends with a line feed; a label `[12]` ends before the space that begins its passage's
//! text; a passage's line ends with a line feed. At each of these seams both embedded tokenizers begin a new
//! piece, so counts add up (a property test holds it). The one exception is the blank line behind the last
//! passage: the feed belongs to what stands before it, so the last line is counted with both its feeds.

use crate::error::{Error, Result};
use crate::fail;
use crate::recipe::{Middle, Position, PromptKind};
use std::ops::Range;

/// A prompt of the paper: what stands before the passages, and after them.
struct Template {
    kind: PromptKind,
    head: &'static str,
    before_question: &'static str,
    after_question: &'static str,
}

const TEMPLATES: [Template; 2] = [
    Template {
        kind: PromptKind::Exact,
        head: "Write a high-quality answer for the given question using only the provided passages (some of which might be irrelevant).\n\n### Passages\n",
        before_question: "Question: ",
        after_question: "\n\nAnswer:",
    },
    Template {
        kind: PromptKind::Existence,
        head: "Read the following list of passages and indicate whether any of the passages contain the right answer for the given question. Format your output strictly as 'Yes' or 'No'.\n\n### Passages\n",
        before_question: "Question: ",
        after_question: "\n\nAnswer [Yes/No]:",
    },
];

fn template(kind: PromptKind) -> &'static Template {
    TEMPLATES.iter().find(|t| t.kind == kind).expect("every kind has its row")
}

/// What stands before the first passage, ended by a line feed.
pub fn head(kind: PromptKind) -> &'static str {
    template(kind).head
}

/// What stands behind the blank line after the last passage.
pub fn tail(kind: PromptKind, question: &str) -> String {
    let template = template(kind);
    [template.before_question, question, template.after_question].concat()
}

/// The label of a passage: a space and the text follow it.
pub fn label(number: usize) -> String {
    format!("[{number}]")
}

/// How many distractors stand before the needle; `tokens` are those of their lines, in the order printed. The middle
/// is the first of the places between whole passages that are nearest to half of the tokens.
pub fn before(position: Option<Position>, middle: Option<Middle>, tokens: &[i64]) -> usize {
    match (position, middle) {
        (None | Some(Position::Start), _) => 0,
        (Some(Position::End), _) => tokens.len(),
        (Some(Position::Middle), Some(Middle::Count)) => tokens.len() / 2,
        (Some(Position::Middle), _) => {
            let all: i64 = tokens.iter().sum();
            let mut sums = vec![0];
            tokens.iter().for_each(|n| sums.push(sums[sums.len() - 1] + n));
            (0..sums.len()).min_by_key(|n| (2 * sums[*n] - all).abs()).unwrap_or(0)
        }
    }
}

/// A prompt's text, taken apart.
pub struct Parts<'a> {
    /// Each passage: where its text lies in the prompt, in bytes.
    pub passages: Vec<Range<usize>>,
    /// The question.
    pub question: &'a str,
    /// Where the blank line behind the passages ends and the tail begins.
    pub tail: usize,
}

/// Takes a prompt apart. Its labels must count up from `first`.
pub fn parse(kind: PromptKind, prompt: &str, first: usize) -> Result<Parts<'_>> {
    let template = template(kind);
    let Some(rest) = prompt.strip_prefix(template.head) else {
        fail!("the prompt does not begin with the instruction of its kind");
    };
    let Some(body) = rest.strip_suffix(template.after_question) else {
        fail!("the prompt does not end as its kind does");
    };
    // A passage has no line feeds, so the only blank line is the one behind the passages.
    let Some((list, asked)) = body.split_once("\n\n") else {
        fail!("the prompt has no blank line behind its passages");
    };
    let Some(question) = asked.strip_prefix(template.before_question) else {
        fail!("no question follows the passages");
    };
    let mut passages = Vec::new();
    let mut at = template.head.len();
    for (n, line) in list.split('\n').enumerate() {
        let label = label(first + n);
        let text = line
            .strip_prefix(&label)
            .and_then(|text| text.strip_prefix(' '))
            .ok_or_else(|| Error::new(format!("line {} of the passages does not begin with {label}", n + 1)))?;
        passages.push(at + line.len() - text.len()..at + line.len());
        at += line.len() + 1;
    }
    Ok(Parts { passages, question, tail: at + 1 })
}
