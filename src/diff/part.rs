//! What flags left out of a part of a release: its rows are not gone, they were never asked for.

use crate::error::Result;
use crate::plan::{counts, files, slots};
use crate::recipe::{Family, Recipe, SeedSource};
use crate::release::Release;
use crate::seed::Seed;
use crate::stage::factoids::cell_id;
use crate::stage::select::order_of;
use crate::verify::read_recipe;
use std::collections::{BTreeMap, BTreeSet};

/// Which instances `--limit` leaves.
pub(crate) enum Limit {
    /// All.
    None,
    /// These.
    Of(BTreeSet<String>),
    /// Of each file the first so many.
    First(usize),
    /// The seed that chose them is held out: those that the part does not hold, it was not asked for.
    Unknown,
}

impl Limit {
    /// Of a recipe's fixed order the first so many.
    pub(crate) fn of(recipe: &Recipe, limit: Option<u32>) -> Limit {
        match (limit, recipe.family()) {
            (None, _) => Limit::None,
            (Some(n), Family::Reasoning) => {
                let order = order_of(recipe, &counts(recipe), n as usize);
                Limit::Of(order.into_iter().map(|(_, source, n)| format!("{source}-{n:05}")).collect())
            }
            (Some(n), Family::Passage) => Limit::First(n as usize),
            (Some(n), Family::Factoid) => match recipe.release.seed {
                SeedSource::Number(seed) => {
                    let cells = slots::chosen(recipe, &Seed::new(&seed.to_string()), n);
                    Limit::Of(cells.into_iter().map(|(length, depth)| cell_id(length, depth)).collect())
                }
                _ => Limit::Unknown,
            },
        }
    }

    /// Does it leave out an instance? `rank`: how many instances stand before it in its file.
    pub(crate) fn leaves(&self, instance: &str, rank: usize) -> bool {
        match self {
            Limit::None => false,
            Limit::Of(kept) => !kept.contains(instance),
            Limit::First(n) => rank >= *n,
            Limit::Unknown => true,
        }
    }
}

/// A part of a release.
pub struct Part {
    /// Files of the whole grid by path; true where the flags keep them.
    files: BTreeMap<String, bool>,
    limit: Limit,
}

impl Part {
    /// What flags left of a release; none where it is whole.
    pub fn of(release: &Release) -> Result<Option<Part>> {
        let Some(filter) = &release.manifest.filter else { return Ok(None) };
        let recipe = read_recipe(&release.folder)?;
        let held: BTreeSet<&str> = release.files().iter().map(|file| file.path.as_str()).collect();
        let kept = files(&recipe).into_iter().map(|file| {
            let path = file.path();
            let keeps = filter.keeps(&file) || held.contains(path.as_str());
            (path, keeps)
        });
        Ok(Some(Part { files: kept.collect(), limit: Limit::of(&recipe, filter.limit) }))
    }

    /// Did flags leave out this whole file?
    pub fn leaves_file(&self, path: &str) -> bool {
        self.files.get(path) == Some(&false)
    }

    /// Did a flag narrow the instances?
    pub fn has_limit(&self) -> bool {
        !matches!(self.limit, Limit::None)
    }

    /// Did flags leave out a row of this file and instance? `rank`: how many instances stand before it in its file.
    pub fn leaves(&self, path: &str, instance: &str, rank: usize) -> bool {
        match self.files.get(path) {
            // A file that the recipe does not have was not left out by a flag.
            None => false,
            Some(false) => true,
            Some(true) => self.limit.leaves(instance, rank),
        }
    }
}
