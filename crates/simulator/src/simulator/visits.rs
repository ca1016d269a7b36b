//! Judgement of the calendar's records of pages by what the network has answered: which version a page has, when it was
//! found changed, how often it was compared. And of the archive: each version in it is one that was sent.

use std::collections::{BTreeMap, HashMap};

use super::clause::{Clause, Violation};
use super::machine::Machine;
use super::moment::is_final;
use super::network::by_web;
use crate::calendar::Past;
use crate::checkpoint;
use crate::clock::Time;
use crate::container::Reader;
use crate::disk::Error;
use crate::record::VisitCounts;

/// Weight that a visit keeps after another one, as the schedule has it.
const KEPT: f64 = 0.98;
/// Counts that went through the store of visits are that much less exact.
const ROUNDED: f64 = 0.15;

/// An answer that says what a page is.
struct Version {
    /// Time at which it was asked for, by the crawler's clock.
    at: Time,
    digest: [u8; 20],
    not_modified: bool,
    /// The part that the comparison of two versions should see: the digest, or nothing where text decides and stays the
    /// same.
    visible: [u8; 20],
}

/// All that the archive has of a page, oldest first.
type Versions = HashMap<String, Vec<Version>>;

/// Judges the records of the pages that are in the calendar, at the end of the crawl.
pub(super) fn judge(machine: &Machine, live: &BTreeMap<String, Past>) -> Result<(), Violation> {
    if !machine.network().web().does_change() {
        return Ok(());
    }
    let versions = versions(machine)?;
    let is_whole = machine.ends.iter().all(|end| end.clean);
    for (url, past) in live {
        let Some(known) = versions.get(url) else { continue };
        fits(machine, past, known, is_whole).map_err(|what| {
            let times: Vec<Time> = known.iter().map(|version| version.at).collect();
            Violation::new(Clause::OneOutcome, format!("{url}: {what}: {past:?}, answered at {times:?}"))
        })?;
    }
    counted(machine, &versions, is_whole)
}

/// Every answer in the archive that says what its page is, and has the payload that it had then.
fn versions(machine: &Machine) -> Result<Versions, Violation> {
    let unreadable = |error: Error| Violation::new(Clause::Sound, error.to_string());
    let network = machine.network();
    let by_text = machine.case().recrawl.as_ref().is_some_and(|recrawl| recrawl.by_text);
    let mut asked: HashMap<(&str, Time), Vec<u64>> = HashMap::new();
    for request in network.log.iter().filter(|request| request.status.is_some()) {
        asked.entry((&request.url, request.started)).or_default().push(request.start);
    }
    let mut versions = Versions::new();
    for pages in machine.archives() {
        for record in Reader::open(machine.disk(), &pages).map_err(unreadable)?.records() {
            let record = record.map_err(unreadable)?;
            let is_page = !record.robots && record.status < 400 && is_final(record.status, record.truncated);
            let is_known = network.web().expected().pages.get(&record.url);
            let Some(page) = is_known.filter(|_| is_page) else { continue };
            // a clock that was set back may have come to the same moment again
            let starts = asked.get(&(record.url.as_str(), record.time)).map_or(&[][..], Vec::as_slice);
            let digest_at = |start: u64| network.web().digest_at(&record.url, by_web(start)).unwrap_or(page.body_sha1);
            if !starts.iter().any(|&start| digest_at(start) == record.payload_sha1) {
                let what = format!("{} has another body than was sent at {:?}", record.url, record.time);
                return Err(Violation::new(Clause::NothingMissing, what));
            }
            let is_hidden = by_text && network.web().is_cosmetic(&record.url);
            let visible = if is_hidden { [0; 20] } else { record.payload_sha1 };
            let (digest, not_modified) = (record.payload_sha1, record.status == 304);
            versions.entry(record.url).or_default().push(Version { at: record.time, digest, not_modified, visible });
        }
    }
    Ok(versions)
}

