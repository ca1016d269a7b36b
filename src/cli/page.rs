//! The title and the encoding of a page, and the text of an element.

use html5ever::ns;
use scraper::{ElementRef, Html, Selector};

use super::archive::Response;
use crate::reading::rendered_with_alternatives;
use crate::web::charset;
use crate::web::html::is_html;
use crate::web::html::text::Squeezed;
use crate::web::markdown::{is_markdown, to_html};
use crate::web::mime;

/// The text of an element, with runs of white space made one blank.
pub(super) fn text_of(element: ElementRef<'_>) -> String {
    let mut text = Squeezed::default();
    element.text().for_each(|piece| text.push(piece));
    text.text
}

/// The text by which versions of a page are compared: a line `title: ...`, and the page as it is laid out, with the
/// alternative texts of pictures in their places, as `![...]`.
pub(super) fn compared_of_page(page: &Html) -> String {
    let title = title_of(page).filter(|title| !title.is_empty());
    let title = title.map_or_else(String::new, |title| format!("title: {title}\n"));
    title + &rendered_with_alternatives(page)
}

/// The page's title, where it has one: its first `title` that is none of a drawing.
pub(super) fn title_of(page: &Html) -> Option<String> {
    let selector = Selector::parse("title").expect("it is a selector");
    page.select(&selector).find(|title| title.value().name.ns == ns!(html)).map(text_of)
}

/// True for an answer that is read as a page: HTML, or Markdown, which is made HTML.
pub(super) fn is_page(response: &Response) -> bool {
    let content_type = response.content_type();
    is_html(content_type.as_deref(), &response.decoded) || is_markdown(&mime::essence(content_type.as_deref()))
}

/// The HTML of a page, in the encoding that the crawl took it for when it looked for links.
pub(super) fn decode(response: &Response) -> String {
    let (body, content_type) = (&response.decoded, response.content_type());
    let content_type = content_type.as_deref();
    if is_markdown(&mime::essence(content_type)) {
        return to_html(body, content_type);
    }
    charset::to_utf8(body, charset::of_html(body, content_type)).into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::reading::tree::parse;

    #[test]
    fn the_title_is_that_of_the_page_and_not_of_a_drawing() {
        let title = |page: &str| title_of(&parse(page, Duration::MAX).unwrap());
        assert_eq!(title("<title> T\n U </title><title>no</title>").as_deref(), Some("T U"));
        assert_eq!(title("<body><svg><title>no</title></svg>"), None);
        assert_eq!(title("<body><svg><title>no</title></svg><title>late</title>").as_deref(), Some("late"));
    }
}
