//! The table: what is known, by one revision; its transactions, and what happens to calls on their way.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::clocks::Micros;
use super::super::quota;
use super::super::record::{GrantRecord, HeadRecord, NodeRecord, QuotaRecord};
use super::super::view::{HeadAt, NodeAt, OwnerAt, View};
use super::{Connectivity, Troubles};
use crate::exchange::{Revision, UpTo};

/// A call that was lost is carried out within this time, if it is.
const LATE_MAX_US: u64 = 40_000_000;

/// Transactions that change the table.
#[derive(Clone, Debug)]
pub enum Txn {
    /// Owns the shard if it has no owner, the head is the one of this revision, and the shard may be claimed.
    Claim { shard: u32, name: String, lease: u64, head: Revision },
    /// Puts the next head if the claim is there and the head is the one of this revision.
    Commit { shard: u32, epoch: u64, head: Revision, record: HeadRecord },
    /// Gives the claim up if it is there.
    Release { shard: u32, epoch: u64 },
    /// Moves a block of the limits to the shard if the claim is there. `had` is what it has of them.
    Grant { shard: u32, epoch: u64, had: GrantRecord },
    /// Takes back what the shard does not need if the claim is there. `had` is what it has of the limits.
    GiveBack { shard: u32, epoch: u64, had: GrantRecord, used: GrantRecord },
}

/// A lease as the registry keeps it.
#[derive(Debug)]
struct Kept {
    name: String,
    ends: Micros,
    lasts: Micros,
}

/// All that is known.
#[derive(Debug)]
pub struct Table {
    pub view: View,
    pub left: QuotaRecord,
    pub granted: Vec<GrantRecord>,
    pub troubles: Troubles,
    pub is_away: bool,
    pub has_fences: bool,
    pub claims: u64,
    pub take_overs: u64,
    /// A head that was followed by one of no greater number.
    pub went_back: Option<(u32, u64)>,
    leases: BTreeMap<u64, Kept>,
    late: BTreeMap<(Micros, u64), Txn>,
    made: u64,
    now: Micros,
    rng: fastrand::Rng,
}

