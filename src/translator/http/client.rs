//! The client itself.

use super::pace::{self, Pace};
use super::{Protocol, Request};
use crate::error::{Error, Result, causes};
use crate::translator::{Answer, Ask, Engine, Settings, Taker, cut, read_key, redact};
use reqwest::blocking::{Client, Response};
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{StatusCode, redirect};
use serde_json::Value;
use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// No wait that a server asks for is longer.
const MAX_ASKED: Duration = Duration::from_secs(120);
/// No wait of ours between two tries is longer.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// An answer has at most so many bytes.
const MAX_BODY: u64 = 64 << 20;
/// Characters a request, unless one text alone has more: what services bear.
const CHARACTERS: usize = 5000;
/// Characters of a server's message that are shown.
const SHOWN: usize = 300;

/// A service over HTTP.
pub struct Http {
    settings: Settings,
    protocol: &'static Protocol,
    client: Client,
    key: Option<String>,
    pace: Pace,
}

/// Why a try failed, and what follows.
enum Fault {
    /// Worth trying again; a server may say how long to wait.
    Again(String, Option<Duration>),
    /// Nothing helps.
    End(Error),
    /// Another request failed for good.
    Stopped,
}

/// What Retry-After asks for, in seconds; dates are not read.
fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_ASKED))
}

/// Is an address one of this machine?
fn is_local(address: &str) -> bool {
    let rest = address.strip_prefix("http://").unwrap_or(address);
    let host = rest.split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The runs of asks that make a request each.
fn batches(asks: &[Ask], texts: usize) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let (mut start, mut characters) = (0, 0);
    for (n, ask) in asks.iter().enumerate() {
        let more = ask.text.chars().count();
        if n > start && (n - start == texts || characters + more > CHARACTERS) {
            runs.push(start..n);
            (start, characters) = (n, 0);
        }
        characters += more;
    }
    if start < asks.len() {
        runs.push(start..asks.len());
    }
    runs
}

impl Http {
    /// Reads the key from the environment; opens no connection yet.
    pub fn new(settings: &Settings, protocol: &'static Protocol) -> Result<Http> {
        let variable = settings.key_variable();
        let key = read_key(variable);
        if key.is_none() && settings.engine.record().key_needed {
            let e =
                settings.error(format!("the key is read from the environment variable {variable}, which is not set"));
            return Err(e.help(format!("set {variable}, or name another variable with `key_env`")));
        }
        let address = settings.address();
        if key.is_some() && address.starts_with("http://") && !is_local(address) {
            let e = settings.error("a key would be sent where others can read it").at(address);
            return Err(e.help(format!("use https://, or unset {variable} if the service needs no key")));
        }
        // Installed already is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let timeout = Duration::from_secs(settings.timeout_seconds.into());
        // Followed, a redirect would carry the key elsewhere; so would a proxy of a service on this machine.
        let client = if is_local(address) { Client::builder().no_proxy() } else { Client::builder() };
        let client = client
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(timeout)
            .timeout(timeout)
            .build()
            .map_err(|e| {
                settings
                    .error(format!("cannot set up requests: {}", causes(&e.without_url())))
                    .help("the system's certificates may be missing: install its package of CA certificates")
            })?;
        let pace = Pace::new(settings.per_minute);
        Ok(Http { settings: settings.clone(), protocol, client, key, pace })
    }

    /// One request, again and again until it is answered or it is enough.
    fn answer(&self, asks: &[Ask], stop: &AtomicBool) -> std::result::Result<Vec<Answer>, Fault> {
        let mut failures = 0;
        loop {
            if !self.pace.turn(stop) {
                return Err(Fault::Stopped);
            }
            let (why, asked) = match self.attempt(asks) {
                Err(Fault::Again(why, asked)) => (why, asked),
                other => return other,
            };
            failures += 1;
            let settings = &self.settings;
            if failures > settings.retries {
                let e = settings.error(format!("{failures} tries failed in a row; the last one: {why}"));
                return Err(Fault::End(e.at(settings.address()).help(
                    "what was answered is kept: run the same command again to go on; a lower `per_minute` or `parallel` \
                     may help, or more `retries`",
                )));
            }
            let doubled = Duration::from_millis(settings.back_off.into()).saturating_mul(1 << (failures - 1).min(20));
            let asked = asked.filter(|wait| !wait.is_zero());
            let wait = asked.unwrap_or(doubled.min(MAX_WAIT));
            if asked.is_some() {
                self.pace.hold(wait);
            }
            let word = settings.engine.record().word;
            crate::report::warn(&format!("{word}: {why}; trying again in {:.1} s", wait.as_secs_f64()));
            if !pace::sleep(wait, stop) {
                return Err(Fault::Stopped);
            }
        }
    }

