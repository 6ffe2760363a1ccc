//! The recipe as it is meant: names resolved, packs read, filters applied. Printing it is the dry run.

use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::language::{Language, Pack};
use crate::recipe::{
    Allowance, Choice, Family, Haystack, Kind, Last, Length, Middle, Pairs, Position, PromptKind, QuestionLanguage,
    Recipe, SeedSource, SourceKind, Strategy, Task,
};
use crate::seed::Seed;
use crate::story::SourceTask;
use crate::tokenizer::Tokenizer;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What the command line narrows. Selection uses the recipe's full grid; this acts afterwards.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, serde::Deserialize)]
pub struct Filter {
    /// Only the first so many instances of the fixed order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only these languages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub languages: Option<Vec<Language>>,
    /// Only these lengths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Vec<Length>>,
}

impl Filter {
    /// Whether a file is left. Of cells, needle and haystack must both be among the languages; a multilingual
    /// haystack always is.
    pub fn keeps(&self, file: &FilePlan) -> bool {
        let haystack = |l: &Vec<Language>| match file.cell.and_then(|cell| cell.haystack) {
            Some(Haystack::In(language)) => l.contains(&language),
            Some(Haystack::Multilingual) | None => true,
        };
        self.languages.as_ref().is_none_or(|l| l.contains(&file.language) && haystack(l))
            && self.lengths.as_ref().is_none_or(|l| l.contains(&file.length))
    }

    /// Puts the flags' values in the recipe's order, each once, so that the same part is the same however
    /// it was asked for. What the recipe does not have stays, to be refused.
    fn canonical(&mut self, grid: &crate::recipe::Grid) {
        fn order<T: Copy + PartialEq>(wanted: &mut Option<Vec<T>>, all: &[T]) {
            if let Some(wanted) = wanted
                && wanted.iter().all(|item| all.contains(item))
            {
                *wanted = all.iter().copied().filter(|item| wanted.contains(item)).collect();
            }
        }
        order(&mut self.languages, &grid.languages);
        order(&mut self.lengths, &grid.lengths);
    }

    /// The flags that narrow a build this way.
    pub fn flags(&self) -> String {
        fn joined<T: std::fmt::Display>(items: &[T]) -> String {
            items.iter().map(T::to_string).collect::<Vec<_>>().join(",")
        }
        let limit = self.limit.map(|n| format!("--limit {n}"));
        let languages = self.languages.as_ref().map(|l| format!("--languages {}", joined(l)));
        let lengths = self.lengths.as_ref().map(|l| format!("--lengths {}", joined(l)));
        [limit, languages, lengths].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// What a command line asks for, beside the recipe.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to narrow.
    pub filter: Filter,
    /// Another seed than the recipe's.
    pub seed: Option<u64>,
    /// Folder of store and releases.
    pub out: PathBuf,
    /// Folder of source files.
    pub data: Option<PathBuf>,
    /// Threads.
    pub jobs: usize,
    /// Never open a socket.
    pub offline: bool,
    /// Folder that holds the embedding model's folder.
    pub models: Option<PathBuf>,
    /// The ONNX Runtime's library.
    pub runtime: Option<PathBuf>,
    /// Folders of pins, searched before the store.
    pub pins: Vec<PathBuf>,
    /// A file of further pins of sources.
    pub sources: Option<PathBuf>,
}

/// One data file of a release.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePlan {
    /// Language of its rows: of the story, or of the needle.
    pub language: Language,
    /// Their length.
    pub length: Length,
    /// Their strategy.
    pub strategy: Strategy,
    /// Their kind of distractors.
    pub kind: Kind,
    /// MLNeedle's further axes; none in other families.
    pub cell: Option<Cell>,
    /// The config's name: `zh_8k`, with strategy and kind where the recipe has several; `de_en_8k` for German
    /// needles in English haystacks.
    pub config: String,
}

