//! Plan, work and seal: whatever carried the rows, and however they were shared out, the release is the local one.

use crate::mlneedle;
use crate::recall::recall;
use crate::support::*;
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How rows get to workers and their prompts to the seal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// A stream of all rows, backwards, through one worker; its output is kept as it is.
    Stream,
    /// A worker for each file of rows; prompts come back through an engine that writes Parquet, mixed up.
    Parquet,
    /// A worker for each file of rows, which leaves its prompts in a folder.
    Folder,
    /// Seven parts of a job array.
    Array,
}

pub const WAYS: [Way; 4] = [Way::Stream, Way::Parquet, Way::Folder, Way::Array];

/// Both folders hold the same files with the same bytes.
#[track_caller]
pub fn same(one: &Path, other: &Path) {
    let (one, other) = (bytes_of(one), bytes_of(other));
    let names = |all: &[(String, Vec<u8>)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    for ((name, one), (_, other)) in one.iter().zip(&other) {
        assert!(one == other, "{name} differs: {} and {} bytes", one.len(), other.len());
    }
}

/// A stream of these batches.
pub fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

/// Runs a command with bytes on its standard input.
pub fn fed(mut command: Command, input: &[u8]) -> std::process::Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A worker that fails does not read to the end.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

/// What a worker makes of batches of rows.
#[track_caller]
fn rendered(bench: &Bench, plan: &Path, batches: &[RecordBatch], more: &[&str]) -> Vec<u8> {
    let args = [&["worker", "render", plan.to_str().unwrap()], more].concat();
    let output = fed(bench.command(&args), &stream(batches));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Files of rows of a plan.
pub fn row_files(plan: &Path) -> Vec<PathBuf> {
    nihbuild::store::sorted_dir(&plan.join("rows")).unwrap()
}

/// All rows of a batch, backwards.
fn backwards(batch: &RecordBatch) -> RecordBatch {
    let rows: Vec<RecordBatch> = (0..batch.num_rows()).rev().map(|n| batch.slice(n, 1)).collect();
    arrow_select::concat::concat_batches(&batch.schema(), &rows).unwrap()
}

/// Plans what `args` (the flags of `recipe`) build, in a folder of this name.
#[track_caller]
pub fn planned(bench: &Bench, args: &[&str], unit: &str, to: &str) -> (PathBuf, Value) {
    let plan = bench.path(to);
    let flags = ["--unit", unit, "--json", "--to", plan.to_str().unwrap()];
    let said = bench.run(&[&["plan"], &args[1..], &flags].concat()).success();
    (plan, serde_json::from_str(&said.out).unwrap())
}

/// Makes the prompts of a plan, and gives what `seal` is told of them.
#[track_caller]
pub fn worked(bench: &Bench, plan: &Path, way: Way) -> Vec<String> {
    let made = bench.path("made-prompts");
    std::fs::create_dir_all(&made).unwrap();
    match way {
        Way::Stream => {
            let mut all: Vec<RecordBatch> = row_files(plan).iter().flat_map(|file| batches(file)).collect();
            all.reverse();
            let all: Vec<RecordBatch> = all.iter().map(backwards).collect();
            std::fs::write(made.join("all.arrows"), rendered(bench, plan, &all, &["--jobs", "2"])).unwrap();
        }
        Way::Parquet => {
            for (n, file) in row_files(plan).iter().enumerate() {
                let out = rendered(bench, plan, &batches(file), &["--jobs", "1"]);
                let all: Vec<RecordBatch> =
                    StreamReader::try_new(&out[..], None).unwrap().map(|batch| backwards(&batch.unwrap())).collect();
                let place = std::fs::File::create(made.join(format!("part-{n}.parquet"))).unwrap();
                let mut writer = ArrowWriter::try_new(place, all[0].schema(), None).unwrap();
                all.iter().rev().for_each(|batch| writer.write(batch).unwrap());
                writer.close().unwrap();
            }
            std::fs::write(made.join("_SUCCESS"), "").unwrap();
        }
        Way::Folder => {
            for (n, file) in row_files(plan).iter().enumerate() {
                let compress = if n % 2 == 0 { &["--compress"][..] } else { &[] };
                // Done twice, as an engine does that lost an answer: the second file is the first.
                for _ in 0..1 + usize::from(n == 0) {
                    let to = [&["--to", made.to_str().unwrap()], compress].concat();
                    let receipts = rendered(bench, plan, &batches(file), &to);
                    let receipts: Vec<_> = StreamReader::try_new(&receipts[..], None).unwrap().collect();
                    assert_eq!(receipts.len(), 1);
                }
            }
            assert_eq!(bytes_of(&made).len(), row_files(plan).len());
        }
        Way::Array => unreachable!("parts are asked of `recipe`"),
    }
    vec!["--rows".to_owned(), made.to_str().unwrap().to_owned()]
}

/// Builds what `args` (`recipe` and its flags) ask for in another way: the same bytes as `full` has.
#[track_caller]
pub fn carried(bench: &Bench, args: &[&str], full: &Path, way: Way) {
    let out = bench.path(&format!("carried-{way:?}"));
    let (plan, rows) = if way == Way::Array {
        let out = out.to_str().unwrap();
        let flags = [args, &["--out", out, "--json", "--part"]].concat();
        let mut plan = String::new();
        for part in [3, 1, 7, 2, 5, 4, 6] {
            let said = bench.run(&[&flags[..], &[&format!("{part}/7")]].concat()).success();
            let said: Value = serde_json::from_str(&said.out).unwrap();
            plan = said["plan"].as_str().unwrap().to_owned();
        }
        (bench.path(&plan), Vec::new())
    } else {
        let (plan, said) = planned(bench, args, "6000", &format!("plan-{way:?}"));
        let rows = worked(bench, &plan, way);
        assert_eq!(said["units"], row_files(&plan).len());
        (plan, rows)
    };
    let mut seal = vec!["seal", plan.to_str().unwrap(), "--out", out.to_str().unwrap()];
    seal.extend(rows.iter().map(String::as_str));
    let release = bench.run(&seal).success().release(bench);
    same(&release, full);
    // Sealed again, it is there and sound.
    assert!(bench.run(&seal).success().out.contains("was built before and is sound"));
    std::fs::remove_dir_all(&out).unwrap();
    let _ = std::fs::remove_dir_all(bench.path("made-prompts"));
    let _ = std::fs::remove_dir_all(&plan);
}

/// Builds a recipe here and in some ways elsewhere.
#[track_caller]
fn everywhere(bench: &Bench, args: &[&str], ways: &[Way]) -> PathBuf {
    let full = bench.run(args).success().release(bench);
    for way in ways {
        carried(bench, args, &full, *way);
    }
    full
}

const STORIES: &str = "qa1 = 3, qa2 = 2, qa5 = 2, qa6 = 2, qa8 = 2, qa11 = 4, qa17 = 1, qa20 = 2";

fn stories(grid: &str, more: &str) -> String {
    format!(
        "[release]\nname = \"carried\"\nversion = \"1.0.0\"\nseed = 9\n\n[stories]\ntasks = {{ {STORIES} }}\n\n[grid]\n{grid}\n\n{more}"
    )
}

#[test]
fn stories_in_every_way() {
    let bench = Bench::new();
    let more = "[distractors]\npool = 400\nkind = [\"synthetic\", \"noise\"]\n\
        [budget]\nanswer = { zero_shot = 64, few_shot = 64 }\n[prompt]\nstrategies = [\"zero_shot\", \"few_shot\"]\nexamples = 2\n";
    bench.write("r.toml", &stories("languages = [\"en\", \"zh\", \"ar\"]\nlengths = [\"0k\", \"2k\"]", more));
    everywhere(&bench, &["recipe", "r.toml"], &WAYS);
    everywhere(&bench, &["recipe", "r.toml", "--layout", "compact"], &WAYS);
}

#[test]
fn passages_in_every_way() {
    let bench = Bench::new();
    mlneedle::world(&bench);
    let more = "prompts = [\"exact\", \"existence\"]\n[prompt]\nlast = \"cut\"\nfirst_label = 0\n";
    bench.write("made.toml", &mlneedle::recipe(&(mlneedle::GRID.to_owned() + more)));
    let args = ["recipe", "made.toml", "--data", "data"];
    everywhere(&bench, &args, &WAYS);
    everywhere(&bench, &[&args[..], &["--layout", "compact", "--limit", "3"]].concat(), &WAYS);
}

#[test]
fn running_text_in_every_way() {
    let bench = Bench::new();
    let more = "[grid]\nlanguages = [\"en\", \"zh\", \"ar\"]\n[slots]\nwindow = 1600\nn_lengths = 3\nn_depths = 9\nfirst = 400\n";
    bench.write("r.toml", &recall("running", more));
    everywhere(&bench, &["recipe", "r.toml"], &WAYS);
    everywhere(&bench, &["recipe", "r.toml", "--layout", "compact"], &[Way::Parquet, Way::Array]);
}

/// A plan of a few stories, its rows, and a bench.
fn plan_of_stories() -> (Bench, PathBuf, Vec<RecordBatch>) {
    let bench = Bench::new();
    bench.write(
        "r.toml",
        &stories("languages = [\"en\", \"de\"]\nlengths = [\"0k\", \"2k\"]", "[distractors]\npool = 300\n"),
    );
    let (plan, _) = planned(&bench, &["recipe", "r.toml"], "20000", "plan");
    let rows = row_files(&plan).iter().flat_map(|file| batches(file)).collect();
    (bench, plan, rows)
}

fn seal(bench: &Bench, plan: &Path, rows: &[&Path]) -> Outcome {
    let mut args = vec!["seal", plan.to_str().unwrap()];
    args.extend(rows.iter().flat_map(|rows| ["--rows", rows.to_str().unwrap()]));
    bench.run(&args)
}

#[test]
fn rows_that_are_missing_double_or_foreign_are_refused_by_id() {
    let (bench, plan, rows) = plan_of_stories();
    let all = rendered(&bench, &plan, &rows, &[]);
    let made: Vec<RecordBatch> = StreamReader::try_new(&all[..], None).unwrap().map(Result::unwrap).collect();
    let ids: Vec<String> = made
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(|n| nihbuild::table::text(batch, "id", n).to_owned()))
        .collect();
    let put = |name: &str, batches: &[RecordBatch]| {
        let path = bench.path(name);
        std::fs::write(&path, stream(batches)).unwrap();
        path
    };
    assert!(made.iter().map(RecordBatch::num_rows).sum::<usize>() > 20);
    // One is missing: the first of the last batch.
    let last = &made[made.len() - 1];
    let first = nihbuild::table::text(last, "id", 0).to_owned();
    let mut short = made[..made.len() - 1].to_vec();
    short.push(last.slice(1, last.num_rows() - 1));
    let missing = put("short.arrows", &short);
    seal(&bench, &plan, &[&missing]).failure(2, &["1 of ", "rows are missing", &first, "have them made"]);
    // That row alone, given beside, makes it whole; twice is once too often.
    let alone = put("alone.arrows", &[last.slice(0, 1)]);
    let twice = put("twice.arrows", &[last.slice(0, 1)]);
    seal(&bench, &plan, &[&missing, &alone, &twice])
        .failure(2, &["is there twice", &first, "alone.arrows", "twice.arrows"]);
    // Rows of another plan.
    let (other, _) = planned(&bench, &["recipe", "r.toml", "--seed", "77"], "20000", "other");
    let others: Vec<RecordBatch> = row_files(&other).iter().flat_map(|file| batches(file)).collect();
    let output = fed(bench.command(&["worker", "render", plan.to_str().unwrap()]), &stream(&others));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(2) && said.contains("another plan") && said.trim_end().lines().count() == 1,
        "{said}"
    );
    let foreign = bench.path("foreign.arrows");
    std::fs::write(&foreign, rendered(&bench, &other, &others, &[])).unwrap();
    seal(&bench, &plan, &[&missing, &alone, &foreign]).failure(2, &["foreign.arrows", "another plan"]);
    // Files that hold something else, or are cut.
    let junk = bench.write("junk.arrow", "nothing of the kind");
    seal(&bench, &plan, &[&junk]).failure(2, &["junk.arrow", "holds no prompt rows"]);
    let cut = bench.path("cut.arrows");
    std::fs::write(&cut, &all[..all.len() * 2 / 3]).unwrap();
    seal(&bench, &plan, &[&cut]).failure(2, &["cut.arrows"]);
    seal(&bench, &plan, &[Path::new("nowhere")]).failure(2, &["nowhere", "is not there"]);
    // A prompt that was changed behind its worker.
    let place = made[0].schema().index_of("prompt").unwrap();
    let prompts: arrow_array::StringArray = (0..made[0].num_rows())
        .map(|n| Some(nihbuild::table::text(&made[0], "prompt", n).replacen('e', "a", 1)))
        .collect();
    let mut columns = made[0].columns().to_vec();
    columns[place] = std::sync::Arc::new(prompts);
    let mut touched = made.clone();
    touched[0] = RecordBatch::try_new(made[0].schema(), columns).unwrap();
    let touched = put("touched.arrows", &touched);
    seal(&bench, &plan, &[&touched]).failure(2, &[&ids[0], "not the one that was proven"]);
    // The same of a value beside the prompt.
    let place = made[0].schema().index_of("answers").or_else(|_| made[0].schema().index_of("question")).unwrap();
    let mut columns = made[0].columns().to_vec();
    let order: arrow_array::UInt32Array = (0..made[0].num_rows() as u32).rev().collect();
    columns[place] = arrow_select::take::take(&columns[place], &order, None).unwrap();
    let mut touched = made.clone();
    touched[0] = RecordBatch::try_new(made[0].schema(), columns).unwrap();
    let touched = put("moved.arrows", &touched);
    seal(&bench, &plan, &[&touched]).failure(2, &[&ids[0], "not the one that was proven", "changed on the way"]);
    // No failure left a release.
    assert!(!bench.path("build/carried/1.0.0").exists());
    seal(&bench, &plan, &[&missing, &alone]).success();
}

