//! The merge of lists is exact, associative and commutative.

use nihbuild::index::{Engine, Gather, Index, Vectors, merge};
use proptest::prelude::*;

type List = Vec<(i32, u32)>;

/// The exact engine's lists over all passages, whose numbers are their places.
fn whole(base: &Vectors, queries: &Vectors, k: usize) -> Vec<List> {
    let mut lists = Vec::new();
    Index::build(Engine::Exact, base).unwrap().top(queries, k, |_, list| lists.push(list.to_vec())).unwrap();
    lists
}

/// The lists of a shard of these passages, which come in blocks of a size.
fn shard(base: &Vectors, numbers: &[u32], queries: &Vectors, k: usize, block: usize) -> Vec<List> {
    let mut gather = Gather::new(queries, |_| k).unwrap();
    for numbers in numbers.chunks(block) {
        let data = numbers.iter().flat_map(|n| base.row(*n as usize).to_vec()).collect();
        gather.take(numbers, &Vectors { dimensions: base.dimensions, data }).unwrap();
    }
    gather.lists()
}

/// Merges lists by a tree: each step takes the two that `turns` says, until one is left.
fn tree(mut lists: Vec<List>, turns: &[usize], k: usize) -> List {
    let mut turns = turns.iter().cycle();
    while lists.len() > 1 {
        let a = lists.remove(turns.next().unwrap() % lists.len());
        let b = lists.remove(turns.next().unwrap() % lists.len());
        lists.push(merge(&[&a, &b], k).unwrap());
    }
    lists.pop().unwrap()
}

fn vectors(dimensions: usize, numbers: &[i8], largest: i16) -> Vectors {
    let whole = numbers.len() / dimensions * dimensions;
    Vectors { dimensions, data: numbers[..whole].iter().map(|x| i16::from(*x) % (largest + 1)).collect() }
}

proptest! {
    #[test]
    fn any_split_and_any_tree_give_the_list_of_all(
        dimensions in 1usize..4,
        // Few values: most scores tie.
        largest in prop::sample::select(vec![1i16, 3, 127]),
        numbers in prop::collection::vec(any::<i8>(), 0..500),
        asked in prop::collection::vec(any::<i8>(), 4..20),
        k in 1usize..90,
        owners in prop::collection::vec(0usize..6, 500),
        order in prop::collection::vec(any::<u32>(), 500),
        turns in prop::collection::vec(0usize..100, 20),
        block in 1usize..60,
        again in 0usize..6,
    ) {
        let (base, queries) = (vectors(dimensions, &numbers, largest), vectors(dimensions, &asked, largest));
        // Every passage in some shard, in an order of its own; some shards are empty, and one is done twice.
        let mut all: Vec<u32> = (0..base.len() as u32).collect();
        all.sort_by_key(|n| (order[*n as usize], *n));
        let of = |owner: usize| -> Vec<u32> { all.iter().copied().filter(|n| owners[*n as usize] == owner).collect() };
        let mut shards: Vec<Vec<List>> = (0..6).map(|owner| shard(&base, &of(owner), &queries, k, block)).collect();
        shards.push(shards[again].clone());
        for (query, expected) in whole(&base, &queries, k).into_iter().enumerate() {
            let lists: Vec<List> = shards.iter().map(|lists| lists[query].clone()).collect();
            let slices: Vec<&[(i32, u32)]> = lists.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(&merge(&slices, k).unwrap(), &expected);
            prop_assert_eq!(&tree(lists, &turns, k), &expected);
        }
    }

    #[test]
    fn a_number_with_two_scores_is_named(
        mut list in prop::collection::btree_map(0u32..1000, -50i32..50, 1..40),
        which in any::<prop::sample::Index>(),
        change in 1i32..9,
    ) {
        let mut one: List = list.iter().map(|(n, score)| (*score, *n)).collect();
        let (number, score) = list.iter().nth(which.index(list.len())).map(|(n, s)| (*n, *s)).unwrap();
        list.insert(number, score + change);
        one.sort_by_key(|(score, n)| (std::cmp::Reverse(*score), *n));
        let other: List = list.iter().map(|(n, score)| (*score, *n)).collect();
        let conflict = merge(&[&one, &other], 100).unwrap_err();
        prop_assert_eq!((conflict.number, conflict.scores), (number, [score + change, score]));
        prop_assert_eq!(merge(&[&one, &one], 100).unwrap(), one);
    }
}

#[test]
fn many_passages_for_few_queries_are_split_among_threads() {
    // Ten blocks of passages and one of queries: each thread has a share, and the lists are merged.
    let base = Vectors { dimensions: 3, data: (0..60_000u32).map(|n| (n * 7919 % 13) as i16 - 6).collect() };
    let queries = Vectors { dimensions: 3, data: vec![1, -2, 3, 0, 0, 0, 5, 5, -1] };
    let lists = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| whole(&base, &queries, 700))
    };
    let one = lists(1);
    assert!(one[1].iter().copied().eq((0..700).map(|n| (0, n))), "all tie");
    for threads in [2, 3, 7] {
        assert!(lists(threads) == one, "{threads} threads");
    }
}

#[test]
fn a_shard_refuses_what_it_cannot_score() {
    let queries = Vectors { dimensions: 2, data: vec![1, 2] };
    let refused = |numbers: &[u32], passages: Vectors, said: &str| {
        let mut gather = Gather::new(&queries, |_| 3).unwrap();
        let error = gather.take(numbers, &passages).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    };
    refused(&[5, 5], Vectors { dimensions: 2, data: vec![1; 4] }, "passage 5 comes twice");
    refused(&[5], Vectors { dimensions: 3, data: vec![1; 3] }, "the queries have 2");
    refused(&[5, 6], Vectors { dimensions: 2, data: vec![1; 2] }, "for 2 numbers");
    let long = Vectors { dimensions: 2, data: vec![i16::MIN; 2] };
    let mut gather = Gather::new(&long, |_| 3).unwrap();
    assert!(gather.take(&[9], &long).unwrap_err().to_string().contains("score of passage 9 might not fit"));
    assert!(Gather::new(&queries, |_| 0).is_err());
}
