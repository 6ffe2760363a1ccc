//! Places that files lie in: folders, buckets of S3, GCS and Azure, and what a web server shows.
//!
//! A [`Place`] is a folder of named files; a name is a path below it, its parts set apart by `/`. Every call blocks. What is
//! sent or comes is whole or not there: files are written aside and renamed, objects appear when they are complete, and an
//! upload in parts is finished, undone, or noted in the place ([`NOTES`]), so that whoever comes next undoes it
//! ([`Place::undo_uploads`]).
//!
//! Credentials come from the environment alone and stand in no message.

mod address;
#[cfg(feature = "cloud")]
mod cloud;
mod local;
pub mod pull;
pub mod push;
mod sums;

use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::report::Progress;
use crate::verify::is_inside;
use address::Address;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The folder of a place that holds what is noted of work under way; no list of the place shows it.
pub const NOTES: &str = ".nihbuild";

/// How long servers are borne with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// A request that moves no byte for so long is given up, and made again.
    pub stall: Duration,
    /// How many failures in a row, without a byte more than before, are borne.
    pub retries: u32,
    /// Wait after the first failure; it doubles with each, up to half a minute.
    pub back_off: Duration,
}

impl Default for Patience {
    /// As downloads have it: 60 s to a stall, 8 retries from 1 s on.
    fn default() -> Self {
        Patience { stall: Duration::from_secs(60), retries: 8, back_off: Duration::from_secs(1) }
    }
}

/// No wait between two tries is longer, unless the first one is.
#[cfg(feature = "cloud")]
const MAX_WAIT: Duration = Duration::from_secs(30);

#[cfg(feature = "cloud")]
impl Patience {
    /// Wait after so many failures and one more.
    fn wait(&self, failures: u32) -> Duration {
        self.back_off.saturating_mul(1 << failures.min(20)).min(MAX_WAIT.max(self.back_off))
    }
}

/// What [`Place::create`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// It was not there, and is now.
    Created,
    /// Something of this name was there, and was left as it is.
    There,
}

/// A folder of files, somewhere.
#[derive(Clone)]
pub struct Place {
    kind: Kind,
    moved: Option<Arc<Progress>>,
}

#[derive(Clone)]
enum Kind {
    Local(PathBuf),
    #[cfg(feature = "cloud")]
    Cloud(cloud::Cloud),
}

impl Place {
    /// Reads `s3://bucket/prefix`, `gs://..`, `az://container/..`, `http(s)://..`, `file:///..`, or a path. Opens no socket.
    pub fn parse(text: &str) -> Result<Place> {
        Place::with(text, Patience::default(), None)
    }

    /// [`Place::parse`], with other patience than usual, and variables in place of the environment's.
    #[cfg_attr(not(feature = "cloud"), allow(unused_variables))]
    pub fn with(text: &str, patience: Patience, variables: Option<&[(String, String)]>) -> Result<Place> {
        let kind = match Address::parse(text)? {
            Address::Local(path) => Kind::Local(path),
            #[cfg(feature = "cloud")]
            Address::Remote(remote) => Kind::Cloud(cloud::Cloud::new(remote, patience, variables)),
            #[cfg(not(feature = "cloud"))]
            Address::Remote(_) => {
                return Err(Error::new(format!(
                    "{text}: this program was built without object storage (feature `cloud`)"
                ))
                .help("copy what lies there to a folder, and name that"));
            }
        };
        Ok(Place { kind, moved: None })
    }

    /// A folder of this machine.
    pub fn of(folder: &Path) -> Place {
        Place { kind: Kind::Local(folder.to_owned()), moved: None }
    }

    /// Bytes that are moved are told to it.
    pub fn told(mut self, progress: Arc<Progress>) -> Place {
        self.moved = Some(progress);
        self
    }

