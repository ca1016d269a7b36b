//! What decided that a URL ends without a request, as skipped.jsonl says it, as far as it is at hand.

use super::books::whose;
use super::values::RobotsAnswer;
use super::{Engine, queued_url};
use crate::frontier::{NameAnswer, QueuedUrl};
use crate::outcome::{Cause, HostFault, Reason};
use crate::web::pattern::pattern;

/// Bytes of a pattern of robots.txt that a line shows: it can be as long as the file.
const PATTERN_SHOWN: usize = 200;

impl Engine {
    /// What decided that a URL ends without a request, as far as it is at hand.
    pub(super) fn rule_of(&mut self, url: &QueuedUrl, reason: Reason) -> String {
        match reason {
            Reason::Pattern => pattern(&url.url).unwrap_or_default(),
            Reason::Robots => self.robots_rule(url),
            Reason::Scope | Reason::TooLong | Reason::Trap | Reason::Redirects | Reason::Depth => {
                let target = queued_url(&url.url);
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
        let now = self.stores.arrival.now;
        let blame = self.stores.arrival.frontier.blame_of(url.origin);
        let robots = self.stores.robots.peek(url.origin);
        let name = self.stores.dns.peek(url.host);
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
        let budget = self.stores.arrival.frontier.budget();
        let (setting, limit) = match reason {
            Reason::HostPages => ("pages_per_host", budget.pages_per_host),
            Reason::HostBytes => ("bytes_per_host", budget.bytes_per_host),
            _ => ("pages_per_domain", budget.pages_per_domain),
        };
        let limit = limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
        let whose = whose(&queued_url(&url.url), reason);
        format!("budget.{setting} = {limit}: {whose}")
    }

    /// What in robots.txt forbids `url`, as far as memory has the rules.
    fn robots_rule(&mut self, url: &QueuedUrl) -> String {
        let Some(robots) = self.stores.robots.peek(url.origin) else { return String::new() };
        let arrival = &mut self.stores.arrival;
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
}
