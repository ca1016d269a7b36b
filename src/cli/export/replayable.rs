//! Pages as other programs can replay them: one rule for all exports.
//!
//! Readers take status and headers of a page from its own record, and look the original of a revisit up by the URL and
//! the date that the record names. So
//! - what a 304 confirms has the status and the headers that came with the payload;
//! - a page that no such look-up finds or leads to has its payload itself: one of the two was asked for by a request
//!   with its own method, or the payload is in another archive;
//! - any other revisit stays as it is. What a revisit refers to comes along ([`super::wanted`]).

use crate::cli::archive::{Archive, Entry, RecordLocation};
use crate::container::{Form, StoredRecord};
use crate::warc::has_request;

/// A page as other programs are to have it.
pub(super) struct Replayable {
    /// The entry, with the status that other programs see.
    pub entry: Entry,
    /// The entry that has the payload of a revisit, where that is in this archive.
    pub original: Option<Entry>,
    /// The form that its answer gets; none where it stays.
    form: Option<Form>,
}

/// The record from which a page is replayed.
pub(in crate::cli) struct Answer {
    pub place: RecordLocation,
    /// True where it has no payload itself.
    pub is_revisit: bool,
}

impl Replayable {
    /// Decides how `entry` is replayed.
    pub(super) fn of(archive: &dyn Archive, entry: &Entry) -> anyhow::Result<Self> {
        let original = entry.payload.map(|handle| archive.entry(handle)).transpose()?;
        let form = match &original {
            _ if entry.external => Some(Form::Response),
            Some(original) if has_request(&entry.url) || has_request(&original.url) => Some(Form::Response),
            Some(_) if entry.is_confirmed() => Some(Form::Revisit),
            _ => None,
        };
        let status =
            original.as_ref().filter(|_| entry.is_confirmed()).map_or(entry.status, |original| original.status);
        Ok(Replayable { entry: Entry { status, ..entry.clone() }, original, form })
    }

    /// The handle of the entry that has to come along.
    pub(super) fn needs(&self) -> Option<u64> {
        self.entry.payload.filter(|_| self.form != Some(Form::Response))
    }

    /// The record of the value files from which it is replayed: where its own cannot be, that which has the payload.
    pub(super) fn stored(&self, archive: &dyn Archive) -> anyhow::Result<Answer> {
        match self.original.as_ref().filter(|_| self.form.is_some()) {
            Some(original) => Ok(Answer { place: archive.place(original)?, is_revisit: false }),
            None => Ok(Answer { place: archive.place(&self.entry)?, is_revisit: self.entry.is_revisit() }),
        }
    }

    /// Its records.
    pub(super) fn records(&self, archive: &dyn Archive) -> anyhow::Result<Vec<StoredRecord>> {
        match self.form {
            Some(form) => archive.renewed(&self.entry, form),
            None => archive.exchange(&self.entry),
        }
    }
}
