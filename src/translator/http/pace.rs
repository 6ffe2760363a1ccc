//! When the next request may be sent.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Spaces the requests of all threads.
pub struct Pace {
    /// The next request is not sent before.
    next: Mutex<Option<Instant>>,
    interval: Duration,
}

#[allow(clippy::disallowed_methods, reason = "spaces requests; reaches no output")]
fn now() -> Instant {
    Instant::now()
}

impl Pace {
    /// So many requests a minute; 0 for no limit.
    pub fn new(per_minute: u32) -> Pace {
        let interval = if per_minute == 0 { Duration::ZERO } else { Duration::from_secs(60) / per_minute };
        Pace { next: Mutex::new(None), interval }
    }

    /// Waits for a turn. False if it was stopped meanwhile.
    pub fn turn(&self, stop: &AtomicBool) -> bool {
        let start = {
            let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
            let start = next.map_or_else(now, |next| next.max(now()));
            *next = Some(start + self.interval);
            start
        };
        sleep_until(start, stop)
    }

    /// Nobody sends before so long: the service asked for it.
    pub fn hold(&self, wait: Duration) {
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
        let then = now() + wait;
        *next = Some(next.map_or(then, |next| next.max(then)));
    }
}

/// Waits for so long. False if it was stopped meanwhile.
pub fn sleep(wait: Duration, stop: &AtomicBool) -> bool {
    sleep_until(now() + wait, stop)
}

fn sleep_until(then: Instant, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let left = then.saturating_duration_since(now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
}
