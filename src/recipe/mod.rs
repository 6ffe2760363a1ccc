//! The recipe as it is written: what a release is, with every key's default. Opens nothing.

mod about;
pub mod draft;
mod factoid;
pub(crate) mod near;
mod origin;
mod passage;
mod rag;
mod read;
pub mod schema;
mod tokens;
mod translation;
mod values;
mod written;

pub(crate) use about::check as check_about;
pub use about::{Erratum, Release};
pub use factoid::*;
pub use passage::*;
pub use rag::*;
pub use read::BUILT_IN;
pub use tokens::*;
pub use translation::*;
pub(crate) use values::tight;
pub use values::{Haystack, Length, Name, OneOrMany, Pairs, QuestionLanguage, SeedSource, Task, TaskKey, Version};
pub use written::WrittenBy;

use crate::language::Language;
use crate::story::AnswerSpread;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A recipe file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Name, version, seed, date and licence.
    pub release: Release,
    /// Where stories or questions come from.
    #[serde(default)]
    pub source: Source,
    /// Where passages come from: MLNeedle's haystack, and natural distractors of stories.
    #[serde(default)]
    pub haystack: Collection,
    /// Which tasks, and how many instances of each.
    #[serde(default)]
    pub stories: Stories,
    /// Languages and context lengths.
    #[serde(default)]
    pub grid: Grid,
    /// What the haystack is made of.
    #[serde(default)]
    pub distractors: Distractors,
    /// How distractors are ranked.
    #[serde(default)]
    pub retrieval: Retrieval,
    /// The model behind `retrieval.embedder = "onnx"`.
    #[serde(default)]
    pub embedding: Embedding,
    /// What a length is.
    #[serde(default)]
    pub budget: Budget,
    /// Whose tokens are counted.
    #[serde(default)]
    pub tokens: Tokens,
    /// What is put around the context.
    #[serde(default)]
    pub prompt: Prompt,
    /// What a model is asked for `distractors.kind = "written"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<WrittenBy>,
    /// Languages by machine translation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<Translation>,
    /// Prompts cut down to the sentences most like their question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rag: Option<Rag>,
    /// Lengths and depths of the in-context recall test.
    #[serde(default)]
    pub slots: Slots,
    /// What is hidden in running text, and asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needles: Vec<Factoid>,
    /// What is wrong with rows of this version or an earlier one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errata: Vec<Erratum>,
    /// The text that it was read from, for errors.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) origin: origin::Origin,
}

/// The families of benchmarks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Facts of a story, spread over a haystack: MLRBench.
    Reasoning,
    /// One passage that holds the answer, among others: MLNeedle.
    Passage,
    /// One sentence in running text: the in-context recall test.
    Factoid,
}

impl Family {
    /// As columns write it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Reasoning => "reasoning",
            Family::Passage => "passage",
            Family::Factoid => "factoid",
        }
    }
}

/// `[source]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Source {
    /// Simulated stories, bAbI's own, or questions about passages.
    pub kind: SourceKind,
    /// Entry of `checksums/sources.toml` that pins the files; `{language}` stands for a language's code. None:
    /// whatever `--data` holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// Which of the source's splits are drawn from.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub splits: Vec<Split>,
    /// Name of a set of questions: ids begin with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Name>,
    /// Name of a set's files, one a language, with `{language}` and `{split}`; also inside a zip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<OneOrMany<String>>,
}

impl Default for Source {
    fn default() -> Self {
        Source { kind: SourceKind::Simulate, archive: None, splits: vec![Split::Test], dataset: None, files: None }
    }
}

/// `source.kind`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Fresh stories from our own simulator.
    Simulate,
    /// The official bAbI files.
    Babi,
    /// The data files of the released MLRBench repository: its English stories, in their order.
    Released,
    /// Questions about passages in SQuAD's format, parallel by their ids: MLQA, XQuAD.
    Squad,
    /// Sentences hidden in running text.
    Text,
}

/// One of a source's splits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// The training questions.
    Train,
    /// The development questions.
    Dev,
    /// The test questions.
    Test,
}

impl Split {
    /// As file names write it.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Dev => "dev",
            Split::Test => "test",
        }
    }
}

/// `[stories]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stories {
    /// Instances of each task, or of single source tasks.
    #[schemars(schema_with = "schema::tasks")]
    pub tasks: BTreeMap<TaskKey, u32>,
    /// How the labels are spread (simulated stories only).
    pub answers: AnswerSpread,
}

