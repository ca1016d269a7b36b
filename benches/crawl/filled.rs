//! A crawl directory with a past: URLs seen and URLs queued by the million, put in through the interfaces of the
//! stores.
//!
//! The hosts of those that are queued rest for a long time, so that a crawl that goes on from here has them in its
//! queue and fetches none of them.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use crawler::checkpoint::{self, Checkpoint};
use crawler::checkpoint::{Identity, begin};
use crawler::clock::{Clock, Stored, SystemClock, Time};
use crawler::disk::{self, Disk, SavedState};
use crawler::drum::{Dispatcher, DrumOptions, DrumState, FrontOptions, Need, Store};
use crawler::engine::hold_log;
use crawler::engine::values::decode_rules;
use crawler::fingerprint::Fingerprint;
use crawler::frontier::{Frontier, FrontierOptions, FrontierState, Hops, Known, QueuedUrl, SavedFrontier};
use crawler::record::layout::StoreName;
use crawler::web::url::{CanonicalUrl, KeyMaker};

/// URLs of a host that rests, and hosts of its domain.
const URLS_OF_HOST: u64 = 100;
const HOSTS_OF_DOMAIN: u64 = 10;
/// Time that it rests.
const REST: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Time that the queue has for its merges, by the clock that it is given.
const SETTLING_S: u64 = 60;
/// The number of pushes between two looks at what merges are due.
const SERVE_EVERY: u64 = 4_096;

/// The size of a past.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    /// URLs seen.
    pub seen: u64,
    /// URLs queued; they are seen too.
    pub queued: u64,
}

/// Whom nothing has to be told.
struct Nobody;

impl Dispatcher<Fingerprint, (), QueuedUrl> for Nobody {}

/// Gives the crawl in `dir`, which has stopped in good order, this past, and leaves it with a checkpoint that names it.
pub fn fill(dir: &Path, past: Past) -> Result<()> {
    let (disk, now) = (Disk::real(), SystemClock::new().now());
    let identity = begin::look(&disk, dir)?.context("a crawl has an identity")?;
    let (before, mut sections) = checkpoint::newest(&disk, dir)?.context("a crawl that stopped has a checkpoint")?;
    let keys = identity.key_maker();
    let mut next = Checkpoint { number: before.number + 1, ..before.clone() };
    let numbers = (0..past.queued).map(|number| url(number, &keys).key).chain((past.queued..past.seen).map(random));
    let stored = before.store(StoreName::Seen, &sections).context("every crawl has URL-seen")?;
    let (state, arrays) = seen(&disk, dir, stored, &identity, numbers)?;
    next.stores.insert(StoreName::Seen, state);
    sections.stores.insert(StoreName::Seen, arrays);
    if past.queued > 0 {
        let urls = (0..past.queued).map(|number| url(number, &keys));
        (next.frontier, sections.frontier) =
            queued(&disk, dir, SavedState::new(&before.frontier, &sections.frontier), &identity, (urls, now))?;
    }
    hold_log::carry_over(&disk, dir, before.number, next.number)?;
    checkpoint::renew(&disk, dir, &identity, &next, &sections)?;
    Ok(())
}

/// URL-seen with `keys` beside what it has.
fn seen(
    disk: &Disk,
    dir: &Path,
    saved: SavedState<'_, DrumState>,
    identity: &Identity,
    keys: impl Iterator<Item = Fingerprint>,
) -> disk::Result<(DrumState, Vec<u8>)> {
    let options = DrumOptions { buckets: identity.buckets, ..DrumOptions::default() };
    let (front, saved) = (FrontOptions::default(), Some(saved));
    let mut store: Store<(), QueuedUrl> =
        Store::open(disk.clone(), &dir.join("url-seen"), options, front, saved, &mut |_, _| {})?;
    for (number, key) in keys.enumerate() {
        store.admit(key, (), QueuedUrl { key, ..nothing() })?;
        if (number as u64).is_multiple_of(SERVE_EVERY) {
            while let Some(job) = store.next_merge(Need::Threshold)? {
                store.finish_merge(job.run()?);
                while store.dispatch(&mut Nobody, usize::MAX)? > 0 {}
            }
        }
    }
    store.synchronize(&mut Nobody)?;
    let mut ram = Vec::new();
    let cut = store.cut(&mut ram)?;
    Ok((cut.state, ram))
}

/// The frontier with `urls` beside what it has.
fn queued(
    disk: &Disk,
    dir: &Path,
    saved: SavedState<'_, FrontierState>,
    identity: &Identity,
    (urls, now): (impl Iterator<Item = QueuedUrl>, Time),
) -> disk::Result<(FrontierState, Vec<u8>)> {
    let options = FrontierOptions { partitions: identity.partitions, ..FrontierOptions::default() };
    let SavedState { state, ram } = saved;
    let (dir, saved) = (dir.join("frontier"), Some(SavedFrontier { state, ram, cut: Stored::new(now) }));
    let mut frontier = Frontier::open(disk.clone(), &dir, options, decode_rules, 1, saved, now, true)?;
    for (number, url) in urls.enumerate() {
        let known = Known { rests_until: Some(now + REST), ..Known::default() };
        frontier.push_known_host(url, known, now)?;
        if (number as u64).is_multiple_of(SERVE_EVERY) {
            while let Some(job) = frontier.next_job(false)? {
                frontier.finish_job(job.run()?, now)?;
            }
        }
    }
    settle(&mut frontier, now)?;
    let mut ram = Vec::new();
    let cut = frontier.cut(&mut ram)?;
    Ok((cut.state, ram))
}

/// Does the merges that a crawl does in time: its URLs do not come all at once, as they do here.
fn settle(frontier: &mut Frontier, now: Time) -> disk::Result<()> {
    for second in 1..=SETTLING_S {
        let later = now + Duration::from_secs(second);
        // tells the time, and nothing else
        frontier.preset(Fingerprint::default(), Known::default(), later);
        while let Some(job) = frontier.next_job(true)? {
            frontier.finish_job(job.run()?, later)?;
        }
    }
    Ok(())
}

/// A key that no URL is likely to have.
fn random(number: u64) -> Fingerprint {
    let mut bits = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    Fingerprint::from_bits(bits ^ bits >> 31)
}

/// A URL of a host that rests.
fn url(number: u64, keys: &KeyMaker) -> QueuedUrl {
    let host = number / URLS_OF_HOST;
    let domain = host / HOSTS_OF_DOMAIN;
    let text = format!("http://rests-{host}.past-{domain}.example/archive/article-{number}.html");
    let url = CanonicalUrl::parse(&text).expect("it is a URL");
    let keys = keys.keys(&url);
    let (key, origin, host, domain) = (keys.key, keys.origin, keys.host, keys.domain);
    QueuedUrl { url: url.into_text().into(), key, origin, host, domain, ..nothing() }
}

fn nothing() -> QueuedUrl {
    QueuedUrl {
        url: "".into(),
        key: Fingerprint::default(),
        origin: Fingerprint::default(),
        host: Fingerprint::default(),
        domain: Fingerprint::default(),
        priority: 6,
        depth: 3,
        hops: Hops::parse("LLL"),
        attempts: 0,
        via: 0,
        seed: 0,
        forced: false,
        recrawl: None,
    }
}
