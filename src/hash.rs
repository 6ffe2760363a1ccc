//! SHA-256 of bytes, files and rows; the identities of everything that is stored or published.

use crate::error::{Error, Result};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::io::{Read, Write};
use std::path::Path;

/// A SHA-256 digest; prints as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Digest of one byte string.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Digest(Sha256::digest(bytes.as_ref()).into())
    }

    /// Digest of several byte strings, each preceded by its length (u64, little-endian), so that
    /// no two different lists have the same digest.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Digest(hasher.finalize().into())
    }

    /// Digest of a file's bytes, and how many there are; reads it as a stream.
    pub fn of_file(path: &Path) -> Result<(Self, u64)> {
        let mut file = std::fs::File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
        let (mut hasher, mut bytes) = (Sha256::new(), 0);
        let mut buffer = vec![0; 1 << 18];
        loop {
            let n = file.read(&mut buffer).map_err(|e| Error::io("cannot read", path, e))?;
            if n == 0 {
                return Ok((Digest(hasher.finalize().into()), bytes));
            }
            hasher.update(&buffer[..n]);
            bytes += n as u64;
        }
    }

    /// The first 8 hexadecimal digits, for names of folders.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }

    /// Reads 64 hexadecimal digits.
    pub fn parse(hex: &str) -> Option<Self> {
        if hex.len() != 64 || !hex.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Digest::parse(&hex)
            .ok_or_else(|| serde::de::Error::custom(format!("expected 64 hexadecimal digits, found {hex:?}")))
    }
}

/// Passes bytes through and digests them on the way.
pub struct HashingReader<R> {
    inner: R,
    hasher: Sha256,
    bytes: u64,
}

impl<R: Read> HashingReader<R> {
    /// Wraps a reader; the digest covers what is read from now on.
    pub fn new(inner: R) -> Self {
        HashingReader { inner, hasher: Sha256::new(), bytes: 0 }
    }

    /// Digest and number of the bytes that passed.
    pub fn finish(self) -> (Digest, u64) {
        (Digest(self.hasher.finalize().into()), self.bytes)
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..n]);
        self.bytes += n as u64;
        Ok(n)
    }
}

/// Passes bytes on and digests them on the way.
pub struct HashingWriter<W> {
    inner: W,
    hasher: Sha256,
    bytes: u64,
}

impl<W: Write> HashingWriter<W> {
    /// Wraps a writer; the digest covers what is written from now on.
    pub fn new(inner: W) -> Self {
        HashingWriter { inner, hasher: Sha256::new(), bytes: 0 }
    }

    /// The writer, and digest and number of the bytes that passed.
    pub fn finish(self) -> (W, Digest, u64) {
        (self.inner, Digest(self.hasher.finalize().into()), self.bytes)
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let n = self.inner.write(buffer)?;
        self.hasher.update(&buffer[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// The rows digest of a file, and of a release: independent of Parquet.
///
/// A row's digest is the SHA-256 of its encoded values (see [`RowEncoder`]); a file's is the
/// SHA-256 of its rows' digests in order; a release's is [`release_digest`].
#[derive(Clone, Default)]
pub struct RowsHasher(Sha256);

impl RowsHasher {
    /// Appends the next row's digest.
    pub fn push(&mut self, row: &Digest) {
        self.0.update(row.0);
    }

    /// Digest of all rows pushed.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// Digest of a release: SHA-256 of the sorted lines `<hex>  <path>\n` of its data files' rows digests.
pub fn release_digest<'a>(files: impl IntoIterator<Item = (&'a str, Digest)>) -> Digest {
    let mut lines: Vec<String> = files.into_iter().map(|(path, digest)| format!("{digest}  {path}\n")).collect();
    lines.sort();
    Digest::of(lines.concat())
}

/// Encodes one row's values, in schema order, for the rows digest.
///
/// null is 0x00; any other value 0x01 followed by: integers as i64 little-endian; booleans one
/// byte; strings their length (u64) and UTF-8 bytes; lists their count and elements.
#[derive(Default)]
pub struct RowEncoder(Vec<u8>);

impl RowEncoder {
    /// Starts a row, keeping the buffer.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A missing value.
    pub fn null(&mut self) {
        self.0.push(0);
    }

    /// An integer.
    pub fn int(&mut self, value: i64) {
        self.0.push(1);
        self.0.extend(value.to_le_bytes());
    }

    /// A boolean.
    pub fn bool(&mut self, value: bool) {
        self.0.extend([1, u8::from(value)]);
    }

    /// A string.
    pub fn str(&mut self, value: &str) {
        self.count(value.len());
        self.0.extend(value.as_bytes());
    }

    /// A string, or null.
    pub fn opt(&mut self, value: Option<&str>) {
        match value {
            Some(value) => self.str(value),
            None => self.null(),
        }
    }

    /// The digest that stands in for the prompt's text.
    pub fn digest(&mut self, value: &Digest) {
        self.0.push(1);
        self.0.extend(value.0);
    }

    /// The head of a list: its elements follow. A struct has no head, its fields follow.
    pub fn count(&mut self, n: usize) {
        self.0.push(1);
        self.0.extend((n as u64).to_le_bytes());
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Is nothing encoded yet?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Digest of what was encoded behind a place.
    pub fn since(&self, start: usize) -> Digest {
        Digest::of(&self.0[start..])
    }

    /// The row's digest.
    pub fn finish(&self) -> Digest {
        Digest::of(&self.0)
    }
}
