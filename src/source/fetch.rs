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
fn file_name(url: &str) -> String {
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
mod net {
    use super::{FetchOptions, MAX_WAIT, beside, first_line};
    use crate::error::{Error, Result};
    use crate::hash::Digest;
    use crate::source::pins::{Md5, Pin, Sums};
    use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
    use reqwest::blocking::{Client, Response};
    use reqwest::header::{self, HeaderMap};
    use reqwest::{StatusCode, redirect};
    use serde::{Deserialize, Serialize};
    use std::fs::{File, TryLockError};
    use std::io::{Read, Seek, Write};
    use std::path::Path;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// Redirects that are followed.
    const MAX_REDIRECTS: usize = 10;

    /// The client, made when it is first needed, and a line of progress a download.
    #[derive(Default)]
    pub struct Net {
        client: Mutex<Option<Client>>,
        bars: MultiProgress,
    }

    /// Which version of which URL bytes came from.
    #[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
    struct Version {
        url: String,
        /// A strong ETag, else a date of change: fit for If-Range.
        validator: Option<String>,
    }

    /// Why a try failed, and what follows.
    enum Fault {
        /// Worth trying again, not before so long.
        Again(String, Duration),
        /// This URL will not do.
        Url(String),
        /// Nothing helps.
        End(Error),
    }

    /// An answer whose body begins at `start`.
    struct Opened {
        body: Response,
        start: u64,
        /// Size of the whole, where the server says it.
        total: Option<u64>,
        validator: Option<String>,
    }

    /// An error with all its causes: the first line of a connection's fault says little.
    fn causes(error: &dyn std::error::Error) -> String {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let more = error.to_string();
            if !text.contains(&more) {
                text += &format!(": {more}");
            }
            cause = error.source();
        }
        text
    }

    fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
        headers.get(name)?.to_str().ok()
    }

    /// `bytes <first>-<last>/<total or *>`.
    fn content_range(value: &str) -> Option<(u64, u64, Option<u64>)> {
        let (range, total) = value.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let total = if total == "*" { None } else { Some(total.parse().ok()?) };
        Some((first.parse().ok()?, last.parse().ok()?, total))
    }

    impl Net {
        /// Waits for the lock of a download, which goes when it is dropped or the process dies.
        pub fn lock(&self, path: &Path) -> Result<File> {
            let fault = |e| Error::io("cannot lock", path, e);
            let file = File::options().create(true).append(true).open(path).map_err(fault)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    self.warn(&format!("waiting for another download ({})", path.display()));
                    file.lock().map_err(fault)?;
                }
                Err(TryLockError::Error(e)) => return Err(fault(e)),
            }
            Ok(file)
        }

        /// A line on stderr that does not run into the bars.
        pub fn warn(&self, line: &str) {
            self.bars.suspend(|| eprintln!("warning: {line}"));
        }

        fn client(&self, options: &FetchOptions) -> Result<Client> {
            let mut client = self.client.lock().unwrap_or_else(|e| e.into_inner());
            if let Some(client) = &*client {
                return Ok(client.clone());
            }
            // Installed already is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let follow = redirect::Policy::custom(|attempt| {
                if attempt.previous().len() > MAX_REDIRECTS {
                    return attempt.error(format!("more than {MAX_REDIRECTS} redirects"));
                }
                if attempt.url().scheme() != "https" && attempt.previous().iter().any(|url| url.scheme() == "https") {
                    let to = attempt.url().to_string();
                    return attempt.error(format!("it redirects from https to {to}"));
                }
                attempt.follow()
            });
            // The blocking client's timeout holds for each read, so it is one of stalls and not of the whole.
            let made = Client::builder()
                .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
                .redirect(follow)
                .referer(false)
                .connect_timeout(options.stall)
                .timeout(options.stall)
                .build()
                .map_err(|e| {
                    Error::new(format!("cannot set up downloads: {}", causes(&e)))
                        .help("the system's certificates may be missing: install its package of CA certificates")
                })?;
            Ok(client.insert(made).clone())
        }

        /// Asks for the bytes from `from` on. The answer may begin at 0 instead.
        fn open(
            &self,
            options: &FetchOptions,
            pin: &Pin,
            url: &str,
            from: u64,
            validator: Option<&str>,
        ) -> std::result::Result<Opened, Fault> {
            let mut request = self.client(options).map_err(Fault::End)?.get(url);
            request = request.header(header::ACCEPT_ENCODING, "identity");
            if from > 0 {
                request = request.header(header::RANGE, format!("bytes={from}-"));
                if let Some(validator) = validator {
                    request = request.header(header::IF_RANGE, validator);
                }
            }
            let body = request.send().map_err(|e| {
                let why = causes(&e);
                if e.is_redirect() || e.is_builder() { Fault::Url(why) } else { Fault::Again(why, Duration::ZERO) }
            })?;
            let (status, headers) = (body.status(), body.headers());
            if let Some(encoding) = text(headers, &header::CONTENT_ENCODING)
                && encoding != "identity"
            {
                return Err(Fault::Url(format!("it is sent in the encoding {encoding:?}, not as it is")));
            }
            // Weak ETags do not promise the same bytes.
            let validator = text(headers, &header::ETAG)
                .filter(|tag| !tag.starts_with("W/"))
                .or_else(|| text(headers, &header::LAST_MODIFIED))
                .map(str::to_owned);
            let (start, total) = match status {
                StatusCode::OK => (0, body.content_length()),
                StatusCode::PARTIAL_CONTENT => {
                    let range = text(headers, &header::CONTENT_RANGE).unwrap_or_default();
                    match content_range(range) {
                        Some((first, last, total))
                            if from > 0 && first == from && last >= first && total.is_none_or(|t| last < t) =>
                        {
                            (from, total)
                        }
                        _ => return Err(Fault::Url(format!("asked from byte {from} on it sends the range {range:?}"))),
                    }
                }
                StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                    return Err(Fault::Again(status.to_string(), wait_of(headers)));
                }
                _ if status.is_server_error() => return Err(Fault::Again(status.to_string(), wait_of(headers))),
                _ => return Err(Fault::Url(status.to_string())),
            };
            if let (Some(total), Some(pinned)) = (total, pin.bytes)
                && total != pinned
            {
                return Err(Fault::Url(format!("it has {total} bytes, pinned are {pinned}")));
            }
            Ok(Opened { body, start, total, validator })
        }

        /// Downloads to `partial`, which may hold a beginning, checks it and syncs it. What is not as pinned is removed.
        pub fn download(
            &self,
            options: &FetchOptions,
            pin: &Pin,
            partial: &Path,
        ) -> Result<(u64, Digest, Option<Md5>)> {
            let mut download = Download::resume(self, pin, partial)?;
            let mut tries = Tries::new(options, pin, download.sums.bytes());
            let result = loop {
                let (before, excused) = (download.sums.bytes(), download.excused);
                let end = download.attempt(options, &tries.url());
                // Only what had not come before counts as progress: a server that always restarts is given up.
                let fault = match end {
                    Ok(()) => match download.finish() {
                        Ok(found) => break Ok(found),
                        Err(fault) => fault,
                    },
                    Err(fault) => fault,
                };
                if let Err(e) = tries.after(self, fault, before.max(download.sums.bytes())) {
                    break Err(e);
                }
                // The second chance begins at nothing, and its progress counts anew; there is no third.
                if download.excused && !excused {
                    tries.best = 0;
                }
            };
            download.bar.finish_and_clear();
            result
        }

        fn bar(&self, pin: &Pin, from: u64) -> ProgressBar {
            let bar = match pin.bytes {
                Some(bytes) => ProgressBar::new(bytes),
                None => ProgressBar::no_length(),
            };
            let line = "{prefix:>24!} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} ETA {eta}";
            if let Ok(style) = ProgressStyle::with_template(line) {
                bar.set_style(style);
            }
            bar.set_prefix(pin.id.clone());
            bar.set_position(from);
            bar.reset_eta();
            self.bars.add(bar)
        }
    }

    /// What Retry-After asks for, in seconds; dates are not read.
    fn wait_of(headers: &HeaderMap) -> Duration {
        let asked = text(headers, &header::RETRY_AFTER).and_then(|text| text.trim().parse().ok());
        Duration::from_secs(asked.unwrap_or(0)).min(2 * MAX_WAIT)
    }

    /// Which URL is next, and when it is enough.
    struct Tries {
        options: FetchOptions,
        id: String,
        /// URLs not given up yet.
        live: Vec<String>,
        now: usize,
        failures: u32,
        /// The most bytes ever had.
        best: u64,
        /// What went wrong, for the last word.
        said: Vec<String>,
    }

    impl Tries {
        /// `had` bytes are there already.
        fn new(options: &FetchOptions, pin: &Pin, had: u64) -> Self {
            Tries {
                options: options.clone(),
                id: pin.id.clone(),
                live: pin.urls.clone(),
                now: 0,
                failures: 0,
                best: had,
                said: Vec::new(),
            }
        }

        /// Never asked for when no URL is left: [`Tries::after`] has ended it then.
        fn url(&self) -> String {
            self.live.get(self.now).cloned().unwrap_or_default()
        }

        /// After a failure: waits and chooses the next URL, or gives up. `bytes` were had at most.
        fn after(&mut self, net: &Net, fault: Fault, bytes: u64) -> Result<()> {
            let progress = bytes > self.best;
            self.best = self.best.max(bytes);
            let url = self.url();
            let say = |why: &str| format!("{url}: {why}");
            match fault {
                Fault::End(e) => return Err(e),
                Fault::Url(why) => {
                    let line = say(&why);
                    self.said.push(line);
                    if self.now < self.live.len() {
                        self.live.remove(self.now);
                    }
                    if self.live.is_empty() {
                        return Err(self.enough("no URL of it will do"));
                    }
                    self.now %= self.live.len();
                    net.warn(&format!("{}: {}; trying the next URL", self.id, why));
                }
                Fault::Again(why, at_least) => {
                    self.failures = if progress { 1 } else { self.failures + 1 };
                    let line = say(&why);
                    if self.said.last() != Some(&line) {
                        self.said.push(line.clone());
                        // A connection may drop thousands of times in a long download.
                        if self.said.len() > 20 {
                            self.said.remove(0);
                        }
                    }
                    if self.failures > self.options.retries {
                        return Err(self.enough(&format!("{} tries failed in a row", self.failures)));
                    }
                    let doubled = self.options.back_off.saturating_mul(1 << (self.failures - 1).min(20));
                    let wait = doubled.min(MAX_WAIT.max(self.options.back_off)).max(at_least);
                    if !progress {
                        net.warn(&format!("{}: {line}; trying again in {:.1} s", self.id, wait.as_secs_f64()));
                        self.now = (self.now + 1) % self.live.len().max(1);
                    }
                    std::thread::sleep(wait);
                }
            }
            Ok(())
        }

        fn enough(&self, why: &str) -> Error {
            let mut error = Error::new(format!("cannot download {}: {why}", self.id));
            for line in &self.said {
                error = error.at(line);
            }
            error.help(
                "see whether the address opens elsewhere; run the same command again to go on where it stopped, or give \
                 another address for this id in a file with --sources FILE",
            )
        }
    }

    /// A download on its way to a file.
    struct Download<'a> {
        net: &'a Net,
        pin: &'a Pin,
        path: &'a Path,
        file: File,
        /// Digests of what the file holds.
        sums: Sums,
        from: Version,
        /// May it hold bytes of another version? Then a wrong digest is no fault of the URL's.
        patched: bool,
        /// Was a wrong digest put down to that once?
        excused: bool,
        /// May be longer than what has come, never shorter.
        total: Option<u64>,
        bar: ProgressBar,
    }

    impl<'a> Download<'a> {
        /// Opens the partial file and digests what it holds.
        fn resume(net: &'a Net, pin: &'a Pin, path: &'a Path) -> Result<Self> {
            let fault = |e| Error::io("cannot open", path, e);
            let from: Option<Version> =
                std::fs::read(beside(path, ".from")).ok().and_then(|text| serde_json::from_slice(&text).ok());
            let mut file =
                File::options().create(true).truncate(false).read(true).write(true).open(path).map_err(fault)?;
            let length = file.metadata().map_err(fault)?.len();
            let mut sums = Sums::new(pin);
            let fits = pin.bytes.is_none_or(|bytes| length <= bytes);
            // Without a pin nothing would show that two versions were mixed.
            let known = from.as_ref().is_some_and(|from| pin.is_pinned() || from.validator.is_some());
            if length > 0 && fits && known {
                let mut buffer = vec![0; 1 << 16];
                loop {
                    match file.read(&mut buffer) {
                        Ok(0) => break,
                        Ok(n) => sums.update(&buffer[..n]),
                        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                        Err(e) => return Err(Error::io("cannot read", path, e)),
                    }
                }
            }
            let bar = net.bar(pin, sums.bytes());
            let patched = sums.bytes() > 0;
            let mut download = Download {
                net,
                pin,
                path,
                file,
                sums,
                from: from.unwrap_or_default(),
                patched,
                excused: false,
                total: None,
                bar,
            };
            if !patched {
                download.restart()?;
            }
            Ok(download)
        }

        /// Forgets what has come.
        fn restart(&mut self) -> Result<()> {
            let fault = |e| Error::io("cannot write", self.path, e);
            self.file.set_len(0).map_err(fault)?;
            self.file.rewind().map_err(fault)?;
            self.sums = Sums::new(self.pin);
            self.patched = false;
            self.total = None;
            self.bar.set_position(0);
            Ok(())
        }

        /// One connection, until all has come or it breaks.
        fn attempt(&mut self, options: &FetchOptions, url: &str) -> std::result::Result<(), Fault> {
            let had = self.sums.bytes();
            if had > 0 && Some(had) == self.pin.bytes {
                return Ok(());
            }
            // Another URL's version cannot be compared: the digest decides, if there is one.
            if had > 0 && self.from.url != url && !self.pin.is_pinned() {
                self.restart().map_err(Fault::End)?;
            }
            let had = self.sums.bytes();
            let validator = self.from.validator.clone().filter(|_| self.from.url == url);
            let mut opened = match self.net.open(options, self.pin, url, had, validator.as_deref()) {
                // 416 and the like: what is here already is no beginning of what is there.
                Err(Fault::Url(why)) if had > 0 && why.starts_with("416") => {
                    self.restart().map_err(Fault::End)?;
                    return Err(Fault::Again(why, Duration::ZERO));
                }
                other => other?,
            };
            let changed = validator.is_some() && opened.validator.is_some() && opened.validator != validator;
            if opened.start == 0 {
                self.restart().map_err(Fault::End)?;
                self.from = Version { url: url.to_owned(), validator: opened.validator.clone() };
                self.note().map_err(Fault::End)?;
            } else if changed {
                self.restart().map_err(Fault::End)?;
                return Err(Fault::Again("it was changed meanwhile".to_owned(), Duration::ZERO));
            } else {
                self.patched |= validator.is_none() || opened.validator.is_none();
            }
            self.total = opened.total;
            if let Some(total) = opened.total {
                self.bar.set_length(total);
            }
            let limit = self.pin.bytes.or(opened.total);
            let mut buffer = vec![0; 1 << 16];
            loop {
                let n = match opened.body.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(n) => n,
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(e) => return Err(Fault::Again(causes(&e), Duration::ZERO)),
                };
                if let Some(limit) = limit
                    && self.sums.bytes() + n as u64 > limit
                {
                    self.restart().map_err(Fault::End)?;
                    return Err(Fault::Url(format!("it has more than the {limit} bytes it should have")));
                }
                self.file.write_all(&buffer[..n]).map_err(|e| Fault::End(Error::io("cannot write", self.path, e)))?;
                self.sums.update(&buffer[..n]);
                self.bar.inc(n as u64);
            }
            match limit {
                // A server that ends early without a word of the whole size is one that broke off.
                Some(limit) if self.sums.bytes() < limit => {
                    Err(Fault::Again(format!("it ends after {} of {limit} bytes", self.sums.bytes()), Duration::ZERO))
                }
                _ => Ok(()),
            }
        }

        /// Where the bytes are from, on disk before them.
        fn note(&self) -> Result<()> {
            let text = serde_json::to_vec(&self.from).map_err(|e| Error::new(e.to_string()))?;
            crate::store::write_aside(&beside(self.path, ".from"), |out| out.write_all(&text))
        }

        /// All has come: is it right?
        fn finish(&mut self) -> std::result::Result<(u64, Digest, Option<Md5>), Fault> {
            let (bytes, sha256, md5) = self.sums.clone().finish();
            if self.pin.is_pinned()
                && let Err(e) = self.pin.check(bytes, sha256, md5)
            {
                // One more chance for the same URL, whole.
                let excused = self.patched && !self.excused;
                self.excused |= excused;
                self.restart().map_err(Fault::End)?;
                let _ = std::fs::remove_file(beside(self.path, ".from"));
                let why = first_line(&e);
                return Err(if excused { Fault::Again(why, Duration::ZERO) } else { Fault::Url(why) });
            }
            self.file.sync_all().map_err(|e| Fault::End(Error::io("cannot sync", self.path, e)))?;
            Ok((bytes, sha256, md5))
        }
    }

    impl Drop for Download<'_> {
        /// An empty beginning is no use to anyone.
        fn drop(&mut self) {
            if self.sums.bytes() == 0 {
                let _ = std::fs::remove_file(self.path);
                let _ = std::fs::remove_file(beside(self.path, ".from"));
            }
        }
    }

    /// A source read straight from the network.
    pub struct Stream {
        net: Arc<Net>,
        pin: Pin,
        tries: Tries,
        /// Bytes handed on.
        at: u64,
        /// Where the first bytes came from.
        known: Version,
        total: Option<u64>,
        body: Option<Response>,
        bar: ProgressBar,
    }

    impl Stream {
        /// Connects at the first read.
        pub fn new(net: Arc<Net>, options: &FetchOptions, pin: &Pin) -> Result<Stream> {
            net.client(options)?;
            let bar = net.bar(pin, 0);
            let tries = Tries::new(options, pin, 0);
            Ok(Stream { net, pin: pin.clone(), tries, at: 0, known: Version::default(), total: None, body: None, bar })
        }

        /// Connects so that the next byte is the one at `at`.
        fn connect(&mut self) -> std::result::Result<Response, Fault> {
            let url = self.tries.url();
            let same = self.known.url == url;
            if self.at > 0 && !same && !self.pin.is_pinned() {
                return Err(Fault::Url("another address may hold another version, and there is no digest".to_owned()));
            }
            let validator = self.known.validator.clone().filter(|_| same);
            let mut opened = self.net.open(&self.tries.options, &self.pin, &url, self.at, validator.as_deref())?;
            // A server may leave the version out of a later answer; then the digest decides, if there is one.
            let silent = self.pin.is_pinned() && (validator.is_none() || opened.validator.is_none());
            if self.at > 0 && same && !silent && validator != opened.validator {
                return Err(Fault::End(
                    Error::new(format!("{} was changed while it was read", self.pin.id))
                        .at(url)
                        .help("run the same command again"),
                ));
            }
            if self.at == 0 || !same {
                self.known = Version { url, validator: opened.validator.clone() };
            }
            self.total = self.pin.bytes.or(opened.total);
            // A server that ignores ranges sends again what was handed on already.
            if opened.start < self.at {
                let again = self.at - opened.start;
                let skipped = std::io::copy(&mut opened.body.by_ref().take(again), &mut std::io::sink())
                    .map_err(|e| Fault::Again(causes(&e), Duration::ZERO))?;
                if skipped < again {
                    return Err(Fault::Again(format!("it ends after {skipped} bytes"), Duration::ZERO));
                }
            }
            Ok(opened.body)
        }

        /// The next bytes; none at the end.
        fn next(&mut self, buffer: &mut [u8]) -> std::result::Result<usize, Fault> {
            let mut body = match self.body.take() {
                Some(body) => body,
                None => self.connect()?,
            };
            let n = loop {
                match body.read(buffer) {
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                    other => break other.map_err(|e| Fault::Again(causes(&e), Duration::ZERO))?,
                }
            };
            if let Some(total) = self.total {
                let at = self.at + n as u64;
                if at > total {
                    return Err(Fault::End(
                        Error::new(format!("{} has more than the {total} bytes it should have", self.pin.id))
                            .at(self.tries.url()),
                    ));
                }
                if n == 0 && at < total {
                    return Err(Fault::Again(format!("it ends after {at} of {total} bytes"), Duration::ZERO));
                }
            }
            self.body = Some(body);
            Ok(n)
        }
    }

    impl Read for Stream {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if buffer.is_empty() {
                return Ok(0);
            }
            loop {
                match self.next(buffer) {
                    Ok(n) => {
                        self.at += n as u64;
                        self.bar.inc(n as u64);
                        return Ok(n);
                    }
                    Err(fault) => self.tries.after(&self.net, fault, self.at).map_err(std::io::Error::other)?,
                }
            }
        }
    }

    impl Drop for Stream {
        fn drop(&mut self) {
            self.bar.finish_and_clear();
        }
    }
}
