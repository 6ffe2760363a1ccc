//! The recipe as it is meant: names resolved, packs read, filters applied. Printing it is the dry run.

mod about;
mod cells;
pub mod slots;

pub use cells::{files, pairs};

use crate::error::{Error, Result};
use crate::fail;
use crate::family::reasoning::{self, Voices};
use crate::hash::Digest;
use crate::language::{Language, Pack};
use crate::recipe::{
    Allowance, By, CollectionKind, Engine, Family, Haystack, InstructionLanguage, Kind, Last, Length, Model, Position,
    PromptKind, Ranking, Recipe, Retriever, SeedSource, Strategy, Task, TaskKey, Translation,
};
use crate::seed::Seed;
use crate::source::tokenizers;
use crate::story::SourceTask;
use crate::tokenizer::Ledger;
use serde::Serialize;
use std::collections::BTreeMap;
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
        let stories =
            |l: &Vec<Language>| file.cell.is_some() || l.contains(&file.haystack) && l.contains(&file.question);
        self.languages.as_ref().is_none_or(|l| l.contains(&file.language) && haystack(l) && stories(l))
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
    /// Where the files of tokenizers are, by name.
    pub tokenizers: BTreeMap<String, PathBuf>,
    /// Folder of language packs that are read in place of the embedded ones, where it has them: those of a release.
    pub packs: Option<PathBuf>,
    /// Write a compact release: texts once, rows as numbers.
    pub compact: bool,
}

impl Options {
    fn pack(&self, language: Language) -> Result<Pack> {
        let own = self.packs.as_ref().map(|folder| folder.join(format!("{language}.toml")));
        let Some(path) = own.filter(|path| path.is_file() && !language.is_guest()) else { return language.pack() };
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io("cannot read", &path, e))?;
        Pack::parse(&text).map_err(|e| e.at(path.display()))
    }
}

/// One data file of a release.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePlan {
    /// Language of its rows: of the story, or of the needle.
    pub language: Language,
    /// Of stories: language of the haystack.
    pub haystack: Language,
    /// Of stories: language of the question.
    pub question: Language,
    /// Their length.
    pub length: Length,
    /// Their strategy.
    pub strategy: Strategy,
    /// Their kind of distractors.
    pub kind: Kind,
    /// Of rows that hold but the best sentences of another file's prompts: how they were found, and how many.
    pub rag: Option<(Retriever, u32)>,
    /// MLNeedle's further axes; none in other families.
    pub cell: Option<Cell>,
    /// Of the factoid family: which of the recipe's needles.
    pub needle: Option<u32>,
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

/// Who tells a story, who asks, and how.
pub type Voice = (Language, Language, Strategy);

impl FilePlan {
    /// A file in one language.
    pub fn of(language: Language, length: Length, strategy: Strategy, kind: Kind, config: String) -> FilePlan {
        let (haystack, question) = (language, language);
        FilePlan { language, haystack, question, length, strategy, kind, rag: None, cell: None, needle: None, config }
    }

    /// Languages of story and question, and the strategy.
    pub fn voice(&self) -> Voice {
        (self.language, self.question, self.strategy)
    }

    /// Do story, haystack and question speak one language?
    pub fn is_monolingual(&self) -> bool {
        self.language == self.haystack && self.language == self.question
    }

    /// What files differ in that hold the same contexts under other strategies.
    pub fn context(&self) -> (Language, Language, Language, Length, Kind) {
        (self.language, self.haystack, self.question, self.length, self.kind)
    }

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
    /// The packs of the recipe's languages, in its order. Those that are to be made by machine translation are not there
    /// before [`Plan::complete`].
    pub packs: Vec<(Language, Pack)>,
    /// The English pack, which reads bAbI.
    pub english: Pack,
    /// Packs that ask about stories in another language, with that story's persons: by language of question and story.
    pub askers: BTreeMap<(Language, Language), Pack>,
    /// What tokens are counted with.
    pub ledger: Ledger,
    /// Instances of each source task, in the recipe's order of tasks.
    pub counts: Vec<(Task, SourceTask, u32)>,
    /// Kinds of distractors.
    pub kinds: Vec<Kind>,
    /// Every file of the full grid.
    pub grid: Vec<FilePlan>,
    /// The files that the filters leave.
    pub files: Vec<FilePlan>,
    /// Licences of the sources whose texts the rows hold, by id of the pin.
    pub licences: BTreeMap<String, String>,
    /// What the command line asks for.
    pub options: Options,
}

