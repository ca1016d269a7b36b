//! The depth of pages by the shortest way that was found to them, in a crawl with a limit of depth.
//!
//! A page that is found first by a long way, because the pages of the short one are slow, is as deep as the short one
//! says: else pages would be left out that are within the depth. So the least depth of each admitted URL is kept here.
//! - A URL that waits in the queue is fetched at its least depth, whatever its entry says.
//! - A page that was fetched at a larger one *waits* here to be read again, from the archive: its links are one deeper
//!   than itself, and may be within the depth now, or lead to pages that are nearer themselves ([`super::nearer`]).
//! - A link that is too deep is not admitted, so URL-seen does not know its URL, and a shorter way admits it later. It
//!   is noted once in a run, with the page, for `explain`.
//!
//! Entries are kept of [`PAGES_MAX`] URLs; those that come later stay as deep as they were found first, and the crawl
//! says so. What is noted as too deep is no part of a checkpoint, the rest is. Where the crawl has no limit of depth,
//! nothing is kept, written or looked up.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::fingerprint::Fingerprint;
use crate::text::figures::count;

/// URLs of which the least depth is kept: what a table of a million places has room for.
const PAGES_MAX: usize = 917_504;
/// URLs that are noted as too deep in a run.
const TOO_DEEP_MAX: usize = 100_000;
/// Bytes of a URL and its depth in a checkpoint.
const ENTRY_BYTES: usize = 10;

/// The most memory that this takes, with its copy for a checkpoint.
pub const DEPTHS_BYTES_MAX: u64 = 64 << 20;

/// The least depths.
#[derive(Debug, Default)]
pub struct Depths {
    is_on: bool,
    least: HashMap<Fingerprint, u16>,
    /// Pages to be read again, if they are in the archive.
    waiting: BTreeSet<Fingerprint>,
    /// URLs that were noted as too deep.
    too_deep: HashSet<Fingerprint>,
    is_full: bool,
}

impl Depths {
    /// The depths as `saved` (from [`Depths::encode`]) has them; `None` for bytes that are something else. Where they
    /// are not wanted they are forgotten.
    pub(crate) fn open(is_on: bool, saved: &[u8]) -> Option<Self> {
        let mut depths = Depths { is_on, ..Depths::default() };
        if !is_on || saved.is_empty() {
            return Some(depths);
        }
        let (number, rest) = saved.split_first_chunk::<8>()?;
        let bytes = usize::try_from(u64::from_le_bytes(*number)).ok()?.checked_mul(ENTRY_BYTES)?;
        let (entries, waiting) = rest.split_at_checked(bytes)?;
        for entry in entries.chunks_exact(ENTRY_BYTES) {
            let (key, depth) = entry.split_first_chunk::<8>()?;
            depths.least.insert(key_of(key), u16::from_le_bytes(depth.try_into().ok()?));
        }
        let (waiting, []) = waiting.as_chunks::<8>() else { return None };
        depths.waiting = waiting.iter().map(key_of).collect();
        Some(depths)
    }

    /// Appends them; nothing where there are none.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        if self.least.is_empty() {
            return;
        }
        // the same state gives the same bytes
        let mut entries: Vec<(u64, u16)> = self.least.iter().map(|(key, &depth)| (key.bits(), depth)).collect();
        entries.sort_unstable();
        out.extend((entries.len() as u64).to_le_bytes());
        for (key, depth) in entries {
            out.extend(key.to_le_bytes());
            out.extend(depth.to_le_bytes());
        }
        out.extend(self.waiting.iter().flat_map(|key| key.bits().to_le_bytes()));
    }

    /// Keeps depths from now on, or forgets them.
    pub(crate) fn switch(&mut self, is_on: bool) {
        if !is_on {
            *self = Depths::default();
        }
        self.is_on = is_on;
    }

    /// Notes that the URL of `key` was found at `depth`, which is new or belongs to another shard.
    pub(crate) fn note(&mut self, key: Fingerprint, depth: u16) {
        // no way is shorter than that of a seed
        if !self.is_on || depth == 0 {
            return;
        }
        if let Some(least) = self.least.get_mut(&key) {
            *least = depth.min(*least);
        } else if self.least.len() < PAGES_MAX {
            self.least.insert(key, depth);
        } else if !std::mem::replace(&mut self.is_full, true) {
            tracing::warn!(
                "max_depth: shorter ways are followed to the first {} URLs; later ones stay as deep as they were found \
                 first",
                count(PAGES_MAX as u64)
            );
        }
    }

    /// A way of `depth` was found to a URL that was admitted before. Its page is read again if that is the shortest.
    pub(crate) fn offer(&mut self, key: Fingerprint, depth: u16) {
        if let Some(least) = self.least.get_mut(&key).filter(|least| **least > depth) {
            *least = depth;
            self.waiting.insert(key);
        }
    }

    /// A page was stored whose links were judged at `depth`: it is read again if a shorter way was found meanwhile.
    pub(crate) fn fetched(&mut self, key: Fingerprint, depth: u16) {
        if self.least(key, depth) < depth {
            self.waiting.insert(key);
        }
    }

    /// Returns whether a way of `depth` is shorter than all that were found to the URL of `key` before.
    pub(crate) fn is_nearer(&self, key: Fingerprint, depth: u16) -> bool {
        self.is_on && self.least.get(&key).is_some_and(|&least| depth < least)
    }

    /// The least depth of a URL that was found at `depth`.
    pub(crate) fn least(&self, key: Fingerprint, depth: u16) -> u16 {
        if !self.is_on {
            return depth;
        }
        self.least.get(&key).map_or(depth, |&least| least.min(depth))
    }

    /// True if a page waits to be read again.
    pub(crate) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes out a page that waits, with its least depth.
    pub(crate) fn take_waiting(&mut self) -> Option<(Fingerprint, u16)> {
        let key = self.waiting.pop_first()?;
        Some((key, self.least.get(&key).copied().unwrap_or(u16::MAX)))
    }

    /// Returns whether to note that a link to the URL of `key` is too deep: only of a URL that was not admitted, and
    /// once.
    pub(crate) fn note_too_deep(&mut self, key: Fingerprint) -> bool {
        self.is_on && self.too_deep.len() < TOO_DEEP_MAX && !self.least.contains_key(&key) && self.too_deep.insert(key)
    }
}

