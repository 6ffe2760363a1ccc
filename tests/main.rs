//! The test program: one module a topic.

mod http;
mod identity;
mod support;

mod audit;
mod babi;
mod build;
mod collections;
mod command;
mod coreference;
mod crosslingual;
mod diff;
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
