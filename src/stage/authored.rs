//! Asks a model for distractors, and keeps those that are fit: the passages of `distractors.kind = "written"`.

use super::ingest::SourceFile;
use super::natural::Natural;
use super::units::facts;
use super::written::{Constraint, Prompt, Side, banned, filter, prompts};
use crate::error::{Error, Result};
use crate::language::{Kind, Language, Pack, STORY_OBJECTS, STORY_PLACES};
use crate::manifest::PassageFacts;
use crate::plan::Plan;
use crate::stage::distractors::story_actors;
use crate::translator::Translator;
use std::collections::BTreeMap;

/// The passages, and who wrote them.
pub struct Authored {
    /// The passages that are kept, the same numbers in every language.
    pub passages: Natural,
    /// Holds the answers that were used.
    pub translator: Translator,
}

/// Asks for the passages of a plan.
pub fn author(plan: &Plan) -> Result<Authored> {
    let written = plan.recipe.written.as_ref().ok_or_else(|| Error::new("nothing is to be written"))?;
    // A folder of its own: a translation may ask the same service, and its journal is locked while it is used.
    let store = plan.options.out.join("store/written");
    let mut translator = Translator::open(written.service.clone(), &store, &plan.pin_folders(), plan.options.offline)?;
    let mut seeds = facts(&plan.tasks());
    plan.seed.derive("written", "facts").shuffle(&mut seeds);
    seeds.truncate(written.facts as usize);
    let sentences: Vec<String> = seeds.iter().map(|message| plan.english.sentence(*message)).collect();
    let mut outputs: BTreeMap<Language, BTreeMap<String, String>> = BTreeMap::new();
    for (language, pack) in &plan.packs {
        let avoid = avoided(pack);
        let of = |constraint: &Constraint| prompts(&sentences, pack.english_name(), *constraint, &avoid);
        let asked: Vec<Prompt> = written.constraints.iter().flat_map(of).collect();
        let pairs: Vec<(&str, u32)> = asked.iter().map(|ask| (ask.prompt.as_str(), ask.temperature)).collect();
        let answers = translator.complete(&pairs)?;
        outputs.insert(*language, asked.into_iter().map(|ask| ask.key).zip(answers).collect());
    }
    let mut sides: BTreeMap<Language, Side<'_>> = BTreeMap::new();
    for (language, pack) in &plan.packs {
        let banned = banned(pack, plan.tells_late());
        sides.insert(*language, Side { pack, banned, outputs: &outputs[language] });
    }
    let made = filter(&sides)?;
    let mut told = PassageFacts::default();
    for (language, reasons) in made.dropped {
        told.dropped.insert(format!("written {language}"), reasons);
    }
    // A line that begins with a slash would join the line before it.
    let joins = |texts: &BTreeMap<Language, String>| {
        texts.values().any(|text| text.chars().next().is_none_or(|c| !plan.ledger.primary().seam_adds(c)))
    };
    let (dropped, kept): (Vec<_>, Vec<_>) = made.kept.into_values().partition(joins);
    if !dropped.is_empty() {
        let all = told.dropped.entry("written".to_owned()).or_default();
        all.insert("begins with a slash".to_owned(), dropped.len() as u64);
    }
    told.passages = kept.len() as u64;
    if kept.is_empty() {
        return Err(Error::new("none of the passages that the model wrote can stand beside a story")
            .help("look at the reasons with --json on a smaller recipe, or ask another model"));
    }
    let mut texts: BTreeMap<Language, Vec<String>> = BTreeMap::new();
    for by in kept {
        for (language, text) in by {
            texts.entry(language).or_default().push(text);
        }
    }
    let files: Vec<SourceFile> = Vec::new();
    Ok(Authored { passages: Natural::of(texts, files, told), translator })
}

/// Names and words that passages must not use: those of the stories.
fn avoided(pack: &Pack) -> Vec<String> {
    let names = story_actors().map(|actor| (Kind::Actor, actor));
    let words =
        (0..STORY_PLACES as u8).map(|n| (Kind::Place, n)).chain((0..STORY_OBJECTS as u8).map(|n| (Kind::Object, n)));
    names.chain(words).map(|(kind, n)| pack.citation(kind, n).to_owned()).collect()
}
