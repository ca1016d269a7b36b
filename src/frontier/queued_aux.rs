//! A queued URL as the auxiliary of a DRUM: what is asked about it travels with it, in few bytes.
//!
//! ```text
//! key 8 | origin 8 | host 8 | domain 8 | priority 1 | attempts 1 | depth v | via v | seed v | hops v + bytes | URL
//! ```
//!
//! `v` is a number in seven bits a byte; the URL takes what is left.

use crate::drum::Aux;
use crate::drum::varint;
use crate::fingerprint::Fingerprint;

use super::{Hops, QueuedUrl};

impl Aux for QueuedUrl {
    fn encode(&self, out: &mut Vec<u8>) {
        for fingerprint in [self.key, self.origin, self.host, self.domain] {
            out.extend_from_slice(&fingerprint.bits().to_le_bytes());
        }
        out.extend_from_slice(&[self.priority, self.attempts]);
        varint::push(u64::from(self.depth), out);
        varint::push(self.via, out);
        varint::push(u64::from(self.seed), out);
        let hops = self.hops.as_str().as_bytes();
        varint::push(hops.len() as u64, out);
        out.extend_from_slice(hops);
        out.extend_from_slice(self.url.as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (fingerprints, rest) = bytes.split_first_chunk::<32>()?;
        let fingerprint = |at: usize| {
            let bits = fingerprints[at..].first_chunk::<8>().expect("four times eight bytes");
            Fingerprint::from_bits(u64::from_le_bytes(*bits))
        };
        let (&[priority, attempts], rest) = rest.split_first_chunk::<2>()?;
        let mut at = 0;
        Some(QueuedUrl {
            key: fingerprint(0),
            origin: fingerprint(8),
            host: fingerprint(16),
            domain: fingerprint(24),
            priority,
            attempts,
            depth: varint::read(rest, &mut at)?.try_into().ok()?,
            via: varint::read(rest, &mut at)?,
            seed: varint::read(rest, &mut at)?.try_into().ok()?,
            hops: Hops::parse(std::str::from_utf8(varint::read_slice(rest, &mut at)?).ok()?),
            url: std::str::from_utf8(&rest[at..]).ok()?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queued_url_comes_back_and_no_piece_of_it_makes_a_panic() {
        let queued = QueuedUrl {
            url: "https://example.org/a/b?c=ü".into(),
            key: Fingerprint::from_bits(1),
            origin: Fingerprint::from_bits(u64::MAX),
            host: Fingerprint::from_bits(3 << 50),
            domain: Fingerprint::from_bits(4),
            priority: 7,
            depth: 300,
            hops: Hops::parse("LLR"),
            attempts: 2,
            via: 1 << 40,
            seed: 70_000,
        };
        let mut bytes = Vec::new();
        queued.encode(&mut bytes);
        assert_eq!(QueuedUrl::decode(&bytes).as_ref(), Some(&queued));
        assert_eq!(bytes.len(), 34 + 2 + 6 + 3 + 4 + queued.url.len());
        for length in 0..bytes.len() {
            assert_ne!(QueuedUrl::decode(&bytes[..length]), Some(queued.clone()));
        }
    }
}
