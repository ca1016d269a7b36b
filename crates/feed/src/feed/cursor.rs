//! The place of a consumer in a feed.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::error::{Error, Result};
use crate::disk::{self, Disk};

/// A place in a feed: all changes of the passes up to one, and some of the next.
///
/// As text it is `ID-PASS`, or `ID-PASS-NEXT-STEPS` within the changes that lead to the pass `NEXT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The feed.
    pub(super) feed: String,
    /// The last pass of which the consumer has everything.
    pub(super) pass: u64,
    /// Its way to a later one.
    pub(super) within: Option<Within>,
}

/// A way between two passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Within {
    /// The pass to which it leads.
    pub to: u64,
    /// Steps of it that the consumer has.
    pub steps: u64,
}

impl Cursor {
    /// Reads the cursor in a file; nothing where there is no file.
    pub fn read(path: &Path) -> Result<Option<Cursor>> {
        match Disk::real().read(path) {
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
            Ok(bytes) => String::from_utf8_lossy(&bytes).trim().parse().map(Some),
        }
    }

    /// Replaces the file at `path`, durably.
    pub fn write(&self, path: &Path) -> Result<()> {
        Ok(disk::Aside::put(path, format!("{self}\n").as_bytes())?)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.feed, self.pass)?;
        self.within.map_or(Ok(()), |Within { to, steps }| write!(f, "-{to}-{steps}"))
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Cursor> {
        let wrong = || Error::Cursor(text.to_owned());
        let mut parts = text.split('-');
        let feed = parts.next().filter(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let mut number = || parts.next().map(|part| part.parse::<u64>().map_err(|_| wrong())).transpose();
        let (pass, to, steps) = (number()?, number()?, number()?);
        let within = match (to, steps) {
            (Some(to), Some(steps)) => Some(Within { to, steps }),
            (None, None) => None,
            _ => return Err(wrong()),
        };
        if parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Cursor { feed: feed.ok_or_else(wrong)?.to_owned(), pass: pass.ok_or_else(wrong)?, within })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_nothing_else_is_one() {
        let feed = "0123456789abcdef0123456789abcdef";
        for text in [format!("{feed}-7"), format!("{feed}-7-9-1000")] {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
        for text in ["", "7", feed, &format!("{feed}-"), &format!("{feed}-1-2"), &format!("{feed}-1-2-3-4"), "x-1"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cursor");
        assert_eq!(Cursor::read(&path).unwrap(), None);
        let cursor = Cursor { feed: feed.to_owned(), pass: 3, within: Some(Within { to: 4, steps: 5 }) };
        cursor.write(&path).unwrap();
        assert_eq!(Cursor::read(&path).unwrap(), Some(cursor));
    }
}
