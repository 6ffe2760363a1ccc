//! From questions and a collection in shards to the release that one machine builds.

use super::streams::{batch, failed, integers, note, noted, piped, read, stream, texts, worked};
use crate::mlneedle::{passage, world};
use crate::support::{Bench, data_files};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use std::ops::Range;
use std::path::Path;

const LANGUAGES: [(&str, &str); 3] = [("en", "english"), ("de", "german"), ("zh", "chinese")];

/// A recipe of the questions that MLNeedle's tests have, which draws so many passages.
pub fn made(sample: usize) -> String {
    crate::mlneedle::recipe(&format!("{}\n[haystack]\nsample = {sample}\n", crate::mlneedle::GRID))
}

/// Questions, and a collection of so many passages in three languages.
pub struct World {
    pub bench: Bench,
}

impl World {
    pub fn new(passages: usize, sample: usize) -> World {
        let bench = Bench::new();
        world(&bench);
        for (l, (_, name)) in LANGUAGES.iter().enumerate() {
            let path = bench.path(&format!("data/{name}_collection.tsv"));
            let mut tsv = std::fs::read_to_string(&path).unwrap();
            for n in 160..passages {
                tsv += &format!("{}\t{}\n", n * 3, passage(l, n * 7 + 3, 20 + n % 23));
            }
            let kept: Vec<&str> = tsv.lines().take(passages).collect();
            std::fs::write(path, kept.join("\n") + "\n").unwrap();
        }
        bench.write("made.toml", &made(sample));
        World { bench }
    }

    /// The stream of some passages: number, and text in each language.
    pub fn rows(&self, range: Range<usize>) -> Vec<u8> {
        let columns = LANGUAGES.map(|(code, name)| {
            let tsv = std::fs::read_to_string(self.bench.path(&format!("data/{name}_collection.tsv"))).unwrap();
            let all: Vec<(i64, String)> = tsv
                .lines()
                .map(|line| line.split_once('\t').unwrap())
                .map(|(pid, text)| (pid.parse().unwrap(), text.to_owned()))
                .collect();
            (format!("text_{code}"), all[range.clone()].to_vec())
        });
        let numbers = integers(columns[0].1.iter().map(|(pid, _)| *pid));
        let mut named = vec![("number", numbers)];
        named.extend(columns.iter().map(|(name, rows)| (name.as_str(), texts(rows.iter().map(|(_, text)| text)))));
        stream(&[batch(named)])
    }

    pub fn leaks(&self) -> [&'static str; 8] {
        ["worker", "leaks", "--recipe", "made.toml", "--data", "data", "--text", "en=text_en,de=text_de,zh=text_zh"]
    }

    fn build(&self, data: &str, out: &str) -> std::path::PathBuf {
        self.bench.run(&["recipe", "made.toml", "--data", data, "--out", out]).success().release(&self.bench)
    }
}

#[track_caller]
fn same(one: &Path, other: &Path) {
    assert_eq!(data_files(one), data_files(other));
    for file in data_files(one) {
        assert!(std::fs::read(one.join(&file)).unwrap() == std::fs::read(other.join(&file)).unwrap(), "{file}");
    }
}

/// Copies the questions to another folder of data.
fn questions(world: &World, data: &str) {
    std::fs::create_dir_all(world.bench.path(data)).unwrap();
    for (code, _) in LANGUAGES {
        let name = format!("made-{code}.json");
        std::fs::copy(world.bench.path("data").join(&name), world.bench.path(data).join(&name)).unwrap();
    }
}

