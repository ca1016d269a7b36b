//! Files of lines that grow for as long as a crawl does: written at their end, started again at a size, read from the
//! oldest line to the newest.
//!
//! `crawl.log` is the file that is written. At its size it becomes `crawl.log.00001`, then `crawl.log.00002`, and an
//! empty one takes its place; no numbered file is ever touched again, so anyone who wants the room may remove the
//! oldest ones. The files are reports, not state: nothing is synced, and a line that a crash tore is ended where the
//! next session begins.

use std::path::{Path, PathBuf};

use crate::disk::{Disk, DiskFile, Mode, Result, Writer};

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;
/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 256 << 10;
/// No line of ours is longer; what is passes for no line.
pub const LINE_BYTES_MAX: usize = 2 << 20;
/// Times that a reader begins again because a file was started again meanwhile.
const LOOKS: usize = 20;
/// Digits of a number in a name, at least.
const DIGITS: usize = 5;

/// A file of lines that is written.
#[derive(Debug)]
pub(crate) struct LogFile {
    disk: Disk,
    path: PathBuf,
    writer: Writer,
    bytes_max: u64,
    /// Number that the current file gets in its name when the next one is begun.
    number: u64,
}

impl LogFile {
    /// Opens the file at `path` at its end; makes it where there is none. It grows without limit.
    pub(crate) fn open(disk: &Disk, path: PathBuf) -> Result<Self> {
        if let Some(parent) = path.parent() {
            disk.create_dir_all(parent)?;
        }
        let number = numbers(disk, &path)?.last().map_or(1, |last| last + 1);
        let writer = append(disk, &path)?;
        Ok(LogFile { disk: disk.clone(), path, writer, bytes_max: u64::MAX, number })
    }

    /// The file with a limit of its size.
    pub(crate) fn rolled_at(mut self, bytes_max: Option<u64>) -> Self {
        self.bytes_max = bytes_max.unwrap_or(u64::MAX);
        self
    }

    /// Appends a line, which has its end.
    pub(crate) fn push(&mut self, line: &[u8]) -> Result<()> {
        let position = self.writer.position();
        if position > 0 && position.saturating_add(line.len() as u64) > self.bytes_max {
            self.roll()?;
        }
        self.writer.push(line)
    }

    /// Hands everything to the operating system, for readers of the file.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.writer.flush()
    }

    /// Gives the file its number and begins an empty one.
    fn roll(&mut self) -> Result<()> {
        self.writer.flush()?;
        self.disk.rename(&self.path, &numbered(&self.path, self.number))?;
        self.number += 1;
        self.writer = append(&self.disk, &self.path)?;
        Ok(())
    }
}

/// Opens a file of lines for appending; a last line that was torn is ended.
fn append(disk: &Disk, path: &Path) -> Result<Writer> {
    let file = disk.open(path, Mode::Create)?;
    let len = file.len()?;
    let mut last = [b'\n'];
    if len > 0 {
        file.read_exact_at(&mut last, len - 1)?;
    }
    let mut writer = Writer::new(file, len, BUFFER_BYTES);
    if last != [b'\n'] {
        writer.push(b"\n")?;
    }
    Ok(writer)
}

fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number:0DIGITS$}"));
    PathBuf::from(name)
}

/// The numbers of the files that `path` was, in ascending order.
fn numbers(disk: &Disk, path: &Path) -> Result<Vec<u64>> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(Vec::new());
    };
    let names = match disk.list(dir) {
        Ok(names) => names,
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let number = |found: &String| {
        let digits = found.strip_prefix(name)?.strip_prefix('.')?;
        let plain = digits.len() >= DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| plain)
    };
    let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// All files of the log at `path`, opened, the oldest first. None is missing and none is there twice, also beside a
/// crawl that begins a new one at this moment.
pub fn files(disk: &Disk, path: &Path) -> Result<Vec<DiskFile>> {
    let mut found = Vec::new();
    for _ in 0..LOOKS {
        found.clear();
        let before = numbers(disk, path)?;
        for &number in &before {
            // the operator may remove old ones
            found.extend(disk.open_if_there(numbered(path, number))?);
        }
        found.extend(disk.open_if_there(path)?);
        if numbers(disk, path)? == before {
            break;
        }
    }
    Ok(found)
}

/// A file of a log, with its length up to the end of its last whole line.
#[derive(Debug)]
pub struct NamedLog {
    /// Path of the file, under the name that it gets when the next one is begun.
    pub path: PathBuf,
    /// Path of the file that is still written; it has this name until the next one is begun.
    pub open_path: Option<PathBuf>,
    /// The length that counts.
    pub bytes: u64,
}

