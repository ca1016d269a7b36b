//! The figures of the shards of a crawl, added up to those of the crawl.
//!
//! What is counted adds up. Shards crawl at the same time, so of times and depths the largest holds; of what is done by
//! all of them (a checkpoint, free space on their disk) the oldest or least. Every field is named where it is added:
//! one that is new does not compile before somebody has decided what its sum is. A host, an origin and a domain belong
//! to one shard, so their names come from one shard each.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use super::live::{Live, Rates, ShardLive};
use super::snapshot::{Layers, Snapshot, State, StoreBytes};
use super::statistics::{CheckpointCosts, Ends, Gauges, Statistics};
use super::{CrawlLimits, Finish, Resting};

/// Resting hosts that are named.
const RESTING_NAMED: usize = 10;

fn add_each<const N: usize>(sums: [(&mut u64, &u64); N]) {
    sums.into_iter().for_each(|(sum, more)| *sum += more);
}

fn add_map<K: Copy + Ord>(sum: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    more.iter().for_each(|(&key, count)| *sum.entry(key).or_default() += count);
}

/// The least of two of which either may be missing.
fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}

impl AddAssign<&Statistics> for Statistics {
    fn add_assign(&mut self, other: &Statistics) {
        let Statistics { pages_stored, requests, bytes_received, bytes_stored, statuses, failures, dropped, .. } =
            other;
        add_each([
            (&mut self.pages_stored, pages_stored),
            (&mut self.requests, requests),
            (&mut self.bytes_received, bytes_received),
            (&mut self.bytes_stored, bytes_stored),
        ]);
        add_map(&mut self.statuses, statuses);
        add_map(&mut self.failures, failures);
        add_map(&mut self.dropped, dropped);
        self.add_rest(other);
    }
}

impl Statistics {
    /// All but what was fetched and how it was answered.
    fn add_rest(&mut self, other: &Statistics) {
        let Statistics {
            pages_stored: _,
            requests: _,
            bytes_received: _,
            bytes_stored: _,
            statuses: _,
            failures: _,
            dropped: _,
            limited,
            links_found,
            duplicates,
            unique,
            revisits,
            revisit_bytes_saved,
            refetched,
            not_modified,
            retries,
            robots_fetched,
            robots_unreachable,
            robots_denied,
            sitemaps,
            sitemap_urls,
            sitemap_urls_dropped,
            dns_resolved,
            dns_failed,
            hosts,
            depth_max,
            elapsed,
            checkpoints,
            ends,
            requisites_stored,
            redirects_stored,
        } = other;
        add_each([
            (&mut self.links_found, links_found),
            (&mut self.duplicates, duplicates),
            (&mut self.unique, unique),
            (&mut self.revisits, revisits),
            (&mut self.revisit_bytes_saved, revisit_bytes_saved),
            (&mut self.refetched, refetched),
            (&mut self.not_modified, not_modified),
            (&mut self.retries, retries),
            (&mut self.robots_fetched, robots_fetched),
            (&mut self.robots_unreachable, robots_unreachable),
            (&mut self.robots_denied, robots_denied),
            (&mut self.sitemaps, sitemaps),
            (&mut self.sitemap_urls, sitemap_urls),
            (&mut self.sitemap_urls_dropped, sitemap_urls_dropped),
            (&mut self.dns_resolved, dns_resolved),
            (&mut self.dns_failed, dns_failed),
            (&mut self.hosts, hosts),
            (&mut self.requisites_stored, requisites_stored),
            (&mut self.redirects_stored, redirects_stored),
        ]);
        self.limited += limited;
        self.depth_max = self.depth_max.max(*depth_max);
        self.elapsed = self.elapsed.max(*elapsed);
        self.checkpoints += checkpoints;
        self.ends += ends;
    }
}

impl AddAssign<&Ends> for Ends {
    fn add_assign(&mut self, other: &Ends) {
        let Ends { again, failed, dropped } = other;
        add_each([(&mut self.again, again), (&mut self.failed, failed), (&mut self.dropped, dropped)]);
    }
}

