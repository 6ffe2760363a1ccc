//! The path of the reasoning family: stories, spread over haystacks of distractors.

use super::seal::Described;
use super::{Drift, Ending, Goal, Made, Outcome, Stages, identity, reach};
use crate::embedder::{Role, dot, ngram};
use crate::error::{Error, Result};
use crate::family::reasoning::Example;
use crate::hash::Digest;
use crate::language::{self, Language};
use crate::manifest;
use crate::manifest::PassageFacts;
use crate::plan::{FilePlan, Plan, Voice};
use crate::recipe::{By, EmbedderName, Kind, Length, Ranking, Recipe, Retriever, Strategy};
use crate::record::{Instance, LocalPool, Passage};
use crate::report::{Progress, Stopwatch};
use crate::reranker::{Bm25, CommandReranker};
use crate::stage::assemble::{Bounding, RowPlan, Sizes, fit, local_story, shorten};
use crate::stage::authored::author;
use crate::stage::embed::{self, PinFile, Pins, Texts, Vectors};
use crate::stage::ingest::{Ingested, ingest};
use crate::stage::localize::{self, Lines};
use crate::stage::natural::{self, Natural};
use crate::stage::render::FileRows;
use crate::stage::retrieved::{Known, Retrievers, numbered};
use crate::stage::select::{self, Selected, select, voices};
use crate::stage::stories::{Inputs, Ranked, Side, holds};
use crate::stage::translate::{Told, translate};
use crate::stage::{distractors, examples, retrieve};
use crate::store::{Key, Lists, Store};
use crate::story::SourceTask;
use crate::tokenizer::Tokenizer;
use crate::translator::Translator;
use rayon::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Builds a release.
pub(super) fn build(plan: &Plan, store: &Store, goal: Goal<'_>) -> Result<Made> {
    let mut watch = Stopwatch::start();
    let mut first = Pins::new(plan);
    let mut told = translate(plan, &tellable(plan, Some(store))?, &mut first)?;
    let completed = completed(plan, told.as_mut())?;
    let plan = completed.as_ref().unwrap_or(plan);
    if told.is_some() {
        watch.lap("translate");
    }
    let ingested = ingest(plan)?;
    let free = Free::read(plan)?;
    let keys = Keys::new(plan, &ingested, Some(&free));
    let mut pins = Pins::new(plan).with(first);
    let ranked = Prepared::new(plan, store, &keys, &ingested, &free, &mut pins, &mut watch)?;
    let Prepared { selected, examples, pools, ranked, mut stages } = ranked;
    stages.splice(0..0, keys.all());
    let identity = identity(plan, &stages, &pins);
    if let Goal::Release(folder) = &goal
        && folder.exists()
    {
        let folder = folder.clone();
        return Outcome::there(plan, &identity, folder, watch);
    }
    let lines = read_pools(plan, &pools)?;
    watch.lap("read back");
    check_seams(plan, &pools)?;
    let sizes = sizes(plan, &selected, &examples);
    let files = Fitting { plan, selected: &selected, sizes: &sizes, pools: &pools, ranked: &ranked }.rows()?;
    watch.lap("fit");
    let sides: Vec<Side<'_>> = pools
        .iter()
        .filter_map(|(&(language, kind), pool)| {
            let lines = lines.get(&(language, kind))?;
            Some(Side { language, kind, pool, lines, ranked: &ranked[&(kind, ranking_of(plan, language, kind))] })
        })
        .collect();
    let primary: BTreeMap<Voice, Vec<Sizes>> =
        sizes.into_iter().map(|(voice, each)| (voice, each.into_iter().next().unwrap_or_default())).collect();
    let retrievers = retrievers(plan, &selected, &lines, &mut pins)?;
    pins.close();
    let inputs = Inputs {
        plan,
        instances: &selected.instances,
        first: 0,
        sizes: &primary,
        examples: &examples,
        sides: &sides,
        retrievers: retrievers.as_ref(),
    };
    let mut all = pins.used();
    if !matches!(goal, Goal::Rows(_)) {
        // What services and programs said goes through the store, where the release's other pins lie.
        let kept = plan.options.out.join("store");
        let mut keep = |what: &str, pinned: Option<(String, u64, Digest)>| {
            let pin = |(path, bytes, sha256)| PinFile { path, what: what.to_owned(), bytes, sha256 };
            all.extend(pinned.map(pin).map(|pin| (pin.clone(), kept.join(&pin.path))));
        };
        for (what, asked) in
            [("translations", told.as_ref().map(|t| &t.translator)), ("passages written", free.author.as_ref())]
        {
            keep(what, asked.map(|translator| translator.pin(&kept)).transpose()?.flatten());
        }
        if let Some(command) = retrievers.as_ref().and_then(|retrievers| retrievers.command.as_ref()) {
            // All scores first, of finished files too: they are the pin.
            inputs.ask(&files)?;
            watch.lap("rerank");
            keep("scores of sentences", command.lock().unwrap_or_else(|e| e.into_inner()).pin(&kept)?);
        }
    }
    let distinct = lines.iter().filter(|((_, kind), _)| *kind == Kind::Synthetic);
    let distinct = distinct.map(|((language, _), lines)| (language.to_string(), lines.len() as u64)).collect();
    let mut sources = ingested.files.clone();
    sources.extend(free.passages.values().flat_map(|n| n.files.clone()));
    let outputs = store.outputs(&stages);
    let mut manifest = Described { plan, stages: &stages, outputs, pins: &all, sources, identity }.manifest();
    for instance in &selected.instances {
        *manifest.instances.entry(instance.source_task()).or_default() += 1;
    }
    manifest.refused = selected.refused.clone();
    manifest.starts = selected.starts.iter().map(|(task, length)| (*task, length.to_string())).collect();
    manifest.answerers = manifest::answerers(&selected, &examples, plan);
    manifest.distinct_sentences = distinct;
    manifest.passages = free.facts();
    manifest.differences = ingested.differences.clone();
    manifest.translations = told.map(|told| told.facts).unwrap_or_default();
    reach(plan, &inputs, &files, Ending { manifest, pins: all, ids: None }, goal, watch)
}

