//! key.dat against the value files: both have the same order, so one pass over each is enough.

use std::collections::HashMap;
use std::path::Path;

use super::order::{Imported, InOrder};
use super::walk::{Exchange, Walk};
use super::{Report, Standing};
use crate::container::keys::{KeyFile, KeyRecord, VERSION};
use crate::container::retention::journal::Journal;
use crate::disk::{Disk, Error, HEADER_BYTES, Header, Kind, Result};
use crate::web::kind;
use crate::web::url::KeyMaker;

/// All key records up to a length that was noted before; damage is reported once and passed over.
pub(super) struct KeyWalk<'a> {
    file: &'a KeyFile,
    end: u64,
    at: u64,
    scan: Option<crate::container::keys::Scan<'a>>,
    peeked: Option<KeyRecord>,
}

impl<'a> KeyWalk<'a> {
    pub(super) fn new(file: &'a KeyFile, end: u64) -> Self {
        KeyWalk { file, end, at: HEADER_BYTES, scan: None, peeked: None }
    }

    /// The next record. `bad` hears of stretches that hold none: where they begin, and where they end.
    pub(super) fn next(&mut self, bad: &mut dyn FnMut(u64, u64)) -> Result<Option<KeyRecord>> {
        if let Some(record) = self.peeked.take() {
            return Ok(Some(record));
        }
        while self.at < self.end {
            let scan = self.scan.get_or_insert_with(|| self.file.scan(self.at));
            match scan.next() {
                Some(Ok(record)) if scan.reached() <= self.end => {
                    self.at = scan.reached();
                    return Ok(Some(record));
                }
                Some(Err(
                    error @ (Error::Io { .. } | Error::Newer { .. } | Error::InUse { .. } | Error::Link { .. }),
                )) => return Err(error),
                _ => {
                    let next = self.file.next_whole(self.at + 1, self.end)?;
                    bad(self.at, next.unwrap_or(self.end));
                    self.at = next.unwrap_or(self.end);
                    self.scan = None;
                }
            }
        }
        Ok(None)
    }

    /// The offset at which the next record is looked for.
    pub(super) fn position(&self) -> u64 {
        self.at
    }

    fn is_done(&self) -> bool {
        self.peeked.is_none() && self.at >= self.end
    }

    fn put_back(&mut self, record: KeyRecord) {
        self.peeked = Some(record);
    }
}

/// Compares key.dat with the value files.
pub(super) struct Comparison<'a> {
    pub(super) keys: &'a KeyFile,
    /// Length of key.dat when the verification began.
    pub(super) end: u64,
    pub(super) standing: &'a Standing,
    pub(super) maker: Option<&'a KeyMaker>,
    /// The journal of a compaction in progress: the records that it changes are passed over.
    pub(super) journal: Option<&'a Journal>,
}

/// The key record that an exchange should have.
struct Expected {
    record: KeyRecord,
    is_revisit: bool,
    /// True if the metadata record, by which flags are known, is there.
    has_metadata: bool,
}

/// The place to which a key record leads.
fn place_of(record: &KeyRecord) -> String {
    format!("the response at byte {} of value file {}", record.value_offset, record.file)
}

/// A run of responses without key records.
#[derive(Default)]
struct Missing {
    first: Option<(u32, u64, String)>,
    count: u64,
}

