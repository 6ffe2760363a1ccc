//! A worker: rows of a plan in, prompt rows out, each proven.

use super::PlanFile;
use super::needle::Needles;
use super::part::PartReader;
use super::rows::{self, PlannedRow};
use super::running::Texted;
use super::segment::{Hand, Segment};
use super::story::{Pools, Stories, StoryBench};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::plan::{Options, Plan};
use crate::recipe::Family;
use crate::remote::Place;
use crate::report::Progress;
use crate::store::scratch;
use arrow_array::RecordBatch;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Prompts that a thread renders before it hands them on, in bytes.
const SEGMENT: usize = 32 << 20;

/// One family's way of rendering rows from parts.
pub(super) trait Bench: Sync {
    /// Renders neighbouring rows of one bundle.
    fn render(&self, segment: &Segment<'_>, bundle: &[u8], hand: &mut Hand) -> Result<Vec<RecordBatch>>;
}

/// A worker on a plan. It keeps nothing but what it read, and can be thrown away at any time.
pub struct Worker {
    file: PlanFile,
    parts: PartReader,
    plan: Plan,
    scratch: tempfile::TempDir,
}

/// What a worker did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Done {
    /// Rows it rendered.
    pub rows: u64,
    /// What a file of them is called.
    pub name: String,
}

impl Worker {
    /// Opens a plan. What is fetched of it is kept in the folder `cache`; `jobs` threads render.
    ///
    /// # Errors
    ///
    /// No plan, one of another version, or one whose recipe comes to something else here.
    pub fn open(place: &Place, cache: &Path, jobs: usize) -> Result<Worker> {
        let file = PlanFile::read(place)?;
        let parts = PartReader::new(place, cache);
        let scratch = scratch()?;
        let options = Options { jobs, out: scratch.path().join("build"), ..Options::default() };
        let plan = file.resolve(&parts, scratch.path(), options)?;
        Ok(Worker { file, parts, plan, scratch })
    }

    /// Its parts.
    pub(super) fn parts(&self) -> &PartReader {
        &self.parts
    }

    /// The plan.
    pub fn plan(&self) -> &PlanFile {
        &self.file
    }

    /// Name of the file that holds the prompt rows of these rows.
    pub fn name_of(&self, rows: &[RecordBatch]) -> Result<String> {
        let identity = self.file.identity.to_string();
        let mut namer = Namer::new(&self.file.identity);
        for batch in rows {
            rows::read(&identity, batch)?.iter().for_each(|row| namer.add(row));
        }
        Ok(namer.finish())
    }

