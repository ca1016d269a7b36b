//! Regular expressions of the operator.

use regex::{Regex, RegexBuilder};

/// Memory that a compiled one may take: matching takes linear time anyhow, this keeps it small.
const BYTES_MAX: usize = 1 << 20;

/// `text`, compiled within its bound of memory.
pub fn bounded_regex(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(BYTES_MAX).build()
}
