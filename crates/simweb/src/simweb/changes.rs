//! Changes of the pages of a web by the clock, if they change.

use crate::clock::Time;

/// Bounds of the median of the rates, and of each rate.
pub(super) const PER_DAY_MIN: f64 = 1e-6;
pub(super) const PER_DAY_MAX: f64 = 100_000.0;
const LN_SPREAD_MAX: f64 = 5.0;

/// The way in which the pages of a web change. Shares are between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changes {
    /// Time until which every page has its first version.
    pub since: Time,
    /// The median of the rates, in changes a day.
    pub per_day: f64,
    /// The standard deviation of the logarithm of the rates.
    pub ln_spread: f64,
    /// The part of that variance which pages of a host have in common.
    pub between_hosts: f64,
    /// Pages of which only a date and an advertisement change.
    pub cosmetic_share: f64,
    /// Pages with neither ETag nor Last-Modified; others have one of them or both.
    pub bare_share: f64,
    /// True if sitemaps say when each page has changed. If not, they say the same day of all.
    pub dated_sitemaps: bool,
}

impl Changes {
    /// Changes in 20 days in the median, 95 % of the rates within four decades, and a fifth of each kind of exception.
    pub fn from(since: Time) -> Self {
        Changes {
            since,
            per_day: 0.05,
            ln_spread: std::f64::consts::LN_10,
            between_hosts: 0.5,
            cosmetic_share: 0.2,
            bare_share: 0.2,
            dated_sitemaps: true,
        }
    }

    /// Returns an error that says what is wrong if the numbers describe no changes.
    pub(super) fn check(&self) -> Result<(), String> {
        let shares = [
            ("between_hosts", self.between_hosts),
            ("cosmetic_share", self.cosmetic_share),
            ("bare_share", self.bare_share),
        ];
        if let Some((name, share)) = shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err(format!("{name} is {share}, but a share is between 0 and 1"));
        }
        let ranges =
            [("per_day", self.per_day, PER_DAY_MIN, PER_DAY_MAX), ("ln_spread", self.ln_spread, 0.0, LN_SPREAD_MAX)];
        match ranges.into_iter().find(|(_, number, min, max)| !(min..=max).contains(&number)) {
            Some((name, number, min, max)) => Err(format!("{name} is {number}, but must be between {min} and {max}")),
            None => Ok(()),
        }
    }
}
