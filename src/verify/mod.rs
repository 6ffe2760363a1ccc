//! Checks a release from its files alone: bytes, rows, spans, token counts, order, parallelism, certificates.
//!
//! Nothing of the build is trusted: sentences are read with the release's own packs, every prompt is solved
//! again, tokens are counted anew (by the seams that are proven to add up; whole on a seeded 1%, everywhere with
//! [`Depth::Full`]).

mod bytes;
mod counts;
mod examples;
mod factoid;
mod layout;
mod ledger;
mod locate;
mod mates;
mod passage;
mod rankings;
mod retrieved;
mod row;

pub(crate) use self::bytes::Bytes;
pub use self::bytes::check_sums;
use self::examples::Examples;
pub use self::layout::is_inside;
pub(crate) use self::layout::list;
use self::retrieved::Whole;
use self::row::Reading;
use crate::compact::{self, Supply};
use crate::digests::{Digests, Gathered, RowDigests};
use crate::error::{Error, Result};
use crate::fail;
use crate::family::reasoning::Voices;
use crate::hash::{Digest, RowEncoder, release_digest};
use crate::language::{Language, Pack};
use crate::manifest::{FORMAT, Manifest, TextFacts, TokenizerFacts};
use crate::pipeline::reasoning::pool_key;
use crate::plan::{FilePlan, Options, askers, files};
use crate::recipe::{Family, InstructionLanguage, Ranking, Recipe, Retriever, SeedSource, Strategy};
use crate::record::Passage;
use crate::report::Progress;
use crate::reranker::memory::Scores;
use crate::seed::Seed;
use crate::source::tokenizers;
use crate::stage::distractors::{self, synthetic};
use crate::stage::stats::DataFile;
use crate::store::{Key, sorted_dir};
use crate::table::{has_columns, schema_of, text};
use crate::tokenizer::{Ledger, Tokenizer};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;

/// How much is counted anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Bytes and digests alone.
    Quick,
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
    /// The columns, if it is about some of a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// What is wrong.
    pub what: String,
}

impl Finding {
    pub(crate) fn of(file: &str, row: Option<&str>, what: impl Into<String>) -> Finding {
        Finding { file: file.to_owned(), row: row.map(str::to_owned), column: None, what: what.into() }
    }
}

/// What was checked.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Name and version of the release.
    pub release: String,
    /// It is compact: its data files were put together for this.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compact: bool,
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
    /// Rows whose distractors were made again from the seed and are the same, sentence by sentence. None
    /// where the seed is held out, or the program makes other passages than it did then.
    pub rederived: u64,
    /// Prompts whose tokens were counted whole.
    pub counted_whole: u64,
    /// What could not be checked, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// The first findings.
    pub findings: Vec<Finding>,
    /// How many there are.
    pub n_findings: u64,
}

impl Report {
    fn add(&mut self, finding: Finding) {
        self.n_findings += 1;
        if self.findings.len() < SHOWN {
            self.findings.push(finding);
        }
    }
}

/// Findings beyond this number are only counted.
const SHOWN: usize = 50;

/// Reads a release's manifest.
pub fn read_manifest(folder: &Path) -> Result<Manifest> {
    let path = folder.join("manifest.json");
    let bytes = std::fs::read(&path).map_err(|e| {
        let near = releases_near(folder);
        Error::io("cannot read", &path, e).help(match near.len() {
            0 => "give the folder of a release, as `recipe` prints it".to_owned(),
            _ => format!("give the folder of a release, such as {}", near.join(", ")),
        })
    })?;
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|e| Error::new(e.to_string()).at(path.display()))?;
    if !(1..=FORMAT).contains(&manifest.format) {
        fail!("{} has format {}, this program knows 1 to {FORMAT}", path.display(), manifest.format);
    }
    Ok(manifest)
}

