//! Checks for any prompt set: rows of JSON Lines, CSV or Parquet, and a [map](columns) of their columns.
//!
//! Rows are read one at a time and looked at in small groups on all threads; what is kept of each is a digest, a sketch of 256 bytes
//! and its id, whatever the length of its prompt.

pub mod answers;
pub mod columns;
mod examine;
pub mod input;
pub mod lengths;
mod near;
mod row;
mod scripts;
mod spread;

use self::columns::Map;
use self::examine::{Examined, examine};
use self::lengths::{Lengths, Nominal};
use self::near::{Candidate, near};
use self::row::Row;
use self::spread::{Labels, Positions};
use super::{Audit, Check, Finding};
use crate::error::Result;
use crate::hash::Digest;
use crate::report::Progress;
use crate::tokenizer::Tokenizer;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;
use unicode_script::Script;

/// Rows looked at together hold about so many bytes.
const GROUP_BYTES: usize = 8 << 20;
/// And are at most so many.
const GROUP_ROWS: usize = 2048;
/// From this share of a file's rows on, in percent, their script is the file's.
const MOST: usize = 80;

/// Audits a file, or all files below a folder.
pub fn audit(path: &Path, map: &Map, tokenizer: &Tokenizer, nominal: Option<Nominal>) -> Result<Audit> {
    let mut audit = Audit::new(path, "generic");
    let files = input::files(path)?;
    let progress = Progress::new("audit", files.len() as u64, "files");
    let mut texts: FxHashMap<Digest, (u32, u64, Digest)> = FxHashMap::default();
    let mut names: Vec<String> = Vec::new();
    let mut positions: Vec<(String, Positions)> = Vec::new();
    let mut mapped: BTreeMap<String, u64> = BTreeMap::new();
    for file in &files {
        let name = file.strip_prefix(path).ok().filter(|rest| !rest.as_os_str().is_empty());
        let name = name.or(file.file_name().map(Path::new)).unwrap_or(file).to_string_lossy().into_owned();
        names.push(name.clone());
        let mut one = File::new(name, tokenizer, nominal, names.len() as u32 - 1);
        // The columns are known before the first row.
        let resolved = std::cell::OnceCell::new();
        input::read(
            file,
            |there| {
                let columns = map.resolve(&file.display().to_string(), there)?;
                *mapped.entry(columns.words()).or_default() += 1;
                Ok(resolved.get_or_init(|| columns).clone())
            },
            &mut |number, record| {
                let columns = resolved.get().expect("the columns come first");
                one.take(Row::of(number, &record, columns)?, &mut audit, &mut texts, &names);
                Ok(())
            },
        )?;
        positions.push(one.finish(&mut audit, &mut texts, &names));
        progress.add(1);
    }
    progress.finish();
    spread::fixed(&mut audit, &positions);
    for (words, n) in mapped {
        audit.notes.insert(0, format!("columns {words} ({n} files)"));
    }
    audit.sort();
    Ok(audit)
}

/// By digest of a text: the file and row that had it first, and its answers.
type Texts = FxHashMap<Digest, (u32, u64, Digest)>;

struct File<'a> {
    name: String,
    number: u32,
    tokenizer: &'a Tokenizer,
    nominal: Option<Nominal>,
    group: Vec<Row>,
    bytes: usize,
    rows: u64,
    ids: FxHashMap<String, u64>,
    lengths: Lengths,
    measured: bool,
    labels: Labels,
    positions: Positions,
    scripts: Vec<(u64, Option<String>, Script)>,
    /// Rows that stand in another file too, and which.
    copies: Vec<(u32, Finding)>,
    /// Number and id of each sketch's row.
    candidates: Vec<(u64, Option<String>)>,
    sketches: Vec<Candidate>,
}

