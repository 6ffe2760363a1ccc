//! Parts of a plan, by their digest: written once, fetched once, checked whenever they are read.

use super::folder::RowsFile;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::remote::Place;
use crate::store::{make_dir, write_aside};
use std::fs::File;
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
}

impl PartWriter {
    /// Into a plan folder.
    pub fn new(plan: &Path) -> Result<PartWriter> {
        let folder = plan.join(PARTS);
        make_dir(&folder)?;
        Ok(PartWriter { folder })
    }

    /// Writes a part, unless it is there.
    pub fn put(&mut self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        let path = self.folder.join(digest.to_string());
        if !path.is_file() {
            write_aside(&path, |out| out.write_all(bytes))?;
        }
        Ok(digest)
    }

    /// The same of a file, which is not held in memory.
    pub fn put_file(&mut self, from: &Path) -> Result<Digest> {
        let (digest, _) = Digest::of_file(from)?;
        let path = self.folder.join(digest.to_string());
        if !path.is_file() {
            let mut file = File::open(from).map_err(|e| Error::io("cannot open", from, e))?;
            write_aside(&path, |out| std::io::copy(&mut file, out).map(drop))?;
        }
        Ok(digest)
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
        let read = |path: &Path| {
            let bytes = std::fs::read(path).map_err(|e| Error::io("cannot read", path, e))?;
            Ok((Digest::of(&bytes), bytes))
        };
        self.whole(&name(digest), digest, &read).map(|(_, bytes)| bytes)
    }

    /// A part's file, checked.
    pub fn file(&self, digest: &Digest) -> Result<PathBuf> {
        self.whole(&name(digest), digest, &Digest::of_file).map(|(path, _)| path)
    }

    /// A file of rows, checked.
    pub fn rows(&self, file: &RowsFile) -> Result<PathBuf> {
        self.whole(&file.path, &file.sha256, &Digest::of_file).map(|(path, _)| path)
    }

    /// A file that `read` finds to have this digest, fetched where it lies elsewhere.
    fn whole<T>(
        &self,
        name: &str,
        digest: &Digest,
        read: &dyn Fn(&Path) -> Result<(Digest, T)>,
    ) -> Result<(PathBuf, T)> {
        let here = self.place.is_local();
        let path = here.map_or_else(|| self.cache.join(digest.to_string()), |folder| folder.join(name));
        if here.is_none() && !path.is_file() {
            self.place.fetch(name, &path, Some(*digest))?;
        }
        let (mut found, mut held) = read(&path)?;
        if here.is_none() && found != *digest {
            // What was kept was damaged since.
            self.place.fetch(name, &path, Some(*digest))?;
            (found, held) = read(&path)?;
        }
        match found == *digest {
            true => Ok((path, held)),
            false => Err(Error::new(format!("{} is not what the plan says: it was damaged", path.display()))
                .help("remove the plan, and make or fetch it again")),
        }
    }
}
