//! Orders: what is wanted, new seeds, the end, shards that were halted, nodes that are drained.

use super::super::etcd::Txn;
use super::super::ownership::{ClusterError, next_list};
use super::super::record::{EndRecord, State, WantRecord, written};
use super::super::view::SeedsAt;
use super::{EtcdCrawl, putting, value};
use crate::exchange::Revision;

/// The way in which a list of seeds is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adding {
    /// Its seeds are fetched again, in a separate round.
    pub is_round: bool,
    /// A crawl that has ended goes on.
    pub reopens: bool,
}

impl EtcdCrawl {
    /// Sets what all nodes have to do, and returns the revision since which they have.
    pub fn set_want(&self, state: State) -> Result<Revision, ClusterError> {
        let key = self.keys.want();
        loop {
            let view = self.view()?;
            let wanted = WantRecord { state, ..view.want };
            // an earlier sending has arrived, or somebody else wants the same
            if wanted == view.want {
                return Ok(view.want_at);
            }
            let txn = putting(Txn::new().if_modified(&key, view.want_at).or_get(&key), &key, &wanted)?;
            let done = self.transact(&txn)?;
            if done.succeeded {
                return Ok(done.revision);
            }
        }
    }

    /// Adds the list of seeds that this object has; its name must not have been used for another list. A crawl that has
    /// ended takes none.
    pub fn put_seeds(&self, object: &str, count: u64) -> Result<SeedsAt, ClusterError> {
        self.put_list(object, count, Adding::default())
    }

    /// The same, in one of these ways.
    pub fn put_list(&self, object: &str, count: u64, how: Adding) -> Result<SeedsAt, ClusterError> {
        let (want_key, end_key) = (self.keys.want(), self.keys.end());
        loop {
            let view = self.view()?;
            if let Some(list) = view.seeds.values().find(|list| list.record.object == object) {
                return Ok(list.clone());
            }
            let ended_at = match view.end {
                Some(_) if how.reopens => self.get(&end_key)?.keys.first().map_or(0, |kv| kv.mod_revision),
                Some(_) => return Err(ClusterError::Ended),
                None => 0,
            };
            let (number, record) = next_list(&view, object, count, how.is_round);
            let key = self.keys.seeds(number);
            let txn = Txn::new().if_created(&key, 0).if_modified(&want_key, view.want_at);
            let txn = txn.if_modified(&end_key, ended_at);
            // seeds that are added to a crawl that has ended are meant to be fetched
            let (txn, state) = match ended_at {
                0 => (txn, view.want.state),
                _ => (txn.delete(&end_key), State::Run),
            };
            let want = WantRecord { seeds: number, state };
            let txn = putting(putting(txn, &key, &record)?, &want_key, &want)?;
            let done = self.transact(&txn)?;
            if done.succeeded {
                return Ok(SeedsAt { revision: done.revision, number, record });
            }
            // another list, another order, the end, or an earlier sending: the next reading says
        }
    }

    /// Ends the crawl, unless what is wanted has changed since `want_at`; says whether it has ended, by whomever.
    pub(crate) fn put_end(&self, want_at: Revision, end: EndRecord) -> Result<bool, ClusterError> {
        let (key, want_key) = (self.keys.end(), self.keys.want());
        let txn = Txn::new().if_created(&key, 0).if_modified(&want_key, want_at).or_get(&key);
        let done = self.transact(&putting(txn, &key, &end)?)?;
        let found: Option<EndRecord> = value(done.read.first().and_then(Option::as_ref))?;
        Ok(done.succeeded || found.is_some())
    }

    /// The shard may be claimed again.
    pub fn resume_shard(&self, shard: u32) -> Result<(), ClusterError> {
        self.transact(&Txn::new().delete(&self.keys.halted(shard)))?;
        Ok(())
    }

    /// The node has to give up its shards; says whether there is such a node. It is forgotten when the node ends.
    pub fn drain(&self, node: &str) -> Result<bool, ClusterError> {
        let (node_key, key) = (self.keys.node(node), self.keys.drain(node));
        loop {
            let view = self.view()?;
            let Some(at) = view.nodes.get(node) else {
                return Ok(false);
            };
            if view.draining.contains(node) {
                return Ok(true);
            }
            let read = self.get(&node_key)?;
            let Some(found) = read.keys.first().filter(|found| found.lease == at.lease) else {
                continue;
            };
            let txn = Txn::new().if_modified(&node_key, found.mod_revision);
            let txn = txn.put_under(&key, &written(&key, &())?, found.lease);
            if self.transact(&txn)?.succeeded {
                return Ok(true);
            }
        }
    }

    /// The node may have shards again.
    pub fn undrain(&self, node: &str) -> Result<(), ClusterError> {
        self.transact(&Txn::new().delete(&self.keys.drain(node)))?;
        Ok(())
    }
}
