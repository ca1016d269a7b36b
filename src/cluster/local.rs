//! Ownership without etcd: one node at a time, which the operator sees to.
//!
//! The record of what counts is the store itself: a shard's head is the newest manifest whose objects are all there,
//! and the epoch of a claim is one more than the greatest that any object of the shard has. So names are used once also
//! here. What is wanted, limits and the end are of this process.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::balance::Wanted;
use super::lease::Hold;
use super::ownership::{Claimed, ClusterError, CommitError, Granted, Ownership, Wake, next_list};
use super::quota::{self, Dealt};
use super::record::{EndRecord, GrantRecord, HaltedRecord, HeadRecord, QuotaRecord, SeedsRecord, State};
use super::view::{HeadAt, OwnerAt, SeedsAt, View};
use crate::exchange::Revision;

/// What the store has of a shard.
pub trait Shipped: Send + Sync {
    /// The greatest (era, epoch) that an object of the shard has, also one that no head names; (0, 0) where there is
    /// none.
    fn greatest(&self, shard: u32) -> Result<(u32, u64), crate::store::Error>;
    /// What the newest manifest says whose objects are all there.
    fn newest(&self, shard: u32) -> Result<Option<HeadRecord>, crate::store::Error>;
}

/// What a node that is alone begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalStart {
    /// The node's name.
    pub name: String,
    /// The era of the store.
    pub era: u32,
    /// Into how many shards the crawl is cut.
    pub shards: u32,
    /// The lists of seeds that the store has, in order.
    pub seeds: Vec<SeedsRecord>,
    /// What limits leave.
    pub quota: QuotaRecord,
    /// What shards have of them.
    pub granted: Vec<GrantRecord>,
}

/// The only node of a crawl.
pub struct LocalOwnership {
    shipped: Box<dyn Shipped>,
    era: u32,
    name: String,
    table: Mutex<Table>,
    wakes: Mutex<Vec<Wake>>,
}

#[derive(Debug)]
struct Table {
    view: Arc<View>,
    held: Vec<Option<Arc<Hold>>>,
    left: QuotaRecord,
    granted: Vec<GrantRecord>,
}

impl LocalOwnership {
    /// A node that is alone, with what the store has.
    pub fn new(start: LocalStart, shipped: Box<dyn Shipped>) -> Result<LocalOwnership, ClusterError> {
        let mut view = View::new(start.shards);
        for (number, record) in (1..).zip(start.seeds) {
            view.revision += 1;
            view.seeds.insert(number, SeedsAt { revision: view.revision, number, record });
            view.want.seeds = number;
        }
        view.revision += 1;
        view.want_at = view.revision;
        for shard in 0..start.shards {
            view.revision += 1;
            // revisions of an earlier process mean nothing here: what was read is computed again from positions
            let known = shipped.newest(shard)?.unwrap_or_default();
            let record = HeadRecord { read_to: 0, links_at: 0, ..known };
            view.heads[shard as usize] = Some(HeadAt { revision: view.revision, record });
        }
        let mut granted = start.granted;
        granted.resize(start.shards as usize, GrantRecord::default());
        let held = (0..start.shards).map(|_| None).collect();
        let table = Mutex::new(Table { view: Arc::new(view), held, left: start.quota, granted });
        Ok(LocalOwnership { shipped, era: start.era, name: start.name, table, wakes: Mutex::default() })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // a panic elsewhere ends the crawl; the table is whole between two statements
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the view, which has a revision more then, and wakes those who watch.
    fn change<T>(&self, change: impl FnOnce(&mut View, Revision) -> T) -> T {
        let changed = {
            let mut table = self.table();
            let view = Arc::make_mut(&mut table.view);
            view.revision += 1;
            let revision = view.revision;
            change(view, revision)
        };
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|wake| wake());
        changed
    }

    fn owns(&self, claimed: &Claimed) -> bool {
        let table = self.table();
        let owner = table.view.owners.get(claimed.shard as usize).and_then(Option::as_ref);
        owner.is_some_and(|at| at.epoch == claimed.epoch)
    }

    fn drop_claim(&self, claimed: &Claimed) {
        claimed.hold().drop_claim();
        if self.owns(claimed) {
            self.table().held[claimed.shard as usize] = None;
            self.change(|view, _| view.owners[claimed.shard as usize] = None);
        }
    }
}

