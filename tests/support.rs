//! What the tests share: the real data if it is there, the program, and rows of a release.

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_schema::DataType;
use nihbuild::family::reasoning::{CONTEXT, CONTEXT_END};
use nihbuild::hash::Digest;
use nihbuild::language::{Kind, Message, PATTERNS};
use nihbuild::table::{self, SCHEMA};
use nihbuild::verify::{Depth, Report, verify};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Names of FLORES's files in the papers' seven languages.
pub const FLORES: [(&str, &str); 7] = [
    ("en", "eng_Latn"),
    ("de", "deu_Latn"),
    ("es", "spa_Latn"),
    ("zh", "zho_Hans"),
    ("vi", "vie_Latn"),
    ("hi", "hin_Deva"),
    ("ar", "arb_Arab"),
];

/// The text of an error that says all of this.
#[track_caller]
pub fn refused<T>(result: nihbuild::error::Result<T>, said: &[&str]) -> String {
    let Err(e) = result else { panic!("no error, expected {said:?}") };
    let text = e.to_string();
    for word in said {
        assert!(text.contains(word), "expected {word:?} in: {text}");
    }
    text
}

/// The folder of real data, or a word on stderr that the test is skipped.
pub fn real_data(test: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    #[allow(clippy::disallowed_methods, reason = "tests may look where the data is")]
    let data = std::env::var_os("NIHBUILD_DATA").map_or_else(beside, PathBuf::from);
    if data.join("babi/en").is_dir() {
        return Some(data);
    }
    eprintln!("skipped: no real data for {test}");
    None
}

/// The folder of embedding models, if it is there.
#[cfg(feature = "embed")]
pub fn models() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models");
    #[allow(clippy::disallowed_methods, reason = "tests may look where models are")]
    let models = std::env::var_os("NIHBUILD_MODELS").map_or_else(beside, PathBuf::from);
    models.is_dir().then_some(models)
}

/// A folder of its own, and the program that builds in it.
pub struct Bench {
    pub dir: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        Bench { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nihbuild"));
        command.current_dir(self.dir.path()).args(args);
        command
    }

    pub fn run(&self, args: &[&str]) -> Outcome {
        Outcome::of(self.command(args).output().unwrap())
    }
}

