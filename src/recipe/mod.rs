//! The recipe as it is written: what a release is, with every key's default. Opens nothing.

mod values;

pub use values::{Length, Name, OneOrMany, SeedSource, Task, Version};

use crate::error::{Error, Result};
use crate::language::Language;
use crate::story::AnswerSpread;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A recipe file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Name, version, seed, date and licence.
    pub release: Release,
    /// Where the stories come from.
    #[serde(default)]
    pub source: Source,
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
    /// What a length is.
    #[serde(default)]
    pub budget: Budget,
    /// Whose tokens are counted.
    #[serde(default)]
    pub tokens: Tokens,
    /// What is put around the context.
    #[serde(default)]
    pub prompt: Prompt,
}

/// `[release]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Names the release's folder; lower-case letters, digits, `-` and `_`.
    pub name: Name,
    /// Three numbers, such as 1.0.0.
    pub version: Version,
    /// A number, or where to read a secret seed.
    pub seed: SeedSource,
    /// Date of the release (YYYY-MM-DD), printed on the card; none is printed otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// SPDX identifier of the data's licence.
    #[serde(default = "Release::licence")]
    pub licence: String,
}

impl Release {
    fn licence() -> String {
        "CC-BY-4.0".to_owned()
    }
}

/// `[source]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Source {
    /// Simulated stories or bAbI's own.
    pub kind: SourceKind,
    /// Entry of `checksums/sources.toml` that pins the files; none: whatever `--data` holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// Which of bAbI's splits are drawn from.
    pub splits: Vec<Split>,
}

impl Default for Source {
    fn default() -> Self {
        Source { kind: SourceKind::Simulate, archive: None, splits: vec![Split::Test] }
    }
}

/// `source.kind`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Fresh stories from our own simulator.
    Simulate,
    /// The official bAbI files.
    Babi,
}

/// One of bAbI's splits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// The training questions.
    Train,
    /// The test questions.
    Test,
}

impl Split {
    /// As file names write it.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Test => "test",
        }
    }
}

/// `[stories]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stories {
    /// Instances of each task.
    pub tasks: BTreeMap<Task, u32>,
    /// How the labels are spread (simulated stories only).
    pub answers: AnswerSpread,
}

impl Default for Stories {
    fn default() -> Self {
        let tasks = Task::ALL.map(|task| (task, if task as u8 <= Task::FactChaining as u8 { 200 } else { 100 }));
        Stories { tasks: tasks.into_iter().collect(), answers: AnswerSpread::Balanced }
    }
}

/// `[grid]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grid {
    /// Languages of story, question and haystack.
    pub languages: Vec<Language>,
    /// Context lengths, `0k` for the bare story.
    pub lengths: Vec<Length>,
}

impl Default for Grid {
    fn default() -> Self {
        let lengths = [0, 2, 4, 8, 16, 32, 64, 128].map(Length).to_vec();
        Grid { languages: Language::all().collect(), lengths }
    }
}

/// `[distractors]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Distractors {
    /// One kind, or a list of kinds.
    pub kind: OneOrMany<Kind>,
    /// The paper's constraint on synthetic distractors.
    pub variant: Variant,
    /// Passages in the pool.
    pub pool: u32,
}

impl Default for Distractors {
    fn default() -> Self {
        Distractors { kind: OneOrMany::One(Kind::Synthetic), variant: Variant::Unconstrained, pool: 20_000 }
    }
}

/// `distractors.kind`
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Short passages of our own generator that read like the stories.
    Synthetic,
    /// Random letters of the language's script: the paper's control.
    Noise,
}

impl Kind {
    /// As recipes and columns write it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Synthetic => "synthetic",
            Kind::Noise => "noise",
        }
    }
}

/// `distractors.variant`: what a synthetic distractor shares with the story's facts (the paper's section 2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbedderName {
    /// Hashed character n-grams: embedded, integers only.
    Ngram,
}

