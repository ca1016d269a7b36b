//! A web crawler for one machine: polite, exact, crash-safe.

pub mod cli;
pub mod clock;
pub mod config;
pub mod disk;
pub mod fingerprint;
pub mod frontier;
pub mod outcome;
pub mod report;
