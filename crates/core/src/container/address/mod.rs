//! address.idx: from the fingerprint of a URL to its newest record in key.dat, by linear hashing (Litwin 1980).
//!
//! A bucket is a page of 4 KiB, found by the low bits of the fingerprint. When the file is fuller than `LOAD`, the
//! next bucket in turn is split: the file grows by one page at a time and is never rehashed as a whole. What does not
//! fit into a bucket goes to overflow pages in address.ovf.
//!
//! A slot is 8 bytes: 40 bits of offset in key.dat, and a tag. The tag has the fingerprint's bits above those that
//! chose the bucket, below a marker bit: a split takes its lowest bit to decide where the slot goes, and needs not read
//! key.dat. A tag that has run out (after 23 doublings) is rebuilt from the key record.
//!
//! Between checkpoints nothing is written here. `AddressFile::apply` takes the slots of a whole interval in bucket
//! order, so that a page is read and written once, in chunks of `CHUNK_PAGES`: the images go to address.dw and are
//! synced, then to their places and are synced again. A chunk that a crash interrupted is repaired from address.dw when
//! the file is opened. Taking the same slot again changes nothing, so a job that was interrupted is simply repeated
//! after the recovery; slots whose records were lost lead to other records, which are compared, or to none. For the
//! same reason a slot is never taken over by a newer version of its URL: every interval's newest version has its own
//! slot, and of several that fit the one furthest on in key.dat is the newest.
//!
//! Cost: a look-up reads the head and 1.02 pages. Buckets that wait for their split are up to twice as full as those
//! that had it, so it is 1.00 just behind a doubling of the file and up to 1.10 before the next one. At a load of 0.55
//! a slot takes 14.6 bytes, and at most 15.2 with overflow pages.

pub(super) mod check;
#[cfg(test)]
mod damage_tests;
mod double_write;
mod page;
mod walk;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::keys::{KeyFile, KeyRecord};
use crate::disk::{Disk, DiskFile, Error, Header, Kind, Mode, Result};
use crate::fingerprint::Fingerprint;
use page::{Head, PAGE_BYTES, Page, PageId, SLOTS_PER_PAGE};
use walk::Walk;

/// Slots per room for slots at which a bucket is split.
const LOAD: f64 = 0.55;
/// Pages that are changed in memory before they are written.
const CHUNK_PAGES: usize = 4_096;
/// A page that is being rewritten is read again this often before it counts as damaged, and this often if it stays the
/// same.
const TORN_READS_MAX: usize = 200;
const SAME_READS_MAX: usize = 50;
/// A bucket whose pages lead in a circle is walked again this often: its pages may have been about to be rewritten.
const CIRCLES_MAX: usize = 20;
const VERSION: u16 = 1;

/// Ends of a walk along the pages of a bucket.
enum Walked {
    /// The newest record that is wanted, if there is one.
    Found(Option<KeyRecord>),
    /// A circle of pages.
    Circle(Error),
}

/// The address file with its overflow pages.
#[derive(Debug)]
pub(crate) struct AddressFile {
    disk: Disk,
    dir: PathBuf,
    buckets: DiskFile,
    overflow: DiskFile,
    head: Head,
    /// Pages that were changed and not written yet.
    changed: HashMap<PageId, Page>,
    /// Bytes written.
    written: u64,
}

impl AddressFile {
    /// Opens the file in `dir`, making it when it is not there, and repairs what a crash left half done. It may cover
    /// more of key.dat than the checkpoint knows of: such slots are harmless.
    pub(crate) fn open_or_create(disk: &Disk, dir: &Path) -> Result<Self> {
        if disk.open_if_there(dir.join("address.idx"))?.is_none() {
            create(disk, dir)?;
        }
        AddressFile::open_existing(disk, dir)
    }

    /// Opens the file in `dir`, which a checkpoint has written: without it, nothing that was stored would be found.
    pub(crate) fn open_existing(disk: &Disk, dir: &Path) -> Result<Self> {
        let open = || {
            // before a repair puts an older head over it
            Header::refuse_newer(&disk.open(dir.join("address.idx"), Mode::Read)?, Kind::Addresses, VERSION)?;
            double_write::repair(disk, dir)?;
            AddressFile::open_for_writing(disk, dir)
        };
        open().map_err(Error::of_named_file)
    }

