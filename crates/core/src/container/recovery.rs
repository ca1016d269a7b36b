//! Recovery of what the value files have beyond the last checkpoint.
//!
//! The exchanges are read in their order. Where one is not whole, three things can have happened:
//!
//! - The process was killed while it wrote. Nothing is behind it: the file is cut there.
//! - The power was cut. Of what was not durable any part may be missing, and what is behind the hole must not be
//!   there without it: a page may have been led to by what is lost (its site's robots.txt and the sitemaps that this
//!   names). The file is cut there too, and the pages are fetched again.
//! - The record is damaged. It is passed over, and all that follows it is recovered.
//!
//! A file that is full was durable before the next one was begun, so what is not whole there is damage. In the one that
//! was written, [`boot`] says whether the power may have been cut. All of it is logged with file, offset and bytes.
//! `crawler verify` reports what was passed over as damage, because it stays in the file.
//!
//! What is read may be in the system's memory only, although nothing says so: a sync that fails leaves it there, and no
//! later sync writes it to the disk. So the end of the file that was written is written once more, and synced, before
//! it is believed.

use super::replayed::{ReplayedPage, read_exchange};
use super::values::{Found, ValueFiles, find};
use super::{Container, ContainerState, boot, resync};
use crate::disk::{DiskFile, Error, Mode, Result};

/// Bytes that are written again at a time.
const COPY_BYTES: u64 = 1 << 20;

/// Goes through the exchanges that were stored after a checkpoint, oldest first.
#[derive(Debug)]
pub struct Recovery {
    from: (u32, u64),
    crawl_id: u128,
    /// True if what was written last is there as it was written, however the process ended.
    is_same_boot: bool,
    /// Bytes of the files before the one that recovery begins in.
    before: u64,
    place: Option<ReadPosition>,
    done_bytes: u64,
    total_bytes: u64,
    finished: bool,
}

#[derive(Debug)]
struct ReadPosition {
    files: Vec<Found>,
    index: usize,
    file: DiskFile,
    offset: u64,
}

impl Recovery {
    pub(super) fn new(values: &ValueFiles, saved: Option<&ContainerState>, crawl_id: u128) -> Result<Self> {
        let from = saved.map_or((0, 0), |state| (state.value_number, state.value_bytes));
        let is_same_boot = boot::is_same(values.disk(), values.dir())?;
        let (before, place) = (values.total_bytes(), None);
        Ok(Recovery { from, crawl_id, is_same_boot, before, place, done_bytes: 0, total_bytes: 0, finished: false })
    }

    /// Bytes gone through, and bytes in all.
    pub fn progress(&self) -> (u64, u64) {
        (self.done_bytes, self.total_bytes)
    }

    /// The next page; `None` when everything was gone through, and then the container can be written again.
    pub fn next(&mut self, container: &mut Container) -> Result<Option<ReplayedPage>> {
        if self.finished {
            return Ok(None);
        }
        if self.place.is_none() && !self.begin(&container.values)? {
            self.finished = true;
            container.values.resume(None, 0, self.before)?;
            return Ok(None);
        }
        loop {
            let place = self.place.as_mut().expect("a place was found or the end was reached");
            let number = place.files[place.index].number;
            match read_exchange(&place.file, number, place.offset) {
                Ok(Some((page, end))) => {
                    self.done_bytes += end - place.offset;
                    place.offset = end;
                    match page {
                        Some(page) => return Ok(Some(page)),
                        None => continue,
                    }
                }
                Err(Error::Damaged { offset, found, .. }) => {
                    if self.pass_over(&container.values, offset, &found)? {
                        continue;
                    }
                }
                Err(error) => return Err(error),
                Ok(None) => {}
            }
            if self.place.as_ref().is_some_and(ReadPosition::is_last) {
                return self.finish(container);
            }
            self.next_file(&container.values)?;
        }
    }

