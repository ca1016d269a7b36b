//! What the command line calls: the crawl, and the reader of its archive.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::Context;

use super::archive::{Archive, Entry, RecordLocation, Response};
use super::exit::UsageError;
use crate::container::{KeyRecord, Reader, StoredRecord};
use crate::crawl::{self, CrawlError, CrawlRequest};
use crate::disk::{self, Disk, HEADER_BYTES};
use crate::engine::Identity;
use crate::record::Finish;
use crate::web::coding;
use crate::web::url::{CanonicalUrl, KeyMaker};
use crate::web::warc::Header;

/// A body is decoded up to this size.
const DECODED_MAX: usize = 1 << 30;

/// Runs a crawl.
pub(super) fn crawl(request: CrawlRequest) -> Result<Finish, CrawlError> {
    // the panic's own message and place are on standard error by then
    let run = AssertUnwindSafe(|| crawl::run(request));
    catch_unwind(run).unwrap_or_else(|_| Err(CrawlError::Internal("the engine panicked".to_owned())))
}

/// Opens the archive in a crawl directory.
pub(super) fn open_archive(dir: &Path) -> anyhow::Result<Box<dyn Archive>> {
    let disk = Disk::real();
    let open = || -> disk::Result<Container> {
        let keys = Identity::read_copy(&disk, dir)?.key_maker();
        Ok(Container { reader: Reader::open(disk.clone(), &dir.join("pages"))?, keys })
    };
    match open() {
        Ok(container) => Ok(Box::new(container)),
        Err(e) if e.is_not_found() && has_no_page(&disk, dir) => Err(UsageError::because(format!(
            "nothing is stored in {} yet: the crawl has just begun, or ended before its first page",
            dir.display()
        ))),
        Err(e) => Err(e.into()),
    }
}

/// Whether nothing was ever stored: a file that is missing is not made yet then, and not lost.
fn has_no_page(disk: &Disk, dir: &Path) -> bool {
    let keys = disk.open_if_there(dir.join("pages").join("key.dat"));
    matches!(keys.and_then(|keys| keys.map_or(Ok(0), |keys| keys.len())), Ok(length) if length <= HEADER_BYTES)
}

/// The page container as an archive.
struct Container {
    reader: Reader,
    keys: KeyMaker,
}

impl Archive for Container {
    fn newest(&self, url: &str) -> anyhow::Result<Option<Entry>> {
        let url = CanonicalUrl::parse(url).with_context(|| format!("{url} is not a URL that can be crawled"))?;
        let key = self.keys.keys(&url).key;
        let found = match self.reader.newest(key, url.as_str())? {
            None => self.reader.newest_of_key(key)?,
            found => found,
        };
        Ok(found.map(entry))
    }

    fn previous(&self, entry: &Entry) -> anyhow::Result<Option<Entry>> {
        let record = self.reader.record_at(entry.handle)?;
        Ok(self.reader.previous(&record)?.map(self::entry))
    }

    fn entries(&self) -> Box<dyn Iterator<Item = anyhow::Result<Entry>> + '_> {
        Box::new(self.reader.records().map(|record| Ok(entry(record?))))
    }

    fn response(&self, entry: &Entry) -> anyhow::Result<Response> {
        let record = self.reader.record_at(entry.handle)?;
        let stored = self.reader.response(&record)?;
        let plain =
            |headers: Vec<Header>| headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut response = Response {
            status: stored.status,
            reason: stored.reason,
            headers: plain(stored.headers),
            payload_headers: plain(stored.payload_headers),
            body: stored.body,
            decoded: Vec::new(),
        };
        let encoding = response.content_encoding();
        response.decoded = coding::decode(encoding.as_deref(), &response.body, DECODED_MAX).bytes.into_owned();
        Ok(response)
    }

    fn exchange(&self, entry: &Entry) -> anyhow::Result<Vec<StoredRecord>> {
        Ok(self.reader.exchange(&self.reader.record_at(entry.handle)?)?)
    }

    fn place(&self, entry: &Entry) -> anyhow::Result<RecordLocation> {
        let record = self.reader.record_at(entry.handle)?;
        let file = self.reader.value_name(&record)?;
        Ok(RecordLocation { file, offset: record.value_offset, bytes: record.value_bytes })
    }
}

fn entry(record: KeyRecord) -> Entry {
    Entry {
        status: record.status,
        time: record.time,
        bytes: record.payload_bytes,
        digest_sha1: record.payload_sha1,
        robots: record.robots,
        revisit: record.payload_at.is_some(),
        previous: record.previous,
        handle: record.offset,
        mime: record.mime,
        url: record.url,
    }
}
