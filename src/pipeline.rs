//! The whole path from recipe to release, one call a stage.

use crate::embedder::embedder;
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::{Digest, release_digest};
use crate::language::Language;
use crate::manifest::{self, FORMAT, Manifest, Match};
use crate::plan::{FilePlan, Plan};
use crate::recipe::{Engine, Kind, Ranking, Recipe};
use crate::record::{LocalPool, Passage};
use crate::report::{Progress, Stopwatch};
use crate::stage::assemble::{RowPlan, Sizes, fit, local_story};
use crate::stage::ingest::{Ingested, ingest};
use crate::stage::journal::Journal;
use crate::stage::localize::{self, Lines};
use crate::stage::select::{self, Selected, select};
use crate::stage::write::{DataFile, FileRows, Inputs, Ranked, Side, holds, write};
use crate::stage::{distractors, embed, retrieve};
use crate::store::{Key, Lock, Store, sync_dir, write_aside};
use crate::verify::check_sums;
use rayon::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a build came to.
pub struct Outcome {
    /// The release.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// How it compares with the accepted digests.
    pub accepted: Match,
    /// It was there already, and its bytes are sound.
    pub was_there: bool,
    /// Wall time of each stage.
    pub watch: Stopwatch,
}

/// Builds a release.
pub fn build(plan: &Plan) -> Result<Outcome> {
    let folder = plan.folder();
    let _lock = Lock::take(&lock_file(&folder))?;
    let mut watch = Stopwatch::start();
    let ingested = ingest(plan)?;
    let keys = Keys::new(plan, &ingested);
    let identity = keys.identity(plan);
    if folder.exists() {
        let manifest = there_already(plan, &identity, &folder)?;
        watch.lap("check");
        let accepted = manifest::compare(&manifest)?;
        return Ok(Outcome { folder, manifest, accepted, was_there: true, watch });
    }
    let store = Store::new(plan.options.out.join("store"));
    let selected: Selected = store.get_or(&keys.select, || select(plan, &ingested))?;
    watch.lap("select");
    let passages: Vec<Passage> = match plan.kinds.contains(&Kind::Synthetic) {
        true => store.get_or(&keys.pool, || Ok(synthetic(plan)))?,
        false => Vec::new(),
    };
    let pools = pools(plan, &store, &keys, &passages)?;
    watch.lap("localize");
    let ranked = rank(plan, &store, &keys, &selected, &passages, &pools)?;
    watch.lap("retrieve");
    let lines = read_pools(plan, &pools)?;
    watch.lap("read back");
    let sizes = sizes(plan, &selected);
    let files = rows(plan, &selected, &sizes, &pools, &ranked)?;
    watch.lap("fit");
    let partial = beside(&folder, "partial");
    let journal = Journal::open(&partial, &identity)?;
    let sides: Vec<Side<'_>> = pools
        .iter()
        .filter_map(|(&(language, kind), pool)| {
            let lines = lines.get(&(language, kind))?;
            Some(Side { language, kind, pool, lines, ranked: &ranked[&(kind, ranking_of(plan, language, kind))] })
        })
        .collect();
    let inputs = Inputs { plan, instances: &selected.instances, sizes: &sizes, sides: &sides };
    write(&inputs, &files, &journal)?;
    watch.lap("write");
    let distinct = lines.iter().filter(|((_, kind), _)| *kind == Kind::Synthetic);
    let distinct = distinct.map(|((language, _), lines)| (language.to_string(), lines.len() as u64)).collect();
    let manifest = describe(plan, &keys, &ingested, &selected, &journal, distinct)?;
    publish(plan, &manifest, &partial, &folder)?;
    watch.lap("publish");
    let accepted = manifest::compare(&manifest)?;
    Ok(Outcome { folder, manifest, accepted, was_there: false, watch })
}

fn beside(folder: &Path, extension: &str) -> PathBuf {
    let name = folder.file_name().expect("a release has a name").to_string_lossy();
    folder.with_file_name(format!("{name}.{extension}"))
}

/// Hidden, so that no pattern such as `1.0.0+*` takes it for a release.
fn lock_file(folder: &Path) -> PathBuf {
    let name = folder.file_name().expect("a release has a name").to_string_lossy();
    folder.with_file_name(format!(".{name}.lock"))
}

