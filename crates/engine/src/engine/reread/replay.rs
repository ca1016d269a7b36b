//! Replay: what the archive holds beyond the last checkpoint is done again, from the archive.
//!
//! After a kill the stores are at the last checkpoint, but the value files hold the pages that were stored since.
//! Each of them is recovered: its key record is appended again, the outcome table is asked as if the page had just
//! come, its links are admitted, and its URL joins the replayed set, from which it is taken when the URL is met on its
//! way, at its dequeue or when it is dropped; until then its page is counted against the budgets of its host all the
//! same. So no page whose record is whole is asked for again. A stored answer that the table wants to retry (a 503)
//! leaves its URL queued. What a replayed robots.txt says goes into the robots store, and so does that it could not be
//! had; the sitemaps that it names are admitted. An answer that asked for a rest, or showed that its host needs one,
//! holds the host back again. A revisit is read through to the page that has its payload, which is before it; its
//! links are resolved against its own URL. The body of an external revisit is in another archive, which may be gone:
//! such a page stays in the archive, and its URL is fetched again.
//! Of a page that was rendered, what the rendering left of it is read in the place of its body; what it asked for has
//! no URL of the crawl that it would end.

use std::sync::Arc;

use crate::container::{Recovery, ReplayedPage};
use crate::contract::{Findings, Purpose};
use crate::disk::Result;
use crate::engine::RESULTS_PER_PUMP;
use crate::engine::admission::{ANSWER_MAX, Admission};
use crate::engine::discovery::resource_url;
use crate::engine::recrawl::Answer;
use crate::engine::start_reads::{StartProgress, StartReads};
use crate::engine::stored::{Find, purpose_of, stored_response};
use crate::engine::stores::{AdmissionSink, known_by};
use crate::engine::values::{Robots, RobotsAnswer, Term};
use crate::frontier::{Hops, Provenance, QueuedUrl};
use crate::outcome::Verdict;
use crate::warc::Again;
use crate::web::robots::RobotsRules;
use crate::web::sitemap;
use crate::web::url::{CanonicalUrl, Keys};
use crate::web::validators::Validators;

/// A replay, which takes what it does again into the crawl.
pub struct Replay<'a, 'f> {
    pub admission: &'a mut Admission,
    pub find: &'a mut Find<'f>,
    /// Answers that pages asked for while they were rendered.
    pub resources: u64,
}

impl Replay<'_, '_> {
    /// Replays everything that `recovery` finds; returns the number of pages.
    pub(crate) fn run(&mut self, mut recovery: Recovery, progress: &mut StartProgress<'_>) -> Result<u64> {
        let mut pages = 0;
        while let Some(page) = recovery.next(&mut self.admission.container)? {
            self.admission.stores.sink.now = self.admission.clock.now();
            let (done, total) = recovery.progress();
            progress(StartReads::Recovery, done, total);
            self.page(page)?;
            pages += 1;
            while self.admission.stores.dispatch(RESULTS_PER_PUMP)? > 0 {}
            self.admission.collect_dropped()?;
        }
        self.admission.stores.sink.frontier.record_charges()?;
        Ok(pages)
    }

