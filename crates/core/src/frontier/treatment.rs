//! Hosts that are treated otherwise than the rest: who knows them is beside the frontier, and is asked once for each
//! host that becomes active.

use std::sync::Arc;
use std::time::Duration;

use super::Frontier;
use super::options::{Budget, Politeness, Treatment};

impl Frontier {
    /// Returns the delays and limits with which `host`, a name or an address, is treated.
    pub fn politeness_for(&self, host: &str) -> Politeness {
        self.politeness_by(self.treatment_of(host).as_deref())
    }

    /// Returns the limits of what is fetched of `host`.
    pub fn budget_for(&self, host: &str) -> Budget {
        self.treatment_of(host).map_or(self.options.budget, |treatment| treatment.budget)
    }

    /// Returns, for the log, how hosts are treated that are treated otherwise than the rest.
    pub fn treatments_told(&self) -> &str {
        self.options.treatments.as_ref().map_or("", |treatments| treatments.told())
    }

    pub(super) fn treatment_of(&self, host: &str) -> Option<Arc<Treatment>> {
        self.options.treatments.as_ref()?.of(host)
    }

    /// Returns the delays and limits with which a host of this treatment is treated.
    pub(super) fn politeness_by(&self, treatment: Option<&Treatment>) -> Politeness {
        treatment.map_or(self.options.politeness, |treatment| treatment.politeness)
    }

    /// Returns the delays and limits with which an active host is treated.
    pub(super) fn politeness_of(&self, index: u32) -> Politeness {
        self.politeness_by(self.active.host(index).treatment.as_deref())
    }

    /// Returns the limits of what is fetched of an active host.
    pub(super) fn budget_of(&self, index: u32) -> Budget {
        let pages_per_domain = self.options.budget.pages_per_domain;
        let own = self.active.host(index).treatment.as_ref();
        own.map_or(self.options.budget, |treatment| Budget { pages_per_domain, ..treatment.budget })
    }

    /// Requests that may be made to an active host at the same time.
    pub(super) fn connections_of(&self, index: u32) -> usize {
        self.politeness_of(index).connections_per_host.max(1)
    }

    /// The delay after a request to a host of which only a fingerprint is known.
    pub(super) fn delay_of_any(&self) -> Duration {
        let usual = self.options.politeness.delay_after(Duration::ZERO);
        self.options.treatments.as_ref().map_or(usual, |treatments| usual.max(treatments.delay_max()))
    }

    /// Takes over what hosts are treated by, where it was changed.
    pub(super) fn treat_anew(&mut self) {
        let indices: Vec<u32> = self.active.indices().collect();
        for index in indices {
            let treatment = self.treatment_of(self.active.host(index).name());
            self.active.host_mut(index).treatment = treatment;
        }
    }
}
