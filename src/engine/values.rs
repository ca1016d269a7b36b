//! What the robots and DNS stores keep for a key.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Time;
use crate::drum::{Aux, Value};
use crate::frontier::{QueuedUrl, Rules};
use crate::web::robots::RobotsRules;

/// The rules of an origin for our own agent, and until when they hold.
#[derive(Clone, Debug)]
pub struct Robots {
    /// The compiled rules.
    pub rules: Arc<RobotsRules>,
    /// When they have to be fetched again.
    pub expires: Time,
}

impl Value for Robots {
    const FIXED_BYTES: Option<usize> = None;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.expires.ms().to_le_bytes());
        self.rules.encode(out);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (expires, rules) = bytes.split_first_chunk()?;
        let rules = Arc::new(RobotsRules::decode(rules)?);
        Some(Robots { rules, expires: Time::from_ms(u64::from_le_bytes(*expires)) })
    }
}

/// The vetted addresses of a host name, and until when they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// In the order of the name servers' answer.
    pub addresses: Arc<[IpAddr]>,
    /// When the name has to be resolved again.
    pub expires: Time,
}

impl Value for Addresses {
    const FIXED_BYTES: Option<usize> = None;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.expires.ms().to_le_bytes());
        for address in self.addresses.iter() {
            match address {
                IpAddr::V4(v4) => {
                    out.push(4);
                    out.extend_from_slice(&v4.octets());
                }
                IpAddr::V6(v6) => {
                    out.push(6);
                    out.extend_from_slice(&v6.octets());
                }
            }
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (expires, mut rest) = bytes.split_first_chunk()?;
        let mut addresses = Vec::new();
        while let Some((family, tail)) = rest.split_first() {
            rest = match family {
                4 => {
                    let (octets, tail) = tail.split_first_chunk::<4>()?;
                    addresses.push(IpAddr::V4(Ipv4Addr::from(*octets)));
                    tail
                }
                6 => {
                    let (octets, tail) = tail.split_first_chunk::<16>()?;
                    addresses.push(IpAddr::V6(Ipv6Addr::from(*octets)));
                    tail
                }
                _ => return None,
            };
        }
        Some(Addresses { addresses: addresses.into(), expires: Time::from_ms(u64::from_le_bytes(*expires)) })
    }
}

impl Rules for RobotsRules {
    fn allows(&self, url: &str) -> bool {
        RobotsRules::allows(self, url)
    }

    fn crawl_delay(&self) -> Option<Duration> {
        RobotsRules::crawl_delay(self)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        RobotsRules::encode(self, out);
    }
}

/// A URL on its way through the stores, as the frontier writes it down.
impl Aux for QueuedUrl {
    fn encode(&self, out: &mut Vec<u8>) {
        QueuedUrl::encode(self, out);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        QueuedUrl::decode(bytes).filter(|(_, used)| *used == bytes.len()).map(|(url, _)| url)
    }
}

/// The frontier's way to read rules back from a host record.
pub fn decode_rules(bytes: &[u8]) -> Option<Arc<dyn Rules>> {
    Some(Arc::new(RobotsRules::decode(bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_are_read_back() {
        let addresses: Arc<[IpAddr]> = Arc::new([[127, 0, 0, 3].into(), "2001:db8::7".parse().unwrap()]);
        let value = Addresses { addresses, expires: Time::from_ms(77) };
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        assert_eq!(Addresses::decode(&bytes), Some(value));
        assert_eq!(Addresses::decode(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn rules_are_read_back_with_their_expiry() {
        let rules = RobotsRules::parse("ourbot", b"User-agent: *\nDisallow: /private\nCrawl-delay: 3\n");
        let mut bytes = Vec::new();
        Robots { rules: Arc::new(rules), expires: Time::from_ms(99) }.encode(&mut bytes);
        let read = Robots::decode(&bytes).unwrap();
        assert_eq!(read.expires, Time::from_ms(99));
        assert!(!read.rules.allows("http://a.example/private/x"));
        assert!(read.rules.allows("http://a.example/public"));
    }
}
