//! The record of the page that named a URL is read in key.dat by those who make the records, not by the engine.

use super::*;
use crawler::disk::simulated::SimulatedDisk;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const START: Time = Time::from_ms(1_000_000_000_000);

thread_local! {
    /// True if what happens now happens on another thread in a real crawl.
    static ELSEWHERE: Cell<bool> = const { Cell::new(false) };
}

/// Mark that what happens while it is there is no work of the engine's thread.
pub(super) struct Elsewhere;

impl Elsewhere {
    pub(super) fn enter() -> Self {
        ELSEWHERE.set(true);
        Elsewhere
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        ELSEWHERE.set(false);
    }
}

/// Small sites of which one host does not answer any more after its first pages.
struct Failing;

impl Web for Failing {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        SmallSites.answer(url, now)
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        if job.url.as_str() == "http://h3.test/7" {
            return Err(Failure::Timeout);
        }
        let (status, body) = self.answer(&job.url, now);
        Ok(Reply { status, headers: vec![("content-type", "text/html".to_owned())], body: body.into_bytes() })
    }
}

#[test]
fn n28_the_engine_reads_no_key_record_to_say_who_named_a_url() {
    let memory = SimulatedDisk::default();
    let (by_the_engine, elsewhere) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let counts = (Arc::clone(&by_the_engine), Arc::clone(&elsewhere));
    memory.observe_reads(move |path, _, _, _| {
        if path.ends_with("key.dat") {
            let count = if ELSEWHERE.get() { &counts.1 } else { &counts.0 };
            count.fetch_add(1, Relaxed);
        }
    });
    let mut run = try_open(Rc::new(Failing), memory.disk(), Path::new("/crawl"), START).unwrap();
    run.engine.seeder().admit_seed(&CanonicalUrl::parse(SEED).unwrap(), None).unwrap();
    let before = by_the_engine.load(Relaxed);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert_eq!(by_the_engine.load(Relaxed) - before, 0);
    let pages = pages_of(&run.requests()).len() as u64;
    let elsewhere = elsewhere.load(Relaxed);
    // the URLs of a page are mostly fetched one after the other
    assert!(elsewhere > 0 && elsewhere < pages, "{elsewhere} reads for {pages} requests");
    // every line of the log but that of the seed says who named its URL, also where no answer came
    let log = memory.get("/crawl/logs/crawl.log").unwrap();
    let log = String::from_utf8(log).unwrap();
    let nobody: Vec<&str> = log
        .lines()
        .filter(|line| !line.contains("/robots.txt") && !line.contains(" dns:"))
        .filter(|line| line.split_whitespace().nth(5) == Some("-"))
        .collect();
    assert_eq!(nobody.len(), 1, "{nobody:#?}");
    assert!(log.lines().any(|line| line.contains("http://h3.test/7") && line.contains("http://h3.test/3")), "{log}");
}
