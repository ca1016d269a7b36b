//! The likeness of a page: keys by which pages that say nearly the same are known.

use crate::similar::{PART_BYTES, PARTS, Signature};
use crate::web::url::KeyMaker;

/// The keys of a text by which others that are nearly the same are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Likeness([u64; PARTS]);

impl Likeness {
    /// The likeness of `words`, which are UTF-8; `None` where there are no words.
    pub fn of(words: &[u8], keys: &KeyMaker) -> Option<Likeness> {
        let signature = Signature::of(&String::from_utf8_lossy(words))?;
        let mut likeness = [0; PARTS];
        for (number, (key, part)) in (0_u8..).zip(likeness.iter_mut().zip(signature.parts())) {
            let mut bytes = [number; 1 + PART_BYTES];
            bytes[1..].copy_from_slice(part);
            *key = keys.digest(&bytes);
        }
        Some(Likeness(likeness))
    }

    /// Its keys.
    pub fn keys(&self) -> &[u64; PARTS] {
        &self.0
    }
}
