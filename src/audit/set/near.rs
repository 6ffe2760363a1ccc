//! Near-duplicates by MinHash: of each text a small sketch, and only texts whose sketches agree somewhere are compared.
//!
//! A sketch keeps of 128 shares of the hashes of all runs of twelve characters the least. Two texts agree in as many places, on
//! average, as they have runs in common of all that either has (their Jaccard similarity), give or take 3 in 100.

use crate::stage::duplicates::runs;

const PLACES: usize = 128;
/// Places that must all agree for two texts to be compared.
const BAND: usize = 4;
/// Texts are alike from this share of places on, in percent.
const ALIKE: usize = 90;
/// Rows that a row is compared with in one band, besides the first: more would cost the square of their number.
const BEFORE: usize = 4;
const EMPTY: u16 = u16::MAX;

/// The sketch of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sketch([u16; PLACES]);

impl Sketch {
    /// The sketch of a [normalised](crate::language::normalize()) text; none of one shorter than a run.
    pub fn of(text: &str) -> Option<Box<Sketch>> {
        let mut least = [u64::MAX; PLACES];
        runs(text, |hash| {
            let place = &mut least[(hash >> 57) as usize];
            *place = hash.min(*place);
        });
        if least.iter().all(|hash| *hash == u64::MAX) {
            return None;
        }
        let kept = |hash: u64| if hash == u64::MAX { EMPTY } else { (hash as u16).min(EMPTY - 1) };
        Some(Box::new(Sketch(least.map(kept))))
    }

    /// The share of runs in common, in percent.
    pub fn shared(&self, other: &Sketch) -> usize {
        let places = || self.0.iter().zip(&other.0).filter(|(a, b)| **a != EMPTY || **b != EMPTY);
        places().filter(|(a, b)| a == b).count() * 100 / places().count().max(1)
    }
}

/// One row, as near-duplicates are looked for.
pub struct Candidate {
    /// Its text.
    pub sketch: Box<Sketch>,
    /// What must be equal: question, answers and all else that tells rows of a design apart.
    pub same: u64,
    /// Where the gold stands, in millionths of the text.
    pub depth: Option<u32>,
    /// Tokens of the prompt.
    pub tokens: u64,
}

/// Rows whose gold stands this much apart, in millionths, are tests of its place.
const APART: u32 = 5_000;

/// Rows longer than this whose lengths differ by more than two in a hundred are tests of the length.
const LONG: u64 = 1000;

/// For each row the first row before it that is nearly the same, and the share of runs in common in percent.
pub fn near(rows: &[Candidate]) -> Vec<Option<(usize, usize)>> {
    let mut found: Vec<Option<(usize, usize)>> = vec![None; rows.len()];
    for band in (0..PLACES).step_by(BAND) {
        let key = |row: &Candidate| {
            let places: [u16; BAND] = row.sketch.0[band..band + BAND].try_into().expect("a band of places");
            places.iter().any(|place| *place != EMPTY).then_some((row.same, places))
        };
        let mut keyed: Vec<_> = rows.iter().enumerate().filter_map(|(n, row)| Some((key(row)?, n))).collect();
        keyed.sort_unstable();
        for group in keyed.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            for (at, (_, row)) in group.iter().enumerate().skip(1) {
                let before = group[at.saturating_sub(BEFORE)..at].iter();
                for (_, other) in group[..1].iter().chain(before) {
                    if found[*row].is_some_and(|(first, _)| first <= *other) {
                        continue;
                    }
                    if let Some(shared) = alike(&rows[*other], &rows[*row]) {
                        found[*row] = Some((*other, shared));
                    }
                }
            }
        }
    }
    found
}

fn alike(a: &Candidate, b: &Candidate) -> Option<usize> {
    let apart = a.depth.zip(b.depth).is_some_and(|(a, b)| a.abs_diff(b) > APART);
    let (less, more) = (a.tokens.min(b.tokens), a.tokens.max(b.tokens));
    let apart = apart || less > LONG && (more - less) * 50 > more;
    let shared = a.sketch.shared(&b.sketch);
    (!apart && shared >= ALIKE).then_some(shared)
}
