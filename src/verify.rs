//! Checks a release from its files alone: bytes, rows, spans, token counts, order, parallelism, certificates.
//!
//! Nothing of the build is trusted: sentences are read with the release's own packs, every prompt is solved
//! again, tokens are counted anew (by the seams that are proven to add up; whole on a seeded 1%, everywhere with
//! [`Depth::Full`]).

use crate::error::{Error, Result};
use crate::fail;
use crate::family::reasoning::{CONTEXT, answers, question_of};
use crate::hash::{Digest, RowEncoder, RowsHasher, release_digest};
use crate::language::Pack;
use crate::manifest::{FORMAT, Manifest};
use crate::recipe::{Allowance, Kind, Length, Ranking, Recipe};
use crate::report::Progress;
use crate::seed::Seed;
use crate::stage::certify::split;
use crate::stage::distractors::{banned, holds};
use crate::store::sorted_dir;
use crate::story::{Fact, Question, Solution, SourceTask, solve};
use crate::table::{self, SCHEMA, int, numbers, read_spans, text, texts};
use crate::tokenizer::Tokenizer;
use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;

/// How much is counted anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Tokens of lines, and of a seeded 1% of whole prompts.
    Sampled,
    /// Tokens of every whole prompt as well.
    Full,
}

/// Something that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The file inside the release.
    pub file: String,
    /// The row's id, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// What is wrong.
    pub what: String,
}

/// What was checked.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Name and version of the release.
    pub release: String,
    /// Its rows digest as computed.
    pub rows_digest: Option<Digest>,
    /// Data files.
    pub files: u64,
    /// Rows.
    pub rows: u64,
    /// Lines of contexts that were read.
    pub lines: u64,
    /// Rows whose certificate holds.
    pub proven: u64,
    /// Prompts whose tokens were counted whole.
    pub counted_whole: u64,
    /// The first findings.
    pub findings: Vec<Finding>,
    /// How many there are.
    pub n_findings: u64,
}

/// Findings beyond this number are only counted.
const SHOWN: usize = 50;

/// Reads a release's manifest.
pub fn read_manifest(folder: &Path) -> Result<Manifest> {
    let path = folder.join("manifest.json");
    let bytes = std::fs::read(&path).map_err(|e| {
        Error::io("cannot read", &path, e).help("give the folder of a release, such as build/mlrbench/1.0.0")
    })?;
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|e| Error::new(e.to_string()).at(path.display()))?;
    if manifest.format != FORMAT {
        fail!("{} has format {}, this program knows {FORMAT}", path.display(), manifest.format);
    }
    Ok(manifest)
}

/// Reads a release's recipe.
pub fn read_recipe(folder: &Path) -> Result<Recipe> {
    let path = folder.join("recipe.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io("cannot read", &path, e))?;
    Recipe::parse(&path.display().to_string(), &text)
}

/// The release's own packs.
pub fn read_packs(folder: &Path) -> Result<BTreeMap<String, Pack>> {
    let mut packs = BTreeMap::new();
    for path in sorted_dir(&folder.join("packs"))? {
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io("cannot read", &path, e))?;
        let pack = Pack::parse(&text).map_err(|e| e.at(path.display()))?;
        packs.insert(pack.code().to_owned(), pack);
    }
    Ok(packs)
}

struct Checker<'a> {
    folder: &'a Path,
    recipe: &'a Recipe,
    packs: &'a BTreeMap<String, Pack>,
    tokenizer: Tokenizer,
    depth: Depth,
    shared: Mutex<Shared>,
    progress: Progress,
}

/// For each passage the size of the smallest set that holds it, and the size and row of each set.
type Nest = (FxHashMap<u32, u32>, Vec<(u32, String)>);

/// What rows of different files have in common.
#[derive(Default)]
struct Shared {
    report: Report,
    /// By instance: digest of its meaning (facts, question, gold), and the row that gave it.
    meanings: BTreeMap<String, (Digest, String)>,
    /// The passages of an instance's rows, by instance and kind.
    sets: BTreeMap<(String, String), Nest>,
    /// By length, strategy and kind: the instances of the first file, in order.
    orders: BTreeMap<(String, String, String), (String, Vec<String>)>,
}

