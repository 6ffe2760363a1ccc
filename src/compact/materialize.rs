//! The full release from a compact one: groups in parallel, appended in order, each file held against the manifest.

use super::read::{DataReader, Release};
use super::render::Desk;
use super::{EXTENSION, FULL_SUMS, FileIndex, seal};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::{Digest, HashingWriter};
use crate::manifest::Manifest;
use crate::parallel;
use crate::pipeline::{beside, lock_file};
use crate::report::{Progress, Stopwatch};
use crate::stage::journal::Journal;
use crate::stage::stats::DataFile;
use crate::stage::write::{Out, Sink, encode, sink};
use crate::store::{Lock, make_dir, sync_dir, write_aside};
use crate::verify::{Bytes, check_sums, list, read_manifest};
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

/// What became of a compact release.
pub struct Outcome {
    /// The full release.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// It was there already, and its bytes are sound.
    pub was_there: bool,
    /// Wall time of each step.
    pub watch: Stopwatch,
}

/// Where the full release goes if nothing is said: beside the compact one, without its extension.
fn place(folder: &Path) -> Result<PathBuf> {
    let stem = folder.file_stem().filter(|_| folder.extension().is_some_and(|e| e == EXTENSION));
    stem.map(|stem| folder.with_file_name(stem)).ok_or_else(|| {
        Error::new(format!("{} does not end in .{EXTENSION}", folder.display()))
            .help("say where the full release goes with --out DIR")
    })
}

/// Writes the full release of a compact one, byte for byte as it was built.
pub fn materialize(folder: &Path, out: Option<&Path>, jobs: usize) -> Result<Outcome> {
    let mut watch = Stopwatch::start();
    if !super::is_compact(folder) {
        return Err(Error::new(format!("{} is no compact release: it has no {}", folder.display(), super::INDEX))
            .help("`recipe NAME --layout compact` builds one"));
    }
    let manifest = read_manifest(folder)?;
    let out = out.map_or_else(|| place(folder), |out| Ok(out.to_owned()))?;
    if out.file_name().is_none() {
        fail!("{} has no name of its own", out.display());
    }
    let above = out.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let (Ok(above), Ok(own)) = (std::fs::canonicalize(above), std::fs::canonicalize(folder))
        && above.starts_with(&own)
    {
        return Err(Error::new(format!("{} lies inside the compact release", out.display()))
            .help("say with --out DIR where else the full release goes"));
    }
    let _lock = Lock::take(&lock_file(&out))?;
    let bytes = Bytes::check(folder);
    let more = seal::check(folder, &manifest, &bytes);
    if let Some(finding) = bytes.findings.iter().chain(&more).next() {
        let what = format!("{} was changed since it was built: {}: {}", folder.display(), finding.file, finding.what);
        return Err(Error::new(what).help("get it again, or build it again from its recipe"));
    }
    let sums_path = folder.join(FULL_SUMS);
    let sums = std::fs::read(&sums_path).map_err(|e| Error::io("cannot read", &sums_path, e))?;
    watch.lap("check");
    if out.exists() {
        let same = std::fs::read(out.join("SHA256SUMS")).is_ok_and(|there| there == sums);
        if same && check_sums(&out).is_empty() {
            watch.lap("check");
            return Ok(Outcome { folder: out, manifest, was_there: true, watch });
        }
        return Err(Error::new(format!("{} is there, and it is not this release", out.display()))
            .help("remove it, or say where the full release goes with --out DIR"));
    }
    let partial = beside(&out, "partial");
    let journal = Journal::open(&partial, &Digest::of_parts([b"materialize".as_slice(), &sums]))?;
    let release = Release::open(folder, manifest.format)?;
    let spoiled = AtomicBool::new(false);
    if let Err(e) = write(&release, &manifest, &journal, jobs, &spoiled) {
        if spoiled.into_inner() {
            drop(journal);
            std::fs::remove_dir_all(&partial).map_err(|e| Error::io("cannot remove", &partial, e))?;
        }
        return Err(e);
    }
    watch.lap("write");
    copy(folder, &partial)?;
    write_aside(&partial.join("SHA256SUMS"), |file| file.write_all(&sums))?;
    journal.remove()?;
    sync_dir(&partial)?;
    std::fs::rename(&partial, &out).map_err(|e| Error::io("cannot rename to", &out, e))?;
    sync_dir(out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    watch.lap("publish");
    Ok(Outcome { folder: out, manifest, was_there: false, watch })
}

/// Copies what a compact release has as the full one has it, but for its sums.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut names = Vec::new();
    list(from, "", &mut names);
    for name in names.iter().filter(|name| *name != "SHA256SUMS" && !name.starts_with("compact/")) {
        let path = from.join(name);
        let mut file = File::open(&path).map_err(|e| Error::io("cannot open", &path, e))?;
        write_aside(&to.join(name), |out| std::io::copy(&mut file, out).map(drop))?;
    }
    Ok(())
}

/// A data file that is being written.
#[derive(Default)]
struct Open {
    writer: Option<Sink>,
    next: usize,
    pending: BTreeMap<usize, Vec<ArrowColumnChunk>>,
}

/// A data file to write, opened when its first group is.
struct Target<'r> {
    index: &'r FileIndex,
    file: &'r DataFile,
    reader: OnceLock<DataReader<'r>>,
    open: Mutex<Open>,
}

