//! Objects by name, in a store that machines share: an object store of the S3 kind, or a directory.
//!
//! A crawl that ships its checkpoints ([`ObjectStore::put`]) survives its machine. What the rest of the program relies
//! on is little, so that many stores can give it:
//!
//! - An object is put once, whole, under a name that is never used again. It is there for every reader when `put` has
//!   returned, and no reader ever sees a part of it.
//! - A `put` whose answer was lost may be repeated with the same bytes. It may also take effect late, even behind a
//!   deletion: what is there then is garbage, which a sweep finds.
//! - Listings may lag. Only a sweep of garbage and the recovery from a lost registry read them.

mod body;
mod error;
mod file;
mod name;
mod open;
mod options;
mod pace;
mod remote;
pub mod simulated;

use std::fmt;
use std::ops::Range;

pub use body::{Body, Part};
pub use error::{Error, Result};
pub use file::FileStore;
pub use open::open;
pub use options::StoreOptions;

/// Objects by name. Names are relative to what the store was opened with, and have `/` between their parts. All calls
/// block, and repeat what a store that is busy or away has not answered for a short time; behind that, a caller that
/// can wait asks again.
pub trait ObjectStore: fmt::Debug + Send + Sync {
    /// Makes the object, durably. One of that name with the same length is taken for an earlier sending (a directory
    /// compares the bytes too); another is an error and stays.
    fn put(&self, name: &str, body: &Body) -> Result<()>;
    /// These bytes of the object; an error where it is shorter.
    fn get(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>>;
    /// Its length; `None` where there is none.
    fn length(&self, name: &str) -> Result<Option<u64>>;
    /// Calls `visit` with name and length of all objects whose names begin with `prefix`, a name with `/` at its end.
    fn list(&self, prefix: &str, visit: &mut dyn FnMut(&str, u64)) -> Result<()>;
    /// Deletes the object; one that is not there is deleted already.
    fn delete(&self, name: &str) -> Result<()>;
    /// Returns how many requests at a time bring more than one after the other.
    fn at_once(&self) -> usize {
        8
    }
    /// Returns the address of the store, for people: without secrets.
    fn address(&self) -> String;
}
