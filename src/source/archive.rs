//! Reads members of archives without unpacking anything to disk.
//!
//! Nothing that an archive says about itself is trusted: sizes count as read, and a path that leads out of the
//! archive refuses the whole of it, wanted or not.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::rc::Rc;

/// No archive that is read here holds nearly as many.
const MAX_ENTRIES: usize = 10_000;

/// What headers between two members of a tar may take, in bytes; long names are read into memory.
const MAX_HEADERS: u64 = 1 << 20;

/// How errors call what was read of an archive.
const TRUNCATED: &str = "it may be truncated, or not the file it should be: download it again";

/// A member's path in plain form (`./` at its beginning falls away), if it stays inside the archive.
fn member_name(archive: &str, path: &str) -> Result<String> {
    let mut plain = path;
    while let Some(rest) = plain.strip_prefix("./") {
        plain = rest;
    }
    let drive = plain.as_bytes().get(1) == Some(&b':');
    if plain.starts_with('/') || drive || plain.contains(['\\', '\0']) || plain.split('/').any(|part| part == "..") {
        return Err(Error::new(format!("the archive {archive} holds the path {path:?}, which leads out of it"))
            .help("it was made to do harm, or by mistake: get the official file"));
    }
    Ok(plain.to_owned())
}

/// Reads at most `max` bytes into memory; one more is an error.
fn read_capped(archive: &str, name: &str, member: &mut dyn Read, max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    member.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| {
        Error::new(format!("cannot read the archive {archive}: {e}")).at(name.to_owned()).help(TRUNCATED)
    })?;
    if bytes.len() as u64 > max {
        return Err(Error::new(format!("{name} in {archive} is larger than {max} bytes")));
    }
    Ok(bytes)
}

/// The wanted members of a zip archive with their bytes, in order of their names.
///
/// Refused are: paths that lead out, links and names that stand twice, wherever they are; more than 10,000 entries; a
/// wanted member of more than `max_member` bytes as read; a file that is no whole zip archive.
pub fn zip_members(path: &Path, wanted: impl Fn(&str) -> bool, max_member: u64) -> Result<Vec<(String, Vec<u8>)>> {
    let archive = path.display().to_string();
    let fault =
        |e: zip::result::ZipError| Error::new(format!("cannot read the archive {archive}: {e}")).help(TRUNCATED);
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let mut zip = zip::ZipArchive::new(BufReader::new(file)).map_err(fault)?;
    if zip.len() > MAX_ENTRIES {
        return Err(Error::new(format!("the archive {archive} holds {} entries, more than {MAX_ENTRIES}", zip.len())));
    }
    let twice = |name: &str| Error::new(format!("the archive {archive} holds {name} twice"));
    if zip.has_duplicate_names() {
        return Err(twice("a name"));
    }
    let mut names = Vec::new();
    for n in 0..zip.len() {
        let entry = zip.by_index_data(n).map_err(fault)?;
        let name = member_name(&archive, &entry.name().map_err(fault)?)?;
        if entry.is_symlink() {
            return Err(Error::new(format!("the archive {archive} holds {name} as a link")));
        }
        names.push((name, n, entry.is_dir()));
    }
    names.sort();
    // Names that differ as written can be the same in plain form.
    if let Some(pair) = names.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(twice(&pair[0].0));
    }
    let mut members = Vec::new();
    for (name, n, is_dir) in names {
        if is_dir || !wanted(&name) {
            continue;
        }
        let mut member = zip.by_index(n).map_err(|e| fault(e).at(name.clone()))?;
        let bytes = read_capped(&archive, &name, &mut member, max_member)?;
        members.push((name, bytes));
    }
    Ok(members)
}

/// Reads a tar through, entry by entry, and never more than [`MAX_HEADERS`] between two members.
struct Bounded<R> {
    inner: R,
    at: u64,
    limit: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.at += n as u64;
        if self.at > self.limit.get() {
            return Err(std::io::Error::other(format!("more than {MAX_HEADERS} bytes of headers before a member")));
        }
        Ok(n)
    }
}

