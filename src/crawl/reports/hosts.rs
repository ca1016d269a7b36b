//! The hosts report: a row a host name, over all its origins, judged by the log.
//!
//! The lines of crawl.log and the queue are sorted by host on disk, in bounded memory, so that it does not matter how
//! many hosts there are. The rows are ranked: those with violations first, then by requests. Where all are wanted, they
//! are sorted on disk once more; else the first ones are kept in memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;
use std::time::Duration;

use super::remaining;
use super::tally::{HostRow, Request, Rules, Tally};
use crate::clock::Time;
use crate::config::Config;
use crate::crawl::{options, sites, treatment};
use crate::dirs::CrawlDirs;
use crate::disk::sorter::{Sorted, Sorter};
use crate::disk::{Disk, Result};
use crate::record::log_files::for_each_line;
use crate::record::{CrawlLog, PolitenessNote, ReadLine, name_of};
use crate::web::site::SiteIndex;

/// Memory of each of the two sorters.
const SORTER_BYTES: usize = 32 << 20;
/// Letters of a digest that distinguish versions of a robots.txt.
const DIGEST_SHOWN: usize = 8;
/// Settings are noted when they change; more of them than this nobody reads.
const NOTES_MAX: usize = 100_000;

const KIND_RULES: u8 = 0;
const KIND_REQUEST: u8 = 1;
const KIND_REMAINING: u8 = 2;
/// Stands for no time.
const NONE: u64 = u64::MAX;

/// All hosts together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Hosts that were asked or have URLs that wait.
    pub hosts: u64,
    /// Requests.
    pub requests: u64,
    /// The smallest gap of all.
    pub gap_min_ms: Option<u64>,
    /// The most requests that a host had in progress at once.
    pub peak: u64,
    /// Answers with a Retry-After, and those that it was not kept to.
    pub retry_after: (u64, u64),
    /// Requests that came too early.
    pub violations: u64,
    /// URLs that wait.
    pub remaining: u64,
    /// Faults by which parts of the queue could not be read.
    pub faults: Vec<String>,
}

impl Totals {
    fn add(&mut self, row: &HostRow) {
        self.hosts += 1;
        self.requests += row.requests;
        self.gap_min_ms = self.gap_min_ms.into_iter().chain(row.gap_min_ms).min();
        self.peak = self.peak.max(row.peak);
        self.retry_after.0 += row.retry_after;
        self.retry_after.1 += row.retry_after_broken;
        self.violations += row.violations;
        self.remaining += row.remaining;
    }
}

/// Calls `each` with the row of every host of the crawl in these directories, or of the first `hosts_max` alone; the
/// totals count all.
pub(super) fn for_each(
    disk: &Disk,
    dirs: &CrawlDirs,
    hosts_max: Option<usize>,
    each: &mut dyn FnMut(&HostRow) -> std::result::Result<(), super::ReportError>,
) -> std::result::Result<Totals, super::ReportError> {
    let mut sorter = Sorter::new(SORTER_BYTES);
    let mut totals = Totals::default();
    for dir in dirs.shards() {
        totals.faults.extend(remaining::for_each_host(disk, dir, &mut |origin, urls| {
            sorter.push(&key(name_of(origin), urls, KIND_REMAINING))
        })?);
        for_each_line(disk, &CrawlLog::path(dir), &mut |line| {
            ReadLine::parse(line).map_or(Ok(()), |line| push_line(&mut sorter, &line))
        })?;
    }
    let notes = Notes::read(disk, dirs)?;
    let mut ranked = Ranked::new(hosts_max);
    by_host(sorter.finish()?, &notes, &mut |row| {
        totals.add(&row);
        ranked.push(rank(&row))
    })?;
    ranked.for_each(
        &mut |line| match serde_json::from_slice::<HostRow>(line.get(RANK_BYTES..).unwrap_or_default()) {
            Ok(row) => each(&row),
            Err(_) => Ok(()),
        },
    )?;
    Ok(totals)
}

/// Rows by their rank.
enum Ranked {
    /// All of them, sorted on disk.
    All(Sorter),
    /// The first ones, of which the last is on top.
    First { rows: BinaryHeap<Vec<u8>>, most: usize },
}

impl Ranked {
    fn new(hosts_max: Option<usize>) -> Self {
        match hosts_max {
            None => Ranked::All(Sorter::new(SORTER_BYTES)),
            Some(most) => Ranked::First { rows: BinaryHeap::new(), most },
        }
    }