/// `retrieval.engine`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// By the size of the pool.
    Auto,
    /// Every passage is scored.
    Exact,
}

/// `retrieval.ranking`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ranking {
    /// By the sum of the scores over the recipe's languages: the same passages in all of them.
    Pivot,
    /// By each language's own scores, as the paper does.
    PerLanguage,
}

/// `retrieval.query`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// The story's facts and its question.
    StoryAndQuestion,
    /// The facts only, as the paper's code does.
    Passage,
}

/// `[budget]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Tokens in one `k`: 1000 or 1024.
    pub unit: u32,
    /// Tokens left for the answer: one number, or one for each strategy.
    pub answer: Allowance,
    /// Tokens left for the model's chat template.
    pub template: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { unit: 1000, answer: Allowance::Same(64), template: 32 }
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of tokens, or a table of strategies and numbers")]
pub enum Allowance {
    /// The same for every strategy.
    Same(u32),
    /// By strategy.
    Each(BTreeMap<Strategy, u32>),
}

/// `[tokens]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// The tokenizer that lengths are counted with.
    pub primary: TokenizerName,
}

impl Default for Tokens {
    fn default() -> Self {
        Tokens { primary: TokenizerName::O200kBase }
    }
}

/// `tokens.primary`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenizerName {
    /// OpenAI's o200k_base.
    O200kBase,
    /// OpenAI's cl100k_base.
    Cl100kBase,
}

/// `[prompt]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prompt {
    /// Prompting strategies.
    pub strategies: Vec<Strategy>,
    /// Language of the instruction.
    pub instruction_language: InstructionLanguage,
    /// Order of the distractors in the context.
    pub order: Order,
}

impl Default for Prompt {
    fn default() -> Self {
        Prompt {
            strategies: vec![Strategy::ZeroShot],
            instruction_language: InstructionLanguage::Story,
            order: Order::Shuffled,
        }
    }
}

/// `prompt.strategies`
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Instruction, context, question.
    ZeroShot,
}

impl Strategy {
    /// As recipes and columns write it.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::ZeroShot => "zero_shot",
        }
    }
}

/// `prompt.instruction_language`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstructionLanguage {
    /// The story's own.
    Story,
    /// English, whatever the story's.
    En,
}

/// `prompt.order`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Most similar first.
    Ranked,
    /// In a seeded order of the instance, the same in every language and length.
    Shuffled,
}

impl Recipe {
    /// Reads a recipe's text. `name` stands in errors, which point at the line.
    pub fn parse(name: &str, text: &str) -> Result<Recipe> {
        toml::from_str(text).map_err(|e| {
            let text = e.to_string();
            Error::new(text.trim_end().to_owned()).at(format!("recipe {name}"))
        })
    }

    /// Finds a recipe: a path, else a name under `recipes/`, else one built into the program.
    pub fn find(argument: &str) -> Result<(String, Recipe)> {
        let stem = argument.strip_suffix(".toml").unwrap_or(argument);
        let in_folder = format!("recipes/{stem}.toml");
        for path in [argument, in_folder.as_str()] {
            if Path::new(path).is_file() {
                let text = std::fs::read_to_string(path)
                    .map_err(|e| Error::io("cannot read the recipe", Path::new(path), e))?;
                return Ok((path.to_owned(), Recipe::parse(path, &text)?));
            }
        }
        if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == stem) {
            return Ok((format!("{name} (built in)"), Recipe::parse(name, text)?));
        }
        let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        Err(Error::new(format!("no recipe {argument:?}: no such file, none under recipes/, none built in"))
            .help(format!("built in are {}", known.join(", "))))
    }
}

/// The recipes built into the program, by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("mlrbench", include_str!("../../recipes/mlrbench.toml")),
    ("mlrbench-babi", include_str!("../../recipes/mlrbench-babi.toml")),
    ("golden", include_str!("../../recipes/golden.toml")),
];
