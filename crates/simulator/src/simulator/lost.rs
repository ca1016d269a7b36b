//! The time that workers lost in a whole crawl, measured by the log of its requests.

use std::collections::HashMap;
use std::time::Duration;

use super::machine::Machine;
use super::network::millis;

/// The time that workers lost in a crawl that was not interrupted, by what was asked for and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdleTime {
    /// Time from the first request to the last answer.
    pub all: Duration,
    /// A worker was idle while a page could be asked for that had been linked, of a host whose delay was over.
    pub some: Duration,
    /// The same for all workers that this is true of, as a share of the time of all of them.
    pub share: f64,
    /// Shares of this kind in each tenth of the time.
    pub tenths: [f64; 10],
}

/// Changes of the counts at a moment.
struct Change {
    at: u64,
    /// Workers that become busy, less those that become free.
    workers: i64,
    /// Hosts of which a page may be asked for from then on, less those of which none may.
    askable: i64,
}

/// Events of a host: a delay is over, a page of it becomes known, a request begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Free,
    Known,
    Asked { is_page: bool },
}

/// Measures the idle workers of a machine's crawl.
pub(super) fn measure(machine: &Machine) -> IdleTime {
    let mut changes = of_workers(machine);
    changes.extend(of_hosts(machine));
    changes.sort_unstable_by_key(|change| change.at);
    let all = machine.case().settings.slots.workers as i64;
    let (mut busy, mut hosts, mut before) = (0, 0, changes.first().map_or(0, |change| change.at));
    let (begin, mut some, mut lost) = (before, 0, [0; 10]);
    let length = changes.last().map_or(0, |change| change.at).saturating_sub(begin).max(1);
    for Change { at, workers, askable } in changes {
        let idle = (all - busy).min(hosts).max(0) as u64;
        some += if idle > 0 { at - before } else { 0 };
        // what is lost within a tenth and beyond is that of the tenth in which it began
        lost[(10 * (before - begin) / length).min(9) as usize] += idle * (at - before);
        (busy, hosts, before) = (busy + workers, hosts + askable, at);
    }
    let share = |lost: u64, time: f64| lost as f64 / (time * all.unsigned_abs().max(1) as f64);
    IdleTime {
        all: Duration::from_millis(before - begin),
        some: Duration::from_millis(some),
        share: share(lost.iter().sum(), length as f64),
        tenths: lost.map(|lost| share(lost, length as f64 / 10.0)),
    }
}

fn of_workers(machine: &Machine) -> Vec<Change> {
    let network = machine.network();
    let requests = network.log.iter().map(|request| (request.start, request.end));
    let work = requests.chain(network.looked_up.iter().copied());
    let change = |at, workers| Change { at, workers, askable: 0 };
    work.flat_map(|(start, end)| [change(start, 1), change(end, -1)]).collect()
}

/// The name of a URL's host, with its port.
fn authority(url: &str) -> &str {
    url.split('/').nth(2).unwrap_or_default()
}

/// Returns when each URL was linked first by an answer that had come, or 0 for a seed.
fn known(machine: &Machine) -> HashMap<String, u64> {
    let mut known: HashMap<String, u64> = machine.seeds().iter().map(|seed| (seed.to_string(), 0)).collect();
    for request in &machine.network().log {
        for url in machine.named.links.get(&request.url).into_iter().flatten() {
            let first = known.entry(url.clone()).or_insert(request.end);
            *first = request.end.min(*first);
        }
        if let Some(target) = machine.named.redirects.get(&request.url) {
            known.entry(target.clone()).or_insert(request.end);
        }
    }
    known
}

/// Returns when hosts can be asked for a page: one is known, no request of the host is in progress, and its delay is
/// over.
fn of_hosts(machine: &Machine) -> Vec<Change> {
    let (network, known) = (machine.network(), known(machine));
    let delay = millis(machine.case().frontier.politeness.delay_min);
    let mut hosts: HashMap<&str, Vec<(u64, Event)>> = HashMap::new();
    let pages = &network.web().expected().pages;
    for (url, at) in known.iter().filter(|(url, _)| pages.contains_key(*url)) {
        hosts.entry(authority(url)).or_default().push((*at, Event::Known));
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
                changes.push(Change { at, workers: 0, askable: if is_askable { 1 } else { -1 } });
            }
            was_askable = is_askable;
        }
    }
    changes
}