impl Plan {
    /// Resolves a recipe. Errors say where in its file they are.
    ///
    /// # Errors
    ///
    /// What makes no sense, or does nothing; packs, tokenizers and held-out seeds that cannot be read.
    pub fn new(recipe: Recipe, options: Options) -> Result<Plan> {
        let origin = recipe.origin.clone();
        Plan::resolve(recipe, options).map_err(|e| origin.point(e))
    }

    fn resolve(mut recipe: Recipe, mut options: Options) -> Result<Plan> {
        if let Some(seed) = options.seed {
            recipe.release.seed = SeedSource::Number(seed);
        }
        let family = recipe.family();
        let seed = read_seed(&recipe.release.seed).map_err(|e| e.on("release.seed"))?;
        match family {
            Family::Passage => cells::fill_cells(&mut recipe)?,
            Family::Factoid => slots::fill(&mut recipe)?,
            Family::Reasoning => cells::check_stories(&recipe)?,
        }
        let licences = about::check(&mut recipe, &options)?;
        let grid = &recipe.grid;
        no_repeats("grid.languages", &grid.languages)?;
        no_repeats("grid.lengths", &grid.lengths)?;
        no_repeats("prompt.strategies", &recipe.prompt.strategies)?;
        let kinds = recipe.distractors.kind.list();
        no_repeats("distractors.kind", &kinds)?;
        no_repeats("source.splits", &recipe.source.splits)?;
        if !(1..=1_000_000).contains(&recipe.budget.unit) {
            fail!(on "budget.unit"; "budget.unit is {}, expected 1 to 1000000 tokens (1000 or 1024)", recipe.budget.unit);
        }
        if !(1..=1_000_000).contains(&recipe.haystack.sample) {
            fail!(on "haystack.sample"; "haystack.sample is {}, expected 1 to 1000000 passages", recipe.haystack.sample);
        }
        if !(1..=1_000_000).contains(&recipe.distractors.pool) {
            fail!(on "distractors.pool"; "distractors.pool is {}, expected 1 to 1000000 passages", recipe.distractors.pool);
        }
        if let Allowance::Each(each) = &recipe.budget.answer
            && let Some(strategy) = recipe.prompt.strategies.iter().find(|s| !each.contains_key(s))
        {
            fail!(on "budget.answer"; "budget.answer has no number for the strategy {}", strategy.name());
        }
        if family != Family::Factoid && matches!(recipe.haystack.kind, CollectionKind::Text | CollectionKind::Essays) {
            return Err(Error::new("haystack.kind must be \"tsv\" or \"squad\" here: passages, not running text")
                .on("haystack.kind")
                .help("running text is for source.kind = \"text\""));
        }
        if let Some(rag) = &recipe.rag {
            no_repeats("rag.retrievers", &rag.retrievers)?;
            no_repeats("rag.top_k", &rag.top_k)?;
            rag.check()?;
        }
        for (strategy, template) in &recipe.prompt.templates {
            if !recipe.prompt.strategies.contains(strategy) {
                fail!(key format!("prompt.templates.{}", strategy.name()); "prompt.templates.{0} does nothing: prompt.strategies does not name {0}", strategy.name());
            }
            reasoning::check_template(*strategy, template)
                .map_err(|e| e.under(&format!("prompt.templates.{}", strategy.name())))
                .map_err(|e| e.at(format!("prompt.templates.{}", strategy.name())))?;
        }
        if recipe.prompt.examples.is_some() && !recipe.prompt.strategies.contains(&Strategy::FewShot) {
            fail!(key "prompt.examples"; "prompt.examples does nothing: prompt.strategies does not name few_shot");
        }
        if recipe.prompt.examples.is_some_and(|n| !(1..=16).contains(&n)) {
            fail!(on "prompt.examples"; "prompt.examples is {}, expected 1 to 16", recipe.prompt.examples.unwrap_or_default());
        }
        let names: Vec<&str> = recipe.tokens.names().map(|name| name.0.as_str()).collect();
        if let Some(n) = (1..names.len()).find(|n| names[..*n].contains(&names[*n])) {
            fail!(on format!("tokens.also[{}]", n - 1); "tokens names {:?} twice", names[n]);
        }
        if let Some(name) = recipe.tokens.files.keys().find(|name| !names.contains(&name.0.as_str())) {
            fail!(key format!("tokens.files.{name}"); "tokens.files.{name} does nothing: tokens.primary and tokens.also do not name it");
        }
        if recipe.budget.by == By::Content {
            if recipe.retrieval.ranking != Ranking::Pivot {
                fail!(on "retrieval.ranking"; "budget.by = \"content\" needs retrieval.ranking = \"pivot\": one ranking for all languages");
            }
            if recipe.prompt.last == Some(Last::Cut) {
                fail!(on "prompt.last";
                    "budget.by = \"content\" needs prompt.last = \"whole\": a cut passage is another in each language"
                );
            }
        }
        if family == Family::Reasoning && recipe.retrieval.engine == Engine::Hnsw {
            return Err(Error::new(
                "retrieval.engine = \"hnsw\" is for MLNeedle's large haystacks: a story leaves out passages of its own",
            )
            .on("retrieval.engine")
            .help("write \"auto\" or \"exact\""));
        }
        let model = &recipe.embedding.model;
        if model.is_empty()
            || model.starts_with('.')
            || !model.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        {
            fail!(on "embedding.model"; "embedding.model {model:?} is no name of a folder: letters, digits, dots, - and _");
        }
        let counts = counts(&recipe);
        if let Some((task, source, n)) = counts.iter().find(|(.., n)| *n > 99_999) {
            let shared = recipe.stories.tasks.contains_key(&TaskKey::Task(*task));
            let key = if shared { task.name().to_owned() } else { source.to_string() };
            fail!(on format!("stories.tasks.{key}"); "stories.tasks.{} asks for {n} of {source}, at most 99999 fit the ids", task.name());
        }
        if family == Family::Reasoning && counts.iter().all(|(.., n)| *n == 0) {
            fail!(on "stories.tasks"; "stories.tasks asks for no instance");
        }
        let all = files(&recipe);
        options.filter.canonical(grid);
        let filter = &options.filter;
        narrow("--languages", &filter.languages, &grid.languages)?;
        if family == Family::Factoid && filter.lengths.is_some() {
            return Err(Error::new("--lengths: this recipe's lengths are cells of a grid")
                .help("--limit N makes the first N cells; other lengths are slots.lengths in the recipe"));
        }
        narrow("--lengths", &filter.lengths, &grid.lengths)?;
        if filter.limit == Some(0) {
            fail!("--limit 0 leaves no instance");
        }
        let files: Vec<FilePlan> = all.iter().filter(|file| filter.keeps(file)).cloned().collect();
        if files.is_empty() {
            return Err(Error::new("--languages and --lengths leave no file of the recipe")
                .help("a file is left if all its languages are: those of its story, haystack and question"));
        }
        if let Some(translation) = &recipe.translation {
            translation.check()?;
        }
        match (&recipe.written, kinds.contains(&Kind::Written)) {
            (Some(written), true) => {
                no_repeats("written.constraints", &written.constraints)?;
                written.check()?;
            }
            (None, true) => {
                fail!(on "distractors.kind"; "distractors.kind = \"written\" needs [written.service]: who writes the passages")
            }
            (Some(_), false) => {
                fail!(key "written"; "[written] does nothing: distractors.kind does not name \"written\"")
            }
            (None, false) => {}
        }
        let made = |l: &Language| {
            let named = |t: &Translation| t.languages.contains_key(l.code());
            l.is_guest() && recipe.translation.as_ref().is_some_and(named)
        };
        let pack = |(n, l): (usize, &Language)| {
            options.pack(*l).map(|pack| (*l, pack)).map_err(|e| e.on(format!("grid.languages[{n}]")))
        };
        let packs = grid.languages.iter().enumerate().filter(|(_, l)| !made(l)).map(pack);
        let packs = packs.collect::<Result<Vec<_>>>()?;
        let late = counts.iter().find(|(_, source, n)| *n > 0 && source.is_late());
        if let (Some((_, source, _)), Some((language, _))) = (late, packs.iter().find(|(_, p)| !p.knows_all_tasks())) {
            fail!(on "grid.languages"; "the language pack {language} cannot tell {source}: it has no cast.further and what goes with it");
        }
        let english = options.pack("en".parse().expect("the English pack is embedded"))?;
        let ledger = tokenizers::ledger(&recipe, &options)?;
        let askers = if family == Family::Reasoning { askers(&all, |l| find(&packs, l))? } else { BTreeMap::new() };
        Ok(Plan {
            recipe,
            family,
            seed,
            packs,
            english,
            askers,
            ledger,
            counts,
            kinds,
            grid: all,
            files,
            licences,
            options,
        })
    }

