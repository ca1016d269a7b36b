//! References of a document, resolved against its URL and its `<base>`: one rule for the link scan and for rewriting.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use url::{ParseError, Url};

use crate::web::charset;
use crate::web::url::{CanonicalUrl, with_two_slashes};

/// The base of a document, and the encoding in which its queries are written.
#[derive(Clone, Debug)]
pub struct Resolver {
    base: Url,
    uses_base: bool,
    encoding: &'static Encoding,
}

/// The URL that a reference leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The URL, without its fragment.
    pub url: CanonicalUrl,
    /// The fragment, without its `#`.
    pub fragment: Option<String>,
}

impl Resolver {
    /// Resolves against the page's `<base>` (itself resolved), unless that is broken or of a scheme that the HTML
    /// standard passes over; then against `page`.
    pub fn new(page: &CanonicalUrl, base: Option<&str>, encoding: &'static Encoding) -> Option<Resolver> {
        let page = Url::parse(page.as_str()).ok()?;
        let stated = base.and_then(|base| page.join(&with_two_slashes(base)).ok());
        let base = stated.filter(|base| !matches!(base.scheme(), "data" | "javascript")).unwrap_or(page);
        Some(Resolver { base, uses_base: true, encoding })
    }

    /// Sets whether relative references have a base.
    pub(super) fn uses_base(&mut self, uses_base: bool) {
        self.uses_base = uses_base;
    }

    /// The base.
    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    /// Parses a reference.
    pub(super) fn parse(&self, reference: &str) -> Result<Url, ParseError> {
        let encode_query: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| charset::encode_query(query, self.encoding);
        let is_utf8 = [UTF_8, UTF_16LE, UTF_16BE].contains(&self.encoding);
        let parser = Url::options().base_url(self.uses_base.then_some(&self.base));
        let parser = if is_utf8 { parser } else { parser.encoding_override(Some(encode_query)) };
        parser.parse(&with_two_slashes(reference))
    }

    /// Returns where a reference leads; `None` for what is no http or https URL.
    pub fn resolve(&self, reference: &str) -> Option<Resolved> {
        if reference.len() > CanonicalUrl::LENGTH_MAX {
            return None;
        }
        let url = self.parse(reference).ok()?;
        let fragment = url.fragment().map(str::to_owned);
        Some(Resolved { url: CanonicalUrl::from_url(url).ok()?, fragment })
    }
}
