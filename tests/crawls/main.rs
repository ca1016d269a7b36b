//! Whole crawls by the real binary: what they fetch, how they end, what kills and hostile servers do to them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod audit;
mod backup;
mod cluster;
mod codings;
mod converted;
mod dns_hosts;
mod documents;
mod end_to_end;
mod endings;
mod etcd;
mod fetch;
mod follow;
mod hostile;
mod hosts;
mod hours;
mod kills;
mod kinds;
mod proxies;
mod rendering;
mod requests;
mod requisites;
mod shards;
mod sheets;
mod signed;
#[path = "../site/mod.rs"]
mod site;
mod sites;
mod stores;
mod terminal;
#[path = "../tools/mod.rs"]
mod tools;
