//! `CITATION.cff` and the BibTeX entry of a release.

use super::papers::works;
use super::quoted;
use crate::licence;
use crate::manifest::Manifest;
use crate::plan::Plan;

/// Who made the release, as citations name them.
pub(super) fn creators(plan: &Plan) -> Vec<String> {
    match plan.recipe.release.creators.as_slice() {
        [] => vec![format!("The makers of {}", plan.recipe.release.name)],
        named => named.to_vec(),
    }
}

/// The citation file (Citation File Format 1.2.0).
pub(super) fn citation(plan: &Plan, manifest: &Manifest) -> String {
    let release = &plan.recipe.release;
    let mut text = String::from("cff-version: 1.2.0\ntype: dataset\n");
    text += "message: \"If you use this release, please cite it and the works under references.\"\n";
    text += &format!("title: {}\nversion: {}\n", quoted(&manifest.title()), quoted(&manifest.version));
    if let Some(date) = &release.date {
        text += &format!("date-released: {}\n", quoted(date));
    }
    text += "authors:\n";
    for creator in creators(plan) {
        text += &format!("  - name: {}\n", quoted(&creator));
    }
    text += &format!("abstract: {}\n", quoted(&super::description(plan, manifest)));
    if let Some(url) = &release.url {
        text += &format!("url: {}\n", quoted(url));
    }
    // The format knows identifiers of SPDX alone, and of several means that one may choose.
    if let [one] = licence::identifiers(&manifest.licence).as_slice()
        && !one.starts_with("LicenseRef-")
        && !one.contains(' ')
    {
        text += &format!("license: {}\n", quoted(one));
    }
    text += &format!(
        "identifiers:\n  - type: other\n    value: {}\n    description: \"Rows digest: the same for the same rows, however they are stored\"\n",
        quoted(&format!("sha256:{}", manifest.rows_digest))
    );
    text += "keywords:\n  - \"long-context\"\n  - \"multilingual\"\n  - \"benchmark\"\n  - \"needle in a haystack\"\nreferences:\n";
    for work in works(plan) {
        text += &format!("  - type: article\n    title: {}\n    authors:\n", quoted(work.title));
        for (given, family) in work.authors {
            text += &format!("      - family-names: {}\n        given-names: {}\n", quoted(family), quoted(given));
        }
        text += &format!("    year: {}\n    url: {}\n", work.year, quoted(&work.url()));
    }
    text
}

/// Text as TeX prints it; BibTeX counts braces, so none stands alone.
fn tex(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out += "\\textbackslash{}",
            '{' => out += "\\textbraceleft{}",
            '}' => out += "\\textbraceright{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '%' | '&' | '#' | '_' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// BibTeX entries of the release and of what it comes from.
pub(super) fn bibtex(plan: &Plan, manifest: &Manifest) -> String {
    let key: String = format!("{}_{}", manifest.name, manifest.version).replace(['.', '-'], "_");
    let authors: Vec<String> = creators(plan).iter().map(|name| format!("{{{}}}", tex(name))).collect();
    let mut text = format!(
        "@misc{{{key},\n  title = {{{} {}}},\n  author = {{{}}},\n",
        manifest.name,
        manifest.version,
        authors.join(" and ")
    );
    if let Some(date) = &manifest.date {
        text += &format!("  year = {{{}}},\n", &date[..4]);
    }
    if let Some(url) = &plan.recipe.release.url {
        text += &format!("  url = {{{url}}},\n");
    }
    text += &format!("  note = {{Rows digest {}}}\n}}\n", manifest.rows_digest);
    for work in works(plan) {
        text += &work.bibtex();
    }
    text
}
