//! Which version of a page an answer is, where pages change by the clock.

use crate::clock::Time;

/// With what a page says which version it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tagging {
    None,
    Etag,
    Date,
    Both,
}

/// What a page is at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// When it became so; [`Changes::since`] for the first version.
    pub changed: Time,
    /// Whether it is the first one.
    pub is_first: bool,
    /// Whether versions of the page differ in a date and an advertisement only.
    pub is_cosmetic: bool,
    pub tagging: Tagging,
}
