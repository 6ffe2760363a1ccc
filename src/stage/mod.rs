//! The stages of a build, in the order of the path.

pub mod assemble;
pub mod certify;
pub mod distractors;
pub mod embed;
pub mod ingest;
pub mod journal;
pub mod localize;
pub mod retrieve;
pub mod select;
pub mod write;
