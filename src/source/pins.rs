//! Pins of what is read from outside: `checksums/sources.toml`, and files of the same format that add to it.

use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::remote::{check_object, is_object};
use md5::Md5 as Md5Hasher;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::Path;

/// The pins that come with the program.
const OWN: &str = "checksums/sources.toml";

/// An MD5 digest, where a publisher gives no better; prints as 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Md5(pub [u8; 16]);

impl Md5 {
    /// Digest of one byte string.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Md5(Md5Hasher::digest(bytes.as_ref()).into())
    }

    /// Reads 32 hexadecimal digits.
    pub fn parse(hex: &str) -> Option<Self> {
        if hex.len() != 32 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 16];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(Md5(bytes))
    }
}

impl fmt::Display for Md5 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Md5 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl serde::Serialize for Md5 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Md5 {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Md5::parse(&hex)
            .ok_or_else(|| serde::de::Error::custom(format!("expected 32 hexadecimal digits, found {hex:?}")))
    }
}

/// A file of pins, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    source: Vec<toml::Spanned<Pin>>,
}

/// One file that is had from outside. Without a digest it is unpinned: [`Pin::check`] refuses it and prints its digest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The name that recipes use.
    pub id: String,
    /// Where it can be had, mirrors after the first.
    pub urls: Vec<String>,
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// Its digest.
    pub sha256: Option<Digest>,
    /// Its digest where only this one is published.
    pub md5: Option<Md5>,
    /// Its licence, as an SPDX identifier.
    pub licence: String,
    /// Digests of files inside it.
    #[serde(default)]
    pub members: BTreeMap<String, Digest>,
}

/// All pins, by id.
#[derive(Clone, Debug)]
pub struct Pins {
    pins: BTreeMap<String, Pin>,
}

impl Pins {
    /// The program's own pins, and those of a file of the same format, which replace or add whole entries by id.
    /// Errors name the file and the line.
    pub fn load(extra: Option<&Path>) -> Result<Pins> {
        let mut pins = Pins { pins: BTreeMap::new() };
        pins.add(OWN, include_str!("../../checksums/sources.toml"))?;
        if let Some(path) = extra {
            let text = std::fs::read_to_string(path).map_err(|e| Error::io("cannot read the sources", path, e))?;
            pins.add(&path.display().to_string(), &text)?;
        }
        Ok(pins)
    }

    fn add(&mut self, name: &str, text: &str) -> Result<()> {
        let file: File =
            toml::from_str(text).map_err(|e| Error::new(e.to_string().trim_end().to_owned()).at(name.to_owned()))?;
        let mut seen = BTreeSet::new();
        for entry in file.source {
            let line = text[..entry.span().start].matches('\n').count() + 1;
            let pin = entry.into_inner();
            let fault = |what: String| Err(Error::new(what).at(format!("{name}, line {line}")));
            if !is_name(&pin.id) {
                return fault(format!("{:?} is no id: letters, digits and . _ - / are allowed", pin.id));
            }
            if pin.urls.is_empty() {
                return fault(format!("source {:?} has no urls", pin.id));
            }
            for url in &pin.urls {
                if url.starts_with("http://") || url.starts_with("https://") {
                    continue;
                }
                match is_object(url) {
                    true => check_object(url).map_err(|e| e.at(format!("{name}, line {line}, source {:?}", pin.id)))?,
                    false => {
                        return fault(format!(
                            "source {:?} has the url {url:?}, only http, https, s3, gs and az are known",
                            pin.id
                        ));
                    }
                }
            }
            if pin.licence.trim().is_empty() {
                return fault(format!("source {:?} has an empty licence", pin.id));
            }
            if !seen.insert(pin.id.clone()) {
                return fault(format!("source {:?} stands here twice", pin.id));
            }
            self.pins.insert(pin.id.clone(), pin);
        }
        Ok(())
    }

    /// The pin of an id; an unknown one is an error that lists those known.
    pub fn find(&self, id: &str) -> Result<&Pin> {
        self.pins.get(id).ok_or_else(|| {
            let known: Vec<&str> = self.pins.keys().map(String::as_str).collect();
            Error::new(format!("source {id:?} has no pin in {OWN}, it has {}", known.join(", ")))
                .help("name one of these, or give a file with an entry for it with --sources FILE")
        })
    }

    /// All pins in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Pin> {
        self.pins.values()
    }
}

/// May it be an id? (It is printed, and part of paths in documentation; never of a path on disk.)
fn is_name(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/".contains(&b))
}

impl Pin {
    /// Does it have a digest to be checked against?
    pub fn is_pinned(&self) -> bool {
        self.sha256.is_some() || self.md5.is_some()
    }

    /// The digest that stands for the file in keys of the store; none if it is unpinned.
    pub fn identity(&self) -> Option<Digest> {
        self.sha256.or_else(|| self.md5.map(|md5| Digest::of_parts([b"md5".as_slice(), &md5.0])))
    }

