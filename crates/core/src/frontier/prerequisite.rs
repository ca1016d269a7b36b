//! Prerequisites: requests that are made to an origin for the sake of another one. The robots.txt of a host may be a
//! redirect to another host, which is asked then, although none of its URLs has come up.
//!
//! That host's name and its address have their delays and their limit of connections for such a request as for any
//! other. A host of another shard may be asked by every machine of the crawl: each of them leaves it alone for this
//! many times its delay as there are machines.

use super::ledger::Ledger;
use super::options::Politeness;
use crate::fingerprint::Fingerprint;

/// A host that is asked for the sake of another one.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The origin.
    pub origin: Fingerprint,
    /// Its host's name.
    pub name: Fingerprint,
    /// True if its URLs belong to another shard.
    pub is_foreign: bool,
    /// Delays and limits with which its host is treated.
    pub politeness: Politeness,
}

impl Asked {
    /// Returns the multiple of its delay for which its host is left alone, where turns are shared by `ledger`.
    pub(super) fn turns(&self, ledger: Option<&Ledger>) -> u32 {
        ledger.filter(|_| self.is_foreign).map_or(1, Ledger::foreign_factor)
    }
}
