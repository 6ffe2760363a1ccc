//! Prompt rows in any order become a release.

use super::PlanFile;
use super::folder::CompactParts;
use super::index::Index;
use super::part::PartReader;
use crate::compact::{PartFile, Parts};
use crate::error::{Error, Result};
use crate::pipeline::{Ending, Outcome, lock_file, there};
use crate::plan::{Options, Plan};
use crate::remote::Place;
use crate::report::Stopwatch;
use crate::store::{Lock, scratch, write_aside};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What to seal.
#[derive(Clone, Debug)]
pub struct Sealing {
    /// The plan.
    pub plan: Place,
    /// Files of prompt rows, or folders of them.
    pub rows: Vec<Place>,
    /// Folder for parts that are fetched.
    pub cache: PathBuf,
    /// Folder of releases.
    pub out: PathBuf,
    /// Threads.
    pub jobs: usize,
}

/// Makes the release of a plan from prompt rows.
///
/// # Errors
///
/// Rows that are missing, double, of another plan, or not what their worker proved; whatever [`crate::pipeline::build`] says of
/// the folder of the release.
pub fn seal(sealing: &Sealing) -> Result<(Plan, Outcome)> {
    let mut watch = Stopwatch::start();
    let file = PlanFile::read(&sealing.plan)?;
    let parts = PartReader::new(&sealing.plan, &sealing.cache);
    let scratch = scratch()?;
    let options = Options { jobs: sealing.jobs, out: sealing.out.clone(), ..Options::default() };
    let plan = file.resolve(&parts, scratch.path(), options)?;
    let folder = plan.folder();
    let _lock = Lock::take(&lock_file(&folder))?;
    if folder.exists() {
        let outcome = there(&plan, &file.identity, folder, watch)?;
        return Ok((plan, outcome));
    }
    let shapes = file.shapes(&plan)?;
    // Rows that cannot be looked up at random are copied beside the release, where there is room for it.
    let beside = crate::pipeline::beside(&folder, "rows");
    let index = Index::of(&file, &parts, &sealing.rows, &beside)?;
    watch.lap("index");
    let ending = ending(&file, &parts)?;
    let texts = |made: &mut Parts| texts(&plan, file.compact.as_ref(), &parts, made);
    let outcome = ending.seal(&plan, &index, &shapes, texts, folder, watch)?;
    index.remove()?;
    Ok((plan, outcome))
}

fn ending(file: &PlanFile, parts: &PartReader) -> Result<Ending> {
    let pins = file.pins.iter().map(|pin| Ok((pin.clone(), parts.file(&pin.sha256)?)));
    let ids: BTreeMap<String, _> = file.files.iter().map(|file| (file.config.clone(), file.ids)).collect();
    Ok(Ending { manifest: file.manifest.clone(), pins: pins.collect::<Result<_>>()?, ids: Some(ids) })
}

/// Puts the texts of a compact release in their places.
fn texts(
    plan: &Plan,
    compact: Option<&CompactParts>,
    parts: &PartReader,
    made: &mut Parts,
) -> Result<Vec<crate::compact::Layout>> {
    let compact = compact.ok_or_else(|| {
        Error::new(format!("the plan of {} has no texts of a compact release", plan.recipe.release.name))
    })?;
    for (path, digest) in &compact.parts {
        let bytes = parts.get(digest)?;
        write_aside(&made.folder().join(path), |out| out.write_all(&bytes))?;
        made.enter(PartFile { path: path.clone(), sha256: *digest });
    }
    Ok(compact.layouts.clone())
}
