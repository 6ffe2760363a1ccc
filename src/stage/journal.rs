//! The journal of a build in progress: which data files are finished, so that an interrupted build goes on.

use super::write::DataFile;
use crate::digests::{Digests, FileDigests};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::store::{make_dir, sorted_dir};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The journal of a build in progress: its plan, then each finished file.
pub struct Journal {
    pub(super) folder: PathBuf,
    done: Mutex<BTreeMap<String, DataFile>>,
    digests: Mutex<Digests>,
    file: Mutex<File>,
}

impl Journal {
    /// Opens the journal of a folder. Files that an earlier build of the same plan finished are kept, after
    /// their bytes were checked; anything else is removed.
    pub fn open(folder: &Path, plan: &Digest) -> Result<Journal> {
        let path = folder.join("journal.jsonl");
        let head = format!("{{\"plan\":\"{plan}\"}}");
        let (mut done, mut digests) = (BTreeMap::new(), Digests::new());
        if let Ok(file) = File::open(&path) {
            let mut lines = BufReader::new(file).lines().map_while(std::result::Result::ok);
            if lines.next().as_ref() == Some(&head) {
                for line in lines {
                    let Ok(entry) = serde_json::from_str::<DataFile>(&line) else { continue };
                    match Digest::of_file(&folder.join(&entry.path)) {
                        Ok((digest, _)) if digest == entry.sha256 => {
                            digests.insert(entry.path.clone(), FileDigests::read(&folder.join(&entry.path))?);
                            done.insert(entry.path.clone(), entry);
                        }
                        _ => eprintln!("warning: {} is not as it was written, building it anew", entry.path),
                    }
                }
            }
        }
        make_dir(folder)?;
        sweep(folder, folder, &done)?;
        let mut file = File::create(&path).map_err(|e| Error::io("cannot write", &path, e))?;
        let mut text = head + "\n";
        for entry in done.values() {
            text += &(serde_json::to_string(entry).expect("plain data") + "\n");
        }
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(|e| Error::io("cannot write", &path, e))?;
        Ok(Journal {
            folder: folder.to_owned(),
            done: Mutex::new(done),
            digests: Mutex::new(digests),
            file: Mutex::new(file),
        })
    }

    /// The finished files, by path.
    pub fn done(&self) -> BTreeMap<String, DataFile> {
        self.done.lock().expect("no thread panics").clone()
    }

    /// Digests of the rows and columns of the finished files.
    pub fn digests(&self) -> Digests {
        self.digests.lock().expect("no thread panics").clone()
    }

    /// Enters a file that is in its place and synced.
    pub(super) fn enter(&self, entry: DataFile, digests: FileDigests) -> Result<()> {
        let line = serde_json::to_string(&entry).expect("plain data") + "\n";
        let mut file = self.file.lock().expect("no thread panics");
        file.write_all(line.as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(|e| Error::io("cannot write", &self.folder.join("journal.jsonl"), e))?;
        self.digests.lock().expect("no thread panics").insert(entry.path.clone(), digests);
        self.done.lock().expect("no thread panics").insert(entry.path.clone(), entry);
        Ok(())
    }
}

/// Removes everything below a folder but finished data files: halves of files, and what an interrupted
/// publication left.
fn sweep(root: &Path, folder: &Path, done: &BTreeMap<String, DataFile>) -> Result<()> {
    for path in sorted_dir(folder)? {
        let fault = |e| Error::io("cannot remove", &path, e);
        let name = path.strip_prefix(root).expect("below the root").to_string_lossy();
        if done.contains_key(name.as_ref()) {
            continue;
        }
        if !path.is_dir() || path.is_symlink() {
            std::fs::remove_file(&path).map_err(fault)?;
        } else if done.keys().any(|kept| kept.starts_with(&format!("{name}/"))) {
            sweep(root, &path, done)?;
        } else {
            std::fs::remove_dir_all(&path).map_err(fault)?;
        }
    }
    Ok(())
}
