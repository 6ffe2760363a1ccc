//! The path of the passage family: questions and their passages, among the passages most like the question.

use super::seal::Described;
use super::{Drift, Ending, Goal, Made, Outcome, Stages, identity, reach};
use crate::embedder::Role;
use crate::error::Result;
use crate::hash::Digest;
use crate::language::Language;
use crate::manifest::PassageFacts;
use crate::plan::{FilePlan, Plan, pairs};
use crate::recipe::{By, Haystack as In, Length, Ranking};
use crate::report::Stopwatch;
use crate::source::locate::Locator;
use crate::stage::assemble::RowPlan;
use crate::stage::counter::Counter;
use crate::stage::embed::{Pins, Texts, Vectors};
use crate::stage::haystack::{self, Haystack};
use crate::stage::leaks;
use crate::stage::passages::{self, Inputs, Rankings, haystacks};
use crate::stage::questions::{self, Chosen, Questions};
use crate::stage::rank::{self, About, Ranker, question_languages};
use crate::stage::render::FileRows;
use crate::store::{Key, Lists, Store};
use rayon::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

/// Builds a release.
pub(super) fn build(plan: &Plan, store: &Store, goal: Goal<'_>) -> Result<Made> {
    let mut watch = Stopwatch::start();
    let read = Read::new(plan)?;
    watch.lap("ingest");
    let counters = Counter::all(plan, &read.haystack)?;
    let counter = &counters[0];
    let chosen = questions::choose(plan, &read.questions, &read.haystack, &counters)?;
    watch.lap("select");
    let mut pins = Pins::new(plan);
    let ranked = Ranked::new(plan, store, &read, &chosen, counter, &mut pins, &mut watch)?;
    let identity = identity(plan, &ranked.stages, &pins);
    if let Goal::Release(folder) = &goal
        && folder.exists()
    {
        let folder = folder.clone();
        return Outcome::there(plan, &identity, folder, watch);
    }
    let inputs = Inputs::new(plan, &chosen.instances, &chosen.apart, &counters, &ranked.rankings);
    let files = rows(plan, &chosen, &inputs)?;
    watch.lap("fit");
    let mut sources = read.questions.files.clone();
    sources.extend(read.haystack.files.clone());
    let mut outputs = store.outputs(&ranked.stages);
    outputs.insert("haystack".to_owned(), read.haystack.digest);
    outputs.insert("choose".to_owned(), instances_digest(&chosen));
    let pins = pins.used();
    let described = Described { plan, stages: &ranked.stages, outputs, pins: &pins, sources, identity };
    let mut manifest = described.manifest();
    manifest.passages = Some(read.facts(&chosen, &ranked.about));
    reach(plan, &inputs, &files, Ending { manifest, pins, ids: None }, goal, watch)
}

/// How many prompts a fresh embedding would change; see [`Drift`].
pub(super) fn drift(plan: &Plan, store: &Store) -> Result<Drift> {
    let mut watch = Stopwatch::start();
    let read = Read::new(plan)?;
    let counters = Counter::all(plan, &read.haystack)?;
    let counter = &counters[0];
    let chosen = questions::choose(plan, &read.questions, &read.haystack, &counters)?;
    let mut old = Pins::new(plan).remembering();
    let mut new = Pins::fresh(plan).remembering();
    let pinned = Ranked::new(plan, store, &read, &chosen, counter, &mut old, &mut watch)?;
    let fresh = Ranked::new(plan, store, &read, &chosen, counter, &mut new, &mut watch)?;
    let mut drift = Drift::default();
    drift.components(&old, &new);
    for (a, b) in pinned.rankings.lists().zip(fresh.rankings.lists()) {
        drift.lists(a, b)?;
    }
    let sides = [&pinned, &fresh].map(|r| Inputs::new(plan, &chosen.instances, &chosen.apart, &counters, &r.rankings));
    let [a, b] = &sides;
    for (x, y) in rows(plan, &chosen, a)?.iter().zip(&rows(plan, &chosen, b)?) {
        for (p, q) in x.groups.iter().flatten().zip(y.groups.iter().flatten()) {
            drift.prompt(a.order(&x.file, p)? == b.order(&y.file, q)?);
        }
    }
    Ok(drift)
}

/// What was read.
struct Read {
    questions: Questions,
    haystack: Haystack,
}

impl Read {
    fn new(plan: &Plan) -> Result<Read> {
        let locator = Locator::new(plan)?;
        Ok(Read { questions: questions::read(plan, &locator)?, haystack: haystack::read(plan, &locator)? })
    }

    /// What the manifest says of it.
    fn facts(&self, chosen: &Chosen, about: &About) -> PassageFacts {
        let mut facts = self.haystack.facts.clone();
        facts.dropped.extend(self.questions.facts.dropped.clone());
        facts.questions_by_languages = self.questions.facts.questions_by_languages.clone();
        facts.questions = chosen.questions;
        facts.refused = chosen.refused.clone();
        facts.shared = chosen.shared.clone();
        for (reason, n) in [
            ("the passage holds an answer", chosen.apart.iter().map(|a| a.leaks).sum()),
            ("the passage is nearly the needle", chosen.apart.iter().map(|a| a.duplicates).sum()),
        ] {
            facts.kept_apart.insert(reason.to_owned(), n);
        }
        facts.engine = about.engine.clone();
        facts.recall = about.recall.map(|recall| (recall, rank::RECALL_AT as u64));
        facts
    }
}

/// Rankings, and the keys they have.
struct Ranked {
    rankings: Rankings,
    stages: Stages,
    about: About,
}

