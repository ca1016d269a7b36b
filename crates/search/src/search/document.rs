//! A page as a document of the index.

use tantivy::TantivyDocument;

use super::analyzer::value;
use super::error::Result;
use super::fields::Fields;
use super::near;
use crate::archive::{Page, PageTexts};
use crate::clock::Time;
use crate::warc::digest;
use crate::web::kind::Kind;
use crate::web::url::CanonicalUrl;

/// Domains above a host by which it is found.
const DOMAINS_MAX: usize = 32;
/// The word for pages that are what was asked for.
pub(super) const CONTENT: &str = "content";

/// A page, as far as it is searched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Searchable<'a> {
    /// Its URL.
    pub url: &'a str,
    /// The time of its capture.
    pub captured: Time,
    /// Its media type.
    pub media_type: &'a str,
    /// Its language by the name in ISO 639-3; empty where it is not known.
    pub language: &'a str,
    /// The kind of what came in the place of content; nothing for content.
    pub kind: Option<&'a str>,
    /// The digest of its body.
    pub digest: &'a str,
    /// The id of its WARC record.
    pub record: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Its headings, a line for each.
    pub headings: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// A page as it is indexed.
pub(super) struct Indexed {
    pub document: TantivyDocument,
    /// Bytes of its texts.
    pub bytes: usize,
}

/// Reads `page` and makes its document.
pub(super) fn read(page: &Page, fields: &Fields) -> Result<Indexed> {
    let (record, texts) = (page.parts().2, PageTexts::read(page)?);
    let page = Searchable {
        url: &record.url,
        captured: record.time,
        media_type: &record.mime,
        language: texts.language,
        kind: record.kind.map(Kind::text),
        digest: &digest(record.payload_sha1),
        record: &texts.record,
        title: &texts.title,
        headings: &texts.headings,
        text: &texts.text,
    };
    Ok(document(&page, fields))
}

/// The document of a page.
pub(super) fn document(page: &Searchable<'_>, fields: &Fields) -> Indexed {
    let mut document = TantivyDocument::default();
    let Searchable { url, captured, language, title, headings, text, .. } = *page;
    let host = CanonicalUrl::host_of(url);
    domains(&host).for_each(|domain| document.add_text(fields.site, domain));
    let (year, month, ..) = captured.civil();
    for (field, text) in [
        (fields.url, url),
        (fields.host, &host),
        (fields.media_type, page.media_type),
        (fields.language, language),
        (fields.kind, page.kind.unwrap_or(CONTENT)),
        (fields.digest, page.digest),
        (fields.record, page.record),
        (fields.title, &value(language, title)),
        (fields.headings, &value(language, headings)),
        (fields.text, &value(language, text)),
        (fields.address, &value("", url)),
        (fields.shown_title, title),
        (fields.shown_text, text),
    ] {
        document.add_text(field, text);
    }
    document.add_u64(fields.captured, captured.ms());
    document.add_u64(fields.month, year * 100 + month);
    near::parts(text).into_iter().for_each(|part| document.add_u64(fields.near, part));
    let bytes = 2 * (title.len() + text.len()) + headings.len() + 3 * url.len();
    Indexed { document, bytes }
}

/// The host, and every domain above it; of an address itself alone.
fn domains(host: &str) -> impl Iterator<Item = &str> {
    let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
    let mut next = Some(host).filter(|host| !host.is_empty());
    std::iter::from_fn(move || {
        let domain = next?;
        let above = domain.split_once('.').map(|(_, above)| above);
        next = above.filter(|above| !is_address && !above.is_empty());
        Some(domain)
    })
    .take(DOMAINS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_by_the_domains_above_it_and_an_address_by_itself() {
        let of = |host| domains(host).collect::<Vec<_>>();
        assert_eq!(of("www.a.example"), ["www.a.example", "a.example", "example"]);
        assert_eq!(of("127.0.0.1"), ["127.0.0.1"]);
        assert_eq!(of("[::1]"), ["[::1]"]);
        assert_eq!(of(""), [""; 0]);
    }
}
