//! Crawls on many machines in virtual time: nodes that die, are stopped, are cut off and lose their disks, over a store
//! and a registry that fail.
//!
//! ```text
//!  machine ── session ── engines, one a shard ──┐ claims, heads ──► cluster::simulated   linearizable, leases
//!  machine ── session ── engines ───────────────┤ objects ────────► store::simulated     late, lost, unlisted
//!  machine ── session ── engines ───────────────┘ requests ───────► one network, one log
//! ```
//! Engines, checkpoints, shipping, heads and the opening of a claimed shard are the crawler's own ([`crate::node`]);
//! time, disks, network, store and registry are simulated. Shipping and reading links wait for the store between two
//! calls, while the others go on ([`baton`](super::baton)). When the registry says that the crawl has ended, all shards
//! are restored from the store on a machine that has never seen them, as `crawler cluster run --adopt` does, and that
//! crawl is judged as any other: its pages are those of one machine, each once, and it has nothing left to do.
//!
//! What it leaves out: clocks of nodes that differ, limits of the whole crawl (their model has them), pause and stop of
//! the whole crawl, eras.

mod blows;
mod judge;
mod plan;
mod session;
mod store;

use std::sync::Arc;
use std::time::Duration;

use super::case::Case;
use super::clause::{Clause, Violation};
use super::machine::Machine;
use super::mistake::Mistake;
use super::moment::Ended;
use super::network::{Asker, millis};
use super::{BEGIN, Held, baton, judge::hosts};
use crate::checkpoint::Identity;
use crate::clock::{Clock, ManualClock, Time};
use crate::cluster::clocks::{Clocks, Micros};
use crate::cluster::simulated::{Connectivity, LeaseTerms, SimulatedRegistry};
use crate::cluster::{Ownership, QuotaRecord};
use crate::disk::simulated::Restart;
use crate::store::simulated::{Reach, SimulatedClient, SimulatedStore};
use plan::{Blow, Over};
use session::{Broken, Session};
use store::NodeStore;

/// The leases of nodes.
const LEASE: LeaseTerms = LeaseTerms { lasts: Duration::from_secs(20), margin: Duration::from_secs(5) };
/// Pause between two sessions of a node, and before a name that is taken is asked for again.
const PAUSE: Duration = Duration::from_secs(1);
/// A process that has ended by an error is started again after this time.
const RESTART: Duration = Duration::from_secs(5);
/// No crawl of this size takes longer.
const LONGEST: Duration = Duration::from_secs(40 * 24 * 3_600);
/// Nor more steps.
const STEPS_MAX: u64 = 20_000_000;

/// Virtual time as leases see it.
#[derive(Debug)]
struct VirtualClocks(Arc<ManualClock>);

impl Clocks for VirtualClocks {
    fn boot(&self) -> Micros {
        self.0.now().ms() * 1_000
    }

    fn wall(&self) -> Micros {
        self.boot()
    }
}

/// A machine, and the process on it.
struct Node {
    name: String,
    machine: Machine,
    client: SimulatedClient,
    connectivity: Connectivity,
    reach: Reach,
    session: Option<Session>,
    /// It does nothing before this time.
    still_until: Time,
    /// The next death at a change of the disk, and when the machine comes back.
    dying: Option<(Restart, Duration)>,
}

/// All of it.
pub(super) struct World {
    pub case: Case,
    clock: Arc<ManualClock>,
    registry: SimulatedRegistry,
    pub store: SimulatedStore,
    nodes: Vec<Node>,
    blows: Vec<(Time, Blow)>,
    overs: Vec<(Time, Over)>,
    away: bool,
    /// Claims that were seen: what a shard's owner before has not committed is unknown to the next one.
    claims: u64,
    pub ends: Vec<Ended>,
    rng: fastrand::Rng,
    told: Vec<String>,
}

