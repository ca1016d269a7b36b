//! The newest checkpoint's part of an explanation of a URL: URL-seen, the robots and DNS stores, the queue of its host.
//!
//! A crawl that runs deletes what its next checkpoint does not name. Anyone who meets that begins again with the newest
//! one, a bounded number of times.

use std::path::Path;

use super::recrawl::{self, Visits};
use crate::checkpoint::{self, Checkpoint, Sections, checkpoint_path};
use crate::clock::Time;
use crate::disk::{Disk, Error, Result, SavedState};
use crate::engine::values::{Addresses, Robots, decode_rules};
use crate::engine::{ExchangeState, RenderState, look_up};
use crate::frontier::{Look, QueuedUrl, Wanted, look};
use crate::record::layout;
use crate::web::url::Keys;

/// Times that reading begins again.
const TRIES: usize = 10;

/// The state of a URL in a checkpoint.
pub(super) struct State {
    pub checkpoint: Checkpoint,
    /// True if URL-seen has the URL. `waiting` is the number of questions about it that wait.
    pub seen: bool,
    pub waiting: u64,
    /// The URL on its way to the queue, and the store whose answer it waits for.
    pub on_its_way: Option<(QueuedUrl, &'static str)>,
    pub robots: Option<Robots>,
    pub addresses: Option<Addresses>,
    pub look: Look,
    /// Visits of its page.
    pub visits: Option<Visits>,
    /// Its page was found in the archive at the last start, and its URL was not met again since.
    pub replayed: bool,
    /// State of rendering: what was learnt of pages that are rendered.
    pub rendering: RenderState,
    /// Positions up to which the links of other shards are read.
    pub exchange: ExchangeState,
}

/// Reads what the newest checkpoint in `dir` says of a URL; `None` where there is no checkpoint.
pub(super) fn read(disk: &Disk, dir: &Path, keys: Keys) -> Result<Option<State>> {
    let mut tries = 0;
    loop {
        let Some((checkpoint, sections)) = checkpoint::newest(disk, dir)? else { return Ok(None) };
        let (number, time) = (checkpoint.number, checkpoint.time);
        tries += 1;
        match of_checkpoint(disk, dir, keys, checkpoint, &sections) {
            Err(error) if tries < TRIES && is_superseded(disk, dir, &error, number, time)? => {}
            state => return state.map(Some),
        }
    }
}

/// Returns whether `error` may come from files that a newer checkpoint than `number`, which was made at `time`, has
/// replaced.
fn is_superseded(disk: &Disk, dir: &Path, error: &Error, number: u64, time: Time) -> Result<bool> {
    if error.is_not_found() {
        return Ok(true);
    }
    let newest = checkpoint::newest(disk, dir)?.map(|(checkpoint, _)| (checkpoint.number, checkpoint.time));
    Ok(matches!(error, Error::Damaged { .. }) && newest != Some((number, time)))
}

fn of_checkpoint(disk: &Disk, dir: &Path, keys: Keys, checkpoint: Checkpoint, sections: &Sections) -> Result<State> {
    let mut on_its_way = None;
    let mut meet = |url: QueuedUrl, store: &'static str| {
        if url.key == keys.key {
            on_its_way = Some((url, store));
        }
    };
    let mut in_seen = |url: QueuedUrl, before: bool| {
        if !before {
            meet(url, "URL-seen")
        }
    };
    let seen = look_up::<()>(disk, dir, &checkpoint, sections, keys.key, &mut in_seen)?;
    let mut in_robots = |url: QueuedUrl, _: bool| meet(url, "robots.txt");
    let robots = look_up::<Robots>(disk, dir, &checkpoint, sections, keys.origin, &mut in_robots)?;
    let mut in_dns = |url: QueuedUrl, _: bool| meet(url, "DNS");
    let addresses = look_up::<Addresses>(disk, dir, &checkpoint, sections, keys.host, &mut in_dns)?;
    let mut in_visits = |url: QueuedUrl| meet(url, "visits");
    let visits = recrawl::read(disk, dir, &checkpoint, sections, keys.key, keys.host, &mut in_visits)?;
    let wanted = Wanted { key: keys.key, origin: keys.origin, host: keys.host, domain: keys.domain };
    let queue = SavedState::new(&checkpoint.frontier, &sections.frontier);
    let look = look(disk, &dir.join(layout::FRONTIER), queue, wanted, decode_rules, checkpoint.time)?;
    Ok(State {
        seen: seen.as_ref().is_some_and(|seen| seen.value.is_some()),
        waiting: seen.map_or(0, |seen| seen.waiting),
        on_its_way,
        robots: robots.and_then(|found| found.value),
        addresses: addresses.and_then(|found| found.value),
        look,
        visits,
        exchange: ExchangeState::read(&sections.exchange, &checkpoint_path(dir, checkpoint.number))?,
        rendering: RenderState::from_bytes(&sections.rendering).unwrap_or_default(),
        replayed: sections.replayed.iter().any(|&(key, _)| key == keys.key),
        checkpoint,
    })
}