    /// Renders rows of the plan, which come in batches, and hands on prompt rows in the order of the batches; within one, in the
    /// order of bundle, file and place.
    ///
    /// # Errors
    ///
    /// The first row that cannot be made or proven, by its id; what `rows` or `emit` say.
    pub fn run(
        &self,
        rows: &mut dyn Iterator<Item = Result<RecordBatch>>,
        emit: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<Done> {
        match self.plan.family {
            Family::Reasoning => {
                let pools = Pools::new(&self.plan);
                let stories = Stories::new(&self.plan, &self.file, &self.parts, &pools)?;
                self.with(&StoryBench::new(&stories, self.scratch.path())?, rows, emit)
            }
            Family::Passage => self.with(&Needles::new(&self.plan), rows, emit),
            Family::Factoid => self.with(&Texted::new(&self.plan, &self.file, &self.parts), rows, emit),
        }
    }

    fn with(
        &self,
        bench: &dyn Bench,
        rows: &mut dyn Iterator<Item = Result<RecordBatch>>,
        emit: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<Done> {
        let identity = self.file.identity.to_string();
        let jobs = self.plan.options.jobs.max(1);
        let mut hands: Vec<Hand> = (0..jobs).map(|_| Hand::new(&self.plan)).collect();
        let progress = Progress::new("render", self.file.tokens(), "tokens");
        let mut all = 0;
        let mut namer = Namer::new(&self.file.identity);
        for batch in rows {
            let mut planned = rows::read(&identity, &batch?)?;
            planned.iter().try_for_each(|row| self.check(row))?;
            planned.iter().for_each(|row| namer.add(row));
            planned.sort_by_key(|row| (row.bundle, row.file, row.row));
            all += planned.len() as u64;
            let segments: Vec<&[PlannedRow]> = segments(&planned).collect();
            for wave in segments.chunks(jobs) {
                let render = |rows, hand| self.segment(bench, &identity, rows, hand, &progress);
                let made = std::thread::scope(|scope| {
                    let threads: Vec<_> =
                        wave.iter().zip(&mut hands).map(|(rows, hand)| scope.spawn(|| render(rows, hand))).collect();
                    threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
                });
                for batches in made {
                    let batches = batches.map_err(|_| Error::new("a thread broke off"))??;
                    batches.into_iter().try_for_each(&mut *emit)?;
                }
            }
        }
        progress.finish();
        Ok(Done { rows: all, name: namer.finish() })
    }

    /// Is there such a row?
    fn check(&self, row: &PlannedRow) -> Result<()> {
        let rows = self.file.files.get(row.file as usize).map(|file| file.groups.iter().map(|(rows, _)| rows).sum());
        let there = rows.is_some_and(|rows: u64| u64::from(row.row) < rows);
        if !there || row.bundle as usize >= self.file.bundles.len() {
            return Err(Error::new(format!("row {}: the plan has no such row", row.id))
                .help("hand on the rows of PLAN/rows as they are"));
        }
        Ok(())
    }

    /// Renders a segment. Where that fails, its rows are rendered one by one, so that the error names the row.
    fn segment(
        &self,
        bench: &dyn Bench,
        identity: &str,
        rows: &[PlannedRow],
        hand: &mut Hand,
        progress: &Progress,
    ) -> Result<Vec<RecordBatch>> {
        let bundle = self
            .parts
            .get(&self.file.bundles[rows[0].bundle as usize].part)
            .map_err(|e| e.at(format!("row {}", rows[0].id)))?;
        let render = |rows: &[PlannedRow], hand: &mut Hand| -> Result<Vec<RecordBatch>> {
            let segment = Segment { files: &self.plan.files, rows, identity, progress };
            catch_unwind(AssertUnwindSafe(|| bench.render(&segment, &bundle, hand))).unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                Err(Error::new(format!("it broke off: {}", text.unwrap_or_default())).help("this is a bug"))
            })
        };
        let failed = match render(rows, hand) {
            Ok(batches) => return Ok(batches),
            Err(e) => e,
        };
        for row in rows {
            let mut fresh = Hand::new(&self.plan);
            if let Err(e) = render(std::slice::from_ref(row), &mut fresh) {
                return Err(named(e, row));
            }
        }
        Err(named(failed, &rows[0]))
    }
}

/// The error says which row it is of.
fn named(e: Error, row: &PlannedRow) -> Error {
    if e.to_string().contains(&row.id) { e } else { e.at(format!("row {}", row.id)) }
}

/// Cuts sorted rows: each of one bundle, of so many bytes.
fn segments(rows: &[PlannedRow]) -> impl Iterator<Item = &[PlannedRow]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let mut bytes = 0;
        let goes_on = |row: &&PlannedRow| {
            bytes += row.plan.bytes as usize;
            row.bundle == first.bundle && bytes <= SEGMENT
        };
        let n = rest.iter().take_while(goes_on).count().max(1);
        let (segment, behind) = rest.split_at(n);
        rest = behind;
        Some(segment)
    })
}

/// Names what a worker was asked for: the same rows of the same plan in the same order, the same name.
pub struct Namer(sha2::Sha256);

impl Namer {
    /// Of a plan.
    pub fn new(identity: &Digest) -> Namer {
        use sha2::Digest as _;
        Namer(sha2::Sha256::new_with_prefix(identity.0))
    }

    /// A row more.
    pub fn add(&mut self, row: &PlannedRow) {
        use sha2::Digest as _;
        self.0.update(row.file.to_le_bytes());
        self.0.update(row.row.to_le_bytes());
    }

    /// Name of the file that holds these rows.
    pub fn finish(self) -> String {
        use sha2::Digest as _;
        let digest = Digest(self.0.finalize().into());
        format!("{}.arrow", &digest.to_string()[..32])
    }
}

/// Where prompt rows go unless told otherwise.
pub fn prompts_of(plan: &Place) -> Place {
    plan.join("prompts")
}
