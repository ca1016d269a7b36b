//! Files that a checkpoint names, and how each changes from one to the next.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Ways in which a file changes from one checkpoint to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FileKind {
    /// Never, under this path.
    Whole,
    /// Bytes are appended, those before stay.
    Grows,
    /// The same, for value files: what is new is its own object.
    Archive,
    /// It is small, and sent again when it differs.
    Replaced,
    /// A link file: never, and its own object.
    Links,
}

/// A file that a checkpoint names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Path to which it is restored, relative to the shard's directory.
    pub path: PathBuf,
    /// Path that it has as long as it is written, if that is another one.
    pub open_path: Option<PathBuf>,
    /// The length that counts.
    pub bytes: u64,
    /// The way in which it changes.
    pub kind: FileKind,
    /// Another number says that it was changed where it lay: all of it is sent again.
    pub lineage: u32,
}

impl NamedFile {
    /// A file that always is where it is restored.
    pub fn new(path: PathBuf, bytes: u64, kind: FileKind) -> NamedFile {
        NamedFile { path, open_path: None, bytes, kind, lineage: 0 }
    }
}
