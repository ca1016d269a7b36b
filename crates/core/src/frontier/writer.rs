//! The writer of a host's record, by which it is known by which clock the record's times are.
//!
//! A process knows its own records: those in memory are its own or were [renewed](super::record::HostRecord::renewed)
//! when it began, those of a tail have a sequence from its first one on, and those of a base that it has merged itself
//! are its own or were renewed by that merge.

use crate::clock::{Era, Stored, Time};

/// The writer of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// This process.
    This,
    /// One before this process, which began then.
    Before(Time),
}

impl Writer {
    /// The clock of a record that says that it was written at `written`.
    pub(super) fn era(self, written: Stored) -> Era {
        match self {
            Writer::This => Era::OWN,
            Writer::Before(began) => Era::before(began, written),
        }
    }
}

/// The beginning of a process, by which its records are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning {
    /// Time at which it began.
    pub at: Time,
    /// Its first own sequence.
    pub sequence: u64,
}

impl Beginning {
    /// The writer of a record of this sequence in a tail.
    pub(super) fn writer_of(self, sequence: u64) -> Writer {
        if sequence >= self.sequence { Writer::This } else { Writer::Before(self.at) }
    }

    /// The writer of the records of a base that this process has merged, or not.
    pub(super) fn writer_of_base(self, is_own: bool) -> Writer {
        if is_own { Writer::This } else { Writer::Before(self.at) }
    }
}
