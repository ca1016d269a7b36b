//! The documents of a feed as of its last pass, and the changes that lead there.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::ahead::Ahead;
use super::change::{Change, Deletion, Document};
use super::cursor::{Cursor, Within};
use super::entry::{Entry, Published, State, Version};
use super::error::{Error, Result};
use super::home::{Head, Home};
use super::id::id_of;
use super::key::{Key, Stored};
use super::pass::{MEMORY, page_at};
use super::urls::Urls;
use crate::archive::{Archive, Page, PageTexts};
use crate::clock::Time;
use crate::container::retention::list::ForgottenList;
use crate::dirs::{Archives, CrawlDirs};
use crate::disk::Disk;
use crate::disk::sorter::Sorter;
use crate::warc::{digest, format_date};
use crate::web::url::{CanonicalUrl, KeyMaker};

/// The documents.
pub struct Documents {
    head: Head,
    urls: Urls,
    archives: Arc<Archives>,
    forgotten: ForgottenList,
}

/// A document in the list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// Its canonical URL.
    pub url: String,
    /// Digest of its body, as WARC records have it.
    pub digest: String,
}

/// A host whose deletions wait for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its name.
    pub host: String,
    /// Deletions that wait.
    pub deletions: u64,
}

impl Documents {
    /// Opens the feed of the crawl in `dir`.
    ///
    /// # Errors
    /// [`Error::NoFeed`] before the first pass.
    pub fn open(dir: &Path) -> Result<Documents> {
        let disk = Disk::real();
        let dirs = CrawlDirs::around(&disk, dir)?;
        let (head, urls) = newest(&Home::of(&disk, dirs.root()))?;
        let forgotten = dirs.forgotten(&disk)?;
        let archives = Archive::open(dirs.root())?.archives().clone();
        Ok(Documents { head, urls, archives, forgotten })
    }

    /// The number of documents.
    pub fn count(&self) -> u64 {
        self.head.documents
    }

    /// A cursor before all changes.
    pub fn start(&self) -> Cursor {
        Cursor { feed: self.head.id.clone(), pass: 0, within: None }
    }

    /// Hosts whose deletions wait for the operator.
    pub fn waiting(&self) -> Vec<Waiting> {
        let waiting = self.head.days.waiting();
        let mut waiting: Vec<_> =
            waiting.map(|day| Waiting { host: day.host.clone(), deletions: day.waiting }).collect();
        waiting.sort_by(|a, b| a.host.cmp(&b.host));
        waiting
    }

    /// Gives all documents to `take`, in no order that means anything.
    ///
    /// # Errors
    /// That `take` returns, and if the files of the feed cannot be read.
    pub fn each<E: From<Error>>(
        &mut self,
        mut take: impl FnMut(Listed) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.urls.rewind();
        while let Some(entry) = self.urls.next()? {
            let Some(Published { state: State::There { digest: sha1, .. }, .. }) = &entry.published else { continue };
            let digest = digest(*sha1);
            take(Listed { id: id(&entry.url, self.archives.keys()), url: entry.url, digest })?;
        }
        Ok(())
    }

    /// A number behind those of all changes that lead to the last pass, and before those of the next one.
    pub fn number_behind(&self) -> u64 {
        self.head.pass << COUNT_BITS | 1 << (COUNT_BITS - 1)
    }

    /// Gives the documents with these ids to `take`, as upserts.
    ///
    /// # Errors
    /// That `take` returns, and if the files of the feed cannot be read.
    pub fn upserts<E: From<Error>>(
        &mut self,
        ids: &HashSet<&str>,
        mut take: impl FnMut(Change) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut wanted = Vec::new();
        self.urls.rewind();
        while let Some(entry) = self.urls.next()? {
            if entry.is_published() && ids.contains(&*id(&entry.url, self.archives.keys())) {
                wanted.push(entry);
            }
        }
        for entry in wanted {
            if let Some(published) = &entry.published
                && let Some(change) = self.change(&entry, published)?
            {
                take(change)?;
            }
        }
        Ok(())
    }

