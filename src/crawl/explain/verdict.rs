//! The whole in one sentence: what became of a URL, or what will.
//!
//! What has happened comes before what would: a stored page, then the queue with what its host waits for, then the way
//! through the stores, then what the logs tell of its end, and last what the crawl would decide if it met the URL now.

use std::time::Duration;

use super::model::{DomainInRound, Explanation, Host, Queue, Recrawl, Skipped, Version};
use crate::clock::Time;
use crate::config::Config;
use crate::contract::Answered;
use crate::crawl::options::retries;
use crate::outcome::{Failure, NO_ADDRESS_ALLOWED, Reason, Verdict, code_text, status_text};
use crate::record::{Doing, ReadLine};
use crate::text::figures::{count, date, fraction, size, span};
use crate::web::kind::Judged;

/// Facts that the verdict needs beside the explanation.
pub(super) struct Facts<'a> {
    pub config: &'a Config,
    /// Length of key.dat at the checkpoint: what is behind was stored after it.
    pub key_bytes: Option<u64>,
    pub now: Time,
}

/// The sentence, without a full stop. What it quotes from the web is not escaped.
pub(super) fn verdict(told: &Explanation, facts: &Facts<'_>) -> String {
    let stored = told.versions.first();
    if let Some(queue) = &told.queue
        && stored.is_none_or(|newest| !ended(newest, queue, facts))
    {
        return queued(told, queue, facts);
    }
    if let Some(newest) = stored {
        return fetched(told, newest);
    }
    if let Some(store) = told.seen.waits_in {
        return format!("is on its way to the queue: it waits for the {store} store");
    }
    if let Some(sender) = &told.seen.sent_by {
        let owner = told.shard.as_deref().unwrap_or("its shard");
        return format!(
            "is on its way to the queue: {sender} has found it, and {owner} reads the links of {sender} next"
        );
    }
    if told.scope.refused.is_none()
        && by_robots(told).is_none()
        && let Some(skipped) = &told.skipped
    {
        return dropped(told, skipped, facts.now);
    }
    match forbidden(told, facts.now) {
        Some(never) => never,
        None if told.seen.seen == Some(true) => given_up(told),
        None => unknown(told, facts),
    }
}

/// The URL ended without a request, and what its host is refused for now, if it still is.
fn dropped(told: &Explanation, skipped: &Skipped, now: Time) -> String {
    let mut text = format!("was skipped: {}", skipped.reason);
    let never = forbidden(told, now);
    if !skipped.rule.is_empty() && !never.as_ref().is_some_and(|never| never.contains(&skipped.rule)) {
        text.push_str(&format!(": {}", skipped.rule));
    }
    if let Some(never) = never {
        text.push_str(&format!("; {}", never.trim_start_matches("never: ")));
    }
    text
}

/// True if the newest version ended the URL although the checkpoint has it queued: it was stored after that, and is not
/// to be asked for again.
fn ended(newest: &Version, queue: &Queue, facts: &Facts<'_>) -> bool {
    let later = facts.key_bytes.is_none_or(|key_bytes| newest.record >= key_bytes);
    let answered = Answered {
        status: newest.status,
        is_interrupted: false,
        kind: newest.judged.as_ref().map(|judged| judged.kind),
    };
    later && retries(facts.config).verdict(&answered, queue.attempts) != Verdict::Retry
}

fn fetched(told: &Explanation, newest: &Version) -> String {
    let spelling = told.fetched_as.as_ref().map_or(String::new(), |url| format!("as {url} "));
    let status = format!("{} {}", newest.status, status_text(newest.status));
    let (when, bytes) = (date(newest.time), size(newest.bytes));
    let mut text = format!("was fetched {spelling}{when}, {}, {bytes}", status.trim_end());
    if let Some(judged) = &newest.judged {
        text.push_str(&format!("; it is no content but {}", kind_text(judged)));
    }
    if let Some(last) = told.redirects_to.last() {
        let status = last.status.map_or("not in the archive".to_owned(), |status| status.to_string());
        text.push_str(&format!("; it redirects to {} ({status})", last.url));
    }
    if told.versions.len() > 1 {
        text.push_str(&format!("; {} versions", count(told.versions.len() as u64)));
    }
    if let Some(why) = told.nofollow {
        text.push_str(&format!("; its links are not followed: {why}"));
    }
    if let Some(next) = told.recrawl.as_ref().and_then(|recrawl| next_visit(recrawl, told.crawl.now)) {
        text.push_str(&format!("; {next}"));
    }
    text
}

