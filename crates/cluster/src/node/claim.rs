//! A shard that this node has claimed: its directory made ready, its heads committed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use super::eras::Eras;
use super::heads::{Heads, read_manifest};
use super::note::{Note, Stamp};
use super::objects::{aside, prefix};
use super::shipments::{Commit, Shipments};
use super::{Error, RECOVERED, Result};
use crate::checkpoint::{Checkpoint, Identity, begin};
use crate::cluster::{Claimed, HeadRecord, Hold, Ownership};
use crate::contract::Lease;
use crate::disk::{self, Disk};
use crate::exchange::{Idle, Revision, UpTo};
use crate::record::FileKind;
use crate::shard::Shard;
use crate::ship::{Archive, Claim, Manifest, Names, StoreView, restore, sweep};
use crate::store::{self, ObjectStore};

/// Revision of the links in the head of a shard that never had a link file. 0 would say that it came with this head.
const NEVER: Revision = 1;

/// A callback for a head of this claim, with its figures: how many pages it has, and what is left to do.
pub(crate) type OnHead = dyn Fn(&Claimed, u64, Idle) + Send + Sync;

/// State that all claims of a node share.
#[derive(Clone)]
pub struct Grounds {
    /// The store to which checkpoints go.
    pub store: Arc<dyn ObjectStore>,
    /// The names of the crawl's objects.
    pub names: Names,
    /// Era of the crawl.
    pub era: u32,
    /// Identity of the crawl.
    pub identity: Identity,
    /// The files of this node.
    pub disk: Disk,
    /// Directory that has the directories of its shards.
    pub root: PathBuf,
    /// The same, over which the store's files are shown.
    pub view: Arc<StoreView>,
    /// Ownership by which it is decided which shards the node has.
    pub ownership: Arc<dyn Ownership>,
    /// Heads of all shards, from which its engines hear of the others.
    pub heads: Arc<Heads>,
    /// Shipments of its shards.
    pub shipments: Arc<Shipments>,
    /// Hears of its heads, where the whole crawl has limits.
    pub on_head: Option<Arc<OnHead>>,
    /// Heads that are being put.
    pub commits: Arc<Commits>,
    /// The right to make requests.
    pub lease: Arc<SessionLease>,
}

impl Grounds {
    /// The place of a shard of the crawl.
    pub fn shard(&self, shard: u32) -> Shard {
        Shard::new(shard, self.identity.shards())
    }

    /// Makes the directory of the claimed shard ready to be opened: it stays as it is there, if the head was shipped
    /// from it; else it is made as the store has it, without the archive, which stays there. Brings the head.
    pub fn prepare(&self, claimed: &Claimed) -> Result<Option<Manifest>> {
        let (disk, dir) = (&self.disk, self.root.join(self.shard(claimed.shard).dir_name()));
        let head = claimed.head.as_ref();
        let head =
            head.map(|head| read_manifest(&*self.store, &self.names, self.era, claimed.shard, head)).transpose()?;
        let stamp = head.as_ref().map(|head| Stamp::new(head.claim, head.number));
        if !Note::read(disk, &dir)?.is_of(stamp) || (head.is_some() && !begin::is_begun(disk, &dir)) {
            // other shards of this node may read the links of a directory that was its own before, and goes now
            head.iter().for_each(|head| self.view.mount_links_instead(&dir, head));
            self.bring(&dir, head.as_ref())?;
        }
        let shown = head.as_ref().map(|head| without_files_here(head, disk, &dir)).transpose()?;
        self.heads.show_own(claimed.shard, || match &shown {
            Some(shown) => self.view.mount_archive(&dir, shown),
            None => self.view.unmount(&dir),
        });
        Ok(head)
    }

