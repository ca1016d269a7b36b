//! Documents with every URL replaced that a browser would follow or load.
//!
//! [`rewrite`] takes a page of HTML, XHTML or SVG, or a style sheet, as it is stored. It resolves each URL by the rules
//! of the crawl's link scan (`web::html::Resolver`), hands it to the caller's function, and writes what that returns
//! in its place. A URL for which it returns nothing becomes absolute, so it leads where it led before. Fragments stay.
//!
//! - The places are those of `web::html::places` and `web::css::places`, which use the tokenizers of the link scan:
//!   what the crawl has found is what is rewritten. A parser with a tree, or another tokenizer such as `lol_html`,
//!   would disagree with the scan on broken pages, and knows neither UTF-16 nor ISO-2022-JP.
//! - Bytes that need no change stay as they are, also where they mean nothing. The encoding stays.
//! - A `<base>` counts for resolving and loses its address. Digests of sheets and scripts, content security policies
//!   and hints to connect to servers are removed.
//! - Scripts and import maps are rewritten if [`Options::rewrites_scripts`] says so; linked data and the parts of
//!   applets are not.
//!
//! Takes time linear in the document, and memory for its places.

mod encoding;
mod script;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use encoding_rs::{Encoding, UTF_8};

use crate::web::css;
use crate::web::html::places::{Place, Placed, Places, places};
use crate::web::html::syntax::{Syntax, lazy_syntax, urls_in};
use crate::web::html::{Document, Resolver};
use crate::web::references::push_value;
use crate::web::tags::{Attribute, Tags};
use crate::web::url::CanonicalUrl;

pub use crate::web::html::places::Purpose;

/// Facts about a stored document.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The URL at which it was found.
    pub url: &'a CanonicalUrl,
    /// The Content-Type of the answer.
    pub content_type: Option<&'a str>,
    /// The kind of document that it is.
    pub document: Document,
}

/// Returns a script that runs at another origin, whose absolute URLs of modules lead elsewhere; see `script`.
pub fn rewrite_script<'a>(body: &'a [u8], lead: &mut dyn FnMut(&str) -> Option<String>) -> Cow<'a, [u8]> {
    let edits = script::edits(body, lead);
    if edits.is_empty() { Cow::Borrowed(body) } else { Cow::Owned(spliced(body, &edits)) }
}

/// Changes besides those of URLs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Removes `crossorigin` attributes: files have no origin that a browser would accept.
    pub removes_crossorigin: bool,
    /// Writes the encoding into the document, unless it is there: no Content-Type will say it.
    pub declares_encoding: bool,
    /// Markup in ASCII that is put before every element of a page but `html` and `head`.
    pub first: &'a str,
    /// Leaves references without a host as they are, and leads the base: the page is shown at the path that it had.
    pub keeps_relative: bool,
    /// Rewrites the scripts in the page, as [`rewrite_script`] does.
    pub rewrites_scripts: bool,
}

/// A URL in a document.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The URL, without its fragment.
    pub url: &'a CanonicalUrl,
    /// The use that the document has for it.
    pub purpose: Purpose,
    /// True if the document names it without a scheme and a host.
    pub is_relative: bool,
}

/// Says where a URL leads: another URL, absolute or relative and without a fragment, or nothing, to leave it.
pub type Lead<'a> = dyn FnMut(&Target<'_>) -> Option<String> + 'a;

