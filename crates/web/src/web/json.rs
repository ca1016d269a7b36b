//! URLs in JSON: web manifests, linked data (JSON-LD) and import maps that pages come with, and answers in JSON.
//!
//! Those that pages come with are read into a tree, so each is bounded: a longer one than `BYTES_MAX` is passed over,
//! and `serde_json` refuses what is nested deeper than 128 levels. What is no JSON names nothing. Linked data is read
//! as leniently as for the facts of a page (`lenient`), for it is written by the same hands.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::values::Role;

pub mod lenient;

/// Bytes of a document that is read.
const BYTES_MAX: usize = 256 << 10;

/// Members of linked data whose strings are URLs.
const LINKED: [&str; 6] = ["url", "image", "logo", "thumbnailUrl", "contentUrl", "embedUrl"];

/// The URLs of a web manifest (W3C Web Application Manifest): its icons and screenshots, the icons of its shortcuts,
/// and where it starts.
pub fn manifest(text: &str, found: &mut dyn FnMut(Role, &str)) {
    let Some(manifest) = read(text) else { return };
    sources(&manifest, found);
    if let Some(url) = manifest.get("start_url").and_then(Value::as_str) {
        found(Role::Link, url);
    }
    for shortcut in items(manifest.get("shortcuts")) {
        sources(shortcut, found);
        if let Some(url) = shortcut.get("url").and_then(Value::as_str) {
            found(Role::Link, url);
        }
    }
}

fn sources(value: &Value, found: &mut dyn FnMut(Role, &str)) {
    for image in ["icons", "screenshots"].into_iter().flat_map(|name| items(value.get(name))) {
        if let Some(url) = image.get("src").and_then(Value::as_str) {
            found(Role::Part, url);
        }
    }
}

/// The URLs of linked data: the strings of the members that are called so in schema.org, wherever they are.
pub(crate) fn linked_data(text: &str, found: &mut dyn FnMut(&str)) {
    let Some(data) = Some(text).filter(|text| text.len() <= BYTES_MAX).and_then(lenient::parse) else { return };
    walk(&data, "", &mut |name, url| {
        if LINKED.contains(&name) {
            found(url);
        }
    });
}

/// The modules that an import map names (HTML standard, "parse an import map string"); prefixes are none.
pub(crate) fn import_map(text: &str, found: &mut dyn FnMut(&str)) {
    let Some(map) = read(text) else { return };
    for part in ["imports", "scopes"] {
        map.get(part).into_iter().for_each(|part| {
            walk(part, "", &mut |_, url| {
                if !url.ends_with('/') {
                    found(url);
                }
            });
        });
    }
}

/// Strings of answers in JSON that are links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonLinks {
    /// None.
    #[default]
    Off,
    /// Those that are whole URLs.
    Urls,
    /// These, and paths that are the value of a member such as `url`, `href` or `next`.
    Paths,
}

/// Members of answers whose strings are URLs or paths.
const NAMING: [&str; 15] = [
    "url",
    "uri",
    "href",
    "link",
    "next",
    "prev",
    "previous",
    "first",
    "last",
    "self",
    "canonical",
    "permalink",
    "path",
    "src",
    // of source maps
    "sources",
];

/// The URLs of an answer in JSON, however long it is: no tree is made of it. What is broken names what is before that.
pub(crate) fn links(text: &str, which: JsonLinks, found: &mut dyn FnMut(&str)) {
    if which == JsonLinks::Off {
        return;
    }
    let mut take = |name: &str, text: &str| {
        let is_path = || NAMING.contains(&name) && !text.is_empty() && (text.starts_with(['/', '.', '?']));
        let is_url = text.starts_with("http://") || text.starts_with("https://");
        let is_named = is_url || which == JsonLinks::Paths && is_path();
        if is_named && !text.contains(char::is_whitespace) {
            found(text);
        }
    };
    let mut reader = serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'));
    // a fault is where the document ends
    let _ = Strings { name: "", take: &mut take }.deserialize(&mut reader);
}

/// A walk over the strings of a document, each with the name of the member that it belongs to, alone or in a list.
struct Strings<'a> {
    name: &'a str,
    take: &'a mut dyn FnMut(&str, &str),
}

impl<'de> DeserializeSeed<'de> for Strings<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strings<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        (self.take)(self.name, text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Strings { name: self.name, take: &mut *self.take })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            members.next_value_seed(Strings { name: &name, take: &mut *self.take })?;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

