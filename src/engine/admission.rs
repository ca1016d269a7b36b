//! Links, redirects and seeds on their way into the crawl.

use super::job::FoundLink;
use super::seeds::SeedStatus;
use super::{Engine, queued_url};
use crate::disk::Result;
use crate::frontier::{Asker, Hops, QueuedUrl};
use crate::outcome::Reason;
use crate::web::html::LinkKind;
use crate::web::url::{CanonicalUrl, Keys};

/// What a URL inherits from the page that names it.
pub(super) struct Parent<'a> {
    pub(super) url: &'a QueuedUrl,
    /// Offset of the page's record in key.dat.
    pub(super) record: u64,
}

impl Engine {
    /// Admits a seed, and its number is remembered for ever.
    pub fn admit_seed(&mut self, url: &CanonicalUrl, fallback: Option<&CanonicalUrl>) -> Result<()> {
        let number = self.books.seeds.number(url.as_str(), fallback.map(CanonicalUrl::as_str))?;
        self.admit_seed_as(number, url, false)
    }

    /// Admits `url` for the seed `number`; a forced one is fetched although it was seen before.
    pub(super) fn admit_seed_as(&mut self, number: u32, url: &CanonicalUrl, forced: bool) -> Result<()> {
        self.way.arrival().now = self.clock.now();
        let keys = self.keys.keys(url);
        let seed = QueuedUrl { seed: number, forced, ..queued(url.as_str(), keys) };
        match self.scope.judge(url, 0, 0) {
            Ok(()) => self.way.admit(seed),
            Err(reason) => {
                self.books.seeds.set_status(number, SeedStatus::Dropped(reason.to_string()))?;
                let rule = self.rule_of(&seed, reason);
                self.books.skip(&seed.url, reason, &rule)
            }
        }
    }

    /// Whether `url` is a seed whose line may mean another URL too.
    pub(super) fn has_fallback(&mut self, url: &QueuedUrl) -> Result<bool> {
        if !url.hops.as_str().is_empty() || !self.books.seeds.has_fallback(url.seed) {
            return Ok(false);
        }
        Ok(self.books.seeds.get(url.seed)?.is_some_and(|seed| *seed.url == *url.url))
    }

    /// A seed could not be fetched: what its line meant besides is tried.
    pub(super) fn admit_fallback(&mut self, number: u32, forced: bool) -> Result<()> {
        match self.books.seeds.get(number)?.and_then(|seed| seed.fallback) {
            Some(fallback) => self.admit_seed_as(number, &queued_url(&fallback), forced),
            None => Ok(()),
        }
    }

    /// Admits a link that processing found in scope.
    pub(super) fn admit_link(&mut self, parent: &Parent<'_>, link: FoundLink) -> Result<()> {
        // most links of a page were met before, and nothing is made of those
        if self.way.passes_over(link.keys.key) {
            return Ok(());
        }
        let below = parent.url.depth.saturating_add(1);
        // what an index names is as near to the seed as the index
        let (letter, embedded, depth) = match link.kind {
            LinkKind::Embed => ('E', true, below),
            LinkKind::Sitemap => ('M', true, parent.url.depth),
            LinkKind::Listed => ('M', false, below),
            _ => ('L', false, below),
        };
        self.way.admit(QueuedUrl {
            priority: priority(below, embedded),
            depth,
            hops: parent.url.hops.then(letter),
            via: parent.record + 1,
            seed: parent.url.seed,
            ..queued(&link.url, link.keys)
        })
    }

    /// Admits the sitemaps that a robots.txt names, which lies in the archive at `record`: at the depth of the URL that
    /// waited for it, so that their entries count like links of that URL, and before those.
    pub(super) fn admit_sitemaps(&mut self, asker: &Asker, record: u64, sitemaps: Vec<FoundLink>) -> Result<()> {
        for sitemap in sitemaps {
            self.books.statistics.links_found += 1;
            self.way.admit(QueuedUrl {
                priority: priority(asker.depth.saturating_add(1), true),
                depth: asker.depth,
                hops: asker.hops.then('M'),
                via: record + 1,
                seed: asker.seed,
                ..queued(&sitemap.url, sitemap.keys)
            })?;
        }
        Ok(())
    }

