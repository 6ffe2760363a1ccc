//! Which configs and rows of a release are exported.

use super::Options;
use crate::diff::part::Limit;
use crate::error::{Error, Result};
use crate::fail;
use crate::language::Language;
use crate::plan::{FilePlan, Filter, files};
use crate::recipe::{Family, Length, Recipe};
use crate::release::Release;
use crate::table::text;
use std::collections::{BTreeMap, BTreeSet};

/// A config that is exported.
pub(super) struct Picked {
    /// Place of its data file in the manifest.
    pub file: usize,
    /// What the recipe says of the file.
    pub plan: FilePlan,
    /// The rows that are left, in order; none where all are.
    pub rows: Option<Vec<u32>>,
    /// Their number.
    pub n: u64,
}

/// What a release's rows are narrowed by.
struct Narrow<'a> {
    configs: Option<BTreeSet<&'a str>>,
    filter: Filter,
    /// Of running text: lengths are a matter of rows.
    lengths: Option<BTreeSet<&'a str>>,
    limit: Limit,
}

/// The configs that options leave of a release, in its order.
pub(super) fn pick(release: &Release, recipe: &Recipe, options: &Options) -> Result<Vec<Picked>> {
    let plans: BTreeMap<String, FilePlan> = files(recipe).into_iter().map(|plan| (plan.path(), plan)).collect();
    let narrow = Narrow::new(recipe, options)?;
    let mut picked = Vec::new();
    let mut known = Vec::new();
    for (file, data) in release.files().iter().enumerate() {
        let Some(plan) = plans.get(&data.path) else {
            return Err(Error::new(format!("{} is no file of the release's recipe", data.path))
                .at(release.folder.join("manifest.json").display())
                .help("the release is damaged: run verify on it"));
        };
        known.push(plan.config.as_str());
        if narrow.configs.as_ref().is_some_and(|named| !named.contains(plan.config.as_str()))
            || !narrow.filter.keeps(plan)
        {
            continue;
        }
        let rows = narrow.rows(release, file)?;
        let n = rows.as_ref().map_or(data.rows, |rows| rows.len() as u64);
        let rows = rows.filter(|_| n < data.rows);
        if n > 0 {
            picked.push(Picked { file, plan: plan.clone(), rows, n });
        }
    }
    if let Some(strange) = narrow.configs.iter().flatten().find(|name| !known.contains(name)) {
        return Err(Error::new(format!("--configs: the release has no config {strange:?}"))
            .help(format!("it has {}", listed(&known))));
    }
    if picked.is_empty() {
        return Err(Error::new("nothing is left of the release by --configs, --languages, --lengths and --limit")
            .help(format!("its configs are {}", listed(&known))));
    }
    Ok(picked)
}

/// The first of some names, and how many more there are.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

impl<'a> Narrow<'a> {
    fn new(recipe: &Recipe, options: &'a Options) -> Result<Narrow<'a>> {
        if options.limit == Some(0) {
            fail!("--limit 0 leaves no instance");
        }
        let languages = options.languages.as_ref().map(|codes| {
            let parse = |code: &String| {
                let known = || recipe.grid.languages.iter().map(Language::to_string).collect::<Vec<_>>().join(", ");
                let language = code.parse::<Language>().ok().filter(|l| recipe.grid.languages.contains(l));
                language.ok_or_else(|| {
                    Error::new(format!("--languages: the release has no {code:?}")).help(format!("it has {}", known()))
                })
            };
            codes.iter().map(parse).collect::<Result<Vec<_>>>()
        });
        let in_rows = recipe.family() == Family::Factoid;
        let lengths = options.lengths.as_ref().filter(|_| !in_rows).map(|lengths| {
            let parse = |length: &String| {
                length.parse::<Length>().map_err(|e| Error::new(format!("--lengths: {e}"))).and_then(|l| {
                    match recipe.grid.lengths.contains(&l) {
                        true => Ok(l),
                        false => Err(Error::new(format!("--lengths: the release has no {length}"))),
                    }
                })
            };
            lengths.iter().map(parse).collect::<Result<Vec<_>>>()
        });
        if in_rows && let Some(lengths) = &options.lengths {
            let known = recipe.slots.lengths.as_deref().unwrap_or_default();
            if let Some(strange) = lengths.iter().find(|length| !known.iter().any(|k| k.to_string() == **length)) {
                let known: Vec<String> = known.iter().map(ToString::to_string).collect();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                return Err(Error::new(format!("--lengths: the release has no {strange}"))
                    .help(format!("it has {} (tokens)", listed(&known))));
            }
        }
        let limit = Limit::of(recipe, options.limit);
        if matches!(limit, Limit::Unknown) {
            return Err(Error::new("--limit: the seed that orders the cells of this release is held out")
                .help("leave --limit out, or build a part with `recipe ... --limit N` and export that"));
        }
        let named = |all: &'a Option<Vec<String>>| all.as_ref().map(|all| all.iter().map(String::as_str).collect());
        Ok(Narrow {
            configs: named(&options.configs),
            filter: Filter { limit: None, languages: languages.transpose()?, lengths: lengths.transpose()? },
            lengths: if in_rows { named(&options.lengths) } else { None },
            limit,
        })
    }

    /// The rows that are left of a file; none where none is looked at.
    fn rows(&self, release: &Release, file: usize) -> Result<Option<Vec<u32>>> {
        if self.lengths.is_none() && matches!(self.limit, Limit::None) {
            return Ok(None);
        }
        let (mut kept, mut row) = (Vec::new(), 0);
        let mut ranks: BTreeMap<String, usize> = BTreeMap::new();
        release.each(file, &["instance_id", "length"], &mut |batch, at| {
            let instance = text(batch, "instance_id", at);
            let next = ranks.len();
            let rank = match ranks.get(instance) {
                Some(rank) => *rank,
                None => *ranks.entry(instance.to_owned()).or_insert(next),
            };
            let long = self.lengths.as_ref().is_none_or(|lengths| lengths.contains(text(batch, "length", at)));
            if long && !self.limit.leaves(instance, rank) {
                kept.push(row);
            }
            row += 1;
            Ok(())
        })?;
        Ok(Some(kept))
    }
}
