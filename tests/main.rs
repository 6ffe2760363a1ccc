//! The test program: one module a topic.

mod http;
mod support;

mod babi;
mod build;
mod collections;
mod command;
mod compact;
mod coreference;
mod crosslingual;
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
mod retrieved;
mod running;
mod simulator;
mod solver;
mod squad;
mod strategies;
mod tokens;
mod translation;
mod translator;
mod written;
