//! Nearest neighbours among vectors of small integers: exact scores, one order, two engines behind one interface.

mod best;
mod exact;
mod gather;
mod hnsw;

use crate::error::{Error, Result};
use crate::fail;
use exact::Exact;
use hnsw::Graph;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use best::{Conflict, merge};
pub use gather::Gather;

/// Up to how many passages `auto` searches exactly.
///
/// At 384 dimensions the exact engine then holds 750 MiB of floats and needs some 6 ms a query on two cores. At 100,000 it needs
/// about 1 ms where a walk through the graph takes many, after minutes of building; a graph pays only far beyond.
pub const EXACT_UP_TO: usize = 500_000;

/// Vectors of small integers, one after the other.
///
/// The vector of one text has components in i8 and a norm of about 512; one that stands for a passage in all of its
/// languages is the sum over them, hence i16.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vectors {
    /// Components a vector.
    pub dimensions: usize,
    /// All components, `dimensions` a vector.
    pub data: Vec<i16>,
}

impl Vectors {
    /// How many whole vectors there are.
    pub fn len(&self) -> usize {
        self.data.len().checked_div(self.dimensions).unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The components of vector `n`, which must be below [`Vectors::len`].
    pub fn row(&self, n: usize) -> &[i16] {
        &self.data[n * self.dimensions..(n + 1) * self.dimensions]
    }

    /// Fails unless the data are whole vectors whose numbers fit an id.
    fn check(&self, what: &str) -> Result<()> {
        if self.dimensions == 0 {
            fail!("{what}: vectors need at least one dimension");
        }
        let (found, d) = (self.data.len(), self.dimensions);
        if !found.is_multiple_of(d) {
            let at = format!("vector {}", found / d);
            return Err(Error::new(format!("{what}: the last vector has {} of {d} components", found % d)).at(at));
        }
        if self.len() > i32::MAX as usize {
            fail!("{what}: {} vectors are more than an index numbers ({})", self.len(), i32::MAX);
        }
        Ok(())
    }

    /// The largest squared norm; 0 if there is no vector.
    fn longest(&self) -> u64 {
        self.data.par_chunks_exact(self.dimensions.max(1)).map(square).max().unwrap_or(0)
    }
}

/// How the nearest are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Every passage is scored.
    Exact,
    /// A graph leads to candidates, and those are scored: a few of the nearest may be missed.
    Hnsw,
}

impl Engine {
    /// The name in recipes and manifests.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Exact => "exact",
            Engine::Hnsw => "hnsw",
        }
    }
}

/// What `auto` means: exact up to [`EXACT_UP_TO`] passages, the graph beyond.
pub fn choose(passages: usize) -> Engine {
    if passages <= EXACT_UP_TO { Engine::Exact } else { Engine::Hnsw }
}

/// What a search did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// Queries answered.
    pub queries: usize,
    /// Those among them that scored every passage; with [`Engine::Hnsw`], where the graph led to fewer than asked for, where
    /// every passage would have been a candidate, and where the query was zero.
    pub exact: usize,
}

/// Passages ready to be searched.
///
/// Whatever the engine, the scores are exact dot products and a list goes by descending score, then ascending id. It is the
/// same on every run, machine and number of threads.
pub struct Index<'a> {
    base: &'a Vectors,
    longest: u64,
    kind: Kind,
}

enum Kind {
    Exact(Exact),
    Hnsw(Graph),
}

