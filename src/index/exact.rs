//! Every passage is scored, block by block as a matrix product of floats whose results are exact integers.
//!
//! Why floats are exact here: components are integers, so every product and every sum of some of the products is an integer.
//! Over any set of the dimensions, by Cauchy and Schwarz, such a sum is at most the product of the two norms. While that is below
//! 2^24, an f32 holds each of these numbers exactly, so nothing is ever rounded: whichever order a library sums in, with or
//! without fused multiply-add, in whatever width, the result is the same integer. The norms are checked as integers, and
//! vectors too long for this are scored by an integer loop instead.

use super::{Vectors, dot, key, square, unkey};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Passages scored at a time: the scores of a block of queries then stay in the cache until they are looked through.
const PASSAGES: usize = 2048;
/// Queries scored at a time, at most.
const QUERIES: usize = 128;
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
        let block = (KEYS / Best::room(k)).clamp(1, QUERIES);
        let round = block * BLOCKS * rayon::current_num_threads().max(1);
        let d = base.dimensions;
        let mut query = 0;
        for round in queries.data.chunks(round * d) {
            let lists: Vec<Vec<Vec<(i32, u32)>>> =
                round.par_chunks(block * d).map(|queries| self.block(base, longest, queries, k)).collect();
            for list in lists.iter().flatten() {
                each(query, list);
                query += 1;
            }
        }
    }

    /// The lists of a block of queries.
    fn block(&self, base: &Vectors, longest: u64, queries: &[i16], k: usize) -> Vec<Vec<(i32, u32)>> {
        let d = base.dimensions;
        let own = queries.chunks_exact(d).map(square).max().unwrap_or(0);
        if u128::from(own) * u128::from(longest) >= 1 << 48 {
            return queries.chunks_exact(d).map(|query| scan(base, query, k)).collect();
        }
        let n = queries.len() / d;
        let transposed = floats(queries);
        let transposed = MatRef::from_column_major_slice(&transposed, d, n);
        let mut best: Vec<Best> = (0..n).map(|_| Best::new(k)).collect();
        let mut scores = vec![0f32; n * PASSAGES.min(base.len())];
        for (nth, passages) in self.floats.chunks(PASSAGES * d).enumerate() {
            let m = passages.len() / d;
            let passages = MatRef::from_row_major_slice(passages, m, d);
            let scores = &mut scores[..n * m];
            // One thread a product: the blocks themselves run in parallel.
            let product = MatMut::from_column_major_slice_mut(scores, m, n);
            matmul(product, Accum::Replace, passages, transposed, 1.0, Par::Seq);
            for (best, scores) in best.iter_mut().zip(scores.chunks_exact(m)) {
                best.offer(scores, (nth * PASSAGES) as u32);
            }
        }
        best.into_iter().map(Best::list).collect()
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
        best.offer(&scores[..m], (nth * CHUNK) as u32);
    }
    best.list()
}

fn floats(integers: &[i16]) -> Vec<f32> {
    integers.par_iter().with_min_len(1 << 16).map(|&x| f32::from(x)).collect()
}

/// Scores looked through at a time.
const CHUNK: usize = 32;

/// An exact integer in one of two types.
trait Score: Copy + PartialOrd {
    fn of(integer: i32) -> Self;
    fn integer(self) -> i32;
}

impl Score for f32 {
    fn of(integer: i32) -> f32 {
        integer as f32
    }
    fn integer(self) -> i32 {
        self as i32
    }
}

impl Score for i32 {
    fn of(integer: i32) -> i32 {
        integer
    }
    fn integer(self) -> i32 {
        self
    }
}

/// The `k` best of one query so far, and some that were among them when they came.
struct Best {
    k: usize,
    room: usize,
    keys: Vec<u64>,
    /// The k-th best score when the keys were last cut to `k`. Passages come by ascending id: one that scores no more than
    /// this stands behind k others.
    least: Option<i32>,
}

impl Best {
    fn new(k: usize) -> Best {
        let room = Best::room(k);
        Best { k, room, keys: Vec::with_capacity(room), least: None }
    }

    /// How many keys are gathered before they are cut to `k`: so many that the cuts cost a constant a key.
    fn room(k: usize) -> usize {
        k + k.max(128) + CHUNK
    }

    /// Takes the scores of the passages from number `first` on.
    fn offer<S: Score>(&mut self, scores: &[S], first: u32) {
        for (nth, scores) in scores.chunks(CHUNK).enumerate() {
            let first = first + (nth * CHUNK) as u32;
            let Some(least) = self.least else {
                self.keys.extend((first..).zip(scores).map(|(id, score)| key(score.integer(), id)));
                self.cut();
                continue;
            };
            // Most chunks hold nothing: one test for all of them, without a branch inside.
            let least = S::of(least);
            if !scores.iter().fold(false, |any, score| any | (*score > least)) {
                continue;
            }
            let above = (first..).zip(scores).filter(|(_, score)| **score > least);
            self.keys.extend(above.map(|(id, score)| key(score.integer(), id)));
            self.cut();
        }
    }

    /// Keeps the `k` best when another chunk might not find room.
    fn cut(&mut self) {
        if self.keys.len() + CHUNK > self.room {
            self.keys.select_nth_unstable(self.k - 1);
            self.keys.truncate(self.k);
            self.least = Some(unkey(self.keys[self.k - 1]).0);
        }
    }

    fn list(mut self) -> Vec<(i32, u32)> {
        if self.keys.len() > self.k {
            self.keys.select_nth_unstable(self.k - 1);
            self.keys.truncate(self.k);
        }
        self.keys.sort_unstable();
        self.keys.into_iter().map(unkey).collect()
    }
}
