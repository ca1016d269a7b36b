//! Microdata: the items of a page as JSON, as the HTML standard converts them (section 5.2, "Microdata").
//!
//! An item is `{"type": [...], "id": "...", "properties": {"name": [values]}}`; a value is a string or an item. An item
//! that contains itself has the string `ERROR` in that place, as the standard has it. Two things differ from it, as
//! users of schema.org's vocabulary expect: the text of an element is what a reader sees of it (no scripts, blocks
//! parted, runs of white space one blank), and an attribute `content` is the value of any element that has one.
//!
//! By `itemref` a few elements can be in many items, so the elements that are visited and the bytes of all values are
//! bounded; what comes after is left out. A value counts once for each of its names.

use std::collections::{HashMap, HashSet};

use ego_tree::NodeId;
use ego_tree::iter::Edge;
use scraper::{ElementRef, Html, Node};
use serde_json::{Map, Value};
use url::Url;

use super::{BYTES_MAX, tokens};
use crate::web::html::display::Display;
use crate::web::html::text::Squeezed;

/// Elements that are visited for all items of a page, and ends of what is walked for texts.
const STEPS_MAX: usize = 4_000_000;
/// Items within items.
const DEPTH_MAX: usize = 64;
/// Bytes that an item is counted as, beside its values.
const ITEM_BYTES: usize = 200;

/// The items of a page that are no property of another.
pub(super) fn items(page: &Html, base: Option<&Url>) -> Vec<Value> {
    let mut reader = Reader { page, base, by_id: None, order: None, steps: STEPS_MAX, bytes: BYTES_MAX };
    let elements = page.tree.root().descendants().filter_map(ElementRef::wrap);
    let tops = elements.filter(|element| has(*element, "itemscope") && !has(*element, "itemprop"));
    let mut items = Vec::new();
    for item in tops {
        if reader.is_spent() {
            break;
        }
        items.push(reader.item(item, &mut Vec::new()));
    }
    items
}

struct Reader<'a> {
    page: &'a Html,
    base: Option<&'a Url>,
    /// Elements with an `id`, gathered once an `itemref` asks for them.
    by_id: Option<HashMap<&'a str, NodeId>>,
    /// The place of each node in the order of the page, gathered likewise.
    order: Option<HashMap<NodeId, usize>>,
    steps: usize,
    bytes: usize,
}

impl<'a> Reader<'a> {
    fn is_spent(&self) -> bool {
        self.steps == 0 || self.bytes == 0
    }

    /// An item; `around` are those that it is a property of.
    fn item(&mut self, element: ElementRef<'a>, around: &mut Vec<NodeId>) -> Value {
        let mut item = Map::new();
        let types: Vec<_> = tokens(element, "itemtype").map(Value::from).collect();
        if !types.is_empty() {
            item.insert("type".to_owned(), Value::Array(types));
        }
        if let Some(id) = element.attr("itemid") {
            item.insert("id".to_owned(), Value::from(self.resolved(id.trim())));
        }
        self.bytes = self.bytes.saturating_sub(ITEM_BYTES);
        around.push(element.id());
        let mut properties = Map::new();
        for property in self.properties(element) {
            if self.is_spent() {
                break;
            }
            let value = self.value(property, around);
            let mut names = tokens(property, "itemprop");
            let first = names.next().unwrap_or_default();
            for name in names {
                let Some(left) = self.bytes.checked_sub(bytes_of(&value)) else { break };
                self.bytes = left;
                push(&mut properties, name, value.clone());
            }
            push(&mut properties, first, value);
        }
        around.pop();
        item.insert("properties".to_owned(), Value::Object(properties));
        Value::Object(item)
    }

