//! The lists of seeds of a crawl on many machines: objects that etcd has in an order, the same for every node.
//!
//! A list has the lines of a seeds file. Each node numbers the seeds of all lists in their order, so that a seed has
//! the same number everywhere.

use std::sync::Arc;

use super::crawl_object::refused;
use crate::cluster::View;
use crate::crawl::CrawlError;
use crate::engine::SeedTable;
use crate::store::{self, Body, ObjectStore};
use crate::web::seeds::SeedLines;

/// The lists that this node has taken in.
pub(super) struct Lists {
    table: SeedTable,
    taken: u32,
    lines: Vec<u8>,
}

impl Lists {
    /// None yet; `table` is the list of the node.
    pub fn new(table: SeedTable) -> Lists {
        Lists { table, taken: 0, lines: Vec::new() }
    }

    /// Takes in those of `known` that are new, durably; whether there were any.
    pub fn take(&mut self, store: &dyn ObjectStore, known: &View) -> Result<bool, CrawlError> {
        let mut has_news = false;
        while let Some(list) = known.seeds.get(&(self.taken + 1)) {
            let lines = read(store, &list.record.object).map_err(refused)?;
            for seed in SeedLines::of(&*lines).filter_map(Result::ok) {
                self.table.number(seed.url.as_str(), seed.fallback.as_ref().map(|url| url.as_str()))?;
            }
            self.lines.extend_from_slice(&lines);
            self.lines.push(b'\n');
            self.taken += 1;
            has_news = true;
        }
        if has_news {
            self.table.make_durable()?;
        }
        Ok(has_news)
    }

    /// Seeds of the crawl.
    pub fn seeds(&self) -> u32 {
        self.table.len()
    }

    /// The lines of all lists.
    pub fn lines(&self) -> Arc<[u8]> {
        self.lines.as_slice().into()
    }
}

fn read(store: &dyn ObjectStore, name: &str) -> store::Result<Vec<u8>> {
    let length = store.length(name)?.ok_or_else(|| store::Error::NotFound { name: name.to_owned() })?;
    store.get(name, 0..length)
}

/// Puts a list into the store; its name, and how many seeds are in it. No name is used twice.
pub(super) fn put(
    store: &dyn ObjectStore,
    prefix: &str,
    (lines, random): (&[u8], u128),
) -> store::Result<(String, u64)> {
    let seeds = SeedLines::of(lines).filter(Result::is_ok).count() as u64;
    let name = format!("{prefix}seeds/{random:032x}.txt");
    store.put(&name, &Body::of(lines.to_vec()))?;
    Ok((name, seeds))
}
