//! Errors of a store, made so that a caller knows whether to ask again.

/// Errors of a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store cannot be opened with its address, or with what the environment says of it.
    #[error("cannot use the store {address}: {detail}")]
    Address {
        /// The address, without secrets.
        address: String,
        /// The fault, and what to do about it.
        detail: String,
    },
    /// There is no such object.
    #[error("{name}: no such object in the store")]
    NotFound {
        /// The object.
        name: String,
    },
    /// Another object has the name already, which no crawl brings about: names are used once.
    #[error("{name}: the store has another object of this name: {detail}")]
    Taken {
        /// The object.
        name: String,
        /// The difference between the two.
        detail: String,
    },
    /// The store refuses: credentials, permissions, a bucket that is not there. To ask again does not help.
    #[error("{name}: the store refuses: {detail}")]
    Refused {
        /// The object.
        name: String,
        /// Reason in the store's words, without secrets.
        detail: String,
    },
    /// The store does not answer, or not as it should. To ask again may help.
    #[error("{name}: the store fails: {detail}")]
    Unavailable {
        /// The object.
        name: String,
        /// The fault, in words.
        detail: String,
    },
    /// An object is not what was put there.
    #[error("{name}: damaged at byte {offset}: expected {expected}, found {found}")]
    Damaged {
        /// The object.
        name: String,
        /// Where.
        offset: u64,
        /// Content that had to be there.
        expected: String,
        /// Content that is there.
        found: String,
    },
    /// The local file of which an object is made.
    #[error(transparent)]
    Disk(#[from] crate::disk::Error),
}

/// Result of a call to a store.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// There is no object `name`.
    pub fn not_found(name: &str) -> Error {
        Error::NotFound { name: name.to_owned() }
    }

    /// The store refuses what is asked about `name`.
    pub fn refused(name: &str, detail: impl Into<String>) -> Error {
        Error::Refused { name: name.to_owned(), detail: detail.into() }
    }

    /// The store does not do what is asked about `name`, and may do so later.
    pub fn unavailable(name: &str, detail: impl Into<String>) -> Error {
        Error::Unavailable { name: name.to_owned(), detail: detail.into() }
    }

    /// Object `name` ends at `end`, before the bytes that were asked for.
    pub(super) fn shorter(name: &str, end: u64, wanted: u64) -> Error {
        Error::Damaged {
            name: name.to_owned(),
            offset: end,
            expected: format!("{} more bytes", wanted.saturating_sub(end)),
            found: "the end of the object".to_owned(),
        }
    }

    /// There is an object `name` of `found` bytes, where one of `bytes` was to be put.
    pub(super) fn other_length(name: &str, bytes: u64, found: u64) -> Error {
        Error::Taken { name: name.to_owned(), detail: format!("it has {found} bytes, not {bytes}") }
    }

    /// Returns whether it may help to ask again.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Unavailable { .. })
    }

    /// Returns whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Error::NotFound { .. })
    }
}