impl Checker<'_> {
    fn find(&self, file: &str, row: Option<&str>, what: impl Into<String>) {
        let mut shared = self.shared.lock().expect("no thread panics");
        shared.report.n_findings += 1;
        if shared.report.findings.len() < SHOWN {
            shared.report.findings.push(Finding {
                file: file.to_owned(),
                row: row.map(str::to_owned),
                what: what.into(),
            });
        }
    }
}

/// Verifies a release.
pub fn verify(folder: &Path, depth: Depth, jobs: usize) -> Result<Report> {
    let manifest = read_manifest(folder)?;
    let recipe = read_recipe(folder)?;
    let packs = read_packs(folder)?;
    let checker = Checker {
        folder,
        recipe: &recipe,
        packs: &packs,
        tokenizer: Tokenizer::new(recipe.tokens.primary),
        depth,
        shared: Mutex::default(),
        progress: Progress::new("verify", manifest.rows, "rows"),
    };
    checker.shared.lock().expect("no thread panics").report.release = format!("{} {}", manifest.name, manifest.version);
    checker.sums();
    checker.packs_and_recipe(&manifest);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build();
    let pool = pool.map_err(|e| Error::new(format!("cannot start threads: {e}")))?;
    let digests: Vec<Option<Digest>> =
        pool.install(|| manifest.files.par_iter().with_max_len(1).map(|file| checker.file(file, &manifest)).collect());
    let pairs: Option<Vec<(&str, Digest)>> =
        manifest.files.iter().zip(digests).map(|(file, digest)| Some((file.path.as_str(), digest?))).collect();
    if let Some(pairs) = pairs {
        let digest = release_digest(pairs);
        checker.shared.lock().expect("no thread panics").report.rows_digest = Some(digest);
        if digest != manifest.rows_digest {
            checker.find(
                "manifest.json",
                None,
                format!("the rows digest is {digest}, the manifest says {}", manifest.rows_digest),
            );
        }
    }
    checker.across();
    let Checker { progress, shared, .. } = checker;
    progress.finish();
    let mut report = shared.into_inner().expect("no thread panics").report;
    report.files = manifest.files.len() as u64;
    report.findings.sort_by(|a, b| (&a.file, &a.row, &a.what).cmp(&(&b.file, &b.row, &b.what)));
    if report.rows != manifest.rows {
        report.n_findings += 1;
        let what = format!("{} rows were read, the manifest says {}", report.rows, manifest.rows);
        report.findings.push(Finding { file: "manifest.json".to_owned(), row: None, what });
    }
    Ok(report)
}