impl Ranked {
    fn new(
        plan: &Plan,
        store: &Store,
        read: &Read,
        chosen: &Chosen,
        counter: &Counter<'_>,
        pins: &mut Pins<'_>,
        watch: &mut Stopwatch,
    ) -> Result<Ranked> {
        let haystack = &read.haystack;
        let mut passages: BTreeMap<Language, Vectors> = BTreeMap::new();
        for (language, texts) in &haystack.texts {
            let texts = Texts {
                what: format!("passages {language}"),
                role: Role::Passage,
                ids: haystack.ids.clone(),
                texts: texts.iter().map(String::as_str).collect(),
            };
            passages.insert(*language, pins.vectors(&texts)?);
        }
        let mut asked: BTreeMap<Language, (Vectors, Vec<Option<u32>>)> = BTreeMap::new();
        for language in question_languages(plan) {
            let there = |i: &&crate::record::NeedleInstance| i.by_language.contains_key(&language);
            let of: Vec<_> = chosen.instances.iter().filter(there).collect();
            let texts = Texts {
                what: format!("questions {language}"),
                role: Role::Query,
                ids: of.iter().map(|i| i.id.clone()).collect(),
                texts: of.iter().map(|i| i.by_language[&language].question.as_str()).collect(),
            };
            let mut next = 0;
            let rows = chosen.instances.iter().map(|i| {
                i.by_language.contains_key(&language).then(|| {
                    next += 1;
                    next - 1
                })
            });
            let rows = rows.collect();
            asked.insert(language, (pins.vectors(&texts)?, rows));
        }
        pins.close();
        watch.lap("embed");
        let ranker = Ranker {
            plan,
            instances: &chosen.instances,
            apart: &chosen.apart,
            counter,
            haystack,
            passages: &passages,
            questions: &asked,
        };
        let mut inputs = vec![plan.seed.digest(), haystack.digest, instances_digest(chosen)];
        inputs.extend(plan.packs.iter().map(|(_, pack)| pack.digest()));
        inputs.extend(passages.values().map(Vectors::digest));
        inputs.extend(asked.values().map(|(vectors, _)| vectors.digest()));
        let key = |own: Option<In>| Key {
            stage: "retrieve",
            version: rank::VERSION,
            params: json!({
                "engine": plan.recipe.retrieval.engine, "ranking": plan.recipe.retrieval.ranking, "haystack": own.map(|h| h.to_string()),
                "need": plan.recipe.budget.tokens(plan.largest()), "prompts": plan.recipe.grid.prompts, "pairs": pairs(&plan.recipe).iter().map(|(n, h)| format!("{n}-{h}")).collect::<Vec<_>>(),
                "tokenizers": plan.ledger.bounding().iter().map(|t| t.digest()).collect::<Vec<_>>(), "leaks": leaks::VERSION,
                "questions": questions::VERSION, "passages": passages::VERSION,
            }),
            inputs: inputs.clone(),
        };
        let mut stages = Stages::new();
        let mut about = About::default();
        let mut lists = |own: Option<In>| -> Result<Lists> {
            let key = key(own);
            let lists = store.lists(&key, |push| {
                about = match own {
                    None => ranker.pivot(push)?,
                    Some(haystack) => ranker.own(haystack, push)?,
                };
                Ok(())
            })?;
            let name = own.map_or("retrieve".to_owned(), |h| format!("retrieve {h}"));
            stages.push((name, key.clone()));
            Ok(lists)
        };
        let rankings = match plan.recipe.retrieval.ranking {
            Ranking::Pivot => Rankings::Pivot(lists(None)?),
            Ranking::PerLanguage => {
                let each = haystacks(plan).into_iter().map(|h| Ok((h, lists(Some(h))?)));
                Rankings::Each(each.collect::<Result<_>>()?)
            }
        };
        // What is said of the engine lies beside the lists, for builds that find them in the store.
        let first = stages[0].1.clone();
        let told = Key { stage: "retrieve-about", ..first };
        let about: (String, Option<u64>) = store.get_or(&told, || Ok((about.engine.clone(), about.recall)))?;
        let about = About { engine: about.0, recall: about.1 };
        watch.lap("retrieve");
        Ok(Ranked { rankings, stages, about })
    }
}

fn instances_digest(chosen: &Chosen) -> Digest {
    Digest::of(postcard::to_stdvec(&chosen.instances).expect("plain data"))
}

/// Fits every row of every file.
fn rows(plan: &Plan, chosen: &Chosen, inputs: &Inputs<'_>) -> Result<Vec<FileRows>> {
    let asked = |file: &FilePlan| -> &[u32] {
        let cell = file.cell.expect("a file of this family has a cell");
        let asked = &chosen.cells[&(file.language, cell.question)];
        &asked[..(plan.instances() as usize).min(asked.len())]
    };
    // Where all languages hold the same distractors: the least that any file of a length allows an instance.
    let mut least: BTreeMap<(Length, u32), u32> = BTreeMap::new();
    if plan.recipe.budget.by == By::Content {
        for file in &plan.grid {
            let fitted = |index: &u32| inputs.most(*index as usize, file).map(|n| (*index, n));
            let all: Vec<(u32, u32)> = asked(file).par_iter().map(fitted).collect::<Result<_>>()?;
            for (index, n) in all {
                least.entry((file.length, index)).and_modify(|known| *known = n.min(*known)).or_insert(n);
            }
        }
    }
    let of = |file: &FilePlan| -> Result<FileRows> {
        let fit = |index: &u32| inputs.fit(*index as usize, file, least.get(&(file.length, *index)).copied());
        let rows: Vec<Vec<RowPlan>> = asked(file).par_iter().map(fit).collect::<Result<_>>()?;
        Ok(FileRows::new(file.clone(), rows.concat()))
    };
    plan.files.iter().map(of).collect()
}
