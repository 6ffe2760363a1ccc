//! Questions of MLNeedle as bundles: each with a haystack of its own, of the passages that its rows hold.

use super::render::Bench;
use super::segment::{self, Hand, Segment};
use super::{Divided, decode, encode};
use crate::compact::reach;
use crate::error::Result;
use crate::hash::Digest;
use crate::language::Language;
use crate::manifest::PassageFacts;
use crate::plan::{FilePlan, Plan};
use crate::recipe::Haystack as In;
use crate::record::NeedleInstance;
use crate::stage::assemble::RowPlan;
use crate::stage::counter::{Counted, Counter};
use crate::stage::haystack::Haystack;
use crate::stage::leaks::Apart;
use crate::stage::passages::{Inputs, Rankings};
use crate::stage::render::FileRows;
use crate::store::Lists;
use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What the rows of a few questions need. Passages are numbered anew, in the order they had.
#[derive(Serialize, Deserialize)]
struct Bundle {
    first: u32,
    instances: Vec<NeedleInstance>,
    apart: Vec<Apart>,
    ids: Vec<String>,
    /// By language, in the order of the ids; empty where no row prints that passage in that language.
    texts: Vec<(Language, Vec<String>)>,
    counted: Counted,
    /// One for all haystacks, or one a haystack; a list an instance, as far as rows take from it.
    rankings: Vec<(Option<In>, Vec<Vec<u32>>)>,
}

impl Divided for Inputs<'_> {
    fn shared(&self, _: &[FileRows], _: &mut dyn FnMut(&str, Vec<u8>) -> Result<()>) -> Result<()> {
        Ok(())
    }

    fn unit(&self, _: &FilePlan, row: &RowPlan) -> u32 {
        row.instance
    }

    fn bundle(&self, units: Range<u32>, rows: &[(&FilePlan, RowPlan)]) -> Result<Vec<u8>> {
        let range = units.start as usize..units.end as usize;
        let n = self.plan.packs.len() as u32;
        // How far rows take from each ranking, and which passages they print in which language.
        let mut most: BTreeMap<Option<In>, Vec<usize>> = BTreeMap::new();
        let mut printed: BTreeSet<(Language, u32)> = BTreeSet::new();
        for (file, row) in rows.iter().filter(|(_, row)| reach(row) > 0) {
            let cell = file.cell.expect("a file of this family has a cell");
            let items = self.items(row.instance as usize, file, cell)?;
            let reach = reach(row);
            printed.extend(items[..reach].iter().map(|item| (item.language, item.passage)));
            if let Some(rank) = row.needle.instead {
                printed.insert((file.language, items[rank as usize].passage));
            }
            let key = match self.rankings {
                Rankings::Pivot(_) => None,
                Rankings::Each(_) => Some(cell.haystack.unwrap_or(In::In(file.language))),
            };
            let most = most.entry(key).or_insert_with(|| vec![0; range.len()]);
            let own = &mut most[(row.instance - units.start) as usize];
            *own = reach.max(*own);
        }
        let kept: Vec<u32> = printed.iter().map(|(_, passage)| *passage).collect::<BTreeSet<_>>().into_iter().collect();
        let renumbered = |passage: u32| kept.binary_search(&passage).expect("every printed passage is kept") as u32;
        let mut rankings = Vec::new();
        for (key, most) in most {
            let lists = match (self.rankings, key) {
                (Rankings::Pivot(lists), _) => lists,
                (Rankings::Each(each), Some(haystack)) => &each[&haystack],
                (Rankings::Each(_), None) => unreachable!("each haystack has its own"),
            };
            let list = |(i, most): (usize, usize)| -> Result<Vec<u32>> {
                let mut list = if most == 0 { Vec::new() } else { lists.get(range.start + i)? };
                list.truncate(most);
                let number = |code: u32| match key {
                    Some(In::Multilingual) => renumbered(code / n) * n + code % n,
                    _ => renumbered(code),
                };
                Ok(list.into_iter().map(number).collect())
            };
            rankings.push((key, most.into_iter().enumerate().map(list).collect::<Result<Vec<_>>>()?));
        }
        let haystack = self.counter.haystack;
        let text = |language: Language, passage: u32, all: &[String]| match printed.contains(&(language, passage)) {
            true => all[passage as usize].clone(),
            false => String::new(),
        };
        let texts = haystack.texts.iter();
        let texts = texts.map(|(l, all)| (*l, kept.iter().map(|passage| text(*l, *passage, all)).collect()));
        encode(&Bundle {
            first: units.start,
            instances: self.instances[range.clone()].to_vec(),
            apart: self.apart[range].iter().map(|apart| apart.among(&kept)).collect(),
            ids: kept.iter().map(|passage| haystack.ids[*passage as usize].clone()).collect(),
            texts: texts.collect(),
            counted: self.counter.counted(&kept),
            rankings,
        })
    }
}

/// The bench of the passage family.
pub(super) struct Needles<'p> {
    plan: &'p Plan,
}

impl<'p> Needles<'p> {
    /// A bench; all that rows need is in their bundles.
    pub fn new(plan: &'p Plan) -> Needles<'p> {
        Needles { plan }
    }
}

impl Bench for Needles<'_> {
    fn render(&self, segment: &Segment<'_>, bundle: &[u8], hand: &mut Hand) -> Result<Vec<RecordBatch>> {
        let Bundle { first, instances, apart, ids, texts, counted, rankings } = decode("questions", bundle)?;
        let haystack = Haystack {
            ids,
            texts: texts.into_iter().collect(),
            files: Vec::new(),
            facts: PassageFacts::default(),
            digest: Digest([0; 32]),
        };
        let counters = [Counter::again(self.plan, &haystack, counted)];
        let pivoted = rankings.iter().any(|(key, _)| key.is_none());
        let mut each: BTreeMap<In, Lists> = BTreeMap::new();
        let mut pivot = vec![Vec::new(); instances.len()];
        for (key, lists) in rankings {
            match key {
                Some(haystack) => drop(each.insert(haystack, Lists::held(lists))),
                None => pivot = lists,
            }
        }
        let rankings =
            if pivoted || each.is_empty() { Rankings::Pivot(Lists::held(pivot)) } else { Rankings::Each(each) };
        let inputs = Inputs::new(self.plan, &instances, &apart, &counters, &rankings);
        segment::render(self.plan, &inputs, first, segment, hand)
    }
}
