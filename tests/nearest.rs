//! Nearest neighbours: the exact engine against a plain sort, the graph against the exact engine.

use nihbuild::hash::Digest;
use nihbuild::index::{Engine, Index, Searched, Vectors, recall};
use nihbuild::seed::{Rng, Seed};
use proptest::prelude::*;
use std::cmp::Reverse;

type Lists = Vec<Vec<(i32, u32)>>;

/// The lists of an engine, on so many threads.
fn lists(engine: Engine, base: &Vectors, queries: &Vectors, k: usize, threads: usize) -> (Lists, Searched) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut lists = Vec::new();
        let index = Index::build(engine, base).unwrap();
        let searched = index.top(queries, k, |query, list| {
            assert_eq!(query, lists.len(), "queries come in order");
            lists.push(list.to_vec());
        });
        (lists, searched.unwrap())
    })
}

/// The definition: every score in 64 bits, all of them sorted.
fn naive(base: &Vectors, queries: &Vectors, k: usize) -> Lists {
    (0..queries.len())
        .map(|query| {
            let score = |id: usize| -> i64 {
                base.row(id).iter().zip(queries.row(query)).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum()
            };
            let mut all: Vec<(i32, u32)> =
                (0..base.len()).map(|id| (score(id).try_into().unwrap(), id as u32)).collect();
            all.sort_by_key(|&(score, id)| (Reverse(score), id));
            all.truncate(k);
            all
        })
        .collect()
}

/// Vectors with components from -`largest` to `largest`.
fn random(rng: &mut Rng, n: usize, dimensions: usize, largest: usize) -> Vectors {
    let data = (0..n * dimensions).map(|_| (rng.below(2 * largest + 1) as i32 - largest as i32) as i16).collect();
    Vectors { dimensions, data }
}

/// Vectors in clusters, of norms that differ up to three times.
fn clustered(rng: &mut Rng, n: usize, centres: &Vectors) -> Vectors {
    let mut data = Vec::new();
    for _ in 0..n {
        let centre = centres.row(rng.below(centres.len()));
        let length = 1 + rng.below(3) as i16;
        data.extend(centre.iter().map(|x| (x + rng.below(41) as i16 - 20) * length));
    }
    Vectors { dimensions: centres.dimensions, data }
}

#[test]
fn exact_is_the_plain_sort() {
    let mut rng = Seed::new("1").derive("nearest", "exact");
    // Components of -1, 0 and 1 tie by the hundred; 4,500 passages are more than two blocks.
    for (n, queries, d, largest, k) in
        [(1, 1, 1, 3, 1), (4500, 300, 7, 1, 50), (700, 40, 33, 60, 700), (40, 5, 16, 2, 1000), (3000, 9, 24, 90, 1)]
    {
        let base = random(&mut rng, n, d, largest);
        let queries = random(&mut rng, queries, d, largest);
        let expected = naive(&base, &queries, k);
        for threads in [1, 2] {
            let (found, searched) = lists(Engine::Exact, &base, &queries, k, threads);
            assert!(found == expected, "{n} passages, {k} of them, {threads} threads");
            assert_eq!(searched, Searched { queries: queries.len(), exact: queries.len() });
        }
    }
}

#[test]
fn duplicates_come_by_id() {
    let base = Vectors { dimensions: 2, data: [3, -1].repeat(5000) };
    let queries = Vectors { dimensions: 2, data: vec![1, 1, 0, 0, -4, 2] };
    for (engine, k) in [(Engine::Exact, 4), (Engine::Exact, 3000)] {
        let found = lists(engine, &base, &queries, k, 2).0;
        for (list, score) in found.iter().zip([2, 0, -14]) {
            assert!(list.iter().copied().eq((0..k as u32).map(|id| (score, id))));
        }
    }
}

#[test]
fn long_vectors_are_scored_by_integers() {
    let mut rng = Seed::new("1").derive("nearest", "long");
    // Odd scores far above 2^24, which floats of 24 bits cannot tell apart.
    let mut base = random(&mut rng, 1000, 2, 1000);
    base.data.iter_mut().skip(1).step_by(2).for_each(|x| *x = 30_000 + *x % 3);
    let queries = Vectors { dimensions: 2, data: vec![1, 30_001, -1, 29_999, 0, 3] };
    assert!(naive(&base, &queries, 1)[0][0].0 > 1 << 29);
    assert_eq!(lists(Engine::Exact, &base, &queries, 100, 2).0, naive(&base, &queries, 100));
    // The graph divides them; what it finds still has its exact scores.
    let (found, searched) = lists(Engine::Hnsw, &base, &queries, 100, 2);
    assert_eq!(searched, Searched { queries: 3, exact: 0 });
    for (list, all) in found.iter().zip(naive(&base, &queries, 1000)) {
        assert!(list.len() == 100 && list.iter().all(|pair| all.contains(pair)));
    }
}

