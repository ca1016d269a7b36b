//! The language of a crawl's parts: the records that it keeps of itself, links between its shards, texts for people.

use crawler_core::{clock, container, disk, fingerprint, frontier, outcome, shard, varint, web};

pub mod exchange;
pub mod record;
pub mod text;
