//! Hosts that are treated otherwise than the rest: who knows them is beside the frontier, and is asked once for each
//! host that becomes active.

use super::Frontier;
use super::options::Budget;

impl Frontier {
    /// Returns the limits of what is fetched of `host`.
    pub fn budget_for(&self, host: &str) -> Budget {
        self.pacing.treatment_of(host).map_or(self.options.budget, |treatment| treatment.budget)
    }

    /// Returns the limits of what is fetched of an active host.
    pub(super) fn budget_of(&self, index: u32) -> Budget {
        let pages_per_domain = self.options.budget.pages_per_domain;
        let own = self.active.host(index).treatment.as_ref();
        own.map_or(self.options.budget, |treatment| Budget { pages_per_domain, ..treatment.budget })
    }

    /// Takes over what hosts are treated by, where it was changed.
    pub(super) fn treat_anew(&mut self) {
        let indices: Vec<u32> = self.active.indices().collect();
        for index in indices {
            let treatment = self.pacing.treatment_of(self.active.host(index).name());
            self.active.host_mut(index).treatment = treatment;
        }
    }
}
