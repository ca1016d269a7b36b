//! `cargo bench --bench calendar`: what the recrawl calendar costs a visit.
//!
//! Ten million pages (`-- --pages N` for another number) with records of some 220 bytes, which have a URL, the keys of
//! a queued URL and what earlier visits said. 1 % of the pages are looked at every 1 to 24 hours, 9 % every 1 to 7
//! days, 40 % every 7 to 30 days and half of them every 30 to 90 days. Time is virtual: the wheel is asked at the times
//! that it names.
//!
//! - `one turn`: each page is put down at the beginning, and comes out once.
//! - `90 days` (`-- --again N`, a tenth of the pages unless said otherwise): pages are spread over their intervals, and
//!   each is put down again whenever it comes out.
//!
//! A cut is taken every virtual hour, and what it supersedes removed; nothing is synced. Bytes and calls are counted by
//! the wheel, and beside that by the system (/proc/self/io); CPU is that of the process, user and system, with the
//! making of records, which is a copy. The longest call is one of `next_read` and `finish_read`, by the CPU time of its
//! thread. Memory is the peak of what is resident.

use std::path::Path;
use std::time::Duration;

use crawler::calendar::wheel::Figures;
use crawler::calendar::{History, Past, Wheel, WheelOptions};
use crawler::clock::Time;
use crawler::disk::{Disk, Ledger};
use crawler::web::validators::Validators;

const START: Time = Time::from_ms(1_700_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
/// Kinds of records that differ in length.
const KINDS: u64 = 4_096;

fn main() {
    let number = |name: &str| {
        let words: Vec<String> = std::env::args().collect();
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse::<u64>().ok()
    };
    let pages = number("--pages").unwrap_or(10_000_000);
    let again = number("--again").unwrap_or(pages / 10);
    let records: Vec<Vec<u8>> = (0..KINDS).map(record).collect();
    let mean = records.iter().map(Vec::len).sum::<usize>() as f64 / KINDS as f64;
    println!("records of {mean:.0} bytes on average");
    Run::new(&records).report("one turn", pages, Repeat::Once);
    if again > 0 {
        Run::new(&records).report("90 days", again, Repeat::Until(START + DAY * 90));
    }
}

/// The way in which a page is put down again when it comes out: not at all, or until a time.
#[derive(Clone, Copy, PartialEq)]
enum Repeat {
    Once,
    Until(Time),
}

/// A wheel in a directory of the temporary files.
struct Run<'a> {
    records: &'a [Vec<u8>],
    /// Removed with the run.
    _dir: tempfile::TempDir,
    disk: Disk,
    wheel: Wheel,
    ledger: Ledger,
    cuts: u64,
    visits: u64,
    /// The most of what is looked at now and then.
    slots_bytes: u64,
    ram_bytes: usize,
    files: usize,
    call: Duration,
}

impl<'a> Run<'a> {
    fn new(records: &'a [Vec<u8>]) -> Self {
        let dir = tempfile::tempdir().expect("temporary files can be made");
        let disk = Disk::real();
        let wheel = Wheel::open(disk.clone(), dir.path(), WheelOptions::default(), None).expect("it is new");
        Run {
            records,
            _dir: dir,
            disk,
            wheel,
            ledger: Ledger::new(0),
            cuts: 0,
            visits: 0,
            slots_bytes: 0,
            ram_bytes: 0,
            files: 0,
            call: Duration::ZERO,
        }
    }

    fn report(mut self, name: &str, pages: u64, repeat: Repeat) {
        let begun = (cpu(), io());
        self.fill(pages, repeat);
        let put = cpu() - begun.0;
        let filled = self.wheel.figures(START);
        println!("\n{name}: {pages} pages");
        println!("  bytes on disk and in memory a record   {:10.1}", filled.bytes as f64 / pages as f64);
        println!("  CPU of the first put                   {:10.2} us", per(put.as_secs_f64() * 1e6, pages));
        let end = self.turn(repeat);
        let (cpu, io) = (cpu() - begun.0, io().since(begun.1));
        let figures: Figures = self.wheel.figures(end);
        let visits = self.visits;
        println!("  visits                                 {visits:10}, {:.2} a page", visits as f64 / pages as f64);
        println!("  written a visit                        {:10.1} bytes", per(figures.bytes_written as f64, visits));
        println!("  read a visit                           {:10.1} bytes", per(figures.bytes_read as f64, visits));
        println!("  records dealt a visit                  {:10.2}", per(figures.dealt as f64, visits));
        println!("  calls to read a thousand visits        {:10.2}", per(figures.reads as f64 * 1e3, visits));
        println!("  calls to write a thousand visits       {:10.2}", per(figures.writes as f64 * 1e3, visits));
        println!("  CPU a visit                            {:10.2} us", per(cpu.as_secs_f64() * 1e6, visits));
        println!("  CPU of the longest call of the owner   {:10.2} ms", self.call.as_secs_f64() * 1e3);
        println!("  memory at most                         {:10.1} MiB", resident_max() as f64 / 1024.0);
        println!("  in a checkpoint at most                {:10.2} MiB", self.ram_bytes as f64 / f64::from(1 << 20));
        println!("  files at most                          {:10}", self.files);
        println!("  bytes on disk at most                  {:10.2} GiB", self.slots_bytes as f64 / f64::from(1 << 30));
        println!("  by the system: {io:?}");
    }

