//! The text of a page as a browser shows it by the default style sheet: its `innerText`, with one blank for any number
//! of them. Style sheets of the page are not read; its `style` attributes are, as far as they hide an element or part
//! lines.
//!
//! A browser puts an empty line around paragraphs only. Here, where empty lines are wanted, headings, lists, tables and
//! quotes have one, too.

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::node::Element;
use scraper::{Html, Node};

use crate::web::html::display::Display;
use crate::web::html::text::Squeezed;

/// The text of a page with a line for each block and each row of a table; preformatted text as it is.
pub fn rendered_lines(page: &Html) -> String {
    Rendering::default().run(page)
}

/// The same with the alternative texts of pictures in their places, as `![...]`.
pub fn rendered_with_alternatives(page: &Html) -> String {
    Rendering { has_alternatives: true, ..Rendering::default() }.run(page)
}

/// The text of a page with an empty line between paragraphs.
pub(crate) fn rendered_paragraphs(page: &Html) -> String {
    Rendering { has_empty_lines: true, ..Rendering::default() }.run(page)
}

#[derive(Default)]
struct Rendering {
    text: Squeezed,
    has_empty_lines: bool,
    has_alternatives: bool,
    /// The elements that the walk is in, the outermost first.
    open: Vec<Open>,
}

/// An element that the walk is in, with what it has of those around it.
#[derive(Clone, Copy)]
struct Open {
    display: Display,
    /// It is not shown, nor is anything in it.
    is_hidden: bool,
    /// White space in it stays as it is.
    keeps_space: bool,
    /// Its text is seen.
    is_seen: bool,
    /// It shows its summary alone.
    is_closed: bool,
}

impl Open {
    /// The page itself.
    const PAGE: Open =
        Open { display: Display::Block, is_hidden: false, keeps_space: false, is_seen: true, is_closed: false };

    /// An element in this one.
    fn enter(self, node: NodeRef<'_, Node>, element: &Element) -> Open {
        let name = element.name();
        let is_closed = name == "details" && element.attr("open").is_none();
        let is_preformatted = matches!(name, "pre" | "listing" | "plaintext" | "xmp");
        let mut open =
            Open { display: Display::of(name), keeps_space: self.keeps_space || is_preformatted, is_closed, ..self };
        if let Some(style) = element.attr("style") {
            open.take(style);
        }
        open.is_hidden |= open.display == Display::None
            || element.attr("hidden").is_some()
            || (name == "dialog" && element.attr("open").is_none())
            || (self.is_closed && !is_first_summary(node));
        open
    }

    /// Takes the declarations of a `style` attribute.
    fn take(&mut self, style: &str) {
        for declaration in style.split(';') {
            let Some((property, value)) = declaration.split_once(':') else { continue };
            let value = value.trim().trim_end_matches("!important").trim_end().to_ascii_lowercase();
            match property.trim().to_ascii_lowercase().as_str() {
                "display" => self.display = self.displayed(&value),
                "visibility" if matches!(value.as_str(), "hidden" | "collapse") => self.is_seen = false,
                "visibility" if value == "visible" => self.is_seen = true,
                // such an element is a block whatever it was
                "float" if value != "none" => self.display = self.displayed("block"),
                "position" if matches!(value.as_str(), "absolute" | "fixed") => self.display = self.displayed("block"),
                "white-space" => self.keeps_space = matches!(value.as_str(), "pre" | "pre-wrap" | "break-spaces"),
                _ => {}
            }
        }
    }

    /// The layout that a value of `display` gives it.
    fn displayed(&self, value: &str) -> Display {
        match value {
            _ if self.display == Display::None => Display::None,
            "none" => Display::None,
            "inline" | "contents" | "inline-block" | "inline-flex" | "inline-grid" | "inline-table" => Display::Inline,
            "table-cell" => Display::Cell,
            "block" | "flex" | "grid" | "flow-root" | "list-item" | "table" | "table-row" | "table-caption" => {
                match self.display {
                    Display::Paragraph => Display::Paragraph,
                    _ => Display::Block,
                }
            }
            _ => self.display,
        }
    }
}

impl Rendering {
    fn run(mut self, page: &Html) -> String {
        for edge in page.tree.root().traverse() {
            match edge {
                Edge::Open(node) => match node.value() {
                    Node::Element(element) => self.open(node, element),
                    Node::Text(piece) if !self.within().is_closed => self.push(piece),
                    _ => {}
                },
                Edge::Close(node) if node.value().is_element() => self.close(),
                Edge::Close(_) => {}
            }
        }
        let mut text = self.text.text;
        text.truncate(text.trim_end().len());
        text
    }

    /// The innermost element that the walk is in.
    fn within(&self) -> Open {
        self.open.last().copied().unwrap_or(Open::PAGE)
    }

    fn open(&mut self, node: NodeRef<'_, Node>, element: &Element) {
        let (around, open) = (self.within(), self.within().enter(node, element));
        if !open.is_hidden {
            match open.display {
                Display::Break if around.keeps_space => self.text.push_preformatted("\n"),
                Display::Break => self.text.end_line(),
                display => self.part(display),
            }
        }
        self.open.push(open);
        self.push_alternative(element);
    }

