//! The time that workers lost in a whole crawl, measured by the log of its requests.

use std::collections::HashMap;
use std::time::Duration;

use super::machine::Machine;
use super::network::millis;

/// The time that workers lost in a crawl that was not interrupted, by what was asked for and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdleTime {
    /// From the first request to the last answer.
    pub all: Duration,
    /// A worker was idle while a page could be asked for that had been linked, of a host whose delay was over.
    pub some: Duration,
    /// The same for all workers that this is true of, as a share of the time of all of them.
    pub share: f64,
}

/// A change at a moment: workers that become busy (or free), and hosts of which a page may be asked for from then on.
type Change = (u64, i64, i64);

/// Measures the idle workers of a machine's crawl.
pub(super) fn measure(machine: &Machine) -> IdleTime {
    let mut changes = of_workers(machine);
    changes.extend(of_hosts(machine));
    changes.sort_unstable_by_key(|change| change.0);
    let all = machine.case().settings.slots.workers as i64;
    let (mut busy, mut hosts, mut before) = (0, 0, changes.first().map_or(0, |change| change.0));
    let (begin, mut some, mut lost) = (before, 0, 0);
    for (at, workers, askable) in changes {
        let idle = (all - busy).min(hosts).max(0) as u64;
        some += if idle > 0 { at - before } else { 0 };
        lost += idle * (at - before);
        (busy, hosts, before) = (busy + workers, hosts + askable, at);
    }
    let share = lost as f64 / ((before - begin).max(1) * all.unsigned_abs().max(1)) as f64;
    IdleTime { all: Duration::from_millis(before - begin), some: Duration::from_millis(some), share }
}

fn of_workers(machine: &Machine) -> Vec<Change> {
    let network = machine.network();
    let requests = network.log.iter().map(|request| (request.start, request.end));
    let work = requests.chain(network.looked_up.iter().copied());
    work.flat_map(|(start, end)| [(start, 1, 0), (end, -1, 0)]).collect()
}

/// The name of a URL's host, with its port.
fn authority(url: &str) -> &str {
    url.split('/').nth(2).unwrap_or_default()
}

/// When the hosts can be asked for a page: it was linked by an answer that has come, no request of the host is in
/// progress, and its delay is over.
fn of_hosts(machine: &Machine) -> Vec<Change> {
    /// What happens to a host: a page of it becomes known, a request begins, a delay is over.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Free,
        Known,
        Asked { is_page: bool },
    }
    let network = machine.network();
    let delay = millis(machine.case().frontier.politeness.delay_min);
    let mut known: HashMap<&str, u64> = machine.seeds().iter().map(|seed| (seed.as_str(), 0)).collect();
    for request in &network.log {
        for url in machine.named.links.get(&request.url).into_iter().flatten() {
            let first = known.entry(url).or_insert(request.end);
            *first = request.end.min(*first);
        }
        if let Some(target) = machine.named.redirects.get(&request.url) {
            known.entry(target).or_insert(request.end);
        }
    }
    let mut hosts: HashMap<&str, Vec<(u64, Event)>> = HashMap::new();
    let pages = &network.web().expected().pages;
    for (url, at) in known.into_iter().filter(|(url, _)| pages.contains_key(*url)) {
        hosts.entry(authority(url)).or_default().push((at, Event::Known));
    }
    for request in &network.log {
        let events = hosts.entry(authority(&request.url)).or_default();
        events.push((request.start, Event::Asked { is_page: pages.contains_key(&request.url) }));
        events.push((request.end + delay, Event::Free));
    }
    let mut changes = Vec::new();
    for mut events in hosts.into_values() {
        events.sort_unstable();
        let (mut waiting, mut taken, mut was_askable) = (0_i64, 0, false);
        for (at, event) in events {
            match event {
                Event::Free => taken -= 1,
                Event::Known => waiting += 1,
                Event::Asked { is_page } => (waiting, taken) = (waiting - i64::from(is_page), taken + 1),
            }
            let is_askable = waiting > 0 && taken == 0;
            if is_askable != was_askable {
                changes.push((at, 0, if is_askable { 1 } else { -1 }));
            }
            was_askable = is_askable;
        }
    }
    changes
}
