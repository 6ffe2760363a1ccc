//! Compact releases: the full one comes out byte for byte, whatever the recipe; a touched one is refused and named.

use crate::mlneedle;
use crate::recall::recall;
use crate::support::*;
use crate::work::{self, WAYS, same};
use nihbuild::verify::{Depth, verify};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Builds what `args` ask for once more, compact, and makes it a full release: the same bytes as `full` has. The compact
/// release.
#[track_caller]
pub fn compacts(bench: &Bench, args: &[&str], full: &Path) -> PathBuf {
    let compact = bench.run(&[args, &["--layout", "compact"]].concat()).success().release(bench);
    assert_eq!(compact.extension().unwrap(), "compact");
    assert!(!compact.join("data").exists());
    let out = compact.with_extension("again");
    let said = bench.run(&["materialize", compact.to_str().unwrap(), "--out", out.to_str().unwrap()]).success();
    assert!(said.out.contains("every file is the one of the manifest"), "{}", said.out);
    same(&out, full);
    std::fs::remove_dir_all(out).unwrap();
    compact
}

/// Builds a recipe in full and compact, and verifies the compact one.
#[track_caller]
fn both(recipe: &str, flags: &[&str]) -> (Bench, PathBuf, PathBuf) {
    let bench = Bench::new();
    bench.write("r.toml", recipe);
    both_in(bench, "r.toml", flags)
}

#[track_caller]
fn both_in(bench: Bench, recipe: &str, flags: &[&str]) -> (Bench, PathBuf, PathBuf) {
    let args = [&["recipe", recipe], flags].concat();
    let full = bench.run(&args).success().release(&bench);
    let compact = compacts(&bench, &args, &full);
    // Made by workers, it is the same as well.
    let way = WAYS[args.iter().map(|arg| arg.len()).sum::<usize>() % WAYS.len()];
    work::carried(&bench, &args, &full, way);
    let (a, b) = (verify(&full, Depth::Full, 2).unwrap(), verify(&compact, Depth::Full, 2).unwrap());
    assert_eq!((a.n_findings, b.n_findings), (0, 0), "{:#?}", b.findings);
    assert!(b.compact && !a.compact);
    assert_eq!((a.rows, a.proven, a.lines, a.rows_digest), (b.rows, b.proven, b.lines, b.rows_digest));
    (bench, full, compact)
}

/// Bytes of a release but for croissant.json, which is the same in both layouts and large beside so few rows.
fn size(folder: &Path) -> usize {
    bytes_of(folder).iter().filter(|(name, _)| *name != "croissant.json").map(|(_, bytes)| bytes.len()).sum()
}

fn stories(tasks: &str, grid: &str, more: &str) -> String {
    format!(
        "[release]\nname = \"compact\"\nversion = \"1.0.0\"\nseed = 9\n\n[stories]\ntasks = {{ {tasks} }}\n\n[grid]\n{grid}\n\n{more}"
    )
}

const TASKS: &str = "qa1 = 3, qa2 = 2, qa5 = 2, qa6 = 2, qa8 = 2, qa11 = 4, qa17 = 1, qa20 = 2";

