//! A sheet for readers of the language: a seeded sample of translations, and what they say of it.

use crate::error::{Error, Result};
use crate::seed::Seed;
use crate::store::write_aside;
use std::collections::BTreeMap;
use std::path::Path;

/// Of how many translations one is read: 5%.
pub const ONE_OF: usize = 20;

const HEAD: [&str; 7] = ["id", "source", "target", "back_translation", "similarity", "comment", "verdict"];
const SOURCE: usize = 1;
const TARGET: usize = 2;
const COMMENT: usize = 5;
const VERDICT: usize = 6;

/// A translation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// No other item has it.
    pub id: String,
    /// The text.
    pub source: String,
    /// Its translation.
    pub target: String,
    /// The translation translated back; may be empty.
    pub back_translation: String,
    /// Of the source and the text translated back, in thousandths.
    pub similarity: Option<u32>,
}

/// What a reader says of a translation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// `ok`
    Ok,
    /// `wrong`
    Wrong,
    /// `unsure`
    Unsure,
}

impl Verdict {
    /// Reads a verdict, whatever its case.
    pub fn parse(text: &str) -> Option<Verdict> {
        match text.trim().to_lowercase().as_str() {
            "ok" => Some(Verdict::Ok),
            "wrong" => Some(Verdict::Wrong),
            "unsure" => Some(Verdict::Unsure),
            _ => None,
        }
    }
}

/// A translation that a reader calls wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// Its id.
    pub id: String,
    /// What the reader says of it; may be empty.
    pub comment: String,
}

/// A sheet that was read back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Review {
    /// Translations in the sample.
    pub sampled: usize,
    /// How many are good.
    pub ok: usize,
    /// The wrong ones, in the sheet's order.
    pub wrong: Vec<Wrong>,
    /// Ids that the reader was not sure of.
    pub unsure: Vec<String>,
    /// Ids of the sample without a verdict, or without a row.
    pub missing: Vec<String>,
    /// Ids in the sheet that are not in the sample.
    pub unknown: Vec<String>,
    /// Ids that are in the sheet more than once; only the first row counts.
    pub repeated: Vec<String>,
    /// Ids whose source or translation is not what was sampled; their verdicts do not count.
    pub changed: Vec<String>,
    /// Ids with a verdict that is none, and what stands there.
    pub strange: Vec<(String, String)>,
}

impl Review {
    /// Was every translation of the sample judged, as it was sampled, and nothing else?
    pub fn is_complete(&self) -> bool {
        let Review { missing, unknown, repeated, changed, strange, .. } = self;
        missing.is_empty() && unknown.is_empty() && repeated.is_empty() && changed.is_empty() && strange.is_empty()
    }
}

/// The items of the sample, in their order: 5%, rounded up, by seed and id. `language` keeps languages apart.
pub fn sample<'a>(items: &'a [Item], seed: &Seed, language: &str) -> Vec<&'a Item> {
    let key = |item: &Item| seed.derive("review", &format!("{language}/{}", item.id)).bits();
    let mut order: Vec<(u64, usize)> = items.iter().enumerate().map(|(n, item)| (key(item), n)).collect();
    order.sort_unstable();
    let mut chosen: Vec<usize> = order.iter().take(items.len().div_ceil(ONE_OF)).map(|(_, n)| *n).collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|n| &items[n]).collect()
}

/// Writes the sheet of a sample: CSV in UTF-8 with the mark that spreadsheets know it by. Gives the number of rows.
pub fn write(path: &Path, items: &[Item], seed: &Seed, language: &str) -> Result<usize> {
    let sampled = sample(items, seed, language);
    let fault = |e: csv::Error| Error::io("cannot encode", path, e);
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(HEAD).map_err(fault)?;
    for item in &sampled {
        let similarity = item.similarity.map_or(String::new(), |n| format!("{}.{:03}", n / 1000, n % 1000));
        let row = [&item.id, &item.source, &item.target, &item.back_translation, &similarity, "", ""];
        writer.write_record(row).map_err(fault)?;
    }
    let bytes = writer.into_inner().map_err(|e| Error::io("cannot encode", path, e.error()))?;
    write_aside(path, |out| {
        out.write_all("\u{feff}".as_bytes())?;
        out.write_all(&bytes)
    })?;
    Ok(sampled.len())
}

