//! Nearest neighbours: the exact engine beside the bare matrix product it is made of, the graph beside the exact engine.

use crate::{Figures, now};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use nihbuild::index::{Engine, Index, Vectors, recall};
use nihbuild::seed::{Rng, Seed};
use std::time::Duration;

const DIMENSIONS: usize = 384;
const TOP: usize = 300;
/// Dimensions in which the passages of the graph truly differ.
const LATENT: usize = 32;

pub(crate) fn run(figures: &mut Figures) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        exact(figures);
        graph(figures);
    });
}

/// Runs it and says how long it took.
fn timed<T>(of: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let result = of();
    (result, start.elapsed())
}

fn exact(figures: &mut Figures) {
    println!("5,000 queries, 10,000 passages, {DIMENSIONS} dimensions, top {TOP}, two threads");
    let mut rng = Seed::new("1").derive("bench", "exact");
    let centres = uniform(&mut rng, 200, DIMENSIONS);
    let (queries, base) = (around(&mut rng, 5_000, &centres), around(&mut rng, 10_000, &centres));
    let floats = |vectors: &Vectors| -> Vec<f32> { vectors.data.iter().map(|&x| f32::from(x)).collect() };
    let (left, right) = (floats(&base), floats(&queries));
    let mut scores = vec![0f32; base.len() * queries.len()];
    let (mut bare, mut whole) = (Duration::MAX, Duration::MAX);
    let mut sum = 0i64;
    // In turns, so that neither has the machine to itself.
    for _ in 0..5 {
        let time = timed(|| {
            let product = MatMut::from_column_major_slice_mut(&mut scores, base.len(), queries.len());
            let left = MatRef::from_row_major_slice(&left, base.len(), DIMENSIONS);
            let right = MatRef::from_column_major_slice(&right, DIMENSIONS, queries.len());
            matmul(product, Accum::Replace, left, right, 1.0, Par::rayon(0));
        });
        bare = bare.min(time.1);
        let time = timed(|| {
            let index = Index::build(Engine::Exact, &base).unwrap();
            index.top(&queries, TOP, |_, list| sum += list.iter().map(|x| i64::from(x.0)).sum::<i64>()).unwrap();
        });
        whole = whole.min(time.1);
    }
    let ratio = whole.as_secs_f64() / bare.as_secs_f64();
    println!("       bare product {:.3} s, exact {:.3} s (sum {sum})", bare.as_secs_f64(), whole.as_secs_f64());
    figures.check("exact search against the bare product", format!("{ratio:.2} times"), "<= 2 times", ratio <= 2.0);
}

fn graph(figures: &mut Figures) {
    println!("1,000 queries, 100,000 passages in 2,000 clusters, {DIMENSIONS} dimensions, top {TOP}");
    let mut rng = Seed::new("1").derive("bench", "graph");
    let centres = uniform(&mut rng, 2_000, LATENT);
    let mix = uniform(&mut rng, DIMENSIONS, LATENT);
    let (base, queries) = (mixed(&mut rng, 100_000, &centres, &mix), mixed(&mut rng, 1_000, &centres, &mix));
    let mut sum = 0i64;
    let mut search =
        |index: &Index<'_>| timed(|| index.top(&queries, TOP, |_, list| sum += i64::from(list[0].0)).unwrap());
    let (index, built) = timed(|| Index::build(Engine::Exact, &base).unwrap());
    let (_, time) = search(&index);
    println!("       exact: made in {:.2} s, searched in {:.2} s", built.as_secs_f64(), time.as_secs_f64());
    let (index, built) = timed(|| Index::build(Engine::Hnsw, &base).unwrap());
    let (searched, time) = search(&index);
    println!(
        "       graph: made in {:.1} s, searched in {:.2} s with {} candidates, {} queries exactly (sum {sum})",
        built.as_secs_f64(),
        time.as_secs_f64(),
        index.candidates(TOP),
        searched.exact
    );
    let found = f64::from(recall(&index, &base, &queries, TOP).unwrap()) / 1e6;
    figures.check("recall of the graph", format!("{found:.6}"), ">= 0.99", found >= 0.99);
}

/// Vectors without any order among them, components from -40 to 40.
fn uniform(rng: &mut Rng, n: usize, dimensions: usize) -> Vectors {
    Vectors { dimensions, data: (0..n * dimensions).map(|_| rng.below(81) as i16 - 40).collect() }
}

/// A vector near one of the centres.
fn near(rng: &mut Rng, centres: &Vectors, noise: usize) -> Vec<i64> {
    let centre = centres.row(rng.below(centres.len()));
    centre.iter().map(|x| i64::from(*x) + rng.below(2 * noise + 1) as i64 - noise as i64).collect()
}

/// Brought to a norm of 512.
fn quantised(vector: &[i64]) -> impl Iterator<Item = i16> {
    let norm = vector.iter().map(|x| x * x).sum::<i64>().isqrt().max(1);
    vector.iter().map(move |x| (x * 512 / norm).clamp(-127, 127) as i16)
}

/// Vectors near seeded centres, with noise of its own in every dimension.
fn around(rng: &mut Rng, n: usize, centres: &Vectors) -> Vectors {
    let data = (0..n).flat_map(|_| quantised(&near(rng, centres, 40)).collect::<Vec<_>>()).collect();
    Vectors { dimensions: DIMENSIONS, data }
}

/// Vectors near seeded centres of a space of few dimensions, seen in many and with some noise there.
///
/// So do embeddings of texts lie. Noise in 384 dimensions that are all independent would put everything outside a query's cluster
/// at nearly one distance from it: then no graph leads to the nearest, and none of them means more than the others.
fn mixed(rng: &mut Rng, n: usize, centres: &Vectors, mix: &Vectors) -> Vectors {
    let mut data = Vec::with_capacity(n * mix.len());
    for _ in 0..n {
        let inner = near(rng, centres, 30);
        let seen = |row: usize| mix.row(row).iter().zip(&inner).map(|(a, b)| i64::from(*a) * b).sum::<i64>();
        let outer: Vec<i64> = (0..mix.len()).map(|row| seen(row) + rng.below(1601) as i64 - 800).collect();
        data.extend(quantised(&outer));
    }
    Vectors { dimensions: mix.len(), data }
}
