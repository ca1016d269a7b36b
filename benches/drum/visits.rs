//! The store of visits beside URL-seen: what a page costs that is fetched again, and what it would cost if URL-seen had
//! its value.
//!
//! A page's visit is a question with the URL that is due, and a new value. Nine of ten URLs that a crawl has seen were
//! never fetched: with values in URL-seen they would have one all the same.

use std::path::Path;
use std::time::Duration;

use crawler::calendar::{History, Visited};
use crawler::clock::Time;
use crawler::disk::{Disk, Result};
use crawler::drum::{Aux, Dispatcher, FrontOptions, Need, Store, Value};
use crawler::fingerprint::Fingerprint;

use crate::OPTIONS;
use crate::figures::{Process, directory_bytes};

/// URLs that are seen for each one that is fetched.
const SEEN_PER_PAGE: u64 = 10;
/// A URL that is due, with what earlier visits said.
const RECORD_BYTES: usize = 220;

/// Takes every result.
struct Taken(u64);

impl<V> Dispatcher<Fingerprint, V, Vec<u8>> for Taken {
    fn duplicate_key_check(&mut self, _: Fingerprint, _: V, _: Option<Vec<u8>>) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
}

/// Measures `pages` pages that are visited twice.
pub fn run(pages: u64, dir: &Path) -> Result<()> {
    println!("{:>34} {:>12} {:>14} {:>12}", "", "bytes a page", "CPU µs a page", "moved B");
    filled::<Visited>("visits, first of each page", (pages, 1), dir, visited)?;
    filled::<()>("URL-seen without values", (pages * SEEN_PER_PAGE, SEEN_PER_PAGE), dir, |_| ())?;
    filled::<Visited>("URL-seen with a value for each", (pages * SEEN_PER_PAGE, SEEN_PER_PAGE), dir, visited)?;
    Ok(())
}

fn visited(number: u64) -> Visited {
    let fetched = Time::from_ms(1_790_000_000_000 + number);
    let history = History { visits: 3.0, changes: 1.0, days: 20.0, changed_days: 4.0 };
    Visited {
        fetched,
        due: fetched + Duration::from_secs(86_400),
        history,
        is_gone: false,
        is_found: true,
        text: number as u32,
    }
}

fn key(number: u64) -> Fingerprint {
    Fingerprint::from_bits(
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9),
    )
}

/// Fills a store with `keys` keys, and visits each page of it once, where it is one of visits.
fn filled<V: Value>(what: &str, (keys, per_page): (u64, u64), dir: &Path, value: impl Fn(u64) -> V) -> Result<()> {
    let dir = dir.join("store");
    let front = FrontOptions { lru_entries: 1 << 16, bloom_memory: 1 << 20, bloom_fpr: 0.01 };
    let mut store: Store<V, Vec<u8>> = Store::open(Disk::real(), &dir, OPTIONS, front, None, &mut |_, _| {})?;
    let (pages, begin) = (keys / per_page, Process::now());
    for number in 0..keys {
        store.put(key(number), value(number))?;
        merge(&mut store, &mut Taken(0))?;
    }
    store.synchronize(&mut Taken(0))?;
    let spent = begin.until_now();
    let moved = |store: &Store<V, Vec<u8>>| store.drum_counters().bytes_written + store.drum_counters().bytes_read;
    let per_page_of = |amount: f64| amount / pages as f64;
    let before = moved(&store);
    println!(
        "{what:>34} {:>12.2} {:>14.3} {:>12.0}",
        per_page_of(directory_bytes(&dir) as f64),
        per_page_of(spent.cpu * 1e6),
        per_page_of(before as f64)
    );
    if per_page == 1 {
        let (begin, mut taken) = (Process::now(), Taken(0));
        let aux = vec![7; RECORD_BYTES];
        for number in 0..keys {
            store.ask(key(number), <Vec<u8> as Aux>::decode(&aux).expect("any bytes are one"))?;
            merge(&mut store, &mut taken)?;
            store.put(key(number), value(number + 1))?;
        }
        store.synchronize(&mut taken)?;
        let spent = begin.until_now();
        println!(
            "{:>34} {:>12} {:>14.3} {:>12.0}",
            "a visit: asked, and put again",
            "",
            per_page_of(spent.cpu * 1e6),
            per_page_of((moved(&store) - before) as f64)
        );
        println!("{} of {pages} were asked of the disk", taken.0);
    }
    drop(store);
    std::fs::remove_dir_all(&dir).expect("the directory is the benchmark's own");
    Ok(())
}

fn merge<V: Value>(store: &mut Store<V, Vec<u8>>, taken: &mut Taken) -> Result<()> {
    if let Some(job) = store.next_merge(Need::Threshold)? {
        store.finish_merge(job.run()?);
    }
    while store.dispatch(taken, 10_000)? > 0 {}
    for path in store.take_unneeded() {
        std::fs::remove_file(path).expect("the file is the benchmark's own");
    }
    Ok(())
}
