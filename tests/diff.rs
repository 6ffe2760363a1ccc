//! `diff`: what changed between two releases, where it began, and the verdict.

use crate::mlneedle;
use crate::recall::recall;
use crate::support::*;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use nihbuild::diff::change::{Kind, Moves};
use nihbuild::diff::lines::{In, lines};
use nihbuild::diff::row::row;
use nihbuild::diff::verdict::Verdict;
use nihbuild::diff::{Options, Report, diff};
use nihbuild::hash::Digest;
use nihbuild::seed::Seed;
use nihbuild::table::{self, SCHEMA, SINCE_3, schema_of};
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TWO: &str = "[grid]\nlanguages = [\"en\", \"hi\"]\nlengths = [\"0k\", \"2k\"]\n\n[distractors]\npool = 300\n";
const EN: &str = "data/en_2k/test-00000-of-00001.parquet";
const HI: &str = "data/hi_2k/test-00000-of-00001.parquet";

/// Rows of a release of the small recipe in two languages and two lengths.
const ROWS: u64 = 80;

fn build(bench: &Bench, recipe: &str, flags: &[&str]) -> PathBuf {
    bench.write("r.toml", recipe);
    bench.run(&[&["recipe", "r.toml"], flags].concat()).success().release(bench)
}

fn compared(a: &Path, b: &Path) -> Report {
    diff(a, b, &Options { full: false, keep: usize::MAX, jobs: 2 }).unwrap()
}

fn in_full(a: &Path, b: &Path) -> Report {
    diff(a, b, &Options { full: true, keep: 5, jobs: 1 }).unwrap()
}

/// A release and its twin in another folder, to be touched.
struct Twins {
    bench: Bench,
    a: PathBuf,
    b: PathBuf,
    bytes: Vec<(String, Vec<u8>)>,
}

impl Twins {
    fn new() -> Twins {
        let bench = Bench::new();
        let a = build(&bench, &small("twin", TWO), &["--out", "a"]);
        let (b, bytes) = (bench.path("b"), bytes_of(&a));
        let twins = Twins { bench, a, b, bytes };
        twins.restore();
        twins
    }

