//! The elements of a page that its main content is in: what says that it is the text, or else what has most of the
//! words.
//!
//! One walk over the tree adds up the characters of each element. When an element ends, it is left out if it says that
//! it is boilerplate and has not most of the page, if most of it is links, or if nothing but a heading is left of it.
//! Among the elements that say that they are the content, the one that says so most plainly is taken, should it have
//! its share of what is left, or else the page. It is followed down as long as one element has most of its words; an
//! introduction that is before that one comes along.

use std::collections::HashMap;

use dom_query::{Document, Element, NodeId, NodeRef};

use super::endings;
use super::parts::Part;
use super::walk::{chars, edges, is_heading, is_unseen};

/// Characters in 100 of a block that are in links, from which on it is navigation.
const LINKED_MAX: usize = 45;
/// The same for an introduction, and for a block below headings that are links: it belongs to another page.
const LEAD_LINKED_MAX: usize = 15;
/// Characters of a note, from which on it is content.
const NOTE_CHARS: usize = 300;
/// Characters of what is left of a block of which more was left out: a label of what is gone.
const LABEL_CHARS: usize = 80;
/// Characters that a text has at least, to be the main content because it says so, and to be it without the links
/// around it.
const TEXT_CHARS: usize = 200;
/// Characters in 100 of the page that it has to have, too.
const TEXT_SHARE: usize = 40;
/// Characters of a paragraph, or of what says that it is an introduction, for which it comes along.
const LEAD_CHARS: usize = 60;
/// Characters that are around a text, in 100 of its own, with which what is around it is still the same article.
const AROUND_MAX: usize = 60;
/// Characters in 100 of the page that an element has to have, to be gone down to.
const MOST: usize = 75;
/// The same of an element that says that it is the content: what is around the text in it is seldom more.
const MOST_SAID: usize = 85;

/// Characters of an element; blanks do not count.
#[derive(Clone, Copy, Default)]
struct Size {
    chars: usize,
    in_links: usize,
    in_headings: usize,
    in_linked_headings: usize,
}

impl Size {
    /// Characters that are in no link.
    fn text(self) -> usize {
        self.chars - self.in_links
    }

    fn add(&mut self, other: Size) {
        self.chars += other.chars;
        self.in_links += other.in_links;
        self.in_headings += other.in_headings;
        self.in_linked_headings += other.in_linked_headings;
    }

    fn is_linked(self, percent: usize) -> bool {
        self.in_links > 0 && self.in_links * 100 >= self.chars * percent
    }
}

/// An element that the walk is in.
#[derive(Clone, Copy, Default)]
struct Open {
    /// Its characters, including the ones that are left out.
    all: usize,
    kept: Size,
    is_link: bool,
    is_heading: bool,
    is_unseen: bool,
    /// Steps of the walk before it.
    at: usize,
    /// Candidates and leads before it.
    candidates: usize,
    leads: usize,
}

/// An element that says that it is the content.
struct Candidate<'a> {
    node: NodeRef<'a>,
    part: Part,
    chars: usize,
}

/// An element that has many characters.
#[derive(Clone, Copy)]
struct Text {
    /// Its characters, links left out.
    chars: usize,
    /// Steps of the walk before it.
    at: usize,
}

/// An element that may introduce what is behind it, and the step at which it ends.
struct Lead<'a> {
    node: NodeRef<'a>,
    end: usize,
}

/// A walk over a page.
struct Walk<'a> {
    /// Characters of the page.
    chars: usize,
    steps: usize,
    open: Vec<Open>,
    /// Nodes that are no content by their names.
    named: Vec<NodeRef<'a>>,
    /// Nodes that are no content by what is in them.
    linked: Vec<NodeRef<'a>>,
    candidates: Vec<Candidate<'a>>,
    leads: Vec<Lead<'a>>,
    texts: HashMap<NodeId, Text>,
}

/// The HTML of the main content of a page that has `chars` characters.
pub(super) fn select(page: &Document, chars: usize) -> Option<String> {
    let mut walk = Walk {
        chars,
        steps: 0,
        open: vec![Open::default()],
        named: Vec::new(),
        linked: Vec::new(),
        candidates: Vec::new(),
        leads: Vec::new(),
        texts: HashMap::new(),
    };
    for (node, opens) in edges(page) {
        walk.step(node, opens);
    }
    let whole = walk.open.first().map_or(0, |page| page.kept.text());
    for node in &walk.named {
        node.remove_from_parent();
    }
    if whole < TEXT_CHARS {
        // a list of links, or a few words: all that there is
        return page.body().map(|body| body.inner_html().to_string());
    }
    for node in &walk.linked {
        node.remove_from_parent();
    }
    let text = match walk.said(whole) {
        Some(said) => walk.followed(said.node, said.chars, MOST_SAID),
        None => walk.followed(page.body()?, whole, MOST),
    };
    endings::leave_out(&text);
    Some(walk.leads_of(text).map(html).collect::<String>() + &html(text))
}

impl<'a> Walk<'a> {
    fn step(&mut self, node: NodeRef<'a>, opens: bool) {
        self.steps += 1;
        if let Some(element) = node.element_ref() {
            match opens {
                true => self.open(&element),
                false => self.close(node, &element),
            }
        } else if let Some(around) = self.open.last_mut().filter(|around| opens && !around.is_unseen) {
            let chars = chars(&node);
            around.all += chars;
            around.kept.add(Size {
                chars,
                in_links: if around.is_link { chars } else { 0 },
                in_headings: if around.is_heading { chars } else { 0 },
                in_linked_headings: if around.is_heading && around.is_link { chars } else { 0 },
            });
        }
    }