/// White space as a spreadsheet may leave it.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a sheet back. The items are those that it was written of. Spreadsheets may have put other separators; columns may
/// have been moved or added.
pub fn read(path: &Path, items: &[Item], seed: &Seed, language: &str) -> Result<Review> {
    let bytes = std::fs::read(path).map_err(|e| Error::io("cannot read", path, e))?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|e| Error::io("cannot read", path, e).help("the sheet is not in UTF-8: save it as CSV in UTF-8"))?;
    let text = text.trim_start_matches('\u{feff}');
    let head = text.lines().next().unwrap_or_default();
    let separator =
        [b',', b';', b'\t'].into_iter().max_by_key(|s| (head.bytes().filter(|b| b == s).count(), *s == b','));
    let mut reader =
        csv::ReaderBuilder::new().delimiter(separator.unwrap_or(b',')).flexible(true).from_reader(text.as_bytes());
    let fault = |e: csv::Error| Error::io("cannot read", path, e);
    let columns = columns(reader.headers().map_err(fault)?).map_err(|e| e.at(path.display()))?;
    let sampled: BTreeMap<&str, &Item> =
        sample(items, seed, language).into_iter().map(|i| (i.id.as_str(), i)).collect();
    let mut review = Review { sampled: sampled.len(), ..Review::default() };
    let mut seen: BTreeMap<String, bool> = BTreeMap::new();
    for row in reader.records() {
        let row = row.map_err(fault)?;
        let cell = |column: usize| row.get(columns[column]).unwrap_or_default().trim();
        let id = cell(0);
        // Spreadsheets leave empty rows.
        if row.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        let Some(item) = sampled.get(id) else {
            review.unknown.push(id.to_owned());
            continue;
        };
        if seen.contains_key(id) {
            review.repeated.push(id.to_owned());
            continue;
        }
        let verdict = cell(VERDICT);
        seen.insert(id.to_owned(), !verdict.is_empty());
        if plain(cell(SOURCE)) != plain(&item.source) || plain(cell(TARGET)) != plain(&item.target) {
            review.changed.push(id.to_owned());
            continue;
        }
        let id = id.to_owned();
        match Verdict::parse(verdict) {
            Some(Verdict::Ok) => review.ok += 1,
            Some(Verdict::Wrong) => review.wrong.push(Wrong { id, comment: cell(COMMENT).to_owned() }),
            Some(Verdict::Unsure) => review.unsure.push(id),
            None if verdict.is_empty() => {}
            None => review.strange.push((id, verdict.to_owned())),
        }
    }
    let judged = |id: &&&str| seen.get(**id).copied().unwrap_or(false);
    review.missing = sampled.keys().filter(|id| !judged(id)).map(|id| (*id).to_owned()).collect();
    Ok(review)
}

/// Where each of the sheet's columns stands.
fn columns(found: &csv::StringRecord) -> Result<Vec<usize>> {
    let place = |name: &&str| found.iter().position(|cell| cell.trim().eq_ignore_ascii_case(name));
    let places: Vec<Option<usize>> = HEAD.iter().map(place).collect();
    let absent: Vec<&str> = HEAD.iter().zip(&places).filter(|(_, at)| at.is_none()).map(|(name, _)| *name).collect();
    if absent.is_empty() {
        return Ok(places.into_iter().flatten().collect());
    }
    Err(Error::new(format!("the sheet lacks the columns {}", absent.join(", ")))
        .help(format!("the first row must name {}", HEAD.join(", "))))
}