/// The synthetic passages that a translation must be able to tell; none without one.
pub fn tellable(plan: &Plan, store: Option<&Store>) -> Result<Vec<Passage>> {
    if plan.recipe.translation.is_none() || !plan.kinds.contains(&Kind::Synthetic) {
        return Ok(Vec::new());
    }
    let make = || Ok(synthetic(plan));
    store.map_or_else(make, |store| store.get_or(&pool_key(&plan.recipe, plan.seed.digest()), make))
}

/// The plan with the packs that were made; none where nothing was to be made.
fn completed(plan: &Plan, told: Option<&mut Told>) -> Result<Option<Plan>> {
    let Some(told) = told.filter(|told| !told.packs.is_empty()) else { return Ok(None) };
    let mut whole = Plan::new(plan.recipe.clone(), plan.options.clone())?;
    whole.complete(std::mem::take(&mut told.packs))?;
    Ok(Some(whole))
}

/// What ranks the sentences of prompts, where a recipe asks for rows with the best alone.
fn retrievers<'a>(
    plan: &'a Plan,
    selected: &Selected,
    lines: &'a BTreeMap<(Language, Kind), Lines<'a>>,
    pins: &mut Pins<'_>,
) -> Result<Option<Retrievers<'a>>> {
    let Some(rag) = &plan.recipe.rag else { return Ok(None) };
    let mut made = Retrievers::default();
    let files: Vec<&FilePlan> = plan.files.iter().filter(|file| file.rag.is_some()).collect();
    let (by_vectors, by_words) =
        (rag.retrievers.contains(&Retriever::Embedder), rag.retrievers.contains(&Retriever::Bm25));
    let mut known = |what: String, sentences: &[&str], bm25: &mut Bm25| -> Result<Known> {
        let texts = Texts {
            what,
            role: Role::Passage,
            ids: (0..sentences.len()).map(|n| n.to_string()).collect(),
            texts: sentences.to_vec(),
        };
        let vectors = by_vectors.then(|| pins.vectors(&texts)).transpose()?;
        Ok(Known::new(sentences, vectors, by_words.then_some(bm25)))
    };
    for (side, lines) in lines {
        if files.iter().any(|file| (file.haystack, file.kind) == *side) {
            let sentences = numbered(lines);
            let what = format!("{} sentences {}", side.1.name(), side.0);
            let known = known(what, &sentences, &mut made.bm25)?;
            made.pools.insert(*side, (lines, known));
        }
    }
    let mut stories: Vec<Language> = files.iter().map(|file| file.language).collect();
    stories.sort();
    stories.dedup();
    for story in stories {
        let pack = plan.pack(story);
        let facts = selected.instances.iter().flat_map(|instance| &instance.story.facts);
        let mut facts: Vec<String> = facts.map(|fact| pack.sentence(fact.message())).collect();
        facts.sort_unstable();
        facts.dedup();
        let sentences: Vec<&str> = facts.iter().map(String::as_str).collect();
        let known = known(format!("facts {story}"), &sentences, &mut made.bm25)?;
        let numbers = facts.iter().enumerate().map(|(n, fact)| (fact.clone(), n as u32)).collect();
        made.facts.insert(story, (numbers, known));
    }
    let mut asked: Vec<(Language, Language)> = files.iter().map(|file| (file.question, file.language)).collect();
    asked.sort();
    asked.dedup();
    for (question, story) in asked.into_iter().filter(|_| by_vectors) {
        let asker = plan.asker(question, story);
        let texts: Vec<String> =
            selected.instances.iter().map(|i| asker.sentence(i.story.question.message())).collect();
        let own = if question == story { question.to_string() } else { format!("{question} of {story}") };
        let vectors = pins.vectors(&Texts {
            what: format!("asked {own}"),
            role: Role::Query,
            ids: selected.instances.iter().map(|instance| instance.id.clone()).collect(),
            texts: texts.iter().map(String::as_str).collect(),
        })?;
        made.questions.insert((question, story), vectors);
    }
    if let Some(settings) = &rag.reranker {
        let store = plan.options.out.join("store");
        let opened = CommandReranker::open(settings.clone(), &store, &plan.pin_folders(), plan.options.offline)?;
        made.command = Some(std::sync::Mutex::new(opened));
    }
    Ok(Some(made))
}

