//! Finds prompt rows: which file and batch holds the row of each place, and that each is there once.

use super::part::PartReader;
use super::prompts::{self, DIGEST, FILE, PLAN, RECIPE, ROW, STATS};
use super::spool::{self, Kind};
use super::{PlanFile, inputs, rows, share};
use crate::compact::Recipe;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::remote::Place;
use crate::report::Progress;
use crate::stage::render::Rendered;
use crate::stage::stats::Stats;
use crate::stage::write::Source;
use crate::table;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Where a prompt row lies: number of the file of rows, of the batch in it, place in the batch.
#[derive(Clone, Copy, Debug)]
struct Spot {
    input: u32,
    batch: u32,
    row: u32,
}

/// No row was found.
const NONE: Spot = Spot { input: u32::MAX, batch: 0, row: 0 };

/// Batches that a thread keeps.
const KEPT: usize = 8;

/// Files that a thread keeps open.
const OPEN: usize = 64;

/// Where all prompt rows of a plan are.
pub struct Index {
    inputs: Vec<PathBuf>,
    /// What they are copies of, or they themselves.
    named: Vec<String>,
    /// By data file and place in it.
    places: Vec<Vec<Spot>>,
    /// First row of each group of each file.
    starts: Vec<Vec<u64>>,
    compact: bool,
    identity: String,
    /// Folder of copies; none was needed.
    copies: Option<PathBuf>,
}

impl Index {
    /// Looks through files and folders of prompt rows.
    ///
    /// # Errors
    ///
    /// Rows that are missing, double or of another plan, by their ids; files that hold no prompt rows, or are damaged.
    pub fn of(plan: &PlanFile, parts: &PartReader, rows: &[Place], beside: &Path) -> Result<Index> {
        let files = inputs::all(rows, beside)?;
        let copies = rows.iter().any(|place| place.is_local().is_none()).then(|| beside.to_owned());
        let count = |groups: &[(u64, u64)]| groups.iter().map(|(rows, _)| *rows).sum::<u64>() as usize;
        let starts = |groups: &[(u64, u64)]| {
            let mut starts = vec![0];
            groups.iter().for_each(|(rows, _)| starts.push(starts[starts.len() - 1] + rows));
            starts
        };
        let mut index = Index {
            inputs: Vec::new(),
            named: Vec::new(),
            places: plan.files.iter().map(|file| vec![NONE; count(&file.groups)]).collect(),
            starts: plan.files.iter().map(|file| starts(&file.groups)).collect(),
            compact: plan.narrowed.compact,
            identity: plan.identity.to_string(),
            copies,
        };
        let progress = Progress::new("index", plan.count(), "rows");
        for (path, name) in files {
            if !index.take(plan, &path, &name, &progress)? {
                let copy = inputs::copy(&path, beside)?;
                index.copies = Some(beside.to_owned());
                index.take(plan, &copy, &name, &progress)?;
            }
        }
        progress.finish();
        index.whole(plan, parts, rows)?;
        Ok(index)
    }

    /// Enters the rows of a file. False where it must be copied first: its rows cannot be looked up, or lie scattered.
    fn take(&mut self, plan: &PlanFile, path: &Path, named: &str, progress: &Progress) -> Result<bool> {
        if spool::kind_of(path)? != Kind::Arrow {
            return Ok(false);
        }
        let reader = spool::open(path)?;
        let same = reader.schema().fields() == prompts::SCHEMA.fields();
        let few = |runs: &spool::Runs| runs.iter().map(|(_, _, n)| u64::from(*n)).sum::<u64>() <= plan.count();
        let runs = match spool::noted(&reader, &self.identity).filter(|runs| same && few(runs)) {
            Some(runs) => runs,
            None => {
                let mut runs = Vec::new();
                for batch in reader {
                    let batch = batch.map_err(|e| damaged(Path::new(named), &e))?;
                    keys_of(&batch, &self.identity).map_err(|e| e.at(named))?;
                    match spool::run_of(&batch) {
                        Some(run) if same => runs.push(run),
                        _ => return Ok(false),
                    }
                }
                runs
            }
        };
        let input = self.inputs.len() as u32;
        self.inputs.push(path.to_owned());
        self.named.push(named.to_owned());
        for (batch, (file, first, n)) in runs.into_iter().enumerate() {
            progress.add(u64::from(n));
            for row in 0..n as usize {
                let place = first as usize + row;
                let entry = self.places.get_mut(file as usize).and_then(|all| all.get_mut(place));
                let Some(entry) = entry else {
                    return Err(Error::new(format!("row {place} of data file {file} is none of the plan")).at(named));
                };
                if entry.input != u32::MAX {
                    let first = self.named[entry.input as usize].clone();
                    let config = &plan.files[file as usize].config;
                    let id = self.id(path, batch, row).unwrap_or_default();
                    return Err(Error::new(format!("row {id} of {config} is there twice"))
                        .at(format!("{first} and {named}"))
                        .help("give the rows of one run alone: remove what another one left"));
                }
                *entry = Spot { input, batch: batch as u32, row: row as u32 };
            }
        }
        Ok(true)
    }

