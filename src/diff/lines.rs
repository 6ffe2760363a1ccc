//! Two texts line by line: what of one is not in the other, with a little of what stands around it.
//!
//! Lines that stand once in both hold the two together: the longest row of them that keeps its order (a patience diff).
//! Between them the same again, so that prompts of ten thousand lines take milliseconds, whatever they hold.

use rustc_hash::FxHashMap;
use serde::Serialize;

/// So many lines around a change are shown.
const CONTEXT: usize = 2;

/// Up to so many pairs of lines are compared one by one where no line stands once in both.
const SMALL: usize = 1 << 16;

/// Where a line stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum In {
    /// In both.
    Both,
    /// In the first alone.
    A,
    /// In the second alone.
    B,
}

/// A change with the lines around it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Hunk {
    /// Its first line in the first text, counted from 1.
    pub a: usize,
    /// Its first line in the second text.
    pub b: usize,
    /// Its lines; of each change those of the first text come first.
    pub lines: Vec<(In, String)>,
}

/// Two texts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Lines {
    /// Lines of the first.
    pub a: usize,
    /// Lines of the second.
    pub b: usize,
    /// Lines that both have, in one order.
    pub same: usize,
    /// What differs.
    pub hunks: Vec<Hunk>,
}

/// Compares two texts line by line.
pub fn lines(a: &str, b: &str) -> Lines {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('\n').collect(), b.split('\n').collect());
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    let mut numbered: [Vec<u32>; 2] = Default::default();
    for (lines, numbered) in [&a, &b].into_iter().zip(&mut numbered) {
        for line in lines {
            let next = numbers.len() as u32;
            numbered.push(*numbers.entry(line).or_insert(next));
        }
    }
    let pairs = pairs(&numbered[0], &numbered[1]);
    Lines { a: a.len(), b: b.len(), same: pairs.len(), hunks: hunks(&a, &b, &pairs) }
}

/// The changes between pairs of equal lines, those near each other in one.
fn hunks(a: &[&str], b: &[&str], pairs: &[(usize, usize)]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    // Where the last change ended, in both texts.
    let mut ended: Option<(usize, usize)> = None;
    let mut at = (0, 0);
    for &(i, j) in pairs.iter().chain([&(a.len(), b.len())]) {
        if (i, j) != at {
            let near = ended.filter(|(x, _)| at.0 - x <= 2 * CONTEXT);
            match near {
                Some((x, _)) => {
                    let hunk = hunks.last_mut().expect("a change ended");
                    // It was closed with some of these.
                    let closed = CONTEXT.min(at.0 - x);
                    hunk.lines.extend(a[x + closed..at.0].iter().map(|line| (In::Both, (*line).to_owned())));
                }
                None => {
                    let before = CONTEXT.min(at.0).min(at.1).min(ended.map_or(usize::MAX, |(x, _)| at.0 - x));
                    let lines = a[at.0 - before..at.0].iter().map(|line| (In::Both, (*line).to_owned()));
                    hunks.push(Hunk { a: at.0 - before + 1, b: at.1 - before + 1, lines: lines.collect() });
                }
            }
            let hunk = hunks.last_mut().expect("one was just there");
            hunk.lines.extend(a[at.0..i].iter().map(|line| (In::A, (*line).to_owned())));
            hunk.lines.extend(b[at.1..j].iter().map(|line| (In::B, (*line).to_owned())));
            ended = Some((i, j));
        }
        // The lines behind a change that belong to it.
        if let Some((x, _)) = ended
            && i < a.len()
            && i - x < CONTEXT
        {
            let hunk = hunks.last_mut().expect("a change ended");
            hunk.lines.push((In::Both, a[i].to_owned()));
        }
        at = (i + 1, j + 1);
    }
    hunks
}

/// Places of equal lines, ascending in both texts.
fn pairs(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut todo = vec![((0, a.len()), (0, b.len()))];
    while let Some(((mut a0, mut a1), (mut b0, mut b1))) = todo.pop() {
        while a0 < a1 && b0 < b1 && a[a0] == b[b0] {
            pairs.push((a0, b0));
            (a0, b0) = (a0 + 1, b0 + 1);
        }
        while a0 < a1 && b0 < b1 && a[a1 - 1] == b[b1 - 1] {
            (a1, b1) = (a1 - 1, b1 - 1);
            pairs.push((a1, b1));
        }
        let held = longest(&once(&a[a0..a1], &b[b0..b1]));
        if held.is_empty() {
            if (a1 - a0) * (b1 - b0) <= SMALL {
                pairs.extend(common(&a[a0..a1], &b[b0..b1]).into_iter().map(|(i, j)| (a0 + i, b0 + j)));
            }
            continue;
        }
        let (mut x, mut y) = (a0, b0);
        for (i, j) in held {
            let (i, j) = (a0 + i, b0 + j);
            pairs.push((i, j));
            todo.extend((x < i && y < j).then_some(((x, i), (y, j))));
            (x, y) = (i + 1, j + 1);
        }
        todo.extend((x < a1 && y < b1).then_some(((x, a1), (y, b1))));
    }
    pairs.sort_unstable();
    pairs
}

/// Places of the lines that stand once in both, in the order of the first.
fn once(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    // How often in each, and where last.
    let mut seen: FxHashMap<u32, [(u32, usize); 2]> = FxHashMap::default();
    for (side, lines) in [a, b].into_iter().enumerate() {
        for (n, line) in lines.iter().enumerate() {
            let (times, place) = &mut seen.entry(*line).or_default()[side];
            (*times, *place) = (*times + 1, n);
        }
    }
    let of = |line: &u32| match seen[line] {
        [(1, i), (1, j)] => Some((i, j)),
        _ => None,
    };
    a.iter().filter_map(of).collect()
}

/// The longest row of pairs that ascends in both places.
fn longest(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The last pair of the best row of each length so far, and each pair's one before.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (n, (_, j)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *j);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = n,
            None => ends.push(n),
        }
    }
    let mut row: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |n| before[*n]).map(|n| pairs[n]).collect();
    row.reverse();
    row
}

/// The longest common row of two short lists.
fn common(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let wide = b.len() + 1;
    let mut left = vec![0_u32; (a.len() + 1) * wide];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            left[i * wide + j] = match a[i] == b[j] {
                true => left[(i + 1) * wide + j + 1] + 1,
                false => left[(i + 1) * wide + j].max(left[i * wide + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut row) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            row.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if left[(i + 1) * wide + j] >= left[i * wide + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    row
}
