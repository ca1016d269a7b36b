//! The content of a crawl directory: the one list of its stores, directories and files.
//!
//! Opening, checkpoints, `verify`, `--rebuild` and copies to a store of objects go over this list, and so does the test
//! of the table in docs/FORMATS.md. The names are written here and nowhere else, but for those within a directory,
//! which its owner has.
//!
//! docs/architecture/changes.md says what one DRUM store more needs beside its [`StoreName`].

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::container::dedup;
use crate::disk;
use crate::shard::Shard;

/// A DRUM store of a crawl. Their order is part of the format of a checkpoint's record: new ones come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreName {
    /// Keys of every URL that was ever admitted.
    #[serde(rename = "url_seen")]
    Seen,
    /// Rules of robots.txt by origin.
    Robots,
    /// Addresses by host name.
    Dns,
    /// The visits of pages that are fetched again.
    Visits,
    /// Links from domain to domain.
    Support,
}

impl StoreName {
    /// All of them.
    pub const ALL: [StoreName; 5] =
        [StoreName::Seen, StoreName::Robots, StoreName::Dns, StoreName::Visits, StoreName::Support];

    /// The name of its directory, and of its section in a checkpoint.
    pub const fn dir_name(self) -> &'static str {
        match self {
            StoreName::Seen => "url-seen",
            StoreName::Robots => "robots",
            StoreName::Dns => "dns",
            StoreName::Visits => "visits",
            StoreName::Support => "support",
        }
    }

    /// Its name among the figures: in status.json and as a label of metrics.
    pub const fn label(self) -> &'static str {
        match self {
            StoreName::Seen => "url_seen",
            other => other.dir_name(),
        }
    }

    /// Its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            StoreName::Seen => "URL-seen",
            StoreName::Robots => "robots.txt",
            StoreName::Dns => "DNS",
            StoreName::Visits => "visits",
            StoreName::Support => "supporters",
        }
    }

    /// Its directory in the crawl directory.
    pub fn dir(self, crawl: &Path) -> PathBuf {
        crawl.join(self.dir_name())
    }

    /// Returns true where every crawl has it.
    pub const fn is_always_there(self) -> bool {
        match self {
            StoreName::Seen | StoreName::Robots | StoreName::Dns => true,
            StoreName::Visits | StoreName::Support => false,
        }
    }
}

/// The queue.
pub const FRONTIER: &str = "frontier";
/// Records of pages that are due again.
pub const CALENDAR: &str = "calendar";
/// The archive.
pub const PAGES: &str = "pages";
/// The list of the seeds, and their outcomes.
pub const SEEDS: &str = "seeds";
/// Links to other shards.
pub const LINKS: &str = "links";
/// The logs.
pub const LOGS: &str = "logs";
/// Tables for people.
pub const REPORTS: &str = "reports";
/// The index of the last checkpoints.
pub const CATALOG: &str = "catalog";
/// A catalog that could not be opened.
pub const CATALOG_DAMAGED: &str = "catalog.damaged";
/// The plain copy of the identity.
pub const IDENTITY: &str = "identity.json";
/// The identity of a crawl of several shards while these are made.
pub const IDENTITY_MADE: &str = "identity.new.json";
/// The plain copy of the settings of the last run.
pub const SETTINGS: &str = "config.json";
/// Figures of the last checkpoint.
pub const STATUS: &str = "status.json";
/// The socket of the process that crawls.
pub const SOCKET: &str = "control.sock";
/// The directory in which the socket is made.
pub const SOCKET_MADE: &str = "control.new";
/// Address and port of the metrics.
pub const METRICS_ADDRESS: &str = "metrics.address";
/// Address and port of the console.
pub const CONSOLE_ADDRESS: &str = "console.address";
/// The authority of `crawler serve --proxy`.
pub const SERVE: &str = "serve";
/// The index for full text search.
pub const SEARCH: &str = "search";
/// The documents of the crawl, and what was told of them.
pub const FEED: &str = "feed";
/// The shipped checkpoint that counts, of a shard in a store.
pub const SHIPPED: &str = "shipped.json";
/// The registry as a node last saw it.
pub const REGISTRY: &str = "registry.json";
/// Checkpoints, with their number behind this.
pub const CHECKPOINT_PREFIX: &str = "checkpoint.g";
/// Hold logs, with the number of their checkpoint behind this.
pub const RESTS_PREFIX: &str = "rests.g";

/// Files of the directory of a crawl that a copy of it has too, though no checkpoint names them, where they are there.
pub const BESIDE_CHECKPOINTS: [&str; 3] = [IDENTITY, SETTINGS, dedup::FILE];

/// The directories that an entry is in. A crawl of one shard has both in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The directory of the crawl.
    Crawl,
    /// The directories of its shards.
    Shard,
    /// The directory of the crawl and the directories of its shards.
    Both,
    /// The directories of the shards, in a crawl that has several.
    OneOfSeveral,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A file.
    File,
    /// Files of this name with a number behind it.
    Numbered,
    /// A directory that opening makes.
    Directory,
    /// A directory that its owner makes when it needs it.
    Later,
    /// The directory of a DRUM store.
    Store(StoreName),
}

/// An entry of a crawl directory.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// The directories that it is in.
    pub place: Place,
    /// The kind of entry that it is.
    pub form: Form,
    /// True where nothing but a crawl puts files into it: such a file says that this is no new crawl.
    pub is_trace: bool,
}

