//! The guard of addresses that may be connected to: the public internet, and what the operator lists.
//!
//! A link, a redirect or a name server can point anywhere; without this guard a crawler is a way into the network that
//! it runs in. The guard judges addresses, not names: it is asked after resolving, about the very address that is
//! connected to, and about addresses that are written in URLs. IPv4 addresses that are wrapped in IPv6 ones are
//! unwrapped and judged themselves.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::url::CanonicalUrl;

/// A range of addresses: `10.0.0.0/8`, `fd00::/8`, or a single address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr {
    network: IpAddr,
    prefix_bits: u8,
}

/// Reasons why a text is not a [`Cidr`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CidrError {
    /// No address before the `/`.
    #[error("`{0}` is not an IP address; write a range as `10.0.0.0/8` or `fd00::/8`")]
    Address(String),
    /// The prefix length is no number or too long.
    #[error("`{text}` is not a prefix length; it must be a number from 0 to {max}")]
    Prefix {
        /// The text behind the `/`.
        text: String,
        /// The longest prefix of this family.
        max: u8,
    },
    /// Bits are set behind the prefix.
    #[error("`{0}` has bits set after its prefix; did you mean `{1}`?")]
    HostBits(String, Cidr),
}

impl Cidr {
    const fn v4(a: u8, b: u8, c: u8, d: u8, prefix_bits: u8) -> Self {
        Cidr { network: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix_bits }
    }

    const fn v6(start: [u16; 4], prefix_bits: u8) -> Self {
        let [a, b, c, d] = start;
        Cidr { network: IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)), prefix_bits }
    }

    /// True if `address` is in the range. The families are apart: `0.0.0.0/0` contains no IPv6 address.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                mask_v4(address, self.prefix_bits) == mask_v4(network, self.prefix_bits)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                mask_v6(address, self.prefix_bits) == mask_v6(network, self.prefix_bits)
            }
            _ => false,
        }
    }
}

fn mask_v4(address: Ipv4Addr, prefix_bits: u8) -> Ipv4Addr {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix_bits)).unwrap_or(0);
    Ipv4Addr::from_bits(address.to_bits() & mask)
}

fn mask_v6(address: Ipv6Addr, prefix_bits: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix_bits)).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix_bits)
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let text = text.trim();
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let network: IpAddr = address.parse().map_err(|_| CidrError::Address(text.to_owned()))?;
        let max = if network.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix {
            None => max,
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|&bits| bits <= max && digits.bytes().all(|byte| byte.is_ascii_digit()))
                .ok_or_else(|| CidrError::Prefix { text: digits.to_owned(), max })?,
        };
        let masked = match network {
            IpAddr::V4(network) => IpAddr::V4(mask_v4(network, prefix_bits)),
            IpAddr::V6(network) => IpAddr::V6(mask_v6(network, prefix_bits)),
        };
        let range = Cidr { network: masked, prefix_bits };
        if masked == network { Ok(range) } else { Err(CidrError::HostBits(text.to_owned(), range)) }
    }
}

/// Ranges outside of the public internet: IANA's special-purpose registries, multicast, and a cloud's metadata address.
const DENIED: [Cidr; 29] = [
    Cidr::v4(0, 0, 0, 0, 8),
    Cidr::v4(10, 0, 0, 0, 8),
    Cidr::v4(100, 64, 0, 0, 10),
    Cidr::v4(127, 0, 0, 0, 8),
    Cidr::v4(168, 63, 129, 16, 32),
    Cidr::v4(169, 254, 0, 0, 16),
    Cidr::v4(172, 16, 0, 0, 12),
    Cidr::v4(192, 0, 0, 0, 24),
    Cidr::v4(192, 0, 2, 0, 24),
    Cidr::v4(192, 88, 99, 0, 24),
    Cidr::v4(192, 168, 0, 0, 16),
    Cidr::v4(198, 18, 0, 0, 15),
    Cidr::v4(198, 51, 100, 0, 24),
    Cidr::v4(203, 0, 113, 0, 24),
    Cidr::v4(224, 0, 0, 0, 4),
    Cidr::v4(240, 0, 0, 0, 4),
    Cidr::v6([0, 0, 0, 0], 96),
    Cidr::v6([0x64, 0xff9b, 1, 0], 48),
    Cidr::v6([0x100, 0, 0, 0], 64),
    Cidr::v6([0x100, 0, 0, 1], 64),
    Cidr::v6([0x2001, 0, 0, 0], 23),
    Cidr::v6([0x2001, 0xdb8, 0, 0], 32),
    Cidr::v6([0x3fff, 0, 0, 0], 20),
    Cidr::v6([0x5f00, 0, 0, 0], 16),
    Cidr::v6([0xfc00, 0, 0, 0], 7),
    Cidr::v6([0xfe80, 0, 0, 0], 10),
    Cidr::v6([0xfec0, 0, 0, 0], 10),
    Cidr::v6([0xff00, 0, 0, 0], 8),
    // IPv4-translatable addresses of SIIT (::ffff:0:a.b.c.d): not to be met in the public internet
    Cidr { network: IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0)), prefix_bits: 96 },
];