/// A kind with its evidence, in words.
fn kind_text(judged: &Judged) -> String {
    let article = if judged.kind.text().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {judged}")
}

/// Says when a page that was fetched is visited next.
fn next_visit(recrawl: &Recrawl, now: Time) -> Option<String> {
    if recrawl.place == "ended" {
        return Some(
            "it is not visited any more: it was missing too often, or does not belong to the crawl now".to_owned(),
        );
    }
    Some(match (recrawl.place, recrawl.due?) {
        ("calendar", due) if due > now => format!("its next visit is due in {}", span(due.since(now))),
        ("calendar", due) => format!("its next visit is due since {}", date(due)),
        _ => "it is due, and on its way to the queue".to_owned(),
    })
}

fn queued(told: &Explanation, queue: &Queue, facts: &Facts<'_>) -> String {
    let spent = |host| (!queue.is_counted).then(|| used_up(host)).flatten();
    if let Some(never) = told.host.as_ref().and_then(|host| given_up_host(host, facts.now).or_else(|| spent(host))) {
        return format!("never: {never}; the queue drops its URL");
    }
    if let Some(reason) = told.scope.refused.filter(|_| told.scope.rule.starts_with("scope.exclude: ")) {
        // of all rules of the scope, only these are asked again in the queue
        return format!("never: {reason}: {}; the queue drops it", told.scope.rule);
    }
    if let Some(never) = by_robots(told) {
        return never;
    }
    let when = match told.crawl.phase {
        None | Some(Doing::Crawling) if told.crawl.running => "would be fetched",
        Some(Doing::Paused) => "is queued; would be fetched when crawler ctl resume ends the pause,",
        _ => "is queued; would be fetched when the crawl continues,",
    };
    if let Some(round) = told.round.filter(|round| round.is_resting() && !queue.is_counted) {
        return waits_for_round(&round);
    }
    let first = queue.place.starts_with("in flight");
    if first && queue.attempts == 0 && when == "would be fetched" {
        return "is being fetched, or is the next one of its host".to_owned();
    }
    let Some(host) = &told.host else { return format!("{when} as soon as its host has its turn") };
    let start = host.due.max(host.backoff_until).max(queue.not_before).max(host.opens).unwrap_or(Time::ZERO);
    let rest = start.since(facts.now);
    let turns = u32::try_from(queue.before).unwrap_or(u32::MAX);
    let wait = rest.saturating_add(Duration::from_millis(host.delay_ms).saturating_mul(turns));
    let mut text = if wait < Duration::from_secs(1) {
        format!("{when} as soon as its host has its turn")
    } else {
        format!("{when} in about {}", span(wait + Duration::from_millis(999)))
    };
    let mut why = Vec::new();
    if rest > Duration::ZERO {
        let reason = host.backoff_reason.as_deref().filter(|_| host.backoff_until == Some(start));
        let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
        why.push(match host.hours_state.as_ref().filter(|_| host.opens == Some(start)) {
            Some(state) => format!("its host {state}"),
            None => format!("its host waits until {}{reason}", date(start)),
        });
    }
    if let Some(blame) = host.blame.as_ref().filter(|_| rest.is_zero()) {
        why.push(format!("its host has delivered nothing so far ({blame})"));
    }
    if queue.before > 0 {
        let urls = if queue.before == 1 { "URL" } else { "URLs" };
        let delay = Duration::from_millis(host.delay_ms).as_secs_f64();
        why.push(format!("{} {urls} of its host are ahead of it, one every {delay} s or more", count(queue.before)));
    }
    if !why.is_empty() {
        text.push_str(&format!(": {}", why.join(", and ")));
    }
    text
}