    fn restore(&self) {
        let _ = std::fs::remove_dir_all(&self.b);
        for (name, bytes) in &self.bytes {
            let path = self.b.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
    }

    /// Touches the English prompts of the twin, lets its manifest know, and compares.
    fn touched(&self, touch: impl FnOnce(&Path)) -> Report {
        self.restore();
        touch(&self.b.join(EN));
        told(&self.b);
        compared(&self.a, &self.b)
    }

    fn run(&self, flags: &[&str]) -> Outcome {
        let paths = [self.a.to_str().unwrap(), self.b.to_str().unwrap()];
        self.bench.run(&[&["diff"], &paths[..], flags].concat())
    }
}

fn edit(release: &Path, with: impl FnOnce(&mut Value)) {
    let path = release.join("manifest.json");
    let mut json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    with(&mut json);
    std::fs::write(&path, json.to_string()).unwrap();
    reseal(release);
}

/// The manifest says of the data files what they are.
fn told(release: &Path) {
    edit(release, |json| {
        for file in json["files"].as_array_mut().unwrap() {
            let bytes = std::fs::read(release.join(file["path"].as_str().unwrap())).unwrap();
            file["bytes"] = bytes.len().into();
            file["sha256"] = Digest::of(&bytes).to_string().into();
        }
    });
}

fn write(file: &Path, batches: &[RecordBatch]) {
    let schema = batches[0].schema();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(file).unwrap(), schema, None).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

fn without(file: &Path, row: usize) {
    let batch = batches(file).remove(0);
    let keep: BooleanArray = (0..batch.num_rows()).map(|n| Some(n != row)).collect();
    write(file, &[arrow_select::filter::filter_record_batch(&batch, &keep).unwrap()]);
}

fn id(file: &Path, row: usize) -> String {
    prompts(file).remove(row).0
}

#[test]
fn the_same_recipe_again_is_the_same() {
    let twins = Twins::new();
    let again = build(&twins.bench, &small("twin", TWO), &["--out", "b2", "--jobs", "1"]);
    let report = compared(&twins.a, &again);
    assert_eq!((report.verdict, report.rows.same, report.rows.a, report.rows.b), (Verdict::Same, ROWS, ROWS, ROWS));
    assert_eq!((report.rows.skipped_files, report.rows.read_files), (4, 0));
    assert_eq!((&report.path.first, &report.path.first_stage, report.versions.enough), (&None, &None, Some(true)));
    let full = in_full(&twins.a, &again);
    assert_eq!((full.verdict, full.rows.same, full.rows.read_files, full.rows.forged), (Verdict::Same, ROWS, 8, 0));
    let said = twins.run(&[]).success();
    assert!(said.out.contains("SAME  all files are equal"), "{}", said.out);
    assert!(said.out.contains("4 files are equal by the SHA-256"), "{}", said.out);
    let json: Value = serde_json::from_str(&twins.run(&["--json", "--full"]).success().out).unwrap();
    assert_eq!((json["verdict"].as_str(), json["rows"]["same"].as_u64()), (Some("SAME"), Some(ROWS)));
    // Other bytes of what a release says of itself; the data's are read where that is asked for.
    std::fs::write(twins.b.join("packs/en.toml"), "# another pack\n").unwrap();
    assert_eq!(compared(&twins.a, &twins.b).verdict, Verdict::Patch);
    twins.restore();
    std::fs::write(twins.b.join("README.md"), "another card\n").unwrap();
    reseal(&twins.b);
    let report = compared(&twins.a, &twins.b);
    assert_eq!((report.verdict, report.rows.same), (Verdict::Patch, ROWS));
}

#[test]
fn another_seed_is_major_and_the_seed_is_its_cause() {
    let bench = Bench::new();
    let a = build(&bench, &small("seeds", TWO), &[]);
    let b = build(&bench, &small("seeds", TWO), &["--seed", "4"]);
    let report = compared(&a, &b);
    assert_eq!(report.verdict, Verdict::Major);
    assert_eq!((report.path.first.as_deref(), report.path.first_stage.as_deref()), (Some("seed"), Some("select")));
    let seed = &report.path.steps[2].details[0];
    assert_eq!((seed.key.as_str(), seed.a.as_deref(), seed.b.as_deref()), ("release.seed", Some("3"), Some("4")));
    assert_eq!((report.versions.step, report.versions.enough), (Some("none"), Some(false)));
    let rows = &report.rows;
    assert_eq!((rows.changed, rows.added, rows.removed), (ROWS, 0, 0));
    assert_eq!((rows.kinds[&Kind::Prompt], rows.changed_rows.len() as u64), (ROWS, ROWS));
    assert_eq!((rows.files["en_2k"].changed, rows.languages["hi"].changed), (ROWS / 4, ROWS / 2));
    let said = bench.run(&["diff", a.to_str().unwrap(), b.to_str().unwrap(), "--limit", "3"]);
    let said = said.failure(1, &["MAJOR  the question of", "seed        differs   <- the first difference"]);
    assert!(said.out.contains("... and 77 more") && said.out.contains("stages      "), "{}", said.out);
}

#[test]
fn a_language_added_is_minor_and_the_recipe_is_its_cause() {
    let bench = Bench::new();
    let ranked = |languages: &str, version: &str, ranking: &str| {
        let recipe = small("grows", TWO).replace("\"en\", \"hi\"", languages).replace("1.0.0", version);
        build(&bench, &format!("{recipe}[retrieval]\nranking = \"{ranking}\"\n"), &["--out", ranking])
    };
    let a = ranked("\"en\", \"hi\"", "1.0.0", "per_language");
    let b = ranked("\"en\", \"hi\", \"de\"", "1.0.1", "per_language");
    let report = compared(&a, &b);
    assert_eq!((report.verdict, report.rows.added, report.rows.changed), (Verdict::Minor, ROWS / 2, 0), "{report:#?}");
    // The gold in one more language is no other gold.
    assert_eq!((report.rows.metadata, report.rows.columns.len()), (ROWS, 1));
    assert_eq!(report.rows.languages["de"].added, ROWS / 2);
    assert_eq!(report.path.first.as_deref(), Some("recipe"));
    let causes: Vec<(&str, bool)> =
        report.path.steps[0].details.iter().map(|detail| (detail.key.as_str(), detail.cause)).collect();
    assert_eq!(causes, [("grid.languages", true), ("release.version", false)]);
    // 1.0.1 promises less than rows that were added.
    assert_eq!((report.versions.step, report.versions.enough), (Some("patch"), Some(false)));
    // Backwards the rows are removed.
    let back = compared(&b, &a);
    assert_eq!((back.verdict, back.rows.removed, back.versions.step), (Verdict::Major, ROWS / 2, Some("back")));
    // One ranking of all languages: one more of them ranks other distractors.
    let a = ranked("\"en\", \"hi\"", "1.0.0", "pivot");
    let b = ranked("\"en\", \"hi\", \"de\"", "2.0.0", "pivot");
    let report = compared(&a, &b);
    assert_eq!((report.verdict, report.versions.enough), (Verdict::Major, Some(true)));
    assert!(report.reasons[0].contains("beside the same question and gold"), "{:?}", report.reasons);
    assert!(report.rows.distractors.added > 0 && !report.rows.kinds.contains_key(&Kind::PromptOnly));
}

#[test]
fn bytes_alone_are_a_patch() {
    let twins = Twins::new();
    let report = twins.touched(|file| write(file, &batches(file)));
    assert_eq!((report.verdict, report.rows.same, report.rows.read_files), (Verdict::Patch, ROWS, 2));
    assert_eq!((report.rows.skipped_files, report.path.first), (3, None));
    twins.run(&[]).success();
    // The manifest need not tell: the size does.
    twins.restore();
    write(&twins.b.join(EN), &batches(&twins.b.join(EN)));
    let report = compared(&twins.a, &twins.b);
    assert_eq!((report.verdict, report.rows.same, report.rows.skipped_files), (Verdict::Patch, ROWS, 3));
    // Rows in another order are the same rows.
    let report = twins.touched(|file| {
        let batch = batches(file).remove(0);
        write(file, &(0..batch.num_rows()).rev().map(|row| batch.slice(row, 1)).collect::<Vec<_>>());
    });
    assert_eq!((report.verdict, report.rows.same), (Verdict::Patch, ROWS));
}

#[test]
fn each_kind_of_change_is_told() {
    let twins = Twins::new();
    let of = |report: &Report, verdict: Verdict, kinds: &[Kind]| {
        assert_eq!((report.verdict, report.rows.changed_rows.len()), (verdict, 1), "{report:#?}");
        let row = &report.rows.changed_rows[0];
        assert_eq!((row.kinds.as_slice(), row.file.as_str()), (kinds, "en_2k"));
        assert_eq!(row.id, id(&twins.a.join(EN), 3));
        assert_eq!((report.path.first.as_deref(), report.is_well()), (Some("rows"), verdict == Verdict::Patch));
    };
    use Kind::*;
    use Verdict::{Major, Patch};
    let report = twins.touched(|file| change(file, "question", 3, &|_| "Where is Fred?".to_owned()));
    of(&report, Major, &[Question]);
    assert_eq!(report.reasons, ["the question of 1 row changed"]);
    twins.run(&[]).failure(1, &["MAJOR  the question of 1 row changed", "made by another program, or edited"]);
    of(&twins.touched(|f| change_list(f, "answers", 3, &|_| vec!["park".to_owned()])), Major, &[Answer]);
    of(&twins.touched(|f| change_list(f, "answer_variants", 3, &|_| vec!["a park".to_owned()])), Major, &[Answer]);
    let report = twins.touched(|file| forge(file, 3, &|p| p.replacen("short", "brief", 1)));
    of(&report, Major, &[Prompt, PromptOnly]);
    assert!(report.reasons[0].starts_with("1 row has another prompt"), "{:?}", report.reasons);
    let report = twins.touched(|f| change_list(f, "distractor_ids", 3, &|ids| ids.into_iter().rev().collect()));
    of(&report, Patch, &[Distractors]);
    assert_eq!(report.rows.distractors, Moves { added: 0, removed: 0, reordered: 1 });
    let report = twins.touched(|f| {
        change_list(f, "distractor_ids", 3, &|ids| [vec!["s99999".to_owned()], ids[2..].to_vec()].concat());
    });
    assert_eq!(report.rows.distractors, Moves { added: 1, removed: 2, reordered: 0 });
    let moved = |name: &'static str| {
        twins.touched(|f| change_spans(f, 3, &|_, field, n| if field == name { n + 1 } else { n }))
    };
    of(&moved("depth"), Patch, &[Positions]);
    of(&moved("token_start"), Patch, &[Tokens]);
    let report = twins.touched(|file| change(file, "category", 3, &|_| "easy".to_owned()));
    of(&report, Patch, &[Other]);
    assert_eq!((report.rows.columns["category"], report.rows.metadata), (1, 1));
    twins.run(&[]).success();
    // A prompt that its digest does not tell of is seen where prompts are read.
    let report = twins.touched(|file| change(file, "prompt", 3, &|p| p.replacen("short", "brief", 1)));
    assert_eq!((report.verdict, report.rows.changed), (Patch, 0));
    let report = in_full(&twins.a, &twins.b);
    of(&report, Major, &[Prompt, PromptOnly]);
    assert_eq!(report.rows.forged, 1);
    // Several rows of two files, whose order is another in one.
    let report = twins.touched(|file| {
        change(file, "question", 0, &|_| "Where is Fred?".to_owned());
        change(file, "question", 7, &|_| "Where is Fred?".to_owned());
        let batch = batches(file).remove(0);
        write(file, &(0..batch.num_rows()).rev().map(|row| batch.slice(row, 1)).collect::<Vec<_>>());
        change(&twins.b.join(HI), "certificate", 19, &|_| "none".to_owned());
    });
    assert_eq!((report.rows.changed, report.rows.metadata, report.rows.same), (2, 1, ROWS - 3));
    let ids: Vec<String> = report.rows.changed_rows.iter().map(|row| row.id.clone()).collect();
    let expected = [id(&twins.a.join(EN), 0), id(&twins.a.join(EN), 7), id(&twins.a.join(HI), 19)];
    assert_eq!(ids, expected);
}

