//! The answers of a crawl directory, in which a crawl may be running, to programs that ask.

mod page;
#[cfg(feature = "search")]
mod search;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::CrawlError;
use super::captures::StoredCaptures;
use super::explain;
use super::reports::coverage::coverage;
use crate::answers::question::{CapturesOf, DifferenceOf, ExplanationOf, LinksOf, Nothing, StoredAt, TextOf};
use crate::answers::{Answers, Capture, Captures, Difference, Links, Problem, Stored, Text};
use crate::archive::Page;
use crate::checkpoint::Identity;
use crate::clock::{Clock, SystemClock};
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::replay::{self, page_path};
use crate::stored;
use crate::text::figures::iso_ms;
use crate::web::url::CanonicalUrl;
use crate::web::warc_date;
use page::Wanted;

/// The time before now of whose changes a feed tells, if nothing else is asked for.
const CHANGES_SPAN: Duration = Duration::from_secs(7 * 86_400);

/// The archive in a crawl directory.
pub(super) struct StoredAnswers {
    dir: PathBuf,
    captures: Arc<StoredCaptures>,
    #[cfg(feature = "search")]
    search: search::Searching,
}

impl StoredAnswers {
    /// The archive in `dir`, of which others show these captures.
    pub(super) fn new(dir: &Path, captures: Arc<StoredCaptures>) -> StoredAnswers {
        StoredAnswers {
            dir: dir.to_owned(),
            captures,
            #[cfg(feature = "search")]
            search: search::Searching::new(dir),
        }
    }

    /// The versions of a URL; there is one at least.
    fn versions(&self, url: &str) -> Result<Versions, Problem> {
        let url = parsed(url)?;
        let found = self.captures.versions(&url).map_err(fault)?;
        match found.is_empty() {
            true => Err(Problem::Missing(format!("the archive has no capture of {}", url.as_str()))),
            false => Ok(Versions(found)),
        }
    }

    /// Reads the version of a URL that is nearest to a time.
    fn wanted(&self, url: &str, time: Option<&str>) -> Result<Wanted, Problem> {
        let versions = self.versions(url)?;
        versions.wanted(versions.nearest(time)?)
    }
}

/// The versions of a URL, the newest first.
struct Versions(Vec<Page>);

impl Versions {
    /// The place of the version nearest to `time`; without it, of the newest one with content or else of the newest.
    fn nearest(&self, time: Option<&str>) -> Result<usize, Problem> {
        let Some(time) = time else {
            return Ok(self.0.iter().position(is_content).unwrap_or(0));
        };
        let time = replay::moment(time).map_or_else(|| warc_date::since(time), Ok).map_err(Problem::Question)?;
        let distance = |at: &usize| self.0[*at].parts().2.time.ms().abs_diff(time.ms());
        Ok((0..self.0.len()).min_by_key(distance).unwrap_or(0))
    }

    /// The place of the newest version before the one at `to` that has other content; else of the one before it.
    fn before(&self, to: usize) -> Result<usize, Problem> {
        let is_other = |at: &usize| is_content(&self.0[*at]) && self.0[*at].digest_sha1() != self.0[to].digest_sha1();
        let mut older = to + 1..self.0.len();
        let none = || Problem::Missing("there is no capture before it".to_owned());
        older.clone().find(is_other).or_else(|| older.next()).ok_or_else(none)
    }

    fn wanted(&self, at: usize) -> Result<Wanted, Problem> {
        Wanted::read(&self.0[at])
    }
}

impl Answers for StoredAnswers {
    #[cfg(feature = "search")]
    fn search(&self, question: &crate::answers::SearchFor) -> Result<crate::answers::Searched, Problem> {
        self.search.search(question)
    }

    fn captures(&self, question: &CapturesOf) -> Result<Captures, Problem> {
        let versions = self.versions(&question.url)?;
        let shown = versions.0.iter().take(question.limit);
        Ok(Captures { total: versions.0.len(), captures: shown.map(capture).collect() })
    }