/// Runs the case on this many nodes.
pub(super) fn run(mut case: Case, nodes: usize) -> Result<Held, (Violation, Vec<String>)> {
    let blows = plan::draw(&mut case, nodes);
    let mut world = World::new(case, nodes, blows).map_err(|violation| (violation, Vec::new()))?;
    let done = world.crawl().and_then(|()| judge::judge(&mut world));
    match done {
        Ok(()) => Ok(world.held()),
        Err(violation) => {
            let requests = world.nodes[0].machine.requests_of(&violation.what);
            let told = std::mem::take(&mut world.told);
            Err((violation, requests.into_iter().chain(told).collect()))
        }
    }
}

impl World {
    fn new(case: Case, nodes: usize, blows: Vec<(Duration, Blow)>) -> Result<World, Violation> {
        let broken = |error: std::io::Error| Violation::new(Clause::Ends, error.to_string());
        let mut first = Machine::new(case.clone()).map_err(broken)?;
        let (random, shape) = case.of_identity();
        first.identity = Some(Identity::of_crawl(BEGIN, random, shape, case.shards));
        let clock = Arc::new(ManualClock::new(BEGIN));
        let clocks = Arc::new(VirtualClocks(clock.clone()));
        let registry = SimulatedRegistry::new(case.shards, QuotaRecord::default(), clocks, LEASE, case.seed ^ 0x4e6);
        let store = SimulatedStore::new(case.seed ^ 0x5707e);
        let seeds = first.seeds().len() as u64;
        let operator = registry.join("operator", Connectivity::Whole, baton::pass).expect("nobody has the name");
        operator.put_seeds("seeds/1", seeds).map_err(|error| Violation::new(Clause::Ends, error.to_string()))?;
        operator.leave();
        if case.mistake == Some(Mistake::Unfenced) {
            registry.forget_fences();
        }
        let mut made: Vec<Machine> = (1..nodes).map(|node| first.beside(case.seed ^ (node as u64 * 0xd15c))).collect();
        made.insert(0, first);
        let node = |(index, machine)| Node {
            name: format!("node-{index}"),
            machine,
            client: store.client(),
            connectivity: Connectivity::Whole,
            reach: Reach::Whole,
            session: None,
            still_until: BEGIN,
            dying: None,
        };
        Ok(World {
            nodes: made.into_iter().enumerate().map(node).collect(),
            blows: blows.into_iter().map(|(at, blow)| (BEGIN + at, blow)).rev().collect(),
            overs: Vec::new(),
            away: false,
            claims: 0,
            ends: Vec::new(),
            rng: fastrand::Rng::with_seed(case.seed ^ 0x30c1d),
            told: Vec::new(),
            case,
            clock,
            registry,
            store,
        })
    }

    fn held(&self) -> Held {
        let network = self.nodes[0].machine.network();
        Held {
            requests: network.log.len() as u64,
            deaths: self.ends.iter().filter(|end| !end.clean).count() as u64,
            changes: self.nodes.iter().map(|node| node.machine.changes()).sum(),
            hosts: hosts(&self.nodes[0].machine) as u64,
            take_overs: self.registry.take_overs(),
            passed: 0,
            log: self.nodes.iter().fold(0, |sum: u64, node| sum.rotate_left(7) ^ node.machine.log_checksum()),
        }
    }

    /// Milliseconds since the beginning.
    pub fn true_now(&self) -> u64 {
        millis(self.clock.now().since(BEGIN))
    }

    fn tell(&mut self, what: impl std::fmt::Display) {
        let line = format!("{} ms: {what}", self.true_now());
        self.told.push(line);
    }

    /// Lets the nodes crawl until the registry says that the crawl has ended, and all have given up their shards.
    fn crawl(&mut self) -> Result<(), Violation> {
        for _ in 0..STEPS_MAX {
            self.registry.pass_time();
            self.strike();
            for node in 0..self.nodes.len() {
                self.step(node)?;
            }
            let is_idle = |node: &Node| node.session.as_ref().is_none_or(|session| session.posts.is_empty());
            if self.registry.end().is_some() && self.nodes.iter().all(is_idle) {
                self.nodes
                    .iter_mut()
                    .filter_map(|node| node.session.take())
                    .for_each(|session| session.ownership.leave());
                return Ok(());
            }
            if self.clock.now().since(BEGIN) > LONGEST {
                break;
            }
            self.note_claims();
            self.pass_time();
            self.take_one()?;
        }
        let view = self.registry.view();
        let heads: Vec<_> = view.heads.iter().flatten().map(|at| (at.revision, &at.record)).collect();
        let what = format!("no end at {} ms: {heads:?}, owners {:?}", self.true_now(), view.owners);
        Err(Violation::new(Clause::Ends, what))
    }

