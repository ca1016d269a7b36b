//! Deflate (RFC 1951) of short records, and of short heads before bodies that are compressed already, in one block with
//! the fixed codes.
//!
//! Metadata and request records have some hundred bytes. A general compressor clears its tables for each of them, 128
//! KiB, which takes longer than compressing them. This one has a table of 2 KiB, and makes of them much what the
//! fastest level of zlib does, which has the fixed codes too: each place is compared with the last one that had the
//! same hash of four bytes.

/// Longest input.
pub(super) const INPUT_MAX: usize = 2 << 10;

const HASH_BITS: u32 = 10;
/// Bytes that are hashed, and shortest match.
const MATCH_MIN: usize = 4;
const MATCH_MAX: usize = 258;
/// Bytes of a block that is stored as it is.
const STORED_MAX: usize = u16::MAX as usize;
/// Symbol that ends a block.
const END: usize = 256;
/// Symbol of the longest match.
const LONGEST: usize = 285;
/// Fixed codes of literals and lengths: bits in the order in which they are sent, and their number.
const CODES: [(u16, u8); 288] = codes();

const fn codes() -> [(u16, u8); 288] {
    let mut codes = [(0, 0); 288];
    let mut symbol = 0;
    while symbol < 288 {
        let (code, bits) = match symbol {
            0..144 => (0x30 + symbol, 8),
            144..256 => (0x190 + symbol - 144, 9),
            256..280 => (symbol - 256, 7),
            _ => (0xc0 + symbol - 280, 8),
        };
        codes[symbol] = ((code as u16).reverse_bits() >> (16 - bits), bits as u8);
        symbol += 1;
    }
    codes
}

/// Appends the deflated `input` of at most [`INPUT_MAX`] bytes to `out`.
pub(super) fn deflate(input: &[u8], out: &mut Vec<u8>) {
    let mut bits = Bits { out, gathered: 0, number: 0 };
    bits.put_block(input, true);
    bits.align();
}

/// Appends `input`, deflated, and behind it `stored` and `end` as they are, for what would not become shorter. `end` is
/// short.
pub(super) fn deflate_before(input: &[u8], stored: &[u8], end: &[u8], out: &mut Vec<u8>) {
    let mut bits = Bits { out, gathered: 0, number: 0 };
    bits.put_block(input, false);
    for part in stored.chunks(STORED_MAX) {
        bits.put_stored(part, false);
    }
    bits.put_stored(end, true);
}

/// Bits on their way to bytes.
struct Bits<'a> {
    out: &'a mut Vec<u8>,
    gathered: u64,
    number: u32,
}

impl Bits<'_> {
    /// A block with the fixed codes.
    fn put_block(&mut self, input: &[u8], is_last: bool) {
        debug_assert!(input.len() <= INPUT_MAX);
        self.put(u64::from(is_last) | 0b010, 3);
        let mut last_seen = [0_u16; 1 << HASH_BITS];
        let mut at = 0;
        while at < input.len() {
            let length = match input.get(at..at + MATCH_MIN) {
                Some(start) => {
                    let hash = u32::from_le_bytes([start[0], start[1], start[2], start[3]]).wrapping_mul(0x9e37_79b1);
                    // one more than the place, for none is 0
                    let seen = std::mem::replace(&mut last_seen[(hash >> (32 - HASH_BITS)) as usize], at as u16 + 1);
                    let before = usize::from(seen).checked_sub(1);
                    before.map_or(0, |before| self.put_match(input, before, at))
                }
                None => 0,
            };
            if length == 0 {
                self.put_symbol(usize::from(input[at]));
            }
            at += length.max(1);
        }
        self.put_symbol(END);
    }

    /// A block of bytes as they are.
    fn put_stored(&mut self, bytes: &[u8], is_last: bool) {
        self.put(u64::from(is_last), 3);
        self.align();
        let length = u16::try_from(bytes.len()).expect("a block is no longer than its length can say");
        self.out.extend_from_slice(&length.to_le_bytes());
        self.out.extend_from_slice(&(!length).to_le_bytes());
        self.out.extend_from_slice(bytes);
    }

    fn put(&mut self, value: u64, number: u32) {
        self.gathered |= value << self.number;
        self.number += number;
        if self.number >= 32 {
            self.out.extend_from_slice(&(self.gathered as u32).to_le_bytes());
            self.gathered >>= 32;
            self.number -= 32;
        }
    }

    fn put_symbol(&mut self, symbol: usize) {
        let (code, number) = CODES[symbol];
        self.put(u64::from(code), u32::from(number));
    }

    /// Sends what `input` has at `at` as a reference to `before`; its length, 0 where they are not alike.
    fn put_match(&mut self, input: &[u8], before: usize, at: usize) -> usize {
        let alike = input[before..].iter().zip(&input[at..]).take(MATCH_MAX).take_while(|(a, b)| a == b).count();
        if alike < MATCH_MIN {
            return 0;
        }
        if alike == MATCH_MAX {
            self.put_symbol(LONGEST);
        } else {
            let (step, extra) = step_of(alike - 3, 2);
            self.put_symbol(END + 1 + step);
            self.put((alike - 3) as u64 & ((1 << extra) - 1), extra);
        }
        let distance = at - before - 1;
        let (step, extra) = step_of(distance, 1);
        self.put(u64::from((step as u8).reverse_bits() >> 3), 5);
        self.put(distance as u64 & ((1 << extra) - 1), extra);
        alike
    }

    /// Ends the byte that is begun.
    fn align(&mut self) {
        let bytes = self.gathered.to_le_bytes();
        self.out.extend_from_slice(&bytes[..self.number.div_ceil(8) as usize]);
        (self.gathered, self.number) = (0, 0);
    }
}

