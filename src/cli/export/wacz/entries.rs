//! The entries of a WACZ: those that are selected, and those that have the payloads of selected revisits.

use std::io::{self, Write};

use crate::cli::archive::{Archive, Damage, Entry};
use crate::cli::selection::{Selected, Selection};
use crate::disk::sorter::{Sorted, Sorter};

/// Memory for the handles of payloads; beyond it they are sorted in a temporary file.
const PAYLOADS_MEMORY: usize = 16 << 20;

/// An entry, and whether it is there for its own sake.
pub(super) struct WantedEntry {
    pub entry: Entry,
    pub is_selected: bool,
}

/// A walk over them in the order of the archive.
pub(super) struct Wanted<'a> {
    archive: &'a dyn Archive,
    selected: Selected<'a>,
    /// The next selected entry, where it was looked at already.
    ahead: Option<Entry>,
    /// Handles of entries that selected ones refer to.
    payloads: Sorted,
    payload: Option<u64>,
}

impl<'a> Wanted<'a> {
    /// One pass over the keys finds what is referred to.
    pub(super) fn new(selection: &'a Selection, archive: &'a dyn Archive, all: bool) -> anyhow::Result<Self> {
        let mut payloads = Sorter::new(PAYLOADS_MEMORY);
        let mut selected = selection.entries(archive, all)?;
        // faults are told in the pass that exports
        while let Some(entry) = selected.next(&mut Damage::default(), &mut io::sink())? {
            if let Some(payload) = entry.payload {
                payloads.push(&payload.to_be_bytes())?;
            }
        }
        let selected = selection.entries(archive, all)?;
        let mut wanted = Wanted { archive, selected, ahead: None, payloads: payloads.finish()?, payload: None };
        wanted.advance()?;
        Ok(wanted)
    }

    fn advance(&mut self) -> anyhow::Result<()> {
        let before = self.payload;
        loop {
            let handle = self.payloads.next()?.and_then(|bytes| bytes.try_into().ok());
            self.payload = handle.map(u64::from_be_bytes);
            if self.payload.is_none() || self.payload != before {
                return Ok(());
            }
        }
    }

    /// The next one; faulty ones are noted and passed.
    pub(super) fn next(
        &mut self,
        damage: &mut Damage,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<Option<WantedEntry>> {
        loop {
            let entry = match self.ahead.take() {
                Some(entry) => Some(entry),
                None => self.selected.next(damage, warnings)?,
            };
            let Some(payload) = self.payload.filter(|&at| entry.as_ref().is_none_or(|entry| at <= entry.handle)) else {
                return Ok(entry.map(|entry| WantedEntry { entry, is_selected: true }));
            };
            self.advance()?;
            if entry.as_ref().is_some_and(|entry| entry.handle == payload) {
                return Ok(entry.map(|entry| WantedEntry { entry, is_selected: true }));
            }
            self.ahead = entry;
            match self.archive.entry(payload) {
                Ok(entry) => return Ok(Some(WantedEntry { entry, is_selected: false })),
                Err(e) => damage.note(e, warnings),
            }
        }
    }
}
