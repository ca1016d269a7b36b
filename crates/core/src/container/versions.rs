//! Versions of pages: which of them has the payload of another one. A page whose payload is in the archive already is
//! written as a revisit, and read through; and a request can have a condition: is the stored payload still the page's?
//!
//! A revisit refers to the record of a *response*, never to another revisit, and one that comes before it. So a reader
//! needs one key record and one value more than for a page, and a replay in the order of the archive has met the
//! payload when it comes to the revisit.

use std::borrow::Cow;
use std::path::PathBuf;

use super::replayed::RefersTo;
use super::{Container, KeyRecord, NewPage, ReplayedPage, values};
use crate::disk::{DiskFile, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::warc::{
    Header, Profile, Record, RecordReader, Revisit, chunks, format_date, head_of, id_seed, parse_http_head,
    parse_status_line, resource, seed_of_id,
};
use crate::web::headers;
use crate::web::mime;
use crate::web::sitemap::{self, Body, Claim, Format};
use crate::web::url::CanonicalUrl;
use crate::web::validators::Validators;

/// Versions of a URL that are looked through for one with the payload.
pub(super) const VERSIONS_MAX: usize = 64;
/// Bytes of a block without its payload.
const HEAD_MAX: u64 = 16 << 20;
/// Times its own length that a payload takes at most in chunks: one of a byte takes six.
const CHUNKED_FACTOR: u64 = 6;

/// The response that has the payload of a page, as far as a revisit has to know it.
pub(super) struct First {
    /// Its record.
    pub record: KeyRecord,
    /// Seed of the id of its WARC record, where it is known.
    id_seed: Option<u128>,
}

/// The condition of a request, and what a 304 to it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The validators that are sent.
    pub validators: Validators,
    /// The record of the response that has the payload: offset in key.dat.
    pub payload_at: u64,
}

impl Container {
    /// The response that has the payload of `page`, if the archive has one; `newest` is the newest version of the page.
    pub(super) fn first_with_payload(
        &mut self,
        page: &NewPage<'_>,
        newest: Option<KeyRecord>,
    ) -> Result<Option<First>> {
        let found = match page.revisit.map(|draft| draft.profile) {
            Some(Profile::IdenticalPayload) => match self.own_response_with(page, newest)? {
                Some(own) => Some(own),
                None => self.response_with(&page.payload_sha1, page.payload_bytes)?,
            },
            Some(Profile::NotModified) => page.condition.map_or(Ok(None), |offset| self.payload_now(offset))?,
            None => None,
        };
        let first = |record: KeyRecord| Ok(First { id_seed: self.id_seed_of(&record)?, record });
        found.map(first).transpose()
    }

    /// The response that has the payload of `page` for the version before it, where that is the same: the index of
    /// payloads may have forgotten it. Found is used.
    fn own_response_with(&mut self, page: &NewPage<'_>, newest: Option<KeyRecord>) -> Result<Option<KeyRecord>> {
        let own = newest.map_or(Ok(None), |newest| self.payload_before(newest))?;
        let has = |own: &KeyRecord| own.payload_sha1 == page.payload_sha1 && own.payload_bytes == page.payload_bytes;
        let own = own.filter(|own| has(own) && !self.retention.is_leaving(own));
        if let Some(own) = &own {
            self.digests.insert(&own.payload_sha1, own.offset);
        }
        Ok(own)
    }

    /// The record of the response that has the payload now which the record at `offset` had when a condition was made
    /// of it; nothing where a compaction has removed it meanwhile.
    fn payload_now(&self, offset: u64) -> Result<Option<KeyRecord>> {
        let mut now = self.keys.read(offset)?;
        for _ in 0..VERSIONS_MAX {
            let Some(offset) = now.moved_to else { break };
            now = self.keys.read(offset)?;
        }
        Ok(Some(now).filter(|now| now.is_response() && !self.retention.is_leaving(now)))
    }

