//! The logic of a crawl: the engine, which owns every store and decides what happens when, and its checkpoints.
//!
//! No thread, no socket and no browser is named here: those who do the work are behind `contract` and the executors
//! that an engine is opened with.

use crawler_contract::{checkpoint, contract, exchange, record, text};
use crawler_core::{calendar, container, disk, drum, frontier, shard, warc};
use crawler_web::{clock, fingerprint, outcome, varint, web};

pub mod engine;