    /// The elements that are properties of an item, in the order of the page.
    fn properties(&mut self, item: ElementRef<'a>) -> Vec<ElementRef<'a>> {
        let mut pending: Vec<_> = item.child_elements().collect();
        let refers = has(item, "itemref");
        if refers {
            pending.extend(self.referred(item));
        }
        let mut found = Vec::new();
        let mut seen = HashSet::from([item.id()]);
        pending.reverse();
        while let Some(element) = pending.pop() {
            if self.is_spent() {
                break;
            }
            self.steps -= 1;
            if !seen.insert(element.id()) {
                continue;
            }
            if !has(element, "itemscope") {
                let below = pending.len();
                pending.extend(element.child_elements());
                pending[below..].reverse();
            }
            if tokens(element, "itemprop").next().is_some() {
                found.push(element);
            }
        }
        if refers {
            let order = self.order();
            found.sort_by_key(|element| order.get(&element.id()).copied());
        }
        found
    }

    fn referred(&mut self, item: ElementRef<'a>) -> Vec<ElementRef<'a>> {
        let page = self.page;
        let by_id = self.by_id.get_or_insert_with(|| {
            let mut by_id = HashMap::new();
            for element in page.tree.root().descendants().filter_map(ElementRef::wrap) {
                element.attr("id").into_iter().for_each(|id| {
                    by_id.entry(id).or_insert(element.id());
                });
            }
            by_id
        });
        let nodes = tokens(item, "itemref").filter_map(|id| page.tree.get(*by_id.get(id)?));
        nodes.filter_map(ElementRef::wrap).take(self.steps).collect()
    }

    fn order(&mut self) -> &HashMap<NodeId, usize> {
        let page = self.page;
        self.order.get_or_insert_with(|| {
            page.tree.root().descendants().enumerate().map(|(place, node)| (node.id(), place)).collect()
        })
    }

    /// The value of a property.
    fn value(&mut self, element: ElementRef<'a>, around: &mut Vec<NodeId>) -> Value {
        if has(element, "itemscope") {
            if around.contains(&element.id()) || around.len() >= DEPTH_MAX {
                return Value::from("ERROR");
            }
            return self.item(element, around);
        }
        let attr = |name| element.attr(name).map(str::to_owned);
        let url = |name| element.attr(name).map_or(String::new(), |value| self.resolved(value));
        let value = match element.value().name() {
            "meta" => attr("content").unwrap_or_default(),
            // of any other element, too, as pages with the vocabulary of schema.org are written
            _ if has(element, "content") => attr("content").unwrap_or_default(),
            "audio" | "embed" | "iframe" | "img" | "source" | "track" | "video" => url("src"),
            "a" | "area" | "link" => url("href"),
            "object" => url("data"),
            "data" | "meter" => attr("value").unwrap_or_default(),
            "time" => attr("datetime").unwrap_or_else(|| self.text(element)),
            _ => self.text(element),
        };
        self.bytes = self.bytes.saturating_sub(value.len() + size_of::<Value>());
        Value::from(value)
    }

    /// The text of an element that a reader sees, with blocks parted; cut where the page's share ends.
    fn text(&mut self, element: ElementRef<'_>) -> String {
        let (mut text, mut unseen) = (Squeezed::default(), 0_usize);
        for edge in element.traverse() {
            self.steps = self.steps.saturating_sub(1);
            if self.steps == 0 || text.text.len() > self.bytes {
                break;
            }
            let (node, opens) = match edge {
                Edge::Open(node) => (node, true),
                Edge::Close(node) => (node, false),
            };
            match node.value() {
                Node::Element(element) if Display::of(element.name()) == Display::None => {
                    unseen = if opens { unseen + 1 } else { unseen.saturating_sub(1) };
                }
                Node::Element(element) if Display::of(element.name()).parts_words() => text.part(),
                Node::Text(piece) if opens && unseen == 0 => text.push(piece),
                _ => {}
            }
        }
        text.text
    }

    /// A URL resolved against the page; one that cannot be resolved is left as it is.
    fn resolved(&self, url: &str) -> String {
        self.base.and_then(|base| base.join(url).ok()).map_or_else(|| url.to_owned(), Url::into)
    }
}

fn push(properties: &mut Map<String, Value>, name: &str, value: Value) {
    let values = properties.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(values) = values {
        values.push(value);
    }
}

/// Returns the bytes that a value is counted as.
fn bytes_of(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(bytes_of).sum(),
        Value::Object(map) => ITEM_BYTES + map.iter().map(|(name, value)| name.len() + bytes_of(value)).sum::<usize>(),
        _ => 0,
    };
    size_of::<Value>() + inner
}

fn has(element: ElementRef<'_>, name: &str) -> bool {
    element.attr(name).is_some()
}
