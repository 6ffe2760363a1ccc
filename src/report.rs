//! Progress for people: rate and time left on stderr, silent when that is no terminal.

use indicatif::{HumanCount, MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// All bars, so that several at once stand below each other.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// A size for people.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..10_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

/// A line on stderr that does not run into the bars.
pub fn warn(line: &str) {
    BARS.suspend(|| eprintln!("warning: {line}"));
}

/// A bar of one stage.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts a bar of `total` units.
    pub fn new(stage: &str, total: u64, unit: &str) -> Progress {
        let bar = BARS.add(ProgressBar::new(total));
        let line = format!("{{prefix:>10}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit} {{rate}} ETA {{eta}}");
        if let Ok(style) = ProgressStyle::with_template(&line) {
            let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let rate = state.per_sec();
                // Services may answer less than once a second.
                let _ =
                    if rate < 10.0 { write!(out, "{rate:.1}/s") } else { write!(out, "{}/s", HumanCount(rate as u64)) };
            };
            bar.set_style(style.with_key("rate", rate));
        }
        bar.set_prefix(stage.to_owned());
        Progress { bar }
    }

    /// Some units are done.
    pub fn add(&self, n: u64) {
        self.bar.inc(n);
    }

    /// The stage is done.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Wall time of each stage, for the summary on stderr; never part of an output.
pub struct Stopwatch {
    started: Instant,
    lap: Instant,
    laps: Vec<(&'static str, Duration)>,
}

impl Stopwatch {
    /// Starts now.
    #[allow(clippy::disallowed_methods, reason = "for the eye only")]
    pub fn start() -> Stopwatch {
        let now = Instant::now();
        Stopwatch { started: now, lap: now, laps: Vec::new() }
    }

    /// A stage ends, the next begins.
    #[allow(clippy::disallowed_methods, reason = "for the eye only")]
    pub fn lap(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.laps.push((stage, now - self.lap));
        self.lap = now;
    }

    /// Stages and their times.
    pub fn laps(&self) -> &[(&'static str, Duration)] {
        &self.laps
    }

    /// These stages, then those.
    pub fn then(mut self, after: &Stopwatch) -> Stopwatch {
        self.laps.extend(&after.laps);
        self.lap = after.lap;
        self
    }

    /// Time since the start.
    pub fn total(&self) -> Duration {
        self.lap - self.started
    }
}
