//! `LICENSE.md`: the terms of a release, and whose they are.

use super::papers::works;
use crate::licence::{self, terms};
use crate::manifest::Manifest;
use crate::plan::Plan;

/// What a licence asks for, in words.
fn asks(id: &str) -> String {
    let Some(terms) = terms(id) else { return "terms of its own, which are to be read".to_owned() };
    if terms.is_open {
        return "attribution at most".to_owned();
    }
    let mut all = Vec::new();
    if terms.non_commercial {
        all.push("no commercial use");
    }
    if terms.share_alike {
        all.push("adaptations under the same licence");
    }
    if terms.no_derivatives {
        all.push("no adaptations");
    }
    all.join(", ")
}

/// The page of terms.
pub(super) fn page(plan: &Plan, manifest: &Manifest) -> String {
    let mut text = format!("# Licence of {}\n\n`{}`\n\n", manifest.title(), manifest.licence);
    text += "All of these terms hold for the rows as a whole:\n\n| licence | asks for |\n|---|---|\n";
    for id in licence::identifiers(&manifest.licence) {
        text += &format!("| {id} | {} |\n", asks(&id));
    }
    if manifest.source_licences.is_empty() {
        text += "\nNo text was taken from a source that is pinned with a licence.\n";
    } else {
        text +=
            "\nTexts were taken from these sources, whose terms are passed on:\n\n| source | licence |\n|---|---|\n";
        for (id, licence) in &manifest.source_licences {
            text += &format!("| {id} | {licence} |\n");
        }
    }
    if plan.recipe.release.allow_conflicting_licences {
        text += "\n**The licences of these sources do not go together by themselves.** The recipe says that they are published together\n\
                 with the right to do so; whoever passes them on needs it too.\n";
    }
    if licence::identifiers(&manifest.licence).iter().any(|id| id == licence::UNSTATED) {
        text += "\nTexts from local files have a licence that the recipe does not state.\n";
    }
    text += "\nAttribution:\n\n";
    for work in works(plan) {
        text += &format!("- {}: *{}* ({}), {}\n", work.people(), work.title, work.year, work.url());
    }
    text
}