    fn open(&mut self, element: &Element) {
        let around = self.open.last().copied().unwrap_or_default();
        self.open.push(Open {
            is_link: around.is_link || &element.name.local == "a",
            is_heading: around.is_heading || is_heading(element),
            is_unseen: around.is_unseen || is_unseen(element),
            at: self.steps,
            candidates: self.candidates.len(),
            leads: self.leads.len(),
            ..Open::default()
        });
    }

    fn close(&mut self, node: NodeRef<'a>, element: &Element) {
        let Some(closed) = self.open.pop() else { return };
        let part = Part::of(element);
        let has_body =
            self.candidates[closed.candidates..].iter().any(|c| c.part == Part::Body && c.chars >= TEXT_CHARS);
        let is_named = !has_body
            && match part {
                Part::Boilerplate => closed.all * 2 < self.chars,
                Part::Note => closed.kept.chars < NOTE_CHARS,
                _ => false,
            };
        let is_linked =
            !is_named && is_block(element) && (closed.is_label() || (!has_body && closed.is_navigation(part)));
        let Some(around) = self.open.last_mut() else { return };
        around.all += closed.all;
        if is_named || is_linked {
            self.candidates.truncate(closed.candidates);
            self.leads.truncate(closed.leads);
            if is_named {
                self.named.push(node)
            } else {
                self.linked.push(node)
            }
            return;
        }
        around.kept.add(closed.kept);
        self.keep(node, element, part, closed);
    }

    /// Remembers an element that is kept, for what it may be.
    fn keep(&mut self, node: NodeRef<'a>, element: &Element, part: Part, closed: Open) {
        let chars = closed.kept.text();
        let is_lead = part == Part::Lead || matches!(element.name.local.as_ref(), "p" | "h2" | "h3" | "h4");
        if is_lead && chars >= LEAD_CHARS && self.candidates.len() == closed.candidates {
            self.leads.truncate(closed.leads);
            self.leads.push(Lead { node, end: self.steps });
        }
        if chars >= TEXT_CHARS {
            self.texts.insert(node.id, Text { chars, at: closed.at });
            if part > Part::Boilerplate {
                self.candidates.push(Candidate { node, part, chars });
            }
        }
    }

    /// The element that says most plainly that it is the content; of two, the longer one.
    fn said(&self, whole: usize) -> Option<&Candidate<'a>> {
        let mut best: Option<&Candidate<'a>> = None;
        for next in self.candidates.iter().filter(|next| next.chars * 100 >= whole * TEXT_SHARE) {
            if best.is_none_or(|best| (next.part, next.chars) > (best.part, best.chars)) {
                best = Some(next);
            }
        }
        best
    }

    /// The innermost element that has `most` characters in 100 of the `whole` of an element. A long paragraph is not
    /// all of a short text, nor is a quote.
    fn followed(&self, element: NodeRef<'a>, whole: usize, most: usize) -> NodeRef<'a> {
        let has_most = |node: &NodeRef<'_>| {
            let is_paragraph = node.has_name("p") || node.has_name("blockquote");
            !is_paragraph && self.texts.get(&node.id).is_some_and(|text| text.chars * 100 >= whole * most)
        };
        let mut found = element;
        while let Some(inner) = found.children_it(false).find(has_most) {
            found = inner;
        }
        found
    }

    /// Returns the nodes that introduce a text: leads before it within the same article.
    fn leads_of(&self, node: NodeRef<'a>) -> impl Iterator<Item = NodeRef<'a>> {
        let text = self.texts.get(&node.id).copied().unwrap_or(Text { chars: 0, at: 0 });
        let is_same = |around: &NodeRef<'_>| {
            let around = self.texts.get(&around.id);
            around.is_some_and(|around| (around.chars - text.chars) * 100 <= text.chars * AROUND_MAX)
        };
        let around = node.ancestors_it(None).take_while(is_same).last().unwrap_or(node).id;
        let before = self.leads.iter().filter(move |lead| lead.end < text.at).map(|lead| lead.node);
        before.filter(move |lead| lead.ancestors_it(None).any(|node| node.id == around))
    }
}

impl Open {
    /// Returns whether what is left of an element is a label of what was left out of it.
    fn is_label(&self) -> bool {
        let Size { chars, in_headings, .. } = self.kept;
        chars > 0 && self.all > chars && (chars == in_headings || (chars < LABEL_CHARS && self.all > 2 * chars))
    }

    fn is_navigation(&self, part: Part) -> bool {
        let Size { in_headings, in_linked_headings, .. } = self.kept;
        let is_teaser = part == Part::Lead || (in_headings > 0 && in_headings == in_linked_headings);
        self.kept.is_linked(if is_teaser { LEAD_LINKED_MAX } else { LINKED_MAX })
    }
}

/// The HTML of an element; a part of a table is nothing without it.
fn html(node: NodeRef<'_>) -> String {
    let mut node = node;
    while ["tr", "tbody", "thead", "tfoot"].iter().any(|name| node.has_name(name))
        && let Some(table) = node.parent()
    {
        node = table;
    }
    let is_inner = ["body", "td", "th", "li", "dd"].iter().any(|name| node.has_name(name));
    if is_inner { format!("<div>{}</div>", node.inner_html()) } else { node.html().to_string() }
}

/// Returns whether an element is one that is left out as a whole. A table without some of its rows or cells would say
/// something else.
fn is_block(element: &Element) -> bool {
    matches!(
        element.name.local.as_ref(),
        "article" | "blockquote" | "div" | "figure" | "li" | "ol" | "p" | "section" | "ul"
    )
}