    fn note_claims(&mut self) {
        let claims = self.registry.claims();
        if claims > self.claims {
            self.claims = claims;
            self.end(true, false);
        }
    }

    /// An owner of shards is gone.
    fn end(&mut self, clean: bool, power_cut: bool) {
        let (at, clock_set_forward, clock_set_back) = (self.true_now(), false, false);
        self.ends.push(Ended { at, clean, power_cut, clock_set_forward, clock_set_back, taken_over: true });
    }

    /// Lets a node do what it can at this moment.
    fn step(&mut self, node: usize) -> Result<(), Violation> {
        let now = self.clock.now();
        if self.nodes[node].still_until > now {
            return Ok(());
        }
        if self.nodes[node].session.is_none() {
            return self.begin(node);
        }
        let reaches = self.nodes[node].connectivity == Connectivity::Whole && !self.away;
        let Node { machine, session: Some(session), .. } = &mut self.nodes[node] else { return Ok(()) };
        (machine.true_now, machine.clock_now) = (millis(now.since(BEGIN)), now);
        let mut done = session.look_around(machine, reaches, &mut self.rng);
        for post in session.posts.values_mut().filter(|post| post.is_crawling() && !session.is_over) {
            if done.is_ok() {
                post.member.event_queue.borrow_mut().obey_lease();
                // what pages name is not judged of nodes
                done = post.member.pump(&mut Vec::new()).map_err(Broken::Disk);
            }
        }
        match done {
            Ok(()) => self.look_for_its_end(node),
            Err(broken) => self.fail(node, broken)?,
        }
        Ok(())
    }

    /// A session that is over ends when nothing of it is in progress; one that was asked to stop when it has no shard.
    fn look_for_its_end(&mut self, node: usize) {
        let now = self.clock.now();
        let Some(session) = &mut self.nodes[node].session else { return };
        let is_done = match (session.is_over, session.is_stopping) {
            (true, _) => {
                session.posts.retain(|_, post| post.member.event_queue.borrow_mut().keep_courses());
                session.posts.is_empty()
            }
            (_, true) => session.posts.is_empty(),
            _ => false,
        };
        if is_done {
            session.ownership.leave();
            let stopped = session.is_stopping;
            let back = self.nodes[node].dying.take_if(|_| stopped).map_or(PAUSE, |(_, back)| back);
            self.nodes[node].session = None;
            self.nodes[node].still_until = now + back;
        }
    }

    /// A session cannot go on.
    fn fail(&mut self, node: usize, broken: Broken) -> Result<(), Violation> {
        let (at, failed) = (self.true_now(), &mut self.nodes[node]);
        let Some(session) = &mut failed.session else { return Ok(()) };
        if failed.machine.simulated.is_stopped() {
            let (restart, back) = failed.dying.unwrap_or((Restart::Killed, PAUSE));
            self.tell(format_args!("node {node} dies at its disk"));
            self.die(node, restart, back, false);
            return Ok(());
        }
        if session.is_lost() {
            session.is_over = true;
            failed.machine.network.borrow_mut().hang_up(at, of(node));
            self.tell(format_args!("node {node} has lost its claims"));
            self.end(false, false);
            return Ok(());
        }
        let Broken::Disk(error) = broken else { return Ok(()) };
        // a process whose store does not answer in time ends by that, and is started again
        let is_troubled = failed.reach != Reach::Whole || self.overs.iter().any(|(_, over)| is_of_store(*over));
        if is_troubled {
            self.tell(format_args!("node {node} ends: {error}"));
            self.die(node, Restart::Killed, RESTART, false);
            return Ok(());
        }
        Err(Violation::new(Clause::Reopens, format!("node {node} at {at} ms: {error}")))
    }

