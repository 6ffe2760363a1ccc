//! The journal of a build in progress: which data files are finished, so that an interrupted build goes on.

use super::stats::DataFile;
use crate::compact::PartFile;
use crate::digests::{Digests, FileDigests};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::store::{make_dir, sorted_dir, write_aside};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// Folder of what the journal keeps beside its lines.
pub(crate) const ASIDE: &str = "journal";

/// The journal of a build in progress: its plan, then each finished file.
pub struct Journal {
    pub(crate) folder: PathBuf,
    done: Mutex<BTreeMap<String, Entry>>,
    digests: Mutex<Digests>,
    file: Mutex<File>,
}

/// A finished data file; of a compact build, its rows in place of it.
#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    file: DataFile,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<PartFile>,
    /// Are there digests of its rows and columns?
    #[serde(default)]
    has_digests: bool,
}

impl Entry {
    /// Where its digests lie until the release is published.
    fn aside_path(&self) -> String {
        format!("{ASIDE}/{}.bin", Digest::of(&self.file.path))
    }

    /// Its digests, if it has any and they are those of its rows.
    fn aside(&self, folder: &Path) -> Option<Result<FileDigests>> {
        let fault = || Error::new(format!("{} is not as it was written", self.aside_path()));
        let read = || -> Result<FileDigests> {
            let path = folder.join(self.aside_path());
            let bytes = std::fs::read(&path).map_err(|e| Error::io("cannot read", &path, e))?;
            let digests: FileDigests = postcard::from_bytes(&bytes).map_err(|_| fault())?;
            if digests.rows_digest() == self.file.rows_digest { Ok(digests) } else { Err(fault()) }
        };
        self.has_digests.then(read)
    }

    /// What lies in the folder, and its digest.
    fn there(&self) -> (&str, Digest) {
        self.rows.as_ref().map_or((&self.file.path, self.file.sha256), |rows| (&rows.path, rows.sha256))
    }
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
                    let Ok(entry) = serde_json::from_str::<Entry>(&line) else { continue };
                    let (path, sha256) = entry.there();
                    match Digest::of_file(&folder.join(path)) {
                        Ok((digest, _)) if digest == sha256 => {
                            match entry.aside(folder) {
                                Some(Ok(read)) => drop(digests.insert(entry.file.path.clone(), read)),
                                Some(Err(_)) => continue,
                                None => {}
                            }
                            done.insert(entry.file.path.clone(), entry);
                        }
                        _ => eprintln!("warning: {path} is not as it was written, building it anew"),
                    }
                }
            }
        }
        make_dir(folder)?;
        let asides: Vec<String> = done.values().filter(|entry| entry.has_digests).map(Entry::aside_path).collect();
        let kept: Vec<&str> =
            done.values().map(|entry| entry.there().0).chain(asides.iter().map(String::as_str)).collect();
        sweep(folder, folder, &kept)?;
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

    /// Takes the journal away: the folder is to be a release.
    pub(crate) fn remove(&self) -> Result<()> {
        let (lines, asides) = (self.folder.join("journal.jsonl"), self.folder.join(ASIDE));
        std::fs::remove_file(&lines).map_err(|e| Error::io("cannot remove", &lines, e))?;
        match std::fs::remove_dir_all(&asides) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("cannot remove", &asides, e)),
            _ => Ok(()),
        }
    }

    /// The finished files, by path.
    pub fn done(&self) -> BTreeMap<String, DataFile> {
        let done = self.done.lock().expect("no thread panics");
        done.iter().map(|(path, entry)| (path.clone(), entry.file.clone())).collect()
    }

    /// The finished rows of a compact build.
    pub(crate) fn rows(&self) -> Vec<PartFile> {
        self.done.lock().expect("no thread panics").values().filter_map(|entry| entry.rows.clone()).collect()
    }

    /// Digests of the rows and columns of the finished files.
    pub fn digests(&self) -> MutexGuard<'_, Digests> {
        self.digests.lock().expect("no thread panics")
    }

    /// Enters a file that is in its place and synced; `rows` of a compact build, `digests` of any.
    pub(crate) fn enter(&self, file: DataFile, rows: Option<PartFile>, digests: Option<FileDigests>) -> Result<()> {
        let entry = Entry { file, rows, has_digests: digests.is_some() };
        if let Some(digests) = &digests {
            let bytes = postcard::to_stdvec(digests).map_err(|e| Error::new(format!("cannot encode digests: {e}")))?;
            write_aside(&self.folder.join(entry.aside_path()), |out| out.write_all(&bytes))?;
        }
        let line = serde_json::to_string(&entry).expect("plain data") + "\n";
        let mut file = self.file.lock().expect("no thread panics");
        file.write_all(line.as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(|e| Error::io("cannot write", &self.folder.join("journal.jsonl"), e))?;
        if let Some(digests) = digests {
            self.digests.lock().expect("no thread panics").insert(entry.file.path.clone(), digests);
        }
        self.done.lock().expect("no thread panics").insert(entry.file.path.clone(), entry);
        Ok(())
    }
}

/// Removes everything below a folder but finished data files: halves of files, and what an interrupted
/// publication left.
fn sweep(root: &Path, folder: &Path, kept: &[&str]) -> Result<()> {
    for path in sorted_dir(folder)? {
        let fault = |e| Error::io("cannot remove", &path, e);
        let name = path.strip_prefix(root).expect("below the root").to_string_lossy();
        if kept.contains(&name.as_ref()) {
            continue;
        }
        if !path.is_dir() || path.is_symlink() {
            std::fs::remove_file(&path).map_err(fault)?;
        } else if kept.iter().any(|path| path.starts_with(&format!("{name}/"))) {
            sweep(root, &path, kept)?;
        } else {
            std::fs::remove_dir_all(&path).map_err(fault)?;
        }
    }
    Ok(())
}
