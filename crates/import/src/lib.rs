//! Web archives of other programs (WARC 1.0 and 1.1: gzip, zstd, plain; WACZ), taken over record by record.
//!
//! What a record says is not looked at here, only where it begins and ends: the container makes its index of what it
//! has then ([`crawler_core::container::imported`]).

use crawler_core::{container, disk, warc};
use crawler_web::clock;
#[cfg(test)]
use crawler_web::{fingerprint, web};

pub mod import;
