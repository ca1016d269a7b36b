//! Rules for a crawl that is complete: the crash contract, clause by clause.

use std::collections::{BTreeMap, BTreeSet};

use super::clause::{Clause, Violation};
use super::machine::Machine;
use super::moment::is_final;
use super::rendering::{PREFIX, shell};
use super::{again, outcomes, polite};
use crate::container::{KeyRecord, Reader, Report, Standing, verify};
use crate::record::Statistics;
use crate::warc::payload_sha1;

/// Judges a crawl that is complete.
pub(super) fn judge(machine: &Machine, statistics: &Statistics) -> Result<(), Violation> {
    polite::judge(machine)?;
    obeys(machine)?;
    cookies(machine)?;
    let found = archive(machine, statistics)?;
    if let Some(watch) = &machine.case().watch {
        again::judge(machine, watch)?;
    } else if machine.case().leaves_out() {
        outcomes::judge(machine, statistics, &found)?;
    } else {
        outcomes(machine, statistics)?;
    }
    if machine.case().support.is_on {
        machine.judge_support(true)?;
    }
    sound(machine)
}

fn cookies(machine: &Machine) -> Result<(), Violation> {
    let connections = machine.case().frontier.politeness.connections_per_host;
    let network = machine.network();
    network.walls().map_or(Ok(()), |walls| walls.judge(connections, machine.ends.len() + 1))
}

fn obeys(machine: &Machine) -> Result<(), Violation> {
    let network = machine.network();
    let expected = network.web().expected();
    let is_script = |url: &str| url.contains(PREFIX);
    let strange = network.log.iter().find(|request| !expected.may_request(&request.url) && !is_script(&request.url));
    strange.map_or(Ok(()), |request| {
        Err(Violation::new(Clause::Obeys, format!("{} was asked for at {} ms", request.url, request.start)))
    })
}

/// The newest version of each URL is what the web has; without settings that leave URLs out, all of it is there.
fn archive(machine: &Machine, statistics: &Statistics) -> Result<BTreeMap<String, KeyRecord>, Violation> {
    let unreadable = |error: crate::disk::Error| Violation::new(Clause::Sound, error.to_string());
    let (mut found, mut readers) = (BTreeMap::new(), Vec::new());
    for (shard, pages) in machine.archives().iter().enumerate() {
        let reader = Reader::open(machine.disk(), pages).map_err(unreadable)?;
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            if record.robots || record.of_rendering {
                continue;
            }
            if let Some((other, _)) = found.insert(record.url.clone(), (shard, record.clone()))
                && other != shard
            {
                let what = format!("{} is in the archives of shards {other} and {shard}", record.url);
                return Err(Violation::new(Clause::NothingTwice, what));
            }
        }
        readers.push(reader);
    }
    // a budget may have been used up between two attempts
    found.retain(|_, (_, record)| !machine.case().leaves_out() || is_final(record.status, record.truncated));
    let network = machine.network();
    let expected = &network.web().expected().pages;
    for (url, (shard, record)) in &found {
        let Some(page) = expected.get(url) else {
            return Err(Violation::new(Clause::Obeys, format!("{url} is in the archive, and is no page of the web")));
        };
        // a page that changes is held to what was answered then
        let changes = machine.case().web.changes.is_some();
        let is_answer = record.status == page.status || changes && record.status == 304;
        let is_scripted = network.is_scripted(url);
        let sha1 = if is_scripted { payload_sha1(&shell(url)) } else { page.body_sha1 };
        if !is_answer || !changes && record.payload_sha1 != sha1 {
            let what = format!("{url} is in the archive as {} with another body than {}", record.status, page.status);
            return Err(Violation::new(Clause::NothingMissing, what));
        }
        if is_scripted && record.status == 200 {
            let stored = readers[*shard].page(record).map_err(unreadable)?;
            let conversion = stored.and_then(|stored| stored.conversion);
            let is_it = |dom: &String| payload_sha1(dom.as_bytes()) == page.body_sha1;
            if !record.is_rendered || !conversion.as_ref().is_some_and(is_it) {
                let what = format!(
                    "{url} is in the archive without what its rendering has made of it: {} {:?}",
                    record.is_rendered,
                    conversion.as_ref().map(String::len)
                );
                return Err(Violation::new(Clause::NothingMissing, what));
            }
        }
        let body = readers[*shard].response(record).map_err(unreadable)?.body;
        if body.len() as u64 != record.payload_bytes {
            let what = format!("{url}: {} bytes of {}", body.len(), record.payload_bytes);
            return Err(Violation::new(Clause::Sound, what));
        }
    }
    let missing = expected.keys().find(|url| !found.contains_key(*url));
    match missing.filter(|_| !machine.case().leaves_out()) {
        Some(url) => {
            let what = format!("{url} is not in the archive; dropped: {:?}", statistics.dropped);
            Err(Violation::new(Clause::NothingMissing, what))
        }
        None => Ok(found.into_iter().map(|(url, (_, record))| (url, record)).collect()),
    }
}

/// The counters, which are part of every checkpoint, count every URL once.
fn outcomes(machine: &Machine, statistics: &Statistics) -> Result<(), Violation> {
    let network = machine.network();
    let expected = network.web().expected();
    let known = expected.pages.len() + expected.disallowed.len() + expected.unfetched.len();
    let dropped: u64 = statistics.dropped.values().sum();
    let failed = statistics.unique.saturating_sub(statistics.pages_stored + dropped);
    let pairs = [
        ("URLs that were new", statistics.unique, known as u64),
        ("pages stored", statistics.pages_stored, expected.pages.len() as u64),
        ("URLs without an outcome", failed, 0),
    ];
    for (what, found, right) in pairs {
        if found != right {
            return Err(Violation::new(Clause::OneOutcome, format!("{what}: {found}, not {right}: {statistics:?}")));
        }
    }
    Ok(())
}

fn sound(machine: &Machine) -> Result<(), Violation> {
    let mut damage = Vec::new();
    let mut tell = |finding: &crate::container::Finding| {
        if finding.damage {
            damage.push(format!("{} at {}: {}", finding.file.display(), finding.offset, finding.what));
        }
    };
    for pages in machine.archives() {
        let mut quiet = |_, _| {};
        let mut report = Report::new(&mut tell, &mut quiet);
        let standing = Standing::Stopped { noted: None, clean: true };
        let verified = verify(&machine.disk(), &pages, &standing, None, &mut report);
        verified.map_err(|error| Violation::new(Clause::Sound, error.to_string()))?;
    }
    match damage.into_iter().next() {
        Some(found) => Err(Violation::new(Clause::Sound, found)),
        None => Ok(()),
    }
}

/// Hosts of the requests, for a report.
pub(super) fn hosts(machine: &Machine) -> usize {
    machine.network().log.iter().map(|request| request.host.clone()).collect::<BTreeSet<_>>().len()
}
