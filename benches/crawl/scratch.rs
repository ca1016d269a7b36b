//! The directory in which crawls are written.

use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;

/// Makes it in `dir`, or else where temporary files are. It is gone when this is dropped.
pub fn made_in(dir: Option<&Path>) -> Result<TempDir> {
    let dir = dir.map_or_else(std::env::temp_dir, Path::to_owned);
    tempfile::tempdir_in(dir).context("cannot make a directory for the crawls")
}