    /// Begins a session, if the node's name is free.
    fn begin(&mut self, node: usize) -> Result<(), Violation> {
        let now = self.clock.now();
        let begun = &mut self.nodes[node];
        let ownership = self.registry.join(&begun.name, begun.connectivity, baton::pass);
        let Some(ownership) = ownership.filter(|_| self.registry.end().is_none()) else {
            begun.still_until = now + PAUSE;
            return Ok(());
        };
        begun.machine.boot += 1;
        (begun.machine.true_now, begun.machine.clock_now) = (millis(now.since(BEGIN)), now);
        let client = NodeStore(begun.client.clone());
        match Session::begin(&begun.machine, ownership, client, node as u32, self.clock.clone()) {
            Ok(session) => begun.session = Some(session),
            Err(_) if begun.machine.simulated.is_stopped() => {
                let (restart, back) = begun.dying.unwrap_or((Restart::Killed, PAUSE));
                self.die(node, restart, back, false);
            }
            Err(error) => return Err(Violation::new(Clause::Reopens, format!("node {node}: {error}"))),
        }
        Ok(())
    }

    /// Moves the clock on to the next thing that happens, or that somebody can do.
    fn pass_time(&mut self) {
        let now = self.clock.now();
        let mut to = now + Duration::from_secs(3_600);
        let mut least = Duration::from_millis(1);
        to = self.blows.last().map_or(to, |(at, _)| to.min(*at));
        to = self.overs.iter().fold(to, |to, (at, _)| to.min(*at));
        for node in &mut self.nodes {
            let Some(session) = node.session.as_mut().filter(|_| node.still_until <= now) else {
                to = to.min(node.still_until);
                continue;
            };
            to = to.min(session.next_due());
            for post in session.posts.values_mut() {
                to = post.member.next_due().map_or(to, |due| to.min(due));
                if !post.is_crawling() || session.is_over || post.member.finish.is_some() {
                    continue;
                }
                if post.member.engine.is_busy() {
                    (to, least) = (now, Duration::ZERO);
                }
                to = post.member.engine.next_due().map_or(to, |due| to.min(due));
            }
        }
        let is_due = self.due(now).is_some();
        if !is_due {
            self.clock.advance(to.since(now).max(least));
        }
    }

    /// The node and the shard whose next thing is due.
    fn due(&self, now: Time) -> Option<(usize, u32)> {
        let up = self.nodes.iter().enumerate().filter(|(_, node)| node.still_until <= now);
        let posts = up.flat_map(|(at, node)| {
            let posts = node.session.iter().flat_map(|session| &session.posts);
            posts.filter_map(move |(shard, post)| Some((post.member.next_due()?, at, *shard)))
        });
        posts.filter(|(due, ..)| *due <= now).min().map(|(_, node, shard)| (node, shard))
    }

    /// Lets the next thing happen that is due.
    fn take_one(&mut self) -> Result<(), Violation> {
        let now = self.clock.now();
        let Some((node, shard)) = self.due(now) else { return Ok(()) };
        let Some(session) = &mut self.nodes[node].session else { return Ok(()) };
        let is_over = session.is_over;
        let Some(post) = session.posts.get_mut(&shard) else { return Ok(()) };
        let member = &mut post.member;
        let taken = member.event_queue.borrow_mut().take(now, &mut member.processor);
        let done = match taken {
            Ok(Some(event)) if !is_over && member.finish.is_none() => member.engine.handle(event),
            Ok(_) => Ok(()),
            // it was abandoned before
            Err(_) if is_over => Ok(()),
            Err(error) => Err(error),
        };
        done.or_else(|error| self.fail(node, Broken::Disk(error)))
    }
}

/// Returns a test for whether a request is of this node.
fn of(node: usize) -> impl Fn(Option<Asker>) -> bool {
    move |asker| asker.is_some_and(|asker| asker.node == node as u32)
}

fn is_of_store(over: Over) -> bool {
    matches!(over, Over::Store(_) | Over::StoreAway | Over::StoreWild)
}
