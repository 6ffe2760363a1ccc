//! Stories as bundles: instances with their rankings; pools are shared.

use super::part::PartReader;
use super::render::Bench;
use super::segment::{self, Hand, Segment};
use super::{Divided, PlanFile, decode, encode};
use crate::error::{Error, Result};
use crate::family::reasoning::Example;
use crate::language::Language;
use crate::pipeline::reasoning::{ranking_of, read_pool};
use crate::plan::{FilePlan, Plan, Voice};
use crate::recipe::Kind;
use crate::record::{Instance, LocalPool};
use crate::reranker::CommandReranker;
use crate::stage::assemble::{RowPlan, Sizes};
use crate::stage::localize::Lines;
use crate::stage::render::FileRows;
use crate::stage::retrieved::{Packed, Retrievers};
use crate::stage::stories::{Inputs, Ranked, Side};
use crate::store::{Lists, write_aside};
use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

/// Haystack's language and kind of distractors.
type Key = (Language, Kind);

/// Which ranking: kind, and language where each has its own.
type RankingKey = (Kind, Option<Language>);

/// What the rows of a few instances need.
#[derive(Serialize, Deserialize)]
struct Bundle {
    first: u32,
    instances: Vec<Instance>,
    sizes: Vec<(Voice, Vec<Sizes>)>,
    examples: Vec<Vec<Example>>,
    /// Of each ranking, a list an instance, as far as rows take from it.
    rankings: Vec<(RankingKey, Vec<Vec<u32>>)>,
}

/// Name of a pool's part.
fn pool_name((language, kind): Key) -> String {
    format!("pool {language} {}", kind.name())
}

/// Name of the part of a kind that is not ranked.
fn round_name(kind: Kind) -> String {
    format!("round {}", kind.name())
}

/// Name of the part of what ranks sentences.
const RETRIEVERS: &str = "retrievers";

impl Divided for Inputs<'_> {
    fn shared(&self, files: &[FileRows], put: &mut dyn FnMut(&str, Vec<u8>) -> Result<()>) -> Result<()> {
        for side in self.sides {
            let key = (side.language, side.kind);
            if files.iter().any(|file| (file.file.haystack, file.file.kind) == key) {
                put(&pool_name(key), encode(side.pool)?)?;
            }
            if let Ranked::Round { size, barred } = side.ranked {
                put(&round_name(side.kind), encode(&(*size, barred))?)?;
            }
        }
        match self.retrievers {
            Some(retrievers) => put(RETRIEVERS, encode(&retrievers.pack())?),
            None => Ok(()),
        }
    }

    fn unit(&self, _: &FilePlan, row: &RowPlan) -> u32 {
        row.instance
    }

    fn bundle(&self, units: Range<u32>, rows: &[(&FilePlan, RowPlan)]) -> Result<Vec<u8>> {
        let range = units.start as usize..units.end as usize;
        let mut most: BTreeMap<RankingKey, Vec<usize>> = BTreeMap::new();
        let mut voices: BTreeSet<Voice> = BTreeSet::new();
        for (file, row) in rows {
            voices.insert(file.voice());
            let key = (file.kind, ranking_of(self.plan, file.haystack, file.kind));
            let most = most.entry(key).or_insert_with(|| vec![0; range.len()]);
            let own = &mut most[(row.instance - units.start) as usize];
            *own = (row.passages as usize).max(*own);
        }
        let mut rankings = Vec::new();
        for (key, most) in most {
            let of = |side: &&Side<'_>| (side.kind, ranking_of(self.plan, side.language, side.kind)) == key;
            let ranked = self.sides.iter().find(of).expect("every file's language and kind are prepared").ranked;
            if let Ranked::Round { .. } = ranked {
                continue;
            }
            let list = |(n, most): (usize, usize)| -> Result<Vec<u32>> {
                if most == 0 {
                    return Ok(Vec::new());
                }
                let index = range.start + n;
                let mut list = ranked.get(self.plan, index, &self.instances[index])?;
                list.truncate(most);
                Ok(list)
            };
            rankings.push((key, most.into_iter().enumerate().map(list).collect::<Result<Vec<_>>>()?));
        }
        encode(&Bundle {
            first: units.start,
            instances: self.instances[range.clone()].to_vec(),
            sizes: voices.into_iter().map(|voice| (voice, self.sizes[&voice][range.clone()].to_vec())).collect(),
            examples: self.examples.get(range).map(<[_]>::to_vec).unwrap_or_default(),
            rankings,
        })
    }
}

/// Pools that a worker has read, and their lines, each on first need.
pub(super) struct Pools {
    read: BTreeMap<Key, OnceLock<LocalPool>>,
}

impl Pools {
    /// Of the files of a plan; nothing is read yet.
    pub fn new(plan: &Plan) -> Pools {
        Pools { read: plan.files.iter().map(|file| ((file.haystack, file.kind), OnceLock::new())).collect() }
    }
}

/// The bench of stories.
pub(super) struct Stories<'p> {
    plan: &'p Plan,
    file: &'p PlanFile,
    parts: &'p PartReader,
    pools: &'p Pools,
    lines: BTreeMap<Key, OnceLock<Lines<'p>>>,
    rounds: BTreeMap<Kind, (u32, Vec<bool>)>,
    /// Only one thread reads a pool.
    reading: Mutex<()>,
}

