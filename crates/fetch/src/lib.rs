//! The executors of a crawl's requests: what fetches, what reads answers, what renders pages, what signs.
//!
//! They know jobs and replies (`contract`) and nothing of an engine, a configuration or a crawl's directory.

use crawler_contract::contract;
use crawler_core::{container, disk, frontier, warc};
use crawler_web::{clock, fingerprint, outcome, web};

pub mod browser;
pub mod fetch;
pub mod process;
pub mod render;
pub mod signature;
