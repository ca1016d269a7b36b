//! Tables of SQLite, change files of Parquet.

use crate::contract::{holds, opened};

#[cfg(feature = "sqlite")]
#[test]
fn sqlite_has_what_the_changes_say() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pages.db");
    holds(&|| opened(&format!("kind = 'sqlite'\npath = '{}'\ntable = 'p-x'", path.display()), None));
}

#[cfg(feature = "parquet")]
#[test]
fn change_files_have_what_the_changes_say() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("changes");
    holds(&|| opened(&format!("kind = 'parquet'\npath = '{}'", path.display()), None));
}
