//! An explanation for people: a table, what cannot be said, and the verdict. Whatever came from the web is escaped.

use std::time::Duration;

use crate::clock::Time;
use crate::crawl::explain::{Explanation, Hop};
use crate::record::Doing;
use crate::report::closing::Table;
use crate::text::escape::escaped;
use crate::text::figures::{count, date, fraction, size, span};
use crate::web::format::Format;

/// Versions that are shown.
const VERSIONS_SHOWN: usize = 10;

/// The whole, with its line ends.
pub(super) fn text(told: &Explanation) -> String {
    let mut page = Page { table: Table::default(), told };
    page.names();
    page.crawl();
    page.scope();
    page.robots();
    page.dns();
    page.queue();
    page.recrawl();
    page.host();
    page.archive();
    page.logs();
    let mut text = page.table.0;
    for note in &told.notes {
        text.push_str(&format!("note: {}\n", escaped(note)));
    }
    text.push_str(&format!("\n{} {}.\n", escaped(&told.url), escaped(&told.verdict)));
    text
}

struct Page<'a> {
    table: Table,
    told: &'a Explanation,
}

impl Page<'_> {
    fn row(&mut self, name: &str, value: impl std::fmt::Display) {
        self.table.row(name, escaped(&value.to_string()));
    }

    fn names(&mut self) {
        let told = self.told;
        self.row("URL", &told.url);
        self.row("key form", &told.key_form);
        self.row("SURT", &told.surt);
        self.row("origin", &told.origin);
        self.row("domain", &told.domain);
        if let Some(shard) = &told.shard {
            self.row("shard", shard);
        }
        let prints = &told.fingerprints;
        let (key, origin, host, domain) = (&prints.key, &prints.origin, &prints.host, &prints.domain);
        self.row("fingerprints", format!("key {key}, origin {origin}, host {host}, domain {domain}"));
    }

    fn crawl(&mut self) {
        let crawl = &self.told.crawl;
        let state = match (crawl.running, crawl.finish) {
            (false, None) if crawl.in_store => "not ended, by its last checkpoint in the store".to_owned(),
            (true, _) => crawl.phase.map_or("running", Doing::meaning).to_owned(),
            (false, Some(finish)) => format!("not running; {finish}"),
            (false, None) => "not running; it was killed, or has no checkpoint yet".to_owned(),
        };
        self.row("crawl", state);
        if let (Some(number), Some(time)) = (crawl.checkpoint, crawl.as_of) {
            self.row("as of", format!("checkpoint {number}, {} ago ({})", span(crawl.now.since(time)), date(time)));
        }
        self.row("settings of", &crawl.settings);
        for site in &self.told.sites {
            self.row("settings for it", site);
        }
        if let Some(rendering) = &self.told.rendering {
            self.row("rendered", rendering);
        }
        if let Some(proxy) = &self.told.proxy {
            self.row("proxy", proxy);
        }
    }

    fn scope(&mut self) {
        let scope = &self.told.scope;
        let word = match scope.refused {
            None => "in scope".to_owned(),
            Some(reason) => format!("refused: {reason}"),
        };
        let depth = scope.depth.map_or("as a seed would be".to_owned(), |depth| format!("depth {depth}"));
        self.row("scope", format!("{word} ({}; judged at {depth})", scope.rule).replace("judged at as", "judged as"));
        if let Some(seed) = &scope.seed {
            self.row("  by the seed", seed);
        }
        if let Some(page) = &scope.requisite_of {
            self.row("  requisite of", page);
        }
    }

    fn robots(&mut self) {
        let (robots, now) = (&self.told.robots, self.told.crawl.now);
        if !robots.obeyed {
            self.row("robots.txt", "not asked (robots.obey = false)");
        } else if let Some(since) = robots.unreachable_since {
            let why = robots.unreachable_because.as_ref().map_or(String::new(), |why| format!(" ({why})"));
            let text = format!("unreachable since {}{why}: nothing of this origin is fetched", date(since));
            self.row("robots.txt", text);
        } else {
            let word = match robots.allowed {
                Some(true) => "allowed",
                Some(false) => "disallowed",
                None => "not known yet",
            };
            let why = match (&robots.rule, robots.line, &robots.group) {
                (Some(rule), Some(line), Some(group)) => format!(": line {line} \"{rule}\" (group {group})"),
                (Some(rule), ..) => format!(": \"{rule}\""),
                (None, ..) if robots.allowed.is_some() => match &robots.archived {
                    Some(archived) if (400..500).contains(&archived.status) => ": the origin has none".to_owned(),
                    _ => ": no rule matches".to_owned(),
                },
                _ => String::new(),
            };
            self.row("robots.txt", format!("{word}{why}"));
        }
        if let Some(delay) = robots.crawl_delay_ms {
            let beyond = if robots.crawl_delay_beyond { ", more than politeness.crawl_delay_max" } else { "" };
            self.row("  Crawl-delay", format!("{} s{beyond}", Duration::from_millis(delay).as_secs_f64()));
        }
        if robots.learnt.is_some() || robots.expires.is_some() {
            self.row("  answer", term(robots.learnt, robots.expires, robots.fresh, now));
        }
        if let Some(archived) = &robots.archived {
            let (file, offset) = (&archived.file, archived.offset);
            let when = date(archived.time);
            self.row("  archived", format!("{when}, {}, {}, {file}:{offset}", archived.status, size(archived.bytes)));
        }
    }

    fn dns(&mut self) {
        let (dns, now) = (&self.told.dns, self.told.crawl.now);
        let answer = match dns.answer {
            None => "not asked yet".to_owned(),
            Some("found") if dns.by_settings => format!("{} (by dns.hosts)", dns.addresses.join(", ")),
            Some("found") => dns.addresses.join(", "),
            Some(answer) => answer.to_owned(),
        };
        self.row("DNS", answer);
        if dns.learnt.is_some() || dns.expires.is_some() {
            self.row("  answer", term(dns.learnt, dns.expires, dns.fresh, now));
        }
    }

    fn queue(&mut self) {
        let seen = &self.told.seen;
        let word = match seen.seen {
            None => "not known without a checkpoint",
            Some(true) => "seen",
            Some(false) => "not seen",
        };
        let waiting =
            if seen.waiting > 0 { format!(", {} questions wait", count(seen.waiting)) } else { String::new() };
        self.row("URL-seen", format!("{word}{waiting}"));
        if let Some(store) = seen.waits_in {
            self.row("on its way", format!("waits for the {store} store"));
        }
        if let Some(sender) = &seen.sent_by {
            self.row("on its way", format!("in a link file of {sender} that is not read yet"));
        }
        let Some(queue) = &self.told.queue else { return self.row("queue", "not queued") };
        let (before, attempts) = (count(queue.before), queue.attempts);
        self.row("queue", format!("{}; {before} URLs of its host are ahead of it", queue.place));
        let (priority, depth) = (queue.priority, queue.depth);
        self.row("  entry", format!("priority {priority}, depth {depth}, {attempts} attempts made"));
        if let Some(time) = queue.not_before.filter(|&time| time > self.told.crawl.now) {
            self.row("  tried again", until(time, self.told.crawl.now));
        }
        if queue.url != self.told.url {
            self.row("  spelling", &queue.url);
        }
    }

    fn recrawl(&mut self) {
        let Some(recrawl) = &self.told.recrawl else { return };
        let now = self.told.crawl.now;
        let place = match (recrawl.place, recrawl.due) {
            ("ended", _) => {
                "not visited any more: it was missing too often, or does not belong to the crawl now".to_owned()
            }
            ("calendar", Some(due)) if due > now => format!("due {}", until(due, now)),
            ("calendar", Some(due)) => format!("due since {}", date(due)),
            (_, due) => format!("queued: it was due {}", due.map_or("before".to_owned(), date)),
        };
        self.row("recrawl", place);
        let changed = recrawl.last_change.map_or(String::new(), |time| format!("; changed {}", date(time)));
        self.row("  last visit", format!("{}{changed}", date(recrawl.last_visit)));
        if recrawl.visits > 0.0 {
            let (visits, changes, days) = (recrawl.visits, recrawl.changes, recrawl.days);
            let words = "counted, older ones for less";
            self.row("  history", format!("{visits:.1} visits in {days:.1} days, {changes:.1} changes ({words})"));
        }
        if let Some((visits, since)) = recrawl.missing_visits.zip(recrawl.missing_since) {
            self.row("  missing", format!("at {visits} visits, since {}", date(since)));
        }
        if let Some(interval) = recrawl.interval_s {
            self.row("  interval", format!("{}: {}", span(Duration::from_secs(interval)), recrawl.why));
        }
    }

    fn host(&mut self) {
        let (told, now) = (self.told, self.told.crawl.now);
        let Some(host) = &told.host else { return self.row("host", "not known") };
        let place = if host.active { "in memory" } else { "on disk" };
        self.row("host", format!("{place}, {} URLs queued", count(host.queued)));
        let due = host.due.filter(|&due| due > now).map_or("now".to_owned(), |due| until(due, now));
        let delay = Duration::from_millis(host.delay_ms).as_secs_f64();
        self.row("  next request", format!("{due}; {delay} s between requests"));
        if let (Some(hours), Some(state)) = (&host.hours, &host.hours_state) {
            self.row("  hours", format!("{hours}: {state}"));
        }
        if let Some(time) = host.backoff_until.filter(|&time| time > now) {
            let reason = host.backoff_reason.as_deref().unwrap_or("held back");
            self.row("  backs off", format!("{}, level {}: {reason}", until(time, now), host.backoff_level));
        }
        if let Some(since) = host.failing_since {
            let why = host.backoff_reason.as_ref().map_or(String::new(), |why| format!(": {why}"));
            self.row(
                "  failing",
                format!("since {}, {} failures in a row{why}", date(since), count(host.failures.into())),
            );
        }
        if let Some(reason) = host.gone {
            let end = host.gone_until.map_or("for good".to_owned(), |time| format!("until {}", date(time)));
            let why = host.blame.as_ref().map_or(String::new(), |why| format!(": {why}"));
            self.row("  given up", format!("{end}: {reason}{why}"));
        }
        let of = |used: String, max: Option<String>| max.map_or(used.clone(), |max| format!("{used} of {max}"));
        let pages = of(count(host.pages), host.pages_max.map(count));
        let bytes = of(size(host.bytes), host.bytes_max.map(size));
        let domain = of(count(host.domain_pages), host.domain_pages_max.map(count));
        self.row("  budgets", format!("{pages} pages, {bytes}; its domain {domain} pages"));
        if let Some(round) = told.round {
            let (used, max) = (count(round.pages), count(round.pages_max));
            let of = if round.is_of_seed { ", of a seed" } else { "" };
            let supporters = fraction(round.supporters);
            self.row(
                "  round",
                format!("{}: {used} of {max} pages of its domain, which has {supporters} supporters{of}", round.number),
            );
        }
    }

    fn archive(&mut self) {
        let told = self.told;
        if told.versions.is_empty() {
            self.row("archive", "not there");
        }
        if let Some(spelling) = &told.fetched_as {
            self.row("fetched as", spelling);
        }
        for (number, version) in told.versions.iter().take(VERSIONS_SHOWN).enumerate() {
            let (when, bytes) = (date(version.time), size(version.bytes));
            let (mime, file, offset) = (&version.mime, &version.file, version.offset);
            let mark = if version.revisit { ", same content as another page" } else { "" };
            let rendered = match version.rendered {
                true if Format::may_be(Some(mime)) => ", with a page of it",
                true => ", rendered",
                false => "",
            };
            let name = if number == 0 { "archive" } else { "" };
            self.row(name, format!("{when}, {}, {mime}, {bytes}, {file}:{offset}{mark}{rendered}", version.status));
        }
        if told.versions.len() > VERSIONS_SHOWN {
            self.row("", format!("and {} older versions", count((told.versions.len() - VERSIONS_SHOWN) as u64)));
        }
        for (name, value) in &told.stated {
            self.row(&format!("  {name}"), value);
        }
        if let Some(found) = &told.found {
            let hops = if found.hops.is_empty() { "a seed" } else { &found.hops };
            let via = found.via.as_ref().map_or(String::new(), |via| format!(", on {via}"));
            self.row("found", format!("{hops}, depth {}{via}", found.depth));
            let seed = found.seed.as_deref().unwrap_or("?");
            self.row("  from seed", format!("{} (number {})", seed, found.seed_number));
        }
        if let Some(why) = told.nofollow {
            self.row("its links", format!("not followed: {why}"));
        }
        if let Some(listing) = told.listing {
            self.row("read as", listing);
        }
        if !told.redirects_to.is_empty() {
            self.row("redirects to", chain(&told.redirects_to));
        }
        if !told.redirected_from.is_empty() {
            self.row("redirected from", chain(&told.redirected_from));
        }
    }

    fn logs(&mut self) {
        let told = self.told;
        if let Some(skipped) = &told.skipped {
            let rule = if skipped.rule.is_empty() { String::new() } else { format!(" ({})", skipped.rule) };
            self.row("skipped.jsonl", format!("{}{rule}", skipped.reason));
        }
        if let Some(line) = &told.crawl_log {
            self.row("crawl.log", line);
        }
    }
}

fn chain(hops: &[Hop]) -> String {
    let hop = |hop: &Hop| match hop.status {
        Some(status) => format!("{} ({status})", hop.url),
        None => format!("{} (not in the archive)", hop.url),
    };
    hops.iter().map(hop).collect::<Vec<_>>().join(" -> ")
}

fn until(time: Time, now: Time) -> String {
    format!("in {} ({})", span(time.since(now) + Duration::from_millis(999)), date(time))
}

/// Returns how old an answer is, and until when it holds.
fn term(learnt: Option<Time>, expires: Option<Time>, fresh: bool, now: Time) -> String {
    let age = learnt.map(|learnt| format!("{} old", span(now.since(learnt))));
    let end = expires.map(|time| match fresh {
        true => format!("valid until {}", date(time)),
        false => format!("expired {}: it has to be fetched again", date(time)),
    });
    age.into_iter().chain(end).collect::<Vec<_>>().join(", ")
}
