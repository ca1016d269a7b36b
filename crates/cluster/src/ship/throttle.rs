//! A disk that is read no faster than it may be sent.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::{Backend, Disk, Mode, RawFile};

/// Bound of the speed of all that read at the same time.
#[derive(Debug)]
pub(super) struct Throttle {
    bytes_per_second: u64,
    /// Reading for checksums is free.
    is_on: AtomicBool,
    /// Time at which everything that was read until now may have been sent.
    paid_to: Mutex<Option<Instant>>,
}

impl Throttle {
    pub(crate) fn new(bytes_per_second: u64) -> Arc<Throttle> {
        let (is_on, paid_to) = (AtomicBool::new(false), Mutex::new(None));
        Arc::new(Throttle { bytes_per_second: bytes_per_second.max(1), is_on, paid_to })
    }

    /// Lets reading take its time from now on, or not.
    pub(crate) fn turn(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// `disk`, read at that pace.
    pub(crate) fn over(self: &Arc<Self>, disk: &Disk) -> Disk {
        Disk::new(Arc::new(Slowed { disk: disk.clone(), throttle: self.clone() }))
    }

    fn pay(&self, bytes: usize) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        let takes = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        let mut paid_to = self.paid_to.lock().unwrap_or_else(PoisonError::into_inner);
        let from = paid_to.unwrap_or_else(Instant::now).max(Instant::now());
        *paid_to = Some(from + takes);
        drop(paid_to);
        std::thread::sleep(from.saturating_duration_since(Instant::now()));
    }
}

#[derive(Debug)]
struct Slowed {
    disk: Disk,
    throttle: Arc<Throttle>,
}

#[derive(Debug)]
struct SlowedFile {
    file: Box<dyn RawFile>,
    throttle: Arc<Throttle>,
}

impl Backend for Slowed {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn RawFile>> {
        let file = self.disk.backend().open(path, mode)?;
        Ok(Box::new(SlowedFile { file, throttle: self.throttle.clone() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.backend().rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.backend().remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.disk.backend().create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.disk.backend().list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.backend().sync_dir(dir)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.disk.backend().free_bytes(dir)
    }
}

impl RawFile for SlowedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let found = self.file.read_at(buf, offset)?;
        self.throttle.pay(found);
        Ok(found)
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
