//! Pins of what is read from outside: `checksums/sources.toml`.

use crate::error::{Error, Result};
use crate::hash::Digest;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: Vec<Pin>,
}

/// One pinned archive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The name that recipes use.
    pub id: String,
    /// Where it can be had, mirrors after the first.
    pub urls: Vec<String>,
    /// Its size.
    pub bytes: u64,
    /// Its digest.
    pub sha256: Digest,
    /// Its licence, as an SPDX identifier.
    pub licence: String,
    /// Digests of files inside it.
    #[serde(default)]
    pub members: BTreeMap<String, Digest>,
}

impl Pin {
    /// The pin of an id.
    pub fn find(id: &str) -> Result<Pin> {
        let file: File = toml::from_str(include_str!("../../checksums/sources.toml"))
            .map_err(|e| Error::new(e.to_string()).at("checksums/sources.toml"))?;
        let known: Vec<String> = file.source.iter().map(|pin| pin.id.clone()).collect();
        file.source.into_iter().find(|pin| pin.id == id).ok_or_else(|| {
            Error::new(format!(
                "source.archive {id:?} has no pin in checksums/sources.toml, it has {}",
                known.join(", ")
            ))
        })
    }

    /// Checks a member's bytes. A member without a pin is an error that prints the line to add.
    pub fn check_member(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let found = Digest::of(bytes);
        match self.members.get(name) {
            Some(pinned) if *pinned == found => Ok(()),
            Some(pinned) => Err(Error::new(format!(
                "{name} is not the pinned file: its {} bytes have SHA-256 {found}, pinned is {pinned}",
                bytes.len()
            ))
            .help(format!(
                "get the official files of {} again, or leave out `archive` in [source] to build from these",
                self.id
            ))),
            None => Err(Error::new(format!("{name} has no pin under {}", self.id))
                .help(format!("add this line to its members in checksums/sources.toml: {name:?} = \"{found}\""))),
        }
    }
}