impl Checker<'_> {
    /// Every file of the release stands in SHA256SUMS with the digest it has, and nothing else is there.
    fn sums(&self) {
        const NAME: &str = "SHA256SUMS";
        let Ok(text) = std::fs::read_to_string(self.folder.join(NAME)) else {
            return self.find(NAME, None, "is missing or cannot be read");
        };
        let mut listed = BTreeMap::new();
        for line in text.lines() {
            match line.split_once("  ").and_then(|(hex, name)| Some((name, Digest::parse(hex)?))) {
                Some((name, digest)) => drop(listed.insert(name.to_owned(), digest)),
                None => self.find(NAME, None, format!("line {line:?} is not `<SHA-256>  <path>`")),
            }
        }
        let mut there = Vec::new();
        list(self.folder, "", &mut there);
        for name in &there {
            if name != NAME && !listed.contains_key(name) {
                self.find(name, None, "is not listed in SHA256SUMS");
            }
        }
        let listed: Vec<(String, Digest)> = listed.into_iter().collect();
        listed.par_iter().for_each(|(name, digest)| match Digest::of_file(&self.folder.join(name)) {
            Ok((found, _)) if found == *digest => {}
            Ok((found, bytes)) => {
                self.find(name, None, format!("its {bytes} bytes have SHA-256 {found}, SHA256SUMS says {digest}"))
            }
            Err(_) => self.find(name, None, "is listed in SHA256SUMS but cannot be read"),
        });
    }

    fn packs_and_recipe(&self, manifest: &Manifest) {
        for (language, digest) in &manifest.packs {
            let name = format!("packs/{language}.toml");
            match self.packs.get(language) {
                None => self.find(&name, None, "is missing"),
                Some(pack) if pack.digest() != *digest => {
                    self.find(&name, None, format!("has SHA-256 {}, the manifest says {digest}", pack.digest()))
                }
                Some(_) => {}
            }
        }
        if self.recipe.release.name.0 != manifest.name || self.recipe.release.version.0 != manifest.version {
            self.find("recipe.toml", None, "is of another release than the manifest");
        }
    }

    /// Checks one data file; its rows digest, if it can be read.
    fn file(&self, file: &crate::stage::write::DataFile, manifest: &Manifest) -> Option<Digest> {
        let path = self.folder.join(&file.path);
        let fault = |what: String| {
            self.find(&file.path, None, what);
            None
        };
        let reader = match File::open(&path) {
            Ok(reader) => reader,
            Err(e) => return fault(format!("cannot be opened: {e}")),
        };
        let builder = match ParquetRecordBatchReaderBuilder::try_new(reader) {
            Ok(builder) => builder,
            Err(e) => return fault(format!("is not Parquet: {e}")),
        };
        if builder.schema().fields() != SCHEMA.fields() {
            return fault("has other columns than a release".to_owned());
        }
        // Few rows at a time: a prompt of 128k tokens is half a megabyte or more.
        let batches = match builder.with_batch_size(16).build() {
            Ok(batches) => batches,
            Err(e) => return fault(format!("cannot be read: {e}")),
        };
        let mut rows = RowsHasher::default();
        let mut encoder = RowEncoder::default();
        let mut reading = Reading::default();
        let mut ids: Vec<String> = Vec::new();
        let mut group = None;
        for batch in batches {
            let batch = match batch {
                Ok(batch) => batch,
                Err(e) => return fault(format!("cannot be read: {e}")),
            };
            for row in 0..batch.num_rows() {
                let id = text(&batch, "id", row).to_owned();
                if let Err(e) = self.row(&batch, row, &file.path, &mut reading) {
                    self.find(&file.path, Some(&id), e.to_string());
                }
                rows.push(&table::row_digest(&batch, row, &mut encoder));
                ids.push(text(&batch, "instance_id", row).to_owned());
                group.get_or_insert_with(|| {
                    ["length", "strategy", "distractor_kind"].map(|name| text(&batch, name, row).to_owned())
                });
            }
            self.progress.add(batch.num_rows() as u64);
        }
        let digest = rows.finish();
        if digest != file.rows_digest {
            self.find(&file.path, None, format!("its rows digest is {digest}, the manifest says {}", file.rows_digest));
        }
        if ids.len() as u64 != file.rows {
            self.find(&file.path, None, format!("has {} rows, the manifest says {}", ids.len(), file.rows));
        }
        self.counts(&file.path, &ids, group.as_ref(), manifest);
        let mut shared = self.shared.lock().expect("no thread panics");
        shared.report.rows += ids.len() as u64;
        shared.report.lines += reading.lines;
        shared.report.proven += reading.proven;
        shared.report.counted_whole += reading.whole;
        if let Some([length, strategy, kind]) = group {
            let path = file.path.clone();
            let (first, order) = shared.orders.entry((length, strategy, kind)).or_insert_with(|| (path, ids.clone()));
            if *order != ids {
                let what = format!("has other instances, or another order of them, than {first}");
                drop(shared);
                self.find(&file.path, None, what);
            }
        }
        Some(digest)
    }

    /// A file holds each source task as often as the manifest says, unless the task begins later.
    fn counts(&self, path: &str, ids: &[String], group: Option<&[String; 3]>, manifest: &Manifest) {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for id in ids {
            *counts.entry(id.split('-').next().unwrap_or(id)).or_default() += 1;
        }
        let Some(Ok(length)) = group.map(|[length, ..]| length.parse::<Length>()) else { return };
        for (task, wanted) in &manifest.instances {
            let start = manifest.starts.get(task).and_then(|start| start.parse::<Length>().ok());
            let held = length.0 == 0 || start.is_none_or(|start| length >= start);
            let found = counts.get(task.to_string().as_str()).copied().unwrap_or(0);
            if found != if held { *wanted } else { 0 } {
                self.find(path, None, format!("holds {found} instances of {task}, the manifest says {wanted}"));
            }
        }
    }

    /// What can only be seen over several files: every language and length of an instance draws on one list of
    /// passages, shorter rows on its head.
    fn across(&self) {
        if self.recipe.retrieval.ranking != Ranking::Pivot {
            return;
        }
        let sets = std::mem::take(&mut self.shared.lock().expect("no thread panics").sets);
        for ((instance, kind), (levels, mut sizes)) in sets {
            sizes.sort();
            sizes.dedup_by_key(|(size, _)| *size);
            let mut sorted: Vec<u32> = levels.values().copied().collect();
            sorted.sort_unstable();
            for (size, row) in sizes {
                // In nested sets, those passages first met in a set of at most this size are this set.
                let held = sorted.partition_point(|level| *level <= size);
                if held != size as usize {
                    let what = format!(
                        "the {kind} distractors of {instance} are not nested: rows with up to {size} passages hold {held} different ones"
                    );
                    self.find("data", Some(&row), what);
                }
            }
        }
    }
}