#[test]
fn rows_that_come_and_go() {
    let twins = Twins::new();
    let report = twins.touched(|file| without(file, 4));
    assert_eq!((report.verdict, report.rows.removed, report.rows.b), (Verdict::Major, 1, ROWS - 1));
    assert_eq!(report.rows.removed_ids, [id(&twins.a.join(EN), 4)]);
    let back = compared(&twins.b, &twins.a);
    assert_eq!((back.verdict, &back.rows.added_ids), (Verdict::Minor, &report.rows.removed_ids));
    assert_eq!(back.rows.files["en_2k"].added, 1);
    twins.run(&[]).failure(1, &["1 row was removed", "removed rows"]);
    // A file of another name that holds the same rows.
    twins.restore();
    std::fs::rename(twins.b.join("data/en_2k"), twins.b.join("data/en_two")).unwrap();
    edit(&twins.b, |json| {
        let files = json["files"].as_array_mut().unwrap();
        files
            .iter_mut()
            .filter(|file| file["path"] == EN)
            .for_each(|file| file["path"] = EN.replace("2k", "two").into());
    });
    let report = compared(&twins.a, &twins.b);
    assert_eq!((report.verdict, report.rows.same, report.rows.moved), (Verdict::Patch, ROWS, ROWS / 4));
    // An id that stands there twice.
    twins.restore();
    let batch = batches(&twins.b.join(EN)).remove(0);
    write(&twins.b.join(EN), &[batch.clone(), batch.slice(0, 1)]);
    told(&twins.b);
    twins.run(&[]).failure(2, &["stands twice", EN]);
}

