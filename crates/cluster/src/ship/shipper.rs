//! Sends checkpoints of one shard to the store, and deletes what a committed one no longer needs.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::manifest::Manifest;
use super::plan::{Owner, Plan, plan};
use super::source::Source;
use super::throttle::Throttle;
use super::{Claim, Names};
use crate::disk::Disk;
use crate::exchange::{Head, Revision};
use crate::record::NamedFile;
use crate::shard::Shard;
use crate::store::{Body, ObjectStore, Result};

/// The way in which checkpoints are sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShipOptions {
    /// Bytes a second that are sent at most.
    pub bytes_per_second: Option<u64>,
}

/// Sums of what was sent and deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shipped {
    /// Checkpoints that became heads.
    pub checkpoints: u64,
    /// Objects that were put.
    pub puts: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Bytes of the checkpoint in progress, and how many of them are in the store.
    pub in_progress: (u64, u64),
    /// Objects that were deleted.
    pub deleted: u64,
}

/// Ships the checkpoints of one shard under one claim.
///
/// The calls come in turn: [`Shipper::ship`], repeated until it succeeds; then the checkpoint is made the head; then
/// [`Shipper::committed`]. The next checkpoint follows behind that. After a commit that was refused the shipper is
/// dropped, and nothing is deleted.
pub struct Shipper {
    store: Arc<dyn ObjectStore>,
    names: Names,
    crawl: u128,
    shard: Shard,
    claim: Claim,
    /// Manifest of the head.
    last: Option<Manifest>,
    plan: Option<Plan>,
    /// Objects that no head names any more, and that could not be deleted yet.
    left: BTreeSet<String>,
    throttle: Option<Arc<Throttle>>,
    shipped: Shipped,
}

impl std::fmt::Debug for Shipper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shipper").field("shard", &self.shard).field("claim", &self.claim).finish_non_exhaustive()
    }
}

impl Shipper {
    /// Ships checkpoints of a shard of `crawl` on top of the head's manifest, `last`, whose revisions are
    /// [filled in](Manifest::committed_at).
    pub fn new(
        store: Arc<dyn ObjectStore>,
        names: Names,
        crawl: u128,
        shard: Shard,
        claim: Claim,
        last: Option<Manifest>,
        options: ShipOptions,
    ) -> Shipper {
        let throttle = options.bytes_per_second.map(Throttle::new);
        let (plan, left, shipped) = (None, BTreeSet::new(), Shipped::default());
        Shipper { store, names, crawl, shard, claim, last, plan, left, throttle, shipped }
    }

    /// The manifest of the head.
    pub fn last(&self) -> Option<&Manifest> {
        self.last.as_ref()
    }

    /// Returns what was sent and deleted until now.
    pub(crate) fn shipped(&self) -> Shipped {
        self.shipped
    }

    /// Brings checkpoint `number` in `dir` of `disk` into the store: its pack, pieces of value files, its link file,
    /// and last its manifest, which is returned. The files have to stay until it is [committed](Shipper::committed).
    ///
    /// What goes into which object is fixed in the first call: after an error the next call with the same number sends
    /// the same bytes, without those that are there already.
    pub fn ship(&mut self, disk: &Disk, dir: &Path, number: u64, head: &Head, files: &[NamedFile]) -> Result<Manifest> {
        if let Some(last) = self.last.as_ref().filter(|last| (last.claim, last.number) == (self.claim, number)) {
            return Ok(last.clone());
        }
        let disk = self.throttle.as_ref().map_or_else(|| disk.clone(), |throttle| throttle.over(disk));
        if self.plan.as_ref().is_none_or(|plan| plan.manifest.number != number) {
            let owner = Owner { names: &self.names, crawl: self.crawl, shard: self.shard, claim: self.claim };
            let plan = plan(Source { disk: &disk, dir }, owner, self.last.as_ref(), number, head, files)?;
            self.shipped.in_progress = (plan.puts.iter().map(|put| put.bytes).sum(), 0);
            self.plan = Some(plan);
        }
        self.turn(true);
        let sent = self.send(&disk);
        self.turn(false);
        sent
    }

    fn turn(&self, is_on: bool) {
        if let Some(throttle) = &self.throttle {
            throttle.turn(is_on);
        }
    }

    /// Sends what of the plan is not in the store.
    fn send(&mut self, disk: &Disk) -> Result<Manifest> {
        let plan = self.plan.as_mut().expect("it was made just now");
        while let Some(put) = plan.puts.get(plan.done) {
            self.store.put(&put.name, &Body::new(disk.clone(), put.parts.clone()))?;
            plan.done += 1;
            self.shipped.puts += 1;
            self.shipped.bytes += put.bytes;
            self.shipped.in_progress.1 += put.bytes;
        }
        if plan.done == plan.puts.len() {
            let bytes = plan.manifest.to_bytes();
            let length = bytes.len() as u64;
            self.store.put(&plan.manifest.name(&self.names), &Body::of(bytes))?;
            plan.done += 1;
            self.shipped.puts += 1;
            self.shipped.bytes += length;
        }
        Ok(plan.manifest.clone())
    }

    /// The shipped checkpoint is the head, since `revision`: deletes what the former head's manifest names and this one
    /// does not. What cannot be deleted now is tried again at the next one; the sweep of a later owner finds the rest.
    pub fn committed(&mut self, manifest: Manifest, revision: Revision) -> Result<()> {
        self.counts(manifest, revision);
        self.release()
    }

    /// The first half of [`Shipper::committed`]: nothing is deleted yet.
    pub(crate) fn counts(&mut self, mut manifest: Manifest, revision: Revision) {
        manifest.committed_at(revision);
        if let Some(last) = self.last.take() {
            let named = manifest.named(&self.names);
            self.left.extend(last.named(&self.names).into_iter().filter(|name| !named.contains(name)));
        }
        self.last = Some(manifest);
        self.plan = None;
        self.shipped.checkpoints += 1;
        self.shipped.in_progress = (0, 0);
    }

    /// The second half: deletes what no head names any more.
    pub(crate) fn release(&mut self) -> Result<()> {
        // manifests before what they name
        let (manifests, others): (Vec<String>, Vec<String>) =
            self.left.iter().cloned().partition(|name| self.names.parse_manifest(self.shard.index(), name).is_some());
        for name in manifests.into_iter().chain(others) {
            self.store.delete(&name)?;
            self.left.remove(&name);
            self.shipped.deleted += 1;
        }
        Ok(())
    }
}
