//! URLs that were read from the disk last, by the number or the offset of their record.
//!
//! The URLs of a page, or of a seed, are mostly fetched one after the other, and each of their requests and log lines
//! names it: one read for all of them. The memory is bounded: a fixed number of places, one for each remainder of the
//! number.

/// Places.
const PLACES: usize = 256;

/// The URLs that were read last.
#[derive(Debug)]
pub struct RecentUrls(Vec<Option<(u64, Box<str>)>>);

impl Default for RecentUrls {
    fn default() -> Self {
        RecentUrls(vec![None; PLACES])
    }
}

impl RecentUrls {
    /// The URL of the record with this number or offset, from memory or else by `read`.
    pub fn get<E>(&mut self, at: u64, read: impl FnOnce() -> Result<Option<String>, E>) -> Result<Option<String>, E> {
        let places = self.0.len() as u64;
        let place = &mut self.0[usize::try_from(at % places).expect("there are few places")];
        if let Some((known, url)) = place
            && *known == at
        {
            return Ok(Some(url.to_string()));
        }
        let url = read()?;
        *place = url.as_deref().map(|url| (at, url.into()));
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_once_as_long_as_no_other_one_takes_its_place() {
        let mut urls = RecentUrls::default();
        let mut reads = 0;
        let mut get = |offset: u64| {
            let read = || {
                reads += 1;
                Ok::<_, ()>((offset != 7).then(|| format!("http://h/{offset}")))
            };
            urls.get(offset, read).unwrap()
        };
        for offset in [16, 16, 17, 16, 16 + PLACES as u64, 16] {
            assert_eq!(get(offset), Some(format!("http://h/{offset}")));
        }
        // what is not there may come
        assert_eq!((get(7), get(7)), (None, None));
        assert_eq!(reads, 6);
    }
}