/// Returns a document, whose `body` is without content coding, with its URLs led elsewhere; as it is, where nothing
/// changes or it is of a kind that is not rewritten.
pub fn rewrite<'a>(body: &'a [u8], source: &Source<'_>, options: Options<'_>, lead: &mut Lead<'_>) -> Cow<'a, [u8]> {
    let Source { url, content_type, document } = *source;
    let encoding = document.encoding(body, content_type);
    // the tokenizers need bytes in which `<` is `<`
    let is_wide = !encoding.is_ascii_compatible();
    let text = if is_wide { Cow::Owned(encoding::decoded(body, encoding).into_bytes()) } else { Cow::Borrowed(body) };
    let written = if is_wide { UTF_8 } else { encoding };
    let is_xml = matches!(document, Document::Xhtml | Document::Svg);
    let found = match document {
        Document::Html | Document::Xhtml | Document::Svg => places(&text, is_xml),
        Document::Css => Places::default(),
        _ => return Cow::Borrowed(body),
    };
    let base = found.base.map(|base| value_of(base, written));
    let Some(resolver) = Resolver::new(url, base.as_deref(), encoding) else { return Cow::Borrowed(body) };
    let kept_base = base.as_ref().filter(|_| options.keeps_relative).and_then(|base| url.join(base).ok());
    let has_base = base.is_some();
    let mut rewriter = Rewriter { page: url, has_base, resolver, encoding: written, options, base: kept_base, lead };
    let mut edits = match document {
        Document::Css => rewriter.whole_sheet(&text),
        _ => rewriter.edits(&text, &found.entries),
    };
    if options.declares_encoding {
        let declaration = encoding::declaration(document, body, encoding);
        let at = if document == Document::Css { 0 } else { found.head };
        edits.extend(declaration.map(|text| Edit { range: at..at, text: text.into_bytes() }));
    }
    if matches!(document, Document::Html | Document::Xhtml) && !options.first.is_empty() {
        edits.push(Edit { range: found.start..found.start, text: options.first.into() });
    }
    if options.rewrites_scripts && matches!(document, Document::Html | Document::Xhtml) {
        edits.extend(rewriter.scripts(&text, is_xml));
    }
    let has_mark = options.declares_encoding && encoding::needs_mark(body, encoding);
    if edits.is_empty() && !has_mark {
        return Cow::Borrowed(body);
    }
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let changed = spliced(&text, &edits);
    let keeps_mark = has_mark || is_wide && Encoding::for_bom(body).is_some();
    Cow::Owned(if is_wide { encoding::encoded_wide(&changed, encoding, keeps_mark) } else { changed })
}

/// New bytes for a range of the old ones.
#[derive(Debug)]
struct Edit {
    range: Range<usize>,
    text: Vec<u8>,
}

struct Rewriter<'a, 'b> {
    page: &'a CanonicalUrl,
    has_base: bool,
    resolver: Resolver,
    /// The encoding of the bytes that are read and written.
    encoding: &'static Encoding,
    options: Options<'a>,
    /// The base that is led, until its place has come.
    base: Option<CanonicalUrl>,
    lead: &'a mut Lead<'b>,
}

impl Rewriter<'_, '_> {
    /// The edits of a page with these places.
    fn edits(&mut self, page: &[u8], found: &[Placed<'_>]) -> Vec<Edit> {
        let edit = |placed: &Placed<'_>| {
            let text = match placed.place {
                Place::Value { name, value, syntax, purpose } => {
                    let syntax = match syntax {
                        Syntax::Lazy => lazy_syntax(name, encoding::decoded_piece(value, self.encoding).as_bytes())?,
                        syntax => syntax,
                    };
                    let value = self.value(&value_of(value, self.encoding), syntax, purpose)?;
                    [name, b"=\"", &encoding::encoded(&escaped(&value), self.encoding), b"\""].concat()
                }
                Place::Sheet { text, has_references } => self.sheet(text, has_references)?,
                Place::CrossOrigin if !self.options.removes_crossorigin => return None,
                Place::Tag => Vec::new(),
                Place::Base if self.base.is_some() => self.led_base()?,
                Place::Base | Place::Integrity | Place::CrossOrigin => without_attribute(page, &placed.range),
            };
            Some(Edit { range: placed.range.clone(), text })
        };
        found.iter().filter_map(edit).collect()
    }