impl Comparison<'_> {
    /// Reports a header that does not fit, and a file that is too short.
    pub(super) fn check_file(&self, disk: &Disk, dir: &Path, report: &mut Report<'_>) -> Result<()> {
        let file = disk.open(dir.join("key.dat"), crate::disk::Mode::Read)?;
        match Header::check(&file, Kind::Keys, VERSION) {
            Ok(_) => {}
            Err(error @ Error::Io { .. }) => return Err(error),
            // the next start writes it again from the journal
            Err(_) if self.journal.is_some() => {}
            Err(error) => report.damage(file.path(), 0, error.to_string()),
        }
        if let Some(noted) = self.standing.noted()
            && self.end < noted.key_bytes
        {
            let what = format!("ends here; the last checkpoint notes {} bytes", noted.key_bytes);
            report.damage(file.path(), self.end, what);
        }
        Ok(())
    }

    /// Goes through both.
    pub(super) fn run(&self, walk: &mut Walk<'_>, report: &mut Report<'_>) -> Result<()> {
        match walk.is_imported() {
            true => self.run_in_order_of_time(walk, report),
            false => self.run_in_order_of_files(walk, report),
        }
    }

    /// Goes through both where the archive was imported.
    fn run_in_order_of_time(&self, walk: &mut Walk<'_>, report: &mut Report<'_>) -> Result<()> {
        let before = report.summary.findings;
        let mut pages = InOrder::read(walk, self.maker, report)?;
        let mut keys = KeyWalk::new(self.keys, self.end);
        let mut missing = Missing::default();
        let mut counted = 0;
        let place = |record: &KeyRecord| (record.time, record.file, record.value_offset);
        while let Some(page) = pages.next()? {
            let mut found = None;
            while let Some(record) = self.next(&mut keys, report)? {
                if place(&record) > place(&page.record) {
                    keys.put_back(record);
                    break;
                }
                counted += 1;
                if place(&record) == place(&page.record) {
                    found = Some(record);
                    break;
                }
                self.orphan(&record, walk, report);
            }
            match found {
                Some(record) => {
                    self.compare_imported(&record, page, report)?;
                    missing.tell(walk, report);
                }
                // it may refer to what is in no source
                None if page.revisit.is_some() => {}
                None => missing.note(page.record.file, page.record.value_offset, &page.record.url),
            }
        }
        missing.tell(walk, report);
        while let Some(record) = self.next(&mut keys, report)? {
            counted += 1;
            self.orphan(&record, walk, report);
        }
        self.compare_count(counted, before, report);
        Ok(())
    }

    fn compare_imported(&self, found: &KeyRecord, page: Imported, report: &mut Report<'_>) -> Result<()> {
        let Imported { record: mut expected, revisit } = page;
        if revisit.as_ref().is_some_and(|revisit| !revisit.has_digest) {
            // it is that of what it refers to
            expected.payload_sha1 = found.payload_sha1;
        }
        if expected.status == 0 {
            expected.status = found.status;
        }
        self.check_chain(found, report)?;
        self.compare(found, &Expected { record: expected, is_revisit: revisit.is_some(), has_metadata: true }, report);
        self.check_payload(found, revisit.is_some(), report)
    }

    /// Goes through both where a crawl wrote the archive.
    fn run_in_order_of_files(&self, walk: &mut Walk<'_>, report: &mut Report<'_>) -> Result<()> {
        let before = report.summary.findings;
        let mut keys = KeyWalk::new(self.keys, self.end);
        let mut missing = Missing::default();
        let (mut last, mut counted) = (None, 0);
        let mut tombs = Tombs::default();
        // a running crawl may replace files whose old generation is being read here
        let is_live = matches!(self.standing, Standing::Running);
        let mut replaced = None;
        while let Some(exchange) = walk.next(report)? {
            tombs.take(walk);
            let place = (exchange.file, exchange.answer.offset);
            let mut found = false;
            while let Some(record) = self.next(&mut keys, report)? {
                let of_record = (record.file, record.value_offset);
                if is_live && record.file == exchange.file && record.generation != exchange.generation {
                    replaced = Some(record.file);
                    continue;
                }
                if record.is_removed && record.file <= exchange.file {
                    counted += u64::from(self.is_noted(&record));
                    self.check_chain(&record, report)?;
                    if !is_live {
                        tombs.check(&record, self.keys.path(), report);
                    }
                    continue;
                }
                if of_record > place {
                    keys.put_back(record);
                    break;
                }
                counted += u64::from(self.is_noted(&record));
                self.check_chain(&record, report)?;
                if last.replace(of_record) >= Some(of_record) {
                    report.damage(self.keys.path(), record.offset, "a key record out of the order of the value files");
                } else if of_record == place {
                    self.compare_exchange(&record, &exchange, report);
                    self.check_payload(&record, exchange.answer.kind() == "revisit", report)?;
                    found = true;
                    break;
                } else {
                    self.orphan(&record, walk, report);
                }
            }
            if found {
                missing.tell(walk, report);
            } else if replaced != Some(exchange.file) && self.needs_key(&exchange, keys.is_done()) {
                let url = exchange.answer.field("WARC-Target-URI").unwrap_or_default();
                missing.note(exchange.file, exchange.answer.offset, url);
            }
        }
        missing.tell(walk, report);
        tombs.take(walk);
        while let Some(record) = self.next(&mut keys, report)? {
            counted += u64::from(self.is_noted(&record));
            if is_live && (record.is_removed || replaced == Some(record.file)) {
                continue;
            }
            if record.is_removed {
                tombs.check(&record, self.keys.path(), report);
            } else {
                self.orphan(&record, walk, report);
            }
        }
        if !is_live && self.journal.is_none() {
            tombs.tell_rest(walk, report);
        }
        self.compare_count(counted, before, report);
        Ok(())
    }

    /// Compares the number of records that the last checkpoint covers with its note, unless there were findings.
    fn compare_count(&self, counted: u64, findings_before: u64, report: &mut Report<'_>) {
        if let Some(noted) = self.standing.noted()
            && report.summary.findings == findings_before
            && self.journal.is_none()
            && counted != noted.pages
        {
            let what = format!("{counted} records; the last checkpoint notes {}", noted.pages);
            report.damage(self.keys.path(), HEADER_BYTES, what);
        }
    }

    fn is_noted(&self, record: &KeyRecord) -> bool {
        self.standing.noted().is_some_and(|noted| record.offset < noted.key_bytes)
    }

    fn next(&self, keys: &mut KeyWalk<'_>, report: &mut Report<'_>) -> Result<Option<KeyRecord>> {
        loop {
            let before = keys.at;
            let record = keys.next(&mut |from, to| self.bad_stretch(from, to, report))?;
            report.advance(keys.at - before);
            match (&record, self.journal) {
                (Some(changing), Some(journal)) if journal.changes(changing.offset) => {}
                _ => return Ok(record),
            }
        }
    }

    fn bad_stretch(&self, from: u64, to: u64, report: &mut Report<'_>) {
        let path = self.keys.path();
        let bytes = to - from;
        if self.journal.is_some_and(|journal| journal.changes(from)) {
            return;
        }
        if to == self.end && self.standing.key_may_be_torn(from) {
            if !matches!(self.standing, Standing::Running) {
                report.unfinished(path, from, format!("unfinished: {bytes} bytes will be truncated at the next start"));
            }
        } else {
            report.damage(path, from, format!("no whole key record, {bytes} bytes are skipped"));
        }
    }

    /// True if `exchange` has to have a key record. The crawl appends it after the exchange, and what was stored since
    /// the last checkpoint is recovered after a kill.
    fn needs_key(&self, exchange: &Exchange, keys_are_done: bool) -> bool {
        match self.standing {
            Standing::Running | Standing::Unknown => !keys_are_done,
            Standing::Stopped { .. } => !self.standing.may_be_torn(exchange.file, exchange.start),
        }
    }

    /// A key record that leads to no response.
    fn orphan(&self, record: &KeyRecord, walk: &Walk<'_>, report: &mut Report<'_>) {
        // such a record is cut at the next start
        if matches!(self.standing, Standing::Stopped { .. }) && self.standing.key_may_be_torn(record.offset) {
            return;
        }
        let name = walk.path_of(record.file).map_or_else(
            || format!("value file {}, which is missing", record.file),
            |path| path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        );
        let what = format!("no whole response is at byte {} of {name}: {}", record.value_offset, record.url);
        report.damage(self.keys.path(), record.offset, what);
    }

    /// Returns true where nothing whole need be at `offset` before `record`: a crawl that starts cuts key.dat to its
    /// checkpoint and writes it again, and the journal of a compaction has the records that it changes. Damage there is
    /// reported where it is.
    fn may_be_cut(&self, offset: u64, record: &KeyRecord) -> bool {
        let is_changing = self.journal.is_some_and(|journal| journal.changes(offset));
        is_changing || matches!(self.standing, Standing::Running) && offset < record.offset
    }

    /// Checks that the version before is a record of the same URL, and comes before.
    fn check_chain(&self, record: &KeyRecord, report: &mut Report<'_>) -> Result<()> {
        let Some(previous) = record.previous else { return Ok(()) };
        let older = if previous < record.offset { self.keys.read_if_whole(previous)? } else { None };
        if older.is_none() && self.may_be_cut(previous, record) {
            return Ok(());
        }
        if older.is_none_or(|older| older.url != record.url) {
            let what = format!("byte {previous} has no older version of {}", record.url);
            report.damage(self.keys.path(), record.offset, what);
        }
        Ok(())
    }

    /// Checks that the record of a revisit, and only that, leads to one of a response with its payload.
    fn check_payload(&self, record: &KeyRecord, is_revisit: bool, report: &mut Report<'_>) -> Result<()> {
        let fits = match record.payload_at {
            // what it refers to is not here to be looked at
            None if record.is_external => is_revisit,
            None => !is_revisit,
            Some(at) => {
                let first = self.keys.read_if_whole(at)?;
                if first.is_none() && self.may_be_cut(at, record) {
                    return Ok(());
                }
                let first = first.filter(KeyRecord::is_response);
                let same = |first: KeyRecord| {
                    first.payload_sha1 == record.payload_sha1 && first.payload_bytes == record.payload_bytes
                };
                is_revisit && first.is_some_and(same)
            }
        };
        if !fits {
            let what = format!("no response with the payload of the revisit is named, or it is none: {}", record.url);
            report.damage(self.keys.path(), record.offset, what);
        }
        Ok(())
    }

    /// Checks that `found` says what its exchange says.
    fn compare_exchange(&self, found: &KeyRecord, exchange: &Exchange, report: &mut Report<'_>) {
        let is_revisit = exchange.answer.kind() == "revisit";
        match exchange.key_record(self.maker) {
            Some(record) => {
                let expected = Expected { record, is_revisit, has_metadata: exchange.metadata.is_some() };
                self.compare(found, &expected, report);
            }
            None => {
                let at = place_of(found);
                let what = format!("{at} has no URL, time, status or digest that could be compared");
                report.damage(self.keys.path(), found.offset, what);
            }
        }
    }

    fn compare(&self, found: &KeyRecord, expected: &Expected, report: &mut Report<'_>) {
        let mut wrong = |what: String| report.damage(self.keys.path(), found.offset, what);
        let at = place_of(found);
        let &Expected { record: ref expected, is_revisit, has_metadata } = expected;
        let (payload_bytes, mime) = match is_revisit && !expected.is_external {
            // both may be of the response that it refers to
            true => (found.payload_bytes, if expected.mime.is_empty() { &found.mime } else { &expected.mime }),
            false => (expected.payload_bytes, &expected.mime),
        };
        let fields = [
            ("the URL", found.url.clone(), expected.url.clone()),
            ("the time", found.time.ms().to_string(), expected.time.ms().to_string()),
            ("the status", found.status.to_string(), expected.status.to_string()),
            ("the generation of the value file", found.generation.to_string(), expected.generation.to_string()),
            ("the length", found.value_bytes.to_string(), expected.value_bytes.to_string()),
            ("the payload's digest", hex(&found.payload_sha1), hex(&expected.payload_sha1)),
            ("the payload's length", found.payload_bytes.to_string(), payload_bytes.to_string()),
            ("the media type", found.mime.clone(), KeyRecord::stored_mime(mime).to_owned()),
        ];
        for (name, found, expected) in fields {
            if found != expected {
                wrong(format!("{name} is {found}, {at} has {expected}"));
            }
        }
        if found.was_revisit != expected.was_revisit {
            let (found, expected) = (found.was_revisit, expected.was_revisit);
            wrong(format!("the flag of a revisit that got its payload is {found}, {at} has {expected}"));
        }
        if !is_revisit && found.truncated != expected.truncated {
            wrong(format!("the flag of a body cut short is {}, {at} has {}", found.truncated, expected.truncated));
        }
        if self.maker.is_some() && found.key != expected.key {
            wrong(format!(
                "the fingerprint is {:016x}, that of {} is {:016x}",
                found.key.bits(),
                found.url,
                expected.key.bits()
            ));
        }
        if has_metadata && found.robots != expected.robots {
            wrong(format!("the flag of robots.txt is {}, {at} has {}", found.robots, expected.robots));
        }
        if has_metadata && found.of_rendering != expected.of_rendering {
            let (found, expected) = (found.of_rendering, expected.of_rendering);
            wrong(format!("the flag of what a rendering asked for is {found}, {at} has {expected}"));
        }
        if has_metadata && found.is_rendered != expected.is_rendered {
            let (found, expected) = (found.is_rendered, expected.is_rendered);
            wrong(format!("the flag of a rendered page is {found}, {at} has {expected}"));
        }
        if has_metadata && found.is_external != expected.is_external {
            let (found, expected) = (found.is_external, expected.is_external);
            wrong(format!("the flag of a payload in another archive is {found}, {at} has {expected}"));
        }
        if has_metadata && found.kind != expected.kind {
            let told = |kind: Option<kind::Kind>| kind.map_or("content", kind::Kind::text);
            wrong(format!("the kind is {}, {at} has {}", told(found.kind), told(expected.kind)));
        }
        if has_metadata && found.has_statements != expected.has_statements {
            let (found, expected) = (found.has_statements, expected.has_statements);
            wrong(format!("the flag of statements is {found}, {at} has {expected}"));
        }
    }
}