/// Lengths and distances go by steps that double in width: 2^`fine` of one width, after the first two such rows. The
/// step of `value` (a length less 3, a distance less 1), and how many of its lowest bits are sent with it.
fn step_of(value: usize, fine: u32) -> (usize, u32) {
    if value < 2 << fine {
        return (value, 0);
    }
    let extra = value.ilog2() - fine;
    (((extra as usize + 1) << fine) + ((value >> extra) & ((1 << fine) - 1)), extra)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn inflated(bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        flate2::read::DeflateDecoder::new(bytes).read_to_end(&mut text).unwrap();
        text
    }

    fn check(input: &[u8]) -> usize {
        let mut out = b"before".to_vec();
        deflate(input, &mut out);
        assert_eq!(&out[..6], b"before");
        assert_eq!(inflated(&out[6..]), input);
        out.len() - 6
    }

    #[test]
    fn everything_comes_back() {
        assert_eq!(check(b""), 2);
        let every_byte: Vec<u8> = (0..=255).collect();
        check(&every_byte);
        check(&every_byte.repeat(8));
        for length in 1..INPUT_MAX {
            check(&vec![b'a'; length]);
        }
        for seed in 0..2_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let letters = random.u8(1..=255);
            let length = random.usize(..=INPUT_MAX);
            let mut input: Vec<u8> = (0..length).map(|_| random.u8(..letters)).collect();
            for _ in 0..random.usize(..20) {
                // repetitions of every length at every distance
                let (from, to) = (random.usize(..=length), random.usize(..=length));
                let count = random.usize(..300).min(length - from.max(to));
                input.copy_within(from..from + count, to);
            }
            check(&input);
        }
    }

    #[test]
    fn what_is_stored_comes_back_behind_the_head() {
        for length in [0, 1, 100, STORED_MAX - 1, STORED_MAX, STORED_MAX + 1, 3 * STORED_MAX] {
            let mut random = fastrand::Rng::with_seed(length as u64);
            let stored: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
            for head in [&b""[..], b"h", b"head head head"] {
                let mut out = Vec::new();
                deflate_before(head, &stored, b"\r\n\r\n", &mut out);
                assert!(inflated(&out) == [head, &stored, b"\r\n\r\n"].concat(), "{length} bytes");
                assert!(out.len() <= head.len() + length + 30 + length / STORED_MAX * 5);
            }
        }
    }

    #[test]
    fn a_record_is_not_much_longer_than_zlib_makes_it() {
        let record = "WARC/1.1\r\nWARC-Type: request\r\n\
            WARC-Record-ID: <urn:uuid:4f3a2b1c-0d9e-8f7a-b6c5-d4e3f2a1b0c9>\r\n\
            WARC-Date: 2026-11-21T16:26:02.283Z\r\n\
            WARC-Target-URI: https://example.org/documentation/chapter-3/page.html\r\n\
            WARC-Concurrent-To: <urn:uuid:0c9b8a7d-6e5f-8a4b-93c2-d1e0f9a8b7c6>\r\nWARC-IP-Address: 192.0.2.7\r\n\
            WARC-Block-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n\
            Content-Type: application/http;msgtype=request\r\n\
            Content-Length: 181\r\n\r\nGET /documentation/chapter-3/page.html HTTP/1.1\r\nhost: example.org\r\n\
            user-agent: crawler/0.1.0\r\naccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
            accept-encoding: gzip, deflate, br, zstd\r\n\r\n\r\n\r\n";
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(1));
        std::io::Write::write_all(&mut encoder, record.as_bytes()).unwrap();
        let by_zlib = encoder.finish().unwrap().len();
        let ours = check(record.as_bytes());
        assert!(ours <= by_zlib + by_zlib / 20, "{ours} bytes, {by_zlib} by zlib");
    }
}
