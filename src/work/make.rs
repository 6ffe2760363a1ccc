//! Writes a plan folder: rows, and what they are made of.

use super::folder::{Bundle, CompactParts, NAME, Narrowed, PlanFile, PlannedFile, RowsFile, Target};
use super::part::PartWriter;
use super::rows::{self, PlannedRow};
use super::{Divided, FORMAT};
use crate::compact::Parts;
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::{Digest, HashingWriter};
use crate::pipeline::{Ending, beside, lock_file};
use crate::plan::{FilePlan, Plan};
use crate::remote::Place;
use crate::report::{Progress, warn};
use crate::stage::assemble::RowPlan;
use crate::stage::render::FileRows;
use crate::stage::write::Shape;
use crate::store::{Lock, make_dir, sync_dir, write_aside};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::path::Path;

/// Tokens of the rows of a bundle, about: enough that reading it is nothing beside making its rows.
const BUNDLE: u64 = 16_000_000;

/// Instances of a bundle, at most.
const INSTANCES: usize = 64;

/// Where a row stands: unit, data file, place in it.
type Spot = (u32, u32, u32);

/// Writes the plan of fitted rows; the caller holds the folder's [`lock`]. A folder that holds this very plan is left as it is.
///
/// # Errors
///
/// A folder that holds another plan; whatever cannot be written.
pub fn write<R: Divided>(
    plan: &Plan,
    maker: &R,
    files: &[FileRows],
    ending: &Ending,
    target: &Target,
) -> Result<PlanFile> {
    if target.folder.join(NAME).is_file() {
        let there = PlanFile::read(&Place::of(&target.folder))?;
        if there.identity == ending.manifest.plan {
            return Ok(there);
        }
        return Err(Error::new(format!("{} holds another plan", target.folder.display()))
            .help("remove it, or name another folder with --to DIR"));
    }
    let aside = beside(&target.folder, "partial");
    if aside.exists() {
        std::fs::remove_dir_all(&aside).map_err(|e| Error::io("cannot remove", &aside, e))?;
    }
    make_dir(&aside)?;
    let mut parts = PartWriter::new(&aside)?;
    let shared = shared(maker, files, &mut parts)?;
    let mut places: Vec<Spot> = Vec::new();
    for (f, file) in files.iter().enumerate() {
        let rows = file.groups.iter().flatten().zip(0..);
        places.extend(rows.map(|(row, n)| (maker.unit(&file.file, row), f as u32, n)));
    }
    places.sort_unstable();
    let flat: Vec<Vec<RowPlan>> = files.iter().map(|file| file.groups.concat()).collect();
    let plan_of = |place: &Spot| (&files[place.1 as usize].file, flat[place.1 as usize][place.2 as usize]);
    let cuts = bundles(&places, |place| u64::from(plan_of(place).1.tokens));
    let progress = Progress::new("plan", places.len() as u64, "rows");
    let mut all = Vec::new();
    // Equal units keep all workers busy to the end.
    let tokens: u64 = flat.iter().flatten().map(|row| u64::from(row.tokens)).sum();
    let unit = tokens.div_ceil(tokens.div_ceil(target.unit).max(1));
    let mut out = RowsWriter::new(&aside, &ending.manifest.plan, unit);
    for (n, cut) in cuts.into_iter().enumerate() {
        let own = &places[cut];
        let units = own[0].0..own[own.len() - 1].0 + 1;
        let rows: Vec<(&FilePlan, RowPlan)> = own.iter().map(plan_of).collect();
        let bytes = maker.bundle(units.clone(), &rows)?;
        let part = parts.put(&bytes)?;
        all.push(Bundle { part, bytes: bytes.len() as u64, first: units.start, rows: own.len() as u64 });
        let mut own: Vec<&Spot> = own.iter().collect();
        own.sort_unstable_by_key(|(_, file, row)| (*file, *row));
        for place in own {
            let (file, planned) = plan_of(place);
            let (id, slots) = (maker.id(file, planned), maker.slots(file, planned));
            out.push(PlannedRow { bundle: n as u32, file: place.1, row: place.2, id, slots, plan: planned })?;
        }
        progress.add(rows.len() as u64);
    }
    progress.finish();
    let written = PlanFile {
        format: FORMAT,
        nihbuild: env!("CARGO_PKG_VERSION").to_owned(),
        identity: ending.manifest.plan,
        plan: plan.digest(),
        recipe: plan.recipe.to_toml(),
        narrowed: Narrowed {
            filter: plan.options.filter.clone(),
            seed: plan.options.seed,
            compact: plan.options.compact,
        },
        packs: packs(plan, &mut parts)?,
        tokenizers: tokenizers(plan, &mut parts)?,
        sources: plan.options.sources.as_deref().map(|file| parts.put_file(file)).transpose()?,
        shared,
        bundles: all,
        files: files.iter().map(|file| planned(maker, file)).collect(),
        rows: out.finish()?,
        manifest: ending.manifest.clone(),
        pins: pins(ending, &mut parts)?,
        compact: plan.options.compact.then(|| compact(maker, files, &aside, &mut parts)).transpose()?,
    };
    let json = serde_json::to_string_pretty(&written).map_err(|e| Error::new(format!("cannot write a plan: {e}")))?;
    write_aside(&aside.join(NAME), |out| out.write_all((json + "\n").as_bytes()))?;
    sync_dir(&aside)?;
    std::fs::rename(&aside, &target.folder).map_err(|e| Error::io("cannot rename to", &target.folder, e))?;
    sync_dir(target.folder.parent().unwrap_or(Path::new(".")))?;
    Ok(written)
}