    fn push(&mut self, row: Vec<u8>) -> Result<()> {
        match self {
            Ranked::All(sorter) => sorter.push(&row)?,
            Ranked::First { rows, most } => {
                rows.push(row);
                if rows.len() > *most {
                    rows.pop();
                }
            }
        }
        Ok(())
    }

    fn for_each(
        self,
        each: &mut dyn FnMut(&[u8]) -> std::result::Result<(), super::ReportError>,
    ) -> std::result::Result<(), super::ReportError> {
        match self {
            Ranked::All(sorter) => {
                let mut sorted = sorter.finish()?;
                while let Some(line) = sorted.next()? {
                    each(line)?;
                }
                Ok(())
            }
            Ranked::First { rows, .. } => rows.into_sorted_vec().iter().try_for_each(|row| each(row)),
        }
    }
}

const RANK_BYTES: usize = 16;

/// A row with what it is sorted by before it: many violations, then many requests, then the name.
fn rank(row: &HostRow) -> Vec<u8> {
    let mut line = (!row.violations).to_be_bytes().to_vec();
    line.extend((!row.requests).to_be_bytes());
    line.extend(serde_json::to_vec(row).expect("a row consists of plain data"));
    line
}

/// The settings by which requests were made, shard by shard.
struct Notes<'a> {
    dirs: &'a CrawlDirs,
    by_shard: Vec<Vec<PolitenessNote>>,
    /// Settings for some hosts only, by the numbers of the shard and of the note.
    of_sites: BTreeMap<(usize, usize), (Config, SiteIndex)>,
}

impl Notes<'_> {
    fn read<'a>(disk: &Disk, dirs: &'a CrawlDirs) -> Result<Notes<'a>> {
        let by_shard = dirs.shards().iter().map(|dir| notes(disk, dir, dirs.home())).collect::<Result<_>>()?;
        let by_shard: Vec<Vec<PolitenessNote>> = by_shard;
        let mut of_sites = BTreeMap::new();
        for (shard, notes) in by_shard.iter().enumerate() {
            for (number, note) in notes.iter().enumerate() {
                let Some(excerpt) = note.sites.clone() else { continue };
                let Ok(config) = serde_json::from_value::<Config>(excerpt) else { continue };
                let Ok(index) = sites::index(&config) else { continue };
                of_sites.insert((shard, number), (config, index));
            }
        }
        Ok(Notes { dirs, by_shard, of_sites })
    }

    /// Returns the notes of the shard that owns the host of this name, as they held for it.
    fn of(&self, host: &str) -> Cow<'_, [PolitenessNote]> {
        let is_sharded = self.dirs.is_sharded();
        let place = if is_sharded { self.dirs.place_of_text(&format!("http://{host}/")) } else { 0 };
        let mut notes = Cow::Borrowed(&*self.by_shard[place]);
        for ((_, number), (config, index)) in self.of_sites.range((place, 0)..(place + 1, 0)) {
            let tables = index.of_host(host.trim_matches(['[', ']']));
            if !tables.is_empty() {
                let of_site = treatment::of(&sites::overlaid(config, &tables)).politeness;
                notes.to_mut()[*number].politeness = of_site;
            }
        }
        notes
    }
}

/// The settings by which the shard in `dir` made requests, the oldest first; where none were noted, the settings of the
/// last run, which are in `home`.
fn notes(disk: &Disk, dir: &Path, home: &Path) -> Result<Vec<PolitenessNote>> {
    let mut notes: Vec<PolitenessNote> = Vec::new();
    for_each_line(disk, &CrawlLog::notes_path(dir), &mut |line| {
        if notes.len() < NOTES_MAX {
            notes.extend(serde_json::from_slice::<PolitenessNote>(line));
        }
        Ok(())
    })?;
    if notes.is_empty() {
        let config = options::read_copy(disk, home)?.unwrap_or_default();
        let politeness = options::frontier(&config, 1).politeness;
        notes.push(PolitenessNote { since: Time::ZERO, politeness, sites: None });
    }
    notes.sort_by_key(|note| note.since);
    Ok(notes)
}

/// `host NUL time kind`: the lines of a host are together, in the order of time.
fn key(host: &str, time: u64, kind: u8) -> Vec<u8> {
    let mut line = Vec::with_capacity(host.len() + 64);
    line.extend_from_slice(host.as_bytes());
    line.push(0);
    line.extend_from_slice(&time.to_be_bytes());
    line.push(kind);
    line
}

