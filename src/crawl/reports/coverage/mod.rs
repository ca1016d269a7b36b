//! Coverage: what a crawl has got of the URLs that it knows, and what it did not get.
//!
//! The share is that of URLs whose newest answer is content, of all that the crawl has admitted and that the operator's
//! own rules do not leave out: what links, sitemaps and feeds name in its scope. What waits is not got. A redirect is
//! not counted, since it leads to a URL that is.
//!
//! Answers are read in the index of the archive, what waits in the queue, and what had no answer in the figures of the
//! last checkpoint: all of them as that one knows them, so that they fit together while the crawl runs. Every admitted
//! URL is in exactly one place (`engine::Accounts`), and so in one row here.

mod answers;
mod table;

use std::collections::HashSet;
use std::path::Path;

use serde::Serialize;

use super::for_each_waiting;
use crate::archive::Archive;
use crate::dirs::CrawlDirs;
use crate::disk::{Disk, Result};
use crate::fingerprint::Fingerprint;
use crate::outcome::Reason;
use crate::record::Statistics;
use answers::Answers;
pub use answers::HostCoverage;
pub(super) use table::write;

/// Reasons for which a site, and no rule of the operator, keeps URLs from being asked for.
const OF_SITES: [Reason; 3] = [Reason::Robots, Reason::HostGivenUp, Reason::Login];

/// Bytes that are read where nobody asked for the coverage: some 500,000 URLs.
const QUICK_BYTES: u64 = 64 << 20;

/// A part of the known URLs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The name of the part.
    pub what: String,
    /// URLs in it.
    pub urls: u64,
    /// Options of `crawler`, or a file of the crawl directory, by which they are listed.
    pub list: String,
}

/// The coverage of a crawl.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// URLs that are known and not left out by the operator's rules.
    pub known: u64,
    /// Those whose newest answer is content.
    pub content: u64,
    /// Their share in percent, rounded down to a tenth; nothing where no URL is known.
    pub percent: Option<f64>,
    /// The others of the known ones.
    pub missing: Vec<Row>,
    /// URLs that are not counted: redirects, and what rules leave out that were admitted.
    pub uncounted: Vec<Row>,
    /// Links that the operator's rules leave out, by rule: the same URL counts as often as it is named.
    pub left_out: Vec<Row>,
    /// URLs that sitemaps and feeds name.
    pub in_sitemaps: u64,
    /// The hosts, those first that lack most.
    #[serde(skip)]
    pub hosts: Vec<HostCoverage>,
}

/// Bytes that [`coverage`] reads.
pub fn coverage_reads(disk: &Disk, dirs: &CrawlDirs) -> Result<u64> {
    let snapshot = dirs.snapshot(disk)?;
    Ok(snapshot.map_or(0, |snapshot| snapshot.stores.index.saturating_add(snapshot.stores.frontier)))
}

/// The coverage of the crawl in `dir` where that does not take long: at its end, and whenever somebody looks at it.
pub fn at_the_end(dir: &Path) -> Option<Coverage> {
    let disk = Disk::real();
    let found = CrawlDirs::open(&disk, dir).and_then(|dirs| match coverage_reads(&disk, &dirs)? {
        0..=QUICK_BYTES => coverage(&disk, &dirs),
        _ => Ok(None),
    });
    found.unwrap_or_else(|error| {
        tracing::warn!(%error, "how much was got cannot be computed");
        None
    })
}

/// The coverage of the crawl in `dirs`; `None` before its first checkpoint.
pub fn coverage(disk: &Disk, dirs: &CrawlDirs) -> Result<Option<Coverage>> {
    let Some(snapshot) = dirs.snapshot(disk)? else { return Ok(None) };
    let statistics = &snapshot.statistics;
    let mut waiting = Waiting::default();
    let (mut answers, open) = (Answers::default(), open(statistics));
    if open > 0 {
        for dir in dirs.shards() {
            for_each_waiting(disk, dir, &mut |urls| {
                for url in urls {
                    waiting.count(url.key, url.attempts, url.forced);
                    answers.wait(&url.url, url.forced);
                }
                Ok(())
            })?;
        }
    }
    if let Ok(archive) = Archive::open_on(disk, dirs.root()) {
        answers.read(archive.archives(), &waiting.tried)?;
    }
    answers.sort_hosts();
    Ok(Some(Coverage::of(statistics, answers, waiting.urls.max(open.saturating_sub(waiting.again)))))
}

