//! Arrow IPC streams that came to their end. A reader takes the end of its input for the end of a stream; but where whoever
//! fed a worker was killed, the rows that came must not pass for all of them.

use std::io::{Read, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What stands at the end of a stream: no message follows.
const END: u64 = u64::from_be_bytes([0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]);

/// Passes a stream on, and keeps an eye on its last bytes.
pub struct Watched<R> {
    inner: R,
    last: Arc<AtomicU64>,
}

/// Tells of a stream that was read to its end whether that was the end it should have.
#[derive(Clone)]
pub struct Ended(Arc<AtomicU64>);

impl Ended {
    /// Was the last that came the mark of a stream's end?
    pub fn whole(&self) -> bool {
        self.0.load(Ordering::Relaxed) == END
    }
}

impl<R: Read> Watched<R> {
    /// Watches a stream.
    pub fn new(inner: R) -> (Self, Ended) {
        let last = Arc::new(AtomicU64::new(0));
        (Watched { inner, last: last.clone() }, Ended(last))
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let n = self.inner.read(bytes)?;
        let before = self.last.load(Ordering::Relaxed);
        let last = bytes[n.saturating_sub(8)..n].iter().fold(before, |last, byte| last << 8 | u64::from(*byte));
        self.last.store(last, Ordering::Relaxed);
        Ok(n)
    }
}
