//! Seeds of crawl directories of format 1: they lay in the catalog, one entry each, and the checkpoint's record named
//! the URLs whose territories had joined the scope.
//!
//! The first start that meets such a directory puts them into the two files, under the same numbers; the entries count
//! until the directory is of the next format ([`crate::engine::mend`]), and are removed then.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::records::{Fate, ListedSeed, Mark, fates_path, header, list_path, put};
use super::{SeedRecord, SeedStatus};
use crate::catalog::{Batch, Catalog};
use crate::disk::{Disk, Error, HEADER_BYTES, Kind, Result};
use crate::record::log_files::for_each_line;

const PREFIX: &str = "seed/";
/// Entries that are removed at a time.
const REMOVED_AT_ONCE: usize = 4_096;

/// How many seeds `catalog` has.
pub fn count_old(catalog: &dyn Catalog) -> Result<u64> {
    Ok(catalog.scan(PREFIX)?.len() as u64)
}

/// Puts the seeds of `catalog` into files in `dir`, whatever lies there: `checkpoint` is the number of the one that is
/// made of the last, and the URLs whose territories had joined the scope.
pub fn migrate(disk: &Disk, dir: &Path, catalog: &dyn Catalog, checkpoint: Option<(u64, &[String])>) -> Result<()> {
    let (mut list, mut fates) = (header(Kind::Seeds), header(Kind::SeedFates));
    let mut seeds = 0;
    for (key, bytes) in catalog.scan(PREFIX)? {
        let damaged = |e: postcard::Error| {
            Error::damaged(&dir.join("catalog"), 0, format!("a readable record {key}"), e.to_string())
        };
        let seed: SeedRecord = postcard::from_bytes(&bytes).map_err(damaged)?;
        put(&mut list, &ListedSeed { url: seed.url, fallback: seed.fallback });
        if seed.round > 0 {
            put(&mut fates, &Fate::Round(seeds, seed.round));
        }
        if let Some(to) = seed.redirected_to {
            put(&mut fates, &Fate::Redirect(seeds, to));
        }
        if seed.status != SeedStatus::Waiting {
            put(&mut fates, &Fate::Status(seeds, seed.status));
        }
        seeds += 1;
    }
    let list_bytes = list.len() as u64;
    if let Some((checkpoint, scope_added)) = checkpoint {
        scope_added.iter().for_each(|url| put(&mut fates, &Fate::Scope(url.clone())));
        put(&mut fates, &Fate::Cut(Mark { checkpoint, list_bytes, seeds, admitted: seeds }));
    }
    disk.create_dir_all(&dir.join("seeds"))?;
    disk.replace(&fates_path(dir), &fates)?;
    disk.replace(&list_path(dir), &list)?;
    if list_bytes > HEADER_BYTES {
        tracing::info!("{seeds} seeds were moved from the catalog into {}", list_path(dir).display());
    }
    Ok(())
}

/// Removes what [`migrate`] took over: the entries of `catalog`, and the plain copies that readers had.
pub fn remove_old(disk: &Disk, dir: &Path, catalog: &dyn Catalog) -> Result<()> {
    let old = catalog.scan(PREFIX)?;
    for entries in old.chunks(REMOVED_AT_ONCE) {
        let mut batch = Batch::new();
        entries.iter().for_each(|(key, _)| batch.remove(key.clone()));
        catalog.commit(&batch)?;
    }
    disk.remove(&dir.join("seeds.jsonl"))?;
    disk.remove(&dir.join("logs").join("seeds.jsonl"))
}

/// A line of `logs/seeds.jsonl`, which readers of format 1 had.
#[derive(Debug, Deserialize)]
pub(super) struct OldLine {
    number: u32,
    url: String,
    fallback: Option<String>,
    status: SeedStatus,
    redirected_to: Option<String>,
}

impl OldLine {
    /// The last line about each seed; lines that are damaged are passed over.
    pub(super) fn read(disk: &Disk, dir: &Path) -> Result<BTreeMap<u32, OldLine>> {
        let mut seeds = BTreeMap::new();
        for_each_line(disk, &dir.join("logs").join("seeds.jsonl"), &mut |line| {
            if let Ok(seed) = serde_json::from_slice::<OldLine>(line) {
                seeds.insert(seed.number, seed);
            }
            Ok(())
        })?;
        Ok(seeds)
    }

    pub(super) fn listed(self) -> ListedSeed {
        ListedSeed { url: self.url, fallback: self.fallback }
    }
}

impl From<OldLine> for SeedRecord {
    fn from(line: OldLine) -> Self {
        let OldLine { url, fallback, status, redirected_to, .. } = line;
        SeedRecord { url, fallback, status, redirected_to, round: 0 }
    }
}
