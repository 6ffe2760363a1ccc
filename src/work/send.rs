//! A plan to a place behind a network: its files by content, then the plan itself, so that whoever finds one finds it whole.

use super::folder::{NAME, PlanFile};
use super::part;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::remote::{Creation, Place, held};
use crate::report::Progress;
use std::path::Path;
use std::sync::Arc;

/// Sends a plan; what is there of it already is not sent again.
///
/// # Errors
///
/// A place that holds another plan; whatever servers say.
pub fn send(folder: &Path, to: &Place) -> Result<()> {
    let here = Place::of(folder);
    let file = PlanFile::read(&here)?;
    let other =
        || Error::new(format!("{to} holds another plan")).help("remove it, or name another place with --to PLACE");
    let own = here.get(NAME)?.unwrap_or_default();
    match to.get(NAME)? {
        Some(there) if there == own => return Ok(()),
        Some(_) => return Err(other()),
        None => {}
    }
    let mut files: Vec<(String, u64, Digest)> = Vec::new();
    for (name, bytes) in here.list(part::PARTS)? {
        let digest = name.rsplit('/').next().and_then(Digest::parse);
        let digest =
            digest.ok_or_else(|| Error::new(format!("{folder:?} holds {name:?}, which is no part of a plan")))?;
        files.push((name, bytes, digest));
    }
    for rows in &file.rows {
        files.push((rows.path.clone(), here.size(&rows.path)?.unwrap_or(0), rows.sha256));
    }
    let progress = Arc::new(Progress::new("send", files.iter().map(|(_, bytes, _)| bytes).sum(), "bytes"));
    let told = to.clone().told(progress.clone());
    let listed: Vec<held::File<'_>> =
        files.iter().map(|(name, bytes, digest)| (name.as_str(), *digest, *bytes)).collect();
    held::each(&told, &listed, |(name, digest, bytes), is_held| match is_held {
        true => {
            progress.add(bytes);
            Ok(())
        }
        false => told.upload(name, &folder.join(name), digest),
    })?;
    match to.create(NAME, &own)? {
        Creation::Created => Ok(()),
        // Somebody else was faster: with the same plan, all is well.
        Creation::There if to.get(NAME)?.as_deref() == Some(&own) => Ok(()),
        Creation::There => Err(other()),
    }
}
