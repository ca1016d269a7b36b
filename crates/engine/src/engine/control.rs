//! Commands of an operator to a crawl that runs: pause and resume, more seeds, other settings.
//!
//! Each of these is an [`Event`](super::Event) like any other, so that a crawl stays a function of what it was given. A
//! pause is no part of a checkpoint: a crawl that is started again makes requests. New seeds are: no request is made
//! before they are in a durable checkpoint, so that nothing is archived for a seed that a crash could forget. Settings
//! are those of the process; the next one reads its own.

use std::sync::Arc;
use std::time::Duration;

use super::Settings;
use crate::frontier::{Budget, Politeness, Treatments};
use crate::web::scope::ScopeRules;

/// Settings that a running crawl can change to.
#[derive(Clone, Debug)]
pub struct Reconfiguration {
    /// Settings by which the engine decides. Slots and the pace of merges stay as they are.
    pub settings: Settings,
    /// Rules by which hosts are treated.
    pub politeness: Politeness,
    /// Limits of what is fetched of a host or domain.
    pub budget: Budget,
    /// Hosts that are treated otherwise.
    pub treatments: Option<Arc<dyn Treatments>>,
    /// Time that a host may be dead before its URLs are dropped.
    pub give_up: Duration,
    /// Patterns and limits of the scope, of the same mode as before; URLs that are queued are left out by them too.
    pub rules: ScopeRules,
}