impl<'r> Target<'r> {
    fn new(index: &'r FileIndex, file: &'r DataFile) -> Target<'r> {
        Target { index, file, reader: OnceLock::new(), open: Mutex::default() }
    }

    fn reader(&self, release: &Release) -> Result<&DataReader<'r>> {
        // Two threads may open it at once: one of the two is kept.
        if self.reader.get().is_none() {
            let _ = self.reader.set(release.file(self.index)?);
        }
        Ok(self.reader.get().expect("just set"))
    }

    /// Puts a group together and encodes it.
    fn group(&self, release: &Release, group: usize, desk: &mut Desk) -> Result<Vec<ArrowColumnChunk>> {
        let made = || -> Result<_> {
            let batch = self.reader(release)?.group(group, desk)?;
            let chunks = encode(&batch)?;
            desk.reclaim(batch);
            Ok(chunks)
        };
        // A reader of Parquet may fail in its own ways on bytes that were made to break it.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(made))
            .unwrap_or_else(|_| Err(Error::new(format!("the parts of {} break the Parquet reader", self.index.path))))
    }

    fn aside(&self, folder: &Path) -> PathBuf {
        folder.join(&self.file.path).with_extension("parquet.partial")
    }

    fn create(&self, release: &Release, folder: &Path) -> Result<Sink> {
        let path = self.aside(folder);
        make_dir(path.parent().expect("a data file has a folder"))?;
        let out = File::create(&path).map_err(|e| Error::io("cannot write", &path, e))?;
        sink(HashingWriter::new(Out::File(BufWriter::with_capacity(1 << 20, out))), release.schema())
    }

    /// Appends what is next in order; true when the file is whole.
    fn append(&self, release: &Release, folder: &Path, group: usize, made: Vec<ArrowColumnChunk>) -> Result<bool> {
        let fault = |e| Error::io("cannot write", &self.aside(folder), e);
        let mut open = self.open.lock().expect("no thread panics");
        open.pending.insert(group, made);
        while let Some(chunks) = {
            let next = open.next;
            open.pending.remove(&next)
        } {
            if open.writer.is_none() {
                open.writer = Some(self.create(release, folder)?);
            }
            let mut out = open.writer.as_mut().expect("just made").next_row_group().map_err(fault)?;
            for chunk in chunks {
                chunk.append_to_row_group(&mut out).map_err(fault)?;
            }
            out.close().map_err(fault)?;
            open.next += 1;
        }
        Ok(open.next == self.index.groups.len())
    }

    /// Closes the file and puts it in its place, if it is the manifest's.
    fn finish(&self, release: &Release, folder: &Path, spoiled: &AtomicBool) -> Result<()> {
        let aside = self.aside(folder);
        let fault = |e: String| Error::io("cannot write", &aside, e);
        let writer = self.open.lock().expect("no thread panics").writer.take();
        let writer = writer.map_or_else(|| self.create(release, folder), Ok)?;
        let (out, sha256, bytes) = writer.into_inner().map_err(|e| fault(e.to_string()))?.finish();
        if let Out::File(out) = out {
            out.into_inner().map_err(|e| fault(e.to_string()))?.sync_all().map_err(|e| fault(e.to_string()))?;
        }
        if (sha256, bytes) != (self.file.sha256, self.file.bytes) {
            spoiled.store(true, Ordering::Relaxed);
            std::fs::remove_file(&aside).map_err(|e| Error::io("cannot remove", &aside, e))?;
            let what = format!(
                "{}: the compact release gives {bytes} bytes with SHA-256 {sha256}, the manifest says {} bytes with {}",
                self.file.path, self.file.bytes, self.file.sha256
            );
            return Err(Error::new(what).help("it was changed, or another version of this program writes other bytes"));
        }
        let place = folder.join(&self.file.path);
        std::fs::rename(&aside, &place).map_err(|e| Error::io("cannot rename to", &place, e))?;
        sync_dir(place.parent().expect("a data file has a folder"))
    }
}

/// Writes one data file below a folder.
pub(crate) fn write_file(release: &Release, index: &FileIndex, file: &DataFile, folder: &Path) -> Result<()> {
    let target = Target::new(index, file);
    let mut desk = Desk::default();
    for group in 0..index.groups.len() {
        let made = target.group(release, group, &mut desk)?;
        target.append(release, folder, group, made)?;
    }
    target.finish(release, folder, &AtomicBool::new(false))
}

/// Writes the data files that the journal does not hold yet. `spoiled`: what is there is not what was built.
fn write(release: &Release, manifest: &Manifest, journal: &Journal, jobs: usize, spoiled: &AtomicBool) -> Result<()> {
    let done = journal.done();
    let files = release.index.files.iter().zip(&manifest.files).filter(|(_, file)| !done.contains_key(&file.path));
    let targets: Vec<Target<'_>> = files.map(|(index, file)| Target::new(index, file)).collect();
    let mut work: Vec<(usize, usize)> = Vec::new();
    for (t, target) in targets.iter().enumerate() {
        work.extend((0..target.index.groups.len()).map(|group| (t, group)));
        if target.index.groups.is_empty() {
            target.finish(release, &journal.folder, spoiled)?;
            journal.enter(target.file.clone(), None, None)?;
        }
    }
    // The dearest files first, so that no thread is left alone with one at the end.
    work.sort_by_key(|&(t, group)| (std::cmp::Reverse(targets[t].file.stats.prompt_bytes), t, group));
    let progress = Progress::new("write", work.iter().map(|&(t, group)| targets[t].index.groups[group]).sum(), "rows");
    let step = |n: usize, desk: &mut Desk| -> Result<()> {
        let (t, group) = work[n];
        let target = &targets[t];
        let made = target.group(release, group, desk).inspect_err(|_| spoiled.store(true, Ordering::Relaxed))?;
        if target.append(release, &journal.folder, group, made)? {
            target.finish(release, &journal.folder, spoiled)?;
            journal.enter(target.file.clone(), None, None)?;
        }
        progress.add(target.index.groups[group]);
        Ok(())
    };
    let done = parallel::each(jobs, work.len(), Desk::default, step);
    progress.finish();
    done
}