    /// Ships what the engine of the claimed shard makes from now on, whose directory was opened and goes on from
    /// `head`. What earlier owners have left in the store is deleted.
    pub fn own(&self, claimed: &Arc<Claimed>, head: Option<Manifest>) -> Result<()> {
        let shard = self.shard(claimed.shard);
        let claim = Claim { era: claimed.era, epoch: claimed.epoch };
        if !self.is_newest_era()? {
            return Err(Error::Recovered);
        }
        match sweep(&*self.store, &self.names, claimed.shard, claim, head.as_ref()) {
            Ok(swept) if swept.objects > 0 => {
                tracing::info!("{}: {} objects of earlier owners deleted", shard.dir_name(), swept.objects);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("{}: objects of earlier owners stay for now: {error}", shard.dir_name()),
        }
        let links_at = AtomicU64::new(claimed.head.as_ref().map_or(NEVER, |head| head.links_at()));
        let is_first = self.era > 0 && head.as_ref().is_none_or(|head| head.claim.era != self.era);
        let commit = Heading {
            grounds: self.clone(),
            claimed: claimed.clone(),
            links_at,
            is_first_of_era: AtomicBool::new(is_first),
        };
        let dir = self.root.join(shard.dir_name());
        self.shipments.own(shard, claim, Box::new(commit), head, &self.disk, &dir)?;
        Ok(())
    }

    /// Returns whether the crawl has not gone on in another registry.
    fn is_newest_era(&self) -> store::Result<bool> {
        self.with_eras(|eras| eras.is_newest(self.era))
    }

    /// Calls `act` with the eras of the crawl.
    pub fn with_eras<T>(&self, act: impl FnOnce(Eras<'_>) -> T) -> T {
        act(Eras { store: &*self.store, prefix: &prefix(self.identity.id) })
    }

    /// Makes `dir` what the store has of the shard. What is there is of an earlier owner, whose work beyond the head
    /// counts no more.
    fn bring(&self, dir: &Path, head: Option<&Manifest>) -> Result<()> {
        let (disk, aside) = (&self.disk, aside(dir));
        disk.remove_dir_all(dir)?;
        disk.remove_dir_all(&aside)?;
        let Some(head) = head else { return Ok(()) };
        restore(&*self.store, head, disk, &aside, Archive::Left)?;
        let committed = Some(Stamp::new(head.claim, head.number));
        Note { committed, offered: None }.write(disk, &aside)?;
        disk.rename(&aside, dir)?;
        disk.sync_dir(dir.parent().unwrap_or(Path::new(".")))?;
        tracing::info!("{}: goes on from checkpoint {} in the store", dir.display(), head.number);
        Ok(())
    }
}

/// The manifest without the value files that the directory has, whole or open.
fn without_files_here(manifest: &Manifest, disk: &Disk, dir: &Path) -> disk::Result<Manifest> {
    let mut here: HashMap<PathBuf, HashSet<String>> = HashMap::new();
    let mut shown = manifest.clone();
    let mut files = Vec::new();
    for file in shown.files.drain(..).filter(|file| file.kind == FileKind::Archive) {
        let path = dir.join(&file.path);
        let parent = path.parent().unwrap_or(dir).to_owned();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !here.contains_key(&parent) {
            let names = match disk.list(&parent) {
                Err(error) if error.is_not_found() => Vec::new(),
                names => names?,
            };
            here.insert(parent.clone(), names.into_iter().collect());
        }
        if !here[&parent].contains(&name) && !here[&parent].contains(&format!("{name}.open")) {
            files.push(file);
        }
    }
    shown.files = files;
    Ok(shown)
}

/// Makes heads of what is shipped under a claim.
struct Heading {
    grounds: Grounds,
    claimed: Arc<Claimed>,
    links_at: AtomicU64,
    /// True if the shard has no head of this era yet. The first checkpoint may have been cut in an earlier one.
    is_first_of_era: AtomicBool,
}

impl std::fmt::Debug for Heading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heading").field("claimed", &self.claimed).finish_non_exhaustive()
    }
}

impl Commit for Heading {
    fn commit(&self, manifest: &Manifest, checkpoint: &Checkpoint) -> std::result::Result<Revision, String> {
        let new = manifest.links.iter().find(|links| links.revision == 0);
        let is_first = self.is_first_of_era.load(Ordering::Relaxed);
        let record = HeadRecord {
            era: manifest.claim.era,
            epoch: manifest.claim.epoch,
            number: manifest.number,
            manifest: manifest.name(&self.grounds.names),
            has_notes: new.is_some_and(|links| links.has_notes),
            links_at: if new.is_some() { 0 } else { self.links_at.load(Ordering::Relaxed) },
            // what was read by revisions of another etcd is unknown here; the next checkpoint says it
            read_to: if is_first { UpTo::NOTHING } else { manifest.head.read_to },
            idle: manifest.head.idle,
            pages: checkpoint.statistics.counted_pages(),
            bytes: checkpoint.statistics.bytes_received,
        };
        let revision = {
            let _begun = self.grounds.commits.begin(self.claimed.shard);
            self.grounds.ownership.commit(&self.claimed, &record).map_err(|error| error.to_string())?
        };
        self.is_first_of_era.store(false, Ordering::Relaxed);
        if let Some(on_head) = &self.grounds.on_head {
            on_head(&self.claimed, record.pages, record.idle);
        }
        let links_at = if new.is_some() { revision } else { record.links_at };
        self.links_at.store(links_at, Ordering::Relaxed);
        let mut committed = manifest.clone();
        committed.committed_at(revision);
        committed.head.read_to = record.read_to;
        self.grounds.heads.committed(self.claimed.shard, &committed, revision, links_at);
        Ok(revision)
    }

