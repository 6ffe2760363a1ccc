//! The store of stage outputs: content-addressed, and alone in deciding whether a stage runs.
//!
//! An entry is a file named by the digest of its [`Key`]: the SHA-256 of the payload, then the
//! payload. An entry that does not match its digest is reported, removed and made anew.

use crate::error::{Error, Result};
use crate::hash::Digest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// What an output depends on.
#[derive(Clone, Debug, Serialize)]
pub struct Key {
    /// The stage.
    pub stage: &'static str,
    /// Raised when the stage's code makes other output of the same input.
    pub version: u32,
    /// The stage's parameters, as JSON.
    pub params: serde_json::Value,
    /// Digests of the stage's inputs.
    pub inputs: Vec<Digest>,
}

impl Key {
    /// The entry's name.
    pub fn digest(&self) -> Digest {
        Digest::of(serde_json::to_vec(self).expect("a key is plain data"))
    }
}

/// A folder of entries.
pub struct Store {
    folder: PathBuf,
    /// Digests of what was read or made, by key.
    seen: Mutex<BTreeMap<Digest, Digest>>,
}

impl Store {
    /// The store in a folder, which is made when the first entry is written.
    pub fn new(folder: PathBuf) -> Self {
        Store { folder, seen: Mutex::default() }
    }

    /// Path of an entry.
    pub fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(key.stage).join(format!("{}.bin", key.digest()))
    }

    fn saw(&self, key: &Key, output: Digest) {
        self.seen.lock().expect("no thread panics").insert(key.digest(), output);
    }

    /// Digests of the outputs that this process read or made, by the names of their stages. Not those of stages that
    /// run only where another one does.
    pub fn outputs<'a>(&self, stages: impl IntoIterator<Item = &'a (String, Key)>) -> BTreeMap<String, Digest> {
        let seen = self.seen.lock().expect("no thread panics");
        let output = |(name, key): &(String, Key)| Some((name.clone(), *seen.get(&key.digest())?));
        stages.into_iter().filter(|(_, key)| key.stage != "embed").filter_map(output).collect()
    }

    /// Digest of the output with a key of this digest, where this process read or made it.
    pub fn output(&self, key: &Digest) -> Option<Digest> {
        self.seen.lock().expect("no thread panics").get(key).copied()
    }

    /// Is there an entry? (Whether it is sound shows when it is read.)
    pub fn has(&self, key: &Key) -> bool {
        self.path(key).is_file()
    }

    /// The stage's output, from the store or made now.
    pub fn get_or<T: Serialize + DeserializeOwned>(&self, key: &Key, make: impl FnOnce() -> Result<T>) -> Result<T> {
        if let Some(payload) = self.read(key)? {
            match postcard::from_bytes(&payload) {
                Ok(value) => return Ok(value),
                Err(e) => {
                    eprintln!("warning: store entry {} cannot be read ({e}), making it anew", self.path(key).display())
                }
            }
        }
        let value = make()?;
        let payload =
            postcard::to_stdvec(&value).map_err(|e| Error::new(format!("cannot encode a stage's output: {e}")))?;
        self.write(key, &payload)?;
        Ok(value)
    }

    fn read(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let path = self.path(key);
        let mut bytes = Vec::new();
        match File::open(&path) {
            Ok(mut file) => file.read_to_end(&mut bytes).map_err(|e| Error::io("cannot read", &path, e))?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io("cannot open", &path, e)),
        };
        let digest = Digest::of(bytes.get(32..).unwrap_or_default());
        if bytes.len() >= 32 && digest.0 == bytes[..32] {
            bytes.drain(..32);
            self.saw(key, digest);
            return Ok(Some(bytes));
        }
        eprintln!("warning: store entry {} is corrupted, making it anew", path.display());
        std::fs::remove_file(&path).map_err(|e| Error::io("cannot remove", &path, e))?;
        Ok(None)
    }

    fn write(&self, key: &Key, payload: &[u8]) -> Result<()> {
        let digest = Digest::of(payload);
        self.saw(key, digest);
        write_aside(&self.path(key), |out| {
            out.write_all(&digest.0)?;
            out.write_all(payload)
        })
    }
}

/// Lists of numbers kept in a store entry and read one at a time, so that memory does not grow with
/// their number.
pub struct Lists {
    kept: Kept,
    digest: Digest,
}

enum Kept {
    /// In a file: where each list begins in it, in bytes, and where the last one ends.
    File { file: File, path: PathBuf, starts: Vec<u64> },
    /// In memory.
    Memory(Vec<Vec<u32>>),
}

