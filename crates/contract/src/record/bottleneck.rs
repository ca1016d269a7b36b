//! The limit of a crawl at this moment: one value, shown in the same words by the display, `status` and the console.
//!
//! It is read off gauges of one moment and decides nothing. The rules, in their order: a crawl that makes no requests
//! is limited by the cause of that; where hosts are ready, by what keeps their requests back (configured rates,
//! workers); where none is ready, by what it waits for: the delays of hosts, answers, the next round of budgets,
//! merges, the queue on disk, or the delays and rests of the hosts there. A host that waits for its delay counts before
//! merges that have other hosts in them: politeness is what would remain.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Constraints, Doing, Gauges, Live, WorkersBound};

/// The limit of a crawl: the one cause for which it makes no more requests at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// Hosts are ready, and every worker is busy.
    Workers,
    /// The same, and more workers would only share busy cores.
    Cores,
    /// The same, and more workers would only share a full line.
    Line,
    /// The same, and little memory is left for more workers.
    Memory,
    /// Every host that has URLs waits for its delay.
    Politeness,
    /// Every host that has URLs rests after failures or by its own word.
    BackOff,
    /// All hosts that have URLs are being asked.
    Answers,
    /// Nearly all that is in flight are look-ups of names and robots.txt.
    Names,
    /// No host is ready, and hosts wait for the next round of budgets.
    Round,
    /// No host is ready, and URLs wait for a merge of the stores.
    Merges,
    /// No host is ready, and URLs come from the queue on disk; or a checkpoint has to be durable first.
    Disk,
    /// The rates that are configured.
    Rates,
    /// The last pages that `crawl.max_pages` permits are in flight.
    PageLimit,
    /// Seeds are being read.
    Seeds,
    /// All that is known is fetched, and the next page of the recrawl calendar is not due yet.
    Calendar,
    /// The crawl is paused.
    Paused,
    /// The crawl stops.
    Stopping,
    /// No URL is left, or the crawl has ended.
    Nothing,
}

impl Bottleneck {
    /// All of them.
    pub const ALL: [Bottleneck; 18] = [
        Bottleneck::Workers,
        Bottleneck::Cores,
        Bottleneck::Line,
        Bottleneck::Memory,
        Bottleneck::Politeness,
        Bottleneck::BackOff,
        Bottleneck::Answers,
        Bottleneck::Names,
        Bottleneck::Round,
        Bottleneck::Merges,
        Bottleneck::Disk,
        Bottleneck::Rates,
        Bottleneck::PageLimit,
        Bottleneck::Seeds,
        Bottleneck::Calendar,
        Bottleneck::Paused,
        Bottleneck::Stopping,
        Bottleneck::Nothing,
    ];

    /// Returns the limit of the crawl whose state is `live`.
    pub fn of_live(live: &Live) -> Bottleneck {
        Bottleneck::of(live.phase, &live.figures.gauges)
    }

    /// Returns the limit of a crawl in the phase `doing` with these gauges.
    pub fn of(doing: Doing, gauges: &Gauges) -> Bottleneck {
        match doing {
            Doing::Crawling => {}
            Doing::Paused => return Bottleneck::Paused,
            Doing::Stopping | Doing::Closing => return Bottleneck::Stopping,
            Doing::Done => return Bottleneck::Nothing,
        }
        let Constraints { checkpoint, page_limit, .. } = gauges.constraints;
        if checkpoint {
            return Bottleneck::Disk;
        }
        if page_limit {
            return Bottleneck::PageLimit;
        }
        Bottleneck::of_ready(gauges).unwrap_or_else(|| Bottleneck::of_waiting(gauges))
    }

    /// Returns what keeps back the requests of hosts that are ready; `None` where no host is ready, or where one became
    /// ready only now.
    fn of_ready(gauges: &Gauges) -> Option<Bottleneck> {
        let Constraints { workers_busy, rate_limited, lookups, .. } = gauges.constraints;
        if gauges.hosts_ready == 0 {
            return None;
        }
        if rate_limited {
            return Some(Bottleneck::Rates);
        }
        if !workers_busy {
            return None;
        }
        // more workers would not help where those there are wait for name servers
        if lookups.saturating_mul(4) >= gauges.in_flight.saturating_mul(3) && lookups > 0 {
            return Some(Bottleneck::Names);
        }
        Some(match gauges.workers.map(|workers| workers.bound) {
            Some(WorkersBound::Cores) => Bottleneck::Cores,
            Some(WorkersBound::Line) => Bottleneck::Line,
            Some(WorkersBound::Memory) => Bottleneck::Memory,
            Some(WorkersBound::Hosts | WorkersBound::Growing | WorkersBound::Ceiling) | None => Bottleneck::Workers,
        })
    }

