//! Reasons for which a question has no answer.

/// Reasons for which a question has no answer. Each has a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The question makes no sense.
    #[error("{0}")]
    Question(String),
    /// There is no such thing.
    #[error("{0}")]
    Missing(String),
    /// It cannot be done in the state in which the crawl is.
    #[error("{0}")]
    Refused(String),
    /// The answer would be too large, or take too long.
    #[error("{0}")]
    TooMuch(String),
    /// Too many questions at once, or an answer that does not come.
    #[error("{0}")]
    Busy(String),
    /// The disk, or a fault of the program.
    #[error("{0}")]
    Fault(String),
}

/// The sentence for a fault of the program, whose cause is no affair of others.
pub(crate) const INTERNAL: &str = "an internal fault; the log of the process has it";

impl Problem {
    /// A fault of the program.
    pub(crate) fn internal() -> Problem {
        Problem::Fault(INTERNAL.to_owned())
    }

    /// The status with which a server of HTTP says so.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Problem::Question(_) => 400,
            Problem::Missing(_) => 404,
            Problem::Refused(_) => 409,
            Problem::TooMuch(_) => 413,
            Problem::Busy(_) => 503,
            Problem::Fault(_) => 500,
        }
    }
}
