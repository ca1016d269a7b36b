//! The hosts with the longest queues of a crawl that does not run, by its last checkpoint.

use std::collections::HashMap;
use std::path::Path;

use super::directories::{directories, fault};
use crate::checkpoint;
use crate::clock::Time;
use crate::console::Problem;
use crate::crawl::reports;
use crate::crawl::sizes::file_bytes;
use crate::dirs::CrawlDirs;
use crate::disk::{Disk, SavedState};
use crate::engine::values::decode_rules;
use crate::frontier::{HostLook, look_at_hosts};
use crate::record::layout;
use crate::record::{QueuedHost, QueuedHosts};
use crate::text::figures::size;
use crate::web::url::CanonicalUrl;

/// Bytes of a queue beyond which it is not read for a console: a second or two.
const BYTES_MAX: u64 = 256 << 20;
/// Hosts that are counted at a time; those with the longest queues stay.
const COUNTED_MAX: usize = 100_000;

/// The hosts of the crawl in `dir`, `limit` of them.
pub(super) fn hosts(dir: &Path, limit: usize) -> Result<QueuedHosts, Problem> {
    let disk = Disk::real();
    let dirs = directories(&disk, dir)?;
    let bytes: u64 = dirs.shards().iter().map(|dir| file_bytes(&dir.join(layout::FRONTIER))).sum();
    if bytes > BYTES_MAX {
        let queue = size(bytes);
        let sentence = format!("the queue takes {queue}, too much to read for this page: run crawler report hosts");
        return Err(Problem::TooMuch(sentence));
    }
    let mut shards = Vec::new();
    for place in 0..dirs.shards().len() {
        shards.push(of_shard(&disk, &dirs, place, limit)?);
    }
    Ok(QueuedHosts::of_shards(shards, limit).unwrap_or_default())
}

fn of_shard(disk: &Disk, dirs: &CrawlDirs, place: usize, limit: usize) -> Result<QueuedHosts, Problem> {
    let dir = &dirs.shards()[place];
    let mut counted: HashMap<Box<str>, u64> = HashMap::new();
    let read = reports::for_each_queued_host(disk, dir, &mut |host, urls| {
        match counted.get_mut(host) {
            Some(count) => *count += urls,
            None => drop(counted.insert(host.into(), urls)),
        }
        if counted.len() > COUNTED_MAX {
            keep_longest(&mut counted, COUNTED_MAX / 2);
        }
        Ok(())
    });
    read.map_err(fault)?;
    keep_longest(&mut counted, limit);
    let state = checkpoint::newest(disk, dir).map_err(fault)?;
    let mut looks =
        state.as_ref().map(|(state, sections)| looks(disk, dirs, dir, state, sections, &counted)).unwrap_or_default();
    let as_of = state.map_or(Time::ZERO, |(state, _)| state.time);
    let hosts = counted.into_iter().map(|(host, queued)| {
        let look = looks.remove(&host);
        queued_host(host.into(), queued, look, as_of)
    });
    let mut hosts = QueuedHosts { as_of, hosts: hosts.collect() };
    hosts.keep_longest(limit);
    Ok(hosts)
}

fn keep_longest(counted: &mut HashMap<Box<str>, u64>, count: usize) {
    if counted.len() <= count {
        return;
    }
    let mut ranked: Vec<_> = counted.drain().collect();
    ranked.sort_by_key(|(_, urls)| std::cmp::Reverse(*urls));
    ranked.truncate(count);
    counted.extend(ranked);
}

/// Returns what the checkpoint knows of the hosts; nothing where that cannot be read.
fn looks(
    disk: &Disk,
    dirs: &CrawlDirs,
    dir: &Path,
    state: &checkpoint::Checkpoint,
    sections: &checkpoint::Sections,
    counted: &HashMap<Box<str>, u64>,
) -> HashMap<Box<str>, HostLook> {
    let Some(keys) = dirs.keys() else { return HashMap::new() };
    let prints = counted.keys().filter_map(|host| {
        let url = CanonicalUrl::parse(&format!("{host}/")).ok()?;
        let prints = keys.keys(&url);
        Some((host.clone(), (prints.origin, prints.domain)))
    });
    let prints: Vec<_> = prints.collect();
    let wanted: Vec<_> = prints.iter().map(|(_, prints)| *prints).collect();
    let saved = SavedState::new(&state.frontier, &sections.frontier);
    let found = look_at_hosts(disk, &dir.join(layout::FRONTIER), saved, &wanted, decode_rules, state.time);
    let mut found = found.unwrap_or_default();
    prints.into_iter().filter_map(|(host, (origin, _))| Some((host, found.remove(&origin)?))).collect()
}

fn queued_host(host: String, queued: u64, look: Option<HostLook>, as_of: Time) -> QueuedHost {
    let Some(look) = look else { return QueuedHost { host, queued, state: "queued".to_owned(), ..Default::default() } };
    let state = match look.standing.gone {
        Some(_) => "given up",
        None if look.standing.backoff_until > as_of => "backing off",
        None => "queued",
    };
    let reason = match (look.standing.gone, look.standing.blame) {
        (Some((_, why)), _) => why.to_string(),
        (None, blame) => blame.map(|blame| blame.to_string()).unwrap_or_default(),
    };
    QueuedHost {
        host,
        queued,
        state: state.to_owned(),
        next_request: Some(look.standing.due.max(look.standing.backoff_until)),
        delay_ms: u64::try_from(look.standing.pace.as_millis()).unwrap_or(u64::MAX),
        reason,
        pages: look.standing.pages,
        bytes: look.standing.bytes,
        errors: look.standing.failures.into(),
    }
}
