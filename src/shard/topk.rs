//! The nearest passages of every query: of one shard, and of all by merging the shards' lists.

use super::part::Parts;
use super::queries::Queries;
use super::stream::{Event, Notes, Piece, Sink, Source, begin, each};
use super::{EMBEDDER, K, KIND, PARTS, QUERIES, QUESTIONS};
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

fn notes(k: usize, queries: Option<String>, questions: Option<String>, parts: Option<String>) -> Notes {
    let pairs = [(QUERIES, queries), (QUESTIONS, questions), (PARTS, parts)];
    let given = pairs.into_iter().filter_map(|(key, value)| Some((key, value?)));
    Notes::new([(KIND, NAME.to_owned()), (K, k.to_string())].into_iter().chain(given))
}

/// What a shard is searched for.
pub struct Search<'a> {
    /// The queries.
    pub queries: &'a Queries,
    /// Passages of a list.
    pub k: usize,
    /// By query, the passages that no list may hold, ascending.
    pub apart: &'a BTreeMap<u32, Vec<u32>>,
    /// Which shard of how many this is.
    pub share: Share,
}

impl Search<'_> {
    /// Reads a shard of passages (`number`, or an `id` of digits; `vector`) and writes the `k` best of each query: `query`, `score`,
    /// `number`. Gives the number of passages.
    ///
    /// Holds the lists and a block of passages. Runs on the ambient rayon pool.
    pub fn run(&self, passages: &[Source], out: &mut dyn Write) -> Result<usize> {
        check_k(self.k)?;
        let queries = self.queries;
        let apart: Vec<&[u32]> =
            queries.numbers.iter().map(|query| self.apart.get(query).map_or(&[][..], Vec::as_slice)).collect();
        // So many of the best may be left out; the k best of the others are then among these.
        let mut gather = Gather::each(&queries.vectors, |query| self.k + apart[query].len())?;
        for source in passages {
            each(source, |event| match event {
                Event::Stream(_, notes) => match (&queries.embedder, notes.get(EMBEDDER)) {
                    (Some(one), Some(other)) if one != other => {
                        Err(Error::new("the vectors of queries and passages are not of the same embedder")
                            .help("embed both by the same recipe, with the same model and runtime"))
                    }
                    _ => Ok(()),
                },
                Event::Rows(piece) => {
                    for piece in piece.pieces(ROWS) {
                        gather.take(&piece.numbers()?, &piece.vectors()?).map_err(|e| e.at(piece.rows()))?;
                    }
                    Ok(())
                }
            })?;
        }
        let found = gather.passages();
        let parts = Some(Parts::of(self.share).to_string());
        let notes = notes(self.k, Some(queries.digest.to_string()), queries.questions.clone(), parts);
        let mut lists = Rows::new(out, notes)?;
        for ((query, mut list), apart) in queries.numbers.iter().zip(gather.lists()).zip(apart) {
            list.retain(|(_, number)| apart.binary_search(number).is_err());
            list.truncate(self.k);
            lists.list(*query, &list)?;
        }
        lists.finish()?;
        Ok(found)
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
    /// Passages of a list, at most.
    pub k: usize,
    /// By query, its best passages in order.
    pub lists: BTreeMap<u32, Vec<(i32, u32)>>,
    /// Which queries were asked, as the streams say.
    pub queries: Option<String>,
    /// What they are the queries of.
    pub questions: Option<String>,
    /// The parts that are in.
    pub parts: Option<Parts>,
}

impl Lists {
    /// Merges streams of `query`, `score` and `number`, in any order of rows and streams. `k`: where the streams do not say it.
    ///
    /// # Errors
    ///
    /// Streams of other queries or list lengths, and a number that has two scores for one query.
    pub fn merge(sources: &[Source], k: Option<usize>) -> Result<Lists> {
        if let Some(k) = k {
            check_k(k)?;
        }
        let mut said = Said { k, ..Said::default() };
        let mut pending: BTreeMap<u32, Vec<(i32, u32)>> = BTreeMap::new();
        for source in sources {
            each(source, |event| match event {
                Event::Stream(_, notes) => said.add(notes),
                Event::Rows(piece) => add(&piece, said.k()?, &mut pending),
            })?;
        }
        let k = said.k()?;
        for (query, list) in &mut pending {
            compact(*query, list, k)?;
        }
        Ok(Lists { k, lists: pending, queries: said.queries, questions: said.questions, parts: said.parts })
    }

    /// Writes them as one stream.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let parts = self.parts.as_ref().map(Parts::to_string);
        let mut rows = Rows::new(out, notes(self.k, self.queries.clone(), self.questions.clone(), parts))?;
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

/// What the streams say of themselves.
#[derive(Default)]
struct Said {
    k: Option<usize>,
    queries: Option<String>,
    questions: Option<String>,
    parts: Option<Parts>,
    /// Of the streams so far, does one not say which parts it holds?
    silent: bool,
}

impl Said {
    fn k(&self) -> Result<usize> {
        self.k.ok_or_else(|| Error::new("the streams do not say how long their lists are").help("say it with -k N"))
    }

    fn add(&mut self, notes: &Notes) -> Result<()> {
        if let Some(kind) = notes.get(KIND).filter(|kind| *kind != NAME) {
            fail!("a stream of {kind} is no list of the nearest");
        }
        if let Some(k) = notes.get(K) {
            let own = k.parse().ok().filter(|k| (1..=MOST).contains(k));
            let Some(own) = own else { fail!("the stream says its lists have up to {k:?} passages") };
            if self.k.is_some_and(|k| k != own) {
                return Err(Error::new(format!(
                    "lists of {} and of {own} passages cannot be merged",
                    self.k.unwrap_or(0)
                ))
                .help("search all shards with the same -k"));
            }
            self.k = Some(own);
        }
        for (own, key) in [(&mut self.queries, QUERIES), (&mut self.questions, QUESTIONS)] {
            match (&own, notes.get(key)) {
                (Some(one), Some(other)) if one != other => {
                    return Err(Error::new("the shards were searched for other queries: their lists cannot be merged")
                        .help("search all shards with the same file of queries"));
                }
                (None, Some(said)) => *own = Some(said.to_owned()),
                _ => {}
            }
        }
        Parts::gather(&mut self.parts, &mut self.silent, notes)
    }
}
