//! The test program: one module a topic.

mod support;

mod babi;
mod build;
mod command;
mod languages;
mod perfect;
mod recipes;
mod releases;
mod simulator;
mod solver;
mod collections;
mod embeddings;
mod fetching;
mod matching;
mod nearest;
mod squad;
mod tokens;