impl AddAssign<&CheckpointCosts> for CheckpointCosts {
    fn add_assign(&mut self, other: &CheckpointCosts) {
        let CheckpointCosts { count, pause, pause_max, beside, beside_max, bytes } = other;
        add_each([(&mut self.count, count), (&mut self.bytes, bytes)]);
        self.pause += *pause;
        self.pause_max = self.pause_max.max(*pause_max);
        self.beside += *beside;
        self.beside_max = self.beside_max.max(*beside_max);
    }
}

impl AddAssign<&Gauges> for Gauges {
    fn add_assign(&mut self, other: &Gauges) {
        let resting = match (self.resting.take(), &other.resting) {
            (Some(own), Some(others)) => Some(own.and(others)),
            (Some(own), None) => Some(own.beside(other.has_work())),
            (None, Some(others)) => Some(others.clone().beside(self.has_work())),
            (None, None) => None,
        };
        let Gauges {
            queued,
            hosts_ready,
            hosts_waiting,
            hosts_active,
            hosts_active_bytes,
            in_flight,
            keys_pending,
            keys_seen,
            url_seen_bytes,
            disk_free_bytes,
            resting: _,
            workers,
            constraints,
            limits,
            longest_queue_ms,
            calendar,
            rendering,
            rounds,
        } = other;
        add_each([
            (&mut self.queued, queued),
            (&mut self.hosts_ready, hosts_ready),
            (&mut self.hosts_waiting, hosts_waiting),
            (&mut self.hosts_active, hosts_active),
            (&mut self.hosts_active_bytes, hosts_active_bytes),
            (&mut self.in_flight, in_flight),
            (&mut self.keys_pending, keys_pending),
            (&mut self.keys_seen, keys_seen),
            (&mut self.url_seen_bytes, url_seen_bytes),
        ]);
        // they are on one disk; 0 where nobody has looked yet
        let looked = [self.disk_free_bytes, *disk_free_bytes].into_iter().filter(|&bytes| bytes > 0);
        self.disk_free_bytes = looked.min().unwrap_or(0);
        self.resting = resting;
        // those of the process, which all engines tell of
        self.workers = self.workers.or(*workers);
        self.constraints = self.constraints.and(constraints);
        // those of the crawl, which all engines keep
        let CrawlLimits { pages, time_s } = *limits;
        self.limits = CrawlLimits { pages: self.limits.pages.or(pages), time_s: self.limits.time_s.or(time_s) };
        self.longest_queue_ms = self.longest_queue_ms.max(*longest_queue_ms);
        if let Some(other) = rendering {
            *self.rendering.get_or_insert_default() += other;
        }
        match (&mut self.calendar, calendar) {
            (Some(own), Some(other)) => *own += other,
            (own, other) => *own = own.or(*other),
        }
        match (&mut self.rounds, rounds) {
            (Some(own), Some(other)) => *own += other,
            (own, other) => *own = own.or(*other),
        }
    }
}

impl Gauges {
    /// True where anything is left to do.
    fn has_work(&self) -> bool {
        self.queued > 0 || self.in_flight > 0 || self.keys_pending > 0
    }
}

impl Resting {
    /// Returns these hosts as part of a crawl whose other shards have no host that rests; `others_work` where they have
    /// work.
    fn beside(mut self, others_work: bool) -> Resting {
        if others_work {
            (self.is_all, self.ends) = (false, None);
        }
        self
    }

    /// Returns these hosts and those of another shard. The crawl ends when both do.
    fn and(self, other: &Resting) -> Resting {
        let Resting { hosts, is_all, first, last, ends, longest } = other;
        let mut all: Vec<_> = self.longest.into_iter().chain(longest.iter().cloned()).collect();
        all.sort_by_key(|host| std::cmp::Reverse(host.until));
        all.truncate(RESTING_NAMED);
        Resting {
            hosts: self.hosts + hosts,
            is_all: self.is_all && *is_all,
            first: least(self.first, *first),
            last: self.last.max(*last),
            ends: self.ends.zip(*ends).map(|(own, other)| own.max(other)),
            longest: all,
        }
    }
}

