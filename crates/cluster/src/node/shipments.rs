//! The shards that this process ships: for each the claim under which it does, and what of it counts.
//!
//! A checkpoint goes through four steps, each durable before the next: it is noted in its directory as offered
//! ([`note`](super::note)); its objects are put, the manifest last; it becomes the head; it is noted as committed. Then
//! what only the former head named is deleted. A store that is away is asked again, for as long as it takes: the engine
//! waits with its next checkpoint, and after `cluster.behind_max` with its requests. A shard whose claim is lost is
//! shipped no more.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::SUCCEEDED;
use super::eras::{Begun, Eras};
use super::note::{Note, Stamp};
use crate::checkpoint::Checkpoint;
use crate::disk::{self, Disk};
use crate::engine::checkpoint::inventory;
use crate::engine::{Durable, Shipping};
use crate::exchange::Revision;
use crate::shard::Shard;
use crate::ship::{Claim, Manifest, Names, ShipOptions, Shipped, Shipper};
use crate::store::{self, ObjectStore};
use crate::text::figures::{count, size};

/// Pauses between two tries of a store that is away: the first, and the longest one.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// A store that is away is reported this often.
const TELL: Duration = Duration::from_secs(30);

/// Decides whether a shipped checkpoint counts.
pub trait Commit: fmt::Debug + Send {
    /// Makes it the head; its revision. Waits until that is definite. The shard is lost where it is refused.
    fn commit(&self, manifest: &Manifest, checkpoint: &Checkpoint) -> Result<Revision, String>;
    /// Returns whether the shard is still this process's, as far as is known.
    fn is_held(&self) -> bool;
    /// Returns why objects that no head names any more may not be deleted, if others have gone on with the crawl.
    fn superseded(&self) -> store::Result<Option<&'static str>>;
}

/// The manifest itself is the head: of a crawl that one process at a time works on.
///
/// Each process begins an era before it looks for the head, and looks for a later era when it has put a manifest and
/// before it deletes anything. So either the successor finds that manifest, or this process finds the successor.
#[derive(Debug)]
pub struct Alone {
    /// The store to which the crawl is shipped.
    pub store: Arc<dyn ObjectStore>,
    /// Prefix of the objects of the crawl.
    pub prefix: String,
    /// The era that this process has begun.
    pub begun: Begun,
}

impl Commit for Alone {
    fn commit(&self, _: &Manifest, _: &Checkpoint) -> Result<Revision, String> {
        Ok(0)
    }

    fn is_held(&self) -> bool {
        true
    }

    fn superseded(&self) -> store::Result<Option<&'static str>> {
        let eras = Eras { store: &*self.store, prefix: &self.prefix };
        let is_ours = eras.is_newest(self.begun.era)? && eras.is_authors(&self.begun)?;
        Ok((!is_ours).then_some(SUCCEEDED))
    }
}

/// Waits for this long before the store is asked again.
pub type Pause = fn(Duration);

/// Everything that a process ships.
#[derive(Debug)]
pub struct Shipments {
    store: Arc<dyn ObjectStore>,
    names: Names,
    crawl: u128,
    options: ShipOptions,
    pause: Pause,
    /// Owned shards by number. `None` for one that is not this process's.
    owned: Vec<Mutex<Option<Owned>>>,
    /// Sums of what was shipped by claims that have ended.
    ended: Mutex<Shipped>,
    /// True if a shard turned out to be somebody else's.
    has_lost: AtomicBool,
}

/// A shard under a claim of this process.
#[derive(Debug)]
struct Owned {
    claim: Claim,
    commit: Box<dyn Commit>,
    shipper: Shipper,
    note: Note,
}

