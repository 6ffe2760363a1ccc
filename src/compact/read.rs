//! Reads the parts of a compact release: texts into memory, the rest a page at a time.

use super::part::{FACTS, FRAMES, Paged, Pages, RANKINGS, TEXTS};
use super::render::Desk;
use super::{FileIndex, Index, Layout, rows};
use crate::error::{Error, Result};
use crate::fail;
use crate::table::schema_of;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A compact release whose files are put together on demand.
pub struct Release {
    folder: PathBuf,
    /// Its index.
    pub index: Index,
    schema: SchemaRef,
    /// Texts are shared by files.
    texts: Mutex<BTreeMap<String, Arc<Texts>>>,
    pages: Arc<Pages>,
}

impl Release {
    /// Opens a compact release whose manifest has this format.
    pub fn open(folder: &Path, format: u32) -> Result<Release> {
        let index = Index::read(folder)?;
        Ok(Release {
            folder: folder.to_owned(),
            index,
            schema: schema_of(format).clone(),
            texts: Mutex::default(),
            pages: Arc::default(),
        })
    }

    /// Opens what a data file is put together from.
    pub fn file<'r>(&self, index: &'r FileIndex) -> Result<DataReader<'r>> {
        let paged = |name: &String, schema: &SchemaRef| Paged::open(&self.part(name)?, schema, &self.pages);
        let (facts, frames, texts, ranking) = match &index.layout {
            Layout::Story { facts, frames, texts, ranking } => (facts, frames, std::slice::from_ref(texts), ranking),
            Layout::Numbered { facts, frames, texts, ranking, .. } => (facts, frames, texts.as_slice(), ranking),
            Layout::Running { facts, frames, texts, .. } => (facts, frames, std::slice::from_ref(texts), &None),
        };
        let rows = paged(&index.rows, &rows::schema(&self.schema))?;
        if rows.rows() != index.groups.iter().fold(0, |sum: u64, n| sum.saturating_add(*n)) {
            return Err(Error::new(format!("{} has {} rows, {} has others", index.rows, rows.rows(), super::INDEX)));
        }
        Ok(DataReader {
            index,
            schema: self.schema.clone(),
            facts: paged(facts, &FACTS)?,
            frames: paged(frames, &FRAMES)?,
            texts: texts.iter().map(|name| self.texts(name)).collect::<Result<_>>()?,
            ranking: ranking.as_ref().map(|name| paged(name, &RANKINGS)).transpose()?,
            rows,
        })
    }

    /// The columns of its data files.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The ids of a data file's rows, in order.
    pub fn ids(&self, index: &FileIndex) -> Result<Vec<String>> {
        let rows = Paged::open(&self.part(&index.rows)?, &rows::schema(&self.schema), &self.pages)?;
        let mut ids = Vec::new();
        while (ids.len() as u64) < rows.rows() {
            let (_, page) = rows.page(ids.len() as u64)?;
            ids.extend((0..page.num_rows()).map(|row| crate::table::text(&page, "id", row).to_owned()));
        }
        Ok(ids)
    }

    fn part(&self, name: &str) -> Result<PathBuf> {
        match name.starts_with("compact/") && crate::verify::is_inside(name) {
            true => Ok(self.folder.join(name)),
            false => Err(Error::new(format!("{} names {name:?}, which is no part", super::INDEX))),
        }
    }

    fn texts(&self, name: &str) -> Result<Arc<Texts>> {
        let mut known = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(texts) = known.get(name) {
            return Ok(texts.clone());
        }
        let texts = Arc::new(Texts::read(&Paged::open(&self.part(name)?, &TEXTS, &Arc::default())?)?);
        known.insert(name.to_owned(), texts.clone());
        Ok(texts)
    }
}

/// A data file that is put together on demand.
pub struct DataReader<'r> {
    pub(super) index: &'r FileIndex,
    pub(super) schema: SchemaRef,
    pub(super) facts: Paged,
    pub(super) frames: Paged,
    pub(super) texts: Vec<Arc<Texts>>,
    pub(super) ranking: Option<Paged>,
    pub(super) rows: Paged,
}