    /// Opens the file for `AddressFile::apply` and for look-ups at the same time.
    pub(crate) fn open_for_writing(disk: &Disk, dir: &Path) -> Result<Self> {
        let file = AddressFile::open(disk, dir, Mode::Write)?;
        file.check_head()?;
        Ok(file)
    }

    /// Opens the file for look-ups.
    pub(crate) fn open_for_reading(disk: &Disk, dir: &Path) -> Result<Self> {
        AddressFile::open(disk, dir, Mode::Read)
    }

    fn open(disk: &Disk, dir: &Path, mode: Mode) -> Result<Self> {
        let buckets = disk.open(dir.join("address.idx"), mode)?;
        let overflow = disk.open(dir.join("address.ovf"), mode)?;
        Header::check(&buckets, Kind::Addresses, VERSION)?;
        let head = read_head(&buckets)?;
        Ok(AddressFile {
            disk: disk.clone(),
            dir: dir.to_owned(),
            buckets,
            overflow,
            head,
            changed: HashMap::new(),
            written: 0,
        })
    }

    /// Refuses a head that names more pages than the file has: the file would grow to what it says.
    fn check_head(&self) -> Result<()> {
        let damaged = |at, expected: String, found: u64| {
            Err(Error::damaged(self.buckets.path(), at, expected, format!("{found} by its head")))
        };
        let pages = [(&self.buckets, 1 + self.head.buckets(), 24), (&self.overflow, self.head.overflow_pages, 48)];
        for (file, pages, at) in pages {
            let there = file.len()? / PAGE_BYTES as u64;
            if pages > there {
                return damaged(at, format!("at most {there} pages in {}", file.path().display()), pages);
            }
        }
        let room = (self.head.pages() - 1) * SLOTS_PER_PAGE as u64;
        if self.head.slots > room {
            return damaged(32, format!("at most {room} slots"), self.head.slots);
        }
        let free = self.head.free.iter().map(|id| id.overflow_number().unwrap_or(u64::MAX)).max();
        match free.filter(|&number| number >= self.head.overflow_pages) {
            Some(number) => damaged(60, format!("free pages below {}", self.head.overflow_pages), number),
            None => Ok(()),
        }
    }

    /// Length of key.dat that the file covers.
    pub(crate) fn covered(&self) -> u64 {
        self.head.covered
    }

