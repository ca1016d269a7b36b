//! Faults of the disk and of what is on it, each with the path, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of state on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation that was tried, a verb.
        action: &'static str,
        /// The file or directory on which it was tried.
        path: PathBuf,
        /// The operating system's word.
        source: io::Error,
    },
    /// A file is not as it was written.
    #[error("{}: damaged at byte {offset}: expected {expected}, found {found}", path.display())]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// Offset of the damage in it.
        offset: u64,
        /// The content that should be there.
        expected: String,
        /// The content that is there.
        found: String,
    },
    /// A file was written by a later version of this program, or by one from before the first release.
    #[error("{}: format version {found}, but this program reads version {known}: use a newer crawler (a crawl from \
             before the first release cannot be read any more)", path.display())]
    Newer {
        /// The file that cannot be read.
        path: PathBuf,
        /// Its version.
        found: u16,
        /// The version that is known here.
        known: u16,
    },
    /// Something that the crawler writes to is a symbolic link, which it never makes.
    #[error(
        "{}: it is a symbolic link, and nothing is written through one: someone else may have created it. Check where \
         it leads, and remove it",
        path.display()
    )]
    Link {
        /// Path of the link.
        path: PathBuf,
    },
    /// An earlier operation failed, so that memory and disk may differ: nothing more is done until the crawl is started
    /// again. That operation's error is the cause; this one only follows from it.
    #[error("cannot {action} {}: an earlier operation on it failed; start again from the last checkpoint",
            path.display())]
    Poisoned {
        /// The operation that was not tried any more, a verb.
        action: &'static str,
        /// The file or directory on which an earlier operation failed.
        path: PathBuf,
    },
    /// Something is larger than its format has room for; the disk is well.
    #[error("cannot {action} {}: {what}", path.display())]
    Limit {
        /// The operation that was tried, a verb.
        action: &'static str,
        /// The file or directory on which it was tried.
        path: PathBuf,
        /// The thing that is too large, and what the operator can do.
        what: String,
    },
    /// Another process works on the directory.
    #[error("{}: in use by another crawler (process {holder}); stop it first, or choose another --dir", path.display())]
    InUse {
        /// The locked directory.
        path: PathBuf,
        /// The holder, as the lock file names it.
        holder: String,
    },
}

/// The result of an operation on disk.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The file or directory that it is about.
    pub fn path(&self) -> &Path {
        match self {
            Error::Io { path, .. }
            | Error::Damaged { path, .. }
            | Error::Newer { path, .. }
            | Error::Link { path }
            | Error::Poisoned { path, .. }
            | Error::Limit { path, .. }
            | Error::InUse { path, .. } => path,
        }
    }

    /// The operating system refused `action` on `path`.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Error::Io { action, path: path.to_owned(), source }
    }

    /// `action` on `path` is refused, because an earlier operation failed.
    pub fn poisoned(action: &'static str, path: &Path) -> Self {
        Error::Poisoned { action, path: path.to_owned() }
    }

    /// `what` is larger than the format of `path` has room for.
    pub fn limit(action: &'static str, path: &Path, what: impl Into<String>) -> Self {
        Error::Limit { action, path: path.to_owned(), what: what.into() }
    }

    /// The operating system refused to open `path` without following a link.
    pub(super) fn opening(action: &'static str, path: &Path, source: io::Error) -> Self {
        if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            return Error::Link { path: path.to_owned() };
        }
        Error::io(action, path, source)
    }

    /// `path` is damaged at `offset`.
    pub fn damaged(path: &Path, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Error::Damaged { path: path.to_owned(), offset, expected: expected.into(), found: found.into() }
    }

    /// The same error of a file that the last checkpoint names: that it is not there is damage.
    pub fn of_named_file(self) -> Self {
        match self {
            Error::Io { path, source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Error::damaged(&path, 0, "a file that belongs to the last checkpoint", "no such file")
            }
            other => other,
        }
    }

    /// Returns whether it only follows from another error, which says what went wrong.
    pub fn is_secondary(&self) -> bool {
        matches!(self, Error::Poisoned { .. })
    }

    /// Returns whether a file existed that had to be new.
    pub fn is_there_already(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists)
    }

    /// Returns whether a file or directory did not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_a_fault_and_what_has_no_room_are_no_errors_of_the_system() {
        let path = Path::new("crawl/x");
        let (poisoned, limit) = (Error::poisoned("write", path), Error::limit("write", path, "a value of 2 GiB"));
        assert!(poisoned.is_secondary() && !limit.is_secondary());
        assert!(!Error::io("write", path, io::ErrorKind::StorageFull.into()).is_secondary());
        assert_eq!(limit.to_string(), "cannot write crawl/x: a value of 2 GiB");
        assert!(poisoned.to_string().starts_with("cannot write crawl/x: an earlier operation on it failed"));
        for error in [&poisoned, &limit] {
            assert!(std::error::Error::source(error).is_none());
        }
    }
}
