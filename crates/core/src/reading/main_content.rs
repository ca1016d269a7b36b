//! The main content of a page: what is left when navigation, banners, side columns and footers are out.
//!
//! `parts` knows what elements say that they are, `selection` which of them are taken; how good that is, beside others,
//! is measured in benches/text. A page without words has no main content. One without a long text, such as a list of
//! links, has what little is on it.
//!
//! Hostile pages: the tree is built within the limits of [`tree`](super::tree), and then has to keep narrower ones,
//! because its elements are asked for their ancestors and texts, and written by recursion. The limits are counts, the
//! same on every machine.

use std::time::Duration;

use dom_query::{Document, NodeData, NodeRef};
use url::Url;

use super::markdown::{mark_tasks, markdown, without_marks};
use super::rendered::rendered_paragraphs;
use super::selection::select;
use super::tree::{GivenUp, fed, parse};
use super::walk::{chars, edges, is_unseen};
use crate::web::charset;

/// Nodes of a tree in which main content is looked for.
const NODES_MAX: usize = 150_000;
/// The greatest depth of a node: lists and quotes in one another are written to Markdown by recursion. Pages have some
/// 30.
const DEPTH_MAX: u64 = 400;
/// The depths of all its nodes, added up: pages have some 10 to 20 for each node.
const DEPTHS_MAX: u64 = 3_000_000;
/// The bytes of all its texts, each as often as its depth: what it takes to ask each element for its text.
const TEXTS_MAX: u64 = 256 << 20;

/// Forms in which main content is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines of text, a blank line between blocks; what is preformatted stays as it is.
    Text,
    /// Markdown: headings, lists, tables, code and links are kept.
    Markdown,
}

/// The main content of an HTML page as text, or nothing where it has none. `content_type` is the field of the answer,
/// which may name the encoding; the page may take `time_max` to parse.
///
/// # Errors
/// If the page is longer or more nested than the limits allow.
pub fn main_text(body: &[u8], content_type: Option<&str>, time_max: Duration) -> Result<Option<String>, GivenUp> {
    let page = charset::to_utf8(body, charset::of_html(body, content_type));
    main_content(&page, None, Form::Text, time_max)
}

/// The main content of a page in `form`, or nothing where it has none. Its links are resolved where its `url` is given.
///
/// # Errors
/// As [`main_text`].
pub fn main_content(page: &str, url: Option<&str>, form: Form, time_max: Duration) -> Result<Option<String>, GivenUp> {
    let Some(found) = search(page, time_max)? else { return Ok(None) };
    match form {
        Form::Text => found.text(time_max),
        Form::Markdown => Ok(found.markdown(url)),
    }
}

/// The main content of a page in both forms, as [`main_content`] finds it, by one search.
///
/// # Errors
/// As [`main_text`].
pub fn main_contents(page: &str, url: Option<&str>, time_max: Duration) -> Result<MainContents, GivenUp> {
    let Some(found) = search(page, time_max)? else { return Ok(MainContents::default()) };
    Ok(MainContents { text: found.text(time_max)?, markdown: found.markdown(url) })
}

/// The part of a page that its main content is in.
struct Found {
    html: String,
    /// The address in the page's `base` element.
    base: Option<String>,
}

impl Found {
    fn text(&self, time_max: Duration) -> Result<Option<String>, GivenUp> {
        Ok(written(&without_marks(rendered_paragraphs(&parse(&self.html, time_max)?))))
    }

    fn markdown(&self, url: Option<&str>) -> Option<String> {
        let url = url.and_then(|url| Url::parse(url).ok());
        let base = url.map(|url| self.base.as_ref().and_then(|base| url.join(base).ok()).unwrap_or(url));
        written(&markdown(&self.html, base.as_ref()))
    }
}

/// The main content of a page; nothing of each where it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MainContents {
    /// As [`Form::Text`].
    pub text: Option<String>,
    /// As [`Form::Markdown`].
    pub markdown: Option<String>,
}

