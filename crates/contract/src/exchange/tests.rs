//! Link files written and read, whole and damaged.

use std::collections::HashMap;
use std::sync::Arc;

use super::*;
use crate::disk::simulated::SimulatedDisk;
use crate::disk::{Disk, Error};
use crate::fingerprint::Fingerprinter;
use crate::frontier::Hops;
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};
use std::path::Path;

const DIR: &str = "/crawl/shard-001";
const COUNT: u32 = 4;

fn keys() -> Arc<KeyMaker> {
    Arc::new(KeyMaker::new(Fingerprinter::random(3), &[]))
}

fn disk() -> (SimulatedDisk, Disk) {
    let simulated = SimulatedDisk::new(1);
    let disk = simulated.disk();
    disk.create_dir_all(&links_dir(Path::new(DIR))).unwrap();
    (simulated, disk)
}

fn sender() -> Shard {
    Shard::new(1, COUNT)
}

/// A link of page `page`, and the shard that owns it.
fn link(keys: &KeyMaker, page: u64, number: u64) -> (u32, Link) {
    let url = format!("http://site{}.example/page/{page}/{number}", number % 40);
    let domain = keys.keys(&CanonicalUrl::parse(&url).unwrap()).domain;
    let round = page.is_multiple_of(7).then_some(3);
    let from =
        Inherited { via: page * 64 + 1, depth: 2, seed: 5, priority: 4, round, hops: Hops::parse("LL"), recrawl: None };
    (Shard::of(COUNT, domain), Link { url: url.as_str().into(), from })
}

/// Writes `pages` pages of links; what is for each shard, in its order.
fn write(writer: &mut LinkWriter, keys: &KeyMaker, pages: u64) -> HashMap<u32, Vec<Link>> {
    let mut sent: HashMap<u32, Vec<Link>> = HashMap::new();
    for page in 0..pages {
        for number in 0..20 {
            let (receiver, link) = link(keys, page, number);
            writer.push(receiver, link.clone()).unwrap();
            sent.entry(receiver).or_default().push(link);
        }
    }
    sent
}

fn read_all(disk: &Disk, keys: &Arc<KeyMaker>, receiver: u32, number: u64) -> (Vec<String>, usize) {
    let (mut urls, mut jobs) = (Vec::new(), 0);
    let mut from = Position { number, frames: 0 };
    while from.number == number {
        let reader = Shard::new(receiver, COUNT);
        let (disk, keys, dir) = (disk.clone(), keys.clone(), Path::new(DIR).to_owned());
        let read = LinkJob { disk, dir, sender: sender(), reader, from, keys }.run().unwrap();
        assert_eq!((read.sender, read.from), (1, from));
        assert!(read.links.len() < 4_096 * 2);
        assert!(read.links.iter().all(|(url, round)| url.forced == (*round == 3) && url.via % 4 == 1));
        urls.extend(read.links.into_iter().map(|(url, _)| url.url.to_string()));
        (from, jobs) = (read.to, jobs + 1);
    }
    (urls, jobs)
}

#[test]
fn every_shard_reads_what_is_for_it_in_the_order_in_which_it_was_found() {
    let (keys, (_simulated, disk)) = (keys(), disk());
    let mut writer = LinkWriter::new(disk.clone(), DIR.into(), sender(), 7);
    assert!(writer.is_empty());
    let sent = write(&mut writer, &keys, 2_000);
    writer.note("http://moved.example/".to_owned());
    let written = writer.cut().unwrap().unwrap();
    assert_eq!((written.links, written.has_notes), (40_000, true));
    assert!(writer.is_empty(), "the next one begins");
    let file = LinkFile::open(&disk, Path::new(DIR), sender(), 7).unwrap();
    file.check().unwrap();
    assert_eq!(file.notes(), ["http://moved.example/"]);
    let mut receivers: Vec<u32> = sent.keys().copied().collect();
    receivers.sort_unstable();
    assert_eq!(written.receivers, receivers);
    let mut jobs_max = 0;
    for (receiver, links) in sent {
        let (urls, jobs) = read_all(&disk, &keys, receiver, 7);
        assert!(urls.iter().map(String::as_str).eq(links.iter().map(|link| &*link.url)));
        jobs_max = jobs_max.max(jobs);
    }
    assert!(jobs_max > 1, "some thousand links are more than comes at once");
    // at the end nothing is left, and nothing is written where there is nothing
    assert_eq!(writer.cut().unwrap(), None);
    assert!(LinkFile::open(&disk, Path::new(DIR), sender(), 8).is_err());
}

#[test]
fn a_file_that_is_cut_or_flipped_anywhere_is_damage() {
    let (keys, (_simulated, disk)) = (keys(), disk());
    let mut writer = LinkWriter::new(disk.clone(), DIR.into(), sender(), 7);
    write(&mut writer, &keys, 20);
    writer.note("http://moved.example/".to_owned());
    let path = writer.cut().unwrap().unwrap().path;
    let whole = disk.read(&path).unwrap();
    let check = |bytes: &[u8]| {
        disk.replace(&path, bytes).unwrap();
        LinkFile::open(&disk, Path::new(DIR), sender(), 7).and_then(|file| file.check())
    };
    check(&whole).unwrap();
    for at in (0..whole.len()).step_by(3) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x11;
        assert!(matches!(check(&flipped), Err(Error::Damaged { .. } | Error::Newer { .. })), "flipped at {at}");
        assert!(check(&whole[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn a_link_that_is_not_the_readers_is_damage() {
    let (keys, (_simulated, disk)) = (keys(), disk());
    let mut writer = LinkWriter::new(disk.clone(), DIR.into(), sender(), 7);
    let (owner, link) = link(&keys, 1, 2);
    let other = (owner + 1) % COUNT;
    writer.push(other, link).unwrap();
    writer.cut().unwrap();
    let from = Position { number: 7, frames: 0 };
    let reader = Shard::new(other, COUNT);
    let read = LinkJob { disk, dir: DIR.into(), sender: sender(), reader, from, keys }.run();
    assert!(matches!(read, Err(Error::Damaged { .. })), "{read:?}");
}

#[test]
fn what_is_open_is_bounded_however_many_shards_there_are() {
    let (_simulated, disk) = disk();
    let mut writer = LinkWriter::new(disk.clone(), DIR.into(), Shard::new(1, 256), 7);
    let long = "x".repeat(1_900);
    for number in 0..6_000_u32 {
        let url = format!("http://{number}.example/{long}").into();
        writer.push(number % 256, Link { url, from: Inherited::default() }).unwrap();
    }
    let written = writer.cut().unwrap().unwrap();
    assert_eq!((written.links, written.receivers.len()), (6_000, 256));
    LinkFile::open(&disk, Path::new(DIR), Shard::new(1, 256), 7).unwrap().check().unwrap();
}
