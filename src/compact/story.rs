//! The compact form of stories: facts by language, frames by voice, pools by language and kind, one ranking an instance.

use super::part::{Around, Parts, Ranked};
use super::{Layout, Recipe};
use crate::error::{Error, Result};
use crate::plan::{FilePlan, Voice};
use crate::recipe::RagOrder;
use crate::record::Row;
use crate::stage::assemble::{RowPlan, local_story, printed_order};
use crate::stage::certify::split;
use crate::stage::distractors;
use crate::stage::render::FileRows;
use crate::stage::select::voices;
use crate::stage::stories::{Inputs, Side};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

fn name((story, question, strategy): Voice) -> String {
    format!("{story}-{question}-{}", strategy.name())
}

impl<'a> Inputs<'a> {
    fn side(&self, file: &FilePlan) -> &Side<'a> {
        let of = |side: &&Side<'_>| (side.language, side.kind) == (file.haystack, file.kind);
        self.sides.iter().find(of).expect("every file's language and kind are prepared")
    }

    /// What a row's prompt is put together from.
    pub(crate) fn compact_row(&self, file: &FilePlan, planned: RowPlan, row: &Row, prompt: &str) -> Result<Recipe> {
        let mut recipe = Recipe { instance: planned.instance, passages: planned.passages, ..Recipe::default() };
        if file.rag.is_none() {
            return Ok(recipe);
        }
        recipe.passages = 0;
        let known = self.side(file).lines;
        let story = self.local(planned.instance as usize, file.voice());
        let number = |line: &str| -> Result<i32> {
            if let Some((_, n)) = known.get(line) {
                return Ok(*n as i32);
            }
            let fact = story.facts.iter().position(|fact| fact.trim_end_matches('\n') == line);
            let fact =
                fact.ok_or_else(|| Error::new(format!("a line that is neither fact nor distractor: {line:?}")))?;
            Ok(-1 - fact as i32)
        };
        let lines = split(prompt)?.0.lines().map(number).collect::<Result<Vec<_>>>();
        recipe.lines = Some(lines.map_err(|e| e.at(format!("row {}", row.id)))?);
        Ok(recipe)
    }

    fn local(&self, index: usize, voice: Voice) -> crate::family::reasoning::LocalStory {
        let examples = self.examples.get(index).map_or(&[][..], Vec::as_slice);
        local_story(self.plan, &self.instances[index], voice, examples)
    }

    /// Writes the texts and rankings of files; how each file is put together.
    pub(crate) fn compact_parts(&self, files: &[FileRows], parts: &mut Parts) -> Result<Vec<Layout>> {
        let n = self.instances.len();
        let plans: Vec<FilePlan> = files.iter().map(|file| file.file.clone()).collect();
        let order_lost = |voice: Voice| {
            let cut = plans.iter().any(|file| file.voice() == voice && file.rag.is_some());
            cut && self.plan.recipe.rag.as_ref().is_some_and(|rag| rag.order == RagOrder::Similarity)
        };
        let (mut facts, mut frames) = (BTreeMap::new(), BTreeMap::new());
        for voice in voices(&plans) {
            if let Entry::Vacant(entry) = facts.entry(voice.0) {
                entry.insert(parts.facts(&voice.0.to_string(), n, |i| Ok(self.local(i, voice).facts))?);
            }
            let sentence = order_lost(voice).then(|| self.plan.voices(voice).order_sentence());
            let sentence = sentence.filter(|sentence| !sentence.is_empty());
            let frame = |i| {
                let story = self.local(i, voice);
                let cut_head = sentence.as_ref().map(|sentence| story.head.replacen(sentence, "", 1));
                Ok(Around { head: Some(story.head), tail: Some(story.tail), cut_head })
            };
            frames.insert(voice, parts.frames(&name(voice), n, frame)?);
        }
        let rankings = self.rankings(files, parts)?;
        let mut texts = BTreeMap::new();
        for side in self.sides {
            let own = |file: &&FileRows| (file.file.haystack, file.file.kind) == (side.language, side.kind);
            let own: Vec<&FileRows> = files.iter().filter(own).collect();
            if own.is_empty() {
                continue;
            }
            // Lines are numbered over the whole pool.
            let all = own.iter().any(|file| file.file.rag.is_some());
            let used = self.used(side, &own)?;
            let text = |passage: usize| {
                let kept = all || used[passage];
                let id = kept.then(|| distractors::id(side.kind, passage as u32));
                (id, kept.then(|| side.pool.passage(passage)))
            };
            let name = format!("{}-{}", side.kind.name(), side.language);
            texts.insert((side.language, side.kind), parts.texts(&name, (0..side.pool.len()).map(text))?);
        }
        let layout = |file: &FilePlan| Layout::Story {
            facts: facts[&file.language].clone(),
            frames: frames[&file.voice()].clone(),
            texts: texts[&(file.haystack, file.kind)].clone(),
            ranking: rankings.get(&std::ptr::from_ref(self.side(file).ranked)).cloned(),
        };
        Ok(plans.iter().map(layout).collect())
    }

    /// Passages of a pool that rows hold.
    fn used(&self, side: &Side<'_>, files: &[&FileRows]) -> Result<Vec<bool>> {
        let mut used = vec![false; side.pool.len()];
        let most = most(files.iter().copied(), self.instances.len());
        for (index, most) in most.into_iter().enumerate().filter(|(_, most)| *most > 0) {
            let ranking = side.ranked.get(self.plan, index, &self.instances[index])?;
            ranking[..most].iter().for_each(|passage| used[*passage as usize] = true);
        }
        Ok(used)
    }

    /// Writes one list an instance for each ranking that files share; its path by the ranking.
    fn rankings(
        &self,
        files: &[FileRows],
        parts: &mut Parts,
    ) -> Result<BTreeMap<*const crate::stage::stories::Ranked, String>> {
        let mut paths = BTreeMap::new();
        for side in self.sides {
            let ranked = std::ptr::from_ref(side.ranked);
            let same = |file: &&FileRows| std::ptr::eq(self.side(&file.file).ranked, side.ranked);
            let most = most(files.iter().filter(same), self.instances.len());
            if paths.contains_key(&ranked) || most.iter().all(|most| *most == 0) {
                continue;
            }
            let several = self.sides.iter().any(|s| s.kind == side.kind && !std::ptr::eq(s.ranked, side.ranked));
            let name = match several {
                true => format!("{}-{}", side.kind.name(), side.language),
                false => side.kind.name().to_owned(),
            };
            let of = |index: usize| {
                let instance = &self.instances[index];
                let mut ranking = side.ranked.get(self.plan, index, instance)?;
                ranking.truncate(most[index]);
                let passages = printed_order(self.plan, instance, &ranking);
                let ranks: BTreeMap<u32, u32> =
                    ranking.iter().zip(0..).map(|(passage, rank)| (*passage, rank)).collect();
                let ranks = passages.iter().map(|passage| ranks[passage]).collect();
                Ok(Ranked { passages, ranks: Some(ranks), languages: None })
            };
            paths.insert(ranked, parts.rankings(&name, self.instances.len(), of)?);
        }
        Ok(paths)
    }
}

/// The most passages that any row of an instance has.
fn most<'f>(files: impl Iterator<Item = &'f FileRows>, n: usize) -> Vec<usize> {
    let mut most = vec![0; n];
    for row in files.filter(|file| file.file.rag.is_none()).flat_map(|file| file.groups.iter().flatten()) {
        let mine = &mut most[row.instance as usize];
        *mine = (row.passages as usize).max(*mine);
    }
    most
}
