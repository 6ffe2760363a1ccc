//! The nearest passages of every query: of one shard, and of all by merging the shards' lists.

use super::queries::Queries;
use super::said::Said;
use super::stream::{Event, Notes, Piece, Sink, Source, begin, each};
use super::{EMBEDDER, K, QUERIES, QUESTIONS};
use crate::error::{Error, Result};
use crate::fail;
use crate::index::{self, Gather};
use crate::work::share::Share;
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

/// What the streams of this kind are called in their notes.
pub const NAME: &str = "topk";

/// The longest list.
pub const MOST: usize = 1_000_000;

/// Rows of a batch that are scored or written at once.
const ROWS: usize = 1 << 12;

fn fields() -> Vec<Field> {
    ["query", "score", "number"].map(|name| Field::new(name, DataType::Int64, false)).to_vec()
}

/// Rows that are gathered and written a batch at a time.
struct Rows<'a> {
    sink: Sink<'a>,
    columns: [Vec<i64>; 3],
}

impl<'a> Rows<'a> {
    fn new(out: &'a mut dyn Write, notes: Notes) -> Result<Rows<'a>> {
        Ok(Rows { sink: begin(out, fields(), notes)?, columns: Default::default() })
    }

    fn list(&mut self, query: u32, list: &[(i32, u32)]) -> Result<()> {
        for (score, number) in list {
            let row = [i64::from(query), i64::from(*score), i64::from(*number)];
            self.columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            if self.columns[0].len() == 1 << 16 {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let column = |values: &mut Vec<i64>| Arc::new(Int64Array::from(std::mem::take(values))) as ArrayRef;
        self.sink.write(self.columns.iter_mut().map(column).collect())
    }

    fn finish(mut self) -> Result<()> {
        if !self.columns[0].is_empty() {
            self.flush()?;
        }
        self.sink.finish()
    }
}

/// What lists say of themselves. Lists of one length, for the same queries, whose vectors and those of the passages one embedder made.
fn said() -> Said {
    Said::new(Some(NAME), &[K, QUERIES, QUESTIONS, EMBEDDER])
}

/// What a shard is searched for.
pub struct Search<'a> {
    /// The queries.
    pub queries: &'a Queries,
    /// Passages of a list.
    pub k: usize,
    /// By query, the passages that no list may hold, ascending.
    pub apart: &'a BTreeMap<u32, Vec<u32>>,
    /// Which shard of how many this is, if not what the passages say.
    pub share: Option<Share>,
}

impl Search<'_> {
    /// Reads a shard of passages (`number`, or an `id` of digits; `vector`) and writes the `k` best of each query: `query`, `score`,
    /// `number`.
    ///
    /// Holds the lists and a block of passages. Runs on the ambient rayon pool.
    pub fn run(&self, passages: &[Source], out: &mut dyn Write) -> Result<()> {
        check_k(self.k)?;
        let queries = self.queries;
        let apart: Vec<&[u32]> =
            queries.numbers.iter().map(|query| self.apart.get(query).map_or(&[][..], Vec::as_slice)).collect();
        // So many of the best may be left out; the k best of the others are then among these.
        let mut gather = Gather::new(&queries.vectors, |query| self.k + apart[query].len())?;
        let of = |key: &str| queries.said.get(key).map(str::to_owned);
        let mut shard = Said::new(None, &[EMBEDDER]).with(EMBEDDER, of(EMBEDDER)).of(self.share);
        for source in passages {
            each(source, |event| match event {
                Event::Stream(_, notes) => shard.add(notes),
                Event::Rows(piece) => {
                    for piece in piece.pieces(ROWS) {
                        gather.take(&piece.numbers()?, &piece.vectors()?).map_err(|e| e.at(piece.rows()))?;
                    }
                    Ok(())
                }
            })?;
        }
        let said = said()
            .with(K, Some(self.k.to_string()))
            .with(QUERIES, Some(queries.digest.to_string()))
            .with(QUESTIONS, of(QUESTIONS))
            .with(EMBEDDER, shard.get(EMBEDDER).map(str::to_owned))
            .with_parts(shard.parts().cloned());
        let notes = said.notes();
        let mut lists = Rows::new(out, notes)?;
        for ((query, mut list), apart) in queries.numbers.iter().zip(gather.lists()).zip(apart) {
            list.retain(|(_, number)| apart.binary_search(number).is_err());
            list.truncate(self.k);
            lists.list(*query, &list)?;
        }
        lists.finish()
    }
}

/// Fails for a list of none, and for one beyond [`MOST`].
pub fn check_k(k: usize) -> Result<()> {
    match k {
        1..=MOST => Ok(()),
        _ => fail!("-k {k}: lists of 1 to {MOST} passages are possible"),
    }
}

/// The lists of all queries, merged from those of shards.
pub struct Lists {
    /// By query, its best passages in order; while streams are taken in, some more in any order.
    pub lists: BTreeMap<u32, Vec<(i32, u32)>>,
    /// What the streams say.
    pub said: Said,
}

impl Lists {
    /// None yet. `k`: passages of a list, where the streams do not say it.
    pub fn new(k: Option<usize>) -> Result<Lists> {
        k.map_or(Ok(()), check_k)?;
        Ok(Lists { lists: BTreeMap::new(), said: said().with(K, k.map(|k| k.to_string())) })
    }

