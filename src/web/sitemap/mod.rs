//! Sitemaps: files in which a site lists its URLs (<https://www.sitemaps.org/protocol.html>).
//!
//! The content decides whether a body is one, not its name or type: XML whose root element is `urlset` or
//! `sitemapindex`, an RSS or Atom feed, or text with a URL a line. It may be gzipped as a file, beside any content
//! coding. Of the entries only the URLs are used, with those of images, videos and translations beside them: `lastmod`,
//! `changefreq` and `priority` say nothing that could be relied on, and the frontier has an order of its own. Whose URLs a sitemap may list is not judged here either: the scope
//! does that.
//!
//! It reads forward only, holds one URL at a time beside the decoded file, and takes time linear in that. The bounds
//! are those of the protocol, [`URLS_MAX`] and [`BYTES_MAX`]; what is beyond is counted or cut. There is no DTD and no
//! entity but the five of XML and the numeric ones: a URL that uses another one is dropped, so neither a file nor a
//! million laughs come in. What is broken is read as far as it goes.
//!
//! The XML is taken apart by `quick-xml`: it is a pull parser without recursion, it knows no external entities, it goes
//! on behind what is ill-formed, and it brings no other crate along.

#[cfg(test)]
mod tests;
mod xml;

use std::borrow::Cow;

use super::charset;
use super::coding::{self, Decoded};

/// URLs that are taken from one file.
pub const URLS_MAX: u64 = 50_000;
/// Bytes of a file without its codings that are read.
pub const BYTES_MAX: usize = 50 << 20;
/// The root element, or the first line, has to stand among the first so many bytes.
const START_BYTES: usize = 8 << 10;
/// What a gzipped file starts with.
const GZIP_MAGIC: &[u8] = b"\x1f\x8b\x08";

/// What a URL in a sitemap leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A page.
    Page,
    /// Another sitemap, which an index names.
    Sitemap,
    /// What the entry of a page names beside it: an image, a video, the page in another language.
    Beside,
}

/// How the entries are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    UrlSet,
    Index,
    Rss,
    Atom,
    Text,
}

/// What was in a sitemap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// URLs that were handed out, without those beside.
    pub urls: u64,
    /// URLs beside that were handed out. They have a bound of their own: where each of a page's translations names all
    /// others, they are many more than the pages.
    pub beside: u64,
    /// Those beyond [`URLS_MAX`], longer than any URL, or with entities that nobody knows.
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

/// Hands the URLs of a sitemap to `found`, as they are written, blanks around them removed; they may be relative, or
/// no URLs at all. `None`, and nothing is handed out, where the body is no sitemap.
pub fn read(body: Body<'_>, found: &mut dyn FnMut(Entry, &str)) -> Option<Summary> {
    let format = format(body)?;
    let Decoded { bytes, complete } = plain(body, coding::within_ratio(body.bytes.len(), BYTES_MAX));
    let text = text(body, &bytes);
    let mut sink = Sink { found, summary: Summary { cut: !complete, ..Summary::default() } };
    match format {
        Format::Text => lines(&text).for_each(|line| sink.take(Entry::Page, line)),
        format => xml::read(format, &text, &mut sink),
    }
    Some(sink.summary)
}

/// What the start of a body shows it to be.
fn format(body: Body<'_>) -> Option<Format> {
    let bytes = plain(body, START_BYTES).bytes;
    let text = text(body, &bytes);
    let start = text.trim_start();
    if start.starts_with('<') {
        return xml::format(start);
    }
    let essence = body.content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let may_be_text = essence.is_empty() || essence.eq_ignore_ascii_case("text/plain") || is_gzip(body);
    // a line that was cut is none
    let first = start.split(['\n', '\r']).next().filter(|line| line.len() < START_BYTES / 2)?;
    (may_be_text && lines(first).next().is_some()).then_some(Format::Text)
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
    let decoded = coding::decode(body.content_encoding, body.bytes, bytes_max);
    if !decoded.bytes.starts_with(GZIP_MAGIC) {
        return decoded;
    }
    let file = coding::decode(Some("gzip"), &decoded.bytes, bytes_max);
    Decoded { bytes: Cow::Owned(file.bytes.into_owned()), complete: decoded.complete && file.complete }
}

fn text<'a>(body: Body<'_>, bytes: &'a [u8]) -> Cow<'a, str> {
    charset::to_utf8(bytes, charset::of_xml(bytes, body.content_type))
}

/// Where the URLs go: counts them and keeps the bound.
struct Sink<'a> {
    found: &'a mut dyn FnMut(Entry, &str),
    summary: Summary,
}

impl Sink<'_> {
    fn take(&mut self, entry: Entry, url: &str) {
        if url.is_empty() {
            return;
        }
        let count = if entry == Entry::Beside { &mut self.summary.beside } else { &mut self.summary.urls };
        if *count >= URLS_MAX {
            return self.drop_one();
        }
        *count += 1;
        (self.found)(entry, url);
    }

    fn drop_one(&mut self) {
        self.summary.dropped += 1;
    }
}
