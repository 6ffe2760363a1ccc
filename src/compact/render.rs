//! Puts the rows of a data file together again.

use super::read::DataReader;
use super::{Layout, rows};
use crate::error::{Error, Result};
use crate::fail;
use crate::table::{self, text};
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::fmt::Write as _;
use std::sync::Arc;

/// What a thread keeps between groups.
#[derive(Default)]
pub(crate) struct Desk {
    /// Of which file the pages are.
    path: String,
    facts: Option<(u64, RecordBatch)>,
    frames: Option<(u64, RecordBatch)>,
    ranking: Option<(u64, RecordBatch)>,
    /// Memory for the prompts of a group.
    prompts: Option<Prompts>,
}

/// Prompts that are put together. Pieces are text, so that the whole is not looked through again: that would take as long as
/// copying does three times over.
struct Prompts {
    builder: StringBuilder,
    capacity: usize,
}

impl Prompts {
    fn new(rows: usize, bytes: usize) -> Prompts {
        // A little more, so that the next group, which is about as large, finds room.
        let capacity = bytes.next_multiple_of(4 << 20);
        Prompts { builder: StringBuilder::with_capacity(rows, capacity), capacity }
    }

    fn len(&self) -> usize {
        self.builder.values_slice().len()
    }

    fn push(&mut self, piece: &str) {
        self.builder.write_str(piece).expect("memory takes all");
    }

    fn end_row(&mut self) {
        self.builder.append_value("");
    }

    /// The memory of finished prompts, if nothing else holds it.
    fn again(prompts: StringArray) -> Option<Prompts> {
        let values = prompts.into_parts().1;
        let capacity = values.capacity();
        let emptied = values.slice_with_length(0, 0);
        drop(values);
        let empty = StringArray::try_new(OffsetBuffer::from_lengths([]), emptied, None).ok()?;
        Some(Prompts { builder: empty.into_builder().ok()?, capacity })
    }
}

impl Desk {
    /// Takes the memory of a batch back.
    pub fn reclaim(&mut self, batch: RecordBatch) {
        let prompts = table::column(&batch, "prompt").as_string::<i32>().clone();
        drop(batch);
        self.prompts = Prompts::again(prompts);
    }

    fn open(&mut self, path: &str) {
        if self.path != path {
            *self = Desk { path: path.to_owned(), prompts: self.prompts.take(), ..Desk::default() };
        }
    }
}

/// The page that holds a row, and the row's place in it.
fn page<'d>(
    kept: &'d mut Option<(u64, RecordBatch)>,
    part: &super::part::Paged,
    row: u64,
) -> Result<(&'d RecordBatch, usize)> {
    let holds = |(first, batch): &(u64, RecordBatch)| (*first..first + batch.num_rows() as u64).contains(&row);
    if !kept.as_ref().is_some_and(holds) {
        *kept = Some(part.page(row)?);
    }
    let (first, batch) = kept.as_ref().expect("just read");
    Ok((batch, (row - first) as usize))
}

/// The recipe of a row.
struct Asked<'b> {
    batch: &'b RecordBatch,
    row: usize,
}

impl<'b> Asked<'b> {
    fn maybe(&self, name: &str) -> Result<Option<u64>> {
        let column = table::column(self.batch, name).as_primitive::<Int64Type>();
        match column.is_valid(self.row).then(|| column.value(self.row)) {
            None => Ok(None),
            Some(n) => u64::try_from(n).map(Some).map_err(|_| Error::new(format!("{name} is {n}"))),
        }
    }

    fn number(&self, name: &str) -> Result<u64> {
        self.maybe(name)?.ok_or_else(|| Error::new(format!("{name} is missing")))
    }

    fn lines(&self) -> Option<Vec<i32>> {
        let lists = table::column(self.batch, "prompt_lines").as_list::<i32>();
        lists.is_valid(self.row).then(|| lists.value(self.row).as_primitive::<Int32Type>().values().to_vec())
    }
}

/// The values of a list, by reference.
fn texts_of(list: &ArrayRef) -> Vec<&str> {
    list.as_string::<i32>().iter().map(Option::unwrap_or_default).collect()
}

/// The numbers of a list, by reference.
fn numbers_of(page: &RecordBatch, name: &str, row: usize) -> Option<ScalarBuffer<i32>> {
    let lists = table::column(page, name).as_list::<i32>();
    lists.is_valid(row).then(|| lists.value(row).as_primitive::<Int32Type>().values().clone())
}

/// Ids of distractors, row by row.
type Ids = ListBuilder<StringBuilder>;

