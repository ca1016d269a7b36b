//! Names to addresses, and only to addresses that may be connected to.
//!
//! The client asks [`GuardedResolver`] for every name. For the host of a job under way it answers with the job's
//! addresses, which the engine got from [`GuardedResolver::lookup`] and keeps with their expiry; for any other name it
//! asks the name servers. Either way the addresses pass the guard here, at connect time, so the address that was
//! checked is the one that is connected to.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::failure::Refused;
use super::{FetchOptions, StartError};
use crate::clock::{Clock, Time};
use crate::outcome::Failure;
use crate::web::address::AddressGuard;

/// Addresses that are tried for a name.
const ADDRESSES_MAX: usize = 8;
/// Time for one question to one name server.
const QUESTION: Duration = Duration::from_secs(3);

/// A resolver behind the address guard; clones share it.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    inner: Arc<Inner>,
}

struct Inner {
    hickory: TokioResolver,
    guard: AddressGuard,
    /// Hosts of the jobs under way: their addresses, and how many jobs there are.
    under_way: Mutex<HashMap<Box<str>, Hosting>>,
}

/// A host's addresses, and how many jobs it has under way.
type Hosting = (Arc<[IpAddr]>, usize);

/// While it lives, the client gets a job's addresses for the job's host.
pub(super) struct Pinned {
    inner: Arc<Inner>,
    host: Box<str>,
}

impl GuardedResolver {
    /// A resolver that asks the configured name servers, or those of the system.
    pub(super) fn new(options: &FetchOptions, guard: AddressGuard) -> Result<Self, StartError> {
        let runtime = TokioRuntimeProvider::default();
        let fault = |e: NetError| StartError::Dns(e.to_string());
        let mut builder = if options.nameservers.is_empty() {
            TokioResolver::builder(runtime).map_err(fault)?
        } else {
            let servers = options.nameservers.iter().map(name_server).collect();
            TokioResolver::builder_with_config(ResolverConfig::from_name_servers(servers), runtime)
        };
        let limits = builder.options_mut();
        limits.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        limits.timeout = QUESTION;
        limits.attempts = 2;
        limits.positive_min_ttl = Some(options.ttl.0);
        limits.positive_max_ttl = Some(options.ttl.1);
        limits.negative_max_ttl = Some(options.negative_ttl);
        let hickory = builder.build().map_err(fault)?;
        Ok(GuardedResolver { inner: Arc::new(Inner { hickory, guard, under_way: Mutex::default() }) })
    }

    /// The addresses of `name` that may be connected to, and until when they hold.
    pub(super) async fn lookup(&self, name: &str, clock: &dyn Clock) -> Result<(Arc<[IpAddr]>, Time), Failure> {
        let (addresses, valid_for) = self.inner.lookup(name).await?;
        Ok((addresses.into(), clock.now() + valid_for))
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
    async fn lookup(&self, name: &str) -> Result<(Vec<IpAddr>, Duration), Failure> {
        // the final dot keeps the system's search domains out
        let absolute = format!("{}.", name.trim_end_matches('.'));
        let answer = self.hickory.lookup_ip(absolute).await.map_err(|e| {
            if e.is_nx_domain() || e.is_no_records_found() { Failure::NoSuchHost } else { Failure::Dns }
        })?;
        let valid_for = answer.valid_until().saturating_duration_since(Instant::now());
        let all: Vec<IpAddr> = answer.iter().collect();
        let permitted = self.permitted(&all)?;
        Ok((permitted, valid_for))
    }

    fn permitted(&self, addresses: &[IpAddr]) -> Result<Vec<IpAddr>, Failure> {
        let permitted: Vec<IpAddr> =
            addresses.iter().copied().filter(|&a| self.guard.permits(a)).take(ADDRESSES_MAX).collect();
        match (permitted.is_empty(), addresses.is_empty()) {
            (false, _) => Ok(permitted),
            (true, true) => Err(Failure::NoSuchHost),
            (true, false) => Err(Failure::PrivateAddress),
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let inner = self.inner.clone();
        Box::pin(async move {
            let pinned = {
                let under_way = inner.under_way.lock().unwrap_or_else(PoisonError::into_inner);
                under_way.get(name.as_str()).map(|(addresses, _)| addresses.clone())
            };
            let permitted = match pinned {
                Some(addresses) => inner.permitted(&addresses),
                None => inner.lookup(name.as_str()).await.map(|(addresses, _)| addresses),
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

fn name_server(address: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}
