//! Passages drawn from large collections: which they are, what is refused, and what two languages share.

use crate::support::real_data;
use nihbuild::hash::Digest;
use nihbuild::seed::{Seed, mix};
use nihbuild::source::clean::clean;
use nihbuild::source::collection::{Sampled, Sampling, common, file_name, sample};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Read;

const KEY: u64 = 0x1234_5678_9ABC_DEF0;

fn small(size: u32) -> Sampling {
    Sampling { size, ..Sampling::new(KEY) }
}

/// How many passages are kept to have `size` in the end.
fn kept(size: usize) -> usize {
    size + size / 8 + 128
}

#[track_caller]
fn take(bytes: impl AsRef<[u8]>, sampling: &Sampling) -> Sampled {
    sample("test.tsv", bytes.as_ref(), sampling, |_| {}).unwrap()
}

fn lines(pids: impl IntoIterator<Item = u32>) -> String {
    pids.into_iter().map(|pid| format!("{pid}\tpassage {pid}\n")).collect()
}

/// The pids with the smallest mixes, by sorting all of them.
fn sorted(pids: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut pids: Vec<u32> = pids.into_iter().collect();
    pids.sort_by_key(|&pid| (mix(KEY, pid), pid));
    pids
}

fn pids(sampled: &Sampled) -> Vec<u32> {
    sampled.passages.iter().map(|(pid, _)| *pid).collect()
}

/// Hands out pieces of the given lengths in turn.
struct Pieces<'a> {
    rest: &'a [u8],
    lengths: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = (*self.lengths.next().unwrap()).min(buffer.len()).min(self.rest.len());
        let (now, rest) = self.rest.split_at(n);
        buffer[..n].copy_from_slice(now);
        self.rest = rest;
        Ok(n)
    }
}

#[test]
fn equals_a_sort_of_all() {
    // Shuffled, and longer than several chunks.
    let mut all: Vec<u32> = (0..200_000).map(|n| n * 7).collect();
    Seed::new("1").derive("test", "").shuffle(&mut all);
    let text: String = all.iter().map(|pid| format!("{pid}\tThe passage of number {pid}.\n")).collect();
    assert!(text.len() > 5 << 20);
    let mut told = 0;
    let sampling = Sampling { size: 1000, key: KEY, md5: true };
    let sampled = sample("test.tsv", text.as_bytes(), &sampling, |n| told += n).unwrap();
    let mut expected = sorted(all);
    expected.truncate(kept(1000));
    assert_eq!(pids(&sampled), expected);
    assert!(sampled.passages.iter().all(|(pid, text)| *text == format!("The passage of number {pid}.")));
    assert_eq!(sampled.threshold, Some(mix(KEY, expected[kept(1000) - 1])));
    assert_eq!((sampled.lines, sampled.bytes, told), (200_000, text.len() as u64, text.len() as u64));
    assert_eq!(sampled.sha256, Digest::of(&text));
    assert!(sampled.dropped.is_empty() && sampled.suspicious.is_empty());
}

#[test]
fn digests_are_those_of_the_bytes() {
    let text = "0\tabc\r\n1\t\n";
    let sampled = take(text, &Sampling { md5: true, ..small(10) });
    let md5: String = sampled.md5.unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(sampled.sha256, Digest::of(text));
    assert_eq!(md5, "42dcad112e139355a8426738dfe3d5e2");
    assert_eq!(take(text, &small(10)).md5, None);
}

#[test]
fn all_of_a_small_collection() {
    let exact = kept(10) as u32;
    assert_eq!(take(lines(0..exact), &small(10)).threshold, None);
    let more = take(lines(0..exact + 1), &small(10));
    assert_eq!((more.passages.len(), more.threshold.is_some()), (kept(10), true));
    assert_eq!(pids(&take(lines(0..5), &small(10))), sorted(0..5));
    assert_eq!(take(lines(0..5), &small(u32::MAX)).passages.len(), 5);
    assert_eq!(take(lines(0..1000), &small(0)).passages.len(), 128);
}

