//! The rule by which a URL ends without a request, as skipped.jsonl says it, as far as it is at hand.

use super::books::whose;
use super::queued_url;
use super::stores::Stores;
use super::values::RobotsAnswer;
use crate::frontier::{Budget, Forbidden, NameAnswer, QueuedUrl};
use crate::outcome::{Cause, Failure, Hold, HostFault, NO_ADDRESS_ALLOWED, Reason};
use crate::web::pattern::pattern;
use crate::web::scope::Scope;

/// Bytes of a pattern of robots.txt that a line shows: it can be as long as the file.
const PATTERN_SHOWN: usize = 200;

/// Returns the rule by which a URL ends without a request, as far as it is at hand.
pub(super) fn rule_of(scope: &Scope, stores: &mut Stores, url: &QueuedUrl, reason: Reason) -> String {
    match reason {
        Reason::Pattern => pattern(&url.url).unwrap_or_default(),
        Reason::Robots => robots_rule(stores, url),
        Reason::Scope | Reason::TooLong | Reason::Trap | Reason::Redirects | Reason::Depth => {
            let target = queued_url(&url.url);
            let judgement = scope.explain_embedded(&target, url.hops.embeds(), url.depth, url.hops.redirects());
            if judgement.verdict == Err(reason) { judgement.rule.to_string() } else { String::new() }
        }
        Reason::HostPages | Reason::HostBytes | Reason::DomainPages | Reason::EmbeddedPages => {
            let budget = stores.sink.frontier.budget_for(queued_url(&url.url).host());
            budget_rule(&budget, url, reason)
        }
        Reason::PrivateAddress => NO_ADDRESS_ALLOWED.to_owned(),
        Reason::HostGivenUp => gone_because(stores, url),
        Reason::SessionParam => session_rule(stores.session_params.copies(url).unwrap_or_default()),
        Reason::Purpose => reason.rule("robots.txt refuses that use"),
        Reason::PageLimit | Reason::Login | Reason::Text | Reason::Kind => String::new(),
    }
}

/// The rule by which a parameter makes no other page.
pub(super) fn session_rule(parameter: &str) -> String {
    Reason::SessionParam.rule(format_args!("{parameter} makes no other page"))
}

/// Returns why a host was given up, as far as memory has it.
fn gone_because(stores: &mut Stores, url: &QueuedUrl) -> String {
    let (now, doubtful) = (stores.sink.now, stores.sink.doubtful);
    let blame = stores.sink.frontier.active().blame_of(url.origin);
    let robots = stores.robots.peek(url.origin);
    let name = stores.dns.peek(url.host);
    let name = name.as_ref().and_then(|name| name.fresh(now, doubtful)).map(|(answer, _)| answer);
    match (name, blame, robots.as_ref().and_then(|robots| robots.failing_since())) {
        (Some(NameAnswer::NoSuchHost), ..) | (_, Some(HostFault::Host(Cause::NoSuchHost)), _) => {
            Failure::NoSuchHost.to_string()
        }
        (_, Some(blame), _) => Reason::HostGivenUp.rule(blame),
        (_, None, Some(_)) => Reason::HostGivenUp.rule(Hold::Robots),
        (_, None, None) => String::new(),
    }
}

/// The budget that is used up, and whose it is.
fn budget_rule(budget: &Budget, url: &QueuedUrl, reason: Reason) -> String {
    let limit = match reason {
        Reason::HostPages => budget.pages_per_host,
        Reason::HostBytes => budget.bytes_per_host,
        _ => budget.pages_per_domain,
    };
    let setting = reason.setting().unwrap_or_default();
    let limit = limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
    let whose = match reason {
        Reason::EmbeddedPages => "the domain of what embeds it".to_owned(),
        _ => whose(&queued_url(&url.url), reason),
    };
    format!("{setting} = {limit}: {whose}")
}

/// Returns the rule of robots.txt that forbids `url`, as far as memory has the rules.
fn robots_rule(stores: &mut Stores, url: &QueuedUrl) -> String {
    let Some(robots) = stores.robots.peek(url.origin) else { return String::new() };
    let sink = &mut stores.sink;
    let Some((RobotsAnswer::Rules(rules), _)) = robots.fresh(sink.now, sink.doubtful) else { return String::new() };
    match sink.frontier.pacing().politeness_for(queued_url(&url.url).host()).forbidden(rules, &url.url) {
        Some(Forbidden::Disallow(pattern)) => {
            let cut = &pattern[..pattern.len().min(PATTERN_SHOWN)];
            let rest = if cut.len() < pattern.len() { "..." } else { "" };
            format!("Disallow: {}{rest}", String::from_utf8_lossy(cut))
        }
        Some(Forbidden::CrawlDelay(delay)) => format!("Crawl-delay: {}", delay.as_secs_f64()),
        None => String::new(),
    }
}