    /// The changes behind `cursor`.
    pub fn changes(&mut self, cursor: &Cursor) -> Result<Changes<'_>> {
        if cursor.feed != self.head.id || cursor.pass > self.head.pass {
            return Err(Error::OtherFeed);
        }
        let mut sorter = Sorter::new(MEMORY);
        if cursor.pass < self.head.pass {
            self.urls.rewind();
            while let Some(entry) = self.urls.next()? {
                let published = entry.published.as_ref().filter(|published| published.pass > cursor.pass);
                let is_news = |published: &Published| cursor.pass > 0 || matches!(published.state, State::There { .. });
                if let Some(published) = published.filter(|published| is_news(published)) {
                    sorter.push(&line(published, &entry))?;
                }
            }
        }
        let mut changes = Changes {
            documents: self,
            lines: Ahead::sorted(sorter.finish()?)?,
            count: 0,
            cursor: Cursor { within: None, ..cursor.clone() },
        };
        let done = cursor.within.filter(|within| within.to == self.head.pass).map_or(0, |within| within.steps);
        for _ in 0..done {
            changes.skip()?;
        }
        Ok(changes)
    }

    fn change(&self, entry: &Entry, published: &Published) -> Result<Option<Change>> {
        let id = id(&entry.url, self.archives.keys());
        match (&published.state, &entry.content) {
            (State::Gone { reason, duplicate_of }, _) => {
                let (reason, duplicate_of) = (*reason, duplicate_of.clone());
                Ok(Some(Change::Delete(Deletion { id, url: entry.url.clone(), reason, duplicate_of })))
            }
            (State::There { .. }, _) if self.forgotten.covers(&entry.url) => Ok(None),
            (State::There { others, .. }, Some(version)) => {
                let urls = [&entry.url].into_iter().chain(others).cloned().collect();
                let document = Document { id, url: entry.url.clone(), urls, ..self.document(entry, version)? };
                Ok(Some(Change::Upsert(Box::new(document))))
            }
            (State::There { .. }, None) => Ok(None),
        }
    }

    /// The document of a version. Without texts where it cannot be read: that it is there is known.
    fn document(&self, entry: &Entry, version: &Version) -> Result<Document> {
        let captured = format_date(Time::from_ms(version.captured));
        let bare = Document { digest: digest(version.digest), captured, ..Document::default() };
        let page = page_at(&self.archives, version.stored)?;
        let is_it = |page: &Page| page.url() == entry.url && page.digest_sha1() == version.digest;
        let page = match page.filter(is_it) {
            Some(page) => Some(page),
            // another index has it elsewhere
            None => self.found(&entry.url, version)?,
        };
        let Some(page) = page else { return Ok(bare) };
        let Ok(texts) = PageTexts::read(&page) else { return Ok(bare) };
        let record = page.parts().2;
        Ok(Document {
            title: texts.title,
            text: texts.text,
            language: texts.language.to_owned(),
            mime: record.mime.clone(),
            record: texts.record,
            ..bare
        })
    }

    fn found(&self, url: &str, version: &Version) -> Result<Option<Page>> {
        let Ok(url) = CanonicalUrl::parse(url) else { return Ok(None) };
        let versions = self.archives.versions(&url, VERSIONS_MAX)?;
        let found =
            versions.into_iter().find(|(_, record)| record.payload_sha1 == version.digest && !record.is_removed);
        Ok(found.map(|(at, record)| Page::new(self.archives.clone(), at, record)))
    }
}

/// The state that counts, and its file, which stays open if a pass replaces it.
fn newest(home: &Home) -> Result<(Head, Urls)> {
    loop {
        let head = home.require_head()?;
        match Urls::open(home, &home.urls(head.pass)) {
            Err(Error::Disk(error)) if error.is_not_found() && home.require_head()?.pass != head.pass => {}
            urls => return Ok((head, urls?)),
        }
    }
}

/// Versions of a URL that are looked at.
const VERSIONS_MAX: usize = 1_000;

fn id(url: &str, keys: &KeyMaker) -> String {
    CanonicalUrl::parse(url).map(|url| id_of(&url, keys)).unwrap_or_default()
}

/// Bytes of a line that say to which step a change belongs: pass and document.
const STEP_BYTES: usize = 8 + 4 + 8 + 1;

/// The line of a change: by pass, then by the document that it belongs to, deletions first.
fn line(published: &Published, entry: &Entry) -> Vec<u8> {
    let Stored { shard, record } = published.order;
    let is_alone = published.order == Stored::default();
    let mut line = published.pass.to_be_bytes().to_vec();
    line.extend(shard.to_be_bytes());
    line.extend(record.to_be_bytes());
    line.push(u8::from(!is_alone));
    line.push(u8::from(matches!(published.state, State::There { .. })));
    let Key { host, url } = entry.key;
    line.extend(host.to_be_bytes());
    line.extend(url.to_be_bytes());
    line.extend(entry.to_bytes());
    line
}

fn entry_of(line: &[u8]) -> Option<Entry> {
    Entry::parse(line.get(STEP_BYTES + 1 + Key::BYTES..)?)
}

/// A change, or the deletions of documents that became parts of another one together with that one.
#[derive(Debug)]
pub struct Step {
    /// The number of its first change, the same when it comes again; numbers rise.
    pub number: u64,
    /// The changes; none if the document was forgotten meanwhile.
    pub changes: Vec<Change>,
}

/// Changes in their order.
pub struct Changes<'a> {
    documents: &'a Documents,
    lines: Ahead,
    /// Changes before the next one, which were delivered before or are delivered now.
    count: u64,
    cursor: Cursor,
}

/// Bits of a number that count the changes of one way; the pass to which it leads is above them.
const COUNT_BITS: u32 = 40;

impl Changes<'_> {
    /// The next step; none at the end.
    pub fn next_step(&mut self) -> Result<Option<Step>> {
        let number = self.documents.head.pass << COUNT_BITS | self.count;
        let Some(lines) = self.lines_of_step()? else {
            let head = &self.documents.head;
            self.cursor = Cursor { feed: head.id.clone(), pass: head.pass, within: None };
            return Ok(None);
        };
        let mut changes = Vec::new();
        for entry in lines.iter().filter_map(|line| entry_of(line)) {
            if let Some(published) = &entry.published {
                changes.extend(self.documents.change(&entry, published)?);
            }
        }
        Ok(Some(Step { number, changes }))
    }

    /// The cursor behind the last step.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    fn skip(&mut self) -> Result<()> {
        self.lines_of_step().map(drop)
    }

    fn lines_of_step(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        let Some(first) = self.lines.take()? else { return Ok(None) };
        let step = first[..STEP_BYTES].to_vec();
        let is_alone = step.last() == Some(&0);
        let mut lines = vec![first];
        while !is_alone && let Some(line) = self.lines.take_of(&step)? {
            lines.push(line);
        }
        self.count += lines.len() as u64;
        let steps = self.cursor.within.map_or(0, |within| within.steps) + 1;
        self.cursor.within = Some(Within { to: self.documents.head.pass, steps });
        Ok(Some(lines))
    }
}
