//! Checkpoints that come before their time, since the memory of new entries of the archive's index is used up; and how
//! little of them the catalog holds.

use super::*;
use crawler::catalog::SledCatalog;
use crawler::engine::checkpoint;

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
    let mut run = open_at(Rc::new(Tight { durable_after }), dir.path(), &Arc::default(), start);
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

/// Small sites before stores of as many buckets as a very large crawl has.
struct ManyBuckets;

impl Web for ManyBuckets {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        SmallSites.answer(url, now)
    }

    fn drum(&self) -> DrumOptions {
        DrumOptions { buckets: 8_192, ..DrumOptions::default() }
    }
}

#[test]
fn n02_a_checkpoint_of_stores_with_thousands_of_buckets_puts_no_blob_into_the_catalog() {
    let dir = tempfile::tempdir().unwrap();
    let start = Time::from_ms(1_000_000_000_000);
    let path = dir.path().join("catalog");
    let open = |start| {
        let catalog: Arc<dyn Catalog> = Arc::new(SledCatalog::open(&path).unwrap());
        let mut run = try_open(Rc::new(ManyBuckets), Disk::real(), dir.path(), catalog, start).unwrap();
        run.engine.seeder().admit_seed(&CanonicalUrl::parse(SEED).unwrap(), None).unwrap();
        run
    };
    let assert_small = || {
        let blobs: Vec<_> = std::fs::read_dir(path.join("blobs")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(blobs.is_empty(), "sled syncs none of {blobs:?}");
    };
    let mut first = open(start);
    assert_eq!(first.go_until(|run| run.record.borrow().cuts.len() >= 2), None);
    let (requests, now) = (first.requests(), first.clock.now());
    assert_small();
    drop(first);
    let (record, _) = checkpoint::newest(&Disk::real(), dir.path()).unwrap().unwrap();
    let bytes = postcard::to_stdvec(&record).unwrap().len();
    assert!(bytes > 128 << 10, "a record of {bytes} bytes is none that sled would put aside");
    let mut second = open(now);
    assert_eq!(second.go(usize::MAX), Some(Finish::Complete));
    assert_small();
    let mut pages = pages_of(&[requests, second.requests()].concat());
    pages.dedup();
    assert_eq!(pages, every_page());
}
