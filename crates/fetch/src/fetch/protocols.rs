//! The origins that are asked over HTTP/1.1 alone, because their HTTP/2 does not work.
//!
//! Some servers choose HTTP/2 in the TLS handshake and then cannot speak it. An origin that refuses it
//! (HTTP_1_1_REQUIRED) or breaks its rules is remembered at once, one whose connections or streams only end early after
//! [`STRIKES`] times in a row. One failed request a start is what finding out costs.

use super::strikes::Strikes;

/// Requests in a row that may end without an answer before HTTP/1.1 is tried.
const STRIKES: u8 = 2;

/// The way in which a request over HTTP/2 failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Http2Fault {
    /// The server wants HTTP/1.1, or does not keep to HTTP/2.
    Unusable,
    /// The connection or the stream ended before the answer; load or a restart may be the reason.
    Broken,
}

/// Strikes by origin; as many as [`STRIKES`] mean HTTP/1.1 only.
#[derive(Debug)]
pub(super) struct ProtocolMemory {
    strikes: Strikes,
}

impl Default for ProtocolMemory {
    fn default() -> Self {
        ProtocolMemory { strikes: Strikes::up_to(STRIKES) }
    }
}

impl ProtocolMemory {
    /// Returns whether `origin` is to be asked over HTTP/1.1 alone.
    pub(super) fn is_http1_only(&self, origin: &str) -> bool {
        self.strikes.is_out(origin)
    }

    /// A request to `origin` failed where HTTP/2 was offered; says whether HTTP/1.1 is all that is left.
    pub(super) fn failed(&self, origin: &str, fault: Http2Fault) -> bool {
        match fault {
            Http2Fault::Unusable => {
                self.strikes.put_out(origin);
                true
            }
            Http2Fault::Broken => self.strikes.add(origin),
        }
    }

    /// An answer came where HTTP/2 was offered.
    pub(super) fn worked(&self, origin: &str) {
        self.strikes.clear(origin);
    }
}

#[cfg(test)]
mod tests {
    use super::super::strikes::ORIGINS_MAX;
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
        assert!(memory.strikes.known() <= ORIGINS_MAX);
        assert!(!memory.is_http1_only("https://0.example:443"));
    }
}
