//! A web crawler for one machine or many: polite, exact, and safe to kill at any moment.
//!
//! # The way of a URL
//!
//! ```text
//! seeds ─┐
//!        ▼
//! canonicalise ─► scope ─► URL-seen ─► robots ─► DNS ─► frontier ─► fetch ─► process ─► page container
//!        ▲                 LRU,Bloom,  DRUM      DRUM   per-host    tokio    threads      │
//!        │                 DRUM                         disk queues                       │
//!        └───────────────────────────── links ────────────────────────────────────────────┘
//! ```
//! A link is canonicalised and fingerprinted where its page is parsed ([`process`]). It passes three stores in turn
//! ([`drum`]); the dispatcher of each decides what happens next, and the last one hands it to its host's queue
//! ([`frontier`]). When the host is due, the URL is fetched ([`fetch`]), the answer processed, its records appended to
//! the archive ([`container`]) and its links admitted, all in one event of the [`engine`].
//!
//! # Modules, from the ground up
//!
//! | module | owns | crate |
//! |---|---|---|
//! | [`fingerprint`] | 64-bit Rabin fingerprints by a polynomial of the crawl's own | `web` |
//! | [`shard`] | which shard of a crawl owns a URL | `core` |
//! | [`clock`] | time, given to everything that needs it | `web` |
//! | [`hours`] | hours in which a host is asked, by the wall clock of its time zone | `core` |
//! | [`politeness`] | the judge of politeness: what a log of requests owed to hosts and addresses | `core` |
//! | [`varint`] | numbers of variable length, one encoding for all formats | `web` |
//! | [`outcome`] | how a URL ends; the one table of what follows from a status or an error | `web` |
//! | [`disk`] | files as a trait, headers, checksums, atomic replacement, the directory's lock | `core` |
//! | [`web`] | the web's formats, pure: URLs, scope, robots.txt, HTML links, codings | `web` |
//! | `server` | the HTTP server of this process's own pages: bounded connections, limits, guard | `server` |
//! | [`text`] | text for people: figures with units, foreign text made harmless | `contract` |
//! | `table` | tables as the tools of people read them: TSV, CSV, JSON lines, SQLite, Parquet | `analysis` |
//! | [`graph`] | which hosts link to which, and their centrality, by sorting and sequential passes | `analysis` |
//! | [`similar`] | texts that are nearly the same, by sorts of their signatures | `core` |
//! | [`reading`] | pages as people read them: trees within limits, main content, Markdown | `core` |
//! | [`store`] | objects by name, in a store that machines share | `store` |
//! | [`drum`] | disk repository with update management, behind LRU and Bloom filter | `core` |
//! | [`warc`] | records of the archive: built from an answered request, and read back | `core` |
//! | [`container`] | the archive: WARC value files, key.dat, address.idx | `core` |
//! | [`import`] | archives of other programs, taken over record by record | `import` |
//! | `rewrite` | stored pages with every URL led elsewhere | `replay` |
//! | `replay` | archived pages as they were: the answers to a browser, captures by time | `replay` |
//! | [`calendar`] | when pages are due again, on disk; how often each is looked at | `core` |
//! | [`frontier`] | per-host queues, politeness, budgets | `core` |
//! | [`record`] | what a crawl keeps of itself: counters, how it ended, logs, the snapshot | `contract` |
//! | [`checkpoint`] | the files of checkpoints: whose crawl it is, what they name, the newest one | `contract` |
//! | [`contract`] | jobs and replies between the engine and those that make its requests | `contract` |
//! | [`exchange`] | links between the shards of a crawl, and which checkpoints of theirs count | `contract` |
//! | `database` | small databases of key and value, by sled | |
//! | `dirs` | the directories of a crawl, one for each shard, and the archives in them | `archive` |
//! | [`archive`] | what a crawl has stored, for other programs: pages by URL, in order, as they come | `archive` |
//! | `search` | a full text index of what a crawl has stored, and questions to it | `search` |
//! | [`feed`] | the documents of a crawl as a stream of upserts and deletions | `feed` |
//! | [`browser`] | pages rendered by the system's Chromium, whose every request the caller answers | `fetch` |
//! | [`signature`] | who sends a request, proved: keys, their directory, signatures of requests | `fetch` |
//! | [`ship`] | checkpoints in a store of objects, and directories from there | `cluster` |
//! | [`cluster`] | who owns a shard and which checkpoint counts, on many machines | `cluster` |
//! | [`engine`] | the state machine that owns all of the above | `engine` |
//! | [`node`] | what a node does for a shard: its directory from the store, checkpoints into it, heads | `cluster` |
//! | [`fetch`] | requests on tokio | `fetch` |
//! | [`process`] | threads that find links and build records | `fetch` |
//! | [`render`] | pages in browsers whose every request the engine answers | `fetch` |
//! | [`documents`] | PDFs and the like as pages, made by processes that can do nothing else | `documents` |
//! | [`simweb`] | a synthetic web on loopback that knows the right result | `simweb` |
//! | `sink` | search engines and databases that get the changes of documents; the client of webhooks | `sinks` |
//! | `stored` | the archive as commands and servers see it: versions of URLs, answers, changes | |
//! | `fields` | what is taken of a page by selectors, expressions, facts; its values | |
//! | [`config`] | the TOML file: its keys, their limits, and the defaults that no part of the crawl has itself | |
//! | `watch` | people are told that a value of a page has changed: by mail, in chats | |
//! | `report` | display, closing statistics, metrics | |
//! | `answers` | questions to an archive by programs: the API, its OpenAPI document, tools for models | |
//! | `serve` | a replay over HTTP: who may ask, requests as questions | |
//! | `console` | the page in a browser that shows a crawl: its server, its hour of history, what it may be asked | |
//! | `simulator` | whole crawls in virtual time, on a disk and a network that fail; for tests only | `simulator` |
//! | [`crawl`] | the wiring: start, signals, stop; what is reported beside a crawl: explain, verify, reports, plan | |
//! | `audit` | what is wrong with a site, by what a crawl has stored: findings, and reports of them | `analysis` |
//! | [`cli`] | the command line | |
//! | `fuzzing` | drives every parser of foreign bytes; in no release | |
//!
//! # As a library
//!
//! [`archive`] reads what a crawl has stored, and is the one crate that is meant for other programs
//! (`crawler-archive`): what its documentation says keeps to semantic versioning. Nothing else is promised. The other
//! modules are public for the binary, its tests and benchmarks; their items may change or go with any version.
//!
//! Imports go upwards in this table only, and `tests/tidy.rs` reads it. The crates are below `crates/`, so that the
//! compiler keeps the walls between them: `web` ◄ `core` ◄ `contract` ◄ `engine` ◄ `cluster`, `core` ◄ `store` ◄
//! `cluster`, `contract` ◄ `fetch`, `contract` ◄ `archive` ◄ `analysis`, `archive` ◄ `search`, `archive` ◄ `feed`, all
//! three and `store` ◄ `sinks`, `contract` ◄ `documents`, `contract` ◄ `simweb`, `core` ◄ `import` and `web` ◄
//! `replay`, which know no engine; `server` knows none of them.
//! This one wires them together. `simulator` is above all of them and beside this one, whose tests and benchmarks use
//! it.
//! docs/ARCHITECTURE.md and its chapters have the threads, the queues with their bounds, and the crash contract;
//! docs/FORMATS.md the bytes on disk, docs/SECURITY.md what hostile servers may try and what bounds it.

pub use crawler_analysis::graph;
use crawler_analysis::{audit, table};
pub use crawler_archive as archive;
pub use crawler_archive::dirs;
pub use crawler_cluster::{cluster, node, ship};
pub use crawler_contract::{checkpoint, contract, exchange, record, text};
pub use crawler_core::{calendar, container, disk, drum, frontier, hours, politeness, reading, shard, similar, warc};
pub use crawler_documents::documents;
pub use crawler_engine::engine;
pub use crawler_feed::feed;
pub use crawler_fetch::{browser, fetch, process, render, signature};
pub use crawler_import::import;
use crawler_replay::{replay, rewrite};
#[cfg(feature = "search")]
pub use crawler_search::search;
use crawler_server::server;
pub use crawler_simweb::simweb;
use crawler_sinks::sink;
pub use crawler_store::store;
pub use crawler_web::{clock, fingerprint, outcome, varint, web};

mod answers;
pub mod cli;
pub mod config;
mod console;
pub mod crawl;
mod database;
mod fields;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod report;
mod serve;
mod stored;
mod watch;