#[test]
fn the_golden_release_comes_out_of_its_compact_form() {
    let (bench, full, compact) = both_in(Bench::new(), "golden", &[]);
    assert!(size(&compact) * 10 < size(&full) * 7, "{} of {} bytes", size(&compact), size(&full));
    // A second run finds it, beside the full one.
    let again = bench.run(&["recipe", "golden", "--layout", "compact"]).success();
    assert!(again.out.contains("was built before and is sound"), "{}", again.out);
    // Beside it, if nothing is said: where the full one is already.
    let there = bench.run(&["materialize", compact.to_str().unwrap()]).success();
    assert!(there.out.contains("was there before and is sound"), "{}", there.out);
    assert_eq!(there.release(&bench), full);
    // It verifies under its own word, and its rows are shown.
    let said = bench.run(&["verify", compact.to_str().unwrap()]).success();
    assert!(said.out.contains("(compact): verified"), "{}", said.out);
    let id = "qa3-00001-zh-4k-synthetic";
    let ids: Vec<String> = data_files(&full).iter().flat_map(|f| prompts(&full.join(f))).map(|(id, _)| id).collect();
    for id in [&ids[0], &ids[ids.len() / 2], &ids[ids.len() - 1], &ids[0][..6].to_owned(), &id.to_owned()] {
        for flags in [&["show"][..], &["show", "--json"]] {
            let [one, two] =
                [&full, &compact].map(|r| bench.run(&[flags, &[r.to_str().unwrap(), id.as_str()]].concat()));
            assert_eq!((one.code, one.out), (two.code, two.out), "{id}");
        }
    }
    // Nothing is left behind.
    let folder = nihbuild::store::sorted_dir(compact.parent().unwrap()).unwrap();
    let names: Vec<String> = folder.iter().map(|p| p.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert!(names.iter().all(|name| !name.contains("verify") && !name.contains("partial")), "{names:?}");
}

#[test]
fn every_strategy_and_kind_of_stories() {
    let more = "[distractors]\npool = 400\nkind = [\"synthetic\", \"noise\"]\n\
        [budget]\nanswer = { zero_shot = 64, translation = 260, chain_of_thought = 150, few_shot = 64 }\n\
        [prompt]\nstrategies = [\"zero_shot\", \"translation\", \"chain_of_thought\", \"few_shot\"]\nexamples = 2\n";
    both(&stories(TASKS, "languages = [\"en\", \"zh\", \"ar\"]\nlengths = [\"0k\", \"2k\"]", more), &[]);
    // In the order ranked, for each language its own, counted with a second tokenizer; and a part of it.
    let more = "[distractors]\npool = 400\n[retrieval]\nranking = \"per_language\"\n[prompt]\norder = \"ranked\"\n\
        [tokens]\nprimary = \"o200k_base\"\nalso = [\"cl100k_base\"]\n";
    let recipe = stories(TASKS, "languages = [\"de\", \"hi\"]\nlengths = [\"2k\", \"4k\"]", more);
    both(&recipe, &[]);
    both(&recipe, &["--languages", "hi", "--limit", "3"]);
}

#[test]
fn rows_with_the_best_sentences_alone() {
    let rag = |more: &str| format!("[distractors]\npool = 300\nkind = [\"synthetic\", \"noise\"]\n[rag]\n{more}\n");
    let grid = "languages = [\"en\", \"zh\"]\nlengths = [\"0k\", \"2k\"]";
    let both_of = "retrievers = [\"bm25\", \"embedder\"]\ntop_k = [2, 9]\norder = \"chronological\"";
    both(&stories(TASKS, grid, &rag(both_of)), &[]);
    let more = rag("retrievers = [\"bm25\"]\ntop_k = [5]\norder = \"similarity\"")
        + "[prompt]\nstrategies = [\"zero_shot\", \"few_shot\"]\nexamples = 1\n";
    both(&stories(TASKS, grid, &more), &[]);
}

#[test]
fn haystack_and_question_of_other_languages() {
    let grid = "languages = [\"en\", \"de\", \"zh\"]\nlengths = [\"0k\", \"2k\"]\n\
        haystack = [\"en\", \"zh\"]\nquestion = \"de\"";
    let (bench, full, _) =
        both(&stories(TASKS, grid, "[distractors]\npool = 600\nkind = [\"synthetic\", \"noise\"]\n"), &[]);
    assert!(data_files(&full).len() > 6, "{:?}", data_files(&full));
    drop(bench);
}

/// Writes a passage of a few words for each prompt.
const AUTHOR: &str = "import hashlib, json, random, sys
things = 'anchor barrel candlestick drawer envelope feather glacier harbour island jacket kettle ladder meadow paddle quilt ribbon saddle trumpet umbrella valley wagon yarn zipper bridge canyon desert fountain guitar hammock jewel kite lighthouse monument nest pebble quarry sculpture tractor village waterfall'.split()
for line in sys.stdin:
    asked = json.loads(line)
    draw = random.Random(hashlib.sha256((asked['prompt'] + str(asked.get('temperature'))).encode()).hexdigest())
    sentence = lambda: 'Helen saw the %s and thought of the %s with the %s that was on the %s.' % tuple(draw.choice(things) for _ in range(4))
    print(json.dumps({'id': asked['id'], 'text': ' '.join(sentence() for _ in range(4))}), flush=True)
";

#[test]
fn passages_that_a_program_wrote() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: no python3 for passages_that_a_program_wrote");
        return;
    }
    let bench = Bench::new();
    bench.write("author.py", AUTHOR);
    let more = "[distractors]\nkind = [\"written\"]\n[written]\nfacts = 30\n[written.service]\nengine = \"command\"\n\
        command = [\"python3\", \"author.py\"]\nmodel = \"made, 1\"\n";
    bench.write("r.toml", &stories("qa1 = 2, qa8 = 2", "languages = [\"en\"]\nlengths = [\"0k\", \"2k\"]", more));
    let (_bench, full, compact) = both_in(bench, "r.toml", &[]);
    assert!(full.join("pins/translate").exists() && compact.join("pins/translate").exists());
}