    /// The edits of the scripts in a page, and of import maps.
    fn scripts(&mut self, page: &[u8], is_xml: bool) -> Vec<Edit> {
        let mut tags = if is_xml { Tags::new_xhtml(page) } else { Tags::new(page) };
        let mut edits = Vec::new();
        while let Some(tag) = tags.next_tag() {
            let is_script = tag.is_start && tag.name.eq_ignore_ascii_case(b"script");
            let mut kind = None;
            let takes = |attribute: Attribute<'_>| {
                if kind.is_none() && attribute.name.eq_ignore_ascii_case(b"type") {
                    kind = Some(attribute.value.to_ascii_lowercase());
                }
            };
            if !tag.is_start || !tags.attributes(takes) || !is_script {
                continue;
            }
            let (raw, kind) = (tags.raw(), kind.unwrap_or_default());
            let from = tags.position() - raw.len();
            let mut lead = |url: &str| self.module(url);
            let found = match kind.trim_ascii() {
                b"importmap" => script::strings(raw, &mut lead),
                b"" | b"module" => script::edits(raw, &mut lead),
                kind if kind.ends_with(b"javascript") => script::edits(raw, &mut lead),
                _ => continue,
            };
            let moved = |edit: Edit| Edit { range: edit.range.start + from..edit.range.end + from, ..edit };
            edits.extend(found.into_iter().map(moved));
        }
        edits
    }

    /// Says where the absolute URL of a module leads.
    fn module(&mut self, url: &str) -> Option<String> {
        let is_absolute = is_absolute(url) || url.starts_with("//");
        let target = self.page.join(url).ok().filter(|_| is_absolute)?;
        (self.lead)(&Target { url: &target, purpose: Purpose::Part, is_relative: false })
    }

    /// The attribute of the base, which leads where it led; a second one has none.
    fn led_base(&mut self) -> Option<Vec<u8>> {
        let url = self.base.take()?;
        let new = (self.lead)(&Target { url: &url, purpose: Purpose::Page, is_relative: false })?;
        Some(format!("href=\"{}\"", escaped(&new)).into_bytes())
    }

    /// Returns the new value of an attribute, if that is another one.
    fn value(&mut self, value: &str, syntax: Syntax, purpose: Purpose) -> Option<String> {
        match syntax {
            Syntax::Css => self.css(value),
            Syntax::Markup => self.markup(value),
            Syntax::Url => self.url(value, purpose),
            Syntax::Lazy => None,
            Syntax::Srcset | Syntax::Refresh => {
                let url = |range: Range<usize>| {
                    let url = plain(&self.url(&value[range.clone()], purpose)?, syntax);
                    // a refresh may have its URL in quotes
                    let is_quoted = syntax == Syntax::Refresh && value[..range.start].ends_with('\'');
                    let url = if is_quoted { url.replace('\'', "%27") } else { url };
                    Some(Edit { range, text: url.into_bytes() })
                };
                let edits: Vec<Edit> = urls_in(value, syntax).into_iter().filter_map(url).collect();
                spliced_text(value, &edits)
            }
        }
    }

    /// Returns a page within the page, with the same base, if it changes.
    fn markup(&mut self, page: &str) -> Option<String> {
        let Places { mut entries, start, .. } = places(page.as_bytes(), false);
        // one level, as deep as the link scan goes
        entries.retain(|placed| !matches!(placed.place, Place::Value { syntax: Syntax::Markup, .. }));
        let encoding = std::mem::replace(&mut self.encoding, UTF_8);
        let mut edits = self.edits(page.as_bytes(), &entries);
        self.encoding = encoding;
        if !self.options.first.is_empty() {
            edits.push(Edit { range: start..start, text: self.options.first.into() });
            edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        }
        spliced_text(page, &edits)
    }

    /// Returns the text of a `style` element, if it changes.
    fn sheet(&mut self, text: &[u8], has_references: bool) -> Option<Vec<u8>> {
        let sheet = encoding::decoded_piece(text, self.encoding);
        let sheet = if has_references { Cow::Owned(value_of(sheet.as_bytes(), UTF_8)) } else { sheet };
        let start = if has_references { 0 } else { section_start(&sheet) };
        let changed = sheet[..start].to_owned() + &self.css(&sheet[start..])?;
        let changed = if has_references { escaped(&changed) } else { changed };
        Some(encoding::encoded(&changed, self.encoding))
    }

    /// The edits of a sheet that is a document.
    fn whole_sheet(&mut self, body: &[u8]) -> Vec<Edit> {
        let mark = if body.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let text = encoding::decoded_piece(&body[mark..], self.encoding);
        let edits = self.css_edits(&text);
        let is_as_stored = text.as_bytes() == &body[mark..];
        if is_as_stored {
            let moved = |edit: Edit| Edit { range: edit.range.start + mark..edit.range.end + mark, ..edit };
            return edits.into_iter().map(moved).collect();
        }
        let changed = spliced_text(&text, &edits).map(|text| encoding::encoded(&text, self.encoding));
        changed.map(|text| Edit { range: mark..body.len(), text }).into_iter().collect()
    }

    fn css(&mut self, css: &str) -> Option<String> {
        spliced_text(css, &self.css_edits(css))
    }

    fn css_edits(&mut self, css: &str) -> Vec<Edit> {
        let mut edits = Vec::new();
        css::places(css, &mut |url, place| {
            let purpose = if place.is_sheet { Purpose::Sheet } else { Purpose::Part };
            let Some(new) = self.url(url, purpose) else { return };
            let string = css_string(&new);
            let text = if place.is_unquoted { format!("url({string})") } else { string };
            edits.push(Edit { range: place.range, text: text.into_bytes() });
        });
        edits
    }

    /// Returns where a reference is to lead, if it has to be written in another way than it is.
    fn url(&mut self, reference: &str, purpose: Purpose) -> Option<String> {
        let trimmed = reference.trim_matches(|c: char| c <= ' ');
        let is_relative = !is_absolute(trimmed) && !trimmed.starts_with("//");
        if self.options.keeps_relative && is_relative {
            return None;
        }
        let is_within = trimmed.is_empty() || trimmed.starts_with('#');
        // a drawing that a page has within itself stays there, whatever the base
        if is_within && !(self.has_base && purpose.is_link()) {
            return None;
        }
        let found = self.resolver.resolve(reference)?;
        if is_within && found.url == *self.page {
            return None;
        }
        let fragment = found.fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
        let new = match (self.lead)(&Target { url: &found.url, purpose, is_relative }) {
            Some(new) => new,
            None if is_absolute(trimmed) => return None,
            None => found.url.as_str().to_owned(),
        };
        Some(new + &fragment).filter(|new| new != reference)
    }
}