#[test]
fn what_a_part_leaves_out_is_not_removed() {
    let bench = Bench::new();
    let whole = build(&bench, &small("parts", TWO), &[]);
    for (flags, held) in [
        (vec!["--languages", "hi"], ROWS / 2),
        (vec!["--lengths", "2k"], ROWS / 2),
        (vec!["--limit", "6"], 24),
        (vec!["--limit", "6", "--languages", "en", "--lengths", "0k"], 6),
    ] {
        let part = build(&bench, &small("parts", TWO), &flags);
        let report = compared(&whole, &part);
        let rows = &report.rows;
        assert_eq!((report.verdict, rows.same, rows.removed), (Verdict::Patch, held, 0), "{flags:?} {report:#?}");
        assert_eq!((rows.a, rows.b, rows.outside_b, rows.outside_a), (ROWS, held, ROWS - held, 0));
        assert_eq!((report.path.first.as_deref(), report.versions.step), (Some("part"), None));
        let back = compared(&part, &whole);
        assert_eq!((back.verdict, back.rows.added, back.rows.outside_a), (Verdict::Patch, 0, ROWS - held));
        bench.run(&["diff", part.to_str().unwrap(), whole.to_str().unwrap()]).success();
    }
    // Two parts that are parts of each other in some ways only.
    let hindi = build(&bench, &small("parts", TWO), &["--languages", "hi"]);
    let short = build(&bench, &small("parts", TWO), &["--lengths", "0k"]);
    let rows = compared(&hindi, &short).rows;
    assert_eq!((rows.same, rows.outside_a, rows.outside_b, rows.added, rows.removed), (20, 20, 20, 0, 0));
    // A row that the part should hold is gone.
    without(&hindi.join(HI), 2);
    told(&hindi);
    let report = compared(&whole, &hindi);
    assert_eq!((report.verdict, report.rows.removed, report.rows.outside_b), (Verdict::Major, 1, ROWS / 2));
}

