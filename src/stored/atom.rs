//! Changes as an Atom feed (RFC 4287), for feed readers.

use std::collections::BTreeMap;
use std::io::Write;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::compare::{Change, Kind, Version, back_to};
use super::{Archive, Entry};
use crate::clock::Time;

/// Entries of a feed: the newest changes.
const ENTRIES_MAX: usize = 1_000;
const ATOM: &str = "http://www.w3.org/2005/Atom";

/// Versions that are looked at for the feed of a server.
const VERSIONS_MAX: usize = 1_000;

/// The newest changes since a moment: each of the newest versions beside the one before it. What cannot be read is left
/// out.
pub(crate) fn newest_changes(archive: &dyn Archive, since: Time) -> anyhow::Result<Feed> {
    let mut newest: BTreeMap<(Time, u64), Entry> = BTreeMap::new();
    for entry in archive.entries() {
        let entry = entry?;
        if entry.time >= since && !entry.robots && entry.kind.is_none() {
            newest.insert((entry.time, entry.handle), entry);
        }
        if newest.len() > VERSIONS_MAX {
            newest.pop_first();
        }
    }
    let mut feed = Feed::default();
    for entry in newest.values() {
        let change = back_to(archive, entry.clone(), |before| before.handle != entry.handle && before.kind.is_none())
            .and_then(|before| {
                let version = |entry| Version { archive, entry };
                Change::between(before.as_ref().map(version), Some(version(entry)))
            });
        if let Ok(Some(change)) = change
            && change.kind() != Kind::Unchanged
        {
            feed.add(change);
        }
    }
    Ok(feed)
}

/// The newest changes, by their times and URLs.
#[derive(Default)]
pub(crate) struct Feed(BTreeMap<(String, String), Change>);

impl Feed {
    pub(crate) fn add(&mut self, change: Change) {
        let Some(time) = change.time() else { return };
        self.0.insert((time.to_owned(), change.url().to_owned()), change);
        if self.0.len() > ENTRIES_MAX {
            self.0.pop_first();
        }
    }

    /// Writes the feed of the crawl whose id this is, called `title`; `since` is its time where nothing has changed.
    pub(crate) fn write(&self, id: u128, title: &str, since: &str, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut xml = Writer::new_with_indent(out, b' ', 1);
        xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
        let updated = self.0.last_key_value().map_or(since, |((time, _), _)| time);
        xml.create_element("feed").with_attribute(("xmlns", ATOM)).write_inner_content(|xml| {
            element(xml, "id", &urn(id))?;
            element(xml, "title", title)?;
            element(xml, "updated", updated)?;
            xml.create_element("author").write_inner_content(|xml| element(xml, "name", "crawler"))?;
            self.0.values().rev().try_for_each(|change| entry(xml, change))
        })?;
        Ok(writeln!(xml.into_inner())?)
    }
}

fn entry<W: Write>(xml: &mut Writer<W>, change: &Change) -> std::io::Result<()> {
    let (url, time, kind) = (change.url(), change.time().unwrap_or_default(), change.kind().name());
    xml.create_element("entry").write_inner_content(|xml| {
        element(xml, "id", &format!("{url}#{kind}-{time}"))?;
        element(xml, "title", &format!("{kind}: {url}"))?;
        element(xml, "updated", time)?;
        xml.create_element("link").with_attribute(("href", url)).write_empty()?;
        xml.create_element("category").with_attribute(("term", kind)).write_empty()?;
        element(xml, "summary", &change.line().replace('\t', " "))
    })?;
    Ok(())
}

fn element<W: Write>(xml: &mut Writer<W>, name: &str, text: &str) -> std::io::Result<()> {
    xml.create_element(name).write_text_content(BytesText::new(text)).map(drop)
}

/// A number of 128 bits as a UUID.
fn urn(id: u128) -> String {
    let hex = format!("{id:032x}");
    format!("urn:uuid:{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
