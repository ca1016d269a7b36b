//! A session of a node: its lease, its claims, what it knows.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::table::Txn;
use super::{Connectivity, SimulatedRegistry};
use crate::cluster::balance::{Balance, Wanted};
use crate::cluster::etcd::EtcdError;
use crate::cluster::lease::{Hold, Lease};
use crate::cluster::ownership::{Claimed, ClusterError, CommitError, Granted, Ownership, next_list};
use crate::cluster::quota::Dealt;
use crate::cluster::record::{EndRecord, GrantRecord, HaltedRecord, HeadRecord, QuotaRecord};
use crate::cluster::view::{SeedsAt, View};
use crate::exchange::Revision;

/// Pause between two tries of a call that has to be definite.
const PAUSE: Duration = Duration::from_millis(500);

/// A session of a node.
pub struct SimulatedNode {
    pub(super) registry: SimulatedRegistry,
    pub(super) name: String,
    pub(super) id: u64,
    pub(super) lease: Arc<Lease>,
    pub(super) connectivity: Mutex<Connectivity>,
    pub(super) pause: fn(Duration),
    pub(super) known: Mutex<Arc<View>>,
    pub(super) balance: Mutex<Balance>,
    pub(super) claims: Mutex<HashMap<u32, (u64, Arc<Hold>)>>,
    pub(super) is_closed: AtomicBool,
}

impl fmt::Debug for SimulatedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedNode").field("name", &self.name).field("id", &self.id).finish_non_exhaustive()
    }
}

impl SimulatedNode {
    /// Sets which of its calls and answers come through from now on.
    pub fn set_connectivity(&self, connectivity: Connectivity) {
        *lock(&self.connectivity) = connectivity;
    }

    /// Renews the lease, if that comes through.
    pub fn renew(&self) {
        let (sent, now) = (self.lease.sending(), self.registry.clocks.boot());
        let renewed = self.registry.table().call(self.connectivity(), |table| table.renew(self.id, now));
        match renewed {
            Some(true) => _ = self.lease.renewed(sent, self.registry.terms.lasts),
            Some(false) => self.lose(),
            None => {}
        }
    }

    /// Hears of everything that was done up to now; whether that is news.
    pub fn hear(&self) -> bool {
        let connectivity = self.connectivity();
        let Some(view) = self.registry.table().call(connectivity, |table| table.view.clone()) else { return false };
        if view.known == lock(&self.known).known {
            return false;
        }
        *lock(&self.known) = Arc::new(view);
        self.observe();
        self.delete_strays();
        true
    }

    /// Takes note of who owns what: patience is a matter of time.
    pub fn observe(&self) {
        let view = self.heads();
        lock(&self.balance).observe(&view, self.registry.clocks.boot());
    }

    /// Returns whether the lease is lost. Then the session is over.
    pub fn is_lost(&self) -> bool {
        self.lease.is_lost()
    }

    /// Gives up what is held at once, as far as that comes through.
    pub fn leave(&self) {
        self.lose();
        self.close();
        let connectivity = self.connectivity();
        self.registry.table().call(connectivity, |table| table.drop_lease(self.id));
    }

