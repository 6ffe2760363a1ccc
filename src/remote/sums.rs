//! What a release is known by in a place: its SHA256SUMS, and the claim of one that is on its way.

use super::{NOTES, Place};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::verify::is_inside;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The mark of a whole release: sent last.
pub(super) const SUMS: &str = "SHA256SUMS";

/// Says whose release is on its way to a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Name and version, for people.
    pub release: String,
    /// Digest of its SHA256SUMS: the release itself.
    pub sums: Digest,
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (SHA256SUMS {})", self.release, self.sums.short())
    }
}

/// Where a claim lies.
pub(super) fn claim_file() -> String {
    format!("{NOTES}/claim.json")
}

impl Claim {
    /// The claim on a place, if there is one.
    pub fn on(place: &Place) -> Result<Option<Claim>> {
        let name = claim_file();
        let Some(text) = place.get(&name)? else { return Ok(None) };
        serde_json::from_slice(&text).map(Some).map_err(|e| {
            Error::new(format!("{place}/{name} is no claim: {e}"))
                .help("nobody knows what is on its way there: see what lies there, and remove that file by other means")
        })
    }

    /// The whole release in a place, if there is one.
    pub fn whole(place: &Place) -> Result<Option<Claim>> {
        let Some(sums) = place.get(SUMS)? else { return Ok(None) };
        Ok(Some(Claim { release: name(place)?, sums: Digest::of(sums) }))
    }

    /// The claim as it is stored.
    pub(super) fn text(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| Error::new(e.to_string()))
    }
}

/// Name and version that the manifest in a place gives.
fn name(place: &Place) -> Result<String> {
    Ok(match manifest(place)? {
        Some(Named { name, version }) => format!("{name} {version}"),
        None => "a release without a name".to_owned(),
    })
}

/// [`name`] of a release that must have one.
pub(super) fn named(place: &Place) -> Result<(String, String)> {
    let Named { name, version } = manifest(place)?.ok_or_else(|| {
        Error::new(format!("{place} has no manifest.json that names a release"))
            .help("see whether the address is right")
    })?;
    Ok((name, version))
}

/// What a manifest of any format says.
#[derive(Deserialize)]
struct Named {
    name: String,
    version: String,
}

fn manifest(place: &Place) -> Result<Option<Named>> {
    Ok(place.get("manifest.json")?.and_then(|text| serde_json::from_slice(&text).ok()))
}

/// Files with their digests, as SHA256SUMS lists them; `from` is where it lies.
pub(super) fn read(text: &[u8], from: &str) -> Result<BTreeMap<String, Digest>> {
    let mut files = BTreeMap::new();
    let text = std::str::from_utf8(text).map_err(|e| Error::new(format!("{SUMS}: {e}")).at(from))?;
    for (n, line) in text.lines().enumerate() {
        let fault = |what: &str| {
            Err(Error::new(format!("{what}: {line:?}"))
                .at(format!("{from}, line {}", n + 1))
                .help("that is no release of this program, or it was damaged: send it again"))
        };
        let Some((hex, name)) = line.split_once("  ") else { return fault("not `<SHA-256>  <path>`") };
        let Some(digest) = Digest::parse(hex) else { return fault("no SHA-256") };
        if !is_inside(name) || name == SUMS || name.starts_with(NOTES) {
            return fault("not a file inside the release");
        }
        if files.insert(name.to_owned(), digest).is_some() {
            return fault("listed twice");
        }
    }
    match files.is_empty() {
        true => Err(Error::new(format!("{SUMS} lists nothing")).at(from).help("send the release again")),
        false => Ok(files),
    }
}