/// A finished release is never written over: it is sound and of this plan, or that is an error.
fn there_already(plan: &Plan, identity: &Digest, folder: &Path) -> Result<Manifest> {
    let path = folder.join("manifest.json");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io("cannot read", &path, e))?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|e| Error::new(e.to_string()).at(path.display()))?;
    if manifest.plan != *identity {
        let what = "another release of this name and version: of another recipe, other sources, or another version of this program";
        return Err(Error::new(format!("{} holds {what}", folder.display()))
            .help("raise release.version, build elsewhere with --out DIR, or remove that folder"));
    }
    if let Some(finding) = check_sums(folder).into_iter().next() {
        let what = format!("{} was changed since it was built: {} {}", folder.display(), finding.file, finding.what);
        return Err(Error::new(what).help("remove the folder and build again"));
    }
    if !plan.files.iter().map(FilePlan::path).eq(manifest.files.iter().map(|f| f.path.clone())) {
        return Err(Error::new(format!("{} was changed since it was built: it holds other files", folder.display()))
            .help("remove the folder and build again"));
    }
    Ok(manifest)
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

/// Keys of the store entries of a plan.
pub struct Keys {
    select: Key,
    pool: Key,
    local: BTreeMap<(Language, Kind), Key>,
    vectors: BTreeMap<Language, Key>,
    /// By language where each has its own ranking; `None` is the pivoted one.
    rank: BTreeMap<Option<Language>, Key>,
}

impl Keys {
    /// The keys of a plan. They depend on nothing that must run first but the digests of source files.
    pub fn new(plan: &Plan, ingested: &Ingested) -> Keys {
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
                "tokenizer": plan.tokenizer.name(), "strategies": recipe.prompt.strategies,
                "instruction": recipe.prompt.instruction_language, "instances": plan.instances(),
            }),
            inputs,
        };
        let pool = pool_key(recipe, seed);
        let mut local = BTreeMap::new();
        let mut vectors = BTreeMap::new();
        let embedder = embedder(recipe.retrieval.embedder);
        for ((language, pack), digest) in plan.packs.iter().zip(&packs) {
            for &kind in &plan.kinds {
                let made_of = if kind == Kind::Synthetic { pool.digest() } else { seed };
                let key = Key {
                    stage: "localize",
                    version: localize::VERSION,
                    params: json!({
                        "kind": kind, "language": pack.code(), "tokenizer": plan.tokenizer.name(), "pool": recipe.distractors.pool,
                    }),
                    inputs: vec![*digest, made_of],
                };
                local.insert((*language, kind), key);
            }
            if let Some(text) = local.get(&(*language, Kind::Synthetic)) {
                let key = Key {
                    stage: "embed",
                    version: embedder.version,
                    params: json!({ "embedder": recipe.retrieval.embedder }),
                    inputs: vec![text.digest()],
                };
                vectors.insert(*language, key);
            }
        }
        let rank_key = |inputs: Vec<Digest>, language: Option<Language>| Key {
            stage: "retrieve",
            version: retrieve::VERSION,
            params: json!({
                "query": recipe.retrieval.query, "variant": recipe.distractors.variant, "language": language,
                "need": recipe.budget.tokens(plan.largest()),
            }),
            inputs,
        };
        let rank = match recipe.retrieval.ranking {
            Ranking::Pivot => {
                let inputs = [select.digest()].into_iter().chain(vectors.values().map(Key::digest)).collect();
                BTreeMap::from([(None, rank_key(inputs, None))])
            }
            Ranking::PerLanguage => vectors
                .iter()
                .map(|(l, key)| (Some(*l), rank_key(vec![select.digest(), key.digest()], Some(*l))))
                .collect(),
        };
        Keys { select, pool, local, vectors, rank }
    }

    /// Identity of a build: two builds of one folder must agree in it to share their files.
    pub fn identity(&self, plan: &Plan) -> Digest {
        let mut parts = vec![plan.digest()];
        parts.extend(self.all().iter().map(|(_, key)| key.digest()));
        Digest::of_parts(parts.iter().map(|digest| digest.0.as_slice()))
    }

    /// Every key that the plan needs, in the order of the path.
    pub fn all(&self) -> Vec<(String, &Key)> {
        let mut all = vec![("select".to_owned(), &self.select), ("distractors".to_owned(), &self.pool)];
        all.extend(self.local.iter().map(|((l, kind), key)| (format!("localize {l} {}", kind.name()), key)));
        all.extend(self.vectors.iter().map(|(l, key)| (format!("embed {l}"), key)));
        all.extend(
            self.rank.iter().map(|(l, key)| (l.map_or("retrieve".to_owned(), |l| format!("retrieve {l}")), key)),
        );
        all
    }
}

fn synthetic(plan: &Plan) -> Vec<Passage> {
    distractors::synthetic(&plan.seed, plan.recipe.distractors.variant, plan.recipe.distractors.pool)
}

type Pools = BTreeMap<(Language, Kind), LocalPool>;

/// Is anything of this language written? A pivoted ranking needs the vectors of all languages in any case.
fn is_written(plan: &Plan, language: Language, kind: Kind) -> bool {
    plan.files.iter().any(|file| (file.language, file.kind) == (language, kind))
}

