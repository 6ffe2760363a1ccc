//! The compact form of the factoid family: running texts by language, needles and frames by needle.

use super::part::{Around, Parts};
use super::{Layout, Recipe};
use crate::error::Result;
use crate::family::factoid::gap;
use crate::plan::FilePlan;
use crate::stage::assemble::RowPlan;
use crate::stage::factoids::Inputs;
use crate::stage::render::FileRows;
use crate::stage::texts::PARTED;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

impl Inputs<'_> {
    /// What a row's prompt is put together from.
    pub(crate) fn compact_row(&self, file: &FilePlan, planned: RowPlan) -> Recipe {
        let placed = &self.placed[&file.language][planned.instance as usize];
        let (at, end) = (Some(placed.at as u64), Some(placed.end as u64));
        Recipe { instance: file.needle.unwrap_or_default(), at, end, ..Recipe::default() }
    }

    /// Writes the texts of files; how each file is put together.
    pub(crate) fn compact_parts(&self, files: &[FileRows], parts: &mut Parts) -> Result<Vec<Layout>> {
        let needles = self.needles.keys().max().map_or(0, |last| *last as usize + 1);
        let needle = |i: usize| self.needles.get(&(i as u32)).map(|in_text| in_text.needle);
        let facts = parts.facts("needles", needles, |i| Ok(needle(i).map(|n| n.text.clone()).into_iter().collect()))?;
        let frames = parts.frames("needles", needles, |i| {
            let frame = needle(i).map(|needle| &needle.frame);
            let (head, tail) = (frame.map(|f| f.head.clone()), frame.map(|f| f.tail.clone()));
            Ok(Around { head, tail, cut_head: None })
        })?;
        let mut texts = BTreeMap::new();
        for file in files {
            let language = file.file.language;
            if let Entry::Vacant(entry) = texts.entry(language) {
                let end = self.placed[&language].iter().map(|placed| placed.end).max().unwrap_or(0);
                let text = &self.texts.by_language[&language].text()[..end];
                entry.insert(parts.texts(&language.to_string(), std::iter::once((None, Some(text))))?);
            }
        }
        let layout = |file: &FilePlan| {
            let gap = gap(self.plan.pack(file.language).writes_spaces());
            let heading = self.texts.by_language[&file.language].heading;
            Layout::Running {
                facts: facts.clone(),
                frames: frames.clone(),
                texts: texts[&file.language].clone(),
                gap: gap.to_owned(),
                gap_at_start: if heading { PARTED } else { gap }.to_owned(),
            }
        };
        Ok(files.iter().map(|file| layout(&file.file)).collect())
    }
}
