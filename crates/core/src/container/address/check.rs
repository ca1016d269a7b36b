//! Reading the address pages for damage: page by page, every slot with its place, nothing changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::page::{self, Head, PAGE_BYTES, Page, PageId, SLOTS_AT};
use super::{VERSION, damaged_page, double_write, read_whole};
use crate::container::keys::KeyRecord;
use crate::disk::{Disk, DiskFile, Error, Header, Kind, Mode, Result};
use crate::fingerprint::Fingerprint;

/// A slot and its place.
#[derive(Clone, Copy, Debug)]
pub(in crate::container) struct Slot {
    id: PageId,
    index: usize,
    bucket: u64,
    level: u32,
    tag: u32,
    /// Offset in key.dat that it leads to.
    pub(in crate::container) offset: u64,
}

impl Slot {
    /// True if it may lead to a record of `key`.
    pub(in crate::container) fn fits(&self, key: Fingerprint) -> bool {
        let low = key.bits() & ((1 << self.level) - 1);
        low == self.bucket && page::tag_matches(self.tag, key, self.level)
    }
}

/// Something wrong with the pages.
#[derive(Debug)]
pub(in crate::container) struct Problem {
    /// The file that it is in.
    pub(in crate::container) file: PathBuf,
    /// The offset in that file.
    pub(in crate::container) offset: u64,
    /// Description of what is wrong.
    pub(in crate::container) what: String,
    /// True if a page is wrong, and not a slot of it.
    pub(in crate::container) of_page: bool,
}

impl Problem {
    fn of_page(file: &Path, offset: u64, what: impl Into<String>) -> Self {
        Problem { file: file.to_owned(), offset, what: what.into(), of_page: true }
    }
}

/// The address file, open for looking only.
#[derive(Debug)]
pub(in crate::container) struct AddressCheck {
    buckets: DiskFile,
    overflow: DiskFile,
    /// Pages that a repair would put over those that a kill left half written.
    repaired: HashMap<Option<PageId>, Vec<u8>>,
    head: Head,
    live: bool,
    /// Overflow pages that were met, a bit each.
    met: Vec<u64>,
}

impl AddressCheck {
    /// Bytes of a page.
    pub(in crate::container) const PAGE_BYTES: u64 = PAGE_BYTES as u64;

    /// Opens the file in `dir`: while a crawl writes it, where `live`; as a repair would leave it, where `killed`.
    pub(in crate::container) fn open(disk: &Disk, dir: &Path, live: bool, killed: bool) -> Result<Self> {
        let buckets = disk.open(dir.join("address.idx"), Mode::Read)?;
        let overflow = disk.open(dir.join("address.ovf"), Mode::Read)?;
        let repaired = if killed { double_write::images(disk, dir)? } else { HashMap::new() };
        let mut check = AddressCheck { buckets, overflow, repaired, head: Head::new(), live, met: Vec::new() };
        if !check.repaired.contains_key(&None) {
            Header::check(&check.buckets, Kind::Addresses, VERSION)?;
        }
        check.renew_head()?;
        let pages = check.head.overflow_pages;
        for (file, pages) in [(&check.buckets, 1 + check.head.buckets()), (&check.overflow, pages)] {
            let room = file.len()? / AddressCheck::PAGE_BYTES + check.repaired.len() as u64;
            if pages > room {
                let what = format!("{pages} pages");
                return Err(Error::damaged(file.path(), room * AddressCheck::PAGE_BYTES, what, "end of file"));
            }
        }
        check.met = vec![0; usize::try_from(pages / 64 + 1).unwrap_or(0)];
        Ok(check)
    }

    /// Reads the head again, which a running crawl may have changed; says whether it did.
    fn renew_head(&mut self) -> Result<bool> {
        let head = self.read(None, 0, Head::decode)?;
        let changed = head != self.head;
        self.head = head;
        Ok(changed)
    }

    /// Buckets of the file.
    pub(in crate::container) fn buckets(&self) -> u64 {
        self.head.buckets()
    }

    /// Bytes of its pages.
    pub(in crate::container) fn bytes(&self) -> u64 {
        self.head.pages().saturating_mul(PAGE_BYTES as u64)
    }

    /// Length of key.dat that it covers.
    pub(in crate::container) fn covered(&self) -> u64 {
        self.head.covered
    }

    /// Slots by its head.
    pub(in crate::container) fn slots(&self) -> u64 {
        self.head.slots
    }

    /// The path of address.idx, which has the head.
    pub(in crate::container) fn path(&self) -> &Path {
        self.buckets.path()
    }