fn read(text: &str) -> Option<Value> {
    if text.len() > BYTES_MAX { None } else { serde_json::from_str(text.trim_start_matches('\u{feff}')).ok() }
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Hands each string to `each` with the name of the member that it belongs to, alone or in a list. The tree is no
/// deeper than what `serde_json` reads.
fn walk(value: &Value, name: &str, each: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => each(name, text),
        Value::Array(items) => items.iter().for_each(|item| walk(item, name, each)),
        Value::Object(members) => members.iter().for_each(|(name, value)| walk(value, name, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_its_icons_and_where_it_starts() {
        let text = r#"{"name":"x","icons":[{"src":"a.png","sizes":"1x1"},{"src":"b.svg"},{"no":1}],"start_url":"/s",
            "screenshots":[{"src":"c.png"}],"shortcuts":[{"url":"/t","icons":[{"src":"d.png"}]}],"scope":"/"}"#;
        let mut found = Vec::new();
        manifest(&format!("\u{feff}{text}"), &mut |role, url| found.push((role == Role::Part, url.to_owned())));
        let expected =
            [(true, "a.png"), (true, "b.svg"), (true, "c.png"), (false, "/s"), (true, "d.png"), (false, "/t")];
        assert_eq!(found, expected.map(|(is_part, url)| (is_part, url.to_owned())));
    }

    #[test]
    fn linked_data_names_its_urls_and_images() {
        let text = r##"{"@context":"https://schema.org","@graph":[{"@id":"#x","url":"/a","image":["b.png",
            {"@type":"ImageObject","url":"c.png","caption":"x"}],"logo":"d.png","name":"/n"}]}"##;
        let mut found = Vec::new();
        linked_data(text, &mut |url| found.push(url.to_owned()));
        found.sort();
        assert_eq!(found, ["/a", "b.png", "c.png", "d.png"]);
    }

    #[test]
    fn linked_data_is_read_as_pages_write_it() {
        let mut found = Vec::new();
        linked_data("\u{feff}<!-- {\"url\": \"/a\", /* one */ \"logo\": \"/b\\ud83d\",};-->", &mut |url| {
            found.push(url.to_owned())
        });
        found.sort();
        assert_eq!(found, ["/a", "/b\u{fffd}"]);
    }

    #[test]
    fn an_import_map_names_its_modules() {
        let text = r#"{"imports":{"vue":"./vue.js","lib/":"/lib/"},"scopes":{"/a/":{"vue":"/old.js"}}}"#;
        let mut found = Vec::new();
        import_map(text, &mut |url| found.push(url.to_owned()));
        assert_eq!(found, ["./vue.js", "/old.js"]);
    }

    #[test]
    fn an_answer_names_whole_urls_and_paths_by_the_names_of_their_members() {
        let text = r#"{"items":[{"url":"https://a.example/1","id":7,"x":"/no","ok":true},
            {"href":"/2","at":1.5,"n":null}],
            "next":"?page=2","title":"see https://no.example/ there","link":"a b","sources":["http://b.example/"],"""#;
        let all = |which| {
            let mut found = Vec::new();
            links(text, which, &mut |url| found.push(url.to_owned()));
            found
        };
        assert_eq!(all(JsonLinks::Off), [""; 0]);
        assert_eq!(all(JsonLinks::Urls), ["https://a.example/1", "http://b.example/"]);
        assert_eq!(all(JsonLinks::Paths), ["https://a.example/1", "/2", "?page=2", "http://b.example/"]);
        let deep = format!("[\"http://a.example/\", {}", "[".repeat(100_000));
        let mut count = 0;
        links(&deep, JsonLinks::Urls, &mut |_| count += 1);
        assert_eq!(count, 1);
    }

    #[test]
    fn what_is_broken_too_deep_or_too_long_names_nothing() {
        let long = format!("{{\"url\":\"{}\"}}", "x".repeat(BYTES_MAX));
        let deep = format!("{}\"x\"{}", "{\"url\":".repeat(1_000), "}".repeat(1_000));
        for text in ["", "{", "[1", "null", "{\"icons\":{\"src\":1},\"url\":null}", &long, &deep] {
            manifest(text, &mut |_, url| panic!("{url}"));
            linked_data(text, &mut |url| panic!("{url}"));
            import_map(text, &mut |url| panic!("{url}"));
        }
    }
}
