//! Objects to files: streamed, resumed where they broke off, digested on the way.

use super::super::{aside, differs};
use super::{Cloud, RUNTIME, block_on, fault};
use crate::error::{Error, Result};
use crate::hash::Digest;
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::GetResult;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file on its way.
struct Download<'a> {
    cloud: &'a Cloud,
    name: &'a str,
    path: std::path::PathBuf,
    file: File,
    hasher: Sha256,
    /// Bytes that the file holds.
    had: u64,
    /// Did another run begin it?
    resumed: bool,
    /// The version that bytes came from.
    etag: Option<String>,
    moved: &'a dyn Fn(u64),
}

/// How a try ended.
enum End {
    Whole,
    /// Worth another try.
    Broken(Error),
    /// Worth another try, of all of it.
    Changed,
}

impl Cloud {
    pub(in super::super) fn fetch(
        &self,
        name: &str,
        to: &Path,
        expected: Option<Digest>,
        moved: &dyn Fn(u64),
    ) -> Result<(Digest, u64)> {
        self.client()?;
        crate::store::make_dir(to.parent().unwrap_or(to))?;
        let path = aside(to);
        // Of two runs the second waits; then the file is there, or what the first has left is gone on with.
        let file = locked(&path)?;
        if let Some(expected) = expected
            && to.is_file()
            && let Ok((digest, bytes)) = Digest::of_file(to)
            && digest == expected
        {
            let _ = std::fs::remove_file(&path);
            return Ok((digest, bytes));
        }
        let mut download = Download {
            cloud: self,
            name,
            path,
            file,
            hasher: Sha256::new(),
            had: 0,
            resumed: false,
            etag: None,
            moved,
        };
        match expected {
            Some(_) => download.resume()?,
            None => download.restart()?,
        }
        let result = download.run(expected);
        let path = download.path.clone();
        match result {
            Ok(digest) => {
                std::fs::rename(&path, to).map_err(|e| Error::io("cannot rename to", to, e))?;
                crate::store::sync_dir(to.parent().unwrap_or(to))?;
                Ok((digest, download.had))
            }
            Err(e) => {
                // Without a digest nobody can go on with it.
                if expected.is_none() || download.had == 0 {
                    let _ = std::fs::remove_file(&path);
                }
                Err(e)
            }
        }
    }
}

/// Opens a file for this process alone; it may have been renamed by the one that had it before.
fn locked(path: &Path) -> Result<File> {
    loop {
        let fault = |e| Error::io("cannot open", path, e);
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path).map_err(fault)?;
        file.lock().map_err(|e| Error::io("cannot lock", path, e))?;
        let own = file.metadata().map_err(fault)?;
        if std::fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())) {
            return Ok(file);
        }
    }
}