/// Passages that are no sentences of ours: of `[haystack]`, and written by a model.
pub struct Free {
    passages: BTreeMap<Kind, Natural>,
    /// Holds what a model wrote.
    author: Option<Translator>,
}

impl Free {
    fn read(plan: &Plan) -> Result<Free> {
        let mut free = Free { passages: BTreeMap::new(), author: None };
        if plan.kinds.contains(&Kind::Natural) {
            free.passages.insert(Kind::Natural, natural::read(plan)?);
        }
        if plan.kinds.contains(&Kind::Written) {
            let made = author(plan)?;
            free.passages.insert(Kind::Written, made.passages);
            free.author = Some(made.translator);
        }
        Ok(free)
    }

    /// What a manifest says of them, together.
    fn facts(self) -> Option<PassageFacts> {
        let mut all = self.passages.into_values().map(|passages| passages.facts);
        let mut facts = all.next()?;
        for more in all {
            facts.passages += more.passages;
            facts.dropped.extend(more.dropped);
        }
        Some(facts)
    }
}

/// How many prompts a fresh embedding would change; see [`Drift`].
pub(super) fn drift(plan: &Plan, store: &Store) -> Result<Drift> {
    let mut watch = Stopwatch::start();
    let mut told = translate(plan, &tellable(plan, Some(store))?, &mut Pins::new(plan))?;
    let completed = completed(plan, told.as_mut())?;
    let plan = completed.as_ref().unwrap_or(plan);
    let ingested = ingest(plan)?;
    let free = Free::read(plan)?;
    let keys = Keys::new(plan, &ingested, Some(&free));
    let mut drift = Drift::default();
    let mut sides = Vec::new();
    for mut pins in [Pins::new(plan).remembering(), Pins::fresh(plan).remembering()] {
        let prepared = Prepared::new(plan, store, &keys, &ingested, &free, &mut pins, &mut watch)?;
        let sizes = sizes(plan, &prepared.selected, &prepared.examples);
        let Prepared { selected, pools, ranked, .. } = &prepared;
        let files = Fitting { plan, selected, sizes: &sizes, pools, ranked }.rows()?;
        sides.push((pins, prepared, files));
    }
    let (fresh, pinned) = (sides.pop().expect("two sides"), sides.pop().expect("two sides"));
    drift.components(&pinned.0, &fresh.0);
    for (key, ranked) in &pinned.1.ranked {
        let (Ranked::Lists(a), Some(Ranked::Lists(b))) = (ranked, fresh.1.ranked.get(key)) else { continue };
        drift.lists(a, b)?;
    }
    for (a, b) in pinned.2.iter().zip(&fresh.2) {
        let key = (a.file.kind, ranking_of(plan, a.file.haystack, a.file.kind));
        let pairs = a.groups.iter().flatten().zip(b.groups.iter().flatten());
        for (x, y) in pairs {
            let instance = &pinned.1.selected.instances[x.instance as usize];
            let list = |ranked: &Rankings, n: u32| -> Result<Vec<u32>> {
                if n == 0 {
                    return Ok(Vec::new());
                }
                let mut list = ranked[&key].get(plan, x.instance as usize, instance)?;
                list.truncate(n as usize);
                Ok(list)
            };
            drift.prompt(list(&pinned.1.ranked, x.passages)? == list(&fresh.1.ranked, y.passages)?);
        }
    }
    Ok(drift)
}

/// What the rows are made of.
struct Prepared {
    selected: Selected,
    /// Worked examples of each instance; none without a few-shot strategy.
    examples: Vec<Vec<Example>>,
    pools: Pools,
    ranked: Rankings,
    /// Keys of the rankings, which depend on the vectors.
    stages: Stages,
}

