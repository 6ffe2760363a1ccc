//! `worker topk` and `worker merge`, as an engine runs them.

use super::streams::{batch, failed, integers, note, noted, read, stream, texts, vectors, worked};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{ArrayRef, FixedSizeListArray, RecordBatch};
use nihbuild::index::{Engine, Index, Vectors};
use nihbuild::seed::Seed;
use std::path::Path;
use std::sync::Arc;

const DIMENSIONS: usize = 5;

fn rows(label: &str, n: usize) -> Vec<Vec<i8>> {
    let mut rng = Seed::new("1").derive("shard", label);
    // Few values, so that many tie.
    (0..n).map(|_| (0..DIMENSIONS).map(|_| rng.below(5) as i8 - 2).collect()).collect()
}

fn base(rows: &[Vec<i8>]) -> Vectors {
    Vectors { dimensions: DIMENSIONS, data: rows.iter().flatten().map(|x| i16::from(*x)).collect() }
}

/// Query, score and number.
type Found = (i64, i64, i64);

/// All rows.
fn found(bytes: &[u8]) -> Vec<Found> {
    let column = |batch: &RecordBatch, name: &str| {
        batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec()
    };
    let rows = |batch: &RecordBatch| {
        let (query, score, number) = (column(batch, "query"), column(batch, "score"), column(batch, "number"));
        (0..query.len()).map(|n| (query[n], score[n], number[n])).collect::<Vec<_>>()
    };
    read(bytes).iter().flat_map(rows).collect()
}

/// A folder with the queries in a file, and what the exact engine gives for all passages.
fn world(k: usize) -> (tempfile::TempDir, Vec<Vec<i8>>, Vec<Found>) {
    let folder = tempfile::tempdir().unwrap();
    let (passages, queries) = (rows("passages", 500), rows("queries", 9));
    let asked = batch(vec![("query", integers((0..9).map(|n| 10 * n))), ("vector", vectors(queries.clone()))]);
    std::fs::write(folder.path().join("queries.arrow"), stream(&[asked])).unwrap();
    let mut all = Vec::new();
    let (base, queries) = (base(&passages), base(&queries));
    let index = Index::build(Engine::Exact, &base).unwrap();
    let row = |query: usize, list: &[(i32, u32)]| {
        list.iter().map(|(s, n)| (10 * query as i64, i64::from(*s), i64::from(*n))).collect::<Vec<_>>()
    };
    index.top(&queries, k, |query, list| all.extend(row(query, list))).unwrap();
    (folder, passages, all)
}

/// The stream of some passages, in batches of so many.
fn shard(passages: &[Vec<i8>], numbers: &[usize], batches: usize) -> Vec<u8> {
    let of = |numbers: &[usize]| {
        let rows = numbers.iter().map(|n| passages[*n].clone());
        batch(vec![("id", texts(numbers.iter().map(usize::to_string))), ("vector", vectors(rows))])
    };
    match numbers {
        [] => stream(&[of(&[])]),
        numbers => stream(&numbers.chunks(batches).map(of).collect::<Vec<_>>()),
    }
}

fn search(folder: &Path, input: &[u8], k: &str, part: &str) -> Vec<u8> {
    worked(folder, &["worker", "topk", "--queries", "queries.arrow", "-k", k, "--part", part], input)
}

#[test]
fn shards_merge_to_the_lists_of_all() {
    let (folder, passages, expected) = world(40);
    let at = folder.path();
    let all: Vec<usize> = (0..500).collect();
    let whole = search(at, &shard(&passages, &all, 500), "40", "1/1");
    assert_eq!(found(&whole), expected);
    // Batches, their order and the type of the vectors do not matter.
    let turned: Vec<usize> = all.iter().rev().copied().collect();
    assert!(search(at, &shard(&passages, &turned, 7), "40", "1/1") == whole);
    let lists = FixedSizeListArray::from_iter_primitive::<Int8Type, _, _>(
        passages.iter().map(|row| Some(row.iter().map(|x| Some(*x)).collect::<Vec<_>>())),
        DIMENSIONS as i32,
    );
    let other = batch(vec![("number", integers(0..500)), ("vector", Arc::new(lists) as ArrayRef)]);
    assert!(search(at, &stream(&[other]), "40", "1/1") == whole);
    // Two streams behind one another are one.
    let both = [shard(&passages, &all[..100], 30), shard(&passages, &all[100..], 400)].concat();
    assert!(search(at, &both, "40", "1/1") == whole);

    // One shard is smaller than k, one is empty, one is done twice.
    let pieces = [&all[..3], &all[3..3], &all[3..250], &all[250..]];
    for (n, piece) in pieces.iter().enumerate() {
        let part = format!("{}/4", n + 1);
        std::fs::write(at.join(format!("{n}.arrow")), search(at, &shard(&passages, piece, 64), "40", &part)).unwrap();
    }
    let merged = worked(at, &["worker", "merge", "3.arrow", "1.arrow", "0.arrow", "2.arrow", "0.arrow"], b"");
    assert_eq!(found(&merged), expected);
    assert_eq!(note(&merged, "nihbuild.parts").unwrap(), "1,2,3,4/4");
    // In steps, and to a file.
    worked(at, &["worker", "merge", "0.arrow", "3.arrow", "--to", "a.arrow"], b"");
    assert_eq!(note(&std::fs::read(at.join("a.arrow")).unwrap(), "nihbuild.parts").unwrap(), "1,4/4");
    let steps = worked(at, &["worker", "merge", "2.arrow", "a.arrow", "1.arrow", "2.arrow"], b"");
    assert!(steps == merged);
}

