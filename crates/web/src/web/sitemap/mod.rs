//! Sitemaps and feeds: files in which a site lists its URLs (<https://www.sitemaps.org/protocol.html>).
//!
//! The content decides whether a body is one, not its name or type: XML whose root element is `urlset` or
//! `sitemapindex`, a feed (RSS of any version, Atom, JSON Feed), or text with a URL a line. It may be gzipped as a
//! file, under any content coding. Of the entries the URLs are used, with the URLs of images, videos and translations
//! that they name, and the date of the last change (`lastmod`, `pubDate`, `dc:date`, `updated`, `date_modified`); which
//! dates are believed is the matter of [`Written`]. `changefreq` and `priority` say nothing that could be relied on,
//! and the frontier has its own order. Whose URLs a sitemap may list is not judged here either: the scope does that.
//!
//! It reads forward only, has one URL at a time in memory besides the decoded file, and takes time linear in that. The
//! bounds are the protocol's, [`URLS_MAX`] and [`BYTES_MAX`]; what is beyond is counted or cut. There is no DTD and no
//! entity but the five of XML and the numeric ones: a URL that uses another one is dropped, so neither a file nor a
//! million laughs come in. What is broken is read as far as it goes.
//!
//! The XML is taken apart by `quick-xml`: it is a pull parser without recursion, it knows no external entities, it goes
//! on behind what is ill-formed, and it brings no other crate along. JSON is read by `serde_json`, item by item, no
//! deeper than its 128 levels.

mod dates;
mod json;
#[cfg(test)]
mod tests;
mod xml;

use std::borrow::Cow;

pub(super) use dates::month_of;
pub use dates::{Written, of_the_file};

use super::charset;
use super::coding::{self, Decoded, GZIP_MAGIC};
use super::url::CanonicalUrl;

/// URLs that are taken from one file.
pub const URLS_MAX: u64 = 50_000;
/// Bytes of a file without its codings that are read.
pub const BYTES_MAX: usize = 50 << 20;
/// The root element, or the first line, has to be among this many first bytes.
const START_BYTES: usize = 8 << 10;

/// Targets that a URL in a sitemap leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A page.
    Page,
    /// Another sitemap, which an index names.
    Sitemap,
    /// A URL that the entry of a page names besides the page: an image, a video, the page in another language.
    Beside,
    /// The page of a feed that goes on with it (RFC 5005), or its archive.
    Next,
}

impl Entry {
    /// Returns whether it is named besides the pages and sitemaps of a file, and has no date.
    pub fn is_beside(self) -> bool {
        matches!(self, Entry::Beside | Entry::Next)
    }
}

/// Pieces that a reader is handed, in the order of the file.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A URL as it is written, blanks around it removed; it may be relative, or no URL at all.
    Url(Entry, &'a str),
    /// The end of an entry, with the date of its last change: the date of the pages and sitemaps since the end before.
    End(Option<Written>),
}

/// Formats of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A sitemap: `urlset`.
    UrlSet,
    /// A sitemap that names others: `sitemapindex`.
    Index,
    /// RSS 0.9x, 1.0, 2.0.
    Rss,
    /// Atom.
    Atom,
    /// JSON Feed.
    JsonFeed,
    /// A URL a line.
    Text,
}

/// Kinds of answer to those who look at it again: pages change by themselves, sitemaps and feeds with their site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything else.
    Page,
    /// A sitemap of any form, or an index of sitemaps.
    Sitemap,
    /// A feed.
    Feed,
}

impl Format {
    /// Returns the kind, which is a sitemap or a feed.
    pub fn kind(self) -> Kind {
        match self {
            Format::UrlSet | Format::Index | Format::Text => Kind::Sitemap,
            Format::Rss | Format::Atom | Format::JsonFeed => Kind::Feed,
        }
    }

    /// One word for crawl.log.
    pub fn note(self) -> &'static str {
        match self {
            Format::UrlSet => "sitemap",
            Format::Index => "sitemapIndex",
            Format::Text => "textSitemap",
            Format::Rss => "rss",
            Format::Atom => "atom",
            Format::JsonFeed => "jsonFeed",
        }
    }

    /// A name for people.
    pub fn name(self) -> &'static str {
        match self {
            Format::UrlSet => "a sitemap",
            Format::Index => "an index of sitemaps",
            Format::Text => "a text sitemap",
            Format::Rss => "an RSS feed",
            Format::Atom => "an Atom feed",
            Format::JsonFeed => "a JSON feed",
        }
    }
}

