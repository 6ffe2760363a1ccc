//! Exact search in shards, each by a process of its own: the lists of all, and the memory of a worker.

use super::{Figures, PEAK, now};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use nihbuild::index::{Engine, Index, Vectors};
use nihbuild::seed::{Rng, Seed};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const DIMENSIONS: usize = 384;
const PASSAGES: u32 = 1_000_000;
const SHARDS: u32 = 16;
const QUERIES: u32 = 1_000;
const TOP: usize = 300;

/// Rows of a batch.
const ROWS: usize = 8192;

/// Makes the shards, searches each, merges their lists, and compares with the index over all.
pub fn run(figures: &mut Figures) {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = root.path();
    println!(
        "{PASSAGES} passages in {SHARDS} shards, {QUERIES} queries, {DIMENSIONS} dimensions, top {TOP}, two threads"
    );
    let mut rng = Seed::new("1").derive("bench", "sharded");
    let base = vectors(&mut rng, PASSAGES);
    let queries = vectors(&mut rng, QUERIES);
    write(&at.join("queries.arrow"), "query", &queries, (0..QUERIES).collect());
    for shard in 0..SHARDS {
        // Neighbours lie in other shards, and no shard is in order.
        let own = (0..PASSAGES).rev().filter(|n| n % SHARDS == shard).collect();
        write(&at.join(format!("shard-{shard}.arrow")), "number", &base, own);
    }
    let mut peaks = 0f64;
    let start = now();
    for shard in 0..SHARDS {
        let part = format!("{}/{SHARDS}", shard + 1);
        let (from, to) = (format!("shard-{shard}.arrow"), format!("top-{shard}.arrow"));
        let k = TOP.to_string();
        let args = ["topk", "--queries", "queries.arrow", "-k", &k, "--part", &part, "--jobs", "2", "--to", &to, &from];
        peaks = peaks.max(worker(at, &args));
    }
    let searched = start.elapsed().as_secs_f64();
    figures.check("peak memory of worker topk", format!("{peaks:.0} MiB"), "< 1024 MiB", peaks < 1024.0);
    let start = now();
    // The last first, and one that was done twice.
    let lists: Vec<String> = (0..SHARDS).rev().chain([3]).map(|shard| format!("top-{shard}.arrow")).collect();
    let merge = ["merge", "--all", "--to", "lists.arrow"].into_iter().chain(lists.iter().map(String::as_str));
    let peak = worker(at, &merge.collect::<Vec<_>>());
    let merged = start.elapsed().as_secs_f64();
    figures.check("peak memory of worker merge", format!("{peak:.0} MiB"), "< 1024 MiB", peak < 1024.0);
    let pairs = f64::from(PASSAGES) * f64::from(QUERIES);
    println!(
        "       searched in {searched:.1} s ({:.0} M scores a second, {:.0} passages), merged in {merged:.1} s",
        pairs / searched / 1e6,
        f64::from(PASSAGES) / searched
    );

    let found = read(&at.join("lists.arrow"));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let start = now();
    let mut all = Vec::new();
    pool.install(|| {
        let index = Index::build(Engine::Exact, &base).unwrap();
        let each = |query: usize, list: &[(i32, u32)]| {
            all.extend(list.iter().map(|(score, n)| (query as i64, i64::from(*score), i64::from(*n))));
        };
        index.top(&queries, TOP, each).unwrap();
    });
    let whole = start.elapsed().as_secs_f64();
    println!("       the index over all: {whole:.1} s, so shards take {:.2} times that", searched / whole);
    let same = found.iter().zip(&all).filter(|(a, b)| a == b).count();
    let holds = found == all && all.len() == QUERIES as usize * TOP;
    figures.check("places of lists as unsharded", format!("{same} of {}", all.len()), "all", holds);
}

/// Small components, so that many scores tie.
fn vectors(rng: &mut Rng, n: u32) -> Vectors {
    let mut data = Vec::with_capacity(n as usize * DIMENSIONS);
    for _ in 0..n as usize * DIMENSIONS / 8 {
        data.extend(rng.bits().to_le_bytes().map(|byte| i16::from(byte.cast_signed() / 16)));
    }
    Vectors { dimensions: DIMENSIONS, data }
}

/// Writes the vectors of these numbers, in this order.
fn write(path: &Path, key: &str, vectors: &Vectors, numbers: Vec<u32>) {
    let mut out: Option<StreamWriter<File>> = None;
    for numbers in numbers.chunks(ROWS) {
        let rows = numbers.iter().map(|n| vectors.row(*n as usize).iter().map(|x| *x as u8).collect::<Vec<u8>>());
        let columns: [(&str, ArrayRef); 2] = [
            (key, Arc::new(Int64Array::from_iter_values(numbers.iter().map(|n| i64::from(*n))))),
            ("vector", Arc::new(FixedSizeBinaryArray::try_from_iter(rows).unwrap())),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let file = || StreamWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
        out.get_or_insert_with(file).write(&batch).unwrap();
    }
    out.unwrap().finish().unwrap();
}

/// Query, score and number of every row.
fn read(path: &Path) -> Vec<(i64, i64, i64)> {
    let mut all = Vec::new();
    for batch in StreamReader::try_new(BufReader::new(File::open(path).unwrap()), None).unwrap() {
        let batch = batch.unwrap();
        let [query, score, number] = [0, 1, 2].map(|n| batch.column(n).as_primitive::<Int64Type>().values().clone());
        all.extend((0..batch.num_rows()).map(|row| (query[row], score[row], number[row])));
    }
    all
}

/// Runs a worker; its peak memory in MiB.
fn worker(at: &Path, args: &[&str]) -> f64 {
    let output = Command::new("/usr/bin/env")
        .args(["python3", "-c", PEAK, env!("CARGO_BIN_EXE_nihbuild"), "worker"])
        .args(args)
        .current_dir(at)
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "the worker failed: {err}");
    err.lines().rev().find_map(|l| l.strip_prefix("peak ")?.parse::<f64>().ok()).expect("the peak") / 1024.0
}
