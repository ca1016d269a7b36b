//! Index of the payloads that the archive has: from digests to offsets in key.dat, in bounded memory.
//!
//! A set-associative table like the one in front of URL-seen: the digest chooses a set of eight words, which are kept
//! in the order of their use, the last used one first. A word is 24 bits of the digest and the offset of a key record,
//! so a word that fits is only a candidate: anyone who asks reads that record, which has the whole digest, and then
//! believes. With 8 bytes a payload, 16 MiB know two million payloads. What is forgotten is stored once more, no worse.
//!
//! Digest and length are all that is compared. Anyone who makes two payloads with one SHA-1, which can be done, has one
//! of them archived in the place of the other; both are of his own making.
//!
//! The table is derived and never written. When the container is opened it is filled from the end of key.dat
//! ([`Digests::fill`]), by one sequential read of at most 16 times its own size: as many records as it has room for.
//! That is done at once and not lazily: it takes a fraction of what the Bloom filter of URL-seen takes at the same
//! moment, and the crawl then goes on as if it had never stopped.

use super::keys::{KeyFile, KeyRecord};
use crate::disk::{Error, Result};
use crate::warc::Profile;

const WORDS: usize = 8;
const SET_BYTES: usize = WORDS * 8;
const OFFSET_BITS: u32 = 40;
/// Bytes of key.dat that are read for each word: a common record.
const RECORD_BYTES: u64 = 128;

/// The table.
#[derive(Debug)]
pub(super) struct Digests {
    /// Tag above offset, 0 where there is none.
    sets: Vec<[u64; WORDS]>,
}

impl Digests {
    /// A table of at most `memory_bytes`; with none, nothing is ever found. Memory that is not used is not taken.
    pub(crate) fn new(memory_bytes: usize) -> Self {
        Digests { sets: vec![[0; WORDS]; memory_bytes / SET_BYTES] }
    }

    /// True if responses like `record` are remembered: whole ones whose payload is worth it.
    pub(crate) fn takes(record: &KeyRecord) -> bool {
        let truncated = record.truncated.then_some(crate::warc::Truncation::Length);
        let profile = Profile::of(record.status, record.payload_bytes, truncated);
        record.is_response() && profile == Some(Profile::IdenticalPayload)
    }

    /// Offsets of the records that may have the payload with this digest, the last used one first.
    pub(crate) fn candidates(&self, sha1: &[u8; 20]) -> impl Iterator<Item = u64> + use<> {
        let tag = tag(sha1);
        let set = self.set(sha1).map_or([0; WORDS], |set| self.sets[set]);
        let fits = move |word: &u64| *word != 0 && word >> OFFSET_BITS == tag;
        set.into_iter().filter(fits).map(|word| word & ((1 << OFFSET_BITS) - 1))
    }

    /// Remembers that the record at `offset` has the payload with this digest, which counts as a use. The oldest of its
    /// set is forgotten where there is no room.
    pub(crate) fn insert(&mut self, sha1: &[u8; 20], offset: u64) {
        let Some(set) = self.set(sha1).filter(|_| offset < 1 << OFFSET_BITS) else { return };
        let words = &mut self.sets[set];
        let word = tag(sha1) << OFFSET_BITS | offset;
        let at = words.iter().position(|&other| other == word).unwrap_or(WORDS - 1);
        words[at] = word;
        words[..=at].rotate_right(1);
    }