    /// Passes over bytes at the place that begin no whole exchange: at `at` there is `found`. Returns whether another
    /// exchange follows in this file; where none does, the place is where the file is to end.
    fn pass_over(&mut self, values: &ValueFiles, at: u64, found: &str) -> Result<bool> {
        let place = self.place.as_mut().expect("a place was read");
        let Found { number, open, .. } = place.files[place.index];
        let was_written = place.is_last() && open;
        let (path, start, length) = (place.file.path().display(), place.offset, place.file.len()?);
        let may_follow = !was_written || self.is_same_boot;
        let next = match may_follow {
            true => resync::next_exchange(values.disk(), &place.file, number, start + 1, self.crawl_id)?,
            false => None,
        };
        let bytes = next.unwrap_or(length) - start;
        if next.is_none() && was_written {
            let why = if may_follow {
                "they were being written when the crawler ended"
            } else {
                "they were not durable when the machine stopped; pages in them are fetched again"
            };
            tracing::warn!("{path}: the last {bytes} bytes, from byte {start} on, are cut off ({found}): {why}");
            return Ok(false);
        }
        tracing::warn!(
            "{path}: damaged at byte {at} ({found}): {bytes} bytes from byte {start} on are skipped, pages in them \
             are fetched again; crawler verify reports all damage"
        );
        self.done_bytes += bytes;
        place.offset += bytes;
        Ok(next.is_some())
    }

    fn begin(&mut self, values: &ValueFiles) -> Result<bool> {
        let (number, offset) = self.from;
        let files: Vec<Found> =
            find(values.disk(), values.dir())?.into_iter().filter(|file| file.number >= number).collect();
        let Some(first) = files.first() else {
            if offset > 0 {
                let path = values.dir().join(format!("value-{number:05}.warc*"));
                return Err(Error::damaged(&path, 0, format!("a value file of {offset} bytes"), "no such file"));
            }
            return Ok(false);
        };
        if first.number != number && offset > 0 {
            return Err(Error::damaged(&first.path, 0, format!("value file {number} before it"), "no such file"));
        }
        let file = values.disk().open(&first.path, Mode::Read)?;
        let length = file.len()?;
        if length < offset {
            return Err(Error::damaged(&first.path, length, format!("{offset} bytes"), "end of file"));
        }
        for found in &files {
            self.total_bytes += values.disk().open(&found.path, Mode::Read)?.len()?;
        }
        self.total_bytes -= offset;
        if let Some(last) = files.last().filter(|last| last.open) {
            write_again(values, last, if last.number == number { offset } else { 0 })?;
        }
        self.place = Some(ReadPosition { files, index: 0, file, offset });
        Ok(true)
    }

    /// Goes on with the next file.
    fn next_file(&mut self, values: &ValueFiles) -> Result<()> {
        let place = self.place.as_mut().expect("a file was read to its end");
        self.before += place.offset;
        place.index += 1;
        place.offset = 0;
        place.file = values.disk().open(&place.files[place.index].path, Mode::Read)?;
        Ok(())
    }

    fn finish(&mut self, container: &mut Container) -> Result<Option<ReplayedPage>> {
        let mut place = self.place.take().expect("a file was read to its end");
        self.finished = true;
        let last = place.files.swap_remove(place.index);
        container.values.resume(Some(last), place.offset, self.before)?;
        Ok(None)
    }
}

impl ReadPosition {
    /// True if its file is the last one.
    fn is_last(&self) -> bool {
        self.index + 1 == self.files.len()
    }
}

/// Writes the bytes of `found` from `from` on to their place, and syncs it.
fn write_again(values: &ValueFiles, found: &Found, from: u64) -> Result<()> {
    let file = values.disk().open(&found.path, Mode::Write)?;
    let end = file.len()?;
    if end <= from {
        return Ok(());
    }
    let (mut bytes, mut at) = (Vec::new(), from);
    while at < end {
        bytes.resize(usize::try_from(COPY_BYTES.min(end - at)).unwrap_or(usize::MAX), 0);
        file.read_exact_at(&mut bytes, at)?;
        file.write_all_at(&bytes, at)?;
        at += bytes.len() as u64;
    }
    boot::sync_value(values.disk(), values.dir(), &file)
}
