//! Analyses of an archive: audits of a site, graphs of hosts, and tables for other programs.
//!
//! It knows an archive by `crawler-archive`, and neither the engine nor the wiring of a crawl.

use crawler_archive::{self as archive, dirs};
use crawler_contract::{checkpoint, record, text};
use crawler_core::disk;
use crawler_web::{clock, fingerprint, outcome, web};

pub mod audit;
pub mod graph;
pub mod table;
