//! Whole crawls in virtual time: the crawler's own parts on a clock, a disk, a network, a store and a registry that
//! are simulated.
//!
//! It is for tests, benchmarks and developers. Nothing that is shipped depends on it.

use crawler_cluster::{cluster, node, ship};
use crawler_contract::{checkpoint, contract, exchange, record};
use crawler_core::{calendar, container, disk, drum, frontier, hours, politeness, shard, warc};
use crawler_engine::engine;
use crawler_fetch::process;
use crawler_simweb::simweb;
use crawler_store::store;
use crawler_web::{clock, fingerprint, outcome, web};

pub mod simulator;
