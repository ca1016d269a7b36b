//! Claims, heads and releases: each a transaction that checks what it changes, sent until its answer is definite.

use std::cell::Cell;
use std::sync::Arc;

use super::super::crawl::{repeated, value};
use super::super::etcd::{EtcdError, KeyValue, Transacted, Txn};
use super::super::lease::{Hold, Lease};
use super::super::ownership::{Claimed, ClusterError, CommitError};
use super::super::record::{HaltedRecord, HeadRecord, OwnerRecord, written};
use super::super::view::HeadAt;
use super::{Shared, lock};
use crate::exchange::Revision;

/// Outcome of one try to claim.
enum Tried {
    /// The shard is this node's, by the claim of this revision.
    Mine(u64),
    /// It is not free.
    Taken,
    /// A head that was not known, or an own owner's key of an earlier opening: once more.
    Again,
}

impl Shared {
    pub(super) fn claim(&self, shard: u32) -> Result<Option<Claimed>, ClusterError> {
        let (id, lease) = self.current()?;
        {
            let mut claims = lock(&self.claims);
            if claims.held.contains_key(&shard) || !claims.in_progress.insert(shard) {
                return Err(ClusterError::Claimed { shard });
            }
        }
        let claimed = self.try_to_claim(shard, id, &lease);
        lock(&self.claims).in_progress.remove(&shard);
        if let Ok(Some(claimed)) = &claimed {
            tracing::debug!("shard {shard} is claimed at {}", claimed.epoch);
        }
        claimed
    }

    fn try_to_claim(&self, shard: u32, id: u64, lease: &Arc<Lease>) -> Result<Option<Claimed>, ClusterError> {
        let mut head = self.read_head(shard)?;
        loop {
            match self.claim_once(shard, id, lease, &mut head)? {
                Tried::Taken => return Ok(None),
                Tried::Again => {}
                Tried::Mine(epoch) => {
                    let hold = Arc::new(Hold::under(lease.clone()));
                    let mut claims = lock(&self.claims);
                    claims.used.insert(epoch);
                    // a lease that was lost meanwhile has dropped all claims before this one
                    if lease.is_lost() {
                        return Err(ClusterError::NoLease);
                    }
                    claims.held.insert(shard, (epoch, hold.clone()));
                    return Ok(Some(Claimed::new(shard, self.crawl.era, epoch, head, hold)));
                }
            }
        }
    }

    fn read_head(&self, shard: u32) -> Result<HeadAt, ClusterError> {
        let known = lock(&self.view).heads.get(shard as usize).cloned().flatten();
        if let Some(head) = known {
            return Ok(head);
        }
        let read = self.crawl.get(&self.crawl.keys.head(shard))?;
        head_at(read.keys.first())
    }

    /// Puts the owner if there is none, the head is as read, and the shard may be claimed.
    fn claim_once(&self, shard: u32, id: u64, lease: &Lease, head: &mut HeadAt) -> Result<Tried, ClusterError> {
        let keys = &self.crawl.keys;
        let (owner, head_key, halted, end) = (keys.owner(shard), keys.head(shard), keys.halted(shard), keys.end());
        let record = OwnerRecord { node: self.options.name.clone() };
        let txn = Txn::new()
            .if_created(&owner, 0)
            .if_modified(&head_key, head.revision)
            .if_created(&halted, 0)
            .if_created(&end, 0)
            .put_under(&owner, &written(&owner, &record)?, id);
        let txn = [&owner, &head_key, &halted, &end].into_iter().fold(txn, |txn, key| txn.or_get(key));
        let done = repeated(&self.crawl.etcd, |_| lease.holds(), || self.crawl.etcd.transact(&txn))?;
        if done.succeeded {
            return Ok(Tried::Mine(done.revision));
        }
        let found = |at: usize| done.read.get(at).and_then(Option::as_ref);
        match found(0) {
            Some(mine) if mine.lease == id => self.own_claim(shard, mine, found(1), head),
            Some(_) => Ok(Tried::Taken),
            None if found(2).is_some() || found(3).is_some() => Ok(Tried::Taken),
            None => {
                *head = head_at(found(1))?;
                Ok(Tried::Again)
            }
        }
    }

    /// There is an owner's key under the own lease: an earlier sending has arrived, unless it is of an opening before
    /// this one, whose release did not arrive.
    fn own_claim(
        &self,
        shard: u32,
        mine: &KeyValue,
        head_found: Option<&KeyValue>,
        head: &mut HeadAt,
    ) -> Result<Tried, ClusterError> {
        let epoch = mine.create_revision;
        if !lock(&self.claims).used.contains(&epoch) {
            // nobody but the owner moves the head, and that is this process: what is read now was there at the claim
            *head = head_at(head_found)?;
            return Ok(Tried::Mine(epoch));
        }
        self.delete_owner(shard, epoch)?;
        Ok(Tried::Again)
    }

    fn delete_owner(&self, shard: u32, epoch: u64) -> Result<Transacted, EtcdError> {
        let owner = self.crawl.keys.owner(shard);
        let txn = Txn::new().if_created(&owner, epoch).delete(&owner);
        repeated(&self.crawl.etcd, |_| self.current().is_ok(), || self.crawl.etcd.transact(&txn))
    }

