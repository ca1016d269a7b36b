//! Targets of a crawl's documents, fed from the stream of their changes: [`sink`].
//!
//! It knows the changes by `crawler-feed`, and no crawl.

#[cfg(feature = "parquet")]
use crawler_analysis::table;
use crawler_core::disk;
use crawler_feed::feed;
#[cfg(feature = "search")]
use crawler_search::search;
#[cfg(feature = "parquet")]
use crawler_store::store;
use crawler_web::{clock, web};

pub mod sink;
