//! The MIME types report: answers to requests for pages by type, from the log.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;

use super::{Out, ReportError};
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::record::log_files::for_each_line;
use crate::record::{CrawlLog, ReadLine};
use crate::text::escape::field;

/// Types that are counted separately; servers may send any.
const TYPES_MAX: usize = 10_000;
/// Bytes of a type that count.
const TYPE_BYTES_MAX: usize = 100;
const OTHERS: &str = "(others)";

#[derive(Serialize)]
struct Row<'a> {
    mime: &'a str,
    answers: u64,
    bytes: u64,
}

pub(super) fn write(disk: &Disk, dirs: &CrawlDirs, out: &mut Out<'_>) -> Result<(), ReportError> {
    let mut types: HashMap<Box<str>, (u64, u64)> = HashMap::new();
    let mut each = |line: &[u8]| {
        let Some(line) = ReadLine::parse(line).filter(|line| line.status > 0 && !line.is_prerequisite()) else {
            return Ok(());
        };
        let mime = &line.mime[..line.mime.floor_char_boundary(TYPE_BYTES_MAX)];
        let mime = if types.contains_key(mime) || types.len() < TYPES_MAX { mime } else { OTHERS };
        let (answers, bytes) = match types.get_mut(mime) {
            Some(known) => known,
            None => types.entry(mime.into()).or_default(),
        };
        *answers += 1;
        *bytes = bytes.saturating_add(line.bytes.unwrap_or(0));
        Ok(())
    };
    for dir in dirs.shards() {
        for_each_line(disk, &CrawlLog::path(dir), &mut each)?;
    }
    let mut types: Vec<_> = types.iter().map(|(mime, &(answers, bytes))| Row { mime, answers, bytes }).collect();
    types.sort_by_key(|row| (Reverse(row.answers), row.mime));
    out.text(format_args!("{:>10} {:>14} mime-type\n", "answers", "bytes"))?;
    types
        .iter()
        .try_for_each(|row| out.row(row, format_args!("{:>10} {:>14} {}\n", row.answers, row.bytes, field(row.mime))))
}