    /// Returns what a crawl without ready hosts waits for.
    fn of_waiting(gauges: &Gauges) -> Bottleneck {
        let Constraints { merging, refilling, seeding, lookups, disk_wait, .. } = gauges.constraints;
        let waits_for_merge = merging || gauges.keys_pending > 0;
        let resting_hosts = gauges.rounds.map_or(0, |rounds| rounds.resting_hosts);
        if gauges.resting.as_ref().is_some_and(|resting| resting.is_all) && gauges.in_flight == 0 {
            Bottleneck::BackOff
        } else if gauges.hosts_waiting > resting_hosts {
            Bottleneck::Politeness
        } else if gauges.in_flight > 0 && lookups >= gauges.in_flight {
            Bottleneck::Names
        } else if gauges.in_flight > 0 || gauges.hosts_ready > 0 {
            Bottleneck::Answers
        } else if gauges.rounds.is_some_and(|rounds| rounds.has_resting) {
            Bottleneck::Round
        } else if waits_for_merge {
            Bottleneck::Merges
        } else if seeding {
            Bottleneck::Seeds
        } else if let Some(wait) = disk_wait {
            if wait.is_rest { Bottleneck::BackOff } else { Bottleneck::Politeness }
        } else if refilling || gauges.queued > 0 {
            Bottleneck::Disk
        } else if gauges.calendar.is_some_and(|calendar| calendar.is_waiting()) {
            Bottleneck::Calendar
        } else {
            Bottleneck::Nothing
        }
    }

    /// One word, the same in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Bottleneck::Workers => "workers",
            Bottleneck::Cores => "cores",
            Bottleneck::Line => "line",
            Bottleneck::Memory => "memory",
            Bottleneck::Politeness => "politeness",
            Bottleneck::BackOff => "back-off",
            Bottleneck::Answers => "answers",
            Bottleneck::Names => "names",
            Bottleneck::Round => "round",
            Bottleneck::Merges => "merges",
            Bottleneck::Disk => "disk",
            Bottleneck::Rates => "rates",
            Bottleneck::PageLimit => "page-limit",
            Bottleneck::Seeds => "seeds",
            Bottleneck::Calendar => "calendar",
            Bottleneck::Paused => "paused",
            Bottleneck::Stopping => "stopping",
            Bottleneck::Nothing => "nothing",
        }
    }
}