#[test]
fn parts_of_the_recall_test() {
    let bench = Bench::new();
    let grid = "[slots]\nwindow = 1200\nn_lengths = 2\nn_depths = 5\nfirst = 600\n[prompt]\nlayout = \"messages\"\n";
    let whole = build(&bench, &recall("slots", grid), &[]);
    let part = build(&bench, &recall("slots", grid), &["--limit", "4"]);
    let report = compared(&whole, &part);
    let rows = &report.rows;
    assert_eq!((report.verdict, rows.removed, rows.same), (Verdict::Patch, 0, rows.b), "{report:#?}");
    assert_eq!((rows.a, rows.outside_b * 10), (rows.b * 10 / 4, rows.a * 6));
    // Its system message is what a model sees.
    let file = data_files(&part).remove(0);
    change(&part.join(&file), "system", 1, &|system| format!("{system} Please."));
    told(&part);
    let report = compared(&whole, &part);
    assert_eq!((report.verdict, report.rows.kinds[&Kind::System]), (Verdict::Major, 1));
}

#[test]
fn parts_of_mlneedle() {
    let bench = Bench::new();
    mlneedle::world(&bench);
    let recipe = mlneedle::recipe(mlneedle::GRID);
    let whole = mlneedle::build(&bench, &recipe, &[]).success().release(&bench);
    for flags in [vec!["--limit", "2"], vec!["--limit", "4", "--languages", "en,zh"], vec!["--lengths", "0k"]] {
        let part = mlneedle::build(&bench, &recipe, &flags).success().release(&bench);
        let report = compared(&whole, &part);
        let rows = &report.rows;
        assert_eq!((report.verdict, rows.removed, rows.same), (Verdict::Patch, 0, rows.b), "{flags:?} {report:#?}");
        assert_eq!((rows.outside_b, rows.b > 0), (rows.a - rows.b, true));
        let back = compared(&part, &whole).rows;
        assert_eq!((back.added, back.outside_a), (0, rows.outside_b));
    }
}

#[test]
fn old_releases_and_other_formats() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases");
    for old in nihbuild::store::sorted_dir(&folder).unwrap() {
        for report in [compared(&old, &old), in_full(&old, &old)] {
            assert_eq!((report.verdict, report.rows.changed), (Verdict::Same, 0), "{}", old.display());
            assert!(report.rows.same > 0 && report.rows.forged == 0);
        }
    }
    let (first, ledger, needle) = ("first-1.0.0", "ledger-1.0.0", "needle-1.0.0");
    let report = compared(&folder.join(first), &folder.join(ledger));
    assert_eq!(report.columns_only_in_b[..2], ["needle_spans.char_start", "needle_spans.char_end"]);
    assert_eq!((report.verdict, report.columns_only_in_a.len()), (Verdict::Major, 0));
    let bench = Bench::new();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    bench.run(&["diff", &path(first), &path(needle)]).failure(2, &["the reasoning family", "the passage family"]);
    // The same rows in the columns of an older format: an upgrade alone is a patch.
    let twins = Twins::new();
    let old = schema_of(2);
    for path in data_files(&twins.b) {
        let file = twins.b.join(path);
        let batch = batches(&file).remove(0);
        let columns: Vec<ArrayRef> = old.fields().iter().map(|f| table::column(&batch, f.name()).clone()).collect();
        write(&file, &[RecordBatch::try_new(Arc::clone(old), columns).unwrap()]);
    }
    edit(&twins.b, |json| json["format"] = 2.into());
    told(&twins.b);
    for report in [compared(&twins.b, &twins.a), in_full(&twins.b, &twins.a)] {
        assert_eq!((report.verdict, report.rows.same), (Verdict::Patch, ROWS), "{report:#?}");
        assert_eq!(
            (report.columns_only_in_a.len(), report.columns_only_in_b),
            (0, SINCE_3.map(str::to_owned).to_vec())
        );
        assert_eq!(report.path.first.as_deref(), Some("program"));
    }
}

