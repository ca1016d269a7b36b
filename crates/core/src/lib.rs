//! The base of a crawler: the web's formats, files that survive any kill, the DRUM, the archive, the frontier.
//!
//! The crate below the crawler: the rooms that do most of the work, and know nothing of engines, threads or networks.
//! It is apart for the sake of builds. Development builds optimise it, since tests sort, compress and fingerprint, and
//! leave the crawler above as it is, which changes more often and takes three times as long to optimise. The crawler
//! shows these rooms as its own (`crawler::drum`); its `src/lib.rs` has the table of all of them, and nothing here is
//! promised to other programs.

pub mod calendar;
pub mod clock;
pub mod container;
pub mod disk;
pub mod drum;
pub mod fingerprint;
pub mod frontier;
pub mod outcome;
pub mod politeness;
pub mod reading;
pub mod shard;
pub mod similar;
pub mod varint;
pub mod web;