/// Checks that `past` follows from these answers. Nothing was lost by a death if the crawl `is_whole`.
fn fits(machine: &Machine, past: &Past, versions: &[Version], is_whole: bool) -> Result<(), String> {
    // one that a replay has found may wait for its record
    let last = versions.iter().rposition(|version| is_at(version, past.fetched));
    let Some(last) = last.filter(|&last| !is_whole || last + 1 == versions.len()) else {
        return Err("that was not its last answer".to_owned());
    };
    let (versions, last) = (&versions[..=last], &versions[last]);
    if past.digest != last.digest {
        return Err("it has another payload than its last answer".to_owned());
    }
    let Some(changed) = versions.iter().position(|version| is_at(version, past.changed)) else {
        return Err("it was not looked at when it is said to have changed".to_owned());
    };
    // what a list of URLs says may stay the same, or become believed later
    if !past.is_map && versions[changed..].iter().any(|version| version.visible != last.visible) {
        return Err("it has changed later".to_owned());
    }
    let compared = versions.len().saturating_sub(1) as i32;
    let visits = KEPT * (1.0 - KEPT.powi(compared)) / (1.0 - KEPT);
    let found = f64::from(past.history.visits);
    let is_rounded = machine.case().web.changes.is_some_and(|changes| changes.dated_sitemaps);
    let slack = if is_rounded { 0.5 + ROUNDED * visits } else { 0.001 };
    if found > visits + slack || is_whole && found < visits - slack {
        return Err(format!("it was compared {compared} times, which counts as {visits}"));
    }
    let has_changed = versions.windows(2).any(|pair| pair[0].visible != pair[1].visible);
    if !past.is_map && is_whole && !is_rounded && has_changed != (past.history.changes > 0.0) {
        return Err(format!("changed: {has_changed}"));
    }
    Ok(())
}

/// Returns whether an answer was asked for at `time`, which went through the store of visits if it is a whole second.
fn is_at(version: &Version, time: Time) -> bool {
    version.at == time || time.ms() == version.at.ms() / 1_000 * 1_000
}

/// The counts of visits in the checkpoints match the answers.
fn counted(machine: &Machine, versions: &Versions, is_whole: bool) -> Result<(), Violation> {
    let mut counts = VisitCounts::default();
    for shard in machine.shards() {
        let unreadable = |error: Error| Violation::new(Clause::Sound, error.to_string());
        let newest = checkpoint::newest(&machine.disk(), &machine.dir_of(shard)).map_err(unreadable)?;
        let Some((_, sections)) = newest else { continue };
        let read = postcard::take_from_bytes::<VisitCounts>(&sections.schedule);
        let (read, _) = read.map_err(|error| Violation::new(Clause::Sound, error.to_string()))?;
        counts.same += read.same;
        counts.changed += read.changed;
        counts.not_modified += read.not_modified;
    }
    let network = machine.network();
    let (mut compared, mut not_modified, mut changed, mut uncertain) = (0, 0, 0, 0);
    for (url, versions) in versions {
        not_modified += versions.iter().filter(|version| version.not_modified).count() as u64;
        for pair in versions.windows(2) {
            compared += 1;
            let is_other = pair[0].visible != pair[1].visible;
            if network.web().is_sitemap(url) {
                uncertain += u64::from(is_other);
            } else {
                changed += u64::from(is_other);
            }
        }
    }
    let is_right = match is_whole {
        true => {
            counts.not_modified == not_modified
                && counts.same + counts.changed == compared
                && (changed..=changed + uncertain).contains(&counts.changed)
        }
        // what a death took is counted once more at most
        false => counts.not_modified <= not_modified && counts.same + counts.changed <= compared,
    };
    if is_right {
        return Ok(());
    }
    let what = format!(
        "{counts:?}, but {compared} answers were compared, {changed} to {} of them changed, {not_modified} by a 304",
        changed + uncertain
    );
    Err(Violation::new(Clause::OneOutcome, what))
}