/// One entry of a tar, under its checked name.
type TarEntry<'a, R> = tar::Entry<'a, Bounded<flate2::read::GzDecoder<R>>>;

/// Hands each entry to `visit` until that returns something.
fn visit_tar_gz<R: Read, T>(
    archive: &str,
    reader: R,
    mut visit: impl FnMut(String, &mut TarEntry<'_, R>) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let fault = |e: std::io::Error| Error::new(format!("cannot read the archive {archive}: {e}")).help(TRUNCATED);
    let limit = Rc::new(Cell::new(MAX_HEADERS));
    let inner = flate2::read::GzDecoder::new(reader);
    let mut tar = tar::Archive::new(Bounded { inner, at: 0, limit: limit.clone() });
    for (n, entry) in tar.entries().map_err(fault)?.enumerate() {
        let mut entry = entry.map_err(fault)?;
        if n == MAX_ENTRIES {
            return Err(Error::new(format!("the archive {archive} holds more than {MAX_ENTRIES} entries")));
        }
        let size = entry.size().max(entry.header().entry_size().map_err(fault)?);
        limit.set(entry.raw_file_position().saturating_add(size).saturating_add(MAX_HEADERS));
        let name = member_name(archive, &String::from_utf8_lossy(&entry.path_bytes()))?;
        if let Some(found) = visit(name, &mut entry)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The wanted members of a tar.gz archive with their bytes, in order of their names. `archive` names it in errors.
///
/// Refused are: any path that leads out; a wanted member that is a link or device, or stands twice, or has more than
/// `max_member` bytes as read; more than 10,000 entries; a stream that ends early.
pub fn tar_gz_members(
    archive: &str,
    reader: impl Read,
    wanted: impl Fn(&str) -> bool,
    max_member: u64,
) -> Result<Vec<(String, Vec<u8>)>> {
    let mut members: Vec<(String, Vec<u8>)> = Vec::new();
    visit_tar_gz(archive, reader, |name, entry| -> Result<Option<()>> {
        if wanted(&name) && !entry.header().entry_type().is_dir() {
            if !entry.header().entry_type().is_file() || members.iter().any(|(known, _)| *known == name) {
                return Err(Error::new(format!("the archive {archive} holds {name} as a link, a device, or twice")));
            }
            let bytes = read_capped(archive, &name, entry, max_member)?;
            members.push((name, bytes));
        }
        Ok(None)
    })?;
    members.sort();
    Ok(members)
}

/// Hands one member of a tar.gz to `read` as a stream, whatever its size, then reads `reader` to its end, so that a
/// reader which digests what passes has seen the whole archive. Where `read` fails, its error comes back at once.
///
/// The digest is known only afterwards: check it before what `read` returned is used. `archive` names it in errors.
pub fn with_tar_gz_member<T>(
    archive: &str,
    mut reader: impl Read,
    member: &str,
    read: impl FnOnce(&mut dyn Read) -> Result<T>,
) -> Result<T> {
    let mut read = Some(read);
    let mut others = Vec::new();
    let found = visit_tar_gz(archive, &mut reader, |name, entry| {
        if name != member {
            others.push(name);
            return Ok(None);
        }
        if !entry.header().entry_type().is_file() {
            return Err(Error::new(format!("the archive {archive} holds {name} as a link or a device")));
        }
        read.take().map(|read| read(entry)).transpose()
    })?;
    let found = found.ok_or_else(|| {
        others.truncate(20);
        Error::new(format!("the archive {archive} has no member {member}, it has {}", others.join(", ")))
    })?;
    std::io::copy(&mut reader, &mut std::io::sink())
        .map_err(|e| Error::new(format!("cannot read the archive {archive} to its end: {e}")).help(TRUNCATED))?;
    Ok(found)
}