/// Names of the files below a folder.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    for path in sorted_dir(folder).unwrap_or_default() {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            list(&path, &format!("{prefix}{name}/"), names);
        } else {
            names.push(format!("{prefix}{name}"));
        }
    }
}

/// What reading one file keeps between its rows.
#[derive(Default)]
struct Reading {
    /// What a line says and how many tokens it has (with its line feed); no fact for clean noise.
    known: FxHashMap<String, (Option<Fact>, u32)>,
    facts: Vec<Fact>,
    banned: Option<Vec<String>>,
    lines: u64,
    proven: u64,
    whole: u64,
}

/// A line map beyond this size is begun anew, so that memory stays bounded.
const KNOWN: usize = 400_000;

impl Checker<'_> {
    fn row(&self, batch: &RecordBatch, row: usize, path: &str, reading: &mut Reading) -> Result<()> {
        let get = |name: &str| text(batch, name, row);
        let (id, prompt, instance) = (get("id"), get("prompt"), get("instance_id"));
        let parts = [instance, get("language"), get("length"), get("strategy"), get("distractor_kind")];
        if id != parts.join("-") {
            fail!("the id is not made of instance, language, length, strategy and kind");
        }
        if !path.contains(&format!("/{}_{}", get("language"), get("length"))) {
            fail!("the row belongs into another file");
        }
        if Digest::of(prompt).to_string() != get("prompt_sha256") {
            fail!("prompt_sha256 is not the prompt's");
        }
        let pack = self
            .packs
            .get(get("language"))
            .ok_or_else(|| Error::new("the release has no pack of the row's language"))?;
        let noise = get("distractor_kind") == Kind::Noise.name();
        let (context, tail) = split(prompt)?;
        let question =
            question_of(tail, pack).ok_or_else(|| Error::new("the question after the context cannot be read"))?;
        if pack.sentence(question.message()) != get("question") {
            fail!("the question column is not the prompt's question");
        }
        // Lines: meaning, and tokens by seams.
        let head = prompt.len() - tail.len() - context.len();
        debug_assert!(prompt[..head].ends_with(CONTEXT));
        if reading.known.len() > KNOWN {
            reading.known.clear();
        }
        let mut tokens = self.tokenizer.count(&prompt[..head]) as u64;
        let head_tokens = tokens;
        let spans = read_spans(batch, row);
        let mut next = 0;
        let mut at = head;
        reading.facts.clear();
        let mut needles: Vec<Fact> = Vec::with_capacity(spans.len());
        for line in context.split_inclusive('\n') {
            reading.lines += 1;
            let sentence = line.strip_suffix('\n').ok_or_else(|| Error::new("the context's last line has no end"))?;
            if sentence.chars().next().is_none_or(|c| !self.tokenizer.seam_adds(c)) {
                fail!("a line of the context is empty or begins with whitespace or a slash");
            }
            let (fact, count) = match reading.known.get(sentence) {
                Some(known) => *known,
                None => {
                    let fact = self.read_line(sentence, pack, noise, &mut reading.banned)?;
                    let known = (fact, self.tokenizer.count(line) as u32);
                    reading.known.insert(sentence.to_owned(), known);
                    known
                }
            };
            if let Some(span) = spans.get(next)
                && span.start == at as u64
            {
                if span.end != (at + sentence.len()) as u64 {
                    fail!("needle {next} is not a whole line");
                }
                if (span.token_start, span.token_end) != (tokens, tokens + u64::from(count)) {
                    fail!(
                        "needle {next} is at tokens {}..{}, recorded are {}..{}",
                        tokens,
                        tokens + u64::from(count),
                        span.token_start,
                        span.token_end
                    );
                }
                needles.push(fact.ok_or_else(|| Error::new(format!("needle {next} is no fact")))?);
                next += 1;
            }
            reading.facts.extend(fact);
            at += line.len();
            tokens += u64::from(count);
        }
        let context_tokens = (tokens - head_tokens).max(1);
        tokens += self.tokenizer.count(tail) as u64;
        if next != spans.len() {
            fail!("needle {next} begins inside a line or stands out of order");
        }
        for (n, span) in spans.iter().enumerate() {
            if span.depth != (span.token_start - head_tokens) * 1_000_000 / context_tokens {
                fail!("needle {n} has another depth than recorded");
            }
        }
        let n_tokens = int(batch, "n_tokens", row) as u64;
        if tokens != n_tokens {
            fail!("the prompt has {tokens} tokens, recorded are {n_tokens}");
        }
        let lot = || Seed::new("verify").derive("whole", id).below(100) == 0;
        if self.depth == Depth::Full || lot() {
            reading.whole += 1;
            let whole = self.tokenizer.count(prompt) as u64;
            if whole != n_tokens {
                fail!("counted whole, the prompt has {whole} tokens, recorded are {n_tokens}");
            }
        }
        self.budget(get("length"), get("strategy"), n_tokens)?;
        let support = numbers(batch, "supporting", row);
        let flagged: Vec<i64> = (0..spans.len() as i64).filter(|n| spans[*n as usize].supporting).collect();
        if support != flagged {
            fail!("the supporting facts are {support:?}, the needles say {flagged:?}");
        }
        self.answer(batch, row, question, pack, reading)?;
        if !noise && get("certificate") != "solved" || noise && get("certificate") != "contained" {
            fail!("the certificate is {:?}", get("certificate"));
        }
        reading.proven += 1;
        self.meaning(id, instance, question, &needles, get("source_task"))?;
        self.set(batch, row, context, needles.len())
    }

    fn read_line(
        &self,
        line: &str,
        pack: &Pack,
        noise: bool,
        banned_names: &mut Option<Vec<String>>,
    ) -> Result<Option<Fact>> {
        match pack.read(line) {
            Ok(message) => {
                Fact::of(message).map(Some).ok_or_else(|| Error::new(format!("a question in the context: {line:?}")))
            }
            Err(_) if noise => {
                let names = banned_names.get_or_insert_with(|| banned(pack));
                if holds(line, names) {
                    fail!("noise names an actor or a candidate answer: {line:?}");
                }
                Ok(None)
            }
            Err(e) => Err(Error::new(format!("{e}: {line:?}"))),
        }
    }

    fn budget(&self, length: &str, strategy: &str, n_tokens: u64) -> Result<()> {
        let length: Length = length.parse().map_err(Error::new)?;
        let budget = &self.recipe.budget;
        let answer = match &budget.answer {
            Allowance::Same(n) => *n,
            Allowance::Each(each) => each.iter().find(|(s, _)| s.name() == strategy).map_or(0, |(_, n)| *n),
        };
        let all = n_tokens + u64::from(answer) + u64::from(budget.template);
        let most = u64::from(length.0) * u64::from(budget.unit);
        if length.0 > 0 && all > most {
            fail!("prompt, answer and template need {all} tokens, {length} has {most}");
        }
        Ok(())
    }

    fn answer(
        &self,
        batch: &RecordBatch,
        row: usize,
        question: Question,
        pack: &Pack,
        reading: &Reading,
    ) -> Result<()> {
        let answer = match solve(question, reading.facts.iter().copied()) {
            Solution::Unique { answer, .. } => answer,
            Solution::Faulty(fault) => fail!("the context has no single answer: {}", fault.name()),
        };
        let (gold, variants) = answers(answer, pack);
        if texts(batch, "answers", row) != gold {
            fail!("the context's answer is {gold:?}, the gold {:?}", texts(batch, "answers", row));
        }
        if texts(batch, "answer_variants", row) != variants {
            fail!("answer_variants are not those of the pack");
        }
        Ok(())
    }

    /// The same facts, question and supporting facts in every language and length.
    fn meaning(&self, id: &str, instance: &str, question: Question, needles: &[Fact], task: &str) -> Result<()> {
        let known = task.parse::<SourceTask>().is_ok_and(|task| instance.starts_with(&format!("{task}-")));
        if !known {
            fail!("source_task is {task:?}");
        }
        let digest = Digest::of(postcard::to_stdvec(&(question, needles)).expect("plain data"));
        let mut shared = self.shared.lock().expect("no thread panics");
        let (first, row) = shared.meanings.entry(instance.to_owned()).or_insert_with(|| (digest, id.to_owned()));
        if *first != digest {
            fail!("tells another story than {row}");
        }
        Ok(())
    }

    fn set(&self, batch: &RecordBatch, row: usize, context: &str, needles: usize) -> Result<()> {
        let get = |name: &str| text(batch, name, row);
        let ids = texts(batch, "distractor_ids", row);
        let n = int(batch, "n_distractors", row);
        if n != ids.len() as i64 {
            fail!("n_distractors is {n}, there are {} distractor_ids", ids.len());
        }
        // A passage has three to seven sentences.
        let lines = context.bytes().filter(|b| *b == b'\n').count() - needles;
        if lines < 3 * ids.len() || lines > 7 * ids.len() {
            fail!("{} distractors cannot have {lines} lines", ids.len());
        }
        let mut unique: Vec<&String> = ids.iter().collect();
        unique.sort();
        unique.dedup();
        if unique.len() != ids.len() {
            fail!("a distractor stands there twice");
        }
        if self.recipe.retrieval.ranking != Ranking::Pivot || ids.is_empty() {
            return Ok(());
        }
        let size = ids.len() as u32;
        let number = |id: &String| id.get(1..).and_then(|n| n.parse::<u32>().ok());
        let Some(numbers) = ids.iter().map(number).collect::<Option<Vec<u32>>>() else {
            fail!("a distractor id is not a letter and a number");
        };
        let key = (get("instance_id").to_owned(), get("distractor_kind").to_owned());
        let mut shared = self.shared.lock().expect("no thread panics");
        let (levels, sizes) = shared.sets.entry(key).or_default();
        for number in numbers {
            let level = levels.entry(number).or_insert(size);
            *level = size.min(*level);
        }
        sizes.push((size, get("id").to_owned()));
        Ok(())
    }
}
