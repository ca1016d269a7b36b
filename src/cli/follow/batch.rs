//! Lines that are delivered together, and why that failed.

use std::ops::Range;
use std::time::Duration;

/// Lines that are delivered together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    lines: Vec<(String, Range<usize>)>,
}

impl Batch {
    /// Adds the line of a page, without its end.
    pub(crate) fn push(&mut self, url: &str, line: &str) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(line.as_bytes());
        self.bytes.push(b'\n');
        self.lines.push((url.to_owned(), start..self.bytes.len()));
    }

    /// Number of lines.
    pub(crate) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Number of bytes of the lines.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// All lines, each with its end.
    pub(crate) fn text(&self) -> &[u8] {
        &self.bytes
    }

    /// The pages with their lines.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.lines.iter().map(|(url, range)| (url.as_str(), &self.bytes[range.clone()]))
    }

    /// Makes it empty.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.lines.clear();
    }
}

/// A batch that did not arrive.
#[derive(Debug)]
pub(super) struct Failure {
    pub why: String,
    /// Time for which the other side asks to be left alone.
    pub wait: Option<Duration>,
}

impl Failure {
    pub(crate) fn because(why: impl Into<String>) -> Failure {
        Failure { why: why.into(), wait: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_its_lines_together_and_each_by_itself() {
        let mut batch = Batch::default();
        batch.push("u", "{1}");
        batch.push("v", "{22}");
        assert_eq!((batch.lines(), batch.bytes(), batch.text()), (2, 9, &b"{1}\n{22}\n"[..]));
        assert_eq!(batch.pages().collect::<Vec<_>>(), [("u", &b"{1}\n"[..]), ("v", &b"{22}\n"[..])]);
        batch.clear();
        assert_eq!((batch.lines(), batch.bytes()), (0, 0));
    }
}