/// URLs without an end.
fn open(statistics: &Statistics) -> u64 {
    let ends = &statistics.ends;
    let admitted = statistics.unique.saturating_add(ends.again);
    admitted.saturating_sub(statistics.pages_stored + ends.failed + ends.dropped)
}

/// URLs that wait in the queue.
#[derive(Default)]
struct Waiting {
    /// Those that have had no end yet.
    urls: u64,
    /// Those of which the archive has a page, that is visited again.
    again: u64,
    /// Keys of those that were tried: an answer that is stored is not their last.
    tried: HashSet<Fingerprint>,
}

impl Waiting {
    fn count(&mut self, key: Fingerprint, attempts: u8, is_again: bool) {
        if is_again {
            self.again += 1;
            return;
        }
        self.urls += 1;
        if attempts > 0 {
            self.tried.insert(key);
        }
    }
}

impl Coverage {
    fn of(statistics: &Statistics, answers: Answers, waiting: u64) -> Coverage {
        let ends = &statistics.ends;
        let by = |reason: &Reason| statistics.dropped.get(reason).copied().unwrap_or(0);
        let of_sites: u64 = OF_SITES.iter().map(by).sum();
        // a visit that brought no answer is not the end of a page that is there
        let failed = match ends.again {
            0 => ends.failed,
            _ => statistics.unique.saturating_sub(answers.urls() + ends.dropped + waiting).min(ends.failed),
        };
        let row = |what: &str, urls: u64, list: &str| Row { what: what.to_owned(), urls, list: list.to_owned() };
        let mut missing = answers.missing();
        missing.push(row("no answer", failed, "logs/crawl.log, status below 0"));
        let refused = OF_SITES.iter().map(|reason| row(reason.text(), by(reason), "logs/skipped.jsonl"));
        missing.extend(refused);
        missing.push(row("waiting", waiting, "report hosts, remaining"));
        missing.retain(|row| row.urls > 0);
        let known = answers.content + missing.iter().map(|row| row.urls).sum::<u64>();
        let mut uncounted = vec![
            row("redirects", answers.redirects, "list --status 3xx"),
            row("URLs that cannot exist", answers.missing_urls, "kinds.ask_missing"),
            row("left out in the queue", ends.dropped.saturating_sub(of_sites), "logs/skipped.jsonl"),
        ];
        uncounted.retain(|row| row.urls > 0);
        let rules = statistics.dropped.iter().filter(|(reason, _)| !OF_SITES.contains(reason));
        let left_out = rules.map(|(reason, &urls)| row(reason.text(), urls, reason.setting().unwrap_or_default()));
        let share = answers.content as f64 / known as f64;
        Coverage {
            known,
            content: answers.content,
            percent: (known > 0).then(|| (share * 1_000.0).floor() / 10.0),
            missing,
            uncounted,
            left_out: left_out.collect(),
            in_sitemaps: statistics.sitemap_urls,
            hosts: answers.hosts,
        }
    }

    /// The statement in one line.
    pub fn sentence(&self) -> String {
        use crate::text::figures::count;
        match self.percent {
            Some(percent) => {
                format!("{percent} %: {} of {} known URLs are content", count(self.content), count(self.known))
            }
            None => "no URL is known".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_admitted_url_is_in_one_row() {
        let mut statistics = Statistics { unique: 30, pages_stored: 20, sitemap_urls: 9, ..Statistics::default() };
        (statistics.ends.failed, statistics.ends.dropped) = (3, 4);
        for reason in [Reason::Robots, Reason::Robots, Reason::HostPages, Reason::HostGivenUp, Reason::Scope] {
            statistics.count_dropped(reason);
        }
        let answers = Answers { content: 12, redirects: 2, ..Answers::default() };
        let found = Coverage::of(&statistics, answers, open(&statistics));
        let rows: Vec<(&str, u64)> = found.missing.iter().map(|row| (row.what.as_str(), row.urls)).collect();
        assert_eq!(rows, [("no answer", 3), ("robots.txt", 2), ("host given up", 1), ("waiting", 3)]);
        assert_eq!((found.known, found.content, found.percent), (21, 12, Some(57.1)));
        let left_out: Vec<&str> = found.left_out.iter().map(|row| row.what.as_str()).collect();
        assert_eq!(left_out, ["out of scope", "page budget of its host"]);
        assert_eq!(found.uncounted.iter().map(|row| row.urls).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn nothing_is_claimed_of_a_crawl_that_knows_nothing() {
        let found = Coverage::of(&Statistics::default(), Answers::default(), 0);
        assert_eq!((found.percent, &*found.sentence()), (None, "no URL is known"));
    }
}
