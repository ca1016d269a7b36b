//! Bodies that are one gzip member or one zlib stream, inflated in one call.
//!
//! libdeflate inflates two to three times as fast as a decoder that can stop anywhere, but it has nothing to say about
//! a body that is cut, damaged, longer than its bound or followed by something else. It is asked first, and only where
//! its answer is certain to be the stream decoder's: where the body is one whole member that fits its bound. Otherwise
//! the answer is none, and the stream decoder takes the body from its beginning.
//!
//! libdeflate checks the checksum and the length at the end of the content, wherever that is. The body ends there, and
//! not with a second member or with rubbish, if its last four bytes are that length and nowhere else in it.
//!
//! One difference is left, for streams that no compressor writes: libdeflate gives the reserved symbols of deflate a
//! meaning and lets some codes be incomplete, where zlib stops. Content that has the right checksum in spite of that is
//! taken for whole.

use libdeflater::Decompressor;
use memchr::memmem;

/// Memory that is kept from one body to the next.
const KEPT_BYTES: usize = 1 << 20;
/// Magic, deflate; the flags follow.
const GZIP_START: [u8; 3] = [0x1f, 0x8b, 8];
const GZIP_HEAD_BYTES: usize = 10;
/// Checksum and length.
const GZIP_END_BYTES: usize = 8;
/// The flag of a file name, which `gzip` writes; other fields are left to the stream decoder, which checks them.
const FLAG_NAME: u8 = 8;
const NAME_BYTES_MAX: usize = 1 << 10;
/// Bytes that a byte of deflate can become, at most.
const EXPANSION_MAX: usize = 1_032;
/// Bytes that a byte of deflate becomes in pages, as a rule.
const EXPANSION_USUAL: usize = 16;

/// Inflates one body after the other into its own memory.
#[derive(Default)]
pub struct WholeInflater {
    decompressor: Option<Decompressor>,
    /// The content, and behind it what is left of earlier ones: bytes already there need not be cleared again.
    buffer: Vec<u8>,
}

impl WholeInflater {
    /// Inflates `body` if it is one whole gzip member of at most `decoded_max` bytes: how many there are, at the start
    /// of [`WholeInflater::buffer`].
    pub fn gzip(&mut self, body: &[u8], decoded_max: usize) -> Option<usize> {
        let length = length_of_member(body).filter(|&length| length <= decoded_max)?;
        let (decompressor, out) = self.parts(length);
        let written = decompressor.gzip_decompress(body, out).ok()?;
        (written == length).then_some(length)
    }

    /// Inflates `body` if it is a whole zlib stream of moderate length, at most `decoded_max`. As with the stream
    /// decoder, what follows it does not matter.
    pub(super) fn zlib(&mut self, body: &[u8], decoded_max: usize) -> Option<usize> {
        // its length is written nowhere: beyond the usual one the stream decoder has it
        let room = body.len().saturating_mul(EXPANSION_USUAL).min(decoded_max).min(KEPT_BYTES);
        let (decompressor, out) = self.parts(room);
        decompressor.zlib_decompress(body, out).ok()
    }

    /// The memory that has the content at its start.
    pub fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// The memory itself.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    fn parts(&mut self, length: usize) -> (&mut Decompressor, &mut [u8]) {
        if self.buffer.len() > KEPT_BYTES {
            self.buffer = Vec::new();
        }
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        (self.decompressor.get_or_insert_default(), &mut self.buffer[..length])
    }
}

/// Returns the length of the content in `body`, if that is one gzip member, by its last bytes.
fn length_of_member(body: &[u8]) -> Option<usize> {
    let [.., a, b, c, d] = *body else { return None };
    let deflated = content_of_member(body)?;
    let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?;
    // an attacker may state any; empty content is for the stream decoder
    if length == 0 || length > deflated.len().saturating_mul(EXPANSION_MAX) {
        return None;
    }
    let is_unique = memmem::find(&body[..body.len() - 1], &[a, b, c, d]).is_none();
    is_unique.then_some(length)
}

