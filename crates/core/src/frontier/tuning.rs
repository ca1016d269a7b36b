//! The numbers that steer the frontier, each with its reason and what is known of it by measurement.
//!
//! "Chosen" means that no run has compared the number with another one: it follows from the reason that is given, or
//! from experience with other crawlers. What belongs to a format on disk (lengths of headers, flags, bits of a filter)
//! is beside that format, and what the operator decides is in [`options`](super::options). Three sections are
//! named below: "Queue" is in docs/performance/stores.md, "Politeness" in politeness.md there, "Growth" in growth.md.

use std::time::Duration;

// How `frontier.memory` is shared out: each of these divides it. PLENTIFUL_PART and LARGE_RULES_PART are within
// ACTIVE_PART; the others together stay below the whole. Chosen; what comes of it is measured: the process has 167 MB
// with 20 M URLs of a million hosts in the queue and the default of 128 MiB (Queue).

/// Part for the active side: hosts, their URLs, rules and addresses.
pub(super) const ACTIVE_PART: usize = 2;
/// Part up to which URLs that are pushed may fill more than one buffer of a host: the other half of the active side's
/// share is left to the first buffers of hosts that come.
pub(super) const PLENTIFUL_PART: usize = 4;
/// Part for robots rules that are larger than [`USUAL_RULES_BYTES`], all together: hosts with half a megabyte of rules
/// each would keep every other host out.
pub(super) const LARGE_RULES_PART: usize = 4;
/// Part for the arrays of all partitions together, in which URLs gather before they are written to a tail.
pub(super) const ARRAYS_PART: usize = 8;
/// Part for what is newer in memory than the bases, all partitions together: a partition with more than its share is
/// merged.
pub(super) const OVERLAYS_PART: usize = 8;
/// Part for the filters of all bases together.
pub(super) const FILTERS_PART: usize = 8;
/// Part for the entries that a merge sorts at once.
pub(super) const CHUNK_PART: usize = 16;
/// Part for the URLs that one take brings.
pub(super) const TAKE_PART: usize = 32;

/// Bytes of a partition's array, at least and at most: less makes tails of tiny frames, more a cut that writes much.
/// Chosen.
pub(super) const ARRAY_BYTES_MIN: usize = 4 << 10;
pub(super) const ARRAY_BYTES_MAX: usize = 1 << 20;
/// Bytes of the filter of a tail: an eighth of the array's, at least and at most. A tail of 128 KiB has some 1,300 URLs
/// (100 bytes each, Queue), for whose hosts 10 bits each are 1.6 KB. Chosen.
pub(super) const TAIL_FILTER_PART: usize = 8;
pub(super) const TAIL_FILTER_BYTES_MIN: usize = 1 << 10;
pub(super) const TAIL_FILTER_BYTES_MAX: usize = 64 << 10;
/// Bytes of the filter of a base that it may have however little memory there is. Chosen.
pub(super) const BASE_FILTER_BYTES_MIN: usize = 1 << 10;
/// Bytes of newer records and cursors that a partition may have however little memory there is. Chosen.
pub(super) const OVERLAY_BYTES_MIN: usize = 16 << 10;
/// Bytes of memory of a domain with pages that are not in a base's totals, and of one where supporters are counted too.
/// Estimates.
pub(super) const DOMAIN_BYTES: usize = 32;
pub(super) const DOMAIN_TOTALS_BYTES: usize = 96;
/// Part of a partition's newer records and cursors that may be domains with new supporters: a merge is not made for
/// them alone before its tail is stale or has grown. Chosen.
pub(super) const SUPPORTED_PART: usize = 2;
/// Bytes of a sorted chunk of a merge, however little memory there is. Chosen.
pub(super) const CHUNK_BYTES_MIN: usize = 64 << 10;
/// Bytes of memory of a URL, for plans: those of the Queue benchmark have 70 bytes of text. An estimate.
pub(super) const URL_BYTES: usize = 256;

// Jobs of partitions: takes and merges.