    /// Languages whose packs are still to be made.
    pub fn unwritten(&self) -> impl Iterator<Item = Language> + '_ {
        let there = |l: &Language| self.packs.iter().any(|(known, _)| known == l);
        self.recipe.grid.languages.iter().copied().filter(move |l| !there(l))
    }

    /// The source tasks that there are instances of.
    pub fn tasks(&self) -> Vec<SourceTask> {
        tasks(&self.recipe)
    }

    /// Where pins are looked for: in the folders that were named, then in the release.
    pub fn pin_folders(&self) -> Vec<PathBuf> {
        self.options.pins.iter().cloned().chain([self.folder().join("pins")]).collect()
    }

    /// Adds packs that were made.
    pub fn complete(&mut self, made: Vec<(Language, Pack)>) -> Result<()> {
        self.packs.extend(made);
        let order = |l: &Language| self.recipe.grid.languages.iter().position(|known| known == l);
        self.packs.sort_by_key(|(l, _)| order(l));
        self.askers = askers(&self.grid, |l| find(&self.packs, l))?;
        Ok(())
    }

    /// Is a language of the recipe told by machine translation? Then verbs that it tells alike are one.
    pub fn is_translated(&self) -> bool {
        self.packs.iter().any(|(_, pack)| pack.is_translated())
    }

    /// The pack of a language of the recipe.
    pub fn pack(&self, language: Language) -> &Pack {
        find(&self.packs, language).expect("the recipe's languages have packs")
    }

    /// The pack that asks about a story.
    pub fn asker(&self, question: Language, story: Language) -> &Pack {
        self.askers.get(&(question, story)).unwrap_or_else(|| self.pack(question))
    }

    /// Who speaks in the prompts of a voice.
    pub fn voices(&self, (story, question, strategy): Voice) -> Voices<'_> {
        let asker = self.asker(question, story);
        Voices {
            story: self.pack(story),
            question: asker,
            guide: match self.recipe.prompt.instruction_language {
                InstructionLanguage::Story => self.pack(story),
                InstructionLanguage::Question => asker,
                InstructionLanguage::En => &self.english,
            },
            english: &self.english,
            strategy,
            template: self.recipe.prompt.template(strategy),
        }
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
            Family::Factoid => slots::cells(&self.recipe),
        }
    }

    /// Rows of a file: its instances (of a grid of lengths and depths: its cells), times positions, and twice with twins.
    pub fn rows_of(&self, file: &FilePlan) -> u64 {
        let each = file.cell.map_or(1, |cell| {
            let positions = cell.haystack.map_or(1, |_| self.positions().len() as u64);
            positions * if cell.prompt == PromptKind::Existence { 2 } else { 1 }
        });
        u64::from(self.instances()) * each
    }

    /// Has it tasks of qa11-qa20? Their animals, shapes and so on are kept out of texts that are not ours then.
    pub fn tells_late(&self) -> bool {
        tells_late(&self.recipe)
    }

    /// Models whose windows the card compares with.
    pub fn models(&self) -> impl Iterator<Item = &'static Model> {
        models_of(&self.recipe)
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
    /// (or where `--seed` makes it another one); `.compact` follows where it is one.
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
        if self.options.compact {
            version += &format!(".{}", crate::compact::EXTENSION);
        }
        self.options.out.join(&release.name.0).join(version)
    }

    /// Digest of everything the plan says; what its source files hold is not part of it.
    pub fn digest(&self) -> Digest {
        let mut parts = vec![self.resolved(), self.seed.digest().to_string(), env!("CARGO_PKG_VERSION").to_owned()];
        parts.extend(self.files.iter().map(|f| f.config.clone()));
        parts.push(self.instances().to_string());
        parts.extend(self.packs.iter().map(|(_, pack)| pack.digest().to_string()));
        parts.extend(self.ledger.all().iter().map(|tokenizer| tokenizer.digest().to_string()));
        Digest::of_parts(parts.iter().map(|p| p.as_bytes()))
    }
}