#[test]
fn a_worker_that_fails_says_which_row_in_one_line() {
    let (bench, plan, rows) = plan_of_stories();
    // A row that the plan asks for otherwise than its parts give it.
    let batch = &rows[0];
    let place = batch.schema().index_of("tokens").unwrap();
    let n = batch.num_rows() / 2;
    let id = nihbuild::table::text(batch, "id", n).to_owned();
    let tokens = batch.column(place).clone();
    let tokens: &arrow_array::Int64Array = arrow_array::cast::AsArray::as_primitive(&tokens);
    let tokens: arrow_array::Int64Array =
        tokens.values().iter().enumerate().map(|(row, t)| if row == n { t + 1 } else { *t }).collect();
    let mut columns = batch.columns().to_vec();
    columns[place] = std::sync::Arc::new(tokens);
    let touched = RecordBatch::try_new(batch.schema(), columns).unwrap();
    let output = fed(bench.command(&["worker", "render", plan.to_str().unwrap()]), &stream(&[touched]));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.trim_end().lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains(&id), "{id} is not named in: {said}");
    // A part that was damaged: whatever row needs it.
    for part in nihbuild::store::sorted_dir(&plan.join("parts")).unwrap() {
        let bytes = std::fs::read(&part).unwrap();
        if bytes.is_empty() {
            continue;
        }
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 1;
        std::fs::write(&part, damaged).unwrap();
        let output = fed(bench.command(&["worker", "render", plan.to_str().unwrap()]), &stream(&rows));
        let said = String::from_utf8(output.stderr).unwrap();
        let name = part.file_name().unwrap().to_str().unwrap();
        assert_eq!((output.status.code(), said.trim_end().lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(name) && said.contains("damaged"), "{said}");
        std::fs::write(&part, bytes).unwrap();
    }
    // No stream at all, and a stream of something else.
    let output = fed(bench.command(&["worker", "render", plan.to_str().unwrap()]), b"id,prompt\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no stream of rows of a plan"));
    let empty = fed(bench.command(&["worker", "render", plan.to_str().unwrap()]), &stream(&[rows[0].slice(0, 0)]));
    assert!(empty.status.success());
    let reader = StreamReader::try_new(&empty.stdout[..], None).unwrap();
    assert_eq!(reader.schema().field(0).name(), nihbuild::table::SCHEMA.field(0).name());
    assert_eq!(reader.count(), 0);
}

