//! Draws passages from collections of lines `pid<TAB>passage` that are far larger than memory, the same in every language.
//!
//! A collection is read once, as a stream. Which passages are drawn is decided by [`mix`] of key and pid alone: the
//! ones with the smallest are kept (bottom-k), so the number of lines need not be known, and collections of other
//! languages keep the same pids. Some more than wanted are kept, as a few may be missing elsewhere; [`common`] then
//! takes those that all languages have.
//!
//! The calling thread reads and parses; digests are taken in threads beside it, of the same chunks.

use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::seed::mix;
use crate::source::clean::{clean, is_blank, suspicious};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use sha2::digest::Digest as Hasher;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// The longest line that is taken, in bytes, without its line feed.
pub(crate) const MAX_LINE: usize = 1 << 20;

/// Why lines are refused: longer than [`MAX_LINE`].
pub(crate) const TOO_LONG: &str = "line longer than 1 MiB";
/// Its number came before.
pub(crate) const REPEATED: &str = "duplicate pid";
/// Its passage is no text.
pub(crate) const NO_TEXT: &str = "bad UTF-8";

/// Bytes that are read at once, and how many such chunks are under way. Small enough that a chunk is still in the
/// processor's cache when its digests are taken.
const CHUNK: usize = 1 << 20;
const CHUNKS: usize = 4;

/// What to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// How many passages are wanted in the end.
    pub size: u32,
    /// Decides which: `seed.derive("collection", "").bits()`, the same for all languages.
    pub key: u64,
    /// Is the MD5 wanted too? (It is all that is published of mMARCO's files.)
    pub md5: bool,
}

impl Sampling {
    /// 10,000 passages, without MD5.
    pub fn new(key: u64) -> Sampling {
        Sampling { size: 10_000, key, md5: false }
    }

    /// How many passages are kept of each collection: an eighth more than wanted, as some may be missing in others.
    pub fn kept(&self) -> usize {
        self.size as usize + self.size as usize / 8 + 128
    }
}

/// What was drawn from one collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampled {
    /// Pid and cleaned passage, sorted by (mix, pid).
    pub passages: Vec<(u32, String)>,
    /// The largest mix that was kept, if there were more: any passage with a smaller one is here. None where all of
    /// the collection was kept.
    pub threshold: Option<u64>,
    /// Lines of the collection.
    pub lines: u64,
    /// Bytes of the collection.
    pub bytes: u64,
    /// SHA-256 of all its bytes.
    pub sha256: Digest,
    /// MD5 of all its bytes, if it was asked for.
    pub md5: Option<[u8; 16]>,
    /// Lines that were refused: by reason, how many and the place of the first. A passage's own bytes (`bad UTF-8`)
    /// and a second line of a pid (`duplicate pid`) are only looked at where the line would be drawn at that
    /// moment; all else in every line.
    pub dropped: BTreeMap<String, (u64, String)>,
    /// Drawn passages whose text looks damaged ([`suspicious`]): by sign, how many and the first one's pid.
    pub suspicious: BTreeMap<String, (u64, String)>,
    /// As it was drawn.
    sampling: Sampling,
}

/// Name of a language's file among mMARCO's collections.
pub fn file_name(english_name: &str) -> String {
    format!("{}_collection.tsv", english_name.to_lowercase())
}

