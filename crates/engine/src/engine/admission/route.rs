//! The way of a URL into the crawl: every discovery takes this one way, whatever found the URL.
//!
//! ```text
//! link, redirect, sitemap, seed, fallback ─► what it inherits ─► scope, depth ─► URL-seen, budgets, ... ([`stores`])
//! ```
//! - Links and sitemaps were judged by the scope where their page was processed; seeds and redirects are judged here.
//! - A URL that is refused ends here, and was never admitted. One that is admitted has one end, later, and comes back
//!   to [`Admission::collect_dropped`] where that is without a request.
//!
//! [`stores`]: crate::engine::stores

use std::net::IpAddr;
use std::sync::Arc;

use super::Admission;
use crate::clock::Time;
use crate::container::{KeyRecord, Stored as StoredPage};
use crate::contract::{Findings, FoundLink};
use crate::disk::Result;
use crate::engine::discovery::{Discovery, Parent, depth_of};
use crate::engine::pair::Pair;
use crate::engine::rule::rule_of;
use crate::engine::seeds::SeedStatus;
use crate::engine::support::{supported_by, supporter};
use crate::engine::{is_of_seed, queued_url};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Provenance, QueuedUrl};
use crate::outcome::{Reason, failure_of_answer};
use crate::web::html::LinkKind;
use crate::web::url::CanonicalUrl;

impl Admission {
    /// Admits what was found, or says why not.
    pub(in crate::engine) fn route(&mut self, discovery: Discovery<'_>) -> Result<()> {
        self.books.statistics.links_found += u64::from(!discovery.is_listed());
        let hint = self.recrawls.as_ref().and_then(|_| discovery.hint());
        // most links of a page were met before, and nothing is made of those
        if let Discovery::Link { parent, link } = &discovery
            && hint.is_none()
            && !(parent.url.is_of_round() && link.kind == LinkKind::Sitemap)
            && !self.stores.sink.depths.is_nearer(link.keys.key, depth_of(link.kind, parent.url, &self.scope))
            && self.stores.passes_over(link.keys.key)
        {
            return Ok(());
        }
        let verdict = self.judge(&discovery)?;
        let named_by = discovery.parent().map(|parent| parent.domain);
        let mut url = self.settings.ranked(discovery.into_url(&self.home.keys, &self.scope, self.home.shard));
        url.recrawl = hint.map(|hint| hint.to_bytes());
        let verdict = match (verdict, named_by) {
            (Ok(()), Some(domain)) => self.charge_requisite(domain, &url)?,
            (verdict, _) => verdict,
        };
        match verdict {
            Ok(()) => self.admit(url),
            Err(reason) => self.drop_now(url, reason),
        }
    }

    /// Routes the sitemaps that a robots.txt names.
    pub(in crate::engine) fn route_sitemaps(
        &mut self,
        provenance: &Provenance,
        record: u64,
        sitemaps: Vec<FoundLink>,
    ) -> Result<()> {
        sitemaps.into_iter().try_for_each(|link| self.route(Discovery::Sitemap { provenance, record, link }))
    }

    /// Routes what a page names whose record is at `record` of key.dat.
    pub(in crate::engine) fn route_found(
        &mut self,
        url: &QueuedUrl,
        mut findings: Findings,
        has_changed: bool,
        record: u64,
    ) -> Result<()> {
        let parent = Parent { url, record, has_changed };
        if let Some((target, keys)) = findings.redirect.take() {
            self.route(Discovery::Redirect { parent: &parent, target: &target, keys })?;
        }
        if let Some(sitemap) = findings.sitemap {
            self.books.statistics.count_sitemap(sitemap.urls, sitemap.dropped);
        }
        self.books.count_dropped_links(&url.url, &findings.dropped);
        self.note_too_deep(&parent, &mut findings)?;
        self.stores.seen.prefetch(findings.links.iter().map(|link| link.keys.key));
        for link in findings.links {
            self.route(Discovery::Link { parent: &parent, link })?;
        }
        Ok(())
    }

    pub(in crate::engine) fn route_nearer(
        &mut self,
        url: &QueuedUrl,
        findings: Findings,
        record: &KeyRecord,
    ) -> Result<()> {
        let found = self.books.statistics.links_found;
        let parent = Parent { url, record: record.offset, has_changed: false };
        if let Some((target, keys)) = findings.redirect {
            self.route(Discovery::Redirect { parent: &parent, target: &target, keys })?;
        }
        for link in findings.links {
            self.route(Discovery::Link { parent: &parent, link })?;
        }
        self.books.statistics.links_found = found;
        Ok(())
    }

