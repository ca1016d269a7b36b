//! An estimate of how often a page changes, from what its visits found, and the time to wait until the next visit.
//!
//! Changes are taken for a Poisson process. The estimator is the Bayesian one of Cho and Garcia-Molina ("Estimating
//! frequency of change", ACM TOIT 3(3), 2003, section 6): classes of rates, each with the probability that the page is
//! of that class, by Bayes' rule from what visits found. A visit that found a change says that there was one at least
//! since the visit before, one that found none says that there was none; visits need not be regular. Our differences:
//! there are [`CLASSES`] classes, evenly spaced in the logarithm of the rate; what comes before the first visit is a
//! normal distribution of that logarithm ([`Prior`]), learnt from other pages of the host; old visits count for less,
//! so that a page whose rate drifts is followed; and of the visits only four sums are kept ([`History`]), with which
//! changed intervals have their mean length each.
//!
//! The wait follows the optimal allocation for freshness of the same authors ("Effective page refresh policies for web
//! crawlers", ACM TODS 28(4), 2003): visits are worth the same everywhere, at the margin. With rate x and interval I
//! one more visit wins the fresh time (1 - (1 + xI) e^-xI) / x; the interval is where the expectation of that over the
//! classes is what a visit has to win.
//!
//! Cost: two or three exponentials for each class, and one for each class with weight and step of the search; some
//! microseconds a visit.

use super::past::History;

/// Classes of rates.
const CLASSES: usize = 72;
/// The rate of the first class: a change in 55 years.
const LN_FIRST: f64 = -9.9;
/// Step from class to class, in the logarithm: the last one has a change in 41 seconds.
const LN_STEP: f64 = 0.25;
/// A class of less weight than the heaviest, by this factor, counts for nothing.
const NEGLIGIBLE: f64 = 1e-6;
/// Steps of the search for an interval: bounds that are a factor of 1,000 apart are found to 0.1 %.
const STEPS: u32 = 13;

/// The belief about the rate of a page that was not visited twice: ln(changes a day) has a normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prior {
    /// Its mean.
    pub ln_mean: f64,
    /// Its variance.
    pub ln_variance: f64,
}

impl Prior {
    /// The belief before anything is known of any page. A normal distribution through two points of Cho and
    /// Garcia-Molina ("The evolution of the web and implications for an incremental crawler", VLDB 2000): 23 % of pages
    /// had changed at every daily visit, 30 % at none in four months. Its deviation is theirs cut to 3: what it learns
    /// counts more.
    pub(crate) const WEB: Prior = Prior { ln_mean: -3.0, ln_variance: 9.0 };
}

/// The rates of the classes, in changes a day.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    rates: [f64; CLASSES],
}

impl Classes {
    pub(crate) fn new() -> Self {
        Classes { rates: std::array::from_fn(|class| ln_rate(class).exp()) }
    }

    /// Returns what is known of a page's rate by its `history`, where `prior` was believed before.
    pub(crate) fn posterior(&self, prior: Prior, history: &History) -> Posterior {
        let changes = f64::from(history.changes);
        let changed_days = f64::from(history.changed_days).min(f64::from(history.days));
        let unchanged_days = f64::from(history.days) - changed_days;
        let mean_days = if changes > 0.0 { changed_days / changes } else { 0.0 };
        let mut weights = [0.0; CLASSES];
        for (class, (weight, rate)) in weights.iter_mut().zip(self.rates).enumerate() {
            *weight = -(ln_rate(class) - prior.ln_mean).powi(2) / (2.0 * prior.ln_variance) - rate * unchanged_days;
            if mean_days > 0.0 {
                *weight += changes * (-(-rate * mean_days).exp_m1()).ln();
            }
        }
        let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut posterior = Posterior { classes: [(0.0, 0.0); CLASSES], count: 0, ln_mean: 0.0, ln_variance: 0.0 };
        let mut sum = 0.0;
        for (class, (weight, rate)) in weights.into_iter().zip(self.rates).enumerate() {
            let weight = (weight - most).exp();
            if weight >= NEGLIGIBLE {
                posterior.classes[posterior.count] = (rate, weight);
                posterior.count += 1;
                sum += weight;
                posterior.ln_mean += weight * ln_rate(class);
                posterior.ln_variance += weight * ln_rate(class).powi(2);
            }
        }
        posterior.classes[..posterior.count].iter_mut().for_each(|(_, weight)| *weight /= sum);
        posterior.ln_mean /= sum;
        // the width of a class at least: nothing is known better than that
        posterior.ln_variance = (posterior.ln_variance / sum - posterior.ln_mean.powi(2)).max(LN_STEP.powi(2) / 12.0);
        posterior
    }
}

fn ln_rate(class: usize) -> f64 {
    LN_FIRST + LN_STEP * class as f64
}

/// Knowledge of a page's rate.
#[derive(Clone, Debug)]
pub(super) struct Posterior {
    /// Rate and probability; of those that count.
    classes: [(f64, f64); CLASSES],
    count: usize,
    /// The mean of ln(changes a day).
    pub ln_mean: f64,
    /// Its variance.
    pub ln_variance: f64,
}

impl Posterior {
    /// The probability that there is no change within `days`.
    pub(crate) fn unchanged(&self, days: f64) -> f64 {
        self.expectation(|rate| (-rate * days).exp())
    }

    /// The days in which one more visit each `days` wins.
    fn won(&self, days: f64) -> f64 {
        self.expectation(|rate| {
            let changes = rate * days;
            let stays = (-changes).exp();
            // the difference of the exact form has no digits left where little happens
            if changes < 1e-4 { changes * days / 2.0 } else { (1.0 - (1.0 + changes) * stays) / rate }
        })
    }

    /// The interval, in days from `min` to `max`, at which one more visit wins `gain` days.
    pub(crate) fn interval(&self, gain: f64, min: f64, max: f64) -> f64 {
        if self.won(max) <= gain {
            return max;
        }
        if self.won(min) >= gain {
            return min;
        }
        let (mut low, mut high) = (min.ln(), max.ln());
        for _ in 0..STEPS {
            let middle = (low + high) / 2.0;
            if self.won(middle.exp()) < gain { low = middle } else { high = middle }
        }
        ((low + high) / 2.0).exp()
    }

    fn expectation(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.classes[..self.count].iter().map(|&(rate, weight)| weight * of(rate)).sum()
    }
}
