//! Content codings: gzip, deflate, br and zstd, undone within a bound.
//!
//! The archive keeps bodies as sent; this is for looking into them. Decoding goes on step by step and stops at a
//! number of *decoded* bytes, whatever the body would become, so a bomb costs no more than an honest page. Damage and
//! unknown codings are no errors: what came out before is returned and marked as incomplete. Whole bodies in gzip or
//! zlib, as nearly all are, are inflated in one call (`whole`), with the same bound and the same result.

mod whole;

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

pub(super) use whole::WholeInflater;

/// Codings that are undone one after the other; longer lists serve nobody but attackers.
const LAYERS_MAX: usize = 4;

/// The largest zstd window as a power of two: what RFC 9659 lets a web server use.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

const BROTLI_BUFFER_BYTES: usize = 4096;

/// Decoded bytes for each byte of a body beyond which nothing is decoded: pages rarely reach a tenth of it.
pub const RATIO_MAX: usize = 250;
/// As many decoded bytes are had whatever the ratio.
const ANY_RATIO_BYTES: usize = 1 << 20;

/// How much of a body of `body_bytes` is decoded where `decoded_max` is the most at all: no more than [`RATIO_MAX`]
/// times as much as came.
pub fn within_ratio(body_bytes: usize, decoded_max: usize) -> usize {
    decoded_max.min(body_bytes.saturating_mul(RATIO_MAX).max(ANY_RATIO_BYTES))
}

/// A body with its content codings undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The decoded bytes, at most as many as were asked for. Borrowed where there was nothing to decode.
    pub bytes: Cow<'a, [u8]>,
    /// False where the cap was hit, the body is damaged or cut, or a coding is unknown.
    pub complete: bool,
}

/// Undoes the codings that `content_encoding` lists, and stops at `decoded_max` bytes of each layer.
///
/// Names that servers write there by mistake (`utf-8`, `none`, `binary`) are taken for `identity`. An unknown coding
/// gives no bytes: what it hides is not text.
pub fn decode<'a>(content_encoding: Option<&str>, body: &'a [u8], decoded_max: usize) -> Decoded<'a> {
    let mut decoder = BodyDecoder::default();
    let (content, complete) = decoder.undo_all(content_encoding, body, decoded_max);
    let bytes = match content {
        Content::Elsewhere(bytes) => bytes,
        Content::Inflated(length) => {
            let mut bytes = decoder.inflater.into_buffer();
            bytes.truncate(length);
            Cow::Owned(bytes)
        }
    };
    Decoded { bytes, complete }
}

/// [`decode`] for one body after the other: memory and the decoder's state are reused.
#[derive(Default)]
pub struct BodyDecoder {
    inflater: WholeInflater,
}

/// Where the content of a body is.
enum Content<'a> {
    /// In so many bytes at the start of the inflater's buffer.
    Inflated(usize),
    Elsewhere(Cow<'a, [u8]>),
}

impl BodyDecoder {
    /// What [`decode`] returns.
    pub fn decode<'a>(&'a mut self, content_encoding: Option<&str>, body: &'a [u8], decoded_max: usize) -> Decoded<'a> {
        let (content, complete) = self.undo_all(content_encoding, body, decoded_max);
        let bytes = match content {
            Content::Elsewhere(bytes) => bytes,
            Content::Inflated(length) => Cow::Borrowed(&self.inflater.buffer()[..length]),
        };
        Decoded { bytes, complete }
    }

    /// The content of `body`, and whether it is all of it.
    fn undo_all<'a>(
        &mut self,
        content_encoding: Option<&str>,
        body: &'a [u8],
        decoded_max: usize,
    ) -> (Content<'a>, bool) {
        let names = content_encoding.unwrap_or_default().split(',').map(str::trim);
        let codings: Option<Vec<Coding>> =
            names.map(Coding::of).filter(|coding| *coding != Some(Coding::Identity)).collect();
        let Some(codings) = codings.filter(|codings| codings.len() <= LAYERS_MAX) else {
            return (Content::Elsewhere(Cow::Borrowed(&[])), false);
        };
        let (mut bytes, mut complete) = (Cow::Borrowed(body), true);
        for (left, coding) in codings.into_iter().enumerate().rev() {
            match self.undo_whole(coding, &bytes, decoded_max) {
                Some(length) if left == 0 => return (Content::Inflated(length), complete),
                Some(length) => bytes = Cow::Owned(self.inflater.buffer()[..length].to_vec()),
                None => {
                    let (undone, whole) = undo(coding, &bytes, decoded_max);
                    (bytes, complete) = (Cow::Owned(undone), complete && whole);
                }
            }
        }
        if bytes.len() > decoded_max {
            complete = false;
            match &mut bytes {
                Cow::Borrowed(bytes) => *bytes = &bytes[..decoded_max],
                Cow::Owned(bytes) => bytes.truncate(decoded_max),
            }
        }
        (Content::Elsewhere(bytes), complete)
    }

    /// The length of the content in the inflater's buffer, if `body` can be inflated whole.
    fn undo_whole(&mut self, coding: Coding, body: &[u8], decoded_max: usize) -> Option<usize> {
        match coding {
            Coding::Gzip => self.inflater.gzip(body, decoded_max),
            Coding::Deflate if looks_like_zlib(body) => self.inflater.zlib(body, decoded_max),
            _ => None,
        }
    }
}