    /// Checks what was found. `md5` is needed only where the pin has one ([`Sums`] sees to it). The error says what
    /// differs; of an unpinned source it prints the lines to add.
    pub fn check(&self, bytes: u64, sha256: Digest, md5: Option<Md5>) -> Result<()> {
        let differs = |what: String| {
            Err(Error::new(format!("{} is not the pinned file: {what}", self.id)).help(format!(
                "get it again from one of {}; if its publisher has replaced it, pin the new file on purpose: give a file \
                 with this entry with --sources FILE\n{}",
                self.urls.join(", "),
                self.entry(bytes, sha256)
            )))
        };
        if let Some(pinned) = self.bytes
            && pinned != bytes
        {
            return differs(format!("it has {bytes} bytes, pinned are {pinned}"));
        }
        if let Some(pinned) = self.sha256
            && pinned != sha256
        {
            return differs(format!("it has SHA-256 {sha256}, pinned is {pinned}"));
        }
        match (self.md5, md5) {
            (Some(pinned), Some(found)) if pinned != found => {
                return differs(format!("it has MD5 {found}, pinned is {pinned}"));
            }
            (Some(_), None) if self.sha256.is_none() => {
                fail!("{} is pinned by MD5 alone, and no MD5 was computed", self.id)
            }
            _ => {}
        }
        if !self.is_pinned() {
            return Err(Error::new(format!("{} is not pinned: its {bytes} bytes have SHA-256 {sha256}", self.id)).help(
                format!(
                    "if that is the file you mean, let its entry in {OWN}, or in a file given with --sources FILE, be\n{}",
                    self.entry(bytes, sha256)
                ),
            ));
        }
        Ok(())
    }

    /// The entry that pins what was found, as TOML.
    fn entry(&self, bytes: u64, sha256: Digest) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let urls: Vec<String> = self.urls.iter().map(|url| quoted(url)).collect();
        let mut lines = format!(
            "[[source]]\nid = {}\nurls = [{}]\nbytes = {bytes}\nsha256 = \"{sha256}\"\nlicence = {}",
            quoted(&self.id),
            urls.join(", "),
            quoted(&self.licence)
        );
        if !self.members.is_empty() {
            lines += "\n[source.members]";
            for (name, digest) in &self.members {
                lines += &format!("\n{} = \"{digest}\"", quoted(name));
            }
        }
        lines
    }

    /// Checks a file on disk; reads it as a stream. Its SHA-256 and size in bytes.
    pub fn check_file(&self, path: &Path) -> Result<(Digest, u64)> {
        let file = std::fs::File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
        let mut reader = PinnedReader::new(file, self);
        std::io::copy(&mut reader, &mut std::io::sink()).map_err(|e| Error::io("cannot read", path, e))?;
        reader.finish().map_err(|e| e.at(path.display()))
    }

    /// Checks a member's bytes. A member without a pin is an error that prints the line to add.
    pub fn check_member(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.check_member_digest(name, bytes.len() as u64, Digest::of(bytes))
    }

    /// [`Pin::check_member`] of bytes that were digested as they passed.
    pub fn check_member_digest(&self, name: &str, bytes: u64, found: Digest) -> Result<()> {
        match self.members.get(name) {
            Some(pinned) if *pinned == found => Ok(()),
            Some(pinned) => Err(Error::new(format!(
                "{name} is not the pinned file: its {bytes} bytes have SHA-256 {found}, pinned is {pinned}"
            ))
            .help(format!(
                "get the official files of {} again, or leave out `archive` to build from these",
                self.id
            ))),
            None => Err(Error::new(format!("{name} has no pin under {}", self.id)).help(format!(
                "give the archive itself, leave out `archive` to build from this file, or add it to the members in {OWN}: {name:?} = \"{found}\""
            ))),
        }
    }
}

/// The digests that a pin asks for, taken while bytes pass; MD5 only where it is pinned.
#[derive(Clone)]
pub struct Sums {
    bytes: u64,
    sha256: Sha256,
    md5: Option<Md5Hasher>,
}

impl Sums {
    /// Of no bytes yet.
    pub fn new(pin: &Pin) -> Sums {
        Sums { bytes: 0, sha256: Sha256::new(), md5: pin.md5.map(|_| Md5Hasher::new()) }
    }

    /// The next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.sha256.update(bytes);
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
    }

    /// How many bytes there were.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Size in bytes, SHA-256, and MD5 where the pin has one: what [`Pin::check`] takes.
    pub fn finish(self) -> (u64, Digest, Option<Md5>) {
        (self.bytes, Digest(self.sha256.finalize().into()), self.md5.map(|md5| Md5(md5.finalize().into())))
    }
}

/// Passes a source's bytes through; at its end they are checked against the pin.
pub struct PinnedReader<'a, R> {
    inner: R,
    pin: &'a Pin,
    sums: Sums,
}

impl<'a, R: Read> PinnedReader<'a, R> {
    /// Wraps a reader that stands at its beginning.
    pub fn new(inner: R, pin: &'a Pin) -> Self {
        PinnedReader { inner, pin, sums: Sums::new(pin) }
    }

    /// Checks what passed; read to the end first. SHA-256 and size in bytes.
    pub fn finish(self) -> Result<(Digest, u64)> {
        let (bytes, sha256, md5) = self.sums.finish();
        self.pin.check(bytes, sha256, md5)?;
        Ok((sha256, bytes))
    }
}

impl<R: Read> Read for PinnedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.sums.update(&buffer[..n]);
        Ok(n)
    }
}
