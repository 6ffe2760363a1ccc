//! Places that files lie in: folders, buckets of S3, GCS and Azure, and what a web server shows.
//!
//! A [`Place`] is a folder of named files; a name is a path below it, its parts set apart by `/`. Every call blocks. What is
//! sent or comes is whole or not there: files are written aside and renamed, objects appear when they are complete, and an
//! upload in parts is finished, undone, or noted in the place ([`NOTES`]), so that whoever comes next undoes it
//! ([`Place::undo_uploads`]).
//!
//! Credentials come from the environment alone and stand in no message.

mod address;
pub mod ahead;
#[cfg(feature = "cloud")]
mod cloud;
pub mod held;
mod local;
mod place;
pub mod pull;
pub mod push;
mod sums;

use crate::error::{Error, Result};
use crate::hash::Digest;
use address::Address;
pub use place::Place;
use std::fmt;
use std::path::{Path, PathBuf};
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