/// Draws passages from a collection. `name` stands in errors; `progress` is told the number of bytes after each
/// chunk. Line ends may be CR LF, and a byte order mark may stand first; how `reader` cuts its bytes does not matter.
/// Errors: what the reader says, or no sound line at all.
pub fn sample(
    name: &str,
    mut reader: impl Read,
    sampling: &Sampling,
    mut progress: impl FnMut(u64),
) -> Result<Sampled> {
    let mut drawing = Drawing::new(sampling);
    let mut bytes = 0;
    let (sha256, md5) = std::thread::scope(|scope| {
        let sha256: Beside<Sha256> = Beside::start(scope)?;
        let md5: Option<Beside<md5::Md5>> = sampling.md5.then(|| Beside::start(scope)).transpose()?;
        let mut ring: [Arc<Vec<u8>>; CHUNKS] = Default::default();
        for turn in 0.. {
            let chunk = &mut ring[turn % CHUNKS];
            if turn >= CHUNKS {
                sha256.wait(name)?;
                md5.as_ref().map_or(Ok(()), |md5| md5.wait(name))?;
            }
            // Nobody else holds the chunk now: its digests are taken.
            let buffer = Arc::make_mut(chunk);
            buffer.clear();
            fill(&mut reader, buffer).map_err(|e| {
                Error::new(format!("cannot read {name}: {e}"))
                    .at(format!("byte {}", bytes + buffer.len() as u64))
                    .help("look whether the file is whole, or download it again")
            })?;
            if buffer.is_empty() {
                break;
            }
            sha256.push(chunk);
            md5.iter().for_each(|md5| md5.push(chunk));
            bytes += chunk.len() as u64;
            drawing.chunk(chunk);
            progress(chunk.len() as u64);
        }
        let sha256 = Digest(sha256.finish(name)?.into());
        Ok((sha256, md5.map(|md5| md5.finish(name)).transpose()?.map(Into::into)))
    })?;
    let Drawing { kept, passed_over, lines, dropped, .. } = drawing.end();
    if kept.is_empty() {
        let faults: Vec<String> =
            dropped.iter().map(|(what, (n, first))| format!("{n} {what}, first {first}")).collect();
        return Err(Error::new(format!("{name} holds no passage in {lines} lines"))
            .at(if faults.is_empty() { name.to_owned() } else { faults.join("; ") })
            .help("expected lines `<number><TAB><passage>`"));
    }
    let threshold = kept.last_key_value().map(|((mix, _), _)| *mix).filter(|_| passed_over);
    let mut signs = BTreeMap::new();
    let mut passages = Vec::with_capacity(kept.len());
    for ((_, pid), (text, sign)) in kept {
        if let Some(sign) = sign {
            count(&mut signs, sign, || format!("pid {pid}"));
        }
        passages.push((pid, text));
    }
    Ok(Sampled { passages, threshold, lines, bytes, sha256, md5, dropped, suspicious: signs, sampling: *sampling })
}

/// Reads until a chunk is full or the reader has no more.
fn fill(reader: &mut impl Read, buffer: &mut Vec<u8>) -> std::io::Result<()> {
    buffer.reserve_exact(CHUNK);
    reader.take(CHUNK as u64).read_to_end(buffer).map(drop)
}

/// Counts a fault, and keeps the place of the first of its kind.
pub(crate) fn count(faults: &mut BTreeMap<String, (u64, String)>, what: &str, place: impl FnOnce() -> String) {
    match faults.get_mut(what) {
        Some((n, _)) => *n += 1,
        None => drop(faults.insert(what.to_owned(), (1, place()))),
    }
}

/// A digest that is taken in a thread of its own.
struct Beside<'scope, H> {
    chunks: Sender<Arc<Vec<u8>>>,
    /// One message for each chunk that was taken in and let go of.
    done: Receiver<()>,
    thread: ScopedJoinHandle<'scope, H>,
}

impl<'scope, H: Hasher + Send + 'scope> Beside<'scope, H> {
    fn start<'env>(scope: &'scope Scope<'scope, 'env>) -> Result<Self> {
        let (chunks, incoming) = channel::<Arc<Vec<u8>>>();
        let (outgoing, done) = channel();
        let run = move || {
            let mut hasher = H::new();
            for chunk in incoming {
                hasher.update(chunk.as_slice());
                drop(chunk);
                // The reader may have ended by an error: then nobody listens.
                let _ = outgoing.send(());
            }
            hasher
        };
        let thread = Builder::new()
            .name("digest".to_owned())
            .spawn_scoped(scope, run)
            .map_err(|e| Error::new(format!("cannot start a thread for digests: {e}")))?;
        Ok(Beside { chunks, done, thread })
    }

    /// Hands on a chunk. The ring of chunks bounds how many are under way.
    fn push(&self, chunk: &Arc<Vec<u8>>) {
        // A thread that died is noticed by `wait` or `finish`.
        let _ = self.chunks.send(chunk.clone());
    }

    /// Waits until the oldest chunk that was not waited for is taken in.
    fn wait(&self, name: &str) -> Result<()> {
        self.done.recv().map_err(|_| Error::new(format!("the digest of {name} broke off")))
    }

    fn finish(self, name: &str) -> Result<sha2::digest::Output<H>> {
        drop(self.chunks);
        let hasher = self.thread.join().map_err(|_| Error::new(format!("the digest of {name} broke off")))?;
        Ok(hasher.finalize())
    }
}