    /// Notes which URLs are left out because links of the page of `parent` are too deep, each once.
    pub(in crate::engine) fn note_too_deep(&mut self, parent: &Parent<'_>, findings: &mut Findings) -> Result<()> {
        for link in std::mem::take(&mut findings.too_deep) {
            if self.stores.seen.is_recent(link.keys.key) || !self.stores.sink.depths.note_too_deep(link.keys.key) {
                continue;
            }
            let found = Discovery::Link { parent, link };
            let url = found.into_url(&self.home.keys, &self.scope, self.home.shard);
            let rule = rule_of(&self.scope, &mut self.stores, &url, Reason::Depth);
            let colon = if rule.is_empty() { "" } else { ": " };
            let why = format!("{rule}{colon}a link of {}", parent.url.url);
            self.books.note_left_out(&url.url, Reason::Depth, &why)?;
        }
        Ok(())
    }

    /// The page of `url` is in the archive: it is counted, and what it names is admitted. Whether it has changed since
    /// an earlier visit is said of one that had any.
    pub(in crate::engine) fn page_done(
        &mut self,
        url: &QueuedUrl,
        status: u16,
        findings: Findings,
        has_changed: bool,
        address: Option<IpAddr>,
        stored: &StoredPage,
    ) -> Result<()> {
        self.books.statistics.pages_stored += 1;
        let is_requisite = self.scope.is_requisite(url.hops.embeds());
        self.books.statistics.requisites_stored += u64::from(is_requisite);
        let is_redirect = (300..400).contains(&status) && status != 304;
        self.books.statistics.redirects_stored += u64::from(is_redirect && !is_requisite);
        self.books.statistics.refetched += u64::from(url.forced);
        self.books.statistics.count_status(status);
        self.books.statistics.depth_max = self.books.statistics.depth_max.max(url.depth);
        let failure = failure_of_answer(status, stored.not_modified);
        if let Some(failure) = failure {
            self.books.statistics.count_failure(failure);
        }
        if is_of_seed(url) {
            let failed = failure.map(|failure| SeedStatus::Failed(failure.to_string()));
            self.books.seeds.set_status(url.seed, failed.unwrap_or(SeedStatus::Answered(status)))?;
        }
        self.count_support(url.domain, &findings, address)?;
        self.stores.sink.depths.fetched(url.key, url.depth);
        self.route_found(url, findings, has_changed, stored.record)
    }

    /// Judges whether scope and depth let in what was found.
    pub(in crate::engine) fn judge(&mut self, discovery: &Discovery<'_>) -> Result<std::result::Result<(), Reason>> {
        match discovery {
            Discovery::Seed { url, .. } | Discovery::Fallback { url, .. } => {
                self.stores.sink.now = self.clock.now();
                Ok(self.scope.judge(url, 0, 0))
            }
            // where their page was processed, the scope has let them in
            Discovery::Link { .. } | Discovery::Sitemap { .. } => Ok(Ok(())),
            Discovery::Redirect { parent, target, .. } => self.judge_redirect(parent, target),
        }
    }

    /// A redirect is judged like a link, but for two of which the scope hears nothing: a sitemap that has moved, and a
    /// seed that leads elsewhere, whose target takes its place in the scope where the settings want that.
    pub(in crate::engine) fn judge_redirect(
        &mut self,
        parent: &Parent<'_>,
        target: &CanonicalUrl,
    ) -> Result<std::result::Result<(), Reason>> {
        let hops = parent.url.hops.then('R');
        let (depth, redirects) = (parent.url.depth, hops.redirects());
        let of_a_seed = redirects == hops.as_str().len();
        if of_a_seed {
            self.books.seeds.set_redirect(parent.url.seed, target.as_str())?;
        }
        if hops.sitemaps() > 0 {
            return Ok(self.scope.judge_moved(target, &queued_url(&parent.url.url), depth, redirects));
        }
        // where a requisite redirects is one too
        Ok(match self.scope.judge_embedded(target, hops.embeds(), depth, redirects) {
            Err(Reason::Scope) if of_a_seed && self.settings.follow_seed_redirects => {
                let from = self.books.seeds.get(parent.url.seed)?;
                let from = from.and_then(|seed| CanonicalUrl::parse(&seed.url).ok());
                let joined = self.scope.joined_by(from.as_ref().unwrap_or(target), target);
                self.scope = Arc::new(self.scope.with_joined(&joined));
                self.books.seeds.add_scope(joined.as_str())?;
                self.note_scope(&joined);
                tracing::info!("the seed {} redirects to {target}: {joined} joins the scope", parent.url.url);
                self.scope.judge(target, depth, redirects)
            }
            verdict => verdict,
        })
    }

    /// Sends what a page names whose record is at `record` of key.dat to the shards that own it, as if it had just
    /// come. Nothing is counted, and what belongs to this shard is left alone.
    pub(in crate::engine) fn resend_found(
        &mut self,
        url: &QueuedUrl,
        findings: Findings,
        address: Option<IpAddr>,
        record: u64,
    ) -> Result<()> {
        self.send_support_again(url.domain, &findings, address)?;
        let parent = Parent { url, record, has_changed: false };
        if let Some((target, keys)) = findings.redirect {
            let redirect = Discovery::Redirect { parent: &parent, target: &target, keys };
            if self.judge(&redirect)?.is_ok() {
                self.send_again(self.settings.ranked(redirect.into_url(
                    &self.home.keys,
                    &self.scope,
                    self.home.shard,
                )))?;
            }
        }
        for link in findings.links {
            let link = Discovery::Link { parent: &parent, link };
            self.send_again(self.settings.ranked(link.into_url(&self.home.keys, &self.scope, self.home.shard)))?;
        }
        Ok(())
    }