/// What a run of the program came to.
pub struct Outcome {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Outcome {
    pub fn of(output: Output) -> Outcome {
        Outcome {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub fn success(self) -> Outcome {
        assert_eq!(self.code, Some(0), "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// The command failed with this code, without a panic, and said all of this.
    #[track_caller]
    pub fn failure(self, code: i32, said: &[&str]) -> Outcome {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        let all = format!("{}{}", self.out, self.err);
        for word in said {
            assert!(all.contains(word), "expected {word:?} in: {all}");
        }
        self
    }

    /// The release that the first line of the summary names.
    #[track_caller]
    pub fn release(&self, bench: &Bench) -> PathBuf {
        bench.dir.path().join(self.out.lines().next().expect("a summary"))
    }
}

/// A small recipe: two source tasks of each kind of answer, few passages.
pub fn small(name: &str, more: &str) -> String {
    format!(
        "[release]\nname = \"{name}\"\nversion = \"1.0.0\"\nseed = 3\n\n[stories]\ntasks = {{ basic_factoid = 4, yes_no = 4, \
         fact_chaining = 4, argument_relations = 2, counting = 2, lists_sets = 2, indefinite = 2 }}\n\n{more}"
    )
}

/// Sections that keep a small recipe quick.
pub const QUICK: &str = "[grid]\nlengths = [\"0k\", \"2k\"]\n\n[distractors]\npool = 300\n";

/// All batches of a data file.
pub fn batches(path: &Path) -> Vec<RecordBatch> {
    let file = std::fs::File::open(path).unwrap();
    ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().map(Result::unwrap).collect()
}

/// The data files of a release, by path inside it.
pub fn data_files(release: &Path) -> Vec<String> {
    nihbuild::verify::read_manifest(release).unwrap().files.into_iter().map(|f| f.path).collect()
}

/// (id, prompt) of every row of a file.
pub fn prompts(path: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for batch in batches(path) {
        for row in 0..batch.num_rows() {
            all.push((table::text(&batch, "id", row).to_owned(), table::text(&batch, "prompt", row).to_owned()));
        }
    }
    all
}

/// Every file below a folder with its bytes, by path inside it.
pub fn bytes_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    fn walk(root: &Path, folder: &Path, all: &mut Vec<(String, Vec<u8>)>) {
        for path in nihbuild::store::sorted_dir(folder).unwrap() {
            if path.is_dir() {
                walk(root, &path, all);
            } else {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                all.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    let mut all = Vec::new();
    walk(folder, folder, &mut all);
    all
}

/// Writes SHA256SUMS anew, so that only what the checks look at inside is out of order.
pub fn reseal(release: &Path) {
    let listed = bytes_of(release).into_iter().filter(|(name, _)| name != "SHA256SUMS");
    let sums: String = listed.map(|(name, bytes)| format!("{}  {name}\n", Digest::of(bytes))).collect();
    std::fs::write(release.join("SHA256SUMS"), sums).unwrap();
}

/// Every row of a file: its batch, and its place there.
pub fn rows(path: &Path) -> Vec<(RecordBatch, usize)> {
    batches(path).into_iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch.clone(), row))).collect()
}

/// A prompt's text up to its context, the context's lines, and the text behind it.
#[track_caller]
pub fn parts(prompt: &str) -> (&str, Vec<&str>, &str) {
    let start = prompt.find(CONTEXT).expect("a context") + CONTEXT.len();
    let end = prompt.rfind(CONTEXT_END).expect("the context's end");
    (&prompt[..start], prompt[start..end].lines().collect(), &prompt[end..])
}

/// Persons that a sentence names.
pub fn persons(message: Message) -> Vec<u8> {
    let slots = PATTERNS[message.pattern as usize].used().filter(|slot| slot.kind() == Kind::Actor);
    slots.map(|slot| slot.entity(&message.slots)).collect()
}

/// Puts another column into a file of one batch.
pub fn replace(file: &Path, column: &str, with: &dyn Fn(&ArrayRef) -> ArrayRef) {
    let batch = batches(file).remove(0);
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    let place = SCHEMA.index_of(column).unwrap();
    columns[place] = with(&columns[place]);
    let batch = RecordBatch::try_new(SCHEMA.clone(), columns).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(file).unwrap(), SCHEMA.clone(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Changes one text column of one row of a file.
pub fn change(file: &Path, column: &str, row: usize, with: &dyn Fn(&str) -> String) {
    let value =
        |(n, value): (usize, Option<&str>)| value.map(|value| if n == row { with(value) } else { value.to_owned() });
    replace(file, column, &|values| {
        std::sync::Arc::new(values.as_string::<i32>().iter().enumerate().map(value).collect::<StringArray>())
    });
}

/// Changes one list of texts of one row of a file; lists that are null stay so.
pub fn change_list(file: &Path, column: &str, row: usize, with: &dyn Fn(Vec<String>) -> Vec<String>) {
    let batch = batches(file).remove(0);
    let field = SCHEMA.field_with_name(column).unwrap();
    let DataType::List(item) = field.data_type() else { panic!("{column} is no list") };
    replace(file, column, &|lists| {
        let mut builder = ListBuilder::new(StringBuilder::new()).with_field(item.clone());
        for n in 0..lists.len() {
            let values = table::texts(&batch, column, n);
            let values = if n == row { with(values) } else { values };
            match lists.is_null(n) {
                true => builder.append_null(),
                false => builder.append_value(values.iter().map(Some)),
            }
        }
        std::sync::Arc::new(builder.finish())
    });
}

/// Changes the numbers of the needle spans of one row of a file, by span and name.
pub fn change_spans(file: &Path, row: usize, with: &dyn Fn(usize, &str, i64) -> i64) {
    change_numbers(file, "needle_spans", row, with);
}

/// Changes the numbers in the structs of a list of one row of a file, by element and name.
pub fn change_numbers(file: &Path, column: &str, row: usize, with: &dyn Fn(usize, &str, i64) -> i64) {
    replace(file, column, &|lists| {
        let lists = lists.as_list::<i32>();
        let (from, to) = (lists.value_offsets()[row] as usize, lists.value_offsets()[row + 1] as usize);
        let spans = lists.values().as_struct();
        let columns = spans.fields().iter().zip(spans.columns()).map(|(field, column)| -> ArrayRef {
            let Some(numbers) = column.as_primitive_opt::<Int64Type>() else { return column.clone() };
            let number = |(n, value): (usize, &i64)| match (from..to).contains(&n) {
                true => with(n - from, field.name(), *value),
                false => *value,
            };
            std::sync::Arc::new(numbers.values().iter().enumerate().map(number).collect::<Int64Array>())
        });
        let spans = StructArray::new(spans.fields().clone(), columns.collect(), spans.nulls().cloned());
        let DataType::List(item) = lists.data_type() else { unreachable!("it is a list") };
        let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
        std::sync::Arc::new(ListArray::new(item.clone(), offsets, std::sync::Arc::new(spans), nulls))
    });
}

/// Changes the prompt of one row of a file together with its digest: what it says is checked then.
pub fn forge(file: &Path, row: usize, with: &dyn Fn(&str) -> String) {
    change(file, "prompt", row, with);
    let (_, prompt) = prompts(file).remove(row);
    change(file, "prompt_sha256", row, &|_| Digest::of(&prompt).to_string());
}

/// The report says this of that file.
#[track_caller]
pub fn found(report: &Report, file: &str, what: &str) {
    assert!(
        report.findings.iter().any(|f| f.file.contains(file) && f.what.contains(what)),
        "expected {what:?} about {file:?} in {:#?}",
        report.findings
    );
}

/// A sound release, to be touched and put back.
pub struct Sound {
    pub release: PathBuf,
    bytes: Vec<(String, Vec<u8>)>,
}

impl Sound {
    #[track_caller]
    pub fn new(release: PathBuf) -> Sound {
        let report = verify(&release, Depth::Full, 2).unwrap();
        assert_eq!(report.n_findings, 0, "{:#?}", report.findings);
        assert!(report.proven > 0 && report.proven <= report.rows);
        Sound { bytes: bytes_of(&release), release }
    }

    /// Touches one of its files and seals it again; `verify` must say this of a row of the file, or of the file. Then
    /// puts it back.
    #[track_caller]
    pub fn finds(&self, file: &str, what: &str, touch: impl FnOnce(&Path)) {
        found(&self.touched(file, touch), file, what);
    }

    /// What `verify` says of the release with a file touched and sealed again. Then puts it back.
    #[track_caller]
    pub fn touched(&self, file: &str, touch: impl FnOnce(&Path)) -> Report {
        let path = self.release.join(file);
        let before = std::fs::read(&path).unwrap();
        touch(&path);
        assert_ne!(std::fs::read(&path).unwrap(), before, "{file} was not touched");
        reseal(&self.release);
        let report = verify(&self.release, Depth::Sampled, 2).unwrap();
        for (name, bytes) in &self.bytes {
            std::fs::write(self.release.join(name), bytes).unwrap();
        }
        report
    }
}

/// Computes every digest of a release anew, so that nothing but what its rows say is out of order.
pub fn sign(release: &Path) {
    let path = release.join("manifest.json");
    let mut manifest: nihbuild::manifest::Manifest =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let mut all = nihbuild::digests::Digests::new();
    for file in &mut manifest.files {
        let data = release.join(&file.path);
        let found = nihbuild::digests::FileDigests::read(&data).unwrap();
        (file.sha256, file.bytes) = Digest::of_file(&data).unwrap();
        file.rows_digest = found.rows_digest();
        all.insert(file.path.clone(), found);
    }
    let digests = manifest.files.iter().map(|file| (file.path.as_str(), file.rows_digest));
    manifest.rows_digest = nihbuild::hash::release_digest(digests);
    let names: Vec<String> = SCHEMA.fields().iter().map(|field| field.name().clone()).collect();
    nihbuild::digests::write(release, &all, &names).unwrap();
    std::fs::write(&path, serde_json::to_string_pretty(&manifest).unwrap() + "\n").unwrap();
    let statement = release.join(nihbuild::provenance::FILE);
    let _ = std::fs::remove_file(&statement);
    let listed = bytes_of(release).into_iter().filter(|(name, _)| name != "SHA256SUMS");
    let sums = listed.map(|(name, bytes)| (name, Digest::of(bytes))).collect();
    std::fs::write(statement, nihbuild::provenance::statement(&manifest, &sums)).unwrap();
    reseal(release);
}