impl Lists {
    /// Number of lists.
    pub fn len(&self) -> usize {
        match &self.kept {
            Kept::File { starts, .. } => starts.len() - 1,
            Kept::Memory(lists) => lists.len(),
        }
    }

    /// A few lists, held in memory.
    pub fn held(lists: Vec<Vec<u32>>) -> Lists {
        Lists { kept: Kept::Memory(lists), digest: Digest([0; 32]) }
    }

    /// True without lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One list.
    pub fn get(&self, n: usize) -> Result<Vec<u32>> {
        use std::os::unix::fs::FileExt;
        let (file, path, starts) = match &self.kept {
            Kept::File { file, path, starts } => (file, path, starts),
            Kept::Memory(lists) => return Ok(lists[n].clone()),
        };
        let mut bytes = vec![0; (starts[n + 1] - starts[n]) as usize];
        file.read_exact_at(&mut bytes, starts[n]).map_err(|e| Error::io("cannot read", path, e))?;
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }
}

impl Store {
    /// Lists of numbers, from the store or made now. `make` hands each list to its argument, in order.
    pub fn lists(
        &self,
        key: &Key,
        make: impl FnOnce(&mut dyn FnMut(&[u32]) -> Result<()>) -> Result<()>,
    ) -> Result<Lists> {
        let path = self.path(key);
        if self.has(key) {
            match open_lists(&path)? {
                Some(lists) => {
                    self.saw(key, lists.digest);
                    return Ok(lists);
                }
                None => eprintln!("warning: store entry {} is corrupted, making it anew", path.display()),
            }
        }
        // The payload: the lists, the number of elements of each, the number of lists.
        let mut failed = None;
        write_aside_with_digest(&path, |out| {
            let mut lengths: Vec<u64> = Vec::new();
            let made = make(&mut |list| {
                let bytes: Vec<u8> = list.iter().flat_map(|n| n.to_le_bytes()).collect();
                out.write_all(&bytes).map_err(|e| Error::io("cannot write", &path, e))?;
                lengths.push(list.len() as u64);
                Ok(())
            });
            if let Err(e) = made {
                failed = Some(e);
                return Err(std::io::Error::other("the stage failed"));
            }
            for length in lengths.iter().copied().chain([lengths.len() as u64]) {
                out.write_all(&length.to_le_bytes())?;
            }
            Ok(())
        })
        .map_err(|e| failed.unwrap_or(e))?;
        let lists = open_lists(&path)?
            .ok_or_else(|| Error::new(format!("{} was changed while it was written", path.display())))?;
        self.saw(key, lists.digest);
        Ok(lists)
    }
}

/// Opens an entry of lists; none if it is not what was written.
fn open_lists(path: &Path) -> Result<Option<Lists>> {
    use std::os::unix::fs::FileExt;
    let fault = |e| Error::io("cannot read", path, e);
    let mut file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let mut stored = [0; 32];
    if file.read_exact(&mut stored).is_err() {
        return Ok(None);
    }
    let mut reader = crate::hash::HashingReader::new(&mut file);
    std::io::copy(&mut reader, &mut std::io::sink()).map_err(fault)?;
    let (digest, bytes) = reader.finish();
    if digest.0 != stored || bytes < 8 {
        return Ok(None);
    }
    let number = |at: u64| -> Result<u64> {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, at).map_err(fault)?;
        Ok(u64::from_le_bytes(bytes))
    };
    let end = 32 + bytes;
    let n = number(end - 8)?;
    let mut starts = vec![32];
    for i in 0..n {
        starts.push(starts[i as usize] + 4 * number(end - 8 - 8 * (n - i))?);
    }
    Ok(Some(Lists { kept: Kept::File { file, path: path.to_owned(), starts }, digest }))
}

/// [`write_aside`] of a payload whose digest is put before it.
fn write_aside_with_digest(path: &Path, fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    use std::os::unix::fs::FileExt;
    let folder = path.parent().expect("a file of ours has a folder");
    make_dir(folder)?;
    let aside = path.with_extension(format!("{}.partial", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&aside)?;
        file.write_all(&[0; 32])?;
        let mut hashing = crate::hash::HashingWriter::new(std::io::BufWriter::new(file));
        fill(&mut hashing)?;
        hashing.flush()?;
        let (file, digest, _) = hashing.finish();
        let file = file.into_inner().map_err(|e| e.into_error())?;
        file.write_all_at(&digest.0, 0)?;
        file.sync_all()
    };
    write().and_then(|()| std::fs::rename(&aside, path)).map_err(|e| {
        let _ = std::fs::remove_file(&aside);
        Error::io("cannot write", path, e)
    })?;
    sync_dir(folder)
}

