//! Files of prompt rows: Arrow IPC files, written aside and renamed whole, read a batch at a time.

use super::prompts::{FILE, PLAN, ROW, SCHEMA};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::remote::Place;
use crate::store::{make_dir, scratch, sync_dir};
use crate::stream::Stream;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::Serialize;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::{NamedTempFile, TempDir};

/// What a file of prompt rows came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Receipt {
    /// Its name.
    pub file: String,
    /// Its rows.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
}

impl Receipt {
    /// Columns of receipts, as workers hand them to engines.
    pub fn schema() -> Arc<Schema> {
        let number = |name: &str| Field::new(name, DataType::Int64, false);
        Arc::new(Schema::new(vec![Field::new("file", DataType::Utf8, false), number("rows"), number("bytes")]))
    }

    /// The receipt as a batch.
    pub fn batch(&self) -> Result<RecordBatch> {
        let number = |n: u64| -> ArrayRef { Arc::new(Int64Array::from(vec![n as i64])) };
        let file = Arc::new(StringArray::from(vec![self.file.as_str()]));
        RecordBatch::try_new(Receipt::schema(), vec![file, number(self.rows), number(self.bytes)])
            .map_err(|e| Error::new(format!("cannot build a receipt: {e}")))
    }
}

/// A file of prompt rows that is being written, under a name of its own: workers on several machines may write into one folder.
/// Dropped before it is closed, it is removed.
pub struct Spool {
    writer: FileWriter<BufWriter<NamedTempFile>>,
    folder: PathBuf,
    /// Where it goes, if that is not the folder.
    sent: Option<(Place, TempDir)>,
    rows: u64,
    bytes: usize,
    /// Which rows each batch holds.
    runs: Runs,
}

/// Bytes that are written before the disk is asked to begin: else all of it waits for the end.
const BEGIN: usize = 32 << 20;

/// Notes of a file: the plan of its rows, and of each batch which rows it holds.
const PLAN_NOTE: &str = "nihbuild.plan";
const RUNS_NOTE: &str = "nihbuild.runs";

/// Of each batch, number of the data file, place of its first row there, and rows; the others follow one another.
pub type Runs = Vec<(u32, u32, u32)>;

/// What the notes of a file say of its rows, where they are of this plan. Rows are looked at again when they are read.
pub fn noted<R: Read + Seek>(reader: &FileReader<R>, identity: &str) -> Option<Runs> {
    let notes = reader.custom_metadata();
    notes.get(PLAN_NOTE).filter(|plan| *plan == identity)?;
    let runs: Runs = serde_json::from_str(notes.get(RUNS_NOTE)?).ok()?;
    (runs.len() == reader.num_batches()).then_some(runs)
}

/// The run that a batch is; none of rows that lie scattered.
pub fn run_of(batch: &RecordBatch) -> Option<(u32, u32, u32)> {
    let number =
        |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Int32Type>().map(|column| column.values().clone());
    let (files, rows) = (number(FILE)?, number(ROW)?);
    let (file, first) = (*files.first()?, *rows.first()?);
    let follows = |(n, row): (usize, &i32)| i64::from(*row) == i64::from(first) + n as i64;
    let one = files.iter().all(|own| *own == file) && rows.iter().enumerate().all(follows);
    one.then_some((u32::try_from(file).ok()?, u32::try_from(first).ok()?, batch.num_rows() as u32))
}

/// The plan that a batch is of.
fn plan_of(batch: &RecordBatch) -> Option<&str> {
    let column = batch.column_by_name(PLAN)?.as_string_opt::<i32>()?;
    (!column.is_empty()).then(|| column.value(0))
}

impl Spool {
    /// Begins a file in a place: in its folder, or in one of this machine until it is whole and sent. Compressed ones are smaller and slower.
    pub fn create(place: &Place, compressed: bool) -> Result<Spool> {
        match place.is_local() {
            Some(folder) => Spool::here(folder, None, compressed),
            None => {
                let aside = scratch()?;
                let folder = aside.path().to_owned();
                Spool::here(&folder, Some((place.clone(), aside)), compressed)
            }
        }
    }