impl<'p> Stories<'p> {
    /// A bench with nothing read.
    pub fn new(plan: &'p Plan, file: &'p PlanFile, parts: &'p PartReader, pools: &'p Pools) -> Result<Stories<'p>> {
        let lines = pools.read.keys().map(|key| (*key, OnceLock::new())).collect();
        let mut rounds = BTreeMap::new();
        for kind in &plan.kinds {
            if let Some((digest, _)) = file.shared.get(&round_name(*kind)) {
                rounds.insert(*kind, decode(&round_name(*kind), &parts.get(digest)?)?);
            }
        }
        Ok(Stories { plan, file, parts, pools, lines, rounds, reading: Mutex::new(()) })
    }

    fn shared(&self, name: &str) -> Result<Vec<u8>> {
        let (digest, _) = self
            .file
            .shared
            .get(name)
            .ok_or_else(|| Error::new(format!("the plan has no part {name:?}")).help("make the plan again"))?;
        self.parts.get(digest)
    }

    /// A pool and its lines.
    fn pool(&self, key: Key) -> Result<(&'p LocalPool, &Lines<'p>)> {
        let missing = || Error::new(format!("the plan has no pool of {} {}", key.1.name(), key.0));
        let (pool, lines) = (self.pools.read.get(&key).ok_or_else(missing)?, self.lines.get(&key).ok_or_else(missing)?);
        if let (Some(pool), Some(lines)) = (pool.get(), lines.get()) {
            return Ok((pool, lines));
        }
        let _one = self.reading.lock().unwrap_or_else(|e| e.into_inner());
        if pool.get().is_none() {
            let name = pool_name(key);
            let read: LocalPool = decode(&name, &self.shared(&name)?)?;
            let _ = pool.set(read);
        }
        let pool = pool.get().expect("just set");
        if lines.get().is_none() {
            let _ = lines.set(read_pool(self.plan, key.0, key.1, pool)?);
        }
        Ok((pool, lines.get().expect("just set")))
    }

    /// What ranks sentences, for rows with the best alone.
    fn retrievers(&self, scratch: &Path) -> Result<Retrievers<'_>> {
        let packed: Packed = decode(RETRIEVERS, &self.shared(RETRIEVERS)?)?;
        for side in packed.sides().collect::<Vec<_>>() {
            self.pool(side)?;
        }
        let mut made = Retrievers::unpack(packed, |side| self.pool(side).map(|(_, lines)| lines))?;
        if let Some(settings) = self.plan.recipe.rag.as_ref().and_then(|rag| rag.reranker.as_ref()) {
            let pins = scratch.join("pins");
            for pin in self.file.pins.iter().filter(|pin| pin.path.starts_with("pins/rerank/")) {
                let bytes = self.parts.get(&pin.sha256)?;
                write_aside(&scratch.join(&pin.path), |out| out.write_all(&bytes))?;
            }
            let opened = CommandReranker::open(settings.clone(), &scratch.join("store"), &[pins], true)?;
            made.command = Some(Mutex::new(opened));
        }
        Ok(made)
    }
}

/// The bench of stories, with what ranks sentences where a recipe asks for it.
pub(super) struct StoryBench<'s, 'p> {
    stories: &'s Stories<'p>,
    retrievers: Option<Retrievers<'s>>,
}

impl<'s, 'p> StoryBench<'s, 'p> {
    /// Reads what ranks sentences, if anything does.
    pub fn new(stories: &'s Stories<'p>, scratch: &Path) -> Result<Self> {
        let cuts = stories.plan.files.iter().any(|file| file.rag.is_some());
        let retrievers = cuts.then(|| stories.retrievers(scratch)).transpose()?;
        Ok(StoryBench { stories, retrievers })
    }
}

impl Bench for StoryBench<'_, '_> {
    fn render(&self, segment: &Segment<'_>, bundle: &[u8], hand: &mut Hand) -> Result<Vec<RecordBatch>> {
        let stories = self.stories;
        let Bundle { first, instances, sizes, examples, rankings } = decode("instances", bundle)?;
        let keys: BTreeSet<Key> =
            segment.rows.iter().map(|row| segment.file(row)).map(|file| (file.haystack, file.kind)).collect();
        let mut ranked: BTreeMap<RankingKey, Ranked> =
            rankings.into_iter().map(|(key, lists)| (key, Ranked::Lists(Lists::held(lists)))).collect();
        for (kind, (size, barred)) in &stories.rounds {
            ranked.insert((*kind, None), Ranked::Round { size: *size, barred: barred.clone() });
        }
        let mut sides = Vec::new();
        for (language, kind) in keys {
            let (pool, lines) = stories.pool((language, kind))?;
            let key = (kind, ranking_of(stories.plan, language, kind));
            let ranked =
                ranked.get(&key).ok_or_else(|| Error::new("a bundle of the plan has no ranking of its rows"))?;
            sides.push(Side { language, kind, pool, lines, ranked });
        }
        let sizes: BTreeMap<Voice, Vec<Sizes>> = sizes.into_iter().collect();
        let inputs = Inputs {
            plan: stories.plan,
            instances: &instances,
            first: first as usize,
            sizes: &sizes,
            examples: &examples,
            sides: &sides,
            retrievers: self.retrievers.as_ref(),
        };
        segment::render(stories.plan, &inputs, first, segment, hand)
    }
}
