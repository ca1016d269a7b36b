//! Reasons for which there is no answer.

use std::path::{Path, PathBuf};

use tantivy::TantivyError;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError};

use crate::{archive, disk};

/// Reasons for which a crawl cannot be searched or its index not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing was indexed yet.
    #[error("{}: there is no index yet; an update makes it", .0.display())]
    NoIndex(PathBuf),
    /// A question cannot be understood, or costs too much.
    #[error("{0}")]
    Query(String),
    /// The index is damaged, or of another version. It is derived data.
    #[error("{}: the index cannot be read ({why}); delete it, and the next update rebuilds it", dir.display())]
    Damaged {
        /// Its directory.
        dir: PathBuf,
        /// The fault.
        why: String,
    },
    /// A file of the index cannot be read or written.
    #[error("{}: the files of the index: {source}", dir.display())]
    Files {
        /// Its directory.
        dir: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The crawl cannot be read.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// A file cannot be read or written.
    #[error(transparent)]
    Disk(#[from] disk::Error),
}

/// A result with these.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// True if the fault is of a page and not of the disk.
    pub(super) fn is_of_page(&self) -> bool {
        match self {
            Error::Archive(error) => error.is_of_page(),
            Error::Disk(error) => matches!(error, disk::Error::Damaged { .. }),
            _ => false,
        }
    }

    /// A fault of tantivy in the index below `dir`.
    pub(super) fn of_index(dir: &Path, error: TantivyError) -> Error {
        let is_missing = matches!(
            &error,
            TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(_))
                | TantivyError::OpenDirectoryError(OpenDirectoryError::DoesNotExist(_))
        );
        match error {
            _ if is_missing => Error::NoIndex(dir.to_owned()),
            TantivyError::IoError(source) => {
                Error::Files { dir: dir.to_owned(), source: std::io::Error::new(source.kind(), source.to_string()) }
            }
            error => Error::Damaged { dir: dir.to_owned(), why: error.to_string() },
        }
    }
}