impl Download<'_> {
    fn fault(&self, doing: &str, e: std::io::Error) -> Error {
        Error::io(doing, &self.path, e)
    }

    /// Digests what another run left.
    fn resume(&mut self) -> Result<()> {
        let mut buffer = vec![0; 1 << 18];
        loop {
            match self.file.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    self.hasher.update(&buffer[..n]);
                    self.had += n as u64;
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.fault("cannot read", e)),
            }
        }
        self.resumed = self.had > 0;
        (self.moved)(self.had);
        Ok(())
    }

    /// Forgets what has come.
    fn restart(&mut self) -> Result<()> {
        self.file.set_len(0).and_then(|()| self.file.rewind()).map_err(|e| self.fault("cannot write", e))?;
        (self.hasher, self.had, self.resumed, self.etag) = (Sha256::new(), 0, false, None);
        Ok(())
    }

    /// Tries until all has come and is right, or it is enough.
    fn run(&mut self, expected: Option<Digest>) -> Result<Digest> {
        let patience = self.cloud.patience;
        let (mut failures, mut changes, mut best) = (0, 0, self.had);
        loop {
            match self.attempt()? {
                End::Whole => {
                    let digest = Digest(self.hasher.clone().finalize().into());
                    match expected {
                        Some(expected) if digest != expected => {
                            // What another run left may have been of another version; there is no third chance.
                            let resumed = self.resumed;
                            self.restart()?;
                            if !resumed {
                                let what = format!("{}/{}", self.cloud, self.name);
                                return Err(differs(what, digest, expected)
                                    .help("it is another file, or was damaged: send it again"));
                            }
                        }
                        _ => {
                            self.file.sync_all().map_err(|e| self.fault("cannot sync", e))?;
                            return Ok(digest);
                        }
                    }
                }
                End::Changed => {
                    changes += 1;
                    if changes > 3 {
                        return Err(Error::new(format!("{}/{} is changed again and again", self.cloud, self.name))
                            .help("wait until nobody writes it, and run the same command again"));
                    }
                    self.restart()?;
                }
                End::Broken(error) => {
                    let moved = self.had > best;
                    best = best.max(self.had);
                    failures = if moved { 0 } else { failures + 1 };
                    // Of a version that it can name the client has asked again itself, as often as patience has it.
                    if failures > patience.retries || !moved && self.etag.is_some() {
                        return Err(error);
                    }
                    std::thread::sleep(patience.wait(failures));
                }
            }
        }
    }

    /// One connection, until all has come or it breaks.
    fn attempt(&mut self) -> Result<End> {
        let (cloud, name, had) = (self.cloud, self.name, self.had);
        let etag = self.etag.clone();
        block_on(async {
            let answer = match cloud.from(name, had, etag.as_deref()).await {
                Ok(answer) => answer,
                // What is here already may be all there is, which the digest shows.
                Err(e) if fault::is_changed(&e) && had > 0 => return self.ended(&e).await,
                Err(object_store::Error::NotSupported { .. }) if had > 0 => return Ok(End::Changed),
                Err(e) => {
                    let failed = cloud.asked(name).failed("read", &e);
                    // The client has tried often enough where no connection comes about.
                    return Err(failed);
                }
            };
            if answer.range.start != had {
                self.restart()?;
            }
            let total = answer.meta.size;
            self.etag = answer.meta.e_tag.clone();
            let mut chunks = answer.into_stream();
            while let Some(chunk) = chunks.next().await {
                match chunk {
                    Ok(chunk) => self.take(&chunk)?,
                    Err(e) => return Ok(End::Broken(cloud.asked(name).failed("read", &e))),
                }
            }
            if self.had < total {
                return Ok(End::Broken(Error::new(format!("{cloud}/{name} ends after {} of {total} bytes", self.had))));
            }
            Ok(End::Whole)
        })
    }

    /// The server has nothing behind what is here: it is whole, or of another version.
    async fn ended(&mut self, cause: &object_store::Error) -> Result<End> {
        let size = self.cloud.head(self.name).await?.map(|answer| answer.meta.size);
        match size {
            Some(size) if size == self.had => Ok(End::Whole),
            Some(_) => Ok(End::Changed),
            None => Err(self.cloud.asked(self.name).failed("read", cause)),
        }
    }

    fn take(&mut self, chunk: &Bytes) -> Result<()> {
        self.file.write_all(chunk).map_err(|e| self.fault("cannot write", e))?;
        self.hasher.update(chunk);
        self.had += chunk.len() as u64;
        (self.moved)(chunk.len() as u64);
        Ok(())
    }
}

/// An answer as a stream that blocks.
pub(super) struct Body {
    chunks: BoxStream<'static, object_store::Result<Bytes>>,
    now: Bytes,
}

impl Body {
    pub(super) fn new(answer: GetResult) -> Body {
        Body { chunks: answer.into_stream(), now: Bytes::new() }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.now.is_empty() {
            let runtime = RUNTIME.as_ref().map_err(|e| std::io::Error::new(e.kind(), e.to_string()))?;
            match runtime.block_on(self.chunks.next()) {
                Some(chunk) => self.now = chunk.map_err(|e| std::io::Error::other(fault::said(&e)))?,
                None => return Ok(0),
            }
        }
        let n = self.now.len().min(buffer.len());
        self.now.copy_to_slice(&mut buffer[..n]);
        Ok(n)
    }
}