/// Jobs that are out at once: with one thread for them, the next ones wait ready while the engine takes over what the
/// last one brought. Chosen.
pub(super) const JOBS_MAX: usize = 4;
/// Hosts that one take may bring. 512 in place of 64 is one of the steps that together brought 1 M URLs on 1 M hosts
/// from 34.7 to 7.9 us a URL; not measured apart (Queue).
pub(super) const TAKE_HOSTS_MAX: usize = 512;
/// A take costs about as much for one host as for many: unless nothing else is ready, it waits until this part of all
/// places is free, but for no more than half of [`TAKE_HOSTS_MAX`] of them. Part of the same step; not measured apart.
pub(super) const TAKE_PLACES_PART: usize = 16;
/// Items for which a take makes room before it has read them: a number in a file may be wrong. Chosen.
pub(super) const READ_AHEAD: usize = 4_096;
/// A walk that went over all hosts of a partition and found too few is not repeated before this for each of them.
/// Chosen; without it, a domain without end at one address cost a hundred times the CPU of what may be asked of it
/// (`s18_hosts_without_end_at_one_address_are_asked_for_as_fast_as_it_may_be_asked`).
pub(super) const WALK_PAUSE: Duration = Duration::from_micros(10);
/// Time for which the next take of a partition waits after one that brought hosts which found no place. Chosen.
pub(super) const NO_PLACE_PAUSE: Duration = Duration::from_secs(1);
/// A tail is merged when it has this many times the bytes of its base: a URL takes two to four times as much in a tail,
/// which is not packed, so the tail then has half of the base's URLs or as many, and a URL is rewritten once or twice
/// as the partition grows. Kept as one of the same steps; not measured apart (Queue).
pub(super) const TAIL_PER_BASE: u64 = 2;
/// Bytes of a tail that is merged only because the active side starves or its URLs have waited for long. Chosen; it is
/// why 1 M URLs on 1 M hosts take 80 bytes each on disk, and 10 M below 40 (Queue).
pub(super) const TAIL_BYTES_MIN: u64 = 128 << 10;
/// A base is rewritten to reclaim what is consumed of it when that is more than this many times what is left: each URL
/// that is left is then copied for two that are gone. Chosen.
pub(super) const CONSUMED_PER_LEFT: u64 = 2;
/// Bytes of a base that is not worth reclaiming. Chosen.
pub(super) const RECLAIM_BYTES_MIN: u64 = 1 << 20;
/// The URLs of a tail wait for a merge no longer than this, and as long as it takes to rewrite the bases of all
/// partitions at this many bytes a second: every URL comes out, and a giant base is not rewritten for ten. Chosen.
pub(super) const STALE_MIN: Duration = Duration::from_secs(10);
pub(super) const STALE_BYTES_PER_S: u64 = 1 << 20;
/// A partition that starves is merged no more often than this. Measured: at 250 ms a crawl of one host with 1,174 pages
/// took 1.3 to 1.5 s, at 20 ms it takes 0.9 s, as all its URLs are in one partition (docs/performance/politeness.md).
pub(super) const STARVING_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of its base for each millisecond that a partition which starves waits between two merges. Chosen: a base of
/// 40,000 URLs, some 1.2 MB, took 40 ms to rewrite (Growth) and is rewritten every 150 ms at most.
pub(super) const STARVING_BYTES_PER_MS: u64 = 8 << 10;
/// Cost of a merge besides its base, in bytes of a base: files are made and deleted for the smallest one, too. Chosen.
pub(super) const MERGE_OVERHEAD_BYTES: u64 = 64 << 10;
/// Bytes of a frame in a merge's file of runs. Chosen.
pub(super) const RUN_FRAME_BYTES: usize = 64 << 10;
/// Bytes that are gathered for one write of a base. Chosen.
pub(super) const WRITER_BYTES: usize = 256 << 10;
/// Bytes that are read at once where a block is to be: a compressed block (32 KiB before) is seldom longer. Chosen.
pub(super) const BLOCK_READ_BYTES: u64 = 24 << 10;
/// Level of zstd for blocks: what is left after front-coding is mostly fingerprints, which a higher level makes no
/// smaller. zstd takes 12 % of the CPU at this one (Queue).
pub(super) const ZSTD_LEVEL: i32 = 1;

// URLs of a host in memory.

