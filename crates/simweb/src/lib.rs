//! A synthetic web on loopback: what demonstrations, tests, benchmarks and the simulator crawl.
//!
//! It knows no crawler: only the formats of the web, the judge of politeness and texts for people.

use crawler_contract::text;
use crawler_core::politeness;
#[cfg(test)]
use crawler_web::web;
use crawler_web::{clock, fingerprint};

pub mod simweb;