/// Judges addresses before they are connected to.
#[derive(Clone, Debug, Default)]
pub struct AddressGuard {
    allow: Box<[Cidr]>,
}

impl AddressGuard {
    /// A guard that lets the public internet and these ranges pass.
    pub fn new(allow: &[Cidr]) -> Self {
        AddressGuard { allow: allow.into() }
    }

    /// The address that `url` has in the place of a name, where it may not be connected to.
    pub fn refused_literal(&self, url: &CanonicalUrl) -> Option<IpAddr> {
        url.literal_address().filter(|&literal| !self.permits(literal))
    }

    /// True if `address` may be connected to.
    pub fn permits(&self, address: IpAddr) -> bool {
        if self.allow.iter().any(|range| range.contains(address)) {
            return true;
        }
        match wrapped(address) {
            Some(inner) => self.permits(IpAddr::V4(inner)),
            None => !DENIED.iter().any(|range| range.contains(address)),
        }
    }
}

/// The IPv4 address that packets to an IPv4-mapped, NAT64 or 6to4 address end at.
fn wrapped(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(address) = address else { return None };
    let [.., g, h] = address.segments();
    let low = u32::from(g) << 16 | u32::from(h);
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(Ipv4Addr::from_bits(low)),
        [0x2002, b, c, ..] => Some(Ipv4Addr::from_bits(u32::from(b) << 16 | u32::from(c))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(allow: &[&str], address: &str) -> bool {
        let allow: Vec<Cidr> = allow.iter().map(|range| range.parse().unwrap()).collect();
        AddressGuard::new(&allow).permits(address.parse().unwrap())
    }

    #[test]
    fn s1_private_loopback_link_local_and_reserved_addresses_are_refused() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "100:0:0:1::1",
            "2001::1",
            "2001:1ff::1",
            "2001:db8::1",
            "3fff::1",
            "3fff:fff::1",
            "5f00::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "feff::1",
            "ff02::1",
            "::ffff:0:7f00:1",
        ] {
            assert!(!permits(&[], address), "{address}");
        }
    }

    #[test]
    fn s1_the_public_internet_is_permitted_up_to_the_edges_of_the_ranges() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "128.0.0.1",
            "168.63.129.17",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2001:db9::1",
            "2606:4700::1111",
            "3ffe:ffff::1",
            "4000::1",
        ] {
            assert!(permits(&[], address), "{address}");
        }
    }

    #[test]
    fn s1_addresses_wrapped_in_other_addresses_are_unwrapped() {
        for address in
            ["::ffff:169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:c0a8:101::1"]
        {
            assert!(!permits(&[], address), "{address}");
        }
        for address in ["::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"] {
            assert!(permits(&[], address), "{address}");
        }
    }

    #[test]
    fn the_operator_may_open_ranges() {
        assert!(permits(&["127.0.0.0/8"], "127.0.0.1"));
        assert!(permits(&["127.0.0.0/8"], "::ffff:127.0.0.1"));
        assert!(permits(&["10.1.2.3"], "10.1.2.3"));
        assert!(!permits(&["10.1.2.3"], "10.1.2.4"));
        assert!(permits(&["::1"], "::1"));
        assert!(!permits(&["0.0.0.0/0"], "::1"));
        assert!(permits(&["::/0"], "fe80::1"));
    }

    #[test]
    fn a_range_that_is_none_says_what_to_write() {
        let error = |text: &str| text.parse::<Cidr>().unwrap_err().to_string();
        assert!(error("ten.0.0.0/8").contains("not an IP address"));
        assert!(error("10.0.0.0/33").contains("0 to 32"));
        assert!(error("10.0.0.0/+8").contains("0 to 32"));
        assert!(error("::/129").contains("0 to 128"));
        assert!(error("10.1.0.0/8").contains("did you mean `10.0.0.0/8`"));
        assert!(error("").contains("not an IP address"));
        assert_eq!("fd00::/8".parse::<Cidr>().unwrap().to_string(), "fd00::/8");
    }
}