    fn is_held(&self) -> bool {
        !self.claimed.hold().is_lost()
    }

    fn superseded(&self) -> store::Result<Option<&'static str>> {
        Ok((!self.grounds.is_newest_era()?).then_some(RECOVERED))
    }
}

/// The heads of this node that are being put: where etcd is away, they wait.
#[derive(Debug, Default)]
pub struct Commits(Mutex<HashMap<u32, Instant>>);

/// One of them.
struct Begun<'a>(&'a Commits, u32);

impl Commits {
    fn begin(&self, shard: u32) -> Begun<'_> {
        self.all().insert(shard, Instant::now());
        Begun(self, shard)
    }

    /// Returns whether the commit of the shard has been waited for since this moment, or longer.
    pub fn waits_since(&self, shard: u32, since: Instant) -> bool {
        self.all().get(&shard).is_some_and(|begun| *begun <= since)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u32, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.all().remove(&self.1);
    }
}

/// The right of a shard's engine to make requests.
#[derive(Debug)]
pub struct ShardLease(pub Arc<Hold>);

impl Lease for ShardLease {
    fn holds(&self) -> bool {
        self.0.holds()
    }
}

/// The right of a session to make any: that of its node, as long as none of its claims is lost.
///
/// What an engine has asked for waits in the fetch executor while the lease does not hold. A node that was cut off gets
/// a new lease some time before the engines of the old one are ended: by that alone it would send what waits, to hosts
/// that another node has taken over.
#[derive(Debug)]
pub struct SessionLease {
    node: Box<dyn Lease>,
    claims: RwLock<BTreeMap<u32, Arc<Hold>>>,
}

impl SessionLease {
    /// Makes the lease of a session without claims.
    pub fn new(node: impl Lease + 'static) -> SessionLease {
        SessionLease { node: Box::new(node), claims: RwLock::default() }
    }

    /// The session has this claim of the shard.
    pub fn claimed(&self, shard: u32, hold: Arc<Hold>) {
        self.claims.write().unwrap_or_else(PoisonError::into_inner).insert(shard, hold);
    }

    /// The shard's engine is gone, with all that it has asked for.
    pub fn given_up(&self, shard: u32) {
        self.claims.write().unwrap_or_else(PoisonError::into_inner).remove(&shard);
    }
}

impl Lease for SessionLease {
    fn holds(&self) -> bool {
        // in this order: claims are lost before there is a new lease
        self.node.holds()
            && !self.claims.read().unwrap_or_else(PoisonError::into_inner).values().any(|hold| hold.is_lost())
    }
}

/// The right of a node to make any.
#[derive(Debug)]
pub struct NodeLease(pub Arc<dyn Ownership>);

impl Lease for NodeLease {
    fn holds(&self) -> bool {
        self.0.holds()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[derive(Debug, Default)]
    struct Switch(Arc<AtomicBool>);

    impl Lease for Switch {
        fn holds(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn a_new_lease_of_the_node_does_not_send_what_was_asked_for_under_a_lost_claim() {
        let node = Switch::default();
        let is_held = node.0.clone();
        let session = SessionLease::new(node);
        assert!(!session.holds());
        is_held.store(true, Ordering::Relaxed);
        let (one, other) = (Arc::new(Hold::default()), Arc::new(Hold::default()));
        session.claimed(1, one.clone());
        session.claimed(2, other.clone());
        assert!(session.holds());
        // handed over in good order
        session.given_up(2);
        other.drop_claim();
        assert!(session.holds());
        // cut off, and another node has the shard; then there is a new lease
        is_held.store(false, Ordering::Relaxed);
        one.drop_claim();
        is_held.store(true, Ordering::Relaxed);
        assert!(!session.holds());
    }
}