impl DataReader<'_> {
    /// The rows of a row group.
    pub(crate) fn group(&self, group: usize, desk: &mut Desk) -> Result<RecordBatch> {
        let first = self.index.groups[..group].iter().sum();
        self.batch(first, self.index.groups[group], desk)
    }

    /// One row.
    pub fn row(&self, row: u64) -> Result<RecordBatch> {
        self.batch(row, 1, &mut Desk::default())
    }

    /// These rows, one after the other.
    pub fn into_rows<'r>(self, rows: impl Iterator<Item = u64> + 'r) -> impl Iterator<Item = Result<RecordBatch>> + 'r
    where
        Self: 'r,
    {
        let mut desk = Desk::default();
        rows.map(move |row| self.batch(row, 1, &mut desk))
    }

    /// The columns that need not be put together, a page at a time; with `rows`, which ascend, of those rows only.
    pub fn into_kept<'r>(self, rows: Option<Vec<u32>>) -> impl Iterator<Item = Result<RecordBatch>> + 'r
    where
        Self: 'r,
    {
        let (mut at, mut place) = (0, 0);
        std::iter::from_fn(move || match &rows {
            None if at >= self.rows.rows() => None,
            None => Some(self.rows.page(at).map(|(start, page)| {
                at = start + page.num_rows() as u64;
                page
            })),
            Some(rows) => rows.get(place).map(|row| {
                place += 1;
                self.rows.slice(u64::from(*row), 1)
            }),
        })
    }
}

/// Texts with their ids, by number.
#[derive(Default)]
pub(super) struct Texts {
    text: String,
    /// Where each begins, and where the last one ends; an empty one may not be there at all.
    starts: Vec<usize>,
    /// The ids likewise: one behind the other, since they are asked for as often as the texts.
    ids: String,
    id_starts: Vec<usize>,
    lines: OnceLock<Vec<Range<usize>>>,
}

impl Texts {
    fn read(part: &Paged) -> Result<Texts> {
        let mut texts = Texts { starts: vec![0], id_starts: vec![0], ..Texts::default() };
        while (texts.starts.len() as u64) <= part.rows() {
            let (_, page) = part.page(texts.starts.len() as u64 - 1)?;
            let (ids, all) = (page.column(0).as_string::<i32>(), page.column(1).as_string::<i32>());
            for row in 0..page.num_rows() {
                texts.ids.push_str(if ids.is_valid(row) { ids.value(row) } else { "" });
                texts.id_starts.push(texts.ids.len());
                texts.text.push_str(if all.is_valid(row) { all.value(row) } else { "" });
                texts.starts.push(texts.text.len());
            }
        }
        Ok(texts)
    }

    /// A text.
    pub fn get(&self, n: usize) -> Result<&str> {
        match (self.starts.get(n), self.starts.get(n + 1)) {
            (Some(start), Some(end)) => Ok(&self.text[*start..*end]),
            _ => fail!("there is no text {n}"),
        }
    }

    /// The id of a text.
    pub fn id(&self, n: usize) -> Result<&str> {
        match (self.id_starts.get(n), self.id_starts.get(n + 1)) {
            (Some(start), Some(end)) if start < end => Ok(&self.ids[*start..*end]),
            _ => fail!("text {n} has no id"),
        }
    }

    /// A line of all distinct ones, sorted.
    pub fn line(&self, n: usize) -> Result<&str> {
        let lines = self.lines.get_or_init(|| {
            let start = self.text.as_ptr() as usize;
            let mut lines: Vec<&str> = self.text.lines().collect();
            lines.sort_unstable();
            lines.dedup();
            let range = |line: &str| line.as_ptr() as usize - start..line.as_ptr() as usize - start + line.len();
            lines.into_iter().map(range).collect()
        });
        lines.get(n).map(|range| &self.text[range.clone()]).ok_or_else(|| Error::new(format!("there is no line {n}")))
    }
}
