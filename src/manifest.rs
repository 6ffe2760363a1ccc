//! What a release says of itself in `manifest.json`, and the accepted digests it is compared with.

use crate::error::{Error, Result};
use crate::family::reasoning::Example;
use crate::hash::Digest;
use crate::plan::{Filter, Plan};
use crate::recipe::{Erratum, SourceKind};
use crate::source::released::Differences;
use crate::stage::embed::PinFile;
use crate::stage::ingest::SourceFile;
use crate::stage::select::Selected;
use crate::stage::stats::DataFile;
use crate::stage::translate::TranslationFacts;
use crate::story::{ANSWERERS, Answer, AnswerSpread, Mentions, SourceTask, credit, guesses, labels};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The manifest's format.
pub const FORMAT: u32 = 5;

/// `manifest.json`. All numbers are integers; shares are in millionths.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Raised when keys change their meaning.
    pub format: u32,
    /// Name of the release.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The family.
    pub family: String,
    /// Version of the builder.
    pub nihbuild: String,
    /// The date that the recipe gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// SPDX identifier.
    pub licence: String,
    /// Put this string into no training corpus: a model that can complete it has seen the release.
    pub canary: String,
    /// Identity of the plan.
    pub plan: Digest,
    /// Digest of the seed, so that a held-out twin can be told from its sibling.
    pub seed_digest: Digest,
    /// Built with `--seed`, in place of the recipe's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub other_seed: bool,
    /// What flags narrowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Identity of the release: digest over its files' rows digests.
    pub rows_digest: Digest,
    /// Rows of all files.
    pub rows: u64,
    /// Tokens of all prompts.
    pub tokens: u64,
    /// The data files.
    pub files: Vec<DataFile>,
    /// Files read from outside.
    pub sources: Vec<SourceFile>,
    /// Licences of the sources whose texts the rows hold, by id of the pin; empty up to format 4.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_licences: BTreeMap<String, String>,
    /// What is wrong with rows of this version or an earlier one; the recipe's own list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errata: Vec<Erratum>,
    /// Digest of each language pack.
    pub packs: BTreeMap<String, Digest>,
    /// Key of each stage's output.
    pub stages: BTreeMap<String, Digest>,
    /// Digest of the output of each stage that the store holds, and of what was read; empty up to format 3.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Digest>,
    /// SHA-256 of recipe.toml; none up to format 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe_sha256: Option<Digest>,
    /// Instances by source task.
    pub instances: BTreeMap<SourceTask, u64>,
    /// Refused candidates by source task and reason.
    pub refused: BTreeMap<SourceTask, BTreeMap<String, u32>>,
    /// Source tasks that begin at a later length than the grid.
    pub starts: BTreeMap<SourceTask, String>,
    /// Trivial answerers over the stories alone, by source task and rule.
    pub answerers: BTreeMap<SourceTask, BTreeMap<String, Score>>,
    /// Distinct sentences of the synthetic pool, by language.
    pub distinct_sentences: BTreeMap<String, u64>,
    /// Vectors of a neural model, published with the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<PinFile>,
    /// The tokenizers, the primary one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokenizers: Vec<TokenizerFacts>,
    /// The running texts that needles are hidden in, by language.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub texts: BTreeMap<String, TextFacts>,
    /// What was read, dropped and found where passages from outside are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<PassageFacts>,
    /// Languages by machine translation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub translations: BTreeMap<String, TranslationFacts>,
    /// Of the released MLRBench files: what differs from this release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differences: Option<Differences>,
}

/// A tokenizer, as a manifest names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TokenizerFacts {
    /// As rows write it.
    pub name: String,
    /// SHA-256 of its file; of an embedded one, what stands for it.
    pub digest: Digest,
    /// Special tokens that the model itself adds around a prompt.
    pub added: u32,
}

