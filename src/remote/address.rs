//! What a person writes for a place.

use crate::error::{Error, Result};
use std::path::PathBuf;

/// Schemes that are known, for messages.
const KNOWN: &str =
    "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, https://HOST/PATH, file:///PATH or a path";

/// Schemes of buckets.
pub(super) const BUCKETS: [&str; 5] = ["s3", "s3a", "gs", "az", "azure"];

/// Kinds of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    S3,
    Gcs,
    Azure,
    Web,
}

/// A place behind a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remote {
    pub server: Server,
    /// The bucket; of a web server scheme and host.
    pub root: String,
    /// The path below it, without `/` at its ends.
    pub prefix: String,
}

impl std::fmt::Display for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = match self.server {
            Server::S3 => "s3://",
            Server::Gcs => "gs://",
            Server::Azure => "az://",
            Server::Web => "",
        };
        write!(f, "{scheme}{}", self.root)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

/// A place, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Local(PathBuf),
    #[cfg_attr(not(feature = "cloud"), allow(dead_code))]
    Remote(Remote),
}

/// What stands before `://`, where that is a scheme.
pub(super) fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let fits = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    (fits && scheme.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)).then_some(scheme)
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Address> {
        let Some(scheme) = scheme(text) else {
            return match text.is_empty() {
                true => Err(Error::new("a place has no name").help(format!("write {KNOWN}"))),
                false => Ok(Address::Local(PathBuf::from(text))),
            };
        };
        let rest = &text[scheme.len() + 3..];
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (root, path) = rest.split_at(end);
        let lower = scheme.to_ascii_lowercase();
        // What follows may be a secret, so none of it is repeated.
        if let Some((_, host)) = root.rsplit_once('@') {
            return Err(Error::new(format!("the address {lower}://...@{host} holds a user's name or password")).help(
                format!("write {lower}://{host}/..., and give credentials in the environment ({})", variables(&lower)),
            ));
        }
        if let Some(mark) = path.find(['?', '#']) {
            let before = format!("{lower}://{root}{}", &path[..mark]);
            return Err(Error::new(format!(
                "the address {before}... has a query or fragment, which may hold a signature"
            ))
            .help(format!("write {before}, and give credentials in the environment ({})", variables(&lower))));
        }
        let prefix = path.trim_matches('/').to_owned();
        let server = match lower.as_str() {
            "file" if root.is_empty() || root == "localhost" => return Ok(Address::Local(decoded(path)?)),
            "file" => {
                return Err(Error::new(format!("{text} names the machine {root}, only files of this one are read"))
                    .help("write file:///PATH, with three strokes"));
            }
            "s3" | "s3a" => Server::S3,
            "gs" => Server::Gcs,
            "az" | "azure" => Server::Azure,
            "http" | "https" => Server::Web,
            _ => {
                return Err(
                    Error::new(format!("{text}: the scheme {scheme}:// is not known")).help(format!("write {KNOWN}"))
                );
            }
        };
        if root.is_empty() {
            return Err(Error::new(format!("{text} names no bucket or host")).help(format!("write {KNOWN}")));
        }
        if prefix.split('/').any(|part| part == "." || part == "..") || prefix.contains("//") {
            return Err(Error::new(format!("{text} has an empty part, or one of dots, in its path"))
                .help("write the path plainly"));
        }
        let root = if server == Server::Web { format!("{lower}://{root}") } else { root.to_owned() };
        Ok(Address::Remote(Remote { server, root, prefix }))
    }
}

/// Where credentials of a scheme are looked for.
pub(super) fn variables(scheme: &str) -> &'static str {
    match scheme {
        "gs" => "GOOGLE_SERVICE_ACCOUNT",
        "az" | "azure" => "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY",
        "http" | "https" => "a web server is read without any",
        _ => "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
    }
}

/// The path of a file's address, without its escapes.
fn decoded(path: &str) -> Result<PathBuf> {
    let bad = || {
        Error::new(format!("file://{path} has a % that begins no escape of two hexadecimal digits"))
            .help("write %25 for a %, or the path without file://")
    };
    let mut bytes = Vec::new();
    let mut left = path.as_bytes();
    while let [first, rest @ ..] = left {
        left = rest;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let hex = rest.get(..2).filter(|hex| hex.iter().all(u8::is_ascii_hexdigit)).ok_or_else(bad)?;
        let hex = std::str::from_utf8(hex).map_err(|_| bad())?;
        bytes.push(u8::from_str_radix(hex, 16).map_err(|_| bad())?);
        left = &rest[2..];
    }
    if bytes.is_empty() {
        return Err(Error::new("file:// names no folder").help("write file:///PATH"));
    }
    use std::os::unix::ffi::OsStringExt;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}
