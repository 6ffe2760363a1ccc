//! Where stories, questions and passages come from: one module a format, and how files are had.

pub mod archive;
pub mod babi;
pub mod clean;
pub mod collection;
pub mod fetch;
pub mod locate;
mod markdown;
pub mod pins;
pub mod released;
pub mod running;
pub mod squad;
pub mod tokenizers;
