//! The figures that the default build must reach, each printed beside its bound; exits 1 if one is missed.
//!
//! Times are compared within one run, on whatever machine runs it.

mod compact;
#[path = "../page/driver.rs"]
mod driver;
mod engines;
mod long;
mod mlneedle;
mod nearest;
mod recall;
mod report;
mod sampler;
mod score;
mod sharded;

use arrow_array::cast::AsArray;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Bytes and digests alone, beside the usual tool on the same files, both a second time, from memory.
fn quick(release: &Path, figures: &mut Figures) {
    let time = |command: &mut Command| {
        let start = now();
        assert!(command.current_dir(release).output().unwrap().status.success());
        start.elapsed().as_secs_f64()
    };
    let mut best = [f64::MAX; 2];
    for _ in 0..2 {
        let ours = time(Command::new(env!("CARGO_BIN_EXE_nihbuild")).args(["verify", "--quick", "."]));
        let theirs = time(Command::new("sha256sum").args(["-c", "--quiet", "SHA256SUMS"]));
        best = [best[0].min(ours), best[1].min(theirs)];
    }
    println!("       --quick {:.1} s, sha256sum -c {:.1} s", best[0], best[1]);
    let speed = best[1] / best[0];
    figures.check("verify --quick against sha256sum", format!("{speed:.2}"), ">= 0.8", speed >= 0.8);
}

/// That of the program, so that both sides of a ratio get their memory alike.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Figures {
    missed: usize,
}

impl Figures {
    /// Prints a figure and whether it holds.
    fn check(&mut self, what: &str, found: String, bound: &str, holds: bool) {
        self.missed += usize::from(!holds);
        println!("{} {what:<58} {found:>16}   {bound}", if holds { "ok    " } else { "MISSED" });
    }
}

/// One build in a process of its own: its JSON, wall time, and peak memory in MiB.
struct Built {
    json: Value,
    wall: Duration,
    peak: f64,
    folder: PathBuf,
}

impl Built {
    fn files(&self) -> &Vec<Value> {
        self.json["manifest"]["files"].as_array().unwrap()
    }

    fn sum(&self, of: impl Fn(&Value) -> u64) -> u64 {
        self.files().iter().map(of).sum()
    }

    fn tokens(&self) -> u64 {
        self.json["manifest"]["tokens"].as_u64().unwrap()
    }

    fn digest(&self) -> &str {
        self.json["manifest"]["rows_digest"].as_str().unwrap()
    }