/// What a file of MLNeedle's has beside needle language and length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Language of the haystack; none at 0k, where the needle stands alone.
    pub haystack: Option<Haystack>,
    /// Language of the question.
    pub question: Language,
    /// What is asked for.
    pub prompt: PromptKind,
}

impl FilePlan {
    /// Path inside the release.
    pub fn path(&self) -> String {
        format!("data/{}/test-00000-of-00001.parquet", self.config)
    }
}

/// A recipe, resolved.
pub struct Plan {
    /// The recipe, with the defaults of its family filled in.
    pub recipe: Recipe,
    /// The family.
    pub family: Family,
    /// The seed's text was read from outside and is not written down.
    pub seed: Seed,
    /// The packs of the recipe's languages, in its order.
    pub packs: Vec<(Language, Pack)>,
    /// The English pack, which reads bAbI.
    pub english: Pack,
    /// What lengths are counted with.
    pub tokenizer: Tokenizer,
    /// Instances of each source task, in the recipe's order of tasks.
    pub counts: Vec<(Task, SourceTask, u32)>,
    /// Kinds of distractors.
    pub kinds: Vec<Kind>,
    /// Every file of the full grid.
    pub grid: Vec<FilePlan>,
    /// The files that the filters leave.
    pub files: Vec<FilePlan>,
    /// What the command line asks for.
    pub options: Options,
}

impl Plan {
    /// Resolves a recipe.
    pub fn new(mut recipe: Recipe, mut options: Options) -> Result<Plan> {
        if let Some(seed) = options.seed {
            recipe.release.seed = SeedSource::Number(seed);
        }
        let family = recipe.family();
        let seed = read_seed(&recipe.release.seed)?;
        if family == Family::Passage {
            fill_cells(&mut recipe)?;
        }
        if let Some(date) = &recipe.release.date
            && !is_date(date)
        {
            return Err(Error::new(format!("release.date {date:?} is not a date")).help("write YYYY-MM-DD"));
        }
        let grid = &recipe.grid;
        let licence = &recipe.release.licence;
        if licence.is_empty() || !licence.chars().all(|c| c.is_ascii_alphanumeric() || "-.+ ()".contains(c)) {
            return Err(Error::new(format!("release.licence {licence:?} is not an SPDX identifier"))
                .help("write one such as CC-BY-4.0"));
        }
        no_repeats("grid.languages", &grid.languages)?;
        no_repeats("grid.lengths", &grid.lengths)?;
        no_repeats("prompt.strategies", &recipe.prompt.strategies)?;
        let kinds = recipe.distractors.kind.list();
        no_repeats("distractors.kind", &kinds)?;
        no_repeats("source.splits", &recipe.source.splits)?;
        if !(1..=1_000_000).contains(&recipe.budget.unit) {
            fail!("budget.unit is {}, expected 1 to 1000000 tokens (1000 or 1024)", recipe.budget.unit);
        }
        if !(1..=1_000_000).contains(&recipe.distractors.pool) {
            fail!("distractors.pool is {}, expected 1 to 1000000 passages", recipe.distractors.pool);
        }
        if let Allowance::Each(each) = &recipe.budget.answer
            && let Some(strategy) = recipe.prompt.strategies.iter().find(|s| !each.contains_key(s))
        {
            fail!("budget.answer has no number for the strategy {}", strategy.name());
        }
        let counts = counts(&recipe);
        if let Some((task, source, n)) = counts.iter().find(|(.., n)| *n > 99_999) {
            fail!("stories.tasks.{} asks for {n} of {source}, at most 99999 fit the ids", task.name());
        }
        if family == Family::Reasoning && counts.iter().all(|(.., n)| *n == 0) {
            fail!("stories.tasks asks for no instance");
        }
        let all = files(&recipe);
        options.filter.canonical(grid);
        let filter = &options.filter;
        narrow("--languages", &filter.languages, &grid.languages)?;
        narrow("--lengths", &filter.lengths, &grid.lengths)?;
        if filter.limit == Some(0) {
            fail!("--limit 0 leaves no instance");
        }
        let files = all.iter().filter(|file| filter.keeps(file)).cloned().collect();
        let packs = grid.languages.iter().map(|l| Ok((*l, l.pack()?))).collect::<Result<Vec<_>>>()?;
        let english = "en".parse::<Language>().expect("the English pack is embedded").pack()?;
        if recipe.source.kind == SourceKind::Babi && options.data.is_none() {
            return Err(Error::new("this recipe reads the official bAbI files").help(
                "give their folder with --data DIR: it holds en/qa1_*.txt, or the archive tasks_1-20_v1-2.tar.gz",
            ));
        }
        let tokenizer = Tokenizer::new(recipe.tokens.primary);
        Ok(Plan { recipe, family, seed, packs, english, tokenizer, counts, kinds, grid: all, files, options })
    }