#[test]
fn broken_inputs_are_refused() {
    let twins = Twins::new();
    let path = twins.a.to_str().unwrap();
    twins
        .bench
        .run(&["diff", path, "nowhere"])
        .failure(2, &["cannot read nowhere/manifest.json", "folder of a release"]);
    std::fs::remove_file(twins.b.join(EN)).unwrap();
    twins.run(&[]).failure(2, &[EN, "which is missing"]);
    twins.restore();
    let bytes = std::fs::read(twins.b.join(EN)).unwrap();
    std::fs::write(twins.b.join(EN), &bytes[..bytes.len() / 2]).unwrap();
    twins.run(&[]).failure(2, &[EN, "damaged"]);
    twins.run(&["--row", "qa1-00000-en-2k-zero_shot-synthetic"]).failure(2, &[EN, "damaged"]);
    // Damage in the middle of the same size: found where files are read.
    let mut broken = bytes.clone();
    let middle = broken.len() / 2;
    broken[middle - 200..middle + 200].fill(0xa5);
    std::fs::write(twins.b.join(EN), &broken).unwrap();
    let full = twins.run(&["--full"]);
    assert!(full.code == Some(2) || full.code == Some(1), "{}", full.out);
    twins.restore();
    let batch = batches(&twins.b.join(EN)).remove(0);
    write(&twins.b.join(EN), &[batch.project(&[0, 1, 2]).unwrap()]);
    twins.run(&[]).failure(2, &[EN, "other columns than a release of format"]);
    twins.restore();
    edit(&twins.b, |json| json["files"][0]["path"] = "../a.parquet".into());
    twins.run(&[]).failure(2, &["../a.parquet", "not inside the release"]);
    twins.restore();
    edit(&twins.b, |json| json["files"][1] = json["files"][0].clone());
    twins.run(&[]).failure(2, &["twice"]);
    twins.restore();
    twins.run(&["--row", "qa1"]).failure(2, &["no row \"qa1\" in either release", "an id is such as qa"]);
    twins.run(&["--width", "3"]).failure(2, &["--width 3"]);
}

#[test]
fn one_row_side_by_side() {
    let twins = Twins::new();
    let file = twins.b.join(HI);
    let name = id(&file, 3);
    twins.run(&["--row", &name]).success();
    assert!(twins.run(&["--row", &name]).out.contains("the same in both"));
    // Wide and right-to-left text, and what speaks to terminals.
    let (wide, turned) = (
        "\u{5f20}\u{4f1f}\u{53bb}\u{4e86}\u{516c}\u{56ed}\u{3002}".repeat(40),
        "\u{630}\u{647}\u{628} \u{647}\u{634}\u{627}\u{645}.",
    );
    forge(&file, 3, &|p| p.replacen("<context>\n", &format!("<context>\n{wide}\n{turned}\n\u{1b}[2J\n"), 1));
    change_list(&file, "distractor_ids", 3, &|ids| ids[1..].to_vec());
    let said = twins.run(&["--row", &name, "--width", "60"]).failure(1, &["changed: prompt, distractors", "@ line "]);
    let isolated = format!("+ \u{2068}{turned}\u{2069}");
    assert!(said.out.lines().any(|line| line == isolated), "{}", said.out);
    assert!(!said.out.contains('\u{1b}') && said.out.contains("\\u{1b}[2J"), "{}", said.out);
    let widths: Vec<usize> = said.out.lines().skip(4).map(unicode_width::UnicodeWidthStr::width).collect();
    assert!(widths.iter().all(|width| *width <= 60), "{widths:?}");
    assert!(said.out.contains("characters in all"), "{}", said.out);
    // A few changed lines among hundreds.
    assert!(said.out.lines().count() < 45, "{}", said.out);
    let json: Value = serde_json::from_str(&twins.run(&["--row", &name, "--json"]).failure(1, &[]).out).unwrap();
    let hunks = json["prompt"]["hunks"].as_array().unwrap();
    assert_eq!(hunks.len(), 1);
    let added: Vec<&str> = hunks[0]["lines"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|line| line[0] == "b")
        .map(|line| line[1].as_str().unwrap())
        .collect();
    assert_eq!(added, [wide.as_str(), turned, "\u{1b}[2J"]);
    assert_eq!(json["changed"]["distractors"]["removed"], 1);
    // A row of one release alone.
    without(&file, 3);
    twins.run(&["--row", &name]).failure(1, &["has no such row"]);
    // Metadata alone.
    twins.restore();
    change(&twins.b.join(HI), "category", 3, &|_| "easy".to_owned());
    twins.run(&["--row", &name]).success();
    let told = row(&twins.a, &twins.b, &name).unwrap();
    assert_eq!((told.columns.len(), told.columns[0].b.as_str(), told.prompt.is_none()), (1, Some("easy"), true));
    assert!(SCHEMA.field_with_name(&told.columns[0].name).is_ok());
}