    /// Admits the target of a redirect: a URL like any other, at the depth of the one that redirects.
    pub(super) fn admit_redirect(&mut self, parent: &Parent<'_>, target: &CanonicalUrl, keys: Keys) -> Result<()> {
        let hops = parent.url.hops.then('R');
        let redirects = hops.redirects();
        let of_a_seed = redirects == hops.as_str().len();
        if of_a_seed {
            self.books.seeds.set_redirect(parent.url.seed, target.as_str())?;
        }
        let url = QueuedUrl {
            priority: parent.url.priority,
            depth: parent.url.depth,
            hops,
            via: parent.record + 1,
            seed: parent.url.seed,
            forced: parent.url.forced,
            ..queued(target.as_str(), keys)
        };
        match self.scope.judge(target, url.depth, redirects) {
            Ok(()) => self.way.admit(url),
            Err(Reason::Scope) if url.hops.sitemaps() > 0 => match self.judge_moved(parent, target, redirects) {
                Ok(()) => self.way.admit(url),
                Err(reason) => self.drop_now(url, reason),
            },
            Err(Reason::Scope) if of_a_seed && self.settings.follow_seed_redirects => {
                self.scope = std::sync::Arc::new(self.scope.with_seed(target));
                self.books.seeds.add_scope(target.as_str())?;
                match self.scope.judge(target, url.depth, redirects) {
                    Ok(()) => self.way.admit(url),
                    Err(reason) => self.drop_now(url, reason),
                }
            }
            Err(reason) => self.drop_now(url, reason),
        }
    }

    /// Whether a URL that is out of scope may be fetched because a sitemap has moved there. The URL that redirects was
    /// a sitemap if it is out of scope itself: nothing else lets such a URL in.
    fn judge_moved(
        &self,
        parent: &Parent<'_>,
        target: &CanonicalUrl,
        redirects: usize,
    ) -> std::result::Result<(), Reason> {
        let from = queued_url(&parent.url.url);
        let depth = parent.url.depth;
        match self.scope.judge(&from, depth, 0) {
            Err(Reason::Scope) => self.scope.judge_sitemap(target, &from, depth, redirects),
            _ => Err(Reason::Scope),
        }
    }

    /// Counts and logs the URLs that were admitted and ended without a request. One whose page is in the archive has had
    /// its end, whatever the settings say of it now.
    pub(super) fn collect_dropped(&mut self) -> Result<()> {
        let dropped = std::mem::take(&mut self.way.arrival().dropped);
        for (url, reason) in dropped {
            if self.way.arrival().replayed.remove(&(url.key, url.forced)) {
                continue;
            }
            self.books.statistics.ends.dropped += 1;
            self.drop_now(url, reason)?;
        }
        Ok(())
    }

    /// Counts and logs one URL that is never asked for, admitted or not.
    fn drop_now(&mut self, url: QueuedUrl, reason: Reason) -> Result<()> {
        if reason == Reason::Robots {
            self.books.statistics.robots_denied += 1;
        }
        let rule = self.rule_of(&url, reason);
        self.books.skip(&url.url, reason, &rule)?;
        if reason == Reason::HostGivenUp && url.forced && self.has_fallback(&url)? {
            // of the two URLs that the line may mean, it is known since before which one has no server
            self.admit_fallback(url.seed, true)?;
        } else if url.hops.as_str().is_empty() {
            let why = match reason {
                Reason::HostGivenUp if !rule.is_empty() => format!("{reason}: {rule}"),
                reason => reason.to_string(),
            };
            self.books.seeds.set_status(url.seed, SeedStatus::Dropped(why))?;
        }
        Ok(())
    }
}

/// A URL without a history.
pub(super) fn queued(url: &str, keys: Keys) -> QueuedUrl {
    QueuedUrl {
        url: url.into(),
        key: keys.key,
        origin: keys.origin,
        host: keys.host,
        domain: keys.domain,
        priority: 0,
        depth: 0,
        hops: Hops::default(),
        attempts: 0,
        via: 0,
        seed: 0,
        forced: false,
    }
}

/// Seeds have 0; then comes depth by depth, in each what pages embed before what they link to.
fn priority(depth: u16, embedded: bool) -> u8 {
    let by_depth = depth.saturating_mul(2).saturating_add(u16::from(!embedded));
    u8::try_from(by_depth).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::priority;

    #[test]
    fn priority_goes_by_depth_and_then_by_kind() {
        assert!(0 < priority(1, true));
        assert!(priority(1, true) < priority(1, false));
        assert!(priority(1, false) < priority(2, true));
        assert_eq!(priority(60_000, false), u8::MAX);
    }
}
