//! Values that a scan has found in a document, as they are written there, to be resolved when the document is at its
//! end.
//!
//! All values are one text, with the ends of each. Their number and their lengths are bounded, and so is all else that
//! a scan does with what it found.

use super::LinkKind;
use super::lazy::{LAZY_ATTRIBUTES, LazyNames};
use super::syntax::{Syntax, lazy_syntax};
use super::text::AnchorTexts;
use crate::web::css;
use crate::web::directives::RobotsDirectives;
use crate::web::references::push_value;
use crate::web::statements::Statements;
use crate::web::url::CanonicalUrl;
use crate::web::values::{Role, refresh_url, srcset_urls};

/// Licences of a document that are looked at.
const LICENSES_MAX: usize = 16;
/// Bytes of the reference of a licence, as written.
const LICENSE_BYTES_MAX: usize = 2_048;

/// Values of a document, and what else it says of itself.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) text: String,
    pub(super) values: Vec<(usize, LinkKind)>,
    values_max: usize,
    pub(super) base: Option<String>,
    pub(super) dropped: u32,
    pub(super) directives: RobotsDirectives,
    /// Statements of its meta elements about its use.
    pub(super) statements: Statements,
    /// References of its licences, as written, until the base of the page is known.
    pub(super) licenses: Vec<String>,
    pub(super) scratch: String,
    pub(super) scripts: usize,
    pub(super) anchors: usize,
    /// Bytes of text without raw text, without the blanks around each piece.
    pub(super) text_bytes: usize,
    /// It names its own icon.
    pub(super) has_icon: bool,
    /// Texts of anchors, where they are wanted.
    pub(super) texts: Option<AnchorTexts>,
    /// Attributes whose pictures scripts load.
    pub(super) lazy_names: LazyNames,
}

impl Found {
    /// Nothing yet; at most `values_max` values later.
    pub(super) fn new(values_max: usize) -> Self {
        Found {
            text: String::new(),
            values: Vec::new(),
            values_max,
            base: None,
            dropped: 0,
            directives: RobotsDirectives::default(),
            statements: Statements::default(),
            licenses: Vec::new(),
            scratch: String::new(),
            scripts: 0,
            anchors: 0,
            text_bytes: 0,
            has_icon: false,
            texts: None,
            lazy_names: LazyNames::new(&LAZY_ATTRIBUTES),
        }
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.values.clear();
        self.base = None;
        self.statements = Statements::default();
        self.licenses.clear();
        (self.dropped, self.scripts, self.anchors, self.text_bytes) = (0, 0, 0, 0);
        self.has_icon = false;
    }

    /// Forgets the values beyond the first `count`: they were in a tag that does not end.
    pub(super) fn truncate(&mut self, count: usize) {
        self.values.truncate(count);
        self.text.truncate(self.values.last().map_or(0, |&(end, _)| end));
    }

