//! Content codings: gzip, deflate, br and zstd, undone within a bound.
//!
//! The archive keeps bodies as sent; this is for looking into them. Decoding goes on step by step and stops at a
//! number of *decoded* bytes, whatever the body would become, so a bomb costs no more than an honest page. Damage is no
//! error: what came out before is returned, and [`Ending`] says why it ends there. Whole bodies in gzip or zlib, as
//! nearly all are, are inflated in one call (`whole`), with the same bound and the same result.
//!
//! A name that is none of the codings means none: servers write charsets, types and their own words there, over a plain
//! body. Browsers show such a body as it came. Chromium then leaves the known codings of the same list alone, too; here
//! and in Firefox they are undone, or `aws-chunked, gzip` would hide a page.

mod stream;
mod whole;

use std::borrow::Cow;

use stream::undo;

pub use whole::WholeInflater;

/// Codings that are undone one after the other; longer lists serve nobody but attackers.
const LAYERS_MAX: usize = 4;

/// The first bytes of a gzip member.
pub(super) const GZIP_MAGIC: &[u8] = b"\x1f\x8b\x08";

/// Decoded bytes for each byte of a body beyond which nothing is decoded: pages rarely reach a tenth of it.
pub(crate) const RATIO_MAX: usize = 250;
/// Decoded bytes that are returned whatever the ratio.
const ANY_RATIO_BYTES: usize = 1 << 20;

/// The most bytes to decode of a body of `body_bytes` where `decoded_max` is the most at all: no more than
/// `RATIO_MAX` times as much as came, or `ANY_RATIO_BYTES` where that is more.
pub fn within_ratio(body_bytes: usize, decoded_max: usize) -> usize {
    decoded_max.min(body_bytes.saturating_mul(RATIO_MAX).max(ANY_RATIO_BYTES))
}

/// A body with its content codings undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The decoded bytes, at most as many as were asked for. Borrowed where there was nothing to decode.
    pub bytes: Cow<'a, [u8]>,
    /// The reason for which they end.
    pub end: Ending,
}

/// The reason for which decoded bytes end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// They are the whole content.
    Whole,
    /// They are as many as were asked for, and there is more.
    Cap,
    /// The body is cut or damaged behind them, or has more codings than are undone.
    Damage,
}

impl Decoded<'_> {
    /// Returns whether the bytes are the whole content.
    pub fn is_whole(&self) -> bool {
        self.end == Ending::Whole
    }
}

impl Ending {
    /// The ending of a layer that was decoded out of one that ended like this: a body that was cut at the cap looks
    /// damaged to the next layer.
    fn then(self, inner: Ending) -> Ending {
        match (self, inner) {
            (Ending::Whole, _) | (_, Ending::Cap) => inner,
            (outer, _) => outer,
        }
    }
}

/// Returns whether `content_encoding` lists a name that is no coding known here.
pub fn has_unknown(content_encoding: Option<&str>) -> bool {
    names(content_encoding).any(|name| Coding::of(name).is_none())
}

/// The names of a list, without `identity`, which says nothing.
fn names(content_encoding: Option<&str>) -> impl Iterator<Item = &str> {
    let names = content_encoding.unwrap_or_default().split(',').map(str::trim);
    names.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity"))
}

/// [`decode`] for a file that may itself be gzipped, under any content coding.
pub(crate) fn decode_file<'a>(content_encoding: Option<&str>, body: &'a [u8], decoded_max: usize) -> Decoded<'a> {
    let decoded = decode(content_encoding, body, decoded_max);
    if !decoded.bytes.starts_with(GZIP_MAGIC) {
        return decoded;
    }
    let file = decode(Some("gzip"), &decoded.bytes, decoded_max);
    Decoded { end: decoded.end.then(file.end), bytes: Cow::Owned(file.bytes.into_owned()) }
}

