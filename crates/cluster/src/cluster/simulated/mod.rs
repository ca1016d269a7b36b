//! The registry in memory of the simulator: what etcd is to nodes, as a function of a seed and of virtual time; where
//! nobody asks for a fault, it never fails.
//!
//! ```text
//! SimulatedRegistry   one table, one revision: every transaction is done at one moment
//!      ▲ calls, which may be lost, answered in vain, or carried out late
//! SimulatedNode       one session of a node: its lease, its claims, what it knows (behind the table, by any lag)
//! ```
//! What it may do to its callers: a call or its answer is lost; a call that failed is carried out later, if what it
//! compares still holds; a node is cut off in one direction or both; a lease ends although its node lives, since the
//! node is paused or cut off. What it never does: show half a transaction, use a revision twice, or show a change
//! before an earlier one.
//!
//! A call that has to be definite is repeated, with pauses, in which the simulator lets time pass. Transactions compare
//! what those of etcd compare, and bounds of the limits are moved by the same functions.

mod node;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::balance::Balance;
use super::clocks::Clocks;
use super::lease::{Hold, Lease};
use super::record::{EndRecord, QuotaRecord};
use super::view::View;
pub use node::SimulatedNode;
use table::Table;

/// The calls and answers of a node that come through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connectivity {
    /// Calls and answers.
    Whole,
    /// Calls: they are carried out, and the answers are lost.
    NoAnswers,
    /// Nothing.
    Nothing,
}

/// Shares of calls that go wrong on their way, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Troubles {
    /// They are lost.
    pub lost: u8,
    /// They are carried out, and the answer is lost.
    pub answer_lost: u8,
    /// They are lost as far as the caller knows, and carried out later.
    pub late: u8,
}

/// The terms of a node's lease.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTerms {
    /// Time that the registry keeps it after a renewal.
    pub lasts: Duration,
    /// Time by which the node's own reckoning ends earlier.
    pub margin: Duration,
}

/// The registry; clones are the same one.
#[derive(Clone, Debug)]
pub struct SimulatedRegistry {
    table: Arc<Mutex<Table>>,
    clocks: Arc<dyn Clocks>,
    terms: LeaseTerms,
}

impl SimulatedRegistry {
    /// A crawl of this many shards with these limits, which nobody has begun.
    pub fn new(
        shards: u32,
        quota: QuotaRecord,
        clocks: Arc<dyn Clocks>,
        terms: LeaseTerms,
        seed: u64,
    ) -> SimulatedRegistry {
        SimulatedRegistry { table: Arc::new(Mutex::new(Table::new(shards, quota, seed))), clocks, terms }
    }

    /// Makes calls go wrong as often as `troubles` says, from now on.
    pub fn set_troubles(&self, troubles: Troubles) {
        self.table().troubles = troubles;
    }

    /// The registry is away, for all; or back. Leases go on to end.
    pub fn set_away(&self, is_away: bool) {
        self.table().is_away = is_away;
    }

    /// Takes every head of any node from now on, as a registry without fences would do.
    pub fn forget_fences(&self) {
        self.table().has_fences = false;
    }

    /// Time has passed: leases end, and what was late is carried out.
    pub fn pass_time(&self) {
        let now = self.clocks.boot();
        self.table().pass_time(now);
    }

    /// The whole table, as it is now.
    pub fn view(&self) -> View {
        self.table().view.clone()
    }

    /// The first shard, and the number of its head, that was followed by one of no greater number.
    pub fn went_back(&self) -> Option<(u32, u64)> {
        self.table().went_back
    }

    /// Claims so far.
    pub fn claims(&self) -> u64 {
        self.table().claims
    }

    /// Claims so far of shards that had a head: how often one was taken over.
    pub fn take_overs(&self) -> u64 {
        self.table().take_overs
    }

    /// A session of the node `name`; `None` where the name is taken, or nothing comes through. `pause` lets time pass.
    pub fn join(&self, name: &str, connectivity: Connectivity, pause: fn(Duration)) -> Option<SimulatedNode> {
        let sending = Lease::new(self.clocks.clone(), self.terms.margin);
        let (sent, now) = (sending.sending(), self.clocks.boot());
        let id = self.table().call(connectivity, |table| table.join(name, now, self.terms.lasts))??;
        sending.renewed(sent, self.terms.lasts);
        let view = Arc::new(self.table().view.clone());
        let mut balance = Balance::default();
        balance.observe(&view, now);
        Some(SimulatedNode {
            registry: self.clone(),
            name: name.to_owned(),
            id,
            lease: Arc::new(sending),
            connectivity: Mutex::new(connectivity),
            pause,
            known: Mutex::new(view),
            balance: Mutex::new(balance),
            claims: Mutex::new(HashMap::<u32, (u64, Arc<Hold>)>::new()),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Returns the end of the crawl, if it has ended.
    pub fn end(&self) -> Option<EndRecord> {
        self.table().view.end
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
