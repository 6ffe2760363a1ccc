//! A folder of this machine as a place.

use super::{Creation, PARTIAL, aside, differs};
use crate::error::{Error, Result};
use crate::hash::{Digest, HashingWriter};
use crate::store::{make_dir, sorted_dir, sync_dir};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn get(folder: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    let path = folder.join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("cannot read", &path, e)),
    }
}

pub(super) fn size(folder: &Path, name: &str) -> Result<Option<u64>> {
    let path = folder.join(name);
    match std::fs::metadata(&path) {
        Ok(about) => Ok(about.is_file().then(|| about.len())),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io("cannot look at", &path, e)),
    }
}

pub(super) fn holds(folder: &Path, name: &str, digest: Digest, bytes: u64) -> Result<bool> {
    Ok(size(folder, name)? == Some(bytes) && Digest::of_file(&folder.join(name))?.0 == digest)
}

/// Is it a file on its way?
fn is_aside(path: &Path) -> bool {
    path.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        name.starts_with('.') && name.ends_with(PARTIAL)
    })
}

fn walk(root: &Path, folder: &Path, each: &mut dyn FnMut(PathBuf) -> Result<()>) -> Result<()> {
    for path in sorted_dir(folder)? {
        match path.is_dir() && !path.is_symlink() {
            true => walk(root, &path, each)?,
            false => each(path)?,
        }
    }
    Ok(())
}

pub(super) fn list(folder: &Path, prefix: &str) -> Result<Vec<(String, u64)>> {
    let below = if prefix.is_empty() { folder.to_owned() } else { folder.join(prefix) };
    let mut all = Vec::new();
    if !below.is_dir() {
        return Ok(all);
    }
    walk(folder, &below, &mut |path| {
        if is_aside(&path) {
            return Ok(());
        }
        let bytes = std::fs::metadata(&path).map_err(|e| Error::io("cannot look at", &path, e))?.len();
        let name = path.strip_prefix(folder).unwrap_or(&path);
        let parts = name.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        all.push((parts.collect::<Vec<_>>().join("/"), bytes));
        Ok(())
    })?;
    Ok(all)
}

/// Copies to a file that nobody else writes, beside the place; gives it with digest and size.
fn copy(from: &Path, to: &Path, moved: &dyn Fn(u64)) -> Result<(PathBuf, Digest, u64)> {
    let folder = to.parent().unwrap_or(to);
    make_dir(folder)?;
    let partial = own(to);
    let mut source = File::open(from).map_err(|e| Error::io("cannot open", from, e))?;
    let mut write = || -> std::io::Result<(Digest, u64)> {
        let mut out = HashingWriter::new(File::create(&partial)?);
        let mut buffer = vec![0; 1 << 18];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    out.write_all(&buffer[..n])?;
                    moved(n as u64);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        let (file, digest, bytes) = out.finish();
        file.sync_all().map(|()| (digest, bytes))
    };
    match write() {
        Ok((digest, bytes)) => Ok((partial, digest, bytes)),
        Err(e) => {
            let _ = std::fs::remove_file(&partial);
            Err(Error::io("cannot copy to", to, e))
        }
    }
}

/// A path beside a file that no other thread or process writes at.
fn own(to: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    aside(&to.with_extension(format!("{}-{n}", std::process::id())))
}

fn rename(partial: &Path, to: &Path) -> Result<()> {
    std::fs::rename(partial, to).map_err(|e| {
        let _ = std::fs::remove_file(partial);
        Error::io("cannot rename to", to, e)
    })?;
    sync_dir(to.parent().unwrap_or(to))
}

pub(super) fn fetch(
    folder: &Path,
    name: &str,
    to: &Path,
    expected: Option<Digest>,
    moved: &dyn Fn(u64),
) -> Result<(Digest, u64)> {
    let from = folder.join(name);
    let (partial, digest, bytes) = copy(&from, to, moved)?;
    if let Some(expected) = expected.filter(|expected| *expected != digest) {
        let _ = std::fs::remove_file(&partial);
        return Err(differs(from.display(), digest, expected));
    }
    rename(&partial, to)?;
    Ok((digest, bytes))
}

pub(super) fn create(folder: &Path, name: &str, bytes: &[u8]) -> Result<Creation> {
    let to = folder.join(name);
    make_dir(to.parent().unwrap_or(folder))?;
    let partial = own(&to);
    let write = || -> std::io::Result<Creation> {
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // A link is refused where the name is taken: whole or not at all, and one alone wins.
        match std::fs::hard_link(&partial, &to) {
            Ok(()) => Ok(Creation::Created),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(Creation::There),
            Err(e) => Err(e),
        }
    };
    let done = write();
    let _ = std::fs::remove_file(&partial);
    let done = done.map_err(|e| Error::io("cannot create", &to, e))?;
    sync_dir(to.parent().unwrap_or(folder))?;
    Ok(done)
}

pub(super) fn upload(folder: &Path, name: &str, file: &Path, digest: Digest, moved: &dyn Fn(u64)) -> Result<()> {
    let to = folder.join(name);
    let (partial, found, _) = copy(file, &to, moved)?;
    if found != digest {
        let _ = std::fs::remove_file(&partial);
        return Err(differs(file.display(), found, digest));
    }
    rename(&partial, &to)
}

pub(super) fn remove(folder: &Path, name: &str) -> Result<()> {
    let path = folder.join(name);
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io("cannot remove", &path, e)),
        _ => {}
    }
    // Buckets have no folders, so an empty one goes with its last file.
    let mut above = path.parent();
    while let Some(empty) = above.filter(|path| path.starts_with(folder) && *path != folder) {
        if std::fs::remove_dir(empty).is_err() {
            break;
        }
        above = empty.parent();
    }
    Ok(())
}

pub(super) fn undo_uploads(folder: &Path) -> Result<usize> {
    let mut left = Vec::new();
    if folder.is_dir() {
        walk(folder, folder, &mut |path| {
            left.extend(is_aside(&path).then_some(path));
            Ok(())
        })?;
    }
    for path in &left {
        std::fs::remove_file(path).map_err(|e| Error::io("cannot remove", path, e))?;
    }
    Ok(left.len())
}

#[cfg(feature = "cloud")]
pub(super) fn open(folder: &Path, name: &str, from: u64) -> std::result::Result<super::Opened, super::OpenFault> {
    use super::{OpenFault, Opened};
    use std::io::Seek;
    let path = folder.join(name);
    let never = |e: std::io::Error| OpenFault::Never(Error::io("cannot read", &path, e));
    let mut file = File::open(&path).map_err(never)?;
    let total = file.metadata().map_err(never)?.len();
    if from > total {
        return Err(OpenFault::Changed);
    }
    file.seek(std::io::SeekFrom::Start(from)).map_err(never)?;
    Ok(Opened { body: Box::new(file), start: from, total, etag: None })
}
