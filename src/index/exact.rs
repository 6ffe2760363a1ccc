//! Every passage is scored, block by block as a matrix product of floats whose results are exact integers.
//!
//! Why floats are exact here: components are integers, so every product and every sum of some of the products is an integer.
//! Over any set of the dimensions, by Cauchy and Schwarz, such a sum is at most the product of the two norms. While that is below
//! 2^24, an f32 holds each of these numbers exactly, so nothing is ever rounded: whichever order a library sums in, with or
//! without fused multiply-add, in whatever width, the result is the same integer. The norms are checked as integers, and
//! vectors too long for this are scored by an integer loop instead.

use super::best::{Best, CHUNK, Numbers, merge_disjoint};
use super::{Vectors, dot, square};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::ops::Range;

/// Passages scored at a time: the scores of a block of queries then stay in the cache until they are looked through.
pub(super) const PASSAGES: usize = 2048;
/// Queries scored at a time, at most.
pub(super) const QUERIES: usize = 128;
/// Blocks of queries handed out at a time, a thread.
const BLOCKS: usize = 4;
/// Keys that the lists of a block may hold (16 MiB); long lists make small blocks.
const KEYS: usize = 1 << 21;

/// The passages as floats.
pub(super) struct Exact {
    floats: Vec<f32>,
}

impl Exact {
    pub(super) fn build(base: &Vectors) -> Exact {
        Exact { floats: floats(&base.data) }
    }

    /// See [`super::Index::top`]; `k` is at least 1 and at most the number of passages, `longest` their largest squared norm.
    pub(super) fn top(
        &self,
        base: &Vectors,
        longest: u64,
        queries: &Vectors,
        k: usize,
        mut each: impl FnMut(usize, &[(i32, u32)]),
    ) {
        let threads = rayon::current_num_threads().max(1);
        let block = (KEYS / Best::room(k)).clamp(1, QUERIES);
        let round = block * BLOCKS * threads;
        // Few queries: the passages are split among the threads, and the lists merged.
        let blocks = queries.len().div_ceil(block).max(1);
        let shards = threads.div_ceil(blocks).min(base.len().div_ceil(PASSAGES)).max(1);
        let d = base.dimensions;
        let mut query = 0;
        for round in queries.data.chunks(round * d) {
            let lists: Vec<Vec<Vec<(i32, u32)>>> =
                round.par_chunks(block * d).map(|queries| self.block(base, longest, queries, k, shards)).collect();
            for list in lists.iter().flatten() {
                each(query, list);
                query += 1;
            }
        }
    }

    /// The lists of a block of queries, over so many shards of the passages.
    fn block(&self, base: &Vectors, longest: u64, queries: &[i16], k: usize, shards: usize) -> Vec<Vec<(i32, u32)>> {
        let d = base.dimensions;
        let own = queries.chunks_exact(d).map(square).max().unwrap_or(0);
        if u128::from(own) * u128::from(longest) >= 1 << 48 {
            return queries.chunks_exact(d).map(|query| scan(base, query, k)).collect();
        }
        let floats = floats(queries);
        if shards == 1 {
            return self.shard(&floats, d, 0..base.len(), k);
        }
        let size = base.len().div_ceil(shards);
        let parts: Vec<Vec<Vec<(i32, u32)>>> = (0..shards)
            .into_par_iter()
            .map(|shard| {
                self.shard(&floats, d, (shard * size).min(base.len())..((shard + 1) * size).min(base.len()), k)
            })
            .collect();
        let of = |query: usize| {
            let lists: Vec<&[(i32, u32)]> = parts.iter().map(|part| part[query].as_slice()).collect();
            merge_disjoint(&lists, k)
        };
        (0..queries.len() / d).map(of).collect()
    }

    /// The lists of a block of queries over some of the passages.
    fn shard(&self, queries: &[f32], d: usize, passages: Range<usize>, k: usize) -> Vec<Vec<(i32, u32)>> {
        let n = queries.len() / d;
        let mut best: Vec<Best> = (0..n).map(|_| Best::new(k)).collect();
        let mut scores = vec![0f32; n * PASSAGES.min(passages.len())];
        let mut first = passages.start;
        for passages in self.floats[passages.start * d..passages.end * d].chunks(PASSAGES * d) {
            offer(&mut best, passages, queries, d, &mut scores, Numbers::From(first as u32));
            first += PASSAGES;
        }
        best.into_iter().map(Best::list).collect()
    }
}

/// Scores some passages with some queries, as one product, and offers the scores. `scores` has room for all of them.
pub(super) fn offer(
    best: &mut [Best],
    passages: &[f32],
    queries: &[f32],
    d: usize,
    scores: &mut [f32],
    numbers: Numbers<'_>,
) {
    let (m, n) = (passages.len() / d, best.len());
    let transposed = MatRef::from_column_major_slice(queries, d, n);
    let passages = MatRef::from_row_major_slice(passages, m, d);
    let scores = &mut scores[..n * m];
    // One thread a product: the blocks themselves run in parallel.
    let product = MatMut::from_column_major_slice_mut(scores, m, n);
    matmul(product, Accum::Replace, passages, transposed, 1.0, Par::Seq);
    for (best, scores) in best.iter_mut().zip(scores.chunks_exact(m)) {
        best.offer(scores, numbers);
    }
}

/// The list of one query, by integer arithmetic alone.
pub(super) fn scan(base: &Vectors, query: &[i16], k: usize) -> Vec<(i32, u32)> {
    let mut best = Best::new(k);
    let mut scores = [0i32; CHUNK];
    for (nth, passages) in base.data.chunks(CHUNK * base.dimensions).enumerate() {
        let rows = passages.chunks_exact(base.dimensions);
        let m = rows.len();
        scores.iter_mut().zip(rows).for_each(|(score, passage)| *score = dot(passage, query));
        best.offer(&scores[..m], Numbers::From((nth * CHUNK) as u32));
    }
    best.list()
}

fn floats(integers: &[i16]) -> Vec<f32> {
    integers.par_iter().with_min_len(1 << 16).map(|&x| f32::from(x)).collect()
}