/// Returns the bytes between the head of a gzip member and the last bytes of `body`; none of a head with rare fields.
fn content_of_member(body: &[u8]) -> Option<&[u8]> {
    let flags = *body.strip_prefix(&GZIP_START)?.first()?;
    let rest = body.get(GZIP_HEAD_BYTES..body.len().checked_sub(GZIP_END_BYTES)?)?;
    match flags {
        0 => Some(rest),
        FLAG_NAME => {
            let end = memchr::memchr(0, &rest[..rest.len().min(NAME_BYTES_MAX)])?;
            Some(&rest[end + 1..])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::{GzEncoder, ZlibEncoder};
    use flate2::{Compression, GzBuilder};

    use super::super::{BodyDecoder, Coding, Ending, decode, looks_like_zlib, undo};
    use super::*;

    /// Decodes a body by the stream decoder alone.
    fn by_stream(coding: Coding, body: &[u8], decoded_max: usize) -> (Vec<u8>, Ending) {
        undo(coding, body, decoded_max)
    }

    fn text(random: &mut fastrand::Rng) -> Vec<u8> {
        let length = match random.u8(..64) {
            0..8 => random.usize(..4),
            8..48 => random.usize(..3_000),
            48..63 => random.usize(..60_000),
            _ => random.usize(..1_500_000),
        };
        let words: Vec<Vec<u8>> =
            (0..random.usize(1..200)).map(|_| (0..random.usize(1..12)).map(|_| random.u8(..)).collect()).collect();
        let mut text = Vec::with_capacity(length + 12);
        while text.len() < length {
            text.extend_from_slice(&words[random.usize(..words.len())]);
        }
        text.truncate(length);
        text
    }

    fn gzip(random: &mut fastrand::Rng, text: &[u8]) -> Vec<u8> {
        let mut head = GzBuilder::new();
        if random.u8(..4) == 0 {
            head = head.filename("index.html");
        }
        if random.u8(..16) == 0 {
            head = head.comment("a page").extra(vec![b'x'; 20]);
        }
        let mut encoder: GzEncoder<Vec<u8>> = head.write(Vec::new(), Compression::new(random.u32(0..10)));
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(random: &mut fastrand::Rng, text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(random.u32(0..10)));
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Changes a body as a hostile or a broken server may.
    fn spoil(random: &mut fastrand::Rng, body: &mut Vec<u8>) {
        let length = body.len();
        match random.u8(..10) {
            0 => body.truncate(random.usize(..length)),
            1 => body.truncate(length - random.usize(..length.min(12))),
            2 => (0..random.usize(1..4)).for_each(|_| body[random.usize(..length)] ^= 1 << random.u8(..8)),
            3 => (0..random.usize(1..4)).for_each(|_| body[length - 1 - random.usize(..length.min(9))] = random.u8(..)),
            4 => body.extend((0..random.usize(1..40)).map(|_| random.u8(..))),
            // the same end again: by its last bytes alone this is one member
            5 => body.extend_from_within(length - length.min(8)..),
            6 => body.extend_from_within(..),
            7 => body.extend(std::iter::repeat_n(0, random.usize(1..40))),
            8 => body[random.usize(..length.min(12))] = random.u8(..),
            _ => {
                let more = text(random);
                body.extend(gzip(random, &more));
            }
        }
    }

    #[test]
    fn every_body_becomes_what_the_stream_decoder_makes_of_it() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut decoder, mut whole) = (BodyDecoder::default(), 0);
        for round in 0..1_500 {
            let content = text(&mut random);
            let is_gzip = random.u8(..4) > 0;
            let mut body = if is_gzip { gzip(&mut random, &content) } else { zlib(&mut random, &content) };
            if random.bool() {
                spoil(&mut random, &mut body);
            }
            let decoded_max = match random.u8(..6) {
                0 => content.len(),
                1 => content.len().saturating_sub(1),
                2 => random.usize(..content.len() + 2),
                _ => 16 << 20,
            };
            let (name, coding) = if is_gzip { ("gzip", Coding::Gzip) } else { ("deflate", Coding::Deflate) };
            let expected = by_stream(coding, &body, decoded_max);
            let found = decoder.decode(Some(name), &body, decoded_max);
            let is_same = *found.bytes == *expected.0 && found.end == expected.1;
            assert!(is_same, "seed {seed}, round {round}, {name}, {} bytes of {}", found.bytes.len(), expected.0.len());
            assert!(decode(Some(name), &body, decoded_max) == found, "seed {seed}, round {round}: reused memory");
            whole += usize::from(decoder.undo_whole(coding, &body, decoded_max).is_some());
        }
        assert!(whole > 300, "{whole} bodies were inflated in one call");
    }

    #[test]
    fn random_bytes_become_what_the_stream_decoder_makes_of_them() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut decoder = BodyDecoder::default();
        for round in 0..20_000 {
            let mut body: Vec<u8> = (0..random.usize(..80)).map(|_| random.u8(..)).collect();
            let start: &[u8] = [&[][..], &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], &[0x78, 0x9c]][random.usize(..3)];
            body.splice(..0, start.iter().copied());
            for (name, coding) in [("gzip", Coding::Gzip), ("deflate", Coding::Deflate)] {
                let expected = by_stream(coding, &body, 1 << 16);
                let found = decoder.decode(Some(name), &body, 1 << 16);
                assert!((&*found.bytes, found.end) == (&expected.0, expected.1), "seed {seed}, round {round}");
            }
        }
    }

    #[test]
    fn only_one_member_without_anything_behind_it_is_inflated_whole() {
        let mut inflater = WholeInflater::default();
        let random = &mut fastrand::Rng::with_seed(1);
        let content = b"a page that is long enough to become shorter, a page that is long enough".repeat(20);
        let member = gzip(random, &content);
        assert_eq!(inflater.gzip(&member, content.len()), Some(content.len()));
        assert_eq!(inflater.buffer()[..content.len()], content);
        assert_eq!(inflater.gzip(&member, content.len() - 1), None, "longer than the bound");
        assert_eq!(inflater.gzip(&[&member[..], &member].concat(), 1 << 20), None, "two that end alike");
        assert_eq!(inflater.gzip(&member[..member.len() - 1], 1 << 20), None, "cut");
        let end = &member[member.len() - GZIP_END_BYTES..];
        assert_eq!(inflater.gzip(&[&member[..], end].concat(), 1 << 20), None, "rubbish that looks like its end");
        let mut wrong = member.clone();
        wrong[member.len() - GZIP_END_BYTES] ^= 1;
        assert_eq!(inflater.gzip(&wrong, 1 << 20), None, "a wrong checksum");
    }

    #[test]
    fn a_length_that_cannot_be_takes_no_memory() {
        let mut inflater = WholeInflater::default();
        let mut member = gzip(&mut fastrand::Rng::with_seed(1), b"short");
        let at = member.len() - 4;
        member[at..].copy_from_slice(&u32::to_le_bytes(200 << 20));
        assert_eq!(inflater.gzip(&member, usize::MAX), None);
        assert_eq!(inflater.buffer().len(), 0);
    }

    #[test]
    fn the_memory_of_a_large_body_is_not_kept() {
        let mut inflater = WholeInflater::default();
        let random = &mut fastrand::Rng::with_seed(1);
        let large = gzip(random, &vec![b'x'; 3 * KEPT_BYTES]);
        assert_eq!(inflater.gzip(&large, usize::MAX), Some(3 * KEPT_BYTES));
        assert_eq!(inflater.gzip(&gzip(random, b"small"), usize::MAX), Some(5));
        assert!(inflater.buffer().len() <= KEPT_BYTES);
    }

    /// A stream of one block with the fixed codes: `a`, then the symbol 286, which is reserved, with the distance 1,
    /// then the end.
    const RESERVED: [u8; 4] = reserved();

    const fn reserved() -> [u8; 4] {
        // bits in the order in which they are sent: final, fixed, 0x30 + b'a', 0xc6, distance 0, end
        let parts: [(u64, u32); 6] = [(1, 1), (1, 2), (rev(0x30 + 0x61, 8), 8), (rev(0xc6, 8), 8), (0, 5), (0, 7)];
        let (mut bits, mut number, mut part) = (0_u64, 0, 0);
        while part < parts.len() {
            bits |= parts[part].0 << number;
            number += parts[part].1;
            part += 1;
        }
        let bytes = bits.to_le_bytes();
        [bytes[0], bytes[1], bytes[2], bytes[3]]
    }

    const fn rev(code: u64, bits: u32) -> u64 {
        code.reverse_bits() >> (64 - bits)
    }

    #[test]
    fn a_reserved_symbol_is_the_one_thing_that_is_read_otherwise() {
        assert!(!looks_like_zlib(&RESERVED));
        // what libdeflate takes it for: the longest match
        let taken_for = [b'a'; 259];
        let mut body = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
        body.extend_from_slice(&RESERVED);
        body.extend_from_slice(&crc32fast::hash(&taken_for).to_le_bytes());
        body.extend_from_slice(&u32::to_le_bytes(259));
        let found = decode(Some("gzip"), &body, 1 << 20);
        assert_eq!((&*found.bytes, found.end), (&taken_for[..], Ending::Whole));
        assert_eq!(by_stream(Coding::Gzip, &body, 1 << 20), (Vec::new(), Ending::Damage));
        // within the same bound
        assert!(decode(Some("gzip"), &body, 100).bytes.len() <= 100);
    }
}