fn key_of(bytes: &[u8; 8]) -> Fingerprint {
    Fingerprint::from_bits(u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Fingerprint {
        Fingerprint::from_bits(number)
    }

    #[test]
    fn a_shorter_way_is_kept_and_its_page_waits_and_a_longer_one_changes_nothing() {
        let mut depths = Depths::open(true, &[]).unwrap();
        depths.note(key(1), 3);
        depths.note(key(2), 0);
        depths.offer(key(1), 4);
        depths.offer(key(2), 0);
        depths.offer(key(3), 1);
        assert!(!depths.are_waiting() && !depths.is_nearer(key(1), 3) && depths.is_nearer(key(1), 2));
        depths.offer(key(1), 2);
        assert_eq!((depths.least(key(1), 3), depths.least(key(1), 1), depths.least(key(9), 7)), (2, 1, 7));
        assert_eq!((depths.take_waiting(), depths.take_waiting()), (Some((key(1), 2)), None));
        depths.fetched(key(1), 2);
        assert!(!depths.are_waiting(), "it was fetched at its least depth");
        depths.fetched(key(1), 3);
        assert_eq!(depths.take_waiting(), Some((key(1), 2)), "it was in flight when the shorter way was found");
    }

    #[test]
    fn depths_come_back_from_their_bytes_and_other_bytes_are_refused() {
        let mut depths = Depths::open(true, &[]).unwrap();
        (1..100).for_each(|number| depths.note(key(number), 9));
        depths.offer(key(5), 2);
        let mut bytes = Vec::new();
        depths.encode(&mut bytes);
        let mut again = Depths::open(true, &bytes).unwrap();
        assert_eq!((&again.least, &again.waiting), (&depths.least, &depths.waiting));
        assert_eq!(again.take_waiting(), Some((key(5), 2)));
        for cut in [1, 7, 8, 12, bytes.len() - 1] {
            assert!(Depths::open(true, &bytes[..cut]).is_none(), "{cut}");
        }
        assert!(Depths::open(true, &[0xff; 8]).is_none());
        let (off, mut nothing) = (Depths::open(false, &bytes).unwrap(), Vec::new());
        off.encode(&mut nothing);
        assert!(nothing.is_empty() && !off.is_nearer(key(5), 0));
    }

    #[test]
    fn a_url_is_noted_as_too_deep_once_and_not_at_all_where_it_was_admitted_or_depths_are_off() {
        let mut depths = Depths::open(true, &[]).unwrap();
        depths.note(key(1), 3);
        assert_eq!([1, 2, 2].map(|number| depths.note_too_deep(key(number))), [false, true, false]);
        depths.switch(false);
        depths.note(key(4), 1);
        assert!(!depths.note_too_deep(key(5)) && !depths.is_nearer(key(4), 0));
    }

    #[test]
    fn urls_beyond_the_room_stay_as_deep_as_they_were_found_and_those_that_are_known_do_not() {
        let mut depths = Depths { is_on: true, ..Depths::default() };
        depths.least = (0..PAGES_MAX as u64).map(|number| (key(number), 5)).collect();
        depths.note(key(u64::MAX), 4);
        depths.offer(key(u64::MAX), 1);
        assert!(depths.is_full && !depths.are_waiting() && !depths.is_nearer(key(u64::MAX), 1));
        depths.offer(key(7), 1);
        assert_eq!(depths.take_waiting(), Some((key(7), 1)));
    }
}