impl AddAssign<&StoreBytes> for StoreBytes {
    fn add_assign(&mut self, other: &StoreBytes) {
        self.merge(other, |own, bytes| own + bytes);
    }
}

impl AddAssign<&Layers> for Layers {
    fn add_assign(&mut self, other: &Layers) {
        let Layers {
            lru_hits,
            bloom_negatives,
            bloom_positives,
            bloom_false_positives,
            bloom_bytes,
            keys,
            pending,
            merges,
            merge_bytes_read,
            merge_bytes_written,
        } = other;
        add_each([
            (&mut self.lru_hits, lru_hits),
            (&mut self.bloom_negatives, bloom_negatives),
            (&mut self.bloom_positives, bloom_positives),
            (&mut self.bloom_false_positives, bloom_false_positives),
            (&mut self.bloom_bytes, bloom_bytes),
            (&mut self.keys, keys),
            (&mut self.pending, pending),
            (&mut self.merges, merges),
            (&mut self.merge_bytes_read, merge_bytes_read),
            (&mut self.merge_bytes_written, merge_bytes_written),
        ]);
    }
}

impl Finish {
    /// Returns the reason for which a crawl ended of which one shard ended by this and another by `other`: a shard that
    /// had nothing left says nothing of the others.
    pub fn and(self, other: Finish) -> Finish {
        match (self, other) {
            (Finish::Complete, other) => other,
            (own, Finish::Complete) => own,
            (Finish::Fresh, other) => other,
            // one that only waited for silent hosts was in nobody's way
            (Finish::OnlySilentHosts, other) => other,
            (own, _) => own,
        }
    }
}

impl State {
    fn and(self, other: State) -> State {
        match (self, other) {
            (State::Running, _) | (_, State::Running) => State::Running,
            (State::Finished, State::Finished) => State::Finished,
            _ => State::Stopped,
        }
    }
}

impl AddAssign<&Snapshot> for Snapshot {
    fn add_assign(&mut self, other: &Snapshot) {
        let Snapshot { version, state, finish, started, updated, statistics, gauges, stores, layers } = other;
        self.version = self.version.max(*version);
        self.state = self.state.and(*state);
        self.finish = self.finish.zip(*finish).map(|(own, other)| own.and(other));
        self.started = self.started.min(*started);
        // no figure is older
        self.updated = self.updated.min(*updated);
        self.statistics += statistics;
        self.gauges += gauges;
        self.stores += stores;
        for (store, layers) in layers {
            *self.layers.entry(*store).or_default() += layers;
        }
    }
}

impl Snapshot {
    /// Returns the snapshot of a crawl with these shards; `None` without any.
    pub fn sum(shards: impl IntoIterator<Item = Snapshot>) -> Option<Snapshot> {
        shards.into_iter().reduce(|mut sum, shard| {
            sum += &shard;
            sum
        })
    }
}

impl AddAssign<Rates> for Rates {
    fn add_assign(&mut self, other: Rates) {
        let Rates { pages, requests, bytes } = other;
        self.pages += pages;
        self.requests += requests;
        self.bytes += bytes;
    }
}

impl AddAssign<&Live> for Live {
    fn add_assign(&mut self, other: &Live) {
        let Live { phase, pid, checkpoint, checkpointed, rates, memory_ceiling_bytes, durations, figures, shards } =
            other;
        self.phase = self.phase.min(*phase);
        self.pid = self.pid.max(*pid);
        // all of them have as many
        self.checkpoint = self.checkpoint.min(*checkpoint);
        self.checkpointed = self.checkpointed.zip(*checkpointed).map(|(own, other)| own.min(other));
        self.rates += *rates;
        // each reports those of the process
        self.memory_ceiling_bytes = self.memory_ceiling_bytes.max(*memory_ceiling_bytes);
        self.durations += durations;
        self.figures += figures;
        self.shards.extend_from_slice(shards);
    }
}

