//! Sinks beside the real servers, each on its own port of loopback with its own directory.
//!
//! Part of the system tier: `tests/servers/install` puts the servers below `target/tools/sinks`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

// tests/tools also looks for browsers, by the crate of the whole program, which needs minutes to build
extern crate self as crawler;

#[path = "../contract/mod.rs"]
mod contract;
mod opensearch;
mod postgres;
mod process;
mod solr;
#[path = "../../../../tests/tools/mod.rs"]
mod tools;

/// No browser: none of these tests needs one.
mod browser {
    pub fn find(_: Option<&std::path::Path>) -> Option<()> {
        None
    }
}
