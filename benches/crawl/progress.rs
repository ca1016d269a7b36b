//! The lines of progress that the crawler writes.

/// The number of pages that a line of progress names.
pub fn pages(line: &str) -> Option<u64> {
    line.split(' ').find_map(|word| word.strip_prefix("pages=")?.parse().ok())
}
