//! The documents of a sink as one stream: page after page, or from a list that was read whole.

use super::{Entry, Failure, Sink};

/// Documents of a page.
const PAGE: usize = 5_000;

/// All documents of a sink, in the order of their ids. It ends behind an error.
pub struct Listing<'a> {
    sink: &'a mut dyn Sink,
    page: std::vec::IntoIter<Entry>,
    after: Option<String>,
    has_ended: bool,
}

impl<'a> Listing<'a> {
    /// Begins to read.
    pub fn new(sink: &'a mut dyn Sink) -> Listing<'a> {
        Listing { sink, page: Vec::new().into_iter(), after: None, has_ended: false }
    }
}

impl Iterator for Listing<'_> {
    type Item = Result<Entry, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.len() == 0 && !self.has_ended {
            match self.sink.ids(self.after.as_deref(), PAGE) {
                Ok(page) => {
                    self.has_ended = page.is_empty();
                    self.page = page.into_iter();
                }
                Err(failure) => {
                    self.has_ended = true;
                    return Some(Err(failure));
                }
            }
        }
        let entry = self.page.next()?;
        self.after = Some(entry.id.clone());
        Some(Ok(entry))
    }
}

/// Pages of a target that cannot sort: all its entries, in memory from the first page to the empty one.
#[derive(Debug, Default)]
pub(super) struct Sorted(Option<Vec<Entry>>);

impl Sorted {
    /// Up to `most` entries behind `after`, of those that `read` returns in any order.
    pub(super) fn page(
        &mut self,
        after: Option<&str>,
        most: usize,
        read: impl FnOnce() -> Result<Vec<Entry>, Failure>,
    ) -> Result<Vec<Entry>, Failure> {
        let entries = match self.0.take().filter(|_| after.is_some()) {
            Some(entries) => entries,
            None => {
                let mut entries = read()?;
                entries.sort_unstable_by(|a, b| a.id.cmp(&b.id));
                entries
            }
        };
        let start = after.map_or(0, |after| entries.partition_point(|entry| *entry.id <= *after));
        let page: Vec<_> = entries[start..].iter().take(most).cloned().collect();
        self.0 = (!page.is_empty()).then_some(entries);
        Ok(page)
    }
}
