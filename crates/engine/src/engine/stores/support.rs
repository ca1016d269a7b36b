//! The store of pairs of domains: a pair that is new is one more supporter of its target.

use super::Stores;
use crate::disk::Result;
use crate::drum::{Admission, Dispatcher};
use crate::engine::pair::{Pair, Supported};
use crate::fingerprint::Fingerprint;
use crate::frontier::Frontier;

/// Counts the pairs that a merge found to be new.
pub(super) struct BehindSupport<'a> {
    pub frontier: &'a mut Frontier,
}

impl Dispatcher<Fingerprint, Pair, Supported> for BehindSupport<'_> {
    fn unique_key_update(&mut self, _: Fingerprint, _: Pair, target: Option<Supported>) -> Result<()> {
        target.map_or(Ok(()), |Supported(target)| self.frontier.support(target))
    }
}

impl Stores {
    /// Counts a pair that supports `target`, unless it was counted before.
    pub(in crate::engine) fn support(&mut self, pair: Fingerprint, target: Fingerprint) -> Result<()> {
        let Some(support) = &mut self.support else { return Ok(()) };
        match support.admit(pair, Pair, Supported(target))? {
            Admission::Unique(Supported(target)) => self.sink.frontier.support(target),
            Admission::Duplicate(_) | Admission::Pending => Ok(()),
        }
    }
}