    fn id(&self, path: &Path, batch: usize, row: usize) -> Option<String> {
        let mut reader = spool::open(path).ok()?;
        reader.set_index(batch).ok()?;
        let batch = reader.next()?.ok()?;
        Some(table::text(&batch, "id", row).to_owned())
    }

    /// Is every row there?
    fn whole(&self, plan: &PlanFile, parts: &PartReader, rows: &[Place]) -> Result<()> {
        let missing = |all: &Vec<Spot>| all.iter().filter(|place| place.input == u32::MAX).count();
        let n: usize = self.places.iter().map(missing).sum();
        if n == 0 {
            return Ok(());
        }
        let absent = |file: u32, row: u32| self.places[file as usize][row as usize].input == u32::MAX;
        let first = first_of(plan, parts, &absent)?;
        let places: Vec<String> = rows.iter().map(Place::to_string).collect();
        Err(Error::new(format!("{n} of {} rows are missing, first {first}", plan.count()))
            .at(places.join(", "))
            .help("have them made: run the engine again, or the parts of the job array that failed; then seal"))
    }

    /// Removes copies that were made.
    pub fn remove(&self) -> Result<()> {
        match &self.copies {
            Some(folder) => std::fs::remove_dir_all(folder).map_err(|e| Error::io("cannot remove", folder, e)),
            None => Ok(()),
        }
    }

    /// A file whose rows are not where it says.
    fn elsewhere(&self, input: u32) -> Error {
        Error::new(format!("{}: its rows are not those that it notes", self.named[input as usize]))
            .help("it was changed: have its rows made again")
    }

    /// A batch of a file of rows.
    fn batch(&self, desk: &mut Desk, input: u32, batch: u32) -> Result<RecordBatch> {
        if let Some((_, kept)) = desk.batches.iter().find(|(key, _)| *key == (input, batch)) {
            return Ok(kept.clone());
        }
        let path = &self.inputs[input as usize];
        let place = match desk.open.iter().position(|(own, _)| *own == input) {
            Some(place) => place,
            None => {
                if desk.open.len() == OPEN {
                    desk.open.remove(0);
                }
                desk.open.push((input, spool::open(path)?));
                desk.open.len() - 1
            }
        };
        let reader = &mut desk.open[place].1;
        reader.set_index(batch as usize).map_err(|e| damaged(path, &e))?;
        let read = reader.next().ok_or_else(|| damaged(path, &"a batch is missing"))?.map_err(|e| damaged(path, &e))?;
        if desk.batches.len() == KEPT {
            desk.batches.remove(0);
        }
        desk.batches.push(((input, batch), read.clone()));
        Ok(read)
    }
}

/// What a thread keeps between groups: files that are open, batches read last.
#[derive(Default)]
pub struct Desk {
    open: Vec<(u32, FileReader<BufReader<File>>)>,
    batches: Vec<((u32, u32), RecordBatch)>,
}

impl Source for Index {
    type Desk = Desk;

    fn desk(&self) -> Desk {
        Desk::default()
    }

