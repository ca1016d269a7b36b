//! The common rate at which pages of a host change, as far as it is known of any of them.
//!
//! For each host two moments of ln(changes a day) over its pages, by what is known of each at its visits: the mean, and
//! the variance, in which what is not known of a page counts too. So the table learns as expectation maximisation
//! does, visit by visit. Pages that are visited often would count often: each visit counts as much as the time since
//! the one before it. A host of which little is known is believed to be like all hosts together.
//!
//! Bounded: [`SETS`] x [`WAYS`] hosts, each in the set that its fingerprint chooses, where a new one takes the place of
//! that which was not heard of for the longest time. It travels in the checkpoint.

use serde::{Deserialize, Serialize};

use super::rate::{Posterior, Prior};
use crate::fingerprint::Fingerprint;

/// The number of sets in which places for hosts are, a power of two.
const SETS: usize = 1_024;
/// Hosts of a set.
const WAYS: usize = 4;
/// The weight, in pages' days, that the moments of all hosts have beside the moments of one.
const COMMON_WEIGHT: f64 = 5.0;
/// Weights do not grow past this: what was learnt long ago fades.
const WEIGHT_MAX: f64 = 2_000.0;
/// The weight of what is believed before anything is learnt.
const WEB_WEIGHT: f64 = 5.0;

/// Two moments, and the weight of what they are known by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Moments {
    mean: f32,
    variance: f32,
    weight: f32,
}

impl Moments {
    const NONE: Moments = Moments { mean: 0.0, variance: 0.0, weight: 0.0 };

    fn prior(&self) -> Prior {
        Prior { ln_mean: f64::from(self.mean), ln_variance: f64::from(self.variance) }
    }

    fn add(&mut self, posterior: &Posterior, weight: f64) {
        let before = f64::from(self.weight).min(WEIGHT_MAX);
        let share = weight / (before + weight);
        let apart = posterior.ln_mean - f64::from(self.mean);
        let mean = f64::from(self.mean) + share * apart;
        let spread = posterior.ln_variance + (posterior.ln_mean - mean).powi(2);
        // the old pages are as far from the new mean as that has moved, beside their variance
        let kept = f64::from(self.variance) + (mean - f64::from(self.mean)).powi(2);
        *self = Moments {
            mean: mean as f32,
            variance: ((1.0 - share) * kept + share * spread) as f32,
            weight: (before + weight) as f32,
        };
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct HostMoments {
    host: Fingerprint,
    /// Rises with every use: the least of a set gives way.
    used: u32,
    moments: Moments,
}

/// The table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Priors {
    all: Moments,
    /// Moments of hosts, sorted by set; no more than [`WAYS`] of each set.
    hosts: Vec<HostMoments>,
    uses: u32,
}

impl Priors {
    /// A table that has learnt nothing.
    pub(crate) fn new() -> Self {
        let web = Prior::WEB;
        let all = Moments { mean: web.ln_mean as f32, variance: web.ln_variance as f32, weight: WEB_WEIGHT as f32 };
        Priors { all, hosts: Vec::new(), uses: 0 }
    }

    /// Returns the distribution of the rate that is believed of a page of `host`.
    pub(crate) fn of(&self, host: Fingerprint) -> Prior {
        let all = self.all.prior();
        let Ok(at) = self.find(host) else { return all };
        let known = self.hosts[at].moments;
        let share = f64::from(known.weight) / (f64::from(known.weight) + COMMON_WEIGHT);
        let known = known.prior();
        let ln_mean = share * known.ln_mean + (1.0 - share) * all.ln_mean;
        let apart = |prior: Prior| prior.ln_variance + (prior.ln_mean - ln_mean).powi(2);
        Prior { ln_mean, ln_variance: share * apart(known) + (1.0 - share) * apart(all) }
    }

    /// Learns what is known of a page of `host` that was left alone for `days`.
    pub(crate) fn learn(&mut self, host: Fingerprint, posterior: &Posterior, days: f64) {
        self.all.add(posterior, days);
        self.uses = self.uses.wrapping_add(1);
        let at = self.find(host).unwrap_or_else(|at| self.make_room(host, at));
        self.hosts[at].used = self.uses;
        self.hosts[at].moments.add(posterior, days);
    }

    /// The table is sound: sorted, no set too large, all figures finite.
    pub(crate) fn is_sound(&self) -> bool {
        let is_sane = |moments: &Moments| {
            [moments.mean, moments.variance, moments.weight].into_iter().all(f32::is_finite)
                && moments.variance >= 0.0
                && moments.weight >= 0.0
        };
        is_sane(&self.all)
            && self.all.variance > 0.0
            && self.hosts.iter().all(|host| is_sane(&host.moments))
            && self.hosts.is_sorted_by(|a, b| sort_key(a.host) < sort_key(b.host))
            && self.hosts.chunk_by(|a, b| set_of(a.host) == set_of(b.host)).all(|set| set.len() <= WAYS)
    }

    fn find(&self, host: Fingerprint) -> Result<usize, usize> {
        self.hosts.binary_search_by_key(&sort_key(host), |known| sort_key(known.host))
    }

    /// Makes a place for `host`, which is to be at `at`; says where it is.
    fn make_room(&mut self, host: Fingerprint, at: usize) -> usize {
        let set = set_of(host);
        let start = self.hosts[..at].iter().rposition(|known| set_of(known.host) != set).map_or(0, |last| last + 1);
        let length = self.hosts[start..].iter().take_while(|known| set_of(known.host) == set).count();
        let mut at = at;
        if length == WAYS {
            // by how long ago, so that the counter may run over
            let idle = |&place: &usize| self.uses.wrapping_sub(self.hosts[place].used);
            let oldest = (start..start + length).max_by_key(idle).expect("a full set has hosts");
            self.hosts.remove(oldest);
            at -= usize::from(oldest < at);
        }
        self.hosts.insert(at, HostMoments { host, used: self.uses, moments: Moments::NONE });
        at
    }
}

fn set_of(host: Fingerprint) -> u64 {
    host.bits() >> (64 - SETS.trailing_zeros())
}

/// Sets are ranges of fingerprints.
fn sort_key(host: Fingerprint) -> u64 {
    host.bits()
}
