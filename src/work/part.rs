//! Parts of a plan, by their digest: written once, fetched once, checked whenever they are read.

use crate::error::{Error, Result};
use crate::hash::Digest;
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

/// Reads the parts of a plan.
pub struct PartReader {
    plan: PathBuf,
}

impl PartReader {
    /// Of a plan folder.
    pub fn new(plan: &Path) -> PartReader {
        PartReader { plan: plan.to_owned() }
    }

    /// Where a part's file is. Its bytes are not checked yet.
    pub fn path(&self, digest: &Digest) -> Result<PathBuf> {
        Ok(self.plan.join(name(digest)))
    }

    /// The bytes of a part.
    pub fn get(&self, digest: &Digest) -> Result<Vec<u8>> {
        let path = self.path(digest)?;
        let bytes = std::fs::read(&path).map_err(|e| Error::io("cannot read", &path, e))?;
        if Digest::of(&bytes) != *digest {
            return Err(Error::new(format!("{} is not what its name says: it was damaged", path.display()))
                .help("remove it, and make or fetch the plan again"));
        }
        Ok(bytes)
    }

    /// A part's file, checked.
    pub fn file(&self, digest: &Digest) -> Result<PathBuf> {
        self.get(digest)?;
        self.path(digest)
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