#[test]
fn a_plan_is_made_once_and_kept_apart() {
    let (bench, plan, _) = plan_of_stories();
    let before = bytes_of(&plan);
    // The same again is there; another recipe is refused, and changes nothing.
    planned(&bench, &["recipe", "r.toml"], "20000", "plan");
    assert_eq!(bytes_of(&plan), before);
    let flags = ["plan", "r.toml", "--seed", "8", "--to", plan.to_str().unwrap()];
    bench.run(&flags).failure(2, &["holds another plan", "--to DIR"]);
    assert_eq!(bytes_of(&plan), before);
    // The same plan made elsewhere, with another number of threads, is the same bytes.
    let (again, _) = planned(&bench, &["recipe", "r.toml", "--jobs", "1", "--out", "elsewhere"], "20000", "again");
    assert_eq!(bytes_of(&again), before);
    bench.run(&["recipe", "r.toml", "--part", "8/7"]).failure(2, &["write I/N"]);
    bench.run(&["seal", "elsewhere"]).failure(2, &["plan.json", "nihbuild plan RECIPE"]);
}

/// A worker is killed amid its work; another does it again. A job array's part begins again by itself.
#[test]
fn a_killed_worker_leaves_nothing_that_harms() {
    let bench = Bench::new();
    let grid = "languages = [\"en\", \"zh\"]\nlengths = [\"2k\", \"8k\"]";
    bench.write("r.toml", &stories(grid, "[distractors]\npool = 900\n"));
    let full = bench.run(&["recipe", "r.toml", "--out", "local"]).success().release(&bench);
    let args = ["recipe", "r.toml", "--part", "1/2"];
    bench.run(&["recipe", "r.toml", "--part", "2/2"]).success();
    let prompts = bench.path("build/carried/1.0.0.plan/prompts");
    let files = || bytes_of(&prompts).len();
    assert_eq!(files(), 1);
    let mut killed = 0;
    for wait in [20u64, 60, 120, 200, 300, 500] {
        let mut child = bench.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().unwrap();
        killed += usize::from(!child.wait().unwrap().success());
    }
    assert!(killed > 0);
    bench.run(&args).success();
    let release = bench.run(&["seal", "build/carried/1.0.0.plan"]).success().release(&bench);
    same(&release, &full);
}

