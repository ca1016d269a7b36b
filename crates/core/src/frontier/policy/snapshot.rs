//! The facts that decide about a partition, in plain numbers.

use crate::clock::Time;

/// Facts that decide about one partition.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::frontier) struct PartitionSnapshot {
    /// A job of it is out.
    pub is_busy: bool,
    /// Bytes of its base.
    pub base_bytes: u64,
    /// URLs of the base that are taken, and that are not.
    pub consumed: u64,
    pub left: u64,
    /// Bytes of its tails.
    pub tail_bytes: u64,
    /// URLs in tails and array, and when the first of them came.
    pub tail_urls: u64,
    pub tail_since: Time,
    /// True if a host that is ready for them needs some of these.
    pub tail_is_wanted: bool,
    /// Domains in tails and array with new supporters, where these are counted.
    pub tail_domains: usize,
    /// Bytes in memory that a merge would free.
    pub overlay_bytes: usize,
    /// Time at which the last merge of it ended.
    pub merged_at: Time,
    /// Active hosts of it run dry while its base has more of them.
    pub runs_dry: bool,
    /// Time at which a walk over the hosts of its base may find one; `None` when another event has to come first.
    pub walk_due: Option<Time>,
}