impl std::fmt::Debug for BodyDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodyDecoder").finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn of(name: &str) -> Option<Coding> {
        Some(match name.to_ascii_lowercase().as_str() {
            "" | "identity" | "none" | "binary" | "utf-8" | "utf8" | "7bit" | "8bit" => Coding::Identity,
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            _ => return None,
        })
    }
}

fn undo(coding: Coding, body: &[u8], decoded_max: usize) -> (Vec<u8>, bool) {
    if body.is_empty() {
        return (Vec::new(), true);
    }
    match coding {
        Coding::Identity => (body.to_vec(), true),
        Coding::Gzip => read_up_to(MultiGzDecoder::new(body), decoded_max),
        Coding::Deflate if looks_like_zlib(body) => {
            let (bytes, complete) = read_up_to(ZlibDecoder::new(body), decoded_max);
            // two bytes may look like a zlib header by chance
            if bytes.is_empty() && !complete {
                read_up_to(DeflateDecoder::new(body), decoded_max)
            } else {
                (bytes, complete)
            }
        }
        Coding::Deflate => read_up_to(DeflateDecoder::new(body), decoded_max),
        Coding::Brotli => read_up_to(brotli_decompressor::Decompressor::new(body, BROTLI_BUFFER_BYTES), decoded_max),
        Coding::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(body).and_then(|mut decoder| {
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Ok(decoder)
            });
            decoder.map_or_else(|_| (Vec::new(), false), |decoder| read_up_to(decoder, decoded_max))
        }
    }
}

/// "deflate" means the zlib format; many servers send the bare one.
fn looks_like_zlib(body: &[u8]) -> bool {
    matches!(body, [method, check, ..] if method & 15 == 8 && (u16::from(*method) << 8 | u16::from(*check)) % 31 == 0)
}