impl<'a> Index<'a> {
    /// Makes `base` searchable; the id of a passage is its number there.
    ///
    /// Fails if `base` is not made of whole vectors. No passages at all are fine: every list is then empty.
    pub fn build(engine: Engine, base: &'a Vectors) -> Result<Index<'a>> {
        base.check("passages")?;
        let kind = match engine {
            Engine::Exact => Kind::Exact(Exact::build(base)),
            Engine::Hnsw => Kind::Hnsw(Graph::build(base)),
        };
        Ok(Index { base, longest: base.longest(), kind })
    }

    /// The engine it was built with.
    pub fn engine(&self) -> Engine {
        match self.kind {
            Kind::Exact(_) => Engine::Exact,
            Kind::Hnsw(_) => Engine::Hnsw,
        }
    }

    /// How many passages a list of `k` is chosen from: all, or those the graph is asked for.
    pub fn candidates(&self, k: usize) -> usize {
        match self.kind {
            Kind::Exact(_) => self.base.len(),
            Kind::Hnsw(_) => hnsw::candidates(k, self.base.len()),
        }
    }

    /// Hands `each` the number of a query and its `k` best passages as (score, id), or all if there are fewer; the queries in
    /// order, whichever thread finished first. Runs on the ambient rayon pool and holds a block of lists at a time.
    ///
    /// Fails before the first list if dimensions differ or if vectors are so long that a score might not fit 32 bits.
    pub fn top(&self, queries: &Vectors, k: usize, mut each: impl FnMut(usize, &[(i32, u32)])) -> Result<Searched> {
        queries.check("queries")?;
        if queries.dimensions != self.base.dimensions {
            fail!(
                "the queries have {} dimensions, the passages {}: both must come from one embedder",
                queries.dimensions,
                self.base.dimensions
            );
        }
        // By Cauchy and Schwarz no score, nor any part of its sum, is larger than the product of the norms.
        let bound = u128::from(queries.longest()) * u128::from(self.longest);
        if bound > u128::from(i32::MAX as u32).pow(2) {
            return Err(Error::new(format!(
                "scores might not fit 32 bits: squared norms are up to {} (queries) and {} (passages)",
                queries.longest(),
                self.longest
            ))
            .help("quantise the vectors more coarsely: a norm of 512 a language is plenty"));
        }
        let k = k.min(self.base.len());
        let mut searched = Searched { queries: queries.len(), exact: 0 };
        if k == 0 {
            (0..queries.len()).for_each(|query| each(query, &[]));
            return Ok(searched);
        }
        match &self.kind {
            Kind::Exact(exact) => {
                searched.exact = queries.len();
                exact.top(self.base, self.longest, queries, k, each);
            }
            Kind::Hnsw(graph) => searched.exact = graph.top(self.base, queries, k, each),
        }
        Ok(searched)
    }
}

/// The share of the exact `k` best that `index` finds for `queries`, in millionths, rounded down; `base` is what it was built
/// over. A passage that scores as much as the k-th is as good as it. With nothing to find the share is whole.
pub fn recall(index: &Index<'_>, base: &Vectors, queries: &Vectors, k: usize) -> Result<u32> {
    if index.base != base {
        fail!("the recall of an index is measured over the passages it was built over");
    }
    let mut least: Vec<Option<i32>> = vec![None; queries.len()];
    Index::build(Engine::Exact, base)?.top(queries, k, |query, list| least[query] = list.last().map(|(s, _)| *s))?;
    let (mut found, mut all) = (0u64, 0u64);
    index.top(queries, k, |query, list| {
        let Some(least) = least[query] else { return };
        all += k.min(base.len()) as u64;
        found += list.iter().filter(|(score, _)| *score >= least).count() as u64;
    })?;
    Ok((found * 1_000_000).checked_div(all).unwrap_or(1_000_000) as u32)
}

/// The squared norm.
fn square(vector: &[i16]) -> u64 {
    vector.iter().map(|&x| u64::from(x.unsigned_abs()).pow(2)).sum()
}

/// The dot product; exact where the product of the norms fits 32 bits, since then no partial sum leaves them either.
fn dot(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).fold(0i32, |sum, (&x, &y)| sum.wrapping_add(i32::from(x) * i32::from(y)))
}

/// A score and an id as one number that sorts as lists do: descending score, then ascending id.
fn key(score: i32, id: u32) -> u64 {
    let falling = !((score as u32) ^ 0x8000_0000);
    u64::from(falling) << 32 | u64::from(id)
}

/// What [`key`] was made of.
fn unkey(key: u64) -> (i32, u32) {
    ((!((key >> 32) as u32) ^ 0x8000_0000) as i32, key as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_lists_do() {
        let mut list = [(5, 1), (i32::MAX, 7), (-5, 0), (5, 0), (i32::MIN, 3), (0, u32::MAX)];
        let mut keys = list.map(|(score, id)| key(score, id));
        keys.sort_unstable();
        list.sort_by_key(|&(score, id)| (std::cmp::Reverse(score), id));
        assert_eq!(keys.map(unkey), list);
    }

    #[test]
    fn auto_turns_at_the_documented_size() {
        assert_eq!(choose(EXACT_UP_TO), Engine::Exact);
        assert_eq!(choose(EXACT_UP_TO + 1), Engine::Hnsw);
        assert_eq!(serde_json::to_value(Engine::Hnsw).unwrap(), Engine::Hnsw.name());
    }
}