impl Shipments {
    /// None yet, of a crawl with this many shards.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        names: Names,
        crawl: u128,
        shards: u32,
        options: ShipOptions,
        pause: Pause,
    ) -> Shipments {
        let owned = (0..shards).map(|_| Mutex::new(None)).collect();
        let (ended, has_lost) = (Mutex::default(), AtomicBool::new(false));
        Shipments { store, names, crawl, options, pause, owned, ended, has_lost }
    }

    /// The shard is this process's by `claim`, and goes on from `head` in the directory `dir`.
    pub fn own(
        &self,
        shard: Shard,
        claim: Claim,
        commit: Box<dyn Commit>,
        head: Option<Manifest>,
        disk: &Disk,
        dir: &Path,
    ) -> disk::Result<()> {
        let committed = head.as_ref().map(|head| Stamp::new(head.claim, head.number));
        let note = Note { committed, offered: None };
        note.write(disk, dir)?;
        let (store, names) = (self.store.clone(), self.names.clone());
        let shipper = Shipper::new(store, names, self.crawl, shard, claim, head, self.options);
        *self.lock(shard) = Some(Owned { claim, commit, shipper, note });
        Ok(())
    }

    /// Returns the store to which it is shipped.
    pub fn store(&self) -> &dyn ObjectStore {
        &*self.store
    }

    /// The id of the crawl.
    pub fn crawl(&self) -> u128 {
        self.crawl
    }

    /// Returns whether a shard turned out to be somebody else's.
    pub fn has_lost(&self) -> bool {
        self.has_lost.load(Ordering::Acquire)
    }

    /// It is not any more.
    pub fn disown(&self, shard: Shard) {
        if let Some(owned) = self.lock(shard).take() {
            add(&mut self.ended.lock().unwrap_or_else(PoisonError::into_inner), owned.shipper.shipped());
        }
    }

    /// Says what was shipped, once the engines are gone.
    pub fn tell(&self) {
        let mut sum = *self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        for owned in &self.owned {
            let owned = owned.lock().unwrap_or_else(PoisonError::into_inner);
            owned.iter().for_each(|owned| add(&mut sum, owned.shipper.shipped()));
        }
        if sum.checkpoints > 0 {
            let (checkpoints, puts) = (count(sum.checkpoints), count(sum.puts));
            let (bytes, store) = (size(sum.bytes), self.store.address());
            tracing::info!("{checkpoints} checkpoints shipped to {store}: {bytes} in {puts} objects");
        }
    }

    /// Returns the error of an engine that cannot go on because its shard is not this process's.
    fn lost(&self, dir: &Path, why: &str) -> disk::Error {
        self.has_lost.store(true, Ordering::Release);
        disk::Error::limit("ship a checkpoint of", dir, format!("the shard is lost: {why}"))
    }

    fn lock(&self, shard: Shard) -> MutexGuard<'_, Option<Owned>> {
        self.owned[shard.index() as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `act` until the store does it, or the shard is lost. What is wrong with the files here does not change by
    /// that.
    fn patiently<T>(
        &self,
        commit: &dyn Commit,
        dir: &Path,
        mut act: impl FnMut() -> store::Result<T>,
    ) -> disk::Result<T> {
        let (mut pause, mut told) = (PAUSE, None::<Instant>);
        loop {
            let error = match act() {
                Ok(done) => {
                    if told.is_some() {
                        tracing::info!("the store {} takes checkpoints again", self.store.address());
                    }
                    return Ok(done);
                }
                Err(store::Error::Disk(error)) => return Err(error),
                Err(error) => error,
            };
            if !commit.is_held() {
                return Err(self.lost(dir, "its claim is gone"));
            }
            if told.is_none_or(|told| told.elapsed() >= TELL) {
                told = Some(Instant::now());
                tracing::warn!("a checkpoint waits for the store {}: {error}", self.store.address());
            }
            (self.pause)(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

impl Shipping for Shipments {
    fn ship(&self, durable: &Durable<'_>) -> disk::Result<()> {
        let Durable { disk, dir, shard, checkpoint, head } = *durable;
        let mut owned = self.lock(shard);
        let Some(Owned { claim, commit, shipper, note }) = owned.as_mut() else {
            return Err(self.lost(dir, "it was given up"));
        };
        let number = checkpoint.number;
        if note.committed.is_some_and(|committed| committed.number == number) {
            return Ok(());
        }
        let files = inventory::of_file(disk, dir, number)?;
        note.offered = Some(Stamp::new(*claim, number));
        note.write(disk, dir)?;
        let manifest = self.patiently(&**commit, dir, || shipper.ship(disk, dir, number, head, &files))?;
        let revision = commit.commit(&manifest, checkpoint).map_err(|why| self.lost(dir, &why))?;
        *note = Note { committed: note.offered, offered: None };
        note.write(disk, dir)?;
        shipper.counts(manifest, revision);
        let released = match commit.superseded() {
            Ok(Some(why)) => return Err(self.lost(dir, why)),
            Ok(None) => shipper.release(),
            Err(error) => Err(error),
        };
        if let Err(error) = released {
            tracing::warn!(%error, "what the store needs no more was not deleted; it is tried again");
        }
        Ok(())
    }
}

fn add(sum: &mut Shipped, of: Shipped) {
    sum.checkpoints += of.checkpoints;
    sum.puts += of.puts;
    sum.bytes += of.bytes;
    sum.deleted += of.deleted;
}
