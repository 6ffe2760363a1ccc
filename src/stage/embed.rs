//! Turns the pool's passages into vectors.

use crate::embedder::Embedder;
use crate::record::LocalPool;
use rayon::prelude::*;

/// The vectors of a pool, one passage after the other.
pub fn embed(pool: &LocalPool, embedder: &Embedder) -> Vec<i8> {
    let mut vectors = vec![0i8; pool.len() * embedder.dimensions];
    vectors
        .par_chunks_mut(embedder.dimensions)
        .enumerate()
        .for_each(|(n, vector)| (embedder.embed)(pool.passage(n), vector));
    vectors
}
