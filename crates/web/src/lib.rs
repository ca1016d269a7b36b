//! The formats of the web, pure, with the outcomes, times and fingerprints that a crawl decides by.
//!
//! Bytes in, values out: nothing here reads a file, asks a server or knows a store.

pub mod clock;
pub mod fingerprint;
pub mod outcome;
pub mod varint;
pub mod web;
