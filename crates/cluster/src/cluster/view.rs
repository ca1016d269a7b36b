//! A node's view of the crawl: everything that was done up to a revision, and nothing behind it.

use std::collections::{BTreeMap, BTreeSet};

use super::etcd::{Change, KeyValue};
use super::keys::{Keys, Live};
use super::record::{
    self, EndRecord, HaltedRecord, HeadRecord, NodeRecord, OwnerRecord, RecordError, SeedsRecord, WantRecord,
};
use crate::exchange::{Idle, Revision, UpTo};
use crate::record::Finish;

/// A head, and when it became one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadAt {
    /// Revision at which it was committed.
    pub revision: Revision,
    /// Content of the head.
    pub record: HeadRecord,
}

impl HeadAt {
    /// The shard's last commit with a link file.
    pub fn links_at(&self) -> Revision {
        if self.record.links_at == 0 { self.revision } else { self.record.links_at }
    }
}

/// The owner of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerAt {
    /// The node.
    pub node: String,
    /// The revision at which it was claimed.
    pub epoch: u64,
    /// The node's lease.
    pub lease: u64,
}

/// A list of seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedsAt {
    /// Revision at which it was accepted.
    pub revision: Revision,
    /// Number of the list. The first is 1.
    pub number: u32,
    /// Content of the list's record.
    pub record: SeedsRecord,
}

/// A node that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAt {
    /// Its lease.
    pub lease: u64,
    /// Content of the node's record.
    pub record: NodeRecord,
}

/// All that was done up to a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Revisions up to the last change in it, or up to the last reading of all.
    pub known: UpTo,
    /// The heads by shard.
    pub heads: Vec<Option<HeadAt>>,
    /// The owners by shard.
    pub owners: Vec<Option<OwnerAt>>,
    /// The nodes that are alive, by name.
    pub nodes: BTreeMap<String, NodeAt>,
    /// Nodes that were asked to give up their shards.
    pub draining: BTreeSet<String>,
    /// The state that is wanted.
    pub want: WantRecord,
    /// Revision at which that was changed last. 0: the crawl has not been made.
    pub want_at: Revision,
    /// The lists of seeds, by number.
    pub seeds: BTreeMap<u32, SeedsAt>,
    /// The end of the crawl, where it has ended.
    pub end: Option<EndRecord>,
    /// Shards that nobody may claim.
    pub halted: BTreeMap<u32, HaltedRecord>,
}

impl View {
    /// Makes the view of a crawl of this many shards of which nothing is known.
    pub fn new(shards: u32) -> View {
        let none = || (0..shards).map(|_| None).collect();
        View { heads: none(), owners: (0..shards).map(|_| None).collect(), ..View::default() }
    }

    /// All keys as they are at this revision.
    pub(super) fn of_all(shards: u32, keys: &Keys, all: &[KeyValue], revision: Revision) -> Result<View, RecordError> {
        let mut view = View::new(shards);
        all.iter().try_for_each(|kv| view.put(keys, kv))?;
        view.known = UpTo::all(revision);
        Ok(view)
    }

    /// A change has been made.
    pub(super) fn change(&mut self, keys: &Keys, change: &Change) -> Result<(), RecordError> {
        match change.is_deleted {
            true => self.delete(keys, &change.kv.key),
            false => self.put(keys, &change.kv)?,
        }
        // changes come in the order of their revisions, and all changes of one revision together
        self.known = self.known.max(UpTo::all(change.kv.mod_revision));
        Ok(())
    }

    fn put(&mut self, keys: &Keys, kv: &KeyValue) -> Result<(), RecordError> {
        let (revision, lease) = (kv.mod_revision, kv.lease);
        match keys.parse(&kv.key) {
            None => {}
            Some(Live::Want) => (self.want, self.want_at) = (record::read(&kv.key, &kv.value)?, revision),
            Some(Live::Seeds(number)) => {
                let record = record::read(&kv.key, &kv.value)?;
                self.seeds.insert(number, SeedsAt { revision, number, record });
            }
            Some(Live::End) => self.end = Some(record::read(&kv.key, &kv.value)?),
            Some(Live::Halted(shard)) => _ = self.halted.insert(shard, record::read(&kv.key, &kv.value)?),
            Some(Live::Node(name)) => {
                self.nodes.insert(name, NodeAt { lease, record: record::read(&kv.key, &kv.value)? });
            }
            Some(Live::Drain(name)) => _ = self.draining.insert(name),
            Some(Live::Owner(shard)) => {
                let OwnerRecord { node } = record::read(&kv.key, &kv.value)?;
                if let Some(owner) = self.owners.get_mut(shard as usize) {
                    *owner = Some(OwnerAt { node, epoch: kv.create_revision, lease });
                }
            }
            Some(Live::Head(shard)) => {
                if let Some(head) = self.heads.get_mut(shard as usize) {
                    *head = Some(HeadAt { revision, record: record::read(&kv.key, &kv.value)? });
                }
            }
        }
        Ok(())
    }

    fn delete(&mut self, keys: &Keys, key: &str) {
        match keys.parse(key) {
            Some(Live::Halted(shard)) => _ = self.halted.remove(&shard),
            Some(Live::Node(name)) => _ = self.nodes.remove(&name),
            Some(Live::Drain(name)) => _ = self.draining.remove(&name),
            // new seeds let the crawl go on
            Some(Live::End) => self.end = None,
            Some(Live::Owner(shard)) => {
                if let Some(owner) = self.owners.get_mut(shard as usize) {
                    *owner = None;
                }
            }
            // nobody deletes the others
            _ => {}
        }
    }