    /// The value of this number.
    pub(super) fn value(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.values[before].0);
        &self.text[start..self.values[number].0]
    }

    /// The numbers of all values: as they are in the document, or with the links beside its content behind the others.
    pub(super) fn in_order(&self, asides_last: bool) -> impl Iterator<Item = usize> {
        let is_aside = |&number: &usize| self.values[number].1 == LinkKind::Aside;
        let all = 0..self.values.len();
        let (first, last) = if asides_last { (all.clone(), all) } else { (all, 0..0) };
        first.filter(move |number| !asides_last || !is_aside(number)).chain(last.filter(is_aside))
    }

    /// Adds the value of an attribute, as written.
    pub(super) fn add(&mut self, value: Option<&[u8]>, kind: LinkKind) {
        let Some(value) = value else { return };
        if is_no_url(value, kind) {
            return;
        }
        if self.has_room_for(value.len()) {
            push_value(value, &mut self.text);
            self.values.push((self.text.len(), kind));
        }
    }

    /// Adds the reference of a licence, as written.
    pub(super) fn add_license(&mut self, value: Option<&[u8]>) {
        let Some(value) = value.filter(|_| self.licenses.len() < LICENSES_MAX) else { return };
        if value.len() <= LICENSE_BYTES_MAX {
            let mut reference = String::new();
            push_value(value, &mut reference);
            self.licenses.push(reference);
        }
    }

    /// Adds a URL without character references.
    pub(super) fn add_text(&mut self, url: &str, kind: LinkKind) {
        if !is_no_url(url.as_bytes(), kind) && self.has_room_for(url.len()) {
            self.text.push_str(url);
            self.values.push((self.text.len(), kind));
        }
    }

    /// Adds what a document of another format names.
    pub(super) fn add_role(&mut self, role: Role, url: &str) {
        self.add_text(url, if role == Role::Part { LinkKind::Embed } else { LinkKind::Other });
    }

    fn has_room_for(&mut self, bytes: usize) -> bool {
        let has_room = bytes <= CanonicalUrl::LENGTH_MAX && self.values.len() < self.values_max;
        self.dropped = self.dropped.saturating_add(u32::from(!has_room));
        has_room
    }

    /// Decodes the value of an attribute, and hands it to `each`.
    pub(super) fn decoded(&mut self, value: &[u8], each: impl FnOnce(&mut Self, &str)) {
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        push_value(value, &mut text);
        each(self, &text);
        self.scratch = text;
    }

    pub(super) fn add_srcset(&mut self, value: Option<&[u8]>) {
        let Some(value) = value else { return };
        self.decoded(value, |found, text| {
            srcset_urls(text).for_each(|url| found.add_text(url, LinkKind::Embed));
        });
    }

    /// Adds what a `style` attribute names. Few of them name anything, and fewer hide it behind a reference.
    pub(super) fn add_style(&mut self, value: &[u8]) {
        if css::may_name(value) || memchr::memmem::find(value, b"&#").is_some() {
            self.decoded(value, |found, text| found.add_css(text));
        }
    }

    /// Adds what a sheet names.
    pub(super) fn add_css(&mut self, sheet: &str) {
        css::urls(sheet, &mut |url| self.add_text(url, LinkKind::Embed));
    }

    /// Adds the value of an attribute that a script reads: a URL, a `srcset` or properties of CSS.
    pub(super) fn add_lazy(&mut self, name: &[u8], value: &[u8]) {
        match lazy_syntax(name, value) {
            Some(Syntax::Css) => self.add_style(value),
            Some(Syntax::Srcset) => self.add_srcset(Some(value)),
            Some(_) => self.add(Some(value), LinkKind::Embed),
            None => {}
        }
    }

    /// The first `<base>` that has a `href` counts.
    pub(super) fn set_base(&mut self, value: Option<&[u8]>) {
        if let (None, Some(value)) = (&self.base, value) {
            let mut base = String::new();
            push_value(value, &mut base);
            base.truncate(if base.len() > CanonicalUrl::LENGTH_MAX { 0 } else { base.len() });
            self.base = Some(base);
        }
    }

    /// Adds the target of a `<meta http-equiv=refresh>`.
    pub(super) fn add_refresh(&mut self, content: &[u8]) {
        self.decoded(content, |found, text| {
            if let Some(url) = refresh_url(text) {
                found.add_text(url, LinkKind::Refresh);
            }
        });
    }
}

/// True if a value names nothing that could be fetched: a URL of a scheme that is not crawled; for what is part of a
/// page, the page itself.
fn is_no_url(value: &[u8], kind: LinkKind) -> bool {
    let value = value.trim_ascii_start();
    let is_self = matches!(value.first(), None | Some(b'#'));
    is_self && kind == LinkKind::Embed || is_of_other_scheme(value)
}

/// True if a value names a scheme that is not crawled: sorts out `javascript:` and `data:` before they are copied. A
/// value that hides its scheme (blanks within, references) is left to the URL parser.
fn is_of_other_scheme(value: &[u8]) -> bool {
    let is_scheme_byte = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = value.iter().take(32).take_while(|byte| is_scheme_byte(byte)).count();
    value.first().is_some_and(u8::is_ascii_alphabetic)
        && value.get(length) == Some(&b':')
        && !value[..length].eq_ignore_ascii_case(b"http")
        && !value[..length].eq_ignore_ascii_case(b"https")
}