/// A host may have the n-th part of the memory that is free for pushed URLs: few hosts grow large, many share it.
/// Chosen.
pub(super) const FREE_PARTS: usize = 64;
/// Buffers of URLs that a host gets in one turn, and that it may have by pushes. Measured: up to 512 URLs by pushes in
/// place of 64 brought 0.429 and 0.383 ms a page with 10 M queued to 0.359 and 0.329; kept for what it spares the disk
/// (Growth).
pub(super) const TURN_BUFFERS: usize = 8;
/// A host that was refilled less than this before gets twice as much the next time, up to this many buffers; one that
/// needs its URLs slowly does not fill the memory. One of the steps of [`TAKE_HOSTS_MAX`]; not measured apart.
pub(super) const REFILLED_SOON: Duration = Duration::from_secs(1);
pub(super) const REFILL_BUFFERS_MAX: usize = 64;
/// URLs of a host that wait by themselves after a failure, in memory at most: as many as in its buffer. Chosen.
pub(super) const WAITING_MAX: usize = 64;

// Places on the active side.

/// The part of the places that is left to hosts from the disk side, if there are any: those that come new from pages
/// would keep them out for ever. Chosen.
pub(super) const COLD_PLACES_PART: usize = 4;
/// A host that cannot be contacted for longer may give its place to another: a host that leaves and comes back costs a
/// record, a merge and a take. Chosen.
pub(super) const PARK_AFTER: Duration = Duration::from_secs(30);
/// Entries of a line of hosts that are looked at for one place: all of them would make a push as slow as there are
/// hosts. Chosen.
pub(super) const PLACE_TRIES: usize = 8;
/// Hosts that leave for one that wants to enter, at most, when memory is short. Chosen.
pub(super) const LEAVING_MAX: usize = 4;
/// Busy hosts that keep an address busy in spite of their own delays, however many others there are: 32 hosts with the
/// default delay of 1 s ask four times as often as 250 ms an address allow. Chosen.
pub(super) const ADDRESS_SHARE_MIN: usize = 32;
/// Memory of rules that a host gets whatever there is left; most are far smaller. Chosen.
pub(super) const USUAL_RULES_BYTES: usize = 8 << 10;
/// Bytes of memory for each byte of encoded rules: short patterns have more of a table than of text. An estimate.
pub(super) const RULES_IN_MEMORY: usize = 4;

// Saturated addresses. That hosts without end keep out nobody is held by the tests that docs/architecture/frontier.md
// (Shares) names.

/// Requests of a turn at a saturated address: with fewer, more of the time goes into coming and leaving. Chosen.
pub(super) const TURN_REQUESTS: u32 = 8;
/// The least and the longest time after which a host that found its address saturated comes back. Chosen.
pub(super) const SATURATED_MIN: Duration = Duration::from_secs(1);
pub(super) const SATURATED_MAX: Duration = Duration::from_secs(600);
/// The longest time for which no other host of its domain becomes active. Chosen.
pub(super) const HELD_MAX: Duration = Duration::from_secs(60);
/// Domains of a partition that are held back at once; they take 40 bytes each, 10 MiB in all 256 partitions. Chosen.
pub(super) const HELD_DOMAINS_MAX: usize = 1_024;

// First contacts. What a crawl among 3,000 silent hosts costs the others is measured (`cargo bench --bench traps --
// silent`, docs/performance/politeness.md): 1.05 to 1.16 times the time for 9 of 10 pages. Single numbers are
// chosen.

/// First contacts at once of an address that has not answered yet, and of its network, which one machine has as easily.
pub(super) const ADDRESS_START: u32 = 8;
pub(super) const NETWORK_START: u32 = 32;
/// The most first contacts at once that answers earn.
pub(super) const ALLOWED_MAX: u32 = 1_024;
/// Addresses and networks that are remembered without a request in progress.
pub(super) const ADDRESSES_REMEMBERED_MAX: usize = 1 << 15;
/// Time after which silence is no longer taken for slowness, where as many are in progress as may be.
pub(super) const SILENT_AFTER: Duration = Duration::from_millis(250);
/// First contacts that may begin after an answer: one instead of it, and the one that it earned.
pub(super) const EARNED: usize = 2;
/// Time after which waiting hosts look again whether there are places: less than the time for which an answer is
/// remembered. Each of 2,200 hosts asked for itself before, every 250 ms, which cost the engine's thread 13 s of CPU in
/// a crawl of some minutes.
pub(super) const SUSPECTS_LOOK_EVERY: Duration = Duration::from_millis(100);

// Rounds of budgets.

