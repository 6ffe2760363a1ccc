//! Finds the rows that were added, removed and changed: digests of all rows first, then those that differ again.

use super::change::{Changed, changed};
use super::columns::Columns;
use super::part::Part;
use super::{Rows, config};
use crate::error::{Error, Result};
use crate::hash::{Digest, RowEncoder};
use crate::release::Release;
use crate::report::Progress;
use crate::table::text;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What the first pass keeps of a row.
struct Key {
    id: Box<str>,
    /// Of what both releases have columns for.
    digest: u128,
    /// The instance, where it decides whether a part holds the row.
    instance: Option<Box<str>>,
}

/// What the first pass keeps of a file.
#[derive(Default)]
struct Keys {
    /// Language of its rows.
    language: String,
    rows: Vec<Key>,
    /// Rows whose prompt is not that of its digest, as far as prompts were read.
    forged: u64,
}

/// A row's file, by its place among those that were read, and its place there.
type At = (u32, u32);

/// Two files, by their places in the manifests, and the places of the rows that both have.
type Pairs = ((usize, usize), Vec<(u32, u32)>);

/// Two releases, and what of them is compared.
pub(super) struct Sides<'a> {
    pub a: &'a Release,
    pub b: &'a Release,
    /// What flags left out of each, where they narrowed it.
    pub parts: [Option<Part>; 2],
    pub columns: &'a Columns,
    /// Read what the manifests call equal as well.
    pub full: bool,
    /// So many changed, added and removed rows are named.
    pub keep: usize,
}

