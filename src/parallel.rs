//! Work in a fixed order on several threads, each with a desk of its own.

use crate::error::{Error, Result};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Threads for work that splits itself.
pub fn pool(jobs: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build();
    pool.map_err(|e| Error::new(format!("cannot start threads: {e}")))
}

/// Does steps 0 to `steps` - 1, begun in this order. After a failure no further step is begun.
///
/// # Errors
///
/// Of the steps that failed, the error of the first.
pub fn each<D>(
    jobs: usize,
    steps: usize,
    desk: impl Fn() -> D + Sync,
    step: impl Fn(usize, &mut D) -> Result<()> + Sync,
) -> Result<()> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                let mut desk = desk();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= steps || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    if let Err(error) = step(n, &mut desk) {
                        stop.store(true, Ordering::Relaxed);
                        let mut failed = failed.lock().expect("no thread panics");
                        if failed.as_ref().is_none_or(|(before, _)| n < *before) {
                            *failed = Some((n, error));
                        }
                        return;
                    }
                }
            });
        }
    });
    failed.into_inner().expect("no thread panics").map_or(Ok(()), |(_, error)| Err(error))
}
