//! Why a URL that was seen is queued once more; it travels with the URL, in bytes that only the two ends read.
//!
//! ```text
//! | 1 | Past |                  its time has come
//! | 2 | modified ms v |         somebody says that it has changed since
//! | 3 |                         a page that has changed links to it
//! ```

use std::sync::Arc;

use super::past::Past;
use crate::clock::Time;
use crate::varint;

const DUE: u8 = 1;
const MODIFIED: u8 = 2;
const LINKED: u8 = 3;

/// Why a URL that was seen is queued once more.
#[derive(Clone, Debug, PartialEq)]
pub enum Recrawl {
    /// Its time has come.
    Due(Past),
    /// A sitemap or a feed says that it has changed then. It is fetched if that is behind its last fetch.
    Modified(Time),
    /// A page that has changed links to it. It is fetched if it was given up as gone.
    Linked,
}

impl Recrawl {
    /// As it travels with the URL.
    pub fn to_bytes(&self) -> Arc<[u8]> {
        let mut bytes = Vec::new();
        match self {
            Recrawl::Due(past) => {
                bytes.push(DUE);
                past.encode(&mut bytes);
            }
            Recrawl::Modified(time) => {
                bytes.push(MODIFIED);
                varint::push(time.ms(), &mut bytes);
            }
            Recrawl::Linked => bytes.push(LINKED),
        }
        bytes.into()
    }

    /// Reads what [`Recrawl::to_bytes`] wrote; `None` for anything else.
    pub fn read(bytes: &[u8]) -> Option<Recrawl> {
        let mut at = 1;
        let read = match *bytes.first()? {
            DUE => Recrawl::Due(Past::decode(bytes, &mut at)?),
            MODIFIED => Recrawl::Modified(Time::from_ms(varint::read(bytes, &mut at)?)),
            LINKED => Recrawl::Linked,
            _ => return None,
        };
        (at == bytes.len()).then_some(read)
    }

    /// What earlier visits said, if `bytes` are of a URL whose time has come.
    pub fn past(bytes: Option<&[u8]>) -> Option<Past> {
        match bytes.and_then(Recrawl::read)? {
            Recrawl::Due(past) => Some(past),
            Recrawl::Modified(_) | Recrawl::Linked => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::History;

    #[test]
    fn reasons_come_back_and_nothing_shorter_or_longer() {
        let past = Past::of_visited(Time::from_ms(7_000), Time::from_ms(9_000), History::default());
        for reason in [Recrawl::Due(past), Recrawl::Modified(Time::from_ms(1 << 40)), Recrawl::Linked] {
            let bytes = reason.to_bytes();
            assert_eq!(Recrawl::read(&bytes), Some(reason));
            assert_eq!(Recrawl::read(&bytes[..bytes.len() - 1]), None);
            assert_eq!(Recrawl::read(&[&bytes, &[0][..]].concat()), None);
        }
        assert_eq!(Recrawl::read(&[4]), None);
    }
}
