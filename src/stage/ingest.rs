//! Reads the recipe's source files.

use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::language::Language;
use crate::plan::Plan;
use crate::recipe::{SourceKind, Split};
use crate::source::archive;
use crate::source::babi::{self, BabiItem};
use crate::source::locate::Locator;
use crate::source::pins::Pin;
use crate::source::released::{self, Differences, ReleasedItem};
use crate::store::sorted_dir;
use crate::story::SourceTask;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// One source file, as the manifest names it.
#[derive(Clone, Debug, Serialize, serde::Deserialize)]
pub struct SourceFile {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its digest.
    pub sha256: Digest,
}

/// What was read.
#[derive(Default)]
pub struct Ingested {
    /// bAbI's questions by task, in the order of splits, files and lines, with the file's name.
    pub babi: BTreeMap<SourceTask, Vec<(String, BabiItem)>>,
    /// The files.
    pub files: Vec<SourceFile>,
    /// Of the released MLRBench files: what differs from what is written here.
    pub differences: Option<Differences>,
}

/// Member names inside the official archive begin with this.
const ARCHIVE: &str = "tasks_1-20_v1-2.tar.gz";

/// No bAbI file is nearly as large.
const MAX_MEMBER: u64 = 64 << 20;

/// Reads the source of a plan; nothing for simulated stories.
pub fn ingest(plan: &Plan) -> Result<Ingested> {
    if plan.recipe.source.kind == SourceKind::Simulate {
        return Ok(Ingested::default());
    }
    if plan.recipe.source.kind == SourceKind::Released {
        return released_files(plan);
    }
    let locator = Locator::new(plan)?;
    let pin = plan.recipe.source.archive.as_deref().map(|id| locator.pins.find(id)).transpose()?;
    let files = match (plan.options.data.as_deref(), pin) {
        (Some(folder), _) => local(plan, folder, pin)?,
        (None, Some(archive)) => from_archive(plan, &locator.fetcher.file(archive)?, pin)?,
        (None, None) => {
            return Err(Error::new("this recipe reads bAbI's files, and pins none").help(
                "give their folder with --data DIR: it holds en/qa1_*.txt, or the archive tasks_1-20_v1-2.tar.gz",
            ));
        }
    };
    let mut ingested = Ingested::default();
    for &split in &plan.recipe.source.splits {
        for &(_, task, wanted) in &plan.counts {
            if wanted == 0 {
                continue;
            }
            let stem =
                |name: &str| name.starts_with(&format!("{task}_")) && name.ends_with(&format!("_{}.txt", split.name()));
            let Some((name, bytes)) = files.iter().find(|(name, _)| stem(name)) else {
                return Err(Error::new(format!("no file {task}_*_{}.txt among the bAbI files", split.name())));
            };
            if let Some(pin) = pin {
                pin.check_member(&format!("en/{name}"), bytes)?;
            }
            let text = std::str::from_utf8(bytes).map_err(|e| {
                let line = bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
                Error::new("not UTF-8").at(format!("{name}, line {line}"))
            })?;
            let items = babi::parse(name, text, task, &plan.english)?;
            let short = format!("{task}_{}", split.name());
            ingested.babi.entry(task).or_default().extend(items.into_iter().map(|item| (short.clone(), item)));
            ingested.files.push(SourceFile {
                name: format!("en/{name}"),
                bytes: bytes.len() as u64,
                sha256: Digest::of(bytes),
            });
        }
    }
    Ok(ingested)
}