/// Takes the lock of a plan folder; waits where another process has it.
pub fn lock(folder: &Path) -> Result<Lock> {
    if folder.file_name().is_none() {
        fail!("{} has no name of its own", folder.display());
    }
    Lock::wait(&lock_file(folder), || warn("another process makes this plan: waiting for it"))
}

fn shared<R: Divided>(
    maker: &R,
    files: &[FileRows],
    parts: &mut PartWriter,
) -> Result<BTreeMap<String, (Digest, u64)>> {
    let mut shared = BTreeMap::new();
    maker.shared(files, &mut |name, bytes| {
        shared.insert(name.to_owned(), (parts.put(&bytes)?, bytes.len() as u64));
        Ok(())
    })?;
    Ok(shared)
}

/// Cuts sorted rows into bundles: whole units, until they have tokens or instances enough.
fn bundles(places: &[Spot], tokens: impl Fn(&Spot) -> u64) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    let (mut start, mut sum, mut units) = (0, 0, 0);
    for n in 0..places.len() {
        let begins = n == 0 || places[n].0 != places[n - 1].0;
        if begins && n > start && (sum >= BUNDLE || units >= INSTANCES) {
            cuts.push(start..n);
            (start, sum, units) = (n, 0, 0);
        }
        units += usize::from(begins);
        sum += tokens(&places[n]);
    }
    if start < places.len() {
        cuts.push(start..places.len());
    }
    cuts
}

fn planned<R: Divided>(maker: &R, rows: &FileRows) -> PlannedFile {
    let ids: Vec<String> = rows.groups.iter().flatten().map(|row| maker.id(&rows.file, *row)).collect();
    PlannedFile { config: rows.file.config.clone(), groups: Shape::of(rows).groups, ids: digest_of_ids(&ids) }
}

/// Digest of rows' ids, in order.
pub fn digest_of_ids<T: AsRef<[u8]>>(ids: &[T]) -> Digest {
    Digest::of_parts(ids.iter().map(AsRef::as_ref))
}

