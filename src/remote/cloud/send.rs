//! Files to objects: small ones at once, large ones in parts that are finished, undone, or noted for whoever comes next.

use super::super::{NOTES, differs};
use super::client::Client;
use super::{Cloud, attributes, block_on, fault};
use crate::error::{Error, Result};
use crate::hash::Digest;
use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path as Key;
use object_store::{ObjectStore, PutMultipartOptions, PutOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A file up to this many bytes is sent at once.
pub(in super::super) const WHOLE: u64 = 16 << 20;

/// Bytes of a part; S3 takes none smaller than 5 MiB, and 10,000 of a file.
const PART: u64 = 8 << 20;

/// Parts of a file that are on their way at once.
const AT_ONCE: usize = 3;

/// How often a file is begun anew where another run has undone its upload.
const ANEW: usize = 5;

/// An upload in parts, as a place remembers it.
#[derive(Serialize, Deserialize)]
struct Note {
    /// The object, by its name below the place.
    name: String,
    /// The server's id of the upload.
    id: String,
}

fn uploads() -> String {
    format!("{NOTES}/uploads")
}

/// How an upload failed.
enum Fault {
    /// Someone has undone it: begin anew.
    Gone(Error),
    Other(Error),
}

/// The file that is sent, read once from beginning to end.
struct Source<'a> {
    file: File,
    path: &'a Path,
    hasher: Sha256,
}

impl Source<'_> {
    /// The next bytes, as many as these unless the file ends.
    fn next(&mut self, most: u64) -> Result<Bytes> {
        let mut part = Vec::with_capacity(most as usize);
        let read = self.file.by_ref().take(most).read_to_end(&mut part);
        read.map_err(|e| Error::io("cannot read", self.path, e))?;
        self.hasher.update(&part);
        Ok(part.into())
    }

    /// Is it what it should be?
    fn check(&self, digest: Digest) -> Result<()> {
        let found = Digest(self.hasher.clone().finalize().into());
        match found == digest {
            true => Ok(()),
            false => {
                Err(differs(self.path.display(), found, digest)
                    .help("it was changed: see which is right, and run again"))
            }
        }
    }
}

impl Cloud {
    pub(in super::super) fn upload(&self, name: &str, file: &Path, digest: Digest, moved: &dyn Fn(u64)) -> Result<()> {
        self.writable()?;
        let bytes = std::fs::metadata(file).map_err(|e| Error::io("cannot look at", file, e))?.len();
        let key = self.key(name)?;
        for _ in 0..ANEW {
            let opened = File::open(file).map_err(|e| Error::io("cannot open", file, e))?;
            let source = Source { file: opened, path: file, hasher: Sha256::new() };
            let sent = match (self.client()?, bytes <= WHOLE) {
                (client, true) => self.at_once(client.store(), name, &key, source, digest, moved).map_err(Fault::Other),
                (client, false) => match client.multipart() {
                    Some(store) => self.in_parts(store, name, &key, source, (digest, bytes), moved),
                    None => self.in_blocks(client, name, &key, source, digest, moved).map_err(Fault::Other),
                },
            };
            match sent {
                Ok(()) => return Ok(()),
                Err(Fault::Other(e)) => return Err(e),
                Err(Fault::Gone(e)) => crate::report::warn(&format!("{name} is begun anew: {e}")),
            }
        }
        Err(Error::new(format!("{self}/{name}: its upload is undone again and again"))
            .help("another run sends to the same place: let it end, and run this one again"))
    }

    fn at_once(
        &self,
        store: &dyn ObjectStore,
        name: &str,
        key: &Key,
        mut source: Source<'_>,
        digest: Digest,
        moved: &dyn Fn(u64),
    ) -> Result<()> {
        let bytes = source.next(WHOLE + 1)?;
        source.check(digest)?;
        let n = bytes.len() as u64;
        let options = PutOptions { attributes: attributes(digest), ..PutOptions::default() };
        block_on(async {
            let sent = store.put_opts(key, bytes.into(), options).await;
            sent.map_err(|e| self.asked(name).failed("send", &e))?;
            moved(n);
            Ok(())
        })
    }

