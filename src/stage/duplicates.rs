//! Near-duplicates: passages that share most of their wording, whatever their case, marks and spacing.

use crate::language::normalize;
use memchr::memmem;

/// Characters in a shingle, spaces included.
const WIDTH: usize = 12;
/// One shingle in so many is kept, by its hash: the same ones in every text.
const KEEP: u64 = 8;
/// Texts that share fewer kept shingles are not alike, however short they are.
const LEAST: usize = 4;
/// With fewer kept shingles than this, a text is also looked for whole in the other.
const FEW: usize = 8;
/// Multiplier of the rolling hash; any odd number with mixed bits serves.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A text's wording: a fixed sample of its hashed runs of twelve characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shingles {
    /// Sorted, distinct.
    kept: Vec<u64>,
    /// The normalised text.
    text: Box<str>,
}

impl Shingles {
    /// Takes the sample of a text as published; it is normalised here.
    pub fn of(text: &str) -> Shingles {
        Shingles::of_normal(normalize(text))
    }

    /// The same of a text that is normalised already.
    pub fn of_normal(text: String) -> Shingles {
        let text = text.into_boxed_str();
        let mut kept = Vec::new();
        runs(&text, |hash| kept.extend(hash.is_multiple_of(KEEP).then_some(hash)));
        kept.sort_unstable();
        kept.dedup();
        Shingles { kept, text }
    }

    /// Are two texts near-duplicates?
    ///
    /// They are if they share at least half of the smaller sample and at least four shingles. A text with few shingles
    /// also counts if it stands whole in the other and has twelve characters or more, or if both are the same.
    pub fn similar(&self, other: &Shingles) -> bool {
        let (mut a, mut b, mut shared) = (0, 0, 0);
        while a < self.kept.len() && b < other.kept.len() {
            let (x, y) = (self.kept[a], other.kept[b]);
            shared += usize::from(x == y);
            a += usize::from(x <= y);
            b += usize::from(y <= x);
        }
        enough(shared, self.kept.len().min(other.kept.len())) || self.holds(other) || other.holds(self)
    }

    /// Does a short text stand whole in this one?
    fn holds(&self, short: &Shingles) -> bool {
        if !short.is_short() || short.text.is_empty() {
            return false;
        }
        self.text == short.text
            || short.is_quotable() && memmem::find(self.text.as_bytes(), short.text.as_bytes()).is_some()
    }

    fn is_short(&self) -> bool {
        self.kept.len() < FEW
    }

    /// Long enough that its standing in another text is no accident.
    fn is_quotable(&self) -> bool {
        self.text.chars().nth(WIDTH - 1).is_some()
    }
}

/// Hands on the hash of each run of twelve characters of a normalised text, in order.
pub(crate) fn runs(text: &str, mut take: impl FnMut(u64)) {
    let chars: Vec<char> = text.chars().collect();
    let out = (0..WIDTH).fold(1u64, |power, _| power.wrapping_mul(BASE));
    let mut rolling = 0u64;
    for (n, c) in chars.iter().enumerate() {
        rolling = rolling.wrapping_mul(BASE).wrapping_add(u64::from(*c as u32) + 1);
        if n >= WIDTH {
            rolling = rolling.wrapping_sub(out.wrapping_mul(u64::from(chars[n - WIDTH] as u32) + 1));
        }
        if n + 1 >= WIDTH {
            take(mix(rolling));
        }
    }
}

fn enough(shared: usize, smaller: usize) -> bool {
    shared >= LEAST && 2 * shared >= smaller
}

/// Spreads the rolling hash's bits, whose low ones depend on few characters.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
    x = (x ^ (x >> 27)).wrapping_mul(0x81da_def4_bc2d_d44d);
    x ^ (x >> 33)
}

/// Passages by their shingles: finds the near-duplicates of a text without comparing it with each.
///
/// Memory: the normalised passages, and twenty bytes for each kept shingle (about one in eight characters).
pub struct Near {
    passages: Vec<Shingles>,
    /// (shingle, passage), sorted.
    index: Vec<(u64, u32)>,
    /// Passages with few shingles.
    short: Vec<u32>,
}

impl Near {
    /// Indexes passages; they are numbered as they come.
    pub fn new<'a>(passages: impl Iterator<Item = &'a str>) -> Near {
        Near::among(passages.map(Shingles::of).collect())
    }

    /// The same of passages whose shingles are there.
    pub fn among(passages: Vec<Shingles>) -> Near {
        let numbered = || (0u32..).zip(&passages);
        let mut index: Vec<(u64, u32)> =
            numbered().flat_map(|(n, p)| p.kept.iter().map(move |hash| (*hash, n))).collect();
        index.sort_unstable();
        let short = numbered().filter(|(_, p)| p.is_short()).map(|(n, _)| n).collect();
        Near { passages, index, short }
    }

    /// Numbers of the passages [similar](Shingles::similar) to a text, ascending.
    pub fn of(&self, text: &str) -> Vec<u32> {
        self.like(&Shingles::of(text))
    }

    /// The same of a text whose shingles are there.
    pub fn like(&self, asked: &Shingles) -> Vec<u32> {
        let mut shared: Vec<u32> = Vec::new();
        for hash in &asked.kept {
            let from = self.index.partition_point(|(h, _)| h < hash);
            shared.extend(self.index[from..].iter().take_while(|(h, _)| h == hash).map(|(_, n)| *n));
        }
        shared.sort_unstable();
        let alike = |group: &&[u32]| {
            let passage = &self.passages[group[0] as usize];
            enough(group.len(), passage.kept.len().min(asked.kept.len()))
        };
        let mut near: Vec<u32> = shared.chunk_by(|a, b| a == b).filter(alike).map(|group| group[0]).collect();
        near.extend(self.short.iter().filter(|n| asked.holds(&self.passages[**n as usize])));
        if asked.is_short() {
            near.extend((0u32..).zip(&self.passages).filter(|(_, p)| p.holds(asked)).map(|(n, _)| n));
        }
        near.sort_unstable();
        near.dedup();
        near
    }
}
