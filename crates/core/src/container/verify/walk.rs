//! All exchanges of all value files, oldest first. Damage is reported and passed over; what follows it is found again.

use std::path::{Path, PathBuf};

use super::record::Checked;
use super::{Report, Standing};
use crate::container::imported::is_imported;
use crate::container::retention::rewrite::written_bytes;
use crate::container::retention::tombstone::{self, TOMBSTONES_TYPE, Tombstone};
use crate::container::values;
use crate::disk::{Disk, DiskFile, Error, FileStream, Result};
use crate::warc::Compression;

/// The records of one answered request.
#[derive(Debug)]
pub(in crate::container) struct Exchange {
    /// Number of the value file.
    pub(in crate::container) file: u32,
    /// Its generation modulo 16.
    pub(in crate::container) generation: u8,
    /// Offset at which its first record begins.
    pub(in crate::container) start: u64,
    /// The metadata record, which says how the URL was found; none where it was damaged.
    pub(in crate::container) metadata: Option<Checked>,
    pub(in crate::container) request: Option<Checked>,
    /// Records of what a rendering has made of the page.
    pub(in crate::container) renditions: Vec<Checked>,
    /// The response, or the revisit in its place.
    pub(in crate::container) answer: Checked,
    /// True if records before it were damaged.
    maimed: bool,
}

/// A value file as it was found when the walk began.
struct ValueFile {
    number: u32,
    generation: u32,
    /// Bytes of its first generation.
    written: u64,
    path: PathBuf,
    open: bool,
    coding: Compression,
    bytes: u64,
    file: Option<DiskFile>,
}

/// Goes through the value files.
pub(in crate::container) struct Walk<'a> {
    standing: &'a Standing,
    files: Vec<ValueFile>,
    next: usize,
    at: Option<FileStream>,
    pending: Pending,
    /// Tombstones that were met and not taken.
    tombs: Vec<((u32, u8), Tombstone)>,
    /// True if the archive was imported: its exchanges are answers, with the request before or behind.
    is_imported: bool,
    /// The last exchange of an imported archive, whose request may come yet.
    held: Option<Exchange>,
}

/// Records read so far of an exchange whose answer has not come yet.
#[derive(Default)]
struct Pending {
    start: Option<u64>,
    metadata: Option<Checked>,
    request: Option<Checked>,
    renditions: Vec<Checked>,
    maimed: bool,
}

impl<'a> Walk<'a> {
    /// Notes which files there are and how long they are. A number may be missing: a file in which nothing was whole
    /// after a power cut is removed. One file may be left out, which a compaction is replacing.
    pub(in crate::container) fn begin(
        disk: &Disk,
        dir: &Path,
        standing: &'a Standing,
        left_out: Option<u32>,
        report: &mut Report<'_>,
    ) -> Result<Self> {
        let mut files: Vec<ValueFile> = Vec::new();
        for found in values::find(disk, dir)?.into_iter().filter(|found| Some(found.number) != left_out) {
            let Some(file) = open_either(disk, &found.path, found.open)? else { continue };
            let bytes = file.len()?;
            if files.last().is_some_and(|last| last.number == found.number) && matches!(standing, Standing::Running) {
                // a compaction is about to remove the earlier generation
                files.pop();
            } else if files.last().is_some_and(|last| last.number == found.number) {
                report.damage(&found.path, 0, format!("a second value file {}", found.number));
                continue;
            }
            report.expect(bytes);
            report.summary.files += 1;
            report.summary.bytes += bytes;
            let coding = values::coding_of(&found.path);
            let written = if found.generation == 0 {
                bytes
            } else {
                match written_bytes(disk, &found) {
                    Err(Error::Damaged { .. }) => bytes,
                    written => written?,
                }
            };
            files.push(ValueFile {
                number: found.number,
                generation: found.generation,
                written,
                path: found.path,
                open: found.open,
                coding,
                bytes,
                file: Some(file),
            });
        }
        let is_imported = is_imported(disk, dir)?;
        let (pending, tombs) = (Pending::default(), Vec::new());
        let walk = Walk { standing, files, next: 0, at: None, pending, tombs, is_imported, held: None };
        if left_out.is_none() {
            walk.compare_with_note(dir, report);
        }
        Ok(walk)
    }

    /// Checks that the files are as long as the last checkpoint says.
    fn compare_with_note(&self, dir: &Path, report: &mut Report<'_>) {
        let Some(noted) = self.standing.noted() else { return };
        let found = self.files.iter().find(|file| file.number == noted.value_number);
        let bytes = found.map_or(0, |file| file.bytes);
        if bytes < noted.value_bytes {
            let missing = dir.join(format!("value-{:05}.warc*", noted.value_number));
            let path = found.map_or(missing.as_path(), |file| &file.path);
            report.damage(path, bytes, format!("ends here; the last checkpoint notes {} bytes", noted.value_bytes));
        }
        let before: u64 =
            self.files.iter().filter(|file| file.number < noted.value_number).map(|file| file.written).sum();
        let expected = noted.total_bytes.saturating_sub(noted.value_bytes);
        if before != expected && self.files.first().is_some_and(|file| file.number == 0) {
            let path = dir.join("value-*");
            report.damage(&path, 0, format!("{before} bytes in closed files; the last checkpoint notes {expected}"));
        }
    }

