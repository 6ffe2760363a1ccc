//! What changed in a row that both releases have.

use super::columns::{Columns, equal, json};
use crate::table::text;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;

/// A kind of change. A row may have several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The question.
    Question,
    /// The gold, or what else is accepted: `answers`, `answer_variants`, `expected`, and `answers_by_language` in languages
    /// that both releases have.
    Answer,
    /// The text of the prompt.
    Prompt,
    /// The text of the prompt, while question, answers, distractors and positions are what they were.
    PromptOnly,
    /// The system message, or the messages.
    System,
    /// Which distractors, or their order.
    Distractors,
    /// Where the needles stand: `needle_spans` but for tokens, `supporting`, `position`, `moved`.
    Positions,
    /// Counts of tokens, and the needles' tokens.
    Tokens,
    /// Any other column.
    Other,
}

impl Kind {
    /// Its name, as JSON has it, with spaces.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Question => "question",
            Kind::Answer => "answer",
            Kind::Prompt => "prompt",
            Kind::PromptOnly => "prompt only",
            Kind::System => "system",
            Kind::Distractors => "distractors",
            Kind::Positions => "positions",
            Kind::Tokens => "tokens",
            Kind::Other => "other columns",
        }
    }

    /// Does it change what a model is shown, or what its answer is held against? All else is metadata.
    pub fn is_content(self) -> bool {
        matches!(self, Kind::Question | Kind::Answer | Kind::Prompt | Kind::PromptOnly | Kind::System)
    }

    /// Is a change of this column of this kind?
    pub fn has(self, column: &str) -> bool {
        column != "needle_spans" && Kind::of(column) == self
            || column == "needle_spans" && matches!(self, Kind::Positions | Kind::Tokens)
    }

    fn of(column: &str) -> Kind {
        match column {
            "question" => Kind::Question,
            "answers" | "answer_variants" | "answers_by_language" | "expected" => Kind::Answer,
            "prompt" | "prompt_sha256" => Kind::Prompt,
            "system" | "messages" => Kind::System,
            "distractor_ids" | "n_distractors" => Kind::Distractors,
            "supporting" | "position" | "moved" => Kind::Positions,
            "n_tokens" | "tokens" | "tokenizer" | "haystack_tokens" => Kind::Tokens,
            _ => Kind::Other,
        }
    }
}

/// How one list of distractors became another; sums of this over rows are counts too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Moves {
    /// Ids that only the second list has.
    pub added: u64,
    /// Ids that only the first has.
    pub removed: u64,
    /// Rows in which those that both have stand in another order.
    pub reordered: u64,
}

impl Moves {
    /// Adds those of another row.
    pub fn add(&mut self, other: Moves) {
        self.added += other.added;
        self.removed += other.removed;
        self.reordered += other.reordered;
    }

    /// How the first list becomes the second.
    pub fn between(a: &[&str], b: &[&str]) -> Moves {
        let mut left: FxHashMap<&str, u32> = FxHashMap::default();
        a.iter().for_each(|id| *left.entry(id).or_default() += 1);
        let mut take = |id: &&&str| {
            left.get_mut(**id).is_some_and(|n| {
                *n > 0 && {
                    *n -= 1;
                    true
                }
            })
        };
        let kept: Vec<&&str> = b.iter().filter(|id| take(id)).collect();
        // What is left over of the first list is gone from it; of an id that stands there twice, the last.
        let mut gone = a.len() - kept.len();
        let removed = gone as u64;
        let mut stayed: Vec<&&str> = Vec::with_capacity(kept.len());
        for id in a.iter().rev() {
            match left.get_mut(*id) {
                Some(n) if *n > 0 && gone > 0 => {
                    *n -= 1;
                    gone -= 1;
                }
                _ => stayed.push(id),
            }
        }
        stayed.reverse();
        Moves { added: (b.len() - kept.len()) as u64, removed, reordered: u64::from(stayed != kept) }
    }
}

/// A row that both releases have, and that is not the same in both.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Changed {
    /// Its id.
    pub id: String,
    /// The config of its file, in the first release.
    pub file: String,
    /// That in the second release, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// What kinds of change.
    pub kinds: Vec<Kind>,
    /// The columns that differ, in order.
    pub columns: Vec<String>,
    /// What became of its distractors, where they changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distractors: Option<Moves>,
}

impl Changed {
    /// Does it change what a model is shown, or what its answer is held against?
    pub fn is_content(&self) -> bool {
        self.kinds.iter().any(|kind| kind.is_content())
    }
}

/// What differs between two forms of a row. Where it stands is left empty.
pub fn changed(a: (&RecordBatch, usize), b: (&RecordBatch, usize), columns: &Columns) -> Changed {
    let mut names = Vec::new();
    let mut kinds = Vec::new();
    let mut distractors = None;
    for field in columns.compared() {
        let (Some(x), Some(y)) = (a.0.column_by_name(field.name()), b.0.column_by_name(field.name())) else { continue };
        let (x, y) = ((x, a.1), (y, b.1));
        if equal(x, y, field.data_type()) {
            continue;
        }
        names.push(field.name().clone());
        match field.name().as_str() {
            "needle_spans" => {
                kinds.extend((!equal(x, y, &columns.places)).then_some(Kind::Positions));
                kinds.extend((!equal(x, y, &columns.tokens)).then_some(Kind::Tokens));
            }
            // A wrong digest beside the same text is no other prompt.
            "prompt_sha256" if columns.prompts => kinds.push(match names.iter().any(|name| name == "prompt") {
                true => Kind::Prompt,
                false => Kind::Other,
            }),
            // The gold in one more language is no other gold: the row's own is in `answers`.
            "answers_by_language" if same_where_both(x, y) => kinds.push(Kind::Other),
            name => kinds.push(Kind::of(name)),
        }
        if field.name() == "distractor_ids" {
            let (x, y) = (x.0.as_list::<i32>().value(x.1), y.0.as_list::<i32>().value(y.1));
            distractors = Some(Moves::between(&strs(&x), &strs(&y)));
        }
    }
    let told = [Kind::Question, Kind::Answer, Kind::Distractors, Kind::Positions];
    let system = names.iter().any(|name| name == "system");
    if kinds.contains(&Kind::Prompt) && !system && !kinds.iter().any(|kind| told.contains(kind)) {
        kinds.push(Kind::PromptOnly);
    }
    kinds.sort_unstable();
    kinds.dedup();
    let id = text(a.0, "id", a.1).to_owned();
    Changed { id, file: String::new(), moved_to: None, kinds, columns: names, distractors }
}

/// Are the answers the same in the languages that both have?
fn same_where_both(a: (&ArrayRef, usize), b: (&ArrayRef, usize)) -> bool {
    let of = |(array, row): (&ArrayRef, usize)| json(array, row, array.data_type());
    let (a, b) = (of(a), of(b));
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (a, b) = (all(&a), all(&b));
    !a.is_empty() && !b.is_empty() && a.iter().all(|x| b.iter().all(|y| x["language"] != y["language"] || x == y))
}

fn strs(list: &ArrayRef) -> Vec<&str> {
    let list = list.as_string::<i32>();
    (0..list.len()).map(|n| list.value(n)).collect()
}
