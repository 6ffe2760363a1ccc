//! The compact form of the passage family: needles and passages by language, frames by question and prompt.

use super::part::{Around, Parts, Ranked};
use super::{Layout, Recipe};
use crate::error::Result;
use crate::fail;
use crate::family::passage::{head, tail};
use crate::language::Language;
use crate::plan::{Cell, FilePlan};
use crate::recipe::Haystack as In;
use crate::stage::assemble::RowPlan;
use crate::stage::counter::Item;
use crate::stage::passages::{Inputs, Rankings};
use crate::stage::render::FileRows;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

fn cell(file: &FilePlan) -> Cell {
    file.cell.expect("a file of this family has a cell")
}

/// Has a row passages, or one in the needle's place?
fn is_ranked(row: &RowPlan) -> bool {
    row.passages > 0 || row.needle.instead.is_some()
}

/// So many of the ranked passages a row needs.
pub(crate) fn reach(row: &RowPlan) -> usize {
    let instead = row.needle.instead.map_or(0, |rank| rank + 1);
    instead.max(row.passages + u32::from(row.needle.instead.is_some())) as usize
}

/// By language, which passages rows hold.
type Used = Vec<Vec<bool>>;

/// What files share a ranking by.
fn list(rankings: &Rankings, file: &FilePlan) -> String {
    match (rankings, cell(file).haystack.unwrap_or(In::In(file.language))) {
        (Rankings::Pivot(_), In::In(_)) => "pivot".to_owned(),
        (_, asked) => asked.to_string(),
    }
}

impl<'a> Inputs<'a> {
    /// What a row's prompt is put together from.
    pub(crate) fn compact_row(&self, file: &FilePlan, planned: RowPlan) -> Result<Recipe> {
        let mut recipe = Recipe { instance: planned.instance, passages: planned.passages, ..Recipe::default() };
        recipe.instead = planned.needle.instead;
        recipe.cut = planned.needle.cut.filter(|_| planned.passages > 0);
        let mut at = 0;
        if is_ranked(&planned) {
            let items = self.items(planned.instance as usize, file, cell(file))?;
            let printed = self.printed(&items, &planned, file.language);
            let twin = planned.needle.instead.map(|rank| Item { language: file.language, ..items[rank as usize] });
            let Some(found) = printed.iter().position(|entry| *entry == twin) else {
                fail!("the needle's place is lost");
            };
            at = found;
        }
        recipe.at = Some(at as u64);
        Ok(recipe)
    }

    /// Writes the texts and rankings of files; how each file is put together.
    pub(crate) fn compact_parts(&self, files: &[FileRows], parts: &mut Parts) -> Result<Vec<Layout>> {
        let n = self.instances.len();
        let languages: Vec<Language> = self.plan.packs.iter().map(|(language, _)| *language).collect();
        let number = |language: Language| languages.iter().position(|l| *l == language).expect("the recipe has it");
        let (mut facts, mut frames) = (BTreeMap::new(), BTreeMap::new());
        for file in files.iter().map(|file| &file.file) {
            let language = file.language;
            if let Entry::Vacant(entry) = facts.entry(language) {
                let needle = |i: usize| {
                    let needle = self.instances[i].by_language.get(&language);
                    Ok(needle.map(|needle| needle.context.clone()).into_iter().collect())
                };
                entry.insert(parts.facts(&language.to_string(), n, needle)?);
            }
            let Cell { question, prompt, .. } = cell(file);
            let key = format!("{question}-{}", prompt.name());
            if let Entry::Vacant(entry) = frames.entry(key.clone()) {
                let frame = |i: usize| {
                    let asked = self.instances[i].by_language.get(&question);
                    let tail = asked.map(|needle| tail(prompt, &needle.question));
                    Ok(Around { head: tail.is_some().then(|| head(prompt).to_owned()), tail, cut_head: None })
                };
                entry.insert(parts.frames(&key, n, frame)?);
            }
        }
        let (rankings, used) = self.compact_rankings(files, &languages, parts)?;
        let mut texts = Vec::new();
        for (language, used) in languages.iter().zip(&used) {
            let all = &self.counter.haystack.texts[language];
            let text = |(n, text): (usize, &'a String)| {
                let text = used[n].then_some(text.as_str());
                (text.map(|_| self.counter.haystack.ids[n].clone()), text)
            };
            texts.push(parts.texts(&format!("passages-{language}"), all.iter().enumerate().map(text))?);
        }
        let layout = |file: &FilePlan| Layout::Numbered {
            facts: facts[&file.language].clone(),
            frames: frames[&format!("{}-{}", cell(file).question, cell(file).prompt.name())].clone(),
            texts: texts.clone(),
            suffixes: languages.iter().map(|language| format!("-{language}")).collect(),
            own: match cell(file).haystack.unwrap_or(In::In(file.language)) {
                In::In(language) => Some(number(language)),
                In::Multilingual => None,
            },
            needle: number(file.language),
            ranking: rankings.get(&list(self.rankings, file)).cloned(),
            first: self.counter.first as u64,
            label: ("[".to_owned(), "] ".to_owned()),
            end: "\n".to_owned(),
            close: "\n".to_owned(),
        };
        Ok(files.iter().map(|file| layout(&file.file)).collect())
    }

    /// Writes the rankings that files share; and which passages rows hold, by language.
    fn compact_rankings(
        &self,
        files: &[FileRows],
        languages: &[Language],
        parts: &mut Parts,
    ) -> Result<(BTreeMap<String, String>, Used)> {
        let mut paths = BTreeMap::new();
        let mut used = vec![vec![false; self.counter.haystack.ids.len()]; languages.len()];
        let number = |language: Language| languages.iter().position(|l| *l == language).expect("the recipe has it");
        for file in files {
            let key = list(self.rankings, &file.file);
            let same = || files.iter().filter(|other| list(self.rankings, &other.file) == key);
            let mut most = vec![0; self.instances.len()];
            for row in same().flat_map(|file| file.groups.iter().flatten()) {
                let mine = &mut most[row.instance as usize];
                *mine = reach(row).max(*mine);
            }
            let own = cell(&file.file);
            for row in file.groups.iter().flatten().filter(|row| is_ranked(row)) {
                let items = self.items(row.instance as usize, &file.file, own)?;
                items[..reach(row)].iter().for_each(|item| used[number(item.language)][item.passage as usize] = true);
                if let Some(rank) = row.needle.instead {
                    used[number(file.file.language)][items[rank as usize].passage as usize] = true;
                }
            }
            if paths.contains_key(&key) || most.iter().all(|most| *most == 0) {
                continue;
            }
            let of = |index: usize| {
                if most[index] == 0 {
                    return Ok(Ranked::default());
                }
                let mut items = self.items(index, &file.file, own)?;
                items.truncate(most[index]);
                let several = own.haystack == Some(In::Multilingual);
                Ok(Ranked {
                    passages: items.iter().map(|item| item.passage).collect(),
                    ranks: None,
                    languages: several.then(|| items.iter().map(|item| number(item.language) as u32).collect()),
                })
            };
            let path = parts.rankings(&key, self.instances.len(), of)?;
            paths.insert(key, path);
        }
        Ok((paths, used))
    }
}
