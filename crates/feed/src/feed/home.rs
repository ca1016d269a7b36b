//! The directory of a feed, and the file that says which state counts.
//!
//! `feed.json` names the pass whose state counts, and the file of its URLs has that number in its name. A pass writes
//! the file of the next number, makes it durable, then replaces `feed.json`: so a kill leaves the state before the pass
//! or the one after it, and a file that nobody names is removed by the next pass.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{Error, Result};
use super::guard::{Allowed, Days};
use crate::dirs::CrawlDirs;
use crate::disk::{self, Disk};
use crate::record::layout;

/// The name of the file that says which state counts.
const HEAD: &str = "feed.json";
/// The names of files of URLs, before the number of the pass.
const URLS: &str = "urls.";
/// The names of files that a pass needs, before the rest of the name.
const SCRATCH: &str = "pass.";
/// The names of files in which the operator allows deletions, before a number.
const ALLOW: &str = "allow.";
/// The directory of sinks.
const SINKS: &str = "sinks";

/// A state of the feed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    /// 32 digits of hexadecimal. A feed that was begun again has another one.
    pub id: String,
    /// The last pass; 0 before the first.
    pub pass: u64,
    /// The cursor behind the last answer that it took.
    pub cursor: String,
    /// Acts of `crawler forget` that it knows.
    pub forgotten: usize,
    /// The rules by which it left URLs out.
    pub rules: u64,
    /// The share of their texts that near-duplicates have in common, where these are looked for.
    pub near_duplicates: Option<f64>,
    /// Documents that consumers have.
    pub documents: u64,
    /// Hosts that lost documents within a day, or whose deletions wait for the operator.
    pub days: Days,
}

/// The directory.
#[derive(Clone, Debug)]
pub(super) struct Home {
    dir: PathBuf,
    disk: Disk,
}

impl Home {
    /// That of the crawl in `root`.
    pub fn of(disk: &Disk, root: &Path) -> Home {
        Home { dir: root.join(layout::FEED), disk: disk.clone() }
    }

    /// That of the crawl around `dir`.
    pub fn around(dir: &Path) -> Result<Home> {
        let disk = Disk::real();
        Ok(Home::of(&disk, CrawlDirs::around(&disk, dir)?.root()))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Makes the directory.
    pub fn create(&self, root: &Path) -> Result<()> {
        disk::refuse_links(root, &[layout::FEED])?;
        self.disk.create_dir_all(&self.dir)?;
        Ok(())
    }

    /// The state that counts; nothing before the first pass.
    pub fn head(&self) -> Result<Option<Head>> {
        let path = self.dir.join(HEAD);
        let content = match self.disk.read(&path) {
            Err(error) if error.is_not_found() => return Ok(None),
            content => content?,
        };
        let damaged =
            |error: serde_json::Error| disk::Error::damaged(&path, 0, "the state of a feed", error.to_string());
        Ok(Some(serde_json::from_slice(&content).map_err(damaged)?))
    }

    /// The state that counts, for readers.
    pub fn require_head(&self) -> Result<Head> {
        self.head()?.filter(|head| head.pass > 0).ok_or_else(|| Error::NoFeed(self.dir.clone()))
    }

    /// Has this state count. What it names is durable.
    pub fn commit(&self, head: &Head) -> Result<()> {
        self.disk.sync_dir(&self.dir)?;
        let json = serde_json::to_vec_pretty(head).expect("numbers and texts always have a JSON form");
        self.disk.replace(&self.dir.join(HEAD), &json)?;
        Ok(())
    }

    /// The file with the URLs after a pass.
    pub fn urls(&self, pass: u64) -> PathBuf {
        self.dir.join(format!("{URLS}{pass}"))
    }

    /// The file of a pass with the URLs and their new answers.
    pub fn merged(&self) -> PathBuf {
        self.scratch("merged")
    }

    /// The same with what these answers say.
    pub fn facts(&self) -> PathBuf {
        self.scratch("facts")
    }

    /// The file of a pass with the ends of leads.
    pub fn outcomes(&self) -> PathBuf {
        self.scratch("outcomes")
    }

    /// The file of a pass with the documents that are nearly the same as another one.
    pub fn near(&self) -> PathBuf {
        self.scratch("near")
    }

    /// The file of a pass with the other URLs of documents.
    pub fn others(&self) -> PathBuf {
        self.scratch("others")
    }

    fn scratch(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{SCRATCH}{name}"))
    }

    /// The directory of the sink of this name.
    pub fn of_sink(&self, name: &str) -> PathBuf {
        self.dir.join(SINKS).join(name)
    }

    /// Notes that the operator allows deletions, for the next pass of any process.
    pub fn allow(&self, allowed: &Allowed) -> Result<()> {
        let path = self.dir.join(format!("{ALLOW}{:016x}", fastrand::u64(..)));
        let json = serde_json::to_vec(allowed).expect("a name always has a JSON form");
        Ok(self.disk.replace(&path, &json)?)
    }

    /// The files in which the operator allows deletions, each with what it allows.
    pub fn allowed(&self) -> Result<Vec<(PathBuf, Allowed)>> {
        let mut all = Vec::new();
        for name in self.disk.list(&self.dir)?.into_iter().filter(|name| name.starts_with(ALLOW)) {
            let path = self.dir.join(name);
            let damaged = |error: serde_json::Error| {
                disk::Error::damaged(&path, 0, "a host whose documents go", error.to_string())
            };
            let allowed = serde_json::from_slice(&self.disk.read(&path)?).map_err(damaged)?;
            all.push((path, allowed));
        }
        Ok(all)
    }

    /// Removes the files that the state after `pass` does not name.
    pub fn sweep(&self, pass: u64) -> Result<()> {
        let kept = format!("{URLS}{pass}");
        for name in self.disk.list(&self.dir)? {
            if name.starts_with(URLS) && name != kept || name.starts_with(SCRATCH) {
                self.disk.remove(&self.dir.join(name))?;
            }
        }
        Ok(())
    }
}
