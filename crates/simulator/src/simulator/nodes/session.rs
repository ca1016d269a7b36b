//! A session of a node: what happens under one lease, with the crawler's own code for all that it does for a shard.
//!
//! What the real node's threads do when they get to it is done here at one moment each, a second apart: the lease is
//! renewed, what others did is heard of, shards are claimed and handed over, the end is looked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::store::NodeStore;
use crate::clock::{Clock, ManualClock, Time};
use crate::cluster::simulated::SimulatedNode;
use crate::cluster::{Claimed, EndRecord, Ownership};
use crate::container::Recovery;
use crate::contract::Lease;
use crate::disk::{self, Disk};
use crate::engine::{Commons, Event, StopBy};
use crate::node::{self, Commits, Grounds, Heads, NodeLease, Note, SessionLease, ShardLease, Shipments, Stamp, prefix};
use crate::ship::{Claim, Names, ShipOptions, StoreView};
use crate::simulator::DIR;
use crate::simulator::baton;
use crate::simulator::case::WholeLimits;
use crate::simulator::machine::Machine;
use crate::simulator::mistake::Mistake;
use crate::simulator::opening::{Others, Shared};
use crate::simulator::process::Member;
use crate::store::ObjectStore;

/// A node looks around this often.
const TICK: Duration = Duration::from_secs(1);
/// Its lease is renewed this often.
const RENEW: Duration = Duration::from_secs(5);
/// Memory of what was read from the store.
const CACHE_BYTES: usize = 1 << 20;

/// A shard of the node.
pub(super) struct Post {
    claimed: Arc<Claimed>,
    pub member: Member,
    /// The part that is to be replayed once the heads of the others are known.
    recovery: Option<Recovery>,
    is_leaving: bool,
}

impl Post {
    /// Returns whether its engine makes requests.
    pub fn is_crawling(&self) -> bool {
        self.recovery.is_none()
    }
}

/// A session.
pub(super) struct Session {
    pub ownership: Arc<SimulatedNode>,
    pub posts: BTreeMap<u32, Post>,
    /// Its engines are dropped; what they have begun is waited for.
    pub is_over: bool,
    /// The node was asked to stop.
    pub is_stopping: bool,
    grounds: Grounds,
    shared: Shared,
    seeds: u32,
    tick_due: Time,
    renew_due: Time,
}

/// Reasons for which a session cannot go on.
#[derive(Debug)]
pub(super) enum Broken {
    /// Its claims are gone.
    Lost,
    /// The disk, or what the store did not give.
    Disk(disk::Error),
}

impl From<disk::Error> for Broken {
    fn from(error: disk::Error) -> Self {
        Broken::Disk(error)
    }
}

impl Session {
    /// Begins one on the `machine`.
    pub fn begin(
        machine: &Machine,
        ownership: SimulatedNode,
        client: NodeStore,
        node: u32,
        clock: Arc<ManualClock>,
    ) -> disk::Result<Session> {
        let case = machine.case();
        let seeds = machine.number_seeds(&[])?;
        let identity = machine.identity.clone().expect("a crawl of nodes was made before they begin");
        let ownership = Arc::new(ownership);
        let (store, names): (Arc<dyn ObjectStore>, _) = (Arc::new(client), Names::new(&prefix(identity.id)));
        let (root, files) = (PathBuf::from(DIR), machine.disk());
        let view = StoreView::new(store.clone(), Some(files.clone()), CACHE_BYTES);
        let heads = Heads::new(store.clone(), names.clone(), 0, root.clone(), view.clone(), case.shards);
        let options = ShipOptions { bytes_per_second: None };
        let shipments = Shipments::new(store.clone(), names.clone(), identity.id, case.shards, options, baton::pass);
        let (heads, shipments) = (Arc::new(heads), Arc::new(shipments));
        let commons = Commons::of_shards(&case.settings, clock.clone());
        let others = Others::OnNodes { heads: heads.clone(), shipments: shipments.clone(), disk: view.disk(), node };
        let grounds = Grounds {
            store,
            names,
            era: 0,
            identity,
            disk: files,
            root,
            // it is in memory, and filled where the shard is opened
            view,
            lease: Arc::new(SessionLease::new(NodeLease(ownership.clone()))),
            ownership: ownership.clone(),
            heads,
            shipments,
            on_head: None,
            commits: Arc::new(Commits::default()),
        };
        let now = clock.now();
        Ok(Session {
            ownership,
            posts: BTreeMap::new(),
            is_over: false,
            is_stopping: false,
            grounds,
            shared: Shared { clock, commons, limits: WholeLimits::default(), others },
            seeds,
            tick_due: now,
            renew_due: now + RENEW,
        })
    }

    /// Returns when it looks around next.
    pub fn next_due(&self) -> Time {
        self.tick_due
    }

    /// Looks around, if it is time; `reaches` says whether the registry can be asked.
    pub fn look_around(&mut self, machine: &mut Machine, reaches: bool, rng: &mut fastrand::Rng) -> Result<(), Broken> {
        let now = self.shared.clock.now();
        if now < self.tick_due {
            return Ok(());
        }
        self.tick_due = now + TICK + Duration::from_millis(rng.u64(0..200));
        if self.is_over {
            return Ok(());
        }
        if now >= self.renew_due {
            self.renew_due = now + RENEW;
            self.ownership.renew();
        }
        if self.is_lost() {
            return Err(Broken::Lost);
        }
        // the watch may lag
        if rng.u8(0..3) > 0 {
            self.ownership.hear();
        }
        self.ownership.observe();
        let known = self.ownership.heads();
        // what the store does not give now is asked for again
        let _ = self.grounds.heads.refresh(&known, self.seeds, Arc::from([]));
        self.share_with(known.nodes.len());
        self.go_on(machine)?;
        if reaches {
            self.look_for_the_end();
        }
        self.move_shards(machine, known.end.is_none())
    }

