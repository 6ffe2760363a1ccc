//! `diff`: what changed between two releases, row by row, where on the path it began, and what that does to scores.
//!
//! Rows are matched by `id`. A first pass reads both releases without their prompts, whose digests stand in the rows, and
//! keeps a digest a row; a second reads the rows alone whose digests differ. Where formats differ, the columns that both
//! have are compared. Rows that the flags of a part left out count neither as added nor as removed.

pub mod change;
mod columns;
pub mod lines;
pub(crate) mod part;
pub mod path;
pub mod row;
mod rows;
pub mod verdict;

use self::change::{Changed, Kind, Moves};
use self::columns::Columns;
use self::part::Part;
use self::path::{Walk, walk};
use self::rows::Sides;
use self::verdict::{Verdict, Versions, verdict};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::release::Release;
use crate::verify::is_inside;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// How two releases are compared.
#[derive(Clone, Debug)]
pub struct Options {
    /// Read every file and every prompt, also where the manifests call them equal.
    pub full: bool,
    /// So many changed, added and removed rows are named; all are counted.
    pub keep: usize,
    /// Threads.
    pub jobs: usize,
}

/// One of the two releases, as the report names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Side {
    /// Its folder.
    pub folder: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its format.
    pub format: u32,
    /// The flags that narrowed it, where it is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Its rows digest, as its manifest says.
    pub rows_digest: Digest,
}

impl Side {
    fn of(release: &Release) -> Side {
        let manifest = &release.manifest;
        Side {
            folder: release.folder.display().to_string(),
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            format: manifest.format,
            part: manifest.filter.as_ref().map(|filter| filter.flags()),
            rows_digest: manifest.rows_digest,
        }
    }
}

/// Rows that differ, of a file or a language.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Another question, gold, prompt or system message.
    pub changed: u64,
    /// Only other columns differ.
    pub metadata: u64,
    /// Only the second release has them.
    pub added: u64,
    /// Only the first has them.
    pub removed: u64,
}

/// What became of the rows.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Rows {
    /// Rows of the first release.
    pub a: u64,
    /// Rows of the second.
    pub b: u64,
    /// The same in both.
    pub same: u64,
    /// In both, with another question, gold, prompt or system message.
    pub changed: u64,
    /// In both, and only other columns differ.
    pub metadata: u64,
    /// Only in the second.
    pub added: u64,
    /// Only in the first.
    pub removed: u64,
    /// Only in the second, and left out of the first by the flags of its part.
    pub outside_a: u64,
    /// Only in the first, and left out of the second by the flags of its part.
    pub outside_b: u64,
    /// In both, in files of other names.
    pub moved: u64,
    /// Of the changed: shown otherwise beside the same question and gold.
    pub shown_otherwise: u64,
    /// Rows whose prompt is not that of their `prompt_sha256`, in both releases, as far as prompts were read.
    pub forged: u64,
    /// Files that were not read: the manifests say that they are equal.
    pub skipped_files: u64,
    /// Files that were read, of both releases.
    pub read_files: u64,
    /// Rows by kind of change; a row may have several.
    pub kinds: BTreeMap<Kind, u64>,
    /// Rows by column that differs.
    pub columns: BTreeMap<String, u64>,
    /// Distractors that came and went, over all rows.
    pub distractors: Moves,
    /// By config: those with a difference.
    pub files: BTreeMap<String, Counts>,
    /// By language: those with a difference.
    pub languages: BTreeMap<String, Counts>,
    /// The first changed rows, those of metadata among them.
    pub changed_rows: Vec<Changed>,
    /// The first added ids.
    pub added_ids: Vec<String>,
    /// The first removed ids.
    pub removed_ids: Vec<String>,
}

impl Rows {
    fn count(&mut self, file: &str, language: &str, add: impl Fn(&mut Counts)) {
        add(self.files.entry(file.to_owned()).or_default());
        add(self.languages.entry(language.to_owned()).or_default());
    }

    fn added(&mut self, file: &str, language: &str, id: &str, keep: usize) {
        self.added += 1;
        self.count(file, language, |counts| counts.added += 1);
        self.added_ids.extend((self.added_ids.len() < keep).then(|| id.to_owned()));
    }

    fn removed(&mut self, file: &str, language: &str, id: &str, keep: usize) {
        self.removed += 1;
        self.count(file, language, |counts| counts.removed += 1);
        self.removed_ids.extend((self.removed_ids.len() < keep).then(|| id.to_owned()));
    }

    fn changed(&mut self, row: Changed, language: &str, keep: usize) {
        match row.is_content() {
            true => {
                self.changed += 1;
                self.count(&row.file, language, |counts| counts.changed += 1);
                let asked_alike = !row.kinds.iter().any(|kind| matches!(kind, Kind::Question | Kind::Answer));
                self.shown_otherwise += u64::from(asked_alike);
            }
            false => {
                self.metadata += 1;
                self.count(&row.file, language, |counts| counts.metadata += 1);
            }
        }
        row.kinds.iter().for_each(|kind| *self.kinds.entry(*kind).or_default() += 1);
        row.columns.iter().for_each(|name| *self.columns.entry(name.clone()).or_default() += 1);
        row.distractors.iter().for_each(|moves| self.distractors.add(*moves));
        self.changed_rows.extend((self.changed_rows.len() < keep).then_some(row));
    }

