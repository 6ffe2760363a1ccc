//! The sample of a collection, drawn from its parts.

use super::streams::{batch, failed, integers, note, noted, read, stream, texts, worked};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use nihbuild::seed::Seed;
use nihbuild::shard::sample::{Sample, lines};
use nihbuild::shard::stream::{Source, to};
use nihbuild::source::collection::{self, Sampling};
use nihbuild::work::share::Share;
use proptest::prelude::*;
use std::path::PathBuf;

/// Lines of which some are at fault, and some repeat a number with another text.
fn collection(seed: &str, n: usize) -> Vec<u8> {
    let mut rng = Seed::new(seed).derive("shard", "collection");
    let mut bytes = if rng.chance(1, 2) { b"\xEF\xBB\xBF".to_vec() } else { Vec::new() };
    for line in 0..n {
        let pid = rng.below(n);
        let end: &[u8] = if rng.chance(1, 9) { b"\r\n" } else { b"\n" };
        let text = match rng.below(30) {
            0 => b"\xFF bad".to_vec(),
            1 => b" ".to_vec(),
            _ => format!("text {line} \u{e4}{}", "x".repeat(rng.below(40))).into_bytes(),
        };
        match rng.below(40) {
            0 => bytes.extend(b"no tab"),
            1 => bytes.extend(b"x7\tno number"),
            _ => bytes.extend([pid.to_string().as_bytes(), b"\t", &text].concat()),
        }
        bytes.extend(if line + 1 == n && rng.chance(1, 2) { b"" } else { end });
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn parts_of_a_file_merge_to_the_sample_of_all(
        seed in any::<u32>(),
        rows in 1usize..700,
        size in prop::sample::select(vec![1u32, 40, 2000]),
        of in 1u32..12,
        order in prop::collection::vec(any::<u32>(), 12),
        again in any::<prop::sample::Index>(),
    ) {
        let bytes = collection(&seed.to_string(), rows);
        let sampling = Sampling { size, ..Sampling::new(u64::from(seed)) };
        let Ok(whole) = collection::sample("all", bytes.as_slice(), &sampling, |_| {}) else { return Ok(()) };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.tsv");
        std::fs::write(&path, &bytes).unwrap();
        let mut found = 0;
        let mut files: Vec<(u32, PathBuf)> = Vec::new();
        for part in 1..=of {
            let drawn = lines(&path, Some(Share { part, of }), &sampling).unwrap();
            found += drawn.lines;
            let file = folder.path().join(format!("{part}.arrow"));
            to(Some(&file), |out| Sample::of(drawn, sampling).write(out)).unwrap();
            files.push((order[part as usize - 1], file));
        }
        prop_assert_eq!(found, whole.lines);
        files.push(files[again.index(files.len())].clone());
        files.sort();
        // Some are merged first.
        let sources: Vec<Source> = files.iter().map(|(_, file)| Source::File(file.clone())).collect();
        let (a, b) = sources.split_at(sources.len() / 2);
        let merged = Sample::merge(&sources).unwrap();
        prop_assert!(merged.rows().eq(whole.passages.iter().map(|(pid, text)| (*pid, text.as_str()))));
        prop_assert!(merged.said.parts().unwrap().missing() == 0);
        if !a.is_empty() {
            let half = folder.path().join("half.arrow");
            to(Some(&half), |out| Sample::merge(a).unwrap().write(out)).unwrap();
            let steps = Sample::merge(&[&[Source::File(half)], b].concat()).unwrap();
            prop_assert!(steps.rows().eq(merged.rows()));
        }
    }
}

const RECIPE: &str = "[release]\nname = \"s\"\nversion = \"1.0.0\"\nseed = 5\n[source]\nkind = \"squad\"\ndataset = \"made\"\n\
                      files = \"q-{language}.json\"\n[haystack]\nsample = 20\n[grid]\nlanguages = [\"en\"]\nlengths = [\"0k\"]\n[retrieval]\nembedder = \"ngram\"\n";

#[test]
fn rows_and_lines_give_one_sample() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("r.toml"), RECIPE).unwrap();
    let text = |n: usize| format!(" passage\tof {n} ");
    let file: String = (0..600).map(|n| format!("{n}\t{}\n", text(n))).collect();
    std::fs::write(at.join("all.tsv"), &file).unwrap();
    let lines = worked(at, &["worker", "sample", "--recipe", "r.toml", "--lines", "all.tsv"], b"");
    let rows =
        stream(&[batch(vec![("id", texts((0..600).map(|n| n.to_string()))), ("text", texts((0..600).map(text)))])]);
    let streamed = worked(at, &["worker", "sample", "--recipe", "r.toml"], &rows);
    assert!(lines == streamed);
    let whole: usize = read(&lines).iter().map(|batch| batch.num_rows()).sum();
    assert_eq!((whole, note(&lines, "nihbuild.parts").as_deref()), (20 + 20 / 8 + 128, None));

    // Parts, one of them without rows, and the file that a build reads.
    for (part, range) in [("1/3", 0..250), ("2/3", 250..250), ("3/3", 250..600)] {
        let own = stream(&[batch(vec![
            ("number", integers(range.clone().map(|n| n as i64))),
            ("text", texts(range.map(text))),
        ])]);
        let name = format!("{}.arrow", &part[..1]);
        worked(at, &["worker", "sample", "--recipe", "r.toml", "--part", part, "--to", &name], &own);
    }
    failed(at, &["worker", "merge", "--all", "3.arrow", "1.arrow"], b"", &["1 of 3 shards are missing: 2"]);
    worked(at, &["worker", "merge", "--all", "3.arrow", "1.arrow", "2.arrow", "--lines", "drawn.tsv"], b"");
    let drawn = std::fs::read_to_string(at.join("drawn.tsv")).unwrap();
    let key = Seed::new("5").derive("collection", "").bits();
    let sampling = Sampling { size: 20, ..Sampling::new(key) };
    let [again, first] =
        [&drawn, &file].map(|text| collection::sample("all", text.as_bytes(), &sampling, |_| {}).unwrap());
    assert_eq!(again.passages, first.passages);
    assert_eq!(drawn.lines().count(), whole);

    // Rows that say their part need no flag, and stand in it.
    let second = stream(&[batch(vec![("number", integers([9])), ("text", texts(["x"]))])]);
    let second = noted(&second, "nihbuild.parts", "2/3");
    let carried = worked(at, &["worker", "sample", "--recipe", "r.toml"], &second);
    let flagged = worked(at, &["worker", "sample", "--recipe", "r.toml", "--part", "2/3"], &second);
    assert!(carried == flagged);
    assert_eq!(read(&carried)[0].column(2).as_primitive::<Int64Type>().values().to_vec(), [2]);

    // What an engine hands on without notes.
    let bare_of = |b: &RecordBatch| {
        batch(b.schema().fields().iter().zip(b.columns()).map(|(f, c)| (f.name().as_str(), c.clone())).collect())
    };
    let files = ["1.arrow", "3.arrow"].map(|file| read(&std::fs::read(at.join(file)).unwrap()));
    let bare: Vec<RecordBatch> = files.iter().flatten().map(bare_of).collect();
    let merge = ["worker", "merge", "--kind", "sample"];
    failed(at, &merge, &stream(&bare), &["do not say how they were drawn", "--recipe"]);
    let merged = worked(at, &[&merge[..], &["--recipe", "r.toml"]].concat(), &stream(&bare));
    let whole = read(&worked(at, &["worker", "merge", "1.arrow", "3.arrow"], b""));
    assert_eq!(read(&merged).iter().map(bare_of).collect::<Vec<_>>(), whole.iter().map(bare_of).collect::<Vec<_>>());
    failed(at, &[&merge[..], &["--recipe", "r.toml", "--all"]].concat(), &stream(&bare), &["not known", "--part I/N"]);
}