/// Bytes for the place of an attribute that goes, so that what is before and behind it means what it meant.
fn without_attribute(page: &[u8], range: &Range<usize>) -> Vec<u8> {
    // an equals sign would give its value to the attribute before, a slash would close the element
    let replacement = match page[range.end..].trim_ascii_start().first() {
        Some(b'=') => " x=\"\"",
        _ if page[..range.start].ends_with(b"/") => " ",
        _ => "",
    };
    replacement.as_bytes().to_vec()
}

/// True if a reference means the same wherever it is written.
fn is_absolute(reference: &str) -> bool {
    let starts = |scheme: &str| reference.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    starts("http://") || starts("https://")
}

/// The value of an attribute as a browser sees it.
fn value_of(value: &[u8], encoding: &'static Encoding) -> String {
    let mut text = String::new();
    push_value(encoding::decoded_piece(value, encoding).as_bytes(), &mut text);
    text
}

/// The offset at which a sheet begins that is in a CDATA section.
fn section_start(sheet: &str) -> usize {
    const OPENING: &str = "<![CDATA[";
    let blanks = sheet.len() - sheet.trim_ascii_start().len();
    if sheet[blanks..].starts_with(OPENING) { blanks + OPENING.len() } else { 0 }
}

/// A text as it is written between double quotes, in HTML and in XML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '<' => out.push_str("&lt;"),
            '\r' => out.push_str("&#13;"),
            _ => out.push(c),
        }
    }
    out
}

/// A URL as it is written within a value of this syntax, which gives a meaning to signs that URLs can have.
fn plain(url: &str, syntax: Syntax) -> String {
    let mut out = String::with_capacity(url.len());
    let last = url.len() - url.chars().next_back().map_or(0, char::len_utf8);
    for (at, c) in url.char_indices() {
        match c {
            c if c <= ' ' => out.push_str("%20"),
            ',' if syntax == Syntax::Srcset && (at == 0 || at == last) => out.push_str("%2C"),
            '"' => out.push_str("%22"),
            _ => out.push(c),
        }
    }
    out
}

/// A string of CSS. Nothing in it ends a `style` element.
fn css_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' | '<' | '\0'..='\x1f' | '\x7f'.. => out.push_str(&format!("\\{:x} ", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The text with its edits, which are in order and do not overlap.
fn spliced(text: &[u8], edits: &[Edit]) -> Vec<u8> {
    let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let (mut out, mut at) = (Vec::with_capacity(text.len() + added), 0);
    for Edit { range, text: new } in edits {
        out.extend_from_slice(&text[at..range.start]);
        out.extend_from_slice(new);
        at = range.end;
    }
    out.extend_from_slice(&text[at..]);
    out
}

/// The same for a text in UTF-8; `None` where there are no edits.
fn spliced_text(text: &str, edits: &[Edit]) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    let bytes = spliced(text.as_bytes(), edits);
    Some(String::from_utf8(bytes).expect("edits are texts, at the borders of characters"))
}