/// The domain has had its share of the round.
fn waits_for_round(round: &DomainInRound) -> String {
    let supporters = match (round.is_of_seed, round.supporters) {
        (true, _) => "is one of a seed".to_owned(),
        (false, 1.0) => "has 1 supporter".to_owned(),
        (false, supporters) => format!("has {} supporters", fraction(supporters)),
    };
    let used = match round.pages >= round.pages_max {
        true => format!("{} of {} pages of this round", count(round.pages), count(round.pages_max)),
        false => format!("{} of {} robots.txt of this round", count(round.robots), count(round.pages_max)),
    };
    format!("waits for round {}: its domain {supporters}, {used}", round.number + 1)
}

/// Says why all URLs of a host are dropped, if it is given up.
fn given_up_host(host: &Host, now: Time) -> Option<String> {
    if let Some(reason) = host.gone.filter(|_| host.gone_until.is_none_or(|until| until > now)) {
        let until = host.gone_until.map_or("for good".to_owned(), |until| format!("until {}", date(until)));
        return Some(match reason {
            Reason::PrivateAddress => format!("{reason}: {NO_ADDRESS_ALLOWED} ({until})"),
            _ => match &host.blame {
                Some(why) => format!("its host is given up {until}: {why}"),
                None => format!("its host is given up {until}"),
            },
        });
    }
    None
}

/// The budget of a host of which nothing is left for new pages.
fn used_up(host: &Host) -> Option<String> {
    let used = |used: u64, max: Option<u64>| max.is_some_and(|max| used >= max);
    let used_up = [
        (used(host.pages, host.pages_max), Reason::HostPages),
        (used(host.bytes, host.bytes_max), Reason::HostBytes),
        (used(host.domain_pages, host.domain_pages_max), Reason::DomainPages),
    ];
    let (_, reason) = used_up.into_iter().find(|(is_used, _)| *is_used)?;
    Some(format!("{} is used up", reason.setting()?))
}

/// Says which rule of robots.txt forbids the URL, if one does.
fn by_robots(told: &Explanation) -> Option<String> {
    let robots = &told.robots;
    if !robots.obeyed || robots.allowed != Some(false) {
        return None;
    }
    let rule = robots.rule.as_deref().unwrap_or("Disallow");
    let expired = if robots.fresh { "" } else { "; these rules have expired" };
    Some(match (robots.line, &robots.group) {
        (Some(line), Some(group)) => format!("never: robots.txt line {line} \"{rule}\" (group {group}){expired}"),
        _ => format!("never: robots.txt \"{rule}\"{expired}"),
    })
}

/// Says why the crawl would refuse the URL if it met it now; `None` where it would not.
fn forbidden(told: &Explanation, now: Time) -> Option<String> {
    if let Some(reason) = told.scope.refused {
        return Some(format!("never: {reason}: {}", told.scope.rule));
    }
    if let Some(never) = by_robots(told) {
        return Some(never);
    }
    if let Some(never) = told.host.as_ref().and_then(|host| given_up_host(host, now).or_else(|| used_up(host))) {
        return Some(format!("never: {never}"));
    }
    let ends_urls = |answer: &&str| [Failure::NoSuchHost, Failure::PrivateAddress].map(Failure::text).contains(answer);
    let answer = told.dns.answer.filter(|_| told.dns.fresh).filter(ends_urls)?;
    let until = told.dns.expires.map_or(String::new(), |until| format!(" (until {})", date(until)));
    Some(format!("never: the name servers say: {answer}{until}"))
}

