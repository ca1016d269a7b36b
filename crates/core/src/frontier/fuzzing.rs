//! The files of the frontier as any bytes: a tail, a base, and what was in memory at a cut.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::partition::FileState;
use super::record::HostRecord;
use super::task::Rules;
use super::verify::Check;
use super::writer::Writer;
use super::{
    Budget, Frontier, FrontierOptions, FrontierState, Hops, NameAnswer, PartitionState, QueuedUrl, RobotsAnswer,
    SavedFrontier, Task,
};
use crate::clock::{Stored, Time};
use crate::disk::simulated::SimulatedDisk;
use crate::disk::{HEADER_BYTES, SavedState};
use crate::fingerprint::Fingerprint;

const DIR: &str = "frontier";
const NOW: Time = Time::from_ms(1_800_000_000_000);
const DAY: Duration = Duration::from_secs(24 * 3_600);
const FRAME_HEAD_BYTES: usize = 8;
const BLOCK_HEAD_BYTES: usize = 13;
const FOOTER_BYTES: usize = 64;
const TAIL: u64 = 1;
const BASE: u64 = 2;
/// Jobs of partitions and tasks that a run does: enough to empty what a small input holds.
const STEPS_MAX: usize = 300;

/// Rules that allow everything.
#[derive(Debug)]
struct AllowAll;

impl Rules for AllowAll {
    fn allows(&self, _: &str) -> bool {
        true
    }

    fn crawl_delay(&self) -> Option<Duration> {
        None
    }

    fn encode(&self, _: &mut Vec<u8>) {}
}

fn decode_rules(bytes: &[u8]) -> Option<Arc<dyn Rules>> {
    bytes.is_empty().then(|| Arc::new(AllowAll) as Arc<dyn Rules>)
}

/// Opens a frontier of one partition on the files, does its jobs and takes its tasks: as they are, and with their
/// checksums made right. The last part is the record of a host.
pub fn frontier([tail, base, ram, record]: [Vec<u8>; 4]) -> bool {
    if let Some(record) = HostRecord::read(&record, Writer::This) {
        let mut encoded = Vec::new();
        record.encode(&mut encoded);
        let known = HostRecord::read(&encoded, Writer::This).expect("a record that was encoded is one");
        // of a long list of addresses the first ones are kept
        assert_eq!((known.written, known.standing, &known.rules), (record.written, record.standing, &record.rules));
        let renewed = HostRecord::renewed(&encoded, Writer::Before(NOW)).expect("a record that was encoded is one");
        HostRecord::kept(&renewed, NOW);
    }
    let (mut repaired_tail, mut repaired_base) = (tail.clone(), base.clone());
    repair_frames(&mut repaired_tail);
    repair_blocks(&mut repaired_base);
    let whole = crawl(tail, base, &ram);
    crawl(repaired_tail, repaired_base, &ram) || whole
}

fn crawl(tail: Vec<u8>, base: Vec<u8>, ram: &[u8]) -> bool {
    let memory = SimulatedDisk::with_dir(DIR);
    let (disk, dir) = (memory.disk(), Path::new(DIR));
    let put = |generation: u64, kind: &str, content: Vec<u8>| {
        let bytes = content.len() as u64;
        let path = dir.join(format!("partition-000.g{generation:06}.{kind}"));
        (bytes > 0).then(|| {
            memory.put(path, content);
            FileState { generation, bytes }
        })
    };
    let tails = put(TAIL, "tail", tail).into_iter().collect();
    let base = put(BASE, "base", base);
    let state = FrontierState {
        partitions: vec![PartitionState { tails, base, generation_next: 3 }],
        ram_bytes: ram.len() as u64,
        ram_crc: crc32fast::hash(ram),
    };
    let checked = Check::new(&disk, dir, SavedState::new(&state, ram), dir, decode_rules, NOW);
    if let Ok(check) = &checked {
        let mut faults = Vec::new();
        let walked = check.partition(0, &mut |_, _, _, _| Ok(()), &mut faults);
        walked.expect("the disk does not fail");
    }
    let (options, saved) = (options(), SavedFrontier { state: &state, ram, cut: Stored::new(NOW) });
    let opened = Frontier::open(disk, dir, options, decode_rules, 1, Some(saved), NOW, true);
    let Ok(mut frontier) = opened else { return false };
    drain(&mut frontier).is_ok_and(|urls| urls > 0)
}

/// Does jobs and takes tasks until nothing is left that can be done at once; says how many URLs came out.
fn drain(frontier: &mut Frontier) -> crate::disk::Result<usize> {
    let (mut urls, mut now) = (0, NOW);
    for _ in 0..STEPS_MAX {
        now = now + Duration::from_secs(60);
        let mut idle = true;
        if let Some(job) = frontier.next_job(true)? {
            let done = job.run()?;
            frontier.finish_job(done, now)?;
            idle = false;
        }
        match frontier.next(now)? {
            Some(Task::Resolve { host, .. }) => {
                let address = NameAnswer::Found(vec![[192, 0, 2, 1].into()].into());
                frontier.resolved(host, address, now + DAY, now)?;
            }
            Some(Task::Robots { host, .. }) => {
                let rules = Arc::new(AllowAll);
                let duration = Duration::from_millis(10);
                let answer = RobotsAnswer::Rules { rules, expires: now + DAY, duration, bytes: 100 };
                frontier.robots(host, answer, now)?;
            }
            Some(Task::Fetch { host, .. }) => {
                urls += 1;
                frontier.withdraw(host, now)?;
            }
            Some(Task::Drop { .. }) => urls += 1,
            None if idle => break,
            None => {}
        }
    }
    let mut ram = Vec::new();
    frontier.cut(&mut ram)?;
    Ok(urls)
}

