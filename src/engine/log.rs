//! What the two logs say: a line of crawl.log for every attempt, one of skipped.jsonl for every URL that was admitted and
//! ends without a request, with the rule that decided as far as it is at hand.

use super::Engine;
use super::answers::speaks_of_load;
use super::job::{FetchFailed, Processed, Target};
use super::values::RobotsAnswer;
use crate::container::Stored;
use crate::disk::Result;
use crate::frontier::{Hops, NameAnswer, QueuedUrl};
use crate::outcome::{Cause, Failure, HostFault, Reason, failure_of_answer};
use crate::record::LogLine;
use crate::web::pattern::pattern;
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;

/// Bytes of a pattern of robots.txt that a line shows: it can be as long as the file.
const PATTERN_SHOWN: usize = 200;

impl Engine {
    /// An answer came, to a request for a page or for robots.txt.
    pub(super) fn log_answer(&mut self, processed: &Processed, stored: &Stored, worker: u32) -> Result<()> {
        let (job, response) = (&processed.job, &processed.response);
        let (hops, seed) = history(&job.target);
        let seed_url = self.seed_url(seed)?;
        let notes = annotations(processed, stored);
        self.crawl_log.push(&LogLine {
            time: response.started + response.duration,
            status: i32::from(response.status),
            bytes: Some(processed.records.payload_bytes),
            url: job.url.as_str(),
            hops: hops.as_str(),
            via: job.via.url().unwrap_or_default(),
            mime: &processed.mime,
            worker,
            fetched: Some((response.started, response.duration)),
            sha1: Some(processed.records.payload_sha1),
            seed: &seed_url,
            annotations: &notes.iter().map(String::as_str).collect::<Vec<_>>(),
        })
    }

    /// None came; `status` is that of the line.
    pub(super) fn log_failure(&mut self, failed: &FetchFailed, status: i32, worker: u32) -> Result<()> {
        let job = &failed.job;
        let (hops, seed) = history(&job.target);
        let seed_url = self.seed_url(seed)?;
        let (why, cause) = (failed.failure.to_string(), failed.cause.to_string());
        let finer = (cause != why).then_some(cause.as_str());
        let notes: Vec<&str> =
            is_forced(&job.target).then_some("forced").into_iter().chain([why.as_str()]).chain(finer).collect();
        self.crawl_log.push(&LogLine {
            time: failed.started + failed.duration,
            status,
            url: job.url.as_str(),
            hops: hops.as_str(),
            via: job.via.url().unwrap_or_default(),
            worker,
            // a request that was never made has no time
            fetched: failed.cause.is_contact().then_some((failed.started, failed.duration)),
            seed: &seed_url,
            annotations: &notes,
            ..LogLine::default()
        })
    }

    /// The URL of a seed; one that was asked for lately is not read again.
    fn seed_url(&mut self, number: u32) -> Result<String> {
        let url = self.seed_urls.get(number.into(), || Ok(self.seeds.get(number)?.map(|seed| seed.url)))?;
        Ok(url.unwrap_or_default())
    }

    /// A lookup that brought no address has a line of its own: no URL of its host may ever get one with a reason.
    pub(super) fn log_unresolved(&mut self, name: &str, failure: Failure, worker: u32) -> Result<()> {
        self.crawl_log.push(&LogLine {
            time: self.way.arrival().now,
            status: failure.code(),
            url: &format!("dns:{name}"),
            worker,
            annotations: &[&failure.to_string()],
            ..LogLine::default()
        })
    }

    /// A URL ends without a request.
    pub(super) fn log_skipped(&mut self, url: &QueuedUrl, reason: Reason) -> Result<()> {
        let rule = self.rule_of(url, reason);
        self.skipped_log.push(&url.url, reason, &rule)
    }

    /// What decided that a URL ends without a request, as far as it is at hand.
    pub(super) fn rule_of(&mut self, url: &QueuedUrl, reason: Reason) -> String {
        match reason {
            Reason::Pattern => pattern(&url.url).unwrap_or_default(),
            Reason::Robots => self.robots_rule(url),
            Reason::Scope | Reason::TooLong | Reason::Trap | Reason::Redirects | Reason::Depth => {
                let target = Engine::queued_url(&url.url);
                let judgement = self.scope.explain(&target, url.depth, url.hops.redirects());
                if judgement.verdict == Err(reason) { judgement.rule.to_string() } else { String::new() }
            }
            Reason::HostPages | Reason::HostBytes | Reason::DomainPages => self.budget_rule(url, reason),
            Reason::PrivateAddress => "network.allow has none of its addresses".to_owned(),
            Reason::HostGivenUp => self.gone_because(url),
            Reason::PageLimit => String::new(),
        }
    }

    /// Why a host was given up, as far as memory has it.
    fn gone_because(&mut self, url: &QueuedUrl) -> String {
        let now = self.way.arrival().now;
        let blame = self.way.arrival().frontier.blame_of(url.origin);
        let robots = self.way.next.store.peek(url.origin);
        let name = self.way.next.next.store.peek(url.host);
        let name = name.as_ref().and_then(|name| name.fresh(now)).map(|(answer, _)| answer);
        match (name, blame, robots.as_ref().and_then(|robots| robots.failing_since())) {
            (Some(NameAnswer::NoSuchHost), ..) | (_, Some(HostFault::Host(Cause::NoSuchHost)), _) => {
                "no such host".to_owned()
            }
            (_, Some(blame), _) => format!("politeness.give_up: {blame}"),
            (_, None, Some(_)) => "politeness.give_up: its robots.txt cannot be had".to_owned(),
            (_, None, None) => String::new(),
        }
    }

