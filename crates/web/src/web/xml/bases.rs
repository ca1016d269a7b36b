//! `xml:base`: what the references of an element are resolved against (W3C, XML Base; RFC 4287, section 2).

use std::borrow::Cow;

use quick_xml::escape::unescape;
use quick_xml::events::BytesStart;
use url::Url;

use crate::web::url::CanonicalUrl;

/// Bases within one another that are followed.
const BASES_MAX: usize = 32;

/// The bases of the elements that a reader is in.
#[derive(Debug)]
pub struct Bases<'a> {
    document: &'a CanonicalUrl,
    /// Open elements.
    depth: usize,
    /// Bases by the depth of their element, the innermost last.
    open: Vec<(usize, Url)>,
}

impl<'a> Bases<'a> {
    /// The bases at the start of the document that came from this URL.
    pub(crate) fn of(document: &'a CanonicalUrl) -> Self {
        Bases { document, depth: 0, open: Vec::new() }
    }

    /// An element begins.
    pub(crate) fn enter(&mut self, element: &BytesStart<'_>) {
        self.depth += 1;
        let mut attributes = element.attributes();
        let mut attributes = attributes.with_checks(false).flatten();
        let stated = attributes.find(|attribute| attribute.key.as_ref() == "xml:base");
        let Some(stated) = stated.filter(|_| self.open.len() < BASES_MAX) else { return };
        let Ok(text) = unescape(&stated.value) else { return };
        let base = match self.open.last() {
            Some((_, outer)) => outer.join(text.trim()),
            None => Url::parse(self.document.plain()).and_then(|document| document.join(text.trim())),
        };
        let usable = base.ok().filter(|base| base.as_str().len() <= CanonicalUrl::LENGTH_MAX);
        self.open.extend(usable.map(|base| (self.depth, base)));
    }

    /// The element that began last ends.
    pub(crate) fn leave(&mut self) {
        self.open.pop_if(|(depth, _)| *depth == self.depth);
        self.depth = self.depth.saturating_sub(1);
    }

    /// Resolves `reference` where an element states a base; else it stays as it is, for the URL of the document.
    pub(crate) fn resolve<'t>(&self, reference: &'t str) -> Cow<'t, str> {
        let resolved =
            self.open.last().filter(|_| !reference.is_empty()).and_then(|(_, base)| base.join(reference).ok());
        let resolved = resolved.filter(|url| url.as_str().len() <= CanonicalUrl::LENGTH_MAX);
        resolved.map_or(Cow::Borrowed(reference), |url| Cow::Owned(url.into()))
    }
}