impl fmt::Debug for LocalOwnership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalOwnership").field("era", &self.era).field("table", &self.table).finish_non_exhaustive()
    }
}

impl Ownership for LocalOwnership {
    fn claim(&self, shard: u32) -> Result<Option<Claimed>, ClusterError> {
        {
            let table = self.table();
            if table.held[shard as usize].is_some() {
                return Err(ClusterError::Claimed { shard });
            }
            if table.view.halted.contains_key(&shard) || table.view.end.is_some() {
                return Ok(None);
            }
        }
        let (era, greatest) = self.shipped.greatest(shard)?;
        let known = self.table().view.heads[shard as usize].clone().unwrap_or_default();
        // a claim that never put anything into the store has an epoch, too
        let used = self.table().view.owners.iter().flatten().map(|at| at.epoch).max().unwrap_or(0);
        let epoch = if era < self.era { 1 } else { greatest + 1 }.max(used + 1).max(known.record.epoch + 1);
        let hold = Arc::new(Hold::default());
        self.table().held[shard as usize] = Some(hold.clone());
        let owner = OwnerAt { node: self.name.clone(), epoch, lease: 0 };
        self.change(|view, _| view.owners[shard as usize] = Some(owner));
        Ok(Some(Claimed::new(shard, (self.era, epoch), known, hold)))
    }

    fn commit(&self, claimed: &Claimed, head: &HeadRecord) -> Result<Revision, CommitError> {
        if !self.owns(claimed) {
            let number = self.heads().heads[claimed.shard as usize].as_ref().map_or(0, |at| at.record.number);
            return Err(CommitError::Refused { shard: claimed.shard, owner: "nobody".to_owned(), number });
        }
        let revision = self.change(|view, revision| {
            view.heads[claimed.shard as usize] = Some(HeadAt { revision, record: head.clone() });
            revision
        });
        claimed.committed(revision);
        Ok(revision)
    }

    fn release(&self, claimed: &Claimed) -> Result<(), ClusterError> {
        self.drop_claim(claimed);
        Ok(())
    }

    fn heads(&self) -> Arc<View> {
        self.table().view.clone()
    }

