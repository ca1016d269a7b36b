//! A page, and the values of fields in it, within limits of time and bytes.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use scraper::{ElementRef, Html};
use serde_json::Value as Json;
use url::Url;

use super::field::{Field, Form, Source};
use super::typed::at_path;
use crate::clock::Time;
use crate::reading::page::text_of;
use crate::reading::{Fact, Facts, rendered_lines};
use crate::table::Value;
use crate::web::base::base_of;

/// Bytes of all values of one page.
pub(crate) const VALUES_BYTES_MAX: usize = 16 << 20;

/// The URL of a page, and when it was fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    pub url: &'a str,
    pub time: Time,
}

/// The head of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    /// Its fields.
    pub own: &'a [(Vec<u8>, Vec<u8>)],
    /// Those of the earlier answer that it confirms.
    pub confirmed: &'a [(Vec<u8>, Vec<u8>)],
}

impl<'a> Head<'a> {
    /// The head of an answer with this status: the fields `of_body` count after a 304 only.
    pub(crate) fn of(status: u16, own: &'a [(Vec<u8>, Vec<u8>)], of_body: &'a [(Vec<u8>, Vec<u8>)]) -> Head<'a> {
        Head { own, confirmed: if status == 304 { of_body } else { &[] } }
    }
}

/// A page, as fields see it.
pub(crate) struct Page<'a> {
    tree: &'a Html,
    text: &'a str,
    head: Head<'a>,
    origin: Origin<'a>,
    /// URL against which its references are resolved, once a field asks for it.
    base: OnceCell<Option<Url>>,
    /// Text that a reader sees, likewise.
    seen: OnceCell<String>,
    /// Its JSON-LD, likewise.
    json_ld: OnceCell<Json>,
}

/// The rest of a page's limits.
pub(crate) struct Limits {
    started: Instant,
    time_max: Duration,
    bytes: usize,
    broken: bool,
}

impl Limits {
    /// Those of a page that may take `time_max`.
    pub(crate) fn new(time_max: Duration) -> Limits {
        Limits { started: Instant::now(), time_max, bytes: VALUES_BYTES_MAX, broken: false }
    }

    /// True if not all values that were asked for are within them.
    pub(crate) fn are_broken(&self) -> bool {
        self.broken
    }

    /// The value of a field.
    pub(crate) fn cell(&mut self, page: &Page<'_>, field: &Field) -> Value {
        if let Source::Fact(fact) = field.source {
            return match page.fact(fact) {
                Json::Null => Value::Null,
                Json::String(text) => Value::Text(text),
                Json::Number(number) => number.as_i64().map_or(Value::Null, Value::Integer),
                value => Value::Json(value),
            };
        }
        let mut values = self.values(page, field);
        match (field.all, values.pop()) {
            (true, last) => Value::List(values.into_iter().chain(last).collect()),
            (false, Some(value)) => field.holds.value(value),
            (false, None) => Value::Null,
        }
    }

    /// Returns the values of a field, in the order of the page: the first alone, or all that the limits allow.
    pub(crate) fn values(&mut self, page: &Page<'_>, field: &Field) -> Vec<String> {
        let mut values = Vec::new();
        match &field.source {
            Source::Elements(selector, form) => {
                for element in page.tree.tree.root().descendants().filter_map(ElementRef::wrap) {
                    if self.started.elapsed() >= self.time_max {
                        self.broken = true;
                        break;
                    }
                    if !selector.matches(&element) {
                        continue;
                    }
                    let Some(value) = page.value(element, form) else { continue };
                    if !self.take(field, &value, &mut values) {
                        break;
                    }
                }
            }
            Source::Header(name) => {
                let Head { own, confirmed } = page.head;
                for (_, value) in own.iter().chain(confirmed).filter(|(field, _)| is(field, name)) {
                    if !self.take(field, String::from_utf8_lossy(value).trim(), &mut values) {
                        break;
                    }
                }
            }
            Source::Page => {
                self.take(field, page.text, &mut values);
            }
            Source::JsonLd(path) => {
                at_path(page.json_ld(), path, &mut |value| self.take(field, value, &mut values));
            }
            // a separate cell
            Source::Fact(_) => {}
        }
        values
    }

    /// Adds what the field takes of a value to `values`; false when no more are wanted, or none may be added.
    fn take(&mut self, field: &Field, value: &str, values: &mut Vec<String>) -> bool {
        let Some(regex) = &field.regex else { return self.add(field, value, values) };
        let matches = regex.captures_iter(value);
        // a group that took no part in its match is no value
        let mut groups = matches.filter_map(|found| if found.len() > 1 { found.get(1) } else { found.get(0) });
        groups.all(|found| self.add(field, found.as_str(), values))
    }

    fn add(&mut self, field: &Field, value: &str, values: &mut Vec<String>) -> bool {
        // empty values take memory too
        let bytes = value.len() + size_of::<String>();
        let Some(left) = self.bytes.checked_sub(bytes).filter(|_| self.started.elapsed() < self.time_max) else {
            self.broken = true;
            return false;
        };
        self.bytes = left;
        values.push(value.to_owned());
        field.all
    }
}

fn is(field: &[u8], name: &str) -> bool {
    field.eq_ignore_ascii_case(name.as_bytes())
}

impl<'a> Page<'a> {
    /// The page with this tree and this source.
    pub(crate) fn new(tree: &'a Html, text: &'a str, head: Head<'a>, origin: Origin<'a>) -> Page<'a> {
        let (base, seen, json_ld) = Default::default();
        Page { tree, text, head, origin, base, seen, json_ld }
    }

    fn base(&self) -> Option<&Url> {
        self.base.get_or_init(|| base(self.tree, self.origin.url)).as_ref()
    }

    /// The text that a reader sees.
    pub(crate) fn seen(&self) -> &str {
        self.seen.get_or_init(|| rendered_lines(self.tree))
    }

    fn json_ld(&self) -> &Json {
        self.json_ld.get_or_init(|| self.fact(Fact::JsonLd))
    }

    /// A fact; null where it is not known.
    pub(crate) fn fact(&self, fact: Fact) -> Json {
        let text = if fact.needs_text() { self.seen() } else { "" };
        let language = self.head.own.iter().find(|(field, _)| is(field, "content-language"));
        let content_language = language.and_then(|(_, value)| std::str::from_utf8(value).ok());
        let (url, fetched) = (Url::parse(self.origin.url).ok(), self.origin.time);
        let base = self.base();
        Facts { tree: self.tree, text, base, content_language, url: url.as_ref(), fetched }.get(fact)
    }

    fn value(&self, element: ElementRef<'_>, form: &Form) -> Option<String> {
        match form {
            Form::Text => Some(text_of(element)),
            Form::Html => Some(element.html()),
            Form::Attr(name) => element.attr(name).map(str::to_owned),
            Form::Url(name) => {
                let url = self.base()?.join(element.attr(name)?).ok()?;
                Some(url.into())
            }
        }
    }
}

/// Returns the URL against which references of the page at `url` are resolved: its first `base` with an `href`, else
/// its own.
fn base(page: &Html, url: &str) -> Option<Url> {
    let own = Url::parse(url).ok()?;
    let stated = base_of(page).and_then(|base| own.join(base).ok());
    Some(stated.filter(|base| !base.cannot_be_a_base()).unwrap_or(own))
}