    /// Shards of the crawl.
    pub fn shards(&self) -> u32 {
        u32::try_from(self.heads.len()).expect("made from a number of 32 bits")
    }

    /// Returns the revision up to which everything has to be read for the crawl to be over: the last commit with links,
    /// or the last list of seeds.
    pub(crate) fn last_input(&self) -> Revision {
        let links = self.heads.iter().flatten().map(HeadAt::links_at);
        links.chain(self.seeds.values().map(|list| list.revision)).max().unwrap_or(0)
    }

    /// Returns how the crawl ends, if this is its end: all heads are idle and have read what there is to read.
    pub fn is_end(&self) -> Option<Finish> {
        let last = self.last_input();
        let all: Option<Vec<&HeadAt>> = self.heads.iter().map(Option::as_ref).collect();
        let all = all?;
        let is_over = |head: &HeadRecord| head.number > 0 && head.idle > Idle::No && head.read_to.covers(last);
        let is_complete = all.iter().all(|at| at.record.idle == Idle::Yes);
        let are_over = !all.is_empty() && all.iter().all(|at| is_over(&at.record));
        are_over.then_some(if is_complete { Finish::Complete } else { Finish::OnlySilentHosts })
    }

    /// The nodes that may have shards, in order of their names, as the assignment takes them.
    pub(super) fn is_draining(&self, name: &str) -> bool {
        self.draining.contains(name) || self.nodes.get(name).is_some_and(|node| node.record.is_draining)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::record::State;

    fn kv<T: serde::Serialize>(key: String, record: &T, revision: u64) -> KeyValue {
        let value = record::written(&key, record).unwrap();
        KeyValue { key, value, create_revision: revision, mod_revision: revision, lease: 7 }
    }

    fn put(kv: KeyValue) -> Change {
        Change { kv, is_deleted: false }
    }

    fn head(number: u64, idle: Idle, links_at: u64, read_to: u64) -> HeadRecord {
        HeadRecord { era: 1, epoch: 5, number, idle, links_at, read_to: UpTo::all(read_to), ..HeadRecord::default() }
    }

    #[test]
    fn changes_make_what_reading_all_makes() {
        let keys = Keys::new("c", 1);
        let want = WantRecord { state: State::Pause, seeds: 1 };
        let all = [
            kv(keys.want(), &want, 3),
            kv(keys.owner(1), &OwnerRecord { node: "a".to_owned() }, 4),
            kv(keys.node("a"), &NodeRecord { weight: 2, ..NodeRecord::default() }, 5),
            kv(keys.head(1), &head(4, Idle::No, 0, 2), 6),
            kv(keys.seeds(1), &SeedsRecord { object: "seeds/1".to_owned(), before: 0, count: 9, round: 0 }, 7),
            kv(keys.drain("a"), &(), 8),
        ];
        let mut view = View::new(2);
        for kv in &all {
            view.change(&keys, &put(kv.clone())).unwrap();
        }
        assert_eq!(view, View::of_all(2, &keys, &all, 8).unwrap());
        assert_eq!((view.known, view.want_at, view.is_draining("a")), (UpTo::all(8), 3, true));
        let owner = OwnerAt { node: "a".to_owned(), epoch: 4, lease: 7 };
        assert_eq!(view.owners, [None, Some(owner)]);
        for (at, key) in [keys.owner(1), keys.node("a"), keys.drain("a"), keys.owner(9)].into_iter().enumerate() {
            let kv = KeyValue { key, mod_revision: 9 + at as u64, ..KeyValue::default() };
            view.change(&keys, &Change { kv, is_deleted: true }).unwrap();
        }
        assert!(view.owners == [None, None] && view.nodes.is_empty() && !view.is_draining("a"));
        assert_eq!(view.known, UpTo::all(12));
    }

    #[test]
    fn the_end_needs_all_heads_idle_and_all_links_and_seeds_read() {
        let mut view = View::new(2);
        let at = |revision, record| Some(HeadAt { revision, record });
        view.heads[0] = at(20, head(3, Idle::Yes, 12, 15));
        assert_eq!(view.is_end(), None, "a shard of which nothing is known");
        view.heads[1] = at(21, head(3, Idle::Yes, 0, 19));
        assert_eq!((view.last_input(), view.is_end()), (21, None), "the last commit has links");
        view.heads[0] = at(22, head(4, Idle::Yes, 12, 21));
        view.heads[1] = at(23, head(4, Idle::Silent, 21, 22));
        assert_eq!(view.is_end(), Some(Finish::OnlySilentHosts));
        view.heads[1] = at(24, head(5, Idle::Yes, 21, 22));
        assert_eq!(view.is_end(), Some(Finish::Complete));
        let record = SeedsRecord { object: "s".to_owned(), before: 0, count: 1, round: 0 };
        view.seeds.insert(2, SeedsAt { revision: 25, number: 2, record });
        assert_eq!(view.is_end(), None);
        let mut made = View::new(1);
        made.heads[0] = at(1, HeadRecord::default());
        assert_eq!(made.is_end(), None, "nothing was done yet");
    }
}
