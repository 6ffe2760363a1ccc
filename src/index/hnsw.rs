//! A graph of near passages (hierarchical navigable small world) leads to candidates; exact scores decide among them.
//!
//! The graph knows distances, the lists go by dot product. With M the largest norm of a passage p, each passage gets further
//! components whose squares sum up to M^2 - |p|^2, and a query q zeros there. Then the squared distance is
//! |q|^2 + M^2 - 2 (q . p): the nearest is the one with the largest product. Here these components are integers themselves
//! (each the largest whose square still fits, [`ENDS`] of which leave no rest), so all distances are sums of integers, and neither
//! the processor's vector width nor the order of summation can change the graph.
//!
//! Points are inserted one by one: inserted in parallel, the graph would differ on every run. The levels come from a generator
//! that the library seeds with a constant of its own.

use super::exact::scan;
use super::{Vectors, dot, key, square, unkey};
use crate::report::Progress;
use hnsw_rs::prelude::{Distance, Hnsw};
use rayon::prelude::*;

/// Links of a point on each level (twice as many on the lowest).
const LINKS: usize = 16;
/// Points looked at for the links of a new one.
const BREADTH: usize = 128;
/// Levels, at most.
const LEVELS: usize = 16;
/// Candidates asked of the graph, at least.
const CANDIDATES: usize = 600;
/// Components appended: below 2^28, taking away the largest square so many times leaves nothing (tested).
const ENDS: usize = 8;
/// The largest norm in the graph: differences of components are then below 2^15 and squared distances below 2^30. Longer vectors
/// are divided and rounded there; that may cost candidates, never the exactness of a score.
const NORM: u64 = 16_383;
/// Lists held at a time may hold so many scores together (16 MiB).
const SCORES: usize = 1 << 21;
/// Queries handed out at a time, at most.
const QUERIES: usize = 1024;

/// How many candidates the graph is asked for, so that `k` of `passages` can be chosen among them.
pub(super) fn candidates(k: usize, passages: usize) -> usize {
    k.saturating_mul(2).max(CANDIDATES).min(passages)
}

/// Squared distance of integer vectors. The sum is exact; as f32 it is rounded, the same everywhere and never out of order.
struct Squared;

impl Distance<i16> for Squared {
    fn eval(&self, a: &[i16], b: &[i16]) -> f32 {
        let square = |(&a, &b): (&i16, &i16)| {
            let difference = i32::from(a.wrapping_sub(b));
            difference * difference
        };
        a.iter().zip(b).map(square).fold(0i32, i32::wrapping_add) as f32
    }
}

/// The passages' graph.
pub(super) struct Graph {
    hnsw: Hnsw<'static, i16, Squared>,
}

impl Graph {
    /// Inserts one passage after the other, on one core.
    pub(super) fn build(base: &Vectors) -> Graph {
        let hnsw = Hnsw::new(LINKS, base.len(), LEVELS, BREADTH, Squared);
        let (divisor, longest) = shrink(base.dimensions, &base.data);
        let progress = Progress::new("index", base.len() as u64, "passages");
        for (id, passage) in base.data.chunks_exact(base.dimensions).enumerate() {
            let mut point = divided(passage, divisor);
            let rest = longest - square(&point);
            point.extend(ends(rest).0);
            hnsw.insert((&point, id));
            progress.add(1);
        }
        progress.finish();
        Graph { hnsw }
    }

    /// See [`super::Index::top`]; `k` is at least 1 and at most the number of passages. Returns how many queries scored all.
    pub(super) fn top(
        &self,
        base: &Vectors,
        queries: &Vectors,
        k: usize,
        mut each: impl FnMut(usize, &[(i32, u32)]),
    ) -> usize {
        let round = (SCORES / k).clamp(1, QUERIES);
        let (mut query, mut whole) = (0, 0);
        for round in queries.data.chunks(round * base.dimensions) {
            let rows = round.par_chunks_exact(base.dimensions);
            let lists: Vec<(Vec<(i32, u32)>, bool)> = rows
                .map(|row| match self.search(base, row, k) {
                    Some(list) => (list, false),
                    None => (scan(base, row, k), true),
                })
                .collect();
            for (list, scanned) in &lists {
                whole += usize::from(*scanned);
                each(query, list);
                query += 1;
            }
        }
        whole
    }

    /// The `k` best among the candidates, or none if the graph leads to fewer than `k`. Nor is it asked where every passage
    /// would be a candidate, or for a zero query, which has no direction to look in.
    fn search(&self, base: &Vectors, query: &[i16], k: usize) -> Option<Vec<(i32, u32)>> {
        let candidates = candidates(k, base.len());
        if candidates == base.len() || square(query) == 0 {
            return None;
        }
        let mut point = divided(query, shrink(query.len(), query).0);
        point.extend([0; ENDS]);
        let found = self.hnsw.search(&point, candidates, candidates);
        if found.len() < k {
            return None;
        }
        let score = |id: usize| key(dot(base.row(id), query), id as u32);
        let mut keys: Vec<u64> = found.iter().map(|neighbour| score(neighbour.d_id)).collect();
        keys.sort_unstable();
        keys.truncate(k);
        Some(keys.into_iter().map(unkey).collect())
    }
}

/// What vectors must be divided by so that no norm is above [`NORM`], and the largest squared norm that is left.
fn shrink(dimensions: usize, vectors: &[i16]) -> (i32, u64) {
    let mut divisor = 1;
    loop {
        let rows = vectors.par_chunks_exact(dimensions);
        let longest = rows.map(|row| square(&divided(row, divisor))).max().unwrap_or(0);
        if longest <= NORM * NORM {
            return (divisor, longest);
        }
        divisor += 1;
    }
}

/// The components divided, rounded to the nearest.
fn divided(vector: &[i16], divisor: i32) -> Vec<i16> {
    let round = |x: i32| (2 * x + x.signum() * divisor) / (2 * divisor);
    vector.iter().map(|&x| round(i32::from(x)) as i16).collect()
}

/// Components whose squares sum up to `sum`, and what is then left of it.
fn ends(sum: u64) -> ([i16; ENDS], u64) {
    let mut rest = sum;
    let ends = std::array::from_fn(|_| {
        let end = rest.isqrt();
        rest -= end * end;
        end as i16
    });
    (ends, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_leave_nothing() {
        // One component leaves at most twice itself, and all such rests are tried with one component to spare.
        for rest in 0..=2 * NORM {
            let (found, left) = ends(rest);
            assert_eq!((found[ENDS - 1], left), (0, 0), "{rest}");
        }
        for sum in (0..=NORM * NORM).rev().step_by(9_973) {
            let (found, left) = ends(sum);
            assert_eq!((square(&found), left), (sum, 0));
        }
    }

    #[test]
    fn long_vectors_are_divided() {
        let long = vec![i16::MIN; 384];
        let (divisor, longest) = shrink(384, &long);
        assert!(divisor > 1 && longest <= NORM * NORM && longest > NORM * NORM / 2);
        assert_eq!(divided(&[5, -5, 4, -4, 7], 3), [2, -2, 1, -1, 2]);
        assert_eq!(divided(&[i16::MIN, -1, 0, i16::MAX], 1), [i16::MIN, -1, 0, i16::MAX]);
    }
}
