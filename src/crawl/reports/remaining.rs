//! URLs that wait, by host, as the newest checkpoint knows the queue: partition by partition, in the memory of the
//! hosts of one.
//!
//! A crawl that runs deletes what its next checkpoint does not name. A partition in which that is met is begun again by
//! the newest one, a bounded number of times.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::checkpoint::{self, Checkpoint, Sections, checkpoint_path};
use crate::disk::{Disk, Result, SavedState};
use crate::engine::values::decode_rules;
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::frontier::verify::Check;
use crate::record::layout;
use crate::record::origin_of;

/// Times that a partition is begun again.
const TRIES: usize = 20;

/// Calls `each` with hosts and how many of their URLs wait; a host may come several times. Says what of the queue could
/// not be read.
pub(in crate::crawl) fn for_each_host(
    disk: &Disk,
    dir: &Path,
    each: &mut dyn FnMut(&str, u64) -> Result<()>,
) -> Result<Vec<String>> {
    let mut waiting = Waiting::new();
    for_each_part(disk, dir, &mut waiting, &mut |waiting| {
        waiting.drain().try_for_each(|(host, urls)| each(&host, urls))
    })
}

/// Calls `each` with URLs that wait, those of a partition at once. Says what of the queue could not be read.
pub(in crate::crawl) fn for_each_waiting(
    disk: &Disk,
    dir: &Path,
    each: &mut dyn FnMut(Vec<WaitingUrl>) -> Result<()>,
) -> Result<Vec<String>> {
    for_each_part(disk, dir, &mut Vec::new(), &mut |urls| each(std::mem::take(urls)))
}

/// A URL that waits.
pub(in crate::crawl) struct WaitingUrl {
    pub url: Arc<str>,
    pub key: Fingerprint,
    pub attempts: u8,
    pub forced: bool,
}

/// A part of the queue, as far as somebody wants to know it.
trait Part {
    /// Takes a URL in.
    fn take(&mut self, url: &QueuedUrl);
    /// Forgets all of them.
    fn clear(&mut self);
}

fn for_each_part<P: Part>(
    disk: &Disk,
    dir: &Path,
    gathered: &mut P,
    each: &mut dyn FnMut(&mut P) -> Result<()>,
) -> Result<Vec<String>> {
    let mut progress = Progress::default();
    let mut newest = checkpoint::newest(disk, dir)?;
    while let Some((state, sections)) = newest {
        newest = progress.go_on(disk, dir, &state, &sections, gathered, each)?;
    }
    Ok(progress.faults)
}

/// The place up to which the queue is read.
#[derive(Default)]
struct Progress {
    /// The partition that comes next; behind all of them is the active side.
    part: usize,
    /// Times that this partition was begun.
    tries: usize,
    faults: Vec<String>,
}

type Waiting = HashMap<Box<str>, u64>;

impl Part for Waiting {
    fn take(&mut self, url: &QueuedUrl) {
        let Some(host) = origin_of(&url.url) else { return };
        match self.get_mut(host) {
            Some(urls) => *urls += 1,
            None => drop(self.insert(host.into(), 1)),
        }
    }

    fn clear(&mut self) {
        HashMap::clear(self);
    }
}

impl Part for Vec<WaitingUrl> {
    fn take(&mut self, url: &QueuedUrl) {
        let QueuedUrl { ref url, key, attempts, forced, .. } = *url;
        self.push(WaitingUrl { url: url.clone(), key, attempts, forced });
    }

    fn clear(&mut self) {
        Vec::clear(self);
    }
}

impl Progress {
    /// Reads on by a checkpoint, as far as that goes: gives the newer one that has taken its place meanwhile.
    fn go_on<P: Part>(
        &mut self,
        disk: &Disk,
        dir: &Path,
        state: &Checkpoint,
        sections: &Sections,
        gathered: &mut P,
        each: &mut dyn FnMut(&mut P) -> Result<()>,
    ) -> Result<Option<(Checkpoint, Sections)>> {
        let (frontier, at) = (dir.join(layout::FRONTIER), checkpoint_path(dir, state.number));
        let saved = SavedState::new(&state.frontier, &sections.frontier);
        let check = Check::new(disk, &frontier, saved, &at, decode_rules, state.time);
        // the active side comes last: what a host took from a partition meanwhile is then not missed, only counted
        // twice
        while self.part <= state.frontier.partitions.len() {
            self.tries += 1;
            gathered.clear();
            let fault = match check.as_ref().map(|check| read_part(check, self.part, gathered)) {
                Ok(Ok(fault)) => fault,
                Ok(Err(error)) => Some(error.to_string()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(fault) = fault {
                let newer = checkpoint::newest(disk, dir)?.filter(|(newer, _)| newer.number != state.number);
                if newer.is_some() && self.tries < TRIES {
                    return Ok(newer);
                }
                self.faults.push(fault);
                if check.is_err() {
                    return Ok(None);
                }
            }
            each(gathered)?;
            (self.part, self.tries) = (self.part + 1, 0);
        }
        Ok(None)
    }
}

/// Reads a partition, or the active side; says what of it could not be read.
fn read_part(check: &Check<'_>, part: usize, gathered: &mut impl Part) -> Result<Option<String>> {
    let mut count = |url: &QueuedUrl, is_taken: bool, _: &Path, _: u64| {
        if !is_taken {
            gathered.take(url);
        }
        Ok(())
    };
    let mut faults = Vec::new();
    if part < check.partitions() {
        check.partition(part, &mut count, &mut faults)?;
    } else {
        check.memory(&mut count)?;
    }
    Ok(faults.first().map(ToString::to_string))
}
