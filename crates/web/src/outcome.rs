//! Outcomes of URLs, and what follows from each answer and each error.
//!
//! Every URL ends in exactly one way: its answer is stored, its attempts brought none and it has failed, or it is
//! dropped for a [`Reason`]. [`judge_answer`] and [`judge_failure`] are the one table that says whether an attempt ends
//! the URL or is repeated; [`blame_of_answer`] and [`blame_of_failure`] say whom it speaks for: the URL alone, or its
//! whole host. Live crawling and the replay after a crash ask the same table, so that they cannot disagree.

mod cause;
mod reason;

pub use cause::{Cause, Hold, HostFault};
pub use reason::{Failure, LAST_ATTEMPT_CODE, NO_ADDRESS_ALLOWED, Reason, code_text, status_text};

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
        for &failure in Failure::ALL {
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