    fn watch(&self, wake: Wake) {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner).push(wake);
    }

    fn holds(&self) -> bool {
        true
    }

    fn wanted(&self) -> Wanted {
        let table = self.table();
        if table.view.end.is_some() || table.view.want.state == State::Stop {
            return Wanted::default();
        }
        let is_free = |shard: &u32| table.held[*shard as usize].is_none() && !table.view.halted.contains_key(shard);
        Wanted { claim: (0..table.view.shards()).filter(is_free).collect(), hand_over: None }
    }

    fn grant(&self, claimed: &Claimed) -> Result<Granted, ClusterError> {
        let mut table = self.table();
        let (shard, shards) = (claimed.shard as usize, table.view.shards());
        if let Some((left, granted)) = quota::block(table.left, table.granted[shard], shards) {
            (table.left, table.granted[shard]) = (left, granted);
        }
        Ok(Granted { in_all: table.granted[shard], left: table.left })
    }

    fn left(&self) -> Result<QuotaRecord, ClusterError> {
        Ok(self.table().left)
    }

    fn dealt(&self) -> Result<Dealt, ClusterError> {
        let table = self.table();
        Ok(Dealt { left: table.left, granted: table.granted.clone() })
    }

    fn granted(&self, shard: u32) -> Result<GrantRecord, ClusterError> {
        Ok(self.table().granted[shard as usize])
    }

    fn give_back(&self, claimed: &Claimed, used: GrantRecord) -> Result<Granted, ClusterError> {
        let mut table = self.table();
        let shard = claimed.shard as usize;
        let (left, granted) = quota::given_back(table.left, table.granted[shard], used);
        (table.left, table.granted[shard]) = (left, granted);
        Ok(Granted { in_all: granted, left })
    }

    fn put_end(&self, want_at: Revision, end: EndRecord) -> Result<bool, ClusterError> {
        Ok(self.change(|view, _| {
            if view.want_at == want_at {
                view.end.get_or_insert(end);
            }
            view.end.is_some()
        }))
    }

    fn set_want(&self, state: State) -> Result<Revision, ClusterError> {
        Ok(self.change(|view, revision| {
            if view.want.state != state {
                view.want.state = state;
                view.want_at = revision;
            }
            view.want_at
        }))
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
            view.want.seeds = number;
            view.want_at = revision;
            Ok(list)
        })
    }

    fn halt(&self, claimed: &Claimed, halted: &HaltedRecord) -> Result<(), ClusterError> {
        if !self.owns(claimed) {
            return Err(ClusterError::Lost { shard: claimed.shard });
        }
        self.change(|view, _| view.halted.insert(claimed.shard, halted.clone()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Idle;
    use crate::record::Finish;

    /// A store with garbage of epoch 9 and a manifest of epoch 7 for shard 0, nothing for the others.
    struct Store;

    impl Shipped for Store {
        fn greatest(&self, shard: u32) -> Result<(u32, u64), crate::store::Error> {
            Ok(if shard == 0 { (1, 9) } else { (0, 0) })
        }

        fn newest(&self, shard: u32) -> Result<Option<HeadRecord>, crate::store::Error> {
            let head = HeadRecord { era: 1, epoch: 7, number: 42, read_to: 99, links_at: 98, ..HeadRecord::default() };
            Ok((shard == 0).then_some(head))
        }
    }

    fn node() -> LocalOwnership {
        let quota = QuotaRecord { pages: Some(10), bytes: None };
        let start = LocalStart { name: "n".to_owned(), era: 1, shards: 2, quota, ..LocalStart::default() };
        LocalOwnership::new(start, Box::new(Store)).unwrap()
    }

    #[test]
    fn epochs_are_above_all_that_the_store_has() {
        let node = node();
        assert_eq!(node.wanted().claim, [0, 1]);
        let claimed = node.claim(0).unwrap().unwrap();
        assert_eq!((claimed.era, claimed.epoch), (1, 10));
        let head = claimed.head.as_ref().unwrap();
        assert_eq!((head.record.number, head.record.read_to, head.record.links_at), (42, 0, 0));
        assert!(matches!(node.claim(0), Err(ClusterError::Claimed { shard: 0 })));
        let other = node.claim(1).unwrap().unwrap();
        assert!(other.head.is_none() && other.holds() && node.wanted() == Wanted::default());
        node.release(&claimed).unwrap();
        assert!(!claimed.holds());
        let again = node.claim(0).unwrap().unwrap();
        assert!(again.epoch > other.epoch, "one claim is for one opening");
    }

    #[test]
    fn heads_count_until_the_claim_is_given_up() {
        let node = node();
        let claimed = node.claim(1).unwrap().unwrap();
        let head = HeadRecord { era: 1, epoch: claimed.epoch, number: 1, idle: Idle::Yes, ..HeadRecord::default() };
        let revision = node.commit(&claimed, &head).unwrap();
        let heads = node.heads();
        assert_eq!((heads.revision, heads.heads[1].as_ref().unwrap().revision), (revision, revision));
        node.release(&claimed).unwrap();
        assert!(matches!(node.commit(&claimed, &head), Err(CommitError::Refused { number: 1, .. })));
    }

    #[test]
    fn an_ended_crawl_takes_no_seeds_and_new_seeds_undo_what_was_judged() {
        let node = node();
        let judged = node.heads().want_at;
        let list = node.put_seeds("seeds/1", 5).unwrap();
        assert_eq!(node.put_seeds("seeds/1", 5).unwrap(), list, "twice the same");
        let end = EndRecord { finish: Finish::Complete };
        assert!(!node.put_end(judged, end).unwrap());
        assert!(node.put_end(node.heads().want_at, end).unwrap());
        assert!(matches!(node.put_seeds("seeds/2", 1), Err(ClusterError::Ended)));
    }

    #[test]
    fn limits_are_dealt_out_and_taken_back() {
        let node = node();
        let claimed = node.claim(0).unwrap().unwrap();
        let mut granted = node.grant(&claimed).unwrap();
        assert_eq!((granted.in_all.pages, granted.left.pages), (1, Some(9)));
        while granted.left.pages != Some(0) {
            granted = node.grant(&claimed).unwrap();
        }
        assert_eq!(node.grant(&claimed).unwrap(), granted);
        let back = node.give_back(&claimed, GrantRecord { pages: 4, bytes: 0 }).unwrap();
        assert_eq!((back.in_all.pages, back.left.pages), (4, Some(6)));
    }
}