    /// Remembers what the last records of `keys` say. Damage ends it early: no page is lost by that, only room on disk.
    pub(crate) fn fill(&mut self, keys: &KeyFile) -> Result<()> {
        let wanted = (self.sets.len() * WORDS) as u64 * RECORD_BYTES;
        if wanted == 0 {
            return Ok(());
        }
        let start = match keys.len().checked_sub(wanted) {
            Some(from) => keys.first_behind(from)?,
            None => Some(0),
        };
        let Some(start) = start else { return Ok(()) };
        for record in keys.scan(start) {
            match record {
                Ok(record) if Digests::takes(&record) => self.insert(&record.payload_sha1, record.offset),
                Ok(_) => {}
                Err(Error::Damaged { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn set(&self, sha1: &[u8; 20]) -> Option<usize> {
        let place = (u128::from(bits(sha1, 0)) * self.sets.len() as u128) >> 64;
        (!self.sets.is_empty()).then_some(place as usize)
    }
}

/// Bits that the choice of the set leaves alone.
fn tag(sha1: &[u8; 20]) -> u64 {
    bits(sha1, 8) >> OFFSET_BITS
}

fn bits(sha1: &[u8; 20], from: usize) -> u64 {
    sha1[from..from + 8].iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Time;
    use crate::disk::Disk;
    use crate::fingerprint::Fingerprint;

    fn sha1(number: u64) -> [u8; 20] {
        use sha1::Digest;
        sha1::Sha1::digest(number.to_le_bytes()).into()
    }

    fn first(digests: &Digests, number: u64) -> Option<u64> {
        digests.candidates(&sha1(number)).next()
    }

    fn record(number: u64) -> KeyRecord {
        KeyRecord {
            offset: 0,
            key: Fingerprint::from_bits(number),
            file: 0,
            generation: 0,
            value_offset: number,
            value_bytes: 100,
            time: Time::ZERO,
            status: 200,
            kind: None,
            robots: false,
            of_rendering: false,
            is_rendered: false,
            payload_sha1: sha1(number),
            payload_bytes: 5_000,
            truncated: false,
            has_statements: false,
            is_external: false,
            payload_at: None,
            was_revisit: false,
            is_removed: false,
            moved_to: None,
            previous: None,
            mime: "text/html".into(),
            url: format!("http://a.example/{number}"),
        }
    }

    #[test]
    fn a_set_forgets_what_was_not_used_for_longest() {
        let mut digests = Digests::new(SET_BYTES);
        for number in 1..=8 {
            digests.insert(&sha1(number), number);
        }
        digests.insert(&sha1(1), 1);
        digests.insert(&sha1(9), 9);
        let known: Vec<_> = (1..=9).filter(|&number| first(&digests, number) == Some(number)).collect();
        assert_eq!(known, [1, 3, 4, 5, 6, 7, 8, 9]);
        digests.insert(&sha1(10), 1 << OFFSET_BITS);
        assert_eq!(first(&digests, 10), None, "no word has room for such an offset");
    }

    #[test]
    fn without_memory_nothing_is_known() {
        let mut digests = Digests::new(SET_BYTES - 1);
        digests.insert(&sha1(1), 16);
        assert_eq!(first(&digests, 1), None);
    }

    #[test]
    fn a_table_has_room_for_nearly_as_many_payloads_as_it_has_words() {
        let mut digests = Digests::new(64 << 10);
        for number in 1..=8_192 {
            digests.insert(&sha1(number), number);
        }
        let known = (1..=8_192).filter(|&number| first(&digests, number) == Some(number)).count();
        assert!(known > 6_900, "{known} of 8192");
        assert!((9_000..90_000).all(|number| first(&digests, number).is_none()), "tags tell others apart");
    }

    #[test]
    fn it_is_filled_from_the_end_of_the_keys() {
        let dir = tempfile::tempdir().unwrap();
        let mut keys = KeyFile::open(&Disk::real(), dir.path(), None).unwrap();
        let mut offsets = vec![0];
        for number in 1..=1_000 {
            let worth = match number % 10 {
                0 => KeyRecord { status: 404, ..record(number) },
                1 => KeyRecord { payload_bytes: 20, ..record(number) },
                2 => KeyRecord { truncated: true, ..record(number) },
                3 => KeyRecord { payload_at: Some(16), ..record(number) },
                _ => record(number),
            };
            offsets.push(keys.append(&worth).unwrap());
        }
        let mut all = Digests::new(1 << 20);
        all.fill(&keys).unwrap();
        for number in 1..=1_000 {
            let expected = (number % 10 > 3).then_some(offsets[number as usize]);
            assert_eq!(first(&all, number), expected, "{number}");
        }
        // 8 sets: 64 words, and so 8 KiB of keys
        let mut last = Digests::new(8 * SET_BYTES);
        last.fill(&keys).unwrap();
        assert_eq!(first(&last, 800), None);
        assert!((990..=999).filter(|&number| first(&last, number).is_some()).count() >= 5);
    }

    #[test]
    fn a_record_is_found_from_any_offset_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut keys = KeyFile::open(&Disk::real(), dir.path(), None).unwrap();
        let offsets: Vec<u64> = (1..=20).map(|number| keys.append(&record(number)).unwrap()).collect();
        for from in 0..=offsets[19] {
            let expected = offsets.iter().copied().find(|&offset| offset >= from);
            assert_eq!(keys.first_behind(from).unwrap(), expected, "from {from}");
        }
        assert_eq!(keys.first_behind(offsets[19] + 1).unwrap(), None);
        assert_eq!(keys.first_behind(keys.len()).unwrap(), None);
    }
}
