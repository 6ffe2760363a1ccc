//! A journal: a file of lines that each new answer is written to at once.
//!
//! Only whole lines count: what a killed build left half is cut off. A `.lock` beside it is held by the build that may write.

use crate::error::{Error, Result};
use crate::fail;
use crate::store::{Lock, sync_dir};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// An open journal.
pub struct Journal {
    path: PathBuf,
    /// Open where this build may write.
    file: Option<File>,
    /// Held until the end.
    _lock: Option<Lock>,
}

impl Journal {
    /// Reads a journal, whose lines go to `take`; of those it refuses is warned. `writing` takes the lock and cuts off
    /// what is torn.
    pub fn open(path: PathBuf, writing: bool, take: &mut dyn FnMut(&[u8]) -> bool) -> Result<Journal> {
        let mut journal = Journal { path, file: None, _lock: None };
        let path = &journal.path;
        if writing {
            journal._lock = Some(lock(&path.with_extension("lock"))?);
        }
        let (whole, torn) = read(path, take)?;
        if writing {
            let fault = |e| Error::io("cannot open", path, e);
            let file = File::options().create(true).append(true).open(path).map_err(fault)?;
            if torn {
                file.set_len(whole).and_then(|()| file.sync_all()).map_err(|e| Error::io("cannot cut", path, e))?;
            }
            journal.file = Some(file);
            sync_dir(path.parent().unwrap_or(path))?;
        }
        Ok(journal)
    }

    /// Appends whole lines, on disk before it returns.
    pub fn append(&mut self, lines: &str) -> Result<()> {
        let Some(file) = &mut self.file else { fail!("{} is not open for writing", self.path.display()) };
        let fault = |e| Error::io("cannot write", &self.path, e);
        let before = file.metadata().map_err(fault)?.len();
        file.write_all(lines.as_bytes()).and_then(|()| file.sync_data()).map_err(|e| {
            // Half a line would spoil the next one.
            let _ = file.set_len(before);
            fault(e)
        })
    }
}

/// Hands on each whole line. Gives the bytes of all of them, and whether more follows.
fn read(path: &Path, take: &mut dyn FnMut(&[u8]) -> bool) -> Result<(u64, bool)> {
    let mut reader = match File::open(path) {
        Ok(file) => BufReader::with_capacity(1 << 16, file),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok((0, false)),
        Err(e) => return Err(Error::io("cannot read", path, e)),
    };
    let (mut whole, mut n, mut line) = (0, 0, Vec::new());
    loop {
        line.clear();
        let bytes = reader.read_until(b'\n', &mut line).map_err(|e| Error::io("cannot read", path, e))?;
        if !line.ends_with(b"\n") {
            return Ok((whole, bytes > 0));
        }
        whole += bytes as u64;
        n += 1;
        line.pop();
        if !line.is_empty() && !take(&line) {
            crate::report::warn(&format!("line {n} of {} is damaged and passed over", path.display()));
        }
    }
}

fn lock(path: &Path) -> Result<Lock> {
    Lock::take_or(path, || {
        Error::new(format!("another build is asking the same service ({})", path.display()))
            .help("wait for it to end: what it asks is then known here too")
    })
}