    /// Puts all pages down; those that come again are spread over their first interval.
    fn fill(&mut self, pages: u64, repeat: Repeat) {
        let mut record = Vec::new();
        for page in 0..pages {
            let interval = interval(page);
            let first = match repeat {
                Repeat::Once => interval,
                Repeat::Until(_) => interval.mul_f64(fraction(page ^ 0x5555)),
            };
            record.clone_from(&self.records[(page % KINDS) as usize]);
            record[..8].copy_from_slice(&page.to_le_bytes());
            self.wheel.put(START + first, &record, START).expect("the disk takes it");
        }
    }

    /// Lets time pass until all pages came out, or until the time has come.
    fn turn(&mut self, repeat: Repeat) -> Time {
        let (mut now, mut next_cut) = (START, START);
        while let Some(next) = self.wheel.next_due(now) {
            if matches!(repeat, Repeat::Until(end) if next >= end) {
                break;
            }
            now = next;
            if now >= next_cut {
                next_cut = now + HOUR;
                self.cut(now);
            }
            self.drain(now, repeat);
        }
        now
    }

    fn drain(&mut self, now: Time, repeat: Repeat) {
        loop {
            let begun = thread_cpu();
            let read = self.wheel.next_read(now).expect("the disk does not fail");
            self.call = self.call.max(thread_cpu() - begun);
            let is_last = read.is_none();
            if let Some(read) = read {
                let done = read.run().expect("the disk does not fail");
                let begun = thread_cpu();
                self.wheel.finish_read(done, now).expect("the disk does not fail");
                self.call = self.call.max(thread_cpu() - begun);
            }
            while let Some((_, record)) = self.wheel.pop() {
                self.visits += 1;
                if repeat != Repeat::Once {
                    let again = now + interval(number_of(&record));
                    self.wheel.put(again, &record, now).expect("the disk takes it");
                }
            }
            if is_last && self.wheel.next_due(now) != Some(now) {
                return;
            }
        }
    }

    fn cut(&mut self, now: Time) {
        let mut ram = Vec::new();
        let cut = self.wheel.cut(&mut ram).expect("the disk does not fail");
        self.cuts += 1;
        self.ledger.supersede(0, self.wheel.take_unneeded());
        self.ledger.supersede(self.cuts, cut.superseded);
        self.ledger.durable(self.cuts);
        self.ledger.take(&self.disk, usize::MAX).run().expect("the disk does not fail");
        self.ram_bytes = self.ram_bytes.max(ram.len());
        self.files = self.files.max(cut.state.files(Path::new("")).count());
        self.slots_bytes = self.slots_bytes.max(self.wheel.figures(now).bytes);
    }
}

/// Returns the time from one visit of a page to the next one.
fn interval(page: u64) -> Duration {
    let share = fraction(page);
    let (from, to) = match page % 100 {
        0 => (HOUR, DAY),
        1..10 => (DAY, DAY * 7),
        10..50 => (DAY * 7, DAY * 30),
        _ => (DAY * 30, DAY * 90),
    };
    from + (to - from).mul_f64(share)
}

/// Returns a fraction between 0 and 1, by the number of a page.
fn fraction(page: u64) -> f64 {
    let mut bits = page.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 29;
    bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A record as a crawl has it: a URL of 60 to 120 bytes, four keys, depth and referrer, and its past.
fn record(number: u64) -> Vec<u8> {
    let mut record = number.to_le_bytes().to_vec();
    let title = "a-page-of-the-web-with-a-title-of-its-own-";
    let title = title.repeat(2);
    let url = format!("https://www.site{number}.example/articles/{}{number:x}.html", &title[..number as usize % 60]);
    record.extend_from_slice(url.as_bytes());
    (0..4).for_each(|key| record.extend_from_slice(&number.wrapping_mul(key + 0x9e37_79b9).to_le_bytes()));
    let validators = match number % 4 {
        0 => None,
        1 => Validators::from_parts(b"", b"Sun, 06 Nov 1994 08:49:37 GMT"),
        _ => Validators::from_parts(b"\"5f3c-5e0f3a8b6d1c0\"", b"Sun, 06 Nov 1994 08:49:37 GMT"),
    };
    let past = Past {
        changed: START - DAY * 30,
        digest: [number as u8; 20],
        text: number,
        validators: validators.flatten(),
        ..Past::of_visited(START, START, History { visits: 2.5, changes: 1.0, days: 30.25, changed_days: 12.5 })
    };
    past.encode(&mut record);
    record
}

fn number_of(record: &[u8]) -> u64 {
    u64::from_le_bytes(record[..8].try_into().expect("a record begins with its number"))
}

fn per(figure: f64, visits: u64) -> f64 {
    figure / visits.max(1) as f64
}

/// CPU time of the process, user and system.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// CPU time of this thread.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Counters of the system for the process.
#[derive(Clone, Copy, Debug, Default)]
struct Io {
    read_bytes: u64,
    written_bytes: u64,
    read_calls: u64,
    write_calls: u64,
}

impl Io {
    fn since(self, earlier: Io) -> Io {
        Io {
            read_bytes: self.read_bytes - earlier.read_bytes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            read_calls: self.read_calls - earlier.read_calls,
            write_calls: self.write_calls - earlier.write_calls,
        }
    }
}

fn io() -> Io {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let field = |name: &str| figure(&text, name);
    Io {
        read_bytes: field("rchar:"),
        written_bytes: field("wchar:"),
        read_calls: field("syscr:"),
        write_calls: field("syscw:"),
    }
}

/// The most that the process held in memory, in KiB.
fn resident_max() -> u64 {
    figure(&std::fs::read_to_string("/proc/self/status").unwrap_or_default(), "VmHWM:")
}

fn figure(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