/// What hunks say is so, and all that differs is in them.
fn hold(a: &str, b: &str) -> usize {
    let told = lines(a, b);
    let (x, y): (Vec<&str>, Vec<&str>) = (a.split('\n').collect(), b.split('\n').collect());
    assert_eq!((told.a, told.b), (x.len(), y.len()));
    let count = |of: In| told.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.0 == of).count();
    assert_eq!((count(In::A), count(In::B)), (told.a - told.same, told.b - told.same));
    let mut end = 0;
    for hunk in &told.hunks {
        let side =
            |not: In| hunk.lines.iter().filter(|line| line.0 != not).map(|line| line.1.as_str()).collect::<Vec<_>>();
        let (left, right) = (side(In::B), side(In::A));
        assert_eq!((&x[hunk.a - 1..][..left.len()], &y[hunk.b - 1..][..right.len()]), (&left[..], &right[..]));
        assert!(hunk.a > end, "hunks overlap");
        end = hunk.a - 1 + left.len();
    }
    told.same
}

#[test]
fn lines_are_held_together() {
    assert_eq!(hold("a\nb\nc", "a\nb\nc"), 3);
    assert_eq!(hold("", "a"), 0);
    assert_eq!(hold("a\nb\nc\nd", "a\nx\nc\nd"), 3);
    // Not the longest, but held by what stands once in both.
    assert_eq!(hold("a\na\nb\nb", "b\na\na\nb"), 2);
    let told = lines("1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\nfive\n6\n7\n8\n9");
    let shown: Vec<(In, &str)> = told.hunks[0].lines.iter().map(|(of, line)| (*of, line.as_str())).collect();
    let expected = [(In::Both, "3"), (In::Both, "4"), (In::A, "5"), (In::B, "five"), (In::Both, "6"), (In::Both, "7")];
    assert_eq!((told.hunks[0].a, told.hunks[0].b, &shown[..]), (3, 3, &expected[..]));
    let mut lot = Seed::new("lines").derive("words", "");
    for round in 0..300 {
        let words = 2 + lot.below(40);
        let mut text = |n: u64| (0..n).map(|_| lot.below(words).to_string()).collect::<Vec<_>>().join("\n");
        let (a, b) = (text(1 + round % 40), text(1 + round % 31));
        hold(&a, &b);
    }
    // Ten thousand lines: in reverse, none in common, and all the same.
    let many = |name: &str| (0..10_000).map(|n| format!("{name} {n}")).collect::<Vec<_>>();
    let (mut a, b) = (many("a"), many("b"));
    assert_eq!(hold(&a.join("\n"), &b.join("\n")), 0);
    let straight = a.join("\n");
    a.reverse();
    assert_eq!(hold(&straight, &a.join("\n")), 1);
    hold(&vec!["same"; 10_000].join("\n"), &vec!["same"; 9_000].join("\n"));
}