/// Questions to queries, shards to lists, and lists to a narrowed collection in `near/`.
fn retrieve(world: &World, passages: usize, cuts: &[usize], k: &str) {
    let at = world.bench.dir.path();
    let run = |args: &[&str], input: &[u8]| worked(at, args, input);
    let recipe = ["--recipe", "made.toml", "--data", "data"];
    run(&[&["worker", "questions", "--to", "questions.arrow"], &recipe[..]].concat(), b"");
    run(&["worker", "embed", "--role", "query", "--to", "queries.arrow", "questions.arrow"], b"");
    let of = cuts.len() - 1;
    let mut lists = Vec::new();
    let mut narrowed = Vec::new();
    for (n, pair) in cuts.windows(2).enumerate() {
        // The part is said with the rows alone; all that follows carries it on.
        let rows = noted(&world.rows(pair[0]..pair[1]), "nihbuild.parts", &format!("{}/{of}", n + 1));
        run(&[&world.leaks()[..], &["--to", "leaks.arrow"]].concat(), &rows);
        assert_eq!(
            note(&std::fs::read(at.join("leaks.arrow")).unwrap(), "nihbuild.parts"),
            note(&rows, "nihbuild.parts")
        );
        let vectors = run(&["worker", "embed"], &rows);
        let name = format!("top-{n}.arrow");
        let topk = ["worker", "topk", "--queries", "queries.arrow", "-k", k, "--apart", "leaks.arrow"];
        run(&[&topk[..], &["--to", &name]].concat(), &vectors);
        lists.insert(0, name);
    }
    let merge = ["worker", "merge", "--all", "--to", "lists.arrow"];
    if of > 1 {
        failed(at, &[&merge[..], &[&lists[0]]].concat(), b"", &["shards are missing: 1"]);
    }
    run(&merge.into_iter().chain(lists.iter().map(String::as_str)).collect::<Vec<_>>(), b"");
    for (n, pair) in cuts.windows(2).enumerate() {
        let name = format!("near-{n}.arrow");
        run(&["worker", "narrow", "--lists", "lists.arrow", "--to", &name], &world.rows(pair[0]..pair[1]));
        narrowed.push(name);
    }
    questions(world, "near");
    for (code, name) in LANGUAGES {
        let (column, file) = (format!("text_{code}"), format!("near/{name}_collection.tsv"));
        let narrow = ["worker", "narrow", "--lists", "lists.arrow", "--text", &column, "--lines", &file];
        run(&narrow.into_iter().chain(narrowed.iter().map(String::as_str)).collect::<Vec<_>>(), b"");
        let lines = std::fs::read_to_string(at.join(&file)).unwrap().lines().count();
        assert!(lines < passages, "{lines} of {passages}");
        let short =
            ["worker", "narrow", "--lists", "lists.arrow", "--text", &column, "--lines", "short.tsv", &narrowed[0]];
        if of > 1 {
            failed(at, &short, b"", &["that the lists name are nowhere", "all shards"]);
        }
    }
}

/// (number, texts) of all rows.
fn told(bytes: &[u8]) -> Vec<(i64, Vec<String>)> {
    let of = |batch: &arrow_array::RecordBatch| {
        let numbers = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
        let text = |column: usize, row: usize| batch.column(column).as_string::<i32>().value(row).to_owned();
        let row = |row: usize| (numbers[row], (1..batch.num_columns()).map(|column| text(column, row)).collect());
        (0..batch.num_rows()).map(row).collect::<Vec<_>>()
    };
    read(bytes).iter().flat_map(of).collect()
}

