//! A shard that this node has claimed: its directory made ready, its heads committed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::heads::{Heads, read_manifest};
use super::note::{Note, Stamp};
use super::restoring::{aside, remove};
use super::shipments::{Commit, Shipments};
use crate::cluster::{Claimed, HeadRecord, Hold, Ownership};
use crate::crawl::shard_directory::ShardDirectory;
use crate::crawl::{CrawlError, CrawlRequest};
use crate::disk::Disk;
use crate::engine::{Checkpoint, Identity, Lease, mend};
use crate::exchange::Revision;
use crate::shard::Shard;
use crate::ship::{Archive, Claim, FileKind, Manifest, Names, StoreView, restore, sweep};
use crate::store::{self, ObjectStore};

/// What a head says of a shard that never had a link file: 0 would say that it came with this one.
const NEVER: Revision = 1;

/// What all claims of a node have in common.
#[derive(Clone)]
pub(super) struct Grounds {
    pub store: Arc<dyn ObjectStore>,
    pub names: Names,
    pub identity: Identity,
    pub view: Arc<StoreView>,
    pub ownership: Arc<dyn Ownership>,
    pub heads: Arc<Heads>,
    pub shipments: Arc<Shipments>,
}

impl Grounds {
    /// Opens the directory of the claimed shard: as it lies there, if the head was shipped from it; else as the store
    /// has it, without the archive, which stays there.
    pub fn open(&self, request: &CrawlRequest, claimed: &Arc<Claimed>) -> Result<ShardDirectory, CrawlError> {
        let shard = Shard::new(claimed.shard, self.identity.shards());
        let (disk, dir) = (Disk::real(), request.dir.join(shard.dir_name()));
        let head = claimed.head.as_ref();
        let head = head.map(|head| read_manifest(&*self.store, &self.names, claimed.shard, head)).transpose();
        let head = head.map_err(fault)?;
        let stamp = head.as_ref().map(|head| Stamp::new(head.claim, head.number));
        if !Note::read(&disk, &dir)?.is_of(stamp) || (head.is_some() && !mend::is_begun(&disk, &dir)) {
            self.bring(&disk, &dir, head.as_ref())?;
        }
        match &head {
            Some(head) => self.view.mount_archive(&dir, &without_files_here(head, &dir)),
            None => self.view.unmount(&dir),
        }
        let identity = self.identity.of_shard(shard);
        let directory = ShardDirectory::open_shard(request, self.view.disk(), identity, false)?;
        let claim = Claim { era: claimed.era, epoch: claimed.epoch };
        match sweep(&*self.store, &self.names, claimed.shard, claim, head.as_ref()) {
            Ok(swept) if swept.objects > 0 => {
                tracing::info!("{}: {} objects of earlier owners deleted", shard.dir_name(), swept.objects);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("{}: objects of earlier owners stay for now: {error}", shard.dir_name()),
        }
        let links_at = AtomicU64::new(claimed.head.as_ref().map_or(NEVER, |head| head.links_at()));
        let commit = Heading { grounds: self.clone(), claimed: claimed.clone(), links_at };
        self.shipments.own(shard, (claim, Box::new(commit)), head, (&disk, &dir))?;
        Ok(directory)
    }

    /// Makes `dir` what the store has of the shard. What lies there is of an earlier owner, whose work beyond the head
    /// counts no more.
    fn bring(&self, disk: &Disk, dir: &Path, head: Option<&Manifest>) -> Result<(), CrawlError> {
        let aside = aside(dir);
        remove(dir)?;
        remove(&aside)?;
        let Some(head) = head else { return Ok(()) };
        restore(&*self.store, head, disk, &aside, Archive::Left).map_err(fault)?;
        mend::make_again(disk, &aside)?;
        let committed = Some(Stamp::new(head.claim, head.number));
        Note { committed, offered: None }.write(disk, &aside)?;
        disk.rename(&aside, dir)?;
        disk.sync_dir(dir.parent().unwrap_or(Path::new(".")))?;
        tracing::info!("{}: goes on from checkpoint {} in the store", dir.display(), head.number);
        Ok(())
    }
}

/// The manifest without the value files that the directory has, whole or open.
fn without_files_here(manifest: &Manifest, dir: &Path) -> Manifest {
    let is_here = |path: &str| dir.join(path).exists() || dir.join(format!("{path}.open")).exists();
    let mut shown = manifest.clone();
    shown.files.retain(|file| file.kind == FileKind::Archive && !is_here(&file.path));
    shown
}

/// A store that does not give what a claimed shard needs.
fn fault(error: store::Error) -> CrawlError {
    match error {
        store::Error::Disk(error) => CrawlError::Disk(error),
        error => CrawlError::Store(error),
    }
}

/// Makes heads of what is shipped under a claim.
struct Heading {
    grounds: Grounds,
    claimed: Arc<Claimed>,
    links_at: AtomicU64,
}

impl std::fmt::Debug for Heading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heading").field("claimed", &self.claimed).finish_non_exhaustive()
    }
}

impl Commit for Heading {
    fn commit(&self, manifest: &Manifest, checkpoint: &Checkpoint) -> Result<Revision, String> {
        let new = manifest.links.iter().find(|links| links.revision == 0);
        let record = HeadRecord {
            era: manifest.claim.era,
            epoch: manifest.claim.epoch,
            number: manifest.number,
            manifest: manifest.name(&self.grounds.names),
            has_notes: new.is_some_and(|links| links.has_notes),
            links_at: if new.is_some() { 0 } else { self.links_at.load(Ordering::Relaxed) },
            read_to: manifest.head.read_to,
            idle: manifest.head.idle,
            pages: checkpoint.statistics.pages(),
            bytes: checkpoint.statistics.bytes_received,
        };
        let revision = self.grounds.ownership.commit(&self.claimed, &record).map_err(|error| error.to_string())?;
        if new.is_some() {
            self.links_at.store(revision, Ordering::Relaxed);
        }
        let mut committed = manifest.clone();
        committed.committed_at(revision);
        self.grounds.heads.committed(self.claimed.shard, revision, &committed);
        Ok(revision)
    }

    fn is_held(&self) -> bool {
        !self.claimed.hold().is_lost()
    }
}

/// The right of a shard's engine to make requests.
#[derive(Debug)]
pub(super) struct ShardLease(pub Arc<Hold>);

impl Lease for ShardLease {
    fn holds(&self) -> bool {
        self.0.holds()
    }
}

/// The right of a node to make any.
#[derive(Debug)]
pub(super) struct NodeLease(pub Arc<dyn Ownership>);

impl Lease for NodeLease {
    fn holds(&self) -> bool {
        self.0.holds()
    }
}
