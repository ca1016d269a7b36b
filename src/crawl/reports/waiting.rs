//! Why seeds wait: what the newest checkpoint knows of their hosts.
//!
//! Nothing is told of hosts beyond a number, of one whose record is not sorted in yet, and where the checkpoint is replaced
//! while it is read.

use std::collections::HashMap;
use std::path::Path;

use crate::clock::{Clock, SystemClock, Time};
use crate::crawl::explain::key_maker;
use crate::disk::Disk;
use crate::engine::checkpoint;
use crate::engine::values::decode_rules;
use crate::fingerprint::Fingerprint;
use crate::frontier::{HostLook, look_at_hosts};
use crate::report::figures::date;
use crate::web::url::CanonicalUrl;

/// Hosts that are looked at.
const HOSTS_MAX: usize = 1_000;

/// Why the URLs of hosts wait.
pub(super) struct Waiting {
    hosts: HashMap<String, HostLook>,
    now: Time,
}

impl Waiting {
    /// Nothing is told of any host.
    pub(super) fn unknown() -> Waiting {
        Waiting { hosts: HashMap::new(), now: Time::ZERO }
    }

    /// Looks at the hosts of `urls`.
    pub(super) fn look<'a>(disk: &Disk, dir: &Path, urls: impl Iterator<Item = &'a str>) -> Waiting {
        let Ok(keys) = key_maker(dir) else { return Waiting::unknown() };
        let mut wanted: HashMap<String, (Fingerprint, Fingerprint)> = HashMap::new();
        for url in urls.filter_map(|url| CanonicalUrl::parse(url).ok()) {
            if wanted.len() >= HOSTS_MAX {
                break;
            }
            let prints = keys.keys(&url);
            wanted.insert(url.origin(), (prints.origin, prints.domain));
        }
        if wanted.is_empty() {
            return Waiting::unknown();
        }
        let Ok(Some((state, sections))) = checkpoint::newest(disk, dir) else { return Waiting::unknown() };
        let hosts: Vec<_> = wanted.values().copied().collect();
        let saved = (&state.frontier, sections.frontier.as_slice());
        let Ok(mut looks) = look_at_hosts(disk, &dir.join("frontier"), saved, &hosts, decode_rules, state.time) else {
            return Waiting::unknown();
        };
        let found = wanted.into_iter().filter_map(|(host, (origin, _))| Some((host, looks.remove(&origin)?)));
        Waiting { hosts: found.collect(), now: SystemClock::new().now() }
    }

    /// Why the URL waits; empty where nothing is known.
    pub(super) fn why(&self, url: &str) -> String {
        let host = CanonicalUrl::parse(url).ok().and_then(|url| self.hosts.get(&url.origin()));
        let Some(host) = host else { return String::new() };
        let until = host.due.max(host.backoff_until);
        let why = host.blame.map(|blame| blame.to_string());
        match (why, until > self.now) {
            (Some(why), true) => format!("{why}; its host rests until {}", date(until)),
            (Some(why), false) => why,
            (None, true) => format!("its host rests until {}", date(until)),
            (None, false) => String::new(),
        }
    }
}
