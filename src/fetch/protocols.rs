//! Which origins are asked over HTTP/1.1 alone, because their HTTP/2 does not work.
//!
//! Some servers choose HTTP/2 in the TLS handshake and then cannot speak it. An origin that refuses it
//! (HTTP_1_1_REQUIRED) or breaks its rules is remembered at once, one whose connections or streams only end early after
//! [`STRIKES`] times in a row. The memory is bounded, the origins that were met last stay, and it lasts as long as the
//! process: a server may be repaired, and one failed request a start is what finding out costs.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Origins that are remembered.
const ORIGINS_MAX: usize = 16_384;
/// Requests in a row that may end without an answer before HTTP/1.1 is tried.
const STRIKES: u8 = 2;

/// How a request over HTTP/2 failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Http2Fault {
    /// The server wants HTTP/1.1, or does not keep to HTTP/2.
    Unusable,
    /// The connection or the stream ended before the answer; load or a restart may be the reason.
    Broken,
}

/// Strikes by origin; as many as [`STRIKES`] mean HTTP/1.1 only.
///
/// Two generations stand for an order by use: when the younger one is full, the older one is forgotten.
#[derive(Debug, Default)]
pub(super) struct ProtocolMemory {
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Box<str>, u8>,
    old: HashMap<Box<str>, u8>,
}

impl ProtocolMemory {
    /// Whether `origin` is to be asked over HTTP/1.1 alone.
    pub(super) fn is_http1_only(&self, origin: &str) -> bool {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.strikes(origin) >= STRIKES
    }

    /// A request to `origin` failed where HTTP/2 was offered; says whether HTTP/1.1 is all that is left.
    pub(super) fn failed(&self, origin: &str, fault: Http2Fault) -> bool {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let strikes = match fault {
            Http2Fault::Unusable => STRIKES,
            Http2Fault::Broken => generations.strikes(origin).saturating_add(1).min(STRIKES),
        };
        generations.put(origin, strikes);
        strikes == STRIKES
    }

    /// An answer came where HTTP/2 was offered.
    pub(super) fn worked(&self, origin: &str) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if generations.strikes(origin) < STRIKES {
            generations.young.remove(origin);
        }
    }
}

impl Generations {
    /// The strikes of `origin`, which is young again.
    fn strikes(&mut self, origin: &str) -> u8 {
        if let Some(&strikes) = self.young.get(origin) {
            return strikes;
        }
        match self.old.remove(origin) {
            Some(strikes) => {
                self.put(origin, strikes);
                strikes
            }
            None => 0,
        }
    }

    fn put(&mut self, origin: &str, strikes: u8) {
        if self.young.len() >= ORIGINS_MAX / 2 && !self.young.contains_key(origin) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(origin.into(), strikes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: &str = "https://a.example:443";

    #[test]
    fn a_refusal_is_remembered_at_once_and_a_broken_connection_when_it_happens_again() {
        let memory = ProtocolMemory::default();
        assert!(!memory.is_http1_only(ORIGIN));
        assert!(!memory.failed(ORIGIN, Http2Fault::Broken));
        memory.worked(ORIGIN);
        assert!(!memory.failed(ORIGIN, Http2Fault::Broken));
        assert!(!memory.is_http1_only(ORIGIN));
        assert!(memory.failed(ORIGIN, Http2Fault::Broken));
        assert!(memory.is_http1_only(ORIGIN));
        assert!(memory.failed("https://b.example:443", Http2Fault::Unusable));
        assert!(memory.is_http1_only("https://b.example:443"));
    }

    #[test]
    fn the_memory_is_bounded_and_keeps_what_is_used() {
        let memory = ProtocolMemory::default();
        memory.failed(ORIGIN, Http2Fault::Unusable);
        for number in 0..4 * ORIGINS_MAX {
            memory.failed(&format!("https://{number}.example:443"), Http2Fault::Unusable);
            assert!(memory.is_http1_only(ORIGIN));
        }
        let generations = memory.generations.lock().unwrap();
        assert!(generations.young.len() + generations.old.len() <= ORIGINS_MAX);
        drop(generations);
        assert!(!memory.is_http1_only("https://0.example:443"));
    }
}