impl Prepared {
    fn new(
        plan: &Plan,
        store: &Store,
        keys: &Keys,
        ingested: &Ingested,
        free: &Free,
        pins: &mut Pins<'_>,
        watch: &mut Stopwatch,
    ) -> Result<Prepared> {
        let shown = examples::pool(&plan.recipe, &plan.seed, plan.packs.iter().map(|(_, pack)| pack));
        let selected: Selected = store.get_or(&keys.select, || select(plan, ingested, &shown))?;
        let examples = worked(plan, &selected, &shown, pins)?;
        watch.lap("select");
        let passages: Vec<Passage> = match plan.kinds.contains(&Kind::Synthetic) {
            true => store.get_or(&keys.pool, || Ok(synthetic(plan)))?,
            false => Vec::new(),
        };
        let pools = pools(plan, store, keys, &passages, free)?;
        watch.lap("localize");
        let mut ranked = Rankings::new();
        let mut stages = Stages::new();
        for &kind in &plan.kinds {
            match kind {
                Kind::Noise => {
                    let barred = clashes(plan, &pools, kind);
                    ranked.insert((kind, None), Ranked::Round { size: plan.recipe.distractors.pool, barred });
                }
                Kind::Synthetic | Kind::Natural | Kind::Written => {
                    let make = RankKind { plan, store, keys, kind, selected: &selected, passages: &passages };
                    let made = make.rank(&pools, pins)?;
                    stages.extend(made.stages);
                    ranked.extend(made.ranked);
                }
            }
        }
        watch.lap("retrieve");
        Ok(Prepared { selected, examples, pools, ranked, stages })
    }
}

/// The worked examples of each instance, by similarity.
fn worked(plan: &Plan, selected: &Selected, pool: &examples::Pool, pins: &mut Pins<'_>) -> Result<Vec<Vec<Example>>> {
    if pool.is_empty() {
        return Ok(Vec::new());
    }
    let stories: Vec<(SourceTask, String)> = pool
        .iter()
        .flat_map(|(task, all)| all.iter().map(|(story, _)| (*task, examples::text(&plan.english, story))))
        .collect();
    let mut starts: BTreeMap<SourceTask, usize> = BTreeMap::new();
    for (n, (task, _)) in stories.iter().enumerate() {
        starts.entry(*task).or_insert(n);
    }
    let shown = pins.vectors(&Texts {
        what: "examples".to_owned(),
        role: Role::Passage,
        ids: stories.iter().enumerate().map(|(n, (task, _))| examples::id(*task, n - starts[task])).collect(),
        texts: stories.iter().map(|(_, text)| text.as_str()).collect(),
    })?;
    let texts: Vec<String> = selected.instances.iter().map(|i| examples::text(&plan.english, &i.story)).collect();
    let asked = pins.vectors(&Texts {
        what: "queries of examples".to_owned(),
        role: Role::Query,
        ids: selected.instances.iter().map(|instance| instance.id.clone()).collect(),
        texts: texts.iter().map(String::as_str).collect(),
    })?;
    let score = |index: usize, task: SourceTask, n: usize| dot(shown.of(starts[&task] + n), asked.of(index));
    examples::of_all(&plan.recipe, &plan.seed, &selected.instances, pool, score)
}

/// The key of the synthetic pool: it depends on the recipe and its seed alone.
pub fn pool_key(recipe: &Recipe, seed: Digest) -> Key {
    Key {
        stage: "distractors",
        version: distractors::VERSION,
        params: json!({ "variant": recipe.distractors.variant, "pool": recipe.distractors.pool }),
        inputs: vec![seed],
    }
}

/// Keys of the store entries of a plan, but for rankings.
pub struct Keys {
    select: Key,
    pool: Key,
    examples: Option<Key>,
    local: BTreeMap<(Language, Kind), Key>,
    vectors: BTreeMap<Language, Key>,
}

impl Keys {
    /// The keys of a plan. They depend on nothing that must run first but the digests of source files.
    pub fn new(plan: &Plan, ingested: &Ingested, free: Option<&Free>) -> Keys {
        let recipe = &plan.recipe;
        let packs: Vec<Digest> = plan.packs.iter().map(|(_, pack)| pack.digest()).collect();
        let seed = plan.seed.digest();
        let mut inputs = vec![seed, plan.english.digest()];
        inputs.extend(&packs);
        inputs.extend(ingested.files.iter().map(|f| f.sha256));
        let select = Key {
            stage: "select",
            version: select::VERSION,
            params: json!({
                "source": recipe.source, "stories": recipe.stories, "lengths": recipe.grid.lengths, "budget": recipe.budget,
                "tokenizers": plan.ledger.bounding().iter().map(|t| t.digest()).collect::<Vec<_>>(),
                "strategies": recipe.prompt.strategies, "special": recipe.tokens.special,
                "instruction": recipe.prompt.instruction_language, "instances": plan.instances(),
                "templates": recipe.prompt.templates, "examples": (recipe.prompt.worked(), examples::VERSION),
                "voices": voices(&plan.grid),
            }),
            inputs,
        };
        let pool = pool_key(recipe, seed);
        let mut local = BTreeMap::new();
        let mut vectors = BTreeMap::new();
        for ((language, pack), digest) in plan.packs.iter().zip(&packs) {
            for &kind in &plan.kinds {
                let made_of = match kind {
                    Kind::Synthetic => pool.digest(),
                    Kind::Noise => seed,
                    Kind::Natural | Kind::Written => free.expect("read for this kind").passages[&kind].digest,
                };
                let key = Key {
                    stage: "localize",
                    version: localize::VERSION,
                    params: json!({
                        "kind": kind, "language": pack.code(), "tokenizer": plan.ledger.primary().digest(), "pool": recipe.distractors.pool,
                        "late": plan.tells_late(),
                    }),
                    inputs: vec![*digest, made_of],
                };
                local.insert((*language, kind), key);
            }
            if let Some(text) = local.get(&(*language, Kind::Synthetic)) {
                let key = Key {
                    stage: "embed",
                    version: ngram::VERSION,
                    params: json!({ "embedder": recipe.retrieval.embedder }),
                    inputs: vec![text.digest()],
                };
                vectors.insert(*language, key);
            }
        }
        let few = recipe.prompt.strategies.contains(&Strategy::FewShot);
        let examples = few.then(|| examples::key(recipe, seed));
        Keys { select, pool, examples, local, vectors }
    }