#[test]
fn needles_among_passages() {
    let grids = [
        "prompts = [\"exact\", \"existence\"]\n",
        "prompts = [\"existence\"]\n[prompt]\nlast = \"cut\"\nfirst_label = 0\n",
        "prompts = [\"exact\", \"existence\"]\n[retrieval]\nranking = \"per_language\"\n",
    ];
    for more in grids {
        let bench = Bench::new();
        mlneedle::world(&bench);
        let mut recipe = mlneedle::recipe(&(mlneedle::GRID.to_owned() + more));
        if more.contains("[retrieval]") {
            recipe = recipe.replacen("[retrieval]\nembedder = \"ngram\"\n", "", 1) + "embedder = \"ngram\"\n";
        }
        bench.write("made.toml", &recipe);
        both_in(bench, "made.toml", &["--data", "data"]);
    }
    let bench = Bench::new();
    mlneedle::world(&bench);
    bench.write("made.toml", &mlneedle::recipe(mlneedle::GRID));
    both_in(bench, "made.toml", &["--data", "data", "--languages", "de,zh", "--lengths", "4k", "--limit", "2"]);
}

#[test]
fn needles_in_running_text() {
    let slots = "[slots]\nwindow = 1600\nn_lengths = 3\nn_depths = 9\nfirst = 400\n";
    let languages = "[grid]\nlanguages = [\"en\", \"zh\", \"ar\"]\n";
    let layouts = ["plain-table-6", "messages"].map(|layout| format!("[prompt]\nlayout = \"{layout}\"\n"));
    for layout in layouts {
        both(&recall("running", &[languages, slots, &layout].concat()), &[]);
    }
    // A short text that is told again and again, and begins with a heading.
    let bench = Bench::new();
    let text: String = (0..40).map(|n| format!("The {n}th house stood near the sea. Its door was green. ")).collect();
    bench.write("text.txt", &format!("A heading\n\n{}\n", text.trim_end()));
    let haystack = "[haystack]\nkind = \"text\"\nfiles = [\"text.txt\"]\nrepeat = true\n";
    bench.write("r.toml", &recall("again", &[haystack, slots].concat()));
    both_in(bench, "r.toml", &["--limit", "11"]);
}

#[test]
fn any_number_of_threads_writes_the_same() {
    let bench = Bench::new();
    let more = "[distractors]\npool = 1500\nkind = [\"synthetic\", \"noise\"]\n[rag]\ntop_k = [3]\n";
    bench.write("r.toml", &stories(TASKS, "languages = [\"en\", \"vi\"]\nlengths = [\"0k\", \"2k\", \"8k\"]", more));
    let build = |jobs: &str| {
        let args = ["recipe", "r.toml", "--layout", "compact", "--jobs", jobs, "--out", jobs];
        bench.run(&args).success().release(&bench)
    };
    let (one, three) = (build("1"), build("3"));
    same(&one, &three);
    for (compact, jobs) in [(&one, "3"), (&three, "1")] {
        bench.run(&["materialize", compact.to_str().unwrap(), "--jobs", jobs]).success();
    }
    same(&one.with_extension(""), &three.with_extension(""));
}

