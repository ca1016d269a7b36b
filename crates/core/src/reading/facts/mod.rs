//! Facts of a page: what it states for programs (JSON-LD, Open Graph, microdata, feeds), and what its text shows
//! (language, words, direction, dates).
//!
//! Each is one walk over the tree of the page. What a page states is bounded: values end after 4 MiB and
//! nested microdata after a number of elements, so that no page multiplies itself.
//!
//! - `dates`: when it was published and changed
//! - `language`: language and direction of a text
//! - `microdata`: items of the page, by the algorithm of the HTML standard

mod dates;
mod language;
mod microdata;
#[cfg(test)]
mod tests;

use scraper::{ElementRef, Html};
use serde_json::{Map, Value, json};
use url::Url;

use crate::clock::Time;
use crate::similar::words;
use crate::web::json::lenient;
use crate::web::mime;
use dates::Dates;
pub use language::code_of_tag;

/// Bytes of the values of one fact.
const BYTES_MAX: usize = 4 << 20;

/// A fact, by the name under which it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The language that the text is written in: ISO 639-3. What the page states counts where the text is not sure.
    Language,
    /// The language that the page states: a tag of BCP 47.
    StatedLanguage,
    /// Words of the text.
    Words,
    /// The direction of reading: `ltr` or `rtl`.
    Direction,
    /// Its blocks of JSON-LD: a list of them.
    JsonLd,
    /// Open Graph and what is stated alike: lists of values by their property.
    OpenGraph,
    /// Its items of microdata: a list of them.
    Microdata,
    /// Its feeds: a list of URL, title and MIME type.
    Feeds,
    /// The date on which it was published, in ISO 8601.
    Published,
    /// The date of its last change, likewise.
    Modified,
}

/// A page whose facts are looked for.
pub struct Facts<'a> {
    /// Its tree.
    pub tree: &'a Html,
    /// The text that a reader sees.
    pub text: &'a str,
    /// The URL that its references are resolved against.
    pub base: Option<&'a Url>,
    /// The `Content-Language` of its answer.
    pub content_language: Option<&'a str>,
    /// The URL of the page itself.
    pub url: Option<&'a Url>,
    /// The time at which it was fetched: no date of it is later.
    pub fetched: Time,
}

impl Fact {
    /// All of them.
    pub const ALL: [Fact; 10] = [
        Fact::Language,
        Fact::StatedLanguage,
        Fact::Words,
        Fact::Direction,
        Fact::JsonLd,
        Fact::OpenGraph,
        Fact::Microdata,
        Fact::Feeds,
        Fact::Published,
        Fact::Modified,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Fact::Language => "language",
            Fact::StatedLanguage => "stated-language",
            Fact::Words => "words",
            Fact::Direction => "direction",
            Fact::JsonLd => "json-ld",
            Fact::OpenGraph => "open-graph",
            Fact::Microdata => "microdata",
            Fact::Feeds => "feeds",
            Fact::Published => "published",
            Fact::Modified => "modified",
        }
    }

    /// The fact of this name.
    pub fn parse(name: &str) -> Option<Fact> {
        Fact::ALL.into_iter().find(|fact| fact.name() == name)
    }

    /// True if [`Facts::text`] is read for it.
    pub fn needs_text(self) -> bool {
        matches!(self, Fact::Language | Fact::Words | Fact::Direction)
    }
}

