//! Dates in the elements of a page and in its text, and their places: near its heading, elsewhere, or aside.
//!
//! The heading is the first `h1`, or the first heading that the title of the page contains. One walk over the tree;
//! of each element that may have a date a bounded number of nodes is read.

use std::collections::HashSet;

use ego_tree::NodeId;
use ego_tree::iter::Edge;
use scraper::{ElementRef, Html, Node};

use super::super::Facts;
use super::date::{Date, places};
use super::words::{self, Says, is_one_of};
use super::{Dates, Limits, Source};
use crate::web::html::display::Display;

/// Dates of a page that are looked at.
const FOUND_MAX: usize = 2_000;
/// Nodes of an element in which its date is looked for, and bytes of their text.
const NODES_MAX: usize = 50;
const BYTES_MAX: usize = 200;
/// Bytes in front of a date that say what it is of.
const LABEL_BYTES: usize = 60;
/// Characters of a text that is a line of its own and no sentence.
const LINE_CHARS_MAX: usize = 100;
/// Letters and digits of a heading by which it is known in the title.
const HEADING_BYTES_MIN: usize = 12;
/// Bytes of text between the heading and a date that is near.
const AFTER_BYTES_MAX: usize = 600;
const BEFORE_BYTES_MAX: usize = 200;

/// Attributes that have the date of an element.
const ATTRIBUTES: [&str; 7] =
    ["datetime", "content", "title", "data-utime", "data-time", "data-timestamp", "data-date"];

/// Ways in which a date is marked, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// A `time` element that says what it is of.
    Marked,
    /// Another `time` element.
    Time,
    /// An element whose class says that it has the date of a text.
    Named,
    /// A text with a word for it.
    Labelled,
    /// An element whose class says that it has a date, or notes of a text.
    NamedWeakly,
    /// A short text.
    Line,
    /// A sentence.
    Prose,
}

/// Places of a date far from the heading, the likeliest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Behind it.
    After,
    /// In front of it.
    Before,
    /// In a sidebar, a footer or a comment.
    Aside,
}

/// A date that is shown.
struct Shown {
    mark: Mark,
    says: Says,
    date: Date,
    /// Bytes of text in front of it.
    at: usize,
    is_aside: bool,
}

/// The heading of a page, by the bytes of text in front of it.
#[derive(Clone, Copy)]
struct Heading {
    start: usize,
    end: usize,
    /// True if the title contains it.
    is_sure: bool,
}

struct Walk<'a> {
    limits: &'a Limits,
    dates: &'a mut Dates,
    found: Vec<Shown>,
    /// Letters and digits of its titles.
    titles: Vec<String>,
    heading: Option<Heading>,
    /// Elements around the heading, which are never aside.
    around: HashSet<NodeId>,
    /// Open elements that are not shown, and that are aside.
    hidden: usize,
    aside: usize,
    /// Bytes of text so far, white space left out.
    at: usize,
}

/// Offers the dates of all elements to `dates`.
pub(super) fn walk(page: &Facts<'_>, limits: &Limits, dates: &mut Dates) {
    let (found, titles, around) = (Vec::new(), Vec::new(), around_heading(page.tree));
    let mut walk = Walk { limits, dates, found, titles, heading: None, around, hidden: 0, aside: 0, at: 0 };
    for edge in page.tree.tree.root().traverse() {
        match edge {
            Edge::Open(node) => match node.value() {
                Node::Text(text) if walk.hidden == 0 => walk.text(text),
                Node::Element(_) => ElementRef::wrap(node).into_iter().for_each(|element| walk.open(element)),
                _ => {}
            },
            Edge::Close(node) => ElementRef::wrap(node).into_iter().for_each(|element| walk.close(element)),
        }
    }
    walk.end();
}