#[test]
fn bad_input_is_refused() {
    let base = Vectors { dimensions: 2, data: vec![1, 2, 3, 4] };
    let top = |engine, base: &Vectors, queries: &Vectors, k| {
        let mut lists = Vec::new();
        let index = Index::build(engine, base).map_err(|e| e.to_string())?;
        let searched = index.top(queries, k, |_, list| lists.push(list.len())).map_err(|e| e.to_string())?;
        assert_eq!(searched.queries, lists.len());
        Ok::<_, String>(lists)
    };
    for engine in [Engine::Exact, Engine::Hnsw] {
        assert_eq!(top(engine, &base, &base, 0).unwrap(), [0, 0], "none asked for");
        assert_eq!(top(engine, &base, &base, usize::MAX).unwrap(), [2, 2], "more than there are");
        let none = Vectors { dimensions: 2, data: vec![] };
        assert_eq!(top(engine, &none, &base, 3).unwrap(), [0, 0], "no passages");
        assert_eq!(top(engine, &base, &none, 3).unwrap(), [0; 0], "no queries");
        let zeros = Vectors { dimensions: 2, data: vec![0; 20] };
        assert_eq!(top(engine, &zeros, &zeros, 3).unwrap(), [3; 10], "zeros");
        assert_eq!(top(engine, &zeros, &base, 3).unwrap(), [3, 3], "zeros");

        let three = Vectors { dimensions: 3, data: vec![1; 3] };
        assert!(top(engine, &base, &three, 1).unwrap_err().contains("the queries have 3 dimensions, the passages 2"));
        let cut = Vectors { dimensions: 2, data: vec![1; 3] };
        assert!(top(engine, &cut, &base, 1).unwrap_err().contains("the last vector has 1 of 2 components"));
        assert!(top(engine, &Vectors::default(), &base, 1).unwrap_err().contains("at least one dimension"));
        let long = Vectors { dimensions: 2, data: vec![i16::MIN; 4] };
        assert!(top(engine, &long, &base, 1).is_ok());
        assert!(top(engine, &long, &long, 1).unwrap_err().contains("might not fit 32 bits"));
    }
}

#[test]
fn the_graph_finds_what_is_near() {
    let mut rng = Seed::new("1").derive("nearest", "graph");
    let centres = random(&mut rng, 60, 32, 90);
    let (base, queries) = (clustered(&mut rng, 3000, &centres), clustered(&mut rng, 60, &centres));
    let index = Index::build(Engine::Hnsw, &base).unwrap();
    assert_eq!((index.candidates(100), index.candidates(400), index.candidates(2000)), (600, 800, 3000));
    let found = recall(&index, &base, &queries, 100).unwrap();
    assert!(found >= 990_000, "{found}");

    let once = lists(Engine::Hnsw, &base, &queries, 100, 1);
    assert!(once == lists(Engine::Hnsw, &base, &queries, 100, 1), "another run");
    assert!(once == lists(Engine::Hnsw, &base, &queries, 100, 2), "two threads");
    let exact = naive(&base, &queries, 100);
    // Pinned: a version of the library that finds other passages here would change releases.
    let bytes: Vec<u8> = once.0.iter().flatten().flat_map(|(_, id)| id.to_le_bytes()).collect();
    assert_eq!(Digest::of(bytes).short(), "e5babf2a");
    let same = once.0.iter().zip(&exact).filter(|(a, b)| a == b).count();
    assert!(same >= 50, "{same} of 60 lists are the exact ones");
    for list in &once.0 {
        assert!(list.len() == 100 && list.is_sorted_by_key(|&(score, id)| (Reverse(score), id)));
    }
    // The exact engine is measured in the same way.
    assert_eq!(recall(&Index::build(Engine::Exact, &base).unwrap(), &base, &queries, 100).unwrap(), 1_000_000);
    assert!(recall(&index, &queries, &queries, 100).is_err(), "over other passages");
}

#[test]
fn a_graph_that_leads_nowhere_is_not_relied_on() {
    // Copies of three vectors: links lead from copy to copy, and there are fewer of each than asked for.
    let mut rng = Seed::new("1").derive("nearest", "copies");
    let few = random(&mut rng, 3, 8, 90);
    let base = Vectors { dimensions: 8, data: (0..2000).flat_map(|n| few.row(n % 3).to_vec()).collect() };
    let k = 900;
    let (found, searched) = lists(Engine::Hnsw, &base, &few, k, 2);
    assert!(found.iter().all(|list| list.len() == k));
    assert_eq!(searched, Searched { queries: 3, exact: 3 });
    assert!(found == naive(&base, &few, k));
}

proptest! {
    #[test]
    fn exact_is_the_plain_sort_of_anything(
        dimensions in 1usize..6,
        largest in prop::sample::select(vec![1i16, 5, 500, 13_000]),
        numbers in prop::collection::vec(any::<i16>(), 0..400),
        asked in prop::collection::vec(any::<i16>(), 0..40),
        k in 0usize..90,
    ) {
        let vectors = |numbers: &[i16]| Vectors {
            dimensions,
            data: numbers[..numbers.len() / dimensions * dimensions].iter().map(|x| x % (largest + 1)).collect(),
        };
        let (base, queries) = (vectors(&numbers), vectors(&asked));
        prop_assert_eq!(lists(Engine::Exact, &base, &queries, k, 2).0, naive(&base, &queries, k));
    }
}