    /// The pack of a language of the recipe.
    pub fn pack(&self, language: Language) -> &Pack {
        &self.packs.iter().find(|(l, _)| *l == language).expect("the recipe's languages have packs").1
    }

    /// Tokens that a prompt of a length may have; none at 0k, whose prompts are as long as their stories.
    pub fn budget(&self, length: Length, strategy: Strategy) -> Option<u64> {
        let budget = &self.recipe.budget;
        (length.0 > 0).then(|| budget.tokens(length).saturating_sub(budget.reserve(strategy)))
    }

    /// The smallest length that has a budget.
    pub fn smallest(&self) -> Option<Length> {
        self.recipe.grid.lengths.iter().copied().filter(|l| l.0 > 0).min()
    }

    /// The largest length.
    pub fn largest(&self) -> Length {
        self.recipe.grid.lengths.iter().copied().max().expect("a recipe has lengths")
    }

    /// Instances of the whole recipe; for MLNeedle the questions of a cell.
    pub fn total(&self) -> u32 {
        match self.family {
            Family::Reasoning => self.counts.iter().map(|(.., n)| n).sum(),
            Family::Passage => self.recipe.grid.samples.unwrap_or_default(),
        }
    }

    /// Rows of a file: its instances, times positions, and twice with twins.
    pub fn rows_of(&self, file: &FilePlan) -> u64 {
        let each = file.cell.map_or(1, |cell| {
            let positions = cell.haystack.map_or(1, |_| self.positions().len() as u64);
            positions * if cell.prompt == PromptKind::Existence { 2 } else { 1 }
        });
        u64::from(self.instances()) * each
    }

    /// Where needles are asked to stand.
    pub fn positions(&self) -> &[Position] {
        self.recipe.grid.positions.as_deref().unwrap_or_default()
    }

    /// Instances that this build makes.
    pub fn instances(&self) -> u32 {
        self.options.filter.limit.map_or(self.total(), |limit| limit.min(self.total()))
    }

    /// True where flags narrow the build.
    pub fn is_narrowed(&self) -> bool {
        self.instances() < self.total() || self.files.len() < self.grid.len()
    }

    /// The recipe as a release writes it down: every default printed, a held-out seed as its digest.
    pub fn resolved(&self) -> String {
        let mut recipe = self.recipe.clone();
        if !matches!(recipe.release.seed, SeedSource::Number(_)) {
            recipe.release.seed = SeedSource::HeldOut { digest: self.seed.digest() };
        }
        recipe.to_toml()
    }

    /// Folder of the release: `<name>/<version>`, with the filters' digest where flags narrow the build
    /// (or where `--seed` makes it another one).
    pub fn folder(&self) -> PathBuf {
        let release = &self.recipe.release;
        let mut version = release.version.0.clone();
        if self.is_narrowed() || self.options.seed.is_some() {
            let filter = serde_json::json!({
                "limit": (self.instances() < self.total()).then_some(self.instances()),
                "files": (self.files.len() < self.grid.len()).then(|| self.files.iter().map(|f| &f.config).collect::<Vec<_>>()),
                "seed": self.options.seed,
            });
            version += &format!("+{}", Digest::of(filter.to_string()).short());
        }
        self.options.out.join(&release.name.0).join(version)
    }