fn given_up(told: &Explanation) -> String {
    match &told.crawl_log {
        Some(line) => {
            let code = line.split_ascii_whitespace().nth(1).unwrap_or("?");
            let cause = ReadLine::parse(line.as_bytes()).and_then(|line| line.cause());
            let words = match cause {
                Some(cause) if cause.to_string() == cause.failure().to_string() => cause.to_string(),
                Some(cause) => format!("{}, {cause}", cause.failure()),
                None => code.parse().map_or_else(|_| String::new(), code_text),
            };
            let colon = if words.is_empty() { "" } else { ": " };
            format!("was requested without an answer, and given up{colon}{words} (code {code} in crawl.log)")
        }
        None if told.crawl.running => {
            "was seen, but is neither queued nor in the archive: another spelling of it is, or it was processed after \
             the checkpoint"
                .to_owned()
        }
        None => "was seen, but is neither queued nor in the archive: another spelling of it was fetched".to_owned(),
    }
}

fn unknown(told: &Explanation, facts: &Facts<'_>) -> String {
    let mut text = match told.seen.seen {
        Some(_) => "is not known: no page that was fetched before the checkpoint links to it".to_owned(),
        None => "is not known: there is no checkpoint yet".to_owned(),
    };
    let depth = facts.config.crawl.max_depth.map(|max| format!("links deeper than crawl.max_depth = {max}"));
    let nofollow = facts.config.robots.respect_nofollow.then(|| "nofollow links and pages".to_owned());
    let others: Vec<String> = nofollow.into_iter().chain(depth).collect();
    if told.seen.seen.is_some() && !others.is_empty() {
        text.push_str(&format!(", apart from {}", others.join(" and ")));
    }
    text.push_str("; the crawl would accept it");
    if let Some(since) = told.robots.unreachable_since.filter(|_| told.robots.obeyed) {
        text.push_str(&format!(", but the robots.txt of its host is unreachable since {}", date(since)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_800_000_000_000);

    fn said(told: &Explanation) -> String {
        verdict(told, &Facts { config: &Config::default(), key_bytes: Some(1_000), now: NOW })
    }

    fn version(status: u16, record: u64) -> Version {
        Version {
            time: NOW,
            status,
            mime: String::new(),
            bytes: 12 << 10,
            file: String::new(),
            offset: 0,
            revisit: false,
            record,
            truncated: false,
            rendered: false,
            judged: None,
        }
    }

    fn queue(before: u64) -> Queue {
        Queue {
            place: "on disk",
            url: String::new(),
            before,
            priority: 1,
            depth: 1,
            attempts: 0,
            is_counted: false,
            not_before: None,
        }
    }

    #[test]
    fn a_queued_url_says_when_by_its_hosts_rest_and_what_comes_before() {
        let host = Host {
            due: Some(NOW + Duration::from_secs(3)),
            delay_ms: 2_000,
            backoff_until: Some(NOW + Duration::from_secs(60)),
            backoff_reason: Some("it does not answer".to_owned()),
            ..Host::default()
        };
        let round = DomainInRound { number: 6, supporters: 3.0, pages_max: 40, pages: 40, ..DomainInRound::default() };
        let resting = Explanation { queue: Some(queue(5)), round: Some(round), ..Explanation::default() };
        assert_eq!(said(&resting), "waits for round 7: its domain has 3 supporters, 40 of 40 pages of this round");
        let mut told = Explanation { queue: Some(queue(5)), host: Some(host), ..Explanation::default() };
        told.crawl.running = true;
        let text = said(&told);
        assert!(text.starts_with("would be fetched in about 1m 10s: its host waits until 2027-"), "{text}");
        assert!(text.contains("(it does not answer)") && text.contains("5 URLs of its host are ahead of it"), "{text}");
        told.host = Some(Host::default());
        told.queue = Some(queue(0));
        assert_eq!(said(&told), "would be fetched as soon as its host has its turn");
        told.crawl.phase = Some(Doing::Paused);
        let paused =
            "is queued; would be fetched when crawler ctl resume ends the pause, as soon as its host has its turn";
        assert_eq!(said(&told), paused);
        told.host = Some(Host { gone: Some(Reason::HostGivenUp), ..Host::default() });
        assert_eq!(said(&told), "never: its host is given up for good; the queue drops its URL");
        told.host = Some(Host { pages: 7, pages_max: Some(7), ..Host::default() });
        assert_eq!(said(&told), "never: budget.pages_per_host is used up; the queue drops its URL");
        told.queue = Some(Queue { is_counted: true, ..queue(0) });
        assert!(said(&told).starts_with("is queued; would be fetched"), "{}", said(&told));
    }

    #[test]
    fn what_was_stored_after_the_checkpoint_ends_a_queued_url_unless_it_is_asked_for_again() {
        let with = |newest| Explanation { queue: Some(queue(0)), versions: vec![newest], ..Explanation::default() };
        assert!(said(&with(version(200, 1_000))).starts_with("was fetched 2027-"));
        assert!(said(&with(version(503, 1_000))).starts_with("is queued"), "it is tried again");
        assert!(said(&with(version(200, 999))).starts_with("is queued"), "it was queued again later");
    }

    #[test]
    fn rules_that_forbid_are_quoted_with_their_line_and_group() {
        let mut told = Explanation { queue: Some(queue(0)), ..Explanation::default() };
        told.robots.obeyed = true;
        told.robots.fresh = true;
        told.robots.allowed = Some(false);
        told.robots.rule = Some("Disallow: /private/".to_owned());
        assert_eq!(said(&told), "never: robots.txt \"Disallow: /private/\"");
        told.robots.line = Some(12);
        told.robots.group = Some("*".to_owned());
        assert_eq!(said(&told), "never: robots.txt line 12 \"Disallow: /private/\" (group *)");
        told.robots.obeyed = false;
        assert!(said(&told).starts_with("is queued"));
    }

    #[test]
    fn n21_the_spelling_that_was_fetched_and_nofollow_are_told() {
        let mut told = Explanation { versions: vec![version(200, 0)], ..Explanation::default() };
        told.fetched_as = Some("http://a/~x".to_owned());
        told.nofollow = Some("its X-Robots-Tag header says nofollow");
        let text = said(&told);
        assert!(text.starts_with("was fetched as http://a/~x 2027-"), "{text}");
        assert!(text.ends_with("; its links are not followed: its X-Robots-Tag header says nofollow"), "{text}");
        let mut unknown = Explanation::default();
        unknown.seen.seen = Some(false);
        assert!(said(&unknown).ends_with(", apart from nofollow links and pages; the crawl would accept it"));
        let mut config = Config::default();
        config.crawl.max_depth = Some(3);
        let said = verdict(&unknown, &Facts { config: &config, key_bytes: None, now: NOW });
        let others = "apart from nofollow links and pages and links deeper than crawl.max_depth = 3; the crawl would";
        assert!(said.contains(others), "{said}");
    }

    #[test]
    fn a_url_that_ended_without_a_page_says_how() {
        let mut told = Explanation::default();
        told.seen.seen = Some(true);
        told.crawl_log = Some("2026-11-21T00:00:00.000Z    -2          - http://a/ - -".to_owned());
        assert!(said(&told).ends_with("given up: no connection or TLS failed or proxy failed (code -2 in crawl.log)"));
        let line = "2026-11-21T00:00:00.000Z -2 - http://a/ - - unknown #001 20261121000000000+4 - - no%20connection";
        told.crawl_log = Some(line.to_owned());
        assert!(said(&told).ends_with("given up: no connection (code -2 in crawl.log)"), "{}", said(&told));
        told.crawl_log = Some(format!("{line},connection%20refused"));
        assert!(said(&told).ends_with("given up: no connection, connection refused (code -2 in crawl.log)"));
        told.skipped = Some(Skipped { reason: "host given up".to_owned(), rule: String::new() });
        assert_eq!(said(&told), "was skipped: host given up");
        told.dns.answer = Some("no such host");
        told.dns.fresh = true;
        assert_eq!(said(&told), "was skipped: host given up; the name servers say: no such host");
        told.skipped = Some(Skipped { reason: "host given up".to_owned(), rule: "no such host".to_owned() });
        assert_eq!(said(&told), "was skipped: host given up; the name servers say: no such host");
        told.dns.fresh = false;
        assert_eq!(said(&told), "was skipped: host given up: no such host");
    }
}
