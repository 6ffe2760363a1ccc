//! Downloads pinned files into a cache, or streams them: resumed where they broke off, digested on the way.
//!
//! The cache holds `<digest>/<file name>`, where the digest is the pin's SHA-256, or MD5 where only that is pinned.
//! Beside a file stand
//!
//! - `.verified`: size and times of change that the file had when its digest was last found right. While they hold it
//!   is not read again: a file of 4 GB takes long. Whoever changes a file and sets all its times back is not noticed.
//! - `.partial` and `.partial.from`: what has come so far, and from which URL in which version.
//! - `.lock`: held while a download runs; a second process waits and then uses what the first one got.
//!
//! A `.partial` is removed where it is empty or wrong. An unpinned file is kept under the digest it turned out to have, so that it is there once it is pinned.

use crate::error::{Error, Result};
use crate::source::pins::Pin;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a [`Fetcher`] works.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// The folder of the cache, made when the first file comes.
    pub cache: PathBuf,
    /// Never open a socket: what is not in the cache is an error.
    pub offline: bool,
    /// A connection that brings no byte for so long is given up and made anew.
    pub stall: Duration,
    /// How many failures in a row, without a byte more than before, are borne.
    pub retries: u32,
    /// Wait after the first failure; it doubles with each, up to [`MAX_WAIT`] or the first wait if that is longer.
    pub back_off: Duration,
    /// How many downloads run at once.
    pub parallel: usize,
}

/// No wait between two tries is longer, unless the first one is.
pub const MAX_WAIT: Duration = Duration::from_secs(30);

impl FetchOptions {
    /// The usual way: online, 60 s to a stall, 8 retries from 1 s on, 4 at once.
    pub fn new(cache: PathBuf) -> FetchOptions {
        FetchOptions {
            cache,
            offline: false,
            stall: Duration::from_secs(60),
            retries: 8,
            back_off: Duration::from_secs(1),
            parallel: 4,
        }
    }
}

/// Gets pinned files.
pub struct Fetcher {
    options: FetchOptions,
    #[cfg(feature = "fetch")]
    net: std::sync::Arc<net::Net>,
}

/// What a cached file looked like when its digest was right.
#[derive(PartialEq, Serialize, Deserialize)]
struct Verified {
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Verified {
    fn of(path: &Path) -> Result<Verified> {
        use std::os::unix::fs::MetadataExt;
        let about = std::fs::metadata(path).map_err(|e| Error::io("cannot look at", path, e))?;
        Ok(Verified {
            bytes: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        })
    }
}

/// The path with something after its name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// What went wrong, without place and help.
#[cfg(feature = "fetch")]
fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// The last part of a URL's path, fit to be a file's name.
pub fn file_name(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let after_host = path.split_once("://").map_or(path, |(_, rest)| rest);
    let last = after_host.split_once('/').map_or("", |(_, path)| path.rsplit('/').next().unwrap_or_default());
    let plain: String =
        last.chars().map(|c| if c.is_ascii_alphanumeric() || "._-+%".contains(c) { c } else { '_' }).collect();
    if plain.is_empty() || plain.starts_with('.') { format!("file{plain}") } else { plain }
}

impl Fetcher {
    /// A fetcher. Nothing is opened before the first file is wanted.
    pub fn new(options: FetchOptions) -> Fetcher {
        Fetcher {
            options,
            #[cfg(feature = "fetch")]
            net: Default::default(),
        }
    }

    /// Where the cache keeps a pin's file. An unpinned one is only on its way there.
    pub fn place(&self, pin: &Pin) -> PathBuf {
        let folder = match (pin.sha256, pin.md5) {
            (Some(sha256), _) => sha256.to_string(),
            (None, Some(md5)) => md5.to_string(),
            (None, None) => format!("unpinned-{}", crate::hash::Digest::of(&pin.id).short()),
        };
        self.options.cache.join(folder).join(file_name(pin.urls.first().map_or("", String::as_str)))
    }

    /// The file of a pin, from the cache or downloaded now. What comes and is not what is pinned is an error, and not
    /// kept; an unpinned source is downloaded, and the error prints the lines that pin it.
    pub fn file(&self, pin: &Pin) -> Result<PathBuf> {
        let place = self.place(pin);
        // A sound file needs no lock: the cache may be one that may only be read.
        match self.cached(pin, &place) {
            Ok(true) => Ok(place),
            Err(e) if self.options.offline => Err(e.help("remove the file and run again without --offline")),
            _ => self.download(pin, &place),
        }
    }