    /// Adds the changed rows of another file.
    fn join(&mut self, other: Rows, keep: usize) {
        self.changed += other.changed;
        self.metadata += other.metadata;
        self.shown_otherwise += other.shown_otherwise;
        other.kinds.into_iter().for_each(|(kind, n)| *self.kinds.entry(kind).or_default() += n);
        other.columns.into_iter().for_each(|(name, n)| *self.columns.entry(name).or_default() += n);
        self.distractors.add(other.distractors);
        for (mine, theirs) in [(&mut self.files, other.files), (&mut self.languages, other.languages)] {
            for (name, counts) in theirs {
                let all = mine.entry(name).or_default();
                all.changed += counts.changed;
                all.metadata += counts.metadata;
            }
        }
        let room = keep - self.changed_rows.len().min(keep);
        self.changed_rows.extend(other.changed_rows.into_iter().take(room));
    }
}

/// What differs between two releases.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Report {
    /// The first release.
    pub a: Side,
    /// The second.
    pub b: Side,
    /// What the difference does to scores.
    pub verdict: Verdict,
    /// Why, the gravest first.
    pub reasons: Vec<String>,
    /// What the version numbers say beside it.
    pub versions: Versions,
    /// Where on the path it began.
    pub path: Walk,
    /// The rows.
    pub rows: Rows,
    /// Columns, and fields of them, that only the first has.
    pub columns_only_in_a: Vec<String>,
    /// Those that only the second has.
    pub columns_only_in_b: Vec<String>,
}

impl Report {
    /// Are the rows the same, but for metadata?
    pub fn is_well(&self) -> bool {
        self.verdict <= Verdict::Patch
    }
}

/// The config of a data file, by its path.
fn config(path: &str) -> &str {
    path.strip_prefix("data/").and_then(|rest| rest.split('/').next()).unwrap_or(path)
}

/// Opens two releases of one family.
fn open(a: &Path, b: &Path) -> Result<(Release, Release)> {
    for folder in [a, b] {
        if crate::compact::is_compact(folder) {
            return Err(Error::new(format!("{} is a compact release: its rows are not written out", folder.display()))
                .help(format!("write the full one first: nihbuild materialize {}", folder.display())));
        }
    }
    let (a, b) = (Release::open(a)?, Release::open(b)?);
    let families = [&a, &b].map(|release| release.manifest.family.clone());
    if families[0] != families[1] {
        let [x, y] = &families;
        return Err(Error::new(format!(
            "one release is of the {x} family, the other of the {y} family: they have no row in common"
        ))
        .help("give two releases of one recipe"));
    }
    Ok((a, b))
}

/// Compares two releases.
pub fn diff(a: &Path, b: &Path, options: &Options) -> Result<Report> {
    let (a, b) = open(a, b)?;
    let columns = Columns::of(&a, &b, options.full);
    let parts = [Part::of(&a)?, Part::of(&b)?];
    let sides = Sides { a: &a, b: &b, parts, columns: &columns, full: options.full, keep: options.keep };
    let pool = crate::parallel::pool(options.jobs)?;
    let rows = pool.install(|| sides.rows())?;
    // A file of another size than its manifest says was read, and is not what both manifests call equal.
    let as_said = options.full || rows.skipped_files == a.files().len() as u64;
    let bytes = as_said && pool.install(|| equal_bytes(&a, &b, options.full))?;
    let path = walk(&a, &b, rows.changed + rows.metadata + rows.added + rows.removed)?;
    let (verdict, reasons) = verdict(&rows, bytes, (a.manifest.format, b.manifest.format));
    let (x, y) = (Side::of(&a), Side::of(&b));
    let versions = Versions::of(&x, &y, verdict);
    let Columns { only_a, only_b, .. } = columns;
    Ok(Report {
        a: x,
        b: y,
        verdict,
        reasons,
        versions,
        path,
        rows,
        columns_only_in_a: only_a,
        columns_only_in_b: only_b,
    })
}

/// Are the files of both releases equal? What a release says of itself is read; its data files and pins, of which it gives
/// the digests, only where `full` asks for it.
fn equal_bytes(a: &Release, b: &Release, full: bool) -> Result<bool> {
    for name in ["manifest.json", "recipe.toml", "SHA256SUMS"] {
        if std::fs::read(a.folder.join(name)).ok() != std::fs::read(b.folder.join(name)).ok() {
            return Ok(false);
        }
    }
    let sums = a.text("SHA256SUMS")?;
    let named = sums.lines().filter_map(|line| line.split_once("  ")).map(|(_, name)| name);
    let large = |name: &str| name.starts_with("data/") || name.starts_with("pins/");
    let names: Vec<&str> = named.filter(|name| is_inside(name) && (full || !large(name))).collect();
    let same = |name: &&str| -> Result<bool> {
        Ok(Digest::of_file(&a.folder.join(name))?.0 == Digest::of_file(&b.folder.join(name))?.0)
    };
    let all: Vec<bool> = names.par_iter().map(same).collect::<Result<_>>()?;
    Ok(all.into_iter().all(|same| same))
}
