//! A page of the archive as a document of the index.

use std::panic::{AssertUnwindSafe, catch_unwind};

use data_encoding::BASE32;
use tantivy::TantivyDocument;

use super::analyzer::value;
use super::error::Result;
use super::fields::Fields;
use super::near;
use crate::archive::{Answer, Page};
use crate::clock::Time;
use crate::container::KeyRecord;
use crate::reading::page::{headings_of, html_of, is_page_type, subject_of, title_of};
use crate::reading::tree::{TIME_MAX, parse};
use crate::reading::{Fact, Facts};
use crate::web::format::Format;
use crate::web::kind::Kind;
use crate::web::url::CanonicalUrl;

/// Bytes of a page's text that are indexed.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Bytes of its title, and of all its headings.
const TITLE_BYTES_MAX: usize = 4 << 10;
const HEADINGS_BYTES_MAX: usize = 64 << 10;
/// Domains above a host by which it is found.
const DOMAINS_MAX: usize = 32;
/// The word for pages that are what was asked for.
pub(super) const CONTENT: &str = "content";

/// A page as it is indexed.
pub(super) struct Indexed {
    pub document: TantivyDocument,
    /// Bytes of its texts.
    pub bytes: usize,
}

/// The texts of a page.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Texts {
    pub title: String,
    pub headings: String,
    pub text: String,
    pub language: &'static str,
}

/// True if this version of a URL is a page, as other commands take it: HTML or Markdown with status 200, a 304 that
/// confirms such a page, or a document of which the crawl has made one.
pub(super) fn is_page(page: &Page) -> Result<bool> {
    let record = page.parts().2;
    if record.robots || !(record.status == 200 || record.status == 304 && record.payload_at.is_some()) {
        return Ok(false);
    }
    if is_page_type(&record.mime) {
        return Ok(true);
    }
    Ok(Format::may_be(Some(&record.mime)) && page.is_rendered()?)
}

/// Reads `page` and makes its document.
pub(super) fn read(page: &Page, fields: &Fields) -> Result<Indexed> {
    let (exchange, answer) = page.exchange_and_answer()?;
    let id = exchange.last().and_then(|stored| stored.record.field("WARC-Record-ID")).unwrap_or_default().to_owned();
    let texts = texts(page.rendered()?, &answer);
    Ok(document(page.parts().2, &id, &texts, fields))
}

/// The texts of a page. One that has no tree within the limits, or breaks the parser, has none.
fn texts(rendered: Option<String>, answer: &Answer) -> Texts {
    let read = || {
        let html = rendered.unwrap_or_else(|| html_of(&answer.body, answer.content_type().as_deref()));
        let content_language = answer.header("content-language").and_then(|value| std::str::from_utf8(value).ok());
        texts_of(&html, content_language)
    };
    catch_unwind(AssertUnwindSafe(read)).ok().flatten().unwrap_or_default()
}

fn texts_of(html: &str, content_language: Option<&str>) -> Option<Texts> {
    let tree = parse(html, TIME_MAX).ok()?;
    let text = cut(subject_of(html).unwrap_or_default(), TEXT_BYTES_MAX);
    let facts = Facts { tree: &tree, text: &text, base: None, content_language, url: None, fetched: Time::ZERO };
    let language = facts.get(Fact::Language).as_str().and_then(crate::reading::facts::code_of_tag).unwrap_or_default();
    let title = cut(title_of(&tree).unwrap_or_default(), TITLE_BYTES_MAX);
    let headings = cut(headings_of(&tree).collect::<Vec<_>>().join("\n"), HEADINGS_BYTES_MAX);
    Some(Texts { title, headings, text, language })
}

fn document(record: &KeyRecord, id: &str, texts: &Texts, fields: &Fields) -> Indexed {
    let mut document = TantivyDocument::default();
    let Texts { title, headings, text, language } = texts;
    let host = host_of(&record.url);
    domains(&host).for_each(|domain| document.add_text(fields.site, domain));
    let (year, month, ..) = record.time.civil();
    for (field, text) in [
        (fields.url, record.url.as_str()),
        (fields.host, &host),
        (fields.media_type, &record.mime),
        (fields.language, language),
        (fields.kind, record.kind.map_or(CONTENT, Kind::text)),
        (fields.digest, &format!("sha1:{}", BASE32.encode(&record.payload_sha1))),
        (fields.record, id),
        (fields.title, &value(language, title)),
        (fields.headings, &value(language, headings)),
        (fields.text, &value(language, text)),
        (fields.address, &value("", &record.url)),
        (fields.shown_title, title),
        (fields.shown_text, text),
    ] {
        document.add_text(field, text);
    }
    document.add_u64(fields.captured, record.time.ms());
    document.add_u64(fields.month, year * 100 + month);
    near::parts(text).into_iter().for_each(|part| document.add_u64(fields.near, part));
    let bytes = 2 * (title.len() + text.len()) + headings.len() + 3 * record.url.len();
    Indexed { document, bytes }
}

/// The host of a URL of the archive; nothing where it has none.
pub(super) fn host_of(url: &str) -> String {
    CanonicalUrl::parse(url).ok().map(|url| url.host().to_owned()).unwrap_or_default()
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

/// The beginning of a text.
fn cut(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
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

    #[test]
    fn a_page_has_its_title_headings_main_text_and_language() {
        let text = "The crawler stores every page that it has seen, and goes on after a power cut without a loss. ";
        let html = format!("<title>T</title><nav>Menu</nav><main><h1>Head</h1><p>{}</p></main>", text.repeat(5));
        let texts = texts_of(&html, None).unwrap();
        assert_eq!((texts.title.as_str(), texts.headings.as_str(), texts.language), ("T", "Head", "eng"));
        assert!(texts.text.contains("power cut") && !texts.text.contains("Menu"), "{}", texts.text);
    }
}