/// The files of the log at `path`, the oldest first, as they are now. That which is written may get its name at any
/// moment.
pub fn named(disk: &Disk, path: &Path) -> Result<Vec<NamedLog>> {
    for _ in 0..LOOKS {
        let mut found = Vec::new();
        let before = numbers(disk, path)?;
        for &number in &before {
            let path = numbered(path, number);
            // the operator may remove old ones
            if let Some(file) = disk.open_if_there(&path)? {
                found.push(NamedLog { path, open_path: None, bytes: file.len()? });
            }
        }
        if let Some(file) = disk.open_if_there(path)? {
            let number = before.last().map_or(1, |last| last + 1);
            let (path, open_path) = (numbered(path, number), Some(path.to_owned()));
            found.push(NamedLog { path, open_path, bytes: whole_lines(&file)? });
        }
        if numbers(disk, path)? == before {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// Returns the position of the end of the last whole line; 0 where that is more than [`LINE_BYTES_MAX`] before the end
/// of the file.
pub fn whole_lines(file: &DiskFile) -> Result<u64> {
    let len = file.len()?;
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX).min(LINE_BYTES_MAX)];
    let start = len - bytes.len() as u64;
    file.read_exact_at(&mut bytes, start)?;
    Ok(memchr::memrchr(b'\n', &bytes).map_or(0, |end| start + end as u64 + 1))
}

/// Bytes of all files of the log at `path`.
pub fn bytes(disk: &Disk, path: &Path) -> Result<u64> {
    files(disk, path)?.iter().try_fold(0_u64, |sum, file| Ok(sum.saturating_add(file.len()?)))
}

/// Calls `each` with every whole line of the log at `path`, without its end, the oldest first; stops where it says so.
pub fn for_each_line(disk: &Disk, path: &Path, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    files(disk, path)?.iter().try_for_each(|file| for_each_line_of(file, each))
}

fn for_each_line_of(file: &DiskFile, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let end = file.len()?;
    let mut buffer: Vec<u8> = Vec::new();
    let (mut at, mut is_too_long) = (0, false);
    while at < end {
        let count = BLOCK_BYTES.min(usize::try_from(end - at).unwrap_or(BLOCK_BYTES));
        let held = buffer.len();
        buffer.resize(held + count, 0);
        file.read_exact_at(&mut buffer[held..], at)?;
        at += count as u64;
        let mut start = 0;
        for line_end in memchr::memchr_iter(b'\n', &buffer[held..]).map(|place| held + place) {
            if !std::mem::take(&mut is_too_long) {
                each(&buffer[start..line_end])?;
            }
            start = line_end + 1;
        }
        buffer.drain(..start);
        if buffer.len() > LINE_BYTES_MAX {
            buffer.clear();
            is_too_long = true;
        }
    }
    Ok(())
}

/// The whole lines at the end of the log at `path`, the oldest first, as many as are in its last `bytes_max` bytes.
pub fn last_lines(disk: &Disk, path: &Path, bytes_max: usize) -> Result<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut left = bytes_max as u64;
    for file in files(disk, path)?.iter().rev() {
        let len = file.len()?;
        let start = len.saturating_sub(left);
        let mut part = vec![0; usize::try_from(len - start).unwrap_or(bytes_max)];
        file.read_exact_at(&mut part, start)?;
        // behind the last line end is a line that is being written, before the first one the rest of one that is cut
        part.truncate(memchr::memrchr(b'\n', &part).map_or(0, |end| end + 1));
        if start > 0 {
            part.drain(..memchr::memchr(b'\n', &part).map_or(part.len(), |end| end + 1));
        }
        parts.push(part);
        left -= len - start;
        if start > 0 || left == 0 {
            break;
        }
    }
    parts.reverse();
    Ok(parts.concat())
}

