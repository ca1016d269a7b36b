//! Web archives of other programs (WARC 1.0 and 1.1: gzip, zstd, plain; WACZ), taken over record by record.
//!
//! Nothing is looked at here of a record but its beginning and its end: the container makes its index of what it has
//! then ([`crawler_core::container::imported`]).

use crawler_core::{container, disk, warc};
use crawler_web::clock;
#[cfg(test)]
use crawler_web::{fingerprint, web};

pub mod import;
