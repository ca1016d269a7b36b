//! The reason for which a URL that was seen is queued once more, and what is known of its page; it travels with the
//! URL, in bytes that nobody reads between the two ends, but for whether it is due.
//!
//! ```text
//! | 2 | modified ms v |         somebody says that it has changed since
//! | 3 |                         a page that has changed links to it
//! | 4 | Past |                  its time has come
//! | 5 | Past |                  somebody wants it now
//! ```

use std::sync::Arc;

use super::past::Past;
use crate::clock::Time;
use crate::varint;

const MODIFIED: u8 = 2;
const LINKED: u8 = 3;
const DUE: u8 = 4;
const WANTED: u8 = 5;

/// The reason for which a URL that was seen is queued once more.
#[derive(Clone, Debug, PartialEq)]
pub enum Recrawl {
    /// Its time has come.
    Due(Past),
    /// A sitemap or a feed says that it has changed then. It is fetched if that is behind its last fetch.
    Modified(Time),
    /// A page that has changed links to it. It is fetched if it was given up as gone.
    Linked,
    /// Its seed is fetched again, whether or not its time has come; it was visited before.
    Wanted(Past),
}

impl Recrawl {
    /// Encodes it in the bytes that travel with the URL.
    pub fn to_bytes(&self) -> Arc<[u8]> {
        let mut bytes = Vec::new();
        match self {
            Recrawl::Due(past) | Recrawl::Wanted(past) => {
                bytes.push(if matches!(self, Recrawl::Due(_)) { DUE } else { WANTED });
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
            WANTED => Recrawl::Wanted(Past::decode(bytes, &mut at)?),
            _ => return None,
        };
        (at == bytes.len()).then_some(read)
    }

    /// Returns what is known from earlier visits, if `bytes` belong to a URL whose time has come.
    pub fn past(bytes: Option<&[u8]>) -> Option<Past> {
        match bytes.and_then(Recrawl::read)? {
            Recrawl::Due(past) => Some(past),
            Recrawl::Modified(_) | Recrawl::Linked | Recrawl::Wanted(_) => None,
        }
    }

    /// The knowledge from earlier visits of the page, whyever it is queued.
    pub fn known(bytes: Option<&[u8]>) -> Option<Past> {
        match bytes.and_then(Recrawl::read)? {
            Recrawl::Due(past) | Recrawl::Wanted(past) => Some(past),
            Recrawl::Modified(_) | Recrawl::Linked => None,
        }
    }

    /// Returns true where `bytes` are of a URL that is queued because of its page, and not because somebody wants its
    /// seed now.
    pub(crate) fn is_due(bytes: Option<&[u8]>) -> bool {
        bytes.is_some_and(|bytes| bytes.first() != Some(&WANTED))
    }

    /// Returns true where `bytes` are of a URL whose page was visited before, so that budgets have counted it.
    pub(crate) fn is_counted(bytes: Option<&[u8]>) -> bool {
        bytes.is_some_and(|bytes| !matches!(bytes.first(), Some(&MODIFIED | &LINKED)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::History;

    #[test]
    fn reasons_come_back_and_nothing_shorter_or_longer() {
        let past = Past::of_visited(Time::from_ms(7_000), Time::from_ms(9_000), History::default());
        let hints = [Recrawl::Modified(Time::from_ms(1 << 40)), Recrawl::Linked];
        for reason in [Recrawl::Due(past.clone()), Recrawl::Wanted(past)].into_iter().chain(hints) {
            let bytes = reason.to_bytes();
            assert_eq!(Recrawl::is_due(Some(&bytes)), !matches!(reason, Recrawl::Wanted(_)));
            let is_counted = matches!(reason, Recrawl::Due(_) | Recrawl::Wanted(_));
            assert_eq!(Recrawl::is_counted(Some(&bytes)), is_counted);
            assert_eq!(Recrawl::read(&bytes), Some(reason));
            assert_eq!(Recrawl::read(&bytes[..bytes.len() - 1]), None);
            assert_eq!(Recrawl::read(&[&bytes, &[0][..]].concat()), None);
        }
        assert_eq!(Recrawl::read(&[1]), None);
        assert_eq!(Recrawl::read(&[6]), None);
    }
}