    /// Step 6: if the claim is there and the head is the one that was read or put last, put this one.
    pub(super) fn commit(&self, claimed: &Claimed, head: &HeadRecord) -> Result<Revision, CommitError> {
        let unknown = |error: ClusterError| CommitError::Unknown(error);
        let keys = &self.crawl.keys;
        let (owner, key) = (keys.owner(claimed.shard), keys.head(claimed.shard));
        let bytes = written(&key, head).map_err(|error| unknown(error.into()))?;
        let txn = Txn::new()
            .if_created(&owner, claimed.epoch)
            .if_modified(&key, claimed.head_revision())
            .put(&key, &bytes)
            .or_get(&owner)
            .or_get(&key);
        let done = self.until_definite(claimed.shard, &txn).map_err(|error| unknown(error.into()))?;
        if done.succeeded {
            claimed.committed(done.revision);
            return Ok(done.revision);
        }
        let found = |at: usize| done.read.get(at).and_then(Option::as_ref);
        let now = head_at(found(1)).map_err(unknown)?;
        let is_mine = (now.record.era, now.record.epoch, now.record.number) == (head.era, head.epoch, head.number);
        if is_mine {
            // an earlier sending had arrived
            claimed.committed(now.revision);
            return Ok(now.revision);
        }
        claimed.hold().drop_claim();
        self.forget(claimed);
        let owner: Option<OwnerRecord> = value(found(0)).map_err(|error| unknown(error.into()))?;
        Err(CommitError::Refused {
            shard: claimed.shard,
            owner: owner.map_or_else(|| "nobody".to_owned(), |owner| owner.node),
            number: now.record.number,
        })
    }

    /// Sends the transaction until it is definite whether it was carried out. Also after a refusal that has nothing to
    /// do with what it compares, such as one for want of a permission: an earlier sending may have arrived.
    fn until_definite(&self, shard: u32, txn: &Txn) -> Result<Transacted, EtcdError> {
        let is_told = Cell::new(false);
        let ask = || match self.crawl.etcd.transact(txn) {
            Err(EtcdError::Refused { code, message }) => {
                Err(EtcdError::Unclear(format!("etcd refuses: {message} (code {code})")))
            }
            answer => answer,
        };
        let tell = |error: &EtcdError| {
            if !is_told.replace(true) {
                tracing::warn!("the head of shard {shard} waits: {error}");
            }
            true
        };
        let answer = repeated(&self.crawl.etcd, tell, ask);
        if let Err(error @ (EtcdError::OtherCluster { .. } | EtcdError::WentBack { .. })) = &answer {
            self.fail(error.clone());
        }
        answer
    }

    pub(super) fn release(&self, claimed: &Claimed) -> Result<(), ClusterError> {
        // first here: no request is started while the key goes
        claimed.hold().drop_claim();
        let is_lost = lock(&self.session).as_ref().is_none_or(|session| session.lease.is_lost());
        let done = if is_lost { Ok(None) } else { self.delete_owner(claimed.shard, claimed.epoch).map(Some) };
        self.forget(claimed);
        lock(&self.balance).released(claimed.shard, self.clocks.boot());
        match done {
            // where it did not arrive, the watch finds the key and deletes it, or the lease ends
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The claim is not this process's any more.
    fn forget(&self, claimed: &Claimed) {
        let mut claims = lock(&self.claims);
        if claims.held.get(&claimed.shard).is_some_and(|(epoch, _)| *epoch == claimed.epoch) {
            claims.held.remove(&claimed.shard);
        }
    }

    pub(super) fn halt(&self, claimed: &Claimed, halted: &HaltedRecord) -> Result<(), ClusterError> {
        let (owner, key) = (self.crawl.keys.owner(claimed.shard), self.crawl.keys.halted(claimed.shard));
        let txn = Txn::new().if_created(&owner, claimed.epoch).put(&key, &written(&key, halted)?);
        let done = repeated(&self.crawl.etcd, |_| !claimed.hold().is_lost(), || self.crawl.etcd.transact(&txn))?;
        if done.succeeded { Ok(()) } else { Err(ClusterError::Lost { shard: claimed.shard }) }
    }

    /// Owners' keys under the own lease of which this process does not know: a claim that arrived late, or a release
    /// that did not. Nobody would serve the shard.
    pub(super) fn delete_strays(&self) {
        let Ok((id, _)) = self.current() else {
            return;
        };
        let view = lock(&self.view).clone();
        let mine = (0..).zip(&view.owners).filter_map(|(shard, at)| at.as_ref().map(|at| (shard, at)));
        for (shard, at) in mine.filter(|(_, at)| at.lease == id) {
            let is_known = {
                let claims = lock(&self.claims);
                claims.in_progress.contains(&shard)
                    || claims.held.get(&shard).is_some_and(|(epoch, _)| *epoch == at.epoch)
            };
            if !is_known {
                tracing::debug!("shard {shard} has a claim of {} that nobody knows of", at.epoch);
                let owner = self.crawl.keys.owner(shard);
                let _ = self.crawl.etcd.transact(&Txn::new().if_created(&owner, at.epoch).delete(&owner));
            }
        }
    }
}

fn head_at(found: Option<&KeyValue>) -> Result<HeadAt, ClusterError> {
    let record: HeadRecord = value(found)?.unwrap_or_default();
    Ok(HeadAt { revision: found.map_or(0, |kv| kv.mod_revision), record })
}
