//! Finds prompt rows: which file and batch holds the row of each place, and that each is there once.

use super::PlanFile;
use super::part::PartReader;
use super::prompts::{self, DIGEST, FILE, PLAN, RECIPE, ROW, STATS};
use super::rows;
use super::spool::{self, Kind, Spool};
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
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a prompt row lies: number of the file of rows, of the batch in it, place in the batch.
#[derive(Clone, Copy, Debug)]
struct Spot {
    input: u32,
    batch: u32,
    row: u32,
}

/// No row was found.
const NONE: Spot = Spot { input: u32::MAX, batch: 0, row: 0 };

/// Rows that a batch of a copy holds, in bytes of prompts.
const BATCH: usize = 8 << 20;

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
        let mut files = Vec::new();
        let mut copies = None;
        for place in rows {
            if let Some(path) = place.is_local() {
                gather(path, &mut files)?;
            } else {
                fetched(place, beside, &mut files)?;
                copies = Some(beside.to_owned());
            }
        }
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
                let copy = copy(&path, beside)?;
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
        let mut keys: Vec<Vec<(u32, u32)>> = Vec::new();
        let few = |runs: &spool::Runs| runs.iter().map(|(_, _, n)| u64::from(*n)).sum::<u64>() <= plan.count();
        let noted = spool::noted(&reader, &self.identity).filter(|runs| same && few(runs));
        if let Some(runs) = &noted {
            let of = |(file, first, n): &(u32, u32, u32)| (0..*n).map(|k| (*file, first.wrapping_add(k))).collect();
            keys = runs.iter().map(of).collect();
        }
        for batch in reader.take(if noted.is_some() { 0 } else { usize::MAX }) {
            let batch = batch.map_err(|e| damaged(Path::new(named), &e))?;
            let own = keys_of(&batch, &self.identity).map_err(|e| e.at(named))?;
            let runs = own.windows(2).all(|pair| pair[0].0 == pair[1].0 && pair[0].1.wrapping_add(1) == pair[1].1);
            if !same || !runs {
                return Ok(false);
            }
            keys.push(own);
        }
        let input = self.inputs.len() as u32;
        self.inputs.push(path.to_owned());
        self.named.push(named.to_owned());
        for (batch, keys) in keys.into_iter().enumerate() {
            progress.add(keys.len() as u64);
            for (row, (file, place)) in keys.into_iter().enumerate() {
                let entry = self.places.get_mut(file as usize).and_then(|all| all.get_mut(place as usize));
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

/// Files of rows below a path, by name, and what they are called.
fn gather(path: &Path, files: &mut Vec<(PathBuf, String)>) -> Result<()> {
    if !path.exists() {
        return Err(Error::new(format!("{} is not there", path.display()))
            .help("give the folder that the prompt rows were written to"));
    }
    if !path.is_dir() {
        files.push((path.to_owned(), path.display().to_string()));
        return Ok(());
    }
    for (name, _) in Place::of(path).list("")?.into_iter().filter(|(name, _)| is_of_rows(name)) {
        let file = path.join(name);
        files.push((file.clone(), file.display().to_string()));
    }
    Ok(())
}

/// Brings files of rows from behind a network.
fn fetched(place: &Place, beside: &Path, files: &mut Vec<(PathBuf, String)>) -> Result<()> {
    let all = place.list("")?;
    let own = all.iter().filter(|(name, _)| is_of_rows(name));
    let progress = Arc::new(Progress::new("fetch", own.clone().map(|(_, bytes)| bytes).sum(), "bytes"));
    let told = place.clone().told(progress);
    for (name, bytes) in own {
        let to = beside.join(format!("{}.fetched", Digest::of(format!("{bytes} {place}/{name}"))));
        if !to.is_file() {
            told.fetch(name, &to, None)?;
        }
        files.push((to, format!("{place}/{name}")));
    }
    Ok(())
}

/// Does a name inside a folder look like one of a file of rows? What is being written, and what engines put beside their rows, does not.
fn is_of_rows(name: &str) -> bool {
    let plain = name.split('/').all(|part| !part.starts_with(['.', '_']));
    plain && [".arrow", ".arrows", ".parquet"].iter().any(|end| name.ends_with(end))
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
        let other = &other.unwrap_or("none")[..8.min(other.unwrap_or("none").len())];
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

/// Copies rows so that they can be looked up: each batch holds rows of one data file, one behind the other.
fn copy(path: &Path, beside: &Path) -> Result<PathBuf> {
    let mut out = Spool::create(&Place::of(beside), false)?;
    for batch in spool::batches(path)? {
        let batch = conform(&batch?).map_err(|e| e.at(path.display()))?;
        let files = batch.column_by_name(FILE).expect("conformed").as_primitive::<Int32Type>().values();
        let rows = batch.column_by_name(ROW).expect("conformed").as_primitive::<Int32Type>().values();
        let mut start = 0;
        while start < batch.num_rows() {
            let mut bytes = 0;
            let goes_on = |n: &usize| {
                bytes += table::text(&batch, "prompt", *n).len();
                let place = i64::from(rows[start]) + (*n - start) as i64;
                *n == start || files[*n] == files[start] && i64::from(rows[*n]) == place && bytes <= BATCH
            };
            let n = (start..batch.num_rows()).take_while(goes_on).count();
            out.write(&batch.slice(start, n))?;
            start += n;
        }
    }
    let name = format!("{}.arrow", Digest::of(path.as_os_str().as_encoded_bytes()));
    out.close(&name)?;
    Ok(beside.join(name))
}

/// The columns of prompt rows, in our types: engines have other names for the elements of lists, and other binaries.
fn conform(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = prompts::SCHEMA.fields().iter().map(|field| {
        let column = batch.column_by_name(field.name()).ok_or_else(|| {
            Error::new(format!("the prompt rows have no column {:?}", field.name()))
                .help("hand on all columns that `nihbuild worker render` gives")
        })?;
        if column.data_type() == field.data_type() {
            return Ok(column.clone());
        }
        arrow_cast::cast(column, field.data_type())
            .map_err(|e| Error::new(format!("the column {:?} is {}: {e}", field.name(), column.data_type())))
    });
    RecordBatch::try_new(prompts::SCHEMA.clone(), columns.collect::<Result<_>>()?)
        .map_err(|e| Error::new(format!("these are no prompt rows: {e}")))
}

/// Id of the first row of the plan that is absent.
fn first_of(plan: &PlanFile, parts: &PartReader, absent: &dyn Fn(u32, u32) -> bool) -> Result<String> {
    let identity = plan.identity.to_string();
    for file in &plan.rows {
        let path = parts.rows(file)?;
        let open = File::open(&path).map_err(|e| Error::io("cannot open", &path, e))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(open).and_then(|reader| reader.build());
        for batch in reader.map_err(|e| damaged(&path, &e))? {
            let batch = batch.map_err(|e| damaged(&path, &e))?;
            if let Some(row) = rows::read(&identity, &batch)?.into_iter().find(|row| absent(row.file, row.row)) {
                return Ok(format!("{} ({})", row.id, plan.files[row.file as usize].config));
            }
        }
    }
    Ok("one that the plan has no row of".to_owned())
}
