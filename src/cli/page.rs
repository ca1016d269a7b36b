//! Answers of the archive as pages: whether they are, and their HTML.

use super::archive::Response;
use crate::reading::page::html_of;
pub(super) use crate::reading::page::{text_of, title_of};
use crate::web::html::is_html;
use crate::web::markdown::is_markdown;
use crate::web::mime;

/// True for an answer that is read as a page: HTML, or Markdown, which is made HTML.
pub(super) fn is_page(response: &Response) -> bool {
    let content_type = response.content_type();
    is_html(content_type.as_deref(), &response.decoded) || is_markdown(&mime::essence(content_type.as_deref()))
}

/// The HTML of a page, in the encoding that the crawl took it for when it looked for links.
pub(super) fn decode(response: &Response) -> String {
    html_of(&response.decoded, response.content_type().as_deref())
}