    fn attempt(&self, asks: &[Ask]) -> std::result::Result<Vec<Answer>, Fault> {
        let key = self.key.as_deref();
        let Request { path, header, body } = (self.protocol.request)(&self.settings, key, asks);
        let url = format!("{}{path}", self.settings.address());
        let mut request = self.client.post(&url).header(header::CONTENT_TYPE, "application/json");
        if let Some((name, value)) = header {
            let variable = self.settings.key_variable();
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                Fault::End(self.settings.error(format!("the key in {variable} has characters that no key may have")))
            })?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let response = request.body(body.to_string()).send().map_err(|e| {
            let wrong = e.is_builder();
            // The address is said elsewhere.
            let why = redact(&causes(&e.without_url()), key);
            if wrong { Fault::End(self.settings.error(why).at(&url)) } else { Fault::Again(why, None) }
        })?;
        let (status, wait) = (response.status(), asked_wait(response.headers()));
        let body = read(response).map_err(|why| Fault::Again(redact(&why, key), None))?;
        match status {
            StatusCode::OK => self.understand(&body, asks, &url),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                Err(Fault::Again(self.said(status, &body), wait))
            }
            _ if status.is_server_error() => Err(Fault::Again(self.said(status, &body), wait)),
            _ => {
                let variable = self.settings.key_variable();
                let help = match status.as_u16() {
                    401 | 403 if self.key.is_none() => format!("the service wants a key: set {variable}"),
                    401 | 403 => format!("see that the key in {variable} is valid and may use this service"),
                    404 | 405 | 300..=399 => "see that `endpoint` is the service's address without the engine's own \
                                             path, and that `model` is there"
                        .to_owned(),
                    413 => "make `batch` smaller".to_owned(),
                    _ => {
                        "see that the service knows these languages and settings; what was answered is kept".to_owned()
                    }
                };
                Err(Fault::End(self.settings.error(self.said(status, &body)).at(&url).help(help)))
            }
        }
    }

    fn understand(&self, body: &[u8], asks: &[Ask], url: &str) -> std::result::Result<Vec<Answer>, Fault> {
        // A page of a gateway may come in place of an answer.
        let again = |_| Fault::Again(format!("an answer that is no JSON: {}", self.message(body)), None);
        let value: Value = serde_json::from_slice(body).map_err(again)?;
        let Some(answers) = (self.protocol.answers)(&value, asks) else {
            let said = self.message(body);
            let e = self.settings.error(format!("an answer of another form than expected: {said}"));
            return Err(Fault::End(e.at(url).help("see that `endpoint` is the address of such a service")));
        };
        if answers.len() == asks.len() {
            return Ok(answers);
        }
        // Which belongs to which cannot be told.
        crate::report::warn(&format!(
            "{}: {} answers to {} texts; none of them is used",
            self.settings.engine.record().word,
            answers.len(),
            asks.len()
        ));
        Ok(vec![Answer::Empty; asks.len()])
    }

    fn said(&self, status: StatusCode, body: &[u8]) -> String {
        match self.message(body) {
            message if message.is_empty() => status.to_string(),
            message => format!("{status}: {message}"),
        }
    }

    /// A server's own words, short and without the key.
    fn message(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let words = ["/error/message", "/error", "/message", "/detail"];
        let words = words.into_iter().find_map(|place| value.pointer(place).and_then(Value::as_str));
        cut(&redact(words.unwrap_or(&text), self.key.as_deref()), SHOWN)
    }
}

fn read(response: Response) -> std::result::Result<Vec<u8>, String> {
    let mut body = Vec::new();
    response.take(MAX_BODY + 1).read_to_end(&mut body).map_err(|e| format!("the answer breaks off: {e}"))?;
    if body.len() as u64 > MAX_BODY {
        return Err(format!("the answer has more than {MAX_BODY} bytes"));
    }
    Ok(body)
}

impl Engine for Http {
    fn ask(&mut self, asks: &[Ask], take: &mut Taker<'_>) -> Result<()> {
        let runs = batches(asks, self.settings.texts_a_request());
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let (sender, answered) = mpsc::channel();
        let (http, runs) = (&*self, &runs);
        std::thread::scope(|scope| {
            for _ in 0..(http.settings.parallel as usize).min(runs.len()) {
                let sender = sender.clone();
                let (next, stop) = (&next, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                        let answers = http.answer(&asks[run.clone()], stop);
                        if answers.is_err() {
                            stop.store(true, Ordering::Relaxed);
                        }
                        // Without a receiver there is nobody left to tell.
                        let _ = sender.send((run.start, answers));
                    }
                });
            }
            drop(sender);
            // Requests under way are paid for: their answers are taken even after a failure.
            let mut failed: Option<Error> = None;
            for (start, answers) in answered {
                let taken = match answers {
                    Ok(answers) => {
                        let numbered: Vec<_> = answers.into_iter().enumerate().map(|(n, a)| (start + n, a)).collect();
                        take(&numbered)
                    }
                    Err(Fault::End(e)) => Err(e),
                    Err(Fault::Again(why, _)) => Err(http.settings.error(why)),
                    Err(Fault::Stopped) => Ok(()),
                };
                if let Err(e) = taken {
                    stop.store(true, Ordering::Relaxed);
                    failed.get_or_insert(e);
                }
            }
            failed.map_or(Ok(()), Err)
        })
    }
}