impl Table {
    pub(crate) fn new(shards: u32, left: QuotaRecord, seed: u64) -> Table {
        let mut view = View::new(shards);
        view.want_at = 1;
        for (revision, head) in (2..).zip(&mut view.heads) {
            // as those that are made with the crawl: nothing was committed
            *head = Some(HeadAt { revision, record: HeadRecord::default() });
        }
        view.known = UpTo::all(u64::from(shards) + 1);
        Table {
            view,
            left,
            granted: vec![GrantRecord::default(); shards as usize],
            troubles: Troubles::default(),
            is_away: false,
            has_fences: true,
            claims: 0,
            take_overs: 0,
            went_back: None,
            leases: BTreeMap::new(),
            late: BTreeMap::new(),
            made: 0,
            now: 0,
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    /// Carries out a call, if it comes through, and brings its answer, if that does.
    pub(crate) fn call<T>(&mut self, connectivity: Connectivity, act: impl FnOnce(&mut Table) -> T) -> Option<T> {
        if self.is_away || connectivity == Connectivity::Nothing || self.draws(self.troubles.lost) {
            return None;
        }
        let answer = act(self);
        (connectivity == Connectivity::Whole && !self.draws(self.troubles.answer_lost)).then_some(answer)
    }

    /// The same of a transaction, which may be carried out late; whether it was carried out unchanged.
    pub(crate) fn transact(&mut self, connectivity: Connectivity, txn: &Txn) -> Option<Option<Revision>> {
        if !self.is_away && connectivity != Connectivity::Nothing && self.draws(self.troubles.late) {
            self.made += 1;
            let due = self.now + self.rng.u64(0..LATE_MAX_US);
            self.late.insert((due, self.made), txn.clone());
            return None;
        }
        self.call(connectivity, |table| table.apply(txn))
    }

    fn draws(&mut self, percent: u8) -> bool {
        percent > 0 && self.rng.u8(0..100) < percent
    }

    /// Carries out a transaction: its revision, if what it compares holds.
    fn apply(&mut self, txn: &Txn) -> Option<Revision> {
        match txn {
            Txn::Claim { shard, name, lease, head } => {
                let at = *shard as usize;
                let is_free = self.view.owners[at].is_none() && self.head_revision(*shard) == *head;
                let may = !self.view.halted.contains_key(shard) && self.view.end.is_none();
                if !is_free || !may || !self.leases.contains_key(lease) {
                    return None;
                }
                let epoch = self.next();
                self.claims += 1;
                self.take_overs += u64::from(self.view.heads[at].as_ref().is_some_and(|head| head.record.number > 0));
                self.view.owners[at] = Some(OwnerAt { node: name.clone(), epoch, lease: *lease });
            }
            Txn::Commit { shard, epoch, head, record } => {
                let is_fenced = !self.is_owned(*shard, *epoch) || self.head_revision(*shard) != *head;
                if is_fenced && self.has_fences {
                    return None;
                }
                let before = self.view.heads[*shard as usize].as_ref().map_or(0, |head| head.record.number);
                if record.number <= before {
                    self.went_back.get_or_insert((*shard, before));
                }
                let revision = self.next();
                self.view.heads[*shard as usize] = Some(HeadAt { revision, record: record.clone() });
            }
            Txn::Release { shard, epoch } => {
                if !self.is_owned(*shard, *epoch) {
                    return None;
                }
                self.next();
                self.view.owners[*shard as usize] = None;
            }
            Txn::Grant { shard, epoch, had } => {
                let shards = self.view.shards();
                let is_known = self.is_owned(*shard, *epoch) && self.granted[*shard as usize] == *had;
                let (left, granted) = is_known.then(|| quota::block(self.left, *had, shards)).flatten()?;
                (self.left, self.granted[*shard as usize]) = (left, granted);
            }
            Txn::GiveBack { shard, epoch, had, used } => {
                if !self.is_owned(*shard, *epoch) || self.granted[*shard as usize] != *had {
                    return None;
                }
                let (left, granted) = quota::given_back(self.left, *had, *used);
                (self.left, self.granted[*shard as usize]) = (left, granted);
            }
        }
        Some(self.view.known.last())
    }

    /// A change: its revision.
    pub(crate) fn next(&mut self) -> Revision {
        let revision = self.view.known.last() + 1;
        self.view.known = UpTo::all(revision);
        revision
    }

    pub(crate) fn is_owned(&self, shard: u32, epoch: u64) -> bool {
        self.view.owners[shard as usize].as_ref().is_some_and(|owner| owner.epoch == epoch)
    }

    pub(crate) fn head_revision(&self, shard: u32) -> Revision {
        self.view.heads[shard as usize].as_ref().map_or(0, |head| head.revision)
    }

    /// A lease for the node, and its name under it; `None` where the name is taken.
    pub(crate) fn join(&mut self, name: &str, now: Micros, lasts: Duration) -> Option<u64> {
        if self.view.nodes.contains_key(name) {
            return None;
        }
        let lasts = u64::try_from(lasts.as_micros()).unwrap_or(u64::MAX);
        let id = self.next();
        self.leases.insert(id, Kept { name: name.to_owned(), ends: now + lasts, lasts });
        let record = NodeRecord { weight: 1, ..NodeRecord::default() };
        self.view.nodes.insert(name.to_owned(), NodeAt { lease: id, record });
        Some(id)
    }

    /// Renews a lease; false where there is none any more.
    pub(crate) fn renew(&mut self, id: u64, now: Micros) -> bool {
        let Some(kept) = self.leases.get_mut(&id).filter(|kept| kept.ends > now) else { return false };
        kept.ends = now + kept.lasts;
        true
    }

    /// The lease is over, with all that was put under it.
    pub(crate) fn drop_lease(&mut self, id: u64) {
        let Some(kept) = self.leases.remove(&id) else { return };
        for shard in 0..self.view.owners.len() {
            if self.view.owners[shard].as_ref().is_some_and(|owner| owner.lease == id) {
                self.next();
                self.view.owners[shard] = None;
            }
        }
        self.next();
        self.view.nodes.remove(&kept.name);
    }

    pub(crate) fn pass_time(&mut self, now: Micros) {
        self.now = now;
        let ended: Vec<u64> = self.leases.iter().filter(|(_, kept)| kept.ends <= now).map(|(id, _)| *id).collect();
        ended.into_iter().for_each(|id| self.drop_lease(id));
        while let Some(entry) = self.late.first_entry().filter(|entry| entry.key().0 <= now) {
            let txn = entry.remove();
            self.apply(&txn);
        }
    }
}
