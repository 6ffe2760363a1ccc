//! Retrieval on shards: any split gives what one machine gives.

#[path = "shard/apart.rs"]
mod apart;
#[path = "shard/damaged.rs"]
mod damaged;
#[path = "shard/embedding.rs"]
mod embedding;
#[path = "shard/merging.rs"]
mod merging;
#[path = "shard/nearest.rs"]
mod nearest;
#[path = "shard/sampling.rs"]
mod sampling;
#[path = "shard/streams.rs"]
pub mod streams;
#[path = "shard/whole.rs"]
mod whole;