fn find(packs: &[(Language, Pack)], language: Language) -> Option<&Pack> {
    packs.iter().find(|(l, _)| *l == language).map(|(_, pack)| pack)
}

/// Packs that ask about stories in another language; none yet where one of the two is still to be made.
pub(crate) fn askers<'p>(
    files: &[FilePlan],
    pack: impl Fn(Language) -> Option<&'p Pack>,
) -> Result<BTreeMap<(Language, Language), Pack>> {
    let mut askers = BTreeMap::new();
    for file in files.iter().filter(|file| file.question != file.language) {
        let key = (file.question, file.language);
        if let (Some(question), Some(story)) = (pack(file.question), pack(file.language))
            && !askers.contains_key(&key)
        {
            askers.insert(key, question.with_cast(story)?);
        }
    }
    Ok(askers)
}

/// Is a prompt, with what is kept free for answer and chat template, longer than a model's window? `counts` are its
/// tokens by tokenizer, the primary one first: the model's own counts if it is there, else the primary one.
pub fn exceeds(model: &Model, counts: &[(&str, u64)], reserve: u64) -> bool {
    let own = counts.iter().find(|(name, _)| *name == model.tokenizer).or(counts.first());
    own.is_some_and(|(_, tokens)| tokens + reserve > u64::from(model.window))
}