    /// Every key that the plan needs, in the order of the path.
    pub fn all(&self) -> Stages {
        let mut all = vec![("select".to_owned(), self.select.clone()), ("distractors".to_owned(), self.pool.clone())];
        all.extend(self.examples.iter().map(|key| ("examples".to_owned(), key.clone())));
        all.extend(self.local.iter().map(|((l, kind), key)| (format!("localize {l} {}", kind.name()), key.clone())));
        all.extend(self.vectors.iter().map(|(l, key)| (format!("embed {l}"), key.clone())));
        all
    }
}

fn synthetic(plan: &Plan) -> Vec<Passage> {
    distractors::synthetic(&plan.seed, plan.recipe.distractors.variant, plan.recipe.distractors.pool)
}

type Pools = BTreeMap<(Language, Kind), LocalPool>;

/// Is anything of this language written? A pivoted ranking needs the vectors of all languages in any case.
fn is_written(plan: &Plan, language: Language, kind: Kind) -> bool {
    // Where all languages hold the same distractors, those that a flag leaves out still set them.
    let files = if plan.recipe.budget.by == By::Content { &plan.grid } else { &plan.files };
    files.iter().any(|file| (file.haystack, file.kind) == (language, kind))
}

fn pools(plan: &Plan, store: &Store, keys: &Keys, passages: &[Passage], free: &Free) -> Result<Pools> {
    let progress = Progress::new("localize", keys.local.len() as u64, "pools");
    let mut pools = Pools::new();
    let primary = plan.ledger.primary();
    for (&(language, kind), key) in &keys.local {
        let needed = kind != Kind::Noise || is_written(plan, language, kind);
        if needed {
            let pack = plan.pack(language);
            let pool = store.get_or(key, || {
                Ok(match kind {
                    Kind::Synthetic => localize::localize(passages, pack, primary),
                    Kind::Natural | Kind::Written => localize::pool(free.passages[&kind].lines(language), primary),
                    Kind::Noise => {
                        let texts =
                            distractors::noise(&plan.seed, pack, plan.recipe.distractors.pool, plan.tells_late());
                        localize::pool(texts, primary)
                    }
                })
            })?;
            pools.insert((language, kind), pool);
        }
        progress.add(1);
    }
    progress.finish();
    Ok(pools)
}

/// Which ranking a file uses.
pub(crate) fn ranking_of(plan: &Plan, language: Language, kind: Kind) -> Option<Language> {
    (kind != Kind::Noise && plan.recipe.retrieval.ranking == Ranking::PerLanguage).then_some(language)
}

type Rankings = BTreeMap<(Kind, Option<Language>), Ranked>;

/// What ranking one kind of distractors needs.
struct RankKind<'a> {
    plan: &'a Plan,
    store: &'a Store,
    keys: &'a Keys,
    kind: Kind,
    selected: &'a Selected,
    passages: &'a [Passage],
}

struct RankedKind {
    ranked: Rankings,
    stages: Stages,
}