/// The longest time that has to be between the beginnings of two rounds. It is the time in which one host has the least
/// budget of a domain by its delay, but no more than this: a domain of many hosts without supporters then has the pages
/// of one host, which never rests. Chosen.
pub(super) const ROUND_LEAST_MAX: Duration = Duration::from_secs(60);
/// This part of a round, and no longer than that, workers may be idle for what is on its way to the frontier and may
/// have budget. The goal was 1 % of the time; a crawl of 500,000 pages lost 75 % of it to a round that waited for the
/// merges of some 40 keys.
pub(super) const ROUND_IDLE_PART: u32 = 100;
pub(super) const ROUND_IDLE_MAX: Duration = Duration::from_secs(10);

// Back-offs of hosts and waits of single URLs. Their lengths are the promises of docs/architecture/frontier.md
// (Delays, Failures of single pages), after what other polite crawlers do; chosen, none of them follows from a
// measurement. `cargo bench --bench politeness` shows what they cost a crawl (Politeness).

/// The first back-off of a host: after a 429 or 503, a connection that failed, a robots.txt that cannot be had.
pub(super) const BACKOFF_OVERLOAD: Duration = Duration::from_secs(60);
pub(super) const BACKOFF_CONNECTION: Duration = Duration::from_secs(10);
pub(super) const BACKOFF_ROBOTS: Duration = Duration::from_secs(300);
/// The first back-off for all of them where no delay is configured: tests, and one's own server.
pub(super) const BACKOFF_WITHOUT_DELAYS: Duration = Duration::from_secs(1);
/// The longest back-off.
pub const BACKOFF_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Doublings of a back-off that are counted: enough for [`BACKOFF_MAX`] from a second on (2^17 s), and no overflow.
pub(super) const DOUBLINGS_MAX: u32 = 20;
/// The share by which a back-off may be longer by chance, so that hosts that failed together do not come back together.
pub(super) const BACKOFF_JITTER: f64 = 0.1;
/// Time without trouble after which a back-off starts with its base again.
pub(super) const FORGIVEN_AFTER: Duration = Duration::from_secs(30 * 60);
/// The longest time that a URL waits to be tried again.
pub(super) const URL_WAIT_MAX: Duration = Duration::from_secs(3_600);
/// URLs of a host in a row that have to fail by themselves to be trouble of the host.
pub(super) const FAULTS_MAX: u32 = 5;
/// Time after which a dead host, and an origin that was a guess and does not answer, is tried again, if URLs of it
/// come.
pub(super) const SILENT_FOR: Duration = Duration::from_secs(24 * 3_600);
/// A back-off that is longer is reported to anyone who keeps it over a restart; a shorter one has passed by then.
pub(super) const LOGGED_AFTER: Duration = Duration::from_secs(1);
/// A request for the sake of another host waits for requests in progress by asking again after this long: one
/// comparison each time, and at most one such request for each active host.
pub(super) const PREREQUISITE_ASKS_AGAIN: Duration = Duration::from_millis(20);

// What is believed, and for how long. Chosen.

/// The least time for which an answer holds: what has expired already serves once, or it would be asked for again at
/// once.
pub(super) const HOLDS_MIN: Duration = Duration::from_secs(1);
/// The longest time for which rules from a record are believed, whatever their expiry says.
pub(super) const RULES_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);
/// The longest time for which addresses from a record are believed.
pub(super) const ADDRESSES_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Addresses of a host that are kept.
pub(super) const ADDRESSES_KEPT: usize = 32;

// What is remembered and swept. Each table is looked through when it has grown to a multiple of what is alive in it, so
// that sweeping costs a constant for each entry that was made; these numbers keep small tables from being swept all the
// time. Chosen; that they bound memory is held by the tests with `n26_` and those of `names` and `schedule`.

/// Entries of the schedule, of lines of hosts and of the table of addresses that may be dead beside any number that is
/// alive.
pub(super) const ENTRIES_SPARE: usize = 64;
/// The same of lanes of the schedule.
pub(super) const LANES_SPARE: usize = 1_024;
/// The same of names.
pub(super) const NAMES_SPARE: usize = 256;
/// Names without active origins that are remembered while they rest: some 5 MiB at most.
pub(super) const NAMES_RESTING_MAX: usize = 1 << 15;
/// A name is remembered so long after its last request: an origin that comes back may ask for a Crawl-delay from then
/// on, of `crawl_delay_max` by default.
pub(super) const NAME_REMEMBERED: Duration = Duration::from_secs(300);
