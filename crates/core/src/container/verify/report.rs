//! Findings and progress of a verification: findings are reported as they are met, and counted.

use std::path::{Path, PathBuf};

/// Something that is not as it should be, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file that it is in.
    pub file: PathBuf,
    /// The offset in that file.
    pub offset: u64,
    /// Description of what is wrong. It may quote the web: anyone who prints it has to escape it.
    pub what: String,
    /// True for damage. What is not was left by a kill, and the next start tidies it up.
    pub damage: bool,
}

/// Counts of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files that were read.
    pub files: u64,
    /// WARC records that are whole.
    pub records: u64,
    /// Pages that are whole: responses and revisits.
    pub pages: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Findings that are damage.
    pub findings: u64,
    /// Findings that the next start tidies up.
    pub unfinished: u64,
    /// Pages in the calendar.
    pub due: u64,
    /// Records of the calendar that are not their page's own any more, and end when they are read.
    pub stale: u64,
}

/// Receiver of findings and progress.
pub struct Report<'a> {
    /// Hears of every finding.
    pub tell: &'a mut dyn FnMut(&Finding),
    /// Hears of bytes gone through, and bytes in all.
    pub progress: &'a mut dyn FnMut(u64, u64),
    /// Counts so far.
    pub summary: Summary,
    done: u64,
    total: u64,
}

impl std::fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Report").field("summary", &self.summary).finish_non_exhaustive()
    }
}

impl<'a> Report<'a> {
    /// Nothing found yet.
    pub fn new(tell: &'a mut dyn FnMut(&Finding), progress: &'a mut dyn FnMut(u64, u64)) -> Self {
        Report { tell, progress, summary: Summary::default(), done: 0, total: 0 }
    }

    /// Reports damage.
    pub fn damage(&mut self, file: &Path, offset: u64, what: impl Into<String>) {
        self.summary.findings += 1;
        (self.tell)(&Finding { file: file.to_owned(), offset, what: what.into(), damage: true });
    }

    /// Reports something that the next start tidies up.
    pub fn unfinished(&mut self, file: &Path, offset: u64, what: impl Into<String>) {
        self.summary.unfinished += 1;
        (self.tell)(&Finding { file: file.to_owned(), offset, what: what.into(), damage: false });
    }

    /// `bytes` more have to be gone through.
    pub fn expect(&mut self, bytes: u64) {
        self.total += bytes;
    }

    /// `bytes` more were gone through.
    pub fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        (self.progress)(self.done, self.total);
    }
}
