//! The rules that a crawl is held to that fetches pages again: each page has one place, none is visited too often, and
//! none is forgotten.

use std::collections::{BTreeMap, HashMap};

use super::case::{JITTER, Watch};
use super::clause::{Clause, Violation};
use super::machine::Machine;
use super::moment::is_final;
use super::network::millis;
use super::visits;
use crate::calendar::{Past, Recrawl, Visited, wheel};
use crate::checkpoint;
use crate::container::Reader;
use crate::disk::Error;
use crate::engine::look_up;
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::record::layout;

/// A record is given out so much later than it is due, at most.
const SLOT_MS: u64 = 60_000;
/// Time by which rests, breaks and retries may delay a visit.
const DELAY_MS: u64 = 14 * 3_600_000;

/// Judges the calendar of a crawl that has ended because nothing was due.
pub(super) fn judge(machine: &Machine, watch: &Watch) -> Result<(), Violation> {
    let unreadable = |error: Error| Violation::new(Clause::Sound, error.to_string());
    let mut live: BTreeMap<String, Vec<Past>> = BTreeMap::new();
    for shard in machine.shards() {
        let (disk, dir) = (machine.disk(), machine.dir_of(shard));
        let newest = checkpoint::newest(&disk, &dir).map_err(unreadable)?;
        let Some((record, sections)) = newest else { continue };
        let Some(calendar) = &record.calendar else { continue };
        let in_visits = |key: Fingerprint| {
            let mut waits = |_: QueuedUrl, _| {};
            look_up::<Visited>(&disk, &dir, &record, &sections, key, &mut waits)
        };
        wheel::for_each(&disk, &dir.join(layout::CALENDAR), calendar, &sections.calendar, &mut |_, bytes| {
            let Some((url, _)) = QueuedUrl::decode(bytes) else { return Ok(()) };
            let past = Recrawl::past(url.recrawl.as_deref());
            let visited = in_visits(url.key)?.and_then(|found| found.value);
            if let (Some(past), Some(visited)) = (past, visited)
                && past.due == visited.due
                && !visited.is_gone
            {
                live.entry(url.url.to_string()).or_default().push(past);
            }
            Ok(())
        })
        .map_err(unreadable)?;
    }
    if let Some((url, pasts)) = live.iter().find(|(_, pasts)| pasts.len() > 1) {
        return Err(Violation::new(Clause::OneOutcome, format!("{url} is in the calendar with {pasts:?}")));
    }
    let network = machine.network();
    let pages = network.web().expected().pages.iter();
    let lasting: Vec<&String> = pages.filter(|(_, page)| page.status < 400).map(|(url, _)| url).collect();
    if let Some(url) = lasting.iter().find(|url| !live.contains_key(**url)) {
        return Err(Violation::new(Clause::NothingMissing, format!("{url} is not in the calendar")));
    }
    forgotten(machine, watch, &lasting)?;
    let live = live.into_iter().filter_map(|(url, pasts)| Some((url, pasts.into_iter().next()?)));
    visits::judge(machine, &live.collect())
}

/// Every page was visited lately.
fn forgotten(machine: &Machine, watch: &Watch, lasting: &[&String]) -> Result<(), Violation> {
    if machine.ends.iter().any(|end| end.clock_set_back || end.clock_set_forward) {
        return Ok(());
    }
    let mut newest: HashMap<String, u64> = HashMap::new();
    for pages in machine.archives() {
        let unreadable = |error: Error| Violation::new(Clause::Sound, error.to_string());
        for record in Reader::open(machine.disk(), &pages).map_err(unreadable)?.records() {
            let record = record.map_err(unreadable)?;
            if !record.robots && is_final(record.status, record.truncated) {
                newest.insert(record.url, record.time.ms());
            }
        }
    }
    let longest = (millis(watch.longest) as f64 * (1.0 + JITTER)) as u64;
    let oldest_ms = machine.clock_now.ms().saturating_sub(longest + SLOT_MS + DELAY_MS);
    let late = lasting.iter().find(|url| newest.get(**url).is_none_or(|&time| time < oldest_ms));
    late.map_or(Ok(()), |url| {
        let what = format!("{url} was visited last at {:?}, before {oldest_ms}", newest.get(*url));
        Err(Violation::new(Clause::NothingMissing, what))
    })
}
