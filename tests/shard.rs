//! Retrieval on shards: any split gives what one machine gives.

#[path = "shard/merging.rs"]
mod merging;
#[path = "shard/nearest.rs"]
mod nearest;
#[path = "shard/streams.rs"]
pub mod streams;
