//! Progress of a start that reads in the archive, for people who wait for it.

/// Data in the archive that a start reads before the crawl goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartReads {
    /// Pages, for a calendar that begins late.
    Calendar,
    /// Pages, for supporters that are counted late.
    Support,
    /// Bytes that came after the last checkpoint.
    Recovery,
}

/// Hears of what is read, how much of it was, and how much there is in all.
pub(crate) type StartProgress<'a> = dyn FnMut(StartReads, u64, u64) + 'a;