/// A collection while it is read, or a part of one.
pub(crate) struct Drawing {
    key: u64,
    most: usize,
    /// The smallest (mix, pid) so far, with cleaned passage and sign of damage. Two pids never have the same mix under
    /// one key; the pid is there for the order to be whole without that.
    pub(crate) kept: BTreeMap<(u64, u32), (String, Option<&'static str>)>,
    /// Was a line refused, or a passage pushed out, for its mix?
    passed_over: bool,
    /// No larger mix can be kept.
    limit: u64,
    /// Does the collection begin here? A byte order mark may stand before its first line alone.
    begins: bool,
    pub(crate) lines: u64,
    pub(crate) dropped: BTreeMap<String, (u64, String)>,
    /// The beginning of a line that goes on in the next chunk.
    rest: Vec<u8>,
    /// The line that goes on is too long already, and its bytes are let go.
    overlong: bool,
}

impl Drawing {
    pub(crate) fn new(sampling: &Sampling) -> Drawing {
        Drawing {
            key: sampling.key,
            most: sampling.kept(),
            kept: BTreeMap::new(),
            passed_over: false,
            limit: u64::MAX,
            begins: true,
            lines: 0,
            dropped: BTreeMap::new(),
            rest: Vec::new(),
            overlong: false,
        }
    }

    /// Of a part that begins behind another one.
    pub(crate) fn within(sampling: &Sampling) -> Drawing {
        Drawing { begins: false, ..Drawing::new(sampling) }
    }

    /// Takes in the lines that end in a chunk.
    pub(crate) fn chunk(&mut self, chunk: &[u8]) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            let line = &chunk[start..end];
            start = end + 1;
            if self.rest.is_empty() && !self.overlong {
                self.line(line);
            } else {
                self.carry(line);
                self.carried();
            }
        }
        self.carry(&chunk[start..]);
    }

    /// The collection ends; its last line may have no line feed.
    pub(crate) fn end(mut self) -> Drawing {
        if self.overlong || !self.rest.is_empty() {
            self.carried();
        }
        self
    }

    /// Keeps a piece of a line that goes on, as long as the line is not too long.
    fn carry(&mut self, piece: &[u8]) {
        if self.overlong || self.rest.len() + piece.len() > MAX_LINE {
            self.overlong = true;
            self.rest.clear();
        } else {
            self.rest.extend_from_slice(piece);
        }
    }

    /// The line that was carried is whole.
    fn carried(&mut self) {
        let mut line = std::mem::take(&mut self.rest);
        if std::mem::take(&mut self.overlong) {
            self.lines += 1;
            self.drop(TOO_LONG);
        } else {
            self.line(&line);
        }
        line.clear();
        self.rest = line;
    }

    /// Counts the current line as refused.
    fn drop(&mut self, reason: &'static str) {
        let line = self.lines;
        count(&mut self.dropped, reason, || format!("line {line}"));
    }

    /// Takes in a line, without its line feed.
    pub(crate) fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        let (pid, passage) = match split(line, self.begins && self.lines == 1) {
            Ok(sound) => sound,
            Err(reason) => return self.drop(reason),
        };
        let mix = mix(self.key, pid);
        if mix > self.limit {
            self.passed_over = true;
            return;
        }
        if self.kept.contains_key(&(mix, pid)) {
            return self.drop(REPEATED);
        }
        let Ok(passage) = std::str::from_utf8(passage) else { return self.drop(NO_TEXT) };
        self.kept.insert((mix, pid), (clean(passage), suspicious(passage)));
        if self.kept.len() > self.most {
            self.kept.pop_last();
            self.passed_over = true;
        }
        if self.kept.len() == self.most {
            self.limit = self.kept.last_key_value().map_or(0, |((mix, _), _)| *mix);
        }
    }
}

/// Pid and passage of a line without its line feed, or why it is refused. Whether the passage is text is not looked at. A byte order
/// mark may stand before the `first` line of a collection.
pub(crate) fn split(line: &[u8], first: bool) -> std::result::Result<(u32, &[u8]), &'static str> {
    if line.len() > MAX_LINE {
        return Err(TOO_LONG);
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = if first { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
    let tab = memchr::memchr(b'\t', line).ok_or("no tab")?;
    let pid = number(&line[..tab]).ok_or("pid is no number below 2^32")?;
    let passage = &line[tab + 1..];
    if is_blank_text(passage) { Err("blank passage") } else { Ok((pid, passage)) }
}

/// A pid: decimal digits alone.
pub(crate) fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Is nothing left of a passage once it is cleaned? Looks at its first characters only, as a rule at one.
fn is_blank_text(mut text: &[u8]) -> bool {
    while let Some(&first) = text.first() {
        let len = match first {
            0..0x80 => 1,
            0x80..0xE0 => 2,
            0xE0..0xF0 => 3,
            0xF0.. => 4,
        };
        let c = text.get(..len).and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(|c| c.chars().next());
        // What is no UTF-8 is not blank; it is refused as such where it is drawn.
        if !c.is_some_and(is_blank) {
            return false;
        }
        text = &text[len..];
    }
    true
}

/// The passages that were drawn in all languages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Common {
    /// Their pids, sorted by (mix, pid).
    pub pids: Vec<u32>,
    /// By code of the language, how many pids it lacks of those that another language has, up to the mix to which all
    /// languages are known.
    pub missing: BTreeMap<String, u64>,
}

