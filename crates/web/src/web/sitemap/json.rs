//! JSON Feed (<https://www.jsonfeed.org/version/1.1/>), item by item.
//!
//! What is elsewhere in the document is passed over without being kept; a value of a wrong type counts as none. Where
//! the document breaks off, what came before it was handed out.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Entry, Sink, Written};
use crate::web::url::CanonicalUrl;

/// Start of `version`, whatever comes before the host.
const VERSION: &str = "jsonfeed.org/version/";

/// True if the start of a document says that it is a feed.
pub(super) fn is_feed(start: &str) -> bool {
    // strings may escape their slashes
    start.contains(VERSION) || start.contains("jsonfeed.org\\/version\\/")
}

/// Reads as far as it goes.
pub(super) fn read(text: &str, sink: &mut Sink<'_>) {
    let mut json = serde_json::Deserializer::from_str(text.trim_start());
    // what is broken ends the reading and takes nothing back
    _ = Feed(sink).deserialize(&mut json);
}

/// The document.
struct Feed<'s, 'f>(&'s mut Sink<'f>);

impl<'de> DeserializeSeed<'de> for Feed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Feed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a feed")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            match name.as_deref() {
                Some("items") => map.next_value_seed(Items(&mut *self.0))?,
                Some("home_page_url") => {
                    let Text(url) = map.next_value()?;
                    url.into_iter().for_each(|url| take(Entry::Page, &url, self.0));
                    self.0.end(None);
                }
                Some("next_url") => {
                    let Text(url) = map.next_value()?;
                    url.into_iter().for_each(|url| take(Entry::Next, &url, self.0));
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

/// Its `items`.
struct Items<'s, 'f>(&'s mut Sink<'f>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Item<'de>>()? {
            item.hand_out(self.0);
        }
        Ok(())
    }
}

/// An item: its own page, the page elsewhere that it is about, an id that is a URL at best.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    url: Text<'a>,
    #[serde(borrow, default)]
    external_url: Text<'a>,
    #[serde(borrow, default)]
    date_published: Text<'a>,
    #[serde(borrow, default)]
    date_modified: Text<'a>,
}

impl Item<'_> {
    fn hand_out(&self, sink: &mut Sink<'_>) {
        let id = self.id.0.as_deref().filter(|id| id.starts_with("http://") || id.starts_with("https://"));
        if let Some(url) = self.url.0.as_deref().or(id).or(self.external_url.0.as_deref()) {
            take(Entry::Page, url, sink);
        }
        let dates = [&self.date_modified, &self.date_published];
        let dates = dates.into_iter().filter_map(|date| Written::parse(date.0.as_deref()?));
        sink.end(dates.reduce(|date, other| date.or_later(Some(other))));
    }
}

fn take(entry: Entry, url: &str, sink: &mut Sink<'_>) {
    match url.trim() {
        url if url.len() > CanonicalUrl::LENGTH_MAX => sink.drop_one(),
        url => sink.take(entry, url),
    }
}

/// A string; nothing where there is a value of another type.
#[derive(Default)]
struct Text<'a>(Option<Cow<'a, str>>);

impl<'a, 'de: 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(AnyText)
    }
}

struct AnyText;

impl<'de> Visitor<'de> for AnyText {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Text(Some(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Text(Some(Cow::Owned(text.to_owned()))))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Text(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Text(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Text(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Text(None))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Text(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }
}
