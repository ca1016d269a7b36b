//! A file with all URLs of a feed, in the order of their keys.

use std::path::{Path, PathBuf};

use super::entry::Entry;
use super::error::Result;
use super::home::Home;
use super::run::RunReader;
use crate::disk;

/// The file, read from its beginning.
pub(super) struct Urls {
    run: Option<RunReader>,
    path: PathBuf,
}

impl Urls {
    /// Opens the file at `path`.
    pub fn open(home: &Home, path: &Path) -> Result<Urls> {
        Ok(Urls { run: Some(RunReader::open(home.disk(), path)?), path: path.to_owned() })
    }

    /// A file without a URL.
    pub fn none() -> Urls {
        Urls { run: None, path: PathBuf::new() }
    }

    /// Goes back to the first URL.
    pub fn rewind(&mut self) {
        self.run.iter_mut().for_each(RunReader::rewind);
    }

    /// The next URL.
    pub fn next(&mut self) -> Result<Option<Entry>> {
        let Some(run) = &mut self.run else { return Ok(None) };
        let Some(bytes) = run.next()? else { return Ok(None) };
        let damaged = || disk::Error::damaged(&self.path, 0, "a URL of the feed", format!("{} bytes", bytes.len()));
        Ok(Some(Entry::parse(bytes).ok_or_else(damaged)?))
    }
}
