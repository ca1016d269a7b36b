//! Commands of an operator to a crawl that runs: pause and resume, more seeds, other settings.
//!
//! Each of these is an [`Event`](super::Event) like any other, so that a crawl stays a function of what it was given. A
//! pause is no part of a checkpoint: a crawl that is started again makes requests. New seeds are: no request is made
//! before they are in a durable checkpoint, so that nothing is archived for a seed that a crash could forget. Settings
//! are those of the process; the next one reads its own.

use std::sync::Arc;
use std::time::Duration;

use super::{Engine, Settings};
use crate::disk::Result;
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

impl Engine {
    /// True if the crawl is paused.
    pub fn is_paused(&self) -> bool {
        self.requests.is_paused()
    }

    /// Number of the last checkpoint that is durable; 0 before the first one.
    pub fn durable_checkpoint(&self) -> u64 {
        self.checkpoints.durable()
    }

    /// Number of the checkpoint that has everything that was taken in so far, if one is wanted.
    pub fn checkpoint_ahead(&self) -> u64 {
        self.checkpoints.ahead()
    }

    /// True if requests may be made: nobody has paused the crawl, and no checkpoint has to be durable first.
    pub(super) fn may_request_now(&self) -> bool {
        let is_full = self.checkpoints.are_under_way() && self.admission.container.is_full();
        let is_behind = self.admission.settings.behind_max.is_some()
            && self.checkpoints.are_behind(self.admission.settings.behind_max, self.admission.clock.elapsed());
        !is_full
            && !is_behind
            && !self.admission.seeding.intake.holds_requests()
            && self.requests.are_wanted(self.durable_checkpoint())
    }

    /// Decides by other settings from now on.
    pub(super) fn reconfigure(&mut self, new: Reconfiguration) {
        let rates = |settings: &Settings| (settings.requests_per_second, settings.bytes_per_second);
        if rates(&self.admission.settings) != rates(&new.settings) {
            self.requests.renew_limits(new.settings.requests_per_second, new.settings.bytes_per_second);
        }
        let now = self.admission.clock.now();
        self.checkpoints.bring_forward(now + new.settings.checkpoint_interval);
        let rules = new.rules.forgetting(self.admission.container.forgotten());
        self.admission.scope = Arc::new(self.admission.scope.with_rules(&rules));
        self.admission.stores.patterns.limit(new.settings.urls_per_pattern);
        self.admission.stores.arrival.depths.switch(rules.limit_depth());
        if self.admission.settings.hosts != new.settings.hosts {
            // where a name is said to be elsewhere, that it could not be resolved or reached tells nothing
            self.admission.stores.arrival.anew = now;
        }
        self.admission.settings = new.settings;
        self.sessions.fill(&self.admission.settings);
        let frontier = &mut self.admission.stores.arrival.frontier;
        frontier.reconfigure(new.politeness, new.budget, new.treatments, new.give_up);
        frontier.exclude_by(rules);
    }

    /// Stops fetching what is forgotten from now on, wherever it waits.
    pub(super) fn forget(&mut self) -> Result<()> {
        self.admission.container.forget()?;
        let rules = self.admission.scope.rules().forgetting(self.admission.container.forgotten());
        self.admission.scope = Arc::new(self.admission.scope.with_rules(&rules));
        self.admission.stores.arrival.frontier.exclude_by(rules);
        self.checkpoints.want();
        Ok(())
    }
}
