//! The stages of a build, in the order of the path.

pub mod assemble;
pub mod certify;
pub mod counter;
pub mod distractors;
pub mod duplicates;
pub mod embed;
pub mod factoids;
pub mod haystack;
pub mod ingest;
pub mod journal;
pub mod leaks;
pub mod ledger;
pub mod localize;
pub mod natural;
pub mod needles;
pub mod passages;
pub mod questions;
pub mod rank;
pub mod retrieve;
pub mod select;
pub mod slots;
pub mod splice;
pub mod stories;
pub mod texts;
pub mod write;
pub mod written;