fn pools(plan: &Plan, store: &Store, keys: &Keys, passages: &[Passage]) -> Result<Pools> {
    let progress = Progress::new("localize", keys.local.len() as u64, "pools");
    let mut pools = Pools::new();
    for (&(language, kind), key) in &keys.local {
        let needed = kind == Kind::Synthetic || is_written(plan, language, kind);
        if needed {
            let pack = plan.pack(language);
            let pool = store.get_or(key, || {
                Ok(match kind {
                    Kind::Synthetic => localize::localize(passages, pack, plan.tokenizer),
                    Kind::Noise => {
                        let texts = distractors::noise(&plan.seed, pack, plan.recipe.distractors.pool);
                        localize::pool(texts, plan.tokenizer)
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
fn ranking_of(plan: &Plan, language: Language, kind: Kind) -> Option<Language> {
    (kind == Kind::Synthetic && plan.recipe.retrieval.ranking == Ranking::PerLanguage).then_some(language)
}

type Rankings = BTreeMap<(Kind, Option<Language>), Ranked>;

fn rank(
    plan: &Plan,
    store: &Store,
    keys: &Keys,
    selected: &Selected,
    passages: &[Passage],
    pools: &Pools,
) -> Result<Rankings> {
    let mut ranked = Rankings::new();
    if plan.kinds.contains(&Kind::Noise) {
        ranked.insert((Kind::Noise, None), Ranked::Round { size: plan.recipe.distractors.pool });
    }
    if !plan.kinds.contains(&Kind::Synthetic) {
        return Ok(ranked);
    }
    // One engine so far: every passage is scored. An approximate index has its place here.
    match plan.recipe.retrieval.engine {
        Engine::Auto | Engine::Exact => {}
    }
    let embedder = embedder(plan.recipe.retrieval.embedder);
    for (&own, key) in &keys.rank {
        let languages: Vec<Language> = match own {
            Some(language) if !is_written(plan, language, Kind::Synthetic) => continue,
            Some(language) => vec![language],
            None => plan.packs.iter().map(|(l, _)| *l).collect(),
        };
        let lists = store.lists(key, |push| {
            let vectors = languages
                .iter()
                .map(|l| {
                    let pool = &pools[&(*l, Kind::Synthetic)];
                    store.get_or(&keys.vectors[l], || Ok(embed::embed(pool, embedder)))
                })
                .collect::<Result<Vec<Vec<i8>>>>()?;
            let sides: Vec<retrieve::Side<'_>> = languages
                .iter()
                .zip(&vectors)
                .map(|(l, vectors)| retrieve::Side { pool: &pools[&(*l, Kind::Synthetic)], vectors })
                .collect();
            let progress = Progress::new("retrieve", selected.instances.len() as u64, "instances");
            // Chunk by chunk, so that memory does not grow with the number of instances.
            for chunk in selected.instances.chunks(64) {
                let rankings = chunk
                    .par_iter()
                    .map(|instance| {
                        let queries: Vec<Vec<i8>> = languages
                            .iter()
                            .map(|l| {
                                let text = retrieve::query(instance, plan.pack(*l), plan.recipe.retrieval.query);
                                let mut vector = vec![0; embedder.dimensions];
                                (embedder.embed)(&text, &mut vector);
                                vector
                            })
                            .collect();
                        let allowed = retrieve::allowed(instance, passages, plan.recipe.distractors.variant);
                        retrieve::rank(plan, instance, embedder, &sides, &queries, &allowed)
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
        ranked.insert((Kind::Synthetic, own), Ranked::Lists(lists));
    }
    Ok(ranked)
}

fn read_pools<'a>(plan: &Plan, pools: &'a Pools) -> Result<BTreeMap<(Language, Kind), Lines<'a>>> {
    let mut lines = BTreeMap::new();
    for (&(language, kind), pool) in pools {
        if is_written(plan, language, kind) {
            let pack = plan.pack(language);
            let read = match kind {
                Kind::Synthetic => localize::read_back(pool, pack)?,
                Kind::Noise => localize::check_noise(pool, pack)?,
            };
            lines.insert((language, kind), read);
        }
    }
    Ok(lines)
}

fn sizes(plan: &Plan, selected: &Selected) -> BTreeMap<Language, Vec<Sizes>> {
    let of = |language: Language| {
        let pack = plan.pack(language);
        selected.instances.par_iter().map(|instance| Sizes::of(&local_story(plan, instance, pack), plan)).collect()
    };
    let mut languages: Vec<Language> = plan.files.iter().map(|file| file.language).collect();
    languages.sort();
    languages.dedup();
    languages.into_iter().map(|language| (language, of(language))).collect()
}

/// Fits every row of every file.
fn rows(
    plan: &Plan,
    selected: &Selected,
    sizes: &BTreeMap<Language, Vec<Sizes>>,
    pools: &Pools,
    ranked: &Rankings,
) -> Result<Vec<FileRows>> {
    let plan_file = |file: &FilePlan| -> Result<FileRows> {
        let ranked = &ranked[&(file.kind, ranking_of(plan, file.language, file.kind))];
        let pool = &pools[&(file.language, file.kind)];
        let budget = plan.budget(file.length, file.strategy);
        let rows = selected.instances.par_iter().enumerate().filter(|(_, i)| holds(&selected.starts, i, file.length));
        let rows = rows.map(|(index, instance)| {
            let ranking = match budget {
                Some(_) => ranked.get(plan, index, instance)?,
                None => Vec::new(),
            };
            fit(index, &sizes[&file.language][index], &ranking, pool, budget).map_err(|e| e.at(&file.config))
        });
        Ok(FileRows::new(file.clone(), rows.collect::<Result<Vec<RowPlan>>>()?))
    };
    plan.files.iter().map(plan_file).collect()
}

fn describe(
    plan: &Plan,
    keys: &Keys,
    ingested: &Ingested,
    selected: &Selected,
    journal: &Journal,
    distinct_sentences: BTreeMap<String, u64>,
) -> Result<Manifest> {
    let done = journal.done();
    let files: Vec<DataFile> = plan.files.iter().map(|file| done[&file.path()].clone()).collect();
    if let Some(file) = files.iter().find(|file| file.stats.over > 0) {
        fail!(
            "{} holds {} prompts over their budget: this is a bug, no release was written",
            file.path,
            file.stats.over
        );
    }
    let release = &plan.recipe.release;
    let mut instances: BTreeMap<_, u64> = BTreeMap::new();
    for instance in &selected.instances {
        *instances.entry(instance.source_task()).or_default() += 1;
    }
    let filter = plan.is_narrowed().then(|| {
        let mut filter = plan.options.filter.clone();
        filter.limit = (plan.instances() < plan.total()).then_some(plan.instances());
        filter
    });
    Ok(Manifest {
        format: FORMAT,
        name: release.name.0.clone(),
        version: release.version.0.clone(),
        family: "reasoning".to_owned(),
        nihbuild: env!("CARGO_PKG_VERSION").to_owned(),
        date: release.date.clone(),
        licence: release.licence.clone(),
        canary: manifest::canary(&release.name.0, &release.version.0),
        plan: keys.identity(plan),
        seed_digest: plan.seed.digest(),
        other_seed: plan.options.seed.is_some(),
        filter,
        rows_digest: release_digest(files.iter().map(|f| (f.path.as_str(), f.rows_digest))),
        rows: files.iter().map(|f| f.rows).sum(),
        tokens: files.iter().map(|f| f.stats.tokens).sum(),
        files,
        sources: ingested.files.clone(),
        packs: plan.packs.iter().map(|(l, pack)| (l.to_string(), pack.digest())).collect(),
        stages: keys.all().into_iter().map(|(name, key)| (name, key.digest())).collect(),
        instances,
        refused: selected.refused.clone(),
        starts: selected.starts.iter().map(|(task, length)| (*task, length.to_string())).collect(),
        answerers: manifest::answerers(selected, plan),
        distinct_sentences,
    })
}

/// Adds what is not data, then makes the folder a release by renaming it.
fn publish(plan: &Plan, manifest: &Manifest, partial: &Path, folder: &Path) -> Result<()> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    texts.insert("recipe.toml".to_owned(), plan.resolved());
    texts.insert("README.md".to_owned(), manifest::card(plan, manifest));
    let json = serde_json::to_string_pretty(manifest).expect("a manifest is plain data");
    texts.insert("manifest.json".to_owned(), json + "\n");
    for (language, _) in &plan.packs {
        texts.insert(format!("packs/{language}.toml"), language.file().to_owned());
    }
    if !plan.packs.iter().any(|(l, _)| l.code() == "en") {
        // English reads bAbI and may give the instructions.
        let english = "en".parse::<Language>().expect("the English pack is embedded");
        texts.insert("packs/en.toml".to_owned(), english.file().to_owned());
    }
    let mut sums: BTreeMap<String, Digest> = manifest.files.iter().map(|f| (f.path.clone(), f.sha256)).collect();
    for (name, text) in &texts {
        sums.insert(name.clone(), Digest::of(text));
    }
    let lines: String = sums.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
    texts.insert("SHA256SUMS".to_owned(), lines);
    for (name, text) in &texts {
        write_aside(&partial.join(name), |out| out.write_all(text.as_bytes()))?;
    }
    let journal = partial.join("journal.jsonl");
    std::fs::remove_file(&journal).map_err(|e| Error::io("cannot remove", &journal, e))?;
    sync_dir(partial)?;
    std::fs::rename(partial, folder).map_err(|e| Error::io("cannot rename to", folder, e))?;
    sync_dir(folder.parent().expect("a release has a parent"))
}
