//! The test program: one module a topic.

mod http;
mod identity;
mod support;

mod audit;
mod babi;
mod build;
mod collections;
mod command;
mod compact;
mod coreference;
mod crosslingual;
mod diff;
mod embeddings;
mod export;
mod fetching;
mod languages;
mod ledger;
mod matching;
mod mlneedle;
mod mutations;
mod nearest;
mod page;
mod people;
mod perfect;
mod published;
mod rebuild;
mod recall;
mod recipes;
mod released;
mod releases;
#[cfg(feature = "cloud")]
mod remote;
mod reranker;
mod retrieved;
mod running;
mod score;
mod simulator;
mod solver;
mod squad;
mod strategies;
mod tokens;
mod translation;
mod translator;
mod work;
mod written;
