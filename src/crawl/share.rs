//! The share of the settings of the process that one shard gets.
//!
//! Memory is configured for the process, and its shards have equal parts of it. No part is so small that a shard could
//! not work with it: with all of them at their floors a shard takes some 20 MiB, and then the process takes more than
//! was configured, which the ceiling ([`memory`](super::memory)) says. Settings of requests are not divided: the shards
//! share the slots, the rates and the limits themselves.
//!
//! A process that is one of several machines runs some of the crawl's shards, and divides by their number
//! ([`shards_at_once`]).

use crate::config::{Bytes, Config};
use crate::drum::FrontOptions;

/// Keys whose values the fronts of the robots and DNS stores of the process keep in memory.
const HOST_LRU_ENTRIES: usize = 16_384;
/// Memory of their Bloom filters: at 1 % false positives it holds 7 M hosts.
const HOST_BLOOM_BYTES: usize = 8 << 20;
/// Buckets of the stores, and their memory.
const BUCKETS_MIN: usize = 64;
const BUCKET_BYTES_MIN: u64 = 16 << 10;
const MERGE_BYTES_MIN: u64 = 4 << 20;
/// Least sizes of the fronts of the stores: the LRU caches and the Bloom filters.
const LRU_ENTRIES_MIN: usize = 4 << 10;
const HOST_LRU_ENTRIES_MIN: usize = 1 << 10;
const BLOOM_BYTES_MIN: u64 = 256 << 10;
/// The queue: what may be configured for a crawl of one shard.
const FRONTIER_BYTES_MIN: u64 = 8 << 20;
const ACTIVE_HOSTS_MIN: usize = 256;
/// The archive.
const DIGEST_BYTES_MIN: u64 = 256 << 10;
const SLOT_BYTES_MIN: u64 = 256 << 10;

/// The part of `whole` that is one shard's: no less than `floor`, unless the whole is.
fn part(whole: u64, shards: usize, floor: u64) -> u64 {
    (whole / shards as u64).max(floor).min(whole)
}

fn part_of_count(whole: usize, shards: usize, floor: usize) -> usize {
    (whole / shards).max(floor).min(whole)
}

/// Returns the most of `shards` that a machine may come to run, whose weight is `own` beside machines with those of
/// `others`: its part where the heaviest of the others is gone. It runs `held` of them by now.
pub(super) fn shards_at_once(shards: usize, own: u32, others: impl Iterator<Item = u32>, held: usize) -> usize {
    let (own, others) = (u64::from(own.max(1)), others.map(u64::from).collect::<Vec<_>>());
    let rest = others.iter().sum::<u64>() - others.iter().max().unwrap_or(&0);
    let part = (shards as u64 * own).div_ceil(own + rest);
    usize::try_from(part).unwrap_or(shards).max(held).min(shards).max(1)
}

/// The settings by which one of the shards of a crawl by `config` works, all of which run in this process.
pub(super) fn of_shard(config: &Config) -> Config {
    of_one_of(config, config.crawl.shards)
}

/// The settings by which a shard works among this many shards of the crawl by `config` in this process, itself counted.
pub(super) fn of_one_of(config: &Config, shards: usize) -> Config {
    let mut share = config.clone();
    if shards == 1 {
        return share;
    }
    let divide = |bytes: &mut Bytes, floor| *bytes = Bytes(part(bytes.get(), shards, floor));
    let drum = &mut share.drum;
    let arrays = drum.buckets as u64 * drum.ram_per_bucket.get();
    drum.buckets = part_of_count(drum.buckets, shards, BUCKETS_MIN).next_power_of_two();
    let of_bucket = part(arrays, shards, 0) / drum.buckets as u64;
    drum.ram_per_bucket = Bytes(of_bucket.max(BUCKET_BYTES_MIN).min(drum.ram_per_bucket.get()));
    divide(&mut drum.merge_memory, MERGE_BYTES_MIN);
    share.seen.lru_entries = part_of_count(share.seen.lru_entries, shards, LRU_ENTRIES_MIN);
    divide(&mut share.seen.bloom_memory, BLOOM_BYTES_MIN);
    divide(&mut share.frontier.memory, FRONTIER_BYTES_MIN);
    share.frontier.active_hosts = part_of_count(share.frontier.active_hosts, shards, ACTIVE_HOSTS_MIN);
    divide(&mut share.container.digest_memory, DIGEST_BYTES_MIN);
    divide(&mut share.container.slot_memory, SLOT_BYTES_MIN);
    share
}

