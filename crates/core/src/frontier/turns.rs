//! The choice of a host's next URL: one that is new, or one of a page that is due again.
//!
//! Pages that are due come before all new URLs of their host, behind those that are tried again. While the buffer has
//! both, they get their share of the turns, by a credit that each turn of the other kind adds to: of ten turns at a
//! share of 0.3, three. What is on disk comes in the order of its ranks; so the share is that of the URLs in memory,
//! and a backlog on disk is for the stretch of the schedule to prevent.

use super::host::{Host, Item};

/// The priority of a page that is due.
pub const DUE_PRIORITY: u8 = 0;

impl Item {
    /// Returns whether its page was fetched before, and is due again.
    pub(super) fn is_due_again(&self) -> bool {
        self.url.is_due_again()
    }

    /// Returns whether budgets have counted its page, and hold it back no more.
    pub(super) fn is_counted(&self) -> bool {
        self.url.is_counted()
    }
}

impl Host {
    /// The place in the buffer of the URL that is next, when pages that are due have `share` of the turns.
    pub(super) fn next_in_turn(&self, share: f32) -> usize {
        let is_new = |&first: &usize| first < self.buffer.len();
        self.first_new().filter(is_new).filter(|_| self.due_credit + share < 1.0).unwrap_or(0)
    }

    /// Returns the position at which new URLs begin behind ones that are due, if the first is one.
    fn first_new(&self) -> Option<usize> {
        let due = self.buffer.front().filter(|item| item.is_due_again())?;
        Some(self.buffer.partition_point(|item| item.rank <= due.rank))
    }

    /// Takes the URL out that is next.
    pub(super) fn take_in_turn(&mut self, share: f32) -> Option<Item> {
        let has_both = self.first_new().is_some_and(|first| first < self.buffer.len());
        let at = self.next_in_turn(share);
        if has_both {
            self.due_credit += if at == 0 { share - 1.0 } else { share };
        }
        self.buffer.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Time;
    use crate::fingerprint::Fingerprint;
    use crate::frontier::tests::url;

    fn served(share: f32, due: u64, new: u64, turns: usize) -> String {
        let mut host = Host::new(Fingerprint::default(), Fingerprint::default(), "http://a.example".into());
        for number in 0..due + new {
            let mut url = url(1, number, 3);
            if number < due {
                (url.priority, url.recrawl) = (DUE_PRIORITY, Some([1].into()));
            }
            host.insert(Item::new(url, number), Time::ZERO);
        }
        let turn = |item: Item| if item.is_due_again() { 'd' } else { 'n' };
        (0..turns).filter_map(|_| host.take_in_turn(share).map(turn)).collect()
    }

    #[test]
    fn pages_that_are_due_have_their_share_while_there_are_new_ones() {
        assert_eq!(served(0.5, 10, 10, 8), "ndndndnd");
        assert_eq!(served(1.0, 3, 2, 5), "dddnn");
        let turns = served(0.3, 100, 100, 100);
        assert_eq!(turns.matches('d').count(), 30, "{turns}");
        assert_eq!(served(0.1, 3, 0, 5), "ddd", "nobody waits for what is not there");
        assert_eq!(served(0.5, 0, 3, 5), "nnn");
    }
}
