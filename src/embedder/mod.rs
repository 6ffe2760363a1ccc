//! Text to vectors of small integers, so that similarity is exact on every machine.

mod ngram;
#[cfg(feature = "embed")]
pub mod onnx;
pub mod pinned;

use crate::recipe::EmbedderName;

/// An embedder: a row of the table below.
pub struct Embedder {
    /// As recipes write it.
    pub name: EmbedderName,
    /// Raised when it makes other vectors of the same text.
    pub version: u32,
    /// Components of a vector.
    pub dimensions: usize,
    /// The vector of a text; adds nothing to what is there, `out` has `dimensions` components.
    pub embed: fn(&str, &mut [i8]),
}

/// Every embedder.
pub const EMBEDDERS: &[Embedder] =
    &[Embedder { name: EmbedderName::Ngram, version: 1, dimensions: ngram::DIMENSIONS, embed: ngram::embed }];

/// The embedder of a name.
pub fn embedder(name: EmbedderName) -> &'static Embedder {
    EMBEDDERS.iter().find(|e| e.name == name).expect("every name has its row")
}

/// Similarity of two vectors of the same embedder.
pub fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
}