/// Files of a kind below a folder that are in their places.
fn finished(folder: &Path) -> usize {
    let all = nihbuild::store::sorted_dir(folder).unwrap_or_default();
    let count = |path: &PathBuf| match path.is_dir() {
        true => finished(path),
        false => usize::from(path.extension().is_some_and(|extension| extension == "parquet")),
    };
    all.iter().map(count).sum()
}

/// Runs a command and kills it when so many files are there. Those that are.
#[track_caller]
fn kill(bench: &Bench, args: &[&str], folder: &Path, files: usize) -> usize {
    let quiet = std::process::Stdio::null;
    let mut child = bench.command(args).stdout(quiet()).stderr(quiet()).spawn().unwrap();
    while finished(folder) < files {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    finished(folder)
}

#[test]
fn what_was_killed_goes_on() {
    let bench = Bench::new();
    let grid = "lengths = [\"0k\", \"2k\", \"4k\", \"8k\"]";
    bench.write("r.toml", &stories(TASKS, grid, "[distractors]\npool = 1500\n"));
    let full = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    let compact = full.with_file_name("1.0.0.compact");
    let expected = compacts(&bench, &["recipe", "r.toml"], &full);
    assert_eq!(expected, compact);
    let whole = bytes_of(&compact);
    let stamps = |folder: &Path| -> Vec<std::time::SystemTime> {
        let names = bytes_of(folder).into_iter().map(|(name, _)| folder.join(name));
        names.map(|path| std::fs::metadata(path).unwrap().modified().unwrap()).collect()
    };
    for files in [1, 12] {
        std::fs::remove_dir_all(&compact).unwrap();
        let partial = full.with_file_name("1.0.0.compact.partial");
        let args = ["recipe", "r.toml", "--layout", "compact", "--jobs", "1"];
        let kept = kill(&bench, &args, &partial.join("compact/rows"), files);
        let before = stamps(&partial.join("compact/rows"));
        bench.run(&args).success();
        assert!(bytes_of(&compact) == whole, "killed after {files} files");
        let after = stamps(&compact.join("compact/rows"));
        let reused = before.iter().filter(|time| after.contains(time)).count();
        assert!(reused + 2 >= kept, "{reused} of {kept} files were kept");
    }
    let out = bench.path("out");
    let args = ["materialize", compact.to_str().unwrap(), "--out", "out", "--jobs", "1"];
    for files in [1, 9] {
        let kept = kill(&bench, &args, &bench.path("out.partial"), files);
        assert!(!out.exists(), "a killed run is no release");
        let before = stamps(&bench.path("out.partial"));
        std::fs::write(bench.path("out.partial/half.12345.partial"), "{").unwrap();
        bench.run(&args).success();
        same(&out, &full);
        let after = stamps(&out);
        let reused = before.iter().filter(|time| after.contains(time)).count();
        assert!(reused + 2 >= kept, "{reused} of {kept} files were kept");
        std::fs::remove_dir_all(&out).unwrap();
    }
}

/// A compact release of stories that is touched in one place.
struct Touched {
    bench: Bench,
    compact: PathBuf,
    whole: Vec<(String, Vec<u8>)>,
}

impl Touched {
    fn new() -> Touched {
        let more = "[distractors]\npool = 300\n[rag]\ntop_k = [3]\n";
        let recipe = stories("qa1 = 2, qa8 = 2", "languages = [\"en\"]\nlengths = [\"0k\", \"2k\"]", more);
        let (bench, _, compact) = both(&recipe, &[]);
        Touched { whole: bytes_of(&compact), bench, compact }
    }

    /// Touches a file, and where `sealed` writes digests anew: `verify` and `materialize` must both say this.
    #[track_caller]
    fn refused(&self, file: &str, sealed: bool, said: &str, touch: impl Fn(Vec<u8>) -> Vec<u8>) {
        let path = self.compact.join(file);
        let before = std::fs::read(&path).unwrap();
        let after = touch(before.clone());
        assert_ne!(before, after, "{file} was not touched");
        std::fs::write(&path, after).unwrap();
        if sealed {
            self.seal();
        }
        let name = self.compact.to_str().unwrap();
        self.bench.run(&["verify", name]).failure(1, &[said]);
        self.bench.run(&["materialize", name, "--out", "out"]).failure(2, &[said]);
        assert!(!self.bench.path("out").exists() && !self.bench.path("out.partial").exists(), "{file}");
        let there = bytes_of(&self.compact).into_iter().map(|(name, _)| name);
        for name in there.filter(|name| !self.whole.iter().any(|(known, _)| known == name)) {
            std::fs::remove_file(self.compact.join(name)).unwrap();
        }
        for (name, bytes) in &self.whole {
            std::fs::write(self.compact.join(name), bytes).unwrap();
        }
    }

    /// Writes the digests of parts and the sums anew.
    fn seal(&self) {
        let path = self.compact.join("compact/compact.json");
        if let Ok(mut index) = serde_json::from_slice::<serde_json::Value>(&std::fs::read(&path).unwrap()) {
            if let Some(parts) = index["parts"].as_object_mut() {
                for (name, digest) in parts {
                    if let Ok(bytes) = std::fs::read(self.compact.join(name)) {
                        *digest = nihbuild::hash::Digest::of(bytes).to_string().into();
                    }
                }
            }
            std::fs::write(&path, serde_json::to_string_pretty(&index).unwrap() + "\n").unwrap();
        }
        reseal(&self.compact);
    }

    /// Changes one column of a part.
    fn column(
        &self,
        bytes: &[u8],
        column: &str,
        with: &dyn Fn(&arrow_array::ArrayRef) -> arrow_array::ArrayRef,
    ) -> Vec<u8> {
        use parquet::arrow::ArrowWriter;
        use parquet::arrow::arrow_writer::ArrowWriterOptions;
        let path = self.bench.path("part.parquet");
        std::fs::write(&path, bytes).unwrap();
        let batches = batches(&path);
        let mut out = Vec::new();
        let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true);
        let mut writer = ArrowWriter::try_new_with_options(&mut out, batches[0].schema(), options).unwrap();
        for batch in batches {
            let place = batch.schema().index_of(column).unwrap();
            let mut columns = batch.columns().to_vec();
            columns[place] = with(&columns[place]);
            writer.write(&arrow_array::RecordBatch::try_new(batch.schema(), columns).unwrap()).unwrap();
            writer.flush().unwrap();
        }
        writer.close().unwrap();
        out
    }
}

