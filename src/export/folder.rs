//! The folder of an export: written aside, sealed with SHA256SUMS, renamed whole; what is not an export is never replaced.

use crate::error::{Error, Result};
use crate::fail;
use crate::hash::{Digest, HashingReader};
use crate::pipeline::{beside, lock_file};
use crate::store::{Lock, make_dir, sorted_dir, sync_dir, write_aside};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// How an export is known.
pub(super) const MADE_BY: &str = "nihbuild export";

/// What an evaluator leaves in a folder that it reads.
const LEFT: &str = "__pycache__";

const SUMS: &str = "SHA256SUMS";

/// An export that is being written. What was written is gone if it is not finished.
pub(super) struct Folder {
    out: PathBuf,
    /// Where it is written.
    pub partial: PathBuf,
    /// Digest and size of each file.
    entered: RefCell<BTreeMap<String, (Digest, u64)>>,
    _lock: Lock,
}

impl Folder {
    /// Begins an export at a place that is free, or that holds an export.
    pub fn begin(out: &Path, release: &Path) -> Result<Folder> {
        if out.file_name().is_none() {
            fail!("{} has no name of its own", out.display());
        }
        let above = above(out);
        make_dir(above)?;
        let place = std::fs::canonicalize(above).map_err(|e| Error::io("cannot open", above, e))?;
        let release = std::fs::canonicalize(release).map_err(|e| Error::io("cannot open", release, e))?;
        if place.starts_with(&release) || release.starts_with(place.join(out.file_name().expect("it has a name"))) {
            return Err(Error::new(format!("{} and the release lie inside each other", out.display()))
                .help("say with --out where else the export goes"));
        }
        let lock = Lock::take_or(&lock_file(out), || {
            Error::new(format!("another export to {} is running", out.display())).help("wait for it to end")
        })?;
        is_ours(out)?;
        let partial = beside(out, "partial");
        if partial.exists() {
            is_ours_in_part(&partial)?;
            remove(&partial)?;
        }
        make_dir(&partial)?;
        // Says of a folder that was left half written what it is.
        write_aside(&partial.join("export.json"), |file| file.write_all(format!("{MADE_BY}\n").as_bytes()))?;
        Ok(Folder { out: out.to_owned(), partial, entered: RefCell::default(), _lock: lock })
    }

    /// Makes the folder of a file, which is then written there.
    pub fn make(&self, name: &str) -> Result<PathBuf> {
        let path = self.partial.join(name);
        make_dir(path.parent().expect("it is inside the folder"))?;
        Ok(path)
    }

    /// Notes a file that was written.
    pub fn enter(&self, name: &str, digest: Digest, bytes: u64) {
        self.entered.borrow_mut().insert(name.to_owned(), (digest, bytes));
    }

    /// Writes a text.
    pub fn text(&self, name: &str, text: &str) -> Result<()> {
        write_aside(&self.make(name)?, |file| file.write_all(text.as_bytes()))?;
        self.enter(name, Digest::of(text), text.len() as u64);
        Ok(())
    }

