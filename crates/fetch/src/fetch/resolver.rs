//! Names to addresses, and only to addresses that may be connected to.
//!
//! The client asks [`GuardedResolver`] for every name. For the host of a job in progress it answers with the job's
//! addresses, which the engine got from [`GuardedResolver::lookup`] and keeps with their expiry; for any other name it
//! asks the name servers. Either way the addresses pass the guard here, at connect time, so the address that was
//! checked is the one that is connected to.
//!
//! IPv4 addresses come first, because more hosts are well served by them; when the first address does not answer, the
//! client tries the others in turn, and addresses of the other family at the same time.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::failure::Refused;
use super::names::{NameServers, Resolution};
use super::{FetchOptions, StartError};
use crate::clock::{Clock, Time};
use crate::contract::Unresolved;
use crate::outcome::{Cause, Failure};
use crate::web::address::AddressGuard;

/// Addresses that are tried for a name.
const ADDRESSES_MAX: usize = 8;

/// A resolver behind the address guard; clones share it.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    inner: Arc<Inner>,
}

struct Inner {
    servers: NameServers,
    guard: AddressGuard,
    /// Hosts of the jobs in progress: their addresses, and how many jobs there are.
    under_way: Mutex<HashMap<Box<str>, Hosting>>,
}

/// A host's addresses, and how many jobs it has in progress.
type Hosting = (Arc<[IpAddr]>, usize);

/// While it lives, the client gets a job's addresses for the job's host.
pub(super) struct Pinned {
    inner: Arc<Inner>,
    host: Box<str>,
}

impl GuardedResolver {
    /// A resolver that asks the configured name servers, or the ones of the system.
    pub(super) fn new(options: &FetchOptions, guard: AddressGuard) -> Result<Self, StartError> {
        let servers = NameServers::new(options)?;
        Ok(GuardedResolver { inner: Arc::new(Inner { servers, guard, under_way: Mutex::default() }) })
    }

    /// The addresses of `name` that may be connected to, and until when they hold.
    pub(super) async fn lookup(&self, name: &str, clock: &dyn Clock) -> Result<(Arc<[IpAddr]>, Time), Unresolved> {
        let (addresses, valid_for) = self.inner.lookup(name).await?;
        Ok((addresses.into(), clock.now() + valid_for))
    }

    /// The addresses by which a proxy may ask the host `name`: the ones in `known` that pass the guard, or if none is
    /// known, the ones that the name servers return.
    pub(super) async fn permitted(&self, name: &str, known: &[IpAddr]) -> Result<Arc<[IpAddr]>, Cause> {
        if known.is_empty() {
            return self.inner.lookup(name).await.map(|(addresses, _)| addresses.into()).map_err(|no| no.cause);
        }
        Ok(self.inner.permitted(known)?.into())
    }

    /// Answers the client's questions for `host` with `addresses` until the return value is dropped.
    pub(super) fn pin(&self, host: &str, addresses: &Arc<[IpAddr]>) -> Pinned {
        let mut under_way = self.inner.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = under_way.entry(host.into()).or_insert_with(|| (addresses.clone(), 0));
        entry.0 = addresses.clone();
        entry.1 += 1;
        Pinned { inner: self.inner.clone(), host: host.into() }
    }
}

impl Inner {
    async fn lookup(&self, name: &str) -> Result<(Vec<IpAddr>, Duration), Unresolved> {
        match self.servers.lookup(name).await {
            Resolution::Found { v4, v6, valid_for } => {
                let holds = |failure: Failure| Unresolved { valid_for: Some(valid_for), ..failure.into() };
                Ok((self.permitted(&self.of_both_families(v4, v6)).map_err(holds)?, valid_for))
            }
            Resolution::Nothing { valid_for } => {
                Err(Unresolved { valid_for: Some(valid_for), ..Failure::NoSuchHost.into() })
            }
            Resolution::Unanswered(cause) => Err(Unresolved { cause, ..Failure::Dns.into() }),
        }
    }

    /// The addresses of both families that pass the guard, IPv4 first; neither family crowds the other out.
    fn of_both_families(&self, v4: Vec<IpAddr>, v6: Vec<IpAddr>) -> Vec<IpAddr> {
        let pass = |list: &mut Vec<IpAddr>| list.retain(|&address| self.guard.permits(address));
        let (mut first, mut second) = (v4, v6);
        pass(&mut first);
        pass(&mut second);
        first.truncate(ADDRESSES_MAX - second.len().min(ADDRESSES_MAX / 2));
        second.truncate(ADDRESSES_MAX - first.len());
        first.append(&mut second);
        first
    }

    /// Returns the `addresses` that pass the guard, in their order.
    fn permitted(&self, addresses: &[IpAddr]) -> Result<Vec<IpAddr>, Failure> {
        let permitted: Vec<IpAddr> =
            addresses.iter().copied().filter(|&a| self.guard.permits(a)).take(ADDRESSES_MAX).collect();
        if permitted.is_empty() { Err(Failure::PrivateAddress) } else { Ok(permitted) }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let inner = self.inner.clone();
        Box::pin(async move {
            // only a client that gives addresses to a proxy asks for the address of a literal one
            let literal = name.as_str().trim_matches(['[', ']']).parse::<IpAddr>().ok();
            let pinned = literal.map(|address| Arc::from([address])).or_else(|| {
                let under_way = inner.under_way.lock().unwrap_or_else(PoisonError::into_inner);
                under_way.get(name.as_str()).map(|(addresses, _)| addresses.clone())
            });
            let permitted = match pinned {
                // in the order in which the frontier wants them
                Some(addresses) => inner.permitted(&addresses).map_err(Into::into),
                None => inner.lookup(name.as_str()).await.map(|(addresses, _)| addresses).map_err(|no| no.cause),
            };
            let permitted = permitted.map_err(Refused)?;
            // port 0: the client puts the URL's port there
            let sockets: Addrs = Box::new(permitted.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(sockets)
        })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let mut under_way = self.inner.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = under_way.get_mut(&self.host) {
            entry.1 -= 1;
            if entry.1 == 0 {
                under_way.remove(&self.host);
            }
        }
    }
}