/// One short phrase, what it is before the colon.
impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bottleneck::Workers => "workers: all are busy while hosts are ready",
            Bottleneck::Cores => "this machine: its cores are busy",
            Bottleneck::Line => "the network: the line is full",
            Bottleneck::Memory => "this machine: little memory is left for more workers",
            Bottleneck::Politeness => "politeness: hosts wait for their delays",
            Bottleneck::BackOff => "back-off: every host rests after failures or on request",
            Bottleneck::Answers => "servers: all hosts are being asked",
            Bottleneck::Names => "DNS and robots.txt: hosts wait for their first answers",
            Bottleneck::Round => "the round of budgets: hosts wait for the next one",
            Bottleneck::Merges => "merges: links wait for the lookup in the stores",
            Bottleneck::Disk => "disk: requests wait for the queue or a checkpoint",
            Bottleneck::Rates => "the configured rate (politeness.requests_per_second, bytes_per_second)",
            Bottleneck::PageLimit => "the page limit: the last pages are in flight",
            Bottleneck::Seeds => "seeds: they are being read",
            Bottleneck::Calendar => "the calendar: up to date until the next page is due",
            Bottleneck::Paused => "a pause: crawler ctl resume ends it",
            Bottleneck::Stopping => "a stop: requests in flight may finish",
            Bottleneck::Nothing => "nothing: no URL is left",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{DiskWait, Resting, RoundFigures, Workers};

    /// Gauges of a crawl with these numbers of hosts ready and waiting, and of requests in flight.
    fn gauges(hosts_ready: u64, hosts_waiting: u64, in_flight: u64) -> Gauges {
        Gauges { hosts_ready, hosts_waiting, in_flight, queued: 1_000, ..Gauges::default() }
    }

    fn with(gauges: Gauges, change: impl FnOnce(&mut Gauges)) -> Gauges {
        let mut gauges = gauges;
        change(&mut gauges);
        gauges
    }

    fn full(gauges: Gauges) -> Gauges {
        with(gauges, |gauges| gauges.constraints.workers_busy = true)
    }

    fn bound(bound: WorkersBound) -> Gauges {
        with(full(gauges(9, 4, 64)), |gauges| gauges.workers = Some(Workers { now: 64, most: 2_000, bound }))
    }

    #[test]
    fn each_state_of_a_crawl_has_one_bottleneck() {
        use Bottleneck::*;
        let rests = |is_all| Some(Resting { hosts: 3, is_all, ..Resting::default() });
        let idle = || with(gauges(0, 0, 0), |gauges| gauges.queued = 0);
        let round = |resting_hosts| Some(RoundFigures { resting_hosts, has_resting: true, ..RoundFigures::default() });
        let on_disk = |is_rest| {
            with(gauges(0, 0, 0), |gauges| {
                gauges.constraints.refilling = true;
                gauges.constraints.disk_wait = Some(DiskWait { ms: 40_000, is_rest });
            })
        };
        let table = [
            ("all workers are busy and hosts are ready", full(gauges(9, 4, 64)), Workers),
            ("the number of workers was found", bound(WorkersBound::Ceiling), Workers),
            ("more workers would not help the cores", bound(WorkersBound::Cores), Cores),
            ("nor the line", bound(WorkersBound::Line), Line),
            ("nor memory", bound(WorkersBound::Memory), Memory),
            ("workers wait for name servers", with(full(gauges(9, 4, 64)), |g| g.constraints.lookups = 60), Names),
            ("workers wait for servers", with(full(gauges(9, 4, 64)), |g| g.constraints.lookups = 4), Workers),
            (
                "the rate comes before workers",
                with(full(gauges(9, 0, 64)), |g| g.constraints.rate_limited = true),
                Rates,
            ),
            ("no host could use the rate", with(gauges(0, 9, 1), |g| g.constraints.rate_limited = true), Politeness),
            ("no host is ready, hosts wait", gauges(0, 9, 0), Politeness),
            ("some are asked, others wait", gauges(0, 9, 5), Politeness),
            ("as many hosts as workers", full(gauges(0, 0, 64)), Answers),
            ("one host became ready since", gauges(1, 9, 5), Politeness),
            ("all that are left rest", with(gauges(0, 3, 0), |g| g.resting = rests(true)), BackOff),
            ("some rest, others wait", with(gauges(0, 3, 0), |g| g.resting = rests(false)), Politeness),
            ("one host is being asked", gauges(0, 0, 1), Answers),
            ("its name is looked up", with(gauges(0, 0, 1), |g| g.constraints.lookups = 1), Names),
            ("a host waits beside a merge", with(gauges(0, 1, 0), |g| g.constraints.merging = true), Politeness),
            ("only a merge is left to wait for", with(gauges(0, 0, 0), |g| g.constraints.merging = true), Merges),
            ("all hosts wait for the next round", with(gauges(0, 350, 0), |g| g.rounds = round(350)), Round),
            (
                "beside a merge too",
                with(with(gauges(0, 350, 0), |g| g.rounds = round(350)), |g| g.keys_pending = 40),
                Round,
            ),
            ("those that do are on disk", with(gauges(0, 0, 0), |g| g.rounds = round(0)), Round),
            ("others wait for their delays", with(gauges(0, 351, 0), |g| g.rounds = round(350)), Politeness),
            ("hosts on disk wait for their delays", on_disk(false), Politeness),
            ("hosts on disk rest", on_disk(true), BackOff),
            ("keys wait for a merge", with(idle(), |g| g.keys_pending = 5), Merges),
            ("URLs are on disk", with(gauges(0, 0, 0), |g| g.constraints.refilling = true), Disk),
            ("URLs are nowhere else", gauges(0, 0, 0), Disk),
            ("a checkpoint comes first", with(full(gauges(9, 4, 3)), |g| g.constraints.checkpoint = true), Disk),
            ("the last pages are in flight", with(gauges(9, 4, 3), |g| g.constraints.page_limit = true), PageLimit),
            ("seeds are being read", with(idle(), |g| g.constraints.seeding = true), Seeds),
            ("nothing is left", idle(), Nothing),
        ];
        for (why, gauges, expected) in table {
            assert_eq!(Bottleneck::of(Doing::Crawling, &gauges), expected, "{why}");
        }
        for (doing, expected) in
            [(Doing::Paused, Paused), (Doing::Stopping, Stopping), (Doing::Closing, Stopping), (Doing::Done, Nothing)]
        {
            assert_eq!(Bottleneck::of(doing, &full(gauges(9, 4, 64))), expected, "{doing}");
        }
    }

    #[test]
    fn a_bottleneck_has_one_code_everywhere_and_a_phrase_for_a_line() {
        for bottleneck in Bottleneck::ALL {
            assert_eq!(serde_json::to_string(&bottleneck).unwrap(), format!("\"{}\"", bottleneck.code()));
            let phrase = bottleneck.to_string();
            assert!(phrase.len() <= 75 && !phrase.contains('\n'), "{phrase}");
        }
    }
}
