//! Admission: what was found comes into the crawl, is sent to the shard that owns it, or is left out.
//!
//! It owns what the crawl has: its stores, archive, books and seeds, the calendar, and the links from and to other
//! shards. Every URL takes one way in ([`route`]), and has one end later, which comes back to
//! [`Admission::collect_dropped`] where that is without a request. Nothing here knows of requests in progress: what
//! answers mean is decided above, and the calls go down.
//!
//! Pages that say what others of their origin say are stored, and lead nowhere. [`super::texts`] counts them, and
//! [`super::session_params`] knows copies.
//!
//! # Things that pages embed from elsewhere, and who pays for them
//!
//! The scope lets in what a page embeds wherever it is, so a page can name any URL of any site. That must not make the
//! crawl a weapon: a site that names a million pictures of another one would have the crawl ask there a million times.
//! So such a URL counts against the budget of the site that *names* it, `budget.pages_per_domain`, beside the pages of
//! that site: both together never are more than it.
//!
//! - Charged is the registrable domain of the page that names the URL, or that redirects to it; of a style sheet
//!   elsewhere that names a font, the domain of that sheet. Only what the scope takes in by this exception alone is
//!   charged: a URL that is in scope by itself would be fetched anyhow, and one of the same domain counts there when it
//!   is fetched.
//! - It is charged when the URL is routed, by the engine that has the page, in the event that stores the page: a cut
//!   has both or neither, and a replay that does the event again does the charge again. The domain of the page is of
//!   this shard, whichever one owns the URL, and the page is in flight, so its domain is in memory.
//! - The count is never too low. It is too high by URLs that are named again when the LRU of URL-seen has forgotten
//!   them, and by those that a robots.txt forbids in the end.
//! - In a replay the page's domain may have no active host. Then what was merged into the base of its partition is not
//!   read, and only the rest counts: a crash may let through what pages of one checkpoint interval name, up to the
//!   budget once more.
//!
//! The site that is named keeps its own budgets, robots.txt and delays as for any page.

mod route;
mod visits;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::books::Books;
use super::control::Reconfiguration;
use super::discovery::Discovery;
use super::exchange::Exchange;
use super::recrawl::Recrawls;
use super::rule::{rule_of, session_rule};
use super::seeding::Seeding;
use super::seeds::SeedStatus;
use super::session_params::may_be_dropped;
use super::settings::Settings;
use super::stores::{AdmissionSink, Stores};
use super::{Home, is_of_seed, queued_url};
use crate::calendar::{self, History, Recrawl};
use crate::clock::{Clock, Time};
use crate::container::{Container, KeyPlace, KeyRecord, Referrer, Stored as StoredPage};
use crate::contract::{Answered, Findings, Processed, Response, Target};
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
use crate::frontier::{Asked, NameAnswer, QueuedUrl};
use crate::outcome::{Blame, Cause, Reason, Verdict};
use crate::web::html::LinkKind;
use crate::web::retry_after::retry_after;
use crate::web::scope::Scope;
use crate::web::url::CanonicalUrl;

/// An answer of a host that is overloaded hardly took longer than this.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Everything that the crawl has, and the way of what is found into it.
pub(super) struct Admission {
    pub(super) home: Home,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: Settings,
    pub(super) scope: Arc<Scope>,
    /// URL-seen, robots, DNS, and the frontier behind them.
    pub(super) stores: Stores,
    /// The archive.
    pub(super) container: Container,
    pub(super) books: Books,
    pub(super) seeding: Seeding,
    /// The calendar by which pages are fetched again, where they are.
    pub(super) recrawls: Option<Box<Recrawls>>,
    /// Links from and to other shards, where there are any.
    pub(super) exchange: Option<Box<Exchange>>,
    /// True if anything that a checkpoint keeps has changed since the last cut.
    pub(super) is_changed: bool,
}

/// Reason for which nothing is followed that a page links to.
struct Stop {
    reason: Reason,
    rule: String,
}