    /// The slots of `bucket` and its overflow pages, as far as they can be read. `problems` hears of the rest, and of
    /// slots that `judge` finds fault with. While a crawl writes, only what stays wrong is reported.
    pub(in crate::container) fn bucket(
        &mut self,
        bucket: u64,
        patience: &mut u32,
        judge: &dyn Fn(&Slot) -> Option<String>,
        problems: &mut Vec<Problem>,
    ) -> Result<Vec<Slot>> {
        loop {
            let mut found = Vec::new();
            let slots = self.bucket_once(bucket, &mut found)?;
            for slot in &slots {
                if let Some(what) = judge(slot) {
                    let offset = slot.id.position() + (SLOTS_AT + 8 * slot.index) as u64;
                    let file = self.file(slot.id).path().to_owned();
                    found.push(Problem { file, offset, what, of_page: false });
                }
            }
            if found.is_empty() || !self.live || *patience == 0 {
                problems.append(&mut found);
                return Ok(slots);
            }
            *patience -= 1;
            std::thread::sleep(std::time::Duration::from_millis(10));
            self.renew_head()?;
        }
    }

    fn bucket_once(&mut self, bucket: u64, problems: &mut Vec<Problem>) -> Result<Vec<Slot>> {
        let level = if self.is_split(bucket) { self.head.level + 1 } else { self.head.level };
        let mut slots = Vec::new();
        let mut next = Some(PageId::bucket(bucket));
        let mut pages = 0;
        while let Some(id) = next {
            let page = match self.read(Some(id), id.position(), |bytes| Page::decode(bytes, id)) {
                Ok(page) => page,
                Err(Error::Damaged { path, offset, expected, found }) => {
                    problems.push(Problem::of_page(&path, offset, format!("expected {expected}, found {found}")));
                    break;
                }
                Err(error) => return Err(error),
            };
            let of_page = page.slots().enumerate();
            slots.extend(of_page.map(|(index, (tag, offset))| Slot { id, index, bucket, level, tag, offset }));
            next = page.overflow();
            pages += 1;
            if let Some(following) = next
                && (pages > self.head.overflow_pages || !self.mark(following))
            {
                let what = "it leads to an overflow page of another bucket, or to none";
                problems.push(Problem::of_page(self.file(id).path(), id.position() + 16, what));
                break;
            }
        }
        Ok(slots)
    }

    fn is_split(&self, bucket: u64) -> bool {
        bucket < self.head.split || bucket >= 1 << self.head.level
    }

    /// Notes that `id` belongs to a bucket; `false` where it belonged to one already, or is none.
    fn mark(&mut self, id: PageId) -> bool {
        let number = id.position() / PAGE_BYTES as u64;
        if self.live {
            return true;
        }
        if number >= self.head.overflow_pages {
            return false;
        }
        let Some(word) = self.met.get_mut((number / 64) as usize) else { return false };
        let fresh = *word & 1 << (number % 64) == 0;
        *word |= 1 << (number % 64);
        fresh
    }

    /// Checks the overflow pages that belong to no bucket; forgets which were met.
    pub(in crate::container) fn free_pages(&mut self, problems: &mut Vec<Problem>) -> Result<()> {
        let pages = if self.live { 0 } else { self.head.overflow_pages };
        for number in 0..pages {
            if self.met[(number / 64) as usize] & 1 << (number % 64) != 0 {
                continue;
            }
            let id = PageId::overflow(number);
            match self.read(Some(id), id.position(), |bytes| Page::decode(bytes, id)) {
                Ok(_) => {}
                Err(Error::Damaged { path, offset, expected, found }) => {
                    problems.push(Problem::of_page(&path, offset, format!("expected {expected}, found {found}")));
                }
                Err(error) => return Err(error),
            }
        }
        self.forget_met();
        Ok(())
    }

    /// Makes another pass possible.
    pub(in crate::container) fn forget_met(&mut self) {
        self.met.fill(0);
    }

    /// The newest record of `url`, found as a reader finds it.
    pub(in crate::container) fn newest(
        &mut self,
        key: Fingerprint,
        url: &str,
        record: &dyn Fn(u64) -> Result<Option<KeyRecord>>,
    ) -> Result<Option<KeyRecord>> {
        let mut newest: Option<KeyRecord> = None;
        loop {
            self.forget_met();
            let bucket = self.head.bucket(key).0;
            for slot in self.bucket_once(bucket, &mut Vec::new())?.iter().filter(|slot| slot.fits(key)) {
                if let Some(found) = record(slot.offset)?
                    && found.url == url
                    && newest.as_ref().is_none_or(|newest| newest.offset < found.offset)
                {
                    newest = Some(found);
                }
            }
            // a split may have taken the slot elsewhere
            if newest.is_some() || !self.live || !self.renew_head()? {
                return Ok(newest);
            }
        }
    }

    fn file(&self, id: PageId) -> &DiskFile {
        if id.is_overflow() { &self.overflow } else { &self.buckets }
    }

    /// The page `id`, the head where it is `None`.
    fn read<T>(&self, id: Option<PageId>, position: u64, decode: impl Fn(&[u8]) -> Option<T>) -> Result<T> {
        if let Some(value) = self.repaired.get(&id).and_then(|image| decode(image)) {
            return Ok(value);
        }
        let file = id.map_or(&self.buckets, |id| self.file(id));
        if self.live {
            return read_whole(file, position, decode);
        }
        let mut bytes = vec![0; PAGE_BYTES];
        file.read_exact_at(&mut bytes, position)?;
        decode(&bytes).ok_or_else(|| damaged_page(file, position))
    }
}
