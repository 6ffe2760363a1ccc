//! The best of one query: gathered from scores, and merged from the lists of shards.
//!
//! A list goes by descending score, then ascending number. [`merge`] takes what several lists hold, each number once, and keeps the
//! `k` best of it. Sets have one union, and the `k` best of a union are among the `k` best of its parts: so it is exact,
//! associative and commutative, and any way to split passages into shards gives the list of all of them.

use super::{key, unkey};
use std::fmt;

/// Scores looked through at a time.
pub(super) const CHUNK: usize = 32;

/// An exact integer in one of two types.
pub(super) trait Score: Copy + PartialOrd {
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

/// Numbers of the passages whose scores are offered.
#[derive(Clone, Copy)]
pub(super) enum Numbers<'a> {
    /// This and those that follow, all above every one offered before.
    From(u32),
    /// These, in any order.
    Each(&'a [u32]),
}

/// The `k` best of one query so far, and some that were among them when they came.
pub(super) struct Best {
    k: usize,
    room: usize,
    keys: Vec<u64>,
    /// The k-th best score when the keys were last cut to `k`.
    least: Option<i32>,
}

impl Best {
    pub(super) fn new(k: usize) -> Best {
        let room = Best::room(k);
        // A shard may hold far fewer passages than are asked for.
        Best { k, room, keys: Vec::with_capacity(room.min(1 << 13)), least: None }
    }

    /// How many keys are gathered before they are cut to `k`: so many that the cuts cost a constant a key.
    pub(super) fn room(k: usize) -> usize {
        k.saturating_add(k.max(128)).saturating_add(CHUNK)
    }

    /// Takes the scores of passages; no passage may be offered twice.
    pub(super) fn offer<S: Score>(&mut self, scores: &[S], numbers: Numbers<'_>) {
        match numbers {
            Numbers::From(first) => self.each(scores, |n| first + n as u32, 0),
            // A passage that scores as much as the k-th may come before it by its number.
            Numbers::Each(numbers) => self.each(scores, |n| numbers[n], 1),
        }
    }

    /// `below`: what a score may lack to the k-th and yet be looked at.
    fn each<S: Score>(&mut self, scores: &[S], number: impl Fn(usize) -> u32, below: i32) {
        for (nth, scores) in scores.chunks(CHUNK).enumerate() {
            let first = nth * CHUNK;
            let Some(least) = self.least else {
                self.keys.extend((first..).zip(scores).map(|(n, score)| key(score.integer(), number(n))));
                self.cut();
                continue;
            };
            // Most chunks hold nothing: one test for all of them, without a branch inside.
            let least = S::of(least.saturating_sub(below));
            if !scores.iter().fold(false, |any, score| any | (*score > least)) {
                continue;
            }
            let above = (first..).zip(scores).filter(|(_, score)| **score > least);
            self.keys.extend(above.map(|(n, score)| key(score.integer(), number(n))));
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

    pub(super) fn list(mut self) -> Vec<(i32, u32)> {
        if self.keys.len() > self.k {
            self.keys.select_nth_unstable(self.k - 1);
            self.keys.truncate(self.k);
        }
        self.keys.sort_unstable();
        self.keys.into_iter().map(unkey).collect()
    }
}

/// The lists of disjoint shards as one.
pub(super) fn merge_disjoint(lists: &[&[(i32, u32)]], k: usize) -> Vec<(i32, u32)> {
    let mut keys: Vec<u64> = lists.iter().copied().flatten().map(|(score, number)| key(*score, *number)).collect();
    keys.sort_unstable();
    keys.truncate(k);
    keys.into_iter().map(unkey).collect()
}

/// A number that came with two scores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The number.
    pub number: u32,
    /// Its scores, the larger first.
    pub scores: [i32; 2],
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.scores;
        write!(f, "number {} scores {a} and {b}: its shards were not made of the same vectors", self.number)
    }
}

/// The `k` best of what lists hold, in order, each number once: by descending score, then ascending number.
///
/// # Errors
///
/// A number that stands there with two scores. (Where one of them fell out of an earlier merge, this is not seen.)
pub fn merge(lists: &[&[(i32, u32)]], k: usize) -> Result<Vec<(i32, u32)>, Conflict> {
    let mut keys: Vec<u64> = lists.iter().copied().flatten().map(|(score, number)| key(*score, *number)).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut numbers: Vec<(u32, i32)> = keys.iter().map(|key| unkey(*key)).map(|(score, n)| (n, score)).collect();
    numbers.sort_unstable();
    if let Some(pair) = numbers.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Conflict { number: pair[0].0, scores: [pair[1].1, pair[0].1] });
    }
    keys.truncate(k);
    Ok(keys.into_iter().map(unkey).collect())
}