    fn group(&self, desk: &mut Desk, file: usize, group: usize, progress: &Progress) -> Result<Rendered> {
        let range = self.starts[file][group] as usize..self.starts[file][group + 1] as usize;
        let places = &self.places[file][range];
        // Neighbours in one batch are taken together.
        let mut slices: Vec<RecordBatch> = Vec::new();
        let mut at = 0;
        while at < places.len() {
            let first = places[at];
            let same = |n: usize, place: &Spot| {
                (place.input, place.batch, place.row) == (first.input, first.batch, first.row + n as u32)
            };
            let n = places[at..].iter().enumerate().take_while(|(n, place)| same(*n, place)).count();
            let batch = self.batch(desk, first.input, first.batch)?;
            if first.row as usize + n > batch.num_rows() {
                return Err(self.elsewhere(first.input));
            }
            let slice = batch.slice(first.row as usize, n);
            let keys = keys_of(&slice, &self.identity).map_err(|e| e.at(&self.named[first.input as usize]))?;
            let begin = self.starts[file][group] as u32 + at as u32;
            if !(begin..).zip(&keys).all(|(row, key)| (file as u32, row) == *key) {
                return Err(self.elsewhere(first.input));
            }
            slices.push(slice);
            at += n;
        }
        let whole = arrow_select::concat::concat_batches(&prompts::SCHEMA, &slices)
            .map_err(|e| Error::new(format!("cannot put rows together: {e}")))?;
        drop(slices);
        let n = table::SCHEMA.fields().len();
        let batch = RecordBatch::try_new(table::SCHEMA.clone(), whole.columns()[..n].to_vec())
            .map_err(|e| Error::new(format!("cannot put rows together: {e}")))?;
        let mut stats = Vec::with_capacity(whole.num_rows());
        let mut recipes = Vec::new();
        let mut digests = Vec::with_capacity(whole.num_rows());
        for row in 0..whole.num_rows() {
            let id = table::text(&batch, "id", row);
            let fault = |what: &str| {
                Error::new(format!("row {id}: {what}"))
                    .help("the row was changed behind its worker: have it made again")
            };
            // The digest of a row holds that of its prompt, not the prompt.
            if Digest::of(table::text(&batch, "prompt", row)).to_string() != table::text(&batch, "prompt_sha256", row) {
                return Err(fault("its prompt is not the one that was proven"));
            }
            let own: Stats =
                serde_json::from_slice(binary(&whole, STATS, row)).map_err(|_| fault("its sums cannot be read"))?;
            progress.add(own.tokens);
            stats.push(own);
            let digest: [u8; 32] =
                binary(&whole, DIGEST, row).try_into().map_err(|_| fault("its digest cannot be read"))?;
            digests.push(Digest(digest));
            if self.compact {
                let recipe: Recipe = postcard::from_bytes(binary(&whole, RECIPE, row))
                    .map_err(|_| fault("what its prompt is put together from cannot be read"))?;
                recipes.push(recipe);
            }
        }
        Ok(Rendered { batch, stats, recipes, digests: Some(digests) })
    }
}

fn binary<'b>(batch: &'b RecordBatch, name: &str, row: usize) -> &'b [u8] {
    let column = batch.column_by_name(name).expect("a column of ours").as_binary::<i32>();
    if column.is_valid(row) { column.value(row) } else { &[] }
}

fn damaged(path: &Path, e: &dyn std::fmt::Display) -> Error {
    Error::new(format!("{}: {e}", path.display())).help("it is not whole: have its rows made again")
}

/// Number of the data file and place in it, of each row.
fn keys_of(batch: &RecordBatch, identity: &str) -> Result<Vec<(u32, u32)>> {
    let column = |name: &str| {
        batch.column_by_name(name).ok_or_else(|| {
            Error::new(format!("the prompt rows have no column {name:?}"))
                .help("hand on all columns that `nihbuild worker render` gives")
        })
    };
    let plans = column(PLAN)?.as_string_opt::<i32>().ok_or_else(|| Error::new("the column _plan is no text"))?;
    if let Some(other) = plans.iter().find(|plan| *plan != Some(identity)) {
        let other: String = other.unwrap_or("none").chars().take(8).collect();
        return Err(Error::new(format!("it holds rows of another plan ({other}, this is {})", &identity[..8]))
            .help("give the rows of this plan alone, or the plan that they are of"));
    }
    let numbers = |name: &str| -> Result<Vec<u32>> {
        let column = column(name)?;
        let column = column
            .as_primitive_opt::<Int32Type>()
            .ok_or_else(|| Error::new(format!("the column {name} is no int32")))?;
        Ok(column.values().iter().map(|n| *n as u32).collect())
    };
    Ok(numbers(FILE)?.into_iter().zip(numbers(ROW)?).collect())
}

/// Id of the first row of the plan that is absent.
fn first_of(plan: &PlanFile, parts: &PartReader, absent: &dyn Fn(u32, u32) -> bool) -> Result<String> {
    let identity = plan.identity.to_string();
    for batch in share::planned(plan, parts) {
        if let Some(row) = rows::read(&identity, &batch?)?.into_iter().find(|row| absent(row.file, row.row)) {
            return Ok(format!("{} ({})", row.id, plan.files[row.file as usize].config));
        }
    }
    Ok("one that the plan has no row of".to_owned())
}
