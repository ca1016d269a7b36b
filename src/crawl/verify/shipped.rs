//! Verifying a crawl in a store: its objects against the manifests, and what they hold as the files of a directory.
//!
//! Each shard is looked at by its newest checkpoint. All of it but value files, which stay, is copied before any of it
//! is looked at ([`crate::ship::check`]); so all that is found is of this one checkpoint, however many its owner makes
//! meanwhile.

use std::path::PathBuf;

use super::across::{self, Last, ShardNoted};
use super::{Place, copies, verify_one};
use crate::checkpoint::Identity;
use crate::container::Report;
use crate::crawl::CrawlError;
use crate::crawl::cluster::StoredCrawl;
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::engine::ExchangeState;
use crate::shard::Shard;
use crate::ship::Manifest;
use crate::text::figures::{counted, size};

/// Said of every crawl in a store.
pub(super) const ONLY_NEWEST: &str =
    "lengths and counts of a crawl in a store are compared with the newest checkpoint file only";

/// The state of a shard, once it was looked at.
type Looked = (Option<Identity>, ShardNoted);

/// Verifies the crawl, shard by shard, and then what its shards say of one another. `notice` hears what cannot be
/// checked, and why.
pub(crate) fn verify_stored(
    crawl: &StoredCrawl,
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<(), CrawlError> {
    notice(ONLY_NEWEST.to_owned());
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
    let (mut last, mut newest) = (Vec::with_capacity(noted.len()), Vec::new());
    for (shard, of) in crawl.shards().zip(&noted) {
        let manifest = crawl.newest(shard)?;
        last.push(Last::of_manifest(manifest.as_ref(), of));
        newest.extend(manifest);
    }
    across::check(&disk, &dirs, &across::Shards { noted: &noted, last: &last, running: true }, report, notice)?;
    for reader in &newest {
        for what in newest.iter().filter_map(|sender| unread(reader, sender)) {
            report.damage(&dirs.shards()[reader.shard as usize], 0, what);
        }
    }
    let root = copies::CrawlDir { disk: &disk, dir: dirs.root(), shard: Shard::WHOLE };
    Ok(copies::check_config(&root, report)?)
}

/// Finds a link file of `sender` that `reader` says to have read, by its revision, and has not, by its position. Both
/// are facts of one checkpoint of the reader, so this holds however old that of the sender is.
fn unread(reader: &Manifest, sender: &Manifest) -> Option<String> {
    let is_of_era = reader.claim.era == sender.claim.era;
    let others = sender.links.iter().filter(|_| is_of_era && reader.shard != sender.shard);
    // revisions of an earlier era mean nothing; that of the manifest's own file is not in it
    let mut said = others.filter(|links| {
        links.claim.era == sender.claim.era && links.revision > 0 && reader.head.read_to.covers(links.revision)
    });
    let links = said.find(|links| !reader.head.has_read(sender.shard, links.number))?;
    let (to, sender) = (reader.head.read_to.last(), Shard::new(sender.shard, sender.shards).dir_name());
    let (number, revision) = (links.number, links.revision);
    Some(format!(
        "it says that it has read all links up to revision {to}, and has not read those of {sender}, checkpoint \
         {number}, revision {revision}: such links are lost"
    ))
}

/// The verification of a shard.
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

    /// Returns the place of an object, for people.
    fn object(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/{name}", self.crawl.address()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Head, Position, UpTo};
    use crate::ship::{Claim, ShippedLinks};

    /// The manifest of a shard of two in era 3 that has read this much of shard 0, with these files as number and
    /// revision.
    fn manifest(shard: u32, read_to: u64, position: Position, files: &[(u64, u64)]) -> Manifest {
        let claim = Claim { era: 3, epoch: 5 };
        let links = |&(number, revision): &(u64, u64)| ShippedLinks { number, claim, has_notes: false, revision };
        let (read_to, positions) = (UpTo::all(read_to), vec![position; 2]);
        Manifest {
            crawl: 1,
            shard,
            shards: 2,
            claim,
            number: 9,
            head: Head { number: 9, read_to, positions, ..Head::default() },
            objects: Vec::new(),
            files: Vec::new(),
            links: files.iter().map(links).collect(),
        }
    }

    #[test]
    fn a_shard_that_says_to_have_read_what_its_position_is_before_is_found() {
        let files = [(4, 105), (7, 112), (8, 0)];
        let sender = manifest(0, 0, Position::default(), &files);
        let read = |read_to, position| unread(&manifest(1, read_to, position, &[]), &sender);
        assert_eq!(read(119, Position::behind(7)), None, "when checkpoint 8 was committed is not known");
        assert_eq!(read(111, Position::behind(4)), None);
        let lost = read(119, Position::behind(4)).unwrap();
        assert!(
            lost.contains("up to revision 119") && lost.contains("shard-000, checkpoint 7, revision 112"),
            "{lost}"
        );
        assert!(read(119, Position { number: 7, frames: 2 }).is_some(), "to its end");
        let mut recovered = manifest(1, 119, Position::behind(4), &[]);
        recovered.claim.era = 4;
        assert_eq!(unread(&recovered, &sender), None, "revisions of two registries");
        assert_eq!(unread(&sender, &sender), None);
    }
}