/// The first `size` pids, by (mix, pid), that all languages have; all of them where the collections are smaller than
/// that. The choice is exact: up to the smallest threshold each language has kept every passage it has. Errors: no
/// language, samples drawn by different keys, too few pids in common, or none.
pub fn common(samples: &[(String, Sampled)], size: u32) -> Result<Common> {
    let Some((_, first)) = samples.first() else {
        return Err(Error::new("no collection to take passages from"));
    };
    let key = first.sampling.key;
    if let Some((code, _)) = samples.iter().find(|(_, sampled)| sampled.sampling.key != key) {
        return Err(Error::new(format!(
            "the collection of {code} was sampled by another key than that of {}",
            samples[0].0
        )));
    }
    let known = samples.iter().filter_map(|(_, sampled)| sampled.threshold).min();
    let up_to = known.unwrap_or(u64::MAX);
    // Sorted by (mix, pid), each cut where it is no longer known of all.
    let pids: Vec<BTreeSet<(u64, u32)>> = samples
        .iter()
        .map(|(_, sampled)| sampled.passages.iter().map(|&(pid, _)| (mix(key, pid), pid)))
        .map(|pids| pids.take_while(|&(mix, _)| mix <= up_to).collect())
        .collect();
    let all: BTreeSet<(u64, u32)> = pids.iter().flatten().copied().collect();
    let missing: BTreeMap<String, u64> =
        samples.iter().zip(&pids).map(|((code, _), own)| (code.clone(), (all.len() - own.len()) as u64)).collect();
    let shared: Vec<u32> =
        all.into_iter().filter(|pid| pids.iter().all(|own| own.contains(pid))).map(|(_, pid)| pid).collect();
    let enough = shared.len() >= size as usize || known.is_none();
    if !enough || (shared.is_empty() && size > 0) {
        let (worst, lacks) = missing.iter().max_by_key(|&(_, n)| n).expect("there is a language");
        let each: Vec<String> = missing.iter().map(|(code, n)| format!("{code} {n}")).collect();
        return Err(Error::new(format!(
            "only {} of the {size} passages wanted are in all {} languages: {worst} lacks {lacks}",
            shared.len(),
            samples.len()
        ))
        .at(format!("passages missing by language: {}", each.join(", ")))
        .help("look whether all collections are whole and of the same version, or ask for fewer passages"));
    }
    Ok(Common { pids: shared.into_iter().take(size as usize).collect(), missing })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn draw(pieces: &[&[u8]], sampling: &Sampling) -> Drawing {
        let mut drawing = Drawing::new(sampling);
        pieces.iter().for_each(|piece| drawing.chunk(piece));
        drawing.end()
    }

    #[test]
    fn a_line_of_the_greatest_length_is_taken_however_it_is_cut() {
        let sampling = Sampling { size: 1, key: 5, md5: false };
        for (length, taken) in [(MAX_LINE, 2), (MAX_LINE + 1, 1)] {
            let mut text = b"7\t".to_vec();
            text.resize(length, b'x');
            text.extend(b"\n8\tend");
            for cut in [0, 1, 2, length - 1, length, length + 1, length + 3] {
                let (a, b) = text.split_at(cut);
                let drawing = draw(&[a, b], &sampling);
                assert_eq!((drawing.lines, drawing.kept.len()), (2, taken), "length {length}, cut at {cut}");
                assert!(drawing.rest.capacity() <= 2 * MAX_LINE);
                let refused = drawing.dropped.get("line longer than 1 MiB").cloned();
                assert_eq!(refused, (taken == 1).then(|| (1, "line 1".to_owned())));
            }
        }
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(
            text in "([0-9]{0,3}[\t ]?[ab\u{200B}\u{4E2D}\u{FEFF}]{0,3}\r?\n?){0,12}",
            mut cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let sampling = Sampling { size: 2, key: 1, md5: false };
            let bytes = text.as_bytes();
            let mut at: Vec<usize> = cuts.drain(..).map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let (whole, cut) = (draw(&[bytes], &sampling), draw(&pieces, &sampling));
            prop_assert_eq!(whole.kept, cut.kept);
            prop_assert_eq!((whole.lines, whole.dropped), (cut.lines, cut.dropped));
        }
    }
}
