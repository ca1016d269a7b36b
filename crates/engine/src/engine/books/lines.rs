//! The lines of crawl.log: a line for every attempt, with what the processing of an answer noticed and what its host
//! asks for.

use super::Books;
use crate::clock::Time;
use crate::container::Stored;
use crate::contract::{FetchFailed, Processed, Target};
use crate::disk::Result;
use crate::frontier::Hops;
use crate::outcome::{Failure, failure_of_answer};
use crate::record::{LogLine, SAME_TEXT};
use crate::web::robots::RobotsRules;

impl Books {
    /// An answer came, to a request for a page or for robots.txt.
    /// The result of a visit of a page that is fetched again is among the annotations.
    pub(crate) fn log_answer(
        &mut self,
        processed: &Processed,
        stored: &Stored,
        visit: Option<&str>,
        worker: u32,
    ) -> Result<()> {
        let (job, response) = (&processed.job, &processed.response);
        let (hops, seed) = history(&job.target);
        let seed_url = self.seed_url(seed)?;
        let mut notes = annotations(processed, stored);
        notes.extend(visit.map(str::to_owned));
        self.crawl_log.push(&LogLine {
            time: response.started + response.duration,
            status: i32::from(response.status),
            bytes: Some(processed.records.payload_bytes),
            url: job.url.as_str(),
            hops: hops.as_str(),
            via: job.via.url().unwrap_or_default(),
            mime: &processed.mime.to_ascii_lowercase(),
            worker,
            fetched: Some((response.started, response.duration)),
            sha1: Some(processed.records.payload_sha1),
            seed: &seed_url,
            annotations: &notes.iter().map(String::as_str).collect::<Vec<_>>(),
        })
    }

    /// None came; `status` is that of the line.
    pub(crate) fn log_failure(&mut self, failed: &FetchFailed, status: i32, worker: u32) -> Result<()> {
        let job = &failed.job;
        let (hops, seed) = history(&job.target);
        let seed_url = self.seed_url(seed)?;
        let (why, cause) = (failed.failure.to_string(), failed.cause.to_string());
        let finer = (cause != why).then_some(cause.as_str());
        let notes: Vec<&str> =
            is_forced(&job.target).then_some("forced").into_iter().chain([why.as_str()]).chain(finer).collect();
        self.crawl_log.push(&LogLine {
            time: failed.started + failed.duration,
            status,
            url: job.url.as_str(),
            hops: hops.as_str(),
            via: job.via.url().unwrap_or_default(),
            worker,
            // a request that was never made has no time
            fetched: failed.cause.is_contact().then_some((failed.started, failed.duration)),
            seed: &seed_url,
            annotations: &notes,
            ..LogLine::default()
        })
    }

    /// A lookup that brought no address has its own line: no URL of its host may ever get one with a reason.
    pub(crate) fn log_unresolved(&mut self, now: Time, name: &str, failure: Failure, worker: u32) -> Result<()> {
        self.crawl_log.push(&LogLine {
            time: now,
            status: failure.code(),
            url: &format!("dns:{name}"),
            worker,
            annotations: &[&failure.to_string()],
            ..LogLine::default()
        })
    }
}

/// Returns the way on which the target was found, and the seed that it descends from.
fn history(target: &Target) -> (&Hops, u32) {
    match target {
        Target::Page { url, .. } => (&url.hops, url.seed),
        Target::Robots { provenance, .. } | Target::Login { provenance, .. } | Target::Resource { provenance, .. } => {
            (&provenance.hops, provenance.seed)
        }
    }
}

fn is_forced(target: &Target) -> bool {
    matches!(target, Target::Page { url, .. } if url.forced)
}

/// Returns what crawl.log says after the columns: that it was seen before, which try it was, what cut the body short,
/// whether the archive had it already; and what its host asks for, which is kept to from then on.
fn annotations(processed: &Processed, stored: &Stored) -> Vec<String> {
    let (target, response) = (&processed.job.target, &processed.response);
    let mut notes = Vec::new();
    if is_forced(target) {
        notes.push("forced".to_owned());
    }
    if let Target::Page { url, .. } = target
        && url.attempts > 0
    {
        notes.push(format!("{}t", url.attempts + 1));
    }
    if let Some(truncated) = response.truncated {
        notes.push(format!("{}Trunc", truncated.as_str()));
    }
    if let Target::Robots { origin, .. } = target {
        let rules = processed.findings.rules.as_ref().filter(|_| (200..300).contains(&response.status));
        if let Some(delay) = rules.and_then(RobotsRules::crawl_delay) {
            notes.push(format!("crawlDelay:{}", delay.as_secs_f64()));
        }
        if **origin != processed.job.url.origin() {
            notes.push(format!("robotsOf:{origin}"));
        }
    }
    if let Some(wait) = processed.retry_after.filter(|_| response.speaks_of_load()) {
        notes.push(format!("retryAfter:{}", wait.as_secs_f64()));
    }
    if let Some(listing) = processed.findings.sitemap {
        notes.push(format!("{}:{}", listing.format.note(), listing.urls));
    }
    if let Some(rendered) = &processed.rendered {
        notes.push(rendered.note());
    }
    if let Some(converted) = &processed.converted {
        notes.push(converted.note());
    }
    let limits = processed.findings.limits;
    if limits.decoded {
        notes.push("decodedTrunc".to_owned());
    }
    if limits.links > 0 {
        notes.push(format!("linksDropped:{}", limits.links));
    }
    if limits.redirect {
        notes.push("redirectRefused".to_owned());
    }
    if limits.repeated {
        notes.push(SAME_TEXT.to_owned());
    }
    if stored.bytes == 0 {
        notes.push("notStored".to_owned());
    }
    if stored.saved.is_some() {
        notes.push("revisit".to_owned());
    }
    if stored.not_modified {
        notes.push("notModified".to_owned());
    }
    notes.extend(failure_of_answer(response.status, stored.not_modified).map(|failure| failure.to_string()));
    notes
}