impl<'a> File<'a> {
    fn new(name: String, tokenizer: &'a Tokenizer, nominal: Option<Nominal>, number: u32) -> File<'a> {
        File {
            name,
            number,
            tokenizer,
            nominal,
            group: Vec::new(),
            bytes: 0,
            rows: 0,
            ids: FxHashMap::default(),
            lengths: Lengths::default(),
            measured: false,
            labels: Labels::default(),
            positions: Positions::default(),
            scripts: Vec::new(),
            copies: Vec::new(),
            candidates: Vec::new(),
            sketches: Vec::new(),
        }
    }

    fn finding(&self, row: u64, id: &Option<String>, check: Check, what: String) -> Finding {
        Finding { file: self.name.clone(), row: Some(row), id: id.clone(), check, group: self.name.clone(), what }
    }

    fn take(&mut self, mut row: Row, audit: &mut Audit, texts: &mut Texts, names: &[String]) {
        if self.nominal.is_some() {
            row.nominal = self.nominal;
        }
        self.bytes += row.prompt.len() + row.context.as_ref().map_or(0, String::len);
        self.group.push(row);
        if self.bytes >= GROUP_BYTES || self.group.len() >= GROUP_ROWS {
            self.look(audit, texts, names);
        }
    }

    /// Looks at the rows read so far, on all threads, and adds them up in their order.
    fn look(&mut self, audit: &mut Audit, texts: &mut Texts, names: &[String]) {
        let group = std::mem::take(&mut self.group);
        self.bytes = 0;
        let tokenizer = self.tokenizer;
        let examined: Vec<Examined> = group.par_iter().map(|row| examine(row, tokenizer)).collect();
        drop(group);
        for row in examined {
            self.add(row, audit, texts, names);
        }
    }

    fn add(&mut self, row: Examined, audit: &mut Audit, texts: &mut Texts, names: &[String]) {
        self.rows += 1;
        for check in &row.looked {
            audit.looked(*check, &self.name, 1);
        }
        for (check, what) in &row.found {
            audit.add(self.finding(row.number, &row.id, *check, what.clone()));
        }
        if let Some(id) = &row.id {
            audit.looked(Check::DuplicateId, &self.name, 1);
            match self.ids.get(id) {
                Some(first) => {
                    let what = format!("row {first} has the same id");
                    audit.add(self.finding(row.number, &row.id, Check::DuplicateId, what));
                }
                None => drop(self.ids.insert(id.clone(), row.number)),
            }
        }
        audit.looked(Check::DuplicateRow, &self.name, 1);
        let copied = texts.get(&row.text).copied();
        match copied {
            Some((file, first, gold)) => {
                let other = if gold == row.gold { "" } else { ", with other answers" };
                let place = if file == self.number { String::new() } else { format!("{}, ", names[file as usize]) };
                let what = format!("the same prompt as {place}row {first}{other}");
                let finding = self.finding(row.number, &row.id, Check::DuplicateRow, what);
                match file == self.number {
                    true => audit.add(finding),
                    false => self.copies.push((file, finding)),
                }
            }
            None => drop(texts.insert(row.text, (self.number, row.number, row.gold))),
        }
        self.lengths.add(row.tokens);
        self.measured |= row.measured;
        if let Some((label, choice)) = row.label {
            self.labels.add(row.task.as_deref().unwrap_or_default(), label, choice, row.question);
        }
        self.positions.add(row.position, row.depth);
        if let Some(script) = row.script {
            self.scripts.push((row.number, row.id.clone(), script));
        }
        // A copy is told of as one.
        if let Some(sketch) = row.sketch.filter(|_| copied.is_none()) {
            self.candidates.push((row.number, row.id));
            self.sketches.push(Candidate { sketch, same: row.same, depth: row.depth, tokens: row.tokens });
        }
    }

    fn finish(mut self, audit: &mut Audit, texts: &mut Texts, names: &[String]) -> (String, Positions) {
        self.look(audit, texts, names);
        audit.files += 1;
        audit.rows += self.rows;
        audit.looked(Check::NearDuplicate, &self.name, self.sketches.len() as u64);
        for (n, found) in near(&self.sketches).into_iter().enumerate() {
            if let Some((first, shared)) = found {
                let (number, id) = &self.candidates[n];
                let what = format!("about {shared}% of its wording is that of row {}", self.candidates[first].0);
                audit.add(self.finding(*number, id, Check::NearDuplicate, what));
            }
        }
        self.copied(audit, names);
        self.foreign(audit);
        self.labels.judge(audit, &self.name);
        audit.notes.push(self.lengths.note(&self.name, self.tokenizer.name(), self.nominal));
        if self.measured {
            let what = "the lengths in its column are none that prompts are made for; name them with --map length=COLUMN to check them";
            audit.notes.push(format!("{}: {what}", self.name));
        }
        (self.name, self.positions)
    }

    /// Rows that stand in another file too; of a file that is another one all over, one finding is enough.
    fn copied(&mut self, audit: &mut Audit, names: &[String]) {
        let copies = std::mem::take(&mut self.copies);
        match copies.first() {
            Some((other, _)) if copies.len() as u64 == self.rows && copies.iter().all(|(file, _)| file == other) => {
                audit.add(Finding {
                    file: self.name.clone(),
                    row: None,
                    id: None,
                    check: Check::DuplicateRow,
                    group: self.name.clone(),
                    what: format!("all {} prompts stand in {} too", self.rows, names[*other as usize]),
                });
            }
            _ => copies.into_iter().for_each(|(_, finding)| audit.add(finding)),
        }
    }

    /// Rows in another script than nearly all others.
    fn foreign(&self, audit: &mut Audit) {
        let mut counts: BTreeMap<&str, (Script, usize)> = BTreeMap::new();
        for (_, _, script) in &self.scripts {
            counts.entry(script.short_name()).or_insert((*script, 0)).1 += 1;
        }
        let Some((most, n)) = counts.into_values().max_by_key(|(_, n)| *n) else { return };
        audit.looked(Check::ScriptMix, &self.name, self.scripts.len() as u64);
        if n * 100 < MOST * self.scripts.len() {
            return;
        }
        for (number, id, script) in self.scripts.iter().filter(|(_, _, script)| *script != most) {
            let what = format!("most letters are {}, in most rows {}", script.full_name(), most.full_name());
            audit.add(self.finding(*number, id, Check::ScriptMix, what));
        }
    }
}
