//! The shares of the open files that the system allows: for requests, for idle connections, and a reserve for the
//! crawl's own files.
//!
//! A crawl that ran out of them could write no more, and would end. So the soft limit is raised to the hard one, and
//! where the settings ask for more than that has, fewer slow requests, and in need fewer workers, are in progress at
//! once; the operator is informed. A request counts as two files: its connection, and beside it a second attempt at
//! another address, a question to a name server, or the file that a large body comes into.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::CrawlError;
use crate::config::{Config, Workers};

/// Files of the crawl itself at most: archive, stores, merges, takes, logs, catalog, metrics, control, the runtime.
const RESERVE: usize = 160;
/// Files of each shard beyond the first: its archive, stores, logs, the link files that it writes and reads.
const RESERVE_SHARD: usize = 32;
const PER_REQUEST: usize = 2;
/// Workers that are ever found: more of them need more memory than they bring. At 300 ms a request, these make 13,000
/// requests a second.
pub(super) const WORKERS_MOST: usize = 4_096;
/// Connections without a request that are kept at most.
pub(super) const IDLE_CONNECTIONS_MAX: usize = 8_192;

/// The parts of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shares {
    workers: usize,
    slow_workers: usize,
    idle: usize,
}

/// Raises the soft limit of open files to the hard one, and says what holds then.
pub(super) fn raise_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
    // no limit is none
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

/// Open files that the system allows once the soft limit is raised.
pub(super) fn limit() -> usize {
    getrlimit(Resource::Nofile).maximum.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

/// Workers for which `limit` open files have room, where their number is found.
pub(super) fn workers_most(config: &Config, limit: usize) -> usize {
    shares(WORKERS_MOST, config.fetch.slow_workers, limit, reserve(config.crawl.shards))
        .map_or(0, |shares| shares.workers)
}

/// Lowers what `config` asks for to what `limit` open files have room for; says how many idle connections may be kept,
/// and what was lowered.
pub(super) fn fit(config: &mut Config, limit: usize) -> Result<(usize, Vec<String>), CrawlError> {
    let (fetch, reserve) = (&mut config.fetch, reserve(config.crawl.shards));
    let workers = match fetch.workers {
        Workers::Fixed(workers) => workers,
        Workers::Auto => WORKERS_MOST,
    };
    let shares = shares(workers, fetch.slow_workers, limit, reserve).ok_or_else(|| {
        CrawlError::Usage(format!(
            "the limit of open files is {limit}, and this crawl needs at least {}: raise it (ulimit -n)",
            reserve + 2 * PER_REQUEST
        ))
    })?;
    let mut lowered = Vec::new();
    let fitted = [("workers", workers, shares.workers), ("slow_workers", fetch.slow_workers, shares.slow_workers)];
    fetch.slow_workers = shares.slow_workers;
    // those that are found are bounded by the same share (`workers_most`), and nobody has asked for more
    let is_fixed = fetch.workers != Workers::Auto;
    if is_fixed {
        fetch.workers = Workers::Fixed(shares.workers);
    }
    for (key, wanted, share) in fitted {
        if share < wanted && (is_fixed || key != "workers") {
            lowered.push(format!(
                "the limit of open files is {limit}: fetch.{key} is {share} in this run, not {wanted} (ulimit -Hn \
                 shows the limit, and a service or container sets it)"
            ));
        }
    }
    Ok((shares.idle, lowered))
}

/// Returns the number of files that are kept for a crawl with this number of shards.
fn reserve(shards: usize) -> usize {
    RESERVE + (shards - 1) * RESERVE_SHARD
}

/// Half of what is not reserved is for workers, as far as they need it; of the rest a quarter at least for idle
/// connections.
fn shares(workers: usize, slow_workers: usize, limit: usize, reserve: usize) -> Option<Shares> {
    let free = limit.checked_sub(reserve)?;
    let workers = workers.min(free / 2 / PER_REQUEST);
    let left = free - workers * PER_REQUEST;
    let slow_workers = slow_workers.min((left - left / 4) / PER_REQUEST);
    let idle = IDLE_CONNECTIONS_MAX.min(left - slow_workers * PER_REQUEST);
    (workers > 0).then_some(Shares { workers, slow_workers, idle })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n14_requests_and_idle_connections_never_need_more_files_than_there_are() {
        let default = Config::default().fetch;
        for limit in [256, 1_024, 4_096, 20_000, usize::MAX] {
            let shares = shares(64, default.slow_workers, limit, RESERVE).unwrap();
            let needed = RESERVE + PER_REQUEST * (shares.workers + shares.slow_workers) + shares.idle;
            assert!(needed <= limit, "{limit}: {shares:?}");
            assert!(shares.idle > 0 && shares.slow_workers > 0, "{limit}: {shares:?}");
        }
        let usual = shares(64, default.slow_workers, 1_024, RESERVE).unwrap();
        assert_eq!((usual.workers, usual.slow_workers), (64, 276));
        let plenty = shares(64, default.slow_workers, 1 << 20, RESERVE).unwrap();
        assert_eq!(plenty, Shares { workers: 64, slow_workers: 1_024, idle: IDLE_CONNECTIONS_MAX });
        assert_eq!((shares(64, 1_024, RESERVE + 3, RESERVE), shares(64, 0, 10, RESERVE)), (None, None));
    }

    #[test]
    fn n14_what_is_lowered_is_told_by_its_key_and_what_fits_stays() {
        let mut config = Config::default();
        config.fetch.workers = Workers::Fixed(10_000);
        let (_, lowered) = fit(&mut config, 4_096).unwrap();
        assert_eq!(config.fetch.workers, Workers::Fixed(984));
        assert_eq!(lowered.len(), 2, "{lowered:?}");
        assert!(lowered[0].contains("fetch.workers is 984 in this run, not 10000"), "{lowered:?}");
        assert!(fit(&mut config, 4_096).unwrap().1.is_empty(), "it fits now");
        config.crawl.shards = 32;
        let (_, lowered) = fit(&mut config, 4_096).unwrap();
        assert!(
            !lowered.is_empty() && config.fetch.workers != Workers::Fixed(984),
            "each shard needs files: {lowered:?}"
        );
        assert!(fit(&mut Config::default(), 100).is_err_and(|error| error.to_string().contains("ulimit -n")));
    }
}