    /// Digest of everything the plan says; what its source files hold is not part of it.
    pub fn digest(&self) -> Digest {
        let mut parts = vec![self.resolved(), self.seed.digest().to_string(), env!("CARGO_PKG_VERSION").to_owned()];
        parts.extend(self.files.iter().map(|f| f.config.clone()));
        parts.push(self.instances().to_string());
        parts.extend(self.packs.iter().map(|(_, pack)| pack.digest().to_string()));
        Digest::of_parts(parts.iter().map(|p| p.as_bytes()))
    }
}

/// Instances of each source task, in the order of the tasks.
pub fn counts(recipe: &Recipe) -> Vec<(Task, SourceTask, u32)> {
    let mut counts = Vec::new();
    for task in Task::ALL {
        let wanted = recipe.stories.tasks.get(&task).copied().unwrap_or(0);
        let sources = task.sources();
        for (i, number) in sources.iter().enumerate() {
            // The first source task takes what cannot be split evenly.
            let n = (u64::from(wanted) + (sources.len() - 1 - i) as u64) / sources.len() as u64;
            let source = SourceTask::of(*number).expect("the table names known tasks");
            counts.push((task, source, n as u32));
        }
    }
    counts
}

/// Every file of a recipe's grid, in order.
pub fn files(recipe: &Recipe) -> Vec<FilePlan> {
    match recipe.family() {
        Family::Reasoning => story_files(recipe),
        Family::Passage => cell_files(recipe),
    }
}

fn story_files(recipe: &Recipe) -> Vec<FilePlan> {
    let (strategies, kinds) = (&recipe.prompt.strategies, recipe.distractors.kind.list());
    let mut all = Vec::new();
    for &length in &recipe.grid.lengths {
        for &language in &recipe.grid.languages {
            for &strategy in strategies {
                for &kind in &kinds {
                    let mut config = format!("{language}_{length}");
                    if strategies.len() > 1 {
                        config += &format!("_{}", strategy.name());
                    }
                    if kinds.len() > 1 {
                        config += &format!("_{}", kind.name());
                    }
                    all.push(FilePlan { language, length, strategy, kind, cell: None, config });
                }
            }
        }
    }
    all
}

/// MLNeedle's files: at each length one for each pair of languages and prompt; at 0k one for each needle language
/// (and question language, where it follows the haystack's).
fn cell_files(recipe: &Recipe) -> Vec<FilePlan> {
    let mut all: Vec<FilePlan> = Vec::new();
    let prompts = recipe.grid.prompts.clone().unwrap_or_default();
    let question = recipe.grid.question.unwrap_or(QuestionLanguage::Needle);
    for &length in &recipe.grid.lengths {
        for (needle, haystack) in pairs(recipe) {
            for &prompt in &prompts {
                let question = match (question, haystack) {
                    (QuestionLanguage::Fixed(language), _) => language,
                    (QuestionLanguage::Haystack, Haystack::In(language)) if length.0 > 0 => language,
                    _ => needle,
                };
                let haystack = (length.0 > 0).then_some(haystack);
                let mut config = format!("{needle}_");
                config += &haystack.map_or(String::new(), |h| format!("{h}_"));
                config += &length.to_string();
                if prompts.len() > 1 {
                    config += &format!("_{}", prompt.name());
                }
                let cell = Some(Cell { haystack, question, prompt });
                let (strategy, kind) = (Strategy::ZeroShot, Kind::Natural);
                let file = FilePlan { language: needle, length, strategy, kind, cell, config };
                if !all.contains(&file) {
                    all.push(file);
                }
            }
        }
    }
    all
}

