//! Address files whose checksums are right and whose content cannot be: every walk and every growth ends.

use std::collections::HashMap;
use std::path::Path;

use super::page::{Head, PAGE_BYTES, Page, PageId, SLOTS_PER_PAGE, tag_of};
use super::{AddressFile, VERSION, check::AddressCheck, create};
use crate::disk::{Disk, Error, Header, Kind, Mode};
use crate::fingerprint::Fingerprint;

/// An address file in memory would do; this one shows that real files stay small too.
struct Forged {
    dir: tempfile::TempDir,
    disk: Disk,
}

impl Forged {
    fn new() -> Forged {
        let forged = Forged { dir: tempfile::tempdir().unwrap(), disk: Disk::real() };
        create(&forged.disk, forged.path()).unwrap();
        forged
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn put_head(&self, head: &Head) {
        let header = Header { kind: Kind::Addresses, version: VERSION };
        self.put("address.idx", &head.encode(header)[..], 0);
    }

    fn put_page(&self, mut page: Page) {
        let name = if page.id().is_overflow() { "address.ovf" } else { "address.idx" };
        let position = page.id().position();
        self.put(name, &page.encode()[..], position);
    }

    fn put(&self, name: &str, bytes: &[u8], position: u64) {
        let file = self.disk.open(self.path().join(name), Mode::Write).unwrap();
        file.write_all_at(bytes, position).unwrap();
    }

    /// Bucket `0` and then overflow pages as `links` says: page `n` leads to page `links[n]`. All are full.
    fn chain(&self, links: &[Option<u64>]) {
        self.put_page(full(PageId::bucket(0), Some(0)));
        for (number, &next) in (0..).zip(links) {
            self.put_page(full(PageId::overflow(number), next));
        }
        let pages = links.len() as u64;
        self.put_head(&Head { slots: (pages + 1) * SLOTS_PER_PAGE as u64, overflow_pages: pages, ..Head::new() });
    }

    fn apply(&self, slots: &HashMap<Fingerprint, u64>) -> Result<u64, Error> {
        AddressFile::open_for_writing(&self.disk, self.path()).and_then(|file| file.apply(slots, 16))
    }

    fn bytes(&self) -> u64 {
        let files = ["address.idx", "address.ovf", "address.dw"].map(|name| self.path().join(name));
        files.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|metadata| metadata.len()).sum()
    }
}

/// A page without room, whose slots belong to bucket 0 and lead to no record.
fn full(id: PageId, next: Option<u64>) -> Page {
    let mut page = Page::new(id);
    for slot in 0..SLOTS_PER_PAGE as u64 {
        page.push(tag_of(Fingerprint::from_bits(slot << 3), 2), 1 << 30);
    }
    page.set_overflow(next.map(PageId::overflow));
    page
}

fn is_damage<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Damaged { .. }))
}

/// Cycles of one page and of more, with and without a way that leads into them.
const CYCLES: [&[Option<u64>]; 4] = [
    &[Some(0)],
    &[Some(1), Some(0)],
    &[Some(1), Some(2), Some(3), Some(4), Some(2)],
    &[Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), Some(0)],
];

#[test]
fn overflow_pages_that_lead_in_a_circle_are_told_as_damage_by_every_look_up_and_every_change() {
    for links in CYCLES {
        let forged = Forged::new();
        forged.chain(links);
        let file = AddressFile::open_for_reading(&forged.disk, forged.path()).unwrap();
        let found = file.find(Fingerprint::from_bits(0), "http://a.example/", |_| Ok(None));
        assert!(is_damage(&found), "{links:?}: {found:?}");
        let before = forged.bytes();
        // one slot more: its bucket is split first, and all slots of its pages are gathered
        let applied = forged.apply(&HashMap::from([(Fingerprint::from_bits(0), 16)]));
        assert!(is_damage(&applied), "{links:?}: {applied:?}");
        assert_eq!(forged.bytes(), before);
        // the head says that there is room, so the slot is only put in
        forged.put_head(&Head { slots: 0, overflow_pages: links.len() as u64, ..Head::new() });
        let applied = forged.apply(&HashMap::from([(Fingerprint::from_bits(0), 16)]));
        assert!(is_damage(&applied), "{links:?}: {applied:?}");
        assert_eq!(forged.bytes(), before);
    }
}