/// Undoes the codings that `content_encoding` lists, and stops at `decoded_max` bytes of each layer. Unknown names
/// stand for no coding.
pub fn decode<'a>(content_encoding: Option<&str>, body: &'a [u8], decoded_max: usize) -> Decoded<'a> {
    let mut decoder = BodyDecoder::default();
    let (content, end) = decoder.undo_all(content_encoding, body, decoded_max);
    let bytes = match content {
        Content::Elsewhere(bytes) => bytes,
        Content::Inflated(length) => {
            let mut bytes = decoder.inflater.into_buffer();
            bytes.truncate(length);
            Cow::Owned(bytes)
        }
    };
    Decoded { bytes, end }
}

/// [`decode`] for one body after the other: memory and the decoder's state are reused.
#[derive(Default)]
pub struct BodyDecoder {
    inflater: WholeInflater,
}

/// Place of a body's content.
enum Content<'a> {
    /// Bytes of content at the start of the inflater's buffer.
    Inflated(usize),
    Elsewhere(Cow<'a, [u8]>),
}

impl BodyDecoder {
    /// Decodes a body as [`decode`] does.
    pub fn decode<'a>(&'a mut self, content_encoding: Option<&str>, body: &'a [u8], decoded_max: usize) -> Decoded<'a> {
        let (content, end) = self.undo_all(content_encoding, body, decoded_max);
        let bytes = match content {
            Content::Elsewhere(bytes) => bytes,
            Content::Inflated(length) => Cow::Borrowed(&self.inflater.buffer()[..length]),
        };
        Decoded { bytes, end }
    }

    /// The content of `body`, and why it ends.
    fn undo_all<'a>(
        &mut self,
        content_encoding: Option<&str>,
        body: &'a [u8],
        decoded_max: usize,
    ) -> (Content<'a>, Ending) {
        let codings: Vec<Coding> = names(content_encoding).filter_map(Coding::of).collect();
        if codings.len() > LAYERS_MAX {
            return (Content::Elsewhere(Cow::Borrowed(&[])), Ending::Damage);
        }
        let (mut bytes, mut end) = (Cow::Borrowed(body), Ending::Whole);
        for (left, coding) in codings.into_iter().enumerate().rev() {
            match self.undo_whole(coding, &bytes, decoded_max) {
                Some(length) if left == 0 => return (Content::Inflated(length), end),
                Some(length) => bytes = Cow::Owned(self.inflater.buffer()[..length].to_vec()),
                None => {
                    let (undone, why) = undo(coding, &bytes, decoded_max);
                    (bytes, end) = (Cow::Owned(undone), end.then(why));
                }
            }
        }
        if bytes.len() > decoded_max {
            end = Ending::Cap;
            match &mut bytes {
                Cow::Borrowed(bytes) => *bytes = &bytes[..decoded_max],
                Cow::Owned(bytes) => bytes.truncate(decoded_max),
            }
        }
        (Content::Elsewhere(bytes), end)
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
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn of(name: &str) -> Option<Coding> {
        Some(match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            _ => return None,
        })
    }
}

