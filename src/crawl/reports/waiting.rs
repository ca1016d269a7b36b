//! The reasons for which seeds wait: what the newest checkpoint knows of their hosts.
//!
//! Nothing is reported of hosts beyond a number, of one whose record is not sorted in yet, and where the checkpoint is
//! replaced while it is read.
//!
//! Nothing is said of hosts beyond a number, of one whose record is not sorted in yet, and where the checkpoint is
//! replaced while it is read.

use std::collections::HashMap;
use std::path::Path;

use crate::checkpoint;
use crate::clock::{Clock, SystemClock, Time};
use crate::crawl::hours::{self, HostHours};
use crate::crawl::options;
use crate::dirs::CrawlDirs;
use crate::disk::{Disk, SavedState};
use crate::engine::values::decode_rules;
use crate::engine::{SeedRecord, SeedStatus};
use crate::fingerprint::Fingerprint;
use crate::frontier::{HostLook, look_at_hosts};
use crate::record::layout;
use crate::text::figures::date;
use crate::web::url::CanonicalUrl;

/// Hosts that are looked at.
const HOSTS_MAX: usize = 1_000;

/// Hosts for which the report says why their URLs wait.
pub(super) struct Wanted<'a> {
    dirs: &'a CrawlDirs,
    hosts: HashMap<String, (Fingerprint, Fingerprint)>,
}

impl Wanted<'_> {
    /// Takes the host of `url` in, unless there are too many.
    pub(super) fn want(&mut self, url: &str) {
        let (Some(keys), Ok(url)) = (self.dirs.keys(), CanonicalUrl::parse(url)) else { return };
        if self.hosts.len() < HOSTS_MAX {
            let prints = keys.keys(&url);
            self.hosts.insert(url.origin(), (prints.origin, prints.domain));
        }
    }

    /// Looks at the hosts.
    pub(super) fn look(self, disk: &Disk) -> Waiting {
        let dirs = self.dirs.shards().iter().enumerate();
        let found = dirs.filter_map(|(place, dir)| self.found(disk, place, dir)).flatten();
        let config = options::read_copy(disk, self.dirs.home()).ok().flatten();
        let hours = config.and_then(|config| HostHours::by(config).ok());
        Waiting { hosts: found.collect(), hours, now: SystemClock::new().now() }
    }

    /// Looks up the hosts that belong to the shard in `dir`.
    fn found(&self, disk: &Disk, place: usize, dir: &Path) -> Option<HashMap<String, HostLook>> {
        let own = self.hosts.iter().filter(|(_, (_, domain))| self.dirs.place_of(*domain) == place);
        let own: Vec<_> = own.map(|(host, prints)| (host.clone(), *prints)).collect();
        if own.is_empty() {
            return None;
        }
        let (state, sections) = checkpoint::newest(disk, dir).ok()??;
        let hosts: Vec<_> = own.iter().map(|(_, prints)| *prints).collect();
        let saved = SavedState::new(&state.frontier, &sections.frontier);
        let looks = look_at_hosts(disk, &dir.join(layout::FRONTIER), saved, &hosts, decode_rules, state.time);
        let mut looks = looks.ok()?;
        Some(own.into_iter().filter_map(|(host, (origin, _))| Some((host, looks.remove(&origin)?))).collect())
    }
}

/// The states of hosts, which say why their URLs wait.
pub(super) struct Waiting {
    hosts: HashMap<String, HostLook>,
    /// Hours by the settings of the last run, if they can be read.
    hours: Option<HostHours>,
    now: Time,
}

impl Waiting {
    /// Hosts of the crawl in these directories are to be looked at; none yet.
    pub(super) fn wanted(dirs: &CrawlDirs) -> Wanted<'_> {
        Wanted { dirs, hosts: HashMap::new() }
    }

    /// Returns why a seed waits; empty where nothing is known, and for one that does not.
    pub(super) fn why(&self, seed: &SeedRecord) -> String {
        if seed.status != SeedStatus::Waiting {
            return String::new();
        }
        let Ok(url) = CanonicalUrl::parse(&seed.url) else { return String::new() };
        let hours = self.hours.as_ref().and_then(|hours| hours.of(url.host().trim_matches(['[', ']'])));
        if let Some(hours) = hours.filter(|hours| hours.opens(self.now) > self.now) {
            return format!("its host {}", hours::state(&hours, self.now));
        }
        let Some(host) = self.hosts.get(&url.origin()) else { return String::new() };
        let until = host.standing.due.max(host.standing.backoff_until);
        let why = host.standing.blame.map(|blame| blame.to_string());
        match (why, until > self.now) {
            (Some(why), true) => format!("{why}; its host waits until {}", date(until)),
            (Some(why), false) => why,
            (None, true) => format!("its host waits until {}", date(until)),
            (None, false) => String::new(),
        }
    }
}
