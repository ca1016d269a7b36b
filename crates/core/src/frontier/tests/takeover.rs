//! Merges that take over blocks of the base as they are.

use std::collections::HashSet;
use std::fs;

use super::*;
use crate::disk::{Removal, SavedState};
use crate::frontier::verify::Check;

/// Options by which hosts may be contacted at once, and one host is active at a time.
fn options(block_bytes: usize) -> FrontierOptions {
    FrontierOptions { partitions: 1, active_hosts: 1, memory: 64 << 20, block_bytes, ..small_options() }
}

/// The URLs that the files hold, after they were found to be whole and in order.
fn verified(crawl: &mut Crawl) -> BTreeSet<Fingerprint> {
    let mut ram = Vec::new();
    let cut = crawl.frontier.cut(&mut ram).unwrap();
    Removal::new(&Disk::real(), cut.superseded).run().unwrap();
    let (disk, at) = (Disk::real(), crawl.dir.path().join("checkpoint"));
    let saved = SavedState::new(&cut.state, &ram);
    let check = Check::new(&disk, crawl.dir.path(), saved, &at, decode_rules, crawl.clock.now()).unwrap();
    let (mut keys, mut faults) = (BTreeSet::new(), Vec::new());
    let mut each = |url: &QueuedUrl, is_taken: bool, _: &Path, _: u64| {
        assert!(is_taken || keys.insert(url.key), "{url:?} lies there twice");
        Ok(())
    };
    check.memory(&mut each).unwrap();
    for number in 0..check.partitions() {
        check.partition(number, &mut each, &mut faults).unwrap();
    }
    assert!(faults.is_empty(), "{faults:?}");
    keys
}

/// The blocks of URLs of the newest base.
fn blocks(crawl: &Crawl) -> Vec<Vec<u8>> {
    let files = fs::read_dir(crawl.dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let base = files.filter(|path| path.extension().is_some_and(|end| end == "base")).max().unwrap();
    let bytes = fs::read(base).unwrap();
    let (mut blocks, mut rest) = (Vec::new(), &bytes[16..]);
    while let [kind @ 1..=2, head @ ..] = rest {
        let len = 13 + u32::from_le_bytes(head[4..8].try_into().unwrap()) as usize;
        let (block, behind) = rest.split_at(len);
        blocks.extend((*kind == 1).then(|| block.to_vec()));
        rest = behind;
    }
    blocks
}

/// Does the merge that is wanted when little is left to do.
fn merge(crawl: &mut Crawl) {
    crawl.clock.advance(S);
    crawl.frontier.preset(Fingerprint::default(), Known::default(), crawl.clock.now());
    let now = crawl.clock.now();
    while let Some(job) = crawl.frontier.next_job(true).unwrap() {
        crawl.frontier.finish_job(job.run().unwrap(), now).unwrap();
    }
}

#[test]
fn a_small_tail_leaves_most_blocks_of_a_large_base_as_they_are() {
    let mut crawl = Crawl::new(options(2 << 10), plain);
    (0..40_000).for_each(|n| crawl.push(url(n % 400, n, (n % 3) as u8)));
    merge(&mut crawl);
    let before = blocks(&crawl);
    assert!(before.len() > 200, "{}", before.len());
    for n in 0..30 {
        crawl.push(url(100 + n % 3, 100_000 + n, 1));
    }
    crawl.push(url(1_000, 200_000, 1));
    merge(&mut crawl);
    let after = blocks(&crawl);
    let known: HashSet<&Vec<u8>> = before.iter().collect();
    let new = after.iter().filter(|block| !known.contains(block)).count();
    assert!(new <= 24, "{new} of {} blocks are new", after.len());
    assert_eq!(verified(&mut crawl), crawl.expected);
    // nor do they get shorter and shorter
    for round in 0..40 {
        (0..5).for_each(|n| crawl.push(url(round * 7 % 400, 300_000 + round * 10 + n, 1)));
        merge(&mut crawl);
    }
    let many = blocks(&crawl).len();
    assert!(many < before.len() * 5 / 4, "{many} blocks instead of {}", before.len());
    assert_eq!(verified(&mut crawl), crawl.expected);
}

#[test]
fn whatever_is_consumed_and_merged_in_between_every_url_is_there_once() {
    for seed in 0..40 {
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut options = options(rng.usize(40..1_500));
        (options.active_hosts, options.buffer_urls) = (rng.usize(1..8), rng.usize(1..30));
        options.partitions = 1 << rng.u8(0..3);
        let mut crawl = Crawl::new(options, plain);
        let (mut pushed, hosts) = (0, rng.u64(2..300));
        for _ in 0..25 {
            for _ in 0..[3, 40, 600][rng.usize(0..3)] {
                crawl.push(url(rng.u64(..hosts) * rng.u64(..hosts) / hosts, pushed, rng.u8(..3)));
                pushed += 1;
            }
            match rng.u8(..4) {
                0 => merge(&mut crawl),
                1 => {
                    for _ in 0..rng.u32(..60) {
                        crawl.step();
                    }
                }
                _ => {
                    let until = crawl.clock.now() + S * rng.u32(1..30);
                    crawl.run_until(until);
                }
            }
            merge(&mut crawl);
            assert_eq!(verified(&mut crawl), crawl.expected, "seed {seed}");
        }
        crawl.run();
        assert_eq!(crawl.out.len() as u64, pushed, "seed {seed}");
    }
}
