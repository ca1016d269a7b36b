//! Versions of a page where pages change by the clock: the one that an answer has.

use crate::clock::Time;

/// Fields by which a page says which version it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tagging {
    None,
    Etag,
    Date,
    Both,
}

/// A version of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// Time at which it became so. [`Changes::since`] for the first version.
    pub changed: Time,
    /// True if it is the first one.
    pub is_first: bool,
    /// True if versions of the page differ in a date and an advertisement only.
    pub is_cosmetic: bool,
    pub tagging: Tagging,
}