    fn page(&mut self, mut page: ReplayedPage) -> Result<()> {
        let Ok(url) = CanonicalUrl::parse(&page.url) else { return Ok(()) };
        let keys = self.admission.home.keys.keys(&url);
        let key_maker = self.admission.home.keys.clone();
        let key_of = |url: &str| CanonicalUrl::parse(url).ok().map(|url| key_maker.keys(&url).key);
        if !self.admission.container.read_through(&mut page, &key_of)? {
            tracing::warn!(url = page.url, "a revisit refers to a page that is missing; the URL is fetched again");
            return Ok(());
        }
        let stored = self.admission.container.readopt(&page, keys.key)?;
        // "not modified" came without the body that it refers to
        let received = if stored.not_modified { 0 } else { page.body.len() as u64 };
        self.admission.books.statistics.requests += 1;
        self.admission.books.statistics.bytes_received += received;
        self.admission.books.count_stored(&stored);
        if page.is_external {
            // what it names is in another archive: the URL stays where it is and is fetched again
            return Ok(());
        }
        let response = stored_response(&mut page);
        self.admission.hold_back(keys.host, &response, page.robots);
        let scope = self.admission.scope.clone();
        if page.of_rendering {
            let hops = Hops::parse(&page.hops);
            let findings = (self.find)(&url, Purpose::Page { depth: page.depth, hops: &hops }, &response, &scope);
            return self.resource(&url, &page, keys, findings, stored.record);
        }
        if page.robots {
            // after redirects, the rules are those of the origin that was asked first
            let asked =
                page.via.as_deref().and_then(|via| CanonicalUrl::parse(via).ok()).unwrap_or_else(|| url.clone());
            let hops = Hops::parse(&page.hops);
            let purpose = Purpose::Robots { origin: &asked.origin(), depth: page.depth, hops: &hops };
            let findings = (self.find)(&url, purpose, &response, &scope);
            return self.robots(&asked, &page, findings, stored.record);
        }
        let verdict = self.admission.settings.retries.verdict(&response.answered(), page.attempt);
        // what is fetched again was counted when it was new
        let is_new = page.again.is_none_or(|again| again == Again::First);
        let pages = u64::from(is_new && verdict != Verdict::Retry);
        let bytes = if is_new { received } else { 0 };
        self.admission.stores.sink.frontier.charge(keys.origin, keys.domain, pages, bytes)?;
        if verdict == Verdict::Retry {
            return Ok(());
        }
        // with other settings than when they came, two answers of one URL can both be its last
        let forced = page.again.is_some();
        let is_first = self.admission.stores.sink.replayed.insert((keys.key, forced));
        let hops = Hops::parse(&page.hops);
        let mut findings = (self.find)(&url, purpose_of(&page, &hops), &response, &scope);
        let queued = QueuedUrl {
            depth: page.depth,
            hops,
            attempts: page.attempt,
            seed: page.seed,
            forced,
            // what it leads to is due by itself; why exactly, nobody asks
            recrawl: (page.again == Some(Again::Due)).then(|| Arc::from([])),
            ..QueuedUrl::of(url.as_str(), keys)
        };
        self.admission.stop_at_repeated(&queued, is_new, &mut findings)?;
        // one that may have changed has led to pages that were given up as gone
        let has_changed = forced && !stored.not_modified && page.status < 400;
        if !is_first {
            self.admission.count_support(queued.domain, &findings, response.address)?;
            return self.admission.route_found(&queued, findings, has_changed, stored.record);
        }
        // the URL of one that was fetched again brings what was known of it, when it is met
        if !forced {
            let answer = Answer {
                status: page.status,
                at: page.time,
                digest: page.payload_sha1,
                text: findings.text,
                validators: Validators::of(&response.headers),
                is_interrupted: response.is_interrupted(),
                kind: page.kind,
                is_map: findings.kind() != sitemap::Kind::Page,
            };
            self.admission.visited_before(&queued, None, &answer, &stored)?;
        }
        self.admission.page_done(&queued, page.status, findings, has_changed, response.address, &stored)
    }

    /// Replays something that a rendered page asked for, in which processing found `findings`. It is no URL of the
    /// crawl by that, but what it names was admitted.
    fn resource(
        &mut self,
        url: &CanonicalUrl,
        page: &ReplayedPage,
        keys: Keys,
        findings: Findings,
        record: u64,
    ) -> Result<()> {
        let hops = Hops::parse(&page.hops);
        let of_page = resource_url(url, keys, Provenance { depth: page.depth, seed: page.seed, hops });
        self.resources += 1;
        self.admission.route_found(&of_page, Findings { redirect: None, ..findings }, false, record)
    }

    /// The answer goes into the robots store, and to the host if it is active, so that it is not asked for again.
    fn robots(&mut self, asked: &CanonicalUrl, page: &ReplayedPage, findings: Findings, record: u64) -> Result<()> {
        // a redirect says nothing by itself
        if (300..400).contains(&page.status) {
            return Ok(());
        }
        let Keys { origin, domain, .. } = self.admission.home.keys.keys(asked);
        let rules = RobotsRules::of_answer(page.status, findings.rules);
        let AdmissionSink { now, frontier, doubtful, .. } = &mut self.admission.stores.sink;
        if rules.is_some() {
            frontier.charge(origin, domain, 0, page.body.len() as u64)?;
        }
        let (answer, until) = match rules {
            Some(rules) => (RobotsAnswer::Rules(Arc::new(rules)), page.time + self.admission.settings.robots_cache),
            None => {
                let rest = frontier.pacing().robots_back_off();
                let until = (*now + rest).min(page.time + ANSWER_MAX + rest);
                (RobotsAnswer::Unreachable { since: page.time }, until)
            }
        };
        let robots = Robots::new(answer, Term { from: page.time, until });
        frontier.preset(origin, known_by(&robots, *now, *doubtful), *now);
        self.admission.stores.robots.put(origin, robots)?;
        self.admission.books.count_dropped_links(&page.url, &findings.dropped);
        let provenance = Provenance { depth: page.depth, seed: page.seed, hops: Hops::parse(&page.hops) };
        self.admission.route_sitemaps(&provenance, record, findings.links)
    }
}