    /// Returns whether the archive was imported.
    pub(in crate::container) fn is_imported(&self) -> bool {
        self.is_imported
    }

    /// The path of the value file `number`.
    pub(in crate::container) fn path_of(&self, number: u32) -> Option<&Path> {
        self.files.iter().find(|file| file.number == number).map(|file| file.path.as_path())
    }

    /// Reports damage at the answer of `exchange`.
    pub(in crate::container) fn tell(&self, exchange: &Exchange, what: String, report: &mut Report<'_>) {
        if let Some(path) = self.path_of(exchange.file) {
            report.damage(path, exchange.answer.offset, what);
        }
    }

    /// The next exchange.
    pub(in crate::container) fn next(&mut self, report: &mut Report<'_>) -> Result<Option<Exchange>> {
        loop {
            if self.at.is_none() && !self.begin_file() {
                return Ok(self.held.take());
            }
            let source = self.at.as_mut().expect("a file was begun");
            let (offset, end) = (source.offset(), source.end());
            if offset >= end {
                self.end_file(report);
                continue;
            }
            let coding = self.files[self.next - 1].coding;
            match source.record(coding)? {
                Ok(record) => {
                    report.summary.records += 1;
                    report.advance(record.length);
                    if let Some(exchange) = self.take(record, report) {
                        return Ok(Some(exchange));
                    }
                }
                Err(what) => self.pass_over(offset, &what, report)?,
            }
        }
    }

    /// The removed pages of the files that were begun since the last call, each with number and generation of its file.
    pub(in crate::container) fn take_tombstones(&mut self) -> Vec<((u32, u8), Tombstone)> {
        std::mem::take(&mut self.tombs)
    }

    fn begin_file(&mut self) -> bool {
        let Some(file) = self.files.get_mut(self.next) else { return false };
        self.next += 1;
        self.at = Some(FileStream::new(file.file.take().expect("every file is walked through once"), file.bytes));
        true
    }

    fn current(&self) -> &ValueFile {
        &self.files[self.next - 1]
    }

    /// True if what begins at `offset` of the file in progress may be the rest of a write that was cut short.
    fn may_be_torn(&self, offset: u64) -> bool {
        let file = self.current();
        // after a power cut several files may be torn, after a kill and during a crawl the last one
        let may_be_last = self.next == self.files.len() || !matches!(self.standing, Standing::Running);
        file.open && may_be_last && self.standing.may_be_torn(file.number, offset)
    }

    /// Takes a whole record in; returns the exchange that it ends.
    fn take(&mut self, record: Checked, report: &mut Report<'_>) -> Option<Exchange> {
        if self.is_imported {
            return self.take_imported(record, report);
        }
        let path = self.current().path.clone();
        let offset = record.offset;
        for fault in record.faults() {
            report.damage(&path, offset, fault);
        }
        if offset == 0 && record.kind() != "warcinfo" {
            report.damage(&path, 0, format!("a {:?} record where a value file begins with warcinfo", record.kind()));
        }
        match record.kind() {
            "warcinfo" => {
                if offset != 0 {
                    report.damage(&path, offset, "a warcinfo record within a value file");
                }
            }
            "metadata" if record.field("Content-Type") == Some(TOMBSTONES_TYPE) => {
                let place = (self.current().number, (self.current().generation % 16) as u8);
                match tombstone::parse(&record.kept) {
                    Some(tombs) => self.tombs.extend(tombs.into_iter().map(|tomb| (place, tomb))),
                    None => report.damage(&path, offset, "a record of tombstones that holds none"),
                }
            }
            "metadata" => {
                self.without_answer(report);
                self.pending.start = Some(offset);
                self.pending.metadata = Some(record);
            }
            "request" => {
                self.pending.start.get_or_insert(offset);
                self.pending.request = Some(record);
            }
            "conversion" | "resource" if self.pending.start.is_some() => self.pending.renditions.push(record),
            _ if record.is_answer() => return Some(self.finish(record, &path, report)),
            kind => report.damage(&path, offset, format!("a record of the type {kind:?}, which is not written here")),
        }
        None
    }

    /// The same of an archive that was imported.
    fn take_imported(&mut self, record: Checked, report: &mut Report<'_>) -> Option<Exchange> {
        if record.is_answer() {
            let request = self.pending.request.take().filter(|request| request.is_concurrent_to(&record));
            let exchange = self.exchange_of(record, Pending { request, ..Pending::default() }, report);
            return self.held.replace(exchange);
        }
        if record.kind() == "request" {
            match &mut self.held {
                Some(held) if held.answer.is_concurrent_to(&record) => held.request = Some(record),
                _ => self.pending.request = Some(record),
            }
        }
        None
    }

