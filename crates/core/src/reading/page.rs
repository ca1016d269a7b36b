//! The parts of an HTML page that people know it by: its title, its headings, and the text that it is about.

use html5ever::ns;
use scraper::{ElementRef, Html, Selector};

use super::main_content::{Form, main_content};
use super::rendered::rendered_lines;
use super::tree::{TIME_MAX, parse};
use crate::web::charset;
use crate::web::html::is_html;
use crate::web::html::text::Squeezed;
use crate::web::markdown::{is_markdown, to_html};
use crate::web::mime;

/// True for the media types whose bodies are read as pages by themselves: HTML, and Markdown, which is made HTML. Of
/// other documents the crawl may have made a page.
pub fn is_page_type(media_type: &str) -> bool {
    let essence = mime::essence(Some(media_type));
    matches!(&*essence, "text/html" | "application/xhtml+xml") || is_markdown(&essence)
}

/// True for an answer that is read as a page: HTML, or Markdown, which is made HTML.
pub fn is_page(body: &[u8], content_type: Option<&str>) -> bool {
    is_html(content_type, body) || is_markdown(&mime::essence(content_type))
}

/// The HTML of a page in UTF-8, in the encoding that the crawl took it for when it looked for links.
pub fn html_of(body: &[u8], content_type: Option<&str>) -> String {
    if is_markdown(&mime::essence(content_type)) {
        return to_html(body, content_type);
    }
    charset::to_utf8(body, charset::of_html(body, content_type)).into_owned()
}

/// The text of an element, with runs of white space made one blank.
pub fn text_of(element: ElementRef<'_>) -> String {
    let mut text = Squeezed::default();
    element.text().for_each(|piece| text.push(piece));
    text.text
}

/// The page's title, where it has one: its first `title` that is none of a drawing.
pub fn title_of(page: &Html) -> Option<String> {
    let selector = Selector::parse("title").expect("it is a selector");
    page.select(&selector).find(|title| title.value().name.ns == ns!(html)).map(text_of)
}

/// The texts of the page's headings, in their order.
pub fn headings_of(page: &Html) -> impl Iterator<Item = String> {
    let selector = Selector::parse("h1, h2, h3").expect("it is a selector");
    page.select(&selector).map(text_of).filter(|text| !text.is_empty()).collect::<Vec<_>>().into_iter()
}

/// The text that a page is about: its main content or, of a page without, or with too many elements to look for it, its
/// whole visible text. `None` where it has no tree within the limits.
pub fn subject_of(html: &str) -> Option<String> {
    main_of(html, None, Form::Text).or_else(|| visible_of(html))
}

/// The main content of the page at `url`; `None` of a page without, or with too many elements to look for it.
pub fn main_of(html: &str, url: Option<&str>, form: Form) -> Option<String> {
    main_content(html, url, form, TIME_MAX).ok().flatten()
}

/// The whole visible text of a page. `None` where it has no tree within the limits.
pub fn visible_of(html: &str) -> Option<String> {
    parse(html, TIME_MAX).ok().map(|tree| rendered_lines(&tree))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_title_is_that_of_the_page_and_not_of_a_drawing() {
        let title = |page: &str| title_of(&parse(page, Duration::MAX).unwrap());
        assert_eq!(title("<title> T\n U </title><title>no</title>").as_deref(), Some("T U"));
        assert_eq!(title("<body><svg><title>no</title></svg>"), None);
        assert_eq!(title("<body><svg><title>no</title></svg><title>late</title>").as_deref(), Some("late"));
    }

    #[test]
    fn headings_are_those_of_the_three_highest_levels() {
        let page = parse("<h2> b\n c</h2><h1>a</h1><h3></h3><h4>no</h4><h3>d</h3>", Duration::MAX).unwrap();
        assert_eq!(headings_of(&page).collect::<Vec<_>>(), ["b c", "a", "d"]);
    }
}
