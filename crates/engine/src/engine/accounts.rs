//! The places of all URLs that were ever admitted, in one account. A crawl is over when it closes.
//!
//! A URL is *admitted* when URL-seen says that it is new, or that it is known and is to be fetched again. From then on
//! it is in exactly one place: on its way through the robots and DNS stores, in the frontier, in flight, or at its end
//! (stored, failed, dropped). Every place is counted where it is and every end where it comes about, so that the sum
//! shows whether a URL was lost or has two ends. It holds between any two events, and over every restart.

use super::stores::Stores;
use crate::record::Statistics;

/// The account at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounts {
    /// Operations on URL-seen that are not answered: nobody knows whether these are URLs to be counted.
    pub undecided: u64,
    /// URLs that were new.
    pub unique: u64,
    /// Known URLs that were admitted once more, to be fetched again.
    pub again: u64,
    /// Ends in the archive.
    pub stored: u64,
    /// Ends after attempts that brought no answer.
    pub failed: u64,
    /// Ends without a request.
    pub dropped: u64,
    /// URLs in the robots and DNS stores.
    pub in_pipeline: u64,
    /// URLs in the frontier, in memory and on disk.
    pub queued: u64,
    /// URLs in flight.
    pub in_flight: u64,
    /// Pages that a replay found in the archive and whose URLs it has not met again: they have their end, and wait as
    /// well, or are not admitted yet.
    pub replayed: u64,
}

impl Accounts {
    /// Counts what the stores and the frontier hold, what `statistics` count as ended, and pages in flight.
    pub(super) fn of(stores: &Stores, statistics: &Statistics, in_flight: u64) -> Accounts {
        let sink = &stores.sink;
        Accounts {
            undecided: stores.undecided(),
            unique: sink.unique,
            again: sink.again,
            stored: statistics.pages_stored,
            failed: statistics.ends.failed,
            dropped: statistics.ends.dropped,
            in_pipeline: stores.in_pipeline(),
            queued: sink.frontier.queued(),
            in_flight,
            replayed: sink.replayed.len() as u64,
        }
    }

    /// URLs without an end.
    pub(crate) fn open(&self) -> u64 {
        self.in_pipeline + self.queued + self.in_flight
    }

    /// True if nothing is left of which an end could come.
    pub fn are_closed(&self) -> bool {
        self.undecided == 0 && self.open() == 0
    }

    /// URLs that were admitted.
    pub(crate) fn admitted(&self) -> u64 {
        self.unique + self.again + self.replayed
    }

    /// Ends of URLs.
    pub(crate) fn outcomes(&self) -> u64 {
        self.stored + self.failed + self.dropped
    }

    /// True if every admitted URL is in one place, and in one only.
    pub fn are_balanced(&self) -> bool {
        self.admitted() == self.outcomes() + self.open()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_balances_while_every_url_is_in_one_place() {
        let open = Accounts {
            undecided: 3,
            unique: 10,
            again: 2,
            stored: 4,
            failed: 1,
            dropped: 1,
            in_pipeline: 2,
            queued: 3,
            in_flight: 1,
            replayed: 0,
        };
        assert!(open.are_balanced() && !open.are_closed() && open.open() == 6);
        assert!(!Accounts { queued: 2, ..open }.are_balanced(), "one was lost");
        assert!(!Accounts { stored: 5, ..open }.are_balanced(), "one has two ends");
        // a replayed page has its end, and its URL waits as well
        assert!(Accounts { stored: 5, replayed: 1, ..open }.are_balanced());
    }
}
