//! The condition that a request can have about a page in the archive: is the stored payload still the page's?

use super::revisits::{VERSIONS_MAX, Value, payload, value};
use super::{Container, KeyRecord};
use crate::disk::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::warc::Header;
use crate::web::headers;
use crate::web::mime;
use crate::web::sitemap::{self, Body, Claim, Format};
use crate::web::validators::Validators;

/// The condition of a request, and what a 304 to it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The validators that are sent.
    pub validators: Validators,
    /// The record of the response that has the payload: offset in key.dat.
    pub payload_at: u64,
}

impl Container {
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
            if !record.is_removed && record.status == 200 && !record.truncated {
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
    pub(super) fn payload_before(&self, newest: KeyRecord) -> Result<Option<KeyRecord>> {
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
        status => status < 400,
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