fn push_line(sorter: &mut Sorter, line: &ReadLine<'_>) -> Result<()> {
    let (Some(origin), Some((started, took))) = (line.origin(), line.fetched) else { return Ok(()) };
    let retry_after = line.seconds("retryAfter");
    let mut request = key(name_of(origin), started.ms(), KIND_REQUEST);
    for number in [ms(took), line.bytes.unwrap_or(0), retry_after.map_or(NONE, ms)] {
        request.extend_from_slice(&number.to_le_bytes());
    }
    request.extend_from_slice(&line.status.to_le_bytes());
    request.push(u8::from(line.is_prerequisite()));
    request.extend_from_slice(origin.as_bytes());
    sorter.push(&request)?;
    let brings_rules = matches!(line.status, 200..300 | 400..=428 | 430..500);
    if !line.is_robots() || !brings_rules {
        return Ok(());
    }
    // what is owed after this request follows from them already; elsewhere they are known when it has ended
    let (of, since) = match line.annotation("robotsOf") {
        None => (origin, started),
        Some(first) => (first, started + took),
    };
    let mut rules = key(name_of(of), since.ms(), KIND_RULES);
    rules.extend_from_slice(&line.seconds("crawlDelay").map_or(NONE, ms).to_le_bytes());
    rules.extend_from_slice(line.status.to_string().as_bytes());
    if let Some(digest) = line.sha1.and_then(|digest| digest.get(..DIGEST_SHOWN)).filter(|_| line.status < 300) {
        rules.extend_from_slice(b":");
        rules.extend_from_slice(digest.as_bytes());
    }
    rules.push(0);
    rules.extend_from_slice(of.as_bytes());
    sorter.push(&rules)
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(NONE - 1)
}

/// A row host by host.
fn by_host(mut sorted: Sorted, notes: &Notes<'_>, each: &mut dyn FnMut(HostRow) -> Result<()>) -> Result<()> {
    let mut current: Option<(Vec<u8>, Tally<'_>)> = None;
    while let Some(line) = sorted.next()? {
        let Some((host, event)) = memchr::memchr(0, line).map(|end| (&line[..end], &line[end + 1..])) else { continue };
        if current.as_ref().is_none_or(|(of, _)| of != host) {
            if let Some((_, tally)) = current.take() {
                each(tally.finish())?;
            }
            let name = String::from_utf8_lossy(host);
            current = Some((host.to_vec(), Tally::new(&name, notes.of(&name))));
        }
        if let Some((_, tally)) = &mut current {
            take_in(tally, event);
        }
    }
    current.map_or(Ok(()), |(_, tally)| each(tally.finish()))
}

/// Gives `tally` what [`push_line`] wrote behind the name.
fn take_in(tally: &mut Tally<'_>, event: &[u8]) -> Option<()> {
    let (time, rest) = event.split_first_chunk::<8>()?;
    let (time, (&kind, rest)) = (u64::from_be_bytes(*time), rest.split_first()?);
    let optional = |ms: u64| (ms != NONE).then(|| Duration::from_millis(ms));
    match kind {
        KIND_REMAINING => tally.remaining(time),
        KIND_RULES => {
            let (delay, version) = rest.split_first_chunk::<8>()?;
            let (version, origin) = version.split_at_checked(memchr::memchr(0, version)?)?;
            let version = String::from_utf8_lossy(version).into_owned();
            let origin = String::from_utf8_lossy(&origin[1..]).into();
            tally.rules(Rules { origin, version, crawl_delay: optional(u64::from_le_bytes(*delay)) });
        }
        _ => {
            let (numbers, rest) = rest.split_at_checked(24)?;
            let (numbers, _) = numbers.as_chunks::<8>();
            let [took, bytes, retry_after] = [0, 1, 2].map(|n| u64::from_le_bytes(numbers[n]));
            let (status, rest) = rest.split_first_chunk::<4>()?;
            let (&is_robots, origin) = rest.split_first()?;
            tally.request(&Request {
                origin: &String::from_utf8_lossy(origin),
                started: Time::from_ms(time),
                took: Duration::from_millis(took),
                status: i32::from_le_bytes(*status),
                bytes,
                is_robots: is_robots == 1,
                retry_after: optional(retry_after),
            });
        }
    }
    Some(())
}
