//! The console: one page in a browser that shows a crawl, explains a URL, and does what `crawler ctl` does.
//!
//! ```text
//! Source ──state, each second──► poller ──► history (60 minutes) ──► streams
//!   ▲                                                                  ▲
//!   └──questions and orders── readers (few threads) ◄── server (one thread) ◄── browser
//! ```
//! What is shown comes from a [`Source`], which is all that this room knows of a crawl. One thread asks it how the
//! crawl stands, one serves HTTP and never waits for a source, and a few bounded ones ask everything that reads disks:
//! what is slow there delays neither the stream nor the crawl. Nothing is kept on disk, and the history ends with the
//! process.
//!
//! # HTTP
//!
//! Answers are JSON in UTF-8; times are milliseconds since 1970. Unknown fields are to be ignored.
//!
//! | request | answer |
//! |---|---|
//! | `GET /`, `GET /assets/NAME` | the page, and what it loads (`assets`) |
//! | `GET /api/state` | the state of the crawl ([`State`]) |
//! | `GET /api/history` | the points of the last 60 minutes ([`Point`]) |
//! | `GET /api/events` | server-sent events: `state` each second, `point` each step, `end` |
//! | `GET /api/hosts?limit=` | hosts with the longest queues |
//! | `GET /api/budgets`, `/api/requests?limit=`, `/api/warnings`, `/api/disk` | tables |
//! | `GET /api/seeds?offset=&limit=` | seeds and what became of them |
//! | `GET /api/explain?url=`, `/api/versions?url=` | everything known of a URL, and its archived versions |
//! | `GET /api/tree?under=` | what is archived below a domain, a host or a path |
//! | `GET /TIME/URL`, `/calendar?url=`, `/search?q=` | pages about archived pages ([`Home`](crate::replay::Home)) |
//! | `GET /api/archive/NAME`, `POST /mcp` | answers to programs ([`crate::answers`]) |
//! | `POST /api/ctl` | an order as the control socket has it, with the token in `X-Crawler-Token` |
//!
//! An error has a status of 4xx or 5xx and `{"error":"sentence"}`. Who may ask what is in `guard`.

mod answer;
mod assets;
mod documents;
mod guard;
mod history;
mod poller;
mod readers;
mod routes;
mod server;
mod source;
mod streams;
mod warnings;

pub use crate::answers::Problem;
pub use documents::{
    Bottleneck, Bytes, DiskUse, Limits, MetBudget, RequestRow, SeedRow, Seeds, State, Tree, TreeRow, Version,
};
pub(crate) use server::Archived;
pub use server::{Console, ConsoleError};
pub use source::Source;
pub use warnings::{RecentWarnings, Warning};

/// Default address of the console.
pub(crate) const DEFAULT_ADDRESS: &str = "127.0.0.1:9151";
