//! `cargo bench --bench exchange`: what links between shards cost, a page and a link.
//!
//! Pages of 15 links each go to the other shards of a crawl of eight: written and packed by `LinkWriter`, read by
//! `LinkJob` (unpacked, parsed, with their fingerprints). URLs are like those of the web: some ten to the host,
//! 50 bytes on average. CPU is that of this thread; the files go to a directory of the temporary files.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crawler::disk::Disk;
use crawler::exchange::{Inherited, Link, LinkJob, LinkWriter, Position, links_dir};
use crawler::fingerprint::Fingerprinter;
use crawler::frontier::Hops;
use crawler::shard::Shard;
use crawler::web::url::{CanonicalUrl, KeyMaker};

const SHARDS: u32 = 8;
const PAGES: u64 = 40_000;
const LINKS: u64 = 15;
const ROUNDS: usize = 5;

fn main() {
    let keys = Arc::new(KeyMaker::new(Fingerprinter::random(1), &[]));
    let links = links(&keys);
    println!("{PAGES} pages of {LINKS} links to other shards, medians of {ROUNDS} rounds");
    let mut rounds: Vec<[f64; 3]> = (0..ROUNDS).map(|_| round(&links, &keys)).collect();
    let mut median = |figure: usize| {
        rounds.sort_by(|one, other| one[figure].total_cmp(&other[figure]));
        rounds[ROUNDS / 2][figure]
    };
    let (write, read, bytes) = (median(0), median(1), median(2));
    println!("write and pack             {write:6.2} us of CPU a page");
    println!("read, parse, fingerprints  {read:6.2} us of CPU a page");
    println!("on disk                    {bytes:6.2} bytes a link");
}

/// The links of all pages with the shards that own them, none of which is shard 0.
fn links(keys: &KeyMaker) -> Vec<(u32, Link)> {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut links = Vec::new();
    for page in 0..PAGES {
        let from = Inherited {
            via: page * 96 + 17,
            depth: 3,
            seed: 5,
            priority: 7,
            round: None,
            hops: Hops::parse("LLL"),
            recrawl: None,
        };
        while (links.len() as u64) < (page + 1) * LINKS {
            let host = rng.u32(0..20_000);
            let url = format!("https://www.site{host}.example/articles/{}/{:x}.html", rng.u8(..), rng.u32(..));
            let domain = keys.keys(&CanonicalUrl::parse(&url).expect("it is a URL")).domain;
            let owner = Shard::of(SHARDS, domain);
            if owner != 0 {
                links.push((owner, Link { url: url.as_str().into(), from: from.clone() }));
            }
        }
    }
    links
}

/// CPU of writing and of reading a page's links in microseconds, and bytes of a link.
fn round(links: &[(u32, Link)], keys: &Arc<KeyMaker>) -> [f64; 3] {
    let dir = tempfile::tempdir().expect("temporary files can be made");
    let (disk, dir) = (Disk::real(), dir.path());
    disk.create_dir_all(&links_dir(dir)).expect("a directory can be made");
    let sender = Shard::new(0, SHARDS);
    let mut writer = LinkWriter::new(disk.clone(), dir.to_owned(), sender, 1);
    let begun = cpu();
    for (receiver, link) in links {
        writer.push(*receiver, link.clone()).expect("the disk takes it");
    }
    let written = writer.cut().expect("the disk takes it").expect("there are links");
    let write = cpu() - begun;
    let begun = cpu();
    let read_links: usize = Shard::all(SHARDS).skip(1).map(|reader| read_all(&disk, dir, reader, keys)).sum();
    let read = cpu() - begun;
    assert_eq!(read_links, links.len());
    let a_page = |time: Duration| time.as_secs_f64() * 1e6 / PAGES as f64;
    [a_page(write), a_page(read), written.bytes as f64 / links.len() as f64]
}

fn read_all(disk: &Disk, dir: &Path, reader: Shard, keys: &Arc<KeyMaker>) -> usize {
    let (mut from, mut links) = (Position { number: 1, frames: 0 }, 0);
    while from.number == 1 {
        let (disk, dir, keys) = (disk.clone(), dir.to_owned(), keys.clone());
        let job = LinkJob { disk, dir, sender: Shard::new(0, SHARDS), reader, from, keys };
        let read = job.run().expect("it was written just now");
        (from, links) = (read.to, links + read.links.len());
    }
    links
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
