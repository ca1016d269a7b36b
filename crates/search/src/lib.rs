//! Full text search over what a crawl has stored.
//!
//! It knows a crawl by `crawler-archive`, and neither the engine nor the wiring of a crawl.

use crawler_archive::{self as archive, dirs};
use crawler_contract::record;
use crawler_core::{container, disk, reading, similar, warc};
use crawler_web::{clock, web};

pub mod search;