/// Writes a file beside its place, syncs it and renames it there, so that no half of it is ever seen.
pub fn write_aside(path: &Path, fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let folder = path.parent().expect("a file of ours has a folder");
    make_dir(folder)?;
    // The process id keeps two builds apart that make the same entry at once.
    let aside = path.with_extension(format!("{}.partial", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(File::create(&aside)?);
        fill(&mut file)?;
        file.into_inner().map_err(|e| e.into_error())?.sync_all()
    };
    write().and_then(|()| std::fs::rename(&aside, path)).map_err(|e| {
        let _ = std::fs::remove_file(&aside);
        Error::io("cannot write", path, e)
    })?;
    sync_dir(folder)
}

/// Makes a folder and those above it.
pub fn make_dir(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::io("cannot make the folder", folder, e))
}

/// A folder for temporary files, removed when it is dropped. Its path is short: sockets may lie there.
pub fn scratch() -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("nih").tempdir();
    made.map_err(|e| Error::new(format!("cannot make a folder for temporary files: {e}")))
}

/// Makes a rename in a folder last through a crash. The folder of a bare name is the one we are in.
pub fn sync_dir(folder: &Path) -> Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder).and_then(|f| f.sync_all()).map_err(|e| Error::io("cannot sync", folder, e))
}

/// Writes a file that a person named: aside, then renamed. A link is followed; a pipe or device that is there is written to.
pub fn write_named(path: &Path, fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let place = real(path);
    if std::fs::metadata(&place).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        let write = || -> std::io::Result<()> {
            let mut out = std::io::BufWriter::new(File::options().write(true).open(&place)?);
            fill(&mut out)?;
            out.flush()
        };
        return write().map_err(|e| Error::io("cannot write", path, e));
    }
    write_aside(&place, fill)
}

/// Refuses a place to write to that lies in a release, or is a file that is read.
pub fn keep_apart(out: &Path, release: &Path, read: &[PathBuf]) -> Result<()> {
    let place = real(out);
    if place.starts_with(real(release)) {
        return Err(Error::new(format!("{} lies in the release, which it would spoil", out.display()))
            .help("write to another folder"));
    }
    if read.iter().any(|file| real(file) == place) {
        return Err(
            Error::new(format!("{} is read, and would be written over", out.display())).help("give another name")
        );
    }
    Ok(())
}

/// The path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (whole.canonicalize(), whole.parent(), whole.file_name()) {
        (Ok(there), ..) => there,
        (Err(_), Some(parent), Some(name)) => real(parent).join(name),
        _ => whole,
    }
}

/// The entries of a folder by name, in order.
pub fn sorted_dir(folder: &Path) -> Result<Vec<PathBuf>> {
    #[allow(clippy::disallowed_methods, reason = "sorted at once")]
    let entries = std::fs::read_dir(folder).map_err(|e| Error::io("cannot list", folder, e))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|e| Error::io("cannot list", folder, e))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Holds a lock file until dropped; the operating system lets go of it when the process dies.
pub struct Lock(File);

impl Drop for Lock {
    /// Closing the file is not enough: a program that another thread is just starting holds a copy of it for a moment.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl Lock {
    /// Takes the lock of a release, or says that another process has it.
    pub fn take(path: &Path) -> Result<Lock> {
        Lock::take_or(path, || {
            Error::new(format!("another build of this release is running ({})", path.display()))
                .help("wait for it to end, or build elsewhere with --out DIR")
        })
    }

    /// Takes a lock, or fails as told where another process has it.
    pub fn take_or(path: &Path, busy: impl FnOnce() -> Error) -> Result<Lock> {
        Lock::open(path, |_| Err(busy()))
    }

    /// Takes a lock; where another process has it, says so and waits.
    pub fn wait(path: &Path, say: impl FnOnce()) -> Result<Lock> {
        Lock::open(path, |file| {
            say();
            file.lock().map_err(|e| Error::io("cannot lock", path, e))
        })
    }

    fn open(path: &Path, taken: impl FnOnce(&File) -> Result<()>) -> Result<Lock> {
        make_dir(path.parent().expect("a lock file has a folder"))?;
        let file =
            File::options().create(true).append(true).open(path).map_err(|e| Error::io("cannot open", path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => taken(&file)?,
            Err(TryLockError::Error(e)) => return Err(Error::io("cannot lock", path, e)),
        }
        Ok(Lock(file))
    }
}
