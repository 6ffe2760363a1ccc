//! What a recipe says of its release for those who find it: who made it, where it stands, what is wrong with it.

use super::{Name, Recipe, SeedSource, SourceKind, Version};
use crate::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// `[release]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Names the release's folder; lower-case letters, digits, `-` and `_`.
    pub name: Name,
    /// Three numbers, such as 1.0.0.
    pub version: Version,
    /// A number, or where to read a secret seed.
    pub seed: SeedSource,
    /// Date of the release (YYYY-MM-DD), printed on the card; none is printed otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub date: Option<String>,
    /// Licence of the data: an SPDX identifier, or several joined by AND. It passes on the terms of all sources.
    #[serde(default = "Release::licence")]
    #[schemars(regex(pattern = r"^[A-Za-z0-9.+ ()-]+$"))]
    pub licence: String,
    /// Publish sources together whose licences do not go together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_conflicting_licences: bool,
    /// Who made the release: persons or groups, as citations name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub creators: Vec<String>,
    /// Address of the page where it is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What it is, in one line; the program writes one otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Write `ro-crate-metadata.json` too (needs a date).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ro_crate: bool,
}

impl Release {
    fn licence() -> String {
        "CC-BY-4.0".to_owned()
    }
}

/// `[[errata]]`: something wrong with rows that were published. Errata stay in the recipe and are printed on the card of every
/// later version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Erratum {
    /// Ids of the rows.
    pub rows: Vec<String>,
    /// What is wrong with them, in a sentence or two.
    pub what: String,
    /// The first version that has it.
    pub since: Version,
    /// The first version without it; left out while rows still have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Version>,
}

impl Erratum {
    /// Do rows of this version have it?
    pub fn is_open(&self, version: &Version) -> bool {
        self.fixed.as_ref().is_none_or(|fixed| numbers(fixed) > numbers(version))
    }
}

/// A version's three numbers, which compare as versions do.
fn numbers(version: &Version) -> Vec<u64> {
    version.0.split('.').map(|n| n.parse().unwrap_or(0)).collect()
}

/// A text that stands in a line of its own: not blank, no line breaks or other control characters, no blanks at its ends.
fn line(key: &str, text: &str, most: usize) -> Result<()> {
    let fault = match text {
        _ if text.trim().is_empty() => "is blank".to_owned(),
        _ if text.trim() != text => "begins or ends with a blank".to_owned(),
        _ if text.chars().any(|c| c.is_control() || ('\u{2028}'..='\u{202e}').contains(&c)) => {
            "has line breaks or control characters".to_owned()
        }
        _ if !text.chars().any(char::is_alphanumeric) => "has no letter and no digit".to_owned(),
        _ if text.chars().count() > most => format!("has more than {most} characters"),
        _ => return Ok(()),
    };
    Err(Error::new(format!("{key} {fault}")).on(key).help("write one line of text, or leave the key out"))
}

/// Checks what a recipe says of its release, but for licences.
pub(crate) fn check(recipe: &Recipe) -> Result<()> {
    let release = &recipe.release;
    for creator in &release.creators {
        line("release.creators", creator, 200)?;
    }
    let distinct: BTreeSet<&String> = release.creators.iter().collect();
    if distinct.len() != release.creators.len() {
        return Err(Error::new("release.creators names somebody twice").on("release.creators").help("name each once"));
    }
    if let Some(description) = &release.description {
        line("release.description", description, 2000)?;
    }
    if let Some(url) = &release.url {
        line("release.url", url, 500)?;
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/'))
            || url.contains([' ', '"', '<', '>', '\\', '`'])
        {
            return Err(Error::new(format!("release.url {url:?} is no address of a page"))
                .on("release.url")
                .help("write one such as https://example.org/my-benchmark"));
        }
    }
    if release.ro_crate && release.date.is_none() {
        return Err(Error::new("release.ro_crate needs release.date: an RO-Crate says when it was published")
            .on("release.ro_crate")
            .help("add date = \"YYYY-MM-DD\" under [release]"));
    }
    for (n, erratum) in recipe.errata.iter().enumerate() {
        let key = |name: &str| format!("errata[{n}].{name}");
        let fault = |name: &str, what: String, help: &str| Err(Error::new(what).on(key(name)).help(help));
        if erratum.rows.is_empty() {
            return fault("rows", "errata.rows is empty".to_owned(), "name the rows by their ids");
        }
        let distinct: BTreeSet<&String> = erratum.rows.iter().collect();
        if distinct.len() != erratum.rows.len() {
            return fault("rows", "errata.rows names a row twice".to_owned(), "name each once");
        }
        let is_id = |id: &&String| id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) && !id.is_empty();
        if let Some(id) = erratum.rows.iter().find(|id| !is_id(id)) {
            let what = format!("errata.rows names {id:?}, which cannot be the id of a row");
            return fault("rows", what, "name the rows by their ids, as `show` lists them");
        }
        line(&key("what"), &erratum.what, 2000)?;
        let (since, version) = (&erratum.since, &release.version);
        if numbers(since) > numbers(version) {
            let what = format!("errata.since is {since}, later than this release, {version}");
            return fault("since", what, "name the first version that has it");
        }
        if let Some(fixed) = erratum.fixed.as_ref().filter(|fixed| numbers(fixed) <= numbers(since)) {
            let what = format!("errata.fixed is {fixed}, not later than since, {since}");
            return fault("fixed", what, "name the first version without it, or leave the key out");
        }
    }
    Ok(())
}

impl Recipe {
    /// Ids of the pins that the recipe reads its texts from, and whether it reads texts that none pins.
    pub(crate) fn pinned_texts(&self) -> (Vec<String>, bool) {
        let (mut ids, mut unpinned) = (BTreeSet::new(), false);
        let mut read = |archive: Option<&String>, code: &str| match archive {
            Some(id) => drop(ids.insert(id.replace("{language}", code))),
            None => unpinned = true,
        };
        for language in &self.grid.languages {
            let code = language.code();
            if matches!(self.source.kind, SourceKind::Babi | SourceKind::Released | SourceKind::Squad) {
                read(self.source.archive.as_ref(), code);
            }
            if self.reads_passages() {
                read(self.haystack.archives.get(language).or(self.haystack.archive.as_ref()), code);
            }
        }
        (ids.into_iter().collect(), unpinned)
    }
}
