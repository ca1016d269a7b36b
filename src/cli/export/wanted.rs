//! The pages of an export that needs no other file: the selected ones, and the ones that have the payloads of selected
//! revisits.

use std::io::{self, Write};

use super::replayable::Replayable;
use crate::cli::archive::{Archive, Damage, Entry};
use crate::cli::selection::{Selected, Selection};
use crate::disk::sorter::{Sorted, Sorter};

/// Memory for the handles of payloads; beyond it they are sorted in a temporary file.
const PAYLOADS_MEMORY: usize = 16 << 20;

/// A page, and whether it is there for its own sake.
pub(super) struct WantedPage {
    pub page: Replayable,
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
        // faults are reported in the pass that exports
        while let Some(entry) = selected.next(&mut Damage::default(), &mut io::sink())? {
            if let Some(payload) = Replayable::of(archive, &entry).ok().and_then(|page| page.needs()) {
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
    pub(super) fn next(&mut self, damage: &mut Damage, warnings: &mut dyn Write) -> anyhow::Result<Option<WantedPage>> {
        loop {
            let entry = match self.ahead.take() {
                Some(entry) => Some(entry),
                None => self.selected.next(damage, warnings)?,
            };
            let payload = self.payload.filter(|&at| entry.as_ref().is_none_or(|entry| at <= entry.handle));
            if payload.is_some() {
                self.advance()?;
            }
            let (wanted, is_selected) = match (entry, payload) {
                (None, None) => return Ok(None),
                (Some(entry), None) => (Ok(entry), true),
                (Some(entry), Some(payload)) if payload == entry.handle => (Ok(entry), true),
                (entry, Some(payload)) => {
                    self.ahead = entry;
                    (self.archive.entry(payload), false)
                }
            };
            match wanted.and_then(|entry| Replayable::of(self.archive, &entry)) {
                Ok(page) => return Ok(Some(WantedPage { page, is_selected })),
                Err(e) => damage.note(e, warnings),
            }
        }
    }
}
