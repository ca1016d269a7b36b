//! URLs of the pages that named others, as they were read from key.dat last.
//!
//! The URLs of a page are mostly fetched one after the other, and each of their requests names the page: one read for all of
//! them. The memory is bounded: a fixed number of places, one for each remainder of the offset.

use crate::container::Referrer;
use crate::disk::Result;

/// Places.
const PLACES: usize = 256;

/// The URLs that were read last, by the offset of their record.
#[derive(Debug)]
pub(super) struct Referrers(Vec<Option<(u64, Box<str>)>>);

impl Default for Referrers {
    fn default() -> Self {
        Referrers(vec![None; PLACES])
    }
}

impl Referrers {
    /// Reads who named a URL, where that is still to be done.
    pub(super) fn resolve(&mut self, referrer: &mut Referrer) -> Result<()> {
        referrer.resolve_by(|place| self.get(place.offset(), || place.url()))
    }

    /// The URL of the record at `offset`, from memory or else by `read`.
    fn get(&mut self, offset: u64, read: impl FnOnce() -> Result<Option<String>>) -> Result<Option<String>> {
        let places = self.0.len() as u64;
        let place = &mut self.0[usize::try_from(offset % places).expect("there are few places")];
        if let Some((known, url)) = place
            && *known == offset
        {
            return Ok(Some(url.to_string()));
        }
        let url = read()?;
        *place = url.as_deref().map(|url| (offset, url.into()));
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_once_as_long_as_no_other_one_takes_its_place() {
        let mut referrers = Referrers::default();
        let mut reads = 0;
        let mut get = |offset: u64| {
            let read = || {
                reads += 1;
                Ok((offset != 7).then(|| format!("http://h/{offset}")))
            };
            referrers.get(offset, read).unwrap()
        };
        for offset in [16, 16, 17, 16, 16 + PLACES as u64, 16] {
            assert_eq!(get(offset), Some(format!("http://h/{offset}")));
        }
        // what is not there may come
        assert_eq!((get(7), get(7)), (None, None));
        assert_eq!(reads, 6);
    }
}
