//! Values of recipes that are more than a word: lengths, names, seeds, tasks, lists.

use crate::language::Language;
use crate::story::SourceTask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A context length in units of `budget.unit` tokens; written `8k`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Length(pub u32);

impl fmt::Debug for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}k", self.0)
    }
}

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let text = text.trim();
        let number = text.strip_suffix('k').and_then(|n| n.parse().ok()).filter(|n| *n <= 10_000);
        let canonical = number.map(Length).filter(|length| length.to_string() == text);
        canonical
            .ok_or_else(|| format!("`{text}` is not a length, expected a number of thousands such as 0k, 8k or 128k"))
    }
}

/// Flags may have spaces around a value, recipes not.
pub(crate) fn tight(text: &str) -> std::result::Result<(), String> {
    if text.trim() == text { Ok(()) } else { Err(format!("`{text}` has spaces around it")) }
}

/// Language of a haystack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Haystack {
    /// One language.
    In(Language),
    /// All languages of the recipe, passage by passage in turn.
    Multilingual,
}

impl fmt::Display for Haystack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Haystack::In(language) => language.fmt(f),
            Haystack::Multilingual => f.write_str("multilingual"),
        }
    }
}

impl fmt::Debug for Haystack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Haystack {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "multilingual" => Ok(Haystack::Multilingual),
            _ => text.parse().map(Haystack::In).map_err(|e| format!("{e}, or multilingual")),
        }
    }
}

/// `grid.question`: the question's language.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum QuestionLanguage {
    /// The needle's, or the story's; `story` is read too.
    Needle,
    /// The haystack's (the needle's in a multilingual one).
    Haystack,
    /// Always this one.
    Fixed(Language),
}

impl fmt::Display for QuestionLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuestionLanguage::Needle => f.write_str("needle"),
            QuestionLanguage::Haystack => f.write_str("haystack"),
            QuestionLanguage::Fixed(language) => language.fmt(f),
        }
    }
}

impl fmt::Debug for QuestionLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for QuestionLanguage {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "needle" | "story" => Ok(QuestionLanguage::Needle),
            "haystack" => Ok(QuestionLanguage::Haystack),
            _ => text.parse().map(QuestionLanguage::Fixed).map_err(|e| format!("{e}, or needle, or haystack")),
        }
    }
}

/// `grid.pairs`: which needle languages meet which haystack languages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pairs {
    /// Each with each.
    All,
    /// Needle and haystack in one language.
    Monolingual,
    /// Any needle in English haystacks.
    NeedleVaries,
    /// English needles in any haystack.
    HaystackVaries,
    /// These, as `needle-haystack`.
    List(Vec<(Language, Haystack)>),
}

impl Serialize for Pairs {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Pairs::All => serializer.serialize_str("all"),
            Pairs::Monolingual => serializer.serialize_str("monolingual"),
            Pairs::NeedleVaries => serializer.serialize_str("needle-varies"),
            Pairs::HaystackVaries => serializer.serialize_str("haystack-varies"),
            Pairs::List(pairs) => serializer.collect_seq(pairs.iter().map(|(n, h)| format!("{n}-{h}"))),
        }
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error as _;
        let pair = |text: &String| -> std::result::Result<(Language, Haystack), D::Error> {
            let parts = text.split_once('-').ok_or_else(|| {
                D::Error::custom(format!("`{text}` is no pair, expected needle-haystack such as de-multilingual"))
            })?;
            [parts.0, parts.1]
                .map(tight)
                .into_iter()
                .collect::<std::result::Result<(), _>>()
                .map_err(D::Error::custom)?;
            Ok((parts.0.parse().map_err(D::Error::custom)?, parts.1.parse().map_err(D::Error::custom)?))
        };
        match OneOrMany::<String>::deserialize(deserializer)? {
            OneOrMany::Many(texts) => texts.iter().map(pair).collect::<std::result::Result<_, _>>().map(Pairs::List),
            OneOrMany::One(text) => match text.as_str() {
                "all" => Ok(Pairs::All),
                "monolingual" => Ok(Pairs::Monolingual),
                "needle-varies" => Ok(Pairs::NeedleVaries),
                "haystack-varies" => Ok(Pairs::HaystackVaries),
                _ => Err(D::Error::custom(format!(
                    "`{text}` is not known, expected all, monolingual, needle-varies, haystack-varies, or a list of pairs such as [\"de-en\"]"
                ))),
            },
        }
    }
}

