//! The language of a crawl's parts: jobs and replies, the records that it keeps of itself, the files of its
//! checkpoints, links between its shards, texts for people.

use crawler_core::{calendar, container, disk, drum, frontier, shard, similar, warc};
use crawler_web::{clock, fingerprint, outcome, varint, web};

pub mod checkpoint;
pub mod contract;
pub mod exchange;
pub mod record;
pub mod text;
