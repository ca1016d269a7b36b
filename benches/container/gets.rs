//! Pages looked up by their URLs, in random order.

use std::path::Path;
use std::time::Instant;

use crawler::container::Reader;
use crawler::disk::{Disk, Result};

use crate::pages::Pages;

pub const GETS: usize = 10_000;

/// Times of the gets.
pub struct Gets {
    pub seconds: f64,
    /// Microseconds of the median, and of the slowest but 1 %.
    pub p50: f64,
    pub p99: f64,
    /// Reads that the kernel was asked for, a get.
    pub reads: f64,
}

/// Returns the numbers of the pages that are looked up, each read once and in full.
pub fn numbers(pages: u64) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(11);
    (0..GETS).map(|_| random.u64(..pages)).collect()
}

/// Gets the pages with these numbers from the container in `dir`.
pub fn get_all(pages: &Pages, numbers: &[u64], dir: &Path) -> Result<Gets> {
    let reader = Reader::open(Disk::real(), dir)?;
    let names: Vec<_> = numbers.iter().map(|&number| pages.name(number)).collect();
    let mut micros = Vec::with_capacity(names.len());
    let (reads_before, begin) = (read_calls(), Instant::now());
    let mut before = begin;
    for (url, key) in &names {
        let record = reader.newest(*key, url)?.unwrap_or_else(|| panic!("{url} was stored"));
        let response = reader.response(&record)?;
        assert_eq!(response.body.len() as u64, record.payload_bytes, "{url}");
        let now = Instant::now();
        micros.push((now - before).as_secs_f64() * 1e6);
        before = now;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let reads = (read_calls() - reads_before) as f64 / names.len() as f64;
    micros.sort_by(f64::total_cmp);
    Ok(Gets { seconds, p50: micros[micros.len() / 2], p99: micros[micros.len() * 99 / 100], reads })
}

/// Microseconds a get of what no get can do without, each step over all pages by itself.
pub struct Least {
    /// The key record, found by the URL.
    pub find: f64,
    /// The bytes of the value, read by one call.
    pub read: f64,
    /// These bytes inflated and their checksum compared, in one call, into memory that is there.
    pub inflate: f64,
}

/// Does the steps of [`get_all`] one after the other.
pub fn least(pages: &Pages, numbers: &[u64], dir: &Path) -> Result<Least> {
    let reader = Reader::open(Disk::real(), dir)?;
    let names: Vec<_> = numbers.iter().map(|&number| pages.name(number)).collect();
    let micros = |begin: Instant| begin.elapsed().as_secs_f64() * 1e6 / names.len() as f64;
    let begin = Instant::now();
    let mut records = Vec::with_capacity(names.len());
    for (url, key) in &names {
        records.push(reader.newest(*key, url)?.unwrap_or_else(|| panic!("{url} was stored")));
    }
    let find = micros(begin);
    let begin = Instant::now();
    let mut values = Vec::with_capacity(names.len());
    for record in &records {
        values.push(reader.warc(record)?);
    }
    let read = micros(begin);
    let (mut inflater, mut block) = (libdeflater::Decompressor::new(), vec![0; 1 << 20]);
    let begin = Instant::now();
    for value in &values {
        inflater.gzip_decompress(value, &mut block).expect("a member that is whole");
    }
    Ok(Least { find, read, inflate: micros(begin) })
}

/// Has the kernel forget what it cached of all files, if it lets us: only root may, and it slows the whole machine.
pub fn drop_caches() -> bool {
    // what is dirty is not dropped
    rustix::fs::sync();
    std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}

fn read_calls() -> u64 {
    let counters = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = counters.lines().find_map(|line| line.strip_prefix("syscr: "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}