impl Default for Stories {
    fn default() -> Self {
        let paper = Task::ALL[..Task::PAPER].iter();
        let n = |task: &Task| if *task as u8 <= Task::FactChaining as u8 { 200 } else { 100 };
        let tasks = paper.map(|task| (TaskKey::Task(*task), n(task)));
        Stories { tasks: tasks.collect(), answers: AnswerSpread::Balanced }
    }
}

/// `[grid]`. The keys from `needle` on are MLNeedle's, and unset in other families.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Grid {
    /// Languages of story, question and haystack.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub languages: Vec<Language>,
    /// Context lengths, `0k` for the bare story, or for the needle alone.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub lengths: Vec<Length>,
    /// Languages of the story; all of `languages` if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub story: Option<Vec<Language>>,
    /// Languages of the needle; all of `languages` if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub needle: Option<Vec<Language>>,
    /// Languages of the haystack, and `multilingual`; all of them if unset. Of stories: each story's own if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub haystack: Option<Vec<Haystack>>,
    /// Which needles, or stories, stand in which haystacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Pairs>,
    /// Language of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionLanguage>,
    /// Where the needle stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub positions: Option<Vec<Position>>,
    /// Questions in each cell of languages, position and length.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 99_999))]
    pub samples: Option<u32>,
    /// How the questions of a cell are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// What is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub prompts: Option<Vec<PromptKind>>,
}

impl Default for Grid {
    fn default() -> Self {
        let lengths = [0, 2, 4, 8, 16, 32, 64, 128].map(Length).to_vec();
        Grid {
            languages: Language::of_the_papers().collect(),
            lengths,
            story: None,
            needle: None,
            haystack: None,
            pairs: None,
            question: None,
            positions: None,
            samples: None,
            choice: None,
            prompts: None,
        }
    }
}

/// `[distractors]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Distractors {
    /// One kind, or a list of kinds.
    pub kind: OneOrMany<Kind>,
    /// The paper's constraint on synthetic distractors.
    pub variant: Variant,
    /// Passages in the pool.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub pool: u32,
}

impl Default for Distractors {
    fn default() -> Self {
        Distractors { kind: OneOrMany::One(Kind::Synthetic), variant: Variant::Unconstrained, pool: 20_000 }
    }
}

/// `distractors.kind`
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Short passages of our own generator that read like the stories.
    Synthetic,
    /// Passages of `[haystack]`, ranked by similarity.
    Natural,
    /// Random letters of the language's script: the paper's control.
    Noise,
    /// Passages written by a model, as the paper's synthetic ones are.
    Written,
}

impl Kind {
    /// As recipes and columns write it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Synthetic => "synthetic",
            Kind::Natural => "natural",
            Kind::Noise => "noise",
            Kind::Written => "written",
        }
    }
}

/// `distractors.variant`: what a synthetic distractor shares with the story's facts (the paper's section 2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Any event, any object.
    Unconstrained,
    /// Only the kinds of event that the story tells of, and moves, which every event needs.
    SameAction,
    /// Only the story's objects, in sentences that change no state.
    SameObject,
}

/// `[retrieval]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retrieval {
    /// What turns text into vectors.
    pub embedder: EmbedderName,
    /// How the nearest are found.
    pub engine: Engine,
    /// One ranking for all languages, or one for each.
    pub ranking: Ranking,
    /// What is compared with the passages.
    pub query: Query,
}

impl Default for Retrieval {
    fn default() -> Self {
        Retrieval {
            embedder: EmbedderName::Ngram,
            engine: Engine::Auto,
            ranking: Ranking::Pivot,
            query: Query::StoryAndQuestion,
        }
    }
}

/// `retrieval.embedder`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmbedderName {
    /// Hashed character n-grams: embedded, integers only.
    Ngram,
    /// The neural model of `[embedding]`.
    Onnx,
}

/// `retrieval.engine`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// By the size of the pool.
    Auto,
    /// Every passage is scored.
    Exact,
    /// A graph of near neighbours (HNSW), whose candidates are scored.
    Hnsw,
}

/// `retrieval.ranking`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ranking {
    /// By the sum of the scores over the recipe's languages: the same passages in all of them.
    Pivot,
    /// By each language's own scores, as the paper does.
    PerLanguage,
}

/// `retrieval.query`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// The story's facts and its question.
    StoryAndQuestion,
    /// The facts only, as the paper's code does.
    Passage,
}