    fn close(&mut self) {
        let Some(closed) = self.open.pop().filter(|closed| !closed.is_hidden) else { return };
        if closed.keeps_space && !self.within().keeps_space && closed.display != Display::Inline {
            self.text.end_preformatted();
        }
        if closed.display != Display::Break {
            self.part(closed.display);
        }
    }

    fn part(&mut self, display: Display) {
        match display {
            Display::Paragraph if self.has_empty_lines => self.text.end_paragraph(),
            Display::Block | Display::Paragraph => self.text.end_line(),
            Display::Cell => self.text.part(),
            Display::None | Display::Inline | Display::Break => {}
        }
    }

    fn push(&mut self, piece: &str) {
        let within = self.within();
        match within.is_hidden || !within.is_seen {
            true => {}
            false if within.keeps_space => self.text.push_preformatted(piece),
            false => self.text.push(piece),
        }
    }

    fn push_alternative(&mut self, element: &Element) {
        if !self.has_alternatives || self.within().is_hidden {
            return;
        }
        if let Some(text) = element.attr("alt").filter(|text| !text.trim().is_empty()) {
            self.text.part();
            self.push(&format!("![{text}]"));
            self.text.part();
        }
    }
}

/// Returns true where a node is the summary of the `details` that it is in.
fn is_first_summary(node: NodeRef<'_, Node>) -> bool {
    let is_summary =
        |node: NodeRef<'_, Node>| node.value().as_element().is_some_and(|element| element.name() == "summary");
    is_summary(node) && !node.prev_siblings().any(is_summary)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tree::parse;
    use super::*;

    fn lines(page: &str) -> String {
        rendered_lines(&parse(page, Duration::MAX).unwrap())
    }

    #[test]
    fn a_page_is_laid_out_in_lines_with_its_code_as_it_is() {
        let page =
            "<title>T</title><h1>One</h1><p>two<br>three\n four</p><pre><code>fn f() {\n    1\n}\n\n</code></pre>five
            <table><tr><th>a<th>b<tr><td>1<td><b>2</b></table><ul><li>six<li>seven</ul><pre>\n  last<br>line\n</pre>";
        let expected = "One\ntwo\nthree four\nfn f() {\n    1\n}\nfive\na b\n1 2\nsix\nseven\n  last\nline";
        assert_eq!(lines(page), expected);
    }

    #[test]
    fn only_what_a_browser_parts_is_parted() {
        for (page, expected) in [
            ("<p>On <time>21 May</time>, a <my-word>cus</my-word>tom <nobr>one</nobr>.", "On 21 May, a custom one."),
            ("<p>a set of <math><mi>N</mi></math>, and <ruby>k<rp>(</rp><rt>j</rt></ruby>s", "a set of N, and kjs"),
            ("<p>a<img alt=x>b<svg><title>t</title></svg>c<wbr>d<video>no</video>e", "abcde"),
            ("<dl><dt>one<dd>two</dl><details open><summary>three</summary>four</details>", "one\ntwo\nthree\nfour"),
            (
                "<center>one</center>two<section>three<br>four</section><h2>five<br>six</h2>",
                "one\ntwo\nthree\nfour\nfive\nsix",
            ),
            ("<a href=/x>one<br>two<div>three</div></a>four", "one\ntwo\nthree\nfour"),
            ("<details><summary>one</summary>no<p>no</p><summary>no</summary></details>two", "one\ntwo"),
            ("a<span style='visibility:hidden'>no<b style='visibility:visible'>b</b></span>c", "abc"),
            ("a<span style='float: left'>b</span>c<meter>no</meter>d", "a\nb\ncd"),
            ("<p>see <code><span>x<br>y</span></code>", "see x\ny"),
        ] {
            assert_eq!(lines(page), expected, "{page}");
        }
    }

    #[test]
    fn lines_of_code_that_are_elements_are_lines() {
        for (page, expected) in [
            ("<pre><div>a</div><div>  b</div></pre>c", "a\n  b\nc"),
            ("<pre><span style='display:block'>a\n</span><span style='display: block'>  b</span></pre>", "a\n  b"),
            ("<div style='white-space: pre'>a\n  b</div>c", "a\n  b\nc"),
            ("<pre style='white-space:normal'>a\n  b</pre>", "a b"),
        ] {
            assert_eq!(lines(page), expected, "{page}");
        }
    }

    #[test]
    fn what_is_hidden_is_no_text() {
        for hidden in [
            "hidden",
            "style='display:none'",
            "STYLE='color: red; Display : None !important'",
            "style=visibility:hidden",
        ] {
            assert_eq!(lines(&format!("a<p {hidden}>b<b>c</b></p><p>d")), "a\nd", "{hidden}");
        }
        assert_eq!(
            lines("a<dialog>b</dialog><noscript>c</noscript><textarea>d</textarea><template>e</template>f"),
            "af"
        );
    }

    #[test]
    fn paragraphs_have_an_empty_line_between_them_where_that_is_wanted() {
        let page = "<h1>a</h1><p>b</p><ul><li>c<li>d</ul><div>e</div><div>f</div><pre>g\n\nh\n</pre>\
                    <table><tr><td>i<tr><td>j</table>";
        let text = rendered_paragraphs(&parse(page, Duration::MAX).unwrap());
        assert_eq!(text, "a\n\nb\n\nc\nd\n\ne\nf\n\ng\n\nh\n\ni\nj");
    }
}
