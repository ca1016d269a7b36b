//! Objects by name, in a store that machines share: an object store of the S3 kind, or a directory.
//!
//! A crawl that ships its checkpoints ([`ObjectStore::put`]) survives its machine. What the rest of the program relies
//! on is little, so that many stores can give it:
//!
//! - An object is put once, whole, under a name that is never used again. It is there for every reader when `put` has
//!   returned, and no reader ever sees a part of it.
//! - A `put` whose answer was lost may be repeated with the same bytes.
//! - Listings may lag. Only a sweep of garbage and the recovery from a lost registry read them.

mod body;

use std::fmt;
use std::ops::Range;

pub use body::{Body, Part};

/// What goes wrong with a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such object.
    #[error("{name}: no such object in the store")]
    NotFound {
        /// The object.
        name: String,
    },
    /// The store refuses: credentials, permissions, a bucket that is not there. To ask again does not help.
    #[error("{name}: the store refuses: {detail}")]
    Refused {
        /// The object.
        name: String,
        /// In the store's words, without secrets.
        detail: String,
    },
    /// The store does not answer, or not as it should. To ask again may help.
    #[error("{name}: the store fails: {detail}")]
    Unavailable {
        /// The object.
        name: String,
        /// What happened.
        detail: String,
    },
    /// An object is not what was put there.
    #[error("{name}: damaged at byte {offset}: expected {expected}, found {found}")]
    Damaged {
        /// The object.
        name: String,
        /// Where.
        offset: u64,
        /// What had to be there.
        expected: String,
        /// What is.
        found: String,
    },
    /// The local file of which an object is made.
    #[error(transparent)]
    Disk(#[from] crate::disk::Error),
}

/// What a call to a store brings.
pub type Result<T> = std::result::Result<T, Error>;

/// Objects by name. Names are relative to what the store was opened with, and have `/` between their parts. All calls
/// block, and repeat what a store that is busy or away has not answered for a short time; behind that, a caller that
/// can wait asks again.
pub trait ObjectStore: fmt::Debug + Send + Sync {
    /// Makes the object, durably. One of that name with the same length is taken for an earlier sending.
    fn put(&self, name: &str, body: &Body) -> Result<()>;
    /// These bytes of the object; an error where it is shorter.
    fn get(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>>;
    /// Its length; `None` where there is none.
    fn length(&self, name: &str) -> Result<Option<u64>>;
    /// Calls `visit` with name and length of all objects whose names begin with `prefix`, a name with `/` at its end.
    fn list(&self, prefix: &str, visit: &mut dyn FnMut(&str, u64)) -> Result<()>;
    /// Deletes the object; one that is not there is deleted already.
    fn delete(&self, name: &str) -> Result<()>;
    /// Where it is, for people: without secrets.
    fn address(&self) -> String;
}