    /// A folder below this one.
    pub fn join(&self, name: &str) -> Place {
        let kind = match &self.kind {
            Kind::Local(folder) => Kind::Local(folder.join(name)),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => Kind::Cloud(cloud.join(name)),
        };
        Place { kind, moved: self.moved.clone() }
    }

    /// The folder, where it is one of this machine.
    pub fn is_local(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Local(folder) => Some(folder),
            #[cfg(feature = "cloud")]
            Kind::Cloud(_) => None,
        }
    }

    /// An error where `offline` forbids sockets and the place needs one.
    pub fn allowed(&self, offline: bool) -> Result<()> {
        match offline && self.is_local().is_none() {
            true => Err(Error::new(format!("{self} lies behind a network, which --offline forbids"))
                .help("name a folder of this machine, or leave out --offline")),
            false => Ok(()),
        }
    }

    /// An error where the place is one that is only read. Opens no socket.
    pub fn writable(&self) -> Result<()> {
        match &self.kind {
            Kind::Local(_) => Ok(()),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => cloud.writable(),
        }
    }

    /// The bytes of a file; none where it is not there. For small ones.
    pub fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        inside(name)?;
        match &self.kind {
            Kind::Local(folder) => local::get(folder, name),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => cloud.get(name),
        }
    }

    /// Is there such a file?
    pub fn exists(&self, name: &str) -> Result<bool> {
        Ok(self.size(name)?.is_some())
    }

    /// Size of a file in bytes; none where it is not there.
    pub fn size(&self, name: &str) -> Result<Option<u64>> {
        inside(name)?;
        match &self.kind {
            Kind::Local(folder) => local::size(folder, name),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => cloud.size(name),
        }
    }

    /// Does it hold this file? A bucket is asked for size and digest as they were noted when the file was sent, a folder is
    /// read.
    pub fn holds(&self, name: &str, digest: Digest, bytes: u64) -> Result<bool> {
        inside(name)?;
        match &self.kind {
            Kind::Local(folder) => local::holds(folder, name, digest, bytes),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => cloud.holds(name, digest, bytes),
        }
    }

    /// Every file below a folder of the place (`""` is the place itself) with its size in bytes, sorted by name; names are
    /// those from the place on. A web server cannot say.
    pub fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>> {
        if !prefix.is_empty() {
            inside(prefix)?;
        }
        let mut all = match &self.kind {
            Kind::Local(folder) => local::list(folder, prefix)?,
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => cloud.list(prefix)?,
        };
        let noted = |name: &str| name.strip_prefix(NOTES).is_some_and(|rest| rest.starts_with('/'));
        if !prefix.starts_with(NOTES) {
            all.retain(|(name, _)| !noted(name));
        }
        all.sort();
        Ok(all)
    }

    /// Brings a file to a path of this machine: streamed to a file beside it, synced and renamed. Broken connections are made
    /// again where they broke off; with a digest, so is what another run began. Gives its digest and size in bytes.
    pub fn fetch(&self, name: &str, to: &Path, expected: Option<Digest>) -> Result<(Digest, u64)> {
        inside(name)?;
        let moved = |n: u64| self.moved.iter().for_each(|progress| progress.add(n));
        match &self.kind {
            Kind::Local(folder) => local::fetch(folder, name, to, expected, &moved),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => cloud.fetch(name, to, expected, &moved),
        }
    }

    /// Makes a small file if nothing of its name is there; of several at once, in whatever process, one alone does. After a
    /// connection that broke it may be one's own that is [`Creation::There`]: what it holds tells.
    pub fn create(&self, name: &str, bytes: &[u8]) -> Result<Creation> {
        inside(name)?;
        match &self.kind {
            Kind::Local(folder) => local::create(folder, name, bytes),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => cloud.create(name, bytes),
        }
    }

    /// Sends a file, which must have this digest; large ones in parts. It is there whole afterwards, or not at all; what was
    /// there before is replaced.
    pub fn upload(&self, name: &str, file: &Path, digest: Digest) -> Result<()> {
        inside(name)?;
        let moved = |n: u64| self.moved.iter().for_each(|progress| progress.add(n));
        match &self.kind {
            Kind::Local(folder) => local::upload(folder, name, file, digest, &moved),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => cloud.upload(name, file, digest, &moved),
        }
    }

    /// Removes a file; one that is not there is no error.
    pub fn remove(&self, name: &str) -> Result<()> {
        inside(name)?;
        match &self.kind {
            Kind::Local(folder) => local::remove(folder, name),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => cloud.remove(name),
        }
    }

    /// Undoes uploads that a killed run left, and says how many there were. Those of a run that is still at work are undone as well (it
    /// begins these files anew): call it where you hold a claim, or know that nobody else sends to this place.
    pub fn undo_uploads(&self) -> Result<usize> {
        match &self.kind {
            Kind::Local(folder) => local::undo_uploads(folder),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => cloud.undo_uploads(),
        }
    }

    /// The bytes of a file from `from` on, as a stream that does not mend itself.
    #[cfg(feature = "cloud")]
    pub(crate) fn open(&self, name: &str, from: u64, etag: Option<&str>) -> std::result::Result<Opened, OpenFault> {
        inside(name).map_err(OpenFault::Never)?;
        match &self.kind {
            Kind::Local(folder) => local::open(folder, name, from),
            Kind::Cloud(cloud) => cloud.open(name, from, etag),
        }
    }
}

