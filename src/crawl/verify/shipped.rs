//! Verifying a crawl in a store: its objects against the manifests, and what they hold as the files of a directory.
//!
//! Each shard is looked at by its newest checkpoint. All of it but value files, which stay, is copied before any of it
//! is looked at ([`crate::ship::check`]); so all that is found is of this one checkpoint, however many its owner makes
//! meanwhile.

use std::path::PathBuf;

use super::across::{self, ShardNoted};
use super::{Place, copies, verify_one};
use crate::container::Report;
use crate::crawl::CrawlError;
use crate::crawl::cluster::StoredCrawl;
use crate::crawl::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::engine::{ExchangeState, Identity};
use crate::shard::Shard;
use crate::text::figures::{counted, size};

/// What a shard says, once it was looked at.
type Looked = (Option<Identity>, ShardNoted);

/// Verifies the crawl, shard by shard, and then what its shards say of one another. `notice` hears what cannot be
/// checked, and why.
pub fn verify_stored(
    crawl: &StoredCrawl,
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<(), CrawlError> {
    notice("a store has no catalog: lengths and counts are compared with the newest checkpoint file only".to_owned());
    let disk = crawl.disk();
    let (mut identities, mut noted) = (Vec::new(), Vec::new());
    for shard in crawl.shards() {
        let mut notice = |what: String| match shard.is_whole() {
            true => notice(what),
            false => notice(format!("{}: {what}", shard.dir_name())),
        };
        let (identity, of_shard) = Verification { crawl, disk: &disk, shard }.run(report, &mut notice)?;
        identities.push(identity);
        noted.push(of_shard);
    }
    let dirs = CrawlDirs::find(&disk, crawl.dir())?;
    if !dirs.is_sharded() {
        return Ok(());
    }
    across::check_identities(&disk, &dirs, &identities, report, notice)?;
    // what a shard knew of the others may be of checkpoints that came after they were looked at
    let mut last = Vec::with_capacity(noted.len());
    for (shard, of) in crawl.shards().zip(&noted) {
        last.push(crawl.newest(shard)?.map(|newest| newest.number).max(of.number));
    }
    across::check(&disk, &dirs, &across::Shards { noted: &noted, last: &last, running: true }, report, notice)?;
    let root = copies::CrawlDir { disk: &disk, dir: dirs.root(), shard: Shard::WHOLE };
    Ok(copies::check_config(&root, report)?)
}

/// That of a shard.
struct Verification<'a> {
    crawl: &'a StoredCrawl,
    disk: &'a Disk,
    shard: Shard,
}

impl Verification<'_> {
    /// Checks the objects of the newest checkpoint, and then the files that they make.
    fn run(&self, report: &mut Report<'_>, notice: &mut dyn FnMut(String)) -> Result<Looked, CrawlError> {
        let checked = self.crawl.check(self.shard)?;
        report.summary.bytes += checked.bytes;
        for fault in &checked.faults {
            report.damage(&self.object(&fault.name), fault.offset, fault.what.clone());
        }
        let (objects, bytes) = checked.left_over;
        if objects > 0 && checked.manifest.is_some() {
            notice(format!(
                "{} of {} belong to no checkpoint: owners that were lost left them, and the next owner deletes them",
                counted(objects, "object"),
                size(bytes)
            ));
        }
        let readable = checked.readable();
        self.crawl.show(self.shard, readable.as_ref());
        if readable.is_some() {
            let place = Place { dir: &self.dir(), shard: self.shard, running: true };
            return Ok(verify_one(self.disk, place, report, notice)?);
        }
        if checked.faults.is_empty() {
            notice(match objects {
                0 => "no checkpoint has reached the store yet".to_owned(),
                _ => format!(
                    "{} of {} and no manifest: the first checkpoint is being shipped, or somebody has deleted the \
                     manifest",
                    counted(objects, "object"),
                    size(bytes)
                ),
            });
        }
        Ok((None, ShardNoted { number: Some(0), exchange: Some(ExchangeState::default()) }))
    }

    fn dir(&self) -> PathBuf {
        self.crawl.dir_of(self.shard)
    }

    /// Where an object is, for people.
    fn object(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/{name}", self.crawl.address()))
    }
}