impl Walk<'_> {
    fn open(&mut self, element: ElementRef<'_>) {
        match element.value().name() {
            "meta" => {
                if element.attr("property") == Some("og:title") {
                    self.titles.push(plain(element.attr("content").unwrap_or_default()));
                }
                self.dates.meta(element, self.limits);
            }
            "link" if element.attr("rel") == Some("canonical") => {
                let url = element.attr("href").unwrap_or_default();
                self.dates.path(url, Source::Path, self.limits);
            }
            "title" => self.titles.push(plain(&start_of(element))),
            "link" | "script" | "style" => {}
            _ => self.element(element),
        }
        self.hidden += usize::from(is_hidden(element));
        self.aside += usize::from(self.is_aside(element));
    }

    fn close(&mut self, element: ElementRef<'_>) {
        self.hidden = self.hidden.saturating_sub(usize::from(is_hidden(element)));
        self.aside = self.aside.saturating_sub(usize::from(self.is_aside(element)));
    }

    fn element(&mut self, element: ElementRef<'_>) {
        let name = element.value().name();
        if matches!(name, "h1" | "h2" | "h3") {
            self.heading(element);
        }
        let property = element.attr("itemprop").unwrap_or_default();
        if let Some(says) = property.split_ascii_whitespace().find_map(Says::of_name) {
            let date = self.date_of(element);
            match self.aside {
                0 => self.dates.offer(says, Source::Property, date),
                _ => self.push(Mark::Marked, says, date),
            }
            if date.is_some() {
                return;
            }
        }
        let names = || ["class", "id"].into_iter().filter_map(|name| element.attr(name));
        let says = names().find_map(Says::of_class).or_else(|| element.attr("pubdate").map(|_| Says::Published));
        let is_weak = || names().any(|name| is_one_of(&words::WEAK, name));
        let mark = match (name, says) {
            ("time", Some(_)) => Mark::Marked,
            ("time", None) => Mark::Time,
            ("body" | "html" | "article" | "main", _) => return,
            _ if self.hidden > 0 => return,
            (_, Some(_)) => Mark::Named,
            (_, None) if is_weak() => Mark::NamedWeakly,
            _ => return,
        };
        self.push(mark, says.unwrap_or(Says::Published), self.date_of(element));
    }

    fn heading(&mut self, element: ElementRef<'_>) {
        if self.heading.is_some_and(|heading| heading.is_sure) {
            return;
        }
        let text = plain(&start_of(element));
        let is_sure = text.len() >= HEADING_BYTES_MIN && self.titles.iter().any(|title| title.contains(&text));
        let is_first = self.heading.is_none() && element.value().name() == "h1";
        if is_sure || is_first {
            self.heading = Some(Heading { start: self.at, end: self.at + text.len(), is_sure });
        }
    }

    /// The date of an element: of an attribute, or in its text.
    fn date_of(&self, element: ElementRef<'_>) -> Option<Date> {
        let stated = ATTRIBUTES.iter().find_map(|name| self.limits.value(element.attr(name)?));
        let in_text = || {
            let text = start_of(element);
            places(&text, self.limits.order).find_map(|place| self.limits.believed(Some(place.date)))
        };
        stated.or_else(in_text)
    }

    fn text(&mut self, text: &str) {
        let is_line = text.trim().chars().nth(LINE_CHARS_MAX).is_none();
        for place in places(text, self.limits.order) {
            let label = &text[text.floor_char_boundary(place.start.saturating_sub(LABEL_BYTES))..place.start];
            let says = Says::of_label(label);
            let mark = match says {
                Some(_) => Mark::Labelled,
                None if is_line => Mark::Line,
                None => Mark::Prose,
            };
            self.push(mark, says.unwrap_or(Says::Published), self.limits.believed(Some(place.date)));
        }
        self.at += text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
    }

    fn push(&mut self, mark: Mark, says: Says, date: Option<Date>) {
        if let Some(date) = date.filter(|_| self.found.len() < FOUND_MAX) {
            self.found.push(Shown { mark, says, date, at: self.at, is_aside: self.aside > 0 });
        }
    }

    fn is_aside(&self, element: ElementRef<'_>) -> bool {
        let is_named = || {
            let mut names = ["class", "id"].into_iter().filter_map(|name| element.attr(name));
            names.any(|name| is_one_of(&words::ASIDE, name)) && !self.around.contains(&element.id())
        };
        match element.value().name() {
            "body" | "html" | "main" | "article" => false,
            "aside" | "nav" | "footer" => !self.around.contains(&element.id()),
            _ => is_named(),
        }
    }

    fn end(self) {
        for shown in self.found {
            self.dates.offer(shown.says, shown.source(self.heading), Some(shown.date));
        }
    }
}

impl Shown {
    fn source(&self, heading: Option<Heading>) -> Source {
        let from_heading = heading.map(|heading| match self.at.checked_sub(heading.start) {
            Some(_) => (self.at.saturating_sub(heading.end) <= AFTER_BYTES_MAX, Place::After),
            None => (heading.start - self.at <= BEFORE_BYTES_MAX, Place::Before),
        });
        match from_heading {
            _ if self.mark == Mark::Prose => Source::Prose,
            _ if self.is_aside => Source::Far(Place::Aside, self.mark),
            Some((true, _)) => Source::Near(self.mark),
            Some((false, place)) => Source::Far(place, self.mark),
            None => Source::Far(Place::After, self.mark),
        }
    }
}

/// The elements around the first `h1`.
fn around_heading(tree: &Html) -> HashSet<NodeId> {
    let mut elements = tree.tree.root().descendants().filter_map(ElementRef::wrap);
    let heading = elements.find(|element| element.value().name() == "h1");
    heading.map(|heading| heading.ancestors().map(|node| node.id()).collect()).unwrap_or_default()
}

/// True if the text of an element is not shown; the head of a page is looked at.
fn is_hidden(element: ElementRef<'_>) -> bool {
    let name = element.value().name();
    Display::of(name) == Display::None && name != "head"
}

/// The letters and digits of a text in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).take(BYTES_MAX).flat_map(char::to_lowercase).collect()
}

/// The begin of the text of an element.
fn start_of(element: ElementRef<'_>) -> String {
    let mut text = String::new();
    let pieces = element.descendants().take(NODES_MAX).filter_map(|node| node.value().as_text());
    for piece in pieces {
        text.push_str(&piece[..piece.floor_char_boundary(BYTES_MAX)]);
        text.push(' ');
        if text.len() > BYTES_MAX {
            break;
        }
    }
    text
}
