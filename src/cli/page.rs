//! The texts of a page that is a tree, and its encoding.

use ego_tree::iter::Edge;
use html5ever::ns;
use scraper::node::Element;
use scraper::{ElementRef, Html, Node, Selector};

use super::archive::Response;
use crate::web::charset;
use crate::web::html::text::{Squeezed, is_inline};

/// Elements whose text no reader sees.
const UNSEEN: [&str; 5] = ["script", "style", "template", "noscript", "head"];
/// The text of an element, with runs of white space made one blank.
pub(super) fn text_of(element: ElementRef<'_>) -> String {
    let mut text = Squeezed::default();
    element.text().for_each(|piece| text.push(piece));
    text.text
}

/// The text that a reader of the page sees: without scripts, styles and head, blocks parted by a blank.
pub(super) fn text_of_page(page: &Html) -> String {
    let mut text = Squeezed::default();
    walk(page, |step| match step {
        Step::Text(piece) => text.push(piece),
        Step::Begin(element) | Step::End(element) if !is_inline(element.name()) => text.part(),
        Step::Begin(_) | Step::End(_) => {}
    });
    text.text
}

/// The text of a page as it is laid out: a line for each block and each row of a table, preformatted text as it is.
pub(super) fn layout_of_page(page: &Html) -> String {
    laid_out(page, |_| None)
}

/// The text by which versions of a page are compared: a line `title: ...`, and the page as it is laid out, with the
/// alternative texts of pictures in their places, as `![...]`.
pub(super) fn compared_of_page(page: &Html) -> String {
    let title = title_of(page).filter(|title| !title.is_empty());
    let title = title.map_or_else(String::new, |title| format!("title: {title}\n"));
    let alternative = |element: &Element| {
        let said = element.attr("alt").filter(|said| !said.trim().is_empty());
        said.map(|said| format!("![{said}]"))
    };
    title + &laid_out(page, alternative)
}

/// The page as it is laid out; where an element begins that `said_by` knows a text of, that is part of it.
fn laid_out(page: &Html, said_by: impl Fn(&Element) -> Option<String>) -> String {
    let (mut text, mut preformatted) = (Squeezed::default(), 0_usize);
    walk(page, |step| {
        if let Step::Begin(element) = step
            && let Some(said) = said_by(element)
        {
            if preformatted > 0 {
                text.push_preformatted(&said);
            } else {
                text.part();
                text.push(&said);
                text.part();
            }
        }
        match step {
            Step::Text(piece) if preformatted > 0 => text.push_preformatted(piece),
            Step::Text(piece) => text.push(piece),
            Step::Begin(element) if element.name() == "pre" => {
                text.end_line();
                preformatted += 1;
            }
            Step::End(element) if element.name() == "pre" => {
                text.end_preformatted();
                preformatted -= 1;
            }
            Step::Begin(element) if element.name() == "br" && preformatted > 0 => text.push_preformatted("\n"),
            Step::Begin(element) | Step::End(element) => match element.name() {
                "td" | "th" => text.part(),
                name if !is_inline(name) && preformatted == 0 => text.end_line(),
                _ => {}
            },
        }
    });
    text.text.truncate(text.text.trim_end().len());
    text.text
}

/// A step of a walk over what a reader sees.
#[derive(Clone, Copy)]
enum Step<'a> {
    Text(&'a str),
    Begin(&'a Element),
    End(&'a Element),
}

/// Walks over what a reader of the page sees: without scripts, styles and head.
fn walk<'a>(page: &'a Html, mut take: impl FnMut(Step<'a>)) {
    let mut unseen = 0_usize;
    for edge in page.tree.root().traverse() {
        let (node, opens) = match edge {
            Edge::Open(node) => (node, true),
            Edge::Close(node) => (node, false),
        };
        match node.value() {
            Node::Element(element) if UNSEEN.contains(&element.name()) => {
                unseen = if opens { unseen + 1 } else { unseen - 1 };
            }
            Node::Element(element) if unseen == 0 => {
                take(if opens { Step::Begin(element) } else { Step::End(element) });
            }
            Node::Text(piece) if opens && unseen == 0 => take(Step::Text(piece)),
            _ => {}
        }
    }
}

/// The page's title, where it has one: its first `title` that is none of a drawing.
pub(super) fn title_of(page: &Html) -> Option<String> {
    let selector = Selector::parse("title").expect("it is a selector");
    page.select(&selector).find(|title| title.value().name.ns == ns!(html)).map(text_of)
}

/// The text of a page, in the encoding that the crawl took it for when it looked for links.
pub(super) fn decode(response: &Response) -> String {
    let body = &response.decoded;
    charset::to_utf8(body, charset::of_html(body, response.content_type().as_deref())).into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::reading::tree::parse;

    #[test]
    fn the_text_of_a_page_is_what_a_reader_sees() {
        let page = "<title>T</title><style>p{}</style><h1>One</h1><p>t<b>w</b>o<br>three<script>no()</script></p>
            <noscript><p>no</p></noscript><ul><li>four<li>five</ul><template>no</template>six";
        let page = parse(page, Duration::MAX).unwrap();
        assert_eq!(text_of_page(&page), "One two three four five six");
        assert_eq!(layout_of_page(&page), "One\ntwo\nthree\nfour\nfive\nsix");
    }

    #[test]
    fn versions_are_compared_by_title_text_alternative_texts_and_indentation() {
        let page = "<title>T</title><p>one<img alt='a cat'>two<img alt=' '><img><pre>if x:\n    <img alt=y>z</pre>
            <noscript><img alt=no></noscript><template><img alt=no></template><area alt=three>";
        let page = parse(page, Duration::MAX).unwrap();
        assert_eq!(compared_of_page(&page), "title: T\none ![a cat]\ntwo\nif x:\n    ![y]z\n![three]");
        assert_eq!(compared_of_page(&parse("<title> </title><p>a", Duration::MAX).unwrap()), "a");
    }

    #[test]
    fn a_page_is_laid_out_in_lines_with_its_code_as_it_is() {
        let page =
            "<title>T</title><h1>One</h1><p>two<br>three\n four</p><pre><code>fn f() {\n    1\n}\n\n</code></pre>five
            <table><tr><th>a<th>b<tr><td>1<td><b>2</b></table><ul><li>six<li>seven</ul><pre>\n  last<br>line\n</pre>";
        let expected = "One\ntwo\nthree four\nfn f() {\n    1\n}\nfive\na b\n1 2\nsix\nseven\n  last\nline";
        assert_eq!(layout_of_page(&parse(page, Duration::MAX).unwrap()), expected);
    }

    #[test]
    fn the_title_is_that_of_the_page_and_not_of_a_drawing() {
        let title = |page: &str| title_of(&parse(page, Duration::MAX).unwrap());
        assert_eq!(title("<title> T\n U </title><title>no</title>").as_deref(), Some("T U"));
        assert_eq!(title("<body><svg><title>no</title></svg>"), None);
        assert_eq!(title("<body><svg><title>no</title></svg><title>late</title>").as_deref(), Some("late"));
    }
}