impl DataReader<'_> {
    /// Rows of the file, which must lie in one page.
    pub(super) fn batch(&self, first: u64, n: u64, desk: &mut Desk) -> Result<RecordBatch> {
        desk.open(&self.index.path);
        let kept = self.rows.slice(first, n)?;
        let asked = |row| Asked { batch: &kept, row };
        let sizes = (0..kept.num_rows()).map(|row| asked(row).number("prompt_bytes")).collect::<Result<Vec<_>>>()?;
        let all = sizes.iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
        if all > i32::MAX as u64 {
            fail!("{}: a group of {all} bytes is too large", self.index.rows);
        }
        let kept_memory = desk.prompts.take().filter(|kept| kept.capacity >= all as usize);
        let mut prompts = kept_memory.unwrap_or_else(|| Prompts::new(sizes.len(), all as usize));
        let DataType::List(item) = self.field("distractor_ids")? else { fail!("distractor_ids is no list") };
        let mut ids = Ids::new(StringBuilder::new()).with_field(item);
        for (row, size) in sizes.iter().enumerate() {
            let start = prompts.len();
            let end = start + *size as usize;
            let made = self.row_of(asked(row), desk, &mut prompts, &mut ids);
            prompts.end_row();
            made.and_then(|()| match prompts.len() == end {
                true => Ok(()),
                false => Err(Error::new(format!("its prompt has {} bytes, expected {size}", prompts.len() - start))),
            })
            .map_err(|e| e.at(format!("row {}", text(&kept, "id", row))).at(&self.index.path))?;
        }
        self.put_together(&kept, Arc::new(prompts.builder.finish()), Arc::new(ids.finish()))
    }

    fn field(&self, name: &str) -> Result<DataType> {
        let field = self.schema.field_with_name(name);
        field.map(|field| field.data_type().clone()).map_err(|e| Error::new(e.to_string()))
    }

    fn put_together(&self, kept: &RecordBatch, prompts: ArrayRef, ids: ArrayRef) -> Result<RecordBatch> {
        let columns = self.schema.fields().iter().map(|field| match field.name().as_str() {
            "prompt" => prompts.clone(),
            "distractor_ids" => ids.clone(),
            "messages" if self.index.messages => {
                let systems = table::column(kept, "system").as_string::<i32>().iter();
                table::messages(systems, &prompts)
            }
            "messages" => new_null_array(field.data_type(), kept.num_rows()),
            name => table::column(kept, name).clone(),
        });
        debug_assert_eq!(rows::MADE.len(), 3);
        RecordBatch::try_new(self.schema.clone(), columns.collect())
            .map_err(|e| Error::new(format!("cannot build a batch: {e}")).at(&self.index.path))
    }

    fn row_of(&self, asked: Asked<'_>, desk: &mut Desk, out: &mut Prompts, ids: &mut Ids) -> Result<()> {
        let instance = asked.number("prompt_instance")?;
        let (page_of, place) = page(&mut desk.facts, &self.facts, instance)?;
        let facts = page_of.column(0).as_list::<i32>().value(place);
        let facts = texts_of(&facts);
        let (page_of, place) = page(&mut desk.frames, &self.frames, instance)?;
        let frame = |name: &str| {
            let column = table::column(page_of, name).as_string::<i32>();
            column.is_valid(place).then(|| column.value(place))
        };
        let missing = || Error::new(format!("instance {instance} has no such prompt"));
        let (head, tail) = (frame("head").ok_or_else(missing)?, frame("tail").ok_or_else(missing)?);
        let taken = asked.number("prompt_passages")? as usize;
        match &self.index.layout {
            Layout::Story { .. } => match asked.lines() {
                Some(lines) => {
                    out.push(frame("cut_head").unwrap_or(head));
                    self.lines(&lines, &facts, out)?;
                }
                None => {
                    out.push(head);
                    let start = out.len() - head.len();
                    let ranking = self.ranked(&mut desk.ranking, instance, taken > 0)?;
                    self.story(&asked, &facts, ranking, taken, start, out, ids)?;
                }
            },
            Layout::Numbered { close, .. } => {
                out.push(head);
                let ranked = taken > 0 || asked.maybe("prompt_instead")?.is_some();
                let ranking = self.ranked(&mut desk.ranking, instance, ranked)?;
                self.numbered(&asked, &facts, ranking, taken, out, ids)?;
                out.push(close);
            }
            Layout::Running { gap, gap_at_start, .. } => {
                let (at, end) = (asked.number("prompt_at")? as usize, asked.number("prompt_end")? as usize);
                let whole = self.texts[0].get(0)?;
                let (Some(before), Some(behind)) = (whole.get(..at), whole.get(at..end)) else {
                    fail!("the text has no places {at} and {end}");
                };
                let needle = facts.first().ok_or_else(|| Error::new("there is no needle"))?;
                let order = match at {
                    0 => [head, needle, gap_at_start, behind, tail],
                    _ => [head, before, gap, needle, behind],
                };
                order.iter().for_each(|part| out.push(part));
                if at == 0 {
                    ids.append(true);
                    return Ok(());
                }
            }
        }
        out.push(tail);
        ids.append(true);
        Ok(())
    }

    /// The ranked passages of an instance, if a row has any.
    fn ranked<'d>(
        &self,
        kept: &'d mut Option<(u64, RecordBatch)>,
        instance: u64,
        wanted: bool,
    ) -> Result<Option<(&'d RecordBatch, usize)>> {
        match (&self.ranking, wanted) {
            (_, false) => Ok(None),
            (Some(part), true) => page(kept, part, instance).map(Some),
            (None, true) => fail!("there is no ranking"),
        }
    }

    /// The kept lines of a cut row.
    fn lines(&self, lines: &[i32], facts: &[&str], out: &mut Prompts) -> Result<()> {
        for &line in lines {
            match usize::try_from(line) {
                Ok(n) => {
                    out.push(self.texts[0].line(n)?);
                    out.push("\n");
                }
                Err(_) => {
                    let fact = facts.get((-1 - i64::from(line)) as usize).copied();
                    out.push(fact.ok_or_else(|| Error::new(format!("there is no fact {line}")))?);
                }
            }
        }
        Ok(())
    }

    /// Facts where their spans say, passages around them.
    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    fn story(
        &self,
        asked: &Asked<'_>,
        facts: &[&str],
        ranking: Option<(&RecordBatch, usize)>,
        taken: usize,
        start: usize,
        out: &mut Prompts,
        ids: &mut Ids,
    ) -> Result<()> {
        let spans = table::column(asked.batch, "needle_spans").as_list::<i32>().value(asked.row);
        let starts = spans.as_struct().column_by_name("start").expect("the schema was checked");
        let starts = starts.as_primitive::<Int64Type>().values();
        if starts.len() != facts.len() {
            fail!("it has {} needle spans, but {} facts", starts.len(), facts.len());
        }
        let mut next = 0;
        let mut told = |out: &mut Prompts| {
            while next < facts.len() && starts[next] == (out.len() - start) as i64 {
                out.push(facts[next]);
                next += 1;
            }
            next
        };
        let mut left = taken;
        if let Some((page, row)) = ranking {
            let (Some(passages), Some(ranks)) = (numbers_of(page, "passages", row), numbers_of(page, "ranks", row))
            else {
                fail!("its ranking is missing");
            };
            for (passage, rank) in passages.iter().zip(ranks.iter()).filter(|(_, rank)| (**rank as usize) < taken) {
                told(out);
                let passage = *passage as usize;
                out.push(self.texts[0].get(passage)?);
                ids.values().append_value(self.texts[0].id(passage)?);
                debug_assert!(*rank >= 0);
                left = left.wrapping_sub(1);
            }
        }
        if left != 0 {
            fail!("its ranking has no {taken} passages");
        }
        if told(out) != facts.len() {
            fail!("a fact does not stand where it is recorded");
        }
        Ok(())
    }

    /// Numbered passages, one of them the needle.
    fn numbered(
        &self,
        asked: &Asked<'_>,
        facts: &[&str],
        ranking: Option<(&RecordBatch, usize)>,
        taken: usize,
        out: &mut Prompts,
        ids: &mut Ids,
    ) -> Result<()> {
        let Layout::Numbered { suffixes, own, needle, first, label, end, .. } = &self.index.layout else {
            fail!("its passages have no numbers");
        };
        let (at, cut) = (asked.number("prompt_at")? as usize, asked.maybe("prompt_cut")?.map(|n| n as usize));
        let instead = asked.maybe("prompt_instead")?.map(|n| n as usize);
        let (mut passages, mut languages) = (ScalarBuffer::from(Vec::new()), None);
        if let Some((page, row)) = ranking {
            passages = numbers_of(page, "passages", row).unwrap_or_default();
            languages = numbers_of(page, "languages", row);
        }
        // Language and number of the passage of a rank.
        let item = |rank: usize| -> Result<(usize, usize)> {
            let language = own.or_else(|| languages.as_ref()?.get(rank).map(|n| *n as usize));
            match (language, passages.get(rank)) {
                (Some(language), Some(passage)) if language < self.texts.len() => Ok((language, *passage as usize)),
                _ => fail!("its ranking has no rank {rank}"),
            }
        };
        let mut ranks = (0..).filter(|rank| Some(*rank) != instead);
        if at > taken {
            fail!("the needle stands behind {at} of {taken} passages");
        }
        for n in 0..=taken {
            out.push(&label.0);
            out.push(&(first.saturating_add(n as u64)).to_string());
            out.push(&label.1);
            let (language, passage, kept) = match (n == at, instead) {
                (true, None) => {
                    let needle = facts.first().ok_or_else(|| Error::new("there is no needle"))?;
                    out.push(needle);
                    out.push(end);
                    continue;
                }
                (true, Some(rank)) => (*needle, item(rank)?.1, None),
                (false, _) => {
                    let (language, passage) = item(ranks.next().expect("ranks go on"))?;
                    // The last distractor, whether or not the needle follows it.
                    let is_last = n + usize::from(at > n) == taken;
                    (language, passage, cut.filter(|_| is_last))
                }
            };
            let texts = self.texts.get(language).ok_or_else(|| Error::new("there is no such language"))?;
            let whole = texts.get(passage)?;
            let text = whole.get(..kept.unwrap_or(whole.len()));
            out.push(text.ok_or_else(|| Error::new("a passage is cut where it cannot be"))?);
            out.push(end);
            let id = texts.id(passage)?;
            match *own == Some(language) {
                true => ids.values().append_value(id),
                false => {
                    ids.values().append_value(format!("{id}{}", suffixes.get(language).map_or("", String::as_str)))
                }
            }
        }
        Ok(())
    }
}