/// Releases in a folder, in those below it, and beside it.
fn releases_near(folder: &Path) -> Vec<String> {
    let below = |folder: &Path| sorted_dir(folder).unwrap_or_default();
    let beside = folder.parent().map(below).unwrap_or_default();
    let inside = below(folder).into_iter().flat_map(|sub| [below(&sub), vec![sub]].concat());
    let releases = inside.chain(beside).filter(|path| path.join("manifest.json").is_file());
    releases.take(5).map(|path| path.display().to_string()).collect()
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
    /// Puts the data files of a compact release together.
    supply: Option<&'a Supply>,
    recipe: &'a Recipe,
    packs: &'a BTreeMap<String, Pack>,
    /// Packs that ask about stories in another language: by language of question and story.
    askers: BTreeMap<(Language, Language), Pack>,
    /// The worked examples of few-shot prompts.
    examples: Examples,
    /// Of the manifest.
    format: u32,
    tokenizer: Tokenizer,
    /// The tokenizers that are at hand.
    ledger: Ledger,
    /// All of the release, the primary one first.
    tokenizers: Vec<TokenizerFacts>,
    /// What the manifest says of running texts.
    texts: BTreeMap<String, TextFacts>,
    depth: Depth,
    /// Its bytes, and which of its files are damaged.
    bytes: Bytes,
    /// The digests that are published with it; empty before format 4, or where they are damaged.
    digests: Digests,
    /// The synthetic pool, made again.
    pool: Option<Vec<Passage>>,
    /// The vectors that the release was ranked with.
    pinned: Option<rankings::Pinned>,
    /// The scores that a program gave to sentences.
    reranked: Option<Scores>,
    seed: Option<Seed>,
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
    /// The ranking that an instance's rows of the passage family show: the longest list met.
    orders: BTreeMap<String, Vec<String>>,
    /// What rows leave of their budgets.
    rooms: Vec<rankings::Room>,
    /// Tokens of passages' lines, and what a blank line behind them adds.
    counts: BTreeMap<(String, Language), (u32, i8)>,
    /// Needle-free rows: their ranking, passages and id.
    twins: Vec<(String, Vec<String>, String)>,
    /// The instances of the cells of a needle and a question language, and the file that gave them.
    cells: BTreeMap<String, (Vec<String>, String)>,
    /// By instance and context: the least that a row of any strategy leaves of its budget, the most it may leave, its id.
    short: BTreeMap<String, (u64, u64, String)>,
    /// The passages of an instance's rows, by instance and kind.
    sets: BTreeMap<(String, String), Nest>,
}

impl Checker<'_> {
    /// The release's pack of a language.
    pub(super) fn pack(&self, language: Language) -> Result<&Pack> {
        self.pack_of(language.code())
    }

    fn pack_of(&self, code: &str) -> Result<&Pack> {
        self.packs.get(code).ok_or_else(|| Error::new(format!("the release has no language pack {code}")))
    }

    /// Is a row's prompt counted whole? Each is at full depth, else one of a hundred by lot.
    fn counts_whole(&self, id: &str) -> bool {
        self.depth == Depth::Full || Seed::new("verify").derive("whole", id).below(100) == 0
    }

    /// Who speaks in a file's prompts.
    fn voices(&self, file: &FilePlan) -> Result<Voices<'_>> {
        let (story, english) = (self.pack(file.language)?, self.pack_of("en")?);
        let question = match self.askers.get(&(file.question, file.language)) {
            Some(asker) => asker,
            None => self.pack(file.question)?,
        };
        let guide = match self.recipe.prompt.instruction_language {
            InstructionLanguage::Story => story,
            InstructionLanguage::Question => question,
            InstructionLanguage::En => english,
        };
        let template = self.recipe.prompt.template(file.strategy);
        Ok(Voices { story, question, guide, english, strategy: file.strategy, template })
    }

    fn find(&self, file: &str, row: Option<&str>, what: impl Into<String>) {
        self.found(Finding::of(file, row, what));
    }

    /// Of a damaged file it was said that it is, and where: what follows from that is not said again.
    fn found(&self, finding: Finding) {
        let told = self.bytes.findings.iter().any(|known| known.file == finding.file);
        if !told && !self.bytes.damaged.contains(&finding.file) {
            self.shared.lock().expect("no thread panics").report.add(finding);
        }
    }
}

/// Verifies a release that was counted with embedded tokenizers.
pub fn verify(folder: &Path, depth: Depth, jobs: usize) -> Result<Report> {
    verify_with(folder, depth, jobs, &Options::default())
}

