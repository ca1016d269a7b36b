//! A page as a tree: its encoding, its parse within limits, and its texts.
//!
//! A tree of hostile HTML can cost time that grows with the square of its depth, and a hundred times the memory of its
//! bytes. So a page is given up when its tree has too many nodes, or takes too many steps to build or to walk: counts
//! that are the same on every machine. The clock is the last resort.

use std::time::{Duration, Instant};

use ego_tree::iter::Edge;
use html5ever::driver::{ParseOpts, parse_document};
use html5ever::ns;
use html5ever::tendril::{StrTendril, TendrilSink};
use scraper::{ElementRef, Html, Node, Selector};

use super::sink::Counting;
use crate::cli::archive::Response;
use crate::web::charset;
use crate::web::html::text::{Squeezed, is_inline};

/// Bytes between two looks at the counts and the clock.
const PARSE_STEP: usize = 16 << 10;
/// Nodes of a tree: some 300 bytes each.
const NODES_MAX: usize = 1_000_000;
/// Steps of the builder, and of a walk over what is below each element: a second or two of them. Pages take some 20 and
/// 30 for each node.
const STEPS_MAX: u64 = 200_000_000;

/// Elements whose text no reader sees.
const UNSEEN: [&str; 5] = ["script", "style", "template", "noscript", "head"];
/// The text of an element, with runs of white space made one blank.
pub(in crate::cli) fn text_of(element: ElementRef<'_>) -> String {
    let mut text = Squeezed::default();
    element.text().for_each(|piece| text.push(piece));
    text.text
}

/// The text that a reader of the page sees: without scripts, styles and head, blocks parted by a blank.
pub(in crate::cli) fn text_of_page(page: &Html) -> String {
    seen(page, Squeezed::part)
}

/// The same with a line for each block.
pub(in crate::cli) fn lines_of_page(page: &Html) -> String {
    seen(page, Squeezed::end_line)
}

fn seen(page: &Html, part: fn(&mut Squeezed)) -> String {
    let (mut text, mut unseen) = (Squeezed::default(), 0_usize);
    for edge in page.tree.root().traverse() {
        let (node, opens) = match edge {
            Edge::Open(node) => (node, true),
            Edge::Close(node) => (node, false),
        };
        match node.value() {
            Node::Element(element) if UNSEEN.contains(&element.name()) => {
                unseen = if opens { unseen + 1 } else { unseen - 1 };
            }
            Node::Element(element) if !is_inline(element.name()) => part(&mut text),
            Node::Text(piece) if opens && unseen == 0 => text.push(piece),
            _ => {}
        }
    }
    text.text
}

/// The page's title, where it has one: its first `title` that is none of a drawing.
pub(in crate::cli) fn title_of(page: &Html) -> Option<String> {
    let selector = Selector::parse("title").expect("it is a selector");
    page.select(&selector).find(|title| title.value().name.ns == ns!(html)).map(text_of)
}

/// Why a page has no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum GivenUp {
    /// It has more than [`NODES_MAX`] nodes.
    Nodes,
    /// Its elements are nested so that its tree takes more than [`STEPS_MAX`] steps to build or to walk.
    Steps,
    /// It took longer than it may.
    Time(Duration),
}

impl std::fmt::Display for GivenUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GivenUp::Nodes => write!(f, "it has more than {NODES_MAX} nodes"),
            GivenUp::Steps => f.write_str("its elements are nested too deeply"),
            GivenUp::Time(time_max) => write!(f, "it takes longer than {time_max:?} to parse"),
        }
    }
}

/// The tree of a page, within the limits.
pub(in crate::cli) fn parse(text: &str, time_max: Duration) -> Result<Html, GivenUp> {
    let started = Instant::now();
    let mut parser = parse_document(Counting::new(), ParseOpts::default());
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.len().min(PARSE_STEP);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (step, after) = rest.split_at(end);
        parser.process(StrTendril::from(step));
        rest = after;
        let sink = &parser.tokenizer.sink.sink;
        if sink.nodes() > NODES_MAX {
            return Err(GivenUp::Nodes);
        }
        if sink.steps() > STEPS_MAX {
            return Err(GivenUp::Steps);
        }
        if started.elapsed() >= time_max {
            return Err(GivenUp::Time(time_max));
        }
    }
    let page = parser.finish();
    if depths(&page) > STEPS_MAX { Err(GivenUp::Steps) } else { Ok(page) }
}

/// The depths of all nodes, added up: the steps that it takes to walk over what is below each node, or to look at what
/// is above each.
fn depths(page: &Html) -> u64 {
    let (mut depth, mut sum) = (0, 0);
    for edge in page.tree.root().traverse() {
        match edge {
            Edge::Open(_) => {
                sum += depth;
                depth += 1;
            }
            Edge::Close(_) => depth -= 1,
        }
    }
    sum
}

/// The text of a page, in the encoding that the crawl took it for when it looked for links.
pub(in crate::cli) fn decode(response: &Response) -> String {
    let body = &response.decoded;
    charset::to_utf8(body, charset::of_html(body, response.content_type().as_deref())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_page_is_what_a_reader_sees() {
        let page = "<title>T</title><style>p{}</style><h1>One</h1><p>t<b>w</b>o<br>three<script>no()</script></p>
            <noscript><p>no</p></noscript><ul><li>four<li>five</ul><template>no</template>six";
        let page = parse(page, Duration::MAX).unwrap();
        assert_eq!(text_of_page(&page), "One two three four five six");
        assert_eq!(lines_of_page(&page), "One\ntwo\nthree\nfour\nfive\nsix");
    }

    #[test]
    fn the_title_is_that_of_the_page_and_not_of_a_drawing() {
        let title = |page: &str| title_of(&parse(page, Duration::MAX).unwrap());
        assert_eq!(title("<title> T\n U </title><title>no</title>").as_deref(), Some("T U"));
        assert_eq!(title("<body><svg><title>no</title></svg>"), None);
        assert_eq!(title("<body><svg><title>no</title></svg><title>late</title>").as_deref(), Some("late"));
    }

    #[test]
    fn a_page_of_too_many_nodes_has_no_tree() {
        assert!(parse(&"<a>".repeat(1_000), Duration::MAX).is_ok());
        let page = parse(&"<br>".repeat(NODES_MAX + 2 * PARSE_STEP), Duration::MAX);
        assert_eq!(page.unwrap_err(), GivenUp::Nodes);
    }

    #[test]
    fn nested_lists_are_given_up_by_a_count_that_is_the_same_everywhere() {
        for nested in ["<ul><li>", "<p><table><tr><td>", "<div><p>", "<b><div>", "<dl><dd><dt>"] {
            let page = parse(&nested.repeat((16 << 20) / nested.len()), Duration::MAX);
            assert!(matches!(page, Err(GivenUp::Steps | GivenUp::Nodes)), "{nested}");
        }
    }
}
