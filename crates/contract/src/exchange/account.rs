//! The account of what goes between shards: a link that a shard has sent is read by another one, or it is lost.
//!
//! Each shard counts two things, pair by pair, in the checkpoint that has the effect: the records of its link files
//! ([`Account::sent`], by receiver), and the records that it has read of the others and admitted ([`Account::read`], by
//! sender). A record is a link, a pair of domains or a note. When a receiver has read all files of a sender, the two
//! numbers are equal, however often one of them was killed or taken over. Positions and revisions say how far a shard
//! has read; this says that nothing was left out on the way, whatever the reason, so it is asked before a crawl counts
//! as complete, and by `verify`.
//!
//! A shard whose link file was dropped by a rebuild counts no more what it sends ([`Account::stop_counting`]), and
//! nothing is compared with that.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The account of one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Records in the link files of all checkpoints so far, by receiver; empty where they are not counted.
    pub sent: Vec<u64>,
    /// Records that were read and admitted, by sender; empty where they are not counted.
    pub read: Vec<u64>,
}

/// Records that a shard has sent and another one has not read, or has read twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Shard that has sent them.
    pub sender: u32,
    /// Shard that they are for.
    pub reader: u32,
    /// Records that were sent.
    pub sent: u64,
    /// Records that were read.
    pub read: u64,
}

impl Account {
    /// The account of a new shard, in a crawl of this many.
    pub fn new(shards: u32) -> Account {
        let none = vec![0; shards as usize];
        Account { sent: none.clone(), read: none }
    }

    /// Counts the records of a link file, by receiver.
    pub fn send(&mut self, records: &[u64]) {
        self.sent.iter_mut().zip(records).for_each(|(sent, records)| *sent += records);
    }

    /// Counts records of `sender` that were admitted.
    pub fn admit(&mut self, sender: u32, records: u64) {
        self.read.get_mut(sender as usize).into_iter().for_each(|read| *read += records);
    }

    /// Counts no more what is sent: a file is lost, and its links are sent again.
    pub fn stop_counting(&mut self) {
        self.sent.clear();
    }

    /// The difference between this account, that of `sender`, and the one of `reader`, which has read all of its files.
    pub fn difference(&self, sender: u32, reader: u32, of_reader: &Account) -> Option<Difference> {
        let sent = *self.sent.get(reader as usize)?;
        let read = *of_reader.read.get(sender as usize)?;
        (sent != read).then_some(Difference { sender, reader, sent, read })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { sender, reader, sent, read } = self;
        write!(f, "shard-{reader:03} has read {read} of the {sent} links that shard-{sender:03} has sent to it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_that_is_sent_and_not_read_is_a_difference_and_so_is_one_that_is_read_twice() {
        let (mut sender, mut reader) = (Account::new(3), Account::new(3));
        sender.send(&[0, 7, 2]);
        sender.send(&[0, 1, 0]);
        reader.admit(0, 7);
        let difference = sender.difference(0, 1, &reader).unwrap();
        assert_eq!(difference, Difference { sender: 0, reader: 1, sent: 8, read: 7 });
        assert!(difference.to_string().contains("has read 7 of the 8 links"), "{difference}");
        reader.admit(0, 1);
        assert_eq!(sender.difference(0, 1, &reader), None);
        reader.admit(0, 1);
        assert!(sender.difference(0, 1, &reader).is_some());
        assert_eq!(sender.difference(0, 1, &Account::default()), None, "a reader that does not count");
        sender.stop_counting();
        sender.send(&[0, 1, 0]);
        assert_eq!(sender.difference(0, 1, &reader), None);
    }
}
