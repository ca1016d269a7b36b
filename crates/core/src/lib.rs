//! The stores of a crawler: files that survive any kill, the DRUM, the archive, the frontier, the calendar.
//!
//! They do most of the work, and know nothing of engines, threads or networks. Development builds optimise this crate
//! and `web` below it, since tests sort, compress and fingerprint, and leave the crates above as they are, which change
//! more often and take three times as long to optimise. Nothing here is promised to other programs.

use crawler_web::{clock, fingerprint, outcome, varint, web};

pub mod calendar;
pub mod container;
pub mod disk;
pub mod drum;
pub mod frontier;
pub mod hours;
pub mod politeness;
pub mod reading;
pub mod shard;
pub mod similar;
pub mod warc;