fn packs(plan: &Plan, parts: &mut PartWriter) -> Result<BTreeMap<String, Digest>> {
    let own = plan.packs.iter().map(|(language, pack)| (language.to_string(), pack));
    let english = [("en".to_owned(), &plan.english)];
    english.into_iter().chain(own).map(|(code, pack)| Ok((code, parts.put(pack.file().as_bytes())?))).collect()
}

/// The files of the tokenizers that are not embedded.
fn tokenizers(plan: &Plan, parts: &mut PartWriter) -> Result<BTreeMap<String, Digest>> {
    let mut all = BTreeMap::new();
    for name in plan.recipe.tokens.names() {
        let stated = plan.recipe.tokens.files.get(name);
        if let Some(path) = crate::source::tokenizers::file(name, stated, &plan.options)? {
            all.insert(name.0.clone(), parts.put_file(&path)?);
        }
    }
    Ok(all)
}

fn pins(ending: &Ending, parts: &mut PartWriter) -> Result<Vec<crate::stage::embed::PinFile>> {
    for (pin, from) in &ending.pins {
        let found = parts.put_file(from)?;
        if found != pin.sha256 {
            return Err(Error::new(format!("{} was changed while it was read", from.display())));
        }
    }
    Ok(ending.pins.iter().map(|(pin, _)| pin.clone()).collect())
}

/// The texts of a compact release: made here, so that sealing needs no more than rows.
fn compact<R: Divided>(maker: &R, files: &[FileRows], aside: &Path, parts: &mut PartWriter) -> Result<CompactParts> {
    let folder = aside.join("texts");
    let mut made = Parts::new(&folder);
    let layouts = maker.parts(files, &mut made)?;
    let mut all = BTreeMap::new();
    for path in made.finish().into_keys() {
        let digest = parts.put_file(&folder.join(&path))?;
        all.insert(path, digest);
    }
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|e| Error::io("cannot remove", &folder, e))?;
    }
    Ok(CompactParts { layouts, parts: all })
}

/// Writes rows of the plan, cut into units of work.
struct RowsWriter<'a> {
    folder: &'a Path,
    identity: String,
    unit: u64,
    open: Vec<PlannedRow>,
    tokens: u64,
    done: Vec<RowsFile>,
}

impl<'a> RowsWriter<'a> {
    fn new(folder: &'a Path, identity: &Digest, unit: u64) -> RowsWriter<'a> {
        RowsWriter { folder, identity: identity.to_string(), unit, open: Vec::new(), tokens: 0, done: Vec::new() }
    }

    fn push(&mut self, row: PlannedRow) -> Result<()> {
        self.tokens += u64::from(row.plan.tokens);
        self.open.push(row);
        if self.tokens >= self.unit { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let name = format!("rows/{:05}.parquet", self.done.len());
        let path = self.folder.join(&name);
        make_dir(&self.folder.join("rows"))?;
        let fault = |e: &dyn std::fmt::Display| Error::new(format!("cannot be written: {e}")).at(path.display());
        let out = File::create(&path).map_err(|e| Error::io("cannot write", &path, e))?;
        let properties = WriterProperties::builder()
            .set_created_by("nihbuild plan 1".to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).expect("level 3 exists")))
            .set_max_row_group_row_count(None)
            .build();
        let mut writer =
            ArrowWriter::try_new(HashingWriter::new(BufWriter::new(out)), rows::SCHEMA.clone(), Some(properties))
                .map_err(|e| fault(&e))?;
        writer.write(&rows::batch(&self.identity, &self.open)?).map_err(|e| fault(&e))?;
        let (out, sha256, _) = writer.into_inner().map_err(|e| fault(&e))?.finish();
        out.into_inner().map_err(|e| fault(&e))?.sync_all().map_err(|e| fault(&e))?;
        self.done.push(RowsFile { path: name, rows: self.open.len() as u64, tokens: self.tokens, sha256 });
        self.open.clear();
        self.tokens = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<RowsFile>> {
        if !self.open.is_empty() {
            self.flush()?;
        }
        Ok(self.done)
    }
}