    fn seconds(&self, stage: &str) -> f64 {
        self.json["seconds"][stage].as_f64().unwrap()
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
fn now() -> Instant {
    Instant::now()
}

fn build(root: &Path, out: &str, args: &[&str]) -> Built {
    let program = env!("CARGO_BIN_EXE_nihbuild");
    let start = now();
    let output = Command::new("/usr/bin/env")
        .args(["python3", "-c", PEAK, program, "recipe", "mlrbench", "--json", "--out"])
        .arg(root.join(out))
        .args(args)
        .output()
        .unwrap();
    let wall = start.elapsed();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("the build failed: {err}"));
    let peak = err.lines().rev().find_map(|l| l.strip_prefix("peak ")?.parse::<f64>().ok()).expect("the peak");
    let folder = PathBuf::from(json["release"].as_str().unwrap());
    Built { json, wall, peak: peak / 1024.0, folder }
}

/// Runs a program and prints its peak resident memory in KiB.
const PEAK: &str = "import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)";

/// A part of the program, and the word that asks for it alone.
type Part = (&'static str, fn(&mut Figures));

const PARTS: [Part; 11] = [
    ("mlrbench", builds),
    ("nearest", nearest::run),
    ("sharded", sharded::run),
    ("sampler", sampler::run),
    ("mlneedle", mlneedle::run),
    ("recall", recall::run),
    ("long", long::run),
    ("score", score::run),
    ("report", report::run),
    ("engines", engines::run),
    (ALONE, compact::alone),
];

/// The part of `mlrbench` that is also run alone.
const ALONE: &str = "compact";

fn main() {
    // Cargo adds words of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let [sampler::CHILD, path, md5] = words[..] {
        return sampler::child(path, md5 == "md5");
    }
    if let Some(word) = words.iter().find(|word| !PARTS.iter().any(|(name, _)| name == *word)) {
        let known: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        eprintln!("no such figures: {word}; there are {}, and all of them without a word", known.join(", "));
        std::process::exit(2);
    }
    let mut figures = Figures { missed: 0 };
    for (name, run) in PARTS {
        if words.is_empty() && name != ALONE || words.contains(&name) {
            run(&mut figures);
        }
    }
    if figures.missed > 0 {
        println!("{} figures missed", figures.missed);
        std::process::exit(1);
    }
    println!("all figures reached");
}

/// The figures of the whole default build.
fn builds(figures: &mut Figures) {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = root.path();
    println!("full default build, two threads");
    let full = build(root, "two", &["--jobs", "2"]);
    let seconds = full.wall.as_secs_f64();
    let rate = full.tokens() as f64 / seconds / 1e6;
    figures.check(
        "prompts",
        format!("{}", full.json["manifest"]["rows"]),
        "56000",
        full.json["manifest"]["rows"] == 56000,
    );
    figures.check("tokens a second, whole build", format!("{rate:.1} M"), ">= 12 M", rate >= 12.0);
    println!(
        "       wall {seconds:.1} s, {:.2} G tokens, {:.2} GB on disk",
        full.tokens() as f64 / 1e9,
        full.sum(|f| f["bytes"].as_u64().unwrap()) as f64 / 1e9
    );
    for (stage, share) in full.json["seconds"].as_object().unwrap() {
        println!("       {stage:<10} {:5.1}%", 100.0 * share.as_f64().unwrap() / seconds);
    }
    figures.check("peak memory", format!("{:.0} MiB", full.peak), "< 1536 MiB", full.peak < 1536.0);
    let accepted = full.json["accepted"] == "same";
    figures.check(
        "the accepted digests",
        format!("{}", full.json["accepted"]).chars().take(16).collect(),
        "same",
        accepted,
    );
    let over = full.sum(|f| f["stats"]["over"].as_u64().unwrap());
    figures.check("prompts over their budget", over.to_string(), "0", over == 0);
    for (length, least) in
        [("2k", 97.0), ("4k", 97.0), ("8k", 99.5), ("16k", 99.5), ("32k", 99.5), ("64k", 99.5), ("128k", 99.5)]
    {
        let of = |key: &str| -> u64 {
            let files = full.files().iter().filter(|f| f["path"].as_str().unwrap().contains(&format!("_{length}/")));
            files
                .map(|f| if key == "rows" { f["rows"].as_u64().unwrap() } else { f["stats"][key].as_u64().unwrap() })
                .sum()
        };
        let fill = of("fill") as f64 / of("rows") as f64 / 1e4;
        figures.check(&format!("mean fill at {length}"), format!("{fill:.2}%"), &format!(">= {least}%"), fill >= least);
    }

    println!("zstd -3 -T2 over the same text");
    let (zstd, bytes, packed) = zstd(&full.folder, full.files());
    println!(
        "       {:.2} GB of text in {:.1} s, {:.2} GB packed",
        bytes as f64 / 1e9,
        zstd.as_secs_f64(),
        packed as f64 / 1e9
    );
    println!("       whole build / zstd = {:.2}", seconds / zstd.as_secs_f64());

    println!("verify");
    let start = now();
    let report =
        Command::new(env!("CARGO_BIN_EXE_nihbuild")).args(["verify", "--json"]).arg(&full.folder).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let took = start.elapsed().as_secs_f64();
    println!("       {took:.1} s, {} lines read", report["lines"]);
    let most = 1.5 * seconds;
    figures.check("verify / build", format!("{:.2}", took / seconds), "<= 1.5", took <= most);
    figures.check(
        "rows proven answerable from their text",
        report["proven"].to_string(),
        "56000",
        report["proven"] == 56000,
    );
    figures.check("findings", report["n_findings"].to_string(), "0", report["n_findings"] == 0);
    quick(&full.folder, figures);
    compact::run(figures, root, &full.folder, full.files());
    std::fs::remove_dir_all(&full.folder).unwrap();

    println!("other ways to the same rows");
    let one = build(root, "one", &["--jobs", "1"]);
    figures.check(
        "one thread, rows digest",
        one.digest()[..16].to_owned(),
        "as with two",
        one.digest() == full.digest(),
    );
    std::fs::remove_dir_all(&one.folder).unwrap();
    let rows_of = |built: &Built, path: &str| {
        built.files().iter().find(|f| f["path"] == path).map(|f| f["rows_digest"].as_str().unwrap().to_owned())
    };
    let zh = build(root, "zh", &["--languages", "zh"]);
    let same = zh.files().iter().all(|f| {
        let path = f["path"].as_str().unwrap();
        rows_of(&full, path) == rows_of(&zh, path)
    });
    figures.check(
        "--languages zh, rows digests of its files",
        format!("{} files", zh.files().len()),
        "as in the whole",
        same,
    );
    std::fs::remove_dir_all(&zh.folder).unwrap();

    println!("memory and speed by size");
    let fewer = build(root, "two", &["--limit", "400", "--lengths", "128k", "--jobs", "2"]);
    let thousand = build(root, "two", &["--lengths", "128k", "--jobs", "2"]);
    let growth = thousand.peak / fewer.peak;
    figures.check(
        "peak at 128k, 1000 against 400 instances",
        format!("{:.0}/{:.0} MiB", thousand.peak, fewer.peak),
        "<= 1.15 times",
        growth <= 1.15,
    );
    let eight = build(root, "two", &["--lengths", "8k", "--jobs", "2"]);
    let speed = |built: &Built| built.tokens() as f64 / built.seconds("write");
    let ratio = speed(&thousand) / speed(&eight);
    println!("       128k {:.1} M, 8k {:.1} M tokens a second written", speed(&thousand) / 1e6, speed(&eight) / 1e6);
    figures.check("tokens a second at 128k against 8k", format!("{ratio:.2}"), ">= 0.8", ratio >= 0.8);
}

/// Compresses all prompts as `zstd -3 -T2` does. Only the compression is timed: the time, bytes in, bytes out.
fn zstd(folder: &Path, files: &[Value]) -> (Duration, u64, u64) {
    struct Count(u64);
    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut encoder = zstd::Encoder::new(Count(0), 3).unwrap();
    encoder.multithread(2).unwrap();
    let (mut time, mut bytes) = (Duration::ZERO, 0);
    let mut buffer = Vec::with_capacity(256 << 20);
    let mut push = |buffer: &mut Vec<u8>, encoder: &mut zstd::Encoder<'_, Count>, time: &mut Duration| {
        let start = now();
        encoder.write_all(buffer).unwrap();
        *time += start.elapsed();
        bytes += buffer.len() as u64;
        buffer.clear();
    };
    for file in files {
        let reader = std::fs::File::open(folder.join(file["path"].as_str().unwrap())).unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(reader).unwrap();
        let mask = ProjectionMask::columns(builder.parquet_schema(), ["prompt"]);
        for batch in builder.with_projection(mask).with_batch_size(64).build().unwrap() {
            for prompt in batch.unwrap().column(0).as_string::<i32>().iter().flatten() {
                buffer.extend_from_slice(prompt.as_bytes());
                if buffer.len() > 200 << 20 {
                    push(&mut buffer, &mut encoder, &mut time);
                }
            }
        }
    }
    push(&mut buffer, &mut encoder, &mut time);
    let start = now();
    let packed = encoder.finish().unwrap().0;
    time += start.elapsed();
    (time, bytes, packed)
}
