//! The client of all engines over HTTP: requests spaced, repeated after a wait, several at once.

use super::{Answer, Ask, Engine, Settings};
use crate::error::Result;
use serde_json::Value;

/// An engine's requests and answers, as functions without effects.
pub struct Protocol {
    /// The request for asks of one kind, pair of languages and attempt; at least one.
    pub request: fn(settings: &Settings, key: Option<&str>, asks: &[Ask]) -> Request,
    /// The answers in a body; none if it is not of the expected form.
    pub answers: fn(body: &Value, asks: &[Ask]) -> Option<Vec<Answer>>,
}

/// What is posted.
pub struct Request {
    /// Path below the endpoint.
    pub path: &'static str,
    /// A header with the key.
    pub header: Option<(&'static str, String)>,
    /// JSON.
    pub body: Value,
}

/// An engine of a protocol.
#[cfg(feature = "fetch")]
pub fn start(settings: &Settings, protocol: &'static Protocol) -> Result<Box<dyn Engine>> {
    Ok(Box::new(client::Http::new(settings, protocol)?))
}

/// An engine of a protocol.
#[cfg(not(feature = "fetch"))]
pub fn start(settings: &Settings, _: &'static Protocol) -> Result<Box<dyn Engine>> {
    Err(settings.error("this program was built without a network (feature `fetch`)").help(
        "give the folder of the pins with --pins DIR, build the program with the feature `fetch`, or use engine `command`",
    ))
}

#[cfg(feature = "fetch")]
mod client;
#[cfg(feature = "fetch")]
mod pace;