macro_rules! as_text {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                crate::recipe::tight(&text).map_err(serde::de::Error::custom)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

as_text!(Length, Haystack, QuestionLanguage, TaskKey);

/// One value or a list of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// A list.
    Many(Vec<T>),
}

// Written out, since an untagged enum would lose the list of known values from its errors.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Self::Value, E> {
                T::deserialize(serde::de::value::StrDeserializer::new(text)).map(OneOrMany::One)
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, seq: A) -> std::result::Result<Self::Value, A::Error> {
                Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(seq)).map(OneOrMany::Many)
            }
        }
        deserializer.deserialize_any(Visitor(std::marker::PhantomData))
    }
}

impl<T: Clone> OneOrMany<T> {
    /// The values.
    pub fn list(&self) -> Vec<T> {
        match self {
            OneOrMany::One(value) => vec![value.clone()],
            OneOrMany::Many(values) => values.clone(),
        }
    }
}

macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
        pub struct $name(pub String);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let check: fn(&str) -> bool = $check;
                if check(&text) { Ok($name(text)) } else { Err(serde::de::Error::custom(format!("`{text}` is not {}", $what))) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked_text! {
    /// `release.name`
    Name, "a name: lower-case letters, digits, `-` and `_`, beginning with a letter, at most 64, and not `store`",
    // The store lies beside the releases.
    |text| text.len() <= 64
        && text != "store"
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}

checked_text! {
    /// `release.version`
    Version, "a version: three numbers, such as 1.0.0",
    |text| {
        let parts: Vec<&str> = text.split('.').collect();
        parts.len() == 3 && parts.iter().all(|p| !p.is_empty() && p.len() <= 9 && p.bytes().all(|b| b.is_ascii_digit()))
    }
}

/// Where the seed is: in the recipe, or held out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    untagged,
    expecting = "expected a whole number, { env = \"VARIABLE\" } or { file = \"PATH\" }"
)]
pub enum SeedSource {
    /// Published with the recipe.
    Number(u64),
    /// Read from an environment variable; only its digest is written down.
    Env {
        /// The variable's name.
        env: String,
    },
    /// Read from a file; only its digest is written down.
    File {
        /// The file's path.
        file: String,
    },
    /// What a release writes down of a seed that was held out.
    HeldOut {
        /// SHA-256, see `seed::Seed::digest`.
        digest: crate::hash::Digest,
    },
}

/// Tasks: MLRBench's (the paper's section 2.3), in its order, then bAbI's others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// qa1, qa5.
    BasicFactoid,
    /// qa6, qa9.
    YesNo,
    /// qa2, qa3.
    FactChaining,
    /// qa4.
    ArgumentRelations,
    /// qa7.
    Counting,
    /// qa8.
    ListsSets,
    /// qa10.
    Indefinite,
    /// qa11.
    BasicCoreference,
    /// qa12.
    Conjunction,
    /// qa13.
    CompoundCoreference,
    /// qa14.
    TimeReasoning,
    /// qa15.
    BasicDeduction,
    /// qa16.
    BasicInduction,
    /// qa17.
    PositionalReasoning,
    /// qa18.
    SizeReasoning,
    /// qa19.
    PathFinding,
    /// qa20.
    AgentMotivations,
}

impl Task {
    /// All tasks, in their order.
    pub const ALL: [Task; 17] = [
        Task::BasicFactoid,
        Task::YesNo,
        Task::FactChaining,
        Task::ArgumentRelations,
        Task::Counting,
        Task::ListsSets,
        Task::Indefinite,
        Task::BasicCoreference,
        Task::Conjunction,
        Task::CompoundCoreference,
        Task::TimeReasoning,
        Task::BasicDeduction,
        Task::BasicInduction,
        Task::PositionalReasoning,
        Task::SizeReasoning,
        Task::PathFinding,
        Task::AgentMotivations,
    ];

