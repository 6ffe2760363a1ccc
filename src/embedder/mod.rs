//! Text to vectors of small integers, so that similarity is exact on every machine.
//!
//! [`ngram`] is exact itself. A neural model is not, so its vectors are pinned: computed once, published with the
//! release, reused bit for bit ([`pinned`], and `stage::embed`).

pub mod ngram;
#[cfg(feature = "embed")]
pub mod onnx;
pub mod pinned;

/// Which side of a comparison a text stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// What is searched for.
    Query,
    /// What is found.
    Passage,
}

/// Similarity of two vectors of the same embedder.
pub fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
}