    /// Returns whether the session has lost a claim or a shipment.
    pub fn is_lost(&self) -> bool {
        let has_lost = |post: &Post| post.claimed.hold().is_lost();
        self.ownership.is_lost() || self.posts.values().any(has_lost) || self.grounds.shipments.has_lost()
    }

    fn share_with(&self, nodes: usize) {
        let Commons { rates, ledger, .. } = &self.shared.commons;
        rates.share(nodes.max(1));
        ledger.iter().for_each(|ledger| ledger.set_machines(nodes.max(1)));
    }

    /// Replays the shards for which everything is known that is needed, and lets them crawl; tells those that have to
    /// stop.
    fn go_on(&mut self, machine: &Machine) -> Result<(), Broken> {
        for post in self.posts.values_mut() {
            let is_known = self.grounds.heads.know_all_before(post.claimed.epoch);
            if is_known && let Some(recovery) = post.recovery.take() {
                post.member.replay(recovery, &machine.replayed)?;
                post.member.engine.seeder().admit_listed();
            }
            if post.is_crawling() && (post.is_leaving || self.is_stopping) && post.member.finish.is_none() {
                post.member.engine.handle(Event::Stop(StopBy::Control))?;
            }
        }
        Ok(())
    }

    fn look_for_the_end(&self) {
        let known = self.ownership.heads();
        let end = known.is_end().filter(|_| known.end.is_none());
        if let Some(finish) = end.and_then(|_| self.grounds.heads.end(known.known)) {
            // where it is undone by new seeds, or somebody was faster, the registry says so
            let _ = self.ownership.put_end(known.want_at, EndRecord { finish });
        }
    }

    /// Gives up what is done, hands over and claims.
    fn move_shards(&mut self, machine: &mut Machine, goes_on: bool) -> Result<(), Broken> {
        let done: Vec<u32> =
            self.posts.iter().filter(|(_, post)| post.member.finish.is_some()).map(|(shard, _)| *shard).collect();
        done.into_iter().for_each(|shard| self.give_up(machine, shard));
        let wanted = self.ownership.wanted();
        if let Some(post) = wanted.hand_over.and_then(|shard| self.posts.get_mut(&shard)) {
            post.is_leaving = true;
        }
        let claims = goes_on && !self.is_stopping;
        for shard in wanted.claim.into_iter().filter(|_| claims) {
            if !self.posts.contains_key(&shard)
                && let Ok(Some(claimed)) = self.ownership.claim(shard)
            {
                self.take_post(machine, Arc::new(claimed))?;
            }
        }
        Ok(())
    }

    fn give_up(&mut self, machine: &Machine, shard: u32) {
        let Some(post) = self.posts.remove(&shard) else { return };
        // the requests of an engine end with it
        let asker = post.member.event_queue.borrow().asker;
        machine.network.borrow_mut().hang_up(machine.true_now, |of| of == asker);
        let Grounds { heads, shipments, lease, .. } = &self.grounds;
        heads.unwatch(shard);
        shipments.disown(self.grounds.shard(shard));
        lease.given_up(shard);
        let _ = self.ownership.release(&post.claimed);
    }

    /// Opens a shard that was claimed.
    fn take_post(&mut self, machine: &mut Machine, claimed: Arc<Claimed>) -> Result<(), Broken> {
        let shard = self.grounds.shard(claimed.shard);
        self.grounds.lease.claimed(claimed.shard, claimed.hold().clone());
        if machine.case().mistake == Some(Mistake::GoesOnStale) {
            self.take_for_own(&claimed)?;
        }
        let head = self.grounds.prepare(&claimed).map_err(broken)?;
        self.grounds.disk.create_dir_all(&machine.dir_of(shard))?;
        self.grounds.own(&claimed, head).map_err(broken)?;
        self.shared.commons.lease = match machine.case().mistake {
            Some(Mistake::ActsWithoutLease) => None,
            _ => Some(Arc::new(ShardLease(claimed.hold().clone())) as Arc<dyn Lease>),
        };
        let (member, recovery) = machine.open_shard(shard, &self.shared)?;
        let post = Post { claimed, member, recovery: Some(recovery), is_leaving: false };
        self.posts.insert(shard.index(), post);
        Ok(())
    }

    /// The mistake of a node that takes any directory for that of the head.
    fn take_for_own(&self, claimed: &Claimed) -> disk::Result<()> {
        let dir = Path::new(DIR).join(self.grounds.shard(claimed.shard).dir_name());
        let disk: &Disk = &self.grounds.disk;
        let Some(head) = &claimed.head else { return Ok(()) };
        let was_there = Note::read(disk, &dir)? != Note::default();
        let claim = Claim { era: head.record.era, epoch: head.record.epoch };
        let note = Note { committed: Some(Stamp::new(claim, head.record.number)), offered: None };
        if was_there { note.write(disk, &dir) } else { Ok(()) }
    }
}

fn broken(error: node::Error) -> Broken {
    match error {
        node::Error::Disk(error) => Broken::Disk(error),
        error => Broken::Disk(disk::Error::damaged(Path::new(DIR), 0, "what the store has", error.to_string())),
    }
}
