//! Reasons for which an archive cannot be read.

use std::path::PathBuf;

use crate::disk;

/// Reasons for which an archive, or a page of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no crawl in the directory, or it has stored nothing yet.
    #[error("{}: no crawl has stored anything here yet", .0.display())]
    NothingStored(PathBuf),
    /// A file cannot be read, is damaged, or has a later version. The type of the source is not promised.
    #[error("{0}")]
    Disk(#[from] disk::Error),
    /// A text is not a URL that a crawl can have.
    #[error("{0} is not a URL that can be in an archive")]
    Url(String),
    /// A cursor cannot be read.
    #[error("{0} is no cursor: {1}")]
    Cursor(String, String),
    /// A cursor belongs to another crawl.
    #[error("the cursor is of another crawl ({cursor}) than the one in {} ({found})", dir.display())]
    OtherCrawl {
        /// The directory that was to be followed.
        dir: PathBuf,
        /// The crawl of the cursor.
        cursor: String,
        /// The crawl in the directory.
        found: String,
    },
    /// The content of a page is in another archive (`container.dedup_against`), which is not there.
    #[error("the content of {url} is in another archive, {archive}, which is not here: {what}")]
    Elsewhere {
        /// The page.
        url: String,
        /// The name of the archive.
        archive: String,
        /// The record that has it there.
        what: String,
    },
}

impl Error {
    /// True if the fault is of a page and not of the disk: other pages can be read.
    #[doc(hidden)]
    pub fn is_of_page(&self) -> bool {
        matches!(self, Error::Disk(disk::Error::Damaged { .. }) | Error::Elsewhere { .. })
    }
}

/// The result of reading an archive.
pub type Result<T> = std::result::Result<T, Error>;