/// `[budget]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Tokens in one `k`: 1000 or 1024.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub unit: u32,
    /// Tokens left for the answer: one number, or one for each strategy.
    pub answer: Allowance,
    /// Tokens left for the model's chat template.
    pub template: u32,
    /// What a length bounds.
    #[serde(skip_serializing_if = "Bound::is_prompt")]
    pub counts: Bound,
    /// Under which tokenizers a prompt must fit.
    #[serde(skip_serializing_if = "Fit::is_primary")]
    pub fit: Fit,
    /// Whether all languages hold the same distractors.
    #[serde(skip_serializing_if = "By::is_tokens")]
    pub by: By,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            unit: 1000,
            answer: Allowance::Same(64),
            template: 32,
            counts: Bound::Prompt,
            fit: Fit::Primary,
            by: By::Tokens,
        }
    }
}

/// `budget.counts`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The whole prompt, the answer and the chat template.
    Prompt,
    /// The passages' texts alone, as MLNeedle's released code counts: prompts come out longer.
    Passages,
}

impl Bound {
    fn is_prompt(&self) -> bool {
        *self == Bound::Prompt
    }
}

impl Budget {
    /// Tokens that a length stands for.
    pub fn tokens(&self, length: Length) -> u64 {
        u64::from(length.0) * u64::from(self.unit)
    }

    /// Tokens kept free: the answer allowance and the chat template. (A strategy without an allowance is refused
    /// when the plan is made.)
    pub fn reserve(&self, strategy: Strategy) -> u64 {
        let answer = match &self.answer {
            Allowance::Same(n) => *n,
            Allowance::Each(each) => each.get(&strategy).copied().unwrap_or(0),
        };
        u64::from(answer) + u64::from(self.template)
    }
}

/// `budget.answer`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number of tokens, or a table of strategies and numbers")]
pub enum Allowance {
    /// The same for every strategy.
    Same(u32),
    /// By strategy.
    Each(#[schemars(schema_with = "schema::by_strategy::<u32>")] BTreeMap<Strategy, u32>),
}

/// `[prompt]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Prompt {
    /// Prompting strategies.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub strategies: Vec<Strategy>,
    /// Templates of strategies, in place of the program's own (see `family::reasoning::template`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::by_strategy::<String>")]
    pub templates: BTreeMap<Strategy, String>,
    /// Worked examples of a few-shot prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16))]
    pub examples: Option<u32>,
    /// Language of the instruction.
    pub instruction_language: InstructionLanguage,
    /// Order of the distractors in the context.
    pub order: Order,
    /// Number of the first passage.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000))]
    pub first_label: Option<u32>,
    /// What the middle is the middle of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middle: Option<Middle>,
    /// What becomes of the first passage that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Last>,
    /// How system message, document and question are put together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// The system message, in place of the language packs'.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

impl Default for Prompt {
    fn default() -> Self {
        Prompt {
            strategies: vec![Strategy::ZeroShot],
            templates: BTreeMap::new(),
            examples: None,
            instruction_language: InstructionLanguage::Story,
            order: Order::Shuffled,
            first_label: None,
            middle: None,
            last: None,
            layout: None,
            system: None,
        }
    }
}

impl Prompt {
    /// The template of a strategy.
    pub fn template(&self, strategy: Strategy) -> &str {
        self.templates.get(&strategy).map_or_else(|| crate::family::reasoning::template(strategy), String::as_str)
    }

    /// Worked examples of a few-shot prompt: two, unless the recipe says otherwise.
    pub fn worked(&self) -> usize {
        self.examples.unwrap_or(2) as usize
    }
}

/// `prompt.strategies` (the paper's section 3.3)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Instruction, context, question.
    ZeroShot,
    /// The context is to be translated into English first; the answer, and so the gold, is English.
    Translation,
    /// Reasons are asked for before the answer.
    ChainOfThought,
    /// Worked examples stand before the question.
    FewShot,
}

impl Strategy {
    /// All, in order.
    pub const ALL: [Strategy; 4] =
        [Strategy::ZeroShot, Strategy::Translation, Strategy::ChainOfThought, Strategy::FewShot];

    /// As recipes and columns write it.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::ZeroShot => "zero_shot",
            Strategy::Translation => "translation",
            Strategy::ChainOfThought => "chain_of_thought",
            Strategy::FewShot => "few_shot",
        }
    }
}

/// `prompt.instruction_language`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstructionLanguage {
    /// The story's own.
    Story,
    /// The question's.
    Question,
    /// English, whatever the story's.
    En,
}

/// `prompt.order`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Most similar first.
    Ranked,
    /// In a seeded order of the instance, the same in every language and length.
    Shuffled,
}
