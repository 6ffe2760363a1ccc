//! Data files of a compact release for those who read whole files: each is put together when it is asked for, into a folder
//! beside the release, and removed when nobody needs it any more.

use super::materialize::{copy, write_file};
use super::read::Release;
use crate::error::{Error, Result};
use crate::manifest::Manifest;
use crate::pipeline::beside;
use crate::stage::stats::DataFile;
use crate::store::{Lock, make_dir};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A full release of which only some data files are there at a time.
pub(crate) struct Supply {
    /// Or why nothing can be put together.
    release: std::result::Result<Release, String>,
    files: BTreeMap<String, DataFile>,
    /// The folder, which is removed in the end.
    pub folder: PathBuf,
    /// By path: how many will still ask for it, and is it there?
    asked: BTreeMap<String, Mutex<(usize, bool)>>,
    _lock: Lock,
}

impl Supply {
    /// Makes the folder, with everything but data in it.
    pub fn new(compact: &Path, manifest: &Manifest) -> Result<Supply> {
        let whole = std::fs::canonicalize(compact).map_err(|e| Error::io("cannot open", compact, e))?;
        let folder = hidden(&whole);
        let lock = Lock::take_or(&beside(&folder, "lock"), || {
            Error::new(format!("another check of {} is running", compact.display())).help("wait for it to end")
        })?;
        if folder.exists() {
            // A check that was killed left it.
            std::fs::remove_dir_all(&folder).map_err(|e| Error::io("cannot remove", &folder, e))?;
        }
        make_dir(&folder)?;
        let files = manifest.files.iter().map(|file| (file.path.clone(), file.clone())).collect();
        let release = Release::open(compact, manifest.format).map_err(|e| e.to_string());
        let supply = Supply { release, files, folder, asked: BTreeMap::new(), _lock: lock };
        copy(compact, &supply.folder)?;
        Ok(supply)
    }

    /// Says which files will be asked for; a file that is named twice will be asked for twice.
    pub fn expect(&mut self, paths: impl Iterator<Item = String>) {
        for path in paths {
            self.asked.entry(path).or_default().get_mut().unwrap_or_else(PoisonError::into_inner).0 += 1;
        }
    }

    /// Has a file put together, if it is not there yet.
    pub fn take(&self, path: &str) -> Result<Held<'_>> {
        let held = Held { supply: self, path: path.to_owned() };
        if let Some(asked) = self.asked.get(path) {
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            if !asked.1 {
                let release = self.release.as_ref().map_err(|e| Error::new(e.clone()))?;
                let index = release.index.files.iter().find(|index| index.path == path);
                let (Some(index), Some(file)) = (index, self.files.get(path)) else {
                    return Err(Error::new(format!("{} does not have it", super::INDEX)));
                };
                write_file(release, index, file, &self.folder)?;
                asked.1 = true;
            }
        }
        Ok(held)
    }
}

fn hidden(folder: &Path) -> PathBuf {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    folder.with_file_name(format!(".{name}.verify"))
}

impl Drop for Supply {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_file(beside(&self.folder, "lock"));
    }
}

/// A file that is there until this is dropped.
pub(crate) struct Held<'s> {
    supply: &'s Supply,
    path: String,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let Some(asked) = self.supply.asked.get(&self.path) else { return };
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.0 = asked.0.saturating_sub(1);
        if asked.0 == 0 && asked.1 {
            let _ = std::fs::remove_file(self.supply.folder.join(&self.path));
            asked.1 = false;
        }
    }
}
