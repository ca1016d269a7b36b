//! Outcomes of URLs, and what follows from each answer and each error.
//!
//! Every URL ends in exactly one way: its answer is stored, its attempts brought none and it has failed, or it is
//! dropped for a [`Reason`]. [`judge_answer`] and [`judge_failure`] are the one table that says whether an attempt ends
//! the URL or is repeated; [`blame_of_answer`] and [`blame_of_failure`] say whom it speaks for: the URL alone, or its
//! whole host. Live crawling and the replay after a crash ask the same table, so that they cannot disagree.

mod cause;

use std::fmt;

pub use cause::{Cause, HostFault};
use serde::{Deserialize, Serialize};

/// Reasons why a URL is not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// Outside of the crawl's scope.
    Scope,
    /// Deeper than `crawl.max_depth`.
    Depth,
    /// robots.txt of its origin forbids it.
    Robots,
    /// More segments, or more repeated ones, than `scope` allows.
    Trap,
    /// More URLs of its pattern than `scope.max_urls_per_pattern`.
    Pattern,
    /// Longer than `scope.max_url_length`.
    TooLong,
    /// More redirects in a row than `scope.max_redirects`.
    Redirects,
    /// `budget.pages_per_host` of its origin is used up.
    HostPages,
    /// `budget.bytes_per_host` of its origin is used up.
    HostBytes,
    /// `budget.pages_per_domain` of its registrable domain is used up.
    DomainPages,
    /// Its address is not in the public internet and not in `network.allow`.
    PrivateAddress,
    /// Its host is dead or its robots.txt stays unreachable.
    HostGivenUp,
    /// A link beyond the limits of its page: of number, length, or memory.
    PageLimit,
    /// A URL elsewhere, when `budget.pages_per_domain` of the domain that embeds it is used up.
    EmbeddedPages,
    /// Its site lets nobody in without a login, and that failed.
    Login,
    /// A URL on a page whose text more pages of its origin nearly have than `scope.max_pages_per_text`.
    Text,
    /// A page with another value of a session parameter was fetched in its place.
    SessionParam,
}

impl Reason {
    /// The code of crawl.log, as Heritrix numbers them.
    pub fn code(self) -> i32 {
        match self {
            Reason::Scope | Reason::TooLong => -5000,
            Reason::Depth => -5001,
            Reason::Redirects => -5002,
            Reason::HostPages | Reason::HostBytes | Reason::DomainPages | Reason::EmbeddedPages | Reason::PageLimit => {
                -5003
            }
            Reason::PrivateAddress => -5004,
            Reason::Trap | Reason::Pattern | Reason::Text | Reason::SessionParam => -5005,
            Reason::HostGivenUp => -8,
            // another prerequisite than name and robots.txt
            Reason::Login => -62,
            Reason::Robots => -9998,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Scope => "out of scope",
            Reason::Depth => "too deep",
            Reason::Robots => "robots.txt",
            Reason::Trap => "trap rule",
            Reason::Pattern => "too many of its pattern",
            Reason::TooLong => "URL too long",
            Reason::Redirects => "too many redirects",
            Reason::HostPages => "page budget of its host",
            Reason::HostBytes => "byte budget of its host",
            Reason::DomainPages => "page budget of its domain",
            Reason::PrivateAddress => "private address",
            Reason::HostGivenUp => "host given up",
            Reason::PageLimit => "beyond a limit of its page",
            Reason::EmbeddedPages => "page budget of what embeds it",
            Reason::Login => "its site's login failed",
            Reason::Text => "on one of many pages of one text",
            Reason::SessionParam => "copy by a session parameter",
        })
    }
}

/// Reasons why an attempt to fetch brings no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Failure {
    /// The name does not exist.
    NoSuchHost,
    /// The name servers did not answer, or answered with an error.
    Dns,
    /// No connection.
    Connect,
    /// The TLS handshake failed or the certificate does not hold.
    Tls,
    /// `fetch.timeout_total` passed.
    Timeout,
    /// No whole head within `fetch.timeout_head`.
    TooSlow,
    /// The connection broke.
    Disconnected,
    /// The answer is not HTTP, or breaks a limit of it.
    Protocol,
    /// Every address of the host is private.
    PrivateAddress,
    /// A 304 to a request that set no condition: it says nothing of any page.
    Unconditional304,
    /// The proxy does not answer, or wants another user or password.
    Proxy,
}

impl Failure {
    /// All failures, in the order of the closing report.
    pub const ALL: [Failure; 11] = [
        Failure::NoSuchHost,
        Failure::Dns,
        Failure::Connect,
        Failure::Tls,
        Failure::Timeout,
        Failure::TooSlow,
        Failure::Disconnected,
        Failure::Protocol,
        Failure::PrivateAddress,
        Failure::Unconditional304,
        Failure::Proxy,
    ];

    /// The code of crawl.log, as Heritrix numbers them.
    pub fn code(self) -> i32 {
        match self {
            Failure::NoSuchHost | Failure::Dns => -1,
            Failure::Connect | Failure::Tls | Failure::Proxy => -2,
            Failure::Disconnected => -3,
            Failure::Timeout | Failure::TooSlow => -4,
            Failure::Protocol | Failure::Unconditional304 => -5,
            Failure::PrivateAddress => -5004,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::NoSuchHost => "no such host",
            Failure::Dns => "DNS failed",
            Failure::Connect => "no connection",
            Failure::Tls => "TLS failed",
            Failure::Timeout => "timed out",
            Failure::TooSlow => "too slow",
            Failure::Disconnected => "connection broke",
            Failure::Protocol => "not HTTP",
            Failure::PrivateAddress => "private address",
            Failure::Unconditional304 => "304 that was not asked for",
            Failure::Proxy => "proxy failed",
        })
    }
}

