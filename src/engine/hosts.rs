//! Addresses that the operator says: they stand before what name servers tell and what was learnt from them.
//!
//! Name servers are not asked for such names, and what is said here is kept in no store: other settings hold as soon as
//! they are read. A request goes to what is said when it is made; its addresses pass the guard as all do.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use super::job::FetchJob;

/// The frontier asks again after so long: it delays requests to an address, and may have an earlier one.
pub const SAID_FOR: Duration = Duration::from_secs(60);

/// Names with their addresses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hosts(HashMap<Box<str>, Arc<[IpAddr]>>);

impl Hosts {
    /// The addresses of `name`.
    pub fn get(&self, name: &str) -> Option<Arc<[IpAddr]>> {
        if self.0.is_empty() { None } else { self.0.get(name).cloned() }
    }
}

impl<'a> FromIterator<(&'a str, Vec<IpAddr>)> for Hosts {
    fn from_iter<T: IntoIterator<Item = (&'a str, Vec<IpAddr>)>>(hosts: T) -> Self {
        Hosts(hosts.into_iter().map(|(name, addresses)| (name.into(), addresses.into())).collect())
    }
}

impl Engine {
    /// `job` to the addresses that are said for its host, if there are some.
    pub(super) fn directed(&self, job: FetchJob) -> FetchJob {
        match self.settings.hosts.get(job.url.host()) {
            Some(addresses) => FetchJob { addresses, ..job },
            None => job,
        }
    }
}
