//! A node of a cluster whose record is etcd: its lease, its claims, what it knows of the others.
//!
//! ```text
//! thread "lease"   grants, renews every quarter of the lease; a lost one: all claims are dropped, a new one is taken
//! thread "watch"   one watch of all live keys ──► View ──► those that are waked
//! shards' threads  claim, commit, release, grant: transactions, the same again until the answer is definite
//! ```
//! Safety is in the transactions alone: a head is put only where the claim's create revision is still there. The lease
//! keeps a node from requests that another one makes, too.

mod claims;
mod compaction;
mod session;
mod watching;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::balance::{Balance, Wanted};
use super::clocks::{Clocks, SystemClocks};
use super::crawl::{CrawlName, EtcdCrawl};
use super::etcd::{EtcdError, EtcdOptions};
use super::lease::Hold;
use super::ownership::{Claimed, ClusterError, CommitError, Granted, Ownership};
use super::quota::Dealt;
use super::record::{EndRecord, FiguresRecord, GrantRecord, HaltedRecord, HeadRecord, NodeRecord, QuotaRecord};
use super::view::{SeedsAt, View};
use crate::exchange::Revision;
use session::Session;

/// Time for which an endpoint is waited for that has to end a lease. A lease ends by itself where no endpoint could be
/// asked.
const REVOKE_WAIT: Duration = Duration::from_secs(1);

/// The options with which a node is started.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// Address of etcd, and the client's identity there.
    pub etcd: EtcdOptions,
    /// The crawl that it takes part in.
    pub crawl: CrawlName,
    /// The node's name: no other process may have it.
    pub name: String,
    /// Record of the node that others read.
    pub record: NodeRecord,
    /// Time that its lease lasts without a renewal.
    pub lease: Duration,
    /// Time by which it stops earlier.
    pub margin: Duration,
    /// The lease of a process of this name that is known to have ended, since its directory is locked by this one.
    pub former_lease: Option<u64>,
    /// True if it compacts etcd's history when its turn comes.
    pub compacts: bool,
}

impl Default for NodeOptions {
    fn default() -> Self {
        NodeOptions {
            etcd: EtcdOptions::default(),
            crawl: CrawlName::default(),
            name: String::new(),
            record: NodeRecord { weight: 1, ..NodeRecord::default() },
            lease: Duration::from_secs(20),
            margin: Duration::from_secs(5),
            former_lease: None,
            compacts: true,
        }
    }
}

/// A node that takes part.
pub struct EtcdOwnership {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// State that the node's threads share.
struct Shared {
    crawl: EtcdCrawl,
    options: NodeOptions,
    clocks: Arc<dyn Clocks>,
    session: Mutex<Option<Session>>,
    claims: Mutex<Claims>,
    view: Mutex<Arc<View>>,
    balance: Mutex<Balance>,
    fault: Mutex<Option<EtcdError>>,
}

/// The shards that this process has.
#[derive(Debug, Default)]
struct Claims {
    held: HashMap<u32, (u64, Arc<Hold>)>,
    /// Claims that are being made: their answer may come after the watch has reported them.
    in_progress: HashSet<u32>,
    /// Epochs of claims that were given out: none is for two openings.
    used: HashSet<u64>,
}

impl EtcdOwnership {
    /// Takes part in the crawl. Waits for a lease, and for the name to be free: a process of this name that was killed
    /// has it as long as its lease lasts.
    pub fn start(options: NodeOptions) -> Result<EtcdOwnership, ClusterError> {
        EtcdOwnership::with_clocks(options, Arc::new(SystemClocks))
    }

    /// The same, by these clocks.
    pub(crate) fn with_clocks(options: NodeOptions, clocks: Arc<dyn Clocks>) -> Result<EtcdOwnership, ClusterError> {
        let crawl = EtcdCrawl::open(&options.etcd, &options.crawl)?;
        let view = crawl.view()?;
        let shared = Arc::new(Shared {
            crawl,
            options,
            clocks,
            session: Mutex::default(),
            claims: Mutex::default(),
            view: Mutex::new(Arc::new(view)),
            balance: Mutex::default(),
            fault: Mutex::default(),
        });
        let node = EtcdOwnership { shared, threads: Mutex::default() };
        session::first(&node.shared)?;
        node.shared.observe();
        node.spawn("lease", session::run)?;
        node.spawn("watch", watching::run)?;
        Ok(node)
    }

    fn spawn(&self, name: &str, run: fn(&Shared)) -> Result<(), ClusterError> {
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || run(&shared));
        lock(&self.threads).push(thread.map_err(ClusterError::Thread)?);
        Ok(())
    }

    /// The crawl, for what needs no claim.
    pub fn crawl(&self) -> &EtcdCrawl {
        &self.shared.crawl
    }