#[test]
fn what_was_touched_is_named_and_refused() {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int32Type, Int64Type};
    use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, ListArray, StringArray};
    use std::sync::Arc;
    let touched = Touched::new();
    let flip = |mut bytes: Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes
    };
    let [texts, rankings, rows, index] = [
        "compact/texts/synthetic-en.parquet",
        "compact/rankings/synthetic.parquet",
        "compact/rows/en_2k.parquet",
        "compact/compact.json",
    ];
    for (name, _) in &touched.whole {
        if name != "SHA256SUMS" && name != "manifest.json" && name != "recipe.toml" && name != "packs/en.toml" {
            touched.refused(name, false, name, flip);
        }
    }
    // With new sums, but not in the index.
    for name in [texts, rankings, rows] {
        touched.refused(name, false, name, |bytes| {
            let changed = flip(bytes);
            std::fs::write(touched.compact.join(name), &changed).unwrap();
            reseal(&touched.compact);
            changed
        });
    }
    // All digests anew: the data file that comes out is not the manifest's.
    let text = |column: &ArrayRef| -> ArrayRef {
        let text = |value: Option<&str>| value.map(|value| value.replacen("the", "teh", 1));
        Arc::new(column.as_string::<i32>().iter().map(text).collect::<StringArray>())
    };
    touched.refused(texts, true, "data/en_2k", |bytes| touched.column(&bytes, "text", &text));
    let swap = |column: &ArrayRef| -> ArrayRef {
        let lists = column.as_list::<i32>();
        let mut numbers = lists.values().as_primitive::<Int32Type>().values().to_vec();
        numbers.swap(0, 1);
        let arrow_schema::DataType::List(item) = lists.data_type() else { unreachable!("it is a list") };
        let numbers = Arc::new(Int32Array::from(numbers));
        Arc::new(ListArray::new(item.clone(), lists.offsets().clone(), numbers, lists.nulls().cloned()))
    };
    touched.refused(rankings, true, "data/en_2k", |bytes| touched.column(&bytes, "passages", &swap));
    for (column, by) in [
        ("prompt_passages", -1),
        ("prompt_passages", 9_999),
        ("prompt_instance", 1),
        ("prompt_bytes", -1),
        ("n_tokens", 1),
    ] {
        let number = |values: &ArrayRef| -> ArrayRef {
            Arc::new(values.as_primitive::<Int64Type>().values().iter().map(|n| n + by).collect::<Int64Array>())
        };
        touched.refused(rows, true, "data/en_2k", |bytes| touched.column(&bytes, column, &number));
    }
    // The index itself: broken, of a later format, with other groups, other parts, parts elsewhere.
    let json = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replacen(&from, &to, 1).into_bytes()
    };
    touched.refused(index, true, index, json("{", "["));
    touched.refused(index, true, "format 2", json("\"format\": 1", "\"format\": 2"));
    touched.refused(index, true, index, json("\"groups\": [\n        4", "\"groups\": [\n        3"));
    touched.refused(index, true, index, json("data/en_0k", "data/en_1k"));
    touched.refused(index, true, index, json("\"ranking\": \"compact/", "\"ranking\": \"../compact/"));
    touched.refused("compact/SHA256SUMS", true, "compact/SHA256SUMS", json("a", "b"));
    // A part of Parquet that is no Parquet.
    touched.refused(texts, true, texts, |_| b"PAR1 it is not PAR1".to_vec());
}