    /// Slots in the file.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> u64 {
        self.head.slots
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.head.pages().saturating_mul(PAGE_BYTES as u64)
    }

    /// The newest record of `url`. `record` reads key.dat at an offset, `None` where there is no whole record.
    ///
    /// Another thread may be applying slots: what was split between a look at the head and the read of the bucket is
    /// looked for again.
    pub(crate) fn find(
        &self,
        key: Fingerprint,
        url: &str,
        record: impl Fn(u64) -> Result<Option<KeyRecord>>,
    ) -> Result<Option<KeyRecord>> {
        self.find_where(key, |found| found.url == url, record)
    }

    /// The newest record of `key` that `is_wanted`: URLs that differ by their spelling alone have one key.
    pub(crate) fn find_where(
        &self,
        key: Fingerprint,
        is_wanted: impl Fn(&KeyRecord) -> bool,
        record: impl Fn(u64) -> Result<Option<KeyRecord>>,
    ) -> Result<Option<KeyRecord>> {
        let mut head = read_head(&self.buckets)?;
        let mut circles = 0;
        loop {
            match self.find_by(&head, key, &is_wanted, &record)? {
                Walked::Found(None) => {}
                Walked::Found(found) => return Ok(found),
                Walked::Circle(error) if circles == CIRCLES_MAX => return Err(error),
                Walked::Circle(_) => {
                    circles += 1;
                    std::thread::yield_now();
                    head = read_head(&self.buckets)?;
                    continue;
                }
            }
            let now = read_head(&self.buckets)?;
            if (now.level, now.split) == (head.level, head.split) {
                return Ok(None);
            }
            head = now;
        }
    }

    fn find_by(
        &self,
        head: &Head,
        key: Fingerprint,
        is_wanted: &impl Fn(&KeyRecord) -> bool,
        record: &impl Fn(u64) -> Result<Option<KeyRecord>>,
    ) -> Result<Walked> {
        let (bucket, level) = head.bucket(key);
        let mut newest: Option<KeyRecord> = None;
        let (mut next, mut walk) = (Some(PageId::bucket(bucket)), Walk::default());
        while let Some(id) = next {
            let page = self.read_page(id)?;
            for (tag, offset) in page.slots() {
                let older = newest.as_ref().is_some_and(|found| found.offset >= offset);
                if older || !page::tag_matches(tag, key, level) {
                    continue;
                }
                if let Some(found) = record(offset)?
                    && found.key == key
                    && is_wanted(&found)
                {
                    newest = Some(found);
                }
            }
            match walk.step(self.file(id), id, page.overflow()) {
                Ok(page) => next = page,
                Err(error) => return Ok(Walked::Circle(error)),
            }
        }
        Ok(Walked::Found(newest))
    }

    /// Takes `slots` in and makes them durable; from then on the file covers `key_bytes` of key.dat. Says how many
    /// bytes were written for that.
    pub(crate) fn apply(mut self, slots: &HashMap<Fingerprint, u64>, key_bytes: u64) -> Result<u64> {
        // the file grows first: slots that came before the splits of their buckets would pile up in overflow pages
        let wanted = self.head.slots.saturating_add(slots.len() as u64);
        while wanted as f64 > LOAD * (self.head.buckets() * SLOTS_PER_PAGE as u64) as f64 {
            self.split()?;
            self.write_full_chunk()?;
        }
        let mut ordered: Vec<(u64, u64, Fingerprint)> =
            slots.iter().map(|(&key, &offset)| (self.head.bucket(key).0, offset, key)).collect();
        ordered.sort_unstable();
        for (_, offset, key) in ordered {
            self.insert(key, offset)?;
            self.write_full_chunk()?;
        }
        self.head.covered = key_bytes;
        self.write_changes()?;
        Ok(self.written)
    }

    fn insert(&mut self, key: Fingerprint, offset: u64) -> Result<()> {
        let (bucket, level) = self.head.bucket(key);
        let tag = page::tag_of(key, level);
        let mut id = PageId::bucket(bucket);
        let (mut room, mut walk) = (None, Walk::default());
        loop {
            let page = self.page_mut(id)?;
            if page.renew(tag, offset) {
                return Ok(());
            }
            if room.is_none() && page.len() < SLOTS_PER_PAGE {
                room = Some(id);
            }
            let next = page.overflow();
            match walk.step(self.file(id), id, next)? {
                Some(next) => id = next,
                None => break,
            }
        }
        let room = match room {
            Some(room) => room,
            None => {
                let fresh = self.add_overflow();
                self.page_mut(id)?.set_overflow(Some(fresh));
                fresh
            }
        };
        self.page_mut(room)?.push(tag, offset);
        self.head.slots += 1;
        Ok(())
    }

    /// Splits the next bucket in turn: its slots go to itself or to the bucket that the file grows by.
    fn split(&mut self) -> Result<()> {
        let (old, level) = (self.head.split, self.head.level);
        let new = old + (1 << level);
        let mut slots = Vec::new();
        let (mut next, mut walk) = (Some(PageId::bucket(old)), Walk::default());
        while let Some(id) = next {
            let page = self.page_mut(id)?;
            slots.extend(page.slots());
            let following = page.overflow();
            next = walk.step(self.file(id), id, following)?;
            if id.is_overflow() {
                self.head.free.push(id);
            }
        }
        self.changed.insert(PageId::bucket(old), Page::new(PageId::bucket(old)));
        self.changed.insert(PageId::bucket(new), Page::new(PageId::bucket(new)));
        self.head.advance();
        for (tag, offset) in slots {
            let (upper, tag) = match page::halve(tag) {
                Some(halved) => halved,
                None => match self.key_at(offset)? {
                    Some(key) => (key.bits() >> level & 1 == 1, page::tag_of(key, level + 1)),
                    // its record was lost in a crash: the slot leads nowhere
                    None => {
                        self.head.slots = self.head.slots.saturating_sub(1);
                        continue;
                    }
                },
            };
            self.push_to(PageId::bucket(if upper { new } else { old }), tag, offset)?;
        }
        Ok(())
    }

    /// The fingerprint in the key record at `offset`.
    fn key_at(&self, offset: u64) -> Result<Option<Fingerprint>> {
        let keys = KeyFile::open_for_reading(&self.disk, &self.dir)?;
        Ok(keys.read_if_whole(offset)?.map(|record| record.key))
    }

    fn push_to(&mut self, mut id: PageId, tag: u32, offset: u64) -> Result<()> {
        let mut walk = Walk::default();
        loop {
            let page = self.page_mut(id)?;
            if page.len() < SLOTS_PER_PAGE {
                page.push(tag, offset);
                return Ok(());
            }
            let next = page.overflow();
            id = match walk.step(self.file(id), id, next)? {
                Some(next) => next,
                None => {
                    let fresh = self.add_overflow();
                    self.page_mut(id)?.set_overflow(Some(fresh));
                    fresh
                }
            };
        }
    }

    fn add_overflow(&mut self) -> PageId {
        let id = self.head.free.pop().unwrap_or_else(|| {
            self.head.overflow_pages += 1;
            PageId::overflow(self.head.overflow_pages - 1)
        });
        self.changed.insert(id, Page::new(id));
        id
    }

    fn page_mut(&mut self, id: PageId) -> Result<&mut Page> {
        if !self.changed.contains_key(&id) {
            let page = self.read_page(id)?;
            self.changed.insert(id, page);
        }
        Ok(self.changed.get_mut(&id).expect("it was put there"))
    }

    fn file(&self, id: PageId) -> &DiskFile {
        if id.is_overflow() { &self.overflow } else { &self.buckets }
    }

    fn read_page(&self, id: PageId) -> Result<Page> {
        read_whole(self.file(id), id.position(), |bytes| Page::decode(bytes, id))
    }

    fn write_full_chunk(&mut self) -> Result<()> {
        if self.changed.len() < CHUNK_PAGES { Ok(()) } else { self.write_changes() }
    }

    fn write_changes(&mut self) -> Result<()> {
        let mut pages: Vec<Page> = self.changed.drain().map(|(_, page)| page).collect();
        pages.sort_unstable_by_key(Page::id);
        // the head too, and each of them twice
        self.written += 2 * (pages.len() as u64 + 1) * PAGE_BYTES as u64;
        double_write::write(&self.disk, &self.dir, &self.buckets, &self.overflow, &self.head, &mut pages)
    }
}

