//! What the archive lets a request ask about a page that it has: whether the stored payload is still the page's.

use super::revisits::{VERSIONS_MAX, payload, value};
use super::{Container, KeyRecord};
use crate::disk::{Error, Result};
use crate::fingerprint::Fingerprint;
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
    /// condition. A payload in another archive is not in this one.
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
                let Some(headers) = self.headers_of_whole(&record)? else { return Ok(None) };
                let payload_at = record.payload_at.unwrap_or(record.offset);
                return Ok(Validators::of(&headers).map(|validators| Condition { validators, payload_at }));
            }
            at = match record.previous {
                Some(offset) => self.keys.read_if_whole(offset)?,
                None => None,
            };
        }
        Ok(None)
    }

    /// The headers of a version whose payload can be read.
    fn headers_of_whole(&self, record: &KeyRecord) -> Result<Option<Vec<Header>>> {
        let read = || {
            let file = |record: &KeyRecord| self.value_file(record);
            let Some(offset) = record.payload_at else { return Ok(payload(&file(record)?, record)?.headers) };
            let first = self.keys.read(offset)?;
            payload(&file(&first)?, &first)?;
            Ok(value(&file(record)?, record)?.headers)
        };
        match read() {
            Ok(headers) => Ok(Some(headers)),
            Err(Error::Damaged { .. }) => {
                tracing::warn!(url = record.url, "its stored version is damaged; it is requested unconditionally");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