#[test]
fn refused_lines_are_counted_with_their_place() {
    let mut bytes = b"0\tgood\nno tab\n\n-1\tx\n+1\tx\n4294967296\tx\n 5\tx\n\tx\n".to_vec();
    bytes.extend(b"1\t \xE2\x80\x8B\xC2\xA0\n2\t\n3\tbad \xFF\n4\tsound\n4\tsecond\n3\tsound now\n6\t\xFF\n");
    bytes.extend(b"5\t");
    bytes.resize(bytes.len() + (3 << 20), b'x');
    bytes.extend(b"\n4294967295\tit\xC2\x92s, with a\ttab");
    let sampled = take(&bytes, &small(10));
    let found: BTreeMap<u32, &str> = sampled.passages.iter().map(|(pid, text)| (*pid, text.as_str())).collect();
    assert_eq!(found, BTreeMap::from([(0, "good"), (3, "sound now"), (4, "sound"), (u32::MAX, "it s, with a tab")]));
    let refused: Vec<(&str, u64, &str)> =
        sampled.dropped.iter().map(|(reason, (n, first))| (reason.as_str(), *n, first.as_str())).collect();
    assert_eq!(
        refused,
        [
            ("bad UTF-8", 2, "line 11"),
            ("blank passage", 2, "line 9"),
            ("duplicate pid", 1, "line 13"),
            ("line longer than 1 MiB", 1, "line 16"),
            ("no tab", 2, "line 2"),
            ("pid is no number below 2^32", 5, "line 4"),
        ]
    );
    assert_eq!(sampled.lines, 17);
    let signs: Vec<_> = sampled.suspicious.values().collect();
    assert_eq!(signs, [&(1, "pid 4294967295".to_owned())]);
}

#[test]
fn line_ends_and_byte_order_marks() {
    let plain = take("0\ta b\n1\tc\n2\td", &small(10));
    for text in
        ["0\ta b\r\n1\tc\r\n2\td\r\n", "\u{FEFF}0\ta b\n1\tc\n2\td\n", "\u{FEFF}0\ta\u{2028}b\r\n1\t\u{FEFF}c \r\n2\td"]
    {
        let sampled = take(text, &small(10));
        assert_eq!((sampled.passages, sampled.lines), (plain.passages.clone(), 3), "{text:?}");
        assert!(sampled.dropped.is_empty(), "{text:?}");
        assert_eq!(sampled.sha256, Digest::of(text));
    }
}

#[test]
fn a_file_of_another_kind_is_an_error() {
    for (bytes, said) in [
        (b"".as_slice(), ["test.tsv holds no passage in 0 lines", "<number><TAB><passage>"]),
        (b"pid,passage\n0,x\n", ["no passage in 2 lines", "2 no tab, first line 1"]),
        (b"\x1F\x8B\x08\0\0\0", ["no passage in 1 lines", "1 no tab, first line 1"]),
    ] {
        let found = sample("test.tsv", bytes, &small(10), |_| {}).unwrap_err().to_string();
        said.iter().for_each(|word| assert!(found.contains(word), "expected {word:?} in: {found}"));
    }
    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let n = buffer.len().min(self.0);
            self.0 -= n;
            buffer[..n].fill(b'x');
            if n == 0 { Err(std::io::Error::other("the line is down")) } else { Ok(n) }
        }
    }
    // Whether the reader fails at once or after many chunks.
    for bytes in [0, 12_345_678] {
        let md5 = Sampling { md5: true, ..small(10) };
        let found = sample("test.tsv", Broken(bytes), &md5, |_| {}).unwrap_err().to_string();
        for word in ["cannot read test.tsv: the line is down", &format!("byte {bytes}"), "download it again"] {
            assert!(found.contains(word), "expected {word:?} in: {found}");
        }
    }
}

#[test]
fn what_all_languages_have() {
    let size = 500;
    // One language lacks every 30th passage, another has them in another order and some of its own.
    let whole = take(lines(0..20_000), &small(size));
    let fewer = take(lines((0..20_000).filter(|pid| pid % 30 != 0)), &small(size));
    let turned = take(lines((0..21_000).rev()), &small(size));
    let samples = [("en".to_owned(), whole), ("de".to_owned(), fewer), ("zh".to_owned(), turned)];
    let shared = common(&samples, size).unwrap();
    let mut expected = sorted((0..20_000).filter(|pid| pid % 30 != 0));
    expected.truncate(size as usize);
    assert_eq!(shared.pids, expected);
    assert!(shared.missing["de"] > 10 && shared.missing["zh"] == 0 && shared.missing["en"] > 10);
    // Another order of the languages is the same.
    let [a, b, c] = samples;
    assert_eq!(common(&[c, a, b], size).unwrap(), shared);
}