impl Admission {
    /// The URL is admitted where it belongs: here, or by the shard that owns it.
    pub(super) fn admit(&mut self, url: QueuedUrl) -> Result<()> {
        let Some(exchange) = self.exchange.as_mut().filter(|exchange| !exchange.shard().owns(url.domain)) else {
            return self.admit_here(url);
        };
        exchange.send(&url, self.seeding.round.number)?;
        if !url.forced {
            // what is named often is sent once, as long as the LRU knows it, and once more by each shorter way
            self.stores.seen.remember(url.key, ());
            self.stores.sink.depths.note(url.key, url.depth);
        }
        Ok(())
    }

    /// A URL of this shard is admitted. Of one that is to be fetched again, budgets need to know whether they have
    /// counted its page: the store of visits says so, or the archive where there is none.
    pub(super) fn admit_here(&mut self, mut url: QueuedUrl) -> Result<()> {
        if url.forced && self.stores.visits.is_none() {
            let answered = self.container.newest(url.key, &url.url)?.filter(|record| !record.robots);
            let past = answered.map(|record| calendar::Past::of_visited(record.time, Time::ZERO, History::default()));
            url.recrawl = past.map(|past| Recrawl::Wanted(past).to_bytes());
        }
        self.stores.admit(url)
    }

    /// Sends `url` to the shard that owns it, unless that is this one.
    pub(super) fn send_again(&mut self, url: QueuedUrl) -> Result<()> {
        let round = self.seeding.round.number;
        match &mut self.exchange {
            Some(exchange) if !exchange.shard().owns(url.domain) => exchange.send_again(url, round),
            _ => Ok(()),
        }
    }

    /// The territory of `target` joined the scope: all shards hear of it.
    pub(super) fn note_scope(&mut self, target: &CanonicalUrl) {
        if let Some(exchange) = &mut self.exchange {
            exchange.note_scope(target);
        }
    }

    /// The page that a history names `via`, in whichever shard it is.
    pub(super) fn referrer(&mut self, via: u64) -> Referrer {
        match self.home.shard.named_by(via) {
            None => Referrer::Nobody,
            Some((shard, offset)) if shard == self.home.shard.index() => self.container.referrer(offset, via),
            Some((shard, offset)) => {
                let keys = self.exchange.as_mut().and_then(|exchange| exchange.keys_of(shard));
                keys.map_or(Referrer::Nobody, |keys| Referrer::Record(KeyPlace::foreign(keys, offset, via)))
            }
        }
    }

    /// Charges `domain` for `url`, which one of its pages names, if the URL is let in only because it is embedded; or
    /// says that the domain's budget is used up.
    pub(super) fn charge_requisite(
        &mut self,
        domain: Fingerprint,
        url: &QueuedUrl,
    ) -> Result<std::result::Result<(), Reason>> {
        let is_foreign = url.domain != domain && self.scope.is_requisite(url.hops.embeds());
        if !is_foreign || self.scope.takes_in(&queued_url(&url.url)) {
            return Ok(Ok(()));
        }
        let has_room = self.stores.sink.frontier.charge_requisite(domain)?;
        Ok(if has_room { Ok(()) } else { Err(Reason::EmbeddedPages) })
    }