#[test]
fn samples_that_do_not_belong_together_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("r.toml"), RECIPE).unwrap();
    let one = |number: i64, text: &str| stream(&[batch(vec![("number", integers([number])), ("text", texts([text]))])]);
    let draw = |bytes: &[u8], more: &[&str], to: &str| {
        worked(at, &[&["worker", "sample", "--recipe", "r.toml", "--to", to], more].concat(), bytes);
    };
    draw(&one(7, "one"), &["--part", "1/1"], "a.arrow");
    draw(&one(7, "another"), &[], "b.arrow");
    failed(at, &["worker", "merge", "a.arrow", "b.arrow"], b"", &["passage 7 has two texts in part 1", "b.arrow"]);
    draw(&one(8, "one"), &["--seed", "6"], "c.arrow");
    failed(at, &["worker", "merge", "a.arrow", "c.arrow"], b"", &["drawn otherwise"]);
    draw(&one(8, "one"), &["--part", "2/3"], "d.arrow");
    failed(at, &["worker", "merge", "a.arrow", "d.arrow"], b"", &["parts of 1 and of 3"]);
    failed(at, &["worker", "sample"], &one(1, "x"), &["needs --recipe"]);
    failed(at, &["worker", "sample", "--recipe", "r.toml"], &one(-1, "x"), &["-1 is no number below 2^32"]);
    failed(at, &["worker", "topk", "--queries", "a.arrow", "-k", "1"], b"", &["a.arrow", "no column \"vector\""]);
}
