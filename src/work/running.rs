//! Running texts as parts: one a language, with the cells of its grid.

use super::part::PartReader;
use super::render::Bench;
use super::segment::{self, Hand, Segment};
use super::{Divided, PlanFile, decode, encode};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::language::Language;
use crate::language::breaks::Break;
use crate::manifest::TextFacts;
use crate::pipeline::factoid::prepare;
use crate::plan::{FilePlan, Plan};
use crate::stage::assemble::RowPlan;
use crate::stage::factoids::Inputs;
use crate::stage::render::FileRows;
use crate::stage::slots::{InText, Placed, Prepared};
use crate::stage::texts::{Running, Texts};
use crate::tokenizer::{Tokenizer, Unit};
use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A text, and what is placed in it.
#[derive(Serialize, Deserialize)]
struct Text {
    text: String,
    breaks: Vec<Break>,
    guarded: bool,
    heading: bool,
    once: usize,
    placed: Vec<Placed>,
}

fn name(language: Language) -> String {
    format!("text {language}")
}

impl Divided for Inputs<'_> {
    fn shared(&self, files: &[FileRows], put: &mut dyn FnMut(&str, Vec<u8>) -> Result<()>) -> Result<()> {
        for (language, running) in &self.texts.by_language {
            if files.iter().any(|file| file.file.language == *language) {
                let text = Text {
                    text: running.text().to_owned(),
                    breaks: running.breaks.clone(),
                    guarded: running.guarded,
                    heading: running.heading,
                    once: running.once,
                    placed: self.placed[language].clone(),
                };
                put(&name(*language), encode(&text)?)?;
            }
        }
        Ok(())
    }

    fn unit(&self, file: &FilePlan, _: &RowPlan) -> u32 {
        let place = self.plan.packs.iter().position(|(language, _)| *language == file.language);
        place.expect("the recipe has the language") as u32
    }

    fn bundle(&self, _: Range<u32>, _: &[(&FilePlan, RowPlan)]) -> Result<Vec<u8>> {
        // All that a row needs many rows need.
        Ok(Vec::new())
    }
}

/// A language's text, tokenised, and the cells of its grid.
type Ready = (Arc<Running>, Vec<Placed>);

/// The bench of the factoid family.
pub(super) struct Texted<'p> {
    plan: &'p Plan,
    file: &'p PlanFile,
    parts: &'p PartReader,
    needles: BTreeMap<u32, Prepared>,
    /// Texts that were read.
    read: Mutex<BTreeMap<Language, Ready>>,
}

impl<'p> Texted<'p> {
    /// A bench without texts.
    pub fn new(plan: &'p Plan, file: &'p PlanFile, parts: &'p PartReader) -> Texted<'p> {
        Texted { plan, file, parts, needles: prepare(plan), read: Mutex::default() }
    }

    fn text(&self, language: Language) -> Result<Ready> {
        let mut read = self.read.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(ready) = read.get(&language) {
            return Ok(ready.clone());
        }
        let name = name(language);
        let missing = || Error::new(format!("the plan has no part {name:?}")).help("make the plan again");
        let (digest, _) = self.file.shared.get(&name).ok_or_else(missing)?;
        let Text { text, breaks, guarded, heading, once, placed } = decode(&name, &self.parts.get(digest)?)?;
        let unit = |tokenizer: &Tokenizer| Unit::new(tokenizer, text.as_str());
        let units = self.plan.ledger.all().iter().map(unit).collect();
        let running = Running { units, breaks, guarded, heading, once, facts: TextFacts::default() };
        let ready = (Arc::new(running), placed);
        read.insert(language, ready.clone());
        Ok(ready)
    }
}

impl Bench for Texted<'_> {
    fn render(&self, segment: &Segment<'_>, _: &[u8], hand: &mut Hand) -> Result<Vec<RecordBatch>> {
        // Bundles of this family may hold several languages.
        let mut texts = Texts { by_language: BTreeMap::new(), files: Vec::new(), digest: Digest([0; 32]) };
        let mut placed = BTreeMap::new();
        for row in segment.rows {
            let language = segment.file(row).language;
            if let Entry::Vacant(place) = texts.by_language.entry(language) {
                let (running, cells) = self.text(language)?;
                place.insert(running);
                placed.insert(language, cells);
            }
        }
        let own = |(n, needle): (&u32, &'_ Prepared)| -> Option<(u32, Language)> {
            let language = needle.factoid.language?;
            texts.by_language.contains_key(&language).then_some((*n, language))
        };
        let chosen: Vec<(u32, Language)> = self.needles.iter().filter_map(own).collect();
        let needles = chosen
            .into_iter()
            .map(|(n, language)| (n, InText::new(&self.plan.ledger, &self.needles[&n], &texts.by_language[&language])));
        let inputs = Inputs::new(self.plan, &texts, needles.collect(), &placed);
        segment::render(self.plan, &inputs, 0, segment, hand)
    }
}
