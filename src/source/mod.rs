//! Where stories come from: one module a format.

pub mod babi;
pub mod pins;
