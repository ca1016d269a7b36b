//! A value file without what goes: its next generation, written aside.
//!
//! What stays is copied as it is, byte by byte, in long runs; only the records of a revisit that gets a payload, or
//! refers to another response from now on, are encoded once more. Before them come the warcinfo record, which says what
//! the file replaces, and the tombstones.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::journal::{Journal, Replacement, STAGED};
use super::plan::{Fate, FilePlan, Plan};
use super::throttle::Throttle;
use super::tombstone::{self, TOMBSTONES_TYPE, Tombstone};
use crate::container::keys::{KeyFile, KeyRecord};
use crate::container::renewed::{Form, Original, Renewed};
use crate::container::values::{self, Found};
use crate::container::versions::{payload, value};
use crate::disk::{Disk, DiskFile, Error, Mode, Result, Writer};
use crate::warc::{Encoder, Record, RecordReader, format_date, id_of};

const BUFFER_BYTES: usize = 1 << 20;
/// Bytes of the block of a warcinfo record or of tombstones.
const SMALL_BLOCK_MAX: u64 = 16 << 20;
/// Bytes of a rendered page or a picture of it.
const RENDITION_MAX: u64 = 64 << 20;
/// Fields of a warcinfo record: which file this one replaces, and how long the first generation was.
const REPLACES: &str = "replaces";
const WRITTEN: &str = "writtenBytes";

/// A value file that is to be replaced; the next generation is durable.
#[derive(Debug)]
pub(crate) struct Rewritten {
    /// The journal that puts it in place.
    pub journal: Journal,
    /// Responses that go: offsets in key.dat, ascending.
    pub dropped: Vec<u64>,
    /// Revisits that have the payload now: digest, and offset in key.dat.
    pub promoted: Vec<([u8; 20], u64)>,
    /// The offset behind the last key record that the plan has seen.
    pub planned_to: u64,
    /// Length of the old generation, and of the new one.
    pub bytes: (u64, u64),
    /// Pages that go.
    pub pages: u64,
}

impl Rewritten {
    /// The value file is not replaced after all.
    pub(crate) fn discard(&self, disk: &Disk, dir: &Path) -> Result<()> {
        disk.remove(&self.journal.staged(dir))
    }
}

/// The response that has a payload now, as a revisit names it.
#[derive(Clone)]
struct Place {
    id: String,
    url: String,
    date: String,
}

/// The archive that is worked on.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The file system.
    pub disk: &'a Disk,
    /// The directory of the archive.
    pub dir: &'a Path,
    /// Its key records.
    pub keys: &'a KeyFile,
}

struct Rewriter<'a> {
    site: Site<'a>,
    plan: &'a Plan,
    source: DiskFile,
    generation: u8,
    out: Writer,
    encoder: Encoder,
    /// Bytes of the source that are to be copied next.
    run: Range<u64>,
    image: Vec<u8>,
    /// Revisits that got a payload.
    promoted: HashMap<u64, Place>,
    tombs: BTreeMap<u64, Tombstone>,
    throttle: &'a mut Throttle,
}

/// Writes the next generation of value file `number` as `plan` has it, and makes it durable. Returns nothing where it
/// has to stop.
pub(crate) fn rewrite(site: Site<'_>, plan: &Plan, number: u32, throttle: &mut Throttle) -> Result<Option<Rewritten>> {
    let Site { disk, dir, .. } = site;
    let Some(of_file) = plan.file(number) else { return Ok(None) };
    let found = find(disk, dir, number)?;
    let source = disk.open(&found.path, Mode::Read)?;
    let coding = values::coding_of(&found.path);
    let generation = found.generation + 1;
    let name = values::file_name(number, generation, coding);
    let staged = dir.join(format!("{name}{STAGED}"));
    disk.remove(&staged)?;
    let out = Writer::new(disk.open(&staged, Mode::CreateNew)?, 0, BUFFER_BYTES);
    let mut rewriter = Rewriter {
        site,
        plan,
        source,
        generation: (generation % 16) as u8,
        out,
        encoder: Encoder::new(coding),
        run: 0..0,
        image: Vec::new(),
        promoted: HashMap::new(),
        tombs: BTreeMap::new(),
        throttle,
    };
    let start = rewriter.begin(&name, of_file)?;
    let Some(counts) = rewriter.exchanges(of_file, start)? else {
        disk.remove(&staged)?;
        return Ok(None);
    };
    let Rewriter { source, out, image, promoted, .. } = rewriter;
    let file = out.finish()?;
    file.sync()?;
    disk.sync_dir(dir)?;
    let mut heirs: Vec<([u8; 20], u64)> = Vec::new();
    for &offset in promoted.keys() {
        heirs.push((site.keys.read(offset)?.payload_sha1, offset));
    }
    let old = found.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let replacement = Replacement { number, old, new: name, keys_from: of_file.keys.start };
    Ok(Some(Rewritten {
        journal: Journal { replacement, image },
        dropped: counts.dropped,
        promoted: heirs,
        planned_to: plan.end,
        bytes: (source.len()?, file.len()?),
        pages: counts.pages,
    }))
}

