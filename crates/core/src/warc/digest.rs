//! Digests of records, and how their fields write them.
//!
//! A response record has two SHA-1: one of its payload, and one of its block, which is the head of the answer with the
//! payload behind it. The second does not follow from the first, for every step of SHA-1 depends on all before it. But
//! that is also what makes it slow: a core waits for each step although it could do more at a time. So both are made in
//! one pass, a block of 64 bytes of the one after a block of the other, and the core works on two chains that do not
//! wait for each other: two thirds of the time of one digest after the other, on processors with instructions for SHA-1
//! (docs/performance/cpu.md).

use data_encoding::BASE32;
use sha1::block_api::compress;
use sha1::{Digest, Sha1};

const BLOCK_BYTES: usize = 64;

/// A SHA-1 with its label, in Base32.
pub fn digest(sha1: [u8; 20]) -> String {
    format!("sha1:{}", BASE32.encode(&sha1))
}

/// SHA-1 of a payload.
pub fn payload_sha1(payload: &[u8]) -> [u8; 20] {
    Sha1::digest(payload).into()
}

/// SHA-1 of the block that is `head` with `payload` behind it.
pub(super) fn block_sha1(head: &[u8], payload: &[u8]) -> [u8; 20] {
    Sha1::new().chain_update(head).chain_update(payload).finalize().into()
}

/// SHA-1 of `payload`, and of `head` with `payload` behind it.
pub(super) fn both_sha1(head: &[u8], payload: &[u8]) -> ([u8; 20], [u8; 20]) {
    let (mut of_payload, mut of_block) = (Stream::default(), Stream::default());
    let (whole, rest) = head.as_chunks();
    of_block.add(whole);
    // the block of 64 bytes in which the head ends and the payload begins
    let mut seam = [0; BLOCK_BYTES];
    let (own, room) = seam.split_at_mut(rest.len());
    own.copy_from_slice(rest);
    let Some((first, behind)) = payload.split_at_checked(room.len()) else {
        return (of_payload.finish(payload), of_block.finish(&[rest, payload].concat()));
    };
    room.copy_from_slice(first);
    of_block.add(&[seam]);
    let ((one, one_rest), (other, other_rest)) = (payload.as_chunks(), behind.as_chunks());
    for (one, other) in one.iter().zip(other) {
        of_payload.add(std::slice::from_ref(one));
        of_block.add(std::slice::from_ref(other));
    }
    of_payload.add(&one[other.len()..]);
    (of_payload.finish(one_rest), of_block.finish(other_rest))
}

/// A SHA-1 that is fed whole blocks.
struct Stream {
    state: [u32; 5],
    blocks: u64,
}

impl Default for Stream {
    /// Nothing yet (FIPS 180-4, 5.3.1).
    fn default() -> Self {
        let state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
        Stream { state, blocks: 0 }
    }
}

impl Stream {
    #[inline]
    fn add(&mut self, blocks: &[[u8; BLOCK_BYTES]]) {
        compress(&mut self.state, blocks);
        self.blocks += blocks.len() as u64;
    }

    /// The digest, with `rest` behind everything before, which is less than a block: a bit, zeros, and the length in
    /// bits at the end of a block (FIPS 180-4, 5.1.1).
    fn finish(mut self, rest: &[u8]) -> [u8; 20] {
        let bits = (self.blocks * BLOCK_BYTES as u64 + rest.len() as u64) * 8;
        let mut last = [0; 2 * BLOCK_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        last[rest.len()] = 0x80;
        let is_one = rest.len() + 1 + size_of::<u64>() <= BLOCK_BYTES;
        let end = if is_one { BLOCK_BYTES } else { 2 * BLOCK_BYTES };
        last[end - size_of::<u64>()..end].copy_from_slice(&bits.to_be_bytes());
        compress(&mut self.state, last[..end].as_chunks().0);
        let mut digest = [0; 20];
        digest.as_chunks_mut().0.iter_mut().zip(self.state).for_each(|(bytes, word)| *bytes = word.to_be_bytes());
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digests_in_one_pass_are_those_of_two_passes() {
        let bytes: Vec<u8> = (0..5_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        // wherever head and payload end in their last block of 64 bytes, and whether there is one
        let lengths = || (0..200).chain([255, 256, 257, 1_000, 4_095, 4_096, 4_097]);
        for head in lengths() {
            for payload in lengths() {
                let (head, payload) = (&bytes[..head], &bytes[bytes.len() - payload..]);
                let expected = (payload_sha1(payload), block_sha1(head, payload));
                assert_eq!(both_sha1(head, payload), expected, "{} and {} bytes", head.len(), payload.len());
            }
        }
    }
}