/// Returns the text without blanks at its end; none where nothing is left.
fn written(text: &str) -> Option<String> {
    Some(text.trim_end()).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn search(page: &str, time_max: Duration) -> Result<Option<Found>, GivenUp> {
    let page = fed(Document::default(), page, time_max)?;
    if page.tree.len() > NODES_MAX {
        return Err(GivenUp::MainNodes(NODES_MAX));
    }
    let Some(chars) = bounded_chars(&page) else { return Err(GivenUp::Steps) };
    let base = page.base_uri().map(|base| base.to_string());
    mark_tasks(&page);
    Ok(select(&page, chars).map(|html| Found { html, base }))
}

/// The characters of a page's text, without blanks, or nothing where the tree exceeds the limits of depths and texts.
fn bounded_chars(page: &Document) -> Option<usize> {
    let (mut depth, mut depths, mut texts, mut all) = (0, 0, 0, 0);
    for (node, opens) in edges(page) {
        if !opens {
            depth -= 1;
            continue;
        }
        let bytes = node.query_or(0, |node| match &node.data {
            NodeData::Text { contents } => contents.len() as u64,
            _ => 0,
        });
        let is_seen = |around: NodeRef<'_>| !around.element_ref().is_some_and(|element| is_unseen(&element));
        if bytes > 0 && node.parent().is_some_and(is_seen) {
            all += chars(&node);
        }
        depths += depth;
        texts += depth * bytes;
        if depth > DEPTH_MAX || depths > DEPTHS_MAX || texts > TEXTS_MAX {
            return None;
        }
        depth += 1;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_by_one_search_are_those_of_two_searches() {
        let list = "<h1>T</h1><p>Some words, and more of them.<ul><li>one<li><a href=/b>two</a></ul><pre>a\n  b</pre>";
        let long =
            format!("<article><p>{}<p>An <a href=c>end</a>.</article>", "Some words, and more of them. ".repeat(20));
        for page in ["", "<script>f()</script>", list, &long] {
            let of = |form| main_content(page, Some("https://a.example/"), form, Duration::MAX).unwrap();
            let both = main_contents(page, Some("https://a.example/"), Duration::MAX).unwrap();
            assert_eq!(both, MainContents { text: of(Form::Text), markdown: of(Form::Markdown) }, "{page}");
        }
    }

    #[test]
    fn what_browsers_part_is_parted_in_markdown() {
        let words =
            "<p>Some words about lighthouses, their keepers, and the sea, of which there are more.</p>".repeat(8);
        let markdown = |part: &str| {
            let page = format!("<title>T</title><article>{words}<p>BEGIN</p>{part}<p>END</p>{words}</article>");
            let whole = main_content(&page, None, Form::Markdown, Duration::MAX).unwrap().unwrap();
            let (_, behind) = whole.split_once("BEGIN").unwrap();
            behind.split_once("END").unwrap().0.trim().to_owned()
        };
        for (part, expected) in [
            ("<dl><dt>t1</dt><dd>d1</dd><dt>t2</dt><dd>d2</dd></dl>", "t1\n\nd1\n\nt2\n\nd2"),
            ("<p>See <a href=http://h/x>one<br>two</a> there.</p>", "See [one two](http://h/x) there."),
            ("<pre><div>l1</div><div>  l2</div></pre>", "```\nl1\n  l2\n```"),
        ] {
            assert_eq!(markdown(part), expected, "{part}");
        }
    }

    #[test]
    fn a_page_without_main_content_has_none() {
        for page in ["", "<title>T</title>", "<script>f()</script>"] {
            assert_eq!(main_text(page.as_bytes(), None, Duration::MAX), Ok(None), "{page}");
        }
    }

    #[test]
    fn the_encoding_of_the_answer_counts() {
        let page = format!("<p>{}", "\u{fc}ber etwas, viel, und mehr ".repeat(30));
        let (latin1, _, _) = encoding_rs::WINDOWS_1252.encode(&page);
        let main = main_text(&latin1, Some("text/html; charset=iso-8859-1"), Duration::MAX).unwrap().unwrap();
        assert!(main.starts_with("\u{fc}ber etwas"), "{main}");
    }

    #[test]
    fn what_would_take_too_long_is_given_up_by_counts_that_are_the_same_everywhere() {
        let of = |page: &str| main_content(page, None, Form::Markdown, Duration::MAX);
        for nested in ["<div>", "<ul><li>", "<blockquote>a", "<table><tr><td>x", "<pre>", "<section><p>a, b"] {
            let page = nested.repeat((256 << 10) / nested.len());
            assert!(matches!(of(&page), Err(GivenUp::Steps | GivenUp::MainNodes(_))), "{nested}");
        }
        let wide = "<p>a</p>".repeat(NODES_MAX / 2 + 1);
        assert_eq!(of(&wide), Err(GivenUp::MainNodes(NODES_MAX)));
        let long = format!("{}{}", "<div>".repeat(300), "some words, and more. ".repeat((1 << 20) / 22));
        assert_eq!(of(&long), Err(GivenUp::Steps));
    }

    #[test]
    fn elements_as_deep_as_the_limit_allows_do_not_overflow_half_the_stack_of_a_thread() {
        for (nested, levels) in [("<div>a", 1), ("<blockquote>a", 1), ("<ul><li>a", 2), ("<b>", 1), ("<table><td>a", 4)]
        {
            let words = "<p>some, words, and, more. ".repeat(20);
            let page = format!("{}{words}", nested.repeat((DEPTH_MAX as usize - 10) / levels));
            let main = move || main_content(&page, Some("https://a.example/"), Form::Markdown, Duration::MAX).is_ok();
            let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(main).unwrap();
            assert!(thread.join().unwrap(), "{nested}");
        }
    }
}
