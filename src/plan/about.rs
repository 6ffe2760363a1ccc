//! What a recipe says of its release: date, licence, and whether sources' terms are passed on.

use super::Options;
use crate::error::{Error, Result};
use crate::licence;
use crate::recipe::{self, Recipe};
use crate::source::pins::Pins;
use std::collections::BTreeMap;

/// Checks it; the licences of the pinned sources that texts come from, by id of the pin. The release's own passes them on, and
/// is made of them where the recipe names none and all is pinned.
pub(super) fn check(recipe: &mut Recipe, options: &Options) -> Result<BTreeMap<String, String>> {
    if let Some(date) = &recipe.release.date
        && !is_date(date)
    {
        return Err(Error::new(format!("release.date {date:?} is not a date"))
            .on("release.date")
            .help("write YYYY-MM-DD"));
    }
    recipe::check_about(recipe)?;
    let pins = Pins::load(options.sources.as_deref())?;
    let (ids, unpinned) = recipe.pinned_texts();
    // An id without a pin is told when it is looked for.
    let known = ids.iter().filter_map(|id| pins.find(id).ok());
    let licences: BTreeMap<String, String> = known.map(|pin| (pin.id.clone(), pin.licence.clone())).collect();
    let release = &mut recipe.release;
    if release.licence == licence::UNSTATED
        && !unpinned
        && let Some(combined) = licence::combined(licences.values().map(String::as_str))
    {
        release.licence = combined;
    }
    let accepted = release.allow_conflicting_licences;
    licence::check(&release.licence, &licences, accepted)?;
    // What is not known may conflict: then the recipe may say so.
    let is_whole = !unpinned && licences.len() == ids.len();
    if accepted && is_whole && licence::conflict_of(&licences).is_none() {
        return Err(Error::new(
            "release.allow_conflicting_licences does nothing: the licences of the sources go together",
        )
        .on("release.allow_conflicting_licences")
        .help("remove it"));
    }
    Ok(licences)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |n: &str, digits: usize| -> Option<u32> {
        Some(n).filter(|n| n.len() == digits && n.bytes().all(|b| b.is_ascii_digit()))?.parse::<u32>().ok()
    };
    let [y, m, d] = parts[..] else { return false };
    let (Some(y), Some(m), Some(d)) = (number(y, 4), number(m, 2), number(d, 2)) else { return false };
    let leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    let days = match m {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    y >= 1900 && (1..=days).contains(&d)
}