/// Pairs of needle and haystack languages, in the order of the recipe's lists.
pub fn pairs(recipe: &Recipe) -> Vec<(Language, Haystack)> {
    let needles = recipe.grid.needle.clone().unwrap_or_default();
    let haystacks = recipe.grid.haystack.clone().unwrap_or_default();
    let wanted = |needle: Language, haystack: Haystack| match &recipe.grid.pairs {
        None | Some(Pairs::All) => true,
        Some(Pairs::Monolingual) => haystack == Haystack::In(needle),
        Some(Pairs::NeedleVaries) => matches!(haystack, Haystack::In(language) if language.code() == "en"),
        Some(Pairs::HaystackVaries) => needle.code() == "en",
        Some(Pairs::List(list)) => list.contains(&(needle, haystack)),
    };
    let all = needles.iter().flat_map(|n| haystacks.iter().map(move |h| (*n, *h)));
    all.filter(|(needle, haystack)| wanted(*needle, *haystack)).collect()
}

/// Fills in and checks what a recipe of MLNeedle's leaves out.
fn fill_cells(recipe: &mut Recipe) -> Result<()> {
    if recipe.source.dataset.is_none() {
        return Err(Error::new("source.dataset is missing: ids of rows begin with it")
            .help("give the set of questions a name, such as dataset = \"mlqa\""));
    }
    let needles = recipe.source.files.clone().ok_or_else(|| {
        Error::new("source.files is missing: the names of the files, one a language")
            .help("such as files = \"xquad.{language}.json\"")
    })?;
    for (key, names) in [("source.files", needles), ("haystack.files", recipe.haystack.files.clone())] {
        let names = names.list();
        if !names.iter().any(|name| name.contains("{language}") || name.contains("{name}")) {
            return Err(Error::new(format!("{key}: {} would name the same file for every language", names.join(", ")))
                .help("put {language} where the language's code stands, or {name} for its English name"));
        }
    }
    let grid = &mut recipe.grid;
    no_repeats("grid.languages", &grid.languages)?;
    let languages = grid.languages.clone();
    let english = languages.iter().copied().find(|l| l.code() == "en");
    let haystacks = || languages.iter().map(|l| Haystack::In(*l)).chain([Haystack::Multilingual]).collect();
    grid.needle.get_or_insert_with(|| languages.clone());
    grid.haystack.get_or_insert_with(haystacks);
    grid.pairs.get_or_insert(Pairs::All);
    grid.question.get_or_insert(english.map_or(QuestionLanguage::Needle, QuestionLanguage::Fixed));
    grid.positions.get_or_insert_with(|| Position::ALL.to_vec());
    grid.samples.get_or_insert(100);
    grid.choice.get_or_insert(Choice::Shared);
    grid.prompts.get_or_insert_with(|| vec![PromptKind::Exact]);
    recipe.prompt.first_label.get_or_insert(1);
    recipe.prompt.middle.get_or_insert(Middle::Tokens);
    recipe.prompt.last.get_or_insert(Last::Whole);
    let grid = &recipe.grid;
    for (key, used) in [
        ("grid.needle", grid.needle.clone().unwrap_or_default()),
        ("grid.haystack", grid.haystack.iter().flatten().filter_map(single).collect()),
        ("grid.question", grid.question.iter().filter_map(fixed).collect()),
    ] {
        if let Some(language) = used.iter().find(|l| !languages.contains(l)) {
            return Err(Error::new(format!("{key} names {language}, which grid.languages does not"))
                .help("add it to grid.languages"));
        }
    }
    no_repeats("grid.needle", grid.needle.as_deref().unwrap_or_default())?;
    no_repeats("grid.haystack", grid.haystack.as_deref().unwrap_or_default())?;
    no_repeats("grid.positions", grid.positions.as_deref().unwrap_or_default())?;
    no_repeats("grid.prompts", grid.prompts.as_deref().unwrap_or_default())?;
    if let Some(Pairs::List(list)) = &grid.pairs {
        no_repeats("grid.pairs", list)?;
        let all = pairs(recipe);
        if let Some((needle, haystack)) = list.iter().find(|pair| !all.contains(pair)) {
            fail!("grid.pairs names {needle}-{haystack}, which is not of grid.needle and grid.haystack");
        }
    }
    if pairs(recipe).is_empty() {
        fail!("grid.pairs leaves no pair of needle and haystack languages");
    }
    if !(1..=99_999).contains(&grid.samples.unwrap_or_default()) {
        fail!("grid.samples is {}, expected 1 to 99999", grid.samples.unwrap_or_default());
    }
    if recipe.prompt.first_label.is_some_and(|n| n > 1_000) {
        fail!("prompt.first_label is more than 1000");
    }
    if !(1..=1_000_000).contains(&recipe.haystack.sample) {
        fail!("haystack.sample is {}, expected 1 to 1000000 passages", recipe.haystack.sample);
    }
    Ok(())
}

