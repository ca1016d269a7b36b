//! One record of key.dat, and its bytes.

use crate::clock::Time;
use crate::fingerprint::Fingerprint;
use crate::web::kind::Kind;

/// Bytes of what every record has, before its texts.
pub(super) const FIXED_BYTES: usize = 65;
const FLAG_ROBOTS: u8 = 1;
const FLAG_MIME_TEXT: u8 = 2;
const FLAG_REVISIT: u8 = 4;
const FLAG_TRUNCATED: u8 = 8;
const FLAG_STATEMENTS: u8 = 16;
const FLAG_EXTERNAL: u8 = 32;
pub(super) const FLAG_REMOVED: u8 = 64;
const FLAG_OF_RENDERING: u8 = 128;
/// Flag in the byte of the media type: the page was rendered.
const MIME_RENDERED: u8 = 128;
/// Bits of a status; the kind is above them.
const STATUS_BITS: u32 = 10;
/// Bits of the number of a value file; its generation is above them.
pub(super) const FILE_BITS: u32 = 20;
const REVISIT_BYTES: usize = 5;
const MIME_TEXT_MAX: usize = 64;
/// Bytes of a URL that fit next to the longest other parts.
const URL_MAX: usize = u16::MAX as usize - FIXED_BYTES - REVISIT_BYTES - MIME_TEXT_MAX;

/// Types that take no room. The order is part of the format.
const MIMES: [&str; 24] = [
    "",
    "text/html",
    "text/plain",
    "text/css",
    "text/javascript",
    "text/xml",
    "text/csv",
    "text/markdown",
    "application/xhtml+xml",
    "application/xml",
    "application/json",
    "application/javascript",
    "application/x-javascript",
    "application/pdf",
    "application/rss+xml",
    "application/atom+xml",
    "application/octet-stream",
    "application/zip",
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/svg+xml",
    "image/webp",
    "image/x-icon",
];

/// The record of a stored page in key.dat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// Offset of the record in key.dat.
    pub offset: u64,
    /// Fingerprint of the URL.
    pub key: Fingerprint,
    /// Number of the value file.
    pub file: u32,
    /// Generation of the value file modulo 16: how often a compaction has rewritten it.
    pub generation: u8,
    /// Offset in it at which the response record begins.
    pub value_offset: u64,
    /// Its compressed length.
    pub value_bytes: u64,
    /// Time at which the request began.
    pub time: Time,
    /// Status of the answer.
    pub status: u16,
    /// The kind of the answer, where it is no content.
    pub kind: Option<Kind>,
    /// True for a robots.txt that the crawl fetched for itself.
    pub robots: bool,
    /// True if a page that was rendered asked for it, and no URL of the crawl.
    pub of_rendering: bool,
    /// True if its exchange has the page as a rendering left it.
    pub is_rendered: bool,
    /// SHA-1 of the body as sent.
    pub payload_sha1: [u8; 20],
    /// Length of the body as sent.
    pub payload_bytes: u64,
    /// True if the body was cut short.
    pub truncated: bool,
    /// True if its metadata record has statements about the page's use.
    pub has_statements: bool,
    /// True for a revisit whose body is in another archive.
    pub is_external: bool,
    /// Offset of the record of the response that has the body of a revisit.
    pub payload_at: Option<u64>,
    /// True if it was stored as a revisit, and a compaction has put the payload in its place.
    pub was_revisit: bool,
    /// True if a compaction has removed what was stored of the page: only this record is left, and a tombstone.
    pub is_removed: bool,
    /// Offset of the record of the response that has the payload of a removed page now, if one has.
    pub moved_to: Option<u64>,
    /// The version before: offset of its record.
    pub previous: Option<u64>,
    /// Media type.
    pub mime: String,
    /// The URL.
    pub url: String,
}

impl KeyRecord {
    /// True for a 304 that says that the version with status 200 to which it refers is still the page.
    pub fn is_confirmed(&self) -> bool {
        self.status == 304 && self.payload_at.is_some()
    }

    /// True if its body is that of an earlier answer, and stored there.
    pub fn is_revisit(&self) -> bool {
        self.payload_at.is_some() || self.is_external
    }

    /// True if its record has the body that came.
    pub fn is_response(&self) -> bool {
        self.payload_at.is_none() && !self.is_external && !self.is_removed
    }