    /// The files of several pins, in their order, downloaded at once. All are tried; one error tells of all failures.
    pub fn files(&self, pins: &[&Pin]) -> Result<Vec<PathBuf>> {
        use std::sync::Mutex;
        use std::sync::atomic::{AtomicUsize, Ordering};
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<Option<Result<PathBuf>>>> = Mutex::new(pins.iter().map(|_| None).collect());
        std::thread::scope(|scope| {
            for _ in 0..self.options.parallel.clamp(1, pins.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        let Some(pin) = pins.get(n) else { break };
                        let file = self.file(pin);
                        done.lock().unwrap_or_else(|e| e.into_inner())[n] = Some(file);
                    }
                });
            }
        });
        let mut paths = Vec::new();
        let mut failed = Vec::new();
        for file in done.into_inner().unwrap_or_else(|e| e.into_inner()).into_iter().flatten() {
            match file {
                Ok(path) => paths.push(path),
                Err(e) => failed.push(e),
            }
        }
        match failed.len() {
            0 => Ok(paths),
            1 => Err(failed.remove(0)),
            n => {
                let all: Vec<String> = failed.iter().map(Error::to_string).collect();
                Err(Error::new(format!("{n} of {} sources could not be had\n{}", pins.len(), all.join("\n"))))
            }
        }
    }

    /// The bytes of a pin straight from the network, with no copy on disk and in constant memory. Broken connections
    /// are made anew where they broke off. A cached file is read instead. Nothing is digested here: wrap it in a
    /// [`PinnedReader`](crate::source::pins::PinnedReader).
    pub fn stream(&self, pin: &Pin) -> Result<Box<dyn Read + Send>> {
        let place = self.place(pin);
        if let Ok(true) = self.cached(pin, &place) {
            let file = std::fs::File::open(&place).map_err(|e| Error::io("cannot open", &place, e))?;
            return Ok(Box::new(file));
        }
        self.online(pin, &place)?;
        #[cfg(feature = "fetch")]
        return Ok(Box::new(net::Stream::new(self.net.clone(), &self.options, pin)?));
        #[cfg(not(feature = "fetch"))]
        Err(built_without(pin))
    }

    /// Is the right file in its place? An error if a wrong one is.
    fn cached(&self, pin: &Pin, place: &Path) -> Result<bool> {
        if !pin.is_pinned() || !place.is_file() {
            return Ok(false);
        }
        let found = Verified::of(place)?;
        let note = beside(place, ".verified");
        let noted = std::fs::read(&note).ok().and_then(|text| serde_json::from_slice::<Verified>(&text).ok());
        if noted.is_some_and(|noted| noted == found) && pin.bytes.is_none_or(|bytes| bytes == found.bytes) {
            return Ok(true);
        }
        pin.check_file(place)?;
        // Only a help for the next time: a cache that may not be written is no error.
        if let Ok(text) = serde_json::to_vec(&found) {
            let _ = crate::store::write_aside(&note, |out| out.write_all(&text));
        }
        Ok(true)
    }

    /// Refuses where no socket may be opened.
    fn online(&self, pin: &Pin, place: &Path) -> Result<()> {
        if !self.options.offline {
            return Ok(());
        }
        let help = if pin.is_pinned() {
            format!(
                "put the file at {}, or in the folder given with --data DIR, or leave out --offline",
                place.display()
            )
        } else {
            "it has no digest, so no copy of it can be known: fetch it once without --offline, which prints the lines \
             that pin it"
                .to_owned()
        };
        Err(Error::new(format!("{} is not in the cache, and --offline forbids its download", pin.id))
            .at(pin.urls.join(", "))
            .help(help))
    }

    #[cfg(not(feature = "fetch"))]
    fn download(&self, pin: &Pin, place: &Path) -> Result<PathBuf> {
        self.online(pin, place)?;
        Err(built_without(pin).help(format!(
            "get {} yourself and put it at {}",
            pin.urls.join(" or "),
            place.display()
        )))
    }

    #[cfg(feature = "fetch")]
    fn download(&self, pin: &Pin, place: &Path) -> Result<PathBuf> {
        self.online(pin, place)?;
        crate::store::make_dir(place.parent().unwrap_or(place))?;
        let _lock = self.net.lock(&beside(place, ".lock"))?;
        // Another process may have been quicker.
        match self.cached(pin, place) {
            Ok(true) => return Ok(place.to_owned()),
            Ok(false) => {}
            Err(e) => {
                self.net.warn(&format!(
                    "{} in the cache is removed and downloaded again: {}",
                    place.display(),
                    first_line(&e)
                ));
                let _ = std::fs::remove_file(beside(place, ".verified"));
                std::fs::remove_file(place).map_err(|e| Error::io("cannot remove", place, e))?;
            }
        }
        let partial = beside(place, ".partial");
        let (bytes, sha256, md5) = self.net.download(&self.options, pin, &partial)?;
        let place = if pin.is_pinned() {
            place.to_owned()
        } else {
            let name = place.file_name().unwrap_or_default();
            let known = self.options.cache.join(sha256.to_string()).join(name);
            crate::store::make_dir(known.parent().unwrap_or(&known))?;
            known
        };
        std::fs::rename(&partial, &place).map_err(|e| Error::io("cannot rename to", &place, e))?;
        let _ = std::fs::remove_file(beside(&partial, ".from"));
        crate::store::sync_dir(place.parent().unwrap_or(&place))?;
        if let Ok(text) =
            Verified::of(&place).and_then(|v| serde_json::to_vec(&v).map_err(|e| Error::new(e.to_string())))
        {
            let _ = crate::store::write_aside(&beside(&place, ".verified"), |out| out.write_all(&text));
        }
        pin.check(bytes, sha256, md5)?;
        Ok(place)
    }
}

#[cfg(not(feature = "fetch"))]
fn built_without(pin: &Pin) -> Error {
    Error::new(format!(
        "{} is not in the cache, and this program was built without downloads (feature `fetch`)",
        pin.id
    ))
}

/// What opens sockets.
#[cfg(feature = "fetch")]
mod net;

#[cfg(feature = "cloud")]
mod bucket;
