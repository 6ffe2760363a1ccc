//! The test program: one module a topic.

mod support;

mod babi;
mod build;
mod collections;
mod command;
mod embeddings;
mod fetching;
mod languages;
mod ledger;
mod matching;
mod mlneedle;
mod nearest;
mod perfect;
mod recall;
mod recipes;
mod released;
mod releases;
mod reranker;
mod running;
mod simulator;
mod solver;
mod squad;
mod tokens;
mod translation;
mod translator;
mod written;