/// Verifies a release; `options` say where tokenizers' files are (`tokenizers`, `models`, `data`, `out` with its cache).
pub fn verify_with(folder: &Path, depth: Depth, jobs: usize, options: &Options) -> Result<Report> {
    let threads = crate::parallel::pool(jobs)?;
    if !folder.join("manifest.json").exists() {
        // Says what is there in its place.
        read_manifest(folder)?;
    }
    let mut bytes = threads.install(|| Bytes::check(folder));
    if let Some(name) = bytes.beyond() {
        let unchecked = vec![format!("all else: {name} says what it should be")];
        let n_findings = bytes.findings.len() as u64;
        let release = folder.display().to_string();
        return Ok(Report { release, unchecked, n_findings, findings: bytes.findings, ..Report::default() });
    }
    let manifest = read_manifest(folder)?;
    let (digests, faults) = ledger::read(folder, &manifest, &bytes);
    bytes.findings.extend(faults);
    let is_compact = compact::is_compact(folder);
    match is_compact {
        true => bytes.findings.extend(compact::check(folder, &manifest, &bytes)),
        false => bytes.place(folder, &manifest, &digests),
    }
    if depth == Depth::Quick {
        return Ok(ledger::quick(&manifest, &digests, bytes));
    }
    let looked = Looked { manifest, bytes, digests, threads };
    if !is_compact {
        return read(folder, depth, options, looked, None);
    }
    let mut supply = Supply::new(folder, &looked.manifest)?;
    let plans = files(&read_recipe(folder)?);
    let paths = |plan: &FilePlan| std::iter::once(plan.path()).chain(retrieved::whole(plan));
    let expected = plans.iter().filter(|plan| looked.manifest.files.iter().any(|file| file.path == plan.path()));
    supply.expect(expected.flat_map(paths));
    read(&supply.folder, depth, options, looked, Some(&supply))
}

/// What a look at bytes and digests gave.
struct Looked {
    manifest: Manifest,
    bytes: Bytes,
    digests: Digests,
    threads: rayon::ThreadPool,
}