/// Returns the words of a status code, as it is registered; empty for one that is not.
pub fn words_of_status(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default()
}

/// Meanings of an attempt for its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The URL has its outcome.
    Done,
    /// The URL is asked for again later.
    Retry,
    /// No answer and no attempts left.
    GiveUp,
}

/// Those that a bad attempt speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Nobody: the site answered as it wanted to.
    Nobody,
    /// The URL: it waits by itself, and its host goes on with others unless several in a row fail.
    Url,
    /// The host: nothing is asked of it for a while.
    Host,
}

/// Judges an answer of `status` that came at attempt number `attempt` (0 is the first), when `retries` more are allowed
/// after the first.
///
/// What speaks of load or of a fault that may pass is asked for again (a server that is restarted answers 502 for a
/// while). Everything else is the site's answer.
pub(crate) fn judge_status(status: u16, attempt: u8, retries: u8) -> Verdict {
    match blame_of_answer(status, false) {
        Blame::Url | Blame::Host if attempt < retries => Verdict::Retry,
        _ => Verdict::Done,
    }
}

/// Returns whom an answer speaks for whose head was complete: 429 and 503 for the host, other faults of the server for
/// the page that has them, and so does a body that broke off or was too slow to be waited for.
pub fn blame_of_answer(status: u16, interrupted: bool) -> Blame {
    match status {
        429 | 503 => Blame::Host,
        408 | 425 | 500 | 502 | 504 => Blame::Url,
        _ if interrupted => Blame::Url,
        _ => Blame::Nobody,
    }
}

/// Returns whom an attempt speaks for that brought no answer. A host that was connected to and then said nothing that
/// is HTTP, or nothing at all before it hung up, may do so for one page; one that cannot be found or connected to, or
/// keeps silent, does so for all.
pub fn blame_of_failure(failure: Failure) -> Blame {
    match failure {
        Failure::Disconnected | Failure::Protocol | Failure::Unconditional304 => Blame::Url,
        _ => Blame::Host,
    }
}

/// Judges an answer whose body may have been cut short: by a limit of size it counts, by time or by a broken connection
/// it is asked for again.
pub fn judge_answer(status: u16, interrupted: bool, attempt: u8, retries: u8) -> Verdict {
    if interrupted && attempt < retries { Verdict::Retry } else { judge_status(status, attempt, retries) }
}

/// Returns the reason why an answer that ends its URL is a failure all the same. It is stored as it came, and not asked
/// for again.
///
/// `not_modified` says that the answer is a 304 to a condition that was sent, and refers to a stored page.
pub fn failure_of_answer(status: u16, not_modified: bool) -> Option<Failure> {
    (status == 304 && !not_modified).then_some(Failure::Unconditional304)
}

/// Judges a failed attempt, counted as in `judge_status`. What is not HTTP comes the same way again.
pub fn judge_failure(failure: Failure, attempt: u8, retries: u8) -> Verdict {
    match failure {
        Failure::PrivateAddress | Failure::NoSuchHost | Failure::Protocol => Verdict::GiveUp,
        _ if attempt < retries => Verdict::Retry,
        _ => Verdict::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_host_is_tried_again_and_then_believed() {
        assert_eq!(judge_status(503, 0, 2), Verdict::Retry);
        assert_eq!(judge_status(503, 2, 2), Verdict::Done);
        assert_eq!(blame_of_answer(503, false), Blame::Host, "at whatever attempt");
        assert_eq!(judge_status(500, 2, 2), Verdict::Done);
    }

    #[test]
    fn n11_n17_a_fault_of_one_page_is_not_its_hosts() {
        for status in [408, 425, 500, 502, 504] {
            assert_eq!((judge_status(status, 0, 2), blame_of_answer(status, false)), (Verdict::Retry, Blame::Url));
        }
        assert_eq!((judge_answer(200, true, 0, 2), blame_of_answer(200, true)), (Verdict::Retry, Blame::Url));
        assert_eq!(blame_of_answer(200, false), Blame::Nobody);
        assert_eq!(blame_of_answer(503, true), Blame::Host);
        for failure in Failure::ALL {
            let of_page = matches!(failure, Failure::Disconnected | Failure::Protocol | Failure::Unconditional304);
            assert_eq!(blame_of_failure(failure) == Blame::Url, of_page, "{failure}");
        }
    }

    #[test]
    fn the_sites_own_answers_end_the_url_at_once() {
        for status in [200, 204, 301, 304, 401, 403, 404, 410, 501] {
            assert_eq!(judge_status(status, 0, 5), Verdict::Done, "{status}");
        }
    }

    #[test]
    fn p8_a_304_is_a_failure_unless_it_was_asked_for() {
        assert_eq!(failure_of_answer(304, false), Some(Failure::Unconditional304));
        assert_eq!(failure_of_answer(304, true), None);
        assert_eq!(failure_of_answer(200, false), None);
        assert_eq!(judge_answer(304, false, 0, 5), Verdict::Done);
    }

    #[test]
    fn a_name_that_does_not_exist_is_not_asked_for_again() {
        assert_eq!(judge_failure(Failure::NoSuchHost, 0, 5), Verdict::GiveUp);
        assert_eq!(judge_failure(Failure::Connect, 0, 5), Verdict::Retry);
        assert_eq!(judge_failure(Failure::Connect, 5, 5), Verdict::GiveUp);
    }
}
