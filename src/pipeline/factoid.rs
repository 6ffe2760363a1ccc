//! The path of the factoid family: one sentence hidden in running text, at every depth of every length.

use super::seal::Described;
use super::{Ending, Goal, Made, Outcome, Stages, identity, reach};
use crate::error::Result;
use crate::language::Language;
use crate::manifest::TextFacts;
use crate::plan::{FilePlan, Plan, slots as grid};
use crate::report::Stopwatch;
use crate::stage::embed::Pins;
use crate::stage::factoids::Inputs;
use crate::stage::render::FileRows;
use crate::stage::slots::{InText, Placed, Prepared, place};
use crate::stage::texts::{self, Texts};
use crate::store::Key;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Raised when the same texts and needles give other rows.
const VERSION: u32 = 1;

/// Rows in one group hold at most so many bytes of prompts: a page's worth, since they tell one text again and again, so
/// that the writers' memory stays small and is used again.
const GROUP_BYTES: usize = 8 << 20;

/// Builds a release.
pub(super) fn build(plan: &Plan, goal: Goal<'_>) -> Result<Made> {
    let mut watch = Stopwatch::start();
    let texts = texts::read(plan)?;
    watch.lap("read");
    let pins = Pins::new(plan);
    let stages: Stages = vec![("texts".to_owned(), key(plan, &texts))];
    let identity = identity(plan, &stages, &pins);
    if let Goal::Release(folder) = &goal
        && folder.exists()
    {
        let folder = folder.clone();
        return Outcome::there(plan, &identity, folder, watch);
    }
    let prepared = prepare(plan);
    let needles = prepared.iter().map(|(n, needle)| {
        let language = needle.factoid.language.expect("the plan fills it in");
        (*n, InText::new(&plan.ledger, needle, &texts.by_language[&language]))
    });
    let needles: BTreeMap<u32, InText<'_>> = needles.collect();
    let placed = placed(plan, &texts, &needles)?;
    watch.lap("place");
    let inputs = Inputs::new(plan, &texts, needles, &placed);
    let rows = |file: &FilePlan| FileRows::in_groups(file.clone(), inputs.rows(file), GROUP_BYTES);
    let files: Vec<FileRows> = plan.files.iter().map(rows).collect();
    let facts = |(language, running): (&Language, &Arc<texts::Running>)| {
        (language.to_string(), described(plan, *language, running, placed.get(language)))
    };
    let all = texts.by_language.iter().map(facts).collect();
    let outputs = BTreeMap::from([("texts".to_owned(), texts.digest)]);
    let pins = pins.used();
    let sources = texts.files.clone();
    let mut manifest = Described { plan, stages: &stages, outputs, pins: &pins, sources, identity }.manifest();
    manifest.texts = all;
    reach(plan, &inputs, &files, Ending { manifest, pins, ids: None }, goal, watch)
}

/// What the manifest says of a text and of the needles in it.
fn described(plan: &Plan, language: Language, running: &texts::Running, placed: Option<&Vec<Placed>>) -> TextFacts {
    let placed = placed.map_or(&[][..], Vec::as_slice);
    let depths = plan.recipe.slots.depths.as_deref().unwrap_or_default();
    let off = |cell: &Placed| {
        let (before, whole) = cell.depth_tokens;
        (before * 1_000_000 / whole.max(1)).abs_diff(depths[cell.depth].millionths())
    };
    let mut slots: Vec<(usize, usize)> = placed.iter().map(|cell| (cell.at, cell.end)).collect();
    slots.sort_unstable();
    slots.dedup();
    let own = plan.recipe.needles.iter().filter(|needle| needle.language == Some(language));
    let held = own.map(|needle| {
        let held = needle.answers.iter().flatten().map(|answer| running.text().matches(answer.as_str()).count() as u64);
        (needle.name.0.clone(), held.sum::<u64>())
    });
    TextFacts {
        depth_off: placed.iter().map(off).max().unwrap_or(0),
        equal_cells: (placed.len() - slots.len()) as u64,
        answers_in_text: held.filter(|(_, n)| *n > 0).collect(),
        ..running.facts.clone()
    }
}

fn key(plan: &Plan, texts: &Texts) -> Key {
    Key {
        stage: "texts",
        version: VERSION,
        params: json!({ "essays": crate::language::essays::VERSION, "breaks": crate::language::breaks::VERSION }),
        inputs: vec![plan.seed.digest(), texts.digest],
    }
}

/// The needles of the recipe, by their place in it.
pub(crate) fn prepare(plan: &Plan) -> BTreeMap<u32, Prepared> {
    let numbered = plan.recipe.needles.iter().enumerate();
    numbered
        .map(|(n, factoid)| {
            let language = factoid.language.expect("the plan fills it in");
            (n as u32, Prepared::new(&plan.recipe, &plan.ledger, factoid, plan.pack(language)))
        })
        .collect()
}

/// The cells of each language that is written.
fn placed(plan: &Plan, texts: &Texts, needles: &BTreeMap<u32, InText<'_>>) -> Result<BTreeMap<Language, Vec<Placed>>> {
    let cells = grid::chosen(&plan.recipe, &plan.seed, plan.instances());
    let mut all = BTreeMap::new();
    for file in &plan.files {
        if all.contains_key(&file.language) {
            continue;
        }
        let own: Vec<&InText<'_>> =
            needles.values().filter(|needle| needle.needle.factoid.language == Some(file.language)).collect();
        let running = &texts.by_language[&file.language];
        for needle in &own {
            refuse_known(running.text(), needle.needle)?;
        }
        all.insert(file.language, place(plan, file.language, running, &own, &cells)?);
    }
    Ok(all)
}

/// A text that holds the needle already would have it twice.
fn refuse_known(text: &str, needle: &Prepared) -> Result<()> {
    let Some(at) = text.find(needle.text.as_str()) else { return Ok(()) };
    Err(crate::error::Error::new(format!(
        "the running text already holds the needle {:?}, at byte {at}: {:?}",
        needle.factoid.name.0, needle.text
    ))
    .help("write another needle, or give another text"))
}