    /// Writes a value, in one line a key.
    pub fn json(&self, name: &str, value: &serde_json::Value) -> Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(|e| Error::new(e.to_string()))?;
        self.text(name, &(text + "\n"))
    }

    /// Copies a file; its digest and size.
    pub fn copy(&self, from: &Path, name: &str) -> Result<(Digest, u64)> {
        let path = self.make(name)?;
        let opened = File::open(from).map_err(|e| Error::io("cannot open", from, e))?;
        let mut reader = HashingReader::new(opened);
        write_aside(&path, |file| std::io::copy(&mut reader, file).map(drop))?;
        Ok(reader.finish())
    }

    /// Links to a file by its whole path; its digest and size.
    pub fn link(&self, from: &Path, name: &str) -> Result<(Digest, u64)> {
        let path = self.make(name)?;
        let whole = std::fs::canonicalize(from).map_err(|e| Error::io("cannot open", from, e))?;
        std::os::unix::fs::symlink(&whole, &path).map_err(|e| Error::io("cannot link", &path, e))?;
        Digest::of_file(&whole)
    }

    /// Seals the export and puts it in its place. Was the very same there? And bytes of all files.
    pub fn finish(self) -> Result<(bool, u64)> {
        let entered = self.entered.take();
        let bytes = entered.values().map(|(_, bytes)| bytes).sum();
        let sums: String = entered.iter().map(|(name, (digest, _))| format!("{digest}  {name}\n")).collect();
        write_aside(&self.partial.join(SUMS), |file| file.write_all(sums.as_bytes()))?;
        if self.out.exists() {
            is_ours(&self.out)?;
            if is_same(&self.out, &self.partial, &sums, &entered) {
                return Ok((true, bytes));
            }
            let old = beside(&self.out, "old");
            std::fs::rename(&self.out, &old).map_err(|e| Error::io("cannot move", &self.out, e))?;
            self.publish()?;
            remove(&old)?;
            return Ok((false, bytes));
        }
        self.publish()?;
        Ok((false, bytes))
    }

    fn publish(&self) -> Result<()> {
        sync_dir(&self.partial)?;
        std::fs::rename(&self.partial, &self.out).map_err(|e| Error::io("cannot rename to", &self.out, e))?;
        sync_dir(above(&self.out))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.partial);
        let _ = std::fs::remove_file(lock_file(&self.out));
    }
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn remove(folder: &Path) -> Result<()> {
    std::fs::remove_dir_all(folder).map_err(|e| Error::io("cannot remove", folder, e))
}

/// Is each file what its sum says, and is each link the same?
fn is_same(there: &Path, here: &Path, sums: &str, entered: &BTreeMap<String, (Digest, u64)>) -> bool {
    let same = |(name, (digest, _)): (&String, &(Digest, u64))| {
        std::fs::read_link(there.join(name)).ok() == std::fs::read_link(here.join(name)).ok()
            && Digest::of_file(&there.join(name)).is_ok_and(|(found, _)| found == *digest)
    };
    std::fs::read_to_string(there.join(SUMS)).is_ok_and(|found| found == sums) && entered.iter().all(same)
}

/// A folder that may be replaced: an empty one, or an export with nothing of others in it.
fn is_ours(out: &Path) -> Result<()> {
    if !out.exists() {
        return Ok(());
    }
    let foreign = |what: String| {
        Error::new(format!("{} is there, and {what}", out.display()))
            .help("remove it, or say with --out where else the export goes")
    };
    if !out.is_dir() || out.is_symlink() {
        return Err(foreign("it is no folder".to_owned()));
    }
    let mut names = Vec::new();
    listed(out, "", &mut names)?;
    if names.is_empty() {
        return Ok(());
    }
    let export = std::fs::read_to_string(out.join("export.json")).unwrap_or_default();
    let made_by = serde_json::from_str::<serde_json::Value>(&export).ok().map(|told| told["made_by"] == MADE_BY);
    if made_by != Some(true) {
        return Err(foreign("it is no export".to_owned()));
    }
    let sums = std::fs::read_to_string(out.join(SUMS)).unwrap_or_default();
    let known: Vec<&str> = sums.lines().filter_map(|line| line.split_once("  ")).map(|(_, name)| name).collect();
    match names.iter().find(|name| *name != SUMS && !known.contains(&name.as_str())) {
        Some(name) => Err(foreign(format!("it holds {name}, which no export wrote"))),
        None => Ok(()),
    }
}

/// What a killed export left.
fn is_ours_in_part(partial: &Path) -> Result<()> {
    let export = std::fs::read_to_string(partial.join("export.json")).unwrap_or_default();
    if export.contains(MADE_BY) {
        return Ok(());
    }
    Err(Error::new(format!("{} is there, and it is no export that was left half written", partial.display()))
        .help("remove it, or say with --out where else the export goes"))
}

fn listed(folder: &Path, prefix: &str, names: &mut Vec<String>) -> Result<()> {
    for path in sorted_dir(folder)? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match path.is_dir() && !path.is_symlink() {
            true if name == LEFT => {}
            true => listed(&path, &format!("{prefix}{name}/"), names)?,
            false => names.push(format!("{prefix}{name}")),
        }
    }
    Ok(())
}