/// "deflate" means the zlib format; many servers send the bare one.
fn looks_like_zlib(body: &[u8]) -> bool {
    matches!(body, [method, check, ..] if method & 15 == 8 && (u16::from(*method) << 8 | u16::from(*check)) % 31 == 0)
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
        Decoded { bytes: Cow::Borrowed(bytes), end: Ending::Whole }
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
        let nested = decode(Some("gzip,gzip,gzip,gzip,gzip"), TEXT, 1 << 20);
        assert_eq!((&*nested.bytes, nested.end), (&b""[..], Ending::Damage));
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
            assert_eq!((decoded.bytes.len(), decoded.end), (10_000, Ending::Cap), "{name}");
            assert!(decoded.bytes.len() + 1 < 20_000);
        }
        let decoded = decode(Some("br"), BROTLI_HELLO, 3);
        assert_eq!((&*decoded.bytes, decoded.end), (&b"hel"[..], Ending::Cap));
        let decoded = decode(None, TEXT, 3);
        assert_eq!((&*decoded.bytes, decoded.end), (&TEXT[..3], Ending::Cap));
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
            assert_eq!(decoded.end, Ending::Damage, "{name}");
            assert!(!decoded.bytes.is_empty() && text.starts_with(&decoded.bytes), "{name}");
        }
    }

    #[test]
    fn what_is_no_coding_stands_for_none() {
        let words =
            ["aws-chunked", "iso-8859-1", "text/html", "chunked", "base64", "compress", "gzip;q=1", "utf-8", "*"];
        for word in words {
            assert_eq!(decode(Some(word), TEXT, 1 << 20), complete(TEXT), "{word}");
            assert!(has_unknown(Some(word)), "{word}");
            let list = format!("{word}, gzip");
            assert_eq!(decode(Some(&list), &gzip(TEXT), 1 << 20), complete(TEXT), "{list}");
        }
        for known in ["gzip", "x-gzip, br", "", "identity", "zstd,deflate", "IDENTITY"] {
            assert!(!has_unknown(Some(known)), "{known}");
        }
        assert!(!has_unknown(None));
    }

    #[test]
    fn rubbish_behind_a_whole_body_is_no_damage() {
        let rubbish = [&b"\n"[..], b"<!-- cached -->", &[0; 40], b"\x1f", b"\x28\xb5"];
        for (name, body) in
            [("gzip", gzip(TEXT)), ("deflate", zlib(TEXT)), ("deflate", deflate(TEXT)), ("zstd", zstd(TEXT))]
        {
            for tail in rubbish {
                assert_eq!(decode(Some(name), &[&body[..], tail].concat(), 1 << 20), complete(TEXT), "{name} {tail:?}");
            }
        }
        for tail in rubbish {
            assert_eq!(decode(Some("br"), &[BROTLI_HELLO, tail].concat(), 100), complete(b"hello"), "br {tail:?}");
        }
    }

    #[test]
    fn a_body_that_is_not_in_its_coding_is_damaged() {
        for name in ["gzip", "deflate", "br", "zstd"] {
            let decoded = decode(Some(name), b"User-agent: *\nDisallow: /private/\n", 1 << 20);
            assert_eq!(decoded.end, Ending::Damage, "{name}: {:?}", decoded.bytes);
        }
        let broken = [&gzip(b"ab")[..], b"\x1f\x8b\x08 no member"].concat();
        let decoded = decode(Some("gzip"), &broken, 100);
        assert_eq!((&*decoded.bytes, decoded.end), (&b"ab"[..], Ending::Damage));
    }

    #[test]
    fn what_an_outer_coding_cut_at_the_cap_is_no_damage_of_the_inner_one() {
        let text: Vec<u8> = (0..5_000_u32).flat_map(|number| number.wrapping_mul(number).to_le_bytes()).collect();
        assert_eq!(decode(Some("gzip, zstd"), &zstd(&gzip(&text)), 1_000).end, Ending::Cap);
    }

    #[test]
    fn a_gzipped_file_is_undone_beside_its_coding() {
        assert_eq!(decode_file(None, &gzip(TEXT), 1 << 20), complete(TEXT));
        assert_eq!(decode_file(Some("gzip"), &gzip(&gzip(TEXT)), 1 << 20), complete(TEXT));
        assert_eq!(decode_file(Some("x"), TEXT, 1 << 20), complete(TEXT));
    }

    #[test]
    fn s7_members_without_content_cost_no_more_than_a_bound() {
        let members = gzip(b"").repeat(100_000);
        let decoded = decode(Some("gzip"), &members, 100);
        assert_eq!((decoded.bytes.len(), decoded.end), (0, Ending::Damage));
    }

    #[test]
    fn a_zstd_window_beyond_the_standard_is_refused() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(&vec![7; 9 << 20]).unwrap();
        assert_eq!(decode(Some("zstd"), &encoder.finish().unwrap(), 1 << 20).end, Ending::Damage);
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