/// Summary of a sitemap that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The format of its entries.
    pub format: Format,
    /// URLs that were handed out, without those in `beside`.
    pub urls: u64,
    /// URLs that entries name besides their pages, and next pages, that were handed out. They have their own bound:
    /// where each of a page's translations names all others, they are many more than the pages.
    pub beside: u64,
    /// URLs beyond [`URLS_MAX`], longer than any URL, or with entities that nobody knows.
    pub dropped: u64,
    /// The file was read in part only: it is longer than [`BYTES_MAX`], or its coding is damaged or a bomb.
    pub cut: bool,
}

/// A body as it came.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// Its Content-Type.
    pub content_type: Option<&'a str>,
    /// Its Content-Encoding.
    pub content_encoding: Option<&'a str>,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Claims that a body is a sitemap, by who makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// robots.txt or another sitemap: it may have any form.
    Named,
    /// Nobody, but it may be one, as a seed may be: text counts only where it is nothing but URLs, a line each, and
    /// comments.
    Possible,
    /// Nobody, and most are none, as what a page links to: only XML and JSON count, which say themselves what they are.
    Unlikely,
}

/// Returns the format that the start of a body shows; `None` for what is no sitemap.
pub fn format(body: Body<'_>, claim: Claim) -> Option<Format> {
    let bytes = plain(body, START_BYTES).bytes;
    let text = text(body, &bytes);
    let start = text.trim_start();
    if start.starts_with('<') {
        return xml::format(start);
    }
    if start.starts_with('{') {
        return json::is_feed(start).then_some(Format::JsonFeed);
    }
    let essence = body.content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let may_be_text = essence.is_empty() || essence.eq_ignore_ascii_case("text/plain") || is_gzip(body);
    // a line that was cut is none
    let first = start.split(['\n', '\r']).next().filter(|line| line.len() < START_BYTES / 2)?;
    let is_text = match claim {
        Claim::Named => lines(first).next().is_some(),
        Claim::Possible => is_nothing_but_urls(start),
        Claim::Unlikely => false,
    };
    (may_be_text && is_text).then_some(Format::Text)
}

/// Hands the entries of a sitemap of this format to `found`. `document` is the URL that it came from, which relative
/// bases within it are resolved against.
pub fn read(format: Format, body: Body<'_>, document: &CanonicalUrl, found: &mut dyn FnMut(Item<'_>)) -> Summary {
    let decoded = plain(body, coding::within_ratio(body.bytes.len(), BYTES_MAX));
    let (is_cut, bytes) = (!decoded.is_whole(), decoded.bytes);
    let text = text(body, &bytes);
    let summary = Summary { format, urls: 0, beside: 0, dropped: 0, cut: is_cut };
    let mut sink = Sink { found, summary };
    match format {
        Format::Text => lines(&text).for_each(|line| sink.take(Entry::Page, line)),
        Format::JsonFeed => json::read(&text, &mut sink),
        format => xml::read(format, &text, document, &mut sink),
    }
    sink.summary
}

/// True if all lines of a text are URLs, but for comments; there is one at least, and the last one may have been cut.
fn is_nothing_but_urls(start: &str) -> bool {
    let said = start.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let urls = lines(start).filter(|line| !line.contains(char::is_whitespace)).count();
    urls > 0 && urls == said.count()
}

/// The lines that are absolute URLs by their looks.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let is_url = |line: &&str| {
        let starts = |scheme: &str| line.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
        starts("http://") || starts("https://")
    };
    text.split(['\n', '\r']).map(str::trim).filter(is_url)
}

fn is_gzip(body: Body<'_>) -> bool {
    coding::decode(body.content_encoding, body.bytes, GZIP_MAGIC.len()).bytes.starts_with(GZIP_MAGIC)
}

/// The first `bytes_max` bytes without codings, and without the gzip of the file itself.
fn plain(body: Body<'_>, bytes_max: usize) -> Decoded<'_> {
    coding::decode_file(body.content_encoding, body.bytes, bytes_max)
}

fn text<'a>(body: Body<'_>, bytes: &'a [u8]) -> Cow<'a, str> {
    charset::to_utf8(bytes, charset::of_xml(bytes, body.content_type))
}

/// Receiver of the URLs: counts them and keeps the bound.
struct Sink<'a> {
    found: &'a mut dyn FnMut(Item<'_>),
    summary: Summary,
}

impl Sink<'_> {
    fn take(&mut self, entry: Entry, url: &str) {
        if url.is_empty() {
            return;
        }
        let count = if entry.is_beside() { &mut self.summary.beside } else { &mut self.summary.urls };
        if *count >= URLS_MAX {
            return self.drop_one();
        }
        *count += 1;
        (self.found)(Item::Url(entry, url));
    }

    /// An entry ends that was changed at this date.
    fn end(&mut self, modified: Option<Written>) {
        (self.found)(Item::End(modified));
    }

    fn drop_one(&mut self) {
        self.summary.dropped += 1;
    }
}