    /// Those of the paper.
    pub const PAPER: usize = 7;

    /// As recipes and columns write it.
    pub fn name(self) -> &'static str {
        match self {
            Task::BasicFactoid => "basic_factoid",
            Task::YesNo => "yes_no",
            Task::FactChaining => "fact_chaining",
            Task::ArgumentRelations => "argument_relations",
            Task::Counting => "counting",
            Task::ListsSets => "lists_sets",
            Task::Indefinite => "indefinite",
            Task::BasicCoreference => "basic_coreference",
            Task::Conjunction => "conjunction",
            Task::CompoundCoreference => "compound_coreference",
            Task::TimeReasoning => "time_reasoning",
            Task::BasicDeduction => "basic_deduction",
            Task::BasicInduction => "basic_induction",
            Task::PositionalReasoning => "positional_reasoning",
            Task::SizeReasoning => "size_reasoning",
            Task::PathFinding => "path_finding",
            Task::AgentMotivations => "agent_motivations",
        }
    }

    /// The paper's category; of tasks that it does not have, the one they are like.
    pub fn category(self) -> &'static str {
        match self {
            Task::BasicFactoid | Task::YesNo | Task::Conjunction => "retrieval",
            Task::FactChaining
            | Task::ArgumentRelations
            | Task::BasicCoreference
            | Task::CompoundCoreference
            | Task::TimeReasoning
            | Task::BasicDeduction
            | Task::BasicInduction
            | Task::PositionalReasoning
            | Task::SizeReasoning
            | Task::PathFinding
            | Task::AgentMotivations => "multi_hop",
            Task::Counting | Task::ListsSets => "aggregation",
            Task::Indefinite => "uncertainty",
        }
    }

    /// bAbI's tasks it is made of, by number.
    pub fn sources(self) -> &'static [u8] {
        match self {
            Task::BasicFactoid => &[1, 5],
            Task::YesNo => &[6, 9],
            Task::FactChaining => &[2, 3],
            Task::ArgumentRelations => &[4],
            Task::Counting => &[7],
            Task::ListsSets => &[8],
            Task::Indefinite => &[10],
            Task::BasicCoreference => &[11],
            Task::Conjunction => &[12],
            Task::CompoundCoreference => &[13],
            Task::TimeReasoning => &[14],
            Task::BasicDeduction => &[15],
            Task::BasicInduction => &[16],
            Task::PositionalReasoning => &[17],
            Task::SizeReasoning => &[18],
            Task::PathFinding => &[19],
            Task::AgentMotivations => &[20],
        }
    }

    /// The task that a source task is of.
    pub fn of_source(source: SourceTask) -> Task {
        let of = |task: &Task| task.sources().contains(&source.number());
        Task::ALL.into_iter().find(of).expect("every source task is of a task")
    }
}

/// A key of `stories.tasks`: a task, whose instances its source tasks share, or one source task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TaskKey {
    /// `yes_no`
    Task(Task),
    /// `qa6`
    Source(SourceTask),
}

impl TaskKey {
    /// The task it is of.
    pub fn task(self) -> Task {
        match self {
            TaskKey::Task(task) => task,
            TaskKey::Source(source) => Task::of_source(source),
        }
    }
}

impl fmt::Display for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskKey::Task(task) => f.write_str(task.name()),
            TaskKey::Source(source) => source.fmt(f),
        }
    }
}

impl FromStr for TaskKey {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let task = Task::ALL.into_iter().find(|task| task.name() == text).map(TaskKey::Task);
        task.or_else(|| text.parse().ok().map(TaskKey::Source)).ok_or_else(|| {
            let known: Vec<&str> = Task::ALL.iter().map(|task| task.name()).collect();
            format!("unknown task `{text}`, expected one of {}, or qa1 to qa20", known.join(", "))
        })
    }
}
