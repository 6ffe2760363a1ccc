//! What sending and bringing a release would come to, without doing it.

use super::pull::{PULLING, files, sizes, there};
use super::push::Sender;
use super::sums::{self, Claim};
use super::{Place, held};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::pipeline::beside;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// What sending a release would come to.
#[derive(Clone, Debug, Serialize)]
pub struct ToPush {
    /// Name and version of the release.
    pub release: String,
    /// Where it would be.
    pub place: String,
    /// Its files, with SHA256SUMS.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// Files that would be sent.
    pub send: usize,
    /// Their size in bytes.
    pub send_bytes: u64,
    /// It is there, whole.
    pub is_there: bool,
}

/// Says what [`push`](super::push::push) would send, and refuses what it would refuse; changes nothing.
///
/// # Errors
///
/// Those of [`push`](super::push::push) that can be known beforehand.
pub fn to_push(folder: &Path, place: &Place) -> Result<ToPush> {
    let sender = Sender::new(folder, place)?;
    let mut ahead = ToPush {
        release: sender.own.release.clone(),
        place: place.to_string(),
        files: sender.files.len() + 1,
        bytes: sender.bytes(),
        send: 0,
        send_bytes: 0,
        is_there: false,
    };
    if let Some(there) = Claim::whole(place)? {
        sender.compare(&there)?;
        ahead.is_there = true;
        return Ok(ahead);
    }
    let claim = Claim::on(place)?;
    if let Some(claim) = claim.as_ref().filter(|claim| claim.sums != sender.own.sums) {
        return Err(sender.taken(claim));
    }
    sender.uninhabited(claim.is_none())?;
    let missing: Mutex<(usize, u64)> = Mutex::new((1, sender.sums.len() as u64));
    held::each(place, &sender.listed(), |(_, _, bytes), is_held| {
        if !is_held {
            let mut missing = missing.lock().unwrap_or_else(|e| e.into_inner());
            *missing = (missing.0 + 1, missing.1 + bytes);
        }
        Ok(())
    })?;
    (ahead.send, ahead.send_bytes) = missing.into_inner().unwrap_or_else(|e| e.into_inner());
    Ok(ahead)
}

/// What bringing a release would come to.
#[derive(Clone, Debug, Serialize)]
pub struct ToPull {
    /// Name and version of the release.
    pub release: String,
    /// Where it would be.
    pub folder: PathBuf,
    /// Its files, with SHA256SUMS.
    pub files: usize,
    /// Their size in bytes, as the place says it.
    pub bytes: u64,
    /// Files that would come.
    pub come: usize,
    /// It is there, whole.
    pub is_there: bool,
}

/// The folder that a release goes to if nothing is said: `build/NAME/`, and the last part of the place, which is the version where it
/// was sent to one of its own.
///
/// # Errors
///
/// The place holds no whole release, or one whose name can be no folder's.
pub fn usual_folder(place: &Place) -> Result<PathBuf> {
    let _ = files(place)?;
    let (name, version) = sums::named(place)?;
    let plain = |part: &str| !part.starts_with('.') && !part.contains(['/', '\\']) && crate::verify::is_inside(part);
    if !plain(&name) || !plain(&version) {
        return Err(Error::new(format!(
            "the release in {place} is named {name:?} {version:?}, which can be no folder's name"
        ))
        .help("say where it goes with --out DIR"));
    }
    let last = place.to_string();
    let last = last.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    // A part of a release, or a compact one, has more than its version in its folder's name.
    let own = last.strip_prefix(version.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', '.']));
    Ok(Path::new("build").join(name).join(if own && plain(last) { last } else { version.as_str() }))
}

/// Says what [`pull`](super::pull::pull) would bring, and refuses what it would refuse; changes nothing.
///
/// # Errors
///
/// Those of [`pull`](super::pull::pull) that can be known beforehand.
pub fn to_pull(place: &Place, folder: &Path) -> Result<ToPull> {
    let (text, files) = files(place)?;
    let (name, version) = sums::named(place)?;
    let mut ahead = ToPull {
        release: format!("{name} {version}"),
        folder: folder.to_owned(),
        files: files.len() + 1,
        bytes: text.len() as u64 + sizes(place, &files).values().sum::<u64>(),
        come: 0,
        is_there: there(folder, &text)?,
    };
    if !ahead.is_there {
        let partial = beside(folder, PULLING);
        let missing = |(name, digest): &(&String, &Digest)| {
            let path = partial.join(name);
            !path.is_file() || Digest::of_file(&path).is_ok_and(|(found, _)| found != **digest)
        };
        ahead.come = 1 + files.iter().filter(missing).count();
    }
    Ok(ahead)
}