#[test]
fn what_an_engine_hands_on_without_notes_merges_too() {
    let (folder, passages, expected) = world(12);
    let at = folder.path();
    let mut rows = Vec::new();
    for (n, numbers) in (0..500).collect::<Vec<usize>>().chunks(77).enumerate() {
        rows.extend(found(&search(at, &shard(&passages, numbers, 20), "12", &format!("{}/7", n + 1))));
    }
    // Rows in any order, as after a shuffle.
    Seed::new("2").derive("shard", "shuffle").shuffle(&mut rows);
    let column = |of: fn(&(i64, i64, i64)) -> i64| integers(rows.iter().map(of));
    let bare =
        stream(&[batch(vec![("query", column(|r| r.0)), ("score", column(|r| r.1)), ("number", column(|r| r.2))])]);
    assert_eq!(found(&worked(at, &["worker", "merge", "-k", "12"], &bare)), expected);
    failed(at, &["worker", "merge"], &bare, &["do not say how long", "-k N"]);
}

#[test]
fn a_worker_that_fails_says_where_in_one_line() {
    let (folder, passages, _) = world(12);
    let at = folder.path();
    let topk = ["worker", "topk", "--queries", "queries.arrow", "-k", "12"];
    let good = shard(&passages, &(0..500).collect::<Vec<_>>(), 100);
    failed(at, &topk, b"", &["no Arrow IPC stream", "row 1 of standard input"]);
    failed(at, &topk, b"PAR1 is something else", &["standard input"]);
    // Cut at the end of a batch it would else look whole.
    failed(at, &topk, &good[..good.len() - 8], &["breaks off", "row 501 of standard input", "run that step again"]);
    failed(at, &topk, &good[..good.len() / 2], &["of standard input"]);
    let odd = |id: &str, row: Vec<i8>| {
        let rows = [passages[0].clone(), row];
        stream(&[batch(vec![("id", texts(["0", id])), ("vector", vectors(rows))])])
    };
    failed(at, &topk, &odd("p7", vec![0; 5]), &["\"p7\" is no number below 2^32", "row 2 of standard input"]);
    failed(at, &topk, &odd("7", vec![0; 4]), &["a vector of 4 components, others have 5", "row 2"]);
    failed(at, &topk, &odd("0", vec![0; 5]), &["passage 0 comes twice", "rows 1 to 2"]);
    let bare = stream(&[batch(vec![("id", texts(["1"]))])]);
    failed(at, &topk, &bare, &["no column \"vector\"", "its columns are id"]);
    failed(at, &["worker", "topk", "--queries", "none.arrow", "-k", "1"], &good, &["cannot open none.arrow"]);
    failed(at, &["worker", "topk", "--queries", "queries.arrow", "-k", "0"], &good, &["1 to 1000000"]);

    let write = |name: &str, bytes: &[u8]| std::fs::write(at.join(name), bytes).unwrap();
    write("a.arrow", &search(at, &good, "12", "1/2"));
    write("k.arrow", &search(at, &good, "13", "2/2"));
    failed(at, &["worker", "merge", "a.arrow", "k.arrow"], b"", &["lists of 12 and of 13", "k.arrow"]);
    write("of.arrow", &search(at, &good, "12", "1/3"));
    failed(at, &["worker", "merge", "a.arrow", "of.arrow"], b"", &["parts of 2 and of 3"]);
    failed(
        at,
        &["worker", "merge", "--to", "out.arrow", "-k", "500", "a.arrow"],
        b"",
        &["lists of 500 and of 12 passages cannot be merged", "same -k", "a.arrow"],
    );
    assert!(!at.join("out.arrow").exists());
    // The last of a list has the vector of the first elsewhere, so it stands in both with two scores.
    let list = found(&search(at, &good, "12", "1/2"));
    let (first, last) = (list[0], list[11]);
    assert!(first.0 == last.0 && first.1 > last.1);
    let mut moved = passages.clone();
    moved[last.2 as usize] = passages[first.2 as usize].clone();
    write("b.arrow", &search(at, &shard(&moved, &(0..500).collect::<Vec<_>>(), 100), "12", "2/2"));
    let twice = format!("number {} scores {} and {}", last.2, first.1, last.1);
    failed(at, &["worker", "merge", "a.arrow", "b.arrow"], b"", &["query 0: ", &twice, "search the shard again"]);
    let mut moved = passages.clone();
    moved[3] = vec![2; 5];
    // Lists of all passages show every one that was scored twice.
    let lists = |passages: &[Vec<i8>]| search(at, &shard(passages, &(0..500).collect::<Vec<_>>(), 100), "500", "1/1");
    write("c.arrow", &lists(&passages));
    write("d.arrow", &lists(&moved));
    failed(
        at,
        &["worker", "merge", "c.arrow", "d.arrow"],
        b"",
        &["query 0: number 3 scores", "search the shard again"],
    );
}