    /// The process is gone: no call is sent any more. What it held is held until its lease ends.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        lock(&self.claims).drain().for_each(|(_, (_, hold))| hold.drop_claim());
    }

    fn lose(&self) {
        self.lease.lose();
        lock(&self.claims).drain().for_each(|(_, (_, hold))| hold.drop_claim());
    }

    fn connectivity(&self) -> Connectivity {
        *lock(&self.connectivity)
    }

    /// Owners' keys under the own lease of which this process does not know: a claim that arrived late, or a release
    /// that did not.
    fn delete_strays(&self) {
        let view = self.heads();
        for (shard, owner) in (0..).zip(&view.owners) {
            let Some(owner) = owner.as_ref().filter(|owner| owner.lease == self.id) else { continue };
            if lock(&self.claims).get(&shard).is_none_or(|(epoch, _)| *epoch != owner.epoch) {
                self.send(&Txn::Release { shard, epoch: owner.epoch });
            }
        }
    }

    /// Sends a transaction once; what came of it, if that is known.
    fn send(&self, txn: &Txn) -> Option<Option<Revision>> {
        let connectivity = self.connectivity();
        self.registry.table().transact(connectivity, txn)
    }

    /// Reads, if that comes through.
    fn read<T>(&self, read: impl FnOnce(&View) -> T) -> Option<T> {
        let connectivity = self.connectivity();
        self.registry.table().call(connectivity, |table| read(&table.view))
    }

    /// Calls `act` until it has an answer, or the process is gone, or `goes_on` says no.
    fn repeated<T>(&self, goes_on: impl Fn() -> bool, act: impl Fn() -> Option<T>) -> Result<T, ClusterError> {
        loop {
            if self.is_closed.load(Ordering::Acquire) {
                return Err(EtcdError::Unclear("the node has ended".to_owned()).into());
            }
            if let Some(answer) = act() {
                return Ok(answer);
            }
            if !goes_on() {
                return Err(EtcdError::Unclear("no answer".to_owned()).into());
            }
            (self.pause)(PAUSE);
        }
    }

    fn forget(&self, claimed: &Claimed) {
        let mut claims = lock(&self.claims);
        if claims.get(&claimed.shard).is_some_and(|(epoch, _)| *epoch == claimed.epoch) {
            claims.remove(&claimed.shard);
        }
    }

    /// Changes what is wanted of the crawl.
    fn change<T>(&self, change: impl Fn(&mut View, Revision) -> T) -> Result<T, ClusterError> {
        self.repeated(
            || true,
            || {
                let connectivity = self.connectivity();
                self.registry.table().call(connectivity, |table| {
                    let revision = table.next();
                    change(&mut table.view, revision)
                })
            },
        )
    }

    fn limits(&self) -> Result<(QuotaRecord, Vec<GrantRecord>), ClusterError> {
        let read = || {
            let connectivity = self.connectivity();
            self.registry.table().call(connectivity, |table| (table.left, table.granted.clone()))
        };
        self.repeated(|| true, read)
    }

    /// Sends what moves limits; a repetition that finds it done compares what the shard had before, and does nothing.
    fn move_limits(&self, claimed: &Claimed, make: impl Fn(GrantRecord) -> Txn) -> Result<Granted, ClusterError> {
        let at = claimed.shard as usize;
        let had = self.limits()?.1[at];
        self.repeated(|| !claimed.hold().is_lost(), || self.send(&make(had)))?;
        let (left, granted) = self.limits()?;
        Ok(Granted { in_all: granted[at], left })
    }
}

impl Ownership for SimulatedNode {
    /// Tries once: where the answer is lost, what was claimed is a stray, and given up when the node hears of it.
    fn claim(&self, shard: u32) -> Result<Option<Claimed>, ClusterError> {
        if !self.holds() {
            return Err(ClusterError::NoLease);
        }
        if lock(&self.claims).contains_key(&shard) {
            return Err(ClusterError::Claimed { shard });
        }
        let no_answer = || ClusterError::from(EtcdError::Unclear("no answer".to_owned()));
        // another one than is known is heard of before the next try
        let head = self.heads().heads[shard as usize].clone().unwrap_or_default();
        let txn = Txn::Claim { shard, name: self.name.clone(), lease: self.id, head: head.revision };
        let Some(epoch) = self.send(&txn).ok_or_else(no_answer)? else { return Ok(None) };
        let hold = Arc::new(Hold::under(self.lease.clone()));
        lock(&self.claims).insert(shard, (epoch, hold.clone()));
        Ok(Some(Claimed::new(shard, 0, epoch, head, hold)))
    }

