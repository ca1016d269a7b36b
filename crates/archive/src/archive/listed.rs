//! The entries of a stored sitemap, or of a stored feed of JSON.

use std::collections::HashSet;

use crate::contract::listed::format_of;
use crate::frontier::Hops;
use crate::web::sitemap::{self, Body, Claim, Entry, Format, Item};
use crate::web::url::CanonicalUrl;

/// The entries of a stored sitemap, or of a stored feed of JSON, for readers of the archive. Feeds of XML are documents
/// like others.
pub struct StoredList {
    /// Format of the list.
    pub format: Format,
    /// Each URL once, in their order.
    pub entries: Vec<(CanonicalUrl, Entry)>,
    /// Entries beyond the limits.
    pub dropped: u64,
}

impl StoredList {
    /// Returns the entries of the answer at `url` with this `body`; `None` where it is no such file. `hops`, by which
    /// the answer was found, is asked only for a text.
    pub fn of<E>(
        url: &CanonicalUrl,
        body: Body<'_>,
        hops: impl FnOnce() -> Result<String, E>,
    ) -> Result<Option<StoredList>, E> {
        let format = match sitemap::format(body, Claim::Named) {
            Some(Format::Text) => format_of(&Hops::parse(&hops()?), true, body),
            Some(Format::Rss | Format::Atom) => None,
            format => format,
        };
        let Some(format) = format else { return Ok(None) };
        let (mut entries, mut seen) = (Vec::new(), HashSet::new());
        let summary = sitemap::read(format, body, url, &mut |item| {
            let Item::Url(entry, text) = item else { return };
            let Ok(target) = url.join(text) else { return };
            if seen.insert(target.as_str().to_owned()) {
                entries.push((target, entry));
            }
        });
        Ok(Some(StoredList { format, entries, dropped: summary.dropped }))
    }
}