/// Reads the rows of a release whose data files are there, or are put together by a supply.
fn read(folder: &Path, depth: Depth, options: &Options, looked: Looked, supply: Option<&Supply>) -> Result<Report> {
    let Looked { manifest, bytes, digests, threads } = looked;
    let recipe = read_recipe(folder)?;
    let packs = read_packs(folder)?;
    let seed = match recipe.release.seed {
        SeedSource::Number(n) => Some(Seed::new(&n.to_string())),
        _ => None,
    };
    let pool = seed.as_ref().and_then(|seed| {
        let key = pool_key(&recipe, seed.digest()).digest();
        // Another key: this program's generator is not the one that made the release.
        (manifest.stages.get("distractors") == Some(&key))
            .then(|| synthetic(seed, recipe.distractors.variant, recipe.distractors.pool))
    });
    // Which of its versions drew the passages does not matter here: none gives this key from another recipe.
    let strange = seed.as_ref().zip(manifest.stages.get("distractors")).is_some_and(|(seed, recorded)| {
        let key = |version| Key { version, ..pool_key(&recipe, seed.digest()) }.digest();
        (1..=distractors::VERSION).all(|version| key(version) != *recorded)
    });
    let (ledger, unchecked) = tokenizers::at_hand(&recipe, options)?;
    let known = match manifest.format {
        1 => ledger.facts(),
        _ => manifest.tokenizers.clone(),
    };
    let pins_damaged = bytes.damaged.iter().any(|name| name.starts_with("pins/"));
    let (pinned, faults) = match pins_damaged {
        true => (None, Vec::new()),
        false => rankings::Pinned::read(folder, &manifest),
    };
    let (reranked, fault) = match retrieved::scores(folder, &recipe) {
        _ if pins_damaged => (None, None),
        Ok(scores) => (scores, None),
        Err(e) => (None, Some(e.to_string())),
    };
    let checker = Checker {
        folder,
        supply,
        recipe: &recipe,
        packs: &packs,
        askers: match recipe.family() {
            Family::Reasoning => askers(&files(&recipe), |l| packs.get(l.code()))?,
            _ => BTreeMap::new(),
        },
        examples: Examples::new(&recipe, seed.as_ref(), &manifest, &packs),
        format: manifest.format,
        tokenizer: ledger.primary().clone(),
        ledger,
        tokenizers: known,
        texts: manifest.texts.clone(),
        depth,
        bytes,
        digests,
        pool,
        pinned,
        reranked,
        seed,
        shared: Mutex::default(),
        progress: Progress::new("verify", manifest.rows, "rows"),
    };
    {
        let report = &mut checker.shared.lock().expect("no thread panics").report;
        report.release = manifest.title();
        report.compact = supply.is_some();
        report.unchecked = unchecked;
        let stories = recipe.family() == Family::Reasoning;
        let why =
            if checker.seed.is_some() { "the program makes others than it did then" } else { "the seed is held out" };
        if stories && checker.pool.is_none() && recipe.distractors.kind.list().contains(&crate::recipe::Kind::Synthetic)
        {
            report.unchecked.push(format!("distractors, made again: {why}"));
        }
        if stories && recipe.prompt.strategies.contains(&Strategy::FewShot) && !checker.examples.is_known() {
            report.unchecked.push(format!("worked examples, drawn again: {why}"));
        }
    }
    {
        let report = &mut checker.shared.lock().expect("no thread panics").report;
        checker.bytes.findings.iter().for_each(|finding| report.add(finding.clone()));
        if pins_damaged {
            report.unchecked.push("rankings and scores by the pins: pins are damaged".to_owned());
        }
    }
    ledger::check(&checker, &manifest);
    if strange && recipe.family() == Family::Reasoning {
        checker.find(
            "recipe.toml",
            None,
            "gives another key of the stage distractors than the manifest: it did not make this release",
        );
    }
    faults.into_iter().for_each(|fault| checker.find(&fault.file, None, fault.what));
    fault.into_iter().for_each(|what| checker.find("pins/rerank", None, what));
    checker.about(&manifest);
    let mut plans = checker.layout(&manifest);
    let all = plans.len();
    plans.retain(|(_, plan)| checker.is_at_hand(plan, pins_damaged));
    if plans.len() < all {
        let what = format!("{} data files that are damaged, or made from what is", all - plans.len());
        checker.shared.lock().expect("no thread panics").report.unchecked.push(what);
    }
    let check = |(file, plan): &(&DataFile, FilePlan)| {
        // A reader of Parquet may fail in its own ways on bytes that were made to break it.
        let held = |path: String| checker.supply.map(|supply| supply.take(&path)).transpose();
        let held: Result<Vec<_>> =
            [Some(plan.path()), retrieved::whole(plan)].into_iter().flatten().map(held).collect();
        if let Err(e) = &held {
            checker.find(&file.path, None, format!("cannot be put together: {e}"));
            return None;
        }
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| checker.file(file, plan, &manifest)));
        checked.unwrap_or_else(|_| {
            checker.find(&file.path, None, "cannot be read: it breaks the Parquet reader");
            None
        })
    };
    let digests: Vec<Option<Digest>> = threads.install(|| plans.par_iter().with_max_len(1).map(check).collect());
    let pairs: Option<Vec<(&str, Digest)>> =
        plans.iter().zip(digests).map(|((file, _), digest)| Some((file.path.as_str(), digest?))).collect();
    if let Some(pairs) = pairs.filter(|pairs| pairs.len() == all) {
        let digest = release_digest(pairs);
        checker.shared.lock().expect("no thread panics").report.rows_digest = Some(digest);
        if digest != manifest.rows_digest {
            checker.find(
                "manifest.json",
                None,
                format!("the rows digest is {digest}, the manifest says {}", manifest.rows_digest),
            );
        }
        checker.accepted(&manifest);
    }
    checker.across();
    let Checker { progress, shared, .. } = checker;
    progress.finish();
    let mut report = shared.into_inner().expect("no thread panics").report;
    report.files = manifest.files.len() as u64;
    report.findings.sort_by(|a, b| (&a.file, &a.row, &a.what).cmp(&(&b.file, &b.row, &b.what)));
    if report.rows != manifest.rows && plans.len() == all {
        let what = format!("{} rows were read, the manifest says {}", report.rows, manifest.rows);
        report.add(Finding::of("manifest.json", None, what));
    }
    Ok(report)
}

