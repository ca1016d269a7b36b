//! Reasons for which there is no feed.

use std::path::PathBuf;

use crate::{archive, disk};

/// Reasons for which a feed cannot be read or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody has followed the documents of the crawl yet.
    #[error("{}: there is no feed yet; `crawler follow --documents` begins it", .0.display())]
    NoFeed(PathBuf),
    /// A cursor is of another feed: the one in the directory was begun after it.
    #[error("the cursor is of another feed of this crawl; begin again without it, and compare what the target has")]
    OtherFeed,
    /// A cursor cannot be read.
    #[error("{0} is no cursor of a feed")]
    Cursor(String),
    /// The crawl cannot be read.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// A file cannot be read or written.
    #[error(transparent)]
    Disk(#[from] disk::Error),
}

impl Error {
    /// True if the fault is of a page and not of the disk.
    pub(super) fn is_of_page(&self) -> bool {
        match self {
            Error::Archive(error) => error.is_of_page(),
            Error::Disk(error) => matches!(error, disk::Error::Damaged { .. }),
            _ => false,
        }
    }
}

/// A result with these.
pub type Result<T> = std::result::Result<T, Error>;