fn single(haystack: &Haystack) -> Option<Language> {
    match haystack {
        Haystack::In(language) => Some(*language),
        Haystack::Multilingual => None,
    }
}

fn fixed(question: &QuestionLanguage) -> Option<Language> {
    match question {
        QuestionLanguage::Fixed(language) => Some(*language),
        _ => None,
    }
}

/// Reads the seed; from outside, only its digest is ever written down.
fn read_seed(source: &SeedSource) -> Result<Seed> {
    let text = match source {
        SeedSource::Number(n) => return Ok(Seed::new(&n.to_string())),
        SeedSource::Env { env } =>
        {
            #[allow(clippy::disallowed_methods, reason = "the one place that reads a held-out seed")]
            std::env::var(env).map_err(|_| {
                Error::new(format!("the seed is to be read from the environment variable {env}, which is not set"))
                    .help(format!("set {env}, or give another seed with --seed N"))
            })?
        }
        SeedSource::File { file } => {
            std::fs::read_to_string(file).map_err(|e| Error::io("cannot read the seed from", Path::new(file), e))?
        }
        SeedSource::HeldOut { digest } => {
            return Err(Error::new(format!("this recipe's seed is held out, only its digest {digest} is known"))
                .help("only its publisher can rebuild it: put { env = \"VARIABLE\" } or { file = \"PATH\" } in place of the digest"));
        }
    };
    if text.trim().len() < 16 {
        return Err(Error::new("the held-out seed is too short to stay secret: its digest is published")
            .help("use at least 16 characters, drawn at random"));
    }
    Ok(Seed::new(text.trim()))
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |n: &str, digits: usize| if n.len() == digits { n.parse::<u32>().ok() } else { None };
    let [y, m, d] = parts[..] else { return false };
    let (Some(y), Some(m), Some(d)) = (number(y, 4), number(m, 2), number(d, 2)) else { return false };
    let leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    let days = match m {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&d)
}

fn no_repeats<T: PartialEq + std::fmt::Debug>(key: &str, list: &[T]) -> Result<()> {
    if list.is_empty() {
        fail!("{key} is empty");
    }
    match list.iter().enumerate().find(|(i, item)| list[..*i].contains(item)) {
        Some((_, item)) => fail!("{key} names {item:?} twice"),
        None => Ok(()),
    }
}

fn narrow<T: PartialEq + std::fmt::Display>(flag: &str, wanted: &Option<Vec<T>>, all: &[T]) -> Result<()> {
    for item in wanted.iter().flatten() {
        if !all.contains(item) {
            let known: Vec<String> = all.iter().map(T::to_string).collect();
            fail!("{flag}: the recipe has no {item}, it has {}", known.join(", "));
        }
    }
    Ok(())
}
