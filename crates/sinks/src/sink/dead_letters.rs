//! Changes that a sink refused for good: a file of JSON lines, each with its reason.
//!
//! A line is durable before its batch counts as delivered. After a crash in between, the batch and its lines come
//! again. A line that a crash has cut is removed when the file is opened.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::clock::Time;
use crate::disk::{Disk, DiskFile, Mode, Result};
use crate::feed::Change;
use crate::web::warc_date;

/// Bytes that are read at a time, to find the end of the last line.
const PIECE: u64 = 64 << 10;

/// A change that was refused.
#[derive(Serialize)]
pub(super) struct DeadLetter<'a> {
    /// The sink that refused it.
    pub sink: &'a str,
    /// The reason.
    pub why: &'a str,
    /// The time.
    pub time: String,
    /// The change, as it came.
    pub change: &'a Change,
}

impl<'a> DeadLetter<'a> {
    pub(super) fn new(sink: &'a str, why: &'a str, time: Time, change: &'a Change) -> DeadLetter<'a> {
        DeadLetter { sink, why, time: warc_date::format_date(time), change }
    }
}

/// The file, which is made with its first line.
#[derive(Debug)]
pub(super) struct DeadLetters {
    disk: Disk,
    path: PathBuf,
    file: Option<DiskFile>,
}

impl DeadLetters {
    pub(super) fn new(disk: Disk, path: PathBuf) -> DeadLetters {
        DeadLetters { disk, path, file: None }
    }

    /// Appends `letters` durably.
    pub(super) fn append(&mut self, letters: &[DeadLetter<'_>]) -> Result<()> {
        let mut lines = Vec::new();
        for letter in letters {
            serde_json::to_writer(&mut lines, letter).expect("texts are JSON");
            lines.push(b'\n');
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(open(&self.disk, &self.path)?),
        };
        file.write_all_at(&lines, file.len()?)?;
        file.sync()
    }
}

/// Opens the file and cuts what is behind its last line.
fn open(disk: &Disk, path: &Path) -> Result<DiskFile> {
    let file = disk.open(path, Mode::Create)?;
    let mut end = file.len()?;
    while end > 0 {
        let start = end.saturating_sub(PIECE);
        let mut piece = vec![0; (end - start) as usize];
        file.read_exact_at(&mut piece, start)?;
        if let Some(at) = piece.iter().rposition(|&byte| byte == b'\n') {
            end = start + at as u64 + 1;
            break;
        }
        end = start;
    }
    file.set_len(end)?;
    disk.sync_dir(path.parent().unwrap_or(Path::new(".")))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{Deletion, Reason};

    #[test]
    fn lines_are_appended_and_a_line_that_a_crash_cut_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dead.jsonl");
        let deletion = Deletion { id: "1".into(), url: "u".into(), reason: Reason::Gone, duplicate_of: None };
        let change = Change::Delete(deletion);
        let letter = || DeadLetter::new("s", "too\nlong", Time::ZERO, &change);
        for cut in ["", "{\"half\": ", &"x".repeat(200_000)] {
            let mut before = std::fs::read(&path).unwrap_or_default();
            let whole = before.iter().filter(|&&byte| byte == b'\n').count();
            before.extend_from_slice(cut.as_bytes());
            std::fs::write(&path, before).unwrap();
            let mut letters = DeadLetters::new(Disk::real(), path.clone());
            letters.append(&[letter(), letter()]).unwrap();
            letters.append(&[letter()]).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(lines.len(), whole + 3);
            assert_eq!((&lines[whole]["why"], &lines[0]["change"]["op"]), (&"too\nlong".into(), &"delete".into()));
        }
    }
}
