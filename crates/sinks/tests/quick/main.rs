//! Sinks that need no server, and servers whose every answer the test writes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../contract/mod.rs"]
mod contract;
mod files;
mod meilisearch;
mod opensearch;