impl RankKind<'_> {
    fn rank(&self, pools: &Pools, pins: &mut Pins<'_>) -> Result<RankedKind> {
        let plan = self.plan;
        let all: Vec<Language> = plan.packs.iter().map(|(l, _)| *l).collect();
        let groups: Vec<(Option<Language>, Vec<Language>)> = match plan.recipe.retrieval.ranking {
            Ranking::Pivot => vec![(None, all)],
            Ranking::PerLanguage => {
                let written = all.into_iter().filter(|l| is_written(plan, *l, self.kind));
                written.map(|l| (Some(l), vec![l])).collect()
            }
        };
        let mut made = RankedKind { ranked: Rankings::new(), stages: Stages::new() };
        for (own, languages) in groups {
            let (key, lists) = self.group(own, &languages, pools, pins)?;
            made.ranked.insert((self.kind, own), Ranked::Lists(lists));
            let language = own.map_or(String::new(), |l| format!(" {l}"));
            let kind = if self.kind == Kind::Synthetic { String::new() } else { format!(" {}", self.kind.name()) };
            made.stages.push((format!("retrieve{kind}{language}"), key));
        }
        Ok(made)
    }

    /// The passages' vectors in a language, and what a ranking's key says of them.
    fn passages(&self, language: Language, pools: &Pools, pins: &mut Pins<'_>) -> Result<(Digest, Option<Vectors>)> {
        let pool = &pools[&(language, self.kind)];
        let texts = || Texts {
            what: format!("{} passages {language}", self.kind.name()),
            role: Role::Passage,
            ids: (0..pool.len()).map(|n| distractors::id(self.kind, n as u32)).collect(),
            texts: (0..pool.len()).map(|n| pool.passage(n)).collect(),
        };
        if self.plan.recipe.retrieval.embedder == EmbedderName::Ngram && self.kind == Kind::Synthetic {
            // Exact, so the text's key stands for the vectors: they are only made where they are needed.
            return Ok((self.keys.vectors[&language].digest(), None));
        }
        let vectors = pins.vectors(&texts())?;
        Ok((vectors.digest(), Some(vectors)))
    }

    /// The queries' vectors in a language.
    fn queries(&self, language: Language, pins: &mut Pins<'_>) -> Result<Vectors> {
        let pack = self.plan.pack(language);
        let query = self.plan.recipe.retrieval.query;
        let texts: Vec<String> =
            self.selected.instances.par_iter().map(|instance| retrieve::query(instance, pack, query)).collect();
        pins.vectors(&Texts {
            what: format!("queries {language}"),
            role: Role::Query,
            ids: self.selected.instances.iter().map(|instance| instance.id.clone()).collect(),
            texts: texts.iter().map(String::as_str).collect(),
        })
    }

    fn group(
        &self,
        own: Option<Language>,
        languages: &[Language],
        pools: &Pools,
        pins: &mut Pins<'_>,
    ) -> Result<(Key, Lists)> {
        let (plan, recipe) = (self.plan, &self.plan.recipe);
        let mut inputs = vec![self.keys.select.digest()];
        let mut vectors = Vec::new();
        let mut queries = Vec::new();
        for &language in languages {
            let (digest, made) = self.passages(language, pools, pins)?;
            inputs.push(digest);
            vectors.push(made);
            if recipe.retrieval.embedder == EmbedderName::Onnx {
                let made = self.queries(language, pins)?;
                inputs.push(made.digest());
                queries.push(made);
            }
        }
        let spoken: Vec<(Language, Language)> = foreign(plan);
        let mut params = json!({
            "query": recipe.retrieval.query, "variant": recipe.distractors.variant, "language": own,
            "kind": self.kind, "need": recipe.budget.tokens(plan.largest()),
        });
        if !spoken.is_empty() {
            params["spoken"] = json!(spoken);
        }
        let key = Key { stage: "retrieve", version: retrieve::VERSION, params, inputs };
        let instances = &self.selected.instances;
        let lists = self.store.lists(&key, |push| {
            for (language, vectors) in languages.iter().zip(&mut vectors) {
                if vectors.is_none() {
                    let pool = &pools[&(*language, self.kind)];
                    let key = &self.keys.vectors[language];
                    let made = self.store.get_or(key, || {
                        let texts: Vec<&str> = (0..pool.len()).map(|n| pool.passage(n)).collect();
                        Ok(embed::grams(&texts).data)
                    })?;
                    *vectors = Some(Vectors { dimensions: ngram::DIMENSIONS, data: made });
                }
            }
            let sides: Vec<retrieve::Side<'_>> = languages
                .iter()
                .zip(vectors.iter().flatten())
                .map(|(l, vectors)| retrieve::Side { pool: &pools[&(*l, self.kind)], vectors })
                .collect();
            let mut names = clashes(plan, pools, self.kind);
            if self.kind == Kind::Synthetic && plan.is_translated() {
                names.resize(self.passages.len(), false);
                let told = |m: &language::Message| plan.packs.iter().all(|(_, pack)| pack.can_write(*m));
                names.iter_mut().zip(self.passages).for_each(|(bar, p)| *bar |= !p.sentences.iter().all(told));
            }
            let progress = Progress::new("retrieve", instances.len() as u64, "instances");
            // Chunk by chunk, so that memory does not grow with the number of instances.
            for (c, chunk) in instances.chunks(64).enumerate() {
                let rankings = chunk
                    .par_iter()
                    .enumerate()
                    .map(|(n, instance)| {
                        let queries: Vec<Vec<i8>> = languages
                            .iter()
                            .enumerate()
                            .map(|(l, language)| match queries.get(l) {
                                Some(made) => made.of(c * 64 + n).to_vec(),
                                None => {
                                    let pack = plan.pack(*language);
                                    let text = retrieve::query(instance, pack, recipe.retrieval.query);
                                    embed::grams(&[&text]).data
                                }
                            })
                            .collect();
                        let mut allowed = match self.kind {
                            Kind::Synthetic => retrieve::allowed(instance, self.passages, recipe.distractors.variant),
                            // Passages that name anything of the stories were dropped before.
                            _ => vec![true; sides[0].pool.len()],
                        };
                        allowed.iter_mut().zip(&names).for_each(|(allowed, clash)| *allowed &= !clash);
                        retrieve::rank(plan, instance, &sides, &queries, &allowed)
                    })
                    .collect::<Result<Vec<_>>>()?;
                for ranking in &rankings {
                    push(ranking)?;
                }
                progress.add(chunk.len() as u64);
            }
            progress.finish();
            Ok(())
        })?;
        Ok((key, lists))
    }
}

