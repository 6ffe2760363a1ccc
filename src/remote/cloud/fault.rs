//! Failures of servers in plain words: what was asked of whom, why it went wrong, the way out. Never a secret.

use super::super::address::{Remote, Server, variables};
use crate::error::{Error, causes};
use object_store::Error as Cause;
use object_store::client::{HttpError, HttpErrorKind};

/// Characters of a server's answer that are printed.
const LONGEST: usize = 400;

/// What was asked for.
pub(super) struct Asked<'a> {
    pub remote: &'a Remote,
    /// Below the place; empty of the place itself.
    pub name: String,
}

/// Is an object, rather than its bucket, not there?
pub(super) fn is_missing(error: &Cause) -> bool {
    matches!(error, Cause::NotFound { .. }) && !says(error, "NoSuchBucket") && !says(error, "ContainerNotFound")
}

/// Is an object another than before, or not long enough?
pub(super) fn is_changed(error: &Cause) -> bool {
    matches!(error, Cause::Precondition { .. } | Cause::NotModified { .. })
        || says(error, "status code: 416")
        || says(error, "InvalidRange")
}

/// What went wrong with a connection, if that was it.
fn kind(error: &Cause) -> Option<HttpErrorKind> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}

/// May the same request go well another time?
pub(super) fn is_passing(error: &Cause) -> bool {
    match kind(error) {
        Some(kind) => !matches!(kind, HttpErrorKind::Decode | HttpErrorKind::Unknown),
        None => says(error, "SlowDown") || says(error, "InternalError"),
    }
}

/// Did a connection break when the request was under way? Of requests that it may not repeat the client gives up then.
pub(super) fn is_broken(error: &Cause) -> bool {
    matches!(kind(error), Some(HttpErrorKind::Timeout | HttpErrorKind::Interrupted))
}

/// Is an upload in parts no longer known?
pub(super) fn is_gone(error: &Cause) -> bool {
    matches!(error, Cause::NotFound { .. }) || says(error, "NoSuchUpload")
}

/// What went wrong, in short.
pub(super) fn said(error: &Cause) -> String {
    plain(&causes(error))
}

fn says(error: &Cause, word: &str) -> bool {
    causes(error).contains(word)
}

impl Asked<'_> {
    /// What could not be done with it.
    pub(super) fn failed(&self, doing: &str, cause: &Cause) -> Error {
        let remote = self.remote;
        let whole = causes(cause);
        let what = match self.name.as_str() {
            "" => format!("cannot {doing} {remote}"),
            name => format!("cannot {doing} {remote}/{name}"),
        };
        let error = Error::new(format!("{what}: {}", plain(&whole)));
        match self.help(cause, &whole) {
            Some(help) => error.help(help),
            None => error,
        }
    }

    fn help(&self, cause: &Cause, whole: &str) -> Option<String> {
        let (scheme, endpoint) = match self.remote.server {
            Server::S3 => ("s3", "AWS_ENDPOINT_URL, AWS_REGION"),
            Server::Gcs => ("gs", "GOOGLE_SERVICE_ACCOUNT"),
            Server::Azure => ("az", "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ENDPOINT"),
            Server::Web => ("http", "the address"),
        };
        let credentials = variables(scheme);
        if whole.contains("NoSuchBucket") || whole.contains("ContainerNotFound") {
            return Some(format!(
                "make {} first, or see whether {endpoint} name the server that has it",
                self.remote.root
            ));
        }
        if ["169.254.", "metadata.google", "MissingAccessKeyId", "Missing AccessKeyId", "Missing SecretAccessKey"]
            .iter()
            .any(|word| whole.contains(word))
        {
            return Some(format!(
                "no credentials were found: set {credentials}, or AWS_SKIP_SIGNATURE=true for what everybody may read"
            ));
        }
        if whole.contains("is not encrypted") {
            return Some("set that variable where the server is your own, else name it by https://".to_owned());
        }
        match cause {
            Cause::Unauthenticated { .. } | Cause::PermissionDenied { .. } => {
                Some(format!("see whether {credentials} are right, and may do this there"))
            }
            Cause::NotFound { .. } => Some("see whether the address is right".to_owned()),
            // Of a list the library does not say it by kind.
            _ if whole.contains("status code: 401") || whole.contains("status code: 403") => {
                Some(format!("see whether {credentials} are right, and may do this there"))
            }
            _ if whole.contains("ConfigurationKey") || whole.contains("Unable to parse") => {
                Some(format!("see whether the variables {endpoint} are well written"))
            }
            _ => Some(format!(
                "see whether the server can be reached ({endpoint}); run the same command again to go on where it stopped"
            )),
        }
    }
}

/// What a server or a library said, short: of an answer in XML its code and message, of an address neither query nor user.
fn plain(text: &str) -> String {
    let tag = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.trim())
    };
    if let Some(code) = tag("Code") {
        // A message may repeat what was signed and by whom; its first sentence says what is wrong.
        let message = tag("Message").and_then(|message| message.split(['.', '\n']).next()).unwrap_or_default();
        return if message.is_empty() { code.to_owned() } else { format!("{code} ({message})") };
    }
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let Some((scheme, rest)) = word.split_once("://") else {
            words.push(word.to_owned());
            continue;
        };
        let rest = rest.split('?').next().unwrap_or_default();
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        words.push(format!("{scheme}://{host}{path}"));
    }
    let text = words.join(" ");
    // How often and how long was tried is the library's own account.
    let (before, after) = (text.split(" in ").next().unwrap_or(&text), text.split_once(" - ").map(|(_, after)| after));
    let text = match after {
        Some(after) if before.contains("Error performing") => {
            let before = before.split_once("Error performing").map_or(before, |(_, rest)| rest).trim();
            format!("{before}: {after}")
        }
        _ => text,
    };
    // A server that is none of its kind may answer with a page.
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