impl Entry {
    /// Returns true where a file or directory of this `name` is one of this entry.
    pub fn has(&self, name: &str) -> bool {
        match self.form {
            Form::Numbered => name.strip_prefix(self.name).is_some_and(|number| number.parse::<u64>().is_ok()),
            _ => self.name == name,
        }
    }

    /// Returns true where it is a directory that is there in every crawl.
    pub fn is_made_at_opening(&self) -> bool {
        match self.form {
            Form::Directory => true,
            Form::Store(name) => name.is_always_there(),
            Form::File | Form::Numbered | Form::Later => false,
        }
    }

    /// Returns true where it is a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self.form, Form::Directory | Form::Later | Form::Store(_))
    }
}

/// The entries of the directory of a shard; the directory of a crawl of one shard has the entries of the crawl, too.
pub fn of_shard(shard: Shard) -> impl Iterator<Item = Entry> {
    ENTRIES.into_iter().filter(move |entry| match entry.place {
        Place::Crawl => shard.is_whole(),
        Place::Shard | Place::Both => true,
        Place::OneOfSeveral => !shard.is_whole(),
    })
}

/// The entries of the directory of a crawl that has several shards.
pub fn of_crawl() -> impl Iterator<Item = Entry> {
    ENTRIES.into_iter().filter(|entry| matches!(entry.place, Place::Crawl | Place::Both))
}

const fn file(name: &'static str, place: Place) -> Entry {
    Entry { name, place, form: Form::File, is_trace: false }
}

const fn directory(name: &'static str, form: Form, place: Place) -> Entry {
    Entry { name, place, form, is_trace: true }
}

const fn store(name: StoreName) -> Entry {
    Entry { name: name.dir_name(), place: Place::Shard, form: Form::Store(name), is_trace: true }
}

/// The list.
pub const ENTRIES: [Entry; 31] = [
    file(disk::LOCK_FILE, Place::Both),
    file(SOCKET, Place::Crawl),
    Entry { is_trace: false, ..directory(SOCKET_MADE, Form::Later, Place::Crawl) },
    Entry { is_trace: true, ..file(IDENTITY, Place::Both) },
    file(IDENTITY_MADE, Place::Crawl),
    file(STATUS, Place::Both),
    file(SETTINGS, Place::Crawl),
    directory(SEEDS, Form::Later, Place::Both),
    Entry { is_trace: false, ..directory(CATALOG, Form::Later, Place::Crawl) },
    Entry { is_trace: false, ..directory(CATALOG_DAMAGED, Form::Later, Place::Crawl) },
    Entry { name: CHECKPOINT_PREFIX, place: Place::Shard, form: Form::Numbered, is_trace: true },
    Entry { name: RESTS_PREFIX, place: Place::Shard, form: Form::Numbered, is_trace: true },
    store(StoreName::Seen),
    store(StoreName::Robots),
    store(StoreName::Dns),
    store(StoreName::Visits),
    store(StoreName::Support),
    directory(FRONTIER, Form::Directory, Place::Shard),
    directory(CALENDAR, Form::Later, Place::Shard),
    directory(PAGES, Form::Directory, Place::Shard),
    directory(LINKS, Form::Directory, Place::OneOfSeveral),
    Entry { is_trace: false, ..directory(LOGS, Form::Directory, Place::Shard) },
    Entry { is_trace: false, ..directory(REPORTS, Form::Directory, Place::Both) },
    file(METRICS_ADDRESS, Place::Crawl),
    file(CONSOLE_ADDRESS, Place::Crawl),
    Entry { is_trace: false, ..directory(SERVE, Form::Later, Place::Crawl) },
    Entry { is_trace: false, ..directory(SEARCH, Form::Later, Place::Crawl) },
    Entry { is_trace: false, ..directory(FEED, Form::Later, Place::Crawl) },
    file(dedup::FILE, Place::Crawl),
    file(SHIPPED, Place::Shard),
    file(REGISTRY, Place::Crawl),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn formats_names_every_entry_and_no_other() {
        let formats = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FORMATS.md")).unwrap();
        let (table, _) = formats.split_once("## Header of every binary file").unwrap();
        let lines = table.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| !line.starts_with(' '));
        let columns = lines.map(|line| line.split("  ").next().unwrap_or_default());
        let named: BTreeSet<&str> = columns.flat_map(|names| names.split(' ')).collect();
        let is_named = |entry: &Entry| {
            named.iter().any(|name| match name.split_once('/') {
                Some((directory, _)) => entry.is_directory() && directory == entry.name,
                None => !entry.is_directory() && entry.has(name),
            })
        };
        let missing: Vec<&str> = ENTRIES.iter().filter(|entry| !is_named(entry)).map(|entry| entry.name).collect();
        assert!(missing.is_empty(), "not in docs/FORMATS.md: {missing:?}");
        let top = named.iter().map(|name| name.split('/').next().unwrap_or_default());
        let is_entry = |name: &&str| name.starts_with("shard-") || ENTRIES.iter().any(|entry| entry.has(name));
        let unknown: Vec<&str> = top.filter(|name| !is_entry(name)).collect();
        assert!(unknown.is_empty(), "not in the list: {unknown:?}");
    }

    #[test]
    fn what_is_copied_beside_checkpoints_is_a_file_of_the_crawl() {
        for name in BESIDE_CHECKPOINTS {
            assert!(of_crawl().any(|entry| entry.name == name && entry.form == Form::File), "{name}");
        }
    }

    #[test]
    fn every_store_is_an_entry() {
        let stores = ENTRIES.iter().filter_map(|entry| match entry.form {
            Form::Store(name) => Some(name),
            _ => None,
        });
        assert!(stores.eq(StoreName::ALL));
    }
}
