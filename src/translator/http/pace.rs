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
        sleep_until(self.slot(now()), stop)
    }

    /// Takes the next time to send, which is not before `now`.
    fn slot(&self, now: Instant) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
        let start = next.map_or(now, |next| next.max(now));
        *next = Some(start + self.interval);
        start
    }

    /// Nobody sends before so long: the service asked for it.
    pub fn hold(&self, wait: Duration) {
        self.hold_until(now() + wait);
    }

    fn hold_until(&self, then: Instant) {
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spaced() {
        let (start, second) = (now(), Duration::from_secs(1));
        let pace = Pace::new(30);
        assert_eq!(pace.slot(start), start);
        assert_eq!(pace.slot(start), start + 2 * second);
        // Late is no reason to hurry afterwards.
        assert_eq!(pace.slot(start + 9 * second), start + 9 * second);
        assert_eq!(pace.slot(start + 9 * second), start + 11 * second);
        pace.hold_until(start + 30 * second);
        assert_eq!(pace.slot(start + 12 * second), start + 30 * second);
        assert_eq!(pace.slot(start + 12 * second), start + 32 * second);
        let free = Pace::new(0);
        assert_eq!((free.slot(start), free.slot(start)), (start, start));
        assert!(!free.turn(&AtomicBool::new(true)));
    }
}
