//! One place for each page that is fetched again, at every end of a process: by what the newest checkpoint has.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::clause::{Clause, Violation};
use crate::calendar::{Recrawl, Visited, wheel};
use crate::checkpoint::{self, Checkpoint, Sections};
use crate::clock::Time;
use crate::disk::{Disk, Error, Result, SavedState};
use crate::drum::verify::{Check, Operation};
use crate::engine::StoreValue;
use crate::engine::values::{Addresses, Robots, decode_rules};
use crate::frontier::QueuedUrl;
use crate::frontier::verify::Check as FrontierCheck;
use crate::record::layout;

/// Visits and calendar records of the pages of a shard.
#[derive(Default)]
struct Places {
    /// Entries of the store of visits.
    visits: HashMap<u64, Visited>,
    /// Times at which records of the calendar are due, with their URLs.
    records: HashMap<u64, Vec<(Time, String)>>,
    /// Keys of URLs that are queued to be fetched again.
    queued: HashSet<u64>,
    /// Keys of pages that a replay has found fetched again, and that were not met since.
    replayed: Vec<u64>,
}

/// Judges what a process has left in the directories of its shards.
pub(super) fn judge(disk: &Disk, dirs: &[PathBuf]) -> std::result::Result<(), Violation> {
    for dir in dirs {
        let read = |found: Option<(Checkpoint, Sections)>| {
            found.map(|(cut, sections)| Places::read(disk, dir, &cut, &sections)).transpose()
        };
        let places = checkpoint::newest(disk, dir).and_then(read);
        // what cannot be read is reported by the start that meets it
        let Ok(Some(places)) = places else { continue };
        if let Some(what) = places.fault() {
            return Err(Violation::new(Clause::OneOutcome, format!("{}: {what}", dir.display())));
        }
    }
    Ok(())
}

/// Pages that a replay has found fetched again, and whose records in the calendar are due later than `now`. Such a
/// visit waits for its record, which comes out later than it did before the death: the clock was set back, or what the
/// schedule had learnt since the checkpoint is gone, and the first visit of the page was replayed as well.
pub(super) fn waiting(disk: &Disk, dirs: &[PathBuf], now: Time) -> Result<u64> {
    let mut count = 0;
    for dir in dirs {
        let Some((cut, sections)) = checkpoint::newest(disk, dir)? else { continue };
        let places = Places::read(disk, dir, &cut, &sections)?;
        let waits = |key: &&u64| {
            let later = |visited: &Visited| visited.due > now && places.is_recorded(key, visited);
            places.visits.get(key).is_some_and(later)
        };
        count += places.replayed.iter().filter(waits).count() as u64;
    }
    Ok(count)
}

impl Places {
    fn read(disk: &Disk, dir: &Path, cut: &Checkpoint, sections: &Sections) -> Result<Places> {
        let mut places = Places::default();
        let Some(calendar) = &cut.calendar else { return Ok(places) };
        let again = sections.replayed.iter().filter(|(_, forced)| *forced);
        places.replayed = again.map(|(key, _)| key.bits()).collect();
        wheel::for_each(disk, &dir.join(layout::CALENDAR), calendar, &sections.calendar, &mut |due, bytes| {
            if let Some((url, _)) = QueuedUrl::decode(bytes) {
                places.records.entry(url.key.bits()).or_default().push((due, url.url.to_string()));
            }
            Ok(())
        })?;
        let Places { visits: known, queued, .. } = &mut places;
        store::<Visited>(disk, dir, cut, sections, &mut |key, visited, waiting| {
            known.extend(visited.map(|visited| (key, visited)));
            queued.extend(waiting.filter(|url| Recrawl::past(url.recrawl.as_deref()).is_some()).map(|_| key));
        })?;
        let mut wait = |key, waiting: Option<QueuedUrl>| queued.extend(waiting.filter(|url| url.forced).map(|_| key));
        store::<Robots>(disk, dir, cut, sections, &mut |key, _, url| wait(of(&url, key), url))?;
        store::<Addresses>(disk, dir, cut, sections, &mut |key, _, url| wait(of(&url, key), url))?;
        let (queue, frontier) = (SavedState::new(&cut.frontier, &sections.frontier), dir.join(layout::FRONTIER));
        let check = FrontierCheck::new(disk, &frontier, queue, dir, decode_rules, cut.time)?;
        let mut each = |url: &QueuedUrl, taken: bool, _: &Path, _| {
            if !taken && url.forced {
                queued.insert(url.key.bits());
            }
            Ok(())
        };
        check.memory(&mut each)?;
        let mut faults = Vec::new();
        for number in 0..check.partitions() {
            check.partition(number, &mut each, &mut faults)?;
        }
        faults.into_iter().next().map_or(Ok(places), Err)
    }

    /// Returns whether the calendar has the record that is the page's own.
    fn is_recorded(&self, key: &u64, visited: &Visited) -> bool {
        let mut records = self.records.get(key).into_iter().flatten();
        records.any(|(due, _)| seconds(*due) == seconds(visited.due))
    }

    /// Returns the first fault that breaks the clause, if there is one.
    fn fault(&self) -> Option<String> {
        for (key, records) in &self.records {
            let Some(visited) = self.visits.get(key) else {
                return Some(format!("{} has a record in the calendar, and no visit", records[0].1));
            };
            let live = records.iter().filter(|(due, _)| is_due(visited) && seconds(*due) == seconds(visited.due));
            if live.count() > 1 {
                return Some(format!("{} is in the calendar more than once: {records:?}", records[0].1));
            }
        }
        let lost = self
            .visits
            .iter()
            .find(|(key, visited)| is_due(visited) && !self.queued.contains(key) && !self.is_recorded(key, visited));
        lost.map(|(key, visited)| {
            let records = self.records.get(key);
            format!("the page with key {key:016x} has no place: {visited:?}, in the calendar {records:?}")
        })
    }
}

/// Goes through a store: keys with their values, oldest first, and URLs that wait.
fn store<V: StoreValue<Asks = QueuedUrl>>(
    disk: &Disk,
    dir: &Path,
    cut: &Checkpoint,
    sections: &Sections,
    each: &mut dyn FnMut(u64, Option<V>, Option<QueuedUrl>),
) -> Result<()> {
    let Some(stored) = cut.store(V::STORE, sections) else { return Ok(()) };
    let store = V::STORE.dir(dir);
    let check = Check::new(disk, &store, stored, dir)?;
    let mut faults: Vec<Error> = Vec::new();
    for bucket in 0..check.buckets() {
        let mut stored = |key, value| {
            each(key, Some(value), None);
            Ok(())
        };
        check.repository::<V>(bucket, &mut stored, &mut faults)?;
        let mut waits = |operation: Operation<V, QueuedUrl>| {
            each(operation.key, operation.value, operation.waiting);
            Ok(())
        };
        check.operations::<V, QueuedUrl>(bucket, &mut waits, &mut faults)?;
    }
    faults.into_iter().next().map_or(Ok(()), Err)
}

/// The key of the page that waits in a store of hosts.
fn of(url: &Option<QueuedUrl>, key: u64) -> u64 {
    url.as_ref().map_or(key, |url| url.key.bits())
}

fn is_due(visited: &Visited) -> bool {
    !visited.is_gone && visited.due > Time::ZERO
}

fn seconds(time: Time) -> u64 {
    time.ms() / 1_000
}
