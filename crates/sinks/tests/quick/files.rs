//! Tables of SQLite, change files of Parquet, full text indexes.

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

#[cfg(feature = "search")]
#[test]
fn an_index_has_what_the_changes_say_and_nothing_else_is_taken_for_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    let open = || opened(&format!("kind = 'search'\npath = '{}'", path.display()), None);
    holds(&open);
    // a directory of that name that is somebody's
    std::fs::remove_dir_all(path.join("index")).unwrap();
    std::fs::create_dir(path.join("index")).unwrap();
    std::fs::write(path.join("index/mine.txt"), "kept").unwrap();
    let refused = open().ids(None, 1).unwrap_err();
    assert!(refused.to_string().contains("no index of documents"), "{refused}");
    assert_eq!(std::fs::read_to_string(path.join("index/mine.txt")).unwrap(), "kept");
}
