//! The whole in one sentence: what became of a URL, or what will.
//!
//! What has happened comes before what would: a stored page, then the queue with what its host waits for, then the way
//! through the stores, then what the logs tell of its end, and last what the crawl would decide if it met the URL now.

use std::time::Duration;

use super::model::{Explanation, Host, Queue, Version};
use crate::clock::Time;
use crate::config::Config;
use crate::outcome::{Reason, Verdict, judge_answer};
use crate::report::figures::{count, date, size, span};

/// What is known besides the explanation.
pub(super) struct Facts<'a> {
    pub config: &'a Config,
    /// Length of key.dat at the checkpoint: what lies behind was stored after it.
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
        return format!("is on its way to the queue: it waits for an answer of the {store} store");
    }
    let seen = told.seen.seen == Some(true);
    match (&told.skipped, forbidden(told, facts.now)) {
        (Some(skipped), None) if seen || told.scope.refused.is_none() => match skipped.rule.as_str() {
            "" | "seed" => format!("was skipped: {}", skipped.reason),
            rule => format!("was skipped: {}: {rule}", skipped.reason),
        },
        (_, Some(never)) => never,
        _ if seen => given_up(told),
        _ => unknown(told),
    }
}

/// Whether the newest version ended the URL although the checkpoint has it queued: it was stored after that, and not to be
/// asked for again.
fn ended(newest: &Version, queue: &Queue, facts: &Facts<'_>) -> bool {
    let later = facts.key_bytes.is_none_or(|key_bytes| newest.record >= key_bytes);
    let retries = facts.config.fetch.retries;
    later && judge_answer(newest.status, false, queue.attempts, retries) != Verdict::Retry
}

fn fetched(told: &Explanation, newest: &Version) -> String {
    let mut text = format!("was fetched {}, {}, {}", date(newest.time), newest.status, size(newest.bytes));
    if let Some(last) = told.redirects_to.last() {
        let status = last.status.map_or("not in the archive".to_owned(), |status| status.to_string());
        text.push_str(&format!("; it redirects to {} ({status})", last.url));
    }
    if told.versions.len() > 1 {
        text.push_str(&format!("; {} versions", count(told.versions.len() as u64)));
    }
    text
}

fn queued(told: &Explanation, queue: &Queue, facts: &Facts<'_>) -> String {
    if let Some(never) = told.host.as_ref().and_then(|host| drained(host, facts.now)) {
        return format!("never: {never}; the queue drops its URL");
    }
    if let Some(never) = by_robots(told) {
        return never;
    }
    let when =
        if told.crawl.running { "would be fetched" } else { "is queued; would be fetched when the crawl goes on," };
    let first = queue.place.starts_with("under way");
    if first && queue.attempts == 0 && told.crawl.running {
        return "is being fetched, or is next of its host".to_owned();
    }
    let Some(host) = &told.host else { return format!("{when} as soon as its host has its turn") };
    let start = host.due.max(host.backoff_until).unwrap_or(Time::ZERO);
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
        let reason = host.backoff_reason.filter(|_| host.backoff_until == Some(start));
        let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
        why.push(format!("its host rests until {}{reason}", date(start)));
    }
    if queue.before > 0 {
        let urls = if queue.before == 1 { "URL" } else { "URLs" };
        let delay = Duration::from_millis(host.delay_ms).as_secs_f64();
        why.push(format!("{} {urls} of its host come before it, one in {delay} s or more", count(queue.before)));
    }
    if !why.is_empty() {
        text.push_str(&format!(": {}", why.join(", and ")));
    }
    text
}

/// Why a host's URLs are dropped.
fn drained(host: &Host, now: Time) -> Option<String> {
    if let Some(reason) = host.gone.filter(|_| host.gone_until.is_none_or(|until| until > now)) {
        let until = host.gone_until.map_or("for good".to_owned(), |until| format!("until {}", date(until)));
        return Some(match reason {
            Reason::PrivateAddress => format!("its host has no public address ({until})"),
            _ => format!("its host is given up {until}"),
        });
    }
    let used = |used: u64, max: Option<u64>| max.is_some_and(|max| used >= max);
    let used_up = [
        (used(host.pages, host.pages_max), "budget.pages_per_host"),
        (used(host.bytes, host.bytes_max), "budget.bytes_per_host"),
        (used(host.domain_pages, host.domain_pages_max), "budget.pages_per_domain"),
    ];
    let (_, budget) = used_up.into_iter().find(|(is_used, _)| *is_used)?;
    Some(format!("{budget} is used up"))
}

/// What robots.txt forbids.
fn by_robots(told: &Explanation) -> Option<String> {
    let robots = &told.robots;
    if !robots.obeyed || robots.allowed != Some(false) {
        return None;
    }
    let rule = robots.rule.as_deref().unwrap_or("Disallow");
    let expired = if robots.fresh { "" } else { "; these rules have to be asked for again" };
    Some(match (robots.line, &robots.group) {
        (Some(line), Some(group)) => format!("never: robots.txt line {line} \"{rule}\" (group {group}){expired}"),
        _ => format!("never: robots.txt \"{rule}\"{expired}"),
    })
}

/// What the crawl would refuse now, if it met the URL.
fn forbidden(told: &Explanation, now: Time) -> Option<String> {
    if let Some(reason) = told.scope.refused {
        return Some(format!("never: {reason}: {}", told.scope.rule));
    }
    if let Some(never) = by_robots(told) {
        return Some(never);
    }
    if let Some(never) = told.host.as_ref().and_then(|host| drained(host, now)) {
        return Some(format!("never: {never}"));
    }
    match told.dns.answer.filter(|_| told.dns.fresh) {
        Some(answer @ ("no such host" | "private address")) => {
            let until = told.dns.expires.map_or(String::new(), |until| format!(" (until {})", date(until)));
            Some(format!("never: the name servers say: {answer}{until}"))
        }
        _ => None,
    }
}

fn given_up(told: &Explanation) -> String {
    match &told.crawl_log {
        Some(line) => {
            let status = line.split_ascii_whitespace().nth(1).unwrap_or("?");
            format!("was asked for without an answer, and given up (crawl.log: {status})")
        }
        None if told.crawl.running => {
            "was seen, and is neither queued nor in the archive: another spelling of it was, or it moved on since the \
             checkpoint"
                .to_owned()
        }
        None => "was seen, and is neither queued nor in the archive: another spelling of it was fetched".to_owned(),
    }
}

fn unknown(told: &Explanation) -> String {
    let mut text = match told.seen.seen {
        Some(_) => "is not known: nothing that was fetched before the checkpoint links to it".to_owned(),
        None => "is not known: there is no checkpoint yet".to_owned(),
    };
    text.push_str("; the crawl would take it in");
    if let Some(since) = told.robots.unreachable_since.filter(|_| told.robots.obeyed) {
        text.push_str(&format!(", but the robots.txt of its host cannot be had since {}", date(since)));
    }
    text
}
