//! The families of benchmarks: what a prompt of each is made of.

pub mod factoid;
pub mod passage;
pub mod reasoning;
