//! The documents of a crawl as a stream of upserts and deletions: [`feed`].
//!
//! It knows a crawl by `crawler-archive`, and neither the engine nor the wiring of a crawl.

use crawler_archive::{self as archive, dirs};
use crawler_contract::record;
use crawler_core::{container, disk, similar, warc};
#[cfg(test)]
use crawler_web::fingerprint;
use crawler_web::{clock, web};

pub mod feed;