    /// The lease that the node has at present; to be given to the next process of this name ([`NodeOptions`]).
    pub fn lease(&self) -> Option<u64> {
        lock(&self.shared.session).as_ref().map(|session| session.id)
    }

    /// Returns why this node has stopped for good, where it has: its etcd is not the one of the crawl any more, or a
    /// value in it is not of this version.
    pub fn fault(&self) -> Option<String> {
        lock(&self.shared.fault).as_ref().map(ToString::to_string)
    }

    /// Tells others of this node; not more often than once in ten seconds.
    pub fn put_figures(&self, figures: &FiguresRecord) -> Result<(), ClusterError> {
        self.shared.put_figures(figures)
    }

    /// Ends all calls, those that wait for an answer too, and takes no more: what is claimed ends with its lease.
    pub fn close(&self) {
        self.shared.crawl.etcd.close();
    }

    /// Ends the node's part: claims that are left are given up at once, with its lease.
    pub fn leave(&self) {
        self.shared.drop_claims();
        let session = lock(&self.shared.session).take();
        if let Some(session) = session {
            session.lease.lose();
            // where etcd does not answer it ends by itself
            let _ = self.shared.crawl.etcd.revoke(session.id, REVOKE_WAIT);
        }
        self.stop();
    }

    /// Ends the threads, as a kill would: what is claimed stays claimed until the lease ends.
    fn stop(&self) {
        self.shared.crawl.etcd.close();
        for thread in lock(&self.threads).drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the cluster has panicked");
            }
        }
        self.shared.drop_claims();
    }
}

impl Drop for EtcdOwnership {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for EtcdOwnership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdOwnership").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl Shared {
    /// Takes note of who owns what.
    fn observe(&self) {
        let view = lock(&self.view).clone();
        lock(&self.balance).observe(&view, self.clocks.boot());
    }

    /// All claims of this process are gone.
    fn drop_claims(&self) {
        let mut claims = lock(&self.claims);
        claims.held.drain().for_each(|(_, (_, hold))| hold.drop_claim());
    }

    /// The node cannot go on, now or later.
    fn fail(&self, error: EtcdError) {
        tracing::error!("this node takes no part any more: {error}");
        if let Some(session) = &*lock(&self.session) {
            session.lease.lose();
        }
        self.drop_claims();
        lock(&self.fault).get_or_insert(error);
        self.crawl.etcd.close();
    }
}

impl Ownership for EtcdOwnership {
    fn claim(&self, shard: u32) -> Result<Option<Claimed>, ClusterError> {
        self.shared.claim(shard)
    }

    fn commit(&self, claimed: &Claimed, head: &HeadRecord) -> Result<Revision, CommitError> {
        self.shared.commit(claimed, head)
    }

    fn release(&self, claimed: &Claimed) -> Result<(), ClusterError> {
        self.shared.release(claimed)
    }

    fn heads(&self) -> Arc<View> {
        lock(&self.shared.view).clone()
    }

    fn holds(&self) -> bool {
        lock(&self.shared.session).as_ref().is_some_and(|session| session.lease.holds())
    }

    fn wanted(&self) -> Wanted {
        if !self.holds() {
            return Wanted::default();
        }
        let (view, now) = (self.heads(), self.shared.clocks.boot());
        let wanted = lock(&self.shared.balance).wanted(&view, &self.shared.options.name, now);
        let held = lock(&self.shared.claims);
        let claim = wanted.claim.into_iter().filter(|shard| !held.held.contains_key(shard)).collect();
        let hand_over = wanted.hand_over.filter(|shard| held.held.contains_key(shard));
        Wanted { claim, hand_over }
    }

    fn grant(&self, claimed: &Claimed) -> Result<Granted, ClusterError> {
        self.shared.crawl.grant(claimed)
    }

    fn left(&self) -> Result<QuotaRecord, ClusterError> {
        self.shared.crawl.quota()
    }

    fn dealt(&self) -> Result<Dealt, ClusterError> {
        self.shared.crawl.dealt()
    }

    fn granted(&self, shard: u32) -> Result<GrantRecord, ClusterError> {
        self.shared.crawl.granted(shard)
    }

    fn give_back(&self, claimed: &Claimed, used: GrantRecord) -> Result<Granted, ClusterError> {
        self.shared.crawl.give_back(claimed, used)
    }

    fn put_end(&self, want_at: Revision, end: EndRecord) -> Result<bool, ClusterError> {
        self.shared.crawl.put_end(want_at, end)
    }

    fn put_seeds(&self, object: &str, count: u64) -> Result<SeedsAt, ClusterError> {
        self.shared.crawl.put_seeds(object, count)
    }

    fn halt(&self, claimed: &Claimed, halted: &HaltedRecord) -> Result<(), ClusterError> {
        self.shared.halt(claimed, halted)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // a panic elsewhere is reported by the thread that had it; what is locked here is whole between two statements
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