impl Checker<'_> {
    /// Checks one data file; its rows digest, if it can be read.
    fn file(&self, file: &DataFile, plan: &FilePlan, manifest: &Manifest) -> Option<Digest> {
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
        if !has_columns(builder.schema(), self.format) {
            return fault("has other columns than a release".to_owned());
        }
        let mut reading = Reading::default();
        let mut whole = match plan.rag.map(|_| Whole::open(self.folder, plan, self.format)).transpose() {
            Ok(whole) => whole,
            Err(e) => return fault(format!("the prompts it was cut from cannot be read: {e}")),
        };
        if let Some(needle) = plan.needle
            && let Err(e) =
                self.last_row(&path, builder.metadata().file_metadata().num_rows(), plan, needle, &mut reading)
        {
            self.find(&file.path, None, e.to_string());
        }
        // Few rows at a time: a prompt of 128k tokens is half a megabyte or more.
        let batches = match builder.with_batch_size(16).build() {
            Ok(batches) => batches,
            Err(e) => return fault(format!("cannot be read: {e}")),
        };
        let mut rows = Gathered::default();
        let mut faulty: BTreeSet<usize> = BTreeSet::new();
        let mut encoder = RowEncoder::default();
        let mut ids: Vec<String> = Vec::new();
        let mut row_ids: Vec<String> = Vec::new();
        for batch in batches {
            let batch = match batch {
                Ok(batch) => batch,
                Err(e) => return fault(format!("cannot be read: {e}")),
            };
            for row in 0..batch.num_rows() {
                let id = text(&batch, "id", row).to_owned();
                let checked = match &mut whole {
                    Some(whole) => self.cut_row(&batch, row, plan, whole, &mut reading),
                    None => self.row(&batch, row, plan, &mut reading),
                };
                if let Err(e) = checked {
                    self.find(&file.path, Some(&id), e.to_string());
                    faulty.insert(ids.len());
                }
                rows.push(RowDigests::of(&batch, row, &mut encoder));
                ids.push(text(&batch, "instance_id", row).to_owned());
                row_ids.push(id);
            }
            self.progress.add(batch.num_rows() as u64);
        }
        let columns = schema_of(self.format).fields();
        let rows = rows.finish(columns.len());
        let digest = rows.rows_digest();
        ledger::compare(self, file, &rows, &faulty);
        if digest != file.rows_digest {
            self.find(&file.path, None, format!("its rows digest is {digest}, the manifest says {}", file.rows_digest));
        }
        self.instances(file, &ids, &row_ids, plan, manifest);
        self.stats(file, &reading.stats);
        let mut shared = self.shared.lock().expect("no thread panics");
        shared.report.rows += ids.len() as u64;
        shared.report.lines += reading.lines;
        shared.report.proven += reading.proven;
        shared.report.rederived += reading.rederived;
        shared.report.counted_whole += reading.whole;
        Some(digest)
    }

    /// Is a file whole, and what it was made from?
    fn is_at_hand(&self, plan: &FilePlan, pins_damaged: bool) -> bool {
        let damaged = |path: &str| self.bytes.damaged.contains(path);
        let from = retrieved::whole(plan);
        let scored = plan.rag.is_some_and(|(retriever, _)| retriever == Retriever::Command);
        !(damaged(&plan.path()) || from.is_some_and(|path| damaged(&path)) || (scored && pins_damaged))
    }

    /// Prepares a file of the factoid family from its last row, whose running text is the longest.
    fn last_row(&self, path: &Path, rows: i64, plan: &FilePlan, needle: u32, reading: &mut Reading) -> Result<()> {
        let fault = |e: &dyn std::fmt::Display| Error::new(format!("its last row cannot be read: {e}"));
        let file = File::open(path).map_err(|e| fault(&e))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| fault(&e))?;
        let last = usize::try_from(rows - 1).map_err(|e| fault(&e))?;
        let mut batches = builder.with_offset(last).with_limit(1).build().map_err(|e| fault(&e))?;
        let batch = batches.next().ok_or_else(|| fault(&"it is not there"))?.map_err(|e| fault(&e))?;
        self.open_text(&batch, 0, plan, needle, &mut reading.factoids)
    }

    /// What can only be seen over several files: every language and length of an instance draws on one list of
    /// passages, shorter rows on its head.
    fn across(&self) {
        self.ranked();
        let short = std::mem::take(&mut self.shared.lock().expect("no thread panics").short);
        for (left, limit, row) in short.into_values().filter(|(left, limit, _)| left > limit) {
            let what = format!("{left} tokens are left under the longest strategy, more than {limit}");
            self.find("data", Some(&row), what);
        }
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
