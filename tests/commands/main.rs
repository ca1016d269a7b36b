//! The commands and their output, by the real binary: a file for each, and for what holds for all of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod browser;
mod changing;
mod cli;
mod cli_begin;
mod cli_commands;
mod console;
mod ctl;
mod damage;
mod documents;
mod explain;
mod export;
mod follow;
mod identity;
mod import;
mod metrics;
mod outputs;
mod packages;
mod posted;
mod readers;
mod recipes;
mod refetch;
mod reports;
mod robots;
#[cfg(feature = "search")]
mod search;
mod secrets;
mod security;
mod serve;
mod shards;
#[path = "../site/mod.rs"]
mod site;
mod stored;
#[path = "../tools/mod.rs"]
mod tools;
mod tutorial;
mod urls;
mod usage;
mod verify;
mod warc;
mod warnings;
mod watch;