    fn finish(&mut self, answer: Checked, path: &Path, report: &mut Report<'_>) -> Exchange {
        let pending = std::mem::take(&mut self.pending);
        let exchange = self.exchange_of(answer, pending, report);
        for (offset, what) in exchange.faults() {
            report.damage(path, offset, what);
        }
        exchange
    }

    fn exchange_of(&self, answer: Checked, pending: Pending, report: &mut Report<'_>) -> Exchange {
        report.summary.pages += 1;
        Exchange {
            file: self.current().number,
            generation: (self.current().generation % 16) as u8,
            start: pending.start.unwrap_or(answer.offset),
            metadata: pending.metadata,
            request: pending.request,
            renditions: pending.renditions,
            answer,
            maimed: pending.maimed,
        }
    }

    /// The exchange that was begun has no answer.
    fn without_answer(&mut self, report: &mut Report<'_>) {
        let pending = std::mem::take(&mut self.pending);
        if let Some(start) = pending.start {
            report.damage(&self.current().path, start, "an exchange without a response");
        }
    }

    /// Reports a damaged record and goes on behind it.
    fn pass_over(&mut self, offset: u64, what: &str, report: &mut Report<'_>) -> Result<()> {
        let coding = self.current().coding;
        let source = self.at.as_mut().expect("a file was begun");
        let found = source.next_head(offset + 1, coding)?;
        let next = found.unwrap_or(source.end());
        report.advance(next - offset);
        let pending = std::mem::take(&mut self.pending);
        let start = pending.start.unwrap_or(offset);
        if found.is_none() && self.may_be_torn(start) {
            self.unfinished(start, report);
            return Ok(());
        }
        self.pending.maimed = true;
        let bytes = next - offset;
        let what = format!("a damaged record ({what}), {bytes} bytes are skipped");
        report.damage(&self.current().path, offset, what);
        Ok(())
    }

    fn end_file(&mut self, report: &mut Report<'_>) {
        self.at = None;
        let pending = std::mem::take(&mut self.pending);
        let Some(start) = pending.start else { return };
        if self.may_be_torn(start) {
            self.unfinished(start, report);
        } else {
            report.damage(&self.current().path, start, "an exchange without a response at the end of the file");
        }
    }

    fn unfinished(&self, start: u64, report: &mut Report<'_>) {
        // a running crawl is just writing it
        if !matches!(self.standing, Standing::Running) {
            let file = self.current();
            let bytes = file.bytes - start;
            report.unfinished(
                &file.path,
                start,
                format!("unfinished: {bytes} bytes will be truncated at the next start"),
            );
        }
    }
}

impl Exchange {
    /// Returns what does not fit together: offsets of records, and descriptions.
    fn faults(&self) -> Vec<(u64, String)> {
        let answer = &self.answer;
        let mut faults = Vec::new();
        if answer.field("WARC-Target-URI").is_none() {
            faults.push((answer.offset, "a response without a WARC-Target-URI".to_owned()));
        }
        if answer.payload_digest().is_none() {
            faults.push((answer.offset, "a response without a SHA-1 WARC-Payload-Digest".to_owned()));
        }
        if answer.head().is_none() || answer.has_no_head() {
            faults.push((answer.offset, "a response without an HTTP head".to_owned()));
        }
        if self.metadata.is_none() && !self.maimed {
            faults.push((self.start, "a response without its metadata record".to_owned()));
        }
        for record in self.metadata.iter().chain(&self.request).chain(&self.renditions) {
            let linked = [
                ("WARC-Concurrent-To", "WARC-Record-ID"),
                ("WARC-Target-URI", "WARC-Target-URI"),
                ("WARC-Date", "WARC-Date"),
            ];
            for (name, of_answer) in linked {
                let (found, expected) = (record.field(name), answer.field(of_answer));
                let is_picture = record.kind() == "resource" && name == "WARC-Target-URI";
                let is_of = |found: &str| expected.is_some_and(|expected| found.ends_with(expected));
                if found != expected && !(is_picture && found.is_some_and(is_of)) {
                    let (found, expected) = (found.unwrap_or("nothing"), expected.unwrap_or("nothing"));
                    let what = format!("{} record: {name} is {found}, its response has {expected}", record.kind());
                    faults.push((record.offset, what));
                }
            }
            let address = record.field("WARC-IP-Address");
            if address.is_some() && address != answer.field("WARC-IP-Address") {
                faults.push((
                    record.offset,
                    "the request went to another address than its response came from".to_owned(),
                ));
            }
        }
        faults
    }
}

/// Opens a value file that a running crawl may be closing at this moment, which renames it.
fn open_either(disk: &Disk, path: &Path, open: bool) -> Result<Option<DiskFile>> {
    if !open {
        // one that a compaction has replaced meanwhile is gone
        return disk.open_if_there(path);
    }
    match disk.open_if_there(path)? {
        Some(file) => Ok(Some(file)),
        None => disk.open_if_there(path.with_extension("")),
    }
}
