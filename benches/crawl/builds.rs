//! The builds of the crawler that are measured.

use std::path::PathBuf;

/// Names and paths of these programs, or of this build where there are none.
pub fn chosen(programs: &[PathBuf]) -> Vec<(String, PathBuf)> {
    if programs.is_empty() {
        return vec![("crawler".to_owned(), PathBuf::from(env!("CARGO_BIN_EXE_crawler")))];
    }
    let name = |path: &PathBuf| path.file_name().map_or("crawler".into(), |name| name.to_string_lossy().into_owned());
    // the crawls run in their own directories
    let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    programs.iter().map(|path| (name(path), whole(path))).collect()
}
