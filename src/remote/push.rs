//! A release to a place: claimed first, its files, and last of all its SHA256SUMS, which says that it is whole.
//!
//! - A claim (`Claim`) is created on condition that there is none, so of two releases for one place one alone goes on. It
//!   names the release, not the run: who sends the same release again goes on where another run stopped.
//! - After the claim it is looked once more whether a release is there: one may have been finished just before.
//! - Each file is kept with its SHA-256; one that is there is not sent again.
//! - SHA256SUMS is created on condition too, and the claim goes after it. So a place has no claim and no SHA256SUMS, a claim (work under
//!   way, or broken off), or SHA256SUMS (a whole release).

use super::sums::{self, Claim, SUMS, claim_file};
use super::{Creation, Place, held};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::parallel;
use crate::report::Progress;
use crate::verify::{check_sums, read_manifest};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Files that are on their way at once.
pub(super) const FILES_AT_ONCE: usize = 4;

/// What became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Pushed {
    /// Name and version of the release.
    pub release: String,
    /// Where it is.
    pub place: String,
    /// Its files, with SHA256SUMS.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// Files that were sent now.
    pub sent: usize,
    /// Uploads of an earlier run that were undone.
    pub undone: usize,
    /// It was there before, whole.
    pub was_there: bool,
}

/// A release that is to be sent.
pub(super) struct Sender<'a> {
    pub folder: &'a Path,
    pub place: &'a Place,
    pub own: Claim,
    pub sums: Vec<u8>,
    /// Digest and size of each file but SHA256SUMS.
    pub files: BTreeMap<String, (Digest, u64)>,
}

/// Sends a release, full or compact.
///
/// # Errors
///
/// The folder is no sound release; the place holds another one, another one is on its way there, or files that belong to none; it cannot be
/// reached. What was sent stays for the next run, under the claim.
pub fn push(folder: &Path, place: &Place) -> Result<Pushed> {
    let sender = Sender::new(folder, place)?;
    if let Some(there) = Claim::whole(place)? {
        return sender.is_whole(&there);
    }
    let fresh = sender.claim()?;
    // One may have been finished between the two looks.
    if let Some(there) = Claim::whole(place)? {
        return sender.is_whole(&there);
    }
    let kept = AtomicUsize::new(0);
    let sent = sender.uninhabited(fresh).and_then(|()| sender.send(&kept));
    match sent {
        Ok(pushed) => Ok(pushed),
        // Nothing of this release is there: whoever else comes may have the place.
        Err(e) if fresh && kept.into_inner() == 0 => {
            let _ = place.remove(&claim_file());
            Err(e)
        }
        Err(e) if e.has_help() => Err(e),
        Err(e) => {
            Err(e.help("run the same command again to go on where it stopped; `--undo` takes back what was sent"))
        }
    }
}

/// Takes back what was sent of a release that is not whole; says how many files there were. No push of it may be at work: it would
/// send into a place that is nobody's.
///
/// # Errors
///
/// The place holds a whole release, or the claim is another's.
pub fn undo(folder: &Path, place: &Place) -> Result<usize> {
    let sender = Sender::new(folder, place)?;
    if let Some(there) = Claim::whole(place)? {
        return Err(Error::new(format!("{place} holds {there}, whole"))
            .help("a release that others may read is not taken back here"));
    }
    match Claim::on(place)? {
        Some(claim) if claim.sums == sender.own.sums => {}
        Some(claim) => return Err(sender.taken(&claim)),
        None => return Ok(0),
    }
    place.undo_uploads()?;
    let there: Vec<String> = place.list("")?.into_iter().map(|(name, _)| name).collect();
    let own: Vec<&String> = there.iter().filter(|name| sender.files.contains_key(*name)).collect();
    parallel::each(FILES_AT_ONCE, own.len(), || (), |n, ()| place.remove(own[n]))?;
    place.remove(&claim_file())?;
    Ok(own.len())
}

