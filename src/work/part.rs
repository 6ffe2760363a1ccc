//! Parts of a plan, by their digest: written once, fetched once, checked whenever they are read.

use super::folder::RowsFile;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::remote::Place;
use crate::store::{make_dir, write_aside};
use std::path::{Path, PathBuf};

/// Folder of parts inside a plan folder.
pub const PARTS: &str = "parts";

/// Name of a part inside a plan folder.
pub fn name(digest: &Digest) -> String {
    format!("{PARTS}/{digest}")
}

/// Writes the parts of a plan.
pub struct PartWriter {
    folder: PathBuf,
    /// Bytes of all parts.
    pub bytes: u64,
}

impl PartWriter {
    /// Into a plan folder.
    pub fn new(plan: &Path) -> Result<PartWriter> {
        let folder = plan.join(PARTS);
        make_dir(&folder)?;
        Ok(PartWriter { folder, bytes: 0 })
    }

    /// Writes a part, unless it is there.
    pub fn put(&mut self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        let path = self.folder.join(digest.to_string());
        if !path.is_file() {
            write_aside(&path, |out| out.write_all(bytes))?;
            self.bytes += bytes.len() as u64;
        }
        Ok(digest)
    }

    /// The same of a file.
    pub fn put_file(&mut self, from: &Path) -> Result<Digest> {
        let bytes = std::fs::read(from).map_err(|e| Error::io("cannot read", from, e))?;
        self.put(&bytes)
    }
}

/// Reads the parts of a plan, in a folder or from further off.
pub struct PartReader {
    place: Place,
    cache: PathBuf,
}

impl PartReader {
    /// Of a plan. What lies behind a network is kept in the folder `cache`, which many workers may share.
    pub fn new(place: &Place, cache: &Path) -> PartReader {
        PartReader { place: place.clone(), cache: cache.to_owned() }
    }

    /// The bytes of a part.
    pub fn get(&self, digest: &Digest) -> Result<Vec<u8>> {
        self.whole(&name(digest), digest).map(|(_, bytes)| bytes)
    }

    /// A part's file, checked.
    pub fn file(&self, digest: &Digest) -> Result<PathBuf> {
        self.whole(&name(digest), digest).map(|(path, _)| path)
    }

    /// A file of rows, checked.
    pub fn rows(&self, file: &RowsFile) -> Result<PathBuf> {
        self.whole(&file.path, &file.sha256).map(|(path, _)| path)
    }

    fn whole(&self, name: &str, digest: &Digest) -> Result<(PathBuf, Vec<u8>)> {
        let here = self.place.is_local();
        let path = here.map_or_else(|| self.cache.join(digest.to_string()), |folder| folder.join(name));
        let read = |path: &Path| std::fs::read(path).map_err(|e| Error::io("cannot read", path, e));
        if here.is_none() && !path.is_file() {
            self.place.fetch(name, &path, Some(*digest))?;
        }
        let bytes = read(&path)?;
        if Digest::of(&bytes) == *digest {
            return Ok((path, bytes));
        }
        if here.is_some() {
            return Err(Error::new(format!("{} is not what the plan says: it was damaged", path.display()))
                .help("remove the plan, and make or fetch it again"));
        }
        // What was kept was damaged since.
        self.place.fetch(name, &path, Some(*digest))?;
        read(&path).map(|bytes| (path, bytes))
    }
}

/// A size for people.
pub fn kilobytes(bytes: u64) -> String {
    match bytes {
        0..10_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}
