//! Who named a URL is read in key.dat by those who make the records, not by the engine.

use super::*;
use crawler::disk::{Backend, Mode, RawFile};
use damage::MemoryDisk;
use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const START: Time = Time::from_ms(1_000_000_000_000);

thread_local! {
    /// Whether what happens now happens on another thread in a real crawl.
    static ELSEWHERE: Cell<bool> = const { Cell::new(false) };
}

/// As long as it is there, what happens is no work of the engine's thread.
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

/// A disk that counts how often key.dat is read: by the engine, and elsewhere.
#[derive(Clone, Debug, Default)]
struct Counting {
    disk: MemoryDisk,
    by_the_engine: Arc<AtomicU64>,
    elsewhere: Arc<AtomicU64>,
}

#[derive(Debug)]
struct CountingFile {
    file: Box<dyn RawFile>,
    counting: Counting,
}

impl Backend for Counting {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn RawFile>> {
        let file = self.disk.open(path, mode)?;
        let is_counted = path.file_name().is_some_and(|name| name == "key.dat");
        Ok(if is_counted { Box::new(CountingFile { file, counting: self.clone() }) } else { file })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.disk.free_bytes(dir)
    }
}

impl RawFile for CountingFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = if ELSEWHERE.get() { &self.counting.elsewhere } else { &self.counting.by_the_engine };
        count.fetch_add(1, Relaxed);
        self.file.read_at(buf, offset)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
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
    let counting = Counting::default();
    let disk = Disk::new(Arc::new(counting.clone()));
    let mut run =
        try_open(Rc::new(Failing), disk, Path::new("/crawl"), Arc::new(MemoryCatalog::default()), START).unwrap();
    run.engine.admit_seed(&CanonicalUrl::parse(SEED).unwrap(), None).unwrap();
    let before = counting.by_the_engine.load(Relaxed);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert_eq!(counting.by_the_engine.load(Relaxed) - before, 0);
    let pages = pages_of(&run.requests()).len() as u64;
    let elsewhere = counting.elsewhere.load(Relaxed);
    // the URLs of a page are mostly fetched one after the other
    assert!(elsewhere > 0 && elsewhere < pages, "{elsewhere} reads for {pages} requests");
    // every line of the log but that of the seed says who named its URL, also where no answer came
    let log = counting.disk.files().into_iter().find(|(path, _)| path.ends_with("logs/crawl.log")).unwrap().1;
    let log = String::from_utf8(log).unwrap();
    let nobody: Vec<&str> = log
        .lines()
        .filter(|line| !line.contains("/robots.txt") && !line.contains(" dns:"))
        .filter(|line| line.split_whitespace().nth(5) == Some("-"))
        .collect();
    assert_eq!(nobody.len(), 1, "{nobody:#?}");
    assert!(log.lines().any(|line| line.contains("http://h3.test/7") && line.contains("http://h3.test/3")), "{log}");
}