/// The English stories of the released MLRBench repository, and what its translations differ in.
fn released_files(plan: &Plan) -> Result<Ingested> {
    let folder = plan.options.data.as_deref().ok_or_else(|| {
        Error::new("this recipe reads the released MLRBench files")
            .help("give a copy of the repository with --data DIR: it holds data/en.csv")
    })?;
    let items = released::read(folder, &plan.english)?;
    let differences = released::differences(folder, &items, &plan.packs)?;
    let mut ingested = Ingested { differences: Some(differences), ..Ingested::default() };
    for path in sorted_dir(&folder.join("data"))? {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let language = name.strip_suffix(".csv").and_then(|code| code.parse::<Language>().ok());
        if language.is_some_and(|language| plan.packs.iter().any(|(l, _)| *l == language)) {
            let (sha256, bytes) = Digest::of_file(&path)?;
            ingested.files.push(SourceFile { name: format!("data/{name}"), bytes, sha256 });
        }
    }
    for item in items {
        let number = item.index.parse().map_err(|_| {
            Error::new(format!("the index {:?} is no number", item.index)).at(format!("data/en.csv, row {}", item.row))
        })?;
        let ReleasedItem { story, label, label_text, .. } = item;
        let item = BabiItem { story, label, label_text, support: Vec::new(), line: number };
        ingested.babi.entry(item.story.task).or_default().push((RELEASED.to_owned(), item));
    }
    Ok(ingested)
}

/// What `source_id` of the released files begins with; the file's own index follows.
const RELEASED: &str = "mlrbench";

/// The files in a folder: loose, or in the archive.
fn local(plan: &Plan, folder: &Path, pin: Option<&Pin>) -> Result<BTreeMap<String, Vec<u8>>> {
    let archive = if folder.is_file() { folder.to_owned() } else { folder.join(ARCHIVE) };
    let english = ["en", "tasks_1-20_v1-2/en", "babi/en", "."].map(|sub| folder.join(sub));
    let english = english.iter().find(|sub| sub.is_dir() && has_babi(sub));
    match english {
        Some(english) => from_folder(plan, english),
        None if archive.is_file() => from_archive(plan, &archive, pin),
        None => Err(Error::new(format!("{} holds neither en/qa1_*.txt nor {ARCHIVE}", folder.display()))
            .help("give the folder of the unpacked bAbI tasks, or of the archive, with --data DIR")),
    }
}

fn has_babi(folder: &Path) -> bool {
    let Ok(paths) = sorted_dir(folder) else { return false };
    paths.iter().any(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("qa1_")))
}

/// Is it a file that the plan reads?
fn wanted(plan: &Plan, name: &str) -> bool {
    let splits: &[Split] = &plan.recipe.source.splits;
    plan.counts.iter().any(|(_, task, _)| name.starts_with(&format!("{task}_")))
        && splits.iter().any(|split| name.ends_with(&format!("_{}.txt", split.name())))
}

fn from_folder(plan: &Plan, folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for path in sorted_dir(folder)? {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if wanted(plan, &name) {
            let about = std::fs::metadata(&path).map_err(|e| Error::io("cannot read", &path, e))?;
            if !about.is_file() || about.len() > MAX_MEMBER {
                return Err(Error::new(format!("{} is no file, or larger than {MAX_MEMBER} bytes", path.display())));
            }
            let bytes = std::fs::read(&path).map_err(|e| Error::io("cannot read", &path, e))?;
            files.insert(name, bytes);
        }
    }
    Ok(files)
}

/// Reads `*/en/qa*.txt` of the archive, as a stream; nothing is unpacked to disk.
fn from_archive(plan: &Plan, path: &Path, pin: Option<&Pin>) -> Result<BTreeMap<String, Vec<u8>>> {
    if let Some(pin) = pin {
        pin.check_file(path)?;
    }
    let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
    let name_of = |member: &str| {
        let mut parts = member.rsplit('/');
        let name = parts.next().filter(|name| wanted(plan, name))?;
        (parts.next() == Some("en")).then(|| name.to_owned())
    };
    let archive = path.display().to_string();
    let mut files = BTreeMap::new();
    for (member, bytes) in archive::tar_gz_members(&archive, file, |member| name_of(member).is_some(), MAX_MEMBER)? {
        let Some(name) = name_of(&member) else { continue };
        if files.insert(name, bytes).is_some() {
            return Err(Error::new(format!("the archive {archive} holds {member} twice, in different folders")));
        }
    }
    Ok(files)
}