impl<'a> Sender<'a> {
    pub fn new(folder: &'a Path, place: &'a Place) -> Result<Sender<'a>> {
        place.writable()?;
        let manifest = read_manifest(folder)?;
        if let Some(out) = place.is_local() {
            crate::store::keep_apart(out, folder, &[])?;
        }
        if let Some(finding) = check_sums(folder).first() {
            return Err(Error::new(format!("{} is not sound: {}: {}", folder.display(), finding.file, finding.what))
                .help("see what `nihbuild verify` says of it, and build it again; nothing was sent"));
        }
        let path = folder.join(SUMS);
        let text = std::fs::read(&path).map_err(|e| Error::io("cannot read", &path, e))?;
        let mut files = BTreeMap::new();
        for (name, digest) in sums::read(&text, &path.display().to_string())? {
            let path = folder.join(&name);
            let bytes = std::fs::metadata(&path).map_err(|e| Error::io("cannot look at", &path, e))?.len();
            files.insert(name, (digest, bytes));
        }
        let own = Claim { release: format!("{} {}", manifest.name, manifest.version), sums: Digest::of(&text) };
        Ok(Sender { folder, place, own, sums: text, files })
    }

    pub fn bytes(&self) -> u64 {
        self.files.values().map(|(_, bytes)| bytes).sum::<u64>() + self.sums.len() as u64
    }

    fn pushed(&self, sent: usize, undone: usize, was_there: bool) -> Pushed {
        Pushed {
            release: self.own.release.clone(),
            place: self.place.to_string(),
            files: self.files.len() + 1,
            bytes: self.bytes(),
            sent,
            undone,
            was_there,
        }
    }

    pub fn taken(&self, claim: &Claim) -> Error {
        Error::new(format!("{} is claimed by {claim}, which is on its way there; this is {}", self.place, self.own))
            .help("send this one to another address; if that one was given up, `nihbuild push --undo` with its folder frees the place")
    }

    /// Is the whole release that is there this one, with all its files?
    pub fn compare(&self, there: &Claim) -> Result<()> {
        if there.sums != self.own.sums {
            return Err(Error::new(format!("{} holds {there}; this is {}", self.place, self.own))
                .help("a release is never replaced: send this one to another address"));
        }
        let listed: BTreeMap<String, u64> = self.place.list("")?.into_iter().collect();
        let mut missing = self.files.iter().filter(|(name, (_, bytes))| listed.get(*name) != Some(bytes));
        let Some((first, _)) = missing.next() else { return Ok(()) };
        Err(Error::new(format!(
            "{} has the SHA256SUMS of this release, but {} of its files are missing or of another size, such as {first}",
            self.place,
            1 + missing.count()
        ))
        .help("someone has changed it there: remove it, or send this one to another address"))
    }

    /// A whole release is there: this one, or that is an error.
    fn is_whole(&self, there: &Claim) -> Result<Pushed> {
        let same = self.compare(there);
        // A claim beside a whole release holds nothing: a run left it that ended between its last two steps.
        let undone = match &same {
            Ok(()) => self.place.undo_uploads()?,
            Err(_) => 0,
        };
        self.let_go();
        same.map(|()| self.pushed(0, undone, true))
    }

    /// Removes the claim if it is this release's.
    fn let_go(&self) {
        if let Ok(Some(claim)) = Claim::on(self.place)
            && claim.sums == self.own.sums
        {
            let _ = self.place.remove(&claim_file());
        }
    }

    /// Claims the place; true if nobody had before. It is an error if another release has it.
    fn claim(&self) -> Result<bool> {
        // It may go between two looks, a few times at most.
        for _ in 0..8 {
            if self.place.create(&claim_file(), &self.own.text()?)? == Creation::Created {
                return Ok(true);
            }
            match Claim::on(self.place)? {
                Some(claim) if claim.sums == self.own.sums => return Ok(false),
                Some(claim) => return Err(self.taken(&claim)),
                None => {}
            }
        }
        Err(Error::new(format!("{} is claimed and left again and again", self.place))
            .help("let the other runs end, and run again"))
    }

    /// Nothing else may lie where a release goes: who finds it would not know what belongs to it.
    pub fn uninhabited(&self, fresh: bool) -> Result<()> {
        let strange = |(name, bytes): &(String, u64)| match self.files.get(name) {
            Some((_, own)) => fresh && own != bytes,
            None => name != SUMS,
        };
        let strange: BTreeSet<String> =
            self.place.list("")?.into_iter().filter(strange).map(|(name, _)| name).collect();
        match strange.first() {
            None => Ok(()),
            Some(first) => Err(Error::new(format!(
                "{} holds {} files that are not of this release, such as {first}",
                self.place,
                strange.len()
            ))
            .help("send it to an address that is empty")),
        }
    }

    /// Its files but SHA256SUMS.
    pub fn listed(&self) -> Vec<held::File<'_>> {
        self.files.iter().map(|(name, (digest, bytes))| (name.as_str(), *digest, *bytes)).collect()
    }

    /// Sends what is not there, and seals it. `kept` counts files that are there.
    fn send(&self, kept: &AtomicUsize) -> Result<Pushed> {
        let undone = self.place.undo_uploads()?;
        let progress = Arc::new(Progress::new("push", self.bytes(), "bytes"));
        let place = self.place.clone().told(progress.clone());
        let sent = AtomicUsize::new(0);
        held::each(&place, &self.listed(), |(name, digest, bytes), is_held| {
            match is_held {
                true => progress.add(bytes),
                false => {
                    place.upload(name, &self.folder.join(name), digest)?;
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            }
            kept.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })?;
        match Claim::on(self.place)? {
            Some(claim) if claim.sums == self.own.sums => {}
            Some(claim) => return Err(self.taken(&claim)),
            // Another run of the same release may have been quicker: then its SHA256SUMS are there.
            None => match Claim::whole(self.place)? {
                Some(there) => return self.is_whole(&there),
                None => {
                    return Err(Error::new(format!("the claim on {} was taken away meanwhile", self.place))
                        .help("run the same command again, unless someone has undone it on purpose"));
                }
            },
        }
        if self.place.create(SUMS, &self.sums)? == Creation::There
            && let Some(there) = Claim::whole(self.place)?
            && there.sums != self.own.sums
        {
            return self.is_whole(&there);
        }
        self.let_go();
        let sent = sent.into_inner() + 1;
        if let Some(progress) = Arc::into_inner(progress) {
            progress.finish();
        }
        Ok(self.pushed(sent, undone, false))
    }
}
