//! The hosts of the synthetic web, by number: name, address, latency. Both processes compute them from the number.

use std::net::Ipv4Addr;
use std::time::Duration;

use crawler::simweb::Names;

/// The most hosts: the names and addresses below have room for more, a bench has not.
pub const HOSTS_MAX: u32 = 100_000;
/// The address of the first host; the others follow.
const FIRST: u32 = u32::from_be_bytes([127, 1, 0, 1]);
const LATENCY_MS_MIN: u64 = 100;
const LATENCY_MS_MAX: u64 = 300;
/// A name server is nearer than the host: its share of the latency.
const DNS_SHARE: u32 = 10;

/// A host by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host(pub u32);

impl Host {
    /// Returns the host of a name.
    fn named(name: &str) -> Option<Host> {
        let number = name.strip_prefix("www.site-")?.strip_suffix(".example")?.parse().ok()?;
        Some(Host(number))
    }

    /// Returns the host at an address.
    pub fn at(address: Ipv4Addr) -> Option<Host> {
        u32::from(address).checked_sub(FIRST).map(Host)
    }

    /// A name in a registrable domain of its own.
    pub fn name(self) -> String {
        format!("www.site-{}.example", self.0)
    }

    /// An address of its own.
    pub fn address(self) -> Ipv4Addr {
        Ipv4Addr::from(FIRST + self.0)
    }

    /// The time until each of its answers starts, always the same.
    pub fn latency(self) -> Duration {
        Duration::from_millis(fastrand::Rng::with_seed(self.0.into()).u64(LATENCY_MS_MIN..=LATENCY_MS_MAX))
    }
}

/// The names of the first hosts.
pub struct HostNames(pub u32);

impl Names for HostNames {
    fn resolve(&self, name: &str) -> Option<Ipv4Addr> {
        Host::named(name).filter(|host| host.0 < self.0).map(Host::address)
    }

    fn ttl_s(&self) -> u32 {
        3_600
    }

    fn delay(&self, name: &str) -> Duration {
        Host::named(name).map_or(Duration::ZERO, |host| host.latency() / DNS_SHARE)
    }
}