/// All of it in a bucket, over a line that is slow, then cut: a worker is killed amid it, another goes on.
#[cfg(feature = "cloud")]
#[test]
fn plan_parts_and_prompts_lie_in_a_bucket() {
    use crate::remote::proxy::{Act, Proxy};
    use crate::remote::server::{Server, variables};
    let bench = Bench::new();
    let server = Server::start(&bench.path("server"));
    let line = Proxy::to(&server.address);
    let run = |address: &str, args: &[&str]| {
        let mut command = bench.command(args);
        command.envs(variables(address));
        command
    };
    let through = |address: &str, args: &[&str]| Outcome::of(run(address, args).output().unwrap());
    bench.write(
        "r.toml",
        &stories("languages = [\"en\", \"zh\"]\nlengths = [\"0k\", \"4k\"]", "[distractors]\npool = 500\n"),
    );
    let full = bench.run(&["recipe", "r.toml", "--out", "local"]).success().release(&bench);
    let to = "s3://suite/plans/one";
    let said = through(&server.address, &["plan", "r.toml", "--to", to, "--unit", "40000"]).success();
    assert!(said.out.starts_with(to), "{}", said.out);
    // The same again is there; another is refused.
    through(&server.address, &["plan", "r.toml", "--to", to, "--unit", "40000"]).success();
    through(&server.address, &["plan", "r.toml", "--seed", "5", "--out", "other", "--to", to])
        .failure(2, &["another plan", to]);
    through(&server.address, &["plan", "r.toml", "--offline", "--to", to]).failure(2, &["--offline"]);
    // Killed while it fetches parts over a slow line; then the line is cut once and again amid a part.
    let part = |part: &str| ["worker", "render", to, "--part", part, "--cache", "cache"].map(str::to_owned);
    let flags = part("1/3");
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    line.slow(40_000);
    let mut child = run(&line.address, &flags).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    line.slow(0);
    line.rule(
        |passing| if passing.connection % 3 == 1 && !passing.up && passing.bytes > 9000 { Act::Cut } else { Act::Pass },
    );
    through(&line.address, &flags).success();
    // What was fetched and damaged since is fetched again.
    let kept = nihbuild::store::sorted_dir(&bench.path("cache")).unwrap();
    let kept = kept.iter().find(|path| std::fs::metadata(path).unwrap().len() > 1000).unwrap();
    std::fs::write(kept, "damaged").unwrap();
    for n in ["2/3", "3/3"] {
        let flags = part(n);
        let said = through(&server.address, &flags.iter().map(String::as_str).collect::<Vec<_>>()).success();
        assert!(said.out.contains(&format!("part {n}:")), "{}", said.out);
    }
    let again = through(&server.address, &flags).success();
    assert!(again.out.contains("were there before"), "{}", again.out);
    assert_eq!(server.unfinished(), 0);
    let sealed = through(&server.address, &["seal", to, "--cache", "cache"]).success().release(&bench);
    same(&sealed, &full);
    // Rows of a stream go to the bucket as well, and come from it.
    let (plan, _) = planned(&bench, &["recipe", "r.toml"], "40000", "here");
    let rows: Vec<RecordBatch> = row_files(&plan).iter().flat_map(|file| batches(file)).collect();
    let output = fed(
        run(&server.address, &["worker", "render", to, "--cache", "cache", "--to", "s3://suite/rows"]),
        &stream(&rows),
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let args = ["seal", plan.to_str().unwrap(), "--rows", "s3://suite/rows", "--out", "again"];
    same(&through(&server.address, &args).success().release(&bench), &full);
}