#[test]
fn vectors_of_two_embedders_are_not_compared() {
    let (folder, passages, _) = world(12);
    let at = folder.path();
    let by = |name: &str, bytes: &[u8]| noted(bytes, "nihbuild.embedder", name);
    let all = shard(&passages, &(0..500).collect::<Vec<_>>(), 100);
    let queries = std::fs::read(at.join("queries.arrow")).unwrap();
    std::fs::write(at.join("a.arrow"), search(at, &by("one", &all), "12", "1/2")).unwrap();
    std::fs::write(at.join("b.arrow"), search(at, &by("other", &all), "12", "2/2")).unwrap();
    std::fs::write(at.join("queries.arrow"), by("one", &queries)).unwrap();
    // Queries that say it say it for the lists.
    std::fs::write(at.join("c.arrow"), search(at, &all, "12", "2/2")).unwrap();
    worked(at, &["worker", "merge", "--all", "a.arrow", "c.arrow", "--to", "d.arrow"], b"");
    assert_eq!(note(&std::fs::read(at.join("d.arrow")).unwrap(), "nihbuild.embedder").unwrap(), "one");
    let said = ["not of the same embedder", "--recipe"];
    for file in ["c.arrow", "d.arrow"] {
        failed(at, &["worker", "merge", "a.arrow", "b.arrow", file], b"", &said);
        failed(at, &["worker", "merge", file, "b.arrow"], b"", &[&said[..], &["b.arrow"]].concat());
    }
    failed(at, &["worker", "topk", "--queries", "queries.arrow", "-k", "1"], &by("other", &all), &said);
}

#[test]
fn parts_are_carried_on_and_never_made_up() {
    let (folder, passages, expected) = world(12);
    let at = folder.path();
    let all: Vec<usize> = (0..500).collect();
    let part = |part: &str, numbers: &[usize]| noted(&shard(&passages, numbers, 64), "nihbuild.parts", part);
    let topk = ["worker", "topk", "--queries", "queries.arrow", "-k", "12"];
    let search = |more: &[&str], bytes: &[u8]| worked(at, &[&topk[..], more].concat(), bytes);
    // One worker takes two of three parts.
    let two = [part("1/3", &all[..100]), part("3/3", &all[100..120])].concat();
    std::fs::write(at.join("a.arrow"), search(&[], &two)).unwrap();
    failed(at, &["worker", "merge", "--all", "a.arrow"], b"", &["1 of 3 shards are missing: 2"]);
    std::fs::write(at.join("b.arrow"), search(&[], &part("2/3", &all[120..]))).unwrap();
    assert_eq!(found(&worked(at, &["worker", "merge", "--all", "b.arrow", "a.arrow"], b"")), expected);
    // What is said on the command line goes before notes.
    let said = search(&["--part", "7/9"], &[two.clone(), part("1/2", &all[200..])].concat());
    assert_eq!(note(&said, "nihbuild.parts").as_deref(), Some("7/9"));
    failed(at, &topk, &[two, part("1/2", &all[200..])].concat(), &["parts of 3 and of 2"]);
    // Workers that all forget it are not the whole.
    let lists = search(&[], &shard(&passages, &all, 64));
    assert_eq!(note(&lists, "nihbuild.parts"), None);
    failed(at, &["worker", "merge", "--all"], &lists, &["not known", "--part I/N"]);
    failed(
        at,
        &["worker", "merge", "--all", "b.arrow", "a.arrow", "-k", "12", "--lines", "l.tsv"],
        b"",
        &["a stream of topk where one of sample is expected", "--lines is for samples"],
    );
    failed(
        at,
        &["worker", "merge", "--kind", "leaks", "--lines", "l.tsv", "a.arrow"],
        b"",
        &["--lines is for samples"],
    );
    assert!(!at.join("l.tsv").exists());
}
