//! Rounds of fetching again: seeds that are asked for although they were seen (`--force`).
//!
//! A round has a number, and every seed remembers the last round that it was put into. It is put into a round once,
//! no matter who lists it or how often. The seeds of a round enter the queue as *forced* URLs: the URL-seen test lets
//! such a URL through where its key is known, and everything behind it (robots.txt, politeness) treats it like any
//! other. Budgets count URLs: one that was answered before, as its reason says ([`Recrawl::Wanted`]), is held back by
//! none and counted by none. One whose key is new is not forced but fetched as in any run. The target of a forced
//! seed's redirect is forced too.
//!
//! A run with `--force` begins a round, or goes on with the last one: after a kill in it, and after a stop that left
//! one of its listed seeds without an outcome. A crawl that came to its end, or a stop after the last of them, ends a
//! round.
//!
//! No request is made before the round, its seeds' marks and their queued URLs are in a durable checkpoint. So whatever
//! is stored in a round belongs to a URL that the checkpoint has, and a replay takes it out like any other.
//!
//! [`Recrawl::Wanted`]: crate::calendar::Recrawl::Wanted

/// A round that was begun, or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refetch {
    /// Number of the round.
    pub round: u32,
    /// True if the round had begun in an earlier run.
    pub goes_on: bool,
    /// Listed seeds that were not in it yet.
    pub seeds: u64,
    /// Lines that list a seed.
    pub listed: u64,
}

/// The round of a run with `--force`: as one shard sees it, or decided for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundWanted {
    /// The last round that the shard knows; decided, that of this run.
    pub number: u32,
    /// True if this run goes on with it.
    pub goes_on: bool,
}

impl RoundWanted {
    /// The round of the crawl of which each shard wants one of these: the highest that any of them knows, if any goes
    /// on with its own; else the one behind it.
    pub fn of_all(shards: impl IntoIterator<Item = RoundWanted>) -> RoundWanted {
        let none = RoundWanted { number: 0, goes_on: false };
        let last = shards.into_iter().fold(none, |all, shard| RoundWanted {
            number: all.number.max(shard.number),
            goes_on: all.goes_on || shard.goes_on,
        });
        RoundWanted { number: last.number + u32::from(!last.goes_on), ..last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_go_on_with_a_round_together_or_begin_one_together() {
        let of_all = |shards: &[(u32, bool)]| {
            let wanted = shards.iter().map(|&(number, goes_on)| RoundWanted { number, goes_on });
            let RoundWanted { number, goes_on } = RoundWanted::of_all(wanted);
            (number, goes_on)
        };
        assert_eq!(of_all(&[(0, false), (0, false)]), (1, false));
        assert_eq!(of_all(&[(3, false), (3, true)]), (3, true));
        // a shard that was killed before it had heard of the third round
        assert_eq!(of_all(&[(3, true), (2, false)]), (3, true));
        assert_eq!(of_all(&[(3, false), (2, false)]), (4, false));
    }
}