impl Live {
    /// Returns the state of a crawl with these shards, in their order, each of which is listed in it; `None` without
    /// any.
    pub fn sum(shards: impl IntoIterator<Item = Live>) -> Option<Live> {
        let listed = shards.into_iter().enumerate().map(|(number, mut live)| {
            live.shards = vec![ShardLive::of(number, &live)];
            live
        });
        listed.reduce(|mut sum, shard| {
            sum += &shard;
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Value;

    use super::super::snapshot::tests::example;
    use super::super::{Doing, Histogram, Oddities, Oddity, RestingHost};
    use super::*;
    use crate::clock::Time;
    use crate::outcome::{Failure, Reason};

    /// Every number of `value` with its path.
    fn numbers(value: &Value, path: &str, into: &mut BTreeMap<String, f64>) {
        match value {
            Value::Number(number) => drop(into.insert(path.to_owned(), number.as_f64().unwrap())),
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| numbers(value, &format!("{path}.{name}"), into));
            }
            _ => {}
        }
    }

    /// `value` with its own number in the place of every number, beginning behind `from`.
    fn filled(value: &mut Value, from: &mut u64) {
        match value {
            Value::Number(_) => {
                *from += 1;
                *value = Value::from(*from);
            }
            Value::Object(fields) => fields.values_mut().for_each(|value| filled(value, from)),
            _ => {}
        }
    }

    /// A record of which every number is another one, read from JSON as its type has it.
    fn record<T: serde::Serialize + serde::de::DeserializeOwned>(blank: &T, mut from: u64) -> T {
        let mut json = serde_json::to_value(blank).unwrap();
        filled(&mut json, &mut from);
        serde_json::from_value(json).unwrap()
    }

    /// The paths of all numbers in which `sum` is not that of `parts`.
    fn not_sums<T: serde::Serialize>(parts: [&T; 2], sum: &T) -> Vec<String> {
        let [one, other, sum] = [parts[0], parts[1], sum].map(|record| {
            let mut all = BTreeMap::new();
            numbers(&serde_json::to_value(record).unwrap(), "", &mut all);
            all
        });
        let is_sum = |(path, number): &(&String, &f64)| one[*path] + other[*path] == **number;
        sum.iter().filter(|entry| !is_sum(entry)).map(|(path, _)| path.clone()).collect()
    }

    #[test]
    fn every_counter_of_two_shards_adds_up_but_for_those_that_are_maxima() {
        let (one, other) = (record(&Statistics::default(), 1_000), record(&Statistics::default(), 50));
        let mut sum = one.clone();
        sum += &other;
        let maxima = [".checkpoints.durable_max_s", ".checkpoints.pause_max_s", ".depth_max", ".elapsed_s"];
        assert_eq!(not_sums([&one, &other], &sum), maxima);
        assert_eq!((sum.depth_max, sum.elapsed), (one.depth_max, one.elapsed));
        assert_eq!(sum.checkpoints.pause_max, one.checkpoints.pause_max);
        let (one, other) = (record(&Gauges::default(), 1_000), record(&Gauges::default(), 50));
        let mut sum = one.clone();
        sum += &other;
        assert_eq!(not_sums([&one, &other], &sum), [".disk_free_bytes", ".longest_queue_ms"]);
        assert_eq!(sum.disk_free_bytes, other.disk_free_bytes);
        let (one, other) = (record(&example(), 1_000), record(&example(), 50));
        let sum = Snapshot::sum([one.clone(), other.clone()]).unwrap();
        let not = not_sums([&one, &other], &sum);
        let of_snapshot: Vec<_> = not.iter().filter(|path| path.matches('.').count() == 1).collect();
        assert_eq!(of_snapshot, [".started_ms", ".updated_ms", ".version"]);
        assert!(!not.iter().any(|path| path.starts_with(".stores") || path.starts_with(".layers")), "{not:?}");
    }

    #[test]
    fn a_shard_that_has_done_nothing_changes_no_sum() {
        let one = record(&Statistics::default(), 7);
        for (mut sum, other) in [(one.clone(), Statistics::default()), (Statistics::default(), one.clone())] {
            sum += &other;
            assert_eq!(sum, one);
        }
        let one = Gauges { resting: Some(resting(5, true, Some(9))), ..record(&Gauges::default(), 7) };
        for (mut sum, other) in [(one.clone(), Gauges::default()), (Gauges::default(), one.clone())] {
            sum += &other;
            assert_eq!(sum, one);
        }
        assert_eq!(Snapshot::sum([]), None);
        assert_eq!(Snapshot::sum([example()]), Some(example()));
    }

    #[test]
    fn answers_failures_and_limits_of_two_shards_are_told_together() {
        let mut one = Statistics::default();
        one.count_status(200);
        one.count_failure(Failure::Tls);
        one.limited.count(Reason::HostPages, "http://a", 3);
        let mut other = Statistics::default();
        other.count_status(200);
        other.count_status(404);
        other.count_dropped(Reason::Robots);
        other.limited.count(Reason::HostPages, "http://b", 5);
        (0..200).for_each(|n| other.limited.count(Reason::Pattern, &format!("http://c{n}"), 1));
        one += &other;
        assert_eq!(one.statuses, BTreeMap::from([(200, 2), (404, 1)]));
        assert_eq!((one.failures_total(), one.dropped_total()), (1, 1));
        let limited: Vec<_> = one.limited.by_count().into_iter().map(|entry| (&*entry.name, entry.urls)).collect();
        assert_eq!(limited.len(), 128, "the list stays bounded");
        assert_eq!(limited[..2], [("http://b", 5), ("http://a", 3)]);
    }

    fn resting(hosts: u64, is_all: bool, ends: Option<u64>) -> Resting {
        let longest = (0..8).map(|n| RestingHost {
            host: format!("http://h{n}"),
            why: "connection refused".to_owned(),
            until: Time::from_ms(hosts + n),
        });
        let (first, last) = (Some(Time::from_ms(hosts)), Some(Time::from_ms(hosts + 7)));
        Resting { hosts, is_all, first, last, ends: ends.map(Time::from_ms), longest: longest.collect() }
    }

    #[test]
    fn a_crawl_rests_when_every_shard_that_has_work_does() {
        let gauges = |resting: Option<Resting>, queued| Gauges { resting, queued, ..Gauges::default() };
        let sum = |shards: &[Gauges]| {
            shards.iter().fold(Gauges::default(), |mut sum, shard| {
                sum += shard;
                sum
            })
        };
        let (rests, works) = (gauges(Some(resting(5, true, Some(90))), 4), gauges(None, 1));
        let both = sum(&[rests.clone(), gauges(Some(resting(100, true, Some(70))), 2)]).resting.unwrap();
        assert_eq!((both.hosts, both.is_all, both.ends), (105, true, Some(Time::from_ms(90))));
        assert_eq!((both.first, both.last), (Some(Time::from_ms(5)), Some(Time::from_ms(107))));
        assert_eq!((both.longest.len(), both.longest[0].until), (10, Time::from_ms(107)));
        for shards in [[rests.clone(), works.clone()], [works, rests.clone()]] {
            let resting = sum(&shards).resting.unwrap();
            assert_eq!((resting.is_all, resting.ends, resting.hosts), (false, None, 5));
        }
        assert!(sum(&[rests, gauges(None, 0)]).resting.unwrap().is_all);
        let lingers_alone = sum(&[gauges(Some(resting(5, true, None)), 4), gauges(Some(resting(9, true, Some(1))), 4)]);
        assert_eq!(lingers_alone.resting.unwrap().ends, None);
    }

    fn live(phase: Doing, checkpoint: u64, checkpointed: Option<u64>) -> Live {
        let mut durations = Histogram::default();
        durations.count(Duration::from_millis(20));
        Live {
            phase,
            pid: 77,
            checkpoint,
            checkpointed: checkpointed.map(Time::from_ms),
            rates: Rates { pages: 1.0, requests: 2.0, bytes: 3.0 },
            memory_ceiling_bytes: 1 << 30,
            durations,
            figures: example(),
            shards: Vec::new(),
        }
    }

    #[test]
    fn what_a_crawl_does_is_what_the_shard_does_that_is_least_far() {
        let shards =
            [live(Doing::Closing, 9, Some(50)), live(Doing::Crawling, 4, Some(60)), live(Doing::Paused, 7, None)];
        let sum = Live::sum(shards[..2].to_vec()).unwrap();
        assert_eq!((sum.phase, sum.pid, sum.checkpoint), (Doing::Crawling, 77, 4));
        assert_eq!(sum.checkpointed, Some(Time::from_ms(50)));
        assert_eq!(sum.rates, Rates { pages: 2.0, requests: 4.0, bytes: 6.0 });
        assert_eq!(sum.memory_ceiling_bytes, 1 << 30, "that of the process, once");
        assert_eq!(sum.durations.sum(), Duration::from_millis(40));
        assert_eq!(sum.durations.cumulative().last().unwrap().1, 2);
        assert_eq!(sum.figures.statistics.pages_stored, 2 * example().statistics.pages_stored);
        let listed: Vec<_> = sum.shards.iter().map(|shard| (shard.shard, shard.phase, shard.checkpoint)).collect();
        assert_eq!(listed, [(0, Doing::Closing, 9), (1, Doing::Crawling, 4)]);
        let sum = Live::sum(shards).unwrap();
        assert_eq!((sum.checkpointed, sum.shards.len()), (None, 3));
        let json = serde_json::to_string(&live(Doing::Crawling, 1, None)).unwrap();
        assert!(!json.contains("shards"), "a crawl with one shard tells of none: {json}");
    }

    #[test]
    fn a_crawl_is_finished_when_all_shards_are_and_stopped_for_the_reason_of_one() {
        use Finish::{Complete, OnlySilentHosts, PageLimit};
        let shard = |state, finish| Snapshot { state, finish, ..example() };
        let sum = |shards: [Snapshot; 2]| Snapshot::sum(shards).map(|sum| (sum.state, sum.finish)).unwrap();
        let (complete, limited) = (shard(State::Finished, Some(Complete)), shard(State::Stopped, Some(PageLimit)));
        assert_eq!(sum([complete.clone(), complete.clone()]), (State::Finished, Some(Complete)));
        assert_eq!(sum([complete.clone(), limited.clone()]), (State::Stopped, Some(PageLimit)));
        assert_eq!(sum([limited.clone(), shard(State::Stopped, Some(OnlySilentHosts))]).1, Some(PageLimit));
        assert_eq!(sum([shard(State::Stopped, Some(OnlySilentHosts)), complete]).1, Some(OnlySilentHosts));
        assert_eq!(sum([limited, shard(State::Running, None)]), (State::Running, None));
    }

    #[test]
    fn oddities_of_two_shards_are_told_in_one_row_for_each_kind() {
        let (mut one, mut other) = (Oddities::default(), Oddities::default());
        one.note(Oddity::Login, "a.example", "http://a.example/");
        other.note(Oddity::Login, "b.example", "http://b.example/");
        other.note(Oddity::Scripts, "b.example", "http://b.example/");
        one += &other;
        let rows: Vec<_> = one.rows().collect();
        assert_eq!(rows.len(), 2);
        assert!(rows[0].1.starts_with("2 pages of a.example, b.example: "), "{rows:?}");
    }
}
