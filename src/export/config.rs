//! What an export says of each config: its metrics, its stop sequences, its answer's length and form, how to decode.

use super::pick::Picked;
use super::{Decoding, Options, To};
use crate::error::{Error, Result};

use crate::recipe::{Family, Layout, PromptKind, Recipe, Strategy};
use crate::release::Release;
use serde::Serialize;
use serde_json::{Value, json};

/// Columns of a row that evaluators and scorer read, beside the prompt.
pub(super) const COLUMNS: [&str; 28] = [
    "id",
    "instance_id",
    "family",
    "task",
    "category",
    "source_task",
    "language",
    "needle_language",
    "haystack_language",
    "question_language",
    "length",
    "strategy",
    "distractor_kind",
    "position",
    "prompt_kind",
    "pair_id",
    "question",
    "answers",
    "answer_variants",
    "answers_by_language",
    "expected",
    "n_tokens",
    "tokenizer",
    "retriever",
    "top_k",
    "answerable",
    "certificate",
    "prompt_sha256",
];

/// Columns that hold the prompt.
pub(super) const PROMPT: [&str; 3] = ["system", "prompt", "messages"];

/// One config of an export.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Config {
    /// Its name in the release.
    pub config: String,
    /// The name of its task: the release's name before it.
    pub task: String,
    /// Its data, inside the export.
    pub data: String,
    /// Rows.
    pub rows: u64,
    /// Language of story or needle.
    pub language: String,
    /// Its length; none of running text, whose rows differ in it.
    pub length: Option<String>,
    /// Prompting strategy.
    pub strategy: &'static str,
    /// Which of MLNeedle's prompts, or which layout.
    pub prompt_kind: Option<&'static str>,
    /// What the scorer gives for its rows.
    pub metrics: &'static [&'static str],
    /// What the prompt asks for: `json`, `json_reasoning`, `yes_no` or `text`.
    pub answer_format: &'static str,
    /// Where a model stops.
    pub stop: Vec<String>,
    /// Tokens that it may answer with.
    pub max_tokens: u32,
}

/// What all configs of an export have in common.
pub(super) struct Context<'a> {
    recipe: &'a Recipe,
    options: &'a Options,
    /// Name of the release.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its columns that the export reads.
    pub columns: Vec<&'static str>,
}

