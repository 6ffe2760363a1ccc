//! A release from a place: only a whole one, each file checked, written aside and renamed.

use super::Place;
use super::push::FILES_AT_ONCE;
use super::sums::{self, Claim, SUMS};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::parallel;
use crate::pipeline::{beside, lock_file};
use crate::report::Progress;
use crate::store::{Lock, make_dir, sync_dir, write_aside};
use crate::verify::{check_sums, list, read_manifest};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Pulled {
    /// Name and version of the release.
    pub release: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Its files, with SHA256SUMS.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// Files that came now.
    pub came: usize,
    /// It was there before, whole.
    pub was_there: bool,
}

/// What SHA256SUMS says, and its files.
pub(super) fn files(place: &Place) -> Result<(Vec<u8>, BTreeMap<String, Digest>)> {
    let text = place.get(SUMS)?.ok_or_else(|| absent(place))?;
    let files = sums::read(&text, &format!("{place}/{SUMS}"))?;
    Ok((text, files))
}

/// The ending of a folder that a release is on its way to.
pub(super) const PULLING: &str = "pull";

/// Brings a release, full or compact, to a folder.
///
/// # Errors
///
/// The place holds no whole release; a file is not what SHA256SUMS says; the folder is there and is another. What came stays for the next run,
/// beside the folder.
pub fn pull(place: &Place, folder: &Path) -> Result<Pulled> {
    if let Some(from) = place.is_local() {
        crate::store::keep_apart(folder, from, &[])?;
    }
    let (text, files) = files(place)?;
    if folder.file_name().is_none() {
        fail!("{} has no name of its own", folder.display());
    }
    let above = folder.parent().unwrap_or(Path::new("."));
    make_dir(above)?;
    let partial = beside(folder, PULLING);
    let _lock = Lock::take(&lock_file(folder))?;
    match there(folder, &text)? {
        true => Pulled::of(folder, &files, 0, true),
        false => {
            let came = bring(place, &files, &partial)?;
            write_aside(&partial.join(SUMS), |out| out.write_all(&text))?;
            std::fs::rename(&partial, folder).map_err(|e| Error::io("cannot rename to", folder, e))?;
            sync_dir(above)?;
            Pulled::of(folder, &files, came + 1, false)
        }
    }
}

impl Pulled {
    fn of(folder: &Path, files: &BTreeMap<String, Digest>, came: usize, was_there: bool) -> Result<Pulled> {
        let manifest = read_manifest(folder)?;
        let size = |name: &str| {
            let path = folder.join(name);
            std::fs::metadata(&path).map(|about| about.len()).map_err(|e| Error::io("cannot look at", &path, e))
        };
        let mut bytes = size(SUMS)?;
        for name in files.keys() {
            bytes += size(name)?;
        }
        let release = format!("{} {}", manifest.name, manifest.version);
        Ok(Pulled { release, folder: folder.to_owned(), files: files.len() + 1, bytes, came, was_there })
    }
}

/// Is the release in its folder already? An error if something else is.
pub(super) fn there(folder: &Path, sums: &[u8]) -> Result<bool> {
    if !folder.exists() {
        return Ok(false);
    }
    let same = std::fs::read(folder.join(SUMS)).is_ok_and(|there| there == sums);
    match same && check_sums(folder).is_empty() {
        true => Ok(true),
        false => Err(Error::new(format!("{} is there, and it is not this release", folder.display()))
            .help("remove it, or name another folder")),
    }
}

/// Why there is nothing to bring.
fn absent(place: &Place) -> Error {
    match Claim::on(place) {
        Ok(Some(claim)) => {
            Error::new(format!("{place} holds no whole release: {claim} is on its way there, or was broken off"))
                .help("wait for its upload to end, or run that upload again to finish it")
        }
        _ => Error::new(format!("{place} holds no release: it has no {SUMS}")).help("see whether the address is right"),
    }
}

/// Brings the pins of a release to a folder, as `pins/` there.
///
/// # Errors
///
/// The place holds no whole release; a file is not what SHA256SUMS says.
pub fn pins(place: &Place, folder: &Path) -> Result<()> {
    for (name, digest) in files(place)?.1.iter().filter(|(name, _)| name.starts_with("pins/")) {
        bring_one(place, name, *digest, folder)?;
    }
    Ok(())
}

/// Brings a file that is not there, and says whether it came.
fn bring_one(place: &Place, name: &str, digest: Digest, folder: &Path) -> Result<bool> {
    let to = folder.join(name);
    let there = to.is_file() && Digest::of_file(&to)?.0 == digest;
    if !there {
        place.fetch(name, &to, Some(digest))?;
    }
    Ok(!there)
}

/// Brings every file that is not there; says how many came.
fn bring(place: &Place, files: &BTreeMap<String, Digest>, partial: &Path) -> Result<usize> {
    make_dir(partial)?;
    // Of another release that was broken off here.
    let mut left = Vec::new();
    list(partial, "", &mut left);
    for name in left.iter().filter(|name| !files.contains_key(*name) && !is_part_of(name, files)) {
        let path = partial.join(name);
        std::fs::remove_file(&path).map_err(|e| Error::io("cannot remove", &path, e))?;
    }
    let sizes = sizes(place, files);
    let progress = Arc::new(Progress::new("pull", sizes.values().sum(), "bytes"));
    let place = place.clone().told(progress.clone());
    let names: Vec<(&String, &Digest)> = files.iter().collect();
    let came = AtomicUsize::new(0);
    parallel::each(
        FILES_AT_ONCE,
        names.len(),
        || (),
        |n, ()| {
            let (name, digest) = names[n];
            match bring_one(&place, name, *digest, partial)? {
                true => drop(came.fetch_add(1, Ordering::Relaxed)),
                false => progress.add(sizes.get(name).copied().unwrap_or(0)),
            }
            Ok(())
        },
    )?;
    // Folders and beginnings that nothing of this release needs.
    let mut all = Vec::new();
    list(partial, "", &mut all);
    for name in all.iter().filter(|name| !files.contains_key(*name)) {
        let path = partial.join(name);
        std::fs::remove_file(&path).map_err(|e| Error::io("cannot remove", &path, e))?;
    }
    if let Some(progress) = Arc::into_inner(progress) {
        progress.finish();
    }
    Ok(came.into_inner())
}

/// Is it the beginning of one of the files?
fn is_part_of(name: &str, files: &BTreeMap<String, Digest>) -> bool {
    files.keys().any(|file| super::aside(Path::new(file)) == Path::new(name))
}

/// Sizes in bytes, as far as the place says them; for the eye alone.
pub(super) fn sizes(place: &Place, files: &BTreeMap<String, Digest>) -> BTreeMap<String, u64> {
    if let Ok(all) = place.list("") {
        return all.into_iter().filter(|(name, _)| files.contains_key(name)).collect();
    }
    let sizes = Mutex::new(BTreeMap::new());
    let names: Vec<&String> = files.keys().collect();
    // Some servers answer no such question.
    let _ = parallel::each(
        FILES_AT_ONCE,
        names.len(),
        || (),
        |n, ()| {
            if let Some(bytes) = place.size(names[n])? {
                sizes.lock().unwrap_or_else(|e| e.into_inner()).insert(names[n].clone(), bytes);
            }
            Ok(())
        },
    );
    sizes.into_inner().unwrap_or_else(|e| e.into_inner())
}