#[test]
fn a_page_that_counts_more_slots_than_it_has_room_for_is_told_with_its_place() {
    for (id, name) in [(PageId::bucket(0), "address.idx"), (PageId::overflow(0), "address.ovf")] {
        for count in [SLOTS_PER_PAGE as u16 + 1, 4_096, u16::MAX] {
            let forged = Forged::new();
            forged.chain(&[None]);
            let mut bytes = *full(id, None).encode();
            bytes[12..14].copy_from_slice(&count.to_le_bytes());
            let sum = crc32fast::hash(&bytes[4..]);
            bytes[..4].copy_from_slice(&sum.to_le_bytes());
            forged.put(name, &bytes, id.position());
            let file = AddressFile::open_for_reading(&forged.disk, forged.path()).unwrap();
            let found = file.find(Fingerprint::from_bits(0), "http://a.example/", |_| Ok(None)).map(|_| ());
            for told in [found, forged.apply(&HashMap::from([(Fingerprint::from_bits(0), 16)])).map(|_| ())] {
                let Err(Error::Damaged { path, offset, .. }) = told else { panic!("{count}: {told:?}") };
                assert_eq!((path, offset), (forged.path().join(name), id.position()), "{count}");
            }
        }
    }
}

#[test]
fn a_long_chain_without_a_circle_is_walked_to_its_end() {
    let forged = Forged::new();
    let links: Vec<Option<u64>> = (1..=99).map(Some).chain([None]).collect();
    forged.chain(&links);
    let file = AddressFile::open_for_reading(&forged.disk, forged.path()).unwrap();
    assert!(file.find(Fingerprint::from_bits(0), "http://a.example/", |_| Ok(None)).unwrap().is_none());
    forged.apply(&HashMap::from([(Fingerprint::from_bits(0), 16)])).unwrap();
}

#[test]
fn a_head_that_counts_more_than_there_is_makes_no_file_grow() {
    let heads = [
        Head { slots: u64::MAX, ..Head::new() },
        Head { slots: 5 * SLOTS_PER_PAGE as u64, ..Head::new() },
        Head { level: 47, ..Head::new() },
        Head { split: 3, ..Head::new() },
        Head { overflow_pages: u64::MAX, ..Head::new() },
        Head { overflow_pages: 1, ..Head::new() },
        Head { free: vec![PageId::bucket(0)], ..Head::new() },
        Head { free: vec![PageId::overflow(1 << 40)], ..Head::new() },
    ];
    for head in heads {
        let forged = Forged::new();
        let before = forged.bytes();
        forged.put_head(&head);
        let applied = forged.apply(&HashMap::from([(Fingerprint::from_bits(0), 16)]));
        assert!(is_damage(&applied), "{head:?}: {applied:?}");
        let opened = AddressFile::open_or_create(&forged.disk, forged.path());
        assert!(is_damage(&opened), "{head:?}: {opened:?}");
        assert_eq!(forged.bytes(), before, "{head:?}");
    }
}

#[test]
fn the_bytes_of_a_file_are_counted_without_overflow_whatever_its_head_says() {
    let forged = Forged::new();
    forged.put_head(&Head { level: 47, split: (1 << 47) - 1, overflow_pages: u64::MAX, ..Head::new() });
    let file = AddressFile::open_for_reading(&forged.disk, forged.path()).unwrap();
    assert_eq!(file.bytes(), u64::MAX);
    assert!(is_damage(&AddressCheck::open(&forged.disk, forged.path(), false, false)));
    forged.put_head(&Head { overflow_pages: 3, ..Head::new() });
    let file = AddressFile::open_for_reading(&forged.disk, forged.path()).unwrap();
    assert_eq!(file.bytes(), 8 * PAGE_BYTES as u64);
}

#[test]
fn slots_that_lead_nowhere_are_dropped_also_where_the_head_counts_none() {
    let forged = Forged::new();
    let mut page = Page::new(PageId::bucket(0));
    // a tag that has no bit left is rebuilt from its record, which is not there
    page.push(1, 1 << 30);
    forged.put_page(page);
    super::super::keys::KeyFile::open(&forged.disk, forged.path(), None).unwrap();
    let slots =
        (0..2_000).map(|n| (Fingerprint::from_bits(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(n)), 16 + n)).collect();
    forged.apply(&slots).unwrap();
}

#[test]
fn a_damaged_page_that_nobody_writes_is_not_read_for_long() {
    let forged = Forged::new();
    forged.put("address.idx", &[0xff; PAGE_BYTES], PAGE_BYTES as u64);
    let file = forged.disk.open(forged.path().join("address.idx"), Mode::Read).unwrap();
    let reads = std::cell::Cell::new(0);
    let decode = |_: &[u8]| -> Option<()> {
        reads.set(reads.get() + 1);
        None
    };
    let damage = super::read_whole(&file, PAGE_BYTES as u64, decode).unwrap_err();
    assert!(matches!(damage, Error::Damaged { .. }), "{damage}");
    assert!(reads.get() <= 60, "{} reads", reads.get());
}