/// Languages of story and haystack, where they differ.
fn foreign(plan: &Plan) -> Vec<(Language, Language)> {
    let mut all: Vec<(Language, Language)> =
        plan.grid.iter().filter(|file| file.language != file.haystack).map(|f| (f.language, f.haystack)).collect();
    all.sort();
    all.dedup();
    all
}

/// Passages that hold, in the language of a haystack, the name of a person of a story told in another: a name may be
/// common in both. Empty where every haystack speaks its story's language.
fn clashes(plan: &Plan, pools: &Pools, kind: Kind) -> Vec<bool> {
    let mut clash = Vec::new();
    for (story, haystack) in foreign(plan) {
        let names: Vec<String> = distractors::story_actors()
            .flat_map(|actor| plan.pack(story).forms_of(language::Kind::Actor, actor))
            .map(|name| name.to_lowercase())
            .collect();
        // Noise of a language that flags leave out is not made.
        let Some(pool) = pools.get(&(haystack, kind)) else { continue };
        clash.resize(pool.len(), false);
        clash.par_iter_mut().enumerate().for_each(|(n, clash)| *clash |= distractors::holds(pool.passage(n), &names));
    }
    clash
}

fn read_pools<'a>(plan: &Plan, pools: &'a Pools) -> Result<BTreeMap<(Language, Kind), Lines<'a>>> {
    let mut lines = BTreeMap::new();
    for (&(language, kind), pool) in pools {
        if is_written(plan, language, kind) {
            lines.insert((language, kind), read_pool(plan, language, kind, pool)?);
        }
    }
    Ok(lines)
}

/// Reads a pool's lines back.
pub(crate) fn read_pool<'a>(plan: &Plan, language: Language, kind: Kind, pool: &'a LocalPool) -> Result<Lines<'a>> {
    match kind {
        Kind::Synthetic => localize::read_back(pool, plan.pack(language)),
        Kind::Noise | Kind::Natural | Kind::Written => {
            localize::check_clean(pool, plan.pack(language), plan.tells_late())
        }
    }
}

/// Counts of lines are added: each tokenizer that bounds a prompt must tokenise lines apart.
fn check_seams(plan: &Plan, pools: &Pools) -> Result<()> {
    let mut seams: BTreeSet<(char, char)> = BTreeSet::new();
    for pool in pools.values() {
        let lines = || pool.text.split_terminator('\n').filter(|line| !line.is_empty());
        let lasts: BTreeSet<char> = lines().filter_map(|line| line.chars().next_back()).collect();
        let firsts: BTreeSet<char> = lines().filter_map(|line| line.chars().next()).chain(['<']).collect();
        seams.extend(lasts.iter().flat_map(|last| firsts.iter().map(|first| (*last, *first))));
    }
    for tokenizer in plan.ledger.bounding() {
        if !tokenizer.lines_add(seams.iter().copied()) {
            let what = format!("the tokenizer {} joins lines: their counts do not add up", tokenizer.name());
            let help = "name it under tokens.also with budget.fit = \"primary\", where whole prompts are counted";
            return Err(Error::new(what).help(help));
        }
    }
    Ok(())
}

/// By voice and bounding tokenizer, the primary one first: counts of each instance.
type AllSizes = BTreeMap<Voice, Vec<Vec<Sizes>>>;

fn sizes(plan: &Plan, selected: &Selected, examples: &[Vec<Example>]) -> AllSizes {
    let of = |voice: Voice, tokenizer: &Tokenizer| {
        let sizes = |(n, instance): (usize, &Instance)| {
            let examples = examples.get(n).map_or(&[][..], Vec::as_slice);
            Sizes::of(&local_story(plan, instance, voice, examples), plan, tokenizer)
        };
        selected.instances.par_iter().enumerate().map(sizes).collect()
    };
    let files = if plan.recipe.budget.by == By::Content { &plan.grid } else { &plan.files };
    let each = |voice| plan.ledger.bounding().iter().map(|tokenizer| of(voice, tokenizer)).collect();
    voices(files).into_iter().map(|voice| (voice, each(voice))).collect()
}

