//! Places: folders, buckets of an S3 server on this machine, whose line is slow, cut, or dead, and a web server.

mod address;
mod bucket;
mod command;
mod faults;
pub mod proxy;
pub mod server;
mod sources;
mod web;

use nihbuild::hash::Digest;
use nihbuild::remote::{Patience, Place};
use std::path::Path;
use std::time::Duration;

/// Patience of tests.
const QUICK: Patience = Patience { stall: Duration::from_secs(3), retries: 3, back_off: Duration::from_millis(20) };

/// Bytes that repeat nowhere, the same each time.
fn content(seed: &str, bytes: usize) -> Vec<u8> {
    let block = |n: u64| Digest::of(format!("{seed} {n}")).0;
    (0..bytes.div_ceil(32) as u64).flat_map(block).take(bytes).collect()
}

/// A file with such bytes, and their digest.
fn file(path: &Path, seed: &str, bytes: usize) -> Digest {
    let content = content(seed, bytes);
    std::fs::write(path, &content).unwrap();
    Digest::of(content)
}

/// A place on a server at this address.
fn place(address: &str, text: &str) -> Place {
    Place::with(text, QUICK, Some(&server::variables(address))).unwrap()
}
