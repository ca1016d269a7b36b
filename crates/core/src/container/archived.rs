//! A stored page with all that its exchange says of it, by its key record: what is needed to find its links again.

use super::keys::KeyRecord;
use super::reader::Reader;
use super::replayed::{ReplayedPage, page_of};
use crate::disk::Result;

impl Reader {
    /// The page that `key` leads to, with the body that it refers to where it is a revisit; nothing where its metadata
    /// is gone, or its body is in another archive.
    pub fn page(&self, key: &KeyRecord) -> Result<Option<ReplayedPage>> {
        if key.is_external {
            return Ok(None);
        }
        let records = self.exchange(key)?;
        let mut records: Vec<_> = records.into_iter().map(|stored| stored.record).collect();
        let Some(answer) = records.pop() else { return Ok(None) };
        if records.first().is_none_or(|first| first.kind() != "metadata") {
            return Ok(None);
        }
        let Some(page) = page_of(key.file, &records, &answer) else { return Ok(None) };
        Ok(Some(match page.refers_to {
            None => page,
            Some(_) => ReplayedPage { body: self.response(key)?.body, mime: key.mime.clone(), ..page },
        }))
    }
}