/// A running text, as a manifest describes it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TextFacts {
    /// Bytes of the text, told once.
    pub bytes: u64,
    /// Its tokens, as far as they were needed.
    pub tokens: u64,
    /// Sentence breaks in it, those of them before a sentence that points back, and before one that leans on what came
    /// before.
    pub breaks: (u64, u64, u64),
    /// Digest of the patterns that generated essays are drawn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patterns: Option<Digest>,
    /// What was repaired, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repairs: BTreeMap<String, u64>,
    /// The farthest that a needle stands from its asked depth, in millionths of the text.
    pub depth_off: u64,
    /// Cells whose prompts are those of another cell: short texts have fewer sentence breaks than depths are asked for.
    pub equal_cells: u64,
    /// How often the text holds a needle's answer, by name of the needle, where it does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers_in_text: BTreeMap<String, u64>,
}

/// What a manifest says of questions, needles and haystack passages.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PassageFacts {
    /// Passages of the haystack, the same in every language.
    pub passages: u64,
    /// What was dropped while reading, by file and reason.
    pub dropped: BTreeMap<String, BTreeMap<String, u64>>,
    /// Questions by the number of languages they exist in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub questions_by_languages: BTreeMap<u32, u64>,
    /// Admitted questions.
    pub questions: u64,
    /// Refused questions, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Pairs of a passage and a question that never meet, by reason.
    pub kept_apart: BTreeMap<String, u64>,
    /// Questions that two needle languages share in their cells, as `de es`; one language with itself is its cell's size.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shared: BTreeMap<String, u64>,
    /// How the nearest were found.
    pub engine: String,
    /// Share of the exact nearest that the engine finds, in millionths, and among how many nearest.
    pub recall: Option<(u64, u64)>,
}

/// How a trivial answerer does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Score {
    /// Mean credit, in millionths.
    pub score: u64,
    /// What guessing among the candidates would score, in millionths.
    pub chance: u64,
    /// Rows it has an answer for.
    pub rows: u64,
}

impl Manifest {
    /// Name and version, and which part it is where flags narrowed the build.
    pub fn title(&self) -> String {
        match &self.filter {
            Some(filter) => format!("{} {} (part: {})", self.name, self.version, filter.flags()),
            None => format!("{} {}", self.name, self.version),
        }
    }
}

