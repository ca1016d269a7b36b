//! Limits of the whole crawl: what is left, what shards have.

use super::super::etcd::{EtcdError, Read, Transacted, Txn};
use super::super::ownership::{Claimed, ClusterError, Granted};
use super::super::quota::{self, Dealt};
use super::super::record::{GrantRecord, QuotaRecord};
use super::{EtcdCrawl, patiently, putting, repeated, value};

/// A limit with the revisions by which it is changed.
#[derive(Clone, Copy, Default)]
struct Limits {
    left: (u64, QuotaRecord),
    granted: (u64, GrantRecord),
}

impl EtcdCrawl {
    /// Returns what no shard was granted yet.
    pub fn quota(&self) -> Result<QuotaRecord, ClusterError> {
        let read = self.get(&self.keys.quota())?;
        Ok(value(read.keys.first())?.unwrap_or_default())
    }

    /// Returns what was granted to the shard in all.
    pub fn granted(&self, shard: u32) -> Result<GrantRecord, ClusterError> {
        let read = self.get(&self.keys.granted(shard))?;
        Ok(value(read.keys.first())?.unwrap_or_default())
    }

    /// Returns what no shard was granted yet, and what each shard was granted.
    pub(crate) fn dealt(&self) -> Result<Dealt, ClusterError> {
        let key = self.keys.quota();
        let read = patiently(&self.etcd, self.patience, || self.etcd.below(&key))?;
        let mut dealt =
            Dealt { granted: vec![GrantRecord::default(); self.record.shards as usize], ..Dealt::default() };
        for kv in &read.keys {
            match self.keys.parse_granted(&kv.key) {
                Some(shard) => {
                    if let Some(granted) = dealt.granted.get_mut(shard as usize) {
                        *granted = value(Some(kv))?.unwrap_or_default();
                    }
                }
                None if kv.key == key => dealt.left = value(Some(kv))?.unwrap_or_default(),
                None => {}
            }
        }
        Ok(dealt)
    }

    /// Moves a block to the shard; where nothing is left, says what it has.
    pub(in crate::cluster) fn grant(&self, claimed: &Claimed) -> Result<Granted, ClusterError> {
        let shards = self.record.shards;
        self.move_between(claimed, |left, granted| quota::block(left, granted, shards))
    }

    /// Moves back what the shard has not used.
    pub(in crate::cluster) fn give_back(&self, claimed: &Claimed, used: GrantRecord) -> Result<Granted, ClusterError> {
        self.move_between(claimed, |left, granted| Some(quota::given_back(left, granted, used)))
    }

    /// Moves between what is left and the shard, by one transaction that checks the claim and both keys. Only the
    /// shard's owner changes its key; so where that has become what this call wants it to be, an earlier sending of
    /// it has arrived.
    fn move_between(
        &self,
        claimed: &Claimed,
        to: impl Fn(QuotaRecord, GrantRecord) -> Option<(QuotaRecord, GrantRecord)>,
    ) -> Result<Granted, ClusterError> {
        let mut now = self.limits(claimed.shard)?;
        loop {
            let Some((left, in_all)) = to(now.left.1, now.granted.1) else {
                return Ok(Granted { in_all: now.granted.1, left: now.left.1 });
            };
            if in_all == now.granted.1 {
                return Ok(Granted { in_all, left: now.left.1 });
            }
            let done = self.moved(claimed, now, left, in_all)?;
            if done.succeeded {
                return Ok(Granted { in_all, left });
            }
            if done.read.first().and_then(Option::as_ref).is_none_or(|owner| owner.create_revision != claimed.epoch) {
                claimed.hold().drop_claim();
                return Err(ClusterError::Lost { shard: claimed.shard });
            }
            let before = now;
            now = self.limits(claimed.shard)?;
            if now.granted.0 != before.granted.0 && now.granted.1 == in_all {
                return Ok(Granted { in_all, left: now.left.1 });
            }
        }
    }

    fn moved(
        &self,
        claimed: &Claimed,
        before: Limits,
        left: QuotaRecord,
        in_all: GrantRecord,
    ) -> Result<Transacted, ClusterError> {
        let (owner, key) = (self.keys.owner(claimed.shard), self.keys.granted(claimed.shard));
        let txn = Txn::new()
            .if_created(&owner, claimed.epoch)
            .if_modified(&self.keys.quota(), before.left.0)
            .if_modified(&key, before.granted.0)
            .or_get(&owner);
        let txn = putting(putting(txn, &self.keys.quota(), &left)?, &key, &in_all)?;
        let is_held = |_: &EtcdError| !claimed.hold().is_lost();
        Ok(repeated(&self.etcd, is_held, || self.etcd.transact(&txn))?)
    }

    fn limits(&self, shard: u32) -> Result<Limits, ClusterError> {
        let (left, granted) = (self.get(&self.keys.quota())?, self.get(&self.keys.granted(shard))?);
        let revision = |read: &Read| read.keys.first().map_or(0, |kv| kv.mod_revision);
        Ok(Limits {
            left: (revision(&left), value(left.keys.first())?.unwrap_or_default()),
            granted: (revision(&granted), value(granted.keys.first())?.unwrap_or_default()),
        })
    }
}