/// What fitting rows needs.
struct Fitting<'a> {
    plan: &'a Plan,
    selected: &'a Selected,
    sizes: &'a AllSizes,
    pools: &'a Pools,
    ranked: &'a Rankings,
}

/// The least passages that an instance's row has in any of the files that share its context, by instance: of all
/// strategies, and where all languages hold the same distractors, of all languages.
type Least = BTreeMap<Shared, Vec<u32>>;

/// What such files have in common.
type Shared = (Option<(Language, Language, Language)>, Length, Kind);

/// Rows that were fitted, by what their files share with those cut from them: context and strategy.
type Fitted = BTreeMap<((Language, Language, Language, Length, Kind), Strategy), Vec<RowPlan>>;

impl Fitting<'_> {
    /// Fits every row of every file.
    fn rows(&self) -> Result<Vec<FileRows>> {
        let plan = self.plan;
        let others = self.others();
        let mut least = Least::new();
        let by_content = plan.recipe.budget.by == By::Content;
        // Files that differ in what is retrieved from them alone are fitted once.
        let mut fitted = Fitted::new();
        let mut fit = |file: &FilePlan| -> Result<Vec<RowPlan>> {
            let key = (file.context(), file.strategy);
            if let Some(rows) = fitted.get(&key) {
                return Ok(rows.clone());
            }
            let rows = self.file(file, &others)?;
            fitted.insert(key, rows.clone());
            Ok(rows)
        };
        let key = |file: &FilePlan| -> Shared {
            let spoken = (file.language, file.haystack, file.question);
            ((!by_content).then_some(spoken), file.length, file.kind)
        };
        // Strategies share contexts, so the longest of them sets the size; a build of one strategy and by tokens needs no
        // second look.
        if by_content || plan.recipe.prompt.strategies.len() > 1 {
            for file in if by_content { &plan.grid } else { &plan.files } {
                let rows = fit(file)?;
                let entry = least.entry(key(file)).or_insert_with(|| vec![u32::MAX; self.selected.instances.len()]);
                for row in rows {
                    let mine = &mut entry[row.instance as usize];
                    *mine = row.passages.min(*mine);
                }
            }
        }
        let file = |file: &FilePlan| -> Result<FileRows> {
            let mut rows = fit(file)?;
            if let Some(least) = least.get(&key(file)) {
                let pool = &self.pools[&(file.haystack, file.kind)];
                for row in &mut rows {
                    let ranking = self.ranking(file, row.instance as usize)?;
                    *row = shorten(*row, least[row.instance as usize], &ranking, pool);
                }
            }
            Ok(FileRows::new(file.clone(), rows))
        };
        plan.files.iter().map(file).collect()
    }

    /// Tokens of the pools under the bounding tokenizers beside the primary one.
    fn others(&self) -> BTreeMap<(Language, Kind), Vec<Vec<u32>>> {
        let counted = |pool: &LocalPool| {
            let texts = || (0..pool.len()).into_par_iter().map(|n| pool.passage(n));
            self.plan.ledger.bounding()[1..].iter().map(|t| localize::counts(texts(), t)).collect()
        };
        self.pools.iter().map(|(side, pool)| (*side, counted(pool))).collect()
    }

    fn ranking(&self, file: &FilePlan, index: usize) -> Result<Vec<u32>> {
        let ranked = &self.ranked[&(file.kind, ranking_of(self.plan, file.haystack, file.kind))];
        match self.plan.budget(file.length, file.strategy) {
            Some(_) => ranked.get(self.plan, index, &self.selected.instances[index]),
            None => Ok(Vec::new()),
        }
    }

    fn file(&self, file: &FilePlan, others: &BTreeMap<(Language, Kind), Vec<Vec<u32>>>) -> Result<Vec<RowPlan>> {
        let side = (file.haystack, file.kind);
        let pool = &self.pools[&side];
        let budget = self.plan.budget(file.length, file.strategy);
        let sizes = &self.sizes[&file.voice()];
        let selected = self.selected;
        let rows = selected.instances.par_iter().enumerate().filter(|(_, i)| holds(&selected.starts, i, file.length));
        let rows = rows.map(|(index, _)| {
            let more = others[&side].iter().zip(&sizes[1..]);
            let more: Vec<Bounding<'_>> =
                more.map(|(tokens, sizes)| Bounding { sizes: &sizes[index], tokens }).collect();
            fit(index, &sizes[0][index], &self.ranking(file, index)?, pool, budget, &more)
                .map_err(|e| e.at(&file.config))
        });
        rows.collect()
    }
}
