//! Tombstones: what stays of a removed page in its value file, a line of JSON.
//!
//! The lines of a file are in their own records right behind its warcinfo record: `metadata` records of the type
//! `application/x-ndjson` without a URL, which other tools pass over. They have all that key.dat says of a removed
//! page, so that the index can be rebuilt with every record where it was.

use serde::{Deserialize, Serialize};

use crate::clock::Time;
use crate::container::keys::KeyRecord;
use crate::fingerprint::Fingerprint;
use crate::warc::{Encoder, id_of};
use crate::web::kind::Kind;

/// The type of a record of tombstones.
pub(crate) const TOMBSTONES_TYPE: &str = "application/x-ndjson";
/// Bytes of the block of such a record.
const BLOCK_BYTES: usize = 256 << 10;

/// A page that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Offset of its record in key.dat.
    pub at: u64,
    /// The URL.
    pub url: String,
    /// Time at which the request began, milliseconds since the Unix epoch.
    pub time: u64,
    /// Status of the answer.
    pub status: u16,
    /// Media type.
    pub mime: String,
    /// SHA-1 of the payload.
    pub sha1: String,
    /// Length of the payload.
    pub bytes: u64,
    /// Flags of the record: robots.txt, cut short, statements, external, whether it was a revisit that got its payload
    /// later, of a rendering, rendered.
    pub flags: [bool; 7],
    /// The kind of the answer, where it was no content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The record that a revisit referred to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_at: Option<u64>,
    /// The record that has its payload now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<u64>,
    /// Date at which it was removed, as WARC records have it.
    pub removed: String,
    /// Why.
    pub why: String,
}

impl Tombstone {
    /// The tombstone of the page of `record`, which is removed. All fields are named here, so that a later version that
    /// adds one does not leave it out.
    pub(crate) fn of(record: &KeyRecord, removed: &str, why: &str) -> Tombstone {
        let KeyRecord {
            // the URL, the file of the tombstone, and the other records of the URL say these
            key: _,
            file: _,
            generation: _,
            previous: _,
            // these say where its content is, which is gone
            value_offset: _,
            value_bytes: _,
            is_removed: _,
            offset,
            time,
            status,
            kind,
            robots,
            of_rendering,
            is_rendered,
            payload_sha1,
            payload_bytes,
            truncated,
            has_statements,
            is_external,
            payload_at,
            was_revisit,
            moved_to,
            mime,
            url,
        } = record;
        Tombstone {
            at: *offset,
            url: url.clone(),
            time: time.ms(),
            status: *status,
            mime: mime.clone(),
            sha1: data_encoding::BASE32.encode(payload_sha1),
            bytes: *payload_bytes,
            flags: [*robots, *truncated, *has_statements, *is_external, *was_revisit, *of_rendering, *is_rendered],
            kind: *kind,
            payload_at: *payload_at,
            moved_to: *moved_to,
            removed: removed.to_owned(),
            why: why.to_owned(),
        }
    }

    /// The record of key.dat of the removed page, in generation `generation` of value file `file`; without the
    /// version before.
    pub(crate) fn key_record(&self, file: u32, generation: u8, key: Fingerprint) -> Option<KeyRecord> {
        let [robots, truncated, has_statements, is_external, was_revisit, of_rendering, is_rendered] = self.flags;
        Some(KeyRecord {
            offset: self.at,
            key,
            file,
            generation,
            value_offset: 0,
            value_bytes: 0,
            time: Time::from_ms(self.time),
            status: self.status,
            kind: self.kind,
            robots,
            of_rendering,
            is_rendered,
            payload_sha1: data_encoding::BASE32.decode(self.sha1.as_bytes()).ok()?.try_into().ok()?,
            payload_bytes: self.bytes,
            truncated,
            has_statements,
            is_external,
            payload_at: self.payload_at,
            was_revisit,
            is_removed: true,
            moved_to: self.moved_to,
            previous: None,
            mime: self.mime.clone(),
            url: self.url.clone(),
        })
    }
}

/// The tombstones in the block of a record; none where it is no block of them.
pub fn parse(block: &[u8]) -> Option<Vec<Tombstone>> {
    let lines = block.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Appends records of `tombstones`, which are of the value file `name` with the warcinfo record `of`, and have
/// this `date`.
pub fn encode(tombstones: &[Tombstone], name: &str, of: &str, date: &str, encoder: &mut Encoder, out: &mut Vec<u8>) {
    let mut block = Vec::new();
    let mut number = 0;
    let mut end = |block: &mut Vec<u8>, out: &mut Vec<u8>| {
        number += 1;
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let fields = [
            field("WARC-Type", "metadata"),
            field("WARC-Record-ID", &id_of(&format!("{name} tombstones {number}"))),
            field("WARC-Date", date),
            field("WARC-Refers-To", of),
            field("WARC-Block-Digest", ""),
            field("Content-Type", TOMBSTONES_TYPE),
            field("Content-Length", ""),
        ];
        encoder.again(&fields, block, &[], false, out);
        block.clear();
    };
    for tombstone in tombstones {
        block.extend(serde_json::to_vec(tombstone).expect("a tombstone consists of plain data"));
        block.push(b'\n');
        if block.len() >= BLOCK_BYTES {
            end(&mut block, out);
        }
    }
    if !block.is_empty() {
        end(&mut block, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_says_all_that_key_dat_says_of_a_removed_page() {
        for set in 0..7 {
            let is = |number: usize| number == set;
            let record = KeyRecord {
                offset: 700,
                key: Fingerprint::from_bits(9),
                file: 3,
                generation: 2,
                value_offset: 0,
                value_bytes: 0,
                time: Time::from_ms(1_764_000_000_000),
                status: 200,
                kind: is(0).then_some(Kind::Paywall),
                robots: is(0),
                of_rendering: is(1),
                is_rendered: is(2),
                payload_sha1: [7; 20],
                payload_bytes: 5_000,
                truncated: is(3),
                has_statements: is(4),
                is_external: is(5),
                payload_at: (!is(6)).then_some(500),
                was_revisit: is(6),
                is_removed: true,
                moved_to: Some(600),
                previous: None,
                mime: "text/html".to_owned(),
                url: "https://a.example/".to_owned(),
            };
            let tombstone = Tombstone::of(&record, "2026-11-26T00:00:00Z", "old");
            let line = serde_json::to_vec(&tombstone).unwrap();
            let read = parse(&line).unwrap().remove(0);
            assert_eq!(read.key_record(3, 2, record.key), Some(record), "flag {set}");
        }
    }
}
