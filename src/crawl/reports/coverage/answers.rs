//! The newest answers of an archive, by what they are, for the whole crawl and host by host.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::Row;
use crate::container::{KeyRecord, Reader};
use crate::dirs::Archives;
use crate::disk::Result;
use crate::disk::sorter::{Members, Sorter};
use crate::fingerprint::Fingerprint;
use crate::record::origin_of;
use crate::web::kind::{Kind, is_missing_url};

/// Memory for the places of older versions; beyond it they are sorted in a temporary file.
const OLDER_MEMORY: usize = 16 << 20;
/// Hosts that are told apart; what is of others is counted for the whole crawl alone.
const HOSTS_MAX: usize = 100_000;

/// Answers that are no content and of no kind, by their status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Of(Kind),
    Gone,
    Refused,
    ServerError,
}

/// The part of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostCoverage {
    /// Its origin.
    pub host: String,
    /// URLs whose newest answer is content.
    pub content: u64,
    /// URLs whose newest answer is none.
    pub other: u64,
    /// URLs that wait.
    pub waiting: u64,
    /// The same by kind, or by status.
    pub by_kind: BTreeMap<String, u64>,
}

/// Counts of newest answers.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub content: u64,
    pub redirects: u64,
    /// Answers to URLs that cannot exist.
    pub missing_urls: u64,
    pub classes: BTreeMap<Class, u64>,
    pub by_host: HashMap<String, HostCoverage>,
    pub hosts: Vec<HostCoverage>,
}

impl Class {
    fn text(self) -> &'static str {
        match self {
            Class::Of(kind) => kind.text(),
            Class::Gone => "gone",
            Class::Refused => "refused by status",
            Class::ServerError => "server error",
        }
    }

    fn list(self) -> String {
        match self {
            Class::Of(kind) => format!("list --kind {kind}"),
            Class::Gone => "list --kind none --status 404 --status 410".to_owned(),
            Class::Refused => "list --kind none --status 4xx".to_owned(),
            Class::ServerError => "list --kind none --status 5xx".to_owned(),
        }
    }
}

/// The meaning of an answer.
enum Meaning {
    Content,
    Redirect,
    Other(Class),
}

fn meaning(record: &KeyRecord) -> Meaning {
    match (record.kind, record.status) {
        (Some(kind), _) => Meaning::Other(Class::Of(kind)),
        (None, 304) if record.payload_at.is_some() => Meaning::Content,
        (None, 300..=399) => Meaning::Redirect,
        (None, 404 | 410) => Meaning::Other(Class::Gone),
        (None, 400..=499) => Meaning::Other(Class::Refused),
        (None, 500..) => Meaning::Other(Class::ServerError),
        (None, _) => Meaning::Content,
    }
}

impl Answers {
    /// URLs that have an answer.
    pub(super) fn urls(&self) -> u64 {
        self.content + self.redirects + self.missing_urls + self.classes.values().sum::<u64>()
    }

    /// Counts a URL that waits, and has no page yet unless it `is_again`.
    pub(super) fn wait(&mut self, url: &str, is_again: bool) {
        if let Some(host) = self.host(url).filter(|_| !is_again) {
            host.waiting += 1;
        }
    }

    /// Reads all archives but for the URLs `without`, whose last answer has not come.
    pub(super) fn read(&mut self, archives: &Archives, without: &HashSet<Fingerprint>) -> Result<()> {
        for place in 0..archives.dirs().shards().len() {
            if let Some(reader) = archives.reader(place)? {
                self.read_shard(reader, without)?;
            }
        }
        Ok(())
    }

    fn read_shard(&mut self, reader: &Reader, without: &HashSet<Fingerprint>) -> Result<()> {
        let mut older = Sorter::new(OLDER_MEMORY);
        for record in reader.records() {
            if let Some(previous) = record?.previous {
                older.push(&previous.to_be_bytes())?;
            }
        }
        let mut older = Members::of(older.finish()?)?;
        for record in reader.records() {
            let record = record?;
            let is_newest = !older.has(&record.offset.to_be_bytes())?;
            // what a rendering or the crawl itself asks for is no URL of the crawl by that
            if is_newest && !record.robots && !record.of_rendering && !without.contains(&record.key) {
                self.count(&record);
            }
        }
        Ok(())
    }

    fn count(&mut self, record: &KeyRecord) {
        if is_missing_url(&record.url) {
            self.missing_urls += 1;
            return;
        }
        let meaning = meaning(record);
        match meaning {
            Meaning::Content => self.content += 1,
            Meaning::Redirect => self.redirects += 1,
            Meaning::Other(class) => *self.classes.entry(class).or_default() += 1,
        }
        let Some(host) = self.host(&record.url) else { return };
        match meaning {
            Meaning::Content => host.content += 1,
            Meaning::Redirect => {}
            Meaning::Other(class) => {
                host.other += 1;
                *host.by_kind.entry(class.text().to_owned()).or_default() += 1;
            }
        }
    }

    fn host(&mut self, url: &str) -> Option<&mut HostCoverage> {
        let name = origin_of(url)?;
        if !self.by_host.contains_key(name) {
            if self.by_host.len() >= HOSTS_MAX {
                return None;
            }
            let host = HostCoverage { host: name.to_owned(), ..HostCoverage::default() };
            self.by_host.insert(name.to_owned(), host);
        }
        self.by_host.get_mut(name)
    }

    /// Orders the hosts: those first that lack most.
    pub(super) fn sort_hosts(&mut self) {
        self.hosts = std::mem::take(&mut self.by_host).into_values().collect();
        self.hosts.sort_by(|a, b| (b.other + b.waiting, &a.host).cmp(&(a.other + a.waiting, &b.host)));
    }

    /// The answers that are no content, most of a kind first.
    pub(super) fn missing(&self) -> Vec<Row> {
        let row = |(class, &urls): (&Class, &u64)| Row { what: class.text().to_owned(), urls, list: class.list() };
        let mut rows: Vec<Row> = self.classes.iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.urls));
        rows
    }
}
