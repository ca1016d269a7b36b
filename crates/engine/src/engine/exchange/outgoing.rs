//! Links to other shards: the file that is being written, and the files that others may still have to read.
//!
//! A file leaves the list at a cut at which every other shard has a *committed* checkpoint that has read it; a reader's
//! own progress never counts before it is committed, so a reader that goes back to its last checkpoint finds all files
//! that it needs. A shard for which nothing is in a file reads its index all the same: only then does it know. The file
//! is deleted when the cut without it is durable, by the rule of the [`Ledger`](crate::disk::Ledger).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::{Disk, Result};
use crate::exchange::{Account, Link, LinkFile, LinkWriter, News, OutFile, Support, link_path, links_dir, number_of};
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::shard::Shard;

/// A link file that a checkpoint names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The checkpoint that it came with.
    pub number: u64,
    /// True if it has notes, which are for all shards.
    pub has_notes: bool,
}

pub(super) struct Outgoing {
    shard: Shard,
    dir: PathBuf,
    writer: LinkWriter,
    /// Number of the checkpoint that the file being written comes with.
    number: u64,
    kept: Vec<Kept>,
}

impl Outgoing {
    /// Opens the file after checkpoint `number`, which names the files `kept`. Other files in the directory belong to
    /// no checkpoint that counts, and are removed.
    pub(crate) fn open(disk: &Disk, dir: &Path, shard: Shard, number: u64, kept: Vec<Kept>) -> Result<Outgoing> {
        let links = links_dir(dir);
        let mut removed = false;
        for name in disk.list(&links)? {
            let is_kept = number_of(&name).is_some_and(|number| kept.iter().any(|kept| kept.number == number));
            if !is_kept {
                disk.remove(&links.join(&name))?;
                removed = true;
            }
        }
        if removed {
            disk.sync_dir(&links)?;
        }
        for kept in &kept {
            // a file that is lost or damaged is met by its sender, and not by a reader later
            LinkFile::open(disk, dir, shard, kept.number)?;
        }
        let writer = LinkWriter::new(disk.clone(), dir.to_owned(), shard, number + 1);
        Ok(Outgoing { shard, dir: dir.to_owned(), writer, number: number + 1, kept })
    }

    /// Sends a pair of domains to the shard that owns the one that is linked to.
    pub(crate) fn push_support(&mut self, pair: Fingerprint, target: Fingerprint) -> Result<()> {
        let receiver = Shard::of(self.shard.count(), target);
        self.writer.push_support(receiver, Support { pair, target })
    }

    /// Sends `url`, which was found in the round `round`.
    pub(crate) fn push(&mut self, url: &QueuedUrl, round: u32) -> Result<()> {
        let receiver = Shard::of(self.shard.count(), url.domain);
        self.writer.push(receiver, Link::of(url, self.shard, round))
    }

    /// Tells all shards that the territory of `url` joins the scope.
    pub(crate) fn note(&mut self, url: &str) {
        self.writer.note(url.to_owned());
    }

    /// True if nothing has come since the last cut.
    pub fn is_empty(&self) -> bool {
        self.writer.is_empty()
    }

    /// Returns whether something has come since for the shard `other`.
    pub(crate) fn has_for(&self, other: u32) -> bool {
        self.writer.has_for(other)
    }

    /// The files that others may have to read.
    pub(crate) fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// The same as others hear of them.
    pub(crate) fn files(&self) -> Vec<OutFile> {
        self.kept.iter().map(|kept| OutFile { number: kept.number, has_notes: kept.has_notes }).collect()
    }

    /// Takes out the files that everybody has read by `news`, in which this shard is `me`.
    pub(crate) fn release(&mut self, news: &News, me: u32) -> Vec<PathBuf> {
        let read: Vec<u64> = self.read_by_all(news, me).collect();
        let released = self.kept.extract_if(.., |kept| read.contains(&kept.number));
        released.map(|kept| link_path(&self.dir, kept.number)).collect()
    }

    /// Returns whether there is a file that everybody has read by `news`, in which this shard is `me`.
    pub(crate) fn may_release(&self, news: &News, me: u32) -> bool {
        self.read_by_all(news, me).next().is_some()
    }

    /// Numbers of the files that every shard but `me`, which this one is in `news`, has read.
    fn read_by_all<'a>(&'a self, news: &'a News, me: u32) -> impl Iterator<Item = u64> + use<'a> {
        self.kept.iter().map(|kept| kept.number).filter(move |&number| news.is_read_by_all(me, number))
    }

    /// Makes the file whole, and names it from now on; `None` where there is nothing in it. `account` counts what is in
    /// it as sent.
    pub fn cut(&mut self, account: &mut Account) -> Result<Option<PathBuf>> {
        let written = self.writer.cut()?;
        let number = self.number;
        self.number += 1;
        Ok(written.map(|written| {
            let (links, bytes) = (written.links, written.bytes);
            tracing::debug!(shard = self.shard.index(), number, links, bytes, "links to other shards");
            account.send(&written.records);
            self.kept.push(Kept { number, has_notes: written.has_notes });
            written.path
        }))
    }
}
