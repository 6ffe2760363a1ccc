//! Passages that come in blocks, and are forgotten once they are scored: what a shard's worker holds is the lists alone.

use super::best::{Best, Numbers};
use super::exact::{PASSAGES, QUERIES, offer};
use super::{Vectors, square};
use crate::error::{Error, Result};
use crate::fail;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// The best passages of each query, while the passages go by.
///
/// Memory: 16 bytes a query and place of its list, 4 bytes a component of the queries, and about 8 bytes a passage seen.
pub struct Gather<'a> {
    queries: &'a Vectors,
    longest: u64,
    /// By block of queries, their components as floats.
    floats: Vec<Vec<f32>>,
    best: Vec<Best>,
    seen: FxHashSet<u32>,
}

impl<'a> Gather<'a> {
    /// Begins; `k` of each query is at least 1.
    ///
    /// # Errors
    ///
    /// Queries that are not whole vectors.
    pub fn new(queries: &'a Vectors, k: impl Fn(usize) -> usize) -> Result<Gather<'a>> {
        queries.check("queries")?;
        if (0..queries.len()).any(|query| k(query) == 0) {
            fail!("a list of 0 passages holds nothing");
        }
        let block = QUERIES * queries.dimensions;
        let floats = queries.data.chunks(block).map(|block| block.iter().map(|x| f32::from(*x)).collect()).collect();
        let best = (0..queries.len()).map(|query| Best::new(k(query))).collect();
        Ok(Gather { queries, longest: queries.longest(), floats, best, seen: FxHashSet::default() })
    }

    /// Scores passages, one number a vector, in any order. Runs on the ambient rayon pool.
    ///
    /// # Errors
    ///
    /// Another number of dimensions than the queries have, a number that came before, vectors so long that a score might not fit 32
    /// bits. Each names the passage.
    pub fn take(&mut self, numbers: &[u32], passages: &Vectors) -> Result<()> {
        let d = self.queries.dimensions;
        passages.check("passages")?;
        if passages.dimensions != d || passages.len() != numbers.len() {
            fail!(
                "{} vectors of {} dimensions came for {} numbers; the queries have {d}: both must come from one embedder",
                passages.len(),
                passages.dimensions,
                numbers.len()
            );
        }
        let squares: Vec<u64> = passages.data.chunks_exact(d).map(square).collect();
        for (number, square) in numbers.iter().zip(&squares) {
            if !self.seen.insert(*number) {
                return Err(Error::new(format!("passage {number} comes twice in the shard"))
                    .help("a shard holds each passage once"));
            }
            let bound = u128::from(*square) * u128::from(self.longest);
            if bound > u128::from(i32::MAX as u32).pow(2) {
                return Err(Error::new(format!("a score of passage {number} might not fit 32 bits"))
                    .help("quantise the vectors more coarsely: a norm of 512 a language is plenty"));
            }
        }
        let (queries, longest, floats) = (self.queries, self.longest, &self.floats);
        let blocks = numbers.chunks(PASSAGES).zip(squares.chunks(PASSAGES)).zip(passages.data.chunks(PASSAGES * d));
        for ((numbers, squares), rows) in blocks {
            let own = squares.iter().max().copied().unwrap_or(0);
            let exact = u128::from(own) * u128::from(longest) < 1 << 48;
            let own: Vec<f32> = if exact { rows.iter().map(|x| f32::from(*x)).collect() } else { Vec::new() };
            self.best.par_chunks_mut(QUERIES).enumerate().for_each(|(nth, best)| {
                if exact {
                    let mut scores = vec![0f32; best.len() * numbers.len()];
                    offer(best, &own, &floats[nth], d, &mut scores, Numbers::Each(numbers));
                    return;
                }
                for (n, best) in best.iter_mut().enumerate() {
                    let query = queries.row(nth * QUERIES + n);
                    let scores: Vec<i32> = rows.chunks_exact(d).map(|row| super::dot(row, query)).collect();
                    best.offer(&scores, Numbers::Each(numbers));
                }
            });
        }
        Ok(())
    }

    /// The lists, one a query.
    pub fn lists(self) -> Vec<Vec<(i32, u32)>> {
        self.best.into_iter().map(Best::list).collect()
    }
}
