//! The number of URLs of one pattern that an origin has had: the budget that ends calendars.
//!
//! Every new URL with a [`pattern`] is counted, by origin and pattern together, in a [`Sketch`] of 2 MiB: a count is
//! never too low, and ages where the sketch fills.
//!
//! Places are taken from a fingerprint by the crawl's own polynomial, so that nobody can aim at the
//! pattern of somebody else. The sketch is part of every checkpoint.

use std::sync::Arc;

use super::sketch::Sketch;
use crate::frontier::QueuedUrl;
use crate::web::pattern::pattern;
use crate::web::url::KeyMaker;

/// The budget and what is used of it.
pub struct PatternBudget {
    keys: Arc<KeyMaker>,
    /// URLs that an origin has had of one pattern.
    used: Sketch,
}

impl PatternBudget {
    /// A budget of `limit` URLs a pattern, with what `saved` (from [`PatternBudget::encode`]) says was used; `None` for
    /// bytes that are something else.
    pub(crate) fn open(keys: Arc<KeyMaker>, limit: Option<u64>, saved: &[u8]) -> Option<Self> {
        Some(PatternBudget { keys, used: Sketch::open(limit, saved)? })
    }

    /// Another limit from now on. What was met while there was none was not counted.
    pub(crate) fn limit(&mut self, limit: Option<u64>) {
        self.used.set_limit(limit);
    }

    /// Counts `url`, and says whether the budget of its pattern has room for it. Seeds always have.
    pub(crate) fn admits(&mut self, url: &QueuedUrl) -> bool {
        let Some(limit) = self.used.limit() else { return true };
        if url.hops.as_str().is_empty() {
            return true;
        }
        let Some(pattern) = pattern(&url.url) else { return true };
        let hash = self.keys.of(&pattern).bits().rotate_left(32) ^ url.origin.bits();
        u64::from(self.used.count(hash)) <= limit
    }

    /// Appends what was counted.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.used.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprinter;
    use crate::frontier::Hops;
    use crate::web::url::CanonicalUrl;

    fn keys() -> Arc<KeyMaker> {
        Arc::new(KeyMaker::new(Fingerprinter::random(5), &[]))
    }

    fn link(keys: &KeyMaker, url: &str) -> QueuedUrl {
        let url = CanonicalUrl::parse(url).unwrap();
        QueuedUrl { hops: Hops::default().then('L'), ..QueuedUrl::of(url.as_str(), keys.keys(&url)) }
    }

    #[test]
    fn a_calendar_ends_with_its_budget_and_nothing_else_does() {
        let keys = keys();
        let mut budget = PatternBudget::open(keys.clone(), Some(100), &[]).unwrap();
        let days = (0..300).filter(|day| budget.admits(&link(&keys, &format!("http://a/{}/{day}", day / 30)))).count();
        assert_eq!(days, 100);
        let articles = (0..300).filter(|n| budget.admits(&link(&keys, &format!("http://a/article/{n}")))).count();
        let others = (0..300).filter(|n| budget.admits(&link(&keys, &format!("http://b{n}/1/2")))).count();
        let seeds = (0..300).filter(|n| {
            let url = CanonicalUrl::parse(&format!("http://a/1/{n}")).unwrap();
            budget.admits(&QueuedUrl::of(url.as_str(), keys.keys(&url)))
        });
        assert_eq!((articles, others, seeds.count()), (300, 300, 300));
        let mut unlimited = PatternBudget::open(keys.clone(), None, &[]).unwrap();
        assert!((0..300).all(|day| unlimited.admits(&link(&keys, &format!("http://a/1/{day}")))));
    }

    #[test]
    fn what_was_used_comes_back_from_its_bytes_and_other_bytes_are_refused() {
        let keys = keys();
        let mut budget = PatternBudget::open(keys.clone(), Some(3), &[]).unwrap();
        assert!((0..3).all(|n| budget.admits(&link(&keys, &format!("http://a/1/{n}")))));
        let mut bytes = Vec::new();
        budget.encode(&mut bytes);
        let mut again = PatternBudget::open(keys.clone(), Some(3), &bytes).unwrap();
        assert!(!again.admits(&link(&keys, "http://a/1/9")));
        assert!(PatternBudget::open(keys, None, &bytes[..bytes.len() - 1]).is_none());
    }
}
