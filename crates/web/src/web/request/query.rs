//! Requests as indexes of archives write them: fields that are appended to the query of a URL.
//!
//! pywb and the tools around it look a POST up by its URL with `__wb_method=POST` and what its body says behind that: a
//! form is decoded, JSON becomes a list of its leaves by name, everything else is base64. Cut at 4096 characters.
//!
//! The rules follow cdxj-indexer (`postquery.py`), but for leaves of JSON that are no text: these are as pywb looks
//! them up (`inputrequest.py`), `true`, `null` and `1` where cdxj-indexer 1.5 writes `True`, `None` and `1.0`. Benches
//! `requests` and `requests/replay` hold the index to both.

use data_encoding::BASE64;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Method, Request};
use crate::web::percent::escaped_byte;

/// Characters of what the body says.
const CHARS_MAX: usize = 4096;

/// A request as an index has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveQuery {
    /// The name of the method.
    pub method: &'static str,
    /// Text of the body as an index has it: `requestBody`.
    pub body: String,
}

impl ArchiveQuery {
    /// `url` with the fields behind it: what the key is made of.
    pub fn extend(&self, url: &str) -> String {
        let join = if url.contains('?') { '&' } else { '?' };
        let between = if self.body.is_empty() { "" } else { "&" };
        format!("{url}{join}__wb_method={}{between}{}", self.method, self.body)
    }
}

/// Returns `request` as an index has it; none for one that asks by its URL and fields only.
pub fn archive_query(request: &Request) -> Option<ArchiveQuery> {
    if request.method() != Method::Post {
        return None;
    }
    let (mime, body) = (request.field("content-type").unwrap_or_default(), request.body());
    let binary = || format!("__wb_post_data={}", BASE64.encode(body.as_bytes()));
    let said = if mime.starts_with("application/x-www-form-urlencoded") {
        decoded(body)
    } else if mime.starts_with("application/json") {
        leaves(body).unwrap_or_default()
    } else if mime.starts_with("text/plain") {
        leaves(body).unwrap_or_else(binary)
    } else {
        binary()
    };
    Some(ArchiveQuery { method: request.method().as_str(), body: said.chars().take(CHARS_MAX).collect() })
}

/// Python's `unquote_plus`.
fn decoded(body: &str) -> String {
    let (bytes, mut at) = (body.as_bytes(), 0);
    let mut plain = Vec::with_capacity(bytes.len());
    while let Some(&byte) = bytes.get(at) {
        match (byte, escaped_byte(&bytes[at + 1..])) {
            (b'%', Some(escaped)) => {
                plain.push(escaped);
                at += 2;
            }
            (b'+', _) => plain.push(b' '),
            _ => plain.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// The leaves of a document of JSON, or of one in each line, by name.
fn leaves(body: &str) -> Option<String> {
    let mut found = Leaves::default();
    match serde_json::from_str::<Node>(body) {
        Ok(node) => found.take(&node, ""),
        Err(_) if body.contains('\n') => {
            for line in body.split('\n') {
                found.take(&serde_json::from_str(line).ok()?, "");
            }
        }
        Err(_) => return None,
    }
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    found.named.iter().for_each(|(name, value)| _ = query.append_pair(name, value));
    // Python leaves `~` as it is, and the form serialiser `*`
    Some(query.finish().replace("%7E", "~").replace('*', "%2A"))
}

#[derive(Default)]
struct Leaves {
    named: Vec<(String, String)>,
    twice: Vec<(String, usize)>,
}

impl Leaves {
    fn take(&mut self, node: &Node, name: &str) {
        match node {
            Node::Object(members) => members.iter().for_each(|(name, node)| self.take(node, name)),
            Node::Array(nodes) => nodes.iter().for_each(|node| self.take(node, name)),
            Node::Leaf(_) if name.is_empty() => {}
            Node::Leaf(text) => {
                let name = self.free(name);
                match self.named.iter_mut().find(|(own, _)| *own == name) {
                    Some((_, value)) => value.clone_from(text),
                    None => self.named.push((name, text.clone())),
                }
            }
        }
    }

    /// The name itself, or for later leaves of that name one with a number.
    fn free(&mut self, name: &str) -> String {
        if !self.named.iter().any(|(own, _)| own == name) {
            return name.to_owned();
        }
        let at = self.twice.iter().position(|(own, _)| own == name).unwrap_or_else(|| {
            self.twice.push((name.to_owned(), 1));
            self.twice.len() - 1
        });
        self.twice[at].1 += 1;
        format!("{name}.{}_", self.twice[at].1)
    }
}

/// JSON with the members of an object in their order, and leaves as Python writes them.
enum Node {
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    Leaf(String),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Leaf(if value { "true" } else { "false" }.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf("null".to_owned()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Leaf(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Leaf(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Leaf(float(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Leaf(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = items.next_element()? {
            nodes.push(node);
        }
        Ok(Node::Array(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut members: Vec<(String, Node)> = Vec::new();
        while let Some((name, node)) = items.next_entry::<String, Node>()? {
            match members.iter_mut().find(|(own, _)| *own == name) {
                Some((_, own)) => *own = node,
                None => members.push((name, node)),
            }
        }
        Ok(Node::Object(members))
    }
}

/// A whole number as one; else Python's `repr` of a float: the shortest digits, with an exponent of at least two of
/// them below 1e-4.
fn float(value: f64) -> String {
    if value.fract() == 0.0 {
        return format!("{:.0}", value + 0.0);
    }
    if value.abs() < 1e-4 {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{value:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(mime: &str, body: &str) -> String {
        let fields = vec![("content-type".to_owned(), mime.to_owned())];
        archive_query(&Request::new(Method::Post, fields, body.to_owned()).unwrap()).unwrap().body
    }

    /// Queries that pywb 2.10 looks up, and of lines of JSON what cdxj-indexer 1.5 writes.
    #[test]
    fn bodies_are_told_as_pywb_looks_them_up() {
        for (mime, body, told) in [
            ("application/x-www-form-urlencoded", "q=a+b%26c&p=1%zz&u=%C3%BC", "q=a b&c&p=1%zz&u=ü"),
            (
                "application/json",
                r#"{"b": {"a": 1, "c": [true, null, 1.0]}, "a": "x y~*", "n": 1e22, "m": 0.00001, "e": ""}"#,
                "a=1&c=true&c.2_=null&c.3_=1&a.2_=x+y~%2A&n=10000000000000000000000&m=1e-05&e=",
            ),
            ("application/json; charset=utf-8", "{\"a\":1}\n{\"a\":2}", "a=1&a.2_=2"),
            ("application/json", "no JSON", ""),
            ("text/plain", "no JSON", "__wb_post_data=bm8gSlNPTg=="),
            ("text/plain", r#"{"a":1}"#, "a=1"),
            ("text/xml", "<a/>", "__wb_post_data=PGEvPg=="),
        ] {
            assert_eq!(query(mime, body), told, "{mime} {body}");
        }
        assert_eq!(query("text/xml", &"a".repeat(9_000)).len(), CHARS_MAX);
        let query = ArchiveQuery { method: "POST", body: String::new() };
        assert_eq!(query.extend("http://a/?b"), "http://a/?b&__wb_method=POST");
    }
}
