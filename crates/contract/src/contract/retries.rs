//! Attempts at a URL whose answer speaks of load, of a fault, or of a refusal.
//!
//! Live crawling, the replay after a crash and the commands that explain a crawl ask [`Retries`], so that they cannot
//! disagree. What follows from a status is the matter of [`outcome`](crate::outcome); an answer of a kind that is asked
//! for again is one that says "too many requests", whatever its status.

use crate::outcome::{Blame, Verdict, blame_of_answer, judge_answer};
use crate::web::kind::Kind;

/// The status that an answer stands for which refuses what a later request may get.
const TOO_MANY_REQUESTS: u16 = 429;

/// Facts of an answer by which it is decided whether its URL is asked for again.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// Its status.
    pub status: u16,
    /// True if the body ended before its time.
    pub is_interrupted: bool,
    /// Its kind, where it is no content.
    pub kind: Option<Kind>,
}

/// Attempts after the first one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// For a status or a connection.
    pub usual: u8,
    /// For answers of a kind: those of no other kinds are asked for again.
    pub of_kinds: Vec<(Kind, u8)>,
}

impl Retries {
    /// So many for a status or a connection, and none for kinds.
    pub fn usual(usual: u8) -> Retries {
        Retries { usual, of_kinds: Vec::new() }
    }

    /// Judges an answer that came at attempt number `attempt`; 0 is the first.
    pub fn verdict(&self, answered: &Answered, attempt: u8) -> Verdict {
        let (status, retries) = match self.of_kind(answered.kind) {
            Some(retries) => (TOO_MANY_REQUESTS, retries),
            None => (answered.status, self.usual),
        };
        judge_answer(status, answered.is_interrupted, attempt, retries)
    }

    /// Returns whom an answer speaks for.
    pub fn blame(&self, answered: &Answered) -> Blame {
        let status = self.of_kind(answered.kind).map_or(answered.status, |_| TOO_MANY_REQUESTS);
        blame_of_answer(status, answered.is_interrupted)
    }

    /// True for an answer of a kind that is asked for again: its host turns the crawler away.
    pub fn is_turned_away(&self, answered: &Answered) -> bool {
        self.of_kind(answered.kind).is_some()
    }

    fn of_kind(&self, kind: Option<Kind>) -> Option<u8> {
        self.of_kinds.iter().find(|(known, _)| Some(*known) == kind).map(|(_, retries)| *retries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_asked_for_again_is_an_overloaded_host_whatever_its_status() {
        let retries = Retries { usual: 1, of_kinds: vec![(Kind::Challenge, 3)] };
        for status in [200, 403, 503] {
            let challenge = Answered { status, is_interrupted: false, kind: Some(Kind::Challenge) };
            assert_eq!(retries.blame(&challenge), Blame::Host, "{status}");
            assert_eq!(retries.verdict(&challenge, 2), Verdict::Retry, "{status}");
            assert_eq!(retries.verdict(&challenge, 3), Verdict::Done, "{status}");
        }
        let login = Answered { status: 200, is_interrupted: false, kind: Some(Kind::Login) };
        assert_eq!((retries.blame(&login), retries.verdict(&login, 0)), (Blame::Nobody, Verdict::Done));
        let busy = Answered { status: 503, is_interrupted: false, kind: None };
        assert_eq!((retries.verdict(&busy, 0), retries.verdict(&busy, 1)), (Verdict::Retry, Verdict::Done));
    }
}