    /// The budget that is used up, and whose it is.
    fn budget_rule(&mut self, url: &QueuedUrl, reason: Reason) -> String {
        let budget = self.way.arrival().frontier.budget();
        let (setting, limit) = match reason {
            Reason::HostPages => ("pages_per_host", budget.pages_per_host),
            Reason::HostBytes => ("bytes_per_host", budget.bytes_per_host),
            _ => ("pages_per_domain", budget.pages_per_domain),
        };
        let limit = limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
        let whose = whose(&Engine::queued_url(&url.url), reason);
        format!("budget.{setting} = {limit}: {whose}")
    }

    /// Counts a URL that a budget or a trap rule left out among those of the same host, domain or pattern.
    pub(super) fn count_limited(&mut self, url: &str, reason: Reason, urls: u64) {
        if matches!(
            reason,
            Reason::HostPages | Reason::HostBytes | Reason::DomainPages | Reason::Pattern | Reason::Trap
        ) {
            let whose = whose(&Engine::queued_url(url), reason);
            self.statistics.limited.count(reason, &whose, urls);
        }
    }

    /// What in robots.txt forbids `url`, as far as memory has the rules.
    fn robots_rule(&mut self, url: &QueuedUrl) -> String {
        let Some(robots) = self.way.next.store.peek(url.origin) else { return String::new() };
        let arrival = self.way.arrival();
        let Some((RobotsAnswer::Rules(rules), _)) = robots.fresh(arrival.now) else { return String::new() };
        match (rules.deciding(&url.url), rules.crawl_delay()) {
            (Some((pattern, false)), _) => {
                let cut = &pattern[..pattern.len().min(PATTERN_SHOWN)];
                let rest = if cut.len() < pattern.len() { "..." } else { "" };
                format!("Disallow: {}{rest}", String::from_utf8_lossy(cut))
            }
            (_, Some(delay)) if arrival.frontier.politeness().skips(Some(delay)) => {
                format!("Crawl-delay: {}", delay.as_secs_f64())
            }
            _ => String::new(),
        }
    }

    /// The operator hears of a robots.txt that asks for more than is kept to.
    pub(super) fn tell_crawl_delay(&mut self, origin: &str, rules: &RobotsRules) {
        let politeness = self.way.arrival().frontier.politeness();
        let asked = rules.crawl_delay();
        if let Some(delay) = asked.filter(|_| politeness.is_beyond(asked)) {
            let (delay, cap) = (delay.as_secs_f64(), politeness.crawl_delay_max.as_secs_f64());
            let what = if politeness.skips(asked) { "nothing is fetched from it" } else { "that counts" };
            if std::mem::replace(&mut self.told_delay_cap, true) {
                tracing::info!("{origin}: Crawl-delay {delay} s; politeness.crawl_delay_max is {cap} s: {what}");
            } else {
                tracing::warn!(
                    "{origin}: Crawl-delay {delay} s; politeness.crawl_delay_max is {cap} s: {what} (for other hosts \
                     this is logged as information)"
                );
            }
        }
    }
}

/// Whose limit `reason` is: the registrable domain of `url`, its origin, or its origin and pattern.
fn whose(url: &CanonicalUrl, reason: Reason) -> String {
    match reason {
        Reason::DomainPages => url.registrable_domain().to_owned(),
        Reason::Pattern => format!("{}{}", url.origin(), pattern(url.as_str()).unwrap_or_default()),
        _ => url.origin(),
    }
}

/// How what is asked for was found, and the seed it descends from.
fn history(target: &Target) -> (&Hops, u32) {
    match target {
        Target::Page { url, .. } => (&url.hops, url.seed),
        Target::Robots { asker, .. } => (&asker.hops, asker.seed),
    }
}

fn is_forced(target: &Target) -> bool {
    matches!(target, Target::Page { url, .. } if url.forced)
}

/// What crawl.log says beside the columns: that it was seen before, which try it was, what cut the body short, whether the
/// archive had it already; and what its host asks for, which is kept to from then on.
fn annotations(processed: &Processed, stored: &Stored) -> Vec<String> {
    let (target, response) = (&processed.job.target, &processed.response);
    let mut notes = Vec::new();
    if is_forced(target) {
        notes.push("forced".to_owned());
    }
    if let Target::Page { url, .. } = target
        && url.attempts > 0
    {
        notes.push(format!("{}t", url.attempts + 1));
    }
    if let Some(truncated) = response.truncated {
        notes.push(format!("{}Trunc", truncated.as_str()));
    }
    if let Target::Robots { origin, .. } = target {
        let rules = processed.findings.rules.as_ref().filter(|_| (200..300).contains(&response.status));
        if let Some(delay) = rules.and_then(RobotsRules::crawl_delay) {
            notes.push(format!("crawlDelay:{}", delay.as_secs_f64()));
        }
        if **origin != processed.job.url.origin() {
            notes.push(format!("robotsOf:{origin}"));
        }
    }
    if let Some(wait) = processed.retry_after.filter(|_| speaks_of_load(response.status)) {
        notes.push(format!("retryAfter:{}", wait.as_secs_f64()));
    }
    let limits = processed.findings.limits;
    if limits.decoded {
        notes.push("decodedTrunc".to_owned());
    }
    if limits.links > 0 {
        notes.push(format!("linksDropped:{}", limits.links));
    }
    if limits.redirect {
        notes.push("redirectRefused".to_owned());
    }
    if stored.bytes == 0 {
        notes.push("notStored".to_owned());
    }
    if stored.saved.is_some() {
        notes.push("revisit".to_owned());
    }
    if stored.not_modified {
        notes.push("notModified".to_owned());
    }
    notes.extend(failure_of_answer(response.status, stored.not_modified).map(|failure| failure.to_string()));
    notes
}