fn options() -> FrontierOptions {
    FrontierOptions {
        partitions: 1,
        memory: 64 << 10,
        active_hosts: 4,
        buffer_urls: 4,
        block_bytes: 256,
        give_up: Duration::ZERO,
        budget: Budget::UNLIMITED,
        ..FrontierOptions::default()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize)
}

fn set(bytes: &mut [u8], at: usize, sum: u32) {
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

/// length | crc32 of it and the entries | entries
fn repair_frames(file: &mut [u8]) {
    let mut at = HEADER_BYTES as usize;
    while let Some(length) = word(file, at) {
        let content = at + FRAME_HEAD_BYTES;
        let Some(entries) = file.get(content..content + length) else { return };
        let mut sum = crc32fast::Hasher::new();
        sum.update(&file[at..at + 4]);
        sum.update(entries);
        set(file, at + 4, sum.finalize());
        at = content + length;
    }
}

/// kind | length | stored length | crc32 of all others | zstd; at the end the footer with its own.
fn repair_blocks(file: &mut [u8]) {
    let Some(end) = file.len().checked_sub(FOOTER_BYTES) else { return };
    let mut at = HEADER_BYTES as usize;
    while let Some(length) = word(file, at + 5) {
        let next = at + BLOCK_HEAD_BYTES + length;
        if next > end {
            break;
        }
        let mut sum = crc32fast::Hasher::new();
        sum.update(&file[at..at + 9]);
        sum.update(&file[at + BLOCK_HEAD_BYTES..next]);
        set(file, at + 9, sum.finalize());
        at = next;
    }
    let sum = crc32fast::hash(&file[end..end + 60]);
    set(file, end + 60, sum);
}

/// A queued URL.
pub fn queued(number: u64) -> QueuedUrl {
    QueuedUrl {
        url: format!("http://www.example.org/a/page-{number}.html").into(),
        key: Fingerprint::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        origin: Fingerprint::from_bits(1),
        host: Fingerprint::from_bits(2),
        domain: Fingerprint::from_bits(3),
        priority: 2,
        depth: 3,
        hops: Hops::parse("LLR"),
        attempts: 0,
        via: number,
        seed: 1,
        forced: number % 2 == 1,
        recrawl: None,
    }
}

/// A frontier with URLs of ten hosts: in a tail, in a base, and in memory.
pub fn samples() -> Vec<[Vec<u8>; 4]> {
    let mut record = Vec::new();
    let addresses = vec![[192, 0, 2, 1].into(), std::net::Ipv6Addr::LOCALHOST.into()];
    let known = HostRecord { written: NOW, addresses: Some((addresses, Time::MAX)), ..HostRecord::default() };
    known.encode(&mut record);
    [false, true].map(|merged| sample(merged, &record)).to_vec()
}

fn sample(merged: bool, record: &[u8]) -> [Vec<u8>; 4] {
    let memory = SimulatedDisk::with_dir(DIR);
    let (disk, dir) = (memory.disk(), Path::new(DIR));
    let opened = Frontier::open(disk, dir, options(), decode_rules, 1, None, NOW, true);
    let mut frontier = opened.expect("memory takes all");
    let fill = |frontier: &mut Frontier, numbers: std::ops::Range<u64>| {
        for n in numbers {
            let mut url = queued(n);
            for fingerprint in [&mut url.origin, &mut url.host, &mut url.domain] {
                let bits = (n % 10 + 1).wrapping_mul(fingerprint.bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                *fingerprint = Fingerprint::from_bits(bits);
            }
            url.url = format!("http://h{}.example/a/page-{n}.html", n % 10).into();
            frontier.push(url, NOW).expect("memory takes all");
        }
    };
    fill(&mut frontier, 0..300);
    if merged {
        frontier.queues.now = NOW + Duration::from_secs(3_600);
        let job = frontier.next_job(true).expect("memory takes all").expect("a tail wants to be merged");
        let done = job.run().expect("memory takes all");
        frontier.finish_job(done, NOW).expect("memory takes all");
        fill(&mut frontier, 300..500);
    }
    let mut ram = Vec::new();
    let cut = frontier.cut(&mut ram).expect("memory takes all");
    let state = &cut.state.partitions[0];
    let file = |file: Option<&FileState>, kind: &str| {
        let path = |file: &FileState| dir.join(format!("partition-000.g{:06}.{kind}", file.generation));
        file.and_then(|file| memory.get(path(file))).unwrap_or_default()
    };
    [file(state.tails.first(), "tail"), file(state.base.as_ref(), "base"), ram, record.to_vec()]
}