/// Returns the sizes of the fronts of the stores of robots and DNS, for one of this number of shards in this process.
pub(super) fn host_front(config: &Config, shards: usize) -> FrontOptions {
    FrontOptions {
        lru_entries: part_of_count(HOST_LRU_ENTRIES, shards, HOST_LRU_ENTRIES_MIN),
        bloom_memory: Bytes(part(HOST_BLOOM_BYTES as u64, shards, BLOOM_BYTES_MIN)).as_usize(),
        bloom_fpr: config.seen.bloom_fpr,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(shards: usize) -> Config {
        let mut config = Config::default();
        config.crawl.shards = shards;
        config
    }

    #[test]
    fn a_machine_has_room_for_what_it_takes_over_when_another_one_is_gone() {
        let at_once = |own, others: &[u32], held| shards_at_once(12, own, others.iter().copied(), held);
        assert_eq!(at_once(4, &[], 0), 12, "alone");
        assert_eq!(at_once(4, &[4], 0), 12);
        assert_eq!(at_once(4, &[4, 4], 0), 6);
        assert_eq!(at_once(4, &[4, 4, 4], 0), 4);
        assert_eq!((at_once(8, &[4, 4], 0), at_once(2, &[4, 4], 0)), (8, 4));
        assert_eq!(at_once(4, &[4, 4, 4], 7), 7, "it holds more");
        assert_eq!(at_once(0, &[0, 0], 0), 12);
        let whole = with(12);
        let (few, all) = (of_one_of(&whole, 4), of_shard(&whole));
        assert_eq!(few.frontier.memory.get(), whole.frontier.memory.get() / 4);
        assert!(all.frontier.memory < few.frontier.memory);
    }

    #[test]
    fn one_shard_has_everything() {
        assert_eq!(of_shard(&with(1)), with(1));
        assert_eq!(host_front(&with(1), 1).lru_entries, HOST_LRU_ENTRIES);
        assert_eq!(host_front(&with(1), 1).bloom_memory, HOST_BLOOM_BYTES);
    }

    #[test]
    fn shards_have_equal_parts_of_what_is_configured_and_together_no_more() {
        let (whole, share) = (with(4), of_shard(&with(4)));
        assert_eq!(share.frontier.memory.get() * 4, whole.frontier.memory.get());
        assert_eq!(share.seen.bloom_memory.get() * 4, whole.seen.bloom_memory.get());
        assert_eq!(share.container.slot_memory.get() * 4, whole.container.slot_memory.get());
        assert_eq!((share.drum.buckets, share.drum.ram_per_bucket), (64, Bytes::kib(16)));
        assert_eq!(share.frontier.active_hosts, 1_024);
        let mut large = with(8);
        (large.drum.buckets, large.drum.ram_per_bucket) = (1_024, Bytes::mib(1));
        let share = of_shard(&large);
        assert_eq!((share.drum.buckets, share.drum.ram_per_bucket), (128, Bytes::mib(1)));
        large.crawl.shards = 3;
        let share = of_shard(&large);
        assert!(share.drum.buckets.is_power_of_two());
        assert!(share.drum.buckets as u64 * share.drum.ram_per_bucket.get() * 3 <= 1 << 30);
    }

    #[test]
    fn every_share_is_one_that_a_crawl_can_be_run_with_and_none_is_more_than_the_whole() {
        let mut small = with(1);
        (small.drum.buckets, small.drum.ram_per_bucket) = (4, Bytes::kib(4));
        small.frontier.active_hosts = 8;
        small.seen.lru_entries = 1;
        small.container.digest_memory = Bytes(0);
        for whole in [with(1), small] {
            for shards in [1, 2, 3, 7, 16, 100, 256] {
                let mut whole = whole.clone();
                whole.crawl.shards = shards;
                let share = of_shard(&whole);
                share.check().unwrap();
                assert!(share.drum.buckets <= whole.drum.buckets && share.frontier.memory <= whole.frontier.memory);
                assert!(share.drum.ram_per_bucket <= whole.drum.ram_per_bucket);
                assert!(share.frontier.active_hosts <= whole.frontier.active_hosts);
            }
        }
    }
}