/// The canary of a release: the same for the same name and version.
pub fn canary(name: &str, version: &str) -> String {
    let hex = Digest::of(format!("nihbuild canary {name} {version}")).to_string();
    format!("{name} {version} canary {}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32])
}

/// The answerer that gives the answer of one of the prompt's worked examples.
const COPIED: &str = "answer of an example";

/// Scores the trivial answerers over the stories of a build.
pub fn answerers(
    selected: &Selected,
    examples: &[Vec<Example>],
    plan: &Plan,
) -> BTreeMap<SourceTask, BTreeMap<String, Score>> {
    let mut sums: BTreeMap<SourceTask, BTreeMap<&str, (u64, u64, u64)>> = BTreeMap::new();
    let mut golds: BTreeMap<SourceTask, BTreeMap<Answer, u64>> = BTreeMap::new();
    for (n, instance) in selected.instances.iter().enumerate() {
        let task = instance.source_task();
        if let Some(shown) = examples.get(n).filter(|shown| !shown.is_empty()) {
            // A person in an example is never a person of the story: by name, to copy is always wrong.
            let hits = shown.iter().filter(|example| example.answer == instance.answer).count() as u64;
            let credit = hits * 1_000_000 / shown.len() as u64;
            let sum = sums.entry(task).or_default().entry(COPIED).or_default();
            *sum = (sum.0 + credit, sum.1 + 1_000_000 / candidates(instance.answer, task, plan), sum.2 + 1);
        }
        *golds.entry(task).or_default().entry(instance.answer).or_default() += 1;
        let mut mentions = Mentions::default();
        instance.story.facts.iter().for_each(|fact| mentions.add(*fact));
        let chance = 1_000_000 / candidates(instance.answer, task, plan);
        for (rule, guess) in ANSWERERS.iter().zip(guesses(&instance.story, &mentions)) {
            if let Some(credit) = credit(&guess, instance.answer) {
                let sum = sums.entry(task).or_default().entry(rule).or_default();
                *sum = (sum.0 + u64::from(credit), sum.1 + chance, sum.2 + 1);
            }
        }
    }
    for (task, golds) in golds {
        let rows: u64 = golds.values().sum();
        let most = golds.values().max().copied().unwrap_or(0);
        let chance: u64 = golds.iter().map(|(answer, n)| n * 1_000_000 / candidates(*answer, task, plan)).sum();
        sums.entry(task).or_default().insert("majority label", (most * 1_000_000, chance, rows));
    }
    let score = |(credit, chance, rows): (u64, u64, u64)| Score { score: credit / rows, chance: chance / rows, rows };
    sums.into_iter()
        .map(|(task, rules)| (task, rules.into_iter().map(|(r, s)| (r.to_owned(), score(s))).collect()))
        .collect()
}

/// How many answers of its kind the task can have: places, persons or objects, numbers, sets, words.
fn candidates(answer: Answer, task: SourceTask, plan: &Plan) -> u64 {
    let spread = match plan.recipe.source.kind {
        SourceKind::Simulate => plan.recipe.stories.answers,
        SourceKind::Babi | SourceKind::Released | SourceKind::Squad | SourceKind::Text => AnswerSpread::Official,
    };
    let kind = |answer: &Answer| match answer {
        Answer::Place(_) => 0,
        Answer::Actor(_) => 1,
        Answer::Object(_) => 2,
        Answer::Count(_) => 3,
        Answer::Objects(_) => 4,
        Answer::Yes | Answer::No | Answer::Maybe => 5,
        Answer::Animal(_) => 6,
        Answer::Colour(_) => 7,
        Answer::Motive(_) => 8,
        Answer::Path(_) => 9,
    };
    labels(task, spread).iter().filter(|(label, _)| kind(label) == kind(&answer)).count().max(1) as u64
}

/// Accepted digests, by `<name>-<version>`.
const ACCEPTED: &[(&str, &str)] = &[
    ("mlrbench-1.0.0", include_str!("../checksums/mlrbench-1.0.0.json")),
    ("mlrbench-babi-1.0.0", include_str!("../checksums/mlrbench-babi-1.0.0.json")),
    ("recall-1.0.0", include_str!("../checksums/recall-1.0.0.json")),
    ("recall-paper-1.0.0", include_str!("../checksums/recall-paper-1.0.0.json")),
    ("golden-1.0.0", include_str!("../checksums/golden-1.0.0.json")),
];

/// An accepted manifest, reduced to what identifies content.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Digest of the whole release.
    pub rows_digest: Digest,
    /// Rows digest of each file.
    pub files: BTreeMap<String, Digest>,
}

impl Accepted {
    /// What identifies a manifest's content.
    pub fn of(manifest: &Manifest) -> Accepted {
        Accepted {
            rows_digest: manifest.rows_digest,
            files: manifest.files.iter().map(|f| (f.path.clone(), f.rows_digest)).collect(),
        }
    }
}

/// How a result compares with the accepted one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// The same rows.
    Same,
    /// These files have other rows.
    Differs(Vec<String>),
    /// Fewer instances than the accepted release, or another seed: its digests say nothing about these files.
    NotComparable,
    /// No accepted digests under this name and version.
    Unknown,
}

/// Compares a manifest with the accepted digests.
pub fn compare(manifest: &Manifest) -> Result<Match> {
    let name = format!("{}-{}", manifest.name, manifest.version);
    let Some((_, text)) = ACCEPTED.iter().find(|(known, _)| *known == name) else { return Ok(Match::Unknown) };
    let accepted: Accepted =
        serde_json::from_str(text).map_err(|e| Error::new(e.to_string()).at(format!("checksums/{name}.json")))?;
    if manifest.other_seed || manifest.filter.as_ref().is_some_and(|filter| filter.limit.is_some()) {
        return Ok(Match::NotComparable);
    }
    let differs = |file: &&DataFile| accepted.files.get(&file.path) != Some(&file.rows_digest);
    let differing: Vec<String> = manifest.files.iter().filter(differs).map(|f| f.path.clone()).collect();
    let whole = manifest.filter.is_some() || manifest.rows_digest == accepted.rows_digest;
    Ok(if differing.is_empty() && whole { Match::Same } else { Match::Differs(differing) })
}