    fn here(folder: &Path, sent: Option<(Place, TempDir)>, compressed: bool) -> Result<Spool> {
        use std::os::unix::fs::PermissionsExt;
        make_dir(folder)?;
        let out = tempfile::Builder::new()
            .prefix(".")
            .suffix(".partial")
            .permissions(std::fs::Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|e| Error::io("cannot write in", folder, e))?;
        let compression = compressed.then_some(CompressionType::ZSTD);
        let options = IpcWriteOptions::default().try_with_compression(compression).map_err(|e| fault(folder, &e))?;
        let out = BufWriter::with_capacity(1 << 20, out);
        let writer = FileWriter::try_new_with_options(out, &SCHEMA, options).map_err(|e| fault(folder, &e))?;
        Ok(Spool { writer, folder: folder.to_owned(), sent, rows: 0, bytes: 0, runs: Vec::new() })
    }

    /// Appends a batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.rows == 0
            && let Some(plan) = plan_of(batch)
        {
            self.writer.write_metadata(PLAN_NOTE, plan);
        }
        // Files without the note are read through.
        self.runs.extend(run_of(batch));
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch).map_err(|e| fault(&self.folder, &e))?;
        self.bytes += batch.get_array_memory_size();
        if self.bytes >= BEGIN {
            self.bytes = 0;
            let file = self.writer.get_ref().get_ref().as_file().try_clone();
            // Whether all of it is on the disk is seen when the file is closed.
            file.map(|file| std::thread::spawn(move || file.sync_data())).ok();
        }
        Ok(())
    }

    /// Puts the file in its place under a name; one of that name, of the same rows, is replaced by its like.
    pub fn close(self, name: &str) -> Result<Receipt> {
        let Spool { mut writer, folder, sent, rows, runs, .. } = self;
        writer.write_metadata(RUNS_NOTE, serde_json::to_string(&runs).map_err(|e| fault(&folder, &e))?);
        let place = folder.join(name);
        let out = writer.into_inner().map_err(|e| fault(&place, &e))?;
        let out = out.into_inner().map_err(|e| Error::io("cannot write", &place, e.into_error()))?;
        let about = out.as_file().sync_all().and_then(|()| out.as_file().metadata());
        let bytes = about.map_err(|e| Error::io("cannot write", &place, e))?.len();
        out.persist(&place).map_err(|e| Error::io("cannot rename to", &place, e.error))?;
        match sent {
            None => sync_dir(&folder)?,
            Some((to, _aside)) => to.upload(name, &place, Digest::of_file(&place)?.0)?,
        }
        Ok(Receipt { file: name.to_owned(), rows, bytes })
    }
}

fn fault(path: &Path, e: &dyn std::fmt::Display) -> Error {
    Error::new(format!("{}: {e}", path.display()))
}

/// What kind of file holds rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An Arrow IPC file, of which any batch can be read.
    Arrow,
    /// An Arrow IPC stream.
    Stream,
    /// Parquet, as an engine writes it.
    Parquet,
}

/// Looks into a file.
pub fn kind_of(path: &Path) -> Result<Kind> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(8).read_to_end(&mut head));
    read.map_err(|e| Error::io("cannot read", path, e))?;
    match head.as_slice() {
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Ok(Kind::Arrow),
        [b'P', b'A', b'R', b'1', ..] => Ok(Kind::Parquet),
        [0xFF, 0xFF, 0xFF, 0xFF, ..] => Ok(Kind::Stream),
        _ => Err(Error::new(format!("{} holds no prompt rows", path.display()))
            .help("expected Arrow IPC or Parquet, as `nihbuild worker render` or an engine writes it")),
    }
}

/// Opens an Arrow IPC file.
pub fn open(path: &Path) -> Result<FileReader<BufReader<File>>> {
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    FileReader::try_new(BufReader::new(file), None)
        .map_err(|e| fault(path, &e).help("it is not whole: have its rows made again"))
}

/// All batches of a file of rows, whatever its kind.
pub fn batches(path: &Path) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>>>> {
    let own = path.to_owned();
    let damaged = move |e: &dyn std::fmt::Display| fault(&own, e).help("it is not whole: have its rows made again");
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    Ok(match kind_of(path)? {
        Kind::Arrow => Box::new(open(path)?.map(move |batch| batch.map_err(|e| damaged(&e)))),
        Kind::Stream => {
            let stream = Stream::open(BufReader::new(file)).map_err(|e| damaged(&e))?;
            Box::new(stream.map(move |batch| batch.map_err(|e| damaged(&e))))
        }
        Kind::Parquet => {
            // Few rows at once: prompts may be of megabytes.
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| damaged(&e))?;
            let reader = builder.with_batch_size(16).build().map_err(|e| damaged(&e))?;
            Box::new(reader.map(move |batch| batch.map_err(|e| damaged(&e))))
        }
    })
}