#[test]
fn what_cannot_be_made_is_said() {
    let bench = Bench::new();
    bench.write("r.toml", &stories("qa1 = 1", "languages = [\"en\"]\nlengths = [\"0k\"]", ""));
    let full = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    let name = full.to_str().unwrap();
    bench.run(&["materialize", name]).failure(2, &["no compact release", "--layout compact"]);
    bench.run(&["materialize", "nowhere"]).failure(2, &["nowhere"]);
    let compact = compacts(&bench, &["recipe", "r.toml"], &full);
    let inside = compact.join("full");
    let said = ["lies inside the compact release", "--out DIR"];
    bench.run(&["materialize", compact.to_str().unwrap(), "--out", inside.to_str().unwrap()]).failure(2, &said);
    assert_eq!(verify(&compact, Depth::Quick, 2).unwrap().n_findings, 0);
    let moved = bench.path("moved");
    std::fs::rename(&compact, &moved).unwrap();
    bench.run(&["materialize", "moved"]).failure(2, &["--out"]);
    std::fs::write(bench.path("taken"), "").unwrap();
    bench.run(&["materialize", "moved", "--out", "taken"]).failure(2, &["taken", "not this release"]);
    bench.run(&["materialize", "moved", "--out", "here", "--jobs", "0"]).failure(2, &["--jobs 0"]);
    let said = bench.run(&["materialize", "moved", "--out", "here", "--json"]).success().out;
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((said["rows"].as_u64(), said["was_there"].as_bool()), (Some(1), Some(false)));
    same(&bench.path("here"), &full);
}