    fn in_parts(
        &self,
        store: &dyn MultipartStore,
        name: &str,
        key: &Key,
        mut source: Source<'_>,
        (digest, bytes): (Digest, u64),
        moved: &dyn Fn(u64),
    ) -> std::result::Result<(), Fault> {
        let options = PutMultipartOptions { attributes: attributes(digest), ..PutMultipartOptions::default() };
        let failed = |e: &object_store::Error| self.asked(name).failed("send", e);
        let id = block_on(async { store.create_multipart_opts(key, options).await.map_err(|e| failed(&e)) });
        let id = id.map_err(Fault::Other)?;
        let note = format!("{}/{}.json", uploads(), Digest::of(format!("{name}\n{id}")).short());
        let noted = Note { name: name.to_owned(), id: id.clone() };
        let done = self.note(&note, &noted).map_err(Fault::Other).and_then(|()| {
            // Of a size that 10,000 parts hold.
            let size = PART.max(bytes.div_ceil(10_000).next_multiple_of(1 << 20));
            let sent = block_on(async { Ok(self.parts(store, name, key, &id, &mut source, size, moved).await) });
            let parts = sent.map_err(Fault::Other)??;
            source.check(digest).map_err(Fault::Other)?;
            let end = block_on(async { Ok(store.complete_multipart(key, &id, parts).await) }).map_err(Fault::Other)?;
            match end {
                Ok(_) => Ok(()),
                // An answer that was lost may have been a good one.
                Err(e) if self.holds(name, digest, bytes).unwrap_or(false) => Ok(drop(e)),
                Err(e) if fault::is_gone(&e) => Err(Fault::Gone(failed(&e))),
                Err(e) => Err(Fault::Other(failed(&e))),
            }
        });
        if done.is_err() {
            let undone = block_on(async { Ok(store.abort_multipart(key, &id).await) });
            if !matches!(&undone, Ok(Ok(()))) && !matches!(&undone, Ok(Err(e)) if fault::is_gone(e)) {
                // The note stays, so that the next run undoes it.
                return done;
            }
        }
        let _ = self.remove(&note);
        done
    }

    fn note(&self, name: &str, note: &Note) -> Result<()> {
        let text = serde_json::to_vec(note).map_err(|e| Error::new(e.to_string()))?;
        self.create(name, &text).map(|_| ())
    }

    /// Sends the parts, some at once; their ids in order.
    #[allow(clippy::too_many_arguments, reason = "they are one upload")]
    async fn parts(
        &self,
        store: &dyn MultipartStore,
        name: &str,
        key: &Key,
        id: &String,
        source: &mut Source<'_>,
        size: u64,
        moved: &dyn Fn(u64),
    ) -> std::result::Result<Vec<PartId>, Fault> {
        let retries = self.patience.retries;
        let send = |n: usize, part: Bytes| async move {
            let bytes = part.len() as u64;
            let mut failures = 0;
            loop {
                match store.put_part(key, id, n, part.clone().into()).await {
                    Ok(done) => return Ok((n, done, bytes)),
                    // A slow part may be broken off later than a signature lasts.
                    Err(e) if fault::is_broken(&e) && failures < retries.min(1) => failures += 1,
                    Err(e) => return Err(e),
                }
            }
        };
        let mut under_way = FuturesUnordered::new();
        let mut parts: Vec<(usize, PartId)> = Vec::new();
        let (mut n, mut ended) = (0, false);
        loop {
            while !ended && under_way.len() < AT_ONCE {
                let part = source.next(size).map_err(Fault::Other)?;
                ended = (part.len() as u64) < size;
                if !part.is_empty() {
                    under_way.push(send(n, part));
                    n += 1;
                }
            }
            match under_way.next().await {
                None => break,
                Some(Ok((n, part, bytes))) => {
                    parts.push((n, part));
                    moved(bytes);
                }
                Some(Err(e)) => {
                    let error = self.asked(name).failed("send", &e);
                    return Err(if fault::is_gone(&e) { Fault::Gone(error) } else { Fault::Other(error) });
                }
            }
        }
        parts.sort_by_key(|(n, _)| *n);
        Ok(parts.into_iter().map(|(_, part)| part).collect())
    }

    /// The way of Azure: blocks, of which nothing is seen before they are put together.
    fn in_blocks(
        &self,
        client: &Client,
        name: &str,
        key: &Key,
        mut source: Source<'_>,
        digest: Digest,
        moved: &dyn Fn(u64),
    ) -> Result<()> {
        let failed = |e: object_store::Error| self.asked(name).failed("send", &e);
        let options = PutMultipartOptions { attributes: attributes(digest), ..PutMultipartOptions::default() };
        block_on(async {
            let mut upload = client.store().put_multipart_opts(key, options).await.map_err(failed)?;
            let mut send = async || {
                loop {
                    let part = source.next(PART)?;
                    if part.is_empty() {
                        source.check(digest)?;
                        upload.complete().await.map_err(failed)?;
                        return Ok(());
                    }
                    let bytes = part.len() as u64;
                    upload.put_part(part.into()).await.map_err(failed)?;
                    moved(bytes);
                }
            };
            let sent = send().await;
            if sent.is_err() {
                let _ = upload.abort().await;
            }
            sent
        })
    }

    pub(in super::super) fn undo_uploads(&self) -> Result<usize> {
        let mut undone = 0;
        let Some(store) = self.client()?.multipart() else { return Ok(0) };
        for (note, _) in self.list(&uploads())? {
            let Some(text) = self.get(&note)? else { continue };
            let Ok(Note { name, id }) = serde_json::from_slice(&text) else { continue };
            let key = self.key(&name)?;
            match block_on(async { Ok(store.abort_multipart(&key, &id).await) })? {
                Ok(()) => undone += 1,
                Err(e) if fault::is_gone(&e) => {}
                Err(e) => return Err(self.asked(&name).failed("undo the upload of", &e)),
            }
            self.remove(&note)?;
        }
        Ok(undone)
    }
}
