//! Which of many files a place holds.

use super::Place;
use super::push::FILES_AT_ONCE;
use crate::error::Result;
use crate::hash::Digest;
use crate::parallel;

/// A file as it should be: name, digest, size in bytes.
pub type File<'a> = (&'a str, Digest, u64);

/// Asks a place for files, several at once, and tells of each whether it is held.
///
/// # Errors
///
/// Of the files for which asking or telling failed, the error of the first.
pub fn each(place: &Place, files: &[File<'_>], tell: impl Fn(File<'_>, bool) -> Result<()> + Sync) -> Result<()> {
    let one = |n: usize, (): &mut ()| {
        let (name, digest, bytes) = files[n];
        tell(files[n], place.holds(name, digest, bytes)?)
    };
    parallel::each(FILES_AT_ONCE, files.len(), || (), one)
}
