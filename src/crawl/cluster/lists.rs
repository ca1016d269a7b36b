//! The lists of seeds of a crawl on many machines: objects that etcd has in an order, the same for every node.
//!
//! A list has the lines of a seeds file. Each node numbers the seeds of all lists in their order, so that a seed has
//! the same number everywhere.

use std::sync::Arc;

use super::crawl_object::refused;
use crate::cluster::View;
use crate::crawl::CrawlError;
use crate::disk;
use crate::engine::SeedList;
use crate::exchange::Again;
use crate::node::Eras;
use crate::store::{self, Body, ObjectStore};
use crate::web::seeds::{Seed, SeedLines};

/// End of the names of lists.
pub(super) const SUFFIX: &str = ".txt";

/// The lists that this node has taken in.
pub(super) struct Lists {
    list: SeedList,
    taken: u32,
    /// Lines of all lists; the shards of the node share them.
    lines: Arc<[u8]>,
    again: Vec<Again>,
}

impl Lists {
    /// Makes a record of no lists yet; `list` is the one of the node.
    pub(crate) fn new(list: SeedList) -> Lists {
        Lists { list, taken: 0, lines: Arc::default(), again: Vec::new() }
    }

    /// Takes in those of `known` that are new, durably; whether there were any.
    /// What etcd says of a list is in the store before any seed of it is admitted: it has to be known there where etcd
    /// is lost.
    pub(crate) fn take(&mut self, eras: Eras<'_>, era: u32, known: &View) -> Result<bool, CrawlError> {
        let (store, mut has_news) = (eras.store, false);
        while let Some(list) = known.seeds.get(&(self.taken + 1)) {
            eras.note_list(era, list.number, &list.record).map_err(refused)?;
            let lines = read(store, &list.record.object).map_err(refused)?;
            let numbers = number(&mut self.list, &lines)?;
            if list.record.round > 0 {
                self.again.push(Again { round: list.record.round, seeds: numbers.into() });
            }
            self.lines = [&*self.lines, &lines, b"\n"].concat().into();
            self.taken += 1;
            has_news = true;
        }
        if has_news {
            self.list.make_durable()?;
        }
        Ok(has_news)
    }

    /// Returns the number of lists that were taken in.
    pub(crate) fn taken(&self) -> u32 {
        self.taken
    }

    /// Seeds of the crawl.
    pub(crate) fn seeds(&self) -> u32 {
        self.list.len()
    }

    /// The lists whose seeds are fetched again.
    pub(crate) fn again(&self) -> Arc<[Again]> {
        self.again.as_slice().into()
    }

    /// The lines of all lists.
    pub(crate) fn lines(&self) -> Arc<[u8]> {
        self.lines.clone()
    }
}

/// Gives the seeds in `lines` the numbers behind those that `list` has; the number of each, also of one that it has.
pub(super) fn number(list: &mut SeedList, lines: &[u8]) -> disk::Result<Vec<u32>> {
    let number = |seed: Seed| list.number(seed.url.as_str(), seed.fallback.as_ref().map(|url| url.as_str()));
    SeedLines::of(lines).filter_map(Result::ok).map(number).collect()
}

pub(super) fn read(store: &dyn ObjectStore, name: &str) -> store::Result<Vec<u8>> {
    let length = store.length(name)?.ok_or_else(|| store::Error::NotFound { name: name.to_owned() })?;
    store.get(name, 0..length)
}

/// Puts a list into the store; its name, and how many seeds are in it. No name is used twice.
pub(super) fn put(store: &dyn ObjectStore, prefix: &str, lines: &[u8], random: u128) -> store::Result<(String, u64)> {
    let seeds = SeedLines::of(lines).filter(Result::is_ok).count() as u64;
    let name = format!("{prefix}seeds/{random:032x}{SUFFIX}");
    store.put(&name, &Body::of(lines.to_vec()))?;
    Ok((name, seeds))
}