/// A file that is being read.
#[cfg(feature = "cloud")]
pub(crate) struct Opened {
    pub body: Box<dyn std::io::Read + Send>,
    /// Where the body begins.
    pub start: u64,
    /// Size of the whole file in bytes.
    pub total: u64,
    /// Names the version of the file.
    pub etag: Option<String>,
}

/// Why a file cannot be read.
#[cfg(feature = "cloud")]
pub(crate) enum OpenFault {
    /// It may go well another time.
    Again(Error),
    /// It will not.
    Never(Error),
    /// It is not long enough, or is another version.
    Changed,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Local(folder) => write!(f, "{}", folder.display()),
            #[cfg(feature = "cloud")]
            Kind::Cloud(cloud) => write!(f, "{cloud}"),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

/// Does a text name something behind a network?
pub fn is_remote(text: &str) -> bool {
    matches!(Address::parse(text), Ok(Address::Remote(_)))
}

/// Does a text begin like the address of a bucket?
pub fn is_object(text: &str) -> bool {
    address::scheme(text).is_some_and(|scheme| address::BUCKETS.contains(&scheme.to_ascii_lowercase().as_str()))
}

/// An error where a text is no address of one file in a bucket.
pub fn check_object(text: &str) -> Result<()> {
    match Address::parse(text)? {
        Address::Remote(remote) if !remote.prefix.is_empty() && !text.ends_with('/') => Ok(()),
        _ => Err(Error::new(format!("{text} names no file in a bucket")).help("write s3://BUCKET/PATH")),
    }
}

/// Does a text begin like an address, rather than a path?
pub fn is_address(text: &str) -> bool {
    address::scheme(text).is_some()
}

fn inside(name: &str) -> Result<()> {
    let plain = !name.contains('\\') && name.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    match plain && is_inside(name) {
        true => Ok(()),
        false => Err(Error::new(format!("{name:?} is no name of a file inside a place"))
            .help("a name is a path below the place, with / between its parts")),
    }
}

/// The path beside `to` that a file is written at before it is renamed.
fn aside(to: &Path) -> PathBuf {
    let name = to.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    to.with_file_name(format!(".{name}{PARTIAL}"))
}

/// The ending of files on their way.
const PARTIAL: &str = ".partial";

/// What a file should be and is not.
fn differs(what: impl fmt::Display, found: Digest, expected: Digest) -> Error {
    Error::new(format!("{what} has SHA-256 {found}, expected is {expected}"))
}
