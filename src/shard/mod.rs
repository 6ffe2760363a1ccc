//! Retrieval as work on shards: what engines such as Spark and Ray, or a job array, hand out, and how the results become one again.
//!
//! ```text
//! once      questions -> query, id, text_en, ...  -embed-> query, vector (the queries)
//! a shard   number, text_en, text_de, ...         -embed-> number, vector  -topk-> query, score, number (the lists)
//!                                                 -leaks-> question, number, language, reason (what no list may hold)
//!           lines of a collection                 -sample-> number, text, part
//! merged    lists, leaks and samples, each to one of its kind
//! at last   lists, rows -narrow-> a collection, which a build reads instead of the whole one
//! ```
//!
//! Every step reads Arrow IPC streams and writes one; none knows of other shards. What merges them is exact: lists by
//! [`crate::index::merge`], samples by the mixes of their numbers, leaks as sets. So any split gives what one machine gives, and a shard
//! that was done twice counts once.
//!
//! The notes of a stream (metadata of its schema) say what it holds, and which parts. An engine that drops them loses the checks that rest
//! on them, and nothing else: what a merge cannot do without is then said on the command line. Parts are said once, where rows are made,
//! and handed on from step to step; what nothing says is not known, and the last merge refuses it.
//!
//! What comes back into a build is a collection of the passages that any list names ([`narrow`]). The head of each question's ranking is the
//! same in it as in the whole, and [`check`](mod@check) proves that a build takes no more than that: so its prompts are the same, and all that reads
//! a release afterwards needs neither the lists nor the whole collection.

pub mod apart;
pub mod check;
pub mod columns;
pub mod embed;
pub mod merge;
pub mod narrow;
pub mod part;
pub mod queries;
pub mod rows;
pub mod said;
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
