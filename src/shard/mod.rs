//! Retrieval as work on shards: what engines such as Spark and Ray hand out, and how the results become one again.
//!
//! ```text
//! collection -sample-> id, text -embed-> id, vector -sum-> id, vector -topk-> query, score, number -merge-> all queries' lists -narrow-> collections
//!                            `-leaks-> question, number, reason
//! ```
//!
//! Every step reads Arrow IPC streams and writes one; none knows of other shards. What merges them is exact: the lists of the nearest by
//! [`crate::index::merge`], samples by their mixes, leaks as sets. So any split gives what one machine gives, and a shard that was done twice
//! counts once.
//!
//! The notes of a stream (metadata of its schema) say what it holds, and which parts. An engine that drops them loses those checks, and
//! nothing else, but in samples, whose counts stand there.

pub mod apart;
pub mod check;
pub mod columns;
pub mod embed;
pub mod narrow;
pub mod part;
pub mod rows;
pub mod sample;
pub mod stream;
pub mod topk;

/// Notes of streams: what a stream holds.
pub const KIND: &str = "nihbuild.kind";
/// Longest list.
pub const K: &str = "nihbuild.k";
/// Digest of the queries' numbers and vectors.
pub const QUERIES: &str = "nihbuild.queries";
/// Digest of the questions that the queries are of.
pub const QUESTIONS: &str = "nihbuild.questions";
/// Digest of what vectors depend on besides their texts.
pub const EMBEDDER: &str = "nihbuild.embedder";
/// Which parts of the passages are in.
pub const PARTS: &str = "nihbuild.parts";
/// Passages that a sample is to hold in the end.
pub const SIZE: &str = "nihbuild.size";
/// What decides which passages a sample holds.
pub const KEY: &str = "nihbuild.key";

/// What to do about a stream that is not whole.
const FINISHED: &str = "whoever wrote it was stopped, or wrote something else: run that step again";