/// Tombstones of the value files, by the offsets of their key records: each removed page has one.
#[derive(Default)]
struct Tombs(HashMap<u64, (u32, String)>);

impl Tombs {
    fn take(&mut self, walk: &mut Walk<'_>) {
        self.0.extend(walk.take_tombstones().into_iter().map(|((file, _), tomb)| (tomb.at, (file, tomb.url))));
    }

    /// Reports a removed page without its tombstone.
    fn check(&mut self, record: &KeyRecord, keys: &Path, report: &mut Report<'_>) {
        match self.0.remove(&record.offset) {
            Some((file, url)) if file == record.file && url == record.url => {}
            _ => report.damage(keys, record.offset, format!("a removed page without a tombstone: {}", record.url)),
        }
    }

    /// Reports tombstones of pages that are not removed.
    fn tell_rest(self, walk: &Walk<'_>, report: &mut Report<'_>) {
        for (at, (file, url)) in self.0 {
            if let Some(path) = walk.path_of(file) {
                report.damage(path, 0, format!("a tombstone of {url}, but byte {at} of key.dat has no removed page"));
            }
        }
    }
}

impl Missing {
    fn note(&mut self, file: u32, offset: u64, url: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| (file, offset, url.to_owned()));
    }

    /// Reports the run once.
    fn tell(&mut self, walk: &Walk<'_>, report: &mut Report<'_>) {
        let Some((file, offset, url)) = self.first.take() else { return };
        let more = match std::mem::take(&mut self.count) - 1 {
            0 => String::new(),
            more => format!(", nor to the {more} that follow it"),
        };
        if let Some(path) = walk.path_of(file) {
            report.damage(path, offset, format!("a response that no key record points to: {url}{more}"));
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}