impl Facts<'_> {
    /// A fact of the page; `Value::Null` where there is none.
    pub fn get(&self, fact: Fact) -> Value {
        match fact {
            Fact::Language => language::of(self.text, || self.stated_language()).map_or(Value::Null, Value::from),
            Fact::StatedLanguage => self.stated_language().map_or(Value::Null, Value::from),
            Fact::Words => {
                let mut count = 0_u64;
                words(self.text, |_| count += 1);
                Value::from(count)
            }
            Fact::Direction => self.direction().map_or(Value::Null, Value::from),
            Fact::JsonLd => Value::Array(self.json_ld()),
            Fact::OpenGraph => Value::Object(self.open_graph()),
            Fact::Microdata => Value::Array(microdata::items(self.tree, self.base)),
            Fact::Feeds => Value::Array(self.feeds()),
            Fact::Published => Dates::of(self).published(),
            Fact::Modified => Dates::of(self).modified(),
        }
    }

    fn elements<'b>(&'b self, name: &'b str) -> impl Iterator<Item = ElementRef<'b>> + 'b {
        let elements = self.tree.tree.root().descendants().filter_map(ElementRef::wrap);
        elements.filter(move |element| element.value().name() == name)
    }

    /// An attribute of the `html` element, else of the `body`.
    fn of_root(&self, name: &str) -> Option<String> {
        let value = |element: &str| {
            let element = self.elements(element).next()?;
            element.attr(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        value("html").or_else(|| value("body"))
    }

    fn stated_language(&self) -> Option<String> {
        // several languages of a header field are its readers', not the text's
        let of_header = || Some(self.content_language?.trim().to_owned()).filter(|tag| !tag.contains(','));
        let stated = self.of_root("lang").or_else(of_header);
        stated.filter(|tag| language::is_tag(tag))
    }

    fn direction(&self) -> Option<&'static str> {
        let stated = self.of_root("dir").map(|stated| stated.to_ascii_lowercase());
        match stated.as_deref() {
            Some("rtl") => Some("rtl"),
            Some("ltr") => Some("ltr"),
            _ => language::direction(self.text),
        }
    }

    fn json_ld(&self) -> Vec<Value> {
        let mut left = BYTES_MAX;
        let mut blocks = Vec::new();
        for script in self.elements("script") {
            if mime::essence(script.attr("type")) != "application/ld+json" {
                continue;
            }
            let text: String = script.text().collect();
            let Some(rest) = left.checked_sub(text.len()) else { break };
            left = rest;
            blocks.extend(lenient::parse(&text));
        }
        blocks
    }

    fn open_graph(&self) -> Map<String, Value> {
        let mut found = Map::new();
        let mut left = BYTES_MAX;
        for meta in self.elements("meta") {
            let Some(name) = meta.attr("property").or_else(|| meta.attr("name")) else { continue };
            let name = name.trim().to_ascii_lowercase();
            let known = name.split_once(':').is_some_and(|(prefix, _)| VOCABULARIES.contains(&prefix));
            let Some(content) = meta.attr("content").filter(|_| known) else { continue };
            let Some(rest) = left.checked_sub(name.len() + content.len()) else { break };
            left = rest;
            let values = found.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            values.as_array_mut().into_iter().for_each(|values| values.push(Value::from(content.trim())));
        }
        found
    }

    fn feeds(&self) -> Vec<Value> {
        let mut feeds = Vec::new();
        let mut left = BYTES_MAX;
        for link in self.elements("link") {
            let media_type = mime::essence(link.attr("type"));
            let is_alternate = tokens(link, "rel").any(|token| token.eq_ignore_ascii_case("alternate"));
            if !is_alternate || !FEEDS.contains(&media_type.as_str()) {
                continue;
            }
            let Some(url) = self.base.and_then(|base| base.join(link.attr("href")?).ok()) else { continue };
            let title = link.attr("title").unwrap_or_default();
            let Some(rest) = left.checked_sub(url.as_str().len() + title.len()) else { break };
            left = rest;
            feeds.push(json!({"url": url.as_str(), "title": title, "type": media_type}));
        }
        feeds
    }
}

/// Prefixes of properties that count as Open Graph: its own, its types' (<https://ogp.me>), Twitter's.
const VOCABULARIES: [&str; 9] = ["og", "article", "book", "profile", "music", "video", "fb", "product", "twitter"];
/// MIME types of feeds.
const FEEDS: [&str; 3] = ["application/rss+xml", "application/atom+xml", "application/feed+json"];

/// The tokens of an attribute.
fn tokens<'a>(element: ElementRef<'a>, name: &str) -> impl Iterator<Item = &'a str> {
    element.attr(name).unwrap_or_default().split_ascii_whitespace()
}
