//! Small objects of a crawl, and where a directory is made before it gets its place.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::store::{Error, ObjectStore, Result};

/// Returns the prefix of the names of all objects of the crawl with this id.
pub fn prefix(id: u128) -> String {
    format!("{id:032x}/")
}

/// Reads an object of `bytes` bytes, which may be `bytes_max` at most. `expected` names what it should be, for the
/// error.
pub fn read_json<T: DeserializeOwned>(
    store: &dyn ObjectStore,
    name: &str,
    bytes: u64,
    bytes_max: u64,
    expected: &str,
) -> Result<T> {
    let damaged =
        |found: String| Error::Damaged { name: name.to_owned(), offset: 0, expected: expected.to_owned(), found };
    if bytes > bytes_max {
        return Err(damaged(format!("{bytes} bytes")));
    }
    serde_json::from_slice(&store.get(name, 0..bytes)?).map_err(|error| damaged(error.to_string()))
}

/// The directory in which `dir` is made, beside it: a process that is killed meanwhile leaves nothing that could be
/// taken for a crawl.
pub fn aside(dir: &Path) -> PathBuf {
    // a slash at the end would make it a name within the directory
    let mut name = dir.components().collect::<PathBuf>().into_os_string();
    name.push(".restoring");
    name.into()
}
