//! The rows that flow between stages; plain data.

use crate::language::{Language, Message};
use crate::recipe::Task;
use crate::story::{Answer, SourceTask, Story};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One instance: a story with its question, the same in every language, length, strategy and kind of distractor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Instance {
    /// `<source task>-<5 digits>`.
    pub id: String,
    /// The task of the recipe.
    pub task: Task,
    /// Facts and question.
    pub story: Story,
    /// The gold.
    pub answer: Answer,
    /// Indices of the facts the gold rests on.
    pub support: Vec<u32>,
    /// Where each fact stands in the haystack, in millionths, ascending.
    pub depths: Vec<u32>,
    /// Where it came from: `qa3_test:17` for the question on that line; none for a simulated story.
    pub source_id: Option<String>,
}

impl Instance {
    /// bAbI's task.
    pub fn source_task(&self) -> SourceTask {
        self.story.task
    }
}

/// One passage of the pool as meaning: the same in every language.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Passage {
    /// Its sentences, in order.
    pub sentences: Vec<Message>,
}

/// The pool's passages in one language: text, and what is needed to fit and place it.
///
/// A passage's text is its sentences, each ended by a line feed. Token counts of passages add up,
/// because a line feed ends each part (see `tokenizer`).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LocalPool {
    /// All passages one after the other.
    pub text: String,
    /// Where each passage begins in `text`, and where the last one ends.
    pub starts: Vec<u32>,
    /// Tokens of each passage.
    pub tokens: Vec<u32>,
}

impl LocalPool {
    /// Number of passages.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// True without passages.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The text of a passage.
    pub fn passage(&self, n: usize) -> &str {
        &self.text[self.starts[n] as usize..self.starts[n + 1] as usize]
    }

    /// Bytes of a passage.
    pub fn bytes(&self, n: usize) -> usize {
        (self.starts[n + 1] - self.starts[n]) as usize
    }

    /// Appends a passage.
    pub fn push(&mut self, text: &str, tokens: u32) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.text.push_str(text);
        self.starts.push(self.text.len() as u32);
        self.tokens.push(tokens);
    }
}

/// Where a fact stands in a prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NeedleSpan {
    /// First byte of the sentence in the prompt.
    pub start: u64,
    /// One past its last byte.
    pub end: u64,
    /// The same in characters (Unicode scalar values); filled in by the writer.
    pub char_start: u64,
    /// One past its last character.
    pub char_end: u64,
    /// Its first token, under the primary tokenizer.
    pub token_start: u64,
    /// One past its last token, which may also hold the line feed after it.
    pub token_end: u64,
    /// Share of the context's tokens (of a running text: of those that are not its own) that stand before it, in
    /// millionths.
    pub depth: u64,
    /// The gold rests on it.
    pub supporting: bool,
}

/// One row of a release, but for its prompt, which is rendered into a buffer and never kept. What is not
/// here is the same for a whole file or null in this family.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// `<instance>-<language>-<length>-<strategy>-<kind>`; for MLNeedle see `stage::needles::row_id`.
    pub id: String,
    /// The instance's id.
    pub instance_id: String,
    /// Name of the task.
    pub task: &'static str,
    /// Name of its category.
    pub category: &'static str,
    /// bAbI's task, or the set of questions.
    pub source_task: String,
    /// Where the needle is asked to stand: a word, or a percentage.
    pub position: Option<Cow<'static, str>>,
    /// The length, where it is not the file's.
    pub length: Option<String>,
    /// The system message, where it stands apart.
    pub system: Option<String>,
    /// What a row and its needle-free twin have in common.
    pub pair_id: Option<String>,
    /// `Yes` or `No` where existence is asked for.
    pub expected: Option<&'static str>,
    /// The question as printed.
    pub question: String,
    /// The gold.
    pub answers: Vec<String>,
    /// What else is accepted.
    pub answer_variants: Vec<String>,
    /// The gold in every language of the recipe.
    pub answers_by_language: Vec<(String, Vec<String>)>,
    /// Tokens of the prompt.
    pub n_tokens: u64,
    /// The same under each tokenizer that is counted beside the primary one.
    pub also: Vec<AlsoTokens>,
    /// One entry a fact, in order.
    pub needle_spans: Vec<NeedleSpan>,
    /// Indices of the supporting facts.
    pub supporting: Vec<u32>,
    /// Tokens of the running text with its needle.
    pub haystack_tokens: Option<u64>,
    /// Sentence breaks nearer to the asked depth that the guard passed over.
    pub moved: Option<u64>,
    /// How many times the running text begins.
    pub repeats: Option<u64>,
    /// The distractors, in the order printed.
    pub distractor_ids: Vec<String>,
    /// Where the story came from.
    pub source_id: Option<String>,
    /// How the row was proven.
    pub certificate: &'static str,
    /// Ids of the worked examples.
    pub examples: Option<Vec<String>>,
    /// Their answers, as printed.
    pub example_labels: Option<Vec<String>>,
    /// Of a row with the best sentences of another row alone: how they were found and how well.
    pub retrieved: Option<Retrieved>,
}

/// How the sentences of a row were retrieved from those of a whole prompt, and what was lost.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Retrieved {
    /// Name of the retriever.
    pub retriever: &'static str,
    /// Sentences that were asked for.
    pub top_k: u64,
    /// The sentences that are left have the gold as their one answer.
    pub answerable: bool,
    /// Share of all facts among them, in millionths.
    pub recall: u64,
    /// Share of the supporting facts among them, in millionths.
    pub recall_supporting: u64,
}

/// A prompt under one more tokenizer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AlsoTokens {
    /// Tokens of the prompt.
    pub n_tokens: u64,
    /// First token, and one past the last, of each needle span.
    pub spans: Vec<(u64, u64)>,
}

/// A question of MLNeedle's, in every language in which it exists.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NeedleInstance {
    /// `<dataset>-<5 digits>`.
    pub id: String,
    /// The id that its source gives it.
    pub source_id: String,
    /// By language.
    pub by_language: BTreeMap<Language, Needle>,
}

/// A question with the passage that answers it, in one language.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Needle {
    /// The question.
    pub question: String,
    /// The passage.
    pub context: String,
    /// The gold answers; the first stands at `start..end`.
    pub answers: Vec<String>,
    /// First byte of the answer in the passage.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
}