    fn stored(&self, question: &StoredAt) -> Result<Stored, Problem> {
        self.wanted(&question.url, question.time.as_deref())?.stored()
    }

    fn text(&self, question: &TextOf) -> Result<Text, Problem> {
        self.wanted(&question.url, question.time.as_deref())?.text(question)
    }

    fn links(&self, question: &LinksOf) -> Result<Links, Problem> {
        self.wanted(&question.url, question.time.as_deref())?.links(question)
    }

    fn difference(&self, question: &DifferenceOf) -> Result<Difference, Problem> {
        let versions = self.versions(&question.url)?;
        let to = versions.nearest(question.to.as_deref())?;
        let from = match &question.from {
            Some(time) => versions.nearest(Some(time))?,
            None => versions.before(to)?,
        };
        versions.wanted(from)?.difference(&versions.wanted(to)?, question.limit)
    }

    fn explanation(&self, question: &ExplanationOf) -> Result<Value, Problem> {
        explained(&self.dir, &question.url)
    }

    fn coverage(&self, _: &Nothing) -> Result<Value, Problem> {
        let disk = Disk::real();
        let found = CrawlDirs::open(&disk, &self.dir).and_then(|dirs| coverage(&disk, &dirs)).map_err(fault)?;
        let none = || Problem::Missing("the crawl has no checkpoint yet".to_owned());
        let found = found.ok_or_else(none)?;
        let mut json = serde_json::to_value(&found).map_err(fault)?;
        json["sentence"] = found.sentence().into();
        Ok(json)
    }

    fn changes(&self, since: Option<&str>) -> Result<Vec<u8>, Problem> {
        let now = SystemClock::new().now();
        let since = since.map_or_else(|| Ok(now - CHANGES_SPAN), warc_date::since).map_err(Problem::Question)?;
        let disk = Disk::real();
        let dirs = CrawlDirs::around(&disk, &self.dir).map_err(fault)?;
        let archive = stored::open(&disk, dirs.root()).map_err(fault)?;
        let feed = stored::newest_changes(&archive, since).map_err(fault)?;
        let id = Identity::read_copy(&disk, dirs.root()).map_err(fault)?.id;
        let name = dirs.root().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut xml = Vec::new();
        feed.write(id, &format!("Changes of {name}"), &iso_ms(since), &mut xml).map_err(fault)?;
        Ok(xml)
    }
}

/// Everything that the crawl in `dir` knows of a URL.
pub(super) fn explained(dir: &Path, url: &str) -> Result<Value, Problem> {
    let told = explain::explain(dir, &parsed(url)?, None).map_err(|error| match error {
        CrawlError::Usage(why) => Problem::Missing(why),
        error => fault(error),
    })?;
    serde_json::to_value(told).map_err(fault)
}

/// The URL that was asked for, as a crawl requests it.
pub(super) fn parsed(text: &str) -> Result<CanonicalUrl, Problem> {
    CanonicalUrl::parse(text.trim())
        .map_err(|error| Problem::Question(format!("this is not a URL with its scheme that can be crawled: {error}")))
}

fn fault(error: impl std::fmt::Display) -> Problem {
    Problem::Fault(error.to_string())
}

/// True for a page that is what was asked for.
fn is_content(page: &Page) -> bool {
    let record = page.parts().2;
    record.kind.is_none() && !record.robots && (matches!(record.status, 200..=299) || record.is_confirmed())
}

fn capture(page: &Page) -> Capture {
    let record = page.parts().2;
    let path = CanonicalUrl::parse(&record.url).map(|url| page_path(record.time, &url));
    Capture {
        url: record.url.clone(),
        captured: iso_ms(record.time),
        status: record.status,
        mime: record.mime.clone(),
        bytes: record.payload_bytes,
        revisit: record.is_revisit(),
        path: path.unwrap_or_default(),
    }
}