    /// A response with this payload, as far as the index remembers; found is used.
    fn response_with(&mut self, sha1: &[u8; 20], bytes: u64) -> Result<Option<KeyRecord>> {
        for offset in self.digests.candidates(sha1) {
            let found = self.keys.read_if_whole(offset)?;
            let has = |record: &KeyRecord| {
                record.payload_sha1 == *sha1 && record.payload_bytes == bytes && record.is_response()
            };
            let has = |record: &KeyRecord| has(record) && !self.retention.is_leaving(record);
            if let Some(record) = found.filter(has) {
                self.digests.insert(sha1, offset);
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The records of `page` with a revisit of `first` in the place of the response.
    pub(super) fn records_of_revisit(&mut self, page: &NewPage<'_>, first: &First) -> Vec<u8> {
        let draft = page.revisit.expect("what has no draft is no revisit");
        let mut records = page.records[..page.response.start].to_vec();
        let revisit = Revisit {
            draft,
            url: page.url,
            fetched_at: page.time,
            payload_sha1: first.record.payload_sha1,
            first_id_seed: first.id_seed,
            first_url: &first.record.url,
            first_date: &format_date(first.record.time),
        };
        self.encoder.revisit(&revisit, &mut records);
        records
    }

    /// Returns the seed of the id of the record of `first`. The ids of robots.txt files have no seed that is known, so
    /// the id is read from the record itself.
    fn id_seed_of(&self, first: &KeyRecord) -> Result<Option<u128>> {
        if !first.robots {
            return Ok(Some(id_seed(self.crawl_id, &first.url, first.time)));
        }
        match self.value_file(first).and_then(|file| value(&file, first)) {
            Ok(found) => Ok(found.record.field("WARC-Record-ID").and_then(seed_of_id)),
            Err(Error::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Completes a replayed revisit by what it refers to: payload, its length, and its place. `key_of` makes the
    /// fingerprint of a URL. Says whether that was found, and whole. A page that is no revisit is complete, and one
    /// whose payload is in another archive stays without it.
    pub fn read_through(
        &mut self,
        page: &mut ReplayedPage,
        key_of: &dyn Fn(&str) -> Option<Fingerprint>,
    ) -> Result<bool> {
        let Some(refers_to) = page.refers_to.clone().filter(|_| !page.is_external) else { return Ok(true) };
        let Some(first) = self.referred(page, &refers_to, key_of)? else { return Ok(false) };
        match refers_to.profile {
            Profile::IdenticalPayload => match self.payload_of(&first) {
                Ok(found) => page.body = found.body().to_vec(),
                Err(Error::Damaged { .. }) => return Ok(false),
                Err(error) => return Err(error),
            },
            Profile::NotModified if page.mime.is_empty() => page.mime = first.mime,
            Profile::NotModified => {}
        }
        page.payload_bytes = first.payload_bytes;
        page.payload_at = Some(first.offset);
        Ok(true)
    }

    fn payload_of(&self, first: &KeyRecord) -> Result<Value> {
        payload(&self.value_file(first)?, first)
    }

    /// The value file that `record` names.
    pub(super) fn value_file(&self, record: &KeyRecord) -> Result<DiskFile> {
        values::open_named(self.values.disk(), self.values.dir(), record.file, record.generation)
    }

    fn referred(
        &mut self,
        page: &ReplayedPage,
        refers_to: &RefersTo,
        key_of: &dyn Fn(&str) -> Option<Fingerprint>,
    ) -> Result<Option<KeyRecord>> {
        let Some(key) = key_of(&refers_to.url) else { return Ok(None) };
        let mut at = self.newest(key, &refers_to.url)?;
        for _ in 0..VERSIONS_MAX {
            let Some(record) = at else { break };
            let same = record.is_response() && record.payload_sha1 == page.payload_sha1;
            if same && record.time == refers_to.time {
                return Ok(Some(record));
            }
            at = record.previous.map(|offset| self.keys.read(offset)).transpose()?;
        }
        // any other response with this payload is as good
        for offset in self.digests.candidates(&page.payload_sha1) {
            let found = self.keys.read_if_whole(offset)?;
            if let Some(record) = found.filter(|r| r.is_response() && r.payload_sha1 == page.payload_sha1) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The condition that the newest version of `url` with status 200 allows. There is none where that version names no
    /// validator, or its payload is not whole in the archive: damage means that the page is asked for without
    /// condition. A payload in another archive is not in this one. An index of sitemaps is asked for without condition:
    /// what it names is to be read again also where the index is as it was.
    ///
    /// It costs an address page, a key record for each version that is passed over, and the value of the one that is
    /// found (of a revisit the value with its payload too).
    pub fn condition(&self, key: Fingerprint, url: &str) -> Result<Option<Condition>> {
        let mut at = self.newest(key, url)?;
        for _ in 0..VERSIONS_MAX {
            let Some(record) = at else { return Ok(None) };
            if !record.is_removed && record.status == 200 && record.is_external {
                return Ok(None);
            }
            if !record.is_removed && record.status == 200 && record.kind.is_none() && !record.truncated {
                let Some(headers) = self.headers_of_page(&record)? else { return Ok(None) };
                let payload_at = record.payload_at.unwrap_or(record.offset);
                return Ok(Validators::of(&headers).map(|validators| Condition { validators, payload_at }));
            }
            at = self.version_before(&record)?;
        }
        Ok(None)
    }

    /// The response that has the payload of the newest version of `url` with one, as the index has it now.
    pub fn newest_payload(&self, key: Fingerprint, url: &str) -> Result<Option<KeyRecord>> {
        let newest = self.newest(key, url)?;
        newest.map_or(Ok(None), |newest| self.payload_before(newest))
    }

    /// The response that has the payload `sha1`, which a version of `url` has, as the index has it now: nothing where
    /// the content is lost, or is in another archive. It costs an address page and, where the page is as it was, a key
    /// record or two.
    pub fn response_with_payload(&self, key: Fingerprint, url: &str, sha1: &[u8; 20]) -> Result<Option<KeyRecord>> {
        let newest = self.newest(key, url)?;
        let has = |record: &KeyRecord| has_payload(record) && record.payload_sha1 == *sha1;
        newest.map_or(Ok(None), |newest| self.payload_where(newest, &has))
    }

    /// The response that has the payload of the newest version with one, from `newest` on backwards.
    fn payload_before(&self, newest: KeyRecord) -> Result<Option<KeyRecord>> {
        self.payload_where(newest, &has_payload)
    }

    /// The response that has the payload of the newest version that `fits`; not further back than a condition is looked
    /// for.
    fn payload_where(&self, newest: KeyRecord, fits: &dyn Fn(&KeyRecord) -> bool) -> Result<Option<KeyRecord>> {
        let mut at = Some(newest);
        for _ in 0..VERSIONS_MAX {
            let Some(record) = at else { return Ok(None) };
            if fits(&record) {
                let first = match record.payload_at {
                    Some(offset) => self.keys.read_if_whole(offset)?,
                    None => Some(record),
                };
                return Ok(first.filter(KeyRecord::is_response));
            }
            at = self.version_before(&record)?;
        }
        Ok(None)
    }

    fn version_before(&self, record: &KeyRecord) -> Result<Option<KeyRecord>> {
        match record.previous {
            Some(offset) => self.keys.read_if_whole(offset),
            None => Ok(None),
        }
    }

    /// The headers of a version whose payload can be read, and is no index of sitemaps.
    fn headers_of_page(&self, record: &KeyRecord) -> Result<Option<Vec<Header>>> {
        let read = || {
            let file = |record: &KeyRecord| self.value_file(record);
            let Some(offset) = record.payload_at else {
                let found = payload(&file(record)?, record)?;
                return Ok((!is_index(&found)).then_some(found.headers));
            };
            let first = self.keys.read(offset)?;
            let is_index = is_index(&payload(&file(&first)?, &first)?);
            Ok((!is_index).then_some(value(&file(record)?, record)?.headers))
        };
        match read() {
            Ok(headers) => Ok(headers),
            Err(Error::Damaged { .. }) => {
                tracing::warn!(url = record.url, "its stored version is damaged; it is requested unconditionally");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns true where `record` is of a page and not of an error, and its payload is in this archive.
fn has_payload(record: &KeyRecord) -> bool {
    let is_page = match record.status {
        304 => record.payload_at.is_some(),
        status => status < 400 && record.kind.is_none(),
    };
    is_page && !record.is_removed && !record.is_external
}

fn is_index(found: &Value) -> bool {
    let content_type = mime::content_type(&found.headers);
    let content_encoding = headers::list(&found.headers, "content-encoding");
    let body = Body {
        content_type: content_type.as_deref(),
        content_encoding: content_encoding.as_deref(),
        bytes: found.body(),
    };
    sitemap::format(body, Claim::Unlikely) == Some(Format::Index)
}

/// The record of a value file and where it was read.
pub(super) struct Value {
    pub record: Record,
    pub path: PathBuf,
    /// Status of the answer in its block.
    pub status: u16,
    /// Headers of that answer.
    pub headers: Vec<Header>,
    body_at: usize,
    /// The body, where its block has it in chunks.
    joined: Option<Vec<u8>>,
}

impl Value {
    /// The bytes behind the HTTP head in its block, transfer coding removed.
    pub(crate) fn body(&self) -> &[u8] {
        self.joined.as_deref().unwrap_or(&self.record.block[self.body_at..])
    }

    /// The HTTP head in its block, with the empty line; of a page without one, the head that it would have.
    pub(crate) fn head(&self) -> Cow<'_, [u8]> {
        match self.is_page_resource() {
            true => Cow::Owned(head_of(b"HTTP/1.1 200 OK", &self.headers)),
            false => Cow::Borrowed(&self.record.block[..self.body_at]),
        }
    }

    /// The reason phrase of the answer.
    pub(crate) fn reason(&self) -> String {
        let line = self.record.block[..self.body_at].split(|&byte| byte == b'\n').next().unwrap_or_default();
        parse_status_line(line).map_or_else(String::new, |(_, reason)| String::from_utf8_lossy(reason).into_owned())
    }

    /// Returns whether it has the body that came.
    pub(crate) fn has_payload(&self) -> bool {
        self.record.kind() == "response" || self.is_page_resource()
    }

    fn is_page_resource(&self) -> bool {
        resource::is_page(self.record.kind(), self.record.field("WARC-Target-URI"))
    }

    /// Damage at this record.
    pub(crate) fn wrong(&self, expected: &str, found: impl Into<String>) -> Error {
        Error::damaged(&self.path, self.record.offset, expected, found.into())
    }
}

/// The response that has a payload, by its key record; `file` is its value file.
pub(super) fn payload(file: &DiskFile, first: &KeyRecord) -> Result<Value> {
    let value = value(file, first)?;
    if !value.has_payload() || value.body().len() as u64 != first.payload_bytes {
        let found = format!("a {} of {} bytes", value.record.kind(), value.body().len());
        return Err(value.wrong(&format!("a response with a payload of {} bytes", first.payload_bytes), found));
    }
    Ok(value)
}

/// The record that `record` of key.dat leads to; `file` is its value file.
pub(super) fn value(file: &DiskFile, record: &KeyRecord) -> Result<Value> {
    let block_max = record.payload_bytes.saturating_mul(CHUNKED_FACTOR).saturating_add(HEAD_MAX);
    let read = RecordReader::within(file, record.value_offset, record.value_bytes, block_max).next()?;
    let wrong = |found: &str| Error::damaged(file.path(), record.value_offset, "the record of a page", found);
    let value = read.ok_or_else(|| wrong("end of file"))?;
    let target = value.field("WARC-Target-URI");
    if !target.is_some_and(|target| is_of(target, &record.url)) {
        return Err(wrong(&format!("a {} record of another URL", value.kind())));
    }
    let (status, headers, body_at) = match value.kind() {
        kind if resource::is_page(kind, target) => {
            (resource::STATUS, resource::headers(value.field("Content-Type")), 0)
        }
        // other programs leave the head out
        "revisit" if value.block.is_empty() => (record.status, Vec::new(), 0),
        _ => parse_http_head(&value.block).ok_or_else(|| wrong("no HTTP head"))?,
    };
    let joined = if chunks::are_stated(&headers) { chunks::joined(&value.block[body_at..]) } else { None };
    Ok(Value { record: value, path: file.path().to_owned(), status, headers, body_at, joined })
}

/// Returns whether a record with this target is one of `url`: archives of others have URLs as they were asked for.
fn is_of(target: &str, url: &str) -> bool {
    let plain = |url: &str| CanonicalUrl::parse(url).map(|url| url.plain().to_owned()).ok();
    target == url || plain(target).is_some_and(|target| plain(url) == Some(target))
}
