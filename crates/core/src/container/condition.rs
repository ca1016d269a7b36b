//! What the archive lets a request ask about a page that it has: whether the stored payload is still the page's.

use super::revisits::{VERSIONS_MAX, Value, payload, value};
use super::{Container, KeyRecord};
use crate::disk::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::web::headers;
use crate::web::mime;
use crate::web::sitemap::{self, Body, Claim, Format};
use crate::web::validators::Validators;
use crate::web::warc::Header;

/// The condition of a request, and what a 304 to it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What is sent.
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
    /// found (of a revisit that of its payload too).
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

    /// The newest version that `fits`, from `newest` on backwards; not further than a condition is looked for.
    pub fn version_where(&self, newest: KeyRecord, fits: &dyn Fn(&KeyRecord) -> bool) -> Result<Option<KeyRecord>> {
        let mut at = Some(newest);
        for _ in 0..VERSIONS_MAX {
            match at {
                Some(record) if !fits(&record) => at = self.version_before(&record)?,
                other => return Ok(other),
            }
        }
        Ok(None)
    }

    /// The key record at `offset`, which another one names.
    pub fn record_at(&self, offset: u64) -> Result<KeyRecord> {
        self.keys.read(offset)
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
