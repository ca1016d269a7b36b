//! Pages that change by Poisson processes of known rates, and what visits at given times keep fresh of them.

use fastrand::Rng;

/// Hosts of the pages.
pub const HOSTS: usize = 200;
/// The median rate: a change in 20 days.
const LN_RATE_MEDIAN: f64 = -2.995_732_273_553_991;
/// The standard deviation of ln(changes a day): 95 % of the rates are within four decades.
const LN_RATE_SPREAD: f64 = std::f64::consts::LN_10;
/// The share of that variance between hosts; the rest is within.
const BETWEEN_HOSTS: f64 = 0.5;

/// Rates of pages, in changes a day, by page; page n is of host n % [`HOSTS`].
pub fn rates(pages: usize, rng: &mut Rng) -> Vec<f64> {
    let hosts: Vec<f64> = (0..HOSTS).map(|_| BETWEEN_HOSTS.sqrt() * normal(rng)).collect();
    let rate = |page: usize| {
        let apart = hosts[page % HOSTS] + (1.0 - BETWEEN_HOSTS).sqrt() * normal(rng);
        (LN_RATE_MEDIAN + LN_RATE_SPREAD * apart).exp()
    };
    (0..pages).map(rate).collect()
}

fn normal(rng: &mut Rng) -> f64 {
    let (radius, angle) = ((-2.0 * (1.0 - rng.f64()).ln()).sqrt(), std::f64::consts::TAU * rng.f64());
    radius * angle.cos()
}

/// Days until the next change of a page.
pub fn until_change(rate: f64, rng: &mut Rng) -> f64 {
    -(1.0 - rng.f64()).ln() / rate
}

/// The part of the time in which a page is fresh that is visited each `interval` days.
pub fn freshness(rate: f64, interval: f64) -> f64 {
    let changes = rate * interval;
    if changes < 1e-6 { 1.0 - changes / 2.0 } else { -(-changes).exp_m1() / changes }
}

/// The mean age of its copy, in days: the time since the first change that it lacks, 0 while it is fresh.
pub fn age(rate: f64, interval: f64) -> f64 {
    // Cho and Garcia-Molina, TODS 2003, theorem 3.2
    interval * (0.5 - (1.0 - freshness(rate, interval)) / (rate * interval))
}

/// The intervals of the optimal allocation for freshness, with `visits` a day of all pages; infinite for those that are
/// never visited.
pub fn optimum(rates: &[f64], visits: f64) -> Vec<f64> {
    let intervals = |gain: f64| -> Vec<f64> { rates.iter().map(|&rate| interval(rate, gain)).collect() };
    let (mut low, mut high) = (1e-9_f64.ln(), 1e6_f64.ln());
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        let total: f64 = intervals(middle.exp()).iter().map(|interval| 1.0 / interval).sum();
        if total > visits { low = middle } else { high = middle }
    }
    intervals(high.exp())
}

/// Returns the interval at which one more visit of a page wins `gain` days of freshness.
fn interval(rate: f64, gain: f64) -> f64 {
    let wanted = rate * gain;
    if wanted >= 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (1e-9_f64.ln(), 50_f64.ln());
    for _ in 0..45 {
        let middle: f64 = (low + high) / 2.0;
        let changes = middle.exp();
        let won = if changes < 1e-4 { changes * changes / 2.0 } else { 1.0 - (1.0 + changes) * (-changes).exp() };
        if won < wanted { low = middle } else { high = middle }
    }
    high.exp() / rate
}
