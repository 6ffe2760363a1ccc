//! The stages of a build, in the order of the path.

pub mod ingest;
pub mod select;
pub mod distractors;
pub mod localize;
pub mod embed;
pub mod retrieve;
pub mod assemble;
pub mod certify;
pub mod write;