    /// Counts and logs one URL that is never asked for, admitted or not.
    pub(super) fn drop_now(&mut self, url: QueuedUrl, reason: Reason) -> Result<()> {
        if reason == Reason::Robots {
            self.books.statistics.robots_denied += 1;
        }
        let rule = rule_of(&self.scope, &mut self.stores, &url, reason);
        self.books.skip(&url.url, reason, &rule)?;
        if reason == Reason::HostGivenUp && url.forced && self.books.has_fallback(&url)? {
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

    /// Counts and logs the URLs that were admitted and ended without a request. One whose page is in the archive has
    /// had its end, whatever the settings say of it now.
    pub(super) fn collect_dropped(&mut self) -> Result<()> {
        let dropped = std::mem::take(&mut self.stores.sink.dropped);
        for (url, reason) in dropped {
            let sink = &mut self.stores.sink;
            if sink.replayed.remove(&(url.key, url.forced)) {
                sink.met.iter_mut().for_each(|met| met.push(url.clone()));
                continue;
            }
            if url.forced {
                match may_come_back(reason) && url.is_due_again() {
                    true => self.not_visited(&url, None, self.stores.sink.now).map(drop)?,
                    false => self.end_visits(&url)?,
                }
            }
            self.books.statistics.ends.dropped += 1;
            self.drop_now(url, reason)?;
        }
        self.collect_met()
    }

    /// A host that asked to be left alone, or showed that it has to be, is left alone after the restart too. How long
    /// its answer took is not known any more; the whole rest from now on would be too long after a long pause.
    pub(super) fn hold_back(&mut self, name: Fingerprint, response: &Response, robots: bool) {
        let overloaded = self.settings.retries.blame(&response.answered()) == Blame::Host;
        if !overloaded && response.status < 500 {
            return;
        }
        let AdmissionSink { now, frontier, .. } = &mut self.stores.sink;
        let asked = response.header("retry-after").and_then(|value| retry_after(&value, response.started));
        // a robots.txt that cannot be had holds its host back in its own way
        if let Some(wait) = asked.or_else(|| (overloaded && !robots).then(|| frontier.pacing().overload_back_off())) {
            frontier.hold(name, (*now + wait).min(response.started + ANSWER_MAX + wait), *now);
        }
    }

    /// Decides by other settings from `now` on.
    pub(super) fn reconfigure(&mut self, new: Reconfiguration, now: Time) {
        let Reconfiguration { settings, politeness, budget, treatments, give_up, rules } = new;
        let rules = rules.forgetting(self.container.forgotten());
        self.scope = Arc::new(self.scope.with_rules(&rules));
        self.stores.patterns.limit(settings.urls_per_pattern);
        self.stores.sink.depths.switch(rules.limit_depth());
        if self.settings.hosts != settings.hosts {
            // where a name is said to be elsewhere, that it could not be resolved or reached says nothing
            self.stores.sink.doubtful.bad = now;
        }
        self.settings = settings;
        self.stores.sink.frontier.reconfigure(politeness, budget, treatments, give_up);
        self.stores.sink.frontier.exclude_by(rules);
    }

    /// Takes over what the archive is to forget: nothing of it is fetched from now on.
    pub(super) fn forget(&mut self) -> Result<()> {
        self.container.forget()?;
        let rules = self.scope.rules().forgetting(self.container.forgotten());
        self.scope = Arc::new(self.scope.with_rules(&rules));
        self.stores.sink.frontier.exclude_by(rules);
        Ok(())
    }

    /// Admits the seed `number` as it was listed.
    pub(super) fn admit_numbered(&mut self, number: u32) -> Result<()> {
        if self.books.seeds.is_foreign(number) {
            return Ok(());
        }
        let Some(seed) = self.books.seeds.get(number)? else { return Ok(()) };
        self.route(Discovery::Seed { number, url: &queued_url(&seed.url), forced: false })
    }

    /// The seed `number` could not be fetched: what its line meant besides is tried.
    pub(super) fn admit_fallback(&mut self, number: u32, forced: bool) -> Result<()> {
        let Some(fallback) = self.books.seeds.get(number)?.and_then(|seed| seed.fallback) else { return Ok(()) };
        self.route(Discovery::Fallback { number, url: &queued_url(&fallback), forced })
    }

    /// Puts the seed `number` into the round, and admits it, unless that was done before.
    pub(super) fn force(&mut self, number: u32) -> Result<()> {
        if self.books.seeds.is_foreign(number) || !self.books.seeds.enter_round(number, self.seeding.round.number)? {
            return Ok(());
        }
        let Some(seed) = self.books.seeds.get(number)? else { return Ok(()) };
        let url = queued_url(&seed.url);
        // of an earlier round, whose URL ended before its turn came
        let key = self.home.keys.keys(&url).key;
        let sink = &mut self.stores.sink;
        // its page has had its end; a URL of it that is still queued is told by the archive to be a known one
        sink.again += u64::from(sink.replayed.remove(&(key, true)));
        self.route(Discovery::Seed { number, url: &url, forced: true })
    }

    /// The status of `url`, where it is to be fetched again and this round has done so: as the target of a redirect,
    /// say.
    pub(super) fn fetched_in_round(&self, url: &QueuedUrl) -> Result<Option<u16>> {
        if !url.forced || url.attempts > 0 || url.is_due_again() {
            return Ok(None);
        }
        let newest = self.container.newest(url.key, &url.url)?;
        let is_of_round = |record: &KeyRecord| record.offset >= self.seeding.round.from && !record.robots;
        // what an external revisit names may not have been looked at: a kill came between
        let of_round = newest.filter(|record| is_of_round(record) && !record.is_external);
        // an answer that is worth another attempt may be one whose second attempt a kill prevented
        let is_last = |record: &KeyRecord| {
            let KeyRecord { status, truncated, kind, .. } = *record;
            self.settings.retries.verdict(&Answered { status, is_interrupted: truncated, kind }, 0) != Verdict::Retry
        };
        Ok(of_round.filter(is_last).map(|record| record.status))
    }

    /// Counts what the page of `url` says, which has had its last answer, where it `is_new`. Where too many pages say
    /// it, or another page of which it is a copy, its links are taken out of its `findings`, counted and logged, but
    /// for what it embeds.
    pub(super) fn stop_at_repeated(&mut self, url: &QueuedUrl, is_new: bool, findings: &mut Findings) -> Result<()> {
        let by_text = self.one_of_many(url, is_new, findings);
        let by_parameter = self.copy(url, findings);
        let Some(Stop { reason, rule }) = by_text.or(by_parameter) else { return Ok(()) };
        findings.limits.repeated = true;
        let is_requisite = self.scope.is_requisite(url.hops.embeds() + 1);
        for link in std::mem::take(&mut findings.links) {
            if link.kind == LinkKind::Embed && is_requisite {
                findings.links.push(link);
                continue;
            }
            self.books.statistics.links_found += 1;
            if !self.stores.passes_over(link.keys.key) {
                self.books.skip(&link.url, reason, &rule)?;
            }
        }
        Ok(())
    }

    fn one_of_many(&mut self, url: &QueuedUrl, is_new: bool, findings: &mut Findings) -> Option<Stop> {
        let likeness = findings.likeness.take()?;
        let is_beyond = self.stores.texts.is_beyond(url.origin, &likeness, is_new);
        if !is_beyond || is_of_seed(url) {
            return None;
        }
        let limit = self.stores.texts.limit().unwrap_or_default();
        let rule = format!("scope.max_pages_per_text = {limit}: {}", url.url);
        Some(Stop { reason: Reason::Text, rule })
    }

    fn copy(&mut self, url: &QueuedUrl, findings: &mut Findings) -> Option<Stop> {
        let evidence = findings.evidence.take().filter(|_| may_be_dropped(url))?;
        if !self.stores.session_params.learn(&evidence) {
            return None;
        }
        let parameter = self.stores.session_params.copies(url)?;
        Some(Stop { reason: Reason::SessionParam, rule: format!("{}: {}", session_rule(parameter), url.url) })
    }

    pub(super) fn seed_failed(&mut self, url: &QueuedUrl, cause: Cause) -> Result<()> {
        if url.hops.as_str().is_empty() {
            self.books.seeds.set_status(url.seed, SeedStatus::Failed(cause.to_string()))?;
            if self.books.has_fallback(url)? {
                self.admit_fallback(url.seed, url.forced)?;
            }
        }
        Ok(())
    }

    /// The addresses of the host of `url`, as far as nobody has to be asked for them at `now`.
    pub(super) fn known_addresses(&mut self, url: &CanonicalUrl, now: Time) -> Option<NameAnswer> {
        let literal = url.host().parse::<IpAddr>().ok().or(url.literal_address());
        let said = literal.map(|literal| Arc::from([literal])).or_else(|| self.settings.hosts.get(url.host()));
        if let Some(addresses) = said {
            return Some(NameAnswer::Found(addresses));
        }
        let stored = self.stores.dns.peek(self.home.keys.keys(url).host)?;
        stored.fresh(now, self.stores.sink.doubtful).map(|(answer, _)| answer.clone())
    }

    /// The host of `url`, which is asked on behalf of others than its queue.
    pub(super) fn asked_host(&self, url: &CanonicalUrl) -> Asked {
        let keys = self.home.keys.keys(url);
        Asked {
            origin: keys.origin,
            name: keys.host,
            is_foreign: !self.home.shard.owns(keys.domain),
            politeness: self.stores.sink.frontier.pacing().politeness_for(url.host()),
        }
    }

    /// A request for `url` that no queue has made is over: the host where it went rests now.
    pub(super) fn end_prerequisite(&mut self, url: &CanonicalUrl, duration: Duration) {
        let asked = self.asked_host(url);
        let sink = &mut self.stores.sink;
        sink.frontier.end_prerequisite(&asked, duration, sink.now);
    }

    /// A request for the robots.txt of `origin`, at `url`, is over. If it followed a redirect, the host where it led
    /// rests now.
    pub(super) fn end_robots(&mut self, redirects: u8, origin: Fingerprint, url: &CanonicalUrl, duration: Duration) {
        if redirects > 0 {
            self.end_prerequisite(url, duration);
        }
        let at = || self.home.keys.keys(url).origin;
        debug_assert!(redirects > 0 || at() == origin, "the first request for robots.txt goes to its own origin");
    }

    /// Returns whether the page of `url`, which another one embeds, is in the archive already because a rendering asked
    /// for it.
    pub(super) fn has_as_resource(&self, url: &QueuedUrl) -> Result<bool> {
        if self.recrawls.is_some() || url.forced || url.attempts > 0 || url.hops.embeds() == 0 {
            return Ok(false);
        }
        let newest = self.container.newest(url.key, &url.url)?;
        // a frame has its own links, which a rendering of it may find
        let is_frame = |newest: &KeyRecord| newest.mime.eq_ignore_ascii_case("text/html");
        let is_it = |newest: &KeyRecord| newest.of_rendering && newest.status < 400 && !newest.truncated;
        Ok(newest.is_some_and(|newest| is_it(&newest) && !is_frame(&newest)))
    }

    /// The page that led here, if an answer that has set a new cookie leads back to it: it looks different now.
    pub(super) fn led_back(&self, processed: &Processed) -> Option<QueuedUrl> {
        let Target::Page { url, .. } = &processed.job.target else { return None };
        let (target, keys) = processed.findings.redirect.as_ref()?;
        let came_from = processed.job.via.url().and_then(|via| CanonicalUrl::parse(via).ok())?;
        let is_back = self.home.keys.keys(&came_from).key == keys.key && keys.key != url.key;
        // a page of another shard is asked for there
        let is_back = is_back && self.home.shard.owns(keys.domain);
        let hops = url.hops.then('R');
        let (priority, depth, seed, via) = (url.priority, url.depth, url.seed, url.via);
        let first = QueuedUrl::of(target.as_str(), *keys);
        is_back.then_some(QueuedUrl { priority, depth, hops, seed, via, attempts: 1, ..first })
    }

    /// A body that was interrupted is stored once, and again only where an attempt brought more of it: what is stored
    /// then stands for this answer too.
    pub(super) fn stored_before(&self, processed: &Processed) -> Result<Option<StoredPage>> {
        let response = &processed.response;
        let Target::Page { url, .. } = &processed.job.target else { return Ok(None) };
        if url.attempts == 0 || !response.is_interrupted() {
            return Ok(None);
        }
        let newest = self.container.newest(url.key, &url.url)?;
        let covers = newest.filter(|before| {
            let of_round = !url.forced || before.offset >= self.seeding.round.from;
            let alike = before.truncated && before.status == response.status && !before.robots;
            of_round && alike && before.payload_bytes >= processed.records.payload_bytes
        });
        Ok(covers.map(|before: KeyRecord| StoredPage::nothing(before.offset)))
    }
}

/// Returns whether a page that was dropped for this reason is looked for again when it is due the next time: rules,
/// servers and budgets change, and what the scope says is the crawl's own.
fn may_come_back(reason: Reason) -> bool {
    use Reason::{DomainPages, HostBytes, HostGivenUp, HostPages, Login, PrivateAddress, Robots};
    matches!(reason, Robots | HostPages | HostBytes | DomainPages | PrivateAddress | HostGivenUp | Login)
}
