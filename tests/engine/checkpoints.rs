//! Checkpoints that come before their time, since the memory of new entries of the archive's index is used up.

use super::*;

/// New entries that the memory has room for.
const ROOM: usize = 10;
const WORKERS: usize = 3;
/// Bytes of one.
const SLOT_BYTES: usize = 49;
const HOUR: Duration = Duration::from_secs(3_600);

/// Small sites with a checkpoint an hour, and little memory for new entries; the disk takes its time.
struct Tight {
    durable_after: Duration,
}

impl Web for Tight {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        SmallSites.answer(url, now)
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.checkpoint_interval = HOUR;
        settings.slots.workers = WORKERS;
        settings.slots.slow = 0;
        frontier.politeness.delay_min = Duration::from_millis(10);
    }

    fn container(&self) -> ContainerOptions {
        ContainerOptions { slot_memory: 2 * ROOM * SLOT_BYTES, ..ContainerOptions::default() }
    }

    fn durable_after(&self) -> Duration {
        self.durable_after
    }
}

/// A whole crawl, and its requests from one checkpoint to the next.
fn crawl(durable_after: Duration) -> (Run, Vec<usize>) {
    let dir = tempfile::tempdir().unwrap();
    let start = Time::from_ms(1_000_000_000_000);
    let mut run = open_at(Rc::new(Tight { durable_after }), dir.path(), start);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert_eq!(pages_of(&run.requests()), every_page());
    let cuts = run.record.borrow().cuts.clone();
    let between = [0].iter().chain(&cuts).zip(&cuts).map(|(before, cut)| cut - before).collect();
    (run, between)
}

#[test]
fn a_checkpoint_comes_early_when_the_memory_of_new_entries_is_used_up() {
    let (run, between) = crawl(Duration::ZERO);
    assert!(between.iter().all(|&requests| requests <= ROOM + 2 * WORKERS), "{between:?}");
    assert!(between.len() >= run.requests().len() / (ROOM + 2 * WORKERS), "{between:?}");
}

#[test]
fn no_request_is_made_while_new_entries_wait_for_a_slow_disk() {
    let (run, between) = crawl(HOUR / 4);
    // what is under way when the memory is full is stored beyond it
    assert!(between.iter().all(|&requests| requests <= ROOM + 2 * WORKERS), "{between:?}");
    assert!(between.len() >= run.requests().len() / (ROOM + 2 * WORKERS), "{between:?}");
}