    /// Merges streams of `query`, `score` and `number`, in any order of rows and streams.
    ///
    /// # Errors
    ///
    /// Streams of other queries or list lengths, and a number that has two scores for one query.
    pub fn merge(sources: &[Source]) -> Result<Lists> {
        let mut lists = Lists::new(None)?;
        for source in sources {
            each(source, |event| lists.take(event))?;
        }
        lists.done()
    }

    /// Takes in what a source holds, one after the other.
    pub fn take(&mut self, event: Event<'_>) -> Result<()> {
        match event {
            Event::Stream(_, notes) => self.said.add(notes),
            Event::Rows(piece) => add(&piece, self.k()?, &mut self.lists),
        }
    }

    /// All streams are in: cuts and sorts the lists.
    pub fn done(mut self) -> Result<Lists> {
        let k = self.k()?;
        for (query, list) in &mut self.lists {
            compact(*query, list, k)?;
        }
        Ok(self)
    }

    /// Passages of a list, at most.
    pub fn k(&self) -> Result<usize> {
        let Some(k) = self.said.get(K) else {
            return Err(Error::new("the streams do not say how long their lists are").help("say it with -k N"));
        };
        match k.parse() {
            Ok(k @ 1..=MOST) => Ok(k),
            _ => fail!("the stream says its lists have up to {k:?} passages"),
        }
    }

    /// Writes them as one stream.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let mut rows = Rows::new(out, self.said.notes())?;
        for (query, list) in &self.lists {
            rows.list(*query, list)?;
        }
        rows.finish()
    }
}

/// Adds rows to the lists, and cuts those that have grown.
fn add(piece: &Piece<'_>, k: usize, lists: &mut BTreeMap<u32, Vec<(i32, u32)>>) -> Result<()> {
    let (queries, numbers) = (piece.small("query")?, piece.small("number")?);
    for (row, score) in piece.integers("score")?.into_iter().enumerate() {
        let Ok(score) = i32::try_from(score) else {
            return Err(Error::new(format!("score {score} does not fit 32 bits")).at(piece.place(row)));
        };
        let list = lists.entry(queries[row]).or_default();
        list.push((score, numbers[row]));
        if list.len() >= 2 * k + 1024 {
            compact(queries[row], list, k)?;
        }
    }
    Ok(())
}

fn compact(query: u32, list: &mut Vec<(i32, u32)>, k: usize) -> Result<()> {
    *list = index::merge(&[list], k).map_err(|conflict| {
        Error::new(format!("query {query}: {conflict}")).help("search the shard again that was made of other vectors")
    })?;
    Ok(())
}
