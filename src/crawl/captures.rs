//! The captures of a crawl directory, in which a crawl may be running: readers are opened again when it has grown.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::archive::{Archive, Error, Page};
use crate::container::retention::list;
use crate::dirs::CrawlDirs;
use crate::record::layout;
use crate::replay::{ArchiveFault, Capture, CaptureId, Captures, Content, StartPage};
use crate::web::headers;
use crate::web::url::CanonicalUrl;

/// Captures of a URL that are looked at: the newest ones.
const CAPTURES_MAX: usize = 10_000;
/// Bytes of a body as it was sent that is shown.
const BODY_BYTES_MAX: u64 = 256 << 20;
/// Time for which an archive is taken to be as it was.
const LOOK_AFTER: Duration = Duration::from_secs(2);
/// Records among which pages to begin with are looked for, in all shards together.
const RECORDS_MAX: usize = 20_000;

/// The captures in a crawl directory.
pub(super) struct StoredCaptures {
    dir: PathBuf,
    opened: Mutex<Option<Opened>>,
}

/// An archive that is open.
struct Opened {
    archive: Archive,
    looked: Instant,
    state: Vec<Option<FileState>>,
}

/// Length and last change of a file, by which it is known whether it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    bytes: u64,
    changed: SystemTime,
}

impl StoredCaptures {
    /// The captures in `dir`; it may have none yet.
    pub(super) fn new(dir: &Path) -> StoredCaptures {
        StoredCaptures { dir: dir.to_owned(), opened: Mutex::new(None) }
    }

    /// The archive as it is, or was within the last seconds; nothing where no page is stored.
    fn archive(&self) -> Result<Option<Archive>, ArchiveFault> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = opened.as_mut()
            && open.is_current()
        {
            return Ok(Some(open.archive.clone()));
        }
        *opened = None;
        let archive = match Archive::open(&self.dir) {
            Err(Error::NothingStored(_)) => return Ok(None),
            archive => archive.map_err(fault)?,
        };
        let state = state(archive.archives().dirs());
        *opened = Some(Opened { archive: archive.clone(), looked: Instant::now(), state });
        Ok(Some(archive))
    }

    /// The versions of a URL, the newest first.
    pub(super) fn versions(&self, url: &CanonicalUrl) -> Result<Vec<Page>, ArchiveFault> {
        let Some(archive) = self.archive()? else { return Ok(Vec::new()) };
        let archives = archive.archives();
        let versions = archives.versions(url, CAPTURES_MAX).map_err(fault)?;
        Ok(versions.into_iter().map(|(shard, record)| Page::new(archives.clone(), shard, record)).collect())
    }

    fn page(&self, capture: &Capture) -> Result<Page, ArchiveFault> {
        let missing = || ArchiveFault("this capture is not in the archive any more".to_owned());
        let archive = self.archive()?.ok_or_else(missing)?;
        let archives = archive.archives();
        if capture.id.shard >= archives.dirs().shards().len() {
            return Err(missing());
        }
        let reader = archives.reader(capture.id.shard).map_err(fault)?.ok_or_else(missing)?;
        let record = reader.record_at(capture.id.offset).map_err(fault)?;
        Ok(Page::new(archives.clone(), capture.id.shard, record))
    }
}

impl Opened {
    /// Looks, now and then, whether the archive is still as it was when it was opened.
    fn is_current(&mut self) -> bool {
        if self.looked.elapsed() < LOOK_AFTER {
            return true;
        }
        self.looked = Instant::now();
        self.state == state(self.archive.archives().dirs())
    }
}

/// The state of all indexes and lists of forgotten URLs; nothing for a file that cannot be read.
fn state(dirs: &CrawlDirs) -> Vec<Option<FileState>> {
    let state = |path: PathBuf| {
        let file = fs::metadata(path).ok()?;
        Some(FileState { bytes: file.len(), changed: file.modified().ok()? })
    };
    let of_shard = |dir: &PathBuf| ["key.dat", list::FILE].map(|name| state(dir.join(layout::PAGES).join(name)));
    dirs.shards().iter().flat_map(of_shard).collect()
}

fn fault(error: impl std::fmt::Display) -> ArchiveFault {
    ArchiveFault(error.to_string())
}

fn capture(page: &Page) -> Capture {
    let (_, shard, record) = page.parts();
    Capture {
        id: CaptureId { shard, offset: record.offset },
        time: record.time,
        status: record.status,
        bytes: record.payload_bytes,
        is_revisit: record.is_revisit(),
        url: record.url.clone(),
        mime: record.mime.clone(),
    }
}

impl Captures for StoredCaptures {
    fn captures(&self, url: &CanonicalUrl) -> Result<Vec<Capture>, ArchiveFault> {
        Ok(self.versions(url)?.iter().rev().map(capture).collect())
    }

    fn content(&self, capture: &Capture) -> Result<Content, ArchiveFault> {
        if capture.bytes > BODY_BYTES_MAX {
            let bytes = crate::text::figures::size(capture.bytes);
            return Err(ArchiveFault(format!("the body takes {bytes}, too much to be shown: run crawler get")));
        }
        let answer = self.page(capture)?.answer().map_err(fault)?;
        let content_type = answer.content_type();
        let of_body = if answer.status == 304 { &answer.payload_headers } else { &answer.headers };
        let coding = headers::list(&answer.headers, "content-encoding");
        let content_encoding = coding.or_else(|| headers::list(of_body, "content-encoding"));
        Ok(Content { content_type, content_encoding, fields: answer.headers, sent: answer.sent, body: answer.body })
    }

    fn rendered(&self, capture: &Capture) -> Result<Option<String>, ArchiveFault> {
        self.page(capture)?.rendered().map_err(fault)
    }

    fn start_pages(&self, max: usize) -> Result<Vec<StartPage>, ArchiveFault> {
        let Some(archive) = self.archive()? else { return Ok(Vec::new()) };
        let archives = archive.archives();
        let shards = archives.dirs().shards().len();
        let (mut hosts, mut pages) = (HashSet::new(), Vec::new());
        for shard in 0..shards {
            let Some(reader) = archives.reader(shard).map_err(fault)? else { continue };
            for record in reader.records().take(RECORDS_MAX / shards) {
                let record = record.map_err(fault)?;
                let is_page = record.status == 200 && record.mime.contains("html");
                if !is_page || record.robots || record.of_rendering || record.is_removed || pages.len() >= max {
                    continue;
                }
                let Ok(url) = CanonicalUrl::parse(&record.url) else { continue };
                if hosts.insert(url.authority().to_owned()) {
                    pages.push(StartPage { url: record.url, time: record.time });
                }
            }
        }
        Ok(pages)
    }
}