impl<'a> Context<'a> {
    pub fn new(release: &Release, recipe: &'a Recipe, options: &'a Options) -> Result<Context<'a>> {
        let family = recipe.family();
        if options.decoding == Decoding::Paper && family != Family::Passage {
            return Err(Error::new("--decoding paper: of the three papers only MLNeedle's gives decoding settings")
                .help("leave it out: models decode greedily"));
        }
        if options.link && !options.to.is_parquet() {
            return Err(Error::new(format!("--link: an export to {} has no Parquet files to link", options.to.name()))
                .help("leave it out"));
        }
        if options.max_tokens == Some(0) {
            return Err(Error::new("--max-tokens 0: a model must be allowed to answer"));
        }
        if options.stop.iter().flatten().any(String::is_empty) {
            return Err(Error::new("--stop: an empty text stops a model before it begins"));
        }
        let held = release.schema();
        // Messages are system and prompt once more.
        let columns = PROMPT[..2].iter().chain(&COLUMNS).copied().filter(|name| held.index_of(name).is_ok()).collect();
        let (name, version) = (release.manifest.name.clone(), release.manifest.version.clone());
        Ok(Context { recipe, options, name, version, columns })
    }

    /// Do its data files lead to those of the release?
    pub fn is_linked(&self) -> bool {
        self.options.link
    }

    pub fn to(&self) -> To {
        self.options.to
    }

    /// A config's settings.
    pub fn config(&self, picked: &Picked) -> Config {
        let (plan, family) = (&picked.plan, self.recipe.family());
        let prompt = plan.cell.map(|cell| cell.prompt);
        let layout = self.recipe.prompt.layout.filter(|_| family == Family::Factoid);
        let extension = if self.to().is_parquet() { "" } else { ".jsonl" };
        let data = match self.to() {
            To::LmEval | To::Lighteval => plan.path(),
            To::OpenaiEvals => format!("registry/data/{}/{}{extension}", self.name, plan.config),
            To::Inspect | To::Jsonl => format!("data/{}{extension}", plan.config),
        };
        let allowance = self.recipe.budget.reserve(plan.strategy) - u64::from(self.recipe.budget.template);
        let (metrics, answer_format): (&[&str], _) = match (family, prompt) {
            (_, Some(PromptKind::Existence)) => (&["existence"], "yes_no"),
            (Family::Reasoning, _) => (&["exact", "any"], self.answer_format(plan.strategy)),
            (Family::Passage, _) => (&["exact", "any"], "text"),
            (Family::Factoid, _) => (&["exact"], "text"),
        };
        Config {
            task: format!("{}_{}", self.name, plan.config),
            config: plan.config.clone(),
            data,
            rows: picked.n,
            language: plan.language.to_string(),
            length: (family != Family::Factoid).then(|| plan.length.to_string()),
            strategy: plan.strategy.name(),
            prompt_kind: prompt.map(PromptKind::name).or(layout.map(Layout::name)),
            metrics,
            answer_format,
            stop: self.options.stop.clone().unwrap_or_else(|| stops(family, plan.strategy, layout)),
            max_tokens: self.options.max_tokens.unwrap_or(allowance as u32),
        }
    }

    /// A recipe's own template may ask for no JSON.
    fn answer_format(&self, strategy: Strategy) -> &'static str {
        let own = self.recipe.prompt.templates.get(&strategy);
        let asks = |what: &str| own.is_some_and(|template| template.contains(what));
        match strategy {
            _ if asks("{json_reasoning}") => "json_reasoning",
            _ if asks("{json}") => "json",
            _ if own.is_some() => "text",
            Strategy::ChainOfThought => "json_reasoning",
            _ => "json",
        }
    }

    /// How a model decodes: (whether by lot, temperature, top k).
    pub fn decoding(&self) -> (bool, &'static str, Option<u32>) {
        match self.options.decoding {
            Decoding::Greedy => (false, "0.0", None),
            Decoding::Paper => (true, "0.7", Some(50)),
        }
    }

    /// `export.json`: what the evaluator's files read.
    pub fn describe(&self, release: &Release, configs: &[Config]) -> Result<String> {
        let manifest = &release.manifest;
        let (do_sample, temperature, top_k) = self.decoding();
        let temperature: Value = serde_json::from_str(temperature).expect("a number");
        let mut metrics: Vec<&str> = configs.iter().flat_map(|config| config.metrics).copied().collect();
        metrics.sort_unstable();
        metrics.dedup();
        let told = json!({
            "made_by": super::folder::MADE_BY,
            "format": 1,
            "to": self.to().name(),
            "release": {
                "name": manifest.name, "version": manifest.version, "title": manifest.title(),
                "family": manifest.family, "format": manifest.format, "rows_digest": manifest.rows_digest,
                "licence": manifest.licence, "canary": manifest.canary,
            },
            "narrowed": {
                "configs": self.options.configs, "languages": self.options.languages,
                "lengths": self.options.lengths, "limit": self.options.limit,
            },
            "decoding": { "do_sample": do_sample, "temperature": temperature, "top_k": top_k },
            "metrics": metrics,
            "columns": self.columns,
            "configs": configs,
        });
        serde_json::to_string_pretty(&told).map(|text| text + "\n").map_err(|e| Error::new(e.to_string()))
    }
}

/// Where a model that continues text, and does not answer and end, begins the next turn or the next prompt.
fn stops(family: Family, strategy: Strategy, layout: Option<Layout>) -> Vec<String> {
    let stops: &[&str] = match (family, strategy, layout) {
        (Family::Reasoning, Strategy::FewShot, _) => &["<example>"],
        (Family::Reasoning, ..) => &[],
        (Family::Passage, ..) => &["\n### Passages", "\nQuestion:"],
        (Family::Factoid, _, Some(Layout::PlainTable6 | Layout::PlainTable7 | Layout::Messages) | None) => &[],
        (Family::Factoid, ..) => &["</s>", "[INST]"],
    };
    stops.iter().map(|&stop| stop.to_owned()).collect()
}