#[test]
fn files_of_lines_become_rows_of_what_all_hold() {
    let world = World::new(300, 300);
    let at = world.bench.dir.path();
    let files = LANGUAGES.map(|(code, name)| ["--lines".to_owned(), format!("{code}=data/{name}_collection.tsv")]);
    let all: Vec<&str> = ["worker", "rows"].into_iter().chain(files.iter().flatten().map(String::as_str)).collect();
    assert_eq!(told(&worked(at, &all, b"")), told(&world.rows(0..300)));
    assert_eq!(note(&worked(at, &all, b""), "nihbuild.parts"), None);
    let part = |part: &str| {
        let rows = worked(at, &[&all[..], &["--part", part]].concat(), b"");
        assert_eq!(note(&rows, "nihbuild.parts").as_deref(), Some(part));
        told(&rows)
    };
    let mut parts: Vec<_> = ["1/4", "2/4", "3/4", "4/4"].into_iter().flat_map(part).collect();
    parts.sort();
    assert_eq!(parts, told(&world.rows(0..300)));

    world.bench.write("a.tsv", "\u{feff}1\t one \r\n1\ttwice\n2\ttwo\nnone\n4\t \n5\tfive\n9\tnine");
    world.bench.write("b.tsv", &format!("0\tz\n2\tzwei\n3\t{}\n4\tvier\n5\tfuenf\n", "x".repeat(2 << 20)));
    let row = |number: i64, texts: &[&str]| (number, texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    let (_, one, said) = piped(at, &["worker", "rows", "--lines", "a.tsv"], b"");
    assert_eq!(told(&one), [row(1, &["one"]), row(2, &["two"]), row(5, &["five"]), row(9, &["nine"])]);
    assert!(said.contains("1 lines refused: duplicate pid, first line 2"), "{said}");
    let both = ["worker", "rows", "--lines", "en=a.tsv", "--lines", "de=b.tsv"];
    assert_eq!(told(&worked(at, &both, b"")), [row(2, &["two", "zwei"]), row(5, &["five", "fuenf"])]);
    world.bench.write("c.tsv", "3\tc\n2\tb\n");
    failed(at, &["worker", "rows", "--lines", "c.tsv"], b"", &["passage 2 stands behind passage 3", "line 2 of c.tsv"]);
    failed(
        at,
        &["worker", "rows", "--lines", "a.tsv", "--lines", "b.tsv"],
        b"",
        &["two files would be the column text"],
    );
}

const CHECK: [&str; 8] = ["worker", "check", "--recipe", "made.toml", "--data", "near", "--lists", "lists.arrow"];

#[test]
fn the_release_from_sharded_retrieval_is_the_local_one() {
    let world = World::new(900, 1000);
    let local = world.build("data", "local");
    retrieve(&world, 900, &[0, 140, 140, 600, 611, 900], "130");
    let said = String::from_utf8(worked(world.bench.dir.path(), &CHECK, b"")).unwrap();
    assert!(said.contains("questions among") && said.contains("is the build from the whole collection"), "{said}");
    same(&local, &world.build("near", "sharded"));
}

#[test]
fn lists_that_are_too_short_for_the_build_are_refused() {
    let world = World::new(900, 1000);
    let at = world.bench.dir.path();
    retrieve(&world, 900, &[0, 900], "70");
    failed(at, &CHECK, b"", &["may end before the build does at 4k", "-k beyond 70"]);
    // Of a few questions alone.
    worked(
        at,
        &["worker", "questions", "--first", "3", "--to", "few.arrow", "--recipe", "made.toml", "--data", "data"],
        b"",
    );
    worked(at, &["worker", "embed", "--role", "query", "--to", "queries.arrow", "few.arrow"], b"");
    let vectors = worked(at, &["worker", "embed"], &world.rows(0..900));
    worked(
        at,
        &["worker", "topk", "--queries", "queries.arrow", "-k", "300", "--part", "1/1", "--to", "lists.arrow"],
        &vectors,
    );
    failed(at, &CHECK, b"", &["is not in the collection"]);
    let few = ["worker", "check", "--recipe", "made.toml", "--data", "data", "--lists", "lists.arrow"];
    failed(at, &few, b"", &["was not searched for", "worker questions"]);
    world.bench.write("made.toml", &made(1000).replace("\"made\"\nfiles", "\"other\"\nfiles"));
    failed(at, &few, b"", &["of other questions than the recipe's"]);
}

#[test]
fn builds_that_lists_do_not_answer_for_are_refused() {
    let world = World::new(900, 1000);
    let at = world.bench.dir.path();
    retrieve(&world, 900, &[0, 900], "130");
    worked(at, &CHECK, b"");
    let with = |sample: usize, old: &str, new: &str| world.bench.write("made.toml", &made(sample).replace(old, new));
    let ngram = "embedder = \"ngram\"\n";
    let more = |line: &str| format!("{ngram}{line}\n");
    with(1000, ngram, &more("ranking = \"per_language\""));
    failed(at, &CHECK, b"", &["of all languages at once", "per_language"]);
    with(1000, "samples = 6\n", "samples = 6\nprompts = [\"exact\", \"existence\"]\n");
    failed(at, &CHECK, b"", &["may end before the build does", "existence prompts ranks all passages"]);
    // The engine that builds from them is the exact one, whatever the size of the collection.
    with(1000, ngram, &more("engine = \"hnsw\""));
    failed(at, &CHECK, b"", &["ranks by the approximate engine", "set retrieval.engine = \"exact\""]);
    with(500_001, ngram, ngram);
    failed(at, &CHECK, b"", &["ranks by the approximate engine", "at most 500000"]);
    for (sample, engine) in [(500_000, "auto"), (500_001, "exact")] {
        with(sample, ngram, &more(&format!("engine = \"{engine}\"")));
        worked(at, &CHECK, b"");
    }
    // The other embedder: as where --recipe is forgotten on both sides of one that names a model.
    let lists = std::fs::read(at.join("lists.arrow")).unwrap();
    std::fs::write(at.join("lists.arrow"), noted(&lists, "nihbuild.embedder", "model")).unwrap();
    failed(at, &CHECK, b"", &["vectors of another embedder", "--recipe"]);
    std::fs::write(at.join("lists.arrow"), noted(&lists, "nihbuild.parts", "2/3")).unwrap();
    failed(at, &CHECK, b"", &["2 of 3 shards are missing: 1, 3"]);
}

#[test]
fn streams_that_are_not_alike_are_not_taken_for_one() {
    let world = World::new(200, 200);
    let at = world.bench.dir.path();
    let one = |name: &str| stream(&[batch(vec![("number", integers([3])), (name, texts(["a"]))])]);
    let rows = [one("text_en"), one("text_de")].concat();
    let other = stream(&[batch(vec![("text_en", texts(["a"])), ("number", integers([3]))])]);
    worked(at, &["worker", "questions", "--to", "q.arrow", "--recipe", "made.toml", "--data", "data"], b"");
    worked(at, &["worker", "embed", "--role", "query", "q.arrow", "--to", "queries.arrow"], b"");
    let vectors = worked(at, &["worker", "embed"], &one("text_en"));
    worked(at, &["worker", "topk", "--queries", "queries.arrow", "-k", "9", "--to", "lists.arrow"], &vectors);
    let narrow = ["worker", "narrow", "--lists", "lists.arrow"];
    failed(at, &narrow, &rows, &["columns are number (Int64), text_de (Utf8)", "first stream number (Int64), text_en"]);
    failed(at, &narrow, &[one("text_en"), other].concat(), &["columns are text_en (Utf8), number"]);
    // What is left of a part is no part.
    let part = |part: &str, name: &str| noted(&one(name), "nihbuild.parts", part);
    let kept = worked(at, &narrow, &part("1/2", "text_en"));
    assert_eq!((told(&kept).len(), note(&kept, "nihbuild.parts")), (1, None));

    failed(at, &["worker", "embed"], &rows, &["columns of text are [text_de], those of the first stream [text_en]"]);
    failed(at, &["worker", "embed", "--text", "text_en"], &rows, &["no column \"text_en\""]);
    let two = [part("1/2", "text_en"), part("2/2", "text_en")].concat();
    let leaks = ["worker", "leaks", "--recipe", "made.toml", "--data", "data", "--text", "en=text_en"];
    for worker in [&["worker", "embed"][..], &leaks] {
        failed(at, worker, &two, &["other parts than the first one: 2/2 is not 1/2", "--part I/N"]);
        let said = |more: &[&str], input: &[u8]| note(&worked(at, &[worker, more].concat(), input), "nihbuild.parts");
        assert_eq!(said(&["--part", "2/9"], &two).as_deref(), Some("2/9"));
        assert_eq!(said(&[], &part("1/2", "text_en")).as_deref(), Some("1/2"));
        assert_eq!(said(&[], &one("text_en")), None);
    }
    let asked = std::fs::read(at.join("q.arrow")).unwrap();
    let both = [asked.clone(), noted(&asked, "nihbuild.questions", "others")].concat();
    failed(at, &["worker", "embed", "--role", "query"], &both, &["of other questions than the first one"]);
}

#[test]
fn the_release_from_a_sharded_sample_is_the_local_one() {
    let world = World::new(1400, 300);
    let local = world.build("data", "local");
    let at = world.bench.dir.path();
    questions(&world, "drawn");
    for (_, name) in LANGUAGES {
        let (from, to) = (format!("data/{name}_collection.tsv"), format!("drawn/{name}_collection.tsv"));
        let parts = ["1/4", "2/4", "3/4", "4/4"].map(|part| {
            let file = format!("part-{}.arrow", &part[..1]);
            let draw = ["worker", "sample", "--recipe", "made.toml", "--lines", &from, "--part", part, "--to", &file];
            worked(at, &draw, b"");
            file
        });
        let merge = ["worker", "merge", "--all", "--lines", &to, &parts[2], &parts[0], &parts[3], &parts[1]];
        worked(at, &merge, b"");
        assert_eq!(std::fs::read_to_string(at.join(to)).unwrap().lines().count(), 300 + 300 / 8 + 128);
    }
    same(&local, &world.build("drawn", "sharded"));
}
