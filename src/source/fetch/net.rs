//! The network: one pinned file over HTTP, resumed where it breaks off.

use super::{FetchOptions, MAX_WAIT, beside, first_line};
use crate::error::{Error, Result, causes};
use crate::hash::Digest;
use crate::source::pins::{Md5, Pin, Sums};
use crate::store::Lock;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use reqwest::blocking::Client;
use reqwest::header::{self, HeaderMap};
use reqwest::{StatusCode, redirect};
use serde::{Deserialize, Serialize};
use std::fs::File;
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
    #[cfg(feature = "cloud")]
    buckets: super::bucket::Buckets,
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
pub(super) enum Fault {
    /// Worth trying again, not before so long.
    Again(String, Duration),
    /// This URL will not do.
    Url(String),
    /// Nothing helps.
    End(Error),
}

/// An answer whose body begins at `start`.
pub(super) struct Opened {
    pub body: Box<dyn Read + Send>,
    pub start: u64,
    /// Size of the whole, where the server says it.
    pub total: Option<u64>,
    pub validator: Option<String>,
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
    pub fn lock(&self, path: &Path) -> Result<Lock> {
        Lock::wait(path, || self.warn(&format!("waiting for another download ({})", path.display())))
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
        let opened = match crate::remote::is_object(url) {
            #[cfg(feature = "cloud")]
            true => self.buckets.open(options, url, from, validator),
            #[cfg(not(feature = "cloud"))]
            true => Err(Fault::Url("this program was built without object storage (feature `cloud`)".to_owned())),
            false => self.open_web(options, url, from, validator),
        }?;
        if let (Some(total), Some(pinned)) = (opened.total, pin.bytes)
            && total != pinned
        {
            return Err(Fault::Url(format!("it has {total} bytes, pinned are {pinned}")));
        }
        Ok(opened)
    }

    fn open_web(
        &self,
        options: &FetchOptions,
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
        Ok(Opened { body: Box::new(body), start, total, validator })
    }

    /// Downloads to `partial`, which may hold a beginning, checks it and syncs it. What is not as pinned is removed.
    pub fn download(&self, options: &FetchOptions, pin: &Pin, partial: &Path) -> Result<(u64, Digest, Option<Md5>)> {
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
        let mut file = File::options().create(true).truncate(false).read(true).write(true).open(path).map_err(fault)?;
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
    body: Option<Box<dyn Read + Send>>,
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
    fn connect(&mut self) -> std::result::Result<Box<dyn Read + Send>, Fault> {
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
