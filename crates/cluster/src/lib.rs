//! Many machines on one crawl: checkpoints that are shipped to a store of objects, who owns a shard, and what a
//! node does for one.

use crawler_contract::{checkpoint, contract, exchange, record, text};
use crawler_core::{container, disk, shard};
use crawler_engine::engine;
use crawler_store::store;
use crawler_web::{fingerprint, web};

pub mod cluster;
pub mod node;
pub mod ship;
