//! URLs that wait, by host, as the newest checkpoint knows the queue: partition by partition, in the memory of the hosts of
//! one.
//!
//! A crawl that runs deletes what its next checkpoint does not name. A partition in which that is met is begun again by
//! the newest one, a bounded number of times.

use std::collections::HashMap;
use std::path::Path;

use crate::disk::{Disk, Error, Result};
use crate::engine::checkpoint::{self, Checkpoint, Sections, checkpoint_path};
use crate::engine::values::decode_rules;
use crate::frontier::QueuedUrl;
use crate::frontier::verify::Check;
use crate::report::origin_of;

/// How often a partition is begun again.
const TRIES: usize = 20;

/// Calls `each` with hosts and how many of their URLs wait; a host may come several times. Says what of the queue could
/// not be read.
pub(super) fn for_each_host(
    disk: &Disk,
    dir: &Path,
    each: &mut dyn FnMut(&str, u64) -> Result<()>,
) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let Some(mut newest) = checkpoint::newest(disk, dir)? else { return Ok(faults) };
    let frontier = dir.join("frontier");
    let partitions = newest.0.frontier.partitions.len();
    for part in 0..=partitions {
        let mut tries = 0;
        let waiting = loop {
            tries += 1;
            let number = newest.0.number;
            // the active side comes last: what a host took from a partition meanwhile is not missed then, only told twice
            let read = read_part(disk, dir, &frontier, &newest, (part < partitions).then_some(part));
            let (waiting, fault) = match read {
                Ok(read) => read,
                Err(error) => (HashMap::new(), Some(error)),
            };
            let Some(fault) = fault else { break waiting };
            match checkpoint::newest(disk, dir)? {
                Some(newer) if newer.0.number != number && tries < TRIES => newest = newer,
                _ => {
                    faults.push(fault.to_string());
                    break waiting;
                }
            }
        };
        waiting.iter().try_for_each(|(host, urls)| each(host, *urls))?;
    }
    Ok(faults)
}

type Waiting = HashMap<Box<str>, u64>;

fn read_part(
    disk: &Disk,
    dir: &Path,
    frontier: &Path,
    (state, sections): &(Checkpoint, Sections),
    partition: Option<usize>,
) -> Result<(Waiting, Option<Error>)> {
    let at = checkpoint_path(dir, state.number);
    let check = Check::new(disk, frontier, (&state.frontier, &sections.frontier), &at, decode_rules, state.time)?;
    let mut waiting = Waiting::new();
    let mut count = |url: &QueuedUrl, is_taken: bool, _: &Path, _: u64| {
        if let Some(host) = origin_of(&url.url).filter(|_| !is_taken) {
            match waiting.get_mut(host) {
                Some(urls) => *urls += 1,
                None => drop(waiting.insert(host.into(), 1)),
            }
        }
        Ok(())
    };
    let mut faults = Vec::new();
    match partition {
        Some(number) if number < check.partitions() => drop(check.partition(number, &mut count, &mut faults)?),
        Some(_) => {}
        None => drop(check.memory(&mut count)?),
    }
    Ok((waiting, faults.into_iter().next()))
}