impl Sides<'_> {
    /// Compares the rows.
    pub fn rows(&self) -> Result<Rows> {
        let mut rows = Rows::default();
        let skipped = self.skipped()?;
        for path in &skipped {
            let file = &self.a.files()[self.a.place(path).expect("it is in both")];
            rows.a += file.rows;
            rows.b += file.rows;
            rows.same += file.rows;
        }
        rows.skipped_files = skipped.len() as u64;
        let [a, b] = [self.wanted(self.a, 1, &skipped), self.wanted(self.b, 0, &skipped)];
        for (release, wanted, part) in [(self.a, &a, 1), (self.b, &b, 0)] {
            for (file, data) in release.files().iter().enumerate() {
                if !skipped.contains(&data.path) && !wanted.contains(&file) {
                    // The other side is a part that has no such file: its rows need not be read to say so.
                    match part {
                        1 => (rows.a, rows.outside_b) = (rows.a + data.rows, rows.outside_b + data.rows),
                        _ => (rows.b, rows.outside_a) = (rows.b + data.rows, rows.outside_a + data.rows),
                    }
                }
            }
        }
        let total = |release: &Release, files: &[usize]| files.iter().map(|f| release.files()[*f].rows).sum::<u64>();
        let progress = Progress::new("compare", total(self.a, &a) + total(self.b, &b), "rows");
        let jobs: Vec<(&Release, usize)> =
            a.iter().map(|f| (self.a, *f)).chain(b.iter().map(|f| (self.b, *f))).collect();
        let keys: Vec<Keys> = jobs
            .par_iter()
            .with_max_len(1)
            .map(|(release, file)| self.keys(release, *file, &progress))
            .collect::<Result<_>>()?;
        progress.finish();
        let (keys_a, keys_b) = keys.split_at(a.len());
        rows.forged = keys.iter().map(|keys| keys.forged).sum();
        let index_a = index(self.a, &a, keys_a)?;
        let index_b = index(self.b, &b, keys_b)?;
        let mut pairs: BTreeMap<(u32, u32), Vec<(u32, u32)>> = BTreeMap::new();
        for (n, keys) in keys_a.iter().enumerate() {
            rows.a += keys.rows.len() as u64;
            let ranks = self.ranks(1, keys);
            for (row, key) in keys.rows.iter().enumerate() {
                let Some(&(m, other)) = index_b.get(&*key.id) else {
                    let path = &self.a.files()[a[n]].path;
                    match self.is_outside(1, path, key, ranks.get(row).copied()) {
                        true => rows.outside_b += 1,
                        false => rows.removed(config(path), &keys.language, &key.id, self.keep),
                    }
                    continue;
                };
                let (mine, theirs) = (&self.a.files()[a[n]].path, &self.b.files()[b[m as usize]].path);
                rows.moved += u64::from(mine != theirs);
                match key.digest == keys_b[m as usize].rows[other as usize].digest {
                    true => rows.same += 1,
                    false => pairs.entry((n as u32, m)).or_default().push((row as u32, other)),
                }
            }
        }
        for (m, keys) in keys_b.iter().enumerate() {
            rows.b += keys.rows.len() as u64;
            let ranks = self.ranks(0, keys);
            for (row, key) in keys.rows.iter().enumerate().filter(|(_, key)| !index_a.contains_key(&*key.id)) {
                let path = &self.b.files()[b[m]].path;
                match self.is_outside(0, path, key, ranks.get(row).copied()) {
                    true => rows.outside_a += 1,
                    false => rows.added(config(path), &keys.language, &key.id, self.keep),
                }
            }
        }
        rows.read_files = keys.len() as u64;
        let places = |(n, m): (u32, u32)| (a[n as usize], b[m as usize]);
        let pairs: Vec<Pairs> = pairs.into_iter().map(|(files, rows)| (places(files), rows)).collect();
        self.changed(&pairs, &mut rows)?;
        Ok(rows)
    }

    /// Files that the manifests of both call equal, by path. Of another size than the manifest says, they are not.
    fn skipped(&self) -> Result<BTreeSet<String>> {
        let mut skipped = BTreeSet::new();
        if self.full {
            return Ok(skipped);
        }
        let sized = |release: &Release, file: usize| {
            let file = &release.files()[file];
            std::fs::metadata(release.folder.join(&file.path)).is_ok_and(|about| about.len() == file.bytes)
        };
        for (n, file) in self.a.files().iter().enumerate() {
            let Some(other) = self.b.place(&file.path) else { continue };
            let same = self.b.files()[other].sha256 == file.sha256 && self.b.files()[other].rows == file.rows;
            if same && sized(self.a, n) && sized(self.b, other) {
                skipped.insert(file.path.clone());
            }
        }
        Ok(skipped)
    }

    /// Files of a release that must be read; `other` is the place of the other side's part.
    fn wanted(&self, release: &Release, other: usize, skipped: &BTreeSet<String>) -> Vec<usize> {
        let part = self.parts[other].as_ref();
        let paths = release.files().iter().map(|file| &file.path).enumerate();
        let wanted = paths.filter(|(_, path)| !skipped.contains(*path) && !part.is_some_and(|p| p.leaves_file(path)));
        wanted.map(|(file, _)| file).collect()
    }

    /// The first pass over a file.
    fn keys(&self, release: &Release, file: usize, progress: &Progress) -> Result<Keys> {
        let mut keys = Keys::default();
        let mut encoder = RowEncoder::default();
        let instances = self.parts.iter().flatten().any(Part::has_limit);
        release.each(file, &self.columns.read(), &mut |batch, row| {
            if keys.rows.is_empty() {
                keys.language = text(batch, "language", row).to_owned();
            }
            if self.columns.prompts {
                let digest = Digest::of(text(batch, "prompt", row));
                keys.forged += u64::from(Digest::parse(text(batch, "prompt_sha256", row)) != Some(digest));
            }
            keys.rows.push(Key {
                id: text(batch, "id", row).into(),
                digest: self.columns.digest(batch, row, &mut encoder),
                instance: instances.then(|| text(batch, "instance_id", row).into()),
            });
            progress.add(1);
            Ok(())
        })?;
        Ok(keys)
    }

    /// For each row of a file, how many instances stand before its own; empty where no part asks.
    fn ranks(&self, part: usize, keys: &Keys) -> Vec<usize> {
        if !self.parts[part].as_ref().is_some_and(Part::has_limit) {
            return Vec::new();
        }
        let mut seen: FxHashMap<&str, usize> = FxHashMap::default();
        let mut ranks = Vec::with_capacity(keys.rows.len());
        for key in &keys.rows {
            let next = seen.len();
            ranks.push(*seen.entry(key.instance.as_deref().unwrap_or_default()).or_insert(next));
        }
        ranks
    }

    /// Do the flags of the other side leave this row out?
    fn is_outside(&self, part: usize, path: &str, key: &Key, rank: Option<usize>) -> bool {
        let instance = key.instance.as_deref().unwrap_or_default();
        self.parts[part].as_ref().is_some_and(|part| part.leaves(path, instance, rank.unwrap_or(0)))
    }

    /// The second pass: what changed in the rows that both have.
    fn changed(&self, pairs: &[Pairs], rows: &mut Rows) -> Result<()> {
        let progress = Progress::new("changes", pairs.iter().map(|(_, rows)| rows.len() as u64).sum(), "rows");
        let told: Vec<Rows> = pairs
            .par_iter()
            .with_max_len(1)
            .map(|(files, pairs)| self.changed_in(*files, pairs, &progress))
            .collect::<Result<_>>()?;
        progress.finish();
        told.into_iter().for_each(|told| rows.join(told, self.keep));
        Ok(())
    }

    fn changed_in(&self, files: (usize, usize), pairs: &[(u32, u32)], progress: &Progress) -> Result<Rows> {
        let mut rows = Rows::default();
        let columns = self.columns.read();
        let mine = config(&self.a.files()[files.0].path);
        let theirs = config(&self.b.files()[files.1].path);
        // A reader goes forward only: rows that stand in another order are read in several goes.
        for run in pairs.chunk_by(|x, y| x.1 < y.1) {
            let (places_a, places_b): (Vec<u32>, Vec<u32>) = run.iter().copied().unzip();
            let mut from_a = self.a.rows(files.0, &columns, &places_a)?;
            let mut from_b = self.b.rows(files.1, &columns, &places_b)?;
            for _ in run {
                let (a, b) = (from_a.take()?, from_b.take()?);
                let told = changed((&a.0, a.1), (&b.0, b.1), self.columns);
                let told =
                    Changed { file: mine.to_owned(), moved_to: (mine != theirs).then(|| theirs.to_owned()), ..told };
                rows.changed(told, text(&a.0, "language", a.1), self.keep);
                progress.add(1);
            }
        }
        Ok(rows)
    }
}

/// The rows of a side by id.
fn index<'k>(release: &Release, files: &[usize], keys: &'k [Keys]) -> Result<FxHashMap<&'k str, At>> {
    let mut index: FxHashMap<&str, At> = FxHashMap::default();
    index.reserve(keys.iter().map(|keys| keys.rows.len()).sum());
    for (n, keys) in keys.iter().enumerate() {
        for (row, key) in keys.rows.iter().enumerate() {
            if let Some((first, _)) = index.insert(&key.id, (n as u32, row as u32)) {
                let path = |n: usize| &release.files()[files[n]].path;
                return Err(Error::new(format!(
                    "the id {:?} stands twice, in {} and in {}",
                    key.id,
                    path(first as usize),
                    path(n)
                ))
                .at(release.folder.display())
                .help("rows are matched by id: run verify on this release"));
            }
        }
    }
    Ok(index)
}