/// Models whose windows a recipe compares with, each once.
pub fn models_of(recipe: &Recipe) -> impl Iterator<Item = &'static Model> {
    let named = recipe.tokens.models.iter().map(|name| name.0);
    let own = recipe.slots.model.filter(|own| !recipe.tokens.models.contains(own));
    named.chain(own.map(|name| name.0))
}

/// The source tasks that a recipe has instances of.
pub fn tasks(recipe: &Recipe) -> Vec<SourceTask> {
    counts(recipe).into_iter().filter(|(.., n)| *n > 0).map(|(_, task, _)| task).collect()
}

/// Has a recipe tasks of qa11-qa20?
pub fn tells_late(recipe: &Recipe) -> bool {
    tasks(recipe).iter().any(|source| source.is_late())
}

/// Instances of each source task, in the order of the tasks.
pub fn counts(recipe: &Recipe) -> Vec<(Task, SourceTask, u32)> {
    let mut counts = Vec::new();
    for task in Task::ALL {
        let asked = |key: TaskKey| recipe.stories.tasks.get(&key).copied().unwrap_or(0);
        let wanted = asked(TaskKey::Task(task));
        let sources = task.sources();
        for (i, number) in sources.iter().enumerate() {
            // The first source task takes what cannot be split evenly.
            let n = (u64::from(wanted) + (sources.len() - 1 - i) as u64) / sources.len() as u64;
            let source = SourceTask::of(*number).expect("the table names known tasks");
            counts.push((task, source, (n as u32).saturating_add(asked(TaskKey::Source(source)))));
        }
    }
    counts
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

fn no_repeats<T: PartialEq + std::fmt::Debug>(key: &str, list: &[T]) -> Result<()> {
    if list.is_empty() {
        fail!(on key; "{key} is empty");
    }
    match list.iter().enumerate().find(|(i, item)| list[..*i].contains(item)) {
        Some((n, item)) => fail!(on format!("{key}[{n}]"); "{key} names {item:?} twice"),
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
