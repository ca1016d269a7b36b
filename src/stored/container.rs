//! The page containers of a crawl as an archive.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use super::{Archive, Entry, RecordLocation, Response};
use crate::archive::{self, Archive as StoredArchive, Page};
use crate::container::{Form, KeyRecord, Reader, StoredRecord};
use crate::dirs::Archives;
use crate::disk::{self, Disk};
use crate::record::layout;
use crate::web::statements::Statements;
use crate::web::url::CanonicalUrl;

/// Opens the archive in a crawl directory: of all shards, where there are several.
pub(crate) fn open(disk: &Disk, dir: &Path) -> archive::Result<impl Archive + use<>> {
    let archive = StoredArchive::open_on(disk, dir)?;
    Ok(Container { archives: archive.archives().clone() })
}

/// An archive that has `page`, and its entry there.
pub(crate) fn of_page(page: &Page) -> (impl Archive + use<>, Entry) {
    let (archives, place, record) = page.parts();
    (Container { archives: archives.clone() }, entry(place, record.clone()))
}

/// The containers of all shards. A handle has the shard above the offset of the key record, so that
/// handles rise in the order of the entries.
struct Container {
    archives: Arc<Archives>,
}

/// Bits of a handle that hold the offset; those above hold the shard.
const OFFSET_BITS: u32 = 48;

fn handle(place: usize, offset: u64) -> u64 {
    (place as u64) << OFFSET_BITS | offset
}

impl Container {
    /// The key record of `entry`, its shard, and that shard's reader.
    fn record(&self, entry: &Entry) -> disk::Result<(usize, KeyRecord, &Reader)> {
        self.record_of(entry.handle)
    }

    fn record_of(&self, handle: u64) -> disk::Result<(usize, KeyRecord, &Reader)> {
        let (place, offset) = ((handle >> OFFSET_BITS) as usize, handle & ((1 << OFFSET_BITS) - 1));
        match self.archives.reader(place)? {
            Some(reader) => Ok((place, reader.record_at(offset)?, reader)),
            None => {
                let pages = self.archives.dirs().shards()[place].join(layout::PAGES);
                Err(disk::Error::damaged(&pages, 0, "the archive of an entry that was read from it", "none"))
            }
        }
    }

    /// The entries of a shard in the order in which they were stored.
    fn of_shard(&self, place: usize) -> Box<dyn Iterator<Item = anyhow::Result<Entry>> + '_> {
        match self.archives.reader(place) {
            Ok(None) => Box::new(std::iter::empty()),
            Ok(Some(reader)) => Box::new(reader.records().map(move |record| Ok(entry(place, record?)))),
            Err(error) => Box::new(std::iter::once(Err(error.into()))),
        }
    }
}

impl Archive for Container {
    fn newest(&self, url: &str) -> anyhow::Result<Option<Entry>> {
        let url = CanonicalUrl::parse(url).with_context(|| format!("{url} is not a URL that can be crawled"))?;
        Ok(self.archives.newest(&url)?.map(|(place, record)| entry(place, record)))
    }

    fn entry(&self, handle: u64) -> anyhow::Result<Entry> {
        let (place, record, _) = self.record_of(handle)?;
        Ok(entry(place, record))
    }

    fn plain_spelling(&self, url: &CanonicalUrl) -> Option<String> {
        self.archives.keys().plain_spelling(url)
    }

    fn previous(&self, entry: &Entry) -> anyhow::Result<Option<Entry>> {
        let (place, record, reader) = self.record(entry)?;
        Ok(reader.previous(&record)?.map(|record| self::entry(place, record)))
    }

    fn entries(&self) -> Box<dyn Iterator<Item = anyhow::Result<Entry>> + '_> {
        Box::new((0..self.archives.dirs().shards().len()).flat_map(|place| self.of_shard(place)))
    }

    fn is_superseded(&self, entry: &Entry) -> anyhow::Result<bool> {
        let (place, record, _) = self.record(entry)?;
        Ok(self.archives.is_superseded(place, &record)?)
    }

    fn response(&self, entry: &Entry) -> anyhow::Result<Response> {
        let (place, record, _) = self.record(entry)?;
        Ok(Page::new(self.archives.clone(), place, record).answer()?.into())
    }

    fn has_made_page(&self, entry: &Entry) -> anyhow::Result<bool> {
        let (place, record, _) = self.record(entry)?;
        Ok(Page::new(self.archives.clone(), place, record).is_rendered()?)
    }

    fn rendered(&self, entry: &Entry) -> anyhow::Result<Option<String>> {
        let (place, record, _) = self.record(entry)?;
        Ok(Page::new(self.archives.clone(), place, record).rendered()?)
    }

    fn exchange(&self, entry: &Entry) -> anyhow::Result<Vec<StoredRecord>> {
        let (_, record, reader) = self.record(entry)?;
        Ok(reader.exchange(&record)?)
    }

    fn renewed(&self, entry: &Entry, form: Form) -> anyhow::Result<Vec<StoredRecord>> {
        let (place, record, _) = self.record(entry)?;
        Ok(Page::new(self.archives.clone(), place, record).renewed(form)?)
    }

    fn exchange_and_response(&self, entry: &Entry) -> anyhow::Result<(Vec<StoredRecord>, Response)> {
        let (place, record, _) = self.record(entry)?;
        let (exchange, answer) = Page::new(self.archives.clone(), place, record).exchange_and_answer()?;
        Ok((exchange, answer.into()))
    }

    fn statements(&self, entry: &Entry) -> anyhow::Result<Statements> {
        let (_, record, reader) = self.record(entry)?;
        Ok(reader.statements(&record)?)
    }

    fn place(&self, entry: &Entry) -> anyhow::Result<RecordLocation> {
        let (place, record, reader) = self.record(entry)?;
        let name = reader.value_name(&record)?;
        // several archives have files of one name
        let file = self.archives.dirs().name(place).map_or(name.clone(), |shard| format!("{shard}/pages/{name}"));
        Ok(RecordLocation { file, offset: record.value_offset, bytes: record.value_bytes })
    }
}

fn entry(place: usize, record: KeyRecord) -> Entry {
    Entry {
        status: record.status,
        kind: record.kind,
        time: record.time,
        bytes: record.payload_bytes,
        digest_sha1: record.payload_sha1,
        robots: record.robots,
        payload: record.payload_at.map(|offset| handle(place, offset)),
        external: record.is_external,
        previous: record.previous.map(|offset| handle(place, offset)),
        handle: handle(place, record.offset),
        mime: record.mime,
        url: record.url,
    }
}
