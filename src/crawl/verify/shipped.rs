//! Verifying a crawl in a store: its objects against the manifests, and what they hold as the files of a directory.
//!
//! Each shard is looked at by its newest checkpoint. Owners that go on meanwhile delete what their next checkpoints
//! need no more, so a shard with findings that has gone on is looked at again; what is found the last time counts
//! where it is of a value file, since those stay.

use std::path::{Path, PathBuf};

use super::across::{self, ShardNoted};
use super::{Place, copies, verify_one};
use crate::container::{Finding, Report, Summary};
use crate::crawl::CrawlError;
use crate::crawl::cluster::StoredCrawl;
use crate::crawl::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::engine::ExchangeState;
use crate::engine::Identity;
use crate::shard::Shard;
use crate::ship::{Claim, Manifest};
use crate::text::figures::{counted, size};

/// So often a shard is looked at that has gone on meanwhile.
const TRIES: usize = 3;
/// Findings of a shard that are told.
const FINDINGS_MAX: usize = 10_000;
const VALUE_FILE: &str = "value-";

/// What a shard says, once it was looked at.
type Looked = (Option<Identity>, ShardNoted);
/// Which checkpoint was looked at.
type Stamp = Option<(Claim, u64)>;

/// Verifies the crawl, shard by shard, and then what its shards say of one another. `notice` hears what cannot be
/// checked, and why.
pub fn verify_stored(
    crawl: &StoredCrawl,
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<(), CrawlError> {
    notice("a store has no catalog: lengths and counts are compared with the newest checkpoint file only".to_owned());
    let disk = crawl.disk();
    let (mut identities, mut noted, mut stamps) = (Vec::new(), Vec::new(), Vec::new());
    for shard in crawl.shards() {
        let mut notice = |what: String| match shard.is_whole() {
            true => notice(what),
            false => notice(format!("{}: {what}", shard.dir_name())),
        };
        let ((identity, of_shard), stamp) = Verification { crawl, disk: &disk, shard }.run(report, &mut notice)?;
        identities.push(identity);
        noted.push(of_shard);
        stamps.push(stamp);
    }
    let dirs = CrawlDirs::find(&disk, crawl.dir())?;
    if !dirs.is_sharded() {
        return Ok(());
    }
    across::check_identities(&disk, &dirs, &identities, report, notice)?;
    // what a shard knew of the others may be of checkpoints that came after they were looked at
    let mut newest = Vec::new();
    for (shard, stamp) in crawl.shards().zip(stamps) {
        let manifest = crawl.newest(shard)?;
        if let Some(newer) = manifest.as_ref().filter(|newer| stamp_of(Some(newer)) > stamp) {
            crawl.show(shard, Some(newer));
        }
        newest.extend(manifest);
    }
    across::check(&disk, &dirs, true, &noted, report, notice)?;
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

fn stamp_of(manifest: Option<&Manifest>) -> Stamp {
    manifest.map(|manifest| (manifest.claim, manifest.number))
}

/// That of a shard.
struct Verification<'a> {
    crawl: &'a StoredCrawl,
    disk: &'a Disk,
    shard: Shard,
}

/// What came of one look.
struct Look {
    looked: Looked,
    stamp: Stamp,
    summary: Summary,
    findings: Vec<Finding>,
    notices: Vec<String>,
}

impl Verification<'_> {
    fn run(&self, report: &mut Report<'_>, notice: &mut dyn FnMut(String)) -> Result<(Looked, Stamp), CrawlError> {
        let mut tries = 0;
        loop {
            let mut look = self.look(report)?;
            tries += 1;
            let has_gone_on = || Ok::<_, CrawlError>(stamp_of(self.crawl.newest(self.shard)?.as_ref()) > look.stamp);
            if look.summary.findings > 0 && has_gone_on()? {
                if tries < TRIES {
                    continue;
                }
                self.leave_out_superseded(&mut look);
            }
            let told = look.findings.len() as u64;
            let all = look.summary.findings + look.summary.unfinished;
            if let Some(more) = all.checked_sub(told).filter(|&more| more > 0) {
                look.notices.push(format!("{} are not told one by one", counted(more, "more finding")));
            }
            report.add(look.summary);
            look.findings.iter().for_each(|finding| (report.tell)(finding));
            look.notices.into_iter().for_each(notice);
            return Ok((look.looked, look.stamp));
        }
    }

    /// Checks the objects of the newest checkpoint, and then the files that they make.
    fn look(&self, report: &mut Report<'_>) -> Result<Look, CrawlError> {
        let (mut findings, mut notices) = (Vec::new(), Vec::new());
        let mut tell = |finding: &Finding| {
            if findings.len() < FINDINGS_MAX {
                findings.push(finding.clone());
            }
        };
        let mut inner = Report::new(&mut tell, &mut *report.progress);
        let mut notice = |what: String| notices.push(what);
        let checked = self.crawl.check(self.shard)?;
        inner.summary.bytes += checked.bytes;
        for fault in &checked.faults {
            inner.damage(&self.object(&fault.name), fault.offset, fault.what.clone());
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
        let looked = match &readable {
            Some(_) => {
                let place = Place { dir: &self.dir(), shard: self.shard, running: true };
                verify_one(self.disk, place, &mut inner, &mut notice)?
            }
            None => {
                if checked.faults.is_empty() {
                    notice(match objects {
                        0 => "no checkpoint has reached the store yet".to_owned(),
                        _ => format!(
                            "{} of {} and no manifest: the first checkpoint is being shipped, or somebody has deleted \
                             the manifest",
                            counted(objects, "object"),
                            size(bytes)
                        ),
                    });
                }
                let noted = ShardNoted { number: Some(0), exchange: Some(ExchangeState::default()) };
                (None, noted)
            }
        };
        let summary = inner.summary;
        Ok(Look { looked, stamp: stamp_of(checked.manifest.as_ref()), summary, findings, notices })
    }

    /// Leaves out what was found in files of a checkpoint that does not count any more.
    fn leave_out_superseded(&self, look: &mut Look) {
        let is_value = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
            name.starts_with(VALUE_FILE)
        };
        let before = look.findings.len();
        look.findings.retain(|finding| is_value(&finding.file));
        let left_out = (before - look.findings.len()) as u64;
        look.summary.findings = look.findings.iter().filter(|finding| finding.damage).count() as u64;
        look.summary.unfinished = look.findings.len() as u64 - look.summary.findings;
        if left_out > 0 {
            look.notices.push(format!(
                "the crawl went on faster than its queue and stores could be read: {} of checkpoints that count no \
                 more are left out; verify again once it has ended",
                counted(left_out, "finding")
            ));
        }
    }

    fn dir(&self) -> PathBuf {
        self.crawl.dir_of(self.shard)
    }

    /// Where an object is, for people.
    fn object(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/{name}", self.crawl.address()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Head, Position, UpTo};
    use crate::ship::ShippedLinks;

    /// The manifest of a shard of two in era 3 that has read this much of shard 0, with these files as number and
    /// revision.
    fn manifest(shard: u32, (read_to, position): (u64, Position), files: &[(u64, u64)]) -> Manifest {
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
        let sender = manifest(0, (0, Position::default()), &files);
        let read = |read_to, position| unread(&manifest(1, (read_to, position), &[]), &sender);
        assert_eq!(read(119, Position::behind(7)), None, "when checkpoint 8 was committed is not known");
        assert_eq!(read(111, Position::behind(4)), None);
        let lost = read(119, Position::behind(4)).unwrap();
        assert!(
            lost.contains("up to revision 119") && lost.contains("shard-000, checkpoint 7, revision 112"),
            "{lost}"
        );
        assert!(read(119, Position { number: 7, frames: 2 }).is_some(), "to its end");
        let mut recovered = manifest(1, (119, Position::behind(4)), &[]);
        recovered.claim.era = 4;
        assert_eq!(unread(&recovered, &sender), None, "revisions of two registries");
        assert_eq!(unread(&sender, &sender), None);
    }
}
