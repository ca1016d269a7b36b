//! Records that are written again: as they were read, with other fields or another block.

use sha1::{Digest, Sha1};

use super::{Encoder, FIELDS_END, digest, field, head_field, id_seed, urn, uuid};
use crate::clock::Time;
use crate::warc::{Header, Record};

/// Field of a metadata record by whose exchange the archive had the payload already, and which got it when the record
/// that had it was removed. Its value says by what it was a revisit.
pub(crate) const WAS_REVISIT_FIELD: &str = "wasRevisit";

/// A `WARC-Record-ID` that follows from `text`.
pub fn id_of(text: &str) -> String {
    urn(uuid(id_seed(0, text, Time::ZERO), 0))
}

impl Encoder {
    /// Appends the record with these `fields` and the block of `head` and `payload`. What the fields say of the block's
    /// digest and length is made to fit; all else stays as it is, and in its order.
    pub fn again(
        &mut self,
        fields: &[(String, String)],
        head: &[u8],
        payload: &[u8],
        is_packed: bool,
        out: &mut Vec<u8>,
    ) {
        let block_sha1 = Sha1::new().chain_update(head).chain_update(payload).finalize().into();
        let text = &mut self.head;
        text.clear();
        text.push_str("WARC/1.1\r\n");
        for (name, value) in fields {
            match of_block(name, head.len() + payload.len(), block_sha1) {
                Some(value) => field(text, name, &value),
                None => head_field(text, name, value),
            }
        }
        text.push_str("\r\n");
        self.packer.pack(&[text.as_bytes(), head], payload, is_packed, out);
    }
}

impl Record {
    /// The record with these `fields` and this `block`. What the fields say of the block's digest and length is made to
    /// fit. It is in no file.
    pub(crate) fn again(mut fields: Vec<(String, String)>, block: Vec<u8>) -> Record {
        let sha1 = Sha1::digest(&block).into();
        for (name, value) in &mut fields {
            if let Some(fitting) = of_block(name, block.len(), sha1) {
                *value = fitting;
            }
        }
        Record { offset: 0, length: 0, fields, block }
    }
}

/// The value of the field `name`, where it says how long a block is or which digest it has.
fn of_block(name: &str, bytes: usize, sha1: [u8; 20]) -> Option<String> {
    match name {
        _ if name.eq_ignore_ascii_case("content-length") => Some(bytes.to_string()),
        _ if name.eq_ignore_ascii_case("warc-block-digest") => Some(digest(sha1)),
        _ => None,
    }
}

/// The block of a metadata record with one more field at its end, which has no line ends.
pub(crate) fn with_field(block: &[u8], name: &str, value: &str) -> Vec<u8> {
    let own = block.strip_suffix(b"\r\n\r\n").map_or(block, |_| &block[..block.len() - FIELDS_END.len()]);
    [own, format!("{name}: {value}\r\n{FIELDS_END}").as_bytes()].concat()
}

/// The head of an answer in HTTP/1.1 syntax: its first `line`, and its headers.
pub(crate) fn http_head(line: &[u8], headers: &[Header]) -> Vec<u8> {
    let mut head = [line, b"\r\n"].concat();
    headers.iter().for_each(|(name, value)| super::header(&mut head, name, value));
    head.extend_from_slice(b"\r\n");
    head
}
