//! One coding undone step by step, up to a bound: for bodies of every kind, whole or not.
//!
//! A gzip body may be several members in a row, a zstd body several frames. What follows a whole one and does not begin
//! like another is rubbish of the server, and ignored.

use std::io::Read;

use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

use super::{Coding, Ending, GZIP_MAGIC, looks_like_zlib};

/// The largest zstd window as a power of two: what RFC 9659 lets a web server use.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

const BROTLI_BUFFER_BYTES: usize = 4096;

/// Members or frames of one body. A decoder for each costs more than the few bytes that an empty one takes.
const PARTS_MAX: usize = 4096;

/// Undoes one coding.
pub(super) fn undo(coding: Coding, body: &[u8], decoded_max: usize) -> (Vec<u8>, Ending) {
    if body.is_empty() {
        return (Vec::new(), Ending::Whole);
    }
    let mut out = Out { bytes: Vec::new(), max: decoded_max };
    let end = match coding {
        Coding::Gzip => parts(
            body,
            |body| body.starts_with(GZIP_MAGIC),
            |body| {
                let mut decoder = GzDecoder::new(body);
                let end = out.read(&mut decoder);
                (end, decoder.into_inner())
            },
        ),
        Coding::Zstd => parts(body, starts_a_frame, |body| {
            let Ok(mut decoder) = frame(body) else { return (Ending::Damage, body) };
            let end = out.read(&mut decoder);
            (end, decoder.finish())
        }),
        Coding::Deflate if looks_like_zlib(body) => {
            let end = out.read(ZlibDecoder::new(body));
            // two bytes may look like a zlib header by chance
            if out.bytes.is_empty() && end == Ending::Damage { out.read(DeflateDecoder::new(body)) } else { end }
        }
        Coding::Deflate => out.read(DeflateDecoder::new(body)),
        Coding::Brotli => out.read(brotli_decompressor::Decompressor::new(body, BROTLI_BUFFER_BYTES)),
    };
    (out.bytes, end)
}

/// Undoes the parts of a body one after the other; `undo` says how one ended, and what is left behind it.
fn parts<'a>(
    body: &'a [u8],
    begins: impl Fn(&[u8]) -> bool,
    mut undo: impl FnMut(&'a [u8]) -> (Ending, &'a [u8]),
) -> Ending {
    let mut rest = body;
    for _ in 0..PARTS_MAX {
        let (end, left) = undo(rest);
        if end != Ending::Whole || !begins(left) {
            return end;
        }
        rest = left;
    }
    Ending::Damage
}

fn frame(body: &[u8]) -> std::io::Result<zstd::stream::read::Decoder<'static, &[u8]>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(body)?.single_frame();
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(decoder)
}

/// Returns whether a zstd frame begins here, or one to skip (RFC 8878, 3.1).
fn starts_a_frame(body: &[u8]) -> bool {
    matches!(body, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// The decoded bytes.
struct Out {
    bytes: Vec<u8>,
    max: usize,
}

impl Out {
    fn read(&mut self, mut reader: impl Read) -> Ending {
        let room = u64::try_from(self.max - self.bytes.len()).unwrap_or(u64::MAX);
        // what was read before an error stays in `bytes`
        if reader.by_ref().take(room).read_to_end(&mut self.bytes).is_err() {
            return Ending::Damage;
        }
        if self.bytes.len() < self.max {
            return Ending::Whole;
        }
        // at the cap, one byte more says whether it was the end
        match reader.read(&mut [0]) {
            Ok(0) => Ending::Whole,
            Ok(_) => Ending::Cap,
            Err(_) => Ending::Damage,
        }
    }
}
