//! A collection's files of lines as rows: of one language, or of several side by side.

use super::PARTS;
use super::part::{Parts, WHOLE};
use super::stream::{Notes, begin, integers};
use crate::error::{Error, Result};
use crate::source::clean::clean;
use crate::source::collection::{MAX_LINE, NO_TEXT, REPEATED, count, split};
use crate::work::share::Share;
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{DataType, Field};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a batch.
const ROWS: usize = 1 << 12;

/// A file of lines `number<TAB>passage`, ascending by number.
struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    share: Share,
    line: Vec<u8>,
    lines: u64,
    last: Option<u32>,
    /// Lines that were refused: by reason, how many and the first.
    dropped: BTreeMap<String, (u64, String)>,
}

impl Lines {
    fn open(path: &Path, share: Share) -> Result<Lines> {
        let file = File::open(path).map_err(|e| Error::io("cannot open", path, e))?;
        Ok(Lines {
            path: path.to_owned(),
            reader: BufReader::with_capacity(1 << 20, file),
            share,
            line: Vec::new(),
            lines: 0,
            last: None,
            dropped: BTreeMap::new(),
        })
    }

    /// The next passage of the share, by the rules of a collection. A passage belongs to the share that the remainder of its number
    /// names, so that all languages are split alike.
    fn next(&mut self) -> Result<Option<(u32, String)>> {
        loop {
            self.line.clear();
            let most = MAX_LINE as u64 + 1;
            let fault = |e: std::io::Error| Error::io("cannot read", &self.path, e);
            if self.reader.by_ref().take(most).read_until(b'\n', &mut self.line).map_err(fault)? == 0 {
                return Ok(None);
            }
            self.lines += 1;
            let ended = self.line.pop_if(|byte| *byte == b'\n').is_some();
            if !ended && self.line.len() > MAX_LINE {
                self.reader.skip_until(b'\n').map_err(fault)?;
            }
            let (number, passage) = match split(&self.line, self.lines == 1) {
                Ok(sound) => sound,
                Err(reason) => {
                    self.drop(reason);
                    continue;
                }
            };
            if let Some(last) = self.last.filter(|last| number <= *last) {
                if number == last {
                    self.drop(REPEATED);
                    continue;
                }
                return Err(Error::new(format!(
                    "passage {number} stands behind passage {last}: the lines must ascend"
                ))
                .at(format!("line {} of {}", self.lines, self.path.display()))
                .help("sort the file by number, or let an engine make the rows"));
            }
            let Ok(passage) = std::str::from_utf8(passage) else {
                self.drop(NO_TEXT);
                continue;
            };
            self.last = Some(number);
            if number % self.share.of == self.share.part - 1 {
                return Ok(Some((number, clean(passage))));
            }
        }
    }

    fn drop(&mut self, reason: &str) {
        let line = self.lines;
        count(&mut self.dropped, reason, || format!("line {line}"));
    }
}

/// Lines that were refused: by file and reason, how many and the first.
pub type Dropped = Vec<(PathBuf, String, u64, String)>;

/// Writes the share of files as rows: `number`, and a column of text for each file; of the passages that all of them hold. Without a share
/// all of them, and nothing is noted: whether the files are all of a collection is not known.
///
/// # Errors
///
/// A file whose lines do not ascend.
pub fn write(files: &[(String, PathBuf)], share: Option<Share>, out: &mut dyn Write) -> Result<Dropped> {
    let own = share.unwrap_or(WHOLE);
    let mut all = files.iter().map(|(_, path)| Lines::open(path, own)).collect::<Result<Vec<_>>>()?;
    let mut fields = vec![Field::new("number", DataType::Int64, false)];
    fields.extend(files.iter().map(|(column, _)| Field::new(column, DataType::Utf8, false)));
    let parts = share.map(|share| (PARTS, Parts::of(share).to_string()));
    let mut sink = begin(out, fields, Notes::new(parts))?;
    let (mut numbers, mut texts): (Vec<u32>, Vec<Vec<String>>) = (Vec::new(), vec![Vec::new(); files.len()]);
    let mut flush = |numbers: &mut Vec<u32>, texts: &mut [Vec<String>]| -> Result<()> {
        if numbers.is_empty() {
            return Ok(());
        }
        let mut columns: Vec<ArrayRef> = vec![integers(std::mem::take(numbers))];
        columns
            .extend(texts.iter_mut().map(|column| -> ArrayRef { Arc::new(StringArray::from(std::mem::take(column))) }));
        sink.write(columns)
    };
    while let Some((number, row)) = together(&mut all)? {
        numbers.push(number);
        texts.iter_mut().zip(row).for_each(|(column, text)| column.push(text));
        if numbers.len() == ROWS {
            flush(&mut numbers, &mut texts)?;
        }
    }
    flush(&mut numbers, &mut texts)?;
    sink.finish()?;
    let dropped = all.into_iter().flat_map(|lines| {
        let path = lines.path;
        lines.dropped.into_iter().map(move |(reason, (n, first))| (path.clone(), reason, n, first))
    });
    Ok(dropped.collect())
}

/// The next number that all files hold, with its texts.
fn together(all: &mut [Lines]) -> Result<Option<(u32, Vec<String>)>> {
    let mut heads = Vec::with_capacity(all.len());
    for lines in &mut *all {
        let Some(head) = lines.next()? else { return Ok(None) };
        heads.push(head);
    }
    loop {
        let Some(most) = heads.iter().map(|(number, _)| *number).max() else { return Ok(None) };
        let mut same = true;
        for (lines, head) in all.iter_mut().zip(&mut heads) {
            while head.0 < most {
                let Some(next) = lines.next()? else { return Ok(None) };
                *head = next;
            }
            same &= head.0 == most;
        }
        if same {
            return Ok(Some((most, heads.into_iter().map(|(_, text)| text).collect())));
        }
    }
}