fn create(disk: &Disk, dir: &Path) -> Result<()> {
    let overflow = disk.open(dir.join("address.ovf"), Mode::Create)?;
    overflow.set_len(0)?;
    overflow.sync()?;
    // its name too, before the other name says that both files are there
    disk.sync_dir(dir)?;
    disk.remove(&dir.join("address.dw"))?;
    disk.replace(&dir.join("address.idx"), &empty())
}

/// The bytes of an address file that covers nothing; its overflow file has none. Readers of the two look into key.dat
/// from its beginning.
pub fn empty() -> Vec<u8> {
    let head = Head::new();
    let mut content = head.encode(Header { kind: Kind::Addresses, version: VERSION }).to_vec();
    for bucket in 0..head.buckets() {
        content.extend_from_slice(&Page::new(PageId::bucket(bucket)).encode()[..]);
    }
    content
}

fn read_head(buckets: &DiskFile) -> Result<Head> {
    read_whole(buckets, 0, Head::decode)
}

/// Reads a page that another thread or process may be writing at this moment. The more often a page stays the same, the
/// fewer times the writer is let go on: on a busy machine each of them takes as long as all who wait for the processor.
fn read_whole<T>(file: &DiskFile, position: u64, decode: impl Fn(&[u8]) -> Option<T>) -> Result<T> {
    let (mut bytes, mut before, mut same) = (vec![0; PAGE_BYTES], Vec::new(), 0_usize);
    for _ in 0..TORN_READS_MAX {
        file.read_exact_at(&mut bytes, position)?;
        if let Some(value) = decode(&bytes) {
            return Ok(value);
        }
        same = if bytes == before { same + 1 } else { 0 };
        if same == SAME_READS_MAX {
            break;
        }
        before.clone_from(&bytes);
        if same == 0 || same.is_power_of_two() {
            std::thread::yield_now();
        }
    }
    Err(damaged_page(file, position))
}

fn damaged_page(file: &DiskFile, position: u64) -> Error {
    Error::damaged(file.path(), position, "a page with its checksum", "another checksum")
}