#[test]
fn too_many_missing_passages_are_an_error() {
    let size = 1000;
    let whole = take(lines(0..20_000), &small(size));
    let half = take(lines((0..20_000).filter(|pid| pid % 2 == 0)), &small(size));
    let found = common(&[("en".to_owned(), whole.clone()), ("hi".to_owned(), half)], size).unwrap_err().to_string();
    for word in ["of the 1000 passages wanted", "all 2 languages", "hi lacks", "en 0", "ask for fewer"] {
        assert!(found.contains(word), "expected {word:?} in: {found}");
    }
    let none = take(lines(30_000..30_005), &small(size));
    let tiny = take(lines(0..5), &small(size));
    let found = common(&[("en".to_owned(), tiny), ("hi".to_owned(), none)], size).unwrap_err().to_string();
    assert!(found.contains("only 0 of"), "{found}");
    let other = take(lines(0..20_000), &Sampling { key: 1, ..small(size) });
    let found = common(&[("en".to_owned(), whole), ("hi".to_owned(), other)], size).unwrap_err().to_string();
    assert!(found.contains("another key"), "{found}");
    assert!(common(&[], size).is_err());
}

#[test]
fn the_derived_collections_are_parallel() {
    let Some(data) = real_data("the_derived_collections_are_parallel") else { return };
    let key = Seed::new("7").derive("collection", "").bits();
    let languages = ["Arabic", "Chinese", "English", "German", "Hindi", "Spanish", "Vietnamese"];
    let samples: Vec<(String, Sampled)> = languages
        .iter()
        .map(|language| {
            let path = data.join("mmarco_layout").join(file_name(language));
            let file = std::fs::File::open(&path).unwrap();
            let sampled = sample(&path.to_string_lossy(), file, &Sampling::new(key), |_| {}).unwrap();
            let (digest, bytes) = Digest::of_file(&path).unwrap();
            assert_eq!((sampled.sha256, sampled.bytes), (digest, bytes));
            assert_eq!((sampled.passages.len(), sampled.lines, sampled.threshold), (521, 521, None));
            assert!(sampled.dropped.is_empty(), "{language}");
            (language.to_string(), sampled)
        })
        .collect();
    assert!(samples.iter().all(|(_, sampled)| pids(sampled) == pids(&samples[0].1)));
    assert_eq!(common(&samples, 10_000).unwrap().pids, pids(&samples[0].1));
    let few = common(&samples, 100).unwrap();
    assert_eq!(few.pids, pids(&samples[0].1)[..100]);
    assert!(few.missing.values().all(|&n| n == 0));
}

#[test]
fn true_rows_of_mmarco() {
    let Some(data) = real_data("true_rows_of_mmarco") else { return };
    let read = |language: &str| {
        let path = data.join(format!("mmarco_slice/{language}_docs.tsv"));
        (language.to_owned(), take(std::fs::read(path).unwrap(), &small(10)))
    };
    let samples = [read("arabic"), read("chinese"), read("vietnamese")];
    assert_eq!(samples.iter().map(|(_, sampled)| sampled.passages.len()).collect::<Vec<_>>(), [1, 3, 1]);
    let shared = common(&samples, 10).unwrap();
    assert_eq!(shared.pids, [9]);
    assert_eq!(shared.missing["arabic"], 2);
    for (_, sampled) in &samples {
        assert!(sampled.dropped.is_empty());
        assert!(sampled.passages.iter().all(|(_, text)| clean(text) == *text && !text.is_empty()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn how_the_reader_cuts_does_not_matter(
        lengths in proptest::collection::vec(1usize..3_000_000, 1..5),
        width in 1usize..700,
        size in 0u32..300,
    ) {
        // About two and a half chunks of lines, so that lines lie across chunks at all places.
        let n = (5 << 19) / (width + 8) as u32;
        let text: String = (0..n).map(|pid| format!("{pid}\t{:width$}.\n", pid % 97)).collect();
        let sampling = Sampling { md5: true, ..small(size) };
        let pieces = Pieces { rest: text.as_bytes(), lengths: lengths.iter().cycle() };
        let cut = sample("test.tsv", pieces, &sampling, |_| {}).unwrap();
        prop_assert_eq!(&cut, &take(&text, &sampling));
        let mut expected = sorted(0..n);
        expected.truncate(kept(size as usize));
        prop_assert_eq!(pids(&cut), expected);
        prop_assert_eq!(cut.lines, u64::from(n));
    }
}