/// The newest whole line of the log at `path` that `is_wanted`, from the end backwards, in the memory of a block and a
/// line.
pub fn newest_line(disk: &Disk, path: &Path, is_wanted: &dyn Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>> {
    for file in files(disk, path)?.iter().rev() {
        if let Some(line) = newest_line_of(file, is_wanted)? {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

fn newest_line_of(file: &DiskFile, is_wanted: &dyn Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>> {
    let mut start = file.len()?;
    // the bytes behind `start` up to the next line end: the rest of a line that began before
    let mut rest: Vec<u8> = Vec::new();
    let mut is_whole = false;
    while start > 0 {
        let count = BLOCK_BYTES.min(usize::try_from(start).unwrap_or(BLOCK_BYTES));
        start -= count as u64;
        let mut block = vec![0; count];
        file.read_exact_at(&mut block, start)?;
        block.append(&mut rest);
        let mut end = block.len();
        while let Some(at) = memchr::memrchr(b'\n', &block[..end]) {
            // behind the last line end of the file is a line that is being written
            if is_whole && is_wanted(&block[at + 1..end]) {
                return Ok(Some(block[at + 1..end].to_vec()));
            }
            is_whole = true;
            end = at;
        }
        block.truncate(end);
        if block.len() > LINE_BYTES_MAX {
            block.clear();
        }
        rest = block;
    }
    Ok((is_whole && is_wanted(&rest)).then_some(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(disk: &Disk, path: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        for_each_line(disk, path, &mut |line| {
            lines.push(String::from_utf8(line.to_vec()).unwrap());
            Ok(())
        })
        .unwrap();
        lines
    }

    #[test]
    fn a_file_at_its_size_gets_a_number_and_all_of_them_are_read_in_order() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let path = dir.path().join("logs/a.log");
        let expected: Vec<String> = (0..1_000).map(|n| format!("line {n}")).collect();
        for session in expected.chunks(300) {
            let mut log = LogFile::open(&disk, path.clone()).unwrap().rolled_at(Some(1_000));
            session.iter().for_each(|line| log.push(format!("{line}\n").as_bytes()).unwrap());
            log.flush().unwrap();
        }
        assert_eq!(lines(&disk, &path), expected);
        let numbers = numbers(&disk, &path).unwrap();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
        assert!(numbers.len() >= 8, "{numbers:?}");
        for file in files(&disk, &path).unwrap() {
            assert!(file.len().unwrap() <= 1_000);
        }
        let found = |wanted: &str| newest_line(&disk, &path, &|line| line == wanted.as_bytes()).unwrap();
        for n in [0, 99, 500, 999] {
            assert!(found(&format!("line {n}")).is_some(), "{n}");
        }
        assert_eq!(found("line 1000"), None);
    }

    #[test]
    fn the_last_lines_are_whole_and_come_from_as_many_files_as_they_lie_in() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let path = dir.path().join("logs/a.log");
        assert_eq!(last_lines(&disk, &path, 100).unwrap(), b"");
        let mut log = LogFile::open(&disk, path.clone()).unwrap().rolled_at(Some(50));
        (100..120).for_each(|n| log.push(format!("line {n}\n").as_bytes()).unwrap());
        log.flush().unwrap();
        let last = |bytes: usize| String::from_utf8(last_lines(&disk, &path, bytes).unwrap()).unwrap();
        let expected = |from: usize| (from..120).map(|n| format!("line {n}\n")).collect::<String>();
        for (bytes, from) in [(0, 120), (8, 120), (9, 120), (10, 119), (91, 110), (1_000, 100)] {
            assert_eq!(last(bytes), expected(from), "{bytes}");
        }
        std::fs::write(&path, "line 120\nhalf a li").unwrap();
        assert!(last(1_000).ends_with("line 120\n"));
    }

    #[test]
    fn a_line_longer_than_the_size_has_a_file_of_its_own() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let path = dir.path().join("a.log");
        let mut log = LogFile::open(&disk, path.clone()).unwrap().rolled_at(Some(10));
        let expected = ["a", "bbbbbbbbbbbbbbbbbbbbbbbb", "c"];
        expected.iter().for_each(|line| log.push(format!("{line}\n").as_bytes()).unwrap());
        log.flush().unwrap();
        assert_eq!(lines(&disk, &path), expected);
        assert_eq!(files(&disk, &path).unwrap().len(), 3);
    }

    #[test]
    fn a_line_torn_by_a_crash_is_ended_and_one_without_end_is_none() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let path = dir.path().join("a.log");
        std::fs::write(&path, "one\ntw").unwrap();
        assert_eq!(lines(&disk, &path), ["one"]);
        let mut log = LogFile::open(&disk, path.clone()).unwrap();
        log.push(b"three\n").unwrap();
        log.flush().unwrap();
        assert_eq!(lines(&disk, &path), ["one", "tw", "three"]);
    }

    #[test]
    fn what_is_longer_than_any_line_is_passed_over_and_strange_names_count_for_nothing() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let path = dir.path().join("a.log");
        std::fs::write(&path, format!("one\n{}\ntwo\n", "x".repeat(LINE_BYTES_MAX + 2 * BLOCK_BYTES))).unwrap();
        for name in ["a.log.1", "a.log.0000x", "a.log.+0001", "a.log.00001.gz", "b.log.00001"] {
            std::fs::write(dir.path().join(name), "no\n").unwrap();
        }
        assert_eq!(lines(&disk, &path), ["one", "two"]);
        assert_eq!(bytes(&disk, &dir.path().join("none.log")).unwrap(), 0);
    }
}
