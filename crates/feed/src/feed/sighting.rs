//! Answers as the feed sees them: content, no content, or a redirect.

use serde::{Deserialize, Serialize};

use super::change::Reason;
use super::error::Result;
use super::key::{Key, Stored};
use crate::archive::{LinkFinder, Linking, Page, PageTexts, redirect};
use crate::container::KeyRecord;
use crate::similar::Signature;
use crate::web::url::CanonicalUrl;

/// The content of an answer, as far as the feed is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Seen {
    /// A document, which names another URL as canonical or does not. It has a signature where near-duplicates are
    /// looked for.
    Content { digest: [u8; 20], canonical: Option<String>, signature: Option<Signature> },
    /// The same document as in an earlier version, by the offset of its key record.
    Again { version: u64 },
    /// No document.
    Absent(Reason),
    /// A redirect.
    Moved { to: String, is_permanent: bool },
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sighting {
    pub url: String,
    pub stored: Stored,
    /// Milliseconds.
    pub captured: u64,
    pub seen: Seen,
}

impl Sighting {
    /// Its line for the sorter: by URL, then by time.
    pub fn to_line(&self, key: Key) -> Vec<u8> {
        let mut line = key.to_bytes().to_vec();
        line.extend(self.captured.to_be_bytes());
        postcard::to_extend(self, line).expect("a sighting has nothing that cannot be written")
    }

    /// Reads these.
    pub fn parse(line: &[u8]) -> Option<Sighting> {
        postcard::from_bytes(line.get(Key::BYTES + 8..)?).ok()
    }
}

/// Reads answers.
pub(super) struct Eye {
    finder: LinkFinder,
    /// True if near-duplicates are looked for.
    signs: bool,
}

impl Eye {
    pub fn new(signs: bool) -> Eye {
        Eye { finder: LinkFinder::new(0), signs }
    }

    /// Reads what `page`, the answer of `url`, says of it. Nothing where it says nothing: errors of servers, walls,
    /// limits, and what is no page of the site.
    pub fn look(&mut self, page: &Page, url: &CanonicalUrl) -> Result<Option<Seen>> {
        let record = page.parts().2;
        if record.robots || record.of_rendering || url.has_request() {
            return Ok(None);
        }
        match record.status {
            404 | 410 => Ok(Some(Seen::Absent(Reason::Gone))),
            300..304 | 305..400 => self.moved(page, url),
            200 | 304 => self.content(page, record, url),
            _ => Ok(None),
        }
    }

    fn moved(&mut self, page: &Page, url: &CanonicalUrl) -> Result<Option<Seen>> {
        let answer = page.answer()?;
        let is_permanent = matches!(answer.status, 301 | 308);
        let to = redirect(url, answer.status, &answer.headers);
        // a server that sends a visit back to where it came from may want a cookie
        let to = to.filter(|to| to.as_str() != url.as_str());
        Ok(to.map(|to| Seen::Moved { to: to.as_str().to_owned(), is_permanent }))
    }

    fn content(&mut self, page: &Page, record: &KeyRecord, url: &CanonicalUrl) -> Result<Option<Seen>> {
        match record.kind {
            Some(kind) if kind.is_refusal() => return Ok(None),
            Some(_) => return Ok(Some(Seen::Absent(Reason::Kind))),
            None => {}
        }
        if !page.is_document()? {
            let is_confirmed = record.status == 200;
            return Ok(is_confirmed.then_some(Seen::Absent(Reason::Kind)));
        }
        if let Some(version) = record.payload_at {
            return Ok(Some(Seen::Again { version }));
        }
        self.read(page, url).map(Some)
    }

    /// Reads a page with content.
    pub fn read(&mut self, page: &Page, url: &CanonicalUrl) -> Result<Seen> {
        let signature = if self.signs { signature(page)? } else { None };
        Ok(Seen::Content { digest: page.digest_sha1(), canonical: self.canonical(page, url)?, signature })
    }

    /// The URL that the page names as canonical, if it is another one.
    fn canonical(&mut self, page: &Page, url: &CanonicalUrl) -> Result<Option<String>> {
        let (answer, rendered) = (page.answer()?, page.rendered()?);
        let content_type = answer.content_type();
        let answer = Linking {
            url,
            status: answer.status,
            headers: &answer.headers,
            content_type: if rendered.is_some() { Some(HTML) } else { content_type.as_deref() },
            body: rendered.as_deref().map_or(&answer.body, str::as_bytes),
        };
        let canonical = self.finder.canonical(&answer).filter(|canonical| canonical.as_str() != url.as_str());
        Ok(canonical.map(|canonical| canonical.as_str().to_owned()))
    }
}

/// The signature of the text that a document has.
pub(super) fn signature(page: &Page) -> Result<Option<Signature>> {
    Ok(Signature::of(&PageTexts::read(page)?.text))
}

const HTML: &str = "text/html; charset=utf-8";