fn read_up_to(mut reader: impl Read, decoded_max: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let read = reader.by_ref().take(u64::try_from(decoded_max).unwrap_or(u64::MAX)).read_to_end(&mut bytes);
    // what was read before an error stays in `bytes`; at the cap, one byte more tells whether it was the end
    let complete = read.is_ok() && (bytes.len() < decoded_max || matches!(reader.read(&mut [0]), Ok(0)));
    (bytes, complete)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use std::io::Write;

    const TEXT: &[u8] = b"<a href='/one'>one</a> <a href='/two'>two</a> <a href='/two'>two</a>";
    /// [`TEXT`]-like content for br, as an uncompressed meta-block: this crate has no encoder for it.
    const BROTLI_HELLO: &[u8] = &[0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(bytes, 3).unwrap()
    }

    fn complete(bytes: &[u8]) -> Decoded<'_> {
        Decoded { bytes: Cow::Borrowed(bytes), complete: true }
    }

    #[test]
    fn every_coding_is_undone() {
        for (name, body) in [
            ("gzip", gzip(TEXT)),
            ("X-GZIP", gzip(TEXT)),
            ("deflate", zlib(TEXT)),
            ("deflate", deflate(TEXT)),
            ("zstd", zstd(TEXT)),
            ("identity", TEXT.to_vec()),
            ("utf-8", TEXT.to_vec()),
            ("", TEXT.to_vec()),
        ] {
            assert_eq!(decode(Some(name), &body, 1 << 20), complete(TEXT), "{name}");
        }
        assert_eq!(decode(Some("br"), BROTLI_HELLO, 1 << 20), complete(b"hello"));
        assert_eq!(decode(None, TEXT, 1 << 20), complete(TEXT));
    }

    #[test]
    fn lists_are_undone_from_the_last_to_the_first() {
        assert_eq!(decode(Some("gzip, zstd"), &zstd(&gzip(TEXT)), 1 << 20), complete(TEXT));
        assert_eq!(decode(Some("gzip, identity"), &gzip(TEXT), 1 << 20), complete(TEXT));
        assert!(!decode(Some("gzip,gzip,gzip,gzip,gzip"), TEXT, 1 << 20).complete);
    }

    #[test]
    fn members_and_frames_in_a_row_are_one_body() {
        let twice = |body: Vec<u8>| [body.clone(), body].concat();
        assert_eq!(decode(Some("gzip"), &twice(gzip(b"ab")), 100), complete(b"abab"));
        assert_eq!(decode(Some("zstd"), &twice(zstd(b"ab")), 100), complete(b"abab"));
    }

    #[test]
    fn s7_a_bomb_is_cut_at_the_decoded_bytes() {
        let zeros = vec![0; 8 << 20];
        for (name, body) in
            [("gzip", gzip(&zeros)), ("deflate", zlib(&zeros)), ("deflate", deflate(&zeros)), ("zstd", zstd(&zeros))]
        {
            assert!(body.len() < 100_000, "{name}");
            let decoded = decode(Some(name), &body, 10_000);
            assert_eq!((decoded.bytes.len(), decoded.complete), (10_000, false), "{name}");
            assert!(decoded.bytes.len() + 1 < 20_000);
        }
        let decoded = decode(Some("br"), BROTLI_HELLO, 3);
        assert_eq!((&*decoded.bytes, decoded.complete), (&b"hel"[..], false));
        let decoded = decode(None, TEXT, 3);
        assert_eq!((&*decoded.bytes, decoded.complete), (&TEXT[..3], false));
    }

    #[test]
    fn s7_no_more_is_decoded_than_a_multiple_of_what_came() {
        assert_eq!(within_ratio(100, 64 << 20), 1 << 20, "a small page may be very repetitive");
        assert_eq!(within_ratio(100_000, 64 << 20), 25_000_000);
        assert_eq!(within_ratio(100_000, 1_000), 1_000);
        assert_eq!(within_ratio(usize::MAX, usize::MAX), usize::MAX);
    }

    #[test]
    fn a_body_that_fits_exactly_is_complete() {
        for (name, body) in [("gzip", gzip(TEXT)), ("deflate", zlib(TEXT)), ("zstd", zstd(TEXT))] {
            assert_eq!(decode(Some(name), &body, TEXT.len()), complete(TEXT), "{name}");
        }
        assert_eq!(decode(Some("br"), BROTLI_HELLO, 5), complete(b"hello"));
        assert_eq!(decode(None, TEXT, TEXT.len()), complete(TEXT));
    }

    #[test]
    fn a_cut_or_damaged_body_gives_what_came_before() {
        let text: Vec<u8> = (0..100_000_u32).flat_map(|number| number.wrapping_mul(number).to_le_bytes()).collect();
        for (name, body) in [("gzip", gzip(&text)), ("deflate", zlib(&text)), ("zstd", zstd(&text))] {
            let decoded = decode(Some(name), &body[..body.len() / 2], 1 << 20);
            assert!(!decoded.complete, "{name}");
            assert!(!decoded.bytes.is_empty() && text.starts_with(&decoded.bytes), "{name}");
        }
    }

    #[test]
    fn an_unknown_coding_gives_nothing() {
        assert_eq!(decode(Some("compress"), TEXT, 100), Decoded { bytes: Cow::Borrowed(&[]), complete: false });
        assert_eq!(decode(Some("gzip, rot13"), TEXT, 100), Decoded { bytes: Cow::Borrowed(&[]), complete: false });
    }

    #[test]
    fn a_zstd_window_beyond_the_standard_is_refused() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(&vec![7; 9 << 20]).unwrap();
        assert!(!decode(Some("zstd"), &encoder.finish().unwrap(), 1 << 20).complete);
    }

    #[test]
    fn no_bytes_make_a_decoder_panic() {
        for seed in 0..400 {
            let mut random = fastrand::Rng::with_seed(seed);
            for (name, body) in [
                ("gzip", gzip(TEXT)),
                ("deflate", zlib(TEXT)),
                ("deflate", deflate(TEXT)),
                ("zstd", zstd(TEXT)),
                ("br", BROTLI_HELLO.to_vec()),
            ] {
                let mut body = body;
                for _ in 0..random.usize(1..5) {
                    let at = random.usize(..body.len());
                    body[at] = random.u8(..);
                }
                let decoded = decode(Some(name), &body, 1000);
                assert!(decoded.bytes.len() <= 1000, "seed {seed} {name}");
                let noise: Vec<u8> = (0..random.usize(..100)).map(|_| random.u8(..)).collect();
                decode(Some(name), &noise, 1000);
            }
        }
    }
}
