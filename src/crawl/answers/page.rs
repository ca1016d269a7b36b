//! One capture: its citation, its text, its links, and how it differs from another one.

use super::fault;
use crate::answers::answer::Field;
use crate::answers::question::{BODY_BYTES_MAX, LinksOf, TextOf};
use crate::answers::{Citation, Difference, Link, Links, Problem, Stored, Text, unified};
use crate::archive::{Answer, FoundLink, History, LinkFinder, Linking, Page, redirect};
use crate::reading::page::{html_of, is_page, main_of, title_of};
use crate::reading::tree::{TIME_MAX, parse};
use crate::reading::{Form, compared, rendered_lines};
use crate::text::figures::iso_ms;
use crate::warc::digest;
use crate::web::mime;
use crate::web::url::CanonicalUrl;

/// A capture that was read.
pub(super) struct Wanted {
    citation: Citation,
    answer: Answer,
    /// The type that its head states; without one, the type in the index.
    content_type: Option<String>,
    /// The page as a rendering left it, or as it was made of a document.
    rendered: Option<String>,
    /// The way on which the crawl found it.
    history: History,
}

impl Wanted {
    /// Reads it.
    pub(super) fn read(page: &Page) -> Result<Wanted, Problem> {
        if page.body_bytes() > BODY_BYTES_MAX as u64 {
            let bytes = crate::text::figures::size(page.body_bytes());
            return Err(Problem::TooMuch(format!("the body takes {bytes}: run crawler get")));
        }
        let (exchange, answer) = page.exchange_and_answer().map_err(fault)?;
        let (_, _, record) = page.parts();
        let of_answer = exchange.last().and_then(|stored| stored.record.field("WARC-Record-ID"));
        let citation = Citation {
            url: record.url.clone(),
            captured: iso_ms(record.time),
            record: of_answer.map(str::to_owned),
            digest: digest(record.payload_sha1),
        };
        let metadata = exchange.iter().find(|stored| stored.record.kind() == "metadata");
        let history = metadata.map_or_else(History::default, |stored| History::parse(&stored.record.block));
        let of_index = || Some(record.mime.clone()).filter(|mime| !mime.is_empty());
        let content_type = answer.content_type().or_else(of_index);
        Ok(Wanted { citation, answer, content_type, rendered: page.rendered().map_err(fault)?, history })
    }

    /// The capture as it was received.
    pub(super) fn stored(self) -> Result<Stored, Problem> {
        let Answer { status, headers, body, is_partial, .. } = self.answer;
        if body.len() > BODY_BYTES_MAX {
            let bytes = crate::text::figures::size(body.len() as u64);
            return Err(Problem::TooMuch(format!("the body takes {bytes}: run crawler get")));
        }
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = headers.iter().map(|(name, value)| Field { name: lossy(name), value: lossy(value) }).collect();
        let (text, base64) = match String::from_utf8(body) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(data_encoding::BASE64.encode(error.as_bytes()))),
        };
        Ok(Stored { citation: self.citation, status, headers, text, base64, partial: is_partial })
    }

    /// The text of the page.
    pub(super) fn text(self, question: &TextOf) -> Result<Text, Problem> {
        let content_type = self.content_type.as_deref();
        let essence = mime::essence(content_type);
        let location = self.url().and_then(|url| redirect(&url, self.answer.status, &self.answer.headers));
        let (title, whole) = match self.html() {
            Some(html) => self.of_page(&html, question.whole)?,
            None if self.answer.body.is_empty() => (None, String::new()),
            None => {
                let none = || Problem::Missing(format!("this capture is no text: its type is {essence}"));
                (None, compared::source_of(&self.answer.body, content_type).ok_or_else(none)?)
            }
        };
        let characters = whole.chars().count();
        let limit = question.limit;
        let text: String = whole.chars().skip(question.offset).take(limit).collect();
        let end = question.offset.saturating_add(limit);
        Ok(Text {
            status: self.answer.status,
            mime: essence,
            location: location.map(|url| url.as_str().to_owned()),
            title,
            text,
            characters,
            next: (end < characters).then_some(end),
            citation: self.citation,
        })
    }

    /// Title and text of a page of HTML.
    fn of_page(&self, html: &str, whole: bool) -> Result<(Option<String>, String), Problem> {
        let tree =
            parse(html, TIME_MAX).map_err(|why| Problem::TooMuch(format!("the page has no text here: {why}")))?;
        let text = if whole { None } else { main_of(html, Some(&self.citation.url), Form::Markdown) };
        Ok((title_of(&tree), text.unwrap_or_else(|| rendered_lines(&tree))))
    }

    /// The links of the page.
    pub(super) fn links(self, question: &LinksOf) -> Result<Links, Problem> {
        let (body, content_type) = self.shown();
        let url = self.url().ok_or_else(|| fault("its URL cannot be read"))?;
        let answer =
            Linking { url: &url, status: self.answer.status, headers: &self.answer.headers, content_type, body };
        let hops = || Ok::<_, Problem>(self.history.hops.clone());
        let found = LinkFinder::new(fastrand::u64(..)).links(&answer, hops)?.links;
        let limit = question.limit;
        let end = question.offset.saturating_add(limit);
        let total = found.len();
        let links = found.into_iter().skip(question.offset).take(limit).map(link).collect();
        Ok(Links { citation: self.citation, total, links, next: (end < total).then_some(end) })
    }

    /// The differences from this capture to a later one.
    pub(super) fn difference(self, to: &Wanted, limit: usize) -> Result<Difference, Problem> {
        let name = |wanted: &Wanted| format!("{}\t{}", wanted.citation.url, wanted.citation.captured);
        let unified = unified(&self.lines()?, &to.lines()?, &name(&self), &name(to));
        let shown: String = unified.chars().take(limit).collect();
        let partial = shown.len() < unified.len();
        Ok(Difference { from: self.citation, to: to.citation.clone(), unified: shown, partial })
    }

    /// The text by which it is compared.
    fn lines(&self) -> Result<String, Problem> {
        let (body, content_type) = self.shown();
        let none =
            || Problem::Missing(format!("the capture of {} is no text that can be compared", self.citation.captured));
        compared::lines_of(body, content_type).ok_or_else(none)
    }

    /// The body as a reader sees it, and its type: that of the page that the crawl made of it, if it did.
    fn shown(&self) -> (&[u8], Option<&str>) {
        match &self.rendered {
            Some(html) => (html.as_bytes(), Some("text/html; charset=utf-8")),
            None => (&self.answer.body, self.content_type.as_deref()),
        }
    }

    /// The page as HTML, if it is one, or if the crawl made one of it.
    fn html(&self) -> Option<String> {
        let (body, content_type) = self.shown();
        is_page(body, content_type).then(|| html_of(body, content_type))
    }

    fn url(&self) -> Option<CanonicalUrl> {
        CanonicalUrl::parse(&self.citation.url).ok()
    }
}

fn link(found: FoundLink) -> Link {
    Link { target: found.target.as_str().to_owned(), kind: found.kind, nofollow: found.nofollow, text: found.text }
}