fn find(disk: &Disk, dir: &Path, number: u32) -> Result<Found> {
    let missing = || {
        let path: PathBuf = dir.join(format!("value-{number:05}*.warc*"));
        Error::damaged(&path, 0, "a full value file", "no such file")
    };
    let found = values::find(disk, dir)?.into_iter().rfind(|found| found.number == number);
    found.filter(|found| !found.open).ok_or_else(missing)
}

/// The length of the first generation of the value file `found`: what was written once.
pub(in crate::container) fn written_bytes(disk: &Disk, found: &Found) -> Result<u64> {
    let file = disk.open(&found.path, Mode::Read)?;
    if found.generation == 0 {
        return file.len();
    }
    let info = RecordReader::new(&file, 0, SMALL_BLOCK_MAX).next()?;
    let stated = info.as_ref().and_then(|info| written_of(&info.block));
    stated.ok_or_else(|| Error::damaged(file.path(), 0, "a warcinfo record that says what it replaces", "none"))
}

fn written_of(block: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(block).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(WRITTEN)?.strip_prefix(": "))?;
    value.trim().parse().ok()
}

/// Counts of what goes while a file is rewritten.
struct Counts {
    dropped: Vec<u64>,
    pages: u64,
}

impl Rewriter<'_> {
    /// Writes what comes before the exchanges; returns where those begin in the source.
    fn begin(&mut self, name: &str, of_file: &FilePlan) -> Result<u64> {
        let mut reader = RecordReader::new(&self.source, 0, SMALL_BLOCK_MAX);
        let info = reader.next()?.filter(|info| info.kind() == "warcinfo");
        let path = self.source.path().to_owned();
        let info = info.ok_or_else(|| Error::damaged(&path, 0, "a warcinfo record", "another one"))?;
        let mut start = reader.position();
        while let Ok(Some(record)) = reader.next() {
            if record.field("Content-Type") != Some(TOMBSTONES_TYPE) {
                break;
            }
            let old = tombstone::parse(&record.block)
                .ok_or_else(|| Error::damaged(&path, record.offset, "tombstones, one a line", "other text"))?;
            self.tombs.extend(old.into_iter().map(|tomb| (tomb.at, tomb)));
            start = reader.position();
        }
        let now = format_date(self.plan.rule().now);
        for record in self.site.keys.scan_to(of_file.keys.start, of_file.keys.end) {
            let record = record?;
            if let Fate::Drop(moved_to) = self.plan.fate(&record) {
                let why = self.why(&record);
                let tomb = Tombstone::of(&KeyRecord { moved_to, ..record }, &now, &why);
                self.tombs.insert(tomb.at, tomb);
            }
        }
        let mut bytes = Vec::new();
        let id = self.warcinfo(&info, name, &mut bytes)?;
        let tombs: Vec<Tombstone> = std::mem::take(&mut self.tombs).into_values().collect();
        tombstone::encode(&tombs, name, &id, &now, &mut self.encoder, &mut bytes);
        self.out.push(&bytes)?;
        Ok(start)
    }

    /// The reason why the page of `record` goes.
    fn why(&self, record: &KeyRecord) -> String {
        let rule = self.plan.rule();
        match rule.list.act_of(&record.url) {
            Some(act) if act.reason.is_empty() => format!("forgotten on {}", act.date),
            Some(act) => format!("forgotten on {}: {}", act.date, act.reason),
            None => format!("container.keep = {}", rule.keep),
        }
    }

    /// Appends the warcinfo record of the new generation; returns its id.
    fn warcinfo(&self, old: &Record, name: &str, out: &mut Vec<u8>) -> Result<String> {
        let written = written_of(&old.block).map_or_else(|| self.source.len(), Ok)?;
        let id = id_of(&format!("{} {name}", old.field("WARC-Record-ID").unwrap_or_default()));
        let own = |line: &&[u8]| !line.starts_with(REPLACES.as_bytes()) && !line.starts_with(WRITTEN.as_bytes());
        let mut block: Vec<u8> =
            old.block.split_inclusive(|&byte| byte == b'\n').filter(own).collect::<Vec<_>>().concat();
        let replaced = old.field("WARC-Filename").unwrap_or_default();
        block.extend_from_slice(format!("{REPLACES}: {replaced}\r\n{WRITTEN}: {written}\r\n").as_bytes());
        let renew = |(field, value): &(String, String)| {
            let value = match field.as_str() {
                "WARC-Record-ID" => &id,
                "WARC-Filename" => name,
                _ => value,
            };
            (field.clone(), value.to_owned())
        };
        let fields: Vec<(String, String)> = old.fields.iter().map(renew).collect();
        Encoder::new(values::coding_of(self.source.path())).again(&fields, &block, &[], false, out);
        Ok(id)
    }

    /// Goes through the exchanges, the first of which begins at `start` of the source. Returns nothing where it has to
    /// stop.
    fn exchanges(&mut self, of_file: &FilePlan, start: u64) -> Result<Option<Counts>> {
        let mut counts = Counts { dropped: Vec::new(), pages: 0 };
        let mut at = start;
        self.run = start..start;
        let keys = self.site.keys;
        for record in keys.scan_to(of_file.keys.start, of_file.keys.end) {
            let record = record?;
            if record.is_removed {
                self.note(&record)?;
                continue;
            }
            let exchange = at..record.value_offset + record.value_bytes;
            if record.value_offset < at {
                let found = format!("one of {} that is before the one before", record.url);
                return Err(keys.damaged(record.offset, "key records in the order of the value file", found));
            }
            at = exchange.end;
            match self.plan.fate(&record) {
                Fate::Stay => self.stay(&record, exchange)?,
                Fate::Drop(moved_to) => {
                    counts.pages += 1;
                    if record.is_response() {
                        counts.dropped.push(record.offset);
                    }
                    self.note(&KeyRecord { is_removed: true, value_bytes: 0, moved_to, ..record })?;
                }
                Fate::Promote => self.promote(&record, exchange)?,
                Fate::Refer(heir) => self.refer(&record, exchange, heir)?,
            }
            if self.throttle.is_stopped() {
                return Ok(None);
            }
        }
        self.flush()?;
        let expected = of_file.keys.end - of_file.keys.start;
        if self.throttle.is_stopped() {
            return Ok(None);
        }
        if self.image.len() as u64 != expected {
            let found = format!("{} bytes of them", self.image.len());
            return Err(keys.damaged(of_file.keys.start, &format!("{expected} bytes of key records"), found));
        }
        Ok(Some(counts))
    }

    /// The key record as it is to be.
    fn note(&mut self, record: &KeyRecord) -> Result<()> {
        let record = KeyRecord { generation: self.generation, ..record.clone() };
        let bytes = record.encode().map_err(|what| {
            self.site.keys.damaged(record.offset, "a key record that can be written", format!("{what} is too large"))
        })?;
        self.image.extend_from_slice(&bytes);
        Ok(())
    }

    /// The exchange stays as it is.
    fn stay(&mut self, record: &KeyRecord, exchange: Range<u64>) -> Result<()> {
        if self.run.end != exchange.start {
            self.flush()?;
            self.run = exchange.start..exchange.start;
        }
        let place = self.out.position() + (record.value_offset - self.run.start);
        self.run.end = exchange.end;
        self.note(&KeyRecord { value_offset: place, ..record.clone() })?;
        if self.run.end - self.run.start >= 8 * BUFFER_BYTES as u64 {
            self.flush()?;
        }
        Ok(())
    }

    /// Copies the run.
    fn flush(&mut self) -> Result<()> {
        let mut bytes = vec![0; BUFFER_BYTES];
        let run = std::mem::replace(&mut self.run, 0..0);
        let mut at = run.start;
        while at < run.end && !self.throttle.is_stopped() {
            let count = bytes.len().min(usize::try_from(run.end - at).unwrap_or(usize::MAX));
            self.source.read_exact_at(&mut bytes[..count], at)?;
            self.out.push(&bytes[..count])?;
            at += count as u64;
            self.throttle.spend(2 * count as u64);
        }
        self.run = run.end..run.end;
        Ok(())
    }

    /// The records before the answer, and the answer, a revisit.
    fn records(&self, record: &KeyRecord, exchange: Range<u64>) -> Result<(Vec<Record>, Record)> {
        let mut reader =
            RecordReader::within(&self.source, exchange.start, record.value_offset - exchange.start, RENDITION_MAX);
        let mut before = Vec::new();
        while let Some(record) = reader.next()? {
            before.push(record);
        }
        Ok((before, value(&self.source, record)?.record))
    }

    /// Ends the run before an exchange that is written again.
    fn end_run(&mut self, exchange: &Range<u64>) -> Result<()> {
        self.flush()?;
        self.run = exchange.end..exchange.end;
        Ok(())
    }

    /// The revisit gets the payload that it refers to.
    fn promote(&mut self, record: &KeyRecord, exchange: Range<u64>) -> Result<()> {
        self.end_run(&exchange)?;
        let (before, revisit) = self.records(record, exchange)?;
        let at = record.payload_at.unwrap_or_default();
        let first = self.site.keys.read(at)?;
        let file = values::open_named(self.site.disk, self.site.dir, first.file, first.generation)?;
        let found = payload(&file, &first)?;
        let original = Original::of(&first, &found);
        let renewed = Renewed::new(record, before, &revisit, &original, Form::Response);
        let mut bytes = Vec::new();
        let start = renewed.write(&mut self.encoder, &mut bytes);
        let place = place_of(&revisit);
        self.promoted.insert(record.offset, place);
        self.note(&KeyRecord {
            value_offset: self.out.position() + start as u64,
            value_bytes: (bytes.len() - start) as u64,
            status: renewed.status,
            truncated: false,
            payload_at: None,
            was_revisit: true,
            ..record.clone()
        })?;
        self.push(&bytes)
    }

    /// The revisit refers to the response of the record at `heir` from now on.
    fn refer(&mut self, record: &KeyRecord, exchange: Range<u64>, heir: u64) -> Result<()> {
        let place = match self.promoted.get(&heir) {
            Some(place) => place.clone(),
            None => self.place_at(heir)?,
        };
        self.end_run(&exchange)?;
        let (before, revisit) = self.records(record, exchange)?;
        let mut bytes = Vec::new();
        for before in before {
            self.encoder.again(&before.fields, &before.block, &[], false, &mut bytes);
        }
        let start = bytes.len();
        let renew = |(name, value): &(String, String)| {
            let value = match name.as_str() {
                "WARC-Refers-To" => &place.id,
                "WARC-Refers-To-Target-URI" => &place.url,
                "WARC-Refers-To-Date" => &place.date,
                _ => value,
            };
            (name.clone(), value.clone())
        };
        let fields: Vec<(String, String)> = revisit.fields.iter().map(renew).collect();
        self.encoder.again(&fields, &revisit.block, &[], false, &mut bytes);
        self.note(&KeyRecord {
            value_offset: self.out.position() + start as u64,
            value_bytes: (bytes.len() - start) as u64,
            payload_at: Some(heir),
            ..record.clone()
        })?;
        self.push(&bytes)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.push(bytes)?;
        self.throttle.spend(2 * bytes.len() as u64);
        Ok(())
    }

    /// The response of the record at `heir`, in another file or as it is in this one.
    fn place_at(&self, heir: u64) -> Result<Place> {
        let record = self.site.keys.read(heir)?;
        if !record.is_response() {
            return Err(self.site.keys.damaged(heir, "the record of a response", format!("one of {}", record.url)));
        }
        let file = values::open_named(self.site.disk, self.site.dir, record.file, record.generation)?;
        Ok(place_of(&value(&file, &record)?.record))
    }
}

fn place_of(record: &Record) -> Place {
    let field = |name: &str| record.field(name).unwrap_or_default().to_owned();
    Place { id: field("WARC-Record-ID"), url: field("WARC-Target-URI"), date: field("WARC-Date") }
}
