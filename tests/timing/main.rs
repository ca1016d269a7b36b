//! Tests that look at the times of requests: apart from the others, so that those do not delay them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod politeness;
#[path = "../site/mod.rs"]
mod site;
mod traps;