    /// The record as it is in the file; or which of its numbers is too large for that.
    pub(in crate::container) fn encode(&self) -> std::result::Result<Vec<u8>, &'static str> {
        let mime_text = clip(&self.mime, MIME_TEXT_MAX);
        let mime_number = MIMES.iter().position(|&mime| mime == mime_text);
        let url = clip(&self.url, URL_MAX);
        let (mime_byte, mime_text) = match mime_number {
            Some(number) => (number as u8, ""),
            None => (mime_text.len() as u8, mime_text),
        };
        let flags = [
            (self.robots, FLAG_ROBOTS),
            (mime_number.is_none(), FLAG_MIME_TEXT),
            (self.payload_at.is_some() || self.was_revisit, FLAG_REVISIT),
            (self.truncated, FLAG_TRUNCATED),
            (self.has_statements, FLAG_STATEMENTS),
            (self.is_external, FLAG_EXTERNAL),
            (self.is_removed, FLAG_REMOVED),
            (self.of_rendering, FLAG_OF_RENDERING),
        ];
        let flags = flags.iter().map(|&(set, flag)| u8::from(set) * flag).sum();
        let has_place = self.payload_at.is_some() || self.was_revisit;
        let revisit_bytes = if has_place { REVISIT_BYTES } else { 0 };
        let length = FIXED_BYTES + revisit_bytes + mime_text.len() + url.len();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&(length as u16).to_le_bytes());
        bytes.extend_from_slice(&[flags, mime_byte | if self.is_rendered { MIME_RENDERED } else { 0 }]);
        bytes.extend_from_slice(&self.key.bits().to_le_bytes());
        let number = Some(u64::from(self.file)).filter(|number| number >> FILE_BITS == 0);
        let file = number.map(|number| u64::from(self.generation & 15) << FILE_BITS | number);
        put(&mut bytes, file.unwrap_or(u64::MAX), 3).ok_or("the number of its value file")?;
        let place = if self.is_removed { self.moved_to.unwrap_or(0) } else { self.value_offset };
        put(&mut bytes, place, 5).ok_or("its offset in the value file")?;
        put(&mut bytes, self.value_bytes, 4).ok_or("its length in the value file")?;
        put(&mut bytes, self.time.ms(), 6).ok_or("its time")?;
        let status = Some(self.status).filter(|status| status >> STATUS_BITS == 0).ok_or("its status")?;
        let kind = u16::from(self.kind.map_or(0, Kind::code));
        bytes.extend_from_slice(&(status | kind << STATUS_BITS).to_le_bytes());
        bytes.extend_from_slice(&self.payload_sha1);
        put(&mut bytes, self.payload_bytes, 4).ok_or("the length of its payload")?;
        put(&mut bytes, self.previous.unwrap_or(0), 5).ok_or("the place of its older version")?;
        if has_place {
            put(&mut bytes, self.payload_at.unwrap_or(0), REVISIT_BYTES).ok_or("the place of its payload")?;
        }
        bytes.extend_from_slice(mime_text.as_bytes());
        bytes.extend_from_slice(url.as_bytes());
        let sum = crc32fast::hash(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        Ok(bytes)
    }

    /// Reads a record that [`KeyRecord::encode`] wrote, whose offset is not known yet, and what is behind it.
    pub(in crate::container) fn read(bytes: &[u8]) -> Option<(KeyRecord, &[u8])> {
        let length = get(bytes.get(4..6)?) as usize;
        let (record, rest) = bytes.split_at_checked(length).filter(|_| length >= FIXED_BYTES)?;
        Some((whole(record, 0)?, rest))
    }

    /// Returns the part of `mime` that a record has room for.
    pub(in crate::container) fn stored_mime(mime: &str) -> &str {
        clip(mime, MIME_TEXT_MAX)
    }

    /// Decodes a record whose checksum is right.
    fn decode(bytes: &[u8], offset: u64) -> Option<Self> {
        let flags = bytes[6];
        let mime_byte = usize::from(bytes[7] & !MIME_RENDERED);
        let is_removed = flags & FLAG_REMOVED != 0;
        let (payload_at, texts) = if flags & FLAG_REVISIT != 0 {
            let (at, texts) = bytes[FIXED_BYTES..].split_at_checked(REVISIT_BYTES)?;
            // what is referred to comes before: so no chain of records goes in a circle
            (Some(get(at)).filter(|&at| at < offset)?, texts)
        } else {
            (0, &bytes[FIXED_BYTES..])
        };
        let some = |at: u64| (at != 0).then_some(at);
        let (file, place) = (get(&bytes[16..19]), get(&bytes[19..24]));
        let status = get(&bytes[34..36]) as u16;
        let (mime, url) = if flags & FLAG_MIME_TEXT != 0 {
            let (mime, url) = texts.split_at_checked(mime_byte)?;
            (std::str::from_utf8(mime).ok()?, url)
        } else {
            (*MIMES.get(mime_byte)?, texts)
        };
        Some(KeyRecord {
            offset,
            key: Fingerprint::from_bits(get(&bytes[8..16])),
            file: (file & ((1 << FILE_BITS) - 1)) as u32,
            generation: (file >> FILE_BITS) as u8,
            value_offset: if is_removed { 0 } else { place },
            value_bytes: get(&bytes[24..28]),
            time: Time::from_ms(get(&bytes[28..34])),
            status: status & ((1 << STATUS_BITS) - 1),
            kind: Kind::of_code((status >> STATUS_BITS) as u8),
            robots: flags & FLAG_ROBOTS != 0,
            of_rendering: flags & FLAG_OF_RENDERING != 0,
            is_rendered: bytes[7] & MIME_RENDERED != 0,
            payload_sha1: bytes[36..56].try_into().ok()?,
            payload_bytes: get(&bytes[56..60]),
            truncated: flags & FLAG_TRUNCATED != 0,
            has_statements: flags & FLAG_STATEMENTS != 0,
            is_external: flags & FLAG_EXTERNAL != 0,
            was_revisit: flags & FLAG_REVISIT != 0 && payload_at == 0,
            payload_at: some(payload_at),
            is_removed,
            moved_to: some(place).filter(|_| is_removed),
            previous: some(get(&bytes[60..65])),
            mime: mime.to_owned(),
            url: std::str::from_utf8(url).ok()?.to_owned(),
        })
    }
}

/// `text` up to `max` bytes, whole characters only.
fn clip(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Appends `value` in `width` bytes, fewer than eight; nothing where it needs more.
fn put(bytes: &mut Vec<u8>, value: u64, width: usize) -> Option<()> {
    (value >> (8 * width) == 0).then(|| bytes.extend_from_slice(&value.to_le_bytes()[..width]))
}

fn get(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(whole)
}

/// The record in `bytes`, if its checksum says so.
pub(super) fn whole(bytes: &[u8], offset: u64) -> Option<KeyRecord> {
    let sum = u32::from_le_bytes(bytes[..4].try_into().ok()?);
    if crc32fast::hash(&bytes[4..]) != sum { None } else { KeyRecord::decode(bytes, offset) }
}