    /// The same for the sitemaps that a robots.txt names.
    pub(in crate::engine) fn resend_sitemaps(
        &mut self,
        provenance: &Provenance,
        record: u64,
        sitemaps: Vec<FoundLink>,
    ) -> Result<()> {
        for link in sitemaps {
            let sitemap = Discovery::Sitemap { provenance, record, link };
            self.send_again(self.settings.ranked(sitemap.into_url(&self.home.keys, &self.scope, self.home.shard)))?;
        }
        Ok(())
    }

    /// Counts the domains that a page supports, which came from `address`: here, or in the shards that own them.
    pub(in crate::engine) fn count_support(
        &mut self,
        page: Fingerprint,
        findings: &Findings,
        address: Option<IpAddr>,
    ) -> Result<()> {
        if self.stores.support.is_none() {
            return Ok(());
        }
        for (pair, target) in self.pairs_of(page, findings, address)? {
            self.count_pair(pair, target)?;
        }
        Ok(())
    }

    /// Returns when the next round of budgets begins, if nothing happens before; `is_asking` says whether requests are
    /// in progress.
    pub(in crate::engine) fn budget_round_due(&self, now: Time, is_asking: bool) -> Option<Time> {
        let is_on_its_way = self.stores.are_dispatching() || self.stores.are_merging() || self.stores.waiting() > 0;
        let is_fed = is_on_its_way || is_asking || self.seeding.intake.is_waiting();
        self.stores.sink.frontier.round_due(now, is_fed)
    }

    /// Begins it when its time has come.
    pub(in crate::engine) fn begin_budget_round(&mut self, now: Time, is_asking: bool) {
        self.is_changed |= self.stores.sink.frontier.follow_supporters(now);
        if self.budget_round_due(now, is_asking).is_some_and(|due| due <= now) {
            self.is_changed = true;
            self.stores.sink.frontier.begin_round(now);
            if let Some((round, _)) = self.stores.sink.frontier.round() {
                tracing::debug!(number = round.number, limit = round.limit, "round of budgets");
            }
        }
    }

    /// Counts one pair, here or in the shard that owns `target`.
    pub(in crate::engine) fn count_pair(&mut self, pair: Fingerprint, target: Fingerprint) -> Result<()> {
        match &mut self.exchange {
            Some(exchange) if !exchange.shard().owns(target) => {
                if let Some(support) = &mut self.stores.support
                    && !support.is_recent(pair)
                {
                    exchange.send_support(pair, target)?;
                    support.remember(pair, Pair);
                }
                Ok(())
            }
            _ => self.stores.support(pair, target),
        }
    }

    /// The pairs that a page of the domain `page` makes, with the domain that each supports. Where supporters count by
    /// their own, there is one for each quarter that a link of this domain is worth now.
    pub(in crate::engine) fn pairs_of(
        &self,
        page: Fingerprint,
        findings: &Findings,
        address: Option<IpAddr>,
    ) -> Result<Vec<(Fingerprint, Fingerprint)>> {
        let pairs = self.plain_pairs_of(page, findings, address);
        if !self.stores.by_standing || pairs.is_empty() {
            return Ok(pairs);
        }
        let quarters = self.stores.sink.frontier.standing(page)?;
        let each = |(pair, target)| (0..quarters).map(move |number| (self.quarter_of(pair, number), target));
        Ok(pairs.into_iter().flat_map(each).collect())
    }

    /// The same pairs, each once.
    pub(in crate::engine) fn plain_pairs_of(
        &self,
        page: Fingerprint,
        findings: &Findings,
        address: Option<IpAddr>,
    ) -> Vec<(Fingerprint, Fingerprint)> {
        let keys = &self.home.keys;
        let source = supporter(keys, page, address, self.stores.by_network);
        supported_by(page, findings).into_iter().map(|target| (keys.pair(source, target), target)).collect()
    }

    /// The key of a quarter of a pair.
    pub(in crate::engine) fn quarter_of(&self, pair: Fingerprint, number: u64) -> Fingerprint {
        self.home.keys.pair(pair, Fingerprint::from_bits(number))
    }

    /// Sends what a page of the archive supports to the shards that own it, as if it had just come.
    pub(in crate::engine) fn send_support_again(
        &mut self,
        page: Fingerprint,
        findings: &Findings,
        address: Option<IpAddr>,
    ) -> Result<()> {
        if self.stores.support.is_none() || self.exchange.is_none() {
            return Ok(());
        }
        let pairs = self.pairs_of(page, findings, address)?;
        let Some(exchange) = self.exchange.as_mut() else { return Ok(()) };
        for (pair, target) in pairs {
            if !exchange.shard().owns(target) {
                exchange.send_support(pair, target)?;
            }
        }
        Ok(())
    }
}
