//! The compact form of the default release: its size, and what it costs to make it the full one again.

use super::{Figures, build, now};
use arrow_array::RecordBatch;
use nihbuild::hash::HashingWriter;
use nihbuild::stage::write::{Out, encode, sink};
use nihbuild::table::SCHEMA;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// So many bytes of files are held in memory at once: their text is six times as much.
const HELD: u64 = 400 << 20;

/// Builds the default release for it.
pub fn alone(figures: &mut Figures) {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let full = build(root.path(), "two", &["--jobs", "2"]);
    run(figures, root.path(), &full.folder, full.files());
}

/// `full`: the default release, whose stages' outputs are in the store.
pub fn run(figures: &mut Figures, root: &Path, full: &Path, files: &[Value]) {
    println!("compact release");
    let compact = build(root, "two", &["--layout", "compact", "--jobs", "2"]);
    let bytes = size(&compact.folder);
    let whole = size(full);
    figures.check(
        "size of the compact release",
        format!("{:.1} MB", bytes as f64 / 1e6),
        "< 60 MB",
        bytes < 60_000_000,
    );
    println!("       {:.0} times smaller than the full one", whole as f64 / bytes as f64);
    println!("       built in {:.1} s, peak {:.0} MiB", compact.wall.as_secs_f64(), compact.peak);

    // From text in memory and from the compact release by turns, so that both meet the same disk.
    let out = root.join("again");
    let start = now();
    let made = Command::new(env!("CARGO_BIN_EXE_nihbuild"))
        .args(["materialize", "--json", "--jobs", "2", "--out"])
        .arg(&out)
        .arg(&compact.folder)
        .output()
        .unwrap();
    let wall = start.elapsed();
    let made: Value = serde_json::from_slice(&made.stdout)
        .unwrap_or_else(|_| panic!("not made: {}", String::from_utf8_lossy(&made.stderr)));
    let equal = std::fs::read(out.join("SHA256SUMS")).unwrap() == std::fs::read(full.join("SHA256SUMS")).unwrap();
    figures.check("files made of it", made["files"].to_string(), "as built", equal);
    std::fs::remove_dir_all(&out).unwrap();
    let memory = from_memory(full, &root.join("memory"), files);
    println!("       made in {:.1} s, from text in memory {:.1} s", wall.as_secs_f64(), memory.as_secs_f64());
    let ratio = wall.as_secs_f64() / memory.as_secs_f64();
    figures.check(
        "time to make it the full one / to write text in memory",
        format!("{ratio:.2}"),
        "<= 1.3",
        ratio <= 1.3,
    );
    std::fs::remove_dir_all(&compact.folder).unwrap();
}

fn size(folder: &Path) -> u64 {
    let entries = nihbuild::store::sorted_dir(folder).unwrap();
    let of = |path: &PathBuf| if path.is_dir() { size(path) } else { path.metadata().unwrap().len() };
    entries.iter().map(of).sum()
}

/// The row groups of a file.
fn groups(path: &Path) -> Vec<RecordBatch> {
    let open = || ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let rows: Vec<i64> = open().metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    let read = |(group, rows): (usize, &i64)| {
        let reader = open().with_row_groups(vec![group]).with_batch_size(*rows as usize);
        let mut batches = reader.build().unwrap();
        let batch = batches.next().unwrap().unwrap();
        assert!(batch.num_rows() as i64 == *rows && batches.next().is_none());
        batch.with_schema(SCHEMA.clone()).unwrap()
    };
    rows.iter().enumerate().map(read).collect()
}

/// A file in progress: what is appended next, and groups that came too early.
struct Open {
    writer: Option<nihbuild::stage::write::Sink>,
    next: usize,
    early: BTreeMap<usize, Vec<ArrowColumnChunk>>,
}

/// Writes the files' rows anew with two threads. Only the writing is timed, with what it takes to make it last.
fn from_memory(full: &Path, folder: &Path, files: &[Value]) -> Duration {
    std::fs::create_dir_all(folder).unwrap();
    let mut time = Duration::ZERO;
    let mut left: Vec<(PathBuf, u64, &str)> = Vec::new();
    for file in files {
        let path = full.join(file["path"].as_str().unwrap());
        left.push((path, file["bytes"].as_u64().unwrap(), file["sha256"].as_str().unwrap()));
    }
    // The dearest first, as when they are made.
    left.sort_by_key(|(_, bytes, _)| std::cmp::Reverse(*bytes));
    let mut left = left.into_iter().peekable();
    while left.peek().is_some() {
        let (mut held, mut taken) = (0, Vec::new());
        while held < HELD
            && let Some((path, bytes, sha256)) = left.next()
        {
            held += bytes;
            taken.push((groups(&path), sha256));
        }
        let batches: Vec<&Vec<RecordBatch>> = taken.iter().map(|(groups, _)| groups).collect();
        let (took, digests) = write(folder, &batches);
        time += took;
        for (digest, (_, sha256)) in digests.iter().zip(&taken) {
            assert_eq!(digest, sha256, "the same bytes are written");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    time
}

fn write(folder: &Path, files: &[&Vec<RecordBatch>]) -> (Duration, Vec<String>) {
    let work: Vec<(usize, usize)> =
        files.iter().enumerate().flat_map(|(f, groups)| (0..groups.len()).map(move |g| (f, g))).collect();
    let start = now();
    let create = |f: usize| {
        let file = File::create(folder.join(f.to_string())).unwrap();
        sink(HashingWriter::new(Out::File(BufWriter::with_capacity(1 << 20, file))), &SCHEMA).unwrap()
    };
    let open: Vec<Mutex<Open>> = (0..files.len())
        .map(|f| Mutex::new(Open { writer: Some(create(f)), next: 0, early: BTreeMap::new() }))
        .collect();
    let digests: Vec<Mutex<String>> = (0..files.len()).map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let append = |f: usize, g: usize, chunks: Vec<ArrowColumnChunk>| {
        let mut open = open[f].lock().unwrap();
        open.early.insert(g, chunks);
        while let Some(chunks) = {
            let next = open.next;
            open.early.remove(&next)
        } {
            let mut out = open.writer.as_mut().unwrap().next_row_group().unwrap();
            chunks.into_iter().for_each(|chunk| chunk.append_to_row_group(&mut out).unwrap());
            out.close().unwrap();
            open.next += 1;
        }
        if open.next == files[f].len() {
            let (out, digest, _) = open.writer.take().unwrap().into_inner().unwrap().finish();
            let Out::File(out) = out else { unreachable!("it is a file") };
            out.into_inner().unwrap().sync_all().unwrap();
            *digests[f].lock().unwrap() = digest.to_string();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((f, g)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    append(*f, *g, encode(&files[*f][*g]).unwrap());
                }
            });
        }
    });
    (start.elapsed(), digests.into_iter().map(|digest| digest.into_inner().unwrap()).collect())
}