    fn commit(&self, claimed: &Claimed, record: &HeadRecord) -> Result<Revision, CommitError> {
        let (shard, epoch, head) = (claimed.shard, claimed.epoch, claimed.head_revision());
        let txn = Txn::Commit { shard, epoch, head, record: record.clone() };
        let sent = self.repeated(|| true, || self.send(&txn)).map_err(CommitError::Unknown)?;
        if let Some(revision) = sent {
            claimed.committed(revision);
            return Ok(revision);
        }
        let found = |view: &View| (view.heads[shard as usize].clone(), view.owners[shard as usize].clone());
        let (now, owner) = self.repeated(|| true, || self.read(found)).map_err(CommitError::Unknown)?;
        let now = now.unwrap_or_default();
        let is_mine = (now.record.epoch, now.record.number) == (record.epoch, record.number);
        if is_mine {
            // an earlier sending had arrived
            claimed.committed(now.revision);
            return Ok(now.revision);
        }
        claimed.hold().drop_claim();
        self.forget(claimed);
        let owner = owner.map_or_else(|| "nobody".to_owned(), |owner| owner.node);
        Err(CommitError::Refused { shard, owner, number: now.record.number })
    }

    fn release(&self, claimed: &Claimed) -> Result<(), ClusterError> {
        claimed.hold().drop_claim();
        let txn = Txn::Release { shard: claimed.shard, epoch: claimed.epoch };
        let done = self.send(&txn);
        self.forget(claimed);
        lock(&self.balance).released(claimed.shard, self.registry.clocks.boot());
        // where it did not arrive, it is a stray
        done.map(drop).ok_or_else(|| EtcdError::Unclear("no answer".to_owned()).into())
    }

    fn heads(&self) -> Arc<View> {
        lock(&self.known).clone()
    }

    fn holds(&self) -> bool {
        !self.is_closed.load(Ordering::Acquire) && self.lease.holds()
    }

    fn wanted(&self) -> Wanted {
        if !self.holds() {
            return Wanted::default();
        }
        let view = self.heads();
        let wanted = lock(&self.balance).wanted(&view, &self.name, self.registry.clocks.boot());
        let held = lock(&self.claims);
        let claim = wanted.claim.into_iter().filter(|shard| !held.contains_key(shard)).collect();
        let hand_over = wanted.hand_over.filter(|shard| held.contains_key(shard));
        Wanted { claim, hand_over }
    }

    fn grant(&self, claimed: &Claimed) -> Result<Granted, ClusterError> {
        let (shard, epoch) = (claimed.shard, claimed.epoch);
        self.move_limits(claimed, |had| Txn::Grant { shard, epoch, had })
    }

    fn left(&self) -> Result<QuotaRecord, ClusterError> {
        Ok(self.limits()?.0)
    }

    fn dealt(&self) -> Result<Dealt, ClusterError> {
        let (left, granted) = self.limits()?;
        Ok(Dealt { left, granted })
    }

    fn granted(&self, shard: u32) -> Result<GrantRecord, ClusterError> {
        Ok(self.limits()?.1[shard as usize])
    }

    fn give_back(&self, claimed: &Claimed, used: GrantRecord) -> Result<Granted, ClusterError> {
        let (shard, epoch) = (claimed.shard, claimed.epoch);
        self.move_limits(claimed, |had| Txn::GiveBack { shard, epoch, had, used })
    }

    fn put_end(&self, want_at: Revision, end: EndRecord) -> Result<bool, ClusterError> {
        self.change(|view, _| {
            if view.want_at == want_at {
                view.end.get_or_insert(end);
            }
            view.end.is_some()
        })
    }

    fn put_seeds(&self, object: &str, count: u64) -> Result<SeedsAt, ClusterError> {
        self.change(|view, revision| {
            if let Some(list) = view.seeds.values().find(|list| list.record.object == object) {
                return Ok(list.clone());
            }
            if view.end.is_some() {
                return Err(ClusterError::Ended);
            }
            let (number, record) = next_list(view, object, count, false);
            let list = SeedsAt { revision, number, record };
            view.seeds.insert(number, list.clone());
            (view.want.seeds, view.want_at) = (number, revision);
            Ok(list)
        })?
    }

    fn halt(&self, claimed: &Claimed, halted: &HaltedRecord) -> Result<(), ClusterError> {
        let (shard, epoch) = (claimed.shard, claimed.epoch);
        let done = self.change(|view, _| {
            let is_owned = view.owners[shard as usize].as_ref().is_some_and(|owner| owner.epoch == epoch);
            if is_owned {
                view.halted.insert(shard, halted.clone());
            }
            is_owned
        })?;
        if done { Ok(()) } else { Err(ClusterError::Lost { shard }) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
