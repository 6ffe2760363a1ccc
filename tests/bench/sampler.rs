//! The streaming sampler over 2 GB of lines like mMARCO's: speed with both digests, and peak memory.

use super::{Figures, PEAK, now};
use nihbuild::seed::Seed;
use nihbuild::source::collection::{Sampling, sample};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// As many lines as MS MARCO has passages, and bytes of the file.
const LINES: u32 = 8_841_823;
const BYTES: u64 = 2_000_000_000;

/// Makes the file, samples it in processes of their own, and removes it.
pub fn run(figures: &mut Figures) {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = root.path().join("collection.tsv");
    println!("streaming sampler, {LINES} lines of mixed scripts");
    let bytes = generate(&path);
    println!("       {:.2} GB generated", bytes as f64 / 1e9);
    for (what, md5) in [("SHA-256", ""), ("SHA-256 and MD5", "md5")] {
        // The file is read from the cache it was just written to; a disk may be slower than the sampler.
        let output = Command::new("/usr/bin/env")
            .args(["python3", "-c", PEAK])
            .arg(std::env::current_exe().unwrap())
            .args([CHILD.as_ref(), path.as_os_str(), md5.as_ref()])
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "the sampler failed: {err}");
        let number = |text: &str, key: &str| {
            text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<f64>().ok()).expect("a figure")
        };
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let rate = bytes as f64 / 1e6 / number(&out, "seconds");
        let peak = number(&err, "peak") / 1024.0;
        figures.check(&format!("MB a second, {what}"), format!("{rate:.0}"), ">= 200", rate >= 200.0);
        figures.check(&format!("peak memory, {what}"), format!("{peak:.0} MiB"), "< 200 MiB", peak < 200.0);
        let kept = number(&out, "kept");
        figures.check("passages kept for a sample of 10000", format!("{kept}"), "11378", kept == 11378.0);
    }
}

/// The argument by which this program is the sampler's process.
pub const CHILD: &str = "sampler-process";

/// Samples a file and prints how long it took.
pub fn child(path: &str, md5: bool) {
    let sampling = Sampling { md5, ..Sampling::new(Seed::new("1").derive("collection", "").bits()) };
    let start = now();
    let file = std::fs::File::open(path).unwrap();
    let sampled = sample(path, file, &sampling, |_| {}).unwrap();
    println!("seconds {}\nkept {}", start.elapsed().as_secs_f64(), sampled.passages.len());
    assert_eq!((sampled.lines, sampled.md5.is_some()), (u64::from(LINES), md5));
    assert!(sampled.dropped.is_empty(), "{:?}", sampled.dropped);
}

/// Writes the file: passages of many lengths, each a piece of seeded text in one of four scripts.
fn generate(path: &Path) -> u64 {
    let mut rng = Seed::new("1").derive("bench", "sampler");
    let scripts = [('a', 26), ('\u{621}', 42), ('\u{905}', 53), ('\u{4E00}', 5000)];
    let texts = scripts.map(|(first, letters)| {
        let mut text = String::new();
        while text.len() < 1 << 20 {
            for _ in 0..2 + rng.below(8) {
                text.extend(char::from_u32(first as u32 + rng.below(letters) as u32));
            }
            text.push(' ');
        }
        text
    });
    let mut out = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path).unwrap());
    let mut bytes = 0;
    for pid in 0..LINES {
        let text = &texts[rng.below(texts.len())];
        // What is left to write, spread over what lines are left, from a fifth to nine fifths of it.
        let mean = ((BYTES - bytes) / u64::from(LINES - pid)).saturating_sub(8).clamp(30, 2000) as usize;
        let length = mean / 5 + rng.below(mean * 8 / 5 + 1);
        let start = boundary(text, rng.below(text.len() - length));
        let piece = &text[start..boundary(text, start + length)];
        let line = format!("{pid}\t.{piece}\n");
        out.write_all(line.as_bytes()).unwrap();
        bytes += line.len() as u64;
    }
    out.flush().unwrap();
    bytes
}

/// The last boundary between characters up to a byte.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
