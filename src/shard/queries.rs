//! The queries of a search, all of which every shard's worker holds.

use super::said::Said;
use super::stream::{Event, Source, each};
use super::{EMBEDDER, QUESTIONS};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::index::Vectors;
use std::collections::BTreeMap;

/// The queries of a search.
pub struct Queries {
    /// Their numbers, ascending.
    pub numbers: Vec<u32>,
    /// Their vectors.
    pub vectors: Vectors,
    /// Digest of numbers and vectors.
    pub digest: Digest,
    /// What their streams say: what they are the queries of, and what made their vectors.
    pub said: Said,
}

impl Queries {
    /// Reads columns `query` (a number; left out, rows are counted from 0) and `vector`.
    pub fn read(source: &Source) -> Result<Queries> {
        let mut all: BTreeMap<u32, Vec<i16>> = BTreeMap::new();
        let mut dimensions = 0;
        let mut said = Said::new(None, &[QUESTIONS, EMBEDDER]);
        each(source, |event| {
            let piece = match event {
                Event::Stream(_, notes) => return said.add(notes),
                Event::Rows(piece) => piece,
            };
            let numbers = piece.queries()?;
            let vectors = piece.vectors()?;
            for (row, number) in numbers.iter().enumerate() {
                let vector = vectors.row(row).to_vec();
                dimensions = if all.is_empty() { vector.len() } else { dimensions };
                if vector.len() != dimensions {
                    fail!("query {number} has {} dimensions, the ones before it {dimensions}", vector.len());
                }
                if all.insert(*number, vector).is_some() {
                    return Err(Error::new(format!("query {number} comes twice")).at(piece.place(row)));
                }
            }
            Ok(())
        })?;
        if all.is_empty() {
            fail!("{} holds no query", source.name());
        }
        let (numbers, data): (Vec<u32>, Vec<Vec<i16>>) = all.into_iter().unzip();
        let data = data.concat();
        let bytes: [Vec<u8>; 2] = [
            numbers.iter().flat_map(|n| n.to_le_bytes()).collect(),
            data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        ];
        let digest = Digest::of_parts(bytes.iter().map(Vec::as_slice));
        Ok(Queries { numbers, vectors: Vectors { dimensions, data }, digest, said })
    }
}
