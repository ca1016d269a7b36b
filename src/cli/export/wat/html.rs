//! URLs that an HTML page names, element by element in the order of the page: as they are written there, with the
//! attributes that describe them.

use ego_tree::NodeRef;
use scraper::node::Element;
use scraper::{ElementRef, Html, Node};
use serde_json::{Map, Value, json};

use crate::cli::archive::Response;
use crate::cli::page::{decode, text_of, title_of};
use crate::reading::tree::{GivenUp, TIME_MAX, parse};
use crate::web::base::is_base;
use crate::web::css;
use crate::web::html::is_html;

/// Characters of an anchor's text.
const TEXT_MAX: usize = 100;

/// Attributes that name a URL whatever the element.
const ANYWHERE: [&str; 3] = ["background", "data-href", "data-uri"];

/// Attributes of an element that name URLs, and attributes that describe these.
type Naming = (&'static [&'static str], &'static [&'static str]);

fn naming(element: &str) -> Naming {
    match element {
        "area" => (&["href"], &["rel"]),
        "form" => (&["action"], &["target", "method"]),
        "img" => (&["src"], &["alt", "title"]),
        "applet" => (&["codebase", "cdata"], &[]),
        "object" => (&["codebase", "cdata", "data"], &[]),
        "input" => (&["src", "formaction"], &[]),
        "button" => (&["formaction"], &[]),
        "video" => (&["src", "poster"], &[]),
        "embed" | "frame" | "iframe" | "audio" | "track" | "source" => (&["src"], &[]),
        "q" | "blockquote" | "del" | "ins" => (&["cite"], &[]),
        _ => (&[], &[]),
    }
}

/// Returns what the page of an answer names; `None` where it is no HTML.
pub(super) fn metadata(response: &Response) -> Result<Option<Value>, GivenUp> {
    if !is_html(response.content_type().as_deref(), &response.decoded) {
        return Ok(None);
    }
    parse(&decode(response), TIME_MAX).map(|page| Some(of_page(&page)))
}

/// Names that were found on a page.
#[derive(Default)]
struct Found {
    base: Option<String>,
    metas: Vec<Value>,
    links: Vec<Value>,
    scripts: Vec<Value>,
    named: Vec<Value>,
}

fn of_page(page: &Html) -> Value {
    let mut found = Found::default();
    for node in page.tree.root().descendants() {
        if let Node::Element(element) = node.value() {
            found.element(node, element);
        }
    }
    let mut head = Map::new();
    head.extend(title_of(page).map(|title| ("Title".to_owned(), json!(title))));
    head.extend(found.base.map(|base| ("Base".to_owned(), json!(base))));
    let lists = [("Metas", found.metas), ("Link", found.links), ("Scripts", found.scripts)];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    head.extend(lists.map(|(name, list)| (name.to_owned(), Value::Array(list))));
    let mut all = Map::new();
    if !head.is_empty() {
        all.insert("Head".to_owned(), Value::Object(head));
    }
    if !found.named.is_empty() {
        all.insert("Links".to_owned(), Value::Array(found.named));
    }
    Value::Object(all)
}

impl Found {
    fn element(&mut self, node: NodeRef<'_, Node>, element: &Element) {
        let name = element.name();
        for attribute in ANYWHERE {
            self.named.extend(url(element, attribute, &[]));
        }
        match name {
            "base" if ElementRef::wrap(node).is_some_and(is_base) => {
                self.base = self.base.take().or_else(|| element.attr("href").map(str::to_owned));
            }
            "meta" => {
                let said = attributes(element, &["name", "rel", "content", "http-equiv", "property"]);
                self.metas.extend((!said.is_empty()).then_some(Value::Object(said)));
            }
            "link" => self.links.extend(url(element, "href", &["rel", "type"])),
            "script" => self.scripts.extend(url(element, "src", &["type"])),
            "style" => {
                let text: String = ElementRef::wrap(node).map(|style| style.text().collect()).unwrap_or_default();
                css::urls(&text, &mut |url| self.named.push(json!({ "path": "STYLE/#text", "href": url })));
            }
            "a" => {
                let beside = ["target", "alt", "title", "rel", "hreflang", "type"];
                if let Some(mut anchor) = url(element, "href", &beside) {
                    let text = ElementRef::wrap(node).map(text_of).unwrap_or_default();
                    let text: String = text.chars().take(TEXT_MAX).collect();
                    if !text.is_empty() {
                        anchor["text"] = json!(text);
                    }
                    self.named.push(anchor);
                }
            }
            name => {
                let (names, beside) = naming(name);
                self.named.extend(names.iter().filter_map(|attribute| url(element, attribute, beside)));
                if name == "img" {
                    self.named.extend(url(element, "longdesc", &[]));
                }
            }
        }
    }
}

/// The URL in an attribute, with the attributes beside it.
fn url(element: &Element, attribute: &str, beside: &[&str]) -> Option<Value> {
    let url = element.attr(attribute)?;
    let mut named = attributes(element, beside);
    named.insert("path".to_owned(), json!(format!("{}@/{attribute}", element.name().to_ascii_uppercase())));
    named.insert("url".to_owned(), json!(url));
    Some(Value::Object(named))
}

/// Returns the ones of these attributes that the element has.
fn attributes(element: &Element, names: &[&str]) -> Map<String, Value> {
    let there = names.iter().filter_map(|&name| Some((name.to_owned(), json!(element.attr(name)?))));
    there.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn urls_are_told_as_they_are_written_with_what_stands_beside_them() {
        let page =
            "<html><head><base href=/b/><base href=/c/><title>T</title><meta charset=utf-8><meta name=a content=b>
            <link rel=next href=n><script src=s.js type=module></script><style>p { background: url('u.png') }</style>
            <body background=g><a href='x y' rel=me target=_top>some <b>text</b></a><a name=n>no</a><img src=i alt=A
            longdesc=l><form action=f method=post><input formaction=a></form><video src=v poster=p></video><!--
            <a href=no>--><q cite=c>q</q><iframe src=w></iframe>";
        let said = of_page(&parse(page, Duration::MAX).unwrap());
        let head = json!({
            "Base": "/b/",
            "Title": "T",
            "Metas": [{ "name": "a", "content": "b" }],
            "Link": [{ "path": "LINK@/href", "url": "n", "rel": "next" }],
            "Scripts": [{ "path": "SCRIPT@/src", "url": "s.js", "type": "module" }],
        });
        assert_eq!(said["Head"], head);
        let links = json!([
            { "path": "STYLE/#text", "href": "u.png" },
            { "path": "BODY@/background", "url": "g" },
            { "path": "A@/href", "url": "x y", "rel": "me", "target": "_top", "text": "some text" },
            { "path": "IMG@/src", "url": "i", "alt": "A" },
            { "path": "IMG@/longdesc", "url": "l" },
            { "path": "FORM@/action", "url": "f", "method": "post" },
            { "path": "INPUT@/formaction", "url": "a" },
            { "path": "VIDEO@/src", "url": "v" },
            { "path": "VIDEO@/poster", "url": "p" },
            { "path": "Q@/cite", "url": "c" },
            { "path": "IFRAME@/src", "url": "w" },
        ]);
        assert_eq!(said["Links"], links);
        assert_eq!(of_page(&parse("", Duration::MAX).unwrap()), json!({}));
    }
}
