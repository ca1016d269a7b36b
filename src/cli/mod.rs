//! The command line.

pub mod simulate;
